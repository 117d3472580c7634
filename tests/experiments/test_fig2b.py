"""Fig. 2b: cells and verdicts."""

from quadfeat.experiments import contenders
from quadfeat.experiments.datasets import Data
from quadfeat.experiments.figures import fig2b
from quadfeat.experiments.speech import kernel_rows

from .conftest import untimed


def test_a_cell_of_fig2b_gives_the_same_records_twice(corpus, monkeypatch):
    monkeypatch.setattr(kernel_rows, "_HELD_OUT", 200)

    def run():
        wanted = {"random", "reweighted", "Hermite-Mercer"}
        planned = fig2b.cells("small", Data(corpus))
        cells = [c for c in planned if c.key["map"] in wanted and c.key["points"] == 250]
        return [record for cell in cells[:3] for record in untimed(cell.run())]

    first = run()
    assert first == run()
    assert {r["map"] for r in first} == {"random", "reweighted", "Hermite-Mercer"}
    assert all(0 < r["rms"] < 1 and r["columns"] <= 500 for r in first)


def records_of_fig2b():
    return [
        {"map": name, "points": d, "columns": 2 * d, "seed": s, "rms": (1 + s / 9) / gain / d**0.5}
        for name, gain in zip(contenders.CONTENDERS, (1, 1, 1, 3, 4, 30, 60), strict=True)
        for d in (500, 1000, 16000)
        for s in range(3)
    ]


def test_ratios_of_fig2b_are_read_off_its_records():
    by_claim = {verdict.claim: verdict for verdict in fig2b.verdicts(records_of_fig2b())}
    assert "1/3.0 at D = 1,000" in next(v.measured for c, v in by_claim.items() if "equal D" in c)
    fewer = next(v for c, v in by_claim.items() if "fewer features" in c)
    assert "9.0 times fewer columns at D = 1,000" in fewer.measured and fewer.holds
    assert fig2b.draw(records_of_fig2b()).axes
