"""One policy for the threads of BLAS: one for each product, and large ones shared by our own.

NumPy and SciPy each bring an OpenBLAS with threads of its own, which wait for work by spinning. In
small factorisations they take the cores from each other and from whatever else runs: on a busy
machine fits took up to 15 times as long as on one thread (benchmarks/under_load.py). So fits run
under `one_thread`, and what is large is cut into parts that do not wait for each other: `share`.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Item = TypeVar("Item")
Matrix = npt.NDArray[Any]
Sizes = list[tuple[Any, int]]  # of pools, each a controller of threadpoolctl's
_PARTS = 8  # of a product at most, of so many rows at least; below so much work there is one
_PART_ROWS = 256
_SHARED_WORK = 2**24


class _Pools:
    """The thread pools of BLAS.

    Their sizes are settings of the whole process, set to one while there are users, and back when
    the last has left; or, where they are made of OpenMP's threads, settings of a Python thread.
    """

    def __init__(self) -> None:
        import scipy.linalg  # noqa: F401  # its BLAS must be loaded to be found
        from threadpoolctl import ThreadpoolController

        found = ThreadpoolController().select(user_api="blas").lib_controllers
        layers = [getattr(each, "threading_layer", "") for each in found]
        self._common = [each for each, kind in zip(found, layers, strict=True) if kind != "openmp"]
        self._own = [each for each in found if each not in self._common]
        # A signal or the garbage collector may leave a region while the same thread enters one.
        self._lock = threading.RLock()
        # Regions, the Python threads that are in them, and what those go back to.
        self._users: dict[object, tuple[int, Sizes]] = {}
        self._sizes: Sizes = []  # what the process goes back to
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._forked,
            )

    def enter(self, user: object) -> None:
        with self._lock:
            first = not self._users
            if first and not self._sizes:  # none are left from where an interrupt cut `leave`
                self._sizes = _sizes(self._common)
            self._users[user] = threading.get_ident(), _sizes(self._own)
            self.limit()
            if first:
                _set([(library, 1) for library, _ in self._sizes])

    def leave(self, user: object) -> None:
        """Also of a user who was interrupted while entering."""
        with self._lock:
            _, own = self._users.get(user, (0, []))
            _set(own)
            self._users.pop(user, None)
            if not self._users:
                _set(self._sizes)
                self._sizes = []

    def limit(self) -> None:
        """One thread for what this Python thread has of its own."""
        _set([(library, 1) for library in self._own])

    def spare(self) -> int:
        """Threads for one user to share work among; 1 where others have work of their own."""
        with self._lock:
            users = list(self._users.values())
            if len({ident for ident, _ in users}) > 1:
                return 1
            every = [self._sizes, *(own for _, own in users)]
            return max((size for sizes in every for _, size in sizes), default=1)

    def _forked(self) -> None:
        """A child has none of the threads that were in a region, and is in none itself."""
        self._users.clear()
        _set(self._sizes)
        self._sizes = []
        self._lock.release()


def _sizes(libraries: list[Any]) -> Sizes:
    return [(each, size) for each in libraries if (size := each.num_threads or 1) > 1]


def _set(sizes: Sizes) -> None:
    for library, size in sizes:
        # From 3.8 on threadpoolctl heeds the first Python thread that asks, and no other until
        # that one is done. We count the threads ourselves, and the last to leave may be another.
        clear = getattr(library, "clear_controlling_thread", lambda force: None)
        clear(force=True)
        library.set_num_threads(size)
        clear(force=True)


_creating = threading.Lock()
_made: list[_Pools] = []


def _pools() -> _Pools:
    """The pools, found at the first fit."""
    if not _made:
        with _creating:
            if not _made:
                _made.append(_Pools())
    return _made[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and LAPACK on one thread.

    Regions may be nested, and be entered by several Python threads at once; the last to leave
    restores what was. Enters and leaves in microseconds.

    >>> with one_thread():
    ...     pass
    """
    pools, user = _pools(), object()
    try:
        pools.enter(user)
        yield
    finally:
        try:
            pools.leave(user)
        except BaseException:  # an interrupt
            pools.leave(user)
            raise


def on_one_thread(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The function within `one_thread`; can be pickled where the function can."""

    @functools.wraps(function)
    def wrapped(*args: Given.args, **options: Given.kwargs) -> Answer:
        with one_thread():
            return function(*args, **options)

    return wrapped


@on_one_thread
def share(function: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Call a function of each item, on as many threads as BLAS would have had.

    Each item is taken by whichever thread is free, so none waits for another that a busy machine
    has stopped. What a call writes must be its own; then the answer has the same bits for any
    number of threads. On the caller's thread alone where other Python threads are in fits.

    >>> squares = [0] * 3
    >>> share(lambda i: squares.__setitem__(i, i**2), range(3))
    >>> squares
    [0, 1, 4]
    """
    pools, waiting = _pools(), list(items)[::-1]
    errors: list[BaseException] = []

    def work() -> None:
        while waiting and not errors:
            try:
                item = waiting.pop()
            except IndexError:  # another thread took the last
                return
            function(item)

    def help_out() -> None:
        try:
            pools.limit()
            work()
        except BaseException as error:
            errors.append(error)

    others: list[threading.Thread] = []
    try:
        for _ in range(min(pools.spare(), len(waiting)) - 1):
            # What the caller's thread does about overflow, say, the others do as well.
            context = contextvars.copy_context()
            other = threading.Thread(target=context.run, args=(help_out,), daemon=True)
            try:
                other.start()
            except RuntimeError:  # the system gives no more
                break
            others.append(other)
        work()
    finally:
        waiting.clear()
        for other in others:
            other.join()
    if errors:
        raise errors[0]


def product(A: Matrix, B: Matrix, out: Matrix | None = None) -> Matrix:
    """A @ B, with its rows shared among threads where that is worth it.

    >>> product(np.eye(2), np.ones((2, 1))).ravel()
    array([1., 1.])
    """
    if out is None:
        out = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))
    whole: Matrix = out
    if A.size * B.shape[1] < _SHARED_WORK:
        np.matmul(A, B, out=whole)
    else:
        rows = max(_PART_ROWS, -(-len(A) // _PARTS))
        share(
            lambda first: np.matmul(A[first : first + rows], B, out=whole[first : first + rows]),
            range(0, len(A), rows),
        )
    return whole
