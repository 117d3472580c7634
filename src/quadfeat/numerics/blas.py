"""One policy for BLAS threads: BLAS runs on one, and large products are split among ours.

NumPy and SciPy each bring an OpenBLAS with its threads, which wait for work by spinning. In small
factorisations they take the cores from each other and from other programs: on a busy machine fits
took up to 15 times as long as on one thread (benchmarks/under_load.py). So fits run under
`one_thread`, and large work is cut into independent parts: `share`.
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
Sizes = list[tuple[Any, int]]  # sizes of pools; a pool is a controller of threadpoolctl
_PARTS = 8  # most parts of a product
_PART_ROWS = 256  # fewest rows of a part
_SHARED_WORK = 2**24  # products of at least so many multiply-adds are split


class _Pools:
    """The thread pools of BLAS.

    Pool sizes are settings of the whole process: set to one while there are users, and restored
    when the last one leaves. Pools of OpenMP threads have a setting per Python thread instead.
    """

    def __init__(self) -> None:
        import scipy.linalg  # noqa: F401  # loads its BLAS, for the controller to see
        from threadpoolctl import ThreadpoolController

        libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        layers = [getattr(library, "threading_layer", "") for library in libraries]
        pairs = list(zip(libraries, layers, strict=True))
        self._per_process = [library for library, layer in pairs if layer != "openmp"]
        self._per_thread = [library for library, layer in pairs if layer == "openmp"]
        # A signal or the garbage collector may leave a region while the same thread enters one.
        self._lock = threading.RLock()
        # For each region: its Python thread, and the sizes to restore in that thread.
        self._users: dict[object, tuple[int, Sizes]] = {}
        self._sizes: Sizes = []  # sizes to restore in the process
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._forked,
            )

    def enter(self, user: object) -> None:
        with self._lock:
            first = not self._users
            if (
                first and not self._sizes
            ):  # otherwise an interrupt stopped `leave` before it restored them
                self._sizes = _sizes(self._per_process)
            self._users[user] = threading.get_ident(), _sizes(self._per_thread)
            self.limit()
            if first:
                _set([(library, 1) for library, _ in self._sizes])

    def leave(self, user: object) -> None:
        """Also works for a user interrupted in `enter`."""
        with self._lock:
            _, sizes = self._users.get(user, (0, []))
            _set(sizes)
            self._users.pop(user, None)
            if not self._users:
                _set(self._sizes)
                self._sizes = []

    def limit(self) -> None:
        """Set the pools of this Python thread to one BLAS thread."""
        _set([(library, 1) for library in self._per_thread])

    def spare(self) -> int:
        """Threads that one user may use; 1 while several Python threads are in regions."""
        with self._lock:
            users = list(self._users.values())
            if len({ident for ident, _ in users}) > 1:
                return 1
            restored = [self._sizes, *(sizes for _, sizes in users)]
            return max((size for sizes in restored for _, size in sizes), default=1)

    def _forked(self) -> None:
        """A forked child has none of the threads that were in regions: restore the sizes."""
        self._users.clear()
        _set(self._sizes)
        self._sizes = []
        self._lock.release()


def _sizes(libraries: list[Any]) -> Sizes:
    return [(library, n) for library in libraries if (n := library.num_threads or 1) > 1]


def _set(sizes: Sizes) -> None:
    for library, size in sizes:
        # Since 3.8 threadpoolctl serves the first Python thread that asks, and no other until that
        # one is done. We count the threads ourselves, and the last to leave may be another one.
        clear = getattr(library, "clear_controlling_thread", lambda force: None)
        clear(force=True)
        library.set_num_threads(size)
        clear(force=True)


_creating = threading.Lock()
_instance: list[_Pools] = []  # at most one


def _pools() -> _Pools:
    """The pools, looked up at the first fit."""
    if not _instance:
        with _creating:
            if not _instance:
                _instance.append(_Pools())
    return _instance[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and LAPACK on one thread.

    Regions may be nested, and entered by several Python threads at once; the last to leave restores
    the sizes. Takes microseconds.

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
    """A decorator: run the function within `one_thread`. Can be pickled if the function can."""

    @functools.wraps(function)
    def wrapped(*args: Given.args, **options: Given.kwargs) -> Answer:
        with one_thread():
            return function(*args, **options)

    return wrapped


@on_one_thread
def share(function: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Call a function on each item, on as many threads as BLAS would have had.

    The next item goes to any free thread, so none waits for one that a busy machine has paused.
    Calls must not write to the same memory; results then have the same bits for any number of
    threads. While other Python threads are in fits, only the caller's thread works.

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
            # Context variables, such as NumPy's handling of overflow, are those of the caller.
            context = contextvars.copy_context()
            other = threading.Thread(target=context.run, args=(help_out,), daemon=True)
            try:
                other.start()
            except RuntimeError:  # the system allows no more threads
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
    """A @ B, with its rows split among threads if that is worth it.

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
