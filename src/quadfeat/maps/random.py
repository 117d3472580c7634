"""Fourier maps of random and quasi-random nodes, as a comparison for the grids."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from .._checks import Constraint, check_choice, generator
from .._typing import Matrix
from ..constructions import randomized
from ..constructions.randomized import Draw
from ..kernels.base import Group, Kernel
from ..rules.rule import Rule, zero_rule
from .base import COLUMNS
from .fourier import FourierMap, per_group


class _Randomized(FourierMap):
    """A map of random nodes: two columns per node."""

    n_components: int
    share_groups: bool
    random_state: Any

    _constraints = COLUMNS

    @abstractmethod
    def _draw(self) -> Draw:
        """The function that draws nodes."""

    def _pairs(self, budget: int) -> int:
        """Nodes, with two columns each, for a number of columns."""
        return budget // 2

    def _rules(self, X: Matrix) -> list[Rule]:
        rng, draw = generator(self.random_state), self._draw()

        def one(group: Group, budget: int) -> Rule:
            d, pairs = len(group.axes), self._pairs(budget)
            return draw(group.kernel, pairs, d, rng) if pairs else zero_rule(d)

        return per_group(self._groups, self.n_components, self.share_groups, one)


class RandomFourier(_Randomized):
    """Random Fourier features in cosine and sine pairs (Rahimi and Recht, 2007).

    Unbiased, for every kernel, error ~ 1 / sqrt(n_components): the baseline.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns; an odd number leaves one unused, and 1 is the constant feature
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one set per group.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
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

    The error is smaller than that of `RandomFourier` from a dozen axes on (Yu et al., 2016).
    `structured=True` draws the directions from Hadamard matrices in O(n log d), from 16 axes on.

    Parameters
    ----------
    kernel : Kernel, rotation-invariant, default Gaussian("scale")
    n_components : int, columns; an odd number leaves one unused, and 1 is the constant feature
    structured : bool, whether directions come from Hadamard matrices
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one set per group.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
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

    The error is smaller than that of `RandomFourier` in few dimensions (Yang et al., 2014).

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns; an odd number leaves one unused, and 1 is the constant feature
    sequence : "sobol" or "halton" (the paper's, where it is not scrambled)
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one set per group.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **COLUMNS,
        "sequence": partial(check_choice, choices=("sobol", "halton")),
    }

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

    def _draw(self) -> Draw:
        return randomized.sobol if self.sequence == "sobol" else randomized.halton


class SphericalRadial(_Randomized):
    """Randomly rotated simplices, exact to degree 3 on the sphere, for the Gaussian kernel.

    Munkhoeva et al. (2018). Strong for small widths in few dimensions.

    A block takes 2 (d + 1) columns; an incomplete last block gets larger weights, and the zero
    node, if it has weight, takes one column.

    Parameters
    ----------
    kernel : Gaussian, default Gaussian("scale")
    n_components : int, columns; one or two are the constant feature
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one set per group.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
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
        return (budget - 1) // 2  # one column is for the zero node

    def _draw(self) -> Draw:
        return randomized.spherical_radial
