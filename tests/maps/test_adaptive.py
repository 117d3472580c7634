"""Maps that learn from the data, and the front door that chooses among them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs, make_swiss_roll
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import quadfeat as qf
from quadfeat import _rows
from quadfeat.constructions import compression, mercer, polished, reweighted
from quadfeat.maps import chooser, expansions, validation
from quadfeat.maps.report import Trial, choose
from quadfeat.numerics import principal_frame
from quadfeat.rules import choice, interval

SETS = {
    "swiss": lambda: make_swiss_roll(2000, random_state=0)[0],
    "cancer": lambda: load_breast_cancer().data[:, :5],
    "digits": lambda: load_digits().data[:, load_digits().data.std(axis=0) > 0],
    "clusters": lambda: make_blobs(2000, 10, centers=40, cluster_std=0.3, random_state=0)[0],
    "heavy": lambda: np.random.default_rng(0).standard_t(2, size=(2000, 8)),
}


def split(name):
    X = StandardScaler().fit_transform(SETS[name]())
    order = np.random.default_rng(1).permutation(len(X))
    held_out = min(400, len(X) // 3)
    return X[order[held_out:]], X[order[:held_out]]


def rms(features, X_test, kernel):
    exact = kernel(X_test)
    apart = ~np.eye(len(X_test), dtype=bool)
    return np.sqrt(np.mean((features.approximate_kernel(X_test) - exact)[apart] ** 2))


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
def test_the_front_door_opens_for_awkward_data(X, shift_invariant):
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


@pytest.mark.parametrize(
    "make",
    [
        lambda: qf.HermiteMercer(n_components=50),
        lambda: qf.HermiteMercer(n_components=30, compress=True),
        lambda: qf.Landmarks(n_components=50, random_state=0),
        lambda: qf.Landmarks(n_components=30, compress=True, random_state=0),
    ],
)
def test_residuals_bound_the_error_of_every_pair(make):
    train, test = split("cancer")
    features = make().fit(train)
    far = np.concatenate([test, test[:20] + 5.0])
    error = np.abs(features.approximate_kernel(far) - features.kernel_(far))
    r = features.residual(far) + 1e-12
    assert np.all(error <= np.sqrt(np.multiply.outer(r, r)))
    assert features.residual(test[:20] + 5.0).mean() > 3 * features.residual(test).mean()


@pytest.mark.parametrize("n", [40, 300, 6000])
@pytest.mark.parametrize("kernel", [qf.Gaussian(0.05), qf.Laplacian(0.05)], ids=repr)
def test_what_is_returned_is_what_was_judged_on_rows_it_did_not_learn_from(
    kernel, n, rng, monkeypatch
):
    tried, attempt = [], validation.try_candidate
    monkeypatch.setattr(chooser, "try_candidate", lambda *a: tried.append(a) or attempt(*a))
    X = rng.normal(size=(n, 4))
    features = qf.KernelFeatures(kernel, n_components=8, random_state=0).fit(X)
    report, chosen = features.report_, features.map_
    assert isinstance(chosen, qf.HermiteMercer | qf.Landmarks)
    name, last, learners, _, judges = tried[-1]
    assert last is chosen and name == report.chosen
    both = np.concatenate([learners, judges.rows])
    assert len(np.unique(both, axis=0)) == len(both), "none is both"
    # One in 50 rows, but 16 where they allow, and none is lost.
    assert max(n // 50, min(9, n // 4)) <= len(judges.rows) <= max(n // 50, 16)
    assert len(both) == n
    assert f"all but {len(judges.rows)} typical ones, pairs of these" in repr(report)
    again = clone(chosen).fit(learners)
    np.testing.assert_array_equal(chosen.transform(X[:50]), again.transform(X[:50]))
    (trial,) = [trial for trial in report.trials if trial.name == report.chosen]
    error = (again.approximate_kernel(judges.rows) - kernel(judges.rows)) / kernel.at_zero(4)
    mean = np.average(error**2, weights=judges.pairs)
    assert trial.rms == pytest.approx(np.sqrt(mean), rel=1e-9)
    assert trial.max == pytest.approx(np.abs(error[judges.pairs > 0]).max(), rel=1e-9)


@pytest.mark.parametrize("compress", [True, False])
def test_of_many_rows_all_but_the_judges_are_learnt_from_once(compress, rng, monkeypatch):
    X = rng.standard_t(3, size=(20_000, 4)) if compress else rng.normal(size=(20_000, 3))
    judges = _rows.drawn(len(X), 1000)[::2]  # half of the rows that choose the spread
    row_weights = rng.uniform(1, 2, size=len(X))
    row_weights[judges] = 0
    monkeypatch.setattr(
        validation, "split_rows", lambda *_: (judges, np.ones(len(judges)), row_weights)
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
    changed[judges] = X[1 + judges]  # whatever they are, the map is the same
    again = clone(door).fit(changed)
    np.testing.assert_array_equal(again.transform(X[:50]), features.transform(X[:50]))


def test_a_compression_learns_from_forty_rows_a_column_within_limits(rng, monkeypatch):
    counts, compress = [], compression.compress

    def counted(basis, rows, p):
        counts.append(len(rows))
        return compress(basis, rows, p)

    monkeypatch.setattr(compression, "compress", counted)
    X, kernel = rng.normal(size=(22_000, 3)), qf.Gaussian(0.3)
    for columns, rows in ((8, 10_000), (260, 10_400)):
        qf.HermiteMercer(kernel, n_components=columns, compress=True).fit(X)
        qf.KernelFeatures(kernel, n_components=columns, random_state=0).fit(X)
        # Of the front door, the last; from 256 columns on there is one of fewer columns before.
        assert counts[0] == counts[-1] == rows and len(counts) == (3 if columns > 256 else 2)
        counts.clear()
    assert expansions.compression_rows(600) == 20_000


def test_very_wide_rows_are_not_learnt_from_for_good(rng, monkeypatch):
    X = rng.normal(size=(20_000, 4))
    features = qf.KernelFeatures(qf.Gaussian(0.3), n_components=8, random_state=0).fit(X)
    assert list(features._shared_fits(X, np.ones(len(X)))) == [qf.HermiteMercer]
    monkeypatch.setattr(_rows, "WIDE", 3)
    assert features._shared_fits(X, np.ones(len(X))) == {}
    monkeypatch.setattr(mercer, "WIDE", 3)
    with pytest.raises(ValueError, match="4 columns cannot be weighted"):
        mercer.framing(qf.Gaussian(0.3), X, np.ones(len(X)))


def test_an_order_by_weight_starts_with_a_sample_by_weight(rng):
    weights = np.repeat([0.0, 1.0, 3.0], 1000)
    first = validation.weighted_order(weights, rng)
    assert sorted(first) == list(range(1000, 3000))
    share = np.mean(first[:200] >= 2000)
    assert abs(share - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 200)


def test_the_cost_of_reflections_is_that_of_both_products(rng):
    X = rng.normal(size=(900, 60)) @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    X = X @ np.diag(np.linspace(2, 1, 60)) @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    features = qf.HermiteMercer(qf.Gaussian(0.002), n_components=70).fit(X)
    (own,) = features.basis_.expansions
    assert own.mixing is not None
    assert validation.cost_per_row(features) <= 2 * 60 * len(own.mixing) + 70
    assert validation.cost_per_row(features) > 1.8 * 60 * len(own.mixing)


@pytest.mark.parametrize("columns", [7, 100, 300])
@pytest.mark.parametrize("make", [qf.HermiteMercer, qf.Landmarks])
def test_maps_that_share_what_they_learn_are_those_that_learn_alone(make, columns, rng):
    X, shared = rng.normal(size=(1500, 5)), {}
    for compress in (True, False):
        given = {"n_components": columns, "compress": compress, "random_state": 3}
        sharing = make(qf.Gaussian(0.1), **given)._fit_sharing(X, shared)
        alone = make(qf.Gaussian(0.1), **given).fit(X)
        np.testing.assert_array_equal(sharing.transform(X[:90]), alone.transform(X[:90]))
    assert list(shared) == [make]
    # A later fit is its own.
    np.testing.assert_array_equal(
        sharing.fit(2 * X).transform(X[:90]), alone.fit(2 * X).transform(X[:90])
    )


@pytest.mark.parametrize("criterion", ["rms", "max"])
@pytest.mark.parametrize("error, chosen", [(1.19, "cheap"), (1.21, "dear")])
def test_of_maps_within_a_fifth_of_the_least_error_the_cheapest_is_chosen(criterion, error, chosen):
    def trial(name, cost, error):
        errors = {"rms": 9.0, "max": 9.0, "typical": 9.0}
        return Trial(name, 8, cost=cost, **(errors | {criterion: error}))

    trials = [
        trial("dear", 100.0, 1.0),
        trial("middling", 50.0, error),
        trial("cheap", 10.0, error),
    ]
    report = choose([*trials, trial("wrong", 1.0, 2.0)], criterion, "of X", set())
    assert report.chosen == chosen


@pytest.mark.parametrize("cost, chosen", [(91.0, "best"), (89.0, "other")])
def test_a_map_that_is_hardly_cheaper_does_not_replace_a_better_one(cost, chosen):
    trials = [
        Trial("best", 8, 1.0, 1.0, 100.0, typical=1.0),
        Trial("other", 8, 1.1, 1.1, cost, typical=1.1),
    ]
    report = choose(trials, "rms", "of X", set())
    assert report.chosen == chosen


@pytest.mark.parametrize(
    "error, cost, learned, chosen",
    [
        (1.1, 100.0, {"best"}, "other"),
        (1.12, 100.0, {"best"}, "best"),  # clearly better
        (1.1, 112.0, {"best"}, "best"),  # clearly cheaper
        (1.1, 100.0, {"best", "other"}, "best"),
        (1.1, 100.0, set(), "best"),
    ],
)
def test_a_map_that_learned_from_the_rows_has_to_be_clearly_better(error, cost, learned, chosen):
    trials = [
        Trial("best", 8, 1.0, 1.0, 100.0, typical=1.0),
        Trial("other", 8, error, error, cost, typical=error),
    ]
    report = choose(trials, "rms", "it did not see", learned)
    assert report.chosen == chosen
    assert report.reason.startswith(chosen)


def test_a_trial_has_the_error_of_pairs_of_distinct_rows_and_the_cost_of_its_columns(rng):
    X, kernel = rng.normal(size=(15, 3)), qf.Gaussian(0.5)
    features = qf.KernelFeatures(kernel, n_components=8, random_state=0).fit(X)
    trials = {trial.name: trial for trial in features.report_.trials}
    error = qf.HermiteMercer(kernel, n_components=8).fit(X).approximate_kernel(X) - kernel(X)
    apart = error[~np.eye(15, dtype=bool)]
    assert trials["HermiteMercer"].rms == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-9)
    assert trials["HermiteMercer"].max == pytest.approx(np.abs(apart).max(), rel=1e-9)
    # Per point: a distance, an exponential, and half a row of a product, or a whole one.
    assert trials["Landmarks"].cost == 8 * (3 + 10 + 4)
    assert trials["Landmarks(compress=True)"].cost == 15 * (3 + 10 + 8)
    assert trials["QuasiRandomFourier"].cost == 10 * 8 + 4 * 3


def test_landmarks_are_not_tried_where_they_would_be_half_of_the_rows(rng):
    X = rng.normal(size=(50, 2))
    for columns, tried in ((2000, True), (2001, False)):
        features = qf.KernelFeatures(qf.Gaussian(0.5), n_components=columns).fit(X)
        assert tried == ("Landmarks" in [trial.name for trial in features.report_.trials])


def test_rows_to_judge_on_are_more_of_the_outermost_and_weigh_as_many_as_there_are(rng):
    X = rng.standard_t(2, size=(20_000, 4)) * [1.0, 10.0, 100.0, 1000.0]
    distance = principal_frame.distances(X)
    rows, weights, row_weights = validation.split_rows(distance, rng)
    assert len(np.unique(rows)) == len(rows) == 50 + 200 + 700
    assert weights.sum() == pytest.approx(len(X))
    rank = np.argsort(np.argsort(-distance))[rows]
    counts = [np.sum((low <= rank) & (rank < high)) for low, high in ((0, 100), (100, 1000))]
    assert counts == [50, 200]
    assert weights[rank < 100] == pytest.approx(100 / 50)
    assert weights[rank >= 1000] == pytest.approx(19_000 / 700)
    # The others stand for these, each for those of its own distance.
    ranks = np.argsort(np.argsort(-distance))
    assert not row_weights[rows].any()
    for low, high in ((0, 100), (100, 1000), (1000, 20_000)):
        own = row_weights[(low <= ranks) & (ranks < high)]
        assert own.sum() == pytest.approx(high - low)
        assert len(np.unique(own)) == 2


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


def test_moved_nodes_learn_from_rows_taken_outward_and_the_more_so_the_fewer_there_are(rng):
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


def test_moved_nodes_hold_beyond_the_few_rows_of_heavy_tails_that_they_saw():
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


def test_wide_pools_are_not_reweighted_by_the_front_door(rng):
    X = rng.normal(size=(60, 2))
    for columns, tried in ((1024, True), (1025, False)):
        features = qf.KernelFeatures(
            qf.Gaussian(0.5), n_components=columns, shift_invariant=True, random_state=0
        ).fit(X)
        assert tried == ("ReweightedGrid" in [trial.name for trial in features.report_.trials])


def test_parameters_of_the_default_kernel_can_be_set(data):
    search = GridSearchCV(
        make_pipeline(qf.HermiteMercer(n_components=20), Ridge()),
        {"hermitemercer__kernel__gamma": [0.1, 1.0]},
        cv=2,
    )
    search.fit(data, data[:, 0])
    chosen = search.best_params_["hermitemercer__kernel__gamma"]
    assert search.best_estimator_[0].kernel_.gamma == chosen
    given = qf.RandomFourier(qf.Laplacian(0.5)).set_params(kernel__gamma=2.0)
    assert isinstance(given.kernel, qf.Laplacian)


def test_where_every_map_refuses_the_front_door_says_why(data):
    far = (1e12 * data).astype(np.float32)
    features = qf.KernelFeatures(qf.Matern(1.5, 1.0), n_components=16, shift_invariant=True)
    with pytest.raises(ValueError, match=r"every map refuses.*float32.*use a smaller gamma"):
        features.fit(far)


@pytest.mark.parametrize(("n", "judges"), [(19, "on rows of X"), (40, "on rows it did not see")])
def test_the_report_tells_whether_it_was_judged_on_rows_that_were_not_seen(n, judges, rng):
    X = rng.normal(size=(n, 2))
    report = qf.KernelFeatures(n_components=8, random_state=0).fit(X).report_
    assert judges in report.reason or "is within 20%" in report.reason
    other = {"on rows of X", "on rows it did not see"} - {judges}
    assert not any(words in report.reason for words in other)


@pytest.mark.parametrize("n", [1, 3, 8, 100, 500, 600, 700, 1000, 2000])
def test_reweighting_is_judged_on_rows_it_did_not_see_however_few_there_are(n, rng, monkeypatch):
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
