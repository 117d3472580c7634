"""`KernelRegressor`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._checks import check_choice, check_flag, require
from .._display.progress import steps
from .._typing import Floats
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.dask_source import AnySource
from ..data.encoder import TableEncoder
from ..data.sampling import is_table_of_counts
from ..data.summary import Summary
from ..maps.base import FeatureMap
from ..numerics.blas import on_one_thread
from ..numerics.factorisations import norms
from .base import LEFT_OUT_FEATURES, MEAN_ROWS, KernelModel
from .cluster import lazily
from .iterative import HeldOut, IterativeFit
from .ridge import Posterior, noise_variance, residual_squares
from .ridge_path import MAX_PATH
from .solver import NEEDS_NUFFT, SOLVERS, LatticeModel, lattice_sums
from .stream import Rows
from .toeplitz import ToeplitzPosterior, ToeplitzSystem, fit_toeplitz
from .toeplitz_sums import ToeplitzSums
from .tuning import with_rows
from .wide import WideModel

_LARGEST_TARGET = 1e150  # squares of larger ones overflow


class KernelRegressor(RegressorMixin, KernelModel, LatticeModel, WideModel):
    """Kernel ridge regression at linear cost, on more rows than memory.

    Minimises sum_i w_i (y_i - f(x_i))^2 + alpha |v|^2 for f(x) = z(x)'v + b, b free: kernel ridge
    regression with the kernel z'z, exactly. Features are computed in blocks and added to sums of
    p^2 numbers; n p^2 multiply-adds for n rows and p columns, then p^3. Signed maps are solved in
    their indefinite inner product.

    Parameters
    ----------
    features : FeatureMap, default KernelFeatures()
        Fitted on at most 20,000 rows. If its kernel is None, one is chosen: Gaussian, Matern 5/2,
        Matern 3/2 or Laplacian (products over columns; Gaussian only, if `features` is not
        `KernelFeatures` or X has more than 32 columns), with one length scale, one per column, or a
        metric (up to 32 columns). Each is learned on up to 2,000 rows by likelihood and compared on
        up to 4,000 others; below 1,000 rows likelihoods decide. Gaussian("learned") and the like
        learn what they say; any other kernel is never changed. If there are so many rows that a
        comparison pays, `KernelFeatures` uses landmarks only if they improve the model. A random
        state of None becomes 0.
    alpha : float, sequence of floats, or "auto"
        Of several, the one with the lowest leave-one-out error, over all rows if there are few,
        else over a sample; copies of a row are left out together. For a long iterator, which is
        read only once, the alpha with the highest likelihood of all targets. With several targets,
        the error of each is divided by its variance.
    solver : "auto", "products", "toeplitz" or "iterative"
        "iterative" is for many columns: the p x p matrix is never formed; block conjugate gradients
        read all rows 10 to 40 times instead. Up to about 3,000 rows are held out until alpha is
        chosen by their error, and then used too. It stops when the objective is above its minimum
        by at most 1e-2 (float32) or 1e-8 (float64) of the squared error. "auto" uses it above 8,192
        columns if the matrix would take over half of the memory, or if it needs fewer operations.
        "toeplitz" is for an equispaced `DenseGrid` of up to 3 axes and needs finufft: sums are
        non-uniform FFTs, at a cost per row that hardly depends on p. Above 1,024 columns the system
        is solved by preconditioned conjugate gradients, to an error of 1e-8 in its norm, and of
        several alphas the one with the highest estimated likelihood is taken. "auto" uses it where
        it is cheaper.
    fit_intercept : bool
    dtype : "float32", "float64" or None
        The precision of rows and features; None for that of X. Sums are always in double precision.
        "float32" takes half the time, and its rounding is small compared with the error of the
        features. Columns that lie far from 0 are centred in double precision before they are
        rounded, also in `features_.transform`; `basis_` of that map is for centred rows.
    encoder : TableEncoder or None
        Turns the columns of X into numbers and scales them. None uses one only for tables with
        text, dates or gaps, in memory or in files.
    checkpoint : path or None
        A file from which the same fit is resumed after an interruption, to the same bits; it is
        removed after the fit. A disk that fills up during the fit causes a warning, not an error.
    checkpoint_interval : float, minimum seconds between writes
    verbose : bool, whether to show the progress of a fit that takes over two seconds

    Attributes
    ----------
    features_ : FeatureMap, fitted, with p columns
    coef_ : array (p,), or (t, p) for t targets
    intercept_ : float, or array (t,)
    alpha_ : float, the penalty, given or chosen
    noise_ : float, or array (t,), the variance of the noise, RSS / (n - df); with the solver
        "iterative" the mean squared error of held-out rows
    solver_ : str, "products", "toeplitz" or "iterative"
    n_passes_ : int, passes over the data, only with the solver "iterative"
    tuning_ : list of Tried, which prints as a table
        Each kernel and each alpha that was tried: `parameter`, `value`, `score`
        (lower is better), `judge`, what the score is, `chosen`, and `edge`, whether the value is
        the smallest or largest of its grid. Empty if both were given.
    feature_importances_ : array (n_features_in_,), adding up to 1
        How much predictions change with each column: the root mean square of `gradient` over a
        sample of rows, times the standard deviation of the column. Correlated columns share it, and
        it does not mean a cause.
    effects_ : EffectsSummary, only with a kernel over subsets such as `Anova`
        `subsets`, `names`, `intercept`, `shares` and `column_shares` of `effects(X)`.
    encoder_ : TableEncoder, fitted, only if X was encoded; `features_` then takes its columns
    n_features_in_ : int, columns of X
    feature_names_in_ : array of str (n_features_in_,), only if the columns of X have names

    Notes
    -----
    A `sample_weight` of w means w copies of a row, and only ratios of weights matter: copies carry
    no new information. But if few different x repeat, as in a table of yes and no, a weight is a
    number of observations, and each of them counts. For `return_std` the model keeps 8 p^2 bytes,
    up to 8192 columns; after conjugate gradients it keeps the sums, and solves a system for each
    row, for at most 1,000 rows at a time.

    Examples
    --------
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = KernelRegressor().fit(X, np.sin(2 * X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(2.0)) < 1e-3)
    True
    """

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        alpha: Any = "auto",
        solver: str = "auto",
        fit_intercept: bool = True,
        dtype: str | None = None,
        encoder: TableEncoder | None = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        verbose: bool = True,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.encoder = encoder
        self.checkpoint = checkpoint
        self.checkpoint_interval = checkpoint_interval
        self.verbose = verbose

    _learns_labels: ClassVar[bool] = False
    _target_rules: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to arrays, a file or a stream of blocks.

        Parameters
        ----------
        X : array, CSR matrix, memory map; DataFrame or Arrow table, also with text, dates and gaps;
            a path; blocks (X, y) or (X, y, weight); or a Dask array or DataFrame, whose partitions
            are summed on their workers
        y : (n,) or (n, t); for a file the name of its column
        sample_weight : (n,) or None; for a file the name of its column
        """
        self._fit(X, y, sample_weight).remove()
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls, and solve again (p^3).

        The map is fitted on the first batch only; a call of `fit` in between starts over.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame (n, d)
        y : (n,) or (n, t)
        sample_weight : (n,) or None
        """
        self._fit(X, y, sample_weight, batch=True)
        return self

    def _begin(self, summary: Summary, classes: Any) -> None:
        targets = _targets(summary.drawn.y)
        self._single = targets.ndim == 1
        # Targets are centred, so that products keep their digits whatever the mean of y is.
        columns = targets.reshape(len(targets), -1)
        largest = np.abs(columns).max(axis=0)
        if (low := largest[(largest > 0) & (largest < 1 / _LARGEST_TARGET)]).size:
            raise ValueError(f"y is {low[0]:g} at most: squares underflow; divide it by its spread")
        self._shift = np.zeros(columns.shape[1])
        if self.fit_intercept:
            # An approximate mean is enough; fsum gives the same bits for any order of the rows.
            mass = summary.drawn.weight[:MEAN_ROWS]
            total = math.fsum(mass)
            self._shift = np.array([math.fsum(mass * y) / total for y in columns[:MEAN_ROWS].T])
        self._fit_map(summary)
        self._choose_solver(summary)

    def _check(self) -> None:
        super()._check()
        check_choice("solver", self.solver, SOLVERS)

    @property
    def _n_outputs(self) -> int:
        return len(self._shift)

    @property
    def _single_score(self) -> bool:
        return self._single

    def _n_left_out(self, p: int) -> int:
        # Squared errors are cheap, so leave-one-out errors use every row if there are not many.
        return max(super()._n_left_out(p), LEFT_OUT_FEATURES // p)

    def _encoded(self, block: Block) -> tuple[Any, Any]:
        targets = _targets(block.y).reshape(len(block), -1)
        if targets.shape[1] != len(self._shift):
            raise ValueError(
                f"y has {targets.shape[1]} targets, and the rows before had {len(self._shift)}"
            )
        return targets - self._shift, block.weight

    def _fit_rows(
        self, data: AnySource, summary: Summary, checkpoint: Checkpoint, *, batch: bool
    ) -> None:
        if not self._fitted_without_gram(data, summary, batch=batch):
            super()._fit_rows(data, summary, checkpoint, batch=batch)

    def _summed(self, data: AnySource, summary: Summary, checkpoint: Checkpoint) -> Any:
        lattice = self._lattice_of_fit()
        if lattice is None and self.solver_ == "toeplitz":
            raise ImportError(NEEDS_NUFFT)
        if lattice is None:
            return super()._summed(data, summary, checkpoint)
        return lattice_sums(
            data,
            lattice,
            self._encoded_for_ridge,
            checkpoint,
            n_rows=summary.n_rows if summary.of_all else None,
            n_targets=self._n_outputs,
        )

    def _sample(self, summary: Summary) -> Rows:
        if not self._iterates:
            return super()._sample(summary)
        drawn = self._weighted(summary.drawn)  # features of a sample would take too much memory
        counts = is_table_of_counts(drawn.X, drawn.weight)
        return Rows(np.empty((0, 0)), np.empty((0, self._n_outputs)), None, counts=counts)

    def _scores(self, X: Any) -> Floats:
        lattice = self._lattice_of_fit()
        return super()._scores(X) if lattice is None else self._transformed(X, lattice)

    def _finish(self, sums: Any, sample: Rows, distinct_share: float, *, copy: bool) -> None:
        if self._iterates:
            share = sums.weight / sums.n_rows if sample.counts else distinct_share
            self._finish_iterated(sums, share)
            return
        given, lattice = sums, self._lattice_of_fit()
        if lattice is not None:
            sums, copy = sums.normal(lattice), False  # `normal` returns a new gram
        fit = self._solve(sums, sample, distinct_share, copy=copy)
        self._set_solution(fit.coefficients, fit.intercept, noise_variance(fit, sample))
        if lattice is not None:
            unit, squares = fit.system.mean_weight, residual_squares(fit)
            self._keep_sums(given, unit, squares, np.zeros(len(squares)))
        self._posterior = Posterior.of(fit)

    def _finish_iterated(self, sums: ToeplitzSums, distinct_share: float) -> None:
        """Solve by conjugate gradients."""
        lattice = self._lattice_of_fit()
        assert lattice is not None
        system = ToeplitzSystem(
            sums, lattice, intercept=self.fit_intercept, distinct_share=distinct_share
        )
        with steps("solving for the coefficients", None):
            fit = fit_toeplitz(system, self.alpha)
        self.alpha_ = fit.alpha
        self.tuning_ = with_rows(self.tuning_, "alpha", fit.tried)
        self._set_solution(lattice.columns(fit.solved.solution), fit.intercept, fit.noise())
        self._posterior = None
        squares = system.squares(fit.alpha, fit.solved.solution)
        self._keep_sums(sums, system.mean_weight, squares, fit.solved.residual)

    def _keep_sums(
        self, sums: ToeplitzSums, unit: float, squares: Floats, residual: Floats
    ) -> None:
        """Keep what `return_std` and `prediction_bound` need."""
        self._toeplitz = ToeplitzPosterior(
            sums, self.alpha_, unit, bool(self.fit_intercept), squares, residual
        )

    def _set_iterated(self, fit: IterativeFit, held_out: HeldOut) -> None:
        squares = np.square(fit.left_out - held_out.targets)
        noise = np.average(squares, axis=0, weights=held_out.rows.mass)
        self._set_solution(fit.coefficients, fit.intercept, noise)
        self._posterior = None

    def _set_solution(self, coefficients: Floats, intercept: Floats, noise: Floats) -> None:
        intercept = intercept + self._shift
        self.coef_ = coefficients[:, 0] if self._single else coefficients.T
        self.intercept_ = float(intercept[0]) if self._single else intercept
        self.noise_ = float(noise[0]) if self._single else noise

    @lazily
    @on_one_thread
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x), (n,) or (n, t); with `return_std` also the standard deviation of f(x).

        The posterior standard deviation of the function under a Gaussian process with prior
        f ~ N(0, noise_ / alpha z'z) and a flat prior for the intercept: the square root of
        noise_ (z'(G + alpha I)^-1 z + 1 / n) with centred z and G. It does not include the noise:
        a new observation deviates by sqrt(std^2 + noise_).

        Parameters
        ----------
        X : array, CSR matrix, DataFrame; a path; or blocks
        return_std : bool
        """
        check_is_fitted(self)
        check_flag("return_std", return_std)
        if self._lattice_of_fit() is not None:
            return self._predicted_by_lattice(X, return_std)
        posterior = self._checked_posterior().deviations if return_std else None
        means = [np.empty((0, np.atleast_2d(self.coef_).shape[0]))]
        deviations = [np.empty(0)]
        for Z in self._predicted_blocks(X):
            means.append(self._scored(Z))
            if posterior is not None:
                deviations.append(posterior(Z))
        spread = None if posterior is None else np.concatenate(deviations)
        return self._answer(np.concatenate(means), spread)

    def _predicted_by_lattice(self, X: Any, return_std: bool) -> Any:
        """`predict` by transforms; reads X once for the means, and again for deviations."""
        if not return_std:
            return self._answer(self._scores(X), None)
        if self._posterior is None and hasattr(self, "_toeplitz"):
            return self._answer(self._scores(X), self._solved_deviations(X))
        posterior = self._checked_posterior()
        parts = [posterior.deviations(Z) for Z in self._predicted_blocks(X)]
        return self._answer(self._scores(X), np.concatenate([np.empty(0), *parts]))

    def _answer(self, mean: Floats, spread: Floats | None) -> Any:
        mean = mean[:, 0] if self._single else mean
        if spread is None:
            return mean
        noise = np.sqrt(self.noise_)
        return mean, spread * noise if self._single else np.outer(spread, noise)

    @property
    def posterior(self) -> Posterior | None:
        """The posterior for `return_std`; None for a signed map or above 8192 columns."""
        check_is_fitted(self)
        return self._posterior

    def _checked_posterior(self) -> Posterior:
        if self.solver_ == "iterative":
            raise ValueError(
                "return_std=True needs the factor of a p x p matrix, which solver='iterative' "
                "does not compute; use fewer columns and solver='products'"
            )
        if self._posterior is None:
            raise ValueError(
                f"return_std=True needs a map without negative weights and of at most {MAX_PATH} "
                f"columns; KernelFeatures(n_components=1024) is one"
            )
        return self._posterior

    @property
    def _has_deviations(self) -> bool:
        return self._posterior is not None

    def _effect_deviation(self) -> Callable[[Floats], Floats]:
        root, noise = self._checked_posterior().root, np.sqrt(np.atleast_1d(self.noise_))
        return lambda features: np.outer(np.sqrt(norms(root, features)), noise)

    def _check_restored(self, p: int) -> int:
        t, single = len(self._shift), self._single
        self.__dict__.setdefault("solver_", "products")  # files store it for other solvers only
        self._lattice_of_fit()
        require(t == 1 or not single, "one target has several means")
        require(self.coef_.shape == ((p,) if single else (t, p)), "coef_ does not fit the map")
        for value in (self.intercept_, self.noise_):
            require(
                np.shape(value) == (() if single else (t,)), "there is not one number per target"
            )
        if self._posterior is not None:
            same = len(self._posterior.feature_mean) == p
            require(same, "the posterior is that of another map")
        return t

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _targets(y: Any) -> Floats:
    targets = np.asarray(y, dtype=np.float64)
    if not np.isfinite(targets).all():
        raise ValueError("y has a missing or infinite value; leave those rows out")
    largest = float(np.abs(targets).max(initial=0.0))
    if largest > _LARGEST_TARGET:
        raise ValueError(
            f"y has values up to {largest:g}, whose squares overflow; divide it by its spread"
        )
    return targets
