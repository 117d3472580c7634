"""Gradients of fitted models with respect to the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats, Matrix
from ..data.blocks import Block
from ..maps.base import FeatureMap
from ..numerics.blas import on_one_thread
from .ridge_sums import narrowed

_WORK = 2e9  # limit of rows x columns x features x scores, for the gradients of importances
_IMPORTANCE_ROWS = (16, 500)  # fewest and most rows


class DifferentiableModel(ABC):
    """The method of a model that differentiates its scores with respect to the rows."""

    features_: FeatureMap
    coef_: Floats
    n_features_in_: int
    feature_importances_: Floats

    @property
    @abstractmethod
    def _single_score(self) -> bool:
        """Whether scores are (n,), not (n, t)."""

    @abstractmethod
    def _predicted_rows(self, X: Any) -> Iterator[Block]:
        """X in blocks, after the checks of `predict`."""

    @abstractmethod
    def _precision(self, X: Matrix) -> Any:
        """The dtype of the features of these rows."""

    @abstractmethod
    def _of_input_columns(self, importances: Floats) -> Floats:
        """Importances of the columns of X, from those of the columns of the map."""

    @on_one_thread
    def gradient(self, X: Any) -> Floats:
        """The gradient of the model with respect to x at every row of X, in closed form.

        Of `predict` for a regressor, of `decision_function` for a classifier. It shows which
        columns matter where; the mean of its outer products shows which directions matter. For a
        table with text, dates or gaps it is with respect to the columns of `encoder_`.

        Parameters
        ----------
        X : array, CSR matrix, DataFrame; a path; or blocks

        Returns
        -------
        array (n, d), or (n, t, d) for several targets, or t > 2 classes

        Examples
        --------
        >>> from quadfeat import KernelRegressor
        >>> X = np.linspace(-3, 3, 200)[:, None]
        >>> model = KernelRegressor().fit(X, np.sin(X[:, 0]))
        >>> model.gradient([[0.0], [1.0]]).round(3)  # the cosine
        array([[1.  ],
               [0.54]])
        """
        check_is_fitted(self)
        W = np.atleast_2d(self.coef_).T
        parts = [np.empty((0, W.shape[1], self.features_.n_features_in_))]
        for block in self._predicted_rows(X):
            dtype = self._precision(block.X)
            unit = narrowed(W, dtype)[1]
            out = np.empty((len(block), *parts[0].shape[1:]), dtype=dtype)
            self.features_.write_gradient(block.X, W / unit, out)
            parts.append(out * np.reshape(unit, (-1, 1)))
        gradient = np.concatenate(parts)
        return gradient[:, 0] if self._single_score else gradient

    def _set_importances(self, X: Matrix) -> None:
        """Set `feature_importances_`, from gradients at some rows of X.

        The root mean square of the gradient over rows and scores, times the deviation of the
        column. With a user-defined map without gradients a model has no importances.
        """
        self.__dict__.pop("feature_importances_", None)
        W = np.atleast_2d(self.coef_).T
        d = self.features_.n_features_in_
        rows = int(np.clip(_WORK // (W.size * d), *_IMPORTANCE_ROWS))
        some = np.asarray(X[:rows], dtype=np.float64)
        gradient = np.empty((len(some), W.shape[1], d))
        try:
            self.features_.write_gradient(some, W / (np.abs(W).max() or 1.0), gradient)
        except NotImplementedError:
            return
        moves = np.sqrt(np.mean(gradient**2, axis=(0, 1))) * np.std(X, axis=0, dtype=np.float64)
        self.feature_importances_ = self._of_input_columns(moves / (moves.sum() or 1.0))
