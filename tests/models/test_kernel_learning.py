"""The kernel that models choose: family, scales, metric."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.metrics import log_loss
from threadpoolctl import ThreadpoolController

import quadfeat as qf
from quadfeat.learning.metric import learn_metric
from quadfeat.learning.scales import learn_scales
from quadfeat.learning.task import Task
from quadfeat.models.contenders import Field, contenders, refined
from quadfeat.models.kernel_learning import _best_factor, _best_of, _dispersion
from quadfeat.models.kernel_validation import KernelValidation
from quadfeat.models.sample import Sample
from quadfeat.numerics.blas import one_thread


def chosen(model):
    return next(each.value for each in model.tuning_ if each.parameter == "kernel" and each.chosen)


def test_columns_of_noise_are_ignored(rng):
    X = rng.uniform(-1, 1, size=(1500, 12))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=1500)
    model = qf.KernelRegressor(qf.KernelFeatures(n_components=128)).fit(X[:1200], y[:1200])
    assert "a scale per column" in chosen(model) or "a metric" in chosen(model)
    assert model.score(X[1200:], y[1200:]) > 0.98
    assert set(np.argsort(model.feature_importances_)[-3:]) == {0, 1, 2}
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_a_rotated_function_gets_a_metric(rng):
    X = rng.normal(size=(1600, 6))
    y = np.sin(2 * X @ np.array([1.0, 1.0, -1.0, 1.0, -1.0, 1.0]) / np.sqrt(6))
    model = qf.KernelRegressor(qf.KernelFeatures(n_components=128)).fit(X, y)
    assert chosen(model).startswith("Gaussian, a metric")


def test_limits_on_columns_count_those_that_matter(rng):
    X = rng.normal(size=(600, 40))
    y = np.sin(X[:, 0] - X[:, 1]) + 0.05 * rng.normal(size=600)
    ticks = []
    with one_thread():
        field, task = Field(all_families=True, metric=True), Task.of(X, y[:, None], np.ones(600))
        found = {each.name: each for each in contenders(field, task, lambda: ticks.append(1))}
    assert {"Matern 1.5, a scale per column", "Gaussian, a metric"} <= set(found)
    assert "Matern 1.5, one scale" not in found
    assert len(ticks) == len(found) <= len(field.works(40))
    metric = found["Gaussian, a metric"].kernel.metric
    assert set(np.flatnonzero(metric.any(axis=0))) == {0, 1}


def test_the_best_kernel_learns_further_from_all_but_the_validation_rows(rng):
    X = rng.normal(size=(600, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    with one_thread():
        few = Task.of(X, y[:, None], np.ones(600), n_rows=200, n_landmarks=50)
        every = Task.of(X, y[:, None], np.ones(600))
        for each in contenders(Field(all_families=True, metric=True), few):
            more = refined(each, every)
            if each.scaling == "one scale":
                assert more is None
                continue
            assert more.name == f"{each.name} from 600 rows"
            learn = learn_scales if each.scaling == "a scale per column" else learn_metric
            family = qf.Gaussian() if learn is learn_metric else each.kernel
            assert more.learned.value < learn(family, every, start=each.learned, steps=0).value


@pytest.mark.parametrize("error, taken", [(0.9, True), (0.998, False)])
def test_scales_that_more_rows_tell_apart_must_be_clearly_better_than_one(error, taken, rng):
    X = rng.normal(size=(400, 2))
    sample = Sample(X, np.sin(3 * X[:, :1]), np.ones(400), counts=False)
    with one_thread():
        found = contenders(Field(all_families=False, metric=False), sample.at(slice(200)).task())
        scales = next(each.kernel for each in found if each.scaling == "a scale per column")

        class Given(KernelValidation):
            def errors(self, kernel, columns):
                if np.ndim(kernel.gamma) == 0 or kernel is scales:
                    return np.ones(len(self.weight))
                return np.full(len(self.weight), error)

        _, tried = _best_of(found, sample, Given(qf.KernelFeatures(), sample, 200, lambda: None))
    best = next(each.value for each in tried if each.parameter == "kernel" and each.chosen)
    assert best == f"Gaussian, {'a scale per column from 200 rows' if taken else 'one scale'}"


@pytest.mark.parametrize("error, taken", [(0.799, True), (0.801, False)])
def test_the_best_kernel_is_that_of_more_rows_wherever_they_make_it_better(error, taken, rng):
    X = rng.normal(size=(400, 2))
    sample, others = Sample(X, np.sin(3 * X[:, :1]), np.ones(400), counts=False), []
    with one_thread():
        found = contenders(Field(all_families=False, metric=False), sample.at(slice(200)).task())
        known = {id(each.kernel): each.scaling for each in found}

        class Given(KernelValidation):
            def errors(self, kernel, columns):
                if id(kernel) not in known:
                    others.append(kernel)  # first that of more rows, then other length scales
                    return np.full(len(self.weight), error if kernel is others[0] else 10.0)
                scaling = known[id(kernel)]
                return np.full(len(self.weight), 1.0 if scaling == "one scale" else 0.8)

        _, tried = _best_of(found, sample, Given(qf.KernelFeatures(), sample, 200, lambda: None))
    best = next(each.value for each in tried if each.parameter == "kernel" and each.chosen)
    assert best == f"Gaussian, a scale per column{' from 200 rows' if taken else ''}"


@pytest.mark.parametrize("told_apart", [True, False])
def test_other_families_learn_one_scale_only_where_columns_are_not_told_apart(told_apart, rng):
    X = rng.normal(size=(300, 4))
    of = X[:, 0] if told_apart else np.linalg.norm(X, axis=1)
    y = np.sin(2 * of) + 0.3 * rng.normal(size=300)
    task = Task.of(X, y[:, None], np.ones(300))
    with one_thread():
        for many in (True, False):  # likelihoods of few rows may need the simplest
            names = [each.name for each in contenders(Field(all_families=True, metric=many), task)]
            assert names[0] == "Gaussian, one scale"
            assert ("Laplacian, one scale" in names) is not (told_apart and many)
            assert "Laplacian, a scale per column" in names


def test_threads_change_nothing_of_what_is_learned(rng):
    X = rng.normal(size=(300, 4))
    task = Task.of(X, (X[:, 0] * X[:, 1] + np.sin(X[:, 2]))[:, None], np.ones(300))
    found = []
    for limit in (1, 3):
        with ThreadpoolController().limit(limits=limit):
            learned = contenders(Field(all_families=True, metric=True), task)
        found.append([(each.name, each.learned.value) for each in learned])
    assert found[0] == found[1]
    assert [name.split(", ")[1] for name, _ in found[0]] == [
        *["one scale"] * (len(found[0]) - 6),
        *["a scale per column"] * 4,
        "a metric",
        "a metric of all columns",
    ]


def compared_as(rng, few, many, otherwise=1.0):
    """The table of kernels that have these errors with few and many columns, and those compared."""
    X = rng.normal(size=(400, 2))
    sample, asked = Sample(X, np.sin(3 * X[:, :1]), np.ones(400), counts=False), []
    with one_thread():
        task = sample.at(slice(200)).task()
        found = contenders(Field(all_families=True, metric=True), task)
        names = {id(each.kernel): each.name for each in found}

        class Given(KernelValidation):
            def errors(self, kernel, columns):
                name = names.get(id(kernel))
                asked.append((name, columns))
                error = few.get(name, 1.0) if columns == 256 else many.get(name, otherwise)
                return np.full(len(self.weight), 10.0 if name is None else error)

        _, tried = _best_of(found, sample, Given(qf.KernelFeatures(), sample, 200, lambda: None))
    return [each for each in tried if each.parameter == "kernel"], asked


@pytest.mark.parametrize(("error", "hopeless"), [(1.25, True), (1.1, False)])
def test_kernels_far_behind_with_few_columns_are_not_compared_with_many(error, hopeless, rng):
    name = "Gaussian, one scale"
    tried, asked = compared_as(rng, few={name: error}, many={name: 2.0})
    assert ((name, 1024) in asked) is not hopeless
    row = next(each for each in tried if each.value == name)
    assert not row.chosen and row.judge.endswith("256 columns") is hopeless
    assert row.score == (error if hopeless else 2.0)


@pytest.mark.parametrize(("error", "best"), [(1.25, "one scale"), (1.1, "a scale per column")])
def test_kernels_far_behind_are_compared_if_the_best_fails_with_many_columns(error, best, rng):
    name = "Gaussian, one scale"
    tried, _ = compared_as(rng, few={name: 2.0}, many={name: 1.2}, otherwise=error)
    assert next(each.value for each in tried if each.chosen) == f"Gaussian, {best}"


@pytest.mark.parametrize(("behind", "best"), [(1.0005, "Gaussian"), (1.002, "Matern 2.5")])
def test_of_kernels_that_are_as_good_the_smoothest_is_taken(behind, best, rng):
    gaussian = "Gaussian, a scale per column"
    few = {"Gaussian, one scale": 2.0, "Gaussian, a metric": 2.0}
    tried, _ = compared_as(rng, few, many={gaussian: behind, "Matern 1.5, a scale per column": 1.1})
    assert next(each.value for each in tried if each.chosen) == f"{best}, a scale per column"


def test_a_rough_function_gets_a_rough_kernel(rng):
    X = rng.uniform(-1, 1, size=(1500, 2))
    y = np.sign(np.sin(4 * X[:, 0])) + np.abs(X[:, 1])
    model = qf.KernelRegressor(qf.KernelFeatures(n_components=128)).fit(X, y)
    assert chosen(model).startswith(("Laplacian", "Matern 1.5"))


def test_pure_noise_gets_the_simplest_kernel(rng):
    for n in (150, 1100):
        X, y = rng.normal(size=(n, 5)), rng.normal(size=n)
        model = qf.KernelRegressor(qf.KernelFeatures(n_components=64)).fit(X, y)
        assert "one scale" in chosen(model)


@pytest.mark.parametrize("trouble", ["outliers", "a rare class"])
def test_a_few_rows_do_not_choose_the_kernel_of_all(trouble, rng):
    X = rng.normal(size=(200, 4))
    if trouble == "outliers":
        y = X[:, 0] + 0.5 * rng.normal(size=200)
        y[:4] += 30.0
        model = qf.KernelRegressor().fit(X, y)
    else:
        model = qf.KernelClassifier(loss="ridge").fit(X, np.arange(200) < 5)
    assert chosen(model) == "Gaussian, one scale"


def test_classes_that_are_apart_do_not_learn_more_than_their_labels_tell(rng):
    """Normal likelihoods took a scale per column, and 1.3 to 4 times the log loss of one scale."""
    X, y = load_iris(return_X_y=True)
    for _ in range(3):
        order = rng.permutation(len(X))
        rows, others = order[:100], order[100:]
        losses = []
        for kernel in (None, qf.Gaussian("tuned")):
            model = qf.KernelClassifier(qf.KernelFeatures(kernel, n_components=64))
            losses.append(log_loss(y[others], model.fit(X[rows], y[rows]).predict_proba(X[others])))
        assert losses[0] < 1.2 * losses[1] < 0.3


def test_labels_that_ask_for_a_scale_per_column_get_it(rng):
    X = rng.uniform(-1, 1, size=(400, 6))
    model = qf.KernelClassifier(qf.KernelFeatures(n_components=64)).fit(X, X[:, 0] > X[:, 1] ** 2)
    assert "a scale per column" in chosen(model)
    assert "log loss" in next(t.judge for t in model.tuning_ if t.parameter == "kernel")


def test_the_penalty_grows_with_the_fourth_moment_of_the_targets(rng):
    X, y = rng.normal(size=(200, 2)), (np.arange(200) < 5).astype(float)
    share = 5 / 200  # the kurtosis of a Bernoulli variable is 1 / (p (1 - p)) - 3
    expected = (1 / (share * (1 - share)) - 4) / 2
    task = Task.of(X, y[:, None], np.ones(200))
    assert _dispersion(task) == pytest.approx(expected)
    assert _dispersion(Task.of(X, 7 - 3 * y[:, None], np.ones(200))) == pytest.approx(expected)
    weight = 1.0 + np.arange(200) % 3
    copies = np.repeat(np.arange(200), weight.astype(int))
    once, copied = (
        _dispersion(Task.of(X[rows], y[rows, None], mass))
        for rows, mass in ((slice(None), weight), (copies, np.ones(len(copies))))
    )
    assert once == pytest.approx(copied)
    assert _dispersion(Task.of(X, rng.uniform(size=(200, 1)), np.ones(200))) == 1.0


def test_validation_rows_are_not_landmarks_of_the_compared_maps(rng):
    X = rng.normal(size=(1200, 3))
    validation = KernelValidation(
        qf.KernelFeatures(), Sample(X, X[:, :1], np.ones(1200), counts=True), 900
    )
    held_out = {tuple(row) for row in X[900:]}
    assert len(validation.weight) == len(held_out) == 300
    assert not held_out & {tuple(row) for row in validation._others}


@pytest.mark.parametrize(("gamma", "edge"), [(0.03, True), (1.0, False)])
def test_factors_of_length_scales_go_on_for_as_long_as_they_help(gamma, edge, rng):
    X = rng.uniform(-1, 1, size=(1200, 2))
    Y = np.sin(6 * X[:, :1]) * np.sin(6 * X[:, 1:]) + 0.1 * rng.normal(size=(1200, 1))
    sample = Sample(X, Y, np.ones(1200), counts=True)
    validation, kernel = KernelValidation(qf.KernelFeatures(), sample, 600), qf.Laplacian(gamma)
    with one_thread():
        factor, tried = _best_factor(validation, kernel, validation.errors(kernel, 1024), "")
    assert factor < 0.7
    assert [(each.value, each.edge) for each in tried if each.chosen] == [(factor, edge)]
    values = [each.value for each in tried]
    assert values == sorted(values) and values[-1] == 1.0


class Valley(KernelValidation):
    """Squared errors that are a parabola of the log length scale, the same for all rows or not."""

    def __init__(self, lowest, depth, spread=0.0):
        self.weight, self.lengths = np.ones(400), []
        self._lowest, self._depth = np.log(lowest), depth
        self._noise = spread * np.random.default_rng(0).permutation(np.linspace(-1, 1, 400))

    def errors(self, kernel, columns):
        log_length = -np.log(2 * kernel.gamma) / 2
        self.lengths.append(float(np.exp(log_length)))
        lengthening = 1 + self._noise * log_length  # whose sum is that without noise
        return self._depth * (log_length - self._lowest) ** 2 + lengthening


def factor_of(validation):
    kernel = qf.Gaussian(0.5)
    factor, tried = _best_factor(validation, kernel, validation.errors(kernel, 1024), "")
    assert [each.value for each in tried if each.chosen] == [factor]
    assert sorted(validation.lengths) == pytest.approx([each.value for each in tried])
    return factor


@pytest.mark.parametrize("lowest", [0.6, 0.86, 1.2, 1.7])
def test_the_factor_is_where_a_parabola_through_the_scores_is_lowest(lowest):
    assert factor_of(Valley(lowest, depth=1.0)) == pytest.approx(lowest)


@pytest.mark.parametrize(("lowest", "depth"), [(0.9, 0.4), (0.77, 0.4)])
def test_a_factor_that_promises_less_than_half_a_percent_is_not_best_of(lowest, depth):
    validation = Valley(lowest, depth)  # gains of .44 and .36 percent
    assert factor_of(validation) in (1.0, 0.7) and lowest not in np.round(validation.lengths, 6)


def test_a_factor_must_be_clearly_better_than_one_but_not_than_another():
    # Gains have deviations of .58 spread per unit of the log factor: with 400 rows and times 1.5
    # .043 spread, .0065 spread from 1 to .86 beside a gain of .023.
    assert factor_of(Valley(0.86, depth=1.0, spread=1.0)) == pytest.approx(0.86)
    assert factor_of(Valley(0.86, depth=1.0, spread=4.0)) == 1.0
    assert factor_of(Valley(0.78, depth=1.0, spread=1.0)) == pytest.approx(0.78)
    assert factor_of(Valley(0.78, depth=1.0, spread=3.0)) == pytest.approx(0.78)


def test_other_maps_choose_among_gaussian_kernels_only(rng):
    X = rng.uniform(-1, 1, size=(300, 2))
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=64)).fit(X, np.abs(X[:, 0]))
    tried = [each.value for each in model.tuning_ if each.parameter == "kernel"]
    assert tried and all(value.startswith("Gaussian") for value in tried)


@pytest.mark.parametrize("n", [90, 1200])
def test_more_columns_do_not_make_the_default_worse(n):
    X, y = make_friedman1(n + 500, n_features=5, noise=1.0, random_state=0)
    errors = [
        np.mean((qf.KernelRegressor(features).fit(X[:n], y[:n]).predict(X[n:]) - y[n:]) ** 2)
        for features in (qf.KernelFeatures(n_components=p) for p in (256, 1024))
    ]
    assert errors[1] < 1.05 * errors[0]


def test_importances_are_those_of_each_column_for_classes_too(rng):
    X = rng.normal(size=(400, 4)) * [1.0, 1.0, 1.0, 100.0]
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    model = qf.KernelClassifier(qf.KernelFeatures(n_components=64)).fit(X, y)
    assert model.feature_importances_.shape == (4,)
    assert np.argmax(model.feature_importances_) == 1


def test_a_model_keeps_what_it_learned_when_saved(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = qf.KernelRegressor(qf.KernelFeatures(qf.Gaussian("learned"), n_components=64)).fit(X, y)
    qf.save(model, tmp_path / "model.qf")
    again = qf.load(tmp_path / "model.qf")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_importances_of_a_sum_are_its_coefficients_in_any_units(rng):
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + 2 * X[:, 1]
    for units in ([1.0, 1.0], [1.0, 100.0]):
        features = qf.HermiteMercer(qf.Gaussian(1e-2 / np.square(units)), n_components=32)
        model = qf.KernelRegressor(features).fit(X * units, y)
        expected = X.std(axis=0) * [1.0, 2.0]
        np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), atol=1e-3)


def test_order_copies_and_weights_do_not_change_the_kernel_that_validation_rows_choose(rng):
    X = rng.uniform(-1, 1, size=(1100, 3))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=1100)
    order = rng.permutation(1100)
    kernels = [
        qf.KernelRegressor(qf.KernelFeatures(n_components=32)).fit(*rows).features_.kernel_
        for rows in (
            (X, y),
            (X[order], y[order]),
            (X, y, np.full(1100, 3.0)),
            (np.repeat(X, 2, axis=0), np.repeat(y, 2)),
        )
    ]
    at = X[:50]
    for other in kernels[1:]:
        np.testing.assert_allclose(other(at), kernels[0](at), rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_copies_where_few_labels_choose_the_kernel(n_classes, rng):
    X = rng.uniform(-1, 1, size=(200, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, np.linspace(-0.2, 0.8, n_classes - 1))
    copies = rng.integers(1, 5, size=200)
    each = rng.permutation(np.repeat(np.arange(200), copies))
    kernels = [
        qf.KernelClassifier(qf.KernelFeatures(n_components=32)).fit(*rows).features_.kernel_
        for rows in ((X, y, copies), (X[each], y[each]))
    ]
    np.testing.assert_allclose(*(kernel(X[:50]) for kernel in kernels), rtol=1e-6)


def widths_tried(model):
    return {each.value: each for each in model.tuning_ if each.parameter == "n_components"}


def test_more_columns_are_taken_where_validation_rows_gain_by_them(rng, tmp_path):
    X = rng.uniform(-1, 1, size=(1500, 2))
    y = np.sin(9 * X[:, 0]) * np.cos(9 * X[:, 1])
    features = qf.KernelFeatures(qf.Gaussian(10.0), n_components=(16, 128, 600))
    model = qf.KernelRegressor(features).fit(X, y)
    tried = widths_tried(model)
    assert list(tried) == [16, 128]  # 600 landmarks are more than half of 1,125 rows
    assert tried[128].chosen and tried[128].score < 0.98 * tried[16].score
    assert model.features_.n_columns_ == model.features_.n_components == 128
    assert model.features.n_components == (16, 128, 600)
    given = qf.KernelRegressor(qf.KernelFeatures(qf.Gaussian(10.0), n_components=128)).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), given.predict(X))
    qf.save(model, tmp_path / "model.qf")
    np.testing.assert_array_equal(qf.load(tmp_path / "model.qf").predict(X), model.predict(X))


@pytest.mark.parametrize("kind", [qf.KernelRegressor, qf.KernelClassifier])
def test_columns_that_do_not_help_are_not_taken(rng, kind):
    X = rng.normal(size=(1500, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=1500)
    model = kind(qf.KernelFeatures(n_components=(32, 64, 128)))
    model.fit(X, y if kind is qf.KernelRegressor else y > 0)
    tried = widths_tried(model)
    assert list(tried) == [32, 64]  # the first that is no better ends the search
    assert tried[32].chosen and model.features_.n_columns_ == 32


def test_few_rows_take_the_fewest_columns(rng):
    X = rng.uniform(-1, 1, size=(900, 2))
    model = qf.KernelRegressor(qf.KernelFeatures(qf.Gaussian(10.0), n_components=(16, 128)))
    assert model.fit(X, np.sin(9 * X[:, 0])).features_.n_columns_ == 16
    assert not widths_tried(model)


def test_a_family_that_is_hopeless_with_few_columns_leaves_the_best_of_the_others():
    """Without noise a scale per column is a thousand times better, but not clearly: errors vary."""
    X = np.random.default_rng(0).normal(size=(1000, 3))
    model = qf.KernelRegressor().fit(X, np.sin(X[:, 0]))
    assert model.score(X, np.sin(X[:, 0])) > 0.999
