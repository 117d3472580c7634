"""`WideModel`: ridge regression without its gram, and when to use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._checks import available_memory
from .._display.progress import steps
from .._typing import Floats, Matrix
from ..data.blocks import Block
from ..data.dask_source import AnySource
from ..data.sampling import SampledRows, row_keys
from ..data.summary import Summary
from ..maps.base import FeatureMap
from .cluster import open_stream
from .iterative import HeldOut, IterativeFit, IterativeRidge, Score, which_held_out
from .iterative_sums import Marked
from .ridge_path import MAX_PATH
from .stream import Encode, Rows
from .tuning import Tried, Tuning, with_rows

_PASSES = 20  # passes of the iterative solver, only for the choice
_ENTRY = 60  # multiply-adds to compute a feature
_FACTORED = 2.5  # p^3 multiply-adds of all factorisations in a search of alpha


class WideModel(ABC):
    """The methods of a model for ridge regression without the gram; see `solver_`."""

    alpha: Any
    solver: str
    solver_: str
    checkpoint: Any
    fit_intercept: bool
    features_: FeatureMap
    alpha_: float
    tuning_: Tuning
    n_passes_: int

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Columns of targets, t."""

    @abstractmethod
    def _encoded_for_ridge(self, block: Any) -> tuple[Any, Any]: ...

    @abstractmethod
    def _weighted(self, drawn: SampledRows) -> SampledRows: ...

    @abstractmethod
    def _precision(self, X: Matrix) -> Any: ...

    @abstractmethod
    def _score(self, sample: Rows) -> Score | None: ...

    @abstractmethod
    def _encoded(self, block: Block) -> tuple[Any, Any]: ...

    @abstractmethod
    def _ridge_targets(self, y: Any) -> Floats: ...

    @abstractmethod
    def _groups(self, drawn: SampledRows) -> Any: ...

    @abstractmethod
    def _set_iterated(self, fit: IterativeFit, held_out: HeldOut) -> None:
        """Set the fitted attributes."""

    def _why_iterative(self, data: AnySource, summary: Summary, *, batch: bool) -> str:
        """Why this fit is iterative; empty if it is not."""
        self.__dict__.pop("n_passes_", None)
        if getattr(self, "solver_", "products") == "toeplitz" or self.solver == "products":
            return ""
        obstacle = self._obstacle(summary, batch=batch)
        if self.solver == "iterative":
            if obstacle:
                raise ValueError(
                    f"solver='iterative' {obstacle}; solver='products' can, if p x p numbers fit "
                    f"into memory"
                )
            return "it was requested"
        return "" if obstacle else self._gain(summary)

    def _obstacle(self, summary: Summary, *, batch: bool) -> str:
        if batch:
            return "reads all rows many times, and cannot add those of partial_fit"
        if not summary.of_all:
            return "reads all rows many times, and cannot read an iterator twice"
        if self.checkpoint is not None:
            return "has no checkpoints"
        if (self.features_.signs_ < 0).any():
            return "cannot solve the indefinite system of a signed map"
        return ""

    def _gain(self, summary: Summary) -> str:
        """Why `solver="auto"` iterates: memory or time; empty if products are as good."""
        p, n, d = self.features_.n_columns_, summary.n_rows, self.features_.n_features_in_
        if p <= MAX_PATH:
            return ""
        gram = 8 * p**2
        if gram > available_memory() / 2:
            return f"the {p:,} x {p:,} matrix would take {gram / 2**30:.0f} GB"
        several = isinstance(self.alpha, str) or np.size(self.alpha) > 1
        products = n * p**2 / 2 + (_FACTORED if several else 1 / 3) * p**3
        passes = _PASSES * n * p * (d / 2 + 8 * self._n_outputs + _ENTRY)
        return "fewer operations than by products" if passes < products else ""

    def _held_out(self, drawn: SampledRows) -> HeldOut:
        y, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
        nothing = np.empty((len(drawn.X), 0))
        rows = Rows(nothing, y, weight, drawn.share, self._groups(drawn))
        return HeldOut(drawn.X, rows, np.unique(row_keys(drawn.X)), self._ridge_targets(y))

    def _fitted_without_gram(self, data: AnySource, summary: Summary, *, batch: bool) -> bool:
        """Solve without the gram if requested or better; returns whether it was done."""
        reason = self._why_iterative(data, summary, batch=batch)
        if reason:
            self._fit_iterated(data, summary, reason)
        return bool(reason)

    def _fit_iterated(self, data: AnySource, summary: Summary, reason: str) -> None:
        drawn = self._weighted(summary.drawn)
        held_out = self._held_out(drawn.at(which_held_out(drawn.X)))
        dtype = self._precision(drawn.X)
        encode: Encode = Marked(self._encoded_for_ridge, held_out.keys)
        n_rows = summary.n_rows if summary.of_all else None
        stream = open_stream(data, self.features_, encode, n_rows=n_rows, keep=True)
        every = summary.of_all and summary.sample.complete
        with steps("solving for the coefficients", None):
            ridge = IterativeRidge(
                stream, self.features_, held_out, intercept=self.fit_intercept, dtype=dtype
            )
            fit = ridge.fit(self.alpha, drawn, self._score(held_out.rows), every=every)
        self.solver_, self.alpha_, self.n_passes_ = "iterative", fit.alpha, fit.n_passes
        self.tuning_ = with_rows(self.tuning_, "alpha", fit.tried)
        tried = Tried("solver", "iterative", np.nan, f"not compared: {reason}", chosen=True)
        self.tuning_ = with_rows(self.tuning_, "solver", [tried])
        self._set_iterated(fit, held_out)
