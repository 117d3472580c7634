"""Laws of feature maps, over the tables in conftest."""

import contextlib
import inspect
import pickle
import re

import numpy as np
import pytest
import sklearn.utils.validation
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadfeat as qf
import quadfeat._checks

from ..conftest import MAPS

EPS32 = float(np.finfo(np.float32).eps)


@pytest.mark.filterwarnings("ignore:a sparse grid with non-negative:UserWarning")
@pytest.mark.filterwarnings("ignore:no non-negative rule:UserWarning")
@parametrize_with_checks([make() for make in MAPS.values()])
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


def test_n_components_counts_columns(any_map, data):
    if "n_components" not in any_map.get_params():
        return
    for n in (1, 2, 7, 64):
        with pytest.warns(UserWarning) if _too_narrow(any_map, n) else contextlib.nullcontext():
            fitted = clone(any_map).set_params(n_components=n).fit(data)
        columns = fitted.transform(data[:3]).shape[1]
        assert 1 <= columns <= n
        assert fitted.n_components == n


def _too_narrow(any_map, n):
    return isinstance(any_map, qf.PolynomiallyExact) and 2 <= n < 8


def _nothing():

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
    for module in (sklearn.utils.validation, quadfeat._checks):
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


def test_docstrings_list_every_parameter_and_fitted_attribute(any_map, data):
    parameters, attributes = inspect.getdoc(type(any_map)).split("Attributes\n-")
    for name in any_map.get_params(deep=False):
        assert f"\n{name} : " in parameters
    for name in vars(any_map.fit(data)):
        if name.endswith("_") and not name.startswith("_"):
            assert f"\n{name} : " in attributes


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
    """A user's map: the columns of X, halved."""

    def _build(self, X):
        self.signs_ = np.ones(X.shape[1])
        return X.shape[1]

    def _evaluate(self, X, out):
        out[:] = X / 2

    def __init__(self, kernel=None):
        self.kernel = kernel


def test_a_user_s_map_needs_two_methods_and_its_error_is_bounded_by_its_lengths(data):
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
