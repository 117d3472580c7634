"""The bound of any rule on up to three axes: branch and bound over boxes that cover the region.

On a box second derivatives bound how far the error exceeds its values at the corners; boxes that
may contain more than 1.05 times the largest error seen are split.
"""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from ..rules.rule import Rule
from .bounds import Provable
from .region import Region

_SMALL = 1e-13  # boxes with smaller errors are not split: they are lost in rounding
_OVERHEAD = 20  # all other work at a point costs as much as so many cosines


def cover_bound(kernel: Provable, rule: Rule, region: Region, budget: float) -> float | None:
    """A bound within 5% of the largest error seen, or 1e-13; looser if `budget` cosines run out.

    On a box of half-widths h that no axis plane cuts, k exceeds its values at the corners by at
    most sum_i H_i h_i^2 / 2, H_i a bound of its second derivative along axis i; a cosine of the
    rule by at most sum_i w_i^2 h_i^2 / 2, or 2. None where no H is known.
    """
    d = rule.nodes.shape[1]
    bend = kernel.bends(d)
    if bend is None:
        return None
    widths = np.minimum(np.array(region.box), region.diameter)
    # k - k~ is even, so half of the space is enough.
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=d - 1)])
    low = np.minimum(signs * widths, 0.0)
    high = np.maximum(signs * widths, 0.0)
    unit = np.array(list(product((0.0, 0.5, 1.0), repeat=d)))
    corner = np.array(list(product((0, 1), repeat=d)))
    index = np.array(
        [[int(((child + c) * 3 ** np.arange(d)[::-1]).sum()) for c in corner] for child in corner]
    )
    seen, kept, used = 0.0, 0.0, 0
    worst = np.full(len(low), inf)
    while len(low):
        if used >= budget or seen >= 1:  # at 1 there is no certificate
            return float(max(seen * 1.05, kept, worst.max()))
        order = np.argsort(-worst)
        # A sixteenth of the boxes: sorting all of them for a few would cost more than the cosines.
        some = max(40_000 // len(unit), len(order) // 16)
        take, rest = order[:some], order[some:]
        span = high[take] - low[take]
        points = low[take, None, :] + unit * span[:, None, :]
        flat = points.reshape(-1, d)
        error = np.abs(kernel.at(flat) - rule(flat)).reshape(len(take), -1)
        used += error.size * (len(rule) + _OVERHEAD)
        inside = (flat**2).sum(axis=1).reshape(error.shape) <= region.diameter**2
        seen = max(seen, float(error[inside].max(initial=0.0)))
        sizes, which = np.unique(span**2 / 32, axis=0, return_inverse=True)
        cosines = np.minimum(2.0, rule.nodes**2 @ sizes.T)
        slack = (sizes @ bend + np.abs(rule.weights) @ cosines)[which.ravel()]
        upper = error[:, index].max(axis=2) + slack[:, None] + 1e-14
        child_low = low[take, None, :] + corner * (span[:, None, :] / 2)
        child_high = child_low + span[:, None, :] / 2
        nearest = np.maximum(0.0, np.maximum(child_low, -child_high))
        reached = (nearest**2).sum(axis=2) <= region.diameter**2 * (1 + 1e-12)
        enough = max(1.05 * seen, _SMALL)
        open_ = reached & (upper > enough)
        kept = max(kept, float(upper[reached & ~open_].max(initial=0.0)))
        low = np.concatenate([low[rest], child_low[open_]])
        high = np.concatenate([high[rest], child_high[open_]])
        worst = np.concatenate([worst[rest], upper[open_]])
        alive = worst > enough
        kept = max(kept, float(worst[~alive].max(initial=0.0)))
        low, high, worst = low[alive], high[alive], worst[alive]
    return float(max(1.05 * seen, kept))
