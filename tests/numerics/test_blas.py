"""BLAS runs on one thread inside of fits, and on as many as before outside of them."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.linalg  # its BLAS must be loaded to be looked at
from threadpoolctl import ThreadpoolController

import quadfeat as qf
from quadfeat.app.training import TrainOptions, train
from quadfeat.models import ridge
from quadfeat.models.ridge_path import RidgePath
from quadfeat.models.ridge_sums import NormalSums
from quadfeat.numerics import blas
from quadfeat.numerics.blas import on_one_thread, one_thread, product, share
from quadfeat.numerics.factorisations import InPlaceCholesky

CONTROLLER = ThreadpoolController().select(user_api="blas")


def sizes():
    return [library.num_threads for library in CONTROLLER.lib_controllers]


@pytest.fixture(autouse=True)
def three_threads():
    """Pools of three, which no default of this machine or of the tests is likely to be."""
    assert sizes(), "no BLAS whose threads can be set"
    with CONTROLLER.limit(limits=3):
        assert set(sizes()) == {3}
        yield
        assert set(sizes()) == {3}


class Looking(qf.RandomFourier):
    """A map that notes the sizes of the pools while it is fitted and applied."""

    def _rules(self, X):
        seen.append(sizes())
        return super()._rules(X)

    def _evaluate(self, X, out):
        seen.append(sizes())
        super()._evaluate(X, out)


seen: list[list[int]] = []
X = np.random.default_rng(0).normal(size=(60, 3))
y = np.sin(X[:, 0])


@pytest.mark.parametrize(
    "work",
    [
        lambda: Looking(random_state=0).fit(X),
        lambda: Looking(random_state=0).fit(X).transform(X),
        lambda: Looking(random_state=0).fit(X).error(X),
        lambda: qf.KernelRegressor(Looking(qf.Gaussian(0.5))).fit(X, y),
        lambda: qf.KernelRegressor(Looking(qf.Gaussian(0.5))).partial_fit(X, y),
        lambda: qf.KernelRegressor(Looking()).fit(X, y).predict(X, return_std=True),
        lambda: qf.KernelClassifier(Looking()).fit(X, y > 0).predict(X),
        lambda: qf.KernelClassifier(Looking()).partial_fit(X, y > 0).predict_proba(X),
        lambda: qf.KernelClassifier(Looking(), loss="logistic").fit(X, y > 0).predict(X),
    ],
)
def test_fits_and_predictions_run_on_one_thread(work):
    seen.clear()
    work()
    assert seen and all(set(each) == {1} for each in seen)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_command_s_fits_run_on_one_thread(task, tmp_path, monkeypatch):
    class Path(RidgePath):
        def __init__(self, system):
            seen.append(sizes())
            super().__init__(system)

    monkeypatch.setattr(ridge, "RidgePath", Path)
    rows = np.column_stack([X, y if task == "regression" else y > 0])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,c,y", comments="")
    seen.clear()
    train(tmp_path / "rows.csv", TrainOptions("y", task=task, width=8, loss="ridge"))
    assert seen and all(set(each) == {1} for each in seen)


def test_regions_nest():
    with one_thread():
        with one_thread():
            assert set(sizes()) == {1}
        assert set(sizes()) == {1}


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_restores_what_was(kind):
    class Failing(qf.RandomFourier):
        def _rules(self, X):
            assert set(sizes()) == {1}
            raise kind("stop")

    with pytest.raises(kind):
        qf.KernelRegressor(Failing(qf.Gaussian(0.5))).fit(X, y)
    assert set(sizes()) == {3}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_an_interrupt_at_any_moment_restores_what_was():
    class Interrupt(Exception):
        pass

    def stop(*_):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for i in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + i % 30))
                for _ in range(100_000):
                    with one_thread():
                        pass
            except Interrupt:
                pass
            assert set(sizes()) == {3}
            with one_thread():
                assert set(sizes()) == {1}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_may_enter_and_leave_at_once():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            with one_thread():
                A = rng.normal(size=(20, 20))
                if set(sizes()) != {1}:
                    wrong.append(sizes())
                np.linalg.cholesky(A @ A.T + np.eye(20))
                scipy.linalg.cholesky(A @ A.T + np.eye(20))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert set(sizes()) == {3}


def test_models_of_many_threads_are_those_of_one():
    def fit():
        return qf.KernelRegressor(qf.HermiteMercer(n_components=64)).fit(X, y).predict(X)

    alone, found = fit(), [None] * 8
    threads = [
        threading.Thread(target=lambda i=i: found.__setitem__(i, fit())) for i in range(len(found))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in found:
        np.testing.assert_array_equal(each, alone)
    assert set(sizes()) == {3}


# What a forked child does, in a process of its own: a fork of the tests' would have their threads.
FORKED = """
import os, sys, threading
import numpy as np, scipy.linalg
from threadpoolctl import ThreadpoolController
from quadfeat.numerics.blas import one_thread, product

controller = ThreadpoolController().select(user_api="blas")
for library in controller.lib_controllers:
    library.set_num_threads(3)
sizes = lambda: {library.num_threads for library in controller.lib_controllers}
inside, over = threading.Event(), threading.Event()

def fit():
    with one_thread():
        inside.set()
        over.wait()

def child():
    assert sizes() == {3}, sizes()
    with one_thread():
        assert sizes() == {1}, sizes()
        A = np.ones((600, 600))
        assert product(A, A)[0, 0] == 600
    assert sizes() == {3}, sizes()

def forked():
    pid = os.fork()
    if pid == 0:
        try:
            child()
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    return os.waitpid(pid, 0)[1]

with one_thread():
    pass
assert forked() == 0  # outside of a region
other = threading.Thread(target=fit, daemon=True)
other.start()
inside.wait()
assert forked() == 0  # while another thread is in one
with one_thread():
    assert forked() == 0  # from within
    assert sizes() == {1}
over.set()
other.join()
assert sizes() == {3}, sizes()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_in_no_region():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr


# --- sharing ---
def test_every_item_is_done_once_with_one_thread_each():
    found, where = [], set()

    def note(item):
        where.add(threading.get_ident())
        found.append((item, tuple(sizes())))

    share(note, range(1000))
    assert sorted(item for item, _ in found) == list(range(1000))
    assert {size for _, each in found for size in each} == {1}
    assert len(where) <= 3


def test_threads_that_share_start_only_where_no_other_fits(monkeypatch):
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda t: (started.append(t), start(t))[1])
    share(lambda _: None, range(10))
    assert len(started) == 2  # beside the caller's
    started.clear()
    inside, over = threading.Event(), threading.Event()

    def fit():
        with one_thread():
            inside.set()
            over.wait()

    other = threading.Thread(target=fit)
    start(other)
    inside.wait()
    share(lambda _: None, range(10))
    over.set()
    other.join()
    assert not started


def test_an_error_of_any_part_is_the_callers():
    def fail(item):
        if item == 7:
            raise KeyError(item)

    with pytest.raises(KeyError):
        share(fail, range(1000))


def test_threads_that_cannot_start_are_done_without(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    found = []
    share(found.append, range(10))
    assert found == list(range(10))


def test_the_error_state_of_numpy_is_the_callers():
    with np.errstate(over="ignore"):
        share(lambda _: np.multiply(1e300, np.full(4, 1e300)), range(100))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_shared_work_has_the_same_bits_for_any_number_of_threads(threads):
    rng = np.random.default_rng(0)
    Z, targets = rng.normal(size=(900, 600)), rng.normal(size=(900, 2))
    assert Z.size * 600 >= blas._SHARED_WORK

    @on_one_thread
    def results():
        sums = NormalSums(600, 2)
        sums.add(Z, targets)
        cholesky = InPlaceCholesky(sums.gram.copy())
        cholesky.factor(1.0)
        return sums.gram, sums.cross, cholesky.root, product(Z, Z[:600]), product(Z.T, targets)

    wanted = results()
    with CONTROLLER.limit(limits=threads):
        for found, want in zip(results(), wanted, strict=True):
            np.testing.assert_array_equal(found, want)
    # A sum of n products in any order errs by less than n eps times the sum of their sizes.
    rounding = 900 * np.finfo(float).eps
    size = np.abs(Z.T) @ np.abs(Z)
    assert (np.abs(np.tril(wanted[0] - Z.T @ Z)) <= 2 * rounding * size).all()
    assert (np.abs(wanted[3] - Z @ Z[:600]) <= 2 * rounding * (np.abs(Z) @ np.abs(Z[:600]))).all()


def test_a_product_fills_what_it_is_given():
    A, B = np.ones((3000, 200), dtype=np.float32), np.ones((200, 50), dtype=np.float32)
    whole = np.zeros((3000, 100), dtype=np.float32)
    assert A.size * B.shape[1] >= blas._SHARED_WORK
    out = whole[:, ::2]
    assert product(A, B, out) is out
    assert (out == 200).all() and not whole[:, 1::2].any()
    assert product(A, B).dtype == np.float32
