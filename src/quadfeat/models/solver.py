"""The choice of a regressor's solver, and the parts of a fit that a lattice does by FFTs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._errors import NoLattice
from .._typing import Floats, Matrix
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.dask_source import AnySource
from ..data.summary import Summary
from ..maps.base import FeatureMap
from ..maps.lattice import Lattice
from ..numerics.nufft import has_nufft
from .cluster import open_stream
from .prediction_bound import PredictionBound
from .stream import Encode, summed
from .toeplitz import MOST_STD_ROWS, ToeplitzPosterior
from .toeplitz_sums import ToeplitzSums

NEEDS_NUFFT = "a model fitted by solver='toeplitz' needs finufft: pip install 'quadfeat[nufft]'"
SOLVERS = ("auto", "products", "toeplitz", "iterative")
DENSE_COLUMNS = 1024  # up to so many the gram of a lattice is formed and factored
_FEWEST = 64  # rows; from here on predictions use FFTs
# Seconds on one core of 2021, used only for the choice: per multiply-add, row and axis, point of an
# FFT, entry of a gram.
_MULTIPLY_ADD, _ROW, _FFT_POINT = 5e-11, (0, 1.5e-7, 4e-7, 2.4e-6), 4e-9
_ENTRY, _START = 1e-7, 1e-2
_STEPS = 1000  # products with the matrix in a fit, including the choice of the penalty


def chosen_lattice(solver: str, features: Any, n_rows: int) -> Lattice | None:
    """The lattice of a map if FFTs are requested, or cheaper with "auto"; else None."""
    if solver in ("products", "iterative"):
        return None
    try:
        lattice = features.lattice()
    except NoLattice as reason:
        if solver == "auto":
            return None
        raise ValueError(
            f"solver='toeplitz' needs an equispaced grid of one group of up to 3 axes, such as "
            f"DenseGrid(kernel, rule='equispaced'): {reason}; solver='auto' fits any map"
        ) from None
    if not has_nufft():
        if solver == "auto":
            return None
        raise ImportError("solver='toeplitz' needs finufft: pip install 'quadfeat[nufft]'")
    return lattice if solver == "toeplitz" or _is_cheaper(lattice, n_rows) else None


def _is_cheaper(lattice: Lattice, n_rows: int) -> bool:
    p, d = lattice.n_map_columns, len(lattice.shape)
    products = _MULTIPLY_ADD * (n_rows * p**2 + 4 * p**3)
    points = 2**d * lattice.roots.size
    transforms = _START + n_rows * _ROW[d] + 8 * _FFT_POINT * points
    if p <= DENSE_COLUMNS:
        transforms += _MULTIPLY_ADD * 4 * p**3 + _ENTRY * p**2
    else:
        transforms += _STEPS * _FFT_POINT * points * log2(points) / 8
    return transforms < products


def lattice_sums(
    data: AnySource,
    lattice: Lattice,
    encode: Encode,
    checkpoint: Checkpoint,
    *,
    n_rows: int | None,
    n_targets: int,
) -> ToeplitzSums:
    """The sums of all rows of a source, resumed from the checkpoint if it has any."""
    stream = open_stream(data, lattice, encode, n_rows=n_rows, keep=False)
    empty = ToeplitzSums(lattice.steps.tolist(), lattice.shape, n_targets)
    sums: ToeplitzSums = summed(stream, checkpoint, empty, "toeplitz")
    return sums


class LatticeModel(ABC):
    """The methods of a model that use FFTs; `solver_` says whether it does."""

    solver: str
    solver_: str
    features_: FeatureMap
    coef_: Floats
    intercept_: Any
    noise_: Any
    _lattice: Lattice | None  # not stored
    _toeplitz: ToeplitzPosterior  # only after conjugate gradients

    @abstractmethod
    def _predicted_rows(self, X: Any) -> Iterator[Block]:
        """X in blocks, after the checks of `predict`."""

    @abstractmethod
    def _precision(self, X: Matrix) -> Any:
        """The dtype of the features of these rows."""

    def _choose_solver(self, summary: Summary) -> None:
        self.__dict__.pop("_toeplitz", None)
        self._lattice = chosen_lattice(self.solver, self.features_, summary.n_rows)
        self.solver_ = "products" if self._lattice is None else "toeplitz"

    def _lattice_of_fit(self) -> Lattice | None:
        """The lattice, also of a loaded model; None if the model uses products."""
        if not hasattr(self, "_lattice"):
            transforms = getattr(self, "solver_", "products") == "toeplitz" and has_nufft()
            self._lattice = self.features_.lattice() if transforms else None
        return self._lattice

    @property
    def _iterates(self) -> bool:
        """Whether the fit is by conjugate gradients."""
        lattice = self._lattice_of_fit()
        return lattice is not None and lattice.n_map_columns > DENSE_COLUMNS

    def _transformed(self, X: Any, lattice: Lattice) -> Floats:
        """z'W + b, (n, t), by FFTs, or by a product for few rows."""
        W = np.atleast_2d(self.coef_).T
        modes, intercept = lattice.modes(W), np.atleast_1d(self.intercept_)
        parts = [np.empty((0, W.shape[1]))]
        for rows in self._lattice_rows(X, lattice):
            if len(rows) >= _FEWEST:
                values = lattice.values(rows, modes)
            else:
                features = lattice.features_of(rows).reshape(len(rows), -1)
                values = (features.conj() @ modes.reshape(len(modes), -1).T).real
            parts.append(values + intercept)
        return np.concatenate(parts)

    def _lattice_rows(self, X: Any, lattice: Lattice) -> Iterator[Matrix]:
        """The columns of the lattice, of many rows at a time."""
        some: list[Matrix] = []
        count = 0
        for block in self._predicted_rows(X):
            some.append(_written(lattice, block, self._precision(block.X)))
            count += len(block)
            if count >= lattice.rows_at_once:
                yield np.concatenate(some)
                some, count = [], 0
        if some:
            yield np.concatenate(some)

    def _rows_of_lattice(self, X: Any) -> tuple[Lattice, Floats]:
        """The lattice, and all rows of X in its columns."""
        lattice = self._lattice_of_fit()
        if lattice is None:
            raise ImportError(NEEDS_NUFFT)
        some = [np.empty((0, lattice.n_columns_)), *self._lattice_rows(X, lattice)]
        return lattice, np.concatenate(some).astype(np.float64, copy=False)

    def _solved_deviations(self, X: Any) -> Floats:
        """Standard deviations / that of the noise, (n,), by a solve for each row."""
        lattice, rows = self._rows_of_lattice(X)
        if len(rows) > MOST_STD_ROWS:
            raise ValueError(
                f"return_std=True of {len(rows):,} rows: this fit by solver='toeplitz' solves a "
                f"system for each, so give at most {MOST_STD_ROWS:,} rows at a time"
            )
        return self._toeplitz.deviations(lattice, rows)

    def prediction_bound(self, X: Any) -> PredictionBound:
        """Bounds on the distance of `predict(X)` from ridge regression with the exact kernel.

        The exact regression has the same `alpha_`, weights and intercept. Only after a fit by
        solver="toeplitz"; uses the certificate of its grid over the box of all training rows and X.

        Parameters
        ----------
        X : array, CSR matrix, DataFrame; a path; or blocks

        Returns
        -------
        PredictionBound, with `proven`, which is loose, and `estimated`, which is not proven

        Examples
        --------
        >>> from quadfeat import DenseGrid, KernelRegressor, Matern
        >>> X = np.random.default_rng(0).uniform(size=(300, 2))
        >>> y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
        >>> grid = DenseGrid(Matern(1.5, 2.0), tol=1e-2)
        >>> model = KernelRegressor(grid, alpha=0.1, solver="toeplitz").fit(X, y)
        >>> bound = model.prediction_bound(X)
        >>> bool(bound.kernel_error <= 1e-2 and bound.estimated < bound.proven)
        True
        """
        check_is_fitted(self)
        if not hasattr(self, "_toeplitz"):
            raise ValueError(
                "prediction_bound is for fits by solver='toeplitz', and this one is by "
                f"solver={getattr(self, 'solver_', 'products')!r}; for the error of the kernel, "
                "features_.certificate(X) is proven for every grid"
            )
        lattice, rows = self._rows_of_lattice(X)
        error = lattice.features.proven_error(self._toeplitz.box(rows))
        size = self._toeplitz.size(np.atleast_1d(self.noise_))
        bound = size.bound(error, float(np.square(lattice.roots).sum()))
        if len(self._toeplitz.squares) > 1 or np.ndim(self.intercept_):
            return bound
        return replace(bound, proven=float(bound.proven[0]), estimated=float(bound.estimated[0]))


def _written(lattice: Lattice, block: Block, dtype: Any) -> Matrix:
    rows = np.empty((len(block), lattice.n_columns_), dtype=dtype)
    lattice.write(block.X, rows)
    return rows
