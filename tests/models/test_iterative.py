"""Fits without the gram equal those by products, for any rows, weights and blocks."""

import warnings
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import quadfeat as qf
from quadfeat.models import iterative, wide
from quadfeat.models.iterative import _TOLERANCE


def _data(n=700, d=5, t=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    Y = np.stack([np.sin(X @ rng.normal(size=d)) + 3 + i * X[:, i] for i in range(t)], axis=1)
    Y = 10.0 ** np.arange(t) * (Y + 0.1 * rng.normal(size=Y.shape))
    return X, Y[:, 0] if t == 1 else Y, rng.uniform(0.2, 2.0, n)


def _map(p=200):
    return qf.QuasiRandomFourier(qf.Gaussian(0.2), n_components=p, random_state=0)


def _both(X, y, weight=None, *, alpha=0.05, **options):
    models = [
        qf.KernelRegressor(_map(), alpha=alpha, solver=solver, verbose=False, **options)
        for solver in ("products", "iterative")
    ]
    return [model.fit(X, y, weight) for model in models]


def _objective(model, X, y, weight, alpha):
    """The objective of each target."""
    W = np.ones(len(X)) if weight is None else weight
    left = np.asarray(y) - model.predict(X)
    penalty = alpha * (np.atleast_2d(model.coef_) ** 2).sum(axis=1)
    return (W[:, None] * left.reshape(len(X), -1) ** 2).sum(axis=0) + penalty


def _near_the_minimum(exact, found, X, y, weight, alpha, dtype="float64"):
    """The objective is as near to its minimum as promised: the estimate may be 10 times too low."""
    least, reached = (_objective(model, X, y, weight, alpha) for model in (exact, found))
    gap = (reached - least) / least
    rounding = 1e-11 if dtype == "float64" else 1e-5
    assert (gap >= -rounding).all()
    assert (gap <= 10 * _TOLERANCE[dtype]).all()


@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_solution_is_that_of_products(t, weighted, intercept):
    X, y, weight = _data(t=t)
    weight = weight if weighted else None
    exact, found = _both(X, y, weight, fit_intercept=intercept)
    assert found.solver_ == "iterative" and exact.solver_ == "products"
    assert found.n_passes_ > 3  # the preconditioner alone does not solve it
    _near_the_minimum(exact, found, X, y, weight, 0.05)
    # |f - f*|^2_W + alpha |v - v*|^2 is the gap in the objective, for every target.
    gap = 10 * _TOLERANCE["float64"] * _objective(exact, X, y, weight, 0.05)
    moved = np.atleast_2d(found.coef_ - exact.coef_)
    assert (0.05 * (moved**2).sum(axis=1) <= gap).all()


def test_single_precision_reaches_its_tolerance():
    X, y, _ = _data()
    exact, found = _both(X, y, dtype="float32")
    _near_the_minimum(exact, found, X, y, None, 0.05, "float32")


def test_a_weight_is_a_number_of_copies():
    X, y, _ = _data(n=600)
    copies = np.random.default_rng(1).integers(0, 3, len(X))
    model = qf.KernelRegressor(_map(), alpha=0.05, solver="iterative", verbose=False)
    weighted = model.fit(X, y, copies).predict(X[:50])
    repeated = model.fit(X.repeat(copies, 0), y.repeat(copies)).predict(X[:50])
    assert weighted == pytest.approx(repeated, rel=1e-4)


def test_blocks_of_any_size_give_the_same_model(monkeypatch):
    X, y, _ = _data(n=700)
    model = qf.KernelRegressor(_map(100), alpha=[0.01, 0.1], solver="iterative", verbose=False)
    whole = model.fit(X, y).predict(X[:50])
    monkeypatch.setattr("quadfeat.models.stream._KEPT", 0)  # features are made in every pass
    for rows in (33, 700):

        def blocks(rows=rows):
            return ((X[i : i + rows], y[i : i + rows]) for i in range(0, len(X), rows))

        # Both are within the tolerance of the minimum, whose noise is 0.1.
        assert model.fit(blocks).predict(X[:50]) == pytest.approx(whole, abs=1e-4)


def test_partitions_of_a_cluster_give_the_same_model():
    X, y, weight = _data(n=400, t=2)
    model = qf.KernelRegressor(_map(60), alpha=0.1, solver="iterative", verbose=False)
    whole = model.fit(X, y, weight).predict(X[:50])
    parts = [da.from_array(part, chunks=(150, *part.shape[1:])) for part in (X, y, weight)]
    with dask.config.set(scheduler="synchronous"):
        assert model.fit(*parts).predict(X[:50]) == pytest.approx(whole, rel=1e-3, abs=1e-3)
    assert model.solver_ == "iterative"


def test_sparse_rows_give_the_same_model():
    X, y, _ = _data(n=400)
    X = np.where(X > 0.5, X, 0.0)
    model = qf.KernelRegressor(_map(60), alpha=[0.1, 1.0], solver="iterative", verbose=False)
    dense = model.fit(X, y).predict(X)
    assert model.fit(sparse.csr_array(X), y).predict(X) == pytest.approx(dense, abs=1e-6)


def test_a_space_that_starts_again_reaches_the_same_solution(monkeypatch):
    X, y, _ = _data(t=3)
    exact, found = _both(X, y, alpha=0.5)
    monkeypatch.setattr(iterative, "_SPACE", 200 * 30)  # 30 vectors
    again = _both(X, y, alpha=0.5)[1]
    assert again.n_passes_ > found.n_passes_
    _near_the_minimum(exact, again, X, y, None, 0.5)


def test_classes_are_those_of_products():
    X, y, _ = _data(t=1)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    exact, found = (
        qf.KernelClassifier(_map(), loss="ridge", alpha=0.05, solver=solver, verbose=False).fit(
            X, labels
        )
        for solver in ("products", "iterative")
    )
    assert found.decision_function(X) == pytest.approx(exact.decision_function(X), abs=1e-3)
    assert (found.predict(X) == exact.predict(X)).mean() > 0.998
    # Temperatures come from other rows: left out one by one, or all at once.
    assert found.slope == pytest.approx(exact.slope, rel=0.25)
    assert [tried.value for tried in found.tuning_ if tried.chosen] == ["iterative"]


def test_alpha_is_chosen_by_held_out_rows():
    X, y, _ = _data(n=1200)
    exact, found = _both(X, y, alpha="auto")
    judged = [tried for tried in found.tuning_ if tried.parameter == "alpha"]
    assert {tried.judge for tried in judged} == {"held-out rows"}
    new = np.random.default_rng(5).normal(size=(500, X.shape[1]))
    gap = np.sqrt(np.mean((found.predict(new) - exact.predict(new)) ** 2))
    assert gap < 0.5 * np.sqrt(found.noise_)  # two choices of alpha agree to less than the noise
    assert found.noise_ == pytest.approx(exact.noise_, rel=0.5)


def test_held_out_rows_are_no_training_rows(monkeypatch):
    """If the held-out rows were learned, the smallest alpha would have the least error on them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.normal(size=400)  # nothing to learn
    alphas = [1e-6, 1e3]
    model = qf.KernelRegressor(_map(300), alpha=alphas, solver="iterative", verbose=False)
    assert model.fit(X, y).alpha_ == 1e3
    assert model.fit(np.repeat(X, 2, 0), np.repeat(y, 2)).alpha_ == 1e3  # nor are their copies


def test_auto_takes_it_where_the_matrix_is_large(monkeypatch):
    X, y, _ = _data(n=300)
    model = qf.KernelRegressor(_map(), alpha=0.1, verbose=False)
    assert model.fit(X, y).solver_ == "products"
    monkeypatch.setattr(wide, "MAX_PATH", 100)
    monkeypatch.setattr(wide, "available_memory", lambda: 8 * 200**2)
    assert model.fit(X, y).solver_ == "iterative"
    told = next(tried for tried in model.tuning_ if tried.parameter == "solver")
    assert "200 x 200 matrix" in told.judge
    monkeypatch.setattr(wide, "available_memory", lambda: 2**40)
    assert model.fit(X, y).solver_ == "products"
    assert not hasattr(model, "n_passes_")


def test_it_warns_with_the_error_that_it_reached(monkeypatch):
    monkeypatch.setattr(iterative, "_MOST_PASSES", 8)
    X, y, _ = _data()
    with pytest.warns(ConvergenceWarning, match="above the minimum by about"):
        _both(X, y, alpha=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _both(X, y, alpha=1e3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_never_converges_takes_half_of_its_passes_for_the_choice(monkeypatch):
    """After the one that sums the targets."""
    monkeypatch.setattr(iterative, "_MOST_PASSES", 8)
    monkeypatch.setattr(iterative, "_CHOICE", 0.0)
    monkeypatch.setitem(iterative._TOLERANCE, "float64", 0.0)
    X, y, _ = _data()
    assert _both(X, y, alpha=1e-6)[1].n_passes_ == 1 + 4 + 4


@pytest.mark.parametrize("steps", [3, 4, 7])
@pytest.mark.parametrize("rate", [0.3, 0.5, 0.8])
def test_gains_that_fall_geometrically_are_extrapolated_to_what_is_left(rate, steps):
    """The target's square is 2, of which the energies of the steps explain up to 1."""
    ridge = iterative.IterativeRidge.__new__(iterative.IterativeRidge)
    ridge._dtype, ridge._error = np.dtype(np.float64), np.zeros(1)
    energies = [np.array([1 - rate**step]) for step in range(steps)]
    system = SimpleNamespace(target_square=np.array([2.0]), weight=1.0)
    gap = ridge._gap(system, energies, np.full((5, 1), 10.0), 0.1)
    left = rate ** (steps - 1)
    assert gap == pytest.approx(left / (1 + left), rel=1e-12)
    small = np.full((5, 1), 1e-3)  # a residual that bounds what is left by r'r / alpha
    bound = 5e-6 / 0.1
    assert ridge._gap(system, energies, small, 0.1) == pytest.approx(
        min(bound, left) / (1 + left), rel=1e-12
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda model: model.partial_fit(*_data()[:2]), "partial_fit"),
        (lambda model: model.set_params(checkpoint="x.ckpt").fit(*_data()[:2]), "checkpoint"),
        (lambda model: model.fit(*(part[:5] for part in _data()[:2])), "distinct rows"),
        (
            lambda model: model.set_params(
                features=qf.SparseGrid(qf.Gaussian(0.2), level=3, weights="signed")
            ).fit(*_data()[:2]),
            "signed",
        ),
        (
            lambda model: model.fit(*_data()[:2]).predict(_data()[0], return_std=True),
            "return_std",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        change(qf.KernelRegressor(_map(), alpha=0.1, solver="iterative", verbose=False))


def test_other_losses_have_no_solver():
    with pytest.raises(ValueError, match="solver='iterative' is for loss='ridge'"):
        qf.KernelClassifier(loss="logistic", solver="iterative").fit([[0.0], [1.0]], [0, 1])


def test_a_saved_model_is_the_same(tmp_path):
    X, y, _ = _data(n=300)
    model = _both(X, y)[1]
    qf.save(model, tmp_path / "model.qf")
    loaded = qf.load(tmp_path / "model.qf")
    assert loaded.solver_ == "iterative" and loaded.n_passes_ == model.n_passes_
    assert (loaded.predict(X) == model.predict(X)).all()
