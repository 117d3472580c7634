"""Laws of the ridge sums: the dense products, in any partition, order and precision."""

import numpy as np
import pytest

from quadfeat.models.ridge_path import RidgePath
from quadfeat.models.ridge_sums import NormalSums
from quadfeat.numerics.factorisations import InPlaceCholesky

from .ridge_systems import summed, system_of

ALPHAS = np.array([1e-3, 0.1, 10.0])


def test_sums_are_the_dense_products_in_any_partition_and_order(problem):
    Z, Y, weight = problem
    parts = [summed(Z[s], Y[s], weight[s]) for s in (slice(0, 13), slice(13, 14), slice(14, 60))]
    total = parts[2]
    total.merge(parts[0])
    total.merge(parts[1])
    scale = weight.sum() * max(np.abs(Z).max(), np.abs(Y).max()) ** 2
    for ours, dense in (
        (np.tril(total.gram), np.tril(Z.T @ (weight[:, None] * Z))),
        (total.cross, Z.T @ (weight[:, None] * Y)),
        (total.feature_sum, weight @ Z),
        (total.target_sum, weight @ Y),
        (total.target_square, weight @ Y**2),
    ):
        np.testing.assert_allclose(ours, dense, atol=60 * 2.3e-16 * scale)
    assert total.weight == pytest.approx(weight.sum())
    worth = total.system(intercept=True, signs=np.ones(Z.shape[1]), copy=True).n_rows
    assert worth == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_wide_sums_go_by_panels(rng):
    Z = rng.normal(size=(5, 2100))
    sums = summed(Z, np.empty((5, 0)))
    np.testing.assert_allclose(np.tril(sums.gram), np.tril(Z.T @ Z), atol=1e-13)


def test_float32_features_are_summed_in_float64(rng):
    Z = rng.normal(size=(100, 3)).astype(np.float32) + 100
    sums = NormalSums(3, 0)
    for _ in range(100):
        sums.add(Z, np.empty((100, 0)))
    exact = 100 * (Z.astype(float).T @ Z.astype(float))
    # A block's product is rounded in float32; a float32 sum of 100 of them would add 100 of those.
    assert np.abs(np.tril(sums.gram - exact)).max() < 10 * 6e-8 * exact.max()


def test_a_state_restores_every_bit(problem):
    sums = summed(*problem)
    again = NormalSums.from_state({k: v.copy() for k, v in sums.state().items()})
    again.add(*problem)
    sums.add(*problem)
    for name, value in sums.state().items():
        assert np.array_equal(value, again.state()[name])


def test_cholesky_in_place_keeps_the_gram_for_the_next_alpha(rng):
    p = 1500  # more than one panel
    A = rng.normal(size=(p, p + 10))
    dense = A @ A.T / p
    gram = np.tril(dense)
    cholesky = InPlaceCholesky(gram)
    b = rng.normal(size=(p, 2))
    for alpha in (0.5, 2.0):
        cholesky.factor(alpha)
        exact = np.linalg.inv(dense + alpha * np.eye(p))
        np.testing.assert_allclose(cholesky.solve(b), exact @ b, atol=1e-10)
        np.testing.assert_allclose(cholesky.norms(b.T), ((exact @ b) * b).sum(axis=0), rtol=1e-10)
        assert cholesky.inverse_trace() == pytest.approx(np.trace(exact), rel=1e-10)
    assert np.array_equal(np.tril(gram, -1), np.tril(dense, -1))


def test_rows_of_weight_zero_count_for_nothing(problem):
    Z, Y, weight = problem
    weight = np.where(np.arange(60) % 3, weight, 0.0)
    kept = weight > 0
    ours, theirs = system_of(Z, Y, weight), system_of(Z[kept], Y[kept], weight[kept])
    assert ours.n_rows == theirs.n_rows
    np.testing.assert_allclose(
        RidgePath(ours).evidence(ALPHAS), RidgePath(theirs).evidence(ALPHAS), rtol=1e-7
    )


def test_rows_of_either_precision_are_added_one_after_the_other(rng):
    Z, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    Z[:20], Y[:20] = Z[:20].round(), Y[:20].round()  # which float32 holds, and their products
    sums = NormalSums(3, 2)
    sums.add(Z[:20].astype(np.float32), Y[:20])
    sums.add(Z[20:], Y[20:])
    np.testing.assert_allclose(np.tril(sums.gram), np.tril(Z.T @ Z), rtol=0, atol=1e-13)
    np.testing.assert_allclose(sums.cross, Z.T @ Y, rtol=0, atol=1e-13)


def test_a_factorisation_that_failed_is_of_no_alpha(rng):
    gram = np.diag([1.0, -1.0, 2.0])
    cholesky = InPlaceCholesky(gram)
    cholesky.factor(3.0)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky.factor(0.5)
    assert cholesky.alpha == np.inf


def test_sums_come_back_from_their_bytes_to_the_bit(rng):
    sums = NormalSums(5, 2)
    sums.add(rng.normal(size=(9, 5)), rng.normal(size=(9, 2)), rng.random(9))
    again = NormalSums.from_bytes(sums.to_bytes())
    for name, value in sums.state().items():
        assert again.state()[name].tobytes() == value.tobytes()
    again.merge(sums)  # and can be added to
    assert again.weight == 2 * sums.weight


def test_other_bytes_are_refused(rng):
    content = NormalSums(3, 1).to_bytes()
    damaged = bytearray(content)
    damaged[200] ^= 1
    for wrong in (b"", b"sums", content[:-30], bytes(damaged)):
        with pytest.raises(ValueError, match="these bytes hold no sums"):
            NormalSums.from_bytes(wrong)


def test_sums_of_other_shapes_are_refused_and_those_of_the_first_version_are_read(rng):
    sums = NormalSums(3, 2)
    Z, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    sums.add(Z, Y, np.full(9, 2.0))
    state = sums.state()
    with pytest.raises(ValueError, match=r"feature_sum of the sums is not of shape \(3,\)"):
        NormalSums.from_state(state | {"feature_sum": np.zeros(4)}).check()
    old = {name: value for name, value in state.items() if name != "weight_square"}
    assert NormalSums.from_state(old | {"n_rows": np.array(9)}).weight_square == pytest.approx(36.0)
    assert sums.weight_square == pytest.approx(36.0)
