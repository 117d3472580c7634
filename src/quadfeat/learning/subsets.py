"""Subsets of columns for a sparse ANOVA kernel, its weights and length scales, from targets.

A subset is added where the residual of the others depends on it (`screen`), and kept where that
lowers the error of validation rows. The search is repeated on resamples; what most of them choose
is taken, and how many did is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._display.progress import steps
from .._typing import Floats, Indices
from ..numerics.diagonal_evidence import Ridge, Squares
from .cosine_basis import CosineBasis, Subset, numbers_of, owners, terms
from .screen import rank_cosines, screen
from .task import SUBSET_ROWS

RESAMPLES = 5
_VALIDATION = 4  # one row in so many, of every resample
_ROUNDS = 8  # of adding subsets, at most
_ADDED = 8  # subsets per round, at most
_MOST_TERMS = 900  # products of cosines, at most, of all subsets
_ERRORS = 1.0  # standard errors by which a subset must lower the error of validation rows
# Of fewer rows than this, tests would miss most effects: nearly all main effects are tried, and
# kept unless they raise the error; a missing one costs more than one with a small weight.
_FEW_ROWS = 1000
_FEW_ERRORS, _FEW_PASSED = -0.5, 10.0
_LEAST_GAIN = 5e-4  # share of that error that a subset must explain
_LOG_WEIGHT = (-14.0, 16.0)  # bounds, of the variance of a subset by that of the noise
_LOG_INVERSE = (-1.5, 2.0)  # bounds of log inverse length scales, in half ranges of the column
_STEPS = 40
_FEW_STEPS = 4  # while subsets are still added, if some of them are new to all resamples
_PRUNING_STEPS = 8


@dataclass(frozen=True, eq=False)
class LearnedSubsets:
    """What a search found.

    Parameters
    ----------
    subsets : tuple of tuples of columns, sorted by size; with a subset all parts of it
    weights : (m,), the prior variance of each subset, of mean 1
    inverse : (d,), inverse length scales
    chosen : tuple of float, the share of resamples that chose each subset; where none was chosen by
        most of them, the main effects of all columns are taken
    unexplained : float, squared error of validation rows by the variance of the targets
    n_rows : int
    """

    subsets: tuple[Subset, ...]
    weights: Floats
    inverse: Floats
    chosen: tuple[float, ...]
    unexplained: float
    n_rows: int


def closure(subsets: Iterable[Subset]) -> list[Subset]:
    """Subsets and all parts of them, small ones first.

    >>> closure([(0, 2), (1,)])
    [(0,), (1,), (2,), (0, 2)]
    """
    every = {
        part for s in subsets for size in range(1, len(s) + 1) for part in combinations(s, size)
    }
    return sorted(every, key=lambda subset: (len(subset), subset))


def learn_subsets(
    base: Any, X: Floats, Y: Floats, weight: Floats, *, order: int, tied: bool | None
) -> LearnedSubsets:
    """Choose subsets of up to `order` columns, then learn weights and length scales for them.

    Parameters
    ----------
    base : Kernel with a density on each axis
    X : (n, d), in an order at random
    Y : (n, t)
    weight : (n,), positive
    order : int, 1 to 3
    tied : bool or None, whether all columns have one length scale; None leaves `base` as it is
    """
    search = _Search.of(base, X[:SUBSET_ROWS], Y[:SUBSET_ROWS], weight[:SUBSET_ROWS], tied)
    n, found, errors = len(search.Y), list[list[Subset]](), list[float]()
    rng = np.random.default_rng(0)
    start = search.start()
    with steps("choosing the subsets", RESAMPLES) as resampled:
        for _ in range(RESAMPLES):
            shuffled = rng.permutation(n)
            part = n // _VALIDATION
            subsets, error, start = search.choose(shuffled[part:], shuffled[:part], order, start)
            found.append(subsets)
            errors.append(error)
            resampled.done()
    counts: dict[Subset, int] = {}
    for subset in (subset for subsets in found for subset in subsets):
        counts[subset] = counts.get(subset, 0) + 1
    most = [subset for subset, count in counts.items() if 2 * count > RESAMPLES]
    # A target that no subset explains still needs a kernel: the main effects of all columns.
    taken = closure(most) or [(i,) for i in np.flatnonzero(search.varying).tolist()]
    weights, inverse = search.weights_and_lengths(taken, start)
    shares = tuple(counts.get(subset, 0) / RESAMPLES for subset in taken)
    return LearnedSubsets(tuple(taken), weights, inverse, shares, float(np.mean(errors)), n)


def learn_weights(
    base: Any, X: Floats, Y: Floats, weight: Floats, *, subsets: Sequence[Subset], tied: bool | None
) -> tuple[Floats, Floats]:
    """The weights (m,), of mean 1, and inverse length scales (d,) for subsets that are given."""
    search = _Search.of(base, X[:SUBSET_ROWS], Y[:SUBSET_ROWS], weight[:SUBSET_ROWS], tied)
    return search.weights_and_lengths(subsets, search.start())


@dataclass(frozen=True, eq=False)
class _Model:
    """Log weights of subsets, by the variance of the noise, and log inverse length scales."""

    log_weights: Floats
    log_inverse: Floats


@dataclass(frozen=True, eq=False)
class _Start:
    """Where a search starts: log weights of subsets that are known, and log inverse lengths."""

    known: dict[Subset, float]
    log_inverse: Floats

    def at(self, subsets: Sequence[Subset]) -> _Model:
        """The start for these subsets; weights that are not known are 1."""
        weights = [self.known.get(subset, 0.0) for subset in subsets]
        return _Model(np.array(weights), self.log_inverse)

    def knows(self, subsets: Sequence[Subset]) -> bool:
        """Whether the weights of all these subsets are known."""
        return all(subset in self.known for subset in subsets)

    def after(self, subsets: Sequence[Subset], model: _Model) -> _Start:
        """This start with what a fit of some subsets found."""
        found = dict(zip(subsets, model.log_weights.tolist(), strict=True))
        return _Start(self.known | found, model.log_inverse)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Subsets, their terms of all rows, the sums and means of some rows, and a model of these."""

    subsets: list[Subset]
    Z: Floats
    sums: Squares
    mean: Floats
    middle: Floats
    model: _Model


@dataclass(frozen=True, eq=False)
class _Search:
    """Rows, and the functions of their columns that every search uses."""

    base: Any
    basis: CosineBasis
    cosines: Floats
    ranks: Floats
    Y: Floats
    weight: Floats
    varying: Floats
    tied: bool | None

    @classmethod
    def of(cls, base: Any, X: Floats, Y: Floats, weight: Floats, tied: bool | None) -> _Search:
        basis, spread = CosineBasis.of(X), Y.std(axis=0)
        Y = (Y - np.average(Y, axis=0, weights=weight)) / np.where(spread > 0, spread, 1.0)
        varying = np.ptp(X, axis=0) > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        cosines, ranks = basis.columns(X), rank_cosines(X)
        return cls(base, basis, cosines, ranks, Y, weight / weight.mean(), varying, tied)

    @property
    def few(self) -> bool:
        """Whether there are few rows."""
        return len(self.Y) < _FEW_ROWS

    @cached_property
    def unit(self) -> Any:
        """The kernel of length scale 1, on one axis."""
        return self.base.with_lengths(1.0)

    @cached_property
    def units(self) -> Floats:
        """Log half ranges of the columns less their mean, for one length scale of all; else 0."""
        logs = np.log(self.basis.half_range)
        return logs - logs.mean() if self.tied else np.zeros(len(logs))

    def start(self) -> _Start:
        """Where the first search of weights and length scales starts."""
        d = len(self.basis.start)
        inverse = np.zeros(d)
        if self.tied is None:  # length scales are given
            gamma = np.broadcast_to(np.asarray(self.base.gamma, dtype=np.float64), (d,))
            plain = np.asarray(self.base.with_lengths(np.ones(d)).gamma)
            power = 1.0 if self.base.linear else 0.5
            inverse = np.log((gamma / plain) ** power * self.basis.half_range)
        return _Start({}, inverse)

    def squares(self, Z: Floats, rows: Indices) -> tuple[Squares, Floats, Floats]:
        """The centred sums of rows, and the means of terms and targets."""
        weight = self.weight[rows, None]
        mean, middle = (
            np.average(part, axis=0, weights=weight[:, 0]) for part in (Z, self.Y[rows])
        )
        root = np.sqrt(weight)
        centred, target = root * (Z - mean), root * (self.Y[rows] - middle)
        sums = Squares(
            centred.T @ centred,
            centred.T @ target,
            (target**2).sum(axis=0),
            float(len(rows)),
        )
        return sums, mean, middle

    def log_variances(self, model: _Model, subsets: Sequence[Subset]) -> Floats:
        """The log prior variance of every term, (p,)."""
        used = columns_of(subsets)
        densities = np.zeros((len(model.log_inverse), numbers_of(1).max()))
        densities[used] = self.basis.log_densities(self.unit, used, model.log_inverse[used])
        return _spread(densities, subsets) + model.log_weights[owners(subsets)]

    def weights_and_lengths(
        self, subsets: Sequence[Subset], start: _Start
    ) -> tuple[Floats, Floats]:
        """The most likely weights (m,), of mean 1, and inverse length scales (d,), by all rows."""
        sums, _, _ = self.squares(terms(self.cosines, subsets), np.arange(len(self.Y)))
        model = self.most_likely(sums, subsets, start.at(subsets), _STEPS)
        weights = np.exp(np.clip(model.log_weights - model.log_weights.max(), -9.0, 0.0))
        return weights / weights.mean(), np.exp(model.log_inverse) / self.basis.half_range

    def most_likely(
        self, sums: Squares, subsets: Sequence[Subset], start: _Model, steps: int
    ) -> _Model:
        """The most likely weights and length scales for the targets in `sums`."""
        owner, m = owners(subsets), len(subsets)
        used = columns_of(subsets)
        free = {None: 0, True: 1, False: len(used)}[self.tied]

        def model(values: Floats) -> _Model:
            log_inverse = start.log_inverse.copy()
            if self.tied:
                log_inverse = values[m] + self.units
            elif free:
                log_inverse[used] = values[m:]
            return _Model(values[:m], log_inverse)

        def function(values: Floats) -> tuple[float, Floats]:
            now = model(values)
            try:
                fit = Ridge(sums, np.exp(self.log_variances(now, subsets)))
            except np.linalg.LinAlgError:
                return 1e10, np.zeros_like(values)
            value, slopes = fit.evidence()
            by_weight = np.bincount(owner, slopes, minlength=m)
            by_density = np.zeros((len(now.log_inverse), numbers_of(1).max()))
            if free:
                by_density[used] = self.basis.density_slopes(self.base, used, now.log_inverse[used])
            by_inverse = np.zeros(len(start.log_inverse))
            first = 0
            for subset in subsets:
                numbers = numbers_of(len(subset)) - 1
                some = slopes[first : first + len(numbers)]
                for position, column in enumerate(subset):
                    by_inverse[column] += some @ by_density[column, numbers[:, position]]
                first += len(numbers)
            by_length = by_inverse[used]
            by_length = by_length.sum(keepdims=True) if free == 1 else by_length[:free]
            return value / sums.n, np.concatenate([by_weight, by_length]) / sums.n

        lengths = np.clip((start.log_inverse - self.units)[used], *_LOG_INVERSE)[:free]
        values = np.concatenate([start.log_weights, lengths])
        limits = [_LOG_WEIGHT] * m + [_LOG_INVERSE] * free
        options = {"maxiter": steps, "ftol": 1e-7, "maxls": 8}
        found = minimize(
            function, values, jac=True, method="L-BFGS-B", bounds=limits, options=options
        )
        return model(found.x)

    # --- one resample
    def choose(
        self, training: Indices, validation: Indices, order: int, start: _Start
    ) -> tuple[list[Subset], float, _Start]:
        """Subsets by forward steps on training rows, pruned on validation rows; their error.

        The search for weights and length scales begins at `start`, of another resample; where this
        one ended is the last of the three.
        """
        subsets: list[Subset] = []
        residual = self.Y[training] - np.average(
            self.Y[training], axis=0, weights=self.weight[training]
        )
        cosines = self.ranks[:, training]
        sizes = range(1, order + 1)
        tried: set[Subset] = set()
        fit: _Fit | None = None
        for _ in range(_ROUNDS):
            new = self._candidates(cosines, residual, training, sizes, tried | set(subsets))
            new = self._affordable(subsets, new)
            if not new:
                break
            tried |= set(new)
            subsets = closure([*subsets, *new])
            fit = self._fit(subsets, training, start)
            start = start.after(subsets, fit.model)
            ridge = self._ridge(fit, fit.model)
            residual = self.Y[training] - fit.middle
            residual -= (fit.Z[training] - fit.mean) @ ridge.coefficients
        if fit is None:
            return [], 1.0, start
        model = self.most_likely(fit.sums, subsets, fit.model, _PRUNING_STEPS)
        kept, error = self._pruned(fit, self._ridge(fit, model), validation)
        return kept, error, start.after(subsets, model)

    def _fit(self, subsets: list[Subset], rows: Indices, start: _Start) -> _Fit:
        """A quick fit of subsets to some rows."""
        Z = terms(self.cosines, subsets)
        sums, mean, middle = self.squares(Z[rows], rows)
        model = start.at(subsets)
        if not start.knows(subsets):
            model = self.most_likely(sums, subsets, model, _FEW_STEPS)
        return _Fit(subsets, Z, sums, mean, middle, model)

    def _ridge(self, fit: _Fit, model: _Model) -> Ridge:
        return Ridge(fit.sums, np.exp(self.log_variances(model, fit.subsets)))

    def _candidates(
        self,
        cosines: Floats,
        residual: Floats,
        rows: Indices,
        sizes: Iterable[int],
        known: Collection[Subset],
    ) -> list[Subset]:
        """The clearest subsets of the smallest size for which any passes the screen."""
        for size in sizes:
            chance = _FEW_PASSED if size == 1 and self.few else None
            passed = screen(
                cosines, residual, self.weight[rows], size, known, passed_by_chance=chance
            )
            if passed:
                return [each.subset for each in passed[: len(cosines) if size == 1 else _ADDED]]
        return []

    def _affordable(self, subsets: list[Subset], new: list[Subset]) -> list[Subset]:
        """As many new subsets as the number of terms allows."""
        kept: list[Subset] = []
        for subset in new:
            if len(owners(closure([*subsets, *kept, subset]))) > _MOST_TERMS:
                break
            kept.append(subset)
        return kept

    def _pruned(self, fit: _Fit, ridge: Ridge, validation: Indices) -> tuple[list[Subset], float]:
        """Leave out, one by one, subsets without which validation rows are predicted as well.

        Without the terms g of a subset, coefficients change by C_g (C_gg)^-1 w_g, with C the
        inverse of the penalised Gram matrix: exactly a fit without them.
        """
        subsets, w, C = fit.subsets, ridge.coefficients, ridge.covariance()
        target, weight = self.Y[validation] - fit.middle, self.weight[validation]
        held_out = fit.Z[validation] - fit.mean
        owner, kept = owners(subsets), list(range(len(subsets)))
        enough = _FEW_ERRORS if self.few else _ERRORS
        while True:
            error = target - held_out @ w
            square = (error**2).sum(axis=1)
            worst: tuple[float, int, Floats] | None = None
            for i in kept:
                if any(set(subsets[i]) < set(subsets[j]) for j in kept):
                    continue
                g = owner == i
                change = C[:, g] @ np.linalg.solve(C[np.ix_(g, g)], w[g])
                gain = ((error + held_out @ change) ** 2).sum(axis=1) - square
                mean_gain = float(np.average(gain, weights=weight))
                spread = float(np.sqrt(np.average((gain - mean_gain) ** 2, weights=weight)))
                score = mean_gain / (spread / np.sqrt(len(gain)) + 1e-300)
                if not self.few and mean_gain < _LEAST_GAIN * float(
                    np.average(square, weights=weight)
                ):
                    score = -np.inf  # of equal columns the last one goes first
                if score < enough and (worst is None or score <= worst[0]):
                    worst = score, i, change
            if worst is None:
                break
            _, i, change = worst
            g = owner == i
            w = w - change
            C = C - C[:, g] @ np.linalg.solve(C[np.ix_(g, g)], C[g])
            w[g] = 0.0
            C[g], C[:, g] = 0.0, 0.0
            kept.remove(i)
        error = np.average(square, weights=weight) / self.Y.shape[1]
        return [subsets[i] for i in kept], float(error)


def columns_of(subsets: Iterable[Subset]) -> Indices:
    """The columns that are in any subset, sorted."""
    return np.array(sorted({column for subset in subsets for column in subset}), dtype=np.intp)


def _spread(densities: Floats, subsets: Sequence[Subset]) -> Floats:
    """Log densities of the columns as those of products, (p,)."""
    parts = []
    for subset in subsets:
        numbers = numbers_of(len(subset)) - 1
        found = [densities[c, numbers[:, position]] for position, c in enumerate(subset)]
        parts.append(np.sum(found, axis=0))
    return np.concatenate(parts)
