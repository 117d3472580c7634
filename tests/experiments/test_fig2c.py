"""Fig. 2c: settings, recognisers and verdicts."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from quadfeat.experiments.datasets import Data
from quadfeat.experiments.figures import fig2c, fig2c_cells
from quadfeat.experiments.speech import recogniser, references
from quadfeat.experiments.speech.utterances import N_STATES, PHONES48

from .conftest import untimed


@pytest.mark.long
def test_a_cell_of_fig2c_gives_the_same_records_twice(corpus, monkeypatch):
    for name, value in {
        "_BANDWIDTHS": (1.0,),
        "_PENALTIES": (5e-4, 1e-3, 2e-3),
        "RANK": 5,
        "_LEARN_EVERY": {"small": 1},
    }.items():
        monkeypatch.setattr(fig2c_cells, name, value)

    def run():
        cells = fig2c.cells("small", Data(corpus))
        wanted = [
            c
            for c in cells
            if c.key["width"] == 125 or c.key.get("of") in ("settings", "Hermite-Mercer")
        ]
        return [record for cell in wanted for record in untimed(cell.run())]

    first = run()
    assert first == run()
    (measured,) = (r for r in first if r["map"] == "Hermite-Mercer")
    tuning, *others = fig2c.cells("small", Data(corpus))
    tuning.recall([r for r in first if r["map"] in ("tuning", "settings")])
    monkeypatch.setattr(fig2c_cells, "_BANDWIDTHS", ())  # what is recalled is not searched again
    (again,) = (c for c in others if c.key["map"] == "Hermite-Mercer" and c.key["width"] == 125)
    assert untimed(again.run()) == [measured]
    # These tones are far apart: the states are told apart better than by guessing.
    assert measured["cross_entropy"] < np.log(len(np.unique(PHONES48)) * 3)
    assert measured["per"] >= 0 and len(measured["errors"]) == 4


@pytest.mark.parametrize(
    "name, asked", [("random", (35, 1e-4)), ("random, full rank", (None, 1e-5))]
)
def test_models_without_a_limit_of_rank_run_nearer_to_their_minimum(name, asked, monkeypatch):
    def log_posteriors(*, alpha, rank, tolerance):
        assert (rank, tolerance) == asked
        return []

    def features(task, name, *arguments):
        assert name == "random"
        return SimpleNamespace(train=np.ones((2, 3)), log_posteriors=log_posteriors)

    monkeypatch.setattr(fig2c_cells, "_features", features)
    task = SimpleNamespace(
        phone_errors=lambda posteriors, **weights: [1],
        phone_counts=lambda: [2],
        cross_entropy=lambda posteriors: 2.5,
    )
    settings = fig2c_cells._Settings(1.0, 1e-3, 1.0, 1.0)
    work = SimpleNamespace(final_task=lambda stacked: task, tuned=(settings, []))
    record = fig2c_cells._measure(work, name, 3, 0)
    assert (record["map"], record["columns"], record["per"]) == (name, 3, 0.5)


@pytest.mark.long
@pytest.mark.parametrize("name", list(references.REFERENCES))
def test_reference_levels_are_decoded_with_weights_of_their_own(corpus, name, monkeypatch):
    work = fig2c_cells._Work(Data(corpus), "small")
    work.recall_settings([{"bandwidth": 1.0, "penalty": 1.0, "bigram_weight": 9.0,
                           "prior_weight": 9.0}])  # fmt: skip
    used = []
    errors = recogniser.Task.phone_errors
    monkeypatch.setattr(
        recogniser.Task,
        "phone_errors",
        lambda self, posteriors, **weights: (
            used.append(weights) or errors(self, posteriors, **weights)
        ),
    )
    record = fig2c_cells._measure(work, name, 440, 0)
    *tried, final = used
    assert len(tried) == 15 and final in tried and final["bigram_weight"] < 9
    assert record["cross_entropy"] < np.log(N_STATES)


class Parabola:
    """Features whose cross-entropy is least at one penalty."""

    def __init__(self, least):
        self.least, self.task, self.train = least, self, np.full((2, 2), 1.5)

    def log_posteriors(self, *, alpha, rank, tolerance):
        return np.log(alpha / 9 / self.least) ** 2  # a penalty of the features' squared length

    def cross_entropy(self, posteriors):
        return posteriors


@pytest.mark.parametrize("k", [0, 2, 5, 9, 10])
def test_the_search_ends_at_the_best_penalty_with_both_neighbours_tried(k):
    search = fig2c_cells._Search(Parabola(fig2c_cells._PENALTIES[k]))
    assert search.best() == fig2c_cells._PENALTIES[k]
    tried = [record["penalty"] for record in search.records()]
    assert set(fig2c_cells._PENALTIES[max(k - 1, 0) : k + 2]) <= set(tried)


def records_of_fig2c(runs):
    """Records of (map, width, seed) with errors of the same rate."""
    rng = np.random.default_rng(0)
    phones = rng.integers(20, 40, size=30)
    better = {
        each + model
        for each in ("pruned", "Hermite-Mercer")
        for model in ("", fig2c_cells.FULL_RANK)
    }
    records = []
    for name, width, seed in runs:
        errors = rng.binomial(phones, 0.43)
        records.append(
            {
                "map": name,
                "width": width,
                "columns": int(0.7 * width) if name.startswith("reweighted") else width,
                "seed": seed,
                "cross_entropy": (2.3 if name in better else 2.4) - width / 1e5,
                "per": errors.sum() / phones.sum(),
                "errors": errors.tolist(),
                "phones": phones.tolist(),
            }
        )
    return records


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_the_cells_of_fig2c_are_all_that_its_page_needs(corpus, scale):
    keys = [cell.key for cell in fig2c.cells(scale, Data(corpus)) if cell.key["map"] != "tuning"]
    records = records_of_fig2c((key["map"], key["width"], key["seed"]) for key in keys)
    reweighted = next(v for v in fig2c.verdicts(records) if v.claim.startswith("reweighted,"))
    width = {"small": 475, "paper": 1900}[scale]
    assert f"reweighted, {int(0.7 * width):,} columns" in reweighted.claim
    assert f"{2.4 - width / 1e5:.3f} against" in reweighted.measured
    assert fig2c.draw(records).axes and len(fig2c.tables(records)) == 3


def test_fig2c_is_judged_with_its_sampling_error():
    names = [*fig2c_cells.MAPS, *references.REFERENCES]
    names += [name + fig2c_cells.FULL_RANK for name in fig2c_cells.SHARES]
    widths = (500, 1000, fig2c_cells.compared("reweighted", 2000), 2000)
    records = records_of_fig2c(itertools.product(names, widths, range(2)))
    ranking, near, *_, mercer, compressed = fig2c.verdicts(records)
    assert "±" in ranking.measured and near.holds is False
    assert mercer.holds and "500 columns" in mercer.claim
    assert compressed.holds is not True  # it predicts as random does, with fewer columns
    narrow = [r for r in records if r["map"] != "compressed" or r["width"] == 500]
    assert [v.measured for v in fig2c.verdicts(narrow)[-2:]] == [
        mercer.measured,
        compressed.measured,
    ]
    assert "compressed" not in fig2c.verdicts(narrow)[0].measured
    base = fig2c._mean_errors(records, "random", 2000)[0]
    for errors, holds in ((base, None), (0 * base, False), (2 * base, True)):
        given = [r | {"errors": errors} if r["map"] == references.NETWORK else r for r in records]
        network = next(v for v in fig2c.verdicts(given) if "neural" in v.claim)
        assert network.holds is holds and "±" in network.measured
    rate, error = fig2c._rate(records, "random", 2000)
    worse = [r | {"cross_entropy": 3.0} if r["map"] == "Hermite-Mercer" else r for r in records]
    verdict = fig2c.verdicts(worse)[-2]
    assert verdict.holds and "2.295 against 2.380" in verdict.measured  # without a limit of rank
    assert "3.000 against 2.380" in verdict.measured
    n = sum(records[0]["phones"])
    # Two runs of independent errors on the same phones; the bootstrap errs by a few per cent.
    assert error == pytest.approx(np.sqrt(rate * (1 - rate) / (2 * n)), rel=0.4)
    assert fig2c.draw(records).axes
