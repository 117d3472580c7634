"""The class `Rule`, the protocol `Axis`, and mirror-symmetric rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._errors import NoDensity
from .._typing import Floats


@dataclass(frozen=True, eq=False)
class Rule:
    """A quadrature rule: nodes and weights, frozen.

    Calling it at gaps (k, d) gives the kernel it integrates, sum of weight * cos(node . gap).

    Attributes
    ----------
    nodes : (n, d), frequencies
    weights : (n,), which may be signed

    Examples
    --------
    >>> Rule(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))(np.array([[0.0]]))
    array([1.])
    """

    nodes: Floats
    weights: Floats

    def __post_init__(self) -> None:
        for name in ("nodes", "weights"):
            if not isinstance(getattr(self, name), np.ndarray):
                raise TypeError(f"{name} must be an array, got {getattr(self, name)!r}")
        if self.nodes.ndim != 2 or self.weights.shape != self.nodes.shape[:1]:
            raise ValueError(
                f"a rule needs nodes (n, d) and weights (n,), "
                f"got shapes {self.nodes.shape} and {self.weights.shape}"
            )
        self.nodes.flags.writeable = False
        self.weights.flags.writeable = False

    def __len__(self) -> int:
        return len(self.weights)

    def __call__(self, gaps: Floats) -> Floats:
        rows = max(1, 2**22 // max(1, len(self)))
        return np.concatenate(
            [np.zeros(0)]
            + [
                np.cos(gaps[start : start + rows] @ self.nodes.T) @ self.weights
                for start in range(0, len(gaps), rows)
            ]
        )


class Axis(Protocol):
    """A one-dimensional kernel with k(0) = 1, as rules and proofs need it."""

    @property
    def moments(self) -> float:
        """Spectral moments of an order below this are finite."""

    @property
    def edges(self) -> Floats:
        """Panels that hold the peaks of the density; empty for a density without."""

    def profile(self, gap: Floats) -> Floats:
        """k(u)."""

    def density(self, omega: Floats) -> Floats:
        """The spectral density, of mass 1."""

    def gauss(self, n: int) -> Rule:
        """The n-point Gauss rule of the density."""

    def gaussian_scale(self, d: int) -> Floats | None:
        """sqrt(gamma) of each of d such axes, if this is a Gaussian kernel; else None."""

    @property
    def decreasing(self) -> bool:
        """Whether k is known to fall with |u|."""

    @property
    def noise(self) -> float:
        """How far `profile` may be from the kernel, beyond its rounding."""

    def spectral_moments(self) -> Floats:
        """Moments of the density of order 0..16; inf where they do not exist."""

    def derivative_bounds(self) -> Floats:
        """Bounds of |k^(p)(u)| over u > 0 for p = 0..16; inf where none is known."""


def axis_key(axis: Axis) -> Any:
    """A key that is equal for axes with the same kernel, even if they are different objects."""
    parameters = getattr(axis, "get_params", None)
    if parameters is None:
        return id(axis)
    try:
        key = type(axis), tuple(sorted(parameters(deep=False).items()))
        hash(key)
    except TypeError:
        return id(axis)
    return key


def mirrored(half: Floats, weights: Floats, middle: float | None = None) -> Rule:
    """The symmetric 1-D rule of mass 1 with these positive nodes; `weights` are for one side."""
    order = np.argsort(half)
    half, weights = half[order], weights[order]
    centre = [] if middle is None else [0.0]
    nodes = np.concatenate([-half[::-1], centre, half])
    both = np.concatenate([weights[::-1], centre if middle is None else [middle], weights])
    mass = both.sum()
    if not mass > 0:
        raise NoDensity("the density is zero at every node; a smaller step or cut-off will do")
    return Rule(nodes[:, None], both / mass)


def mirrored_nodes(right: Floats, weights: Floats, middle: float) -> Rule:
    """The rule of mass 1 of `right` (m, d), its mirror image, and 0 if `middle` has weight."""
    centre = [middle] if middle > 0 else []
    both = np.concatenate([weights[::-1], centre, weights])
    nodes = np.concatenate([-right[::-1], np.zeros((len(centre), right.shape[1])), right])
    return Rule(nodes, both / both.sum())


def zero_rule(d: int) -> Rule:
    """The rule of the constant 1, which needs a single column."""
    return Rule(np.zeros((1, d)), np.ones(1))
