"""What every constructor's parameters are checked with, in `fit`."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def check_count(name: str, value: Any, *, minimum: int = 1, example: int | None = None) -> int:
    """`value` as an int if it is a whole number of at least `minimum`; else an error saying so."""
    works = minimum if example is None else example
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number such as {works}, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    return int(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """`value` if it is one of `choices`; else an error that lists them."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return str(value)


def check_positive(name: str, value: Any, *, example: str = "1.0") -> float:
    """`value` as a float if it is a positive finite number; else an error saying so."""
    scalar = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(scalar, bool) or not isinstance(scalar, Real):
        raise TypeError(f"{name} must be a positive number such as {example}, got {value!r}")
    try:
        number = float(scalar)
    except OverflowError:  # a whole number beyond all floats
        number = np.inf
    if not 0 < number < np.inf:
        raise ValueError(
            f"{name} must be a positive finite number such as {example}, got {value!r}"
        )
    return number


def check_memory(n_bytes: int, what: str, hint: str) -> None:
    """Refuse, before anything is allocated, what cannot fit into this machine's memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if n_bytes > total:
        raise ValueError(
            f"{what} would take {n_bytes:,} bytes, and this machine has {total:,}; {hint}"
        )


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from what scikit-learn calls a random state; seeds give fixed streams."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    seeds = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.default_rng(seeds)
