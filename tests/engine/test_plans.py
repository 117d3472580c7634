"""Plans that break a rule are refused by `check`; what leads out of bounds, also by the core."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from quadfeat import _engine
from quadfeat._engine import dispatch
from quadfeat._engine.plans import FourierPlan, KroneckerPlan, MercerBasis

from .test_dispatch import FOURIER, ISAS, KRONECKER, compiled, draw, evaluate
from .test_mercer import BASES

NODES, AMPLITUDES = [np.ones((2, 1))], [np.ones(2)]
ENTRY = (0, np.ones(1), np.ones(1), 1.0)
GROUPS = FourierPlan.from_groups(2, [[0], [1]], 2 * NODES, 2 * AMPLITUDES)
GRID = KroneckerPlan.from_groups(2, [ENTRY, ENTRY], [[0, 1]])
# A plan, what check() says, and whether the core could read out of bounds with it.
BAD_PLANS = [
    (FourierPlan.from_groups(2, [[2]], NODES, AMPLITUDES), "axes holds 2", True),
    (FourierPlan.from_groups(2, [[-1]], NODES, AMPLITUDES), "axes holds -1", True),
    (
        FourierPlan.from_groups(2, [[0], [0, 1]], NODES, AMPLITUDES, [0, 0]),
        "groups of different sizes share nodes",
        True,
    ),
    (FourierPlan.from_groups(2, [[0]], NODES, AMPLITUDES, [1]), "group_nodes holds 1", True),
    (
        FourierPlan.from_groups(2, [[0]], 2 * NODES, 2 * AMPLITUDES, [0]),
        "a node set belongs to no group",
        True,
    ),
    (replace(GROUPS, nodes=GROUPS.nodes[:-1]), "nodes has 3 values, not 4", True),
    (replace(GROUPS, amplitudes=GROUPS.amplitudes[:-1]), "node_ptr does not cut 3 entries", True),
    (replace(GROUPS, axes_ptr=GROUPS.axes_ptr[:-1]), "axes_ptr does not cut 2 entries", True),
    (replace(GROUPS, group_nodes=np.array([0])), "group_nodes has 1 values, not 2", True),
    (replace(GROUPS, nodes=np.full(4, np.nan)), "nodes must be finite", False),
    (replace(GROUPS, amplitudes=np.full(4, np.inf)), "amplitudes must be finite", False),
    (replace(GROUPS, constant=np.nan), "constant must be finite", False),
    (KroneckerPlan.from_groups(2, [(2, *ENTRY[1:])], [[0]]), "entry_axis holds 2", True),
    (KroneckerPlan.from_groups(2, [ENTRY], [[1]]), "group_entries holds 1", True),
    (KroneckerPlan.from_groups(2, [ENTRY], [[]]), "no entries", True),
    (replace(GRID, entry_middle=np.ones(1)), "entry_middle has 1 values, not 2", True),
    (replace(GRID, entry_amplitudes=np.ones(1)), "entry_amplitudes has 1 values, not 2", True),
    (replace(GRID, group_scale=np.ones(2)), "group_scale has 2 values, not 1", True),
    (replace(GRID, entry_ptr=np.array([0, 2, 1])), "entry_ptr does not cut 2 entries", True),
    (replace(GRID, entry_middle=np.full(2, np.nan)), "entry_middle must be finite", False),
]
ODD = BASES["odd"][1].expansions[0]  # 7 axes, 7 directions
ONE = np.ones_like(ODD.parent)
BAD_EXPANSIONS = [
    ({"axes": ODD.axes - 1}, "axes holds -1", True),
    ({"parent": np.arange(len(ONE))}, "parent of column 0 is 0, not a column before it", True),
    ({"parent": ODD.parent - 1}, "parent of column 0 is -2", True),
    ({"direction": 7 * ONE}, "direction holds 7", True),
    ({"degree": 1000 * ONE}, "degree holds 1000, but direction", True),
    ({"degree": -ONE}, "degree holds -1, but direction", True),
    ({"sizes": 0 * ODD.sizes}, "sizes holds 0", True),
    ({"sizes": ODD.sizes + 2**16}, "sizes holds 6", False),
    ({"mean": np.full(7, np.nan)}, "mean must be finite", True),
    ({"amplitude": np.inf}, "amplitude must be finite", False),
    ({"mean": ODD.mean[1:]}, r"mean has shape \(6,\), not \(7,\)", True),
    ({"envelope": -ODD.envelope}, "must not be negative", False),
    ({"length": ODD.length[1:]}, r"length has shape \(6,\), not \(7,\)", True),
    ({"rotation": ODD.rotation[1:]}, r"rotation has shape \(6, 7\), not \(7, 7\)", True),
    ({"rotation": np.ones((8, 7))}, r"rotation has shape \(8, 7\), not \(7, 7\)", True),
    (
        {"mixing": np.ones((8, 7)), "rotation": np.ones((7, 8))},
        r"mixing of shape \(8, 7\) does not fit 7 axes and 7 directions",
        True,
    ),
    ({"mixing": np.ones((2, 7))}, r"rotation has shape \(7, 7\), not \(7, 2\)", True),
    ({"mixing": np.ones((2, 6)), "rotation": np.ones((7, 2))}, "mixing of shape", True),
    ({"mixing": np.ones((2, 8)), "rotation": np.ones((7, 2))}, "mixing of shape", True),
    ({"mixing": np.full((7, 7), np.nan)}, "mixing must be finite", True),
    ({"mixing": np.ones((7, 7)), "length": 0 * ODD.length}, "a direction has no length", True),
    ({"degree": ODD.degree[1:]}, "degree has shape", True),
    ({"parent": ONE[:0], "direction": ONE[:0], "degree": ONE[:0]}, "has no columns", True),
    ({"projection": np.ones((3, 2))}, "projection does not fit", False),
]


@pytest.mark.parametrize("plan", [*FOURIER.values(), *KRONECKER.values()])
def test_plans_of_the_tables_pass(plan):
    plan.check()


@pytest.mark.parametrize("name", BASES)
def test_bases_of_the_table_pass(name):
    BASES[name][1].check()


@pytest.mark.parametrize(("plan", "message"), [(plan, message) for plan, message, _ in BAD_PLANS])
def test_a_plan_that_breaks_a_rule_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        plan.check()


@pytest.mark.parametrize(
    ("changed", "message"), [(changed, message) for changed, message, _ in BAD_EXPANSIONS]
)
def test_an_expansion_that_breaks_a_rule_is_refused(changed, message):
    expansion = replace(ODD, **changed)
    with pytest.raises(ValueError, match=message):
        expansion.check()
    with pytest.raises(ValueError, match=message):
        MercerBasis((expansion,)).check()


def test_a_basis_that_is_empty_or_has_another_projection_is_refused():
    with pytest.raises(ValueError, match="a basis is empty"):
        MercerBasis(()).check()
    with pytest.raises(ValueError, match="projection does not fit"):
        MercerBasis((ODD,), np.ones((3, 2))).check()


@compiled
def test_plans_are_checked_before_they_are_packed():
    float32 = np.dtype(np.float32)
    bad = replace(GROUPS, nodes=np.full(4, np.nan))
    with pytest.raises(ValueError, match="nodes must be finite"):
        _engine.fourier(np.ones((3, 2)), bad, np.empty((3, bad.n_columns)))
    with pytest.raises(ValueError, match="entry_middle must be finite"):
        dispatch._pack("Kronecker", BAD_PLANS[-1][0], float32, ISAS[0])
    with pytest.raises(ValueError, match="must not be negative"):
        expansion = replace(ODD, envelope=-ODD.envelope)
        dispatch._pack_mercer(dispatch._core, ISAS[0], [expansion], float32)


@compiled
@pytest.mark.parametrize("plan", [plan for plan, _, out_of_bounds in BAD_PLANS if out_of_bounds])
def test_the_core_itself_refuses_plans_that_lead_out_of_bounds(plan):
    shape = "Fourier" if isinstance(plan, FourierPlan) else "Kronecker"
    for bits in (32, 64):
        with pytest.raises(ValueError):
            getattr(dispatch._core, f"{shape}{bits}")(isa=ISAS[0], **vars(plan))


@compiled
@pytest.mark.parametrize(
    "changed", [changed for changed, _, out_of_bounds in BAD_EXPANSIONS if out_of_bounds]
)
def test_the_core_itself_refuses_expansions_that_lead_out_of_bounds(changed):
    fields = dispatch.mercer_fields([replace(ODD, **changed)])
    for kind in (dispatch._core.Mercer32, dispatch._core.Mercer64):
        with pytest.raises(ValueError):
            kind(isa=ISAS[0], **fields)


@compiled
def test_the_core_names_a_field_that_is_missing_or_of_another_type():
    fields = {**vars(GROUPS), "isa": ISAS[0]}
    with pytest.raises(TypeError, match="axes_ptr is missing, or of another type"):
        dispatch._core.Fourier64(**{**fields, "axes_ptr": "no array"})
    del fields["axes_ptr"]
    with pytest.raises(TypeError, match="axes_ptr is missing, or of another type"):
        dispatch._core.Fourier64(**fields)


def test_plans_survive_pickling():
    plan = FOURIER["ragged"]
    X = draw(20, plan, np.float32)
    before = evaluate(X, plan)
    assert np.array_equal(evaluate(X, pickle.loads(pickle.dumps(plan))), before)
