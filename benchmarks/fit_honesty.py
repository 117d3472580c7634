"""Check that the score printed by `quadfeat fit` is honest, and how long tables take.

    python benchmarks/fit_honesty.py [--draws 50] [--rows 300] [--width 32]
        [noise classes friedman table adult]

noise, classes: data without signal; the 95% interval should contain 0 (R2) or .5 (AUROC) in at
least 90% of the draws, and the summary should then say that nothing was learned. friedman:
friedman1 with noise of deviation 1; the interval should cover the score on 100,000 fresh rows in 88
to 99% of the draws. table: a CSV of 100,000 rows with text, dates, gaps, a constant column and an
id; under 60 s on two idle cores. adult: raw adult (of the folder that QUADFEAT_DATA names) as CSV,
codes as text, code 0 of workclass, occupation and country as a gap; AUROC of at least .915, within
.01 of gradient boosting, in under 60 s. These two run the command, and their times include its
page. Prints one line per measurement with its target; CPU seconds hardly depend on other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1

from quadfeat.app.scores import r2
from quadfeat.app.training import Trained, TrainOptions, train


def fitted(frame: pd.DataFrame, folder: Path, width: int) -> Trained:
    path = folder / "rows.parquet"
    frame.to_parquet(path)
    options = TrainOptions("y", width=width, verbose=False, compared=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return train(path, options)


def without_signal(folder: Path, options: argparse.Namespace, *, classes: bool) -> str:
    held = said = 0
    for seed in range(options.draws):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(options.rows, 5)), columns=list("abcde"))
        noise = rng.normal(size=options.rows)
        frame["y"] = np.where(noise > 0, "up", "down") if classes else noise
        summary = fitted(frame, folder, options.width).summary
        score = summary.score
        held += score.low <= score.chance <= score.high
        said += summary.verdict.startswith("Nothing was learned")
    n = options.draws
    shares = f"{held / n:.0%} of {n} draws (asked: 90%), said in {said / n:.0%}"
    return f"the interval holds chance in {shares}"


def friedman(folder: Path, options: argparse.Namespace) -> str:
    covered = 0
    fresh, y_fresh = make_friedman1(100_000, noise=1.0, random_state=10**6)
    for seed in range(options.draws):
        X, y = make_friedman1(options.rows, noise=1.0, random_state=seed)
        frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(10)])
        trained = fitted(frame.assign(y=y), folder, options.width)
        new = pd.DataFrame(fresh, columns=list(frame))
        truth = r2(y_fresh, trained.model.predict(new), float(np.mean(y))).value
        score = trained.summary.score
        covered += score.low <= truth <= score.high
    share = f"{covered / options.draws:.0%} of {options.draws} draws (asked: 88-99%)"
    return f"the interval covers the score on fresh rows in {share}"


def by_command(path: Path, *options: str) -> str:
    """What `quadfeat fit` says of a file, and how long it takes, its page and all else included."""
    command = [sys.executable, "-m", "quadfeat", "fit", str(path), "--target", "y", "--quiet"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, *options], check=True, cwd=path.parent)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    summary = json.loads(path.with_suffix(".json").read_text())
    score, page = summary["score"], path.with_suffix(".html").stat().st_size
    interval = f"[{score['low']:.4f}, {score['high']:.4f}]"
    rivals = ", ".join(f"{c['name']} {c['score']['value']:.4f}" for c in summary["contenders"])
    return (
        f"{score['name']} {score['value']:.4f} {interval}; {rivals}; {wall:.1f} s, "
        f"{cpu:.1f} s of CPU, a page of {page / 1e6:.2f} MB included"
    )


def table(folder: Path, n: int = 100_000) -> str:
    rng = np.random.default_rng(0)
    words = np.array(["quiet", "bright", "garden", "balcony", "old", "new", "central", "lake"])
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "area": rng.lognormal(4, 0.5, n).round(1),
            "city": rng.choice([f"city {i}" for i in range(300)], n),
            "heating": rng.choice(["gas", "oil", "wood"], n),
            "sold": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), "D"),
            "text": [" ".join(each) for each in words[rng.integers(0, len(words), (n, 5))]],
            "country": "AT",
        }
    )
    frame["text"] += [f" no. {i}" for i in rng.permutation(n)]
    lake = frame["text"].str.contains("lake").to_numpy()
    city = frame["city"].str.split().str[1].astype(int).to_numpy()
    frame["y"] = np.log(frame["area"]) + np.sin(city) + lake + rng.normal(0, 0.3, n)
    frame.loc[rng.random(n) < 0.1, "area"] = np.nan
    frame.loc[rng.random(n) < 0.2, "heating"] = None
    path = folder / "table.csv"
    frame.to_csv(path, index=False)
    return by_command(path)


def adult(folder: Path) -> str:
    archive = np.load(Path(os.environ["QUADFEAT_DATA"]) / "adult.npz")
    for part in ("train", "test"):
        frame = pd.DataFrame(archive[f"Xnum_{part}"], columns=archive["num_names"])
        for j, name in enumerate(archive["cat_names"]):
            codes = archive[f"Xcat_{part}"][:, j]
            text = pd.Series([f"{name}_{code}" for code in codes], dtype=object)
            if name in ("workclass", "occupation", "country"):
                text[codes == 0] = None
            frame[name] = text
        frame["y"] = np.where(archive[f"y_{part}"], ">50K", "<=50K")
        frame.to_csv(folder / f"{part}.csv", index=False)
    return by_command(folder / "train.csv", "--test", str(folder / "test.csv"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="*", default=["noise", "classes", "friedman", "table", "adult"]
    )
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--width", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        measurements = {
            "noise": lambda: without_signal(place, options, classes=False),
            "classes": lambda: without_signal(place, options, classes=True),
            "friedman": lambda: friedman(place, options),
            "table": lambda: table(place),
            "adult": lambda: adult(place),
        }
        for name in options.what:
            began = time.perf_counter()
            text = measurements[name]()
            print(f"{name}: {text} ({time.perf_counter() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
