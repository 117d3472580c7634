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


@pytest.mark.parametrize("q", [4, 6])
def test_a_parity_of_many_columns_is_not_explained_and_says_so(q, rng):
    X = rng.uniform(-1, 1, size=(3000, 6))
    y = np.prod(np.sin(3 * X[:, :q]), axis=1)
    with pytest.warns(UserWarning, match=r"explain nothing.*leave \d+% of the variance"):
        _fit(X, y / y.std() + 0.1 * rng.normal(size=3000))


def test_more_columns_than_the_order_are_missed_and_say_so(rng):
    X = rng.uniform(-1, 1, size=(3000, 3))
    y = X[:, 0] + 4 * np.prod(X, axis=1) + 0.1 * rng.normal(size=3000)
    with pytest.warns(UserWarning, match="effects do not tell the whole"):
        _fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _fit(X, y, order=3).effects_.subsets[-1] == (0, 1, 2)
