"""Bad input gets an error that names the parameter, the value and what works."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import quadfeat as qf

X = np.random.default_rng(0).normal(size=(20, 4))

CASES = [
    # estimator, data, error, what the message must say
    (qf.RandomFourier("rbf"), X, TypeError, r"kernel.*Gaussian\(gamma=0.5\).*'rbf'"),
    (qf.RandomFourier(qf.Gaussian(-1.0)), X, ValueError, r"gamma.*positive.*-1.0"),
    (qf.RandomFourier(qf.Gaussian(0)), X, ValueError, r"gamma.*0"),
    (qf.RandomFourier(qf.Gaussian(np.nan)), X, ValueError, r"gamma.*nan"),
    (qf.RandomFourier(qf.Gaussian(10**400)), X, ValueError, r"gamma.*finite.*1000"),
    (qf.RandomFourier(qf.Gaussian(None)), X, TypeError, r"gamma.*None"),
    (
        qf.RandomFourier(qf.Gaussian("auto")),
        X,
        ValueError,
        r"gamma.*'tuned' or 'learned'.*'auto'",
    ),
    (qf.RandomFourier(qf.Gaussian(1 + 2j)), X, TypeError, r"gamma.*1\.0.*1\+2j"),
    (qf.RandomFourier(qf.Gaussian([1.0, 2.0])), X, ValueError, r"gamma has 2.*4 columns"),
    (qf.RandomFourier(qf.Gaussian([1, 1, 1, -1])), X, ValueError, r"gamma.*-1"),
    (qf.RandomFourier(qf.Matern(-1, 1.0)), X, ValueError, r"nu.*-1"),
    (qf.RandomFourier(qf.Laplacian(True)), X, TypeError, r"gamma.*True"),
    (qf.RandomFourier(qf.Smoothed(qf.Laplacian(1.0), 0)), X, ValueError, r"width.*0"),
    (qf.RandomFourier(qf.Smoothed("laplacian", 1.0)), X, TypeError, r"kernel.*'laplacian'"),
    (qf.RandomFourier(-1.0 * qf.Gaussian(1.0)), X, ValueError, r"factor.*-1.0"),
    (qf.RandomFourier(qf.Spectral(3)), X, TypeError, r"density.*3"),
    (qf.RandomFourier(qf.Spectral(lambda w: w)), X, ValueError, "density.*non-negative"),
    (qf.RandomFourier(qf.Spectral(lambda w: np.exp(-((w - 1) ** 2)))), X, ValueError, "even"),
    (qf.DenseGrid(n_points=0), X, ValueError, r"n_points.*at least 1.*0"),
    (qf.DenseGrid(n_points=2.5), X, TypeError, r"n_points.*2.5"),
    (qf.DenseGrid(n_points=[3, 3]), X, ValueError, r"n_points has 2.*4 columns"),
    (qf.DenseGrid(rule="simpson"), X, ValueError, r"rule.*'gauss'.*'simpson'"),
    (qf.DenseGrid(qf.Laplacian(1.0), rule="gauss"), X, ValueError, r"equispaced.*Smoothed"),
    (qf.DenseGrid(qf.Matern(1.5, 1.0)), X, ValueError, r"product=True"),
    (qf.SparseGrid(level=-1), X, ValueError, r"level.*-1"),
    (qf.SparseGrid(weights="positive"), X, ValueError, r"weights.*'signed'.*'positive'"),
    (qf.SparseGrid(qf.Laplacian(1.0)), X, ValueError, "DenseGrid.*equispaced.*Smoothed"),
    (qf.SubsampledGrid(n_components=0), X, ValueError, r"n_components.*at least 1.*0"),
    (qf.SubsampledGrid(n_points="5"), X, TypeError, r"n_points.*'5'"),
    (qf.PolynomiallyExact(degree=-2), X, ValueError, r"degree.*-2"),
    (qf.PolynomiallyExact(qf.Laplacian(1.0)), X, ValueError, r"DenseGrid\(.*Smoothed"),
    (qf.ReweightedGrid(selection="best"), X, ValueError, r"selection.*'prune'.*'best'"),
    (qf.ReweightedGrid(pool=3), X, TypeError, r"pool.*Fourier map.*3"),
    (qf.ReweightedGrid(n_samples=0), X, ValueError, r"n_samples.*0"),
    (qf.QuasiRandomFourier(sequence="niederreiter"), X, ValueError, r"sequence.*'halton'"),
    (qf.OrthogonalFourier(qf.Laplacian(1.0)), X, ValueError, "rotation-invariant"),
    (
        qf.HermiteMercer(qf.Gaussian(0.5)),
        1e300 * X,
        ValueError,
        "1e\\+148 .* overflow.*standardise",
    ),
    (qf.KernelFeatures(qf.Gaussian(0.5)), 1e200 * X, ValueError, "overflow.*standardise"),
    (
        qf.FramedGrid(qf.Gaussian(0.5)),
        (1e35 * X).astype(np.float32),
        ValueError,
        "overflow in float32.*standardise",
    ),
    (qf.FramedGrid(qf.Gaussian(0.5)), 1e20 * X, ValueError, "length scales.*standardise"),
    (qf.KernelFeatures(tol=2.0), X, ValueError, "tol=2.*1e-3"),
    (qf.SphericalRadial(qf.Matern(1.5, 1.0)), X, ValueError, "Gaussian"),
    (qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [])), X, ValueError, "subsets is empty"),
    (qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[]])), X, ValueError, "empty one"),
    (qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[0, 9]])), X, ValueError, "4 columns.*0 to 3"),
    (qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[1, 1]])), X, ValueError, "repeats"),
    (qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[0], [0]])), X, ValueError, "twice"),
    (qf.RandomFourier(qf.Anova("rbf", [[0]])), X, TypeError, "base.*'rbf'"),
    (qf.RandomFourier(qf.Anova([qf.Gaussian(1.0)], [[0]])), X, ValueError, "base has 1.*4"),
    (
        qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[0]], weights=[-1])),
        X,
        ValueError,
        "weights.*-1",
    ),
    (qf.RandomFourier(qf.Convolution((3, 3), 2)), X, ValueError, r"shape.*9 columns.*4"),
    (qf.RandomFourier(qf.Convolution((2, 2), 3)), X, ValueError, r"window=3.*shape"),
    (qf.RandomFourier(qf.Convolution((2, 2), 0)), X, ValueError, r"window.*0"),
    (qf.RandomFourier(qf.Convolution((2, 2), 1, stride=0)), X, ValueError, r"stride.*0"),
    (qf.RandomFourier(qf.Convolution((1, 1, 1, 4), 1)), X, ValueError, "shape must be"),
    (
        qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[0], [1], [2]]), n_components=5),
        X,
        ValueError,
        "two columns for each.*at least 6",
    ),
    (
        qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[0], [1, 2]]), share_groups=True),
        X,
        ValueError,
        "share_groups",
    ),
    (qf.RandomFourier(), np.full((5, 2), np.nan), ValueError, "NaN"),
    (qf.RandomFourier(), np.full((5, 2), np.inf), ValueError, "infinity"),
    (qf.RandomFourier(), np.array([[1e308, -1e308]] * 5), ValueError, "overflow"),
    (qf.RandomFourier(qf.Gaussian("median")), np.diag([1e308] * 5), ValueError, "overflow"),
    (qf.RandomFourier(), [["a", "b"]], ValueError, "string|convert"),
]


@pytest.mark.parametrize(
    ("estimator", "data", "error", "message"), CASES, ids=[str(i) for i in range(len(CASES))]
)
def test_fit_says_what_is_wrong_and_what_works(estimator, data, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        estimator.fit(data)


@pytest.mark.parametrize(
    ("estimator", "d", "advice"),
    [
        (qf.DenseGrid(n_points=5), 30, "SubsampledGrid"),
        (qf.SparseGrid(level=12), 60, "level=11"),
        (qf.PolynomiallyExact(degree=8), 50, "smaller degree"),
        (qf.RandomFourier(n_components=10**13), 4, "fewer columns"),
    ],
)
def test_what_cannot_fit_is_refused_before_it_is_allocated(estimator, d, advice):
    with pytest.raises(ValueError, match=rf"[\d,]+ bytes.*{advice}"):
        estimator.fit(np.random.default_rng(0).normal(size=(10, d)))


def test_a_transform_that_cannot_fit_names_blocks():
    rows = np.lib.stride_tricks.as_strided(np.zeros(2), shape=(10**10, 2), strides=(0, 8))
    fitted = qf.RandomFourier(qf.Gaussian(1.0), n_components=4096).fit(np.zeros((2, 2)))
    fitted._validated = lambda X: X  # validating 10^10 rows takes minutes
    with pytest.raises(ValueError, match=r"bytes.*transform_blocks"):
        fitted.transform(rows)


def test_unfitted_maps_and_other_column_counts_are_refused(any_map):
    with pytest.raises(NotFittedError):
        any_map.transform(X)
    any_map.fit(X)
    with pytest.raises(ValueError, match="expecting 4 features"):
        any_map.transform(X[:, :3])
    with pytest.raises(ValueError, match=r"rows.*0"):
        list(any_map.transform_blocks(X, 0))


def test_anova_random_says_how_many_subsets_there_are():
    with pytest.raises(ValueError, match=r"n_subsets.*6"):
        qf.Anova.random(4, 7, 2)
    with pytest.raises(ValueError, match=r"size.*n_features=4.*5"):
        qf.Anova.random(4, 1, 5)


def test_a_gram_of_different_columns_is_refused():
    with pytest.raises(ValueError, match="4 columns and Y has 3"):
        qf.Gaussian(1.0)(X, X[:, :3])


def test_a_narrow_exact_rule_warns_with_the_width_that_would_do():
    wide = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.warns(
        UserWarning, match=r"degree=4.*exact to degree \d.*n_components=(\d+)"
    ) as seen:
        qf.PolynomiallyExact(qf.Gaussian(0.5), degree=4, n_components=64, random_state=0).fit(wide)
    enough = int(str(seen[0].message).split("n_components=")[2].split()[0])
    qf.PolynomiallyExact(
        qf.Gaussian(0.5), degree=4, n_components=int(1.3 * enough), random_state=0
    ).fit(wide)


def test_sparse_grids_warn_above_five_axes():
    with pytest.warns(UserWarning, match="ReweightedGrid"):
        qf.SparseGrid().fit(np.random.default_rng(0).normal(size=(10, 6)))


FITTED = qf.RandomFourier(qf.Gaussian(0.5), n_components=8, random_state=0).fit(X)
MODEL = qf.KernelRegressor(FITTED, alpha=1.0)
BAD_CALLS = [
    # what is called, error, what the message must say
    (lambda: FITTED.error(X, n_pairs=10**9), ValueError, "n_pairs.*100,000,000"),
    (lambda: FITTED.error(X, confidence="a"), TypeError, "confidence.*0.95.*'a'"),
    (lambda: FITTED.error(X, confidence=10**400), ValueError, "confidence.*1000"),
    (lambda: FITTED.error(X, X[:, :2]), ValueError, "^Y: .*2 features"),
    (lambda: FITTED.approximate_kernel(X, np.full(X.shape, np.nan)), ValueError, "^Y: .*NaN"),
    (lambda: FITTED.gradient(X, "a"), TypeError, "coefficients.*'a'"),
    (lambda: qf.DenseGrid.for_tolerance(None, 0.1, 1.0), TypeError, "kernel.*Gaussian.*None"),
    (
        lambda: qf.DenseGrid.for_tolerance(qf.Gaussian(1.0), 0.1, 1.0, n_features=-1),
        ValueError,
        "n_features.*-1",
    ),
    (lambda: qf.rules.gauss_hermite(10**9), ValueError, "n must be at most 100,000"),
    (lambda: qf.rules.gauss_hermite(2.5), TypeError, "n must be a whole number.*2.5"),
    (lambda: qf.rules.equispaced(None, 3, 0.5), TypeError, "density.*None"),
    (lambda: qf.rules.equispaced(np.exp, 3, -1.0), ValueError, "step.*-1.0"),
    (lambda: qf.save(None, "a.qf"), TypeError, "estimator.*None"),
    (lambda: qf.save(FITTED, None), TypeError, "path.*'model.qf'.*None"),
    (lambda: qf.load("\0"), ValueError, "path must name a file"),
    (lambda: MODEL.fit(X, X[:, 0], sample_weight="a"), ValueError, "^sample_weight"),
    (lambda: MODEL.fit(X, X[:, 0], sample_weight=10**400), ValueError, "^sample_weight"),
    (lambda: MODEL.fit(X, X[:, 0]).predict(X, return_std=[]), TypeError, "return_std.*True or"),
    (
        lambda: qf.KernelRegressor(FITTED, verbose=np.zeros(0)).fit(X, X[:, 0]),
        TypeError,
        "verbose.*True or False",
    ),
    (
        lambda: qf.KernelRegressor(FITTED, checkpoint="\0").fit(X, X[:, 0]),
        ValueError,
        "checkpoint must name a file",
    ),
    (
        lambda: qf.KernelClassifier(FITTED).partial_fit(X, X[:, 0] > 0, classes=[]),
        ValueError,
        r"classes.*\[\].*at least 2",
    ),
    (lambda: qf.Matern(1.5, 1.0, product=np.zeros(0)).resolve(X), TypeError, "product.*True or"),
    (lambda: qf.Gaussian(1.0, metric=-1).resolve(X), ValueError, "metric.*got -1"),
    (lambda: qf.Smoothed(qf.Laplacian(1.0), 1e-320).resolve(X), ValueError, "width.*1e-320"),
    (lambda: FITTED.set_params(kernel=qf.Spectral(int)).fit(X), TypeError, "density.*int"),
    (lambda: qf.Landmarks(points=10**400).fit(X), ValueError, "^points"),
    (
        lambda: qf.TableEncoder(n_folds=10**400).fit(X, X[:, 0]),
        ValueError,
        "n_folds.*at most",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_a_call_says_which_argument_is_wrong(call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call()


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (qf.DenseGrid(n_points=[[1], 2]), "n_points"),
        (qf.RandomFourier(qf.Gaussian([[1.0], 2.0])), "gamma"),
        (qf.RandomFourier(qf.Anova(qf.Gaussian(1.0), [[0]], weights=[[1], 2])), "weights"),
        (qf.RandomFourier(qf.Convolution((2, 2), [[1], 2])), "window"),
        (qf.KernelRegressor(FITTED, alpha=[[1.0], 2.0]), "alpha"),
    ],
)
def test_a_ragged_list_is_named(estimator, name):
    with pytest.raises(ValueError, match=rf"^{name}.*inhomogeneous"):
        estimator.fit(X, X[:, 0])


def test_blocks_of_a_transform_leave_blas_as_it_was():
    """And are evaluated as `transform` does it: a projection has the same bits in equal blocks."""
    rows = np.random.default_rng(0).normal(size=(150, 4))
    fitted = qf.HermiteMercer(n_components=32, compress=True).fit(rows)
    assert np.array_equal(next(fitted.transform_blocks(rows, 150)), fitted.transform(rows))
