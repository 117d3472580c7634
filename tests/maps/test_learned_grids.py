"""Reweighted, polished and framed grids, fitted to the data."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import quadfeat as qf
from quadfeat.constructions import polished, reweighted
from quadfeat.maps import learned_grids
from quadfeat.rules import choice, interval

from ..conftest import MAPS
from .measures import rms


def test_reweighting_beats_its_pool_on_rows_it_did_not_see(rng):
    X = rng.normal(size=(2000, 8))
    kernel = qf.Gaussian(0.05)
    exact = kernel(X[1000:1300])

    def rms(features):
        return np.sqrt(
            ((features.fit(X[:1000]).approximate_kernel(X[1000:1300]) - exact) ** 2).mean()
        )

    plain = rms(qf.SubsampledGrid(kernel, n_components=256, n_points=11, random_state=0))
    for selection, gain in (("prune", 2.5), ("l1", 1.8)):
        ours = qf.ReweightedGrid(kernel, n_components=256, selection=selection, random_state=0)
        assert rms(ours) < plain / gain
        assert ours.transform(X[:1]).shape[1] in (255, 256)


def test_any_map_can_be_a_pool(rng):
    X = rng.normal(size=(400, 3))
    for name in ("random", "sobol", "orthogonal", "subsampled", "sparse"):
        pool = MAPS[name]()
        if "n_components" in pool.get_params():
            pool.set_params(n_components=200)
        fitted = qf.ReweightedGrid(qf.Gaussian(0.3), n_components=40, pool=pool, random_state=0)
        assert fitted.fit(X).transform(X[:2]).shape[1] <= 40
        assert pool.kernel is None


@pytest.mark.parametrize("columns", [40, 500])  # moved by either of two methods
def test_polish_does_not_depend_on_the_units_of_the_rows_or_where_they_are(columns, rng):
    X = rng.normal(size=(800, 6))

    def error(scale, offset):
        kernel, rows = qf.Gaussian(0.1 / scale**2), scale * X + offset
        pool = qf.QuasiRandomFourier(n_components=columns, random_state=0)
        grid = qf.ReweightedGrid(
            kernel, n_components=columns, pool=pool, polish=True, random_state=0
        )
        gap = grid.fit(rows[::2]).approximate_kernel(rows[1::2]) - kernel(rows[1::2])
        return np.sqrt(np.mean(gap**2))

    here = error(1.0, 0.0)
    assert error(2.0**90, 0.0) == pytest.approx(here, rel=1e-9)
    assert error(2.0**-90, 0.0) == pytest.approx(here, rel=1e-9)
    # What is left of the rows at that height differs by 1e-7, and so do the steps in the end.
    assert error(1.0, 1e9) == pytest.approx(here, rel=0.1)


def test_polish_moves_nodes_to_less_error_and_keeps_the_map_shift_invariant(rng):
    X = rng.normal(size=(600, 3))
    kernel = qf.Gaussian(0.3)
    plain = qf.ReweightedGrid(kernel, n_components=40, random_state=0).fit(X[:400])
    moved = qf.ReweightedGrid(kernel, n_components=40, polish=True, random_state=0).fit(X[:400])
    assert rms(moved, X[400:], kernel) < rms(plain, X[400:], kernel) / 2
    assert np.all(moved.rule_.weights >= 0)
    with pytest.raises(ValueError, match="polish=False"):
        qf.ReweightedGrid(qf.Anova(kernel, [[0], [1, 2]]), n_components=40, polish=True).fit(X)


def test_polish_is_fitted_on_rows_moved_outward_the_more_the_fewer_there_are(rng):
    X = rng.normal(size=(25_000, 3)).astype(np.float32)
    for n, most in ((1, 1.5), (100, 1.5), (1600, 1.2), (25_000, 1 + 8 / np.sqrt(20_000))):
        rows = X[:n].copy()
        moved = polished.outward(rows, rng)
        assert (rows == X[:n]).all()
        assert moved.shape == (min(n, 20_000), 3)
        if n > 1 and len(moved) == n:
            mean = rows.mean(axis=0, dtype=np.float64)
            factors = (moved - mean) / (rows - mean)
            assert np.ptp(factors, axis=1).max() < 1e-4  # along the line from the mean
            assert factors.min() >= 1 - 1e-6
            assert most - 0.05 < factors.max() <= most + 1e-6


def test_polished_nodes_hold_beyond_the_few_rows_of_heavy_tails_they_were_fitted_on():
    X, ours, random = load_breast_cancer().data[:, :5], [], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(X))
        rows = (X - X[order[189:]].mean(axis=0)) / X[order[189:]].std(axis=0)
        unseen, seen = rows[order[:189]], rows[order[189:389]]
        kernel = qf.Gaussian("median").resolve(seen)
        grid = qf.ReweightedGrid(
            kernel, pool=qf.FramedGrid(n_components=256), polish=True, random_state=seed
        )
        ours.append(rms(grid.fit(seen), unseen, kernel))
        random.append(rms(qf.RandomFourier(kernel, random_state=seed).fit(seen), unseen, kernel))
    assert np.mean(ours) < np.mean(random) / 40  # 1/64; 1/25 if they learn from rows as they are


def test_framed_grids_follow_the_data_s_directions(rng):
    flat = rng.normal(size=(500, 6)) * [3.0, 2.0, 0.01, 0.01, 0.01, 0.01]
    X = flat @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    kernel = qf.Gaussian(0.1)
    framed = qf.FramedGrid(kernel, n_components=64).fit(X)
    assert framed.transform(X).shape[1] in (63, 64)
    random = qf.RandomFourier(kernel, n_components=64, random_state=0).fit(X)
    assert rms(framed, X[:200], kernel) < rms(random, X[:200], kernel) / 20
    with pytest.raises(ValueError, match="DenseGrid"):
        qf.FramedGrid(qf.Cauchy(1.0)).fit(X)


@pytest.mark.parametrize(
    "make", [lambda k: qf.FramedGrid(k, n_components=32), lambda k: qf.SparseGrid(k, level=5)]
)
@pytest.mark.parametrize("n", [550, 799, 999])
def test_maps_that_look_at_some_rows_see_sorted_data_to_its_end(make, n, rng):
    shuffled = rng.uniform(-6.0, 6.0, size=(n, 1)) * [1.0, 0.01]
    kernel = qf.Gaussian(0.5)
    one, other = (make(kernel).fit(X) for X in (shuffled, np.sort(shuffled, axis=0)))
    test = rng.uniform(-6.0, 6.0, size=(200, 1)) * [1.0, 0.01]
    # Half of the data sees half of its gaps, beyond which the grid is periodic.
    assert rms(other, test, kernel) <= 3 * rms(one, test, kernel) + 1e-6


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(300, 1)),
        np.outer(np.random.default_rng(0).normal(size=300), [1.0, 2.0, 3.0]) / 4,
        np.random.default_rng(0).normal(size=(2, 3)),
        np.column_stack([np.ones(300), np.random.default_rng(0).normal(size=300), np.zeros(300)]),
        np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 1e-9],
    ],
    ids=["one-axis", "line", "two-rows", "flat-columns", "nearly-flat-column"],
)
def test_framed_grids_take_data_that_spreads_in_one_direction(X, monkeypatch):
    tuned, make = [], interval.equispaced
    monkeypatch.setattr(choice, "equispaced", lambda *args: tuned.append(args) or make(*args))
    kernel = qf.Gaussian(0.5)
    framed = qf.FramedGrid(kernel, n_components=256).fit(X)
    assert 128 <= framed.transform(X).shape[1] <= 256
    # 128 nodes are far more than seven deviations need: what is left is rounding.
    assert np.abs(framed.approximate_kernel(X) - kernel(X)).max() < 1e-12
    # The counts on the way to 128 grow by a quarter: some 25 of them, of 25 step lengths each.
    assert len(tuned) < 40 * 25


@pytest.mark.parametrize("n", [1, 3, 8, 100, 500, 600, 700, 1000, 2000])
def test_reweighting_has_validation_rows_from_eight_rows_on(n, rng, monkeypatch):
    judged, keep = [], reweighted.keep_better
    monkeypatch.setattr(
        reweighted,
        "keep_better",
        lambda phases, *a, **k: judged.append(len(phases)) or keep(phases, *a, **k),
    )
    learnt, system = [], reweighted.all_pairs_system
    monkeypatch.setattr(
        reweighted,
        "all_pairs_system",
        lambda phases, gram: learnt.append(len(gram)) or system(phases, gram),
    )
    X = rng.normal(size=(n, 2))
    features = qf.ReweightedGrid(qf.Gaussian(0.3), n_components=16, random_state=0).fit(X)
    assert features.transform(X).shape[1] <= 16
    assert learnt[0] == min(500, n - n // 4)
    assert judged == ([min(500, n - learnt[0])] if n >= 8 else [])


@pytest.mark.parametrize(
    ("d", "start"),
    [
        (5, qf.FramedGrid),
        (6, qf.QuasiRandomFourier),
        (40, qf.QuasiRandomFourier),
        (41, qf.OrthogonalFourier),
    ],
)
def test_polishing_starts_where_it_was_measured_to_be_best(d, start):
    assert type(learned_grids.polishing_start(d, 64)) is start
