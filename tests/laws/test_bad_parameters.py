"""Every parameter of every estimator, with odd values: an error that names it, or a valid fit."""

import inspect
import re
import warnings

import numpy as np
import polars as pl
import pytest

import quadfeat as qf

X = np.random.default_rng(0).normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
MAPS = [
    qf.DenseGrid,
    qf.SparseGrid,
    qf.SubsampledGrid,
    qf.PolynomiallyExact,
    qf.ReweightedGrid,
    qf.FramedGrid,
    qf.RandomFourier,
    qf.OrthogonalFourier,
    qf.QuasiRandomFourier,
    qf.SphericalRadial,
    qf.HermiteMercer,
    qf.Landmarks,
    qf.KernelFeatures,
]
MODELS = [qf.KernelRegressor, qf.KernelClassifier]
ODD = [None, "a", np.nan, np.inf, -1, 0, 0.5, 10**9, [], object(), True, np.ma.masked]
SMALL = {"n_components": 16}
QUICK = qf.RandomFourier(qf.Gaussian(0.5), n_components=8, random_state=0)


def parameters(classes):
    return [
        pytest.param(kind, name, id=f"{kind.__name__}-{name}")
        for kind in classes
        for name in inspect.signature(kind).parameters
    ]


def usual(kind):
    if kind in MODELS:
        return {"features": QUICK, "alpha": 1.0}
    known = inspect.signature(kind).parameters
    kernel = {"kernel": qf.Gaussian(0.5)}
    return kernel | {name: value for name, value in SMALL.items() if name in known}


@pytest.mark.parametrize(("kind", "name"), parameters([*MAPS, *MODELS]))
def test_an_odd_parameter_is_named_or_gives_a_valid_fit(kind, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # checkpoint="a" is a file
    for value in ODD:
        estimator = kind(**(usual(kind) | {name: value}))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                estimator.fit(X, Y)
        except (TypeError, ValueError) as refusal:
            assert re.search(rf"\b{name}\b", str(refusal)), (value, refusal)
            continue
        output = estimator.predict(X) if kind in MODELS else estimator.transform(X)
        assert np.isfinite(output).all(), value


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (qf.HermiteMercer(random_state="a"), TypeError, "random_state.*'a'"),
        (qf.RandomFourier(random_state=-1), ValueError, "random_state.*-1"),
        (qf.RandomFourier(share_groups=None), TypeError, "share_groups.*True or False.*None"),
        (qf.HermiteMercer(compress="yes"), TypeError, "compress.*True or False.*'yes'"),
        (qf.KernelRegressor(fit_intercept=None), TypeError, "fit_intercept.*True or False.*None"),
        (qf.KernelClassifier(verbose="a"), TypeError, "verbose.*True or False.*'a'"),
        (qf.KernelRegressor(checkpoint_interval="a"), TypeError, "checkpoint_interval.*60.0.*'a'"),
        (qf.KernelRegressor(checkpoint_interval=-1), ValueError, "checkpoint_interval.*60.0.*-1"),
        (qf.KernelRegressor(checkpoint=3), TypeError, "checkpoint must be a path.*3"),
        (qf.SubsampledGrid(n_points=10**9), ValueError, "n_points.*at most.*1,000,000,000"),
        (qf.SparseGrid(level=10**9), ValueError, "level.*at most 12"),
        (qf.PolynomiallyExact(degree=10**9), ValueError, "degree.*at most 100"),
        (qf.HermiteMercer(n_components=4096, compress=True), ValueError, "2,048.*compress=True"),
        (qf.KernelFeatures(n_components=(8, 16)), ValueError, "a model chooses.*n_components=16"),
        (
            qf.KernelFeatures(n_components=(16, 8)),
            ValueError,
            r"in increasing order, such as \(512, 1024\)",
        ),
        (
            qf.KernelFeatures(n_components=()),
            ValueError,
            r"in increasing order, such as \(512, 1024\)",
        ),
        (qf.KernelFeatures(n_components=(8, "a")), TypeError, "whole number such as 256.*'a'"),
        (qf.KernelFeatures(n_components=(8, 10**9)), ValueError, "n_components=1,000,000,000"),
        (qf.KernelFeatures(n_components=(8, 16), tol=0.1), ValueError, "tol=0.1.*or tol=None"),
        (qf.RandomFourier(n_components=(8, 16)), TypeError, "n_components must be a whole number"),
    ],
)
def test_flags_seeds_and_counts_are_checked_whether_used_or_not(estimator, error, message):
    with pytest.raises(error, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize("kind", [kind for kind in MAPS if "n_components" in usual(kind)])
def test_too_many_columns_are_refused_with_a_number_that_works(kind):
    with pytest.raises(ValueError, match=r"n_components=1,000,000,000 .*n_components=1024"):
        kind(n_components=10**9).fit(X)
    with pytest.raises(ValueError, match=r"n_components=1,000,000,000 .*n_components=1024"):
        qf.KernelRegressor(kind(n_components=10**9)).fit(X, Y)


@pytest.mark.parametrize(
    "slow", [qf.FramedGrid, qf.ReweightedGrid, qf.HermiteMercer, qf.Landmarks, qf.KernelFeatures]
)
def test_a_million_columns_are_too_many_where_each_takes_long(slow):
    with pytest.raises(ValueError, match=rf"n_components=1,000,000 .*that {slow.__name__} makes"):
        slow(n_components=10**6).fit(X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: qf.KernelFeatures(gamma=0.5), r"write KernelFeatures\(Gaussian\(0\.5\)\)"),
        (lambda: qf.RandomFourier(gamma="scale"), r"write RandomFourier\(Gaussian\('scale'\)\)"),
        (
            lambda: qf.KernelRegressor(gamma=0.5),
            r"write KernelRegressor\(KernelFeatures\(Gaussian\(0\.5\)\)\)",
        ),
        (
            lambda: qf.KernelRegressor(qf.Gaussian(2.0)).fit(X, Y),
            r"write KernelRegressor\(KernelFeatures\(Gaussian\(gamma=2\.0\)\)\)",
        ),
    ],
)
def test_gamma_or_a_kernel_in_the_wrong_place_is_answered_with_what_to_write(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_signatures_of_constructors_list_their_parameters():
    assert list(qf.RandomFourier().get_params(deep=False)) == [
        "kernel",
        "n_components",
        "random_state",
        "share_groups",
    ]
    assert str(inspect.signature(qf.FramedGrid)) == (
        "(kernel: 'Kernel | None' = None, *, n_components: 'int' = 256) -> 'None'"
    )


@pytest.mark.parametrize("kind", MODELS)
def test_bad_weights_of_rows_and_classes_are_named(kind):
    model = kind(QUICK, alpha=1.0)
    with pytest.raises(ValueError, match=r"sample_weight.*1e\+308.*divide them by their mean"):
        model.fit(X, Y, sample_weight=np.full(len(X), 1e308))
    with pytest.raises(ValueError, match=r"sample_weight.*1e\+308.*divide them by their mean"):
        model.fit([(X, Y, np.full(len(X), 1e308))])


def test_weights_of_no_class_are_refused():
    with pytest.raises(ValueError, match=r"class_weight=\{0: 0, 1: 0\}.*every class"):
        qf.KernelClassifier(QUICK, class_weight={0: 0, 1: 0}).fit(X, Y)


def test_masked_entries_are_refused_and_an_empty_mask_is_not():
    hidden = np.ma.array(X, mask=X > 2.0)
    assert hidden.mask.any()
    model, map_ = qf.KernelRegressor(QUICK, alpha=1.0), qf.RandomFourier(qf.Gaussian(0.5))
    for call in (
        lambda: map_.fit(hidden),
        lambda: map_.fit(X).transform(hidden),
        lambda: list(map_.fit(X).transform_blocks(hidden)),
        lambda: model.fit(hidden, Y),
        lambda: model.fit([(hidden, Y)]),
        lambda: model.fit(X, Y).predict(hidden),
        lambda: model.fit(X, Y).predict([hidden]),
        lambda: qf.Gaussian(0.5)(X, hidden),
        lambda: qf.Gaussian(0.5)(hidden),
    ):
        with pytest.raises(ValueError, match=r"[XY] .*has \d+ masked entries.*filled"):
            call()
    for y, weight, name in (
        (np.ma.array(Y, mask=Y > 0), None, "y"),
        (Y, np.ma.array(np.ones(30), mask=Y > 0), "sample_weight"),
    ):
        with pytest.raises(ValueError, match=rf"{name} has \d+ masked entries"):
            model.fit(X, y, weight)
    plain = map_.set_params(random_state=0).fit(X).transform(X)
    np.testing.assert_array_equal(map_.transform(np.ma.array(X)), plain)


def test_a_lazy_table_is_to_be_collected_first():
    lazy = pl.DataFrame(X).lazy()
    model, map_ = qf.KernelRegressor(QUICK, alpha=1.0), qf.RandomFourier(qf.Gaussian(0.5))
    for call in (
        lambda: map_.fit(lazy),
        lambda: map_.fit(X).transform(lazy),
        lambda: model.fit(lazy, Y),
        lambda: model.fit(X, Y).predict(lazy),
        lambda: qf.TableEncoder().fit(lazy),
        lambda: qf.Gaussian(0.5)(lazy),
    ):
        with pytest.raises(TypeError, match=r"X is a lazy LazyFrame.*give X\.collect\(\)"):
            call()


@pytest.mark.parametrize("kind", [qf.HermiteMercer, qf.Landmarks])
def test_rows_infinitely_far_from_the_data_have_no_features_and_a_residual_of_all(kind):
    fitted = kind(qf.Gaussian(0.5), n_components=16, random_state=0).fit(X)
    far = 1e200 * np.ones((2, 3))
    np.testing.assert_array_equal(fitted.transform(far), 0.0)
    np.testing.assert_array_equal(fitted.residual(far), 1.0)


def test_no_seed_leaves_the_global_random_state_alone():
    def state():
        return np.random.get_state()[1].tobytes(), np.random.get_state()[2]

    before = state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for kind in MAPS:
            fitted = kind(**usual(kind)).fit(X)
            fitted.transform(X)
            fitted.error(X, n_pairs=10, random_state=None)
            assert state() == before, kind
        compressed = [
            kind(n_components=8, compress=True) for kind in (qf.HermiteMercer, qf.Landmarks)
        ]
        polished = qf.ReweightedGrid(n_components=8, polish=True)
        structured = qf.OrthogonalFourier(structured=True)
        halton = qf.QuasiRandomFourier(sequence="halton")
        for fitted in (*compressed, polished, structured, halton):
            fitted.fit(X)
            assert state() == before, fitted
        for kind in MODELS:
            kind().fit(X, Y).predict(X)
            assert state() == before, kind
        for loss in ("logistic", "squared_hinge"):
            qf.KernelClassifier(QUICK, loss=loss).fit(X, Y).predict(X)
            assert state() == before, loss
    qf.Anova.random(6, 3, 2)
    assert state() == before
    first, second = (qf.RandomFourier(n_components=4).fit(X).rule_.nodes for _ in range(2))
    assert not np.array_equal(first, second)
