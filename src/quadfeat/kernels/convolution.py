"""Convolution: one sub-kernel per window of a series or an image."""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from .._checks import naming
from .._typing import Axes, Floats, Subsets
from .base import Kernel, Stored
from .metric import refuse_metric
from .stationary import Gaussian
from .subsets import SubsetKernel


class Convolution(SubsetKernel):
    """One sub-kernel per window of a series, an image or an image with channels.

    Parameters
    ----------
    shape : (length,), (height, width) or (height, width, channels)
        X has one column per entry, in C order.
    window, stride : int, or one per direction
    base : Kernel, default Gaussian("scale"), which looks at the axes of the windows

    Attributes
    ----------
    size : int, the number of windows
    rank : int, the size of the largest window (the paper's r)
    degree : int, the largest number of windows that share a column

    Examples
    --------
    >>> Convolution((28, 28), 5).size
    576
    """

    stored: ClassVar[Stored] = {
        "shape": "counts",
        "window": "counts",
        "stride": "counts",
        "base": "kernel or None",
    }

    def __init__(
        self, shape: Any, window: Any, stride: Any = 1, base: Kernel | None = None
    ) -> None:
        self.shape = shape
        self.window = window
        self.stride = stride
        self.base = base

    def _subsets(self) -> list[Axes]:
        shape, window, stride = self.geometry()
        plane = shape[:2]
        index = np.arange(int(np.prod(shape))).reshape(*plane, -1)
        starts = [range(0, n - w + 1, s) for n, w, s in zip(plane, window, stride, strict=True)]
        return [
            index[tuple(slice(a, a + w) for a, w in zip(corner, window, strict=True))].ravel()
            for corner in product(*starts)
        ]

    def geometry(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Checked `shape`, `window` and `stride`, the last two with one number per direction."""
        shape = tuple(np.atleast_1d(self.shape).tolist())
        if not 1 <= len(shape) <= 3 or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(
                f"shape must be (length,), (height, width) or (height, width, channels), "
                f"got {self.shape!r}"
            )
        directions = min(len(shape), 2)
        both = []
        for name, value in (("window", self.window), ("stride", self.stride)):
            with naming(name):
                numbers = tuple(np.atleast_1d(value).tolist())
            numbers = numbers * directions if len(numbers) == 1 else numbers
            if len(numbers) != directions or not all(isinstance(n, int) and n > 0 for n in numbers):
                raise ValueError(
                    f"{name} must be a positive whole number or {directions} of them, got {value!r}"
                )
            both.append(numbers)
        window, stride = both
        if any(w > n for w, n in zip(window, shape[:2], strict=True)):
            raise ValueError(f"window={self.window!r} does not fit into shape={self.shape!r}")
        return shape, window, stride

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        shape, _, _ = self.geometry()
        if int(np.prod(shape)) != X.shape[1]:
            raise ValueError(
                f"shape={self.shape!r} means {int(np.prod(shape))} columns, but X has {X.shape[1]}"
            )
        base = Gaussian("scale") if self.base is None else self.base
        if not isinstance(base, Kernel):
            raise TypeError(f"base must be a Kernel such as Gaussian(0.1), got {base!r}")
        refuse_metric(self, base)
        resolved = base.resolve(X, self._subsets())
        return type(self)(self.shape, self.window, self.stride, resolved)
