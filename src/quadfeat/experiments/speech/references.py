"""Reference levels of a recogniser: models of states on the stacked inputs, without a kernel.

Each is trained twice, for the development speakers (on whom the decoding weights are chosen) and
for the test speakers, and returns the log posteriors of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from ..._typing import Floats, Matrix
from .recogniser import StateFeatures, Task

LINEAR, NETWORK = "linear, 440 inputs", "network, 512 units"
_LINEAR_PENALTY = 100.0  # alpha / 2 |W|^2 is added to the loss of all rows
_PATIENCE = 3  # epochs of the network beyond its best


def _linear(development: Task, final: Task) -> tuple[list[Floats], list[Floats]]:
    """The logistic model of the maps, without a limit of rank, on the standardised inputs."""

    def fitted(task: Task) -> list[Floats]:
        inputs = StateFeatures(task, *_scaled(task))
        return inputs.log_posteriors(alpha=_LINEAR_PENALTY, rank=None, tolerance=1e-5)

    return fitted(development), fitted(final)


def _network(development: Task, final: Task) -> tuple[list[Floats], list[Floats]]:
    """Trained for the number of epochs that predicts the states of development speakers best.

    Random held-out frames would not work: their neighbours are training rows.
    """
    entropies, tried = [], []
    for posteriors in _epochs(development):
        tried.append(posteriors)
        entropies.append(development.cross_entropy(posteriors))
        if len(tried) >= int(np.argmin(entropies)) + 1 + _PATIENCE:
            break
    best = int(np.argmin(entropies))
    return tried[best], next(islice(_epochs(final), best, None))


def _epochs(task: Task) -> Iterator[list[Floats]]:
    """Log posteriors after each pass of a network over the rows, without end."""
    X, unseen = _scaled(task)
    model = MLPClassifier((512,), random_state=0)
    while True:
        model.partial_fit(X, task.y, classes=np.unique(task.y))
        yield task.log_posteriors(model.predict_proba(unseen), model.classes_)


def _scaled(task: Task) -> tuple[Matrix, Matrix]:
    """Training and unseen inputs, scaled to mean 0 and variance 1 on the training rows."""
    scaler = StandardScaler().fit(task.X)
    return scaler.transform(task.X), scaler.transform(task.X_unseen)


REFERENCES = {LINEAR: _linear, NETWORK: _network}
