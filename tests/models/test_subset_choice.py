"""What models tell about learned subsets."""

import warnings

import numpy as np
import pytest

import quadfeat as qf


def _fit(X, y, **options):
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned", **options)
    return qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=60)).fit(X, y)


def test_tuning_has_every_subset_and_what_is_left_unexplained(rng):
    X = rng.uniform(-1, 1, size=(1500, 4))
    model = _fit(X, X[:, 0] + np.sin(3 * X[:, 2]) + 0.1 * rng.normal(size=1500))
    rows = {row.value: row for row in model.tuning_ if row.parameter.startswith("subset")}
    assert list(rows) == ["0", "2", "those above", "all columns at once"]
    assert rows["0"].score == 0  # no resample left it out
    noise = 0.01 / (0.01 + 1 / 3 + 0.5 - np.sin(6) / 12)
    assert rows["those above"].score == pytest.approx(noise, rel=0.3)


def test_tuning_has_the_families_where_the_base_is_open(tmp_path, rng):
    X = rng.uniform(-1, 1, size=(1200, 3))
    y = np.sign(np.sin(9 * X[:, 0])) + X[:, 1] + 0.1 * rng.normal(size=1200)
    model = qf.KernelRegressor(qf.Landmarks(qf.Anova(), n_components=60)).fit(X, y)
    rows = {row.value: row for row in model.tuning_ if row.parameter == "kernel"}
    assert list(rows) == ["Gaussian", "Matern 1.5", "Laplacian"]
    best = min(rows, key=lambda name: rows[name].score)
    assert [name for name, row in rows.items() if row.chosen] == [best]
    assert type(model.features_.kernel_.base).__name__ == best.split()[0] != "Gaussian"
    assert model.effects_.subsets == ((0,), (1,))
    smooth = qf.KernelRegressor(qf.HermiteMercer(qf.Anova(), n_components=60)).fit(X, y)
    assert isinstance(smooth.features_.kernel_.base, qf.Gaussian)
    qf.save(model, tmp_path / "model.qf")
    loaded = qf.load(tmp_path / "model.qf")
    assert loaded.features.kernel.base is None
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("q", [4, 6])
def test_a_parity_of_many_columns_is_not_explained_and_says_so(q, rng):
    X = rng.uniform(-1, 1, size=(3000, 6))
    y = np.prod(np.sin(3 * X[:, :q]), axis=1)
    with pytest.warns(UserWarning, match=r"explain nothing.*leave \d+% of the variance"):
        _fit(X, y / y.std() + 0.1 * rng.normal(size=3000))


def test_more_columns_than_the_order_are_missed_and_say_so(rng):
    X = rng.uniform(-1, 1, size=(3000, 3))
    y = X[:, 0] + 4 * np.prod(X, axis=1) + 0.1 * rng.normal(size=3000)
    with pytest.warns(UserWarning, match="effects miss a part of the target"):
        _fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _fit(X, y, order=3).effects_.subsets[-1] == (0, 1, 2)
