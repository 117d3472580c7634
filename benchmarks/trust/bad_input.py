"""Every public name with bad values: each a ValueError or TypeError that names parameter and value.

Or a result: an odd value may work, but then everything that comes out is finite. Nothing may crash,
take more than 10 seconds of CPU time, change an argument, or change the state of the process.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import threadpoolctl
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

from quadfeat._errors import NoCertificate

from .subjects import Subject, X, subjects
from .table import Effort, Row

SECONDS = 10  # of CPU time; in the quick form, which slow machines run as a test, six times as many
MEMORY = 8 << 30  # of the process: what asks for more is not refused in time
ODD = [
    *(None, "a", "", b"x", np.nan, np.inf, -np.inf, -1, 0, 0.5, 1e-320, 1e308, 10**9, 10**400),
    *([], {}, (), object(), True, 1 + 2j, np.ma.masked, [None], np.array([]), int, "\x00"),
]
BAD_ROWS = {
    "one column": X[:, :1],
    "a vector": X[0],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "three axes": X[None],
    "nan": np.where(X > 1, np.nan, X),
    "inf": np.where(X > 1, np.inf, X),
    "huge": X * 1e300,
    "complex": X + 1j,
    "text": X.astype(str).astype(object) + "x",
    "objects": np.full(X.shape, object()),
    "dates": X.astype("M8[s]"),
    "masked": np.ma.masked_greater(X, 1),
    "ragged": [[1.0, 2.0], [3.0]],
    "sparse nan": sparse.csr_matrix(np.where(X > 1, np.nan, 0.0)),
    "COO": sparse.coo_matrix(X),
    "half": X.astype(np.float16),
}
# What is computed with, row by row; anything else is a parameter.
ROWS = ("X", "Y")


_BLAS = threadpoolctl.ThreadpoolController()


class Hang(BaseException):
    """More CPU time than a case may take."""


def run(effort: Effort) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    battery = Battery(effort.of(6 * SECONDS, SECONDS))
    every = [(s, name) for s in subjects(effort.folder) for name in s.parameters]
    table = Row("bad values of a table: an error that names them, or a finite result")
    for subject, name in every:
        for value in BAD_ROWS.values() if name in ROWS else ODD:
            battery.case(table, subject, name, value)
    yield table
    random = Row("bad values by hypothesis: the same")
    for subject, name in every:
        if name not in ROWS:
            _draw(partial(battery.case, random, subject, name), effort.of(2, 60), effort.seed)
    yield random
    yield from (battery.seconds, battery.states, battery.arguments)


class Battery:
    """Calls with a bad value, and what they did beside their answer."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.seconds = Row("bad values: CPU time of one call", bound=limit, unit="s")
        self.states = Row("bad values: state of the process, unchanged")
        self.arguments = Row("bad values: arguments, unchanged")

    def case(self, row: Row, subject: Subject, name: str, value: Any) -> None:
        """Call a subject with one value for one parameter."""
        if value is None and name in subject.may_be_none:
            return
        arguments = subject.usual | {name: value}
        case = f"{subject.name}({name}={_shown(value)})"
        before, told = _state(), _fingerprint(arguments)
        began = time.process_time()
        try:
            with _limited(self.limit):
                fault = _unfinite(subject.call(**arguments))
        except NoCertificate:
            fault = ""  # that nothing can be proven is an answer
        except (ValueError, TypeError, OSError) as error:
            fault = _unnamed(str(error), name, value)
        except Hang:
            fault = f"takes more than {self.limit} s"
        except Exception as error:
            fault = f"{type(error).__name__}: {str(error)[:150]}"
        row.add(fault=fault, case=case)
        self.seconds.add(time.process_time() - began, case=case)
        after = _state()
        changed = [key for key in before if before[key] != after[key]]
        self.states.add(fault=f"changes {', '.join(changed)}" if changed else "", case=case)
        self.arguments.require(_fingerprint(arguments) == told, case)


# --- what may come out ----------------------------------------------------------------------------
def _unfinite(found: Any) -> str:
    """What is wrong with a result."""
    for array in _arrays(found):
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            return f"a result that is not finite, and no error: {array.ravel()[:3]}"
    return ""


def _arrays(found: Any) -> Iterator[Any]:
    if isinstance(found, np.ndarray):
        yield found
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _arrays(each)


# scikit-learn's messages about rows say what is wrong with their shape or type, not their name.
_OF_ROWS = (
    r"Found array|Found input variables|2D array|0 feature|to float|inhomogeneous|n_samples|"
    r"float\(\) argument|at least 1 dimension|Complex data|dense data"
)
_CALLED = {
    "sample_weight": "weight",
    "X": "X|column",
    "Y": "Y|X has values up to",
    "estimator": "estimator|be stored",
}


def _unnamed(message: str, name: str, value: Any) -> str:
    """What a message leaves out: the parameter, or the value."""
    if name in ("X", "Y", "y") and re.search(_OF_ROWS, message):
        return ""
    if isinstance(value, type):
        return ""  # it can be called, so only what it answers can be wrong
    if not re.search(rf"(\b|_)({_CALLED.get(name, name)})(\b|$)", message):
        return f"the message does not name {name}: {message[:150]}"
    if name in ROWS or (isinstance(value, Container) and not isinstance(value, str)):
        return ""  # of an array the message says what is wrong with it
    ways = {repr(value), str(value), f"'{type(value).__name__}'"}
    if isinstance(value, int | float):
        with contextlib.suppress(OverflowError):
            ways.add(f"{value:,}")
            ways.add(f"{float(value):g}")
        ways.add("NaN" if value != value else repr(value)[:20])
        ways |= {"infinity"} if abs(value) == np.inf else set()
    # Of what is to be an array the message may tell the shape, or what all of its values are.
    described = re.search(
        r"shape \(|has \d+ (widths|values|axes)|Negative values|int too large|in row 0|"
        r"non-zero number|must be numbers|is complex",
        message,
    )
    known = described or any(way in message for way in ways)
    return "" if known else f"does not name {_shown(value)}: {message[:150]}"


# --- what may not change --------------------------------------------------------------------------
def _state() -> dict[str, Any]:
    """What a call has no business with."""
    return {
        "NumPy's random state": _fingerprint(np.random.get_state()),
        "warning filters": list(warnings.filters),
        "floating-point errors": np.geterr(),
        "the environment": dict(os.environ),
        "the folder": os.getcwd(),
        "sys.path": list(sys.path),
        "BLAS threads": [pool.num_threads for pool in _BLAS.lib_controllers],
        "threads": threading.active_count(),
        "open files": len(os.listdir("/proc/self/fd")),
    }


def _fingerprint(value: Any) -> Any:
    """Equal before and after unless a value has changed."""
    if isinstance(value, dict):
        return {key: _fingerprint(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_fingerprint(each) for each in value]
    if sparse.issparse(value):
        return _fingerprint([value.data, value.shape])
    if isinstance(value, pd.DataFrame):
        return value.to_csv()
    if type(value) is np.ndarray and value.dtype != object:
        return value.tobytes(), value.shape, value.flags.writeable
    if hasattr(value, "get_params"):
        return sorted(vars(value)), _fingerprint(value.get_params())
    return repr(value)


class _limited:
    """Raise Hang after some seconds of CPU time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGPROF, self._raise)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _raise(self, *_: object) -> None:
        raise Hang


# --- values ---------------------------------------------------------------------------------------
def _shown(value: Any) -> str:
    text = next((k for k, v in BAD_ROWS.items() if v is value), None) or repr(value)
    return text if len(text) < 40 else text[:37] + "..."


_NUMBERS = st.integers(-(2**70), 2**70) | st.floats() | st.booleans()
_PLAIN = _NUMBERS | st.none() | st.text(max_size=5) | st.binary(max_size=3) | st.complex_numbers()
VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
)


def _draw(case: Callable[[Any], None], count: int, seed: int) -> None:
    """Call `case` with values that hypothesis draws."""

    def once(value: Any) -> None:
        case(value)

    options = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    hypothesis.seed(seed)(options(given(value=VALUES)(once)))()
