"""`KernelFeatures`, the map that tries the others and keeps the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from .. import _rows
from .._checks import (
    Constraint,
    check_choice,
    check_count,
    check_positive,
    check_widths,
    generator,
    optional,
    require,
)
from .._display.progress import steps
from .._errors import NoCertificate, NoDensity, NotSeparable
from .._typing import Floats, Matrix
from ..accuracy.axis_cells import ROUNDING
from ..accuracy.proof import Certificate
from ..accuracy.region import Region
from ..accuracy.tolerance import GridSearch
from ..constructions import mercer
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..numerics import principal_frame
from .base import FeatureMap
from .dense_grid import DenseGrid
from .expansions import ExpansionMap, HermiteMercer, Landmarks, compression_rows
from .fourier import reaches
from .learned_grids import FramedGrid, ReweightedGrid, polishing_start
from .random import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial
from .report import CLOSE, Report, Trial, choose, refused
from .validation import Split, ValidationRows, cost_per_row, try_candidate

_TRAINING_ROWS = 4000  # at least, to fit candidates on before one is chosen
_MOST_LANDMARKS = 4096  # columns beyond which their cost per row, p^2, is too much
_REFIT_ROWS = 20_000  # at most, to fit the chosen map on
_REFIT_SHARE = 50  # one in so many rows is held out from this refit,
_REFIT_FEWEST = 16  # but at least so many, if there are enough
_MOST_REWEIGHTED = 1024  # columns; beyond, the best weights of a pool take minutes
_FEW_AXES = 3  # axes up to which a grid may beat landmarks, for kernels with a kink
_SCREENED = 256  # from so many columns on, candidates are first tried with fewer columns,
_FEW_COLUMNS = 128  # at most so many
_COSTLY = 6.0  # compression takes so many times as long as another map, for the progress bar
_FAR_BEHIND = 2.0  # times the error of another map; more columns do not make up for this


class KernelFeatures(FeatureMap):
    """The map to start with: tries the constructions that suit the kernel and keeps the best.

    Candidates are compared on pairs of validation rows, which they were not fitted on, and the map
    returned is the one that was measured: `report_` has its errors over all pairs and over pairs of
    typical rows, the inner 99%. The smallest error over all pairs wins, among maps whose error on
    typical pairs is at most 1.1 times that of landmarks, so that a few far rows do not decide.
    Among maps within 20% of the smallest error, the cheapest transform wins if it saves a tenth; at
    the same cost and within a tenth of the error, a map that does not depend on the data wins. From
    256 columns on, candidates are first tried with a quarter of the columns, and costly ones that
    do not beat a cheap one there are skipped.

    A quarter of the rows, at most 1000, are validation rows. With fewer than 20,000 rows, a chosen
    expansion is refitted on all but 2% of the rows and measured again on these, which are typical
    rows. Fewer than 20 rows are all used for fitting and validation, and the report says so.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, None or tuple of int
        Columns; None is 256, or as many as `tol` needs up to `max_components`. A model also takes
        (512, 1024): it uses the second if that lowers the squared error of validation rows by 2%.
    tol : float or None
        The largest error, relative to k(0): proven over the bounding box of the data if a grid can
        be certified, else with 95% confidence for at least 99.9% of pairs; `report_.reason` says
        which. `fit` raises a ValueError if no map within the width meets it.
    max_components : int, the most columns that `tol` may choose
    shift_invariant : bool
        Only maps whose approximate kernel depends on x - y alone: for data that will drift away
        from the rows of `fit`; on data that does not, the error is larger.
    criterion : "rms" or "max"
        Compare candidates by the RMS error, or by the largest.
    random_state : int, RandomState or None

    Attributes
    ----------
    map_ : FeatureMap, the fitted map that was chosen
    report_ : Report, what was tried and why this was chosen
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), +1 or -1 per column: those of `map_`
    n_columns_ : int, columns of the features
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> features = KernelFeatures(Gaussian(0.5), n_components=64, random_state=0).fit(X)
    >>> features.transform(X).shape
    (500, 64)
    """

    any_family = True
    _expansions = True  # whether expansions are among the candidates
    _most_columns = 2**16  # every candidate is made that wide
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_components": optional(check_widths),
        "max_components": partial(check_count, example=8192),
        "tol": optional(partial(check_positive, example="1e-3")),
        "criterion": partial(check_choice, choices=("rms", "max")),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int | tuple[int, ...] | None = None,
        tol: float | None = None,
        max_components: int = 8192,
        shift_invariant: bool = False,
        criterion: str = "rms",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components: Any = n_components
        self.tol = tol
        self.max_components = max_components
        self.shift_invariant = shift_invariant
        self.criterion = criterion
        self.random_state = random_state

    def without_expansions(self) -> Self:
        """An unfitted copy that tries Fourier maps only, whose cost per row is linear in p."""
        copy = clone(self)
        copy._expansions = False
        return copy

    @property
    def _tries_expansions(self) -> bool:
        return self._expansions and not self.shift_invariant

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths that a model chooses among, in increasing order; empty if one is given."""
        return tuple(self.n_components) if isinstance(self.n_components, tuple | list) else ()

    def _check(self) -> None:
        super()._check()
        if self.tol is not None:
            if self.widths:
                raise ValueError(f"tol={self.tol:g} takes one n_components; give one, or tol=None")
            if self.tol >= 1:
                rule = "is an error relative to k(0) and must be below 1"
                raise ValueError(f"tol={self.tol:g} {rule}; give a smaller one such as 1e-3")
            if self.tol < ROUNDING:
                raise ValueError(
                    f"tol={self.tol:g} is below the {ROUNDING:.1g} of k(0) that rounding leaves; "
                    f"give a larger one such as 1e-12"
                )

    def _build(self, X: Matrix) -> int:
        return self._build_on(X, lambda: X)

    def _build_on(self, rows: Matrix, spanning: Callable[[], Matrix]) -> int:
        rng = generator(self.random_state)
        if widths := self.widths:
            text = "a model chooses among several by its targets, a map by itself takes one"
            raise ValueError(f"n_components={widths}: {text}, such as n_components={widths[-1]}")
        if self.tol is None:
            self.map_, self.report_ = self._best(rows, self.n_components or 256, rng)
        else:
            # Some rows of a sparse X may be left out; proofs hold for the box of all of them.
            self.map_, self.report_ = self._within(rows, spanning(), self.tol, rng)
        # Candidates are fitted in the coordinates of `_kernel`; `map_` takes rows of X.
        self.map_._seen_from(self.kernel_, self.n_features_in_)
        self.signs_ = self.map_.signs_
        return self.map_.n_columns_

    def _best(self, X: Matrix, width: int, rng: np.random.Generator) -> tuple[FeatureMap, Report]:
        """The best map of a width, and what was tried."""
        split = Split.of(X, rng)
        validation = split.validation(self._kernel)
        shared = self._shared_fits(X, split.row_weights)
        final = tuple(shared)  # these classes are fitted on all training rows: no refit
        seed = int(rng.integers(2**31 - 1))
        trials, fitted = self._try_all(width, seed, split, shared, validation)
        learning = ExpansionMap | ReweightedGrid | FramedGrid
        data_dependent = {name for name, each in fitted.items() if isinstance(each, learning)}
        rows = "it did not see" if split.any_held_out else "of X"
        report = choose(trials, self.criterion, rows, data_dependent)
        chosen = fitted[report.chosen]
        count = len(validation.rows)
        judges = f"{count} rows that no map learned from"
        if not split.any_held_out:
            judges = f"the {count} rows that maps learned from, too few to hold any out"
        elif isinstance(chosen, ExpansionMap) and not isinstance(chosen, final):
            with steps("fitting the chosen map on more rows", None):
                again, trial, size = self._refitted(chosen, report.chosen, split, rng)
            if not trial.note:
                chosen = again
                trials = [trial if each.name == trial.name else each for each in trials]
                judges += f"; of the chosen, fitted to all but {size} typical ones, pairs of these"
        share = f"{principal_frame.TYPICAL:.0%}"
        judges = f"Errors of pairs of {judges}; typical ones are of the inner {share} of rows"
        return chosen, replace(report, trials=tuple(trials), judges=judges)

    def _try_all(
        self,
        width: int,
        seed: int,
        split: Split,
        shared: dict[type, Any],
        validation: ValidationRows,
    ) -> tuple[list[Trial], dict[str, FeatureMap]]:
        """The trial of every candidate, and the fitted candidates by name."""
        # Nearly as many landmarks as training rows would interpolate them.
        enough = 2 * width if width <= _MOST_LANDMARKS else 0
        training, final = split.training(max(_TRAINING_ROWS, enough)), tuple(shared)
        candidates = list(self._candidates(split.X.shape[1], width, seed))
        trials, fitted = [], {}
        works = [_COSTLY if "compress" in name else 1.0 for name, _ in candidates]
        with steps("choosing the map", [1.0, *works]) as tried:
            left_out = self._outclassed(width, seed, training, shared, validation)
            tried.done()
            for name, candidate in candidates:
                if name in left_out:
                    trials.append(refused(name, left_out[name]))
                else:
                    rows = training
                    if isinstance(candidate, final) and candidate.compress:
                        rows = split.training(compression_rows(width))
                    trials.append(try_candidate(name, candidate, rows, shared, validation))
                    if not trials[-1].note:
                        fitted[name] = candidate
                tried.done()
        return trials, fitted

    def _refitted(
        self, chosen: FeatureMap, name: str, split: Split, rng: np.random.Generator
    ) -> tuple[FeatureMap, Trial, int]:
        """The chosen map fitted on more rows, its trial, and the number of validation rows.

        Expansions gain from more rows, above all from the outermost.
        """
        size = max(len(split.X) // _REFIT_SHARE, _REFIT_FEWEST)
        last, rest = split.again(size, _REFIT_ROWS, rng)
        validation = ValidationRows.of(
            self._kernel, split.X[last], np.ones(len(last)), split.typical[last]
        )
        again = clone(chosen)
        return again, try_candidate(name, again, split.X[rest], {}, validation), len(last)

    def _outclassed(
        self,
        width: int,
        seed: int,
        training: Matrix,
        shared: dict[type, Any],
        validation: ValidationRows,
    ) -> dict[str, str]:
        """Costly candidates that are clearly behind others at fewer columns, and the reasons.

        As measured by benchmarks/accuracy.py: the ratio of the errors of `HermiteMercer` with and
        without compression hardly changes with the number of columns (if it is close to 1, the
        plain map wins because it is cheaper), and landmarks improve faster than both.
        """
        if width < _SCREENED or not self._tries_expansions:
            return {}
        few = min(width // 4, _FEW_COLUMNS)
        common: dict[str, Any] = {"n_components": few, "random_state": seed}

        def trial(candidate: FeatureMap, shared: dict[type, Any]) -> Trial:
            return try_candidate("", candidate, training, shared, validation)

        plain = trial(HermiteMercer(self._kernel, **common), shared)
        if plain.note:
            return {}
        compressed = trial(HermiteMercer(self._kernel, compress=True, **common), shared)
        landmarks = trial(Landmarks(self._kernel, compress=True, **common), {})
        left_out = {}
        if compressed.is_behind(plain, 1 / CLOSE):
            left_out["HermiteMercer(compress=True)"] = f"close to without, at {few} columns"
        elif compressed.is_behind(landmarks, _FAR_BEHIND):
            left_out["HermiteMercer(compress=True)"] = f"far behind Landmarks at {few} columns"
        if landmarks.is_behind(plain, _FAR_BEHIND):
            for name in ("Landmarks(compress=True)", "Landmarks"):
                left_out[name] = f"far behind HermiteMercer at {few} columns"
        return left_out

    def _shared_fits(self, X: Matrix, row_weights: Floats) -> dict[type, Any]:
        """Fits that candidates of a class share, by class: on all rows but the validation rows.

        Only if X has so many rows that the validation rows are not missed: these fits are final and
        are not repeated on more rows.
        """
        if (
            self.shift_invariant
            or not self._expansions
            or len(X) < mercer.MANY
            or X.shape[1] > _rows.WIDE
        ):
            return {}
        groups = self._kernel.groups(X.shape[1])
        if any(group.kernel.gaussian_scale(len(group.axes)) is None for group in groups):
            return {}  # HermiteMercer is for Gaussian kernels; its trial reports this
        return {HermiteMercer: mercer.fit_frames(self._kernel, X, row_weights)}

    def _within(
        self, X: Matrix, spanning: Matrix, tol: float, rng: np.random.Generator
    ) -> tuple[FeatureMap, Report]:
        """The smallest map that meets a tolerance, by proof or with confidence.

        Proofs hold over the box of the rows of `spanning`; X is for training and validation.
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
        if len(X) < 8:
            raise ValueError(
                f"tol={tol:g} cannot be checked on {len(X)} rows; give at least 8, or tol=None"
            )
        return self._within_with_confidence(X, tol, limit, rng)

    def _within_with_confidence(
        self, X: Matrix, tol: float, limit: int, rng: np.random.Generator
    ) -> tuple[FeatureMap, Report]:
        """The narrowest best map whose error on a quarter of X meets a tolerance."""
        fewer = () if self.n_components is not None else (16 << i for i in range(40))
        widths = [*(width for width in fewer if width < limit), limit]
        # Several widths are tried: the 5% chance of a wrong answer is shared by all of them.
        confidence = 1 - 0.05 / len(widths)
        order = rng.permutation(len(X))
        held_out, training = X[order[: len(X) // 4]], X[order[len(X) // 4 :]]
        reached = []
        for width in widths:
            chosen, report = self._best(training, width, rng)
            error = chosen._error_of_pairs(held_out.astype(np.float64), 10_000, confidence, rng)
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
            counts = GridSearch(self._kernel, region, reaches(X)).fewest(tol, limit=limit)
        except (NotSeparable, NoDensity, NoCertificate):  # no certified grid for this kernel
            return None
        return (
            None if counts is None else DenseGrid(self._kernel, n_points=counts)._fit_validated(X)
        )

    def _restored_columns(self) -> int:
        same = self.map_.n_features_in_ == self.n_features_in_
        require(same and self.map_._n_axes == self._n_axes, "the chosen map has other columns")
        require(not isinstance(self.map_, KernelFeatures), "the chosen map is a choice itself")
        self.signs_ = self.map_.signs_
        return self.map_.n_columns_

    def lighter(self, kernel: Kernel, most_columns: int) -> FeatureMap:
        """One map that is quick to fit, instead of a choice among all."""
        kind = Landmarks if self._tries_expansions else QuasiRandomFourier
        width = min(self.n_components or 256, most_columns)
        return kind(kernel, n_components=width, random_state=0)

    def moved_to(self, origin: Floats) -> Self:
        """Subtract `origin` from rows, also in `map_`, which may be used by itself."""
        self.map_.moved_to(origin)
        return super().moved_to(origin)

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        self.map_._evaluate(X, out)

    def _differentiate(self, X: Matrix, coefficients: Floats, out: Matrix) -> None:
        self.map_._differentiate(X, coefficients, out)

    def _largest_factor(self) -> float:
        return self.map_._largest_factor()

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
        return self.map_._certify(region, X)

    def _largest_anywhere(self) -> float:
        return self.map_._largest_anywhere()

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return self.map_._largest_error(X, Y)

    def _candidates(self, d: int, p: int, seed: int) -> Iterator[tuple[str, FeatureMap]]:
        """Constructions that suit the kernel, with p columns of d features, by name."""
        kernel = self._kernel
        common: dict[str, Any] = {"n_components": p, "random_state": seed}
        one_group = len(self._groups) == 1
        gaussian = isinstance(kernel, Gaussian)
        if self._tries_expansions:
            # The compressed maps first: the plain ones share the points drawn for them.
            if p <= 512:
                yield "HermiteMercer(compress=True)", HermiteMercer(kernel, compress=True, **common)
            yield "HermiteMercer", HermiteMercer(kernel, **common)
            if len(self._groups) <= 100 and p <= _MOST_LANDMARKS:
                if p <= 512:
                    yield "Landmarks(compress=True)", Landmarks(kernel, compress=True, **common)
                yield "Landmarks", Landmarks(kernel, **common)
        yield "QuasiRandomFourier", QuasiRandomFourier(kernel, **common)
        if kernel.rotation_invariant:
            yield "OrthogonalFourier", OrthogonalFourier(kernel, **common)
        ahead = gaussian or (one_group and d > _FEW_AXES) or not self._expansions
        if not self.shift_invariant and ahead:
            return  # the expansions above are ahead of every other Fourier map there is
        yield "RandomFourier", RandomFourier(kernel, **common)
        if kernel.rotation_invariant:
            structured = OrthogonalFourier(kernel, structured=True, **common)
            yield "OrthogonalFourier(structured=True)", structured
        halton = QuasiRandomFourier(kernel, sequence="halton", **common)
        yield "QuasiRandomFourier(sequence='halton')", halton
        if p <= _MOST_REWEIGHTED:
            yield "ReweightedGrid", ReweightedGrid(kernel, **common)
        if not one_group:
            return
        n_points = int(np.floor((p + 0.5) ** (1 / d)))
        if n_points >= 2:
            yield f"DenseGrid(n_points={n_points})", DenseGrid(kernel, n_points=n_points)
        if not gaussian:
            return
        yield "SphericalRadial", SphericalRadial(kernel, **common)
        start = polishing_start(d, p)
        polished = ReweightedGrid(kernel, pool=start, polish=True, **common)
        yield f"ReweightedGrid(pool={type(start).__name__}, polish=True)", polished
