"""Kernels in words, and their length scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels.base import Kernel
from ..kernels.matern import Matern
from ..kernels.stationary import GammaKernel
from ..kernels.subsets import SubsetKernel

_HALVES = {0.5: "1/2", 1.5: "3/2", 2.5: "5/2", 3.5: "7/2"}
_SIZES = ("", "column", "pair", "triple")


def in_words(kernel: Kernel) -> str:
    """A kernel in one line of words, with at most one number.

    >>> from quadfeat import Anova, Gaussian, Matern
    >>> in_words(Gaussian(gamma=0.5))
    'Gaussian kernel, one length scale of 1'
    >>> in_words(Matern(1.5, gamma=[0.5, 2.0], product=True))
    'Matern 3/2 kernel, a length scale per column'
    >>> in_words(Anova(Gaussian(), subsets=[[0], [1], [0, 1]]))
    'Sum of Gaussian kernels of 2 columns and 1 pair'
    """
    if isinstance(kernel, SubsetKernel):
        return _sum_of_subsets(kernel)
    name = _family(kernel)
    if not isinstance(kernel, GammaKernel):
        return f"{name} kernel"
    if getattr(kernel, "metric", None) is not None:
        return f"{name} kernel, a metric that mixes columns"
    if np.ndim(kernel.gamma) > 0:
        return f"{name} kernel, a length scale per column"
    (length,) = _lengths(kernel)
    return f"{name} kernel, one length scale of {length:.3g}"


def _family(kernel: Kernel) -> str:
    if isinstance(kernel, Matern):
        return f"Matern {_HALVES.get(kernel.nu, f'{kernel.nu:g}')}"
    return type(kernel).__name__


def _sum_of_subsets(kernel: Any) -> str:
    base = _family(getattr(kernel, "base", kernel))
    subsets = getattr(kernel, "subsets", None)
    if subsets is None or isinstance(subsets, str):
        return f"Sum of {base} kernels of few columns each"
    sizes = np.bincount([len(subset) for subset in subsets])
    parts = []
    for size, count in enumerate(sizes):
        if count:
            word = _SIZES[size] if size < len(_SIZES) else f"set of {size} columns"
            plural = word.replace("set", "sets", 1) if size >= len(_SIZES) else f"{word}s"
            parts.append(f"{count} {word if count == 1 else plural}")
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"Sum of {base} kernels of {listed}"


def length_scales(kernel: Kernel, names: Sequence[str]) -> list[tuple[str, float]]:
    """(column, length scale) from short to long; empty unless the kernel has one per column.

    >>> from quadfeat import Gaussian
    >>> length_scales(Gaussian(gamma=[0.125, 0.5]), ["a", "b"])
    [('b', 1.0), ('a', 2.0)]
    """
    base: Any = getattr(kernel, "base", kernel)
    if not isinstance(base, GammaKernel) or np.shape(base.gamma) != (len(names),):
        return []
    lengths = _lengths(base)
    return [(names[i], float(lengths[i])) for i in np.argsort(lengths, kind="stable")]


def _lengths(kernel: GammaKernel) -> Any:
    """Length scales (d,) as in `with_lengths`: |u|^2 / 2 in their units is gamma |u|^2."""
    gamma = np.atleast_1d(np.asarray(kernel.gamma, dtype=np.float64))
    return 1 / gamma if kernel.linear else 1 / np.sqrt(2 * gamma)
