"""Kernel values of rows with landmarks, as formulas recorded from the kernels' `group_at`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import NotSeparable
from .._typing import Floats, Profile
from ..kernels.base import Kernel
from ..kernels.composite import Scaled
from ..kernels.convolution import Convolution
from ..kernels.given import GivenKernel, Precomputed
from ..kernels.matern import Matern, matern
from ..kernels.stationary import GammaKernel
from ..kernels.subsets import Anova
from .graph import NotRecordable, Value, root
from .piecewise import tabulated

_WIDE = 32  # from so many columns on, distances of a Gaussian kernel are one product
_SPREADS = 32  # a tabulated kernel is known up to this distance, in ranges of the landmarks


def gram(x: Value, kernel: Kernel, points: Floats) -> Value:
    """k(x, points), (n, m), by recording `kernel.group_at` of all gaps; n m d numbers at a time.

    A profile that cannot be recorded (of `Smoothed`, `Spectral` and `Matern` of general nu) is
    tabulated to 1e-13, up to 32 times the range of the points; further out it is constant.
    """
    m, d = points.shape
    if isinstance(kernel, Precomputed):
        return x.take(kernel.positions(points))
    if isinstance(kernel, GivenKernel):
        raise TypeError(f"Landmarks with {kernel!r} cannot be exported: it is a function of pairs")
    scale = kernel.gaussian_scale(d)
    if scale is not None and d > _WIDE:
        return _wide_gaussian(x, scale, points)
    gaps = (x.reshape(-1, 1, d) - points).reshape(-1, d)
    total: Value | None = None
    for axes, part, weight in kernel.groups(d):
        reach = _SPREADS * np.ptp(points[:, axes], axis=0)
        term = _group(gaps.take(axes.astype(np.int64)), part, reach) * weight
        total = term if total is None else total + term
    assert total is not None
    return total.reshape(-1, m)


def _wide_gaussian(x: Value, scale: Floats, points: Floats) -> Value:
    centre = points.mean(axis=0)
    rows, others = (x - centre) * scale, (points - centre) * scale
    lengths = (rows * rows).total(keep=True) + (others * others).sum(axis=1)
    gram: Value = np.exp(-np.maximum(lengths - rows @ (2.0 * others.T), 0.0))
    return gram


def _group(gaps: Value, kernel: Kernel, reach: Floats) -> Value:
    """k of the gaps, (n m,), of a kernel of one group."""
    try:
        recorded: Value = kernel.group_at(gaps)  # type: ignore[arg-type, assignment]
        return recorded
    except NotRecordable:
        pass
    if isinstance(kernel, Matern) and not kernel.product:
        scaled = gaps * np.sqrt(2 * np.asarray(kernel.gamma))
        longest = float(np.linalg.norm(reach * np.sqrt(2 * np.asarray(kernel.gamma))))
        nu = float(kernel.nu)
        return _profile(lambda r: matern(r, nu), root((scaled * scaled).total()), longest)
    try:
        axes = kernel.axes(len(reach))
    except NotSeparable as error:
        raise TypeError(
            f"Landmarks with {kernel!r} cannot be exported: it does not factor over axes and its "
            f"functions cannot be recorded; use a factor such as Matern(1.5)"
        ) from error
    product: Value | None = None
    for i, axis in enumerate(axes):
        factor = _profile(axis.profile, np.abs(gaps[:, i]), float(reach[i]))
        product = factor if product is None else product * factor
    assert product is not None
    return product


def _profile(profile: Profile, gap: Any, reach: float) -> Value:
    try:
        recorded: Value = profile(gap)  # type: ignore[assignment]
        return recorded
    except NotRecordable:
        # A reach of 0 (all points are equal) says nothing about the rows.
        return tabulated(profile, gap, reach or _SPREADS)


def length_scales(kernel: Kernel, d: int) -> Floats | None:
    """The length scales of a kernel on d columns, (d,); None if it has none.

    For kernels with a gamma, their multiples, and their sums over groups of columns.
    """
    while isinstance(kernel, Scaled | Anova | Convolution):
        kernel = kernel.kernel if isinstance(kernel, Scaled) else kernel.base
    if not isinstance(kernel, GammaKernel) or kernel.mixes_axes:
        return None
    gamma = np.broadcast_to(np.asarray(kernel.gamma, dtype=np.float64), (d,))
    return 1 / gamma if kernel.linear else 1 / np.sqrt(2 * gamma)
