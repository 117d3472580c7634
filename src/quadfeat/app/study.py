"""`Study`: how a model does on rows it was not fitted to, as numbers that the page draws."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats

from ..data.frame import frame
from .rows import RowBlock
from .scores import Score, accuracy, auroc, r2

_LEVELS = (0.5, 0.8, 0.9, 0.95)  # of intervals whose coverage is counted
_BINS = 10
_POINTS = 400  # rows drawn one by one, at most
_MOST_CLASSES = 10
_CURVES, _CURVE_ROWS, _GRID, _CATEGORIES = 6, 100, 24, 8
_DEVIATION_ROWS = 5000  # rows whose deviations and residuals are computed, at most
_MAP_ROWS = 1000
_UNLIKE = 5  # rows listed
_USUAL = 0.99  # share of training rows whose residual counts as usual


@dataclass(frozen=True)
class Study:
    """What a model does on some rows.

    Attributes
    ----------
    rows : str, which rows these are, such as "60 rows held out at random"
    n_rows : int
    score, more_scores : on these rows
    calibration : bins of predictions beside what was seen, and the coverage of intervals
    errors : histogram of residuals, or confusion of classes
    curves : one per column that matters: mean prediction with the column set to each value
    curve_label : str, what curves show
    map : errors of the kernel: RMS with its limit, largest, certificate or why there is none
    unlike : rows unlike the training rows, or why they are not known
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


def predictions(model: Any, X: Any) -> Any:
    """Predictions, or probabilities of classes (n, k); of a squared hinge, scores as these."""
    if not hasattr(model, "classes_"):
        return model.predict(X)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    scores = model.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores]) / 2
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def encoded_rows(model: Any, X: Any) -> Any:
    """Rows as the feature map of a model takes them."""
    if hasattr(model, "encoder_"):
        return model.encoder_.encode(X)[0]
    return frame(X).numbers() if hasattr(X, "filter") else X


def study(
    model: Any, block: RowBlock, rows: str, names: Sequence[str], usual: float | None
) -> Study:
    """Measure a model on rows.

    Parameters
    ----------
    rows : str, which rows these are, for the page
    names : columns from the most important one on
    usual : the residual of the map that 99% of training rows are below, or None if not known
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
        score, more = _scores(block, predicted, classes)
        curves, label = _curves(model, block, names, predicted)
        return Study(
            rows,
            len(block),
            score,
            more,
            calibration,
            errors,
            curves,
            label,
            _map(model, block),
            _unlike(model, block, predicted, names, usual),
        )


def _scores(block: RowBlock, predicted: Any, classes: Any) -> tuple[Score, dict[str, float]]:
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
    """Predicted against seen in bins of equal counts, and residuals."""
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
    """Probabilities in bins beside the share seen, and the confusion of the frequent classes."""
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


def _curves(
    model: Any, block: RowBlock, names: Sequence[str], predicted: Any
) -> tuple[tuple[dict[str, Any], ...], str]:
    """Partial dependence (Friedman, 2001) on the first columns of `names`, of some rows."""
    classes = getattr(model, "classes_", None)
    target, label = None, "mean prediction"
    if classes is not None:
        target = 1 if len(classes) == 2 else int(np.argmax(predicted.sum(axis=0)))
        label = f"probability of {classes[target]!s}"
    if sparse.issparse(block.X) or not names:
        return (), label
    table = frame(block.X)
    rows = np.random.default_rng(0).permutation(len(block))[:_CURVE_ROWS]
    curves = []
    for name in names[:_CURVES]:
        position = _position(table.names, name)
        kind, number = _as_drawn(table.column(table.names[position]))
        values: list[Any] = _categories(number) if kind == "category" else _grid(number)
        if len(values) < 2:
            continue
        X = _with_column(block.X, rows, position, np.repeat([i for i, _ in values], len(rows)))
        every = predictions(model, X)
        every = every if target is None else every[:, target]
        means = every.reshape(len(values), len(rows)).mean(axis=1)
        x = [each for _, each in values]
        curves.append({"name": name, "kind": kind, "x": x, "value": means.tolist()})
        if kind != "category":
            known = number.values[~number.gaps]
            counts, edges = np.histogram(known, bins=_GRID, range=(x[0], x[-1]))
            curves[-1] |= {"counts": counts.tolist(), "edges": edges.tolist()}
    return tuple(curves), label


def _position(names: Sequence[str], name: str) -> int:
    """Where a column is; columns without names are called "column 3"."""
    return names.index(name) if name in names else int(name.rpartition(" ")[2])


def _as_drawn(column: Any) -> tuple[str, Any]:
    """How a column is drawn, and its values: numbers, dates as days, or texts."""
    if column.kind == "date":
        return "date", column.as_number()
    if column.kind != "text":
        return "number", column
    for kind, converted in (("number", column.as_number()), ("date", column.as_date())):
        if converted.gaps.sum() == column.gaps.sum():
            return kind, converted.as_number()
    return "category", column


def _grid(column: Any) -> list[tuple[int, float]]:
    """Values from small to large, all or evenly spaced ones, each with a row that has it."""
    known = np.flatnonzero(~column.gaps)
    order = known[np.argsort(column.values[known], kind="stable")]
    ordered = column.values[order]
    distinct = np.unique(ordered)
    if len(distinct) > _GRID:
        low, high = np.quantile(ordered, [0.01, 0.99])
        places = np.searchsorted(ordered, np.linspace(low, high, _GRID))
        distinct = np.unique(ordered[np.minimum(places, len(order) - 1)])
    rows = order[np.searchsorted(ordered, distinct)]
    return [(int(row), float(x)) for row, x in zip(rows, distinct, strict=True)]


def _categories(column: Any) -> list[tuple[int, str]]:
    """The most frequent texts, each with a row that has it."""
    codes, first, counts = np.unique(column.values, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    return [(int(first[i]), "(gap)" if codes[i] < 0 else column.texts[codes[i]]) for i in order]


def _with_column(X: Any, rows: Any, position: int, at: Any) -> Any:
    """Copies of `rows`, one after the other, whose column has the values of the rows `at`."""
    repeated = np.tile(rows, len(at) // len(rows))
    if hasattr(X, "filter"):
        values = X.column(position).take(at)
        return X.take(repeated).set_column(position, X.column_names[position], values)
    out = X[repeated]
    out[:, position] = X[at, position]
    return out


def _map(model: Any, block: RowBlock) -> dict[str, Any]:
    """The error of the kernel on pairs of rows: an estimate, and a proof where there is one."""
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
    """The residual, relative to k(0), that 99% of training rows are below; None if it has none."""
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
            "why": f"{type(fitted).__name__} is a rule for the kernel's spectrum and knows no "
            f"training rows, so it cannot tell which rows are unlike them."
        }
    if usual is None:
        return {
            "why": "What is usual for training rows was not stored beside the model; quadfeat fit "
            "stores it in the .json file."
        }
    order = np.argsort(-residuals, kind="stable")[:_UNLIKE]
    order = order[residuals[order] > usual]
    table = None if sparse.issparse(block.X) else frame(block.X)
    shown = [] if table is None else [_position(table.names, name) for name in names[:4]]
    columns = [] if table is None else [table.column(table.names[i]).at(order) for i in shown]
    classes = getattr(model, "classes_", None)
    guess = predicted if classes is None else classes[np.argmax(predicted, axis=1)]
    return {
        "share": float(np.mean(residuals > usual)),
        "usual": usual,
        "names": list(names[:4]) if table is not None else [],
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
    return str(value)[:16].replace("T", " ") if column.kind == "date" else _plain(value)


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _drawn(block: RowBlock, most: int) -> Any:
    """Which rows are in a random sample of at most `most`, (n,)."""
    rows = np.zeros(len(block), dtype=bool)
    rows[np.random.default_rng(0).permutation(len(block))[:most]] = True
    return rows
