"""Displays: pictures drawn from records, never from live arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from .._checks import check_count, check_records, generator
from .._errors import NoCertificate
from ..kernels.base import Kernel
from ..maps.base import FeatureMap
from ..maps.dense_grid import DenseGrid
from .style import ACCENT, INK, REFERENCE, new_axes, plain_ticks, style_of, tidy

_APART = 1.25  # least ratio of widths with labels side by side


class CompareDisplay:
    """Error against columns for several maps, from the records of `quadfeat demo` or a benchmark.

    Parameters
    ----------
    records : iterable of dict
        Each with "map", "columns" and the error named by `error`. Records without it are left out.
    error : str
        "rms" or "max".
    order : list of str or None
        The maps in the order of the legend, which also gives other names the same style in several
        pictures; None orders them by their last error.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of matplotlib, once drawn
    """

    def __init__(
        self,
        records: Iterable[dict[str, Any]],
        *,
        error: str = "rms",
        order: list[str] | None = None,
    ) -> None:
        self.records = [record for record in check_records("records", records) if record.get(error)]
        self.error = error
        self.order = order

    @classmethod
    def from_records(
        cls,
        records: Iterable[dict[str, Any]],
        *,
        error: str = "rms",
        order: list[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Create the display and draw it."""
        return cls(records, error=error, order=order).plot(ax=ax)

    @classmethod
    def from_estimators(
        cls,
        maps: Iterable[FeatureMap],
        X: Any,
        *,
        error: str = "rms",
        n_pairs: int = 10_000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the error of fitted maps on pairs of rows of X; those of a class are one line.

        >>> import quadfeat as qf
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> maps = [qf.Landmarks(n_components=p, random_state=0).fit(X) for p in (8, 32)]
        >>> [r["columns"] for r in CompareDisplay.from_estimators(maps, X).records]
        [8, 32]
        """
        records = []
        for features in maps:
            seen = features.error(X, n_pairs=n_pairs, random_state=random_state)
            errors = {"rms": seen.rms, "max": seen.largest}
            name = type(features).__name__
            records.append({"map": name, "columns": features.n_columns_, **errors})
        return cls(records, error=error).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure; the result has `ax_` and `figure_`."""
        ax = new_axes(8, 5) if ax is None else ax
        curves: dict[str, list[tuple[int, float]]] = {}
        for record in self.records:
            curves.setdefault(record["map"], []).append((record["columns"], record[self.error]))
        # Worst first, in the order of the right ends of the curves: the legend matches the picture.
        ranked = self.order or sorted(curves, key=lambda name: -curves[name][-1][1])
        for position, name in enumerate(ranked):
            if name not in curves:
                continue
            columns, errors = zip(*sorted(curves[name]), strict=True)
            colour, marker, line = style_of(name, position)
            ax.plot(columns, errors, line, color=colour, marker=marker, markersize=6, label=name)
        ax.set(xscale="log", yscale="log", xlabel="feature columns")
        ax.set_ylabel({"rms": "RMS", "max": "largest"}[self.error] + " kernel error on test pairs")
        widths = {c for curve in curves.values() for c, _ in curve}
        plain_ticks(ax.xaxis, _apart(widths))
        tidy(ax)
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _apart(widths: Iterable[int]) -> list[int]:
    """Widths whose labels do not overlap on a logarithmic axis; powers of two first.

    >>> _apart([63, 64, 100, 300])
    [64, 100, 300]
    """
    kept: list[int] = []
    for width in sorted(widths, key=lambda c: (c & (c - 1) != 0, c)):
        if all(max(width / other, other / width) >= _APART for other in kept):
            kept.append(width)
    return sorted(kept)


class ErrorDisplay:
    """Certified against observed errors.

    `from_estimator` draws the error of pairs against their distance, and the certificate if the map
    has one; `from_tolerances` draws, for each tolerance given to `DenseGrid.for_tolerance`, the
    certified error and the largest observed one, with the line y = x.

    Parameters
    ----------
    records : iterable of dict
        With "x" (a distance or a tolerance), "observed", and "promised" or None.
    against : str
        "distance" or "tolerance".

    Attributes
    ----------
    ax_, figure_ : Axes and Figure of matplotlib, once drawn
    """

    def __init__(self, records: Iterable[dict[str, Any]], *, against: str) -> None:
        self.records = check_records("records", records)
        self.against = against

    @classmethod
    def from_estimator(
        cls,
        estimator: FeatureMap,
        X: Any,
        *,
        n_pairs: int = 4000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the error of pairs of rows of X against the distance between them."""
        check_count("n_pairs", n_pairs, example=4000)
        rng = generator(random_state)
        every = estimator.dense_rows(X)
        rows = every[rng.permutation(len(every))[: int(np.sqrt(2 * n_pairs)) + 2]]
        left, right = np.triu_indices(len(rows), 1)
        gaps = np.linalg.norm(rows[left] - rows[right], axis=1)
        Z = estimator.features_of(rows)
        errors = np.abs((Z * estimator.signs_) @ Z.T - estimator.kernel_(rows))[left, right]
        try:
            promised = float(estimator.certificate(X).value)
        except NoCertificate:
            promised = None
        at_zero = estimator.kernel_.at_zero(rows.shape[1])
        records = [
            {"x": float(x), "observed": float(e / at_zero), "promised": promised}
            for x, e in zip(gaps[:n_pairs], errors[:n_pairs], strict=True)
        ]
        return cls(records, against="distance").plot(ax=ax)

    @classmethod
    def from_tolerances(
        cls,
        kernel: Kernel,
        tolerances: Sequence[float],
        diameter: float,
        *,
        n_features: int = 1,
        ax: Any = None,
    ) -> Self:
        """Draw the certified and the largest observed error of grids built for tolerances."""
        rng = np.random.default_rng(0)
        directions = rng.normal(size=(20_000, n_features))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        gaps = diameter * directions * np.sqrt(rng.random((len(directions), 1)))
        records = []
        for tol in tolerances:
            grid = DenseGrid.for_tolerance(kernel, tol, diameter, n_features=n_features)
            error = np.abs(grid.rule_(gaps) - grid.kernel_.at(gaps)).max()
            records.append(
                {
                    "x": float(tol),
                    "observed": float(error / grid.kernel_.at_zero(n_features)),
                    "promised": float(grid.certificate(diameter=diameter).value),
                    "columns": grid.n_columns_,
                }
            )
        return cls(records, against="tolerance").plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on a new figure; the result has `ax_` and `figure_`."""
        ax = new_axes(6, 4.5) if ax is None else ax
        x = np.array([record["x"] for record in self.records])
        observed = np.array([record["observed"] for record in self.records])
        floor = 1e-17
        if self.against == "distance":
            ax.plot(
                x,
                np.maximum(observed, floor),
                ".",
                color=INK,
                alpha=0.35,
                markersize=4,
                label="observed, one pair each",
            )
            promised = self.records[0]["promised"] if self.records else None
            if promised is not None:
                ax.axhline(promised, color=ACCENT, label=f"certificate, {promised:.2g}")
            ax.set(xlabel="distance |x - y|", yscale="log")
        else:
            promised = np.array([record["promised"] for record in self.records])
            span = [x.min(), x.max()]
            ax.plot(span, span, ":", color=REFERENCE, label="y = x")
            ax.plot(x, promised, "s-", color=ACCENT, label="promised")
            ax.plot(x, np.maximum(observed, floor), "o--", color=INK, label="largest seen")
            ax.set(xlabel="tolerance asked for", xscale="log", yscale="log")
        ax.set_ylabel("kernel error relative to k(0)")
        tidy(ax)
        # Above the axes: a certificate is a line across all of them.
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self
