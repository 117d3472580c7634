"""`Study`: how good a model is on held-out rows, as numbers for the page to draw."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats

from ..data.frame import frame
from .curves import curves, position_of
from .predictions import encoded_rows, predictions
from .rows import RowBlock
from .scores import Score, accuracy, auroc, r2

_LEVELS = (0.5, 0.8, 0.9, 0.95)  # levels of the intervals whose coverage is counted
_BINS = 10
_POINTS = 400  # rows drawn one by one, at most
_MOST_CLASSES = 10
_DEVIATION_ROWS = 5000  # rows whose deviations and residuals are computed, at most
_MAP_ROWS = 1000
_UNLIKE = 5  # rows listed
_USUAL = 0.99  # share of held-out rows with a usual residual
_UNLIKE_COLUMNS = 3  # columns listed for these rows


@dataclass(frozen=True)
class Study:
    """How good a model is on some rows.

    Attributes
    ----------
    rows : str, which rows these are, such as "60 rows held out at random"
    n_rows : int
    score, more_scores : on these rows
    calibration : bins of predictions with observed means, and the coverage of intervals
    errors : histogram of residuals, or confusion of classes
    curves : one per column that matters: the mean prediction with the column set to each value, or
        its effect with deviations
    curve_label : str, the quantity that curves show
    map : errors of the kernel: RMS with its limit, largest, certificate or why there is none
    unlike : rows unlike the training rows, or the reason why they are not known
    """

    rows: str
    n_rows: int
    score: Score
    more_scores: dict[str, float]
    calibration: dict[str, Any]
    errors: dict[str, Any]
    curves: tuple[dict[str, Any], ...]
    curve_label: str
    map: dict[str, Any]
    unlike: dict[str, Any]


def study(
    model: Any, block: RowBlock, rows: str, names: Sequence[str], usual: float | None
) -> Study:
    """Measure a model on rows.

    Parameters
    ----------
    rows : str, which rows these are, for the page
    names : columns, the most important first
    usual : the residual of the map that 99% of held-out rows are below, or None if not known
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = predictions(model, block.X)
        classes = getattr(model, "classes_", None)
        if classes is None:
            y = np.asarray(block.y, dtype=np.float64)
            calibration, errors = _regression(y, predicted)
            calibration["coverage"] = _coverage(model, block, predicted)
        else:
            calibration, errors = _reliability(block.y, predicted, classes)
        score, more = scores(block, predicted, classes)
        found, label = curves(model, block, names, predicted)
        return Study(
            rows,
            len(block),
            score,
            more,
            calibration,
            errors,
            found,
            label,
            _map(model, block),
            _unlike(model, block, predicted, names, usual),
        )


def scores(block: RowBlock, predicted: Any, classes: Any) -> tuple[Score, dict[str, float]]:
    """The score of predictions for rows, and more numbers by name."""
    if classes is None:
        y = np.asarray(block.y, dtype=np.float64)
        errors = y - predicted
        more = {
            "RMSE": float(np.sqrt(np.mean(errors**2))),
            "mean absolute error": float(np.abs(errors).mean()),
        }
        return r2(y, predicted, float(y.mean())), more
    right = classes[np.argmax(predicted, axis=1)] == block.y
    if len(classes) == 2 and len(np.unique(block.y)) == 2:
        more = {"accuracy": float(right.mean())}
        return auroc(block.y == classes[1], predicted[:, 1]), more
    counts = np.unique(block.y, return_counts=True)[1]
    return accuracy(right, float(counts.max() / len(right))), {}


def _coverage(model: Any, block: RowBlock, predicted: Any) -> list[list[float]]:
    """(level, share of rows inside) of intervals of a regressor; empty if it has no deviations."""
    if model.posterior is None:
        return []
    rows = _drawn(block, _DEVIATION_ROWS)
    deviation = np.asarray(model.predict(block.at(rows).X, return_std=True)[1])
    total = np.maximum(np.sqrt(deviation**2 + model.noise_), np.finfo(float).tiny)
    distance = np.abs(block.y[rows].astype(np.float64) - predicted[rows]) / total
    limits = stats.norm.ppf((1 + np.array(_LEVELS)) / 2)
    return [[a, float(np.mean(distance <= b))] for a, b in zip(_LEVELS, limits, strict=True)]


def _regression(y: Any, predicted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Predicted against observed in bins of equal counts, and residuals."""
    order = np.argsort(predicted, kind="stable")
    bins = [part for part in np.array_split(order, min(_BINS, max(1, len(y) // 5))) if len(part)]
    chosen = np.random.default_rng(0).permutation(len(y))[:_POINTS]
    calibration: dict[str, Any] = {
        "predicted": [float(predicted[part].mean()) for part in bins],
        "seen": [float(y[part].mean()) for part in bins],
        "points": [[float(predicted[i]), float(y[i])] for i in chosen],
    }
    residuals = y - predicted
    low, high = np.quantile(residuals, [0.005, 0.995])
    counts, edges = np.histogram(residuals, bins=30, range=(low, high) if high > low else None)
    return calibration, {
        "edges": edges.tolist(),
        "counts": counts.tolist(),
        "median": float(np.median(np.abs(residuals))),
        "nine_in_ten": float(np.quantile(np.abs(residuals), 0.9)),
        "bias": float(residuals.mean()),
    }


def _reliability(y: Any, predicted: Any, classes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Probabilities in bins with observed shares, and the confusion of the frequent classes."""
    top = np.argmax(predicted, axis=1)
    if len(classes) == 2:
        share, seen, event = predicted[:, 1], y == classes[1], f"being {classes[1]!s}"
    else:
        share, seen, event = predicted.max(axis=1), classes[top] == y, "the predicted class"
    place = np.minimum((share * _BINS).astype(int), _BINS - 1)
    calibration: dict[str, Any] = {"event": event, "bins": []}
    for i in range(_BINS):
        inside = place == i
        if inside.any():
            interval, n = accuracy(seen[inside], 0.0), int(inside.sum())
            calibration["bins"].append(
                [float(share[inside].mean()), interval.value, interval.low, interval.high, n]
            )
    names, counts = np.unique(y, return_counts=True)
    frequent = names[np.argsort(-counts, kind="stable")][:_MOST_CLASSES]
    shown = [label for label in names if label in frequent]
    pick = classes[top]
    table = [[int(np.sum((y == a) & (pick == b))) for b in shown] for a in shown]
    return calibration, {
        "labels": [str(label) for label in shown],
        "counts": table,
        "others": int(len(names) - len(shown)),
        "right": float(np.mean(pick == y)),
    }


def _map(model: Any, block: RowBlock) -> dict[str, Any]:
    """The error of the kernel on pairs of rows: an estimate, and a proof if there is one."""
    X = encoded_rows(model, block.at(_drawn(block, _MAP_ROWS)).X)
    features = model.features_
    record: dict[str, Any] = {"trials": [], "certificate": "", "refusal": ""}
    if X.shape[0] >= 2:
        found = features.error(X, n_pairs=10_000)
        record |= {"rms": found.rms, "limit": found.rms_limit, "largest": found.largest}
        record |= {"population": found.population}
    try:
        proof = features.certificate(X)
        record |= {"certificate": f"{proof.value:.2g}", "method": str(proof.method)}
    except ValueError as refusal:
        record["refusal"] = str(refusal)
    report = getattr(features, "report_", None)
    if report is not None:
        record["reason"] = report.reason
        record["trials"] = [
            [trial.name, trial.columns, float(trial.rms), trial.name == report.chosen]
            for trial in report.trials
            if not trial.note
        ]
    return record


def usual_residual(model: Any, block: RowBlock) -> float | None:
    """The residual, relative to k(0), that 99% of rows are below; None if the map has none."""
    residuals = _residuals(model, block.at(_drawn(block, _DEVIATION_ROWS)))
    return None if residuals is None else float(np.quantile(residuals, _USUAL))


def _residuals(model: Any, block: RowBlock) -> Any:
    fitted = getattr(model.features_, "map_", model.features_)
    if not hasattr(fitted, "residual"):
        return None
    X = encoded_rows(model, block.X)
    return fitted.residual(X) / fitted.kernel_.at_zero(X.shape[1])


def _unlike(
    model: Any, block: RowBlock, predicted: Any, names: Sequence[str], usual: float | None
) -> dict[str, Any]:
    rows = _drawn(block, _DEVIATION_ROWS)
    block, predicted = block.at(rows), predicted[rows]
    residuals = _residuals(model, block)
    if residuals is None:
        fitted = getattr(model.features_, "map_", model.features_)
        return {
            "why": f"{type(fitted).__name__} does not depend on the training rows, so it cannot "
            f"say which rows are unlike them."
        }
    if usual is None:
        return {
            "why": "The usual residual is not known; quadfeat fit stores it in the .json file "
            "beside the model."
        }
    order = np.argsort(-residuals, kind="stable")[:_UNLIKE]
    order = order[residuals[order] > usual]
    table = None if sparse.issparse(block.X) else frame(block.X)
    shown = (
        []
        if table is None
        else [position_of(table.names, name) for name in names[:_UNLIKE_COLUMNS]]
    )
    columns = [] if table is None else [table.column(table.names[i]).at(order) for i in shown]
    classes = getattr(model, "classes_", None)
    guess = predicted if classes is None else classes[np.argmax(predicted, axis=1)]
    return {
        "share": float(np.mean(residuals > usual)),
        "usual": usual,
        "names": list(names[:_UNLIKE_COLUMNS]) if table is not None else [],
        "rows": [
            [_shown(column, i) for column in columns]
            + [_plain(block.y[row]), _plain(guess[row]), f"{residuals[row]:.2g}"]
            for i, row in enumerate(order)
        ],
    }


def _shown(column: Any, row: int) -> str:
    if column.gaps[row]:
        return "(gap)"
    value = column.values[row]
    if column.kind == "text":
        return str(column.texts[value])
    if column.kind == "date":
        return str(value)[:16].replace("T", " ").removesuffix(" 00:00")
    return _plain(value)


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _drawn(block: RowBlock, most: int) -> Any:
    """A mask, (n,), of a random sample of at most `most` rows."""
    rows = np.zeros(len(block), dtype=bool)
    rows[np.random.default_rng(0).permutation(len(block))[:most]] = True
    return rows
