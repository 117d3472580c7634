"""`KernelFeatures` chooses the best map, and its report is honest."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem

import quadfeat as qf
from quadfeat import _rows
from quadfeat.constructions import mercer
from quadfeat.maps import chooser, validation
from quadfeat.numerics import principal_frame

from .measures import SETS, rms, split


@pytest.mark.parametrize("name", SETS)
def test_the_front_door_beats_nystroem_and_random_features(name):
    train, test = split(name)
    kernel = qf.Gaussian("median").resolve(train)
    ours = rms(qf.KernelFeatures(kernel, n_components=64, random_state=0).fit(train), test, kernel)
    theirs = []
    for seed in range(3):
        peer = Nystroem(gamma=kernel.gamma, n_components=64, random_state=seed).fit(train)
        Z = peer.transform(test)
        apart = ~np.eye(len(test), dtype=bool)
        theirs.append(np.sqrt(np.mean((Z @ Z.T - kernel(test))[apart] ** 2)))
    assert ours < np.mean(theirs) / (1.1 if name != "heavy" else 0.95)
    random = rms(qf.RandomFourier(kernel, n_components=64, random_state=0).fit(train), test, kernel)
    assert ours < random / 5


def test_the_shift_invariant_front_door_is_far_ahead_of_its_peers_on_the_swiss_roll():
    train, test = split("swiss")
    kernel = qf.Gaussian("median").resolve(train)
    features = qf.KernelFeatures(kernel, n_components=64, shift_invariant=True, random_state=0)
    ours = rms(features.fit(train), test, kernel)
    assert (
        ours
        < rms(qf.RandomFourier(kernel, n_components=64, random_state=0).fit(train), test, kernel)
        / 300
    )
    moved = features.approximate_kernel(test + 100.0)
    np.testing.assert_allclose(moved, features.approximate_kernel(test), atol=1e-9)


def test_the_report_tells_what_was_tried_and_why():
    train, _ = split("cancer")
    features = qf.KernelFeatures(n_components=32, random_state=0).fit(train)
    report = features.report_
    assert report.chosen in {trial.name for trial in report.trials}
    assert type(features.map_).__name__ in report.chosen
    text = repr(report)
    assert "RMS error" in text
    assert "* " + report.chosen in text
    assert "<table>" in report._repr_html_()
    chosen = next(t for t in report.trials if t.name == report.chosen)
    least = min(t.rms for t in report.trials if not t.note)
    assert chosen.rms <= 1.2 * least


def test_the_criterion_decides():
    train, _ = split("cancer")
    by_max = qf.KernelFeatures(n_components=32, criterion="max", random_state=0).fit(train)
    least = min(t.max for t in by_max.report_.trials if not t.note)
    chosen = next(t for t in by_max.report_.trials if t.name == by_max.report_.chosen)
    assert chosen.max <= 1.2 * least


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((30, 3)),
        np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 20, axis=0),
        np.random.default_rng(0).normal(size=(10, 2)),
        np.random.default_rng(0).normal(size=(200, 1)),
        np.random.default_rng(0).normal(size=(60, 1000)),
        np.random.default_rng(0).normal(size=(1, 3)),
        np.column_stack([np.ones(50), np.random.default_rng(0).normal(size=50)]),
        np.random.default_rng(0).standard_cauchy(size=(300, 3)),
    ],
    ids=["constant", "duplicates", "few", "one-axis", "wide", "one-row", "flat-column", "cauchy"],
)
@pytest.mark.parametrize("shift_invariant", [False, True])
def test_awkward_data_has_a_best_map(X, shift_invariant):
    features = qf.KernelFeatures(
        n_components=64, shift_invariant=shift_invariant, random_state=0
    ).fit(X)
    Z = features.transform(X)
    assert np.isfinite(Z).all()
    assert 1 <= Z.shape[1] <= 64
    assert np.abs(features.approximate_kernel(X) - features.kernel_(X)).max() < 1.5


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Laplacian(0.3),
        qf.Matern(1.5, 0.2),
        qf.Anova(qf.Gaussian(0.3), [[0, 1], [1, 2], [3]]),
        qf.Gaussian(0.2) + qf.Cauchy(0.2),
        qf.Convolution((4,), 2),
    ],
    ids=lambda k: type(k).__name__,
)
@pytest.mark.parametrize("shift_invariant", [False, True])
def test_the_front_door_takes_every_kernel(kernel, shift_invariant, data):
    features = qf.KernelFeatures(
        kernel, n_components=64, shift_invariant=shift_invariant, random_state=0
    ).fit(data)
    at_zero = features.kernel_.at_zero(4)
    error = (features.approximate_kernel(data) - features.kernel_(data)) / at_zero
    assert np.sqrt(np.mean(error**2)) < 0.12


@pytest.mark.parametrize("n", [40, 300, 6000])
@pytest.mark.parametrize("kernel", [qf.Gaussian(0.05), qf.Laplacian(0.05)], ids=repr)
def test_the_map_returned_is_the_one_measured_on_rows_it_was_not_fitted_on(
    kernel, n, rng, monkeypatch
):
    tried, attempt = [], validation.try_candidate
    monkeypatch.setattr(chooser, "try_candidate", lambda *a: tried.append(a) or attempt(*a))
    X = rng.normal(size=(n, 4))
    features = qf.KernelFeatures(kernel, n_components=8, random_state=0).fit(X)
    report, chosen = features.report_, features.map_
    assert isinstance(chosen, qf.HermiteMercer | qf.Landmarks)
    name, last, training, _, held_out = tried[-1]
    assert last is chosen and name == report.chosen
    both = np.concatenate([training, held_out.rows])
    assert len(np.unique(both, axis=0)) == len(both), "none is both"
    # One in 50 rows, but 16 where they allow, and none is lost.
    assert max(n // 50, min(9, n // 4)) <= len(held_out.rows) <= max(n // 50, 16)
    assert len(both) == n
    assert f"all but {len(held_out.rows)} typical ones, pairs of these" in repr(report)
    again = clone(chosen).fit(training)
    np.testing.assert_array_equal(chosen.transform(X[:50]), again.transform(X[:50]))
    (trial,) = [trial for trial in report.trials if trial.name == report.chosen]
    error = (again.approximate_kernel(held_out.rows) - kernel(held_out.rows)) / kernel.at_zero(4)
    mean = np.average(error**2, weights=held_out.pairs)
    assert trial.rms == pytest.approx(np.sqrt(mean), rel=1e-9)
    assert trial.max == pytest.approx(np.abs(error[held_out.pairs > 0]).max(), rel=1e-9)


@pytest.mark.parametrize("compress", [True, False])
def test_many_rows_but_the_validation_rows_are_fitted_on_once(compress, rng, monkeypatch):
    X = rng.standard_t(3, size=(20_000, 4)) if compress else rng.normal(size=(20_000, 3))
    held_out = _rows.drawn(len(X), 1000)[::2]  # half of the rows that choose the spread
    row_weights = rng.uniform(1, 2, size=len(X))
    row_weights[held_out] = 0
    monkeypatch.setattr(
        validation, "split_rows", lambda *_: (held_out, np.ones(len(held_out)), row_weights)
    )
    width = 100 if compress else 600  # beyond 512 columns nothing is compressed
    door = qf.KernelFeatures(qf.Gaussian(0.05), n_components=width, random_state=0)
    features = clone(door).fit(X)
    assert isinstance(features.map_, qf.HermiteMercer)
    assert features.map_.compress == compress
    (expansion,) = features.map_.basis_.expansions
    others = np.flatnonzero(row_weights)
    near = principal_frame.nearness(principal_frame.distances(X, others)[others])
    mean = np.average(X[others], axis=0, weights=row_weights[others] * near)
    np.testing.assert_allclose(expansion.mean, mean, rtol=1e-12, atol=1e-14)
    changed = X.copy()
    changed[held_out] = X[1 + held_out]  # whatever they are, the map is the same
    again = clone(door).fit(changed)
    np.testing.assert_array_equal(again.transform(X[:50]), features.transform(X[:50]))


def test_very_wide_rows_have_no_shared_fit(rng, monkeypatch):
    X = rng.normal(size=(20_000, 4))
    features = qf.KernelFeatures(qf.Gaussian(0.3), n_components=8, random_state=0).fit(X)
    assert list(features._shared_fits(X, np.ones(len(X)))) == [qf.HermiteMercer]
    monkeypatch.setattr(_rows, "WIDE", 3)
    assert features._shared_fits(X, np.ones(len(X))) == {}
    monkeypatch.setattr(mercer, "WIDE", 3)
    with pytest.raises(ValueError, match="4 columns cannot be weighted"):
        mercer.fit_frames(qf.Gaussian(0.3), X, np.ones(len(X)))


def test_landmarks_are_tried_up_to_the_columns_that_are_affordable(rng):
    X = rng.normal(size=(50, 2))
    for columns, tried in ((4096, True), (4097, False)):
        features = qf.KernelFeatures(qf.Gaussian(0.5), n_components=columns).fit(X)
        assert tried == ("Landmarks" in [trial.name for trial in features.report_.trials])


def test_landmarks_are_at_most_half_of_the_rows_they_are_tried_on(rng, monkeypatch):
    # A rough kernel of many columns has no other expansion: without landmarks, 2,048 features had a
    # larger error than 1,024.
    seen = []

    def tried(name, candidate, rows, *others):
        seen.append((name, len(rows)))
        return validation.try_candidate(name, candidate, rows, *others)

    monkeypatch.setattr(chooser, "try_candidate", tried)
    X = rng.normal(size=(6000, 6))
    chosen = qf.KernelFeatures(qf.Laplacian(0.3), n_components=2100).fit(X)
    assert dict(seen)["QuasiRandomFourier"] == 4200
    assert chosen.report_.chosen == "Landmarks"


@pytest.mark.long
def test_wide_pools_are_not_reweighted_by_the_front_door(rng):
    X = rng.normal(size=(60, 2))
    for columns, tried in ((1024, True), (1025, False)):
        features = qf.KernelFeatures(
            qf.Gaussian(0.5), n_components=columns, shift_invariant=True, random_state=0
        ).fit(X)
        assert tried == ("ReweightedGrid" in [trial.name for trial in features.report_.trials])


def test_where_every_map_refuses_the_front_door_says_why(data):
    far = (1e12 * data).astype(np.float32)
    features = qf.KernelFeatures(qf.Matern(1.5, 1.0), n_components=16, shift_invariant=True)
    with pytest.raises(ValueError, match=r"every map refuses.*float32.*use a smaller gamma"):
        features.fit(far)


@pytest.mark.parametrize(("n", "rows"), [(19, "on rows of X"), (40, "on rows it did not see")])
def test_the_report_says_whether_validation_rows_were_held_out(n, rows, rng):
    X = rng.normal(size=(n, 2))
    report = qf.KernelFeatures(n_components=8, random_state=0).fit(X).report_
    assert rows in report.reason or "is within 20%" in report.reason
    other = {"on rows of X", "on rows it did not see"} - {rows}
    assert not any(words in report.reason for words in other)


def test_fewer_than_twenty_rows_are_all_validated_on_and_the_report_says_so(rng):
    report = qf.KernelFeatures(n_components=8, random_state=0).fit(rng.normal(size=(19, 3))).report_
    words = "pairs of the 19 rows that maps learned from, too few to hold any out"
    assert words in repr(report)
    assert words in report._repr_html_()


def test_the_report_has_the_error_of_typical_pairs_beside_that_of_all(rng):
    X = rng.standard_t(2, size=(15, 3))
    features = qf.KernelFeatures(qf.Gaussian(0.5), n_components=4, random_state=0).fit(X)
    near = np.delete(X, np.argmax(principal_frame.distances(X)), axis=0)
    report = features.report_
    (own,) = [each for each in report.trials if each.name == report.chosen]
    error = features.approximate_kernel(near) - features.kernel_(near)
    apart = error[~np.eye(14, dtype=bool)]
    assert own.typical == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-9)
    assert "typical RMS" in repr(report)
    assert f"{own.typical:.2e}" in repr(report)


def test_candidates_far_behind_at_few_columns_are_left_out(rng, monkeypatch):
    tried, attempt = [], validation.try_candidate
    monkeypatch.setattr(chooser, "try_candidate", lambda *a: tried.append(a[:2]) or attempt(*a))
    X, kernel = rng.normal(size=(3000, 32)), qf.Gaussian(1 / 64)
    wide = qf.KernelFeatures(kernel, n_components=256, random_state=0).fit(X)
    assert wide.report_.chosen == "HermiteMercer"
    left_out = {each.name for each in wide.report_.trials if "at 64 columns" in each.note}
    assert left_out >= {"HermiteMercer(compress=True)"}
    assert max(m.n_components for name, m in tried if name in ("", *left_out)) == 64
    tried.clear()
    narrow = qf.KernelFeatures(kernel, n_components=255, random_state=0).fit(X)
    assert not any(each.note for each in narrow.report_.trials)


def test_a_tolerance_below_rounding_is_refused_at_once(rng):
    with pytest.raises(ValueError, match=r"tol=1e-30 .* rounding leaves; .* 1e-12"):
        qf.KernelFeatures(qf.Gaussian(0.3), tol=1e-30).fit(rng.normal(size=(500, 3)))


def test_few_rows_cannot_show_a_tolerance_that_no_grid_proves(rng):
    features = qf.KernelFeatures(qf.Matern(0.5, 0.2), tol=1e-2, random_state=0)
    with pytest.raises(ValueError, match=r"tol=0\.01 cannot be checked on 7 rows; give at least 8"):
        features.fit(rng.normal(size=(7, 6)))


def test_the_front_door_of_many_columns_ends_with_fourier_maps(rng):
    X = rng.normal(size=(40, 3))
    kernel = qf.Matern(1.5, 0.3, product=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = qf.KernelFeatures(kernel, n_components=1025, random_state=0).fit(X)
    names = [trial.name for trial in wide.report_.trials]
    assert "ReweightedGrid" not in names and "DenseGrid(n_points=10)" in names
