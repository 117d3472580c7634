"""The front door: the map that chooses among all others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import _rows
from .._checks import check_choice, check_count, check_positive, generator, require
from .._errors import NoCertificate, NoDensity, NotSeparable
from .._rows import corners
from .._typing import Floats, Matrix
from ..accuracy.axis_cells import ROUNDING
from ..accuracy.certificate import Certificate
from ..accuracy.region import Region
from ..accuracy.tolerance import GridSearch
from ..constructions import mercer
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..numerics import principal_frame
from .base import FeatureMap
from .expansions import ExpansionMap, HermiteMercer, Landmarks, compressors
from .fourier import FourierMap, reaches
from .grids import DenseGrid
from .learned_grids import FramedGrid, ReweightedGrid
from .random import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial
from .report import Report, Trial, choose, refused
from .validation import ValidationRows, cost_per_row, split_rows, try_candidate, weighted_order

_LEARNERS = 4000  # rows that candidates learn from before one is chosen
_MOST_LEARNERS = 20_000  # rows that the chosen one learns from
_LAST = 50  # one in so many rows is held out when the chosen map learns from all others
_FEWEST = 16  # but so many of them, if there are
_REWEIGHTED = 1024  # columns beyond which the best weights of a pool take minutes
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
        return self.map_.n_columns_

    def _best(self, X: Matrix, width: int, rng: np.random.Generator) -> tuple[FeatureMap, Report]:
        """The best map of a width, and what was tried."""
        distance = principal_frame.distances(X)
        held_out, weights, stands_for = split_rows(distance, rng)
        near = principal_frame.typical(distance)
        unseen = len(held_out) > 0
        rows = held_out if unseen else np.arange(len(X))
        judges = ValidationRows.of(self.kernel_, X[rows], weights, near[rows])
        others = weighted_order(stands_for, rng)
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
                trials.append(refused(name, outclassed[name]))
                continue
            trials.append(try_candidate(name, candidate, rows_for, lessons, judges))
            if not trials[-1].note:
                fitted[name] = candidate
        learned = {
            name
            for name, candidate in fitted.items()
            if isinstance(candidate, ExpansionMap | ReweightedGrid | FramedGrid)
        }
        report = choose(trials, self.criterion, "it did not see" if unseen else "of X", learned)
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
            few = ValidationRows.of(self.kernel_, X[last], np.ones(size), near[last])
            again = clone(chosen)
            trial = try_candidate(report.chosen, again, X[np.sort(rest)], {}, few)
            if not trial.note:
                chosen = again
                trials = [trial if each.name == trial.name else each for each in trials]
                told += (
                    f"; of the chosen one, which then learned from all but {size} typical ones, "
                    f"pairs of these"
                )
        share = f"{principal_frame.TYPICAL:.0%}"
        told = f"Errors of pairs of {told}; typical ones are of the inner {share} of rows"
        return chosen, replace(report, trials=tuple(trials), judges=told)

    def _outclassed(
        self,
        width: int,
        seed: int,
        learners: Matrix,
        lessons: dict[type, Any],
        judges: ValidationRows,
    ) -> dict[str, str]:
        """Costly candidates that fewer columns show to be no match for others, and why.

        As measured by benchmarks/accuracy.py: what compression leaves of the error of
        `HermiteMercer` hardly changes with the columns, and landmarks gain on both with them.
        """
        if width < _SCREENED or self.shift_invariant:
            return {}
        few = min(width // 4, _FEW_COLUMNS)
        common: dict[str, Any] = {"n_components": few, "random_state": seed}
        plain = try_candidate("", HermiteMercer(self.kernel_, **common), learners, lessons, judges)
        if plain.note:
            return {}
        pool = HermiteMercer(self.kernel_, compress=True, **common)
        compressed = try_candidate("", pool, learners, lessons, judges)
        points = Landmarks(self.kernel_, compress=True, **common)
        landmarks = try_candidate("", points, learners, {}, judges)

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
        if self.shift_invariant or len(X) < mercer.MANY or X.shape[1] > _rows.WIDE:
            return {}
        groups = self.kernel_.groups(X.shape[1])
        if any(group.kernel.gaussian_scale(len(group.axes)) is None for group in groups):
            return {}  # HermiteMercer is for Gaussian kernels, as its trial will tell
        return {HermiteMercer: mercer.fit_frames(self.kernel_, X, stands_for)}

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
                "DenseGrid", grid.n_columns_, value, value, cost_per_row(grid), typical=value
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
            confidence = 1 - 0.05 / len(widths)
            error = chosen._error_of_pairs(unseen.astype(np.float64), 10_000, confidence, rng)
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
            region = Region.of(X)
            counts = GridSearch(self.kernel_, region, reaches(X)).fewest(tol, limit=limit)
        except (NotSeparable, NoDensity, NoCertificate):  # no certified grid for this kernel
            return None
        return (
            None if counts is None else DenseGrid(self.kernel_, n_points=counts)._fit_validated(X)
        )

    def _restored_columns(self) -> int:
        same = self.map_.n_features_in_ == self.n_features_in_
        require(same, "the chosen map has other columns")
        require(not isinstance(self.map_, KernelFeatures), "the chosen map is a choice itself")
        self.signs_ = self.map_.signs_
        return self.map_.n_columns_

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        self.map_._evaluate(X, out)

    def _largest_factor(self) -> float:
        return self.map_._largest_factor()

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
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
