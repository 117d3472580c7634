"""How a kernel is displayed in a notebook: a sentence and its numbers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .._display.html import WithFacts, card, facts, note, number
from .metric import short_text

_MOST_COLUMNS = 6  # columns; with more, only the largest gammas are shown


class KernelFacts(WithFacts):
    """The facts that a notebook shows for a kernel, instead of the diagram of an estimator."""

    _has_diagram = False

    def _facts(self) -> str:
        kind = type(self)
        sentence = (inspect.getdoc(kind) or "").partition("\n")[0]
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        rows = [(name, _text(value)) for name, value in parameters.items()]
        return card(kind.__name__, note(sentence), facts(rows))


def brief(kernel: Any) -> str:
    """`repr` of a kernel, with numbers in three digits."""
    defaults = inspect.signature(type(kernel)).parameters
    given = {
        name: value
        for name, value in kernel.get_params(deep=False).items()
        if short_text(value) != repr(defaults[name].default)
    }
    texts = [f"{name}={_short(value)}" for name, value in given.items()]
    return f"{type(kernel).__name__}({', '.join(texts)})"


def _short(value: Any) -> str:
    if isinstance(value, KernelFacts):
        return brief(value)
    return number(value) if isinstance(value, float) else short_text(value)


def _text(value: Any) -> str:
    """A parameter as text; of one gamma per column only the largest, whose columns matter most."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        order = np.argsort(-value, kind="stable")
        shown = [f"{number(value[i])} (column {i})" for i in order[:_MOST_COLUMNS].tolist()]
        if (left := len(value) - len(shown)) > 0:
            shown.append(f"{left} more, down to {number(value.min())}")
        return ", ".join(shown)
    return _short(value)
