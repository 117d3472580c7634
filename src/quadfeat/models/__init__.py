"""Models: regressors and classifiers on features that stream through.

The one rule: rows come in blocks and are added to sums; the feature matrix of all rows is never
held.

- `regressor`: `KernelRegressor`; `classifier`: `KernelClassifier`
- `base`: `KernelModel`, the base of both: data in, the map, one path for `fit` and `partial_fit`
- `encoding`: `EncodedModel`, tables with text, dates and gaps; `parameters`: checks of both models;
  `class_weights`: the factor of each class
- `stream`: rows to features to sums, with checkpoints; `Rows`, features of rows in memory
- `cluster`: the same on Dask workers, and lazy predictions
- `ridge_sums`: `NormalSums`, Z'WZ and Z'WY, and the `RidgeSystem` to solve
- `ridge`: choice of the penalty, coefficients, noise, posterior
- `solver`: products or transforms; `toeplitz_sums`: `ToeplitzSums`, by non-uniform FFTs;
  `toeplitz`: their solution by conjugate gradients; `prediction_bound`: the distance to predictions
  of the exact kernel
- `wide`: `WideModel`, fits that do not form the gram; `iterative`: their block conjugate gradients,
  with a pass over the rows per step; `iterative_sums`: `TargetSums` and `ImageSums`, the sums of a
  pass
- `ridge_path`: `RidgePath`, all penalties from one factorisation
- `losses`: squared hinge and logistic loss, summed with their gradients
- `descent`: their fits by L-BFGS, and the choice of their penalty
- `validation`: `Split`, a sample as training and validation rows; `loss_choice`: ridge or logistic
- `tuning`: penalties to try, and which one is best; `Tried`, a value and its score; `Tuning`, a
  table of them
- `kernel_learning`: choice of the kernel; `contenders`: what each family learns from targets;
  `kernel_validation`: errors of kernels on rows that they were not learned from; `sample`: the rows
  for all of this
- `map_choice`: whether landmarks are worth their cost per row, for fits of many rows
- `subset_choice`: the subsets of an ANOVA kernel, with entries of `tuning_` and warnings
- `effects`: a model as a sum of functions of few columns; `spline_parts`: splines for the part that
  fewer columns explain; `score_bands`: posterior deviations of the effects of classifiers
- `centring`: columns that lie far from 0
- `calibration`: scores to probabilities; `derivatives`: gradients by the rows
"""

from .base import DTYPES, fit_keeping_checkpoint
from .classifier import KernelClassifier
from .descent import Curvature, Objective, fit_loss
from .effects import EffectsSummary
from .losses import Weights, indicators
from .prediction_bound import PredictionBound
from .regressor import KernelRegressor
from .ridge import Posterior, fit_ridge
from .ridge_sums import NormalSums, RidgeSystem
from .stream import Rows
from .toeplitz_sums import ToeplitzSums
from .tuning import Tried, Tuning

__all__ = [
    "DTYPES",
    "Curvature",
    "EffectsSummary",
    "KernelClassifier",
    "KernelRegressor",
    "NormalSums",
    "Objective",
    "Posterior",
    "PredictionBound",
    "RidgeSystem",
    "Rows",
    "ToeplitzSums",
    "Tried",
    "Tuning",
    "Weights",
    "fit_keeping_checkpoint",
    "fit_loss",
    "fit_ridge",
    "indicators",
]
