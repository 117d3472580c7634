"""Check that `quadfeat fit` is as good as the best quadfeat model in `quadfeat compare`.

    QUADFEAT_DATA=... python benchmarks/fit_against_compare.py [--rows 4000] [--folds 2]
        [--most 50000] [--width 1024] [--csv FOLDER] [california_housing bike letter covtype]

Each data set is written as CSV, four fifths to train.csv and a fifth to test.csv (at most `--most`
rows in all, at random). `compare` uses only `--rows` rows of train.csv; its best quadfeat model is
then fitted to all of train.csv, and both it and `fit` are scored on test.csv. Target: `fit` is
within 1 point of accuracy, or 3% of RMSE. One line per data set.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from quadfeat.app.compare_command import CompareOptions, compare_file
from quadfeat.app.contenders import (
    TrainingRows,
    candidates,
    default_width,
    default_widths,
    encoder_for,
)
from quadfeat.app.rows import collected, open_rows
from quadfeat.app.training import TrainOptions, train

NAMES = ("california_housing", "bike", "letter", "covtype")
CLASSES = ("letter", "covtype")


def write(name: str, folder: Path, most: int) -> None:
    """A data set as train.csv and test.csv."""
    archive = np.load(Path(os.environ["QUADFEAT_DATA"]) / f"{name}.npz", allow_pickle=False)
    X, y = archive["X" if "X" in archive else "X_num"], archive["y"]
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    for column in ("wilderness", "soil"):
        if column in archive:
            frame[column] = [f"{column} {code}" for code in archive[column]]
    frame["y"] = [f"class {label}" for label in y] if name in CLASSES else y
    frame = frame.sample(min(most, len(frame)), random_state=0)
    cut = len(frame) * 4 // 5
    frame[:cut].to_csv(folder / "train.csv", index=False)
    frame[cut:].to_csv(folder / "test.csv", index=False)


def measured(name: str, folder: Path, options: argparse.Namespace) -> str:
    write(name, folder, options.most)
    began = time.perf_counter()
    classes = name in CLASSES
    rows = collected(open_rows(folder / "train.csv", "y").blocks(), 10**7)
    width = options.width or default_width(classes=classes)
    widths = options.width or default_widths(len(rows), classes=classes)
    ours = [each for each in candidates(width, widths) if each.ours]
    asked = CompareOptions("y", n_folds=options.folds, rows=options.rows, width=options.width)
    found = compare_file(folder / "train.csv", asked, [each.name for each in ours])
    scored = [each for each in found.results if each.score is not None]
    best = max(scored, key=lambda each: each.score.value)
    middle = time.perf_counter()
    given = TrainOptions(
        "y", width=options.width, test=folder / "test.csv", verbose=False, compared=False
    )
    trained = train(folder / "train.csv", given)
    fit = next(each.fit for each in ours if each.name == best.name)
    encoder = encoder_for(rows, None, classes=classes)
    fitted = fit(TrainingRows(rows, classes, encoder, 0.0))
    test = trained.test
    predicted = fitted(test.X)
    times = f"compare {middle - began:.0f} s, fit {trained.summary.fit_seconds:.0f} s, "
    times += f"{trained.summary.n_columns} columns"
    if classes:
        accuracy = float(np.mean(fitted.labels[np.argmax(predicted, axis=1)] == test.y))
        own = trained.judge.more(trained.model.predict_proba(test.X))["accuracy"]
        gap = 100 * (accuracy - own)
        verdict = "holds" if gap <= 1 else "fails"
        return (
            f"accuracy of fit {own:.4f}, of compare's best of ours ({best.name}) {accuracy:.4f}: "
            f"{gap:+.2f} points (asked: at most 1, {verdict}); {times}"
        )
    rmse = float(np.sqrt(np.mean((test.y - predicted) ** 2)))
    own = trained.summary.more_scores["RMSE"]
    gap = 100 * (own / rmse - 1)
    verdict = "holds" if gap <= 3 else "fails"
    return (
        f"RMSE of fit {own:.4g}, of compare's best of ours ({best.name}) {rmse:.4g}: {gap:+.1f}% "
        f"(asked: at most 3%, {verdict}); {times}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--folds", type=int, default=2)
    parser.add_argument("--most", type=int, default=50_000)
    parser.add_argument("--width", type=int, help="by default that of fit")
    parser.add_argument("--csv", type=Path, help="keep the CSV files in this folder")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        for name in options.names:
            folder = (options.csv or Path(place)) / name
            folder.mkdir(parents=True, exist_ok=True)
            print(f"{name}: {measured(name, folder, options)}", flush=True)


if __name__ == "__main__":
    main()
