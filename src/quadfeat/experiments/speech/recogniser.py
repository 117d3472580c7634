"""A recogniser's task: what a model of states learns from, and how its phones are judged."""

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
from . import corpus
from .corpus import FOLD39, N_STATES, PHONES48, Frames, Labels, Projection, Utterance
from .decoding import PhoneModel, decode, edit_distance

_LEAST = 1e-8  # probability of a state, so that one the model never saw can still be passed


@dataclass(frozen=True)
class Task:
    """Rows to learn states from, and utterances of other speakers to recognise."""

    inputs: Callable[[Utterance], Frames]
    X: Frames
    y: Labels
    judges: list[Utterance]
    phones: PhoneModel
    log_prior: Floats  # (states,)

    @classmethod
    def made(
        cls,
        learned: list[Utterance],
        judges: list[Utterance],
        *,
        stacked: bool = False,
        every: int = 1,
    ) -> Task:
        """Learn from some utterances and judge on others.

        The inputs are linear discriminants fitted on all frames that may be learned from, and on
        nothing else, or with `stacked` the eleven frames as they are. A model learns from one of
        `every` so many frames.
        """
        inputs = _stacked if stacked else Projection.fit(learned)
        X, y = corpus.rows(learned, inputs)
        counts = np.bincount(y, minlength=N_STATES) + 0.5
        return cls(
            inputs=inputs,
            X=np.ascontiguousarray(X[::every]),
            y=y[::every],
            judges=judges,
            phones=PhoneModel.fit(
                [u.spoken48 for u in learned], [u.state for u in learned], len(PHONES48)
            ),
            log_prior=np.log(counts / counts.sum()),
        )

    @cached_property
    def judged(self) -> Frames:
        """The inputs of all frames of the judges."""
        return np.concatenate([self.inputs(u) for u in self.judges])

    def log_posteriors(self, probabilities: Matrix, classes: Labels) -> list[Floats]:
        """Log probabilities of all states at each frame of each judge, of those of `classes`."""
        logs = np.full((len(probabilities), N_STATES), np.log(_LEAST))
        logs[:, classes] = np.log(np.maximum(probabilities, _LEAST))
        return np.split(logs, np.cumsum([len(u.phone) for u in self.judges])[:-1])

    def cross_entropy(self, posteriors: Sequence[Floats]) -> float:
        """Mean -log probability of the true state, over the frames that have one."""
        states = np.concatenate([u.state for u in self.judges])
        known = states >= 0
        return float(-np.concatenate(posteriors)[known, states[known]].mean())

    def phone_errors(
        self, posteriors: Sequence[Floats], *, bigram_weight: float, prior_weight: float
    ) -> list[int]:
        """Edit distance of each judge's 39 folded phones, silence included.

        A frame's score is its log posterior less `prior_weight` times the log prior.
        """
        prior = prior_weight * self.log_prior
        return [
            edit_distance(u.spoken39, FOLD39[decode(logs - prior, self.phones, bigram_weight)])
            for u, logs in zip(self.judges, posteriors, strict=True)
        ]

    def phone_counts(self) -> list[int]:
        return [len(u.spoken39) for u in self.judges]


def _stacked(utterance: Utterance) -> Frames:
    return corpus.stack(utterance.frames)


@dataclass(frozen=True)
class StateFeatures:
    """Features of a task, made once for models of any penalty."""

    task: Task
    learned: Matrix
    judged: Matrix

    @classmethod
    def made(cls, task: Task, features: FeatureMap) -> StateFeatures:
        features = features.fit(task.X)
        return cls(task, features.transform(task.X), features.transform(task.judged))

    def log_posteriors(self, *, alpha: float, rank: int | None, tolerance: float) -> list[Floats]:
        """Of a multinomial logistic model that minimises the loss of all rows + alpha / 2 |W|^2."""
        classes, codes = np.unique(self.task.y, return_inverse=True)
        weights = Weights(self.learned.shape[1], len(classes), rank=rank, intercept=True)
        W, b, _ = fit_loss(
            Objective("logistic", weights, alpha),
            Rows(self.learned, codes, None),
            Checkpoint.none(),
            tolerance=tolerance,
        )
        scores = self.judged @ W.astype(self.judged.dtype) + b
        return self.task.log_posteriors(softmax(scores, axis=1), classes)
