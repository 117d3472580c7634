"""Displays: pictures drawn from records, never from live arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

# Readable in grey and by the colour-blind: lightness rises along the list, and markers differ.
_STYLES = [
    ("#0b3c5d", "o", "-"),
    ("#b3541e", "s", "-"),
    ("#2e7d32", "^", "-"),
    ("#7b4b94", "D", "-"),
    ("#c2185b", "v", "-"),
    ("#00838f", "P", "--"),
    ("#6d6d6d", "X", "--"),
    ("#9e9d24", "<", "--"),
    ("#8d6e63", ">", "--"),
]
_PEER = ("#9a9a9a", ":")


class CompareDisplay:
    """Error against columns for several maps, from the records of `quadfeat demo` or a benchmark.

    Parameters
    ----------
    records : iterable of dict
        Each with "map", "columns" and the error named by `error`. Records without it are left out.
    error : str
        "rms" or "max".
    """

    def __init__(self, records: Iterable[dict[str, Any]], *, error: str = "rms") -> None:
        self.records = [record for record in records if record.get(error)]
        self.error = error

    @classmethod
    def from_records(
        cls, records: Iterable[dict[str, Any]], *, error: str = "rms", ax: Any = None
    ) -> Self:
        """Make the display and draw it."""
        return cls(records, error=error).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure; the result has `ax_` and `figure_`."""
        import matplotlib.pyplot as plt
        from matplotlib.ticker import NullLocator, ScalarFormatter

        if ax is None:
            _, ax = plt.subplots(figsize=(8, 5), layout="constrained")
        curves: dict[str, list[tuple[int, float]]] = {}
        for record in self.records:
            curves.setdefault(record["map"], []).append((record["columns"], record[self.error]))
        # Listed as they end on the right, worst first, so that the legend reads like the picture.
        ranked = sorted(curves, key=lambda name: -curves[name][-1][1])
        own = iter(_STYLES)
        for name in ranked:
            columns, errors = zip(*sorted(curves[name]), strict=True)
            if "sklearn" in name:
                (colour, line), marker = _PEER, "o" if "RBF" in name else "s"
            else:
                colour, marker, line = next(own)
            ax.plot(columns, errors, line, color=colour, marker=marker, markersize=6, label=name)
        ax.set(xscale="log", yscale="log", xlabel="feature columns")
        ax.set_ylabel({"rms": "RMS", "max": "largest"}[self.error] + " kernel error on test pairs")
        ticks = sorted({c for curve in curves.values() for c, _ in curve if c & (c - 1) == 0})
        ax.set_xticks(ticks)
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(True, which="major", color="#dddddd", linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self
