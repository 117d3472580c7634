"""Kernel values of rows with points: the compiled core equals `reference.pairs` and the kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import quadfeat as qf
from quadfeat import _engine
from quadfeat._engine import dispatch, reference
from quadfeat._engine.pair_plan import PAIR_FORMS, PairPlan

from .test_dispatch import ISAS, compiled, layouts

SIZES = [(1, 1), (3, 7), (2, 64), (5, 129), (32, 200), (131, 33)]  # axes, points
KERNELS = [
    qf.Gaussian(0.3),
    qf.Laplacian(0.3),
    *(qf.Matern(nu, gamma=0.3, product=product) for nu in (0.5, 1.5, 2.5) for product in (0, 1)),
]


def plan_of(form, d, m):
    rng = np.random.default_rng(m)
    return PairPlan.of(form, rng.uniform(0.2, 1, size=d) / np.sqrt(d), rng.normal(size=(m, d)))


def draw(n, d):
    return np.random.default_rng(n).normal(size=(n, d))


def evaluate(X, plan, threads=1, module=_engine):
    out = np.full((len(X), plan.n_columns), np.nan)
    module.pairs(X, plan, out, threads)
    return out


def tolerance(d):
    """Of values in [0, 1], by rounding alone.

    Both round each difference and partial sum once, so a sum s is wrong by (d + 2) u s, and
    s exp(-s) < 1 / 2; each axis multiplies by a polynomial of up to 4 roundings; the exponential
    has two units in the last place.
    """
    return 2 * (5 * d + 8) * np.finfo(float).eps / 2


@pytest.mark.parametrize("isa", [*ISAS, "numpy"])
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_the_core_equals_the_reference(form, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    for d, m in SIZES:
        plan = plan_of(form, d, m)
        for n in (0, 1, 2, 7, 33):
            X = draw(n, d)
            exact = evaluate(X, plan, module=reference)
            assert np.all(np.abs(evaluate(X, plan) - exact) <= tolerance(d))
        assert 0 < exact.mean() < 1


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_form_is_its_kernel(kernel, d, rng):
    X, points = 2 * rng.normal(size=(30, d)), 2 * rng.normal(size=(17, d))
    plan = PairPlan.of(*kernel.pair_form(d), points)
    # Gaussian kernels are made of |x|^2 + |y|^2 - 2 x . y, which rounds in units of |x|^2.
    atol = 20 * np.finfo(float).eps * (1 + (X**2).sum(axis=1).max())
    np.testing.assert_allclose(evaluate(X, plan), kernel.gram(X, points), rtol=0, atol=atol)


def test_kernels_that_the_engine_does_not_have_say_so():
    for kernel in (qf.Cauchy(1.0), qf.Matern(2.0), qf.Gaussian(1.0, metric=np.eye(2))):
        assert kernel.pair_form(2) is None


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_bits_do_not_depend_on_threads_blocks_or_strides(form, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    plan = plan_of(form, 5, 129)
    X = draw(5000, 5)
    whole = evaluate(X, plan)
    for threads in (2, 4):
        assert np.array_equal(evaluate(X, plan, threads), whole)
    for rows in (1, 3, 8, 31):
        for start in (0, 29, len(X) - rows):
            part = evaluate(X[start : start + rows], plan)
            assert np.array_equal(part, whole[start : start + rows])
    for kind, view in layouts(X[:37]).items():
        same = evaluate(np.ascontiguousarray(view), plan)
        assert np.array_equal(evaluate(view, plan), same), kind


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_nothing_is_written_outside_the_rows(form, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    for d, m in SIZES:
        plan, X = plan_of(form, d, m), draw(41, d)
        frame = np.full((43, m + 19), -7.0)
        dispatch._pack("Pairs", plan, X.dtype, isa).run(X, frame[1:-1, 5 : 5 + m], 1)
        assert np.array_equal(frame[1:-1, 5 : 5 + m], evaluate(X, plan))
        frame[1:-1, 5 : 5 + m] = -7
        assert np.all(frame == -7)


@pytest.mark.parametrize("isa", [*ISAS, "numpy"])
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_equal_rows_are_one_and_rows_far_away_zero(form, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    plan = plan_of(form, 3, 7)
    points = plan.points.reshape(-1, 3)
    np.testing.assert_array_equal(np.diagonal(evaluate(points, plan)), 1.0)
    for far in (1e4, 1e155, 1e300):
        assert not evaluate(far * np.ones((2, 3)), plan).any()


@compiled
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_an_error(value):
    X = draw(9, 3)
    X[4, 1] = value
    with pytest.raises(ValueError, match="not finite"):
        evaluate(X, plan_of("laplacian", 3, 7))


GOOD = plan_of("gaussian", 3, 7)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (replace(GOOD, n_features=0), "positive"),
        (replace(GOOD, form=7), "form"),
        (replace(GOOD, form=-1), "form"),
        (replace(GOOD, scale=GOOD.scale[1:]), "scale has 2 values, not 3"),
        (replace(GOOD, points=GOOD.points[1:]), "points has 20 values, not 18"),
        (replace(GOOD, points=np.full(21, np.nan)), "points must be finite"),
        (replace(GOOD, scale=np.full(3, np.inf)), "scale must be finite"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        plan.check()
    if ISAS:
        fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
        with pytest.raises(ValueError):
            dispatch._core.Pairs64(isa=ISAS[0], **fields)


def test_bad_arguments_are_refused():
    out = np.empty((2, 7))
    with pytest.raises(ValueError, match="3 columns"):
        _engine.pairs(np.zeros((2, 4)), GOOD, out)
    with pytest.raises(ValueError, match=r"must have shape \(3, 7\)"):
        _engine.pairs(np.zeros((3, 3)), GOOD, out)
    for kind in (int, np.float32):
        with pytest.raises(TypeError, match="both be float64"):
            _engine.pairs(np.zeros((2, 3), dtype=kind), GOOD, out.astype(kind))
    with pytest.raises(ValueError, match="n_threads=0"):
        _engine.pairs(np.zeros((2, 3)), GOOD, out, 0)
