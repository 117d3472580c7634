"""Fourier maps of random and quasi-random nodes: what the grids are compared with."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from .._checks import check_choice, check_count, generator
from .._typing import Matrix
from ..constructions import randomized
from ..constructions.randomized import Draw
from ..kernels.base import Group, Kernel
from ..rules.rule import Rule, zero_rule
from .fourier import FourierMap, per_group


class _Randomized(FourierMap):
    """A map whose rule is drawn: two columns per node."""

    n_components: int
    share_groups: bool
    random_state: Any

    def _check(self) -> None:
        check_count("n_components", self.n_components, example=256)

    @abstractmethod
    def _draw(self) -> Draw: ...

    def _pairs(self, budget: int) -> int:
        return budget // 2

    def _rules(self, X: Matrix) -> list[Rule]:
        rng, draw = generator(self.random_state), self._draw()

        def one(group: Group, budget: int) -> Rule:
            d, pairs = len(group.axes), self._pairs(budget)
            return draw(group.kernel, pairs, d, rng) if pairs else zero_rule(d)

        return per_group(self._groups, self.n_components, self.share_groups, one)


class RandomFourier(_Randomized):
    """Random Fourier features in cosine and sine pairs (Rahimi and Recht, 2007).

    Unbiased, for every kernel, error ~ 1 / sqrt(n_components); the peer to beat.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns; an odd one leaves one unused, and 1 is the constant feature
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one each.
    random_state : int, RandomState or None
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.share_groups = share_groups
        self.random_state = random_state

    def _draw(self) -> Draw:
        return randomized.random


class OrthogonalFourier(_Randomized):
    """Random features along orthogonal directions, for rotation-invariant kernels.

    Less error than `RandomFourier` from a dozen axes on (Yu et al., 2016). `structured=True`
    makes the directions from Hadamard matrices in O(n log d), from 16 axes on.

    Parameters are those of `RandomFourier`, and `structured`.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        structured: bool = False,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.structured = structured
        self.share_groups = share_groups
        self.random_state = random_state

    def _draw(self) -> Draw:
        return randomized.structured if self.structured else randomized.orthogonal


class QuasiRandomFourier(_Randomized):
    """Features at a scrambled Sobol or Halton sequence of the spectrum, for every kernel.

    Less error than `RandomFourier` in few dimensions (Yang et al., 2014).

    Parameters are those of `RandomFourier`, and `sequence`: "sobol" or "halton" (the paper's, where
    it is not scrambled).
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        sequence: str = "sobol",
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.sequence = sequence
        self.share_groups = share_groups
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        check_choice("sequence", self.sequence, ("sobol", "halton"))

    def _draw(self) -> Draw:
        return randomized.sobol if self.sequence == "sobol" else randomized.halton


class SphericalRadial(_Randomized):
    """Randomly rotated simplices, exact to degree 3 on the sphere, for the Gaussian kernel.

    Munkhoeva et al. (2018). Strong for small widths in few dimensions.

    Parameters are those of `RandomFourier`. A block takes 2 (d + 1) columns; an incomplete last
    block is weighted up, and the zero node, where it has weight, takes one column. One or two
    columns are the constant feature.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.share_groups = share_groups
        self.random_state = random_state

    def _pairs(self, budget: int) -> int:
        n_groups = len(self._groups)
        if budget < 3 and n_groups > 1:
            raise ValueError(
                f"n_components={self.n_components} leaves one of the kernel's {n_groups} groups "
                f"two columns, and a pair and the zero node take three; give at least "
                f"{4 * n_groups}, or use RandomFourier"
            )
        return (budget - 1) // 2  # one column is the zero node's

    def _draw(self) -> Draw:
        return randomized.spherical_radial
