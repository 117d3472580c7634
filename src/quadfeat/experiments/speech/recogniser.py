"""A recogniser's task: rows to train a model of states, and utterances to recognise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

from ..._typing import Floats, Matrix
from ...data.checkpoint import Checkpoint
from ...maps.base import FeatureMap
from ...models.descent import Objective, fit_loss
from ...models.losses import Weights
from ...models.stream import Rows
from .decoding import PhoneModel, decode, edit_distance
from .front_end import Projection, stack
from .utterances import FOLD39, N_STATES, PHONES48, Frames, Labels, Utterance, rows

_LEAST = (
    1e-8  # probability of a state, so that paths through states without training rows are possible
)


@dataclass(frozen=True)
class Task:
    """Rows to learn states from, and utterances of other speakers to recognise."""

    inputs: Callable[[Utterance], Frames]
    X: Frames
    y: Labels
    unseen: list[Utterance]
    phones: PhoneModel
    log_prior: Floats  # (states,)

    @classmethod
    def build(
        cls,
        training: list[Utterance],
        unseen: list[Utterance],
        *,
        stacked: bool = False,
        every: int = 1,
    ) -> Task:
        """Train on some utterances and recognise others.

        The inputs are linear discriminants, fitted only on all frames of `training`, or with
        `stacked` the eleven frames themselves. Models are trained on every `every`-th frame.
        """
        inputs = _stacked if stacked else Projection.fit(training)
        X, y = rows(training, inputs)
        counts = np.bincount(y, minlength=N_STATES) + 0.5
        return cls(
            inputs=inputs,
            X=np.ascontiguousarray(X[::every]),
            y=y[::every],
            unseen=unseen,
            phones=PhoneModel.fit(
                [u.spoken48 for u in training], [u.state for u in training], len(PHONES48)
            ),
            log_prior=np.log(counts / counts.sum()),
        )

    @cached_property
    def X_unseen(self) -> Frames:
        """The inputs of all frames of the unseen utterances."""
        return np.concatenate([self.inputs(u) for u in self.unseen])

    def log_posteriors(self, probabilities: Matrix, classes: Labels) -> list[Floats]:
        """Log probabilities of the states of each unseen utterance, (frames, states).

        `probabilities` has a column for each state of `classes`; the other states get the smallest
        probability.
        """
        logs = np.full((len(probabilities), N_STATES), np.log(_LEAST))
        logs[:, classes] = np.log(np.maximum(probabilities, _LEAST))
        return np.split(logs, np.cumsum([len(u.phone) for u in self.unseen])[:-1])

    def cross_entropy(self, posteriors: Sequence[Floats]) -> float:
        """Mean -log probability of the true state, over the frames that have one."""
        states = np.concatenate([u.state for u in self.unseen])
        known = states >= 0
        return float(-np.concatenate(posteriors)[known, states[known]].mean())

    def phone_errors(
        self, posteriors: Sequence[Floats], *, bigram_weight: float, prior_weight: float
    ) -> list[int]:
        """Edit distance of the 39 folded phones of each unseen utterance, silence included.

        A frame's score is its log posterior minus `prior_weight` times the log prior.
        """
        prior = prior_weight * self.log_prior
        return [
            edit_distance(u.spoken39, FOLD39[decode(logs - prior, self.phones, bigram_weight)])
            for u, logs in zip(self.unseen, posteriors, strict=True)
        ]

    def phone_counts(self) -> list[int]:
        return [len(u.spoken39) for u in self.unseen]


def _stacked(utterance: Utterance) -> Frames:
    return stack(utterance.frames)


@dataclass(frozen=True)
class StateFeatures:
    """Features of a task, computed once for models of any penalty."""

    task: Task
    train: Matrix
    unseen: Matrix

    @classmethod
    def fit(cls, task: Task, features: FeatureMap) -> StateFeatures:
        features = features.fit(task.X)
        return cls(task, features.transform(task.X), features.transform(task.X_unseen))

    def log_posteriors(self, *, alpha: float, rank: int | None, tolerance: float) -> list[Floats]:
        """Log posteriors of a multinomial logistic model: loss of all rows + alpha / 2 |W|^2."""
        classes, codes = np.unique(self.task.y, return_inverse=True)
        weights = Weights(self.train.shape[1], len(classes), rank=rank, intercept=True)
        W, b, _ = fit_loss(
            Objective("logistic", weights, alpha),
            Rows(self.train, codes, None),
            Checkpoint.none(),
            tolerance=tolerance,
        )
        scores = self.unseen @ W.astype(self.unseen.dtype) + b
        return self.task.log_posteriors(softmax(scores, axis=1), classes)
