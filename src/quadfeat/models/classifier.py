"""`KernelClassifier`."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._checks import check_choice, check_count
from .._typing import Floats
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.dask_source import AnySource
from ..data.sampling import SampledRows
from ..data.summary import Summary, effective_share, labels_of
from ..maps.base import FeatureMap
from ..numerics.blas import on_one_thread
from .base import KernelModel
from .calibration import fit_slope, log_loss, probabilities
from .cluster import lazily
from .descent import Objective, fit_loss, tune_alpha
from .losses import Weights, indicators
from .ridge import Score
from .ridge_sums import NormalSums
from .stream import Rows

_SMALL_WORK = 1e7  # multiply-adds per pass up to which a descent runs down to rounding


def _ridge_only(model: Any) -> bool:
    if model.loss != "ridge":
        raise AttributeError(f"partial_fit needs loss='ridge', got {model.loss!r}")
    return True


def _has_probabilities(model: Any) -> bool:
    if model.loss == "squared_hinge":
        raise AttributeError(
            "predict_proba needs loss='logistic' or 'ridge'; the squared hinge has no probabilities"
        )
    return True


class KernelClassifier(ClassifierMixin, KernelModel):
    """A kernel classifier at linear cost, on more rows than memory.

    Parameters
    ----------
    features : FeatureMap, default KernelFeatures()
        As for `KernelRegressor`.
    loss : "ridge", "squared_hinge" or "logistic"
        "ridge": least squares on -1 and +1, one class against the rest, in closed form.
        "squared_hinge": the linear SVM, one class against the rest. "logistic": multinomial.
        The last two take some tens of passes of L-BFGS; features of up to a gigabyte are cached
        between them.
    rank : int or None
        With "logistic": the weight matrix is U V' of this rank, for many classes. The penalty is
        still alpha / 2 |U V'|^2.
    alpha : float, sequence of floats (ridge only), or "auto"
        Ridge minimises sum w (y - f)^2 + alpha |v|^2, the others sum w loss + alpha / 2 |v|^2
        (alpha = 1 / C). "auto" takes the lowest log loss: for ridge the leave-one-out loss of a
        sample, for the others that of validation rows of a sample.
    class_weight : dict, "balanced" or None
    fit_intercept : bool
    dtype : "float32", "float64" or None
        As for `KernelRegressor`.
    checkpoint : path or None
        As for `KernelRegressor`.
    checkpoint_interval : float, minimum seconds between writes
    verbose : bool, whether to show progress on stderr

    Attributes
    ----------
    classes_ : array (n_classes,), sorted labels
    features_ : FeatureMap, fitted, with p columns
    coef_ : array (1, p) for two classes, else (n_classes, p)
    intercept_ : array (1,) for two classes, else (n_classes,)
    alpha_ : float, the penalty, given or chosen
    tuning_ : list of Tried
        Each value of the bandwidth and of alpha that was tried, as for `KernelRegressor`.
    n_passes_ : int, passes over the data of L-BFGS; not for loss="ridge"
    n_features_in_ : int, columns of X
    feature_names_in_ : array of str (n_features_in_,), only if the columns of X have names

    Notes
    -----
    Ridge scores become probabilities by a softmax whose temperature is fitted to the leave-one-out
    scores of a sample.

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
        loss: str = "ridge",
        rank: int | None = None,
        alpha: Any = "auto",
        class_weight: Any = None,
        fit_intercept: bool = True,
        dtype: str | None = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        verbose: bool = False,
    ) -> None:
        self.features = features
        self.loss = loss
        self.rank = rank
        self.alpha = alpha
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.dtype = dtype
        self.checkpoint = checkpoint
        self.checkpoint_interval = checkpoint_interval
        self.verbose = verbose

    _learns_labels: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        check_choice("loss", self.loss, ("ridge", "squared_hinge", "logistic"))
        if self.rank is not None:
            check_count("rank", self.rank, example=50)
            if self.loss != "logistic":
                raise ValueError(f"rank={self.rank} needs loss='logistic', got {self.loss!r}")
        if self.loss != "ridge" and np.ndim(self.alpha) > 0:
            raise ValueError(
                f"a path of alphas needs loss='ridge', got {self.loss!r}; give one alpha or 'auto'"
            )

    def _checked_target(self, y: Any) -> Any:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to arrays, a file or a stream of blocks.

        Parameters
        ----------
        X : array, CSR matrix, memory map, DataFrame; a path; blocks (X, y) or (X, y, weight); or a
            Dask array or DataFrame, whose partitions are summed on their workers
        y : (n,) labels; for a file the name of its column
        sample_weight : (n,) or None; for a file the name of its column
        """
        self._fit(X, y, sample_weight).remove()
        return self

    def _fit_rows(
        self, data: AnySource, summary: Summary, checkpoint: Checkpoint, *, batch: bool
    ) -> None:
        if self.loss == "ridge":
            super()._fit_rows(data, summary, checkpoint, batch=batch)
            return
        alpha = self.alpha
        if isinstance(alpha, str):
            alpha, tried = tune_alpha(
                self.loss, self._sample(summary), self._n_scores, intercept=self.fit_intercept
            )
            self.tuning_ += tried
        self.alpha_ = float(alpha)
        weights = Weights(
            self.features_.n_columns_,
            self._n_scores,
            rank=self.rank,
            intercept=self.fit_intercept,
        )
        W, b, self.n_passes_ = fit_loss(
            Objective(self.loss, weights, self.alpha_),
            self._stream(data, summary, self._encoded, keep=True),
            checkpoint,
            tolerance=self._tolerance(summary),
        )
        self.coef_, self.intercept_ = np.ascontiguousarray(W.T), b

    def _tolerance(self, summary: Summary) -> float:
        """As close to the minimum as the precision allows; for small problems down to rounding."""
        if self._precision(summary.drawn.X) == np.float32:
            return 1e-7
        work = summary.n_rows * self.features_.n_columns_ * self._n_scores
        return 1e-18 if work <= _SMALL_WORK else 1e-9

    @available_if(_ridge_only)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls, and solve again (p^3).

        The map is fitted on the first batch only; a call of `fit` in between starts over.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame (n, d)
        y : (n,) labels
        classes : all labels of all batches, given with the first; by default the labels in it
        sample_weight : (n,) or None
        """
        self._fit(X, y, sample_weight, batch=True, classes=classes)
        return self

    def _begin(self, summary: Summary, classes: Any) -> None:
        check_classification_targets(summary.drawn.y)
        classes = summary.classes if classes is None else np.unique(classes)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes.tolist()[0]!r}; a classifier needs samples of at "
                f"least 2 classes"
            )
        self.classes_ = classes
        self._n_scores = 1 if len(classes) == 2 else len(classes)
        self._factors = self._class_factors(summary)
        self._fit_map(summary)

    def _class_factors(self, summary: Summary) -> Floats | None:
        """The factor of the row weights of each class, (n_classes,)."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced",))
            totals = dict(zip(summary.classes.tolist(), summary.class_weights, strict=True))
            weight = np.array([totals.get(name, 0.0) for name in self.classes_.tolist()])
            share = weight * np.count_nonzero(weight) / weight.sum()
            return np.divide(1.0, share, out=np.ones_like(share), where=share > 0)
        factors = np.asarray(
            compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_),
            dtype=np.float64,
        )
        for name, factor in zip(self.classes_.tolist(), factors.tolist(), strict=True):
            if not 0 <= factor < np.inf:
                raise ValueError(
                    f"class_weight of {name!r} must be a number such as 2.0, not below 0, got "
                    f"{factor:g}"
                )
        if not factors.any():
            raise ValueError(
                f"class_weight={self.class_weight!r} gives every class of y the weight 0; give one "
                f"of them a weight such as 1.0"
            )
        return factors

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

    def _ridge_targets(self, y: Any) -> Floats:
        return indicators(y, self._n_scores)

    def _groups(self, drawn: SampledRows) -> Any:
        # All labels of one x are left out together, since the others would give the label away.
        return np.cumsum(np.append(False, drawn.keys[1:] != drawn.keys[:-1]))

    def _score(self, sample: Rows) -> Score:
        # The squared error wants scores of -1 or +1, the accuracy only that classes are told apart,
        # so the squared error chooses a larger penalty (benchmarks/training.py, MNIST).
        mass, n = sample.mass, _n_effective(sample)
        return lambda left_out: log_loss(left_out, sample.y, mass, n)

    def _finish(self, sums: NormalSums, sample: Rows, distinct_share: float, *, copy: bool) -> None:
        fit = self._solve(sums, sample, distinct_share, copy=copy)
        self.coef_, self.intercept_ = np.ascontiguousarray(fit.coefficients.T), fit.intercept
        left_out = fit.left_out(sample.targets(self._ridge_targets(sample.y)))
        self._slope = fit_slope(left_out, sample.y, sample.mass, _n_effective(sample))

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
        scores = self._scores(X)
        return probabilities(scores, self._slope if self.loss == "ridge" else 1.0)


def _n_effective(sample: Rows) -> float:
    """The effective number of distinct x in a sample (Kish, 1965)."""
    if sample.counts:
        return float(sample.mass.sum())
    weight_of_x: Floats = np.bincount(sample.group, sample.mass).astype(float)
    return len(weight_of_x) * effective_share(weight_of_x)
