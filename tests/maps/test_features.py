"""Laws of feature maps, over the tables in conftest."""

import pickle
import re

import numpy as np
import pytest
import sklearn.utils.validation
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadfeat as qf
import quadfeat.kernels.base

from ..conftest import MAPS

EPS32 = float(np.finfo(np.float32).eps)


@pytest.mark.filterwarnings("ignore:a sparse grid with non-negative:UserWarning")
@pytest.mark.filterwarnings("ignore:no non-negative rule:UserWarning")
@parametrize_with_checks([make() for make in MAPS.values()])
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


def test_inner_products_of_features_are_the_rule_s_kernel(any_map, data):
    fitted = any_map.fit(data)
    if not hasattr(fitted, "rule_"):
        return
    features, rule = fitted.transform(data[:20]), fitted.rule_
    gaps = (data[:20, None] - data[None, :20]).reshape(-1, 4)
    expected = rule(gaps).reshape(20, 20)
    mass = np.abs(rule.weights).sum()
    np.testing.assert_allclose((features * fitted.signs_) @ features.T, expected, atol=1e-13 * mass)
    np.testing.assert_allclose(fitted.approximate_kernel(data[:20]), expected, atol=1e-13 * mass)


def test_weights_sum_to_k_of_zero(any_map, data):
    fitted = any_map.fit(data)
    if not hasattr(fitted, "rule_"):
        return
    if isinstance(any_map, qf.ReweightedGrid) or any_map.get_params().get("weights") == (
        "nonnegative"
    ):
        tolerance = 0.2  # least squares over pairs promises no mass
    else:
        tolerance = 1e-10
    assert fitted.rule_.weights.sum() == pytest.approx(1.0, abs=tolerance)


def test_n_components_counts_columns(any_map, data):
    if "n_components" not in any_map.get_params():
        return
    for n in (1, 2, 7, 64):
        with pytest.warns(UserWarning) if _too_narrow(any_map, n) else _nothing():
            fitted = clone(any_map).set_params(n_components=n).fit(data)
        columns = fitted.transform(data[:3]).shape[1]
        assert 1 <= columns <= n
        assert fitted.n_components == n


def _too_narrow(any_map, n):
    return isinstance(any_map, qf.PolynomiallyExact) and 2 <= n < 8


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_float32_in_is_float32_out_and_close(any_map, data):
    fitted = any_map.fit(data)
    double, single = fitted.transform(data), fitted.transform(data.astype(np.float32))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    # The angle carries the rounding of its products, the cosine and its factor one more each.
    plan = getattr(fitted, "_plan", None)
    # Hermite functions of degree k turn about as fast as frequencies of sqrt(2k) would.
    angle = np.abs(data).max() * plan.largest_node if plan else 100.0
    scale = np.abs(double).max()
    assert np.abs(double - single).max() <= 8 * EPS32 * scale * (1 + angle)


def test_rows_do_not_know_each_other(any_map, data):
    fitted = any_map.fit(data)
    whole = fitted.transform(data)
    # Products by BLAS round by the shape of the block; everything else is the same to the bit.
    rounding = 0.0 if hasattr(fitted, "rule_") else 1e-12
    assert np.abs(fitted.transform(data[5:6]) - whole[5:6]).max() <= rounding
    assert np.abs(fitted.transform(data[::-1]) - whole[::-1]).max() <= rounding


def test_blocks_are_the_transform_in_one_reused_buffer(any_map, data):
    fitted = any_map.fit(data)
    whole = fitted.transform(data)
    for rows in (1, 7, 200, 1000, None):
        blocks = list(fitted.transform_blocks(data, rows))
        assert len({block.__array_interface__["data"][0] for block in blocks}) == 1
        copies = [block.copy() for block in fitted.transform_blocks(data, rows)]
        rounding = 0.0 if hasattr(fitted, "rule_") else 1e-12
        assert np.abs(np.concatenate(copies) - whole).max() <= rounding


def test_a_fit_validates_its_rows_once(any_map, data, monkeypatch):
    calls = []
    for module in (sklearn.utils.validation, quadfeat.kernels.base):
        check = module.check_array
        monkeypatch.setattr(
            module, "check_array", lambda *a, c=check, **k: calls.append(1) or c(*a, **k)
        )
    any_map.fit(data)
    assert len(calls) == 1
    any_map.transform(data)
    assert len(calls) == 1  # a plain array of floats needs none of scikit-learn's checks


@pytest.mark.parametrize(
    "X",
    [
        [[np.nan, 0, 0, 0]],
        [[np.inf, 0, 0, 0]],
        np.zeros((1, 3)),
        np.zeros((0, 4)),
        np.zeros(4),
        np.zeros((1, 4), dtype=complex),
    ],
    ids=["nan", "inf", "narrow", "empty", "flat", "complex"],
)
def test_transform_refuses_what_scikit_learn_refuses_in_its_words(any_map, data, X):
    fitted, theirs = any_map.fit(data), RBFSampler().fit(data)
    X = np.asarray(X)
    with pytest.raises(ValueError) as refused:
        theirs.transform(X)
    words = str(refused.value).split("RBFSampler")[0].splitlines()[0]
    with pytest.raises(ValueError, match=re.escape(words) if X.dtype != complex else "Complex"):
        fitted.transform(X)


def test_finite_rows_whose_sum_overflows_are_validated(data):
    fitted = qf.Landmarks(qf.Gaussian(0.3), n_components=5, random_state=0).fit(data)
    assert not fitted.transform(np.full((2, 4), 1e308)).any()


def test_rows_without_names_warn_where_fit_saw_names(data):
    pandas = pytest.importorskip("pandas")
    fitted = qf.RandomFourier(random_state=0).fit(pandas.DataFrame(data, columns=list("abcd")))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.transform(data)


def test_layout_and_ownership_of_x_do_not_matter(any_map, data, tmp_path):
    fitted = any_map.fit(data)
    expected = fitted.transform(data)
    frozen = data.copy()
    frozen.flags.writeable = False
    mapped = np.memmap(tmp_path / "x", dtype=data.dtype, mode="w+", shape=data.shape)
    mapped[:] = data
    padded = np.zeros((200, 9))
    padded[:, ::2][:, :4] = data
    for same in (frozen, mapped, np.asfortranarray(data), padded[:, ::2][:, :4]):
        np.testing.assert_allclose(fitted.transform(same), expected, atol=1e-14)
        np.testing.assert_allclose(clone(any_map).fit(same).transform(data), expected, atol=1e-12)


def test_csr_is_the_same_as_dense(any_map, data):
    thin = np.where(np.abs(data) > 0.5, data, 0.0)
    fitted = any_map.fit(sparse.csr_array(thin))
    np.testing.assert_allclose(
        fitted.transform(sparse.csr_array(thin)),
        clone(any_map).fit(thin).transform(thin),
        atol=1e-13,
    )


@pytest.mark.parametrize("n", [1, 200, 9_999, 10_000, 10_001, 19_999, 20_001])
@pytest.mark.parametrize("d", [1, 2**13, 2**17])
def test_as_many_rows_of_a_sparse_x_are_made_dense_as_memory_allows(n, d, monkeypatch):
    """10,000 rows, or 2**26 numbers, or 200 rows; fewer by less than half, as they are spread."""
    built = []
    monkeypatch.setattr(qf.RandomFourier, "_build", lambda self, X: built.append(X.shape) or 1)
    X = sparse.csr_array((np.ones(1, np.float32), ([n - 1], [d - 1])), shape=(n, d))
    qf.RandomFourier(qf.Gaussian(0.5)).fit(X)
    most = max(200, min(10_000, 2**26 // d))
    assert built[0][1] == d
    assert min(n, most / 2) <= built[0][0] <= min(n, most)


def test_fit_changes_no_parameter_and_no_input(any_map, data):
    before, copy = repr(any_map.get_params()), data.copy()
    state = np.random.get_state()[1].copy()
    any_map.fit(data).transform(data)
    assert repr(any_map.get_params()) == before
    assert np.array_equal(data, copy)
    assert np.array_equal(np.random.get_state()[1], state)


def test_equal_seeds_give_equal_features(any_map, data):
    one, other = clone(any_map).fit(data), clone(any_map).fit(data)
    assert np.array_equal(one.transform(data), other.transform(data))


def test_pickles_remember_every_bit(any_map, data):
    fitted = any_map.fit(data)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(data), fitted.transform(data))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_names_the_columns(any_map, data, library):
    frame = any_map.set_output(transform=library).fit(data).transform(data)
    assert type(frame).__module__.split(".")[0] == library
    assert list(frame.columns) == list(any_map.get_feature_names_out())
    assert frame.columns[0] == type(any_map).__name__.lower() + "0"
    assert any_map.approximate_kernel(data[:5]).shape == (5, 5)


def test_maps_converge_to_every_kernel_they_accept(kernel_of, rng):
    """At 4000 columns each map is within its own rate of the exact kernel."""
    d = 3
    X = rng.normal(size=(60, d))
    kernel = kernel_of(d)
    exact, at_zero = kernel(X), kernel.at_zero(d)
    for fitted, tolerance in (
        # Error of n random cosines is at most 5 / sqrt(n / groups) here, five standard errors.
        (qf.RandomFourier(kernel, n_components=4000, random_state=0), 0.25),
        (qf.QuasiRandomFourier(kernel, n_components=4000, random_state=0), 0.15),
    ):
        error = np.abs(fitted.fit(X).approximate_kernel(X) - exact).max() / at_zero
        assert error < tolerance


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("d", [2, 3, 5, 8, 16, 17, 33])
def test_orthogonal_features_converge_in_every_dimension(structured, d, rng):
    X = rng.normal(size=(30, d))
    kernel, pairs = qf.Gaussian(1 / d), 32_768
    features = qf.OrthogonalFourier(
        kernel, n_components=2 * pairs, structured=structured, random_state=0
    )
    error = features.fit(X).approximate_kernel(X) - kernel(X)
    # A cosine varies by at most 1/2 on average over pairs: twice what is left of that.
    assert np.mean(error**2) < 1.0 / pairs


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Gaussian(0.3),
        qf.Gaussian([0.2, 0.3, 0.4]),
        qf.Gaussian(0.2) + 0.5 * qf.Gaussian(0.4),
        qf.Gaussian(0.1) * qf.Gaussian(0.2),
        qf.Anova(qf.Gaussian(0.3), [[0, 1], [1, 2]], weights=[1.0, 3.0]),
        qf.Anova([qf.Gaussian(0.2), qf.Gaussian(0.3), qf.Gaussian(0.4)], [[0, 1], [1, 2]]),
        qf.Convolution((3,), 2, base=qf.Gaussian(0.3)),
    ],
    ids=repr,
)
def test_dense_grids_converge_fast_in_three_dimensions(kernel, rng):
    X = rng.uniform(-1.5, 1.5, size=(60, 3))
    exact = kernel(X)
    assert exact.min() < 0.3 * exact.max()
    errors = [
        np.abs(qf.DenseGrid(kernel, n_points=n).fit(X).approximate_kernel(X) - exact).max()
        for n in (4, 8, 12)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 2e-5 * exact.max()


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


def test_nonnegative_sparse_grids_err_less_on_the_data_than_signed_ones(rng):
    X = rng.normal(size=(500, 3))
    kernel = qf.Gaussian(0.5)
    exact = kernel(X[:100])
    errors = {
        weights: np.abs(
            qf.SparseGrid(kernel, level=3, weights=weights).fit(X).approximate_kernel(X[:100])
            - exact
        ).max()
        for weights in ("signed", "nonnegative")
    }
    assert errors["nonnegative"] < errors["signed"] / 3


def test_it_replaces_rbf_sampler_in_a_pipeline_and_a_search(rng):
    X = rng.normal(size=(300, 3))
    y = (np.sin(2 * X).sum(axis=1) > 0).astype(int)
    theirs = make_pipeline(
        StandardScaler(), RBFSampler(gamma=0.3, n_components=128, random_state=0), RidgeClassifier()
    )
    ours = make_pipeline(
        StandardScaler(), qf.DenseGrid(qf.Gaussian(0.3), n_points=5), RidgeClassifier()
    )
    assert ours.fit(X[:200], y[:200]).score(X[200:], y[200:]) >= 0.8
    assert theirs.fit(X[:200], y[:200]).score(X[200:], y[200:]) >= 0.7
    search = GridSearchCV(ours, {"densegrid__kernel__gamma": [0.01, 0.3]}, cv=3).fit(X, y)
    assert search.best_params_["densegrid__kernel__gamma"] == 0.3


def test_default_kernel_is_scikit_learn_s_scale(data):
    fitted = qf.RandomFourier(random_state=0).fit(data)
    assert fitted.kernel is None
    assert fitted.kernel_.gamma == pytest.approx(1 / (4 * data.var()), rel=1e-12)


class _Halves(qf.FeatureMap):
    """A map of one's own: the columns of X, halved."""

    def _build(self, X):
        self.signs_ = np.ones(X.shape[1])
        return X.shape[1]

    def _evaluate(self, X, out):
        out[:] = X / 2

    def __init__(self, kernel=None):
        self.kernel = kernel


def test_a_map_of_one_s_own_needs_two_methods_and_its_error_is_bounded_by_its_lengths(data):
    fitted = _Halves(qf.Gaussian(0.1)).fit(data)
    lengths = np.linalg.norm(data, axis=1) / 2
    assert fitted._largest_error(data[:50], data[50:]) == pytest.approx(
        1 + lengths[:50].max() * lengths[50:].max()
    )
    found = fitted.error(data[:50], data[50:], n_pairs=500)
    assert found.largest <= fitted._largest_error(data[:50], data[50:])
    anywhere = fitted.error(data, n_pairs=100)  # lengths of these rows say nothing of new ones
    assert anywhere.rms_limit == np.inf > anywhere.quantile_limits[0.9]
    with pytest.raises(ValueError, match=r"nothing is proven about _Halves; error\(X\)"):
        fitted.certificate(diameter=1.0)
    with pytest.raises(TypeError, match="_build"):
        qf.FeatureMap()
