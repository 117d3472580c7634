"""Counts of work: a share that only grows, an honest time left, one screen at a time."""

import threading

import numpy as np
import pytest

from quadfeat._display import showing as module
from quadfeat._display.progress import progress, steps
from quadfeat._display.showing import showing
from quadfeat.data.blocks import Block


class Clock:
    """A clock that stands still until it is told to go on."""

    now = 0.0

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


class Recorder:
    """A screen that keeps what it is shown."""

    interval = 0.0

    def __init__(self):
        self.states, self.ends = [], []

    def show(self, state):
        self.states.append(state)

    def close(self, title, elapsed, *, finished):
        self.ends.append((title, elapsed, finished))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", clock)
    return clock


@pytest.fixture
def screen(monkeypatch):
    screen = Recorder()
    monkeypatch.setattr(module, "open_screen", lambda: screen)
    return screen


def test_nothing_is_shown_in_the_first_two_seconds(clock, screen):
    with showing("fit"), steps("work", 4) as step:
        for _ in range(4):
            clock.wait(0.49)
            step.done()
    assert screen.states == []


def test_equal_steps_have_an_exact_time_left(clock, screen):
    with showing("fit"), steps("work", 10) as step:
        for done in range(1, 11):
            clock.wait(3.0)
            step.done()
            state = screen.states[-1]
            assert state.share == pytest.approx(done / 10)
            assert state.left == pytest.approx(30 - 3 * done)
            assert state.elapsed == pytest.approx(3 * done)
    assert screen.ends == [("fit", 30.0, True)]


def test_steps_of_known_work_have_an_exact_time_left(clock, screen):
    works = [1.0, 5.0, 2.0]
    with showing("fit"), steps("work", works) as step:
        for i, work in enumerate(works):
            clock.wait(4 * work)
            step.done()
            assert screen.states[-1].left == pytest.approx(4 * sum(works[i + 1 :]))


def test_a_resumed_pass_counts_only_its_own_time(clock, screen):
    blocks = [Block(np.zeros((50, 2)))] * 2
    with showing("fit"):
        for _ in progress(iter(blocks), total=400, label="rows", done=300):
            clock.wait(5.0)
    state = screen.states[-1]
    assert (state.share, state.left) == (1.0, 0.0)
    first = screen.states[-2]
    assert first.left == pytest.approx(5.0)
    assert first.detail == "350 of 400 rows, 10/s"


def test_an_unknown_end_has_no_time_left(clock, screen):
    with showing("fit"):
        for _ in progress(iter([Block(np.zeros((50, 2)))] * 3), total=None, label="rows"):
            clock.wait(5.0)
    assert {(state.share, state.left) for state in screen.states} == {(None, None)}


def test_the_share_only_grows_whatever_is_counted_inside(clock, screen, rng):
    def work(depth):
        # Counts more or fewer steps than it has announced, as a search that stops early.
        announced = int(rng.integers(1, 5))
        with steps(f"level {depth}", announced) as step:
            for _ in range(int(rng.integers(1, 7))):
                clock.wait(float(rng.random()))
                if depth < 3 and rng.random() < 0.7:
                    work(depth + 1)
                step.done()

    with showing("fit"), steps("all", [3.0, 1.0, 2.0, 5.0]) as step:
        for _ in range(4):
            work(0)
            step.done()
    shares = [state.share for state in screen.states]
    assert len(shares) > 20
    assert {state.label for state in screen.states} == {"all"}
    assert all(0 <= share <= 1 for share in shares)
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] == 1.0


def test_steps_inside_of_a_step_are_a_share_of_it(clock, screen):
    with showing("fit"), steps("outer", 2) as outer, steps("inner", 4) as inner:
        clock.wait(3.0)
        inner.done()
        assert screen.states[-1].share == pytest.approx(1 / 8)
        outer.done()
        assert screen.states[-1].share == pytest.approx(5 / 8)


def test_while_the_end_of_the_whole_is_unknown_a_part_is_shown(clock, screen):
    with showing("fit"), steps("passes", None) as passes:
        with steps("rows", 4) as rows:
            clock.wait(3.0)
            rows.done()
        assert (screen.states[-1].label, screen.states[-1].share) == ("rows", 0.25)
        passes.reached(0.5)
        assert (screen.states[-1].label, screen.states[-1].share) == ("passes", 0.5)
        with steps("rows", 4) as rows:
            rows.done()
        assert (screen.states[-1].label, screen.states[-1].share) == ("passes", 0.5)


def test_a_fit_inside_of_a_fit_has_no_screen_of_its_own(clock, screen):
    with showing("model"), steps("work", 1) as step:
        with showing("map"), steps("part", 1) as part:
            clock.wait(3.0)
            part.done()
        step.done()
    assert {state.title for state in screen.states} == {"model"}
    assert [title for title, _, _ in screen.ends] == ["model"]


def test_a_silent_fit_silences_the_fits_inside(clock, screen):
    with showing("model", verbose=False), showing("map"), steps("part", 1) as part:
        clock.wait(9.0)
        part.done()
    assert screen.states == screen.ends == []


def test_counts_outside_of_a_fit_go_nowhere(clock, screen):
    with steps("work", 1) as step:
        clock.wait(9.0)
        step.done()
    assert screen.states == []


def test_one_thread_at_a_time_is_shown(clock, screen):
    def fit(title):
        with showing(title), steps("work", 2) as step:
            clock.wait(3.0)
            step.done()

    with showing("first"), steps("work", 2) as step:
        other = threading.Thread(target=fit, args=("second",))
        other.start()
        other.join()
        step.done()
    assert {state.title for state in screen.states} == {"first"}
    fit("third")
    assert screen.ends[-1][0] == "third"


def test_a_fit_that_fails_says_so_and_frees_the_screen(clock, screen):
    with pytest.raises(ValueError, match="bad"), showing("fit"), steps("work", 2) as step:
        clock.wait(3.0)
        step.done()
        raise ValueError("bad")
    assert screen.ends == [("fit", 3.0, False)]
    with showing("next"):
        pass
    assert screen.ends[-1][0] == "next"


def test_a_generator_that_is_left_alone_ends_with_the_steps_around_it(clock, screen):
    with showing("fit"):
        with steps("outer", 2) as outer:
            left = progress(iter([Block(np.zeros((1, 1)))] * 2), total=2, label="rows")
            next(left)
            clock.wait(3.0)
            outer.done()
        with steps("next", 2) as step:
            step.done()
    assert screen.states[-1].label == "next"
    left.close()
