"""The search finds the best path, and errors are counted by edit distance."""

import itertools

import numpy as np
import pytest

from quadfeat.experiments.speech.decoding import PhoneModel, decode, edit_distance


def best_by_trying_all(scores, model, weight):
    """The slow twin: every way to label the frames, and every way to cut the labels."""
    n, phones = len(scores), len(model.start)
    best = (-np.inf, [])
    for states in itertools.product(range(3 * phones), repeat=n):
        for entered in itertools.product([False, True], repeat=n - 1):
            p, i = divmod(states[0], 3)
            found = [p]
            total = weight * model.start[p] + model.enter[p, i] + scores[0, states[0]]
            for t, new in enumerate(entered, start=1):
                q, j = divmod(states[t], 3)
                if new:
                    total += model.leave[p, i] + weight * model.follow[p, q] + model.enter[q, j]
                    found.append(q)
                else:
                    total += model.within[p, i, j] if p == q else -np.inf
                total += scores[t, states[t]]
                p, i = q, j
            total += model.leave[p, i] + weight * model.end[p]
            best = max(best, (total, found))
    return best[1]


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_best_of_all_paths(seed):
    rng = np.random.default_rng(seed)
    spoken = [rng.integers(2, size=5) for _ in range(4)]
    states = [3 * np.repeat(phones, 3) + np.tile([0, 1, 2], 5) for phones in spoken]
    model = PhoneModel.fit(spoken, states, 2)
    scores = 2 * rng.normal(size=(4, 6))
    found = decode(scores, model, weight=1.5)
    assert found.tolist() == best_by_trying_all(scores, model, 1.5)


def test_the_phone_model_is_made_of_probabilities():
    spoken = [np.array([0, 1, 2, 0]), np.array([2, 2])]
    states = [np.array([0, 1, 2, 3, 5, 8, -1, 0]), np.array([6, 7, 8, 6])]
    model = PhoneModel.fit(spoken, states, 3)
    ends = np.append(np.exp(model.follow).sum(axis=1) + np.exp(model.end), 0)[:3]
    np.testing.assert_allclose(ends, 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.enter).sum(axis=1), 1, rtol=1e-14)
    moves = np.exp(model.within).sum(axis=2) + np.exp(model.leave)
    np.testing.assert_allclose(moves, 1, rtol=1e-14)
    assert np.isneginf(model.within[:, 2, 0]).all()  # never from right to left


def slow_distance(a, b):
    if not len(a) or not len(b):
        return len(a) + len(b)
    return min(
        slow_distance(a[1:], b) + 1,
        slow_distance(a, b[1:]) + 1,
        slow_distance(a[1:], b[1:]) + (a[0] != b[0]),
    )


def test_edit_distance_is_a_metric_and_agrees_with_its_definition(rng):
    words = [rng.integers(3, size=n).tolist() for n in (0, 1, 3, 5, 5, 6)]
    for a, b in itertools.product(words, repeat=2):
        assert edit_distance(a, b) == slow_distance(a, b) == edit_distance(b, a)
        assert (edit_distance(a, b) == 0) == (a == b)
    for a, b, c in itertools.product(words, repeat=3):
        assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
