"""`KernelClassifier`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._checks import check_choice, check_count, require
from .._typing import Floats
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.dask_source import AnySource
from ..data.encoder import TableEncoder
from ..data.sampling import SampledRows
from ..data.summary import Summary, effective_share, labels_of
from ..maps.base import FeatureMap
from ..numerics.blas import on_one_thread
from .base import KernelModel
from .calibration import fit_slope, log_loss, probabilities
from .class_weights import class_factors
from .cluster import lazily
from .descent import Objective, fit_loss, tune_alpha
from .iterative import HeldOut, IterativeFit
from .loss_choice import AUTO_TOLERANCE, compare_losses, not_compared, too_costly, too_few
from .losses import Weights, indicators
from .ridge import Score
from .ridge_sums import NormalSums
from .score_bands import ScoreBands
from .stream import Rows
from .tuning import Tried, with_rows
from .validation import folds
from .wide import WideModel

_SOLVERS = ("auto", "products", "iterative")
_LOSSES = ("ridge", "squared_hinge", "logistic")
_SMALL_WORK = 1e7  # multiply-adds per pass up to which a descent runs until rounding stops it


def _has_batches(model: Any) -> bool:
    if model.loss not in ("ridge", "auto"):
        raise AttributeError(f"partial_fit needs loss='ridge' or 'auto', got {model.loss!r}")
    if model.rank is not None:
        raise AttributeError(
            f"partial_fit fits ridge, and rank={model.rank} is for the logistic loss; leave "
            f"rank=None"
        )
    return True


def _has_probabilities(model: Any) -> bool:
    if model.loss == "squared_hinge":
        raise AttributeError(
            "predict_proba needs loss='auto', 'logistic' or 'ridge'; the squared hinge has no "
            "probabilities"
        )
    return True


class KernelClassifier(ClassifierMixin, ScoreBands, KernelModel, WideModel):
    """A kernel classifier at linear cost, on more rows than memory.

    Parameters
    ----------
    features : FeatureMap, default KernelFeatures()
        As for `KernelRegressor`.
    loss : "auto", "ridge", "squared_hinge" or "logistic"
        "auto": ridge or logistic, whichever has the lower log loss on a fifth of a sample of up to
        5000 rows (five-fold cross-validation below 1000 rows). If they differ by less than 1%:
        ridge if the sample has all rows, else logistic. Ridge without a comparison for fewer than
        250 rows, for long fits (n rows, p > 4096 columns of features or n p > 2^26 = 6.7e7, or t
        scores and n p t > 2^30 = 1.1e9), in `partial_fit`, for long iterators, Dask collections and
        several alphas; logistic if a rank is given. `tuning_` has the reason. "ridge": least
        squares on -1 and +1, one class against the rest, in closed form. "squared_hinge": the
        linear SVM, one class against the rest. "logistic": multinomial. The last two take some tens
        of passes of L-BFGS; features of up to a gigabyte are cached between them. If "auto" takes
        logistic, large fits stop earlier (an estimated 1e-4 above the minimum, relative), which
        changes neither errors nor log loss.
    rank : int or None
        For many classes: the weight matrix is U V' of this rank. Needs "logistic", which "auto"
        then takes. The penalty is still alpha / 2 |U V'|^2.
    alpha : float, sequence of floats (loss "ridge" or "auto"), or "auto"
        Ridge minimises sum w (y - f)^2 + alpha |v|^2, the others sum w loss + alpha / 2 |v|^2
        (alpha = 1 / C). "auto" takes the alpha with the lowest log loss: for ridge leave-one-out on
        a sample, for the others on validation rows of a sample.
    solver : "auto", "products" or "iterative", of the loss "ridge"
        As for `KernelRegressor`; alpha is chosen by the log loss of held-out rows.
    class_weight : dict, "balanced" or None
    fit_intercept : bool
    dtype : "float32", "float64" or None
        As for `KernelRegressor`.
    encoder : TableEncoder or None
        As for `KernelRegressor`.
    checkpoint : path or None
        As for `KernelRegressor`.
    checkpoint_interval : float, minimum seconds between writes
    verbose : bool, whether to show the progress of a fit that takes over two seconds

    Attributes
    ----------
    classes_ : array (n_classes,), sorted labels
    features_ : FeatureMap, fitted, with p columns
    coef_ : array (1, p) for two classes, else (n_classes, p)
    intercept_ : array (1,) for two classes, else (n_classes,)
    alpha_ : float, the penalty, given or chosen
    loss_ : "ridge", "squared_hinge" or "logistic", the loss, given or chosen
    tuning_ : list of Tried, which prints as a table
        Each kernel, loss and alpha that was tried, as for `KernelRegressor`; with the loss "auto"
        the alphas of the chosen loss.
    solver_ : str, "products" or "iterative", only if `loss_` is "ridge"
    n_passes_ : int, passes over the data of L-BFGS, or of the solver "iterative"
    feature_importances_ : array (n_features_in_,), as for `KernelRegressor`, of the scores
    effects_ : EffectsSummary, as for `KernelRegressor`, of the scores
    encoder_ : TableEncoder, fitted, only if X was encoded, as for `KernelRegressor`
    n_features_in_ : int, columns of X
    feature_names_in_ : array of str (n_features_in_,), only if the columns of X have names

    Notes
    -----
    Ridge scores become probabilities by a softmax whose temperature is fitted to the leave-one-out
    scores of a sample, or to the scores of held-out rows after an iterative fit.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1.4, "in", "out")
    >>> model = KernelClassifier().fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]])
    array(['in', 'out'], dtype='<U3')
    """

    def __init__(
        self,
        features: FeatureMap | None = None,
        *,
        loss: str = "auto",
        rank: int | None = None,
        alpha: Any = "auto",
        solver: str = "auto",
        class_weight: Any = None,
        fit_intercept: bool = True,
        dtype: str | None = None,
        encoder: TableEncoder | None = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        verbose: bool = True,
    ) -> None:
        self.features = features
        self.loss = loss
        self.rank = rank
        self.alpha = alpha
        self.solver = solver
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.encoder = encoder
        self.checkpoint = checkpoint
        self.checkpoint_interval = checkpoint_interval
        self.verbose = verbose

    _learns_labels: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        check_choice("loss", self.loss, ("auto", *_LOSSES))
        check_choice("solver", self.solver, _SOLVERS)
        if self.solver != "auto" and (self.loss not in ("auto", "ridge") or self.rank is not None):
            raise ValueError(f"solver={self.solver!r} is for loss='ridge', got {self.loss!r}")
        if self.rank is not None:
            check_count("rank", self.rank, example=50)
            if self.loss not in ("auto", "logistic"):
                raise ValueError(f"rank={self.rank} needs loss='logistic', got {self.loss!r}")
        several = np.ndim(self.alpha) > 0
        if several and self.rank is not None:
            raise ValueError(f"rank={self.rank} needs one alpha or 'auto', got a path of alphas")
        if several and self.loss not in ("auto", "ridge"):
            raise ValueError(
                f"a path of alphas needs loss='ridge', got {self.loss!r}; give one alpha or 'auto'"
            )

    def _check_restored(self, p: int) -> int:
        n = len(self.classes_)
        ordered = np.array_equal(np.unique(self.classes_), self.classes_)
        require(n >= 2 and ordered, "the classes are not distinct and sorted")
        n_scores = 1 if n == 2 else n
        require(self._n_scores == n_scores, "the scores are not those of the classes")
        require(self.coef_.shape == (n_scores, p), "coef_ does not fit the map and the classes")
        require(self.intercept_.shape == (n_scores,), "intercept_ is not one per score")
        require(self._factors is None or len(self._factors) == n, "a class has no weight")
        if not hasattr(self, "loss_"):  # files of version 0.1.0
            self.loss_ = self.loss
        require(self.loss_ in _LOSSES, "the loss is unknown")
        if self.loss_ == "ridge":
            self.__dict__.setdefault("solver_", "products")  # files store it for other solvers only
        require(self.loss in ("auto", self.loss_), "the loss is not the requested one")
        require(self.loss_ != "ridge" or hasattr(self, "_slope"), "the calibration is missing")
        if hasattr(self, "_posterior"):
            fits = (
                len(self._posterior.feature_mean) == p
                and len(getattr(self, "_noise", ())) == n_scores
            )
            require(fits, "the posterior is that of another map")
        return n_scores

    def _checked_target(self, y: Any) -> Any:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to arrays, a file or a stream of blocks.

        Parameters
        ----------
        X : array, CSR matrix, memory map; DataFrame or Arrow table, also with text, dates and gaps;
            a path; blocks (X, y) or (X, y, weight); or a Dask array or DataFrame, whose partitions
            are summed on their workers
        y : (n,) labels; for a file the name of its column
        sample_weight : (n,) or None; for a file the name of its column
        """
        self._fit(X, y, sample_weight).remove()
        return self

    def _fit_rows(
        self, data: AnySource, summary: Summary, checkpoint: Checkpoint, *, batch: bool
    ) -> None:
        for name in ("_slope", "n_passes_", "solver_"):  # from an earlier fit
            self.__dict__.pop(name, None)
        self._forget_posterior()
        alpha, rows = self._set_loss(data, summary, batch=batch)
        if self.loss_ == "ridge":
            self.solver_ = "products"
            if not self._fitted_without_gram(data, summary, batch=batch):
                super()._fit_rows(data, summary, checkpoint, batch=batch)
            return
        if isinstance(alpha, str):
            alpha, rows = tune_alpha(
                self.loss_,
                folds(self._sample(summary)),
                self._n_scores,
                intercept=self.fit_intercept,
            )
        self.alpha_, self.tuning_ = float(alpha), with_rows(self.tuning_, "alpha", rows)
        weights = Weights(
            self.features_.n_columns_,
            self._n_scores,
            rank=self.rank,
            intercept=self.fit_intercept,
        )
        stream = self._stream(data, summary, self._encoded, keep=True)
        W, b, self.n_passes_ = fit_loss(
            Objective(self.loss_, weights, self.alpha_),
            stream,
            checkpoint,
            tolerance=self._tolerance(summary),
            enough=AUTO_TOLERANCE if self.loss == "auto" else 0.0,
        )
        self.coef_, self.intercept_ = np.ascontiguousarray(W.T), b
        self._keep_logistic_posterior(stream)

    def _set_loss(
        self, data: AnySource, summary: Summary, *, batch: bool
    ) -> tuple[Any, Sequence[Tried]]:
        """Set `loss_`; returns the alpha of an iterative loss, or "auto", and its `tuning_`."""
        if self.loss != "auto":
            self.loss_ = self.loss
            return self.alpha, ()
        reasons = {
            "partial_fit": batch,
            "a Dask collection": data.on_workers,
            "the rows can be read only once": not summary.of_all,
            "several alphas are given": np.ndim(self.alpha) > 0,
            "the solver is for ridge": self.solver != "auto",
        }
        why = next((reason for reason, holds in reasons.items() if holds), "")
        why = why or too_costly(summary.n_rows, self.features_.n_columns_, self._n_scores)
        alpha, alphas = self.alpha, list[Tried]()
        if self.rank is not None:
            losses = not_compared("logistic", "a rank is given")
        elif why or (why := too_few(splits := folds(sample := self._sample(summary)))):
            losses = not_compared("ridge", why)
        else:
            given = None if isinstance(alpha, str) else float(alpha)
            intercept = self.fit_intercept
            alpha, alphas = tune_alpha(
                "logistic",
                splits,
                self._n_scores,
                intercept=intercept,
                alpha=given,
                tolerance=max(1e-6, self._tolerance(summary)),
            )
            losses = compare_losses(
                min(trial.score for trial in alphas),
                splits,
                self._n_scores,
                alpha=given,
                intercept=intercept,
                signs=self.features_.signs_,
                whole=sample.complete,
            )
            alphas = alphas if given is None else []
        self.loss_ = next(str(trial.value) for trial in losses if trial.chosen)
        self.tuning_ = with_rows(self.tuning_, "loss", losses)
        return alpha, alphas

    def _tolerance(self, summary: Summary) -> float:
        """The tolerance of the descent: what the precision allows; rounding for small problems.

        Larger problems of loss="auto" stop when errors and log loss no longer change.
        """
        work = summary.n_rows * self.features_.n_columns_ * self._n_scores
        if self.loss == "auto" and self.rank is None and work > _SMALL_WORK:
            return AUTO_TOLERANCE
        if self._precision(summary.drawn.X) == np.float32:
            return 1e-7
        return 1e-18 if work <= _SMALL_WORK else 1e-9

    @available_if(_has_batches)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls, and solve again (p^3).

        The map is fitted on the first batch only; a call of `fit` in between starts over.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame (n, d)
        y : (n,) labels
        classes : the labels of all batches, given with the first; by default the labels of the
            first
        sample_weight : (n,) or None
        """
        self._fit(X, y, sample_weight, batch=True, classes=classes)
        return self

    def _begin(self, summary: Summary, classes: Any) -> None:
        check_classification_targets(summary.drawn.y)
        classes = summary.classes if classes is None else np.unique(classes)
        if len(classes) < 2:
            raise ValueError(
                f"classes of y or of classes=... are only {classes.tolist()}, of one class; a "
                f"classifier needs samples of at least 2 classes"
            )
        self.classes_ = classes
        self._n_scores = 1 if len(classes) == 2 else len(classes)
        self._factors = class_factors(self.class_weight, self.classes_, summary)
        self._fit_map(summary)

    def _encoded(self, block: Block) -> tuple[Any, Any]:
        labels = labels_of(block)
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        unknown = self.classes_[codes] != labels
        if block.weight is not None:
            unknown &= block.weight > 0
        if unknown.any():
            raise ValueError(
                f"the label {labels[unknown].tolist()[0]!r} is not among classes_, which the first "
                f"rows of an iterator decide; partial_fit(classes=...) takes them all beforehand"
            )
        weight = block.weight
        if self._factors is not None:
            factors = self._factors[codes]
            weight = factors if weight is None else weight * factors
        return codes, weight

    @property
    def _n_outputs(self) -> int:
        return self._n_scores

    @property
    def _single_score(self) -> bool:
        return self._n_scores == 1

    def _ridge_targets(self, y: Any) -> Floats:
        return indicators(y, self._n_scores)

    def _groups(self, drawn: SampledRows) -> Any:
        # All labels of one x are left out together, since the others would give the label away.
        return np.cumsum(np.append(False, drawn.keys[1:] != drawn.keys[:-1]))

    def _score(self, sample: Rows) -> Score:
        # The squared error wants scores of -1 or +1, while the accuracy only needs to separate the
        # classes, so the squared error chooses a larger penalty (benchmarks/training.py, MNIST).
        mass, n = sample.mass, _n_effective(sample)
        return lambda left_out: log_loss(left_out, sample.y, mass, n)

    def _finish(self, sums: NormalSums, sample: Rows, distinct_share: float, *, copy: bool) -> None:
        fit = self._solve(sums, sample, distinct_share, copy=copy)
        self.coef_, self.intercept_ = np.ascontiguousarray(fit.coefficients.T), fit.intercept
        rows = sample.targets(self._ridge_targets(sample.y))
        self._slope = fit_slope(fit.left_out(rows), sample.y, sample.mass, _n_effective(sample))
        self._keep_ridge_posterior(fit, rows)

    def _set_iterated(self, fit: IterativeFit, held_out: HeldOut) -> None:
        self.coef_, self.intercept_ = np.ascontiguousarray(fit.coefficients.T), fit.intercept
        rows = held_out.rows
        self._slope = fit_slope(fit.left_out, rows.y, rows.mass, _n_effective(rows))

    @lazily
    @on_one_thread
    def decision_function(self, X: Any) -> Floats:
        """Scores, (n,) for two classes, else (n, classes); the largest wins."""
        check_is_fitted(self)
        scores = self._scores(X)
        return scores[:, 0] if self._n_scores == 1 else scores

    @lazily
    @on_one_thread
    def predict(self, X: Any) -> Any:
        """The class of each row, (n,)."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    @lazily
    @on_one_thread
    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, (n, classes), in the order of `classes_`."""
        check_is_fitted(self)
        return probabilities(self._scores(X), self.slope or 1.0)

    @property
    def slope(self) -> float | None:
        """The factor of scores before the softmax of `predict_proba`; None without a softmax."""
        check_is_fitted(self)
        if self.loss_ == "squared_hinge":
            return None
        return self._slope if self.loss_ == "ridge" else 1.0


def _n_effective(sample: Rows) -> float:
    """The effective number of distinct x in a sample (Kish, 1965)."""
    if sample.counts:
        return float(sample.mass.sum())
    weight_of_x: Floats = np.bincount(sample.group, sample.mass).astype(float)
    return len(weight_of_x) * effective_share(weight_of_x)
