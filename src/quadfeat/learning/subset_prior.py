"""A kernel over subsets as a prior of terms; its most likely weights and length scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from .._typing import Floats, Indices
from ..numerics.diagonal_evidence import Ridge, Squares
from .cosine_basis import CosineBasis, Subset, numbers_of, owners

_LOG_WEIGHT = (-14.0, 16.0)  # bounds of the log variance of a subset relative to the noise
_LOG_INVERSE = (-1.5, 2.0)  # bounds of log inverse length scales, in half ranges of the column


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Log weights of subsets relative to the noise variance, and log inverse length scales."""

    log_weights: Floats
    log_inverse: Floats


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a search: log weights of known subsets, and log inverse length scales."""

    known: dict[Subset, float]
    log_inverse: Floats

    def at(self, subsets: Sequence[Subset]) -> Hyperparameters:
        """The start for these subsets; unknown weights are 1."""
        weights = [self.known.get(subset, 0.0) for subset in subsets]
        return Hyperparameters(np.array(weights), self.log_inverse)

    def knows(self, subsets: Sequence[Subset]) -> bool:
        """Whether the weights of all these subsets are known."""
        return all(subset in self.known for subset in subsets)

    def after(self, subsets: Sequence[Subset], found: Hyperparameters) -> Start:
        """This start updated with the fit of some subsets."""
        weights = dict(zip(subsets, found.log_weights.tolist(), strict=True))
        return Start(self.known | weights, found.log_inverse)


@dataclass(frozen=True, eq=False)
class SubsetPrior:
    """The prior variances of the terms of subsets.

    Parameters
    ----------
    base : Kernel with a density on each axis
    basis : CosineBasis
    tied : bool or None, whether all columns have one length scale; None leaves `base` as it is
    """

    base: Any
    basis: CosineBasis
    tied: bool | None

    @cached_property
    def unit(self) -> Any:
        """The kernel of length scale 1, on one axis."""
        return self.base.with_lengths(1.0)

    @cached_property
    def units(self) -> Floats:
        """Log half ranges of the columns minus their mean, for a common length scale; else 0."""
        logs = np.log(self.basis.half_range)
        return logs - logs.mean() if self.tied else np.zeros(len(logs))

    def start(self) -> Start:
        """The start of the first search of weights and length scales."""
        d = len(self.basis.start)
        inverse = np.zeros(d)
        if self.tied is None:  # length scales are fixed
            gamma = np.broadcast_to(np.asarray(self.base.gamma, dtype=np.float64), (d,))
            plain = np.asarray(self.base.with_lengths(np.ones(d)).gamma)
            power = 1.0 if self.base.linear else 0.5
            inverse = np.log((gamma / plain) ** power * self.basis.half_range)
        return Start({}, inverse)

    def log_variances(self, at: Hyperparameters, subsets: Sequence[Subset]) -> Floats:
        """The log prior variance of every term, (p,)."""
        used = columns_of(subsets)
        densities = np.zeros((len(at.log_inverse), numbers_of(1).max()))
        densities[used] = self.basis.log_densities(self.unit, used, at.log_inverse[used])
        factors, m = _Factors.of(tuple(subsets)), at.log_weights[owners(subsets)]
        of_factors = densities[factors.column, factors.number]
        return np.bincount(factors.term, of_factors, minlength=len(m)) + m

    def ridge(self, sums: Squares, at: Hyperparameters, subsets: Sequence[Subset]) -> Ridge:
        """The fit with these weights and length scales."""
        return Ridge(sums, np.exp(self.log_variances(at, subsets)))

    def most_likely(
        self, sums: Squares, subsets: Sequence[Subset], start: Hyperparameters, steps: int
    ) -> Hyperparameters:
        """The most likely weights and length scales for the targets in `sums`."""
        owner, m = owners(subsets), len(subsets)
        factors = _Factors.of(tuple(subsets))
        used = columns_of(subsets)
        free = {None: 0, True: 1, False: len(used)}[self.tied]

        def unpacked(values: Floats) -> Hyperparameters:
            log_inverse = start.log_inverse.copy()
            if self.tied:
                log_inverse = values[m] + self.units
            elif free:
                log_inverse[used] = values[m:]
            return Hyperparameters(values[:m], log_inverse)

        def function(values: Floats) -> tuple[float, Floats]:
            now = unpacked(values)
            try:
                fit = self.ridge(sums, now, subsets)
            except np.linalg.LinAlgError:
                return 1e10, np.zeros_like(values)
            value, slopes = fit.evidence()
            by_weight = np.bincount(owner, slopes, minlength=m)
            by_density = np.zeros((len(now.log_inverse), numbers_of(1).max()))
            if free:
                by_density[used] = self.basis.density_slopes(self.base, used, now.log_inverse[used])
            by_factor = slopes[factors.term] * by_density[factors.column, factors.number]
            by_length = np.bincount(factors.column, by_factor, minlength=len(by_density))[used]
            by_length = by_length.sum(keepdims=True) if free == 1 else by_length[:free]
            return value / sums.n, np.concatenate([by_weight, by_length]) / sums.n

        lengths = np.clip((start.log_inverse - self.units)[used], *_LOG_INVERSE)[:free]
        values = np.concatenate([start.log_weights, lengths])
        limits = [_LOG_WEIGHT] * m + [_LOG_INVERSE] * free
        options = {"maxiter": steps, "ftol": 1e-7, "maxls": 8}
        found = minimize(
            function, values, jac=True, method="L-BFGS-B", bounds=limits, options=options
        )
        return unpacked(found.x)


class _Factors(NamedTuple):
    """The factors of the terms of subsets: term, column and number of the cosine minus 1, (q,)."""

    term: Indices
    column: Indices
    number: Indices

    @classmethod
    @lru_cache(maxsize=64)  # many likelihoods use the same list of subsets
    def of(cls, subsets: tuple[Subset, ...]) -> _Factors:
        parts, first = [], 0
        for subset in subsets:
            numbers = numbers_of(len(subset)) - 1
            term = np.repeat(np.arange(first, first + len(numbers)), len(subset))
            parts.append((term, np.tile(subset, len(numbers)), numbers.ravel()))
            first += len(numbers)
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def columns_of(subsets: Iterable[Subset]) -> Indices:
    """The columns in any subset, sorted."""
    return np.array(sorted({column for subset in subsets for column in subset}), dtype=np.intp)
