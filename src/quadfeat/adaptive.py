"""The front door: the map that chooses among all others."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from . import bounds, eigenfunctions, frames
from ._checks import check_choice, check_count, check_positive, generator
from ._enclosure import ROUNDING
from .expansions import ExpansionMap, HermiteMercer, Landmarks, compressors
from .features import FeatureMap, FourierMap, Matrix, corners
from .fourier import DenseGrid, reaches
from .kernels import Gaussian, Kernel
from .learned_grids import FramedGrid, ReweightedGrid
from .peers import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial
from .rules import Floats
from .tolerances import GridSearch

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Trial:
    """One construction that `KernelFeatures` tried; errors are relative to k(0)."""

    name: str
    columns: int
    rms: float  # of all pairs
    max: float  # of all pairs
    cost: float  # multiply-adds per row
    note: str = ""  # why it could not be made, or was not, if so
    typical: float = np.nan  # RMS of pairs of typical rows: all but the outermost 1%


@dataclass(frozen=True)
class Report:
    """What `KernelFeatures` tried, and why it chose; prints as a table."""

    trials: tuple[Trial, ...]
    chosen: str
    reason: str
    judges: str = ""  # the pairs that errors are of

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "", "map", "columns", "typical RMS", "RMS error", "max error", "cost per row"
        for trial in self.trials:
            mark = "*" if trial.name == self.chosen else ""
            if trial.note:
                yield mark, trial.name, "", trial.note.split(";")[0][:60], "", "", ""
                continue
            yield (
                mark,
                trial.name,
                str(trial.columns),
                "" if np.isnan(trial.typical) else f"{trial.typical:.2e}",
                f"{trial.rms:.2e}",
                f"{trial.max:.2e}",
                f"{trial.cost:.2g}",
            )

    def __repr__(self) -> str:
        rows = list(self._rows())
        full = [row for row in rows if row[2]]
        widths = [max(len(row[i]) for row in full) for i in range(7)]
        widths[1] = max(len(row[1]) for row in rows)
        lines = [
            " ".join(
                cell.ljust(width) if i < 2 or not row[2] else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *self._notes()])

    def _notes(self) -> list[str]:
        return [f"* {self.reason}", *([self.judges] if self.judges else [])]

    def _repr_html_(self) -> str:
        head, *body = self._rows()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        lines = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in body
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        return f"<table><tr>{cells}</tr>{lines}</table>{notes}"


_JUDGES = 1000  # rows held out to judge on
_LEARNERS = 4000  # rows that candidates learn from before one is chosen
_MOST_LEARNERS = 20_000  # rows that the chosen one learns from
_LAST = 50  # one in so many rows is held out when the chosen map learns from all others
_FEWEST = 16  # but so many of them, if there are
_REWEIGHTED = 1024  # columns beyond which the best weights of a pool take minutes
_CLEARLY = 0.9  # share of a cost or an error, both of which are estimates, that is clearly less
_SCREENED = 256  # columns from which candidates are tried with fewer columns first
_FEW_COLUMNS = 128  # at most so many
_FAR_BEHIND = 2.0  # times the error of another, that no more columns make up for


class KernelFeatures(FeatureMap):
    """The front door: tries the constructions that make sense and keeps the best.

    Candidates are judged on pairs of rows that they did not learn from, and what is returned is
    the map that was judged: `report_` has its errors over all pairs and over those of typical rows,
    the inner 99%. The least error of all pairs wins, among maps that err no more on typical pairs
    than landmarks do (by a tenth), so that no far row decides. Where several are within 20% of it,
    the cheapest transform, if it saves a tenth; at the same cost and within a tenth of the error,
    one that learns nothing of rows that may mislead. From 256 columns on, costly candidates that
    a quarter of the columns show to be far behind a cheap one are left out.

    A quarter of the rows, at most 1000, are to judge on. Of fewer than 20,000, a chosen expansion
    learns again from all but 2%, typical ones, and is judged again on them. With fewer
    than 20 rows none can be spared, and the report says that errors are of its own rows.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int or None
        Columns; None is 256, or what `tol` needs up to `max_components`.
    tol : float or None
        The error, relative to k(0), that the map must stay below: proven over the box of the data
        where a grid can be certified, else with 95% confidence for at least 99.9% of pairs;
        `report_.reason` tells which. An error says so if no map within the width does.
    max_components : int
    shift_invariant : bool
        Only maps whose kernel depends on x - y alone: they serve data that moves away from what
        `fit` saw, and cost more error where it does not.
    criterion : "rms" or "max"
        Judge by the RMS error, or by the largest.
    random_state : int, RandomState or None

    Attributes
    ----------
    map_ : the fitted map
    report_ : what was tried and why this was chosen

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> features = KernelFeatures(Gaussian(0.5), n_components=64, random_state=0).fit(X)
    >>> features.transform(X).shape
    (500, 64)
    """

    _most_columns = 2**16  # every candidate is made that wide

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int | None = None,
        tol: float | None = None,
        max_components: int = 8192,
        shift_invariant: bool = False,
        criterion: str = "rms",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.tol = tol
        self.max_components = max_components
        self.shift_invariant = shift_invariant
        self.criterion = criterion
        self.random_state = random_state

    def _check(self) -> None:
        if self.n_components is not None:
            check_count("n_components", self.n_components, example=256)
        check_count("max_components", self.max_components, example=8192)
        if self.tol is not None:
            check_positive("tol", self.tol, example="1e-3")
            if self.tol >= 1:
                raise ValueError(
                    f"tol={self.tol:g} is an error relative to k(0), of which nothing is left at "
                    f"1; give a smaller one such as 1e-3"
                )
            if self.tol < ROUNDING:
                raise ValueError(
                    f"tol={self.tol:g} is below the {ROUNDING:.1g} of k(0) that rounding leaves; "
                    f"give a larger one such as 1e-12"
                )
        check_choice("criterion", self.criterion, ("rms", "max"))

    def _build(self, X: Matrix) -> int:
        return self._build_on(X, X)

    def _build_on(self, rows: Matrix, X: Any) -> int:
        rng = generator(self.random_state)
        if self.tol is None:
            self.map_, self.report_ = self._best(rows, self.n_components or 256, rng)
        else:
            # Where rows of a sparse X were left out, what is proven is proven for its whole box.
            spanning = rows if len(rows) == X.shape[0] else corners(X)
            self.map_, self.report_ = self._within(rows, spanning, self.tol, rng)
        self.signs_ = self.map_.signs_
        return self.map_._n_features_out

    def _best(self, X: Matrix, width: int, rng: np.random.Generator) -> tuple[FeatureMap, Report]:
        """The best map of a width, and what was tried."""
        distance = frames.distances(X)
        held_out, weights, stands_for = _held_out(distance, rng)
        near = frames.typical(distance)
        unseen = len(held_out) > 0
        rows = held_out if unseen else np.arange(len(X))
        judges = _Judges.of(self.kernel_, X[rows], weights, near[rows])
        others = _weighted_order(stands_for, rng)
        learners = X[np.sort(others[:_LEARNERS])]
        lessons = self._lessons(X, stands_for)
        final = tuple(lessons)
        seed = int(rng.integers(2**31 - 1))
        outclassed = self._outclassed(width, seed, learners, lessons, judges)
        trials, fitted = [], {}
        for name, candidate in self._candidates(X.shape[1], width, seed):
            rows_for = learners
            if isinstance(candidate, final) and candidate.compress:
                rows_for = X[np.sort(others[: compressors(width)])]
            if name in outclassed:
                trials.append(_refused(name, outclassed[name]))
                continue
            trials.append(_try(name, candidate, rows_for, lessons, judges))
            if not trials[-1].note:
                fitted[name] = candidate
        learned = {
            name
            for name, candidate in fitted.items()
            if isinstance(candidate, ExpansionMap | ReweightedGrid | FramedGrid)
        }
        report = _choose(trials, self.criterion, "it did not see" if unseen else "of X", learned)
        chosen = fitted[report.chosen]
        told = f"{len(rows)} rows that no map learned from"
        if not unseen:
            told = f"the {len(rows)} rows that maps learned from, too few to hold any out"
        elif isinstance(chosen, ExpansionMap) and not isinstance(chosen, final):
            # More rows are better for these, the outermost above all: those are not spared. The
            # others are a plain sample of the typical ones, or the report would flatter.
            inner = near[held_out]
            chance = weights[inner] / weights[inner].sum()
            size = min(len(chance), max(len(X) // _LAST, _FEWEST))
            last = np.sort(rng.choice(held_out[inner], size, replace=False, p=chance))
            rest = rng.permutation(np.delete(np.arange(len(X)), last))[:_MOST_LEARNERS]
            few = _Judges.of(self.kernel_, X[last], np.ones(size), near[last])
            again = clone(chosen)
            trial = _try(report.chosen, again, X[np.sort(rest)], {}, few)
            if not trial.note:
                chosen = again
                trials = [trial if each.name == trial.name else each for each in trials]
                told += (
                    f"; of the chosen one, which then learned from all but {size} typical ones, "
                    f"pairs of these"
                )
        told = (
            f"Errors of pairs of {told}; typical ones are of the inner {frames.TYPICAL:.0%} of rows"
        )
        return chosen, replace(report, trials=tuple(trials), judges=told)

    def _outclassed(
        self,
        width: int,
        seed: int,
        learners: Matrix,
        lessons: dict[type, Any],
        judges: _Judges,
    ) -> dict[str, str]:
        """Costly candidates that fewer columns show to be no match for others, and why.

        As measured by benchmarks/accuracy.py: what compression leaves of the error of
        `HermiteMercer` hardly changes with the columns, and landmarks gain on both with them.
        """
        if width < _SCREENED or self.shift_invariant:
            return {}
        few = min(width // 4, _FEW_COLUMNS)
        common: dict[str, Any] = {"n_components": few, "random_state": seed}
        plain = _try("", HermiteMercer(self.kernel_, **common), learners, lessons, judges)
        if plain.note:
            return {}
        pool = HermiteMercer(self.kernel_, compress=True, **common)
        compressed = _try("", pool, learners, lessons, judges)
        points = Landmarks(self.kernel_, compress=True, **common)
        landmarks = _try("", points, learners, {}, judges)

        def behind(one: Trial, other: Trial, times: float) -> bool:
            pairs = ((each.rms, each.typical, each.max) for each in (one, other))
            return all(own >= times * theirs for own, theirs in zip(*pairs, strict=True))

        found = {}
        if behind(compressed, plain, 0.95):
            found["HermiteMercer(compress=True)"] = f"no better than without, at {few} columns"
        elif behind(compressed, landmarks, _FAR_BEHIND):
            found["HermiteMercer(compress=True)"] = f"far behind Landmarks at {few} columns"
        if behind(landmarks, plain, _FAR_BEHIND):
            for name in ("Landmarks(compress=True)", "Landmarks"):
                found[name] = f"far behind HermiteMercer at {few} columns"
        return found

    def _lessons(self, X: Matrix, stands_for: Floats) -> dict[type, Any]:
        """What candidates learn from all rows but those to judge on, by class.

        Where these are few among many, what is learnt of the others, which stand for them, is
        learnt for good.
        """
        if self.shift_invariant or len(X) < eigenfunctions.MANY or X.shape[1] > frames.WIDE:
            return {}
        try:
            return {HermiteMercer: eigenfunctions.framing(self.kernel_, X, stands_for)}
        except ValueError:  # not for this kernel, as its trial will tell
            return {}

    def _within(
        self, X: Matrix, spanning: Matrix, tol: float, rng: np.random.Generator
    ) -> tuple[FeatureMap, Report]:
        """The smallest map found that meets a tolerance, by proof or by confidence.

        Proofs are over the region that the rows of `spanning` span; X is learnt and judged from.
        """
        limit = self.max_components if self.n_components is None else self.n_components
        grid = self._certified_grid(spanning, tol, limit)
        if grid is not None:
            value = grid.certificate(spanning).value
            reason = f"DenseGrid is certified: at most {value:.2g} over the box of the data"
            trial = Trial(
                "DenseGrid", grid._n_features_out, value, value, _cost(grid), typical=value
            )
            return grid, Report((trial,), "DenseGrid", reason, "Errors are proven for all pairs")
        widths = [limit] if self.n_components is not None else _doubling(16, limit)
        order = rng.permutation(len(X))
        unseen, seen = X[order[: len(X) // 4]], X[order[len(X) // 4 :]]
        if len(unseen) < 2:
            raise ValueError(
                f"tol={tol:g} cannot be checked on {len(X)} rows; give at least 8, or tol=None"
            )
        reached = []
        for width in widths:
            chosen, report = self._best(seen, width, rng)
            # Any of the widths may be taken by mistake: 5% are for all of them together.
            error = chosen.error(
                unseen.astype(np.float64),
                n_pairs=10_000,
                confidence=1 - 0.05 / len(widths),
                random_state=rng,
            )
            reached.append((error.quantile_limits[0.999], width, report.chosen))
            if error.quantile_limits[0.999] <= tol:
                reason = (
                    f"{report.chosen}: with 95% confidence at least 99.9% of {error.population} "
                    f"held out are within {error.quantile_limits[0.999]:.2g}"
                )
                return chosen, replace(report, reason=reason)
        least, width, name = min(reached)
        raise ValueError(
            f"no map of at most {limit} columns meets tol={tol:g}; {name} reaches {least:.2g} with "
            f"{width} for 99.9% of pairs. A larger tol or max_components, or a smaller gamma, will "
            f"do"
        )

    def _certified_grid(self, X: Matrix, tol: float, limit: int) -> DenseGrid | None:
        """The smallest certified grid within the width, if there is one."""
        try:
            region = bounds.Region.of(X)
            counts = GridSearch(self.kernel_, region, reaches(X)).fewest(tol, limit=limit)
        except ValueError:  # no grid for this kernel
            return None
        return None if counts is None else DenseGrid(self.kernel_, n_points=counts).fit(X)

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        self.map_._evaluate(X, out)

    def _certify(self, region: bounds.Region, X: Floats | None) -> bounds.Certificate:
        return self.map_._certify(region, X)

    def _largest_anywhere(self) -> float:
        return self.map_._largest_anywhere()

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return self.map_._largest_error(X, Y)

    def _candidates(self, d: int, p: int, seed: int) -> Iterator[tuple[str, FeatureMap]]:
        kernel = self.kernel_
        common: dict[str, Any] = {"n_components": p, "random_state": seed}
        one_group = len(self._groups) == 1
        gaussian = isinstance(kernel, Gaussian)
        if not self.shift_invariant:
            # The compressed ones first: the plain ones learn from what was drawn for them.
            if p <= 512:
                yield "HermiteMercer(compress=True)", HermiteMercer(kernel, compress=True, **common)
            yield "HermiteMercer", HermiteMercer(kernel, **common)
            # Nearly as many points as learners would interpolate them, at p^2 per row.
            if len(self._groups) <= 100 and p <= _LEARNERS // 2:
                if p <= 512:
                    yield "Landmarks(compress=True)", Landmarks(kernel, compress=True, **common)
                yield "Landmarks", Landmarks(kernel, **common)
        yield "QuasiRandomFourier", QuasiRandomFourier(kernel, **common)
        if kernel.rotation_invariant:
            yield "OrthogonalFourier", OrthogonalFourier(kernel, **common)
        if gaussian and not self.shift_invariant:
            return  # the expansions above are ahead of every other Fourier map there is
        yield "RandomFourier", RandomFourier(kernel, **common)
        if kernel.rotation_invariant:
            structured = OrthogonalFourier(kernel, structured=True, **common)
            yield "OrthogonalFourier(structured=True)", structured
        halton = QuasiRandomFourier(kernel, sequence="halton", **common)
        yield "QuasiRandomFourier(sequence='halton')", halton
        if p <= _REWEIGHTED:
            yield "ReweightedGrid", ReweightedGrid(kernel, **common)
        if not one_group:
            return
        n_points = int(np.floor((p + 0.5) ** (1 / d)))
        if n_points >= 2:
            yield f"DenseGrid(n_points={n_points})", DenseGrid(kernel, n_points=n_points)
        if not gaussian:
            return
        yield "SphericalRadial", SphericalRadial(kernel, **common)
        start = _start(d, p)
        moved = ReweightedGrid(kernel, pool=start, polish=True, **common)
        yield f"ReweightedGrid(pool={type(start).__name__}, polish=True)", moved


def _start(d: int, p: int) -> FourierMap:
    """Where nodes that are then moved start best: as measured by benchmarks/accuracy.py."""
    if d <= 5:
        return FramedGrid(n_components=p)
    if d <= 40:
        return QuasiRandomFourier(n_components=4 * p)
    return OrthogonalFourier(n_components=p)


def _doubling(low: int, high: int) -> list[int]:
    """low, 2 low, ... and high."""
    return [low * 2**i for i in range(40) if low * 2**i < high] + [high]


@dataclass(frozen=True, eq=False)
class _Judges:
    """Rows to judge on, the weights of their pairs, and of the typical ones, and the kernel."""

    rows: Matrix
    pairs: Floats
    typical: Floats
    exact: Floats
    at_zero: float

    @classmethod
    def of(
        cls, kernel: Kernel, rows: Matrix, weights: Floats, near: npt.NDArray[np.bool_]
    ) -> _Judges:
        def pairs(weights: Floats) -> Floats:
            product = np.multiply.outer(weights, weights)
            if len(product) > 1:
                np.fill_diagonal(product, 0.0)
            return product

        typical = pairs(weights * near) if near.sum() > 1 else pairs(weights)
        return cls(rows, pairs(weights), typical, kernel(rows), kernel.at_zero(rows.shape[1]))


def _try(
    name: str, candidate: FeatureMap, learners: Matrix, lessons: dict[type, Any], judges: _Judges
) -> Trial:
    try:
        if isinstance(candidate, ExpansionMap):
            candidate._fit_sharing(learners, lessons)
        else:
            candidate.fit(learners)
        error = (candidate.approximate_kernel(judges.rows) - judges.exact) / judges.at_zero
    except ValueError as refusal:
        return _refused(name, str(refusal))
    squares = np.square(error, dtype=np.float64)
    return Trial(
        name,
        candidate._n_features_out,
        float(np.sqrt(np.average(squares, weights=judges.pairs))),
        float(np.abs(error[judges.pairs > 0]).max()),
        _cost(candidate),
        typical=float(np.sqrt(np.average(squares, weights=judges.typical))),
    )


def _refused(name: str, why: str) -> Trial:
    return Trial(name, 0, np.inf, np.inf, np.inf, note=why, typical=np.inf)


def _held_out(distance: Floats, rng: np.random.Generator) -> tuple[Indices, Floats, Floats]:
    """Rows to judge on, how many rows each stands for, and how many each row not among them does.

    In heavy-tailed data the few outermost rows decide the error of all pairs, and a plain sample
    may hold none of them: the outermost half percent and five percent by `distance`, (n,), are
    sampled more densely, and weigh less. The others of these are then fewer,
    and weigh more; those to judge on stand for 0 among them.
    """
    n = len(distance)
    stands_for = np.ones(n)
    if n < 20:
        return np.arange(0), np.ones(n), stands_for
    ranked = np.argsort(-distance, kind="stable")
    cuts = [0, n // 200, n // 20, n]
    rows, weights = [], []
    for low, high, most in zip(cuts, cuts[1:], (100, 200, _JUDGES - 300), strict=False):
        stratum = ranked[low:high]
        count = min(len(stratum) // (2 if high < n else 4), most)
        if count:
            rows.append(rng.choice(stratum, size=count, replace=False))
            weights.append(np.full(count, len(stratum) / count))
            stands_for[stratum] = len(stratum) / (len(stratum) - count)
    stands_for[np.concatenate(rows)] = 0.0
    return np.concatenate(rows), np.concatenate(weights), stands_for


def _weighted_order(weights: Floats, rng: np.random.Generator) -> Indices:
    """Rows of positive weight in an order whose first ones are a sample by weight.

    Each waits for an exponential time at the rate of its weight (Efraimidis and Spirakis, 2006).
    """
    rows = np.flatnonzero(weights)
    return rows[np.argsort(rng.exponential(size=len(rows)) / weights[rows])]


def _cost(fitted: FeatureMap) -> float:
    """About how many multiply-adds a row costs; a sine or exponential counts as ten."""
    p = fitted._n_features_out
    if isinstance(fitted, HermiteMercer):
        basis = fitted.basis_
        made = sum(np.count_nonzero(each.rotation) + len(each.parent) for each in basis.expansions)
        products = [
            product
            for each in basis.expansions
            for product in (each.mixing, each.projection)
            if product is not None
        ]
        products += [] if basis.projection is None else [basis.projection]
        return float(made + sum(product.size for product in products))
    if isinstance(fitted, Landmarks):
        product = p / 2 if fitted.basis_.triangular else p
        return float(len(fitted.basis_.points) * (fitted.n_features_in_ + 10 + product))
    assert isinstance(fitted, FourierMap)
    return 10.0 * p + sum(rule.nodes.size for rule in fitted._group_rules)


def _choose(trials: list[Trial], criterion: str, judges: str, learned: set[str]) -> Report:
    """The least error, but for cheaper maps, and for steadier ones, that are about as good.

    What a map of `learned` ones has learnt of the rows may mislead where tails are heavy.
    """
    possible = [trial for trial in trials if not trial.note]
    if not possible:
        reasons = dict.fromkeys(trial.note for trial in trials)
        raise ValueError(f"every map refuses: {'; or: '.join(reasons)}")

    def error(trial: Trial) -> float:
        return float(getattr(trial, criterion))

    kind = f"{criterion} error"
    if criterion == "rms":
        points = [trial.typical for trial in possible if trial.name.startswith("Landmarks")]
        most = 1.1 * min(points) if points else 2 * min(trial.typical for trial in possible)
        possible = [trial for trial in possible if trial.typical <= most]
    best = min(possible, key=error)
    least = error(best)
    close = [trial for trial in possible if error(trial) <= 1.2 * least]
    cheapest = min(close, key=lambda trial: (trial.cost, trial.columns))
    if cheapest.cost <= _CLEARLY * best.cost:
        reason = (
            f"{cheapest.name} is within 20% of the least {kind} ({best.name}) and "
            f"{best.cost / cheapest.cost:.1f}x cheaper per row"
        )
        return Report(tuple(trials), cheapest.name, reason)
    steady = [
        trial
        for trial in close
        if trial.name not in learned
        and _CLEARLY * error(trial) <= least
        and _CLEARLY * trial.cost <= best.cost
    ]
    if best.name in learned and steady:
        chosen = min(steady, key=error)
        reason = (
            f"{chosen.name} learns nothing of the rows and has about the least {kind} "
            f"({best.name}) on rows {judges}"
        )
        return Report(tuple(trials), chosen.name, reason)
    reason = f"{best.name} has the least {kind} on rows {judges}"
    return Report(tuple(trials), best.name, reason)
