"""Fig. 2a: settings, models and verdicts."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.linear_model import RidgeClassifier

from quadfeat.experiments.datasets import Data
from quadfeat.experiments.figures import fig2a, fig2a_cells


def test_cross_validation_is_that_of_five_separate_fits(rng):
    Z, y = rng.normal(size=(203, 12)), rng.integers(3, size=203)
    found = fig2a_cells.cross_validated(Z, y, (0.5, 20.0))
    for alpha, accuracy in found.items():
        right = 0
        for fold in range(5):
            judged = np.arange(203) % 5 == fold
            model = RidgeClassifier(alpha=alpha).fit(Z[~judged], y[~judged])
            right += int((model.predict(Z[judged]) == y[judged]).sum())
        assert accuracy == right / 203


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 9), (20, 20)])
def test_errors_are_compared_by_mcnemars_exact_test(a, b):
    shared = list(range(100, 130))
    pair = fig2a._Pair({"wrong": [*range(a), *shared]}, {"wrong": [*range(50, 50 + b), *shared]})
    assert pair.only() == (a, b)
    tail = 2 * binom.cdf(min(a, b), a + b, 0.5) if a + b else 1.0
    assert pair.p_value() == pytest.approx(min(1.0, tail))


def test_a_cell_gives_the_same_records_twice(monkeypatch):
    monkeypatch.setattr(fig2a_cells, "_GAMMAS", (0.5,))

    def run():
        wanted = [
            cell
            for cell in fig2a.cells("small", Data(None))
            if cell.key["map"] in ("random", "subsampled", "tuning")
            and cell.key["width"] == 2
            and cell.key["seed"] == 0
        ]
        records = [record for cell in wanted for record in cell.run()]
        return [{k: v for k, v in r.items() if "seconds" not in k} for r in records]

    first = run()
    assert first == run()
    measured = [r for r in first if r["map"] != "tuning"]
    assert len(measured) == 4 and all(r["columns"] <= 72 for r in measured)
    # Ten classes, 72 columns of 64 pixels: far above the 10% of guessing.
    assert all(r["accuracy"] > 0.8 and r["data"] == "digits" for r in measured)


def test_the_settings_of_a_map_are_those_that_validated_best():
    work = fig2a_cells._Work(Data(None), fig2a_cells._SCALES["small"])
    tried = [
        {"gamma": gamma, "alpha": alpha, "validated": accuracy}
        for gamma, alpha, accuracy in [(0.1, 1.0, 0.7), (0.2, 2.0, 0.9), (0.3, 3.0, 0.8)]
    ]
    work.recall("subsampled", [*tried, {"hinge_alpha": 0.5}])
    assert work.settings("subsampled") == (0.2, 2.0, 0.5)
    assert work.settings("reweighted") == (0.2, 2.0, 0.5)  # the same nodes


def fabricated(width, wrong):
    records = [{"map": "tuning", "of": "random", "gamma": 0.1, "alpha": 1.0, "validated": 0.9}]
    for name, loss, seed in itertools.product(
        ("random", "subsampled", fig2a_cells.PLAIN), fig2a._LOSSES, range(2)
    ):
        for columns, extra in ((width, 0), (width // 2, 40)):
            missed = list(range(wrong[name] + extra + seed))
            records.append(
                {
                    "map": name,
                    "loss": loss,
                    "width": columns,
                    "columns": 4096 if name == fig2a_cells.PLAIN else columns,
                    "seed": seed,
                    "accuracy": 1 - len(missed) / 10_000,
                    "wrong": missed,
                    "rows": 60_000,
                    "tested": 10_000,
                    "data": "MNIST",
                    "generation_seconds": 1.0,
                }
            )
    return records


def test_verdicts_of_fig2a_are_read_off_its_records():
    same = fabricated(28_800, {"random": 170, "subsampled": 172, fig2a_cells.PLAIN: 160})
    better, level, _, faster, plain = fig2a.verdicts(same)
    assert better.holds is None and "grid has +2, +2 wrong of 10,000 (seed 0, 1;" in better.measured
    assert level.holds and "98.27%" in level.measured
    assert faster.holds is False and plain.holds
    # 6 rows more: p = 2 / 2^6 = 0.03, four times that for the best of four fits.
    for wrong, holds in ((171, None), (176, None), (300, False)):
        behind = fabricated(28_800, {"random": 170, "subsampled": 172, fig2a_cells.PLAIN: wrong})
        assert fig2a.verdicts(behind)[-1].holds is holds
    worse = fabricated(28_800, {"random": 170, "subsampled": 220, fig2a_cells.PLAIN: 160})
    better, level, *_ = fig2a.verdicts(worse)
    assert better.holds is False and level.holds is False
    narrow = fabricated(5760, {"random": 170, "subsampled": 170, fig2a_cells.PLAIN: 160})
    assert fig2a.verdicts(narrow)[1].holds is None
    assert len(fig2a.draw(same).axes) == 2


@pytest.mark.parametrize(
    ("seconds", "holds"), [((0.8, 0.7), True), ((0.8, 1.2), None), ((0.95, 1.2), False)]
)
def test_generation_is_faster_only_if_it_is_with_every_seed(seconds, holds):
    records = [
        r | {"generation_seconds": seconds[r["seed"]]} if r["map"] == "subsampled" else r
        for r in fabricated(28_800, {"random": 9, "subsampled": 9, fig2a_cells.PLAIN: 9})
    ]
    faster = next(v for v in fig2a.verdicts(records) if "faster" in v.claim)
    assert faster.holds is holds


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_the_cells_of_fig2a_are_all_that_its_page_needs(scale):
    keys = [cell.key for cell in fig2a.cells(scale, Data(None)) if cell.key["map"] != "tuning"]
    form = fabricated(28_800, {"random": 9, "subsampled": 9, fig2a_cells.PLAIN: 9})[1]
    records = [
        form | {"map": key["map"], "width": key["width"], "seed": key["seed"], "loss": loss}
        for key in keys
        for loss in fig2a._LOSSES
    ]
    assert len(fig2a.verdicts(records)) == 5
    assert fig2a.draw(records).axes and len(fig2a.tables(records)) == 2


def test_seeds_are_judged_together_and_rows_are_what_is_independent():
    names = {"random": 170, "subsampled": 170, fig2a_cells.PLAIN: 160}

    def judged(*extra, loss="ridge"):
        """Rows more that the grid has wrong, or random features if below 0, with each seed."""
        records = []
        for r in fabricated(28_800, names):
            if r["map"] in ("random", "subsampled") and r["width"] == 28_800:
                more = extra[r["seed"]] * (1 if r["map"] == "subsampled" else -1)
                first = 1000 * (1 + r["seed"])
                if r["loss"] == loss:
                    r = r | {"wrong": r["wrong"] + list(range(first, first + more))}
            records.append(r)
        return fig2a.verdicts(records)[0].holds

    # Each row of k that differ counts 1: p = 2 Phi(-sqrt(k)), to be below 0.025 for two losses.
    assert judged(3, 2) is None and judged(3, 3) is False
    assert judged(-3, -2) is None and judged(-3, -3) is True
    assert judged(9, -9) is None and judged(9, -30) is True
    assert judged(-3, -3, loss="squared_hinge") is True


def test_a_row_that_is_wrong_with_all_seeds_counts_as_one():
    pair = fig2a._Pair({"wrong": [], "tested": 99}, {"wrong": [1, 2, 3], "tested": 99})
    # Three rows, whatever the seeds: the sum and its root of squares grow alike.
    assert fig2a._p_value([pair] * 2) == pytest.approx(2 * norm.sf(np.sqrt(3)))
    assert fig2a._p_value([pair] * 5) == pytest.approx(2 * norm.sf(np.sqrt(3)))
    assert fig2a._p_value([pair]) == pytest.approx(0.25)  # exactly: all of three on one side
