"""Checks of parameters, called from `fit`: type, range, memory, random state."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data


def check_count(
    name: str,
    value: Any,
    *,
    minimum: int = 1,
    maximum: int | None = None,
    example: int | None = None,
) -> int:
    """`value` as an int; an error if it is not a whole number within the limits."""
    works = minimum if example is None else example
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number such as {works}, got {value!r}")
    value = int(value)
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    if maximum is not None and value > maximum:
        raise ValueError(
            f"{name} must be at most {maximum:,}, got {value:,}: more would take hours; {works} is "
            f"usual"
        )
    return value


def check_widths(name: str, value: Any) -> None:
    """Raise an error unless `value` is a number of columns, or several in increasing order."""
    if not isinstance(value, tuple | list):
        check_count(name, value, example=256)
        return
    for width in value:
        check_count(name, width, example=256)
    if not value or list(value) != sorted(set(value)):
        raise ValueError(f"{name}={value} must be in increasing order, such as (512, 1024)")


def check_columns(name: str, value: int | None, most: int, maker: str) -> None:
    """Raise an error for more than `most` columns, which would take `maker` longer than minutes."""
    if value is not None and value > most:
        raise ValueError(
            f"{name}={value:,} is more than {most:,} columns, the most that {maker} makes: a row "
            f"of them would take {8 * value:,} bytes, and the map minutes to hours; use fewer "
            f"columns, such as {name}=1024"
        )


def check_declared(estimator: Any) -> None:
    """Check parameters with a boolean default, and `random_state`."""
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        if isinstance(parameter.default, bool):
            check_flag(name, getattr(estimator, name))
        elif name == "random_state":
            check_seed(name, estimator.random_state)


Constraint = Callable[[str, Any], object]  # of a parameter's name and value; raises an error


def check_constraints(estimator: Any, constraints: Mapping[str, Constraint]) -> None:
    """Check every parameter by the constraint that its class declares for it."""
    for name, constraint in constraints.items():
        constraint(name, getattr(estimator, name))


def optional(constraint: Constraint) -> Constraint:
    """The constraint for a parameter that may also be None."""
    return lambda name, value: None if value is None else constraint(name, value)


def check_flag(name: str, value: Any) -> bool:
    """`value` as a bool; an error if it is not True, False, 1 or 0."""
    if not isinstance(value, Integral | np.bool_) or value not in (0, 1):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_seed(name: str, value: Any) -> None:
    """Raise an error unless `value` is None, a seed, or a NumPy generator."""
    if value is None or value is np.random:
        return
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(
            f"{name} must be a whole number such as 0, a NumPy Generator or RandomState, or None, "
            f"got {value!r}"
        )
    if not 0 <= int(value) < 2**32:
        raise ValueError(f"{name} must be from 0 to 2**32 - 1, got {value!r}")


def check_path(name: str, value: Any) -> Path:
    """`value` as a path; an error if the system does not allow a file of that name."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise TypeError(f"{name} must be a path such as 'model.qf', got {value!r}")
    path = Path(value)
    if not path.name or "\0" in path.name:
        raise ValueError(f"{name} must name a file, such as 'model.qf', got {value!r}")
    return path


def check_records(name: str, value: Any) -> list[dict[str, Any]]:
    """`value` as a list of dicts; an error if it is anything else."""
    several = isinstance(value, Iterable) and not isinstance(value, np.ndarray)
    records = list(value) if several else [value]
    if not all(isinstance(record, dict) for record in records):
        raise TypeError(f"{name} must be a list of dicts, one per point, got {value!r}")
    return records


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`; an error that lists them if not."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


def check_positive(name: str, value: Any, *, example: str = "1.0") -> float:
    """`value` as a float; an error if it is not a positive finite number."""
    return _number(name, value, "positive", example, lambda number: 0 < number < np.inf)


def check_not_negative(name: str, value: Any, *, example: str = "1.0") -> float:
    """`value` as a float; an error if it is not a finite number of at least 0."""
    return _number(name, value, "non-negative", example, lambda number: 0 <= number < np.inf)


def check_share(name: str, value: Any, *, example: str) -> float:
    """`value` as a float; an error if it is not strictly between 0 and 1."""
    share = _number(name, value, "positive", example, lambda _: True)
    if not 0 < share < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}; {example} is usual")
    return share


def _number(
    name: str, value: Any, kind: str, example: str, holds: Callable[[float], bool]
) -> float:
    scalar = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(scalar, bool | np.bool_) or not isinstance(scalar, Real):
        raise TypeError(f"{name} must be a {kind} number such as {example}, got {value!r}")
    try:
        number = float(scalar)
    except OverflowError:  # a whole number too large for a float
        number = np.inf
    if not holds(number):
        raise ValueError(f"{name} must be a {kind} finite number such as {example}, got {value!r}")
    return number


def check_memory(n_bytes: int, what: str, hint: str) -> None:
    """Refuse, before allocating, an array that does not fit into this machine's memory."""
    free = available_memory()
    if n_bytes > free:
        raise ValueError(
            f"{what} would take {n_bytes:,} bytes, and this machine has {free:,} available; {hint}"
        )


def check_gram(what: str, n: int, m: int, n_bytes: int) -> None:
    """Raise an error if n x m kernel values do not fit into memory; small ones are not checked."""
    if n_bytes > 2**20:
        check_memory(n_bytes, f"{what} of {n:,} and {m:,} rows", "give it fewer rows at a time")


def available_memory() -> int:
    """Bytes available without swapping, within the limit of the container."""
    limits = [sys.maxsize]  # if the system does not say
    with contextlib.suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError):
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        limits.append(1024 * int(lines["MemAvailable"].split()[0]))
    with contextlib.suppress(OSError, ValueError):  # "max" if there is no limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits)


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from a scikit-learn random state; equal seeds give equal streams.

    None takes entropy from the system; NumPy's global state is neither read nor changed.
    """
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    check_seed("random_state", random_state)
    seeds = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.default_rng(seeds)


def with_kernel_hint(init: Callable[..., None], write: str) -> Callable[..., None]:
    """The constructor; called with `gamma`, as in other libraries, it says what to write."""

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **parameters: Any) -> None:
        if "gamma" in parameters and "gamma" not in inspect.signature(init).parameters:
            gamma = parameters["gamma"]
            name = type(self).__name__
            raise TypeError(
                f"{name} has no parameter gamma, its kernel has: write "
                f"{name}({write.format(f'Gaussian({gamma!r})')})"
            )
        init(self, *args, **parameters)

    return checked


def validated(estimator: Any, *data: Any, gaps: str, **rules: Any) -> Any:
    """X, or X and y, after scikit-learn's checks; if X has NaN, the error says what to do.

    Parameters
    ----------
    estimator : BaseEstimator
    data : X, or X and y
    gaps : str, what to do about gaps
    rules : of `validate_data`
    """
    try:
        return validate_data(estimator, *data, **rules)
    except ValueError as error:
        if not str(error).startswith("Input X contains NaN"):
            raise
        raise ValueError(f"Input X contains NaN, and {gaps}") from None


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Prefix errors raised inside with the name of the argument they are about."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from None


def axes_of(name: str, value: Any) -> int:
    """The number of axes of `value` as an array: 0 for a number, 1 for a list of numbers."""
    with naming(name):
        return np.ndim(value)


def check_plain(name: str, values: Any, *, dates: bool = False) -> None:
    """Raise an error for lazy tables, and if floats would lose masks, imaginary parts or units.

    Parameters
    ----------
    name : str, for messages
    values : array, sparse matrix or column of a DataFrame
    dates : bool, whether dates may be labels
    """
    if hasattr(values, "collect_schema") and not hasattr(values, "shape"):
        raise TypeError(
            f"{name} is a lazy {type(values).__name__}, which has no values yet; give "
            f"{name}.collect()"
        )
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(
            f"{name} has {count:,} masked entries, which would be read as values; leave those "
            f"rows out, or fill them by .filled(0.0)"
        )
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind == "c":
        raise ValueError(
            f"{name} is complex, and features are made of real numbers. Complex data not "
            f"supported; give the real and the imaginary part as columns"
        )
    temporal = kind in ("m", "M") or bool(getattr(dtype, "is_temporal", bool)())
    if temporal and not dates:
        raise ValueError(
            f"{name} holds dates or times ({dtype}), not numbers; give for example seconds since a "
            f"day of your choice"
        )


def plain_rows(name: str, X: Any) -> Any:
    """Dense rows in double precision, (n, d), after scikit-learn's checks and `check_plain`."""
    check_plain(name, X)
    return check_array(X, dtype=np.float64, input_name=name)


def check_squares(name: str, X: Any) -> None:
    """Raise an error for rows whose squares overflow: distances and variances would be infinite."""
    values = X.data if sparse.issparse(X) else X
    limit = float(np.sqrt(np.finfo(X.dtype).max)) / 1e6  # so that sums of squares do not either
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > limit:
        raise ValueError(
            f"{name} has values up to {largest:g}, and beyond {limit:.0e} their squares overflow "
            f"in {X.dtype}; standardise X, or leave such rows out"
        )


def require(holds: bool, otherwise: str) -> None:
    """Raise a ValueError with the text `otherwise` unless the condition holds."""
    if not holds:
        raise ValueError(otherwise)
