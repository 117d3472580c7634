"""Kernel error of ANOVA features on speech: 50 subsets of 5 of 40 axes, at equal columns.

    QUADFEAT_DATA=FOLDER python benchmarks/timit.py [--columns 2000] [--seeds 3]

Frames of the TIMIT sample with their five neighbours on either side, reduced to 40 axes by linear
discriminant analysis of the training speakers' states; the kernel's length scale is the median
distance. Errors are over pairs of 1000 frames of speakers that no map has seen.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import quadfeat as qf

TEST_SPEAKERS = ("dr1-fvmh0", "dr3-madc0", "dr5-ftlg0", "dr7-madd0")
ASKED = {"reweighted": 2.1, "pruned": 3.5, "HermiteMercer": 15.0, "compressed": 80.0}


def axes() -> tuple[Any, Any]:
    """Training and test frames (n, 40)."""
    data = np.load(Path(os.environ["QUADFEAT_DATA"]) / "timit_sample_frames.npz")
    utterance = data["utt"]
    stacked = np.concatenate([_context(part) for part in _split(data["X"], utterance)])
    names = data["utts"]
    speaker = np.array([name.split("/")[0] for name in names])[utterance]
    usable = ~np.array(["/sa" in name for name in names])[utterance] & (data["y39"] != 255)
    test = np.isin(speaker, TEST_SPEAKERS)
    state = 3 * data["y48"].astype(int) + data["state"]
    lda = LinearDiscriminantAnalysis(solver="eigen", n_components=40)
    train = lda.fit_transform(stacked[usable & ~test], state[usable & ~test])
    return train, lda.transform(stacked[usable & test])


def _split(X: Any, utterance: Any) -> list[Any]:
    return np.split(X.astype(np.float64), np.flatnonzero(np.diff(utterance)) + 1)


def _context(frames: Any, reach: int = 5) -> Any:
    """Each frame beside its neighbours, (n, 11 * 40); the first and last frames are repeated."""
    padded = np.pad(frames, ((reach, reach), (0, 0)), mode="edge")
    return np.hstack([padded[i : i + len(frames)] for i in range(2 * reach + 1)])


def maps(kernel: Any, p: int, seed: int) -> dict[str, Any]:
    own: dict[str, Any] = {"n_components": p, "random_state": seed}
    same = qf.SubsampledGrid(**own)
    return {
        "random": qf.RandomFourier(kernel, **own),
        "reweighted": qf.ReweightedGrid(kernel, pool=same, **own),
        "pruned": qf.ReweightedGrid(kernel, **own),
        "HermiteMercer": qf.HermiteMercer(kernel, **own),
        "compressed": qf.HermiteMercer(kernel, compress=True, **own),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    train, test = axes()
    print(f"{len(train)} training frames, {len(test)} test frames", flush=True)
    errors: dict[str, list[float]] = {}
    for seed in range(options.seeds):
        rng = np.random.default_rng(seed)
        subsets = [rng.choice(40, size=5, replace=False) for _ in range(50)]
        kernel = qf.Anova(qf.Gaussian("median"), subsets).resolve(train)
        rows = test[rng.choice(len(test), size=1000, replace=False)]
        apart = ~np.eye(len(rows), dtype=bool)
        exact = kernel(rows)
        for name, features in maps(kernel, options.columns, seed).items():
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                features.fit(train)
            fitted = time.process_time() - began
            gap = (features.approximate_kernel(rows) - exact)[apart] / 50
            errors.setdefault(name, []).append(float(np.sqrt(np.mean(gap**2))))
            gain = errors["random"][seed] / errors[name][seed]
            print(
                f"seed {seed}  {name:14s} RMS {errors[name][seed]:.2e}  {gain:6.1f}x less than "
                f"random; fit {fitted:.1f} s of processor time",
                flush=True,
            )
    for name, asked in ASKED.items():
        gain = np.mean(errors["random"]) / np.mean(errors[name])
        print(f"{name:14s} {gain:6.1f}x (asked {asked:g})  {'met' if gain >= asked else 'NOT MET'}")


if __name__ == "__main__":
    main()
