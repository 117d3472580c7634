"""Sums over subsets of axes, such as `Anova`; and a kernel per axis.

A kernel with one group is a product over axes of one-dimensional kernels (or an isotropic `Matern`)
with k(0) = 1. ANOVA, convolution and sums are lists of such groups with weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from math import comb
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from .._checks import axes_of, check_count, check_positive, check_seed
from .._errors import NotSeparable
from .._typing import Axes, Floats, Subsets
from ..learning.cosine_basis import LARGEST
from ..learning.families import unexplained_by
from ..learning.given import sampled
from ..learning.subset_rows import SubsetRows
from ..learning.subsets import LearnedSubsets, learn_subsets, learn_weights
from ..rules.rule import Axis
from .axis_products import sum_of_products
from .base import Group, Kernel, Stored
from .matern import Matern
from .metric import refuse_metric
from .stationary import GammaKernel, Gaussian, Laplacian

# The bases among which `Anova` chooses if none is given, from smooth to rough; the first is used to
# search for subsets.
_FAMILIES: dict[str, GammaKernel] = {
    "Gaussian": Gaussian("learned"),
    "Matern 1.5": Matern(1.5, "learned", product=True),
    "Laplacian": Laplacian("learned"),
}


class AxisKernels(Kernel):
    """The product of a different one-dimensional kernel for each axis."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = kernels

    def axis(self, i: int) -> Axis:
        return self.kernels[i].axis(0)

    def subgaussian(self, d: int) -> float:
        return max(kernel.subgaussian(1) for kernel in self.kernels)

    def gaussian_scale(self, d: int) -> Floats | None:
        axes = [kernel.restrict(np.zeros(1, dtype=np.intp)) for kernel in self.kernels]
        scales = [axis.gaussian_scale(1) for axis in axes]
        known = [scale for scale in scales if scale is not None]
        return np.concatenate(known) if len(known) == d else None

    @property
    def unimodal(self) -> bool:
        return all(kernel.unimodal for kernel in self.kernels)


class SubsetKernel(Kernel):
    """A weighted sum of one base kernel over subsets of the axes."""

    base: Any

    @abstractmethod
    def _subsets(self) -> list[Axes]: ...

    def _weights(self) -> Floats:
        return np.ones(self.size)

    @property
    def rank(self) -> int:
        """The size of the largest subset (the paper's r)."""
        return max(len(subset) for subset in self._subsets())

    @property
    def degree(self) -> int:
        """The most subsets that share an axis (the paper's Delta)."""
        return int(np.unique(np.concatenate(self._subsets()), return_counts=True)[1].max())

    @property
    def size(self) -> int:
        """The number of subsets (the paper's m)."""
        return len(self._subsets())

    def groups(self, d: int) -> list[Group]:
        groups = []
        for axes, weight in zip(self._subsets(), self._weights(), strict=True):
            if isinstance(self.base, Kernel):
                inner = self.base.restrict(axes).groups(len(axes))
            else:
                kernel = AxisKernels([self.base[i] for i in axes])
                inner = [Group(np.arange(len(axes)), kernel, 1.0)]
            groups += [Group(axes[g.axes], g.kernel, float(weight * g.weight)) for g in inner]
        return groups

    def subgaussian(self, d: int) -> float:
        return max(group.kernel.subgaussian(len(group.axes)) for group in self.groups(d))

    @property
    def unimodal(self) -> bool:
        bases = [self.base] if isinstance(self.base, Kernel) else self.base
        return all(kernel.unimodal for kernel in bases)

    def axis(self, i: int) -> Axis:
        raise NotSeparable("a sum over subsets of axes does not factor over axes; ask its groups")


class LearnedAnova(NamedTuple):
    """A learned kernel, and how it was learned.

    Parameters
    ----------
    kernel : Anova
    subsets : LearnedSubsets, or None if the subsets were given
    families : dict, the share of the variance unexplained when rows are left out, by family of the
        base; empty if the base was given
    """

    kernel: Anova
    subsets: LearnedSubsets | None
    families: dict[str, float]


class Anova(SubsetKernel):
    """The paper's sparse ANOVA kernel: sum over subsets S of prod_{i in S} k1(x_i - y_i).

    k(x, x) is the sum of the weights, by default the number of subsets.

    Parameters
    ----------
    base : Kernel, list of one Kernel per axis, or None
        The kernel of each subset. "scale" and "median" use the axes of the subsets and give one
        gamma for all of them; "tuned" and "learned" need the targets of `fit(X, y)`: one gamma, or
        one per column, with the highest likelihood. None learns the family too: Gaussian, Matern of
        smoothness 1.5 or Laplacian, whichever has the smallest leave-one-out error; maps other than
        `Landmarks` and `KernelFeatures` take Gaussian.
    subsets : sequence of sequences of column numbers, or "learned"
        "learned" chooses main effects and interactions by the targets of `fit(X, y)`: on up to
        8,000 rows, five times on resamples of them, it takes each subset that lowers the error of
        validation rows. The subsets that most resamples choose are used, with all their parts.
        Weights are then learned too.
    weights : sequence of positive numbers, one per subset; default all 1
    order : 1, 2 or 3, the size of the largest subset that "learned" may choose

    Attributes
    ----------
    size : int, the number of subsets
    rank : int, the size of the largest subset (the paper's r)
    degree : int, the largest number of subsets that share a column

    Examples
    --------
    >>> kernel = Anova(Gaussian(1.0), [[0, 1], [1, 2]])
    >>> kernel([[0.0, 0.0, 0.0]])
    array([[2.]])
    >>> kernel.rank, kernel.degree, kernel.size
    (2, 2, 2)
    >>> X = np.random.default_rng(0).uniform(size=(1500, 3))
    >>> Anova().learned(X, np.sin(6 * X[:, 0]) + X[:, 2]).subsets
    [[0], [2]]
    """

    stored: ClassVar[Stored] = {
        "base": "kernels or None",
        "subsets": "subsets",
        "weights": "weights",
        "order": "order",
    }

    def __init__(
        self, base: Any = None, subsets: Any = "learned", weights: Any = None, order: int = 2
    ) -> None:
        self.base = base
        self.subsets = subsets
        self.weights = weights
        self.order = order

    @classmethod
    def random(
        cls,
        n_features: int,
        n_subsets: int,
        size: int,
        random_state: Any = None,
        *,
        base: Kernel | None = None,
    ) -> Anova:
        """`n_subsets` distinct random subsets of `size` of `n_features` axes, as in the paper."""
        for name, value in (("n_features", n_features), ("n_subsets", n_subsets), ("size", size)):
            check_count(name, value, maximum=10**6, example=2)
        check_seed("random_state", random_state)
        if not 1 <= size <= n_features:
            raise ValueError(f"size must be between 1 and n_features={n_features}, got {size}")
        if not 1 <= n_subsets <= comb(n_features, size):
            raise ValueError(
                f"n_subsets must be between 1 and {comb(n_features, size)}, the number of subsets "
                f"of {size} of {n_features} axes, got {n_subsets}"
            )
        check_seed("random_state", random_state)
        # None uses entropy of the system; NumPy's global state is not touched.
        rng = RandomState() if random_state is None else check_random_state(random_state)
        distinct: dict[tuple[int, ...], None] = {}
        while len(distinct) < n_subsets:
            distinct[tuple(sorted(rng.choice(n_features, size=size, replace=False).tolist()))] = (
                None
            )
        return cls(Gaussian("scale") if base is None else base, [list(s) for s in distinct])

    def gram(self, X: Floats, Y: Floats) -> Floats:
        if not isinstance(self.base, GammaKernel) or self.rank > LARGEST:
            return super().gram(X, Y)
        try:
            subsets = [sorted(axes.tolist()) for axes in self._subsets()]
            used = sorted(set(chain.from_iterable(subsets)))
            profiles = {i: self.base.axis(i).profile for i in used}
        except NotSeparable:  # an isotropic kernel
            return super().gram(X, Y)
        return sum_of_products(X, Y, profiles, zip(subsets, self._weights(), strict=True))

    @property
    def learns(self) -> bool:
        return self.learns_subsets or self.base is None or getattr(self.base, "learns", False)

    @property
    def learns_subsets(self) -> bool:
        """Whether the subsets are chosen by targets."""
        return isinstance(self.subsets, str) and self.subsets == "learned"

    def smooth(self) -> Anova:
        if self.base is not None:
            return self
        return Anova(_FAMILIES["Gaussian"], self.subsets, self.weights, self.order)

    def learned(self, X: Any, y: Any) -> Kernel:
        return self.learned_anova(*sampled(self, X, y)).kernel

    def learned_anova(self, X: Floats, Y: Floats, weight: Floats) -> LearnedAnova:
        """This kernel with what it learns from rows, and how it was learned.

        Parameters
        ----------
        X : (n, d), in random order
        Y : (n, t), targets as numbers
        weight : (n,), positive
        """
        first = self.smooth()
        base = first._checked_for_learning()
        rows = SubsetRows.of(X, Y, weight)
        if self.learns_subsets:
            word = base.gamma if base.learns else None
            tied = None if word is None else word == "tuned"
            blank = base.resolve(X) if word is None else base.with_lengths(1.0)
            found = learn_subsets(blank, rows, order=self.order, tied=tied)
            one = float(found.inverse[0])
            kernel = base.with_lengths(one if tied else found.inverse) if word else base
            chosen = [list(subset) for subset in found.subsets]
            learned = LearnedAnova(
                Anova(kernel, chosen, found.weights.tolist(), self.order), found, {}
            )
        else:
            learned = LearnedAnova(first._with_learned_lengths(base, rows), None, {})
        if self.base is not None:
            return learned
        best, scores = learned.kernel, dict[str, float]()
        for name, family in _FAMILIES.items():
            kernel = best
            if scores:
                weights = self.learns_subsets
                kernel = learned.kernel._with_learned_lengths(family, rows, weights=weights)
            scores[name] = unexplained_by(kernel, X, Y, weight)
            if scores[name] > min(scores.values()):
                break  # rougher ones are worse still
            best = kernel
        return LearnedAnova(best, learned.subsets, scores)

    def _with_learned_lengths(
        self, base: GammaKernel, rows: SubsetRows, *, weights: bool = False
    ) -> Anova:
        """The kernel on the same subsets with learned weights and length scales of `base`."""
        subsets = [tuple(sorted(axes.tolist())) for axes in self._subsets()]
        _check_subsets(self._subsets(), len(rows.cosines))
        if max(map(len, subsets)) > LARGEST:
            raise ValueError(
                f"subsets has one of {max(map(len, subsets))} columns, and length scales are "
                f"learned for up to {LARGEST}; give base numbers, such as Gaussian(0.5)"
            )
        tied = base.gamma == "tuned"
        blank = base.with_lengths(1.0)
        share, inverse = learn_weights(blank, rows, subsets=subsets, tied=tied)
        kernel = base.with_lengths(float(inverse[0]) if tied else inverse)
        return Anova(kernel, self.subsets, share.tolist() if weights else self.weights, self.order)

    def _checked_for_learning(self) -> GammaKernel:
        if not isinstance(self.base, GammaKernel):
            raise TypeError(
                f"base must be one kernel with a gamma, such as Gaussian('learned'), to learn from "
                f"targets, got {self.base!r}"
            )
        refuse_metric(self, self.base)
        if self.learns_subsets and self.weights is not None:
            raise ValueError("weights are learned with the subsets; leave weights=None")
        self._check_order()
        self.base.axis(0)  # raises an error if the kernel does not factor over columns
        return self.base

    def _check_order(self) -> None:
        if type(self.order) is not int or not 1 <= self.order <= LARGEST:
            raise ValueError(f"order must be 1, 2 or {LARGEST}, got {self.order!r}")

    def _subsets(self) -> list[Axes]:
        wrong = TypeError(
            f"subsets must be 'learned', or lists of column numbers such as [[0, 1], [2]], got "
            f"{self.subsets!r}"
        )
        # An iterator, or a set, could differ the next time it is read.
        if not isinstance(self.subsets, Sequence | np.ndarray) or isinstance(self.subsets, str):
            raise wrong
        try:
            subsets = [np.asarray(subset) for subset in self.subsets]
        except (TypeError, ValueError):  # ragged lists
            raise wrong from None
        if any(
            subset.ndim != 1 or (subset.size and subset.dtype.kind not in "iu")
            for subset in subsets
        ):
            raise wrong
        return [subset.astype(np.intp) for subset in subsets]

    def _weights(self) -> Floats:
        if self.weights is None:
            return super()._weights()
        several = isinstance(self.weights, Sequence | np.ndarray)
        if not several or axes_of("weights", self.weights) != 1:
            raise TypeError(
                f"weights must be a list of one positive number per subset, got {self.weights!r}"
            )
        return np.array([check_positive("weights", weight) for weight in self.weights])

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        d = X.shape[1]
        if self.learns_subsets:
            raise ValueError(
                "subsets='learned' are chosen by targets: call fit(X, y) of a map or a model with "
                "this kernel, not part of a sum or product; without targets give lists of column "
                "numbers such as [[0], [1], [0, 1]]"
            )
        if self.base is None:
            raise ValueError(
                "base=None is learned from targets: call fit(X, y) of a map or a model with this "
                "kernel; without targets give a kernel such as Gaussian('scale')"
            )
        self._check_order()
        axes = self._subsets()
        _check_subsets(axes, d)
        if len(self._weights()) != len(axes):
            raise ValueError(f"weights has {len(self.weights)} values for {len(axes)} subsets")
        if isinstance(self.base, Kernel):
            refuse_metric(self, self.base)
            return type(self)(self.base.resolve(X, axes), self.subsets, self.weights, self.order)
        if not isinstance(self.base, Sequence) or isinstance(self.base, str):
            raise TypeError(f"base must be a Kernel such as Gaussian(1.0), got {self.base!r}")
        if len(self.base) != d:
            raise ValueError(
                f"base has {len(self.base)} kernels and X has {d} columns; give one kernel, "
                f"or one per column"
            )
        for kernel in self.base:
            if not isinstance(kernel, Kernel):
                raise TypeError(f"base must hold Kernels such as Gaussian(1.0), got {kernel!r}")
        refuse_metric(self, *self.base)
        base = [kernel.resolve(X[:, i : i + 1]) for i, kernel in enumerate(self.base)]
        return type(self)(base, self.subsets, self.weights, self.order)


def _check_subsets(subsets: list[Axes], d: int) -> None:
    if not subsets:
        raise ValueError("subsets is empty; give at least one subset such as [0]")
    seen = set()
    for subset in subsets:
        if len(subset) == 0:
            raise ValueError(f"subsets has an empty one, {subset.tolist()}; [0] would work")
        if subset.min() < 0 or subset.max() >= d:
            raise ValueError(
                f"subsets has {subset.tolist()}, but X has {d} columns: axes go from 0 to {d - 1}"
            )
        if len(np.unique(subset)) < len(subset):
            raise ValueError(f"subsets has {subset.tolist()}, which repeats an axis")
        key = tuple(np.sort(subset).tolist())
        if key in seen:
            raise ValueError(f"subsets has {subset.tolist()} twice; use weights instead")
        seen.add(key)
