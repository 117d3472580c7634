"""Length scales learned from targets."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.learning.scales import _value, _without_useless, learn_scale, learn_scales
from quadfeat.learning.task import LEFT_OUT, LOG_LENGTHS, Learned, Minimum, Task
from quadfeat.numerics.blas import one_thread

KERNELS = {
    "gaussian": qf.Gaussian(),
    "laplacian": qf.Laplacian(),
    "cauchy": qf.Cauchy(),
    "matern-1/2": qf.Matern(0.5, product=True),
    "matern-3/2": qf.Matern(1.5, product=True),
    "matern-5/2": qf.Matern(2.5, product=True),
    "matern-1.7": qf.Matern(1.7, product=True),
    "isotropic-1/2": qf.Matern(0.5),
    "isotropic-3/2": qf.Matern(1.5),
    "isotropic-2.2": qf.Matern(2.2),
}


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield


@pytest.fixture
def task(rng):
    X = rng.normal(size=(400, 6))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=400)
    return Task.of(X, y[:, None], np.ones(400))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_gradient_of_the_evidence_is_right(kernel, d, rng):
    X, Y = rng.normal(size=(60, d)), rng.normal(size=(60, 2))
    task = Task(X, Y, rng.uniform(0.5, 2.0, size=60), n_landmarks=12)
    at = np.append(rng.normal(scale=0.3, size=d) - 0.5, -2.0)

    def value(at):
        return _value(kernel.with_lengths(np.exp(at[:-1])), task, float(at[-1]))

    _, slopes, by_noise = value(at)
    h = 1e-5
    steps = h * np.eye(d + 1)
    differences = [(value(at + e)[0] - value(at - e)[0]) / (2 * h) for e in steps]
    np.testing.assert_allclose(np.append(slopes, by_noise), differences, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in KERNELS if name.endswith(("n", "y", "/2"))])
def test_columns_that_matter_get_the_shortest_scales(name, task):
    kernel = KERNELS[name]  # without Bessel functions, which take seconds
    found = learn_scales(kernel, task)
    assert set(np.argsort(found.log_inverse)[-2:]) == {0, 1}
    one = learn_scale(kernel, task)
    assert np.ndim(one.kernel.gamma) == 0
    assert found.value < one.value


def test_units_and_origins_of_columns_do_not_matter_to_scales_per_column(task, rng):
    units, origin = 10.0 ** rng.uniform(-3, 3, size=6), rng.normal(size=6)
    moved = Task(task.X * units + origin, task.Y, task.weight)
    one, other = (learn_scales(qf.Gaussian(), each) for each in (task, moved))
    np.testing.assert_allclose(other.kernel.gamma * units**2, one.kernel.gamma, rtol=1e-2)


def test_a_constant_column_and_a_constant_target_are_no_trouble(task):
    X = np.column_stack([task.X, np.full(400, 3.0)])
    Y = np.column_stack([task.Y, np.ones(400)])
    found = learn_scales(qf.Gaussian(), Task.of(X, Y, task.weight))
    assert np.isfinite(found.kernel.gamma).all()
    assert found.log_inverse[-1] == LEFT_OUT
    assert not Task.of(X, np.ones((400, 1)), task.weight).can_learn


def test_useless_columns_come_back_if_another_minimum_needs_them(rng):
    # A product of columns: while one of them is given up, the others explain nothing.
    X = rng.normal(size=(1500, 12))
    y = np.sin(1.5 * X[:, 0]) * np.cos(1.5 * X[:, 1]) * (1 + X[:, 2]) + 0.05 * rng.normal(size=1500)
    found = learn_scales(qf.Gaussian(), Task.of(X, y[:, None], np.ones(1500)))
    assert set(np.argsort(found.log_inverse)[-3:]) == {0, 1, 2}


def test_a_column_that_says_nothing_in_the_first_rows_comes_back_with_the_others(rng):
    X = rng.normal(size=(2000, 4))
    later = np.arange(2000) >= 1000
    y = np.sin(2 * X[:, 0]) + later * np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=2000)
    task = Task.of(X, y[:, None], np.ones(2000))
    assert list(learn_scales(qf.Gaussian(), task.smaller()).useful) == [True, False, False, False]
    assert list(learn_scales(qf.Gaussian(), task).useful) == [True, True, False, False]


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern-3/2"])
def test_a_search_that_begins_on_fewer_rows_ends_at_a_minimum_of_all(name, rng):
    X = rng.normal(size=(1800, 5))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] * X[:, 2] + X[:, 3] ** 2 + X[:, 4]
    y += 0.2 * rng.normal(size=1800)
    task = Task.of(X, y[:, None], np.ones(1800))
    found = learn_scales(KERNELS[name], task)
    more = learn_scales(KERNELS[name], task, start=found, steps=200)
    # A search stops at steps of 1e-6 nats per row, in units of the value; twenty of them.
    assert 0 <= found.value - more.value + 1e-9 < 2e-5


@pytest.mark.parametrize("name", ["laplacian", "matern-5/2"])
def test_one_scale_is_the_same_from_another_kernel_as_from_three_starts(name, task):
    gaussian = learn_scale(qf.Gaussian(), task)
    one, other = (learn_scale(KERNELS[name], task, start=start) for start in (None, gaussian))
    assert other.value == pytest.approx(one.value, abs=1e-3)
    assert other.log_inverse[0] == pytest.approx(one.log_inverse[0], abs=0.1)


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern-3/2"])
def test_columns_of_noise_are_left_out(name, task):
    found = learn_scales(KERNELS[name], task)
    assert list(found.useful) == [True, True, False, False, False, False]


def test_columns_leave_where_that_costs_less_than_a_unit_of_likelihood_each():
    slopes = np.array([3.0, 0.9, 1.1, 0.0, 1.6])  # what each column is worth; of 10 rows

    def value(theta):
        return -1.0 - float(slopes[theta > -8.0].sum()) / 10

    best = Minimum(value(np.zeros(5)), np.array([0.0, -2.0, -3.0, -5.0, -1.0]), -2.0)
    found = _without_useless(best, value, 10)
    assert list(found.log_inverse) == [0.0, LEFT_OUT, LEFT_OUT, LEFT_OUT, LEFT_OUT]
    assert found.value == pytest.approx(-1.3)
    slopes[4] = 4.2  # more than leaving out all four may cost
    best = Minimum(value(np.zeros(5)), best.log_inverse, -2.0)
    assert list(_without_useless(best, value, 10).log_inverse[[0, 4]]) == [0.0, -1.0]


def test_what_it_costs_to_drop_columns_is_told_from_the_value_of_the_search(task, monkeypatch):
    told = []

    def kept(best, value, n_values):
        told.append((value(best.log_inverse), best.value))
        return best

    monkeypatch.setattr("quadfeat.learning.scales._without_useless", kept)
    learn_scales(qf.Gaussian(), task)
    value, of_search = told[0]
    assert value == pytest.approx(of_search, abs=1e-12)  # the same operations


def test_a_column_whose_length_scale_is_at_its_bound_may_be_useful():
    at_bound = np.array([LOG_LENGTHS[0], LEFT_OUT])
    assert list(Learned(None, 0.0, at_bound, 0.0, at_bound=True).useful) == [True, False]


def test_many_columns_that_matter_a_little_all_stay(rng):
    X = rng.normal(size=(1500, 12))
    y = np.sin(X).sum(axis=1) + 0.05 * rng.normal(size=1500)
    assert learn_scales(qf.Gaussian(), Task.of(X, y[:, None], np.ones(1500))).useful.all()


def test_more_rows_and_landmarks_go_on_from_what_fewer_found(task):
    start = learn_scales(qf.Gaussian(), task.smaller())
    found = learn_scales(qf.Gaussian(), task, start=start, steps=15)
    assert found.value <= learn_scales(qf.Gaussian(), task, start=start, steps=0).value
    assert found.value == pytest.approx(learn_scales(qf.Gaussian(), task).value, abs=1e-3)


def test_columns_that_are_useless_to_one_kernel_are_left_to_others_as_they_are(task):
    start = learn_scales(qf.Gaussian(), task)
    useless = ~start.useful
    assert useless.any()
    found = learn_scales(qf.Laplacian(), task, start=start)
    assert not found.useful[useless].any()
    assert found.useful[~useless].any()
