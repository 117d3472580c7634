"""Models: regressors and classifiers on features that stream through.

Rows come in blocks, and what a fit needs of them is summed: the feature matrix is never held.
"""

from .base import DTYPES
from .classifier import KernelClassifier
from .descent import Curvature, fit_loss
from .losses import indicators
from .regressor import KernelRegressor
from .ridge import Posterior, fit_ridge
from .ridge_sums import NormalSums, RidgeSystem
from .stream import Rows
from .tuning import Tried

__all__ = [
    "DTYPES",
    "Curvature",
    "KernelClassifier",
    "KernelRegressor",
    "NormalSums",
    "Posterior",
    "RidgeSystem",
    "Rows",
    "Tried",
    "fit_loss",
    "fit_ridge",
    "indicators",
]
