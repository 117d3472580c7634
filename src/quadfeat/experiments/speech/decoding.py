"""From the probabilities of states to phones: a bigram, a Viterbi search, and the edit distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._typing import Floats

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PhoneModel:
    """Which phone follows which, and how long each stays in its three states; log probabilities.

    The three states follow each other; states may be skipped, since one phone in eight is shorter
    than three frames.
    """

    start: Floats  # (phones,) of the first phone
    follow: Floats  # (phones, phones) of the next phone, given this one
    end: Floats  # (phones,) of being the last phone
    enter: Floats  # (phones, 3)
    within: Floats  # (phones, 3, 3) from, to
    leave: Floats  # (phones, 3)

    @classmethod
    def fit(
        cls,
        spoken: Iterable[Labels],
        states: Iterable[Labels],
        n_phones: int,
        *,
        smoothing: float = 0.5,
    ) -> PhoneModel:
        """Counts with `smoothing` added to each.

        Parameters
        ----------
        spoken : the phones of each utterance
        states : the states 3 * phone + third of the frames of each utterance; -1 where unknown
        """
        bigrams = np.full((n_phones + 1, n_phones + 1), smoothing)  # the last is silence outside
        for phones in spoken:
            np.add.at(bigrams, (np.append(n_phones, phones), np.append(phones, n_phones)), 1)
        enter = np.full((n_phones, 3), smoothing)
        moves = np.full((n_phones, 3, 4), smoothing)  # to the three states, or out
        moves[:, [1, 2, 2], [0, 0, 1]] = 0.0
        for labels in states:
            _count_moves(labels, enter, moves)
        with np.errstate(divide="ignore"):
            follow = np.log(bigrams / bigrams.sum(axis=1, keepdims=True))
            moves = np.log(moves / moves.sum(axis=2, keepdims=True))
        return cls(
            start=follow[-1, :-1],
            follow=follow[:-1, :-1],
            end=follow[:-1, -1],
            enter=np.log(enter / enter.sum(axis=1, keepdims=True)),
            within=moves[:, :, :3],
            leave=moves[:, :, 3],
        )


def _count_moves(labels: Labels, enter: Floats, moves: Floats) -> None:
    """Add the entries, steps and exits of one utterance; none are counted across unknown frames."""
    phone, third = labels // 3, labels % 3
    known = labels >= 0
    same = (phone[1:] == phone[:-1]) & (third[1:] >= third[:-1]) & known[1:] & known[:-1]
    out = ~same & known[:-1]
    new = ~same & known[1:]
    np.add.at(moves, (phone[:-1][same], third[:-1][same], third[1:][same]), 1)
    np.add.at(moves, (phone[:-1][out], third[:-1][out], 3), 1)
    np.add.at(enter, (phone[1:][new], third[1:][new]), 1)


def decode(scores: Floats, model: PhoneModel, weight: float) -> Labels:
    """The phones of the best path through an utterance.

    The path maximises the sum of `scores` along it plus `weight` times the log probability of its
    phones, plus that of the times it stays in their states.

    Parameters
    ----------
    scores : (n, 3 * phones), one for each frame and state, in the order 3 * phone + third
    """
    n, phones = len(scores), len(model.start)
    scores = scores.reshape(n, phones, 3)
    follow, every = weight * model.follow, np.arange(phones)
    best = weight * model.start[:, None] + model.enter + scores[0]
    # For each frame, phone and state: the state before it (0-2), or 3 where the phone was entered;
    # and for each phone, the phone and the state it was entered from.
    came = np.empty((n, phones, 3), dtype=np.int8)
    before = np.empty((n, phones), dtype=np.int16)
    last = np.empty((n, phones), dtype=np.int8)
    for t in range(1, n):
        leaving = best + model.leave
        last[t] = leaving.argmax(axis=1)
        arriving = leaving[every, last[t]][:, None] + follow
        before[t] = arriving.argmax(axis=0)
        entered = arriving[before[t], every][:, None] + model.enter
        options = np.concatenate([best[:, :, None] + model.within, entered[:, None, :]], axis=1)
        came[t] = options.argmax(axis=1)
        best = options.max(axis=1) + scores[t]
    final = best + model.leave + weight * model.end[:, None]
    phone, third = np.unravel_index(final.argmax(), final.shape)
    path = [phone]
    for t in range(n - 1, 0, -1):
        step = came[t, phone, third]
        if step == 3:
            phone = before[t, phone]
            third = last[t, phone]
            path.append(phone)
        else:
            third = step
    return np.array(path[::-1], dtype=np.int64)


def edit_distance(a: Sequence[int] | Labels, b: Sequence[int] | Labels) -> int:
    """The fewest insertions, deletions and substitutions that turn one sequence into the other.

    >>> edit_distance([1, 2, 3], [1, 3, 3, 4])
    2
    """
    right = np.asarray(b)
    ramp = np.arange(len(right) + 1)
    row = ramp
    for i, symbol in enumerate(a, start=1):
        change = np.minimum(row[1:] + 1, row[:-1] + (right != symbol))
        # Insertions run along the row: a running minimum, once their cost is taken off.
        row = np.minimum.accumulate(np.append(i, change) - ramp) + ramp
    return int(row[-1])
