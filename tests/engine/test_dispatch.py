"""Laws of the compiled engine: the answer of the NumPy twin, whatever the shape and the threads."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from quadfeat import _engine
from quadfeat._engine import dispatch, reference
from quadfeat._engine.plans import FourierPlan, KroneckerPlan

compiled = pytest.mark.skipif(
    _engine.engine_info()["engine"] == "numpy", reason="the compiled core is not installed"
)
DTYPES = [np.float32, np.float64]
TRIG = {np.dtype(np.float32): 2e-7, np.dtype(np.float64): 5e-16}  # what sin and cos may err by
ISAS = _engine.engine_info()["isas"]
HERE = os.path.dirname(__file__)


def unit(dtype):
    """Half the spacing of floats at 1: the relative error of one rounding."""
    return float(np.finfo(dtype).eps) / 2


def dense(d, m, seed=0, constant=0.0):
    rng = np.random.default_rng(seed)
    return FourierPlan.dense(rng.normal(size=(m, d)), rng.uniform(0.5, 2, m), constant)


def grouped(sizes, counts, d=12, seed=0, constant=0.0):
    rng = np.random.default_rng(seed)
    groups = [rng.choice(d, size, replace=False) for size in sizes]
    nodes = [rng.normal(size=(m, size)) for m, size in zip(counts, sizes, strict=True)]
    scales = [rng.uniform(0.5, 2, m) for m in counts]
    return FourierPlan.from_groups(d, groups, nodes, scales, constant=constant)


def shared(d=40, window=5, m=25, seed=0):
    rng = np.random.default_rng(seed)
    groups = [np.arange(start, start + window) for start in range(d - window + 1)]
    nodes, scale = rng.normal(size=(m, window)), rng.uniform(0.5, 2, m)
    return FourierPlan.from_groups(d, groups, [nodes], [scale], np.zeros(len(groups), int))


def grid(widths, groups, d=7, seed=0, middles=None):
    rng = np.random.default_rng(seed)
    entries = []
    for t, width in enumerate(widths):
        half = width // 2
        middle = rng.uniform(0.2, 1) if (width % 2 if middles is None else middles[t]) else 0.0
        entries.append((t % d, rng.uniform(0.5, 3, half), rng.uniform(0.2, 1, half), middle))
    return KroneckerPlan.from_groups(d, entries, groups, rng.uniform(0.5, 2, len(groups)))


FOURIER = {
    "dense": dense(7, 20),
    "dense, one node": dense(3, 1),
    "dense, odd": dense(5, 77, constant=0.5),
    "dense, wide": dense(3, 1001),
    "dense, many axes": dense(131, 64),
    "anova": grouped([5] * 9, [100] * 9),
    "ragged": grouped([1, 4, 2, 12, 3], [3, 8, 17, 250, 1], constant=-0.25),
    "empty group": grouped([2, 3], [0, 5]),
    "no axes": FourierPlan.from_groups(
        2, [[], [1]], [np.empty((3, 0)), np.ones((9, 1))], [np.ones(3), np.ones(9)]
    ),
    "shared windows": shared(),
    "shared windows, even": shared(m=32),
    "constant only": FourierPlan.from_groups(4, [], [], [], constant=2.0),
}
KRONECKER = {
    "full": grid([5] * 7, [[0, 1, 2], [3, 4, 5], [2, 4, 6]]),
    "even": grid([4] * 7, [[0, 1, 2], [6, 5]]),
    "mixed": grid([3, 4, 1, 5, 2, 7, 3], [[0, 1], [5, 3, 6], [2], [2, 2], [4], [6, 0, 3, 1]]),
    "one long group": grid([3] * 7, [range(7)]),
    "middle only": grid([1] * 3, [[0, 1]]),
}
PLANS = FOURIER | KRONECKER


def evaluate(X, plan, threads=1, module=_engine, out=None):
    out = np.full((len(X), plan.n_columns), np.nan, dtype=X.dtype) if out is None else out
    run = module.fourier if isinstance(plan, FourierPlan) else module.kronecker
    run(X, plan, out, threads)
    return out


def tolerance(X, plan):
    """How far engine and twin may be apart, by rounding alone, per row and column.

    With S = sum |x_k node_k| over K axes, either side rounds each node once (in half-turns, or to
    float32), each product and each partial sum once: an angle errs by at most (K + 2) u S. Sine and
    cosine then move by no more than that and err by TRIG; the amplitude and the product with it
    are rounded once each, on both sides.
    """
    u, trig = unit(X.dtype), TRIG[X.dtype]
    x = np.abs(X.astype(np.float64))
    if isinstance(plan, FourierPlan):
        sets, columns = plan.node_sets(), [np.zeros((len(X), 0))]
        for group, chosen in enumerate(plan.group_nodes):
            axes = plan.axes[plan.axes_ptr[group] : plan.axes_ptr[group + 1]]
            nodes, scale = sets[chosen]
            angle = 2 * (len(axes) + 2) * u * (x[:, axes] @ np.abs(nodes).T)
            columns += 2 * [np.abs(scale) * (angle + 2 * trig + 6 * u)]
        last = [np.full((len(X), 1), u * abs(plan.constant))] * (plan.constant != 0)
        return np.concatenate(columns + last, axis=1)
    # A product of factors bounded by a_i, each wrong by a_i e_i: prod a_i (sum e_i + roundings).
    errors, sizes = [], []
    for t, axis in enumerate(plan.entry_axis):
        chosen = slice(plan.entry_ptr[t], plan.entry_ptr[t + 1])
        highest = np.max(plan.entry_nodes[chosen], initial=0.0)
        errors.append(2 * 3 * u * x[:, axis] * highest + 2 * trig + 6 * u)
        sizes.append(max(np.max(plan.entry_amplitudes[chosen], initial=0.0), plan.entry_middle[t]))
    worst = np.zeros(len(X))
    for group, scale in zip(plan.groups(), plan.group_scale, strict=True):
        total = sum(errors[t] for t in group) + 2 * (len(group) + 2) * u
        worst = np.maximum(worst, 1.01 * scale * np.prod([sizes[t] for t in group]) * total)
    constant = u * np.sqrt(np.sum(plan.group_scale**2 * np.max(sizes) ** (2 * len(sizes))))
    return np.maximum(worst, constant)[:, None]


def assert_twins(X, plan, threads=1):
    """The engine on X equals the twin on the same numbers in float64."""
    found = evaluate(X, plan, threads)
    exact = evaluate(X.astype(np.float64), plan, module=reference)
    gap = np.abs(found - exact)
    assert np.all(gap <= tolerance(X, plan))


def draw(n, plan, dtype, seed=1):
    return np.random.default_rng(seed).normal(size=(n, plan.n_features)).astype(dtype)


def layouts(X):
    n, d = X.shape
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    odd = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(n, d)
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "C": X,
        "Fortran": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "reversed": X[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": frozen,
        "unaligned": odd,
        "one row repeated": np.broadcast_to(X[:1], X.shape) if n else X,
    }


@pytest.mark.parametrize("isa", [*ISAS, "numpy"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PLANS)
def test_engine_equals_its_twin(name, dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    for n in (0, 1, 2, 7, 33, 100):
        assert_twins(draw(n, PLANS[name], dtype), PLANS[name])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["dense, odd", "ragged", "shared windows", "mixed"])
def test_strides_and_order_of_the_input_do_not_matter(name, dtype):
    X = draw(37, PLANS[name], dtype)
    for kind, view in layouts(X).items():
        same = evaluate(np.ascontiguousarray(view), PLANS[name])
        assert np.array_equal(evaluate(view, PLANS[name]), same), kind


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PLANS)
def test_bits_do_not_depend_on_threads_blocks_or_the_way_to_memory(name, dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)
    plan = PLANS[name]
    X = draw(max(67, min(5000, 800_000 // max(1, plan.n_columns))), plan, dtype)
    whole = evaluate(X, plan)
    assert not np.isnan(whole).any()
    for threads in (2, 4):
        assert np.array_equal(evaluate(X, plan, threads), whole)
    for rows in (1, 3, 8, 31):
        for start in (0, 29, len(X) - rows):
            part = evaluate(X[start : start + rows], plan)
            assert np.array_equal(part, whole[start : start + rows])
    shape = "Fourier" if name in FOURIER else "Kronecker"
    for way in (0, 1, 2):
        out = np.full_like(whole, np.nan)
        dispatch._pack(shape, plan, X.dtype, isa).run(X, out, 2, way)
        assert np.array_equal(out, whole)


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PLANS)
def test_nothing_is_written_outside_the_rows(name, dtype, isa, monkeypatch):
    monkeypatch.setenv("QUADFEAT_ISA", isa)  # sets differ in their last bits
    plan, shape = PLANS[name], "Fourier" if name in FOURIER else "Kronecker"
    X = draw(41, plan, dtype)
    for way in (0, 1, 2):
        for shift in (1, 5):
            frame = np.full((43, plan.n_columns + 19), -7, dtype=dtype)
            out = frame[1:-1, shift : shift + plan.n_columns]
            dispatch._pack(shape, plan, X.dtype, isa).run(X, out, 1, way)
            assert np.array_equal(out, evaluate(X, plan))
            frame[1:-1, shift : shift + plan.n_columns] = -7
            assert np.all(frame == -7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_angles_are_not_noise(dtype):
    """Powers of two times pi: exact in half-turns, so the answer is known at any size."""
    plan = FourierPlan.dense(np.pi * np.ones((9, 1)), np.ones(9))
    X = np.array([[0.0], [0.5], [1.0], [1.5], [2.0**20 + 0.5], [2.0**22 + 1], [2.0**60]], dtype)
    if dtype == np.float64:
        X[-3:] = [[2.0**49 + 0.5], [2.0**52 + 1], [2.0**900]]
    if _engine.engine_info()["engine"] == "numpy":
        pytest.skip("NumPy works in radians")
    cosine = [1, 0, -1, 0, 0, -1, 1]
    sine = [0, 1, 0, -1, 1, 0, 0]
    found = evaluate(X, plan)
    assert np.abs(found - np.array([cosine] * 9 + [sine] * 9).T).max() <= TRIG[np.dtype(dtype)]


@compiled
def test_angles_beyond_the_type_are_an_error():
    for value in (3e38, np.inf, np.nan):
        X = np.full((3, 7), 0.5, dtype=np.float32)
        X[2, 4] = value
        for plan in (FOURIER["dense"], KRONECKER["full"]):
            with pytest.raises(ValueError, match="not finite, or so large"):
                evaluate(X, plan)


def halfturn_error(dtype, isa, count, seed=0):
    """The largest error of cos(pi t) and sin(pi t) over `count` arguments of every size."""
    from quadfeat._engine import _core

    rng, worst = np.random.default_rng(seed), 0.0
    largest = 1e6 / np.pi if dtype == np.float32 else 1e9 / np.pi
    special = np.array([0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 1e-30, largest], dtype)
    special = np.concatenate([special, np.nextafter(special, dtype(9)), np.nextafter(special, -1)])
    for start in range(0, count, 1_000_000):
        size = min(1_000_000, count - start)
        t = rng.uniform(-1, 1, size) * rng.choice([0.5, 1, 2, 100, largest], size)
        t = np.concatenate([t.astype(dtype), special, -special])
        cosine, sine = np.empty_like(t), np.empty_like(t)
        _core.sincos_halfturns(isa, t, cosine, sine)
        # t less an even integer is exact; the rest in extended precision
        turns = np.longdouble(t) - 2 * np.rint(np.longdouble(t) / 2)
        pi = np.longdouble("3.14159265358979323846264338327950288")
        worst = max(
            worst,
            float(np.abs(cosine - np.cos(pi * turns)).max()),
            float(np.abs(sine - np.sin(pi * turns)).max()),
        )
    return worst


@compiled
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sine_and_cosine_are_accurate(dtype, isa):
    count = int(os.environ.get("QUADFEAT_SINCOS_SAMPLES", 1_000_000))
    assert halfturn_error(dtype, isa, count) <= TRIG[np.dtype(dtype)]


@compiled
def test_more_than_2_to_the_31_elements_are_addressed():
    """Rows so far apart that offsets pass 2^31; only the touched pages of the file exist."""
    import mmap

    plan = dense(2, 3)
    stride = (1 << 31) // 2 + 5
    with mmap.mmap(-1, 4 * (2 * stride + plan.n_columns)) as memory:
        flat = np.frombuffer(memory, dtype=np.float32)
        out = np.lib.stride_tricks.as_strided(flat, (3, plan.n_columns), (4 * stride, 4))
        X = draw(3, plan, np.float32)
        evaluate(X, plan, out=out)
        assert np.array_equal(out, evaluate(X, plan))
        del out, flat


@pytest.mark.parametrize("plan", [FOURIER["dense"], KRONECKER["full"]])
def test_bad_arguments_are_refused(plan):
    X = draw(3, plan, np.float64)
    out = np.zeros((3, plan.n_columns))
    run = _engine.fourier if isinstance(plan, FourierPlan) else _engine.kronecker
    with pytest.raises(ValueError, match="plan is for 7 columns"):
        run(X[:, 1:], plan, out)
    with pytest.raises(ValueError, match="out has shape"):
        run(X, plan, out[:, 1:])
    with pytest.raises(ValueError, match="out has shape"):
        run(X[1:], plan, out)
    with pytest.raises(TypeError, match="float32"):
        run(X.astype(int), plan, out)
    with pytest.raises(TypeError, match="float32"):
        run(X, plan, out.astype(np.float32))


@compiled
def test_bad_outputs_and_instruction_sets_are_refused():
    plan = FOURIER["dense"]
    X, p = draw(3, plan, np.float64), plan.n_columns
    with pytest.raises(ValueError, match="contiguous"):
        _engine.fourier(X, plan, np.empty((3, 2 * p))[:, ::2])
    with pytest.raises(ValueError, match="overlap"):
        _engine.fourier(X, plan, np.empty((3, p))[::-1])
    frozen = np.empty((3, p))
    frozen.flags.writeable = False
    with pytest.raises((TypeError, ValueError)):
        _engine.fourier(X, plan, frozen)
    with pytest.raises(ValueError, match="n_threads=0"):
        _engine.fourier(X, plan, np.empty((3, p)), 0)
    with pytest.raises(ValueError, match="not available here; choose from"):
        dispatch._pack("Fourier", plan, np.dtype(np.float32), "mmx")


@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_arrays_start_on_a_cache_line(dtype):
    for n, p in [(0, 3), (3, 0), (1, 1), (7, 5), (2000, 999)]:
        out = _engine.empty(n, p, dtype)
        assert out.shape == (n, p) and out.dtype == dtype
        assert out.flags.c_contiguous and out.flags.writeable
        assert out.size == 0 or out.ctypes.data % 64 == 0


def test_engine_info_says_what_runs(monkeypatch):
    info = _engine.engine_info()
    assert set(info) == {"engine", "isa", "isas", "threads", "compiler", "reason"}
    monkeypatch.setenv("QUADFEAT_ISA", "numpy")
    assert _engine.engine_info()["engine"] == "numpy"
    assert _engine.engine_info()["reason"]


def test_import_survives_a_missing_core():
    script = (
        "import sys; sys.modules['quadfeat._engine._core'] = None\n"
        "import quadfeat._engine as e; info = e.engine_info()\n"
        "assert info['engine'] == 'numpy' and 'not installed' in info['reason'], info\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize("asked", [False, True])
def test_a_missing_core_is_told_once_at_first_use(asked):
    script = (
        "import sys, warnings; sys.modules['quadfeat._engine._core'] = None\n"
        "with warnings.catch_warnings(record=True) as at_import:\n"
        "    warnings.simplefilter('always'); import quadfeat._engine as e\n"
        "import numpy as np; from quadfeat._engine.plans import FourierPlan\n"
        "plan = FourierPlan.dense(np.ones((2, 1)), np.ones(2))\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always'); e.engine_info()\n"
        "    assert not told\n"
        "    for _ in range(3): e.fourier(np.ones((1, 1)), plan, np.empty((1, 4)))\n"
        "assert not at_import and len(told) == int(sys.argv[1]), told\n"
        "for w in told:\n"
        "    assert w.category is UserWarning and 'C++17 compiler' in str(w.message)\n"
        "    assert w.filename == '<string>', w.filename\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "QUADFEAT_ISA"}
    if asked:
        environment["QUADFEAT_ISA"] = "numpy"
    command = [sys.executable, "-c", script, str(int(not asked))]
    subprocess.run(command, check=True, timeout=60, env=environment)
