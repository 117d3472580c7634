"""From samples of sound to the inputs of a model: log-mel frames, stacked or projected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...numerics.factorisations import generalised_eigenvectors
from .utterances import Frames, Utterance, rows

RATE, HOP, WINDOW, N_BANDS = 16_000, 160, 400, 40
_N_FFT = 512
CONTEXT = 5
_MOST_LDA_ROWS = 200_000


def log_mel(samples: npt.NDArray[np.float64]) -> Frames:
    """log(1 + power) in 40 mel bands from 0 to 8 kHz: 25 ms Hamming windows every 10 ms."""
    emphasised = np.append(samples[0], samples[1:] - 0.97 * samples[:-1])
    windows = np.lib.stride_tricks.sliding_window_view(emphasised, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(windows * np.hamming(WINDOW), _N_FFT)) ** 2
    return np.log1p(power @ _mel_bands().T).astype(np.float32)


def _mel_bands() -> npt.NDArray[np.float64]:
    """Triangles between points equally spaced in mel, (40, 257)."""
    mel = np.linspace(0.0, 2595 * np.log10(1 + RATE / 2 / 700), N_BANDS + 2)
    hertz = 700 * (10 ** (mel / 2595) - 1)
    low, centre, high = hertz[:-2, None], hertz[1:-1, None], hertz[2:, None]
    f = np.fft.rfftfreq(_N_FFT, 1 / RATE)
    return np.clip(np.minimum((f - low) / (centre - low), (high - f) / (high - centre)), 0, None)


def stack(frames: Frames) -> Frames:
    """Each frame with the five before and after it, the ends repeated: (n, 11 * 40)."""
    padded = np.pad(frames, ((CONTEXT, CONTEXT), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * CONTEXT + 1, axis=0)
    return windows.transpose(0, 2, 1).reshape(len(frames), -1)


@dataclass(frozen=True)
class Projection:
    """Stacked frames on the 40 directions that best separate the states of some speakers."""

    mean: npt.NDArray[np.float64]  # (440,)
    directions: npt.NDArray[np.float64]  # (440, 40)

    @classmethod
    def fit(cls, utterances: Iterable[Utterance], n_axes: int = 40) -> Projection:
        """Linear discriminants of the states in these utterances, without shrinkage.

        The directions in which the means of states spread most against the spread within states
        (Fisher, 1936; Rao, 1948), scaled so that the latter is 1.
        """
        X, y = rows(utterances, lambda u: stack(u.frames))
        step = -(-len(X) // _MOST_LDA_ROWS)
        X, y = X[::step].astype(np.float64), y[::step]
        mean = X.mean(axis=0)
        X -= mean  # first: covariances are differences of large squares
        _, which, counts = np.unique(y, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), X.shape[1]))
        np.add.at(sums, which, X)
        between = (sums.T / counts) @ sums
        directions = generalised_eigenvectors(between, X.T @ X - between)[:, :n_axes]
        return cls(mean, directions * np.sqrt(len(X)))

    def __call__(self, utterance: Utterance) -> Frames:
        projected = (stack(utterance.frames) - self.mean) @ self.directions
        return projected.astype(np.float32)
