"""How many samples reweighting needs, and how much its result depends on their choice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import quadfeat as qf

from ..._typing import Floats
from ...plotting.style import curve, figure, legend_below, plain_ticks, style_of, tidy
from ..cell import Cell, Key, Record, Verdict
from ..contenders import N_POINTS
from ..datasets import Data
from ..speech.kernel_rows import SpeechRows, rms_error, speech_rows

TITLE = "Reweighting: 500 samples of a million"
ABOUT = (
    "Root mean squared error of the kernel of Fig. 2b on unseen speakers, for 500 grid points "
    "whose weights are fitted to all pairs of a few frames, against the number of frames; mean and "
    "standard deviation over runs. A run draws the grid points and the frames; where the points "
    "are kept, only the frames differ."
)


VERSION = 1
COLUMNS = 1000  # of 500 points
SAMPLES = {"small": (50, 100, 200, 500, 1000, 2000), "paper": (50, 100, 200, 500, 1000, 2000, 4000)}
RUNS = {"small": 3, "paper": 10}
CLAIMED = 500
NEW, KEPT, RANDOM = "reweighted", "reweighted, same points", "random"


def cells(scale: str, data: Data) -> list[Cell]:
    name = data.speech_name()

    @cache
    def rows() -> SpeechRows:
        return speech_rows(data)

    def cell(title: str, samples: int, seed: int) -> Cell:
        key: Key = {"map": title, "samples": samples, "seed": seed, "data": name}
        return Cell(key, partial(measure, rows, title, samples, seed), 1.0 + samples / 1000)

    planned = [(NEW, samples) for samples in SAMPLES[scale]] + [(KEPT, CLAIMED), (RANDOM, 0)]
    return [cell(title, samples, s) for s in range(RUNS[scale]) for title, samples in planned]


def measure(rows: Callable[[], SpeechRows], title: str, samples: int, seed: int) -> list[Record]:
    """Fit one map to frames that the seed draws, and measure its error on unseen speakers."""
    speech = rows()
    features: qf.FeatureMap
    if title == RANDOM:
        features = qf.RandomFourier(speech.kernel, n_components=COLUMNS, random_state=seed)
    else:
        grid = qf.SubsampledGrid(
            n_components=COLUMNS, n_points=N_POINTS, random_state=0 if title == KEPT else None
        )
        features = qf.ReweightedGrid(
            speech.kernel, n_components=COLUMNS, pool=grid, n_samples=samples, random_state=seed
        )
    error = rms_error(speech, features.fit(speech.train))
    frames = len(speech.train)
    return [{"map": title, "samples": samples, "seed": seed, "rms": error, "frames": frames}]


# --- from records -------------------------------------------------------------------------------
def errors(records: list[Record], title: str, samples: int) -> Floats:
    """The errors of a map, one per run."""
    return np.array([r["rms"] for r in records if r["map"] == title and r["samples"] == samples])


def _samples(records: list[Record]) -> list[int]:
    return sorted({r["samples"] for r in records if r["map"] == NEW})


def draw(records: list[Record]) -> Any:
    picture = figure()
    ax = picture.subplots()
    samples = _samples(records)
    runs = np.array([errors(records, NEW, n) for n in samples]).T
    curve(ax, "reweighted", samples, runs, label="reweighted, 500 grid points")
    kept = errors(records, KEPT, CLAIMED)
    colour, marker, _ = style_of("pruned")
    ax.errorbar(
        [CLAIMED * 1.12], [kept.mean()], [kept.std(ddof=1)], fmt=marker, color=colour, capsize=4,
        markersize=5, label="the same, points kept",
    )  # fmt: skip
    random = errors(records, RANDOM, 0)
    level = np.repeat(random[:, None], len(samples), axis=1)
    curve(ax, "random", samples, level, label="random, 500 points")
    ax.set(xscale="log", yscale="log")
    plain_ticks(ax.xaxis, samples)
    plain_ticks(ax.yaxis, (0.005, 0.01, 0.02, 0.04))
    ax.set_ylim(0.7 * min(runs.min(), kept.min()), 1.4 * max(random.max(), runs.max()))
    ax.set_xlabel("frames whose pairs are fitted")
    ax.set_ylabel("RMS kernel error relative to k(0)")
    tidy(ax)
    legend_below(picture, columns=2)
    return picture


def verdicts(records: list[Record]) -> list[Verdict]:
    most = _samples(records)[-1]
    claimed, reached, random = (
        errors(records, *place) for place in ((NEW, CLAIMED), (NEW, most), (RANDOM, 0))
    )
    kept = errors(records, KEPT, CLAIMED)
    frames = records[0]["frames"]
    excess = claimed.mean() / reached.mean() - 1
    spread, theirs, anew = (e.std(ddof=1) / e.mean() for e in (kept, random, claimed))
    return [
        Verdict(
            "500 samples suffice to fit the weights",
            "500 samples out of 1 million data points",
            f"{excess:.0%} more error with 500 frames than with {most:,}; "
            f"1/{random.mean() / claimed.mean():.1f} of random's error",
            bool(excess <= 0.1),
            f"Of {frames:,} frames here; all pairs of the 500 are fitted. Held to at most 10%.",
        ),
        Verdict(
            "Which samples are drawn matters little",
            "extremely low variance",
            f"deviation over runs: {spread:.1%} of the error when only the 500 frames change, "
            f"{anew:.1%} when the points change too, {theirs:.1%} for random features",
            bool(spread < theirs),
            "Holds if the deviation is below that of random features.",
        ),
    ]
