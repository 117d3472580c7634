"""The kernel of Figs. 2b and 2c, the rows it is measured on, and the error of a map there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._typing import Floats
from ...kernels.stationary import Gaussian
from ...kernels.subsets import Anova
from ...maps.base import FeatureMap
from ..datasets import Data
from .front_end import Projection
from .utterances import rows, select

N_SUBSETS, SUBSET_SIZE = 50, 5
_HELD_OUT = 1000  # frames


class SpeechRows(NamedTuple):
    """Frames to fit maps on, and others of speakers that no map has seen."""

    kernel: Anova
    train: Floats
    held_out: Floats
    gram: Floats  # of held_out, over k(0)


def speech_kernel(bandwidth: float, X: Floats) -> Anova:
    """The paper's ANOVA kernel for speech; the bandwidth is a multiple of the median distance."""
    median = Anova.random(X.shape[1], N_SUBSETS, SUBSET_SIZE, 0, base=Gaussian("median")).resolve(X)
    return Anova(Gaussian(median.base.gamma / bandwidth**2), median.subsets)


def speech_rows(data: Data) -> SpeechRows:
    """The training speakers' frames and 1000 frames of the others, as linear discriminants."""
    utterances = data.speech()
    training = select(utterances, "train")
    project = Projection.fit(training)
    frames, _ = rows(training, project)
    others, _ = rows(select(utterances, "dev", "test"), project)
    rng = np.random.default_rng(0)
    held_out = others[rng.choice(len(others), _HELD_OUT, replace=False)].astype(np.float64)
    train = frames.astype(np.float64)
    kernel = speech_kernel(1.0, train)
    return SpeechRows(kernel, train, held_out, kernel(held_out) / N_SUBSETS)


def rms_error(rows: SpeechRows, features: FeatureMap) -> float:
    """The RMS error of a fitted map on all pairs of held-out frames, relative to k(0)."""
    error = features.approximate_kernel(rows.held_out) / N_SUBSETS - rows.gram
    return float(np.sqrt(np.mean(error[np.triu_indices(len(error), 1)] ** 2)))
