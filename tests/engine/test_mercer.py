"""Hermite-Mercer features: the compiled core equals `reference.mercer`."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from quadfeat import _engine
from quadfeat._engine import dispatch, reference
from quadfeat._engine.plans import MercerBasis
from quadfeat.constructions.compression import compress
from quadfeat.constructions.mercer import hermite_mercer
from quadfeat.kernels.convolution import Convolution
from quadfeat.kernels.stationary import Gaussian
from quadfeat.kernels.subsets import Anova

compiled = pytest.mark.skipif(
    _engine.engine_info()["engine"] == "numpy", reason="the compiled core is not installed"
)
DTYPES = [np.float32, np.float64]
ISAS = _engine.engine_info()["isas"]


def draw(n, d, seed=0):
    """Correlated rows, far from the origin, whose directions have falling spread."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * np.linspace(1.5, 0.1, d)) @ rotation + 3


def basis_of(kernel, d, p):
    return hermite_mercer(kernel, draw(500, d), p)


def level(d):
    """Correlated rows whose directions all have a spread of about one."""
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(d, d)))[0]
    return 3 + (np.random.default_rng(0).normal(size=(500, d)) * np.linspace(1.5, 1, d)) @ rotation


def straight(d):
    """Rows whose axes are not correlated, so that each is a direction."""
    return 3 + np.random.default_rng(0).normal(size=(500, d)) * np.linspace(1.5, 0.1, d)


SUBSETS = [[0, 2], [1, 3, 4], [5], [0, 1, 2, 3, 4, 5], [2, 5]]
BASES = {
    "one axis": (1, basis_of(Gaussian(0.5), 1, 20)),
    "one column": (4, basis_of(Gaussian(0.5), 4, 1)),
    "fewer columns than lanes": (3, basis_of(Gaussian(0.5), 3, 3)),
    "two axes": (2, basis_of(Gaussian(1.0), 2, 64)),
    "odd": (7, basis_of(Gaussian(0.1), 7, 333)),
    "one gamma per axis": (5, basis_of(Gaussian(np.linspace(0.05, 1, 5)), 5, 100)),
    "twenty axes": (20, basis_of(Gaussian(0.02), 20, 1024)),
    "few directions of many axes": (150, basis_of(Gaussian(0.01), 150, 30)),
    "half of the directions of many axes": (
        150,
        hermite_mercer(Gaussian(0.01), draw(500, 150), 70),
    ),
    "many axes": (300, basis_of(Gaussian(0.005), 300, 400)),
    "few reflections": (60, hermite_mercer(Gaussian(0.002), level(60), 75)),
    "reflections in groups": (
        64,
        basis_of(Anova(Gaussian(0.002), [range(64), range(40), [3, 1]]), 64, 200),
    ),
    "axes as directions": (20, hermite_mercer(Gaussian(0.02), straight(20), 333)),
    "few axes as directions": (150, hermite_mercer(Gaussian(0.01), straight(150), 30)),
    "wide": (9, basis_of(Gaussian(0.05), 9, 4099)),
    "anova": (6, basis_of(Anova(Gaussian(0.3), SUBSETS), 6, 201)),
    "one column per group": (6, basis_of(Anova(Gaussian(0.3), SUBSETS), 6, 5)),
    "windows": (36, basis_of(Convolution((6, 6), 3, base=Gaussian(0.2)), 36, 500)),
}
SMALL = ["one axis", "fewer columns than lanes", "odd", "few directions of many axes", "anova"]


def evaluate(X, basis, threads=1):
    out = np.full((len(X), basis.n_columns), np.nan, dtype=X.dtype)
    _engine.mercer(X, basis, out, threads)
    return out


def twin(X, basis):
    out = np.empty((len(X), basis.n_columns), dtype=X.dtype)
    reference.mercer(X, basis, out)
    return out


def tolerance(X, each):
    """A bound of the error of the columns of an expansion, by rounding to the dtype of X alone.

    Every quantity comes with a bound of its error. With u the error of one rounding: x - mean
    errs by u (|x - mean| + |mean|); a sum of a products by (a + 1) u of its absolute terms, and by
    the errors of its factors; a step of a recurrence by the errors of its two terms before it, and
    4 u of the absolute terms; exp by the absolute error of its argument and 4 u, and, since it may
    underflow, by the smallest normal number. A product of two adds their relative errors.
    """
    u, tiny = float(np.finfo(X.dtype).eps) / 2, float(np.finfo(X.dtype).tiny)
    c = X.astype(np.float64)[:, each.axes] - each.mean
    c_error = u * (np.abs(c) + np.abs(each.mean))
    a, m = len(each.axes), len(each.sizes)
    weight = np.abs(each.rotation)
    t = c @ each.rotation
    t_error = (a + 2) * u * (np.abs(c) @ weight) + c_error @ weight
    if each.mixing is not None:
        straight, weight = each.scale / np.sqrt(each.length), np.abs(each.mixing)
        terms = np.abs(c) * straight + np.abs(t) @ weight
        t_error = c_error * straight + t_error @ weight + (len(weight) + 3) * u * terms
        t = c * straight + t @ each.mixing
    square_error = 2 * np.abs(t) * t_error + t_error**2 + (m + 3) * u * t**2
    exponent = t[:, 1:] ** 2 @ each.envelope[1:]
    exponent_error = square_error[:, 1:] @ each.envelope[1:]
    if m < a:
        s = each.scale**2
        exponent += np.maximum(c**2 @ s - t**2 @ each.length, 0)
        exponent_error += (2 * np.abs(c) * c_error + (a + 4) * u * c**2) @ s
        exponent_error += square_error @ each.length
    value = {-1: each.amplitude * np.exp(-exponent)}
    error = {-1: value[-1] * (np.expm1(exponent_error) + 6 * u) + tiny}
    tables, table_errors = [], []
    for i in range(m):
        q, e = [np.ones(len(X))], [np.zeros(len(X))]
        before, e_before = 0.0, 0.0
        for rise, fall in reference._hermite_recurrence(
            each.ratio[i], int(each.sizes[i]), np.dtype(float)
        ):
            first, second = rise * t[:, i] * q[-1], fall * before
            step = rise * (np.abs(t[:, i]) + t_error[:, i]) * e[-1] + rise * t_error[:, i] * np.abs(
                q[-1]
            )
            step += fall * e_before + 4 * u * (np.abs(first) + np.abs(second))
            before, e_before = q[-1], e[-1]
            q.append(first - second)
            e.append(step)
        if i == 0:
            envelope = np.exp(-each.envelope[0] * t[:, 0] ** 2)
            relative = np.expm1(each.envelope[0] * square_error[:, 0]) + 6 * u
            e = [
                envelope * (ek + np.abs(qk) * relative) + tiny for qk, ek in zip(q, e, strict=True)
            ]
            q = [envelope * qk for qk in q]
        tables.append(q)
        table_errors.append(e)
    plan = zip(each.parent, each.direction, each.degree, strict=True)
    for j, (parent, i, k) in enumerate(plan):
        q, e = tables[i][k], table_errors[i][k]
        value[j] = value[parent] * q
        error[j] = np.abs(value[parent]) * e + error[parent] * (np.abs(q) + e)
        error[j] = error[j] * (1 + u) + u * np.abs(value[j]) + tiny
    return np.stack([error[j] for j in range(len(each.parent))], axis=1)


def assert_twins(X, basis, threads=1):
    """The engine on X equals the reference on the same numbers in float64."""
    found = evaluate(X, basis, threads)
    exact = twin(X.astype(np.float64), basis)
    # The reference rounds to float64 too: two errors, and second order.
    bound = 2.1 * np.concatenate([tolerance(X, each) for each in basis.expansions], axis=1)
    assert np.all(np.abs(found - exact) <= bound)
    return bound


@pytest.mark.parametrize("isa", [*ISAS, "numpy"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BASES)
def test_the_core_equals_the_reference(name, dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    d, basis = BASES[name]
    for n in (0, 1, 2, 7, 33, 100):
        assert_twins(draw(n, d, seed=1).astype(dtype), basis)


def test_the_tolerance_is_not_an_excuse(monkeypatch):
    """On rows like those it was fitted to, the bound is a small part of the features."""
    # The bound grows with the spread, up to fifteenfold, and the engine does not choose the spread.
    monkeypatch.setattr("quadfeat.constructions.mercer.SPREADS", (0.7,))
    bases = {**BASES, "two axes": (2, basis_of(Gaussian(1.0), 2, 64))}
    for name in ("two axes", "odd", "twenty axes", "anova"):
        d, basis = bases[name]
        X = draw(100, d, seed=1).astype(np.float32)
        bound = np.sqrt(np.mean(assert_twins(X, basis) ** 2))
        assert bound < 1e-2 * np.sqrt(np.mean(evaluate(X, basis) ** 2)), name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SMALL)
def test_strides_and_order_of_the_input_do_not_matter(name, dtype):
    d, basis = BASES[name]
    X = draw(37, d, seed=1).astype(dtype)
    exact = evaluate(X, basis)
    odd = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(dtype).reshape(X.shape)
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    more = np.concatenate([X, np.full((37, 2), np.nan, dtype=dtype)], axis=1)
    for view in (np.asfortranarray(X), wide[::2, ::3], X[::-1, ::-1].copy()[::-1, ::-1], odd, more):
        assert np.array_equal(evaluate(view, basis), exact)
    assert np.array_equal(evaluate(np.broadcast_to(X[:1], X.shape), basis)[36], exact[0])


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BASES)
def test_bits_do_not_depend_on_threads_blocks_or_the_way_to_memory(name, dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    d, basis = BASES[name]
    X = draw(max(67, min(5000, 800_000 // basis.n_columns)), d, seed=1).astype(dtype)
    whole = evaluate(X, basis)
    assert not np.isnan(whole).any()
    for threads in (2, 4):
        assert np.array_equal(evaluate(X, basis, threads), whole)
    for rows in (1, 3, 8, 31):
        for start in (0, 29, len(X) - rows):
            assert np.array_equal(
                evaluate(X[start : start + rows], basis), whole[start : start + rows]
            )
    plan, features = dispatch._pack_mercer(dispatch._core, isa, basis.expansions, X.dtype)
    for way in (0, 1, 2):
        out = np.full_like(whole, np.nan)
        plan.run(X[:, :features], out, 2, way)
        assert np.array_equal(out, whole)


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_as_directions_have_the_bits_of_the_whole_product(dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    (own,) = BASES["axes as directions"][1].expansions
    assert (np.count_nonzero(own.rotation, axis=0) == 1).all()
    # A second term that vanishes beside the first makes every direction a sum again.
    dense = own.rotation + 1e-30 * np.roll(own.rotation, 1, axis=0)
    X = draw(100, 20).astype(dtype)
    found = evaluate(X, MercerBasis((own,)))
    np.testing.assert_array_equal(found, evaluate(X, MercerBasis((replace(own, rotation=dense),))))


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_columns_are_the_same_at_every_width(dtype, isa, monkeypatch):
    """However full the last vector, the last cache line and the last buffer are."""
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    d, basis = BASES["odd"]
    each, X = basis.expansions[0], draw(21, d, seed=1).astype(dtype)
    whole = evaluate(X, basis)
    for p in range(1, basis.n_columns + 1):
        plan = {name: getattr(each, name)[:p] for name in ("parent", "direction", "degree")}
        core, _ = dispatch._pack_mercer(dispatch._core, isa, [replace(each, **plan)], X.dtype)
        for way in (0, 1, 2):
            out = np.full((len(X), p), np.nan, dtype=dtype)
            core.run(X, out, 1, way)
            assert np.array_equal(out, whole[:, :p])


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BASES)
def test_nothing_is_written_outside_the_rows(name, dtype, isa):
    d, basis = BASES[name]
    p = basis.n_columns
    X = draw(41, d, seed=1).astype(dtype)
    plan, features = dispatch._pack_mercer(dispatch._core, isa, basis.expansions, X.dtype)
    for way in (0, 1, 2):
        for shift in (1, 5):
            frame = np.full((43, p + 19), -7, dtype=dtype)
            plan.run(X[:, :features], frame[1:-1, shift : shift + p], 1, way)
            assert not np.any(frame[1:-1, shift : shift + p] == -7)
            frame[1:-1, shift : shift + p] = -7
            assert np.all(frame == -7)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("p", [300, 1000])
def test_float32_is_stable_at_high_degree(p, isa, monkeypatch):
    """At most twice as far from the float64 answer as the reference in float32."""
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    X = np.linspace(-3, 3, 200)[:, None]
    basis = hermite_mercer(Gaussian(100.0), X, p)
    assert basis.expansions[0].degree.max() == p - 1
    single = X.astype(np.float32)
    exact = twin(single.astype(np.float64), basis)
    theirs = np.abs(twin(single, basis) - exact).max()
    assert np.abs(evaluate(single, basis) - exact).max() <= 2 * theirs
    # u times the largest exponent and the number of steps
    assert theirs <= np.finfo(np.float32).eps * (p + (single**2).max() * 100)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BASES)
def test_far_away_rows_are_zero(name, dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    d, basis = BASES[name]
    rows = [sign * size * np.ones(d) for size in (1e4, 1e10, 1e19, 1e30, 3e38) for sign in (-1, 1)]
    rows += [size * draw(1, d, seed=k)[0] for k, size in enumerate((1e5, 1e20, 1e37))]
    assert np.all(evaluate(np.array(rows).astype(dtype), basis) == 0)
    near = draw(200, d, seed=3) * np.logspace(0, 4, 200)[:, None]
    assert np.all(np.isfinite(evaluate(near.astype(dtype), basis)))


@compiled
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_an_error(value):
    for name in SMALL:
        d, basis = BASES[name]
        for column in {0, d - 1}:
            X = draw(40, d).astype(np.float32)
            X[38, column] = value
            with pytest.raises(ValueError, match="X is not finite"):
                evaluate(X, basis)


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_exponential_is_accurate_to_two_units_in_the_last_place(dtype, isa):
    info = np.finfo(dtype)
    lowest = np.log(np.longdouble(info.smallest_subnormal))
    x = -(np.random.default_rng(0).uniform(0, 1.1, 1_000_000) ** 3) * -float(lowest)
    x = np.concatenate([x, [0.0, -1e-30, -np.log(2) / 2, -1e5, -1e37, -np.inf, np.nan]])
    x = x.astype(dtype)
    found = np.empty_like(x)
    dispatch._core.exp(isa, x, found)
    assert np.all(found[-4:] == 0)
    assert found[-7] == 1
    exact = np.exp(np.longdouble(x[:-1]))
    ulp = np.maximum(info.eps / 2 * exact, info.smallest_subnormal)
    assert np.max(np.abs(found[:-1] - exact) / (2 * ulp)) <= 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["odd", "anova"])
def test_projections_give_the_answer_of_the_twin(name, dtype):
    """A projection of a pool of q to orthonormal columns errs by at most (q + 2) u of its norm."""
    d, basis = BASES[name]
    small = compress(basis, draw(500, d), 40)
    X = draw(101, d, seed=1).astype(dtype)
    pool = twin(X.astype(np.float64), basis)
    error = np.linalg.norm(
        np.concatenate([tolerance(X, each) for each in basis.expansions], axis=1), axis=1
    )
    u = np.finfo(dtype).eps / 2
    bound = 2.1 * error + 4 * (basis.n_pool + 2) * u * np.linalg.norm(pool, axis=1)
    gap = np.abs(evaluate(X, small) - twin(X.astype(np.float64), small))
    assert np.all(gap <= bound[:, None])
    groups = MercerBasis(tuple(replace(each, projection=None) for each in small.expansions))
    parts = MercerBasis((small.expansions[0], *groups.expansions[1:]))
    for other in (groups, parts):  # none, or only the first group, has a projection
        gap = np.abs(evaluate(X, other) - twin(X.astype(np.float64), other))
        assert np.all(gap <= bound[:, None])
    for n in (0, 1):
        assert np.allclose(
            evaluate(X[:n], small), evaluate(X, small)[:n], rtol=0, atol=float(bound.max())
        )


def test_bad_arguments_are_refused():
    d, basis = BASES["odd"]
    X, out = draw(3, d), np.zeros((3, basis.n_columns))
    for arguments, kind, message in [
        ((X[:, 1:], basis, out), ValueError, "looks at column 6: give X at least 7"),
        ((X[0], basis, out), ValueError, "looks at column 6"),
        ((X, basis, out[:, 1:]), ValueError, "out has shape"),
        ((X[1:], basis, out), ValueError, "out has shape"),
        ((X.astype(int), basis, out), TypeError, "float32"),
        ((X, basis, out.astype(np.float32)), TypeError, "float32"),
    ]:
        with pytest.raises(kind, match=message):
            _engine.mercer(*arguments)


@compiled
def test_bad_outputs_are_refused():
    d, basis = BASES["odd"]
    X, p = draw(3, d), basis.n_columns
    for out, message in [
        (np.empty((3, 2 * p))[:, ::2], "contiguous"),
        (np.empty((3, p))[::-1], "overlap"),
    ]:
        with pytest.raises(ValueError, match=message):
            _engine.mercer(X, basis, out)
    with pytest.raises(ValueError, match="n_threads=0"):
        evaluate(X, basis, threads=0)


@pytest.mark.parametrize("name", ["few reflections", "reflections in groups"])
def test_bases_of_reflections_have_them(name):
    few = [each for each in BASES[name][1].expansions if each.mixing is not None]
    assert few
    assert all(3 * each.rotation.shape[1] <= len(each.axes) for each in few)


@compiled
def test_plans_are_packed_once_and_die_with_their_basis():
    basis = basis_of(Gaussian(0.5), 2, 9)
    evaluate(draw(3, 2), basis)
    plan = dispatch._packed_mercer[basis]
    evaluate(draw(3, 2), basis)
    assert len(plan) == 1
    gone = weakref.ref(basis)
    del basis
    gc.collect()
    assert gone() is None


@compiled
def test_more_than_2_to_the_31_elements_are_addressed():
    """Rows so far apart that offsets pass 2^31; only the touched pages of the file exist."""
    import mmap

    d, basis = BASES["odd"]
    p, stride = basis.n_columns, (1 << 31) // 2 + 5
    with mmap.mmap(-1, 4 * (2 * stride + p)) as memory:
        flat = np.frombuffer(memory, dtype=np.float32)
        out = np.lib.stride_tricks.as_strided(flat, (3, p), (4 * stride, 4))
        X = draw(3, d).astype(np.float32)
        _engine.mercer(X, basis, out)
        assert np.array_equal(out, evaluate(X, basis))
        del out, flat


@compiled
def test_many_python_threads_at_once_get_the_same_answer():
    d, basis = BASES["anova"]
    X = draw(2000, d).astype(np.float32)
    exact = evaluate(X, basis)
    with ThreadPoolExecutor(8) as pool:
        assert all(
            np.array_equal(exact, z) for z in pool.map(lambda _: evaluate(X, basis, 2), "12345678")
        )


def test_the_twin_answers_where_the_core_is_missing():
    script = (
        "import sys; sys.modules['quadfeat._engine._core'] = None\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, test_mercer as t\n"
        "d, basis = t.BASES['odd']; X = t.draw(20, d)\n"
        "assert np.array_equal(t.evaluate(X, basis), t.twin(X, basis))\n"
    )
    here = os.path.dirname(__file__)
    subprocess.run([sys.executable, "-c", script, here], check=True, timeout=120)
