"""The data sets of the paper, from a folder that the user names."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.datasets import fetch_openml, load_digits

from .speech import corpus
from .speech.utterances import Utterance, select


class MissingData(ValueError):
    """A data set is missing; the message says where to get it."""


class Images(NamedTuple):
    """Images of digits, pixels in [0, 1], one row each."""

    X_train: npt.NDArray[np.float32]
    y_train: npt.NDArray[np.int64]
    X_test: npt.NDArray[np.float32]
    y_test: npt.NDArray[np.int64]
    name: str
    side: int  # pixels


@dataclass(frozen=True)
class Data:
    """The folder of data sets, or None if none was named.

    With `fetch`, MNIST comes from scikit-learn's fetcher if the folder does not have it.
    """

    folder: Path | None
    fetch: bool = False

    @classmethod
    def find(cls, folder: Path | None = None, *, fetch: bool = False) -> Self:
        """The given folder, or the one named by QUADFEAT_DATA, or none.

        Raises
        ------
        ValueError
            If the named folder does not exist or has none of the data.
        """
        named = str(folder) if folder is not None else os.environ.get("QUADFEAT_DATA", "")
        if not named:
            return cls(None, fetch)
        if not Path(named).is_dir():
            option = "--data" if folder is not None else "QUADFEAT_DATA"
            raise ValueError(
                f"{option} names {named!r}, which is not a folder; name one that holds mnist.npz "
                f"and timit_sample_frames.npz, or none to use what scikit-learn ships"
            )
        data = cls(Path(named), fetch)
        if folder is not None and data.mnist_name() == "digits" and not data._has_speech():
            raise ValueError(
                f"--data names {named!r}, which holds neither {_MNIST} nor {_PACKED} nor "
                f"recordings in TIMIT's layout; name one that does, or none"
            )
        return data

    def _file(self, name: str) -> Path | None:
        path = None if self.folder is None else self.folder / name
        return path if path is not None and path.is_file() else None

    def mnist_name(self) -> str:
        """The digits that `mnist` returns: "MNIST", or "digits" if its file is missing."""
        return "MNIST" if self.fetch or self._file(_MNIST) is not None else "digits"

    def mnist(self) -> Images:
        """MNIST with its official split, or the 1797 small digits that scikit-learn ships."""
        path = self._file(_MNIST)
        if path is None and self.fetch:
            return _fetched_mnist()
        if path is None:
            X, y = load_digits(return_X_y=True)
            X, y = (X / 16).astype(np.float32), y.astype(np.int64)
            order = np.random.default_rng(0).permutation(len(X))
            train, test = order[:1200], order[1200:]
            return Images(X[train], y[train], X[test], y[test], "digits", 8)
        try:
            with np.load(path) as file:
                X_train, y_train, X_test, y_test = (
                    file[name] for name in ("X_train", "y_train", "X_test", "y_test")
                )
            return Images(
                _pixels(X_train),
                y_train.astype(np.int64),
                _pixels(X_test),
                y_test.astype(np.int64),
                "MNIST",
                28,
            )
        except corpus.NOT_ARRAYS as error:
            raise ValueError(f"{path} is not a readable MNIST ({error}); copy it again") from error

    def speech_name(self) -> str:
        """The name of the data that `speech` returns, without reading it.

        Raises
        ------
        MissingData
            If the folder has none, or there is no folder.
        """
        if self._file(_PACKED) is not None:
            return "TIMIT sample"
        if self.folder is not None:
            recordings = corpus.count_recordings(self.folder)
            if recordings:
                return f"{recordings} recordings of TIMIT"
        raise MissingData(
            f"speech needs --data, or QUADFEAT_DATA, to name a folder that holds {_PACKED} or the "
            f"corpus in TIMIT's own layout (TRAIN/DR1/SPEAKER/SENTENCE.WAV beside SENTENCE.PHN)"
        )

    def _has_speech(self) -> bool:
        try:
            return bool(self.speech_name())
        except MissingData:
            return False

    def substitute(self) -> str:
        """A sentence on what replaces MNIST; empty if MNIST is there."""
        if self.mnist_name() == "MNIST":
            return ""
        where = f"{self.folder} holds no {_MNIST}" if self.folder else "no folder of data is named"
        return (
            f"Fig. 2a runs on the 1,797 small digits that scikit-learn ships: {where}; "
            f"--data, or QUADFEAT_DATA, names one that holds it, --fetch downloads it"
        )

    def speech(self) -> list[Utterance]:
        """The utterances of the packed sample, or else of a corpus in TIMIT's own layout."""
        path = self._file(_PACKED)
        if path is not None:
            return corpus.read_packed(path)
        self.speech_name()  # raises an error if there is nothing
        utterances = corpus.read_folder(self.folder or Path())
        for part in ("train", "dev", "test"):
            if not select(utterances, part):
                raise ValueError(
                    f"{self.folder} has no speakers for {part}; the corpus has a TRAIN folder, and "
                    f"in TEST the core test set beside others, which are for development"
                )
        return utterances


_MNIST, _PACKED = "mnist.npz", "timit_sample_frames.npz"


def _fetched_mnist() -> Images:
    """MNIST from OpenML, kept in scikit-learn's own folder; the last 10,000 rows are the test."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warns about a missing cache
            X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
        X, y = _pixels(X), y.astype(np.int64)
    except (*corpus.NOT_ARRAYS, ImportError) as error:
        raise ValueError(
            f"--fetch could not download MNIST ({error}); name a folder that holds {_MNIST} with "
            f"--data, or leave --fetch out to use what scikit-learn ships"
        ) from error
    return Images(X[:60_000], y[:60_000], X[60_000:], y[60_000:], "MNIST", 28)


def _pixels(X: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    return (X.reshape(len(X), 28 * 28) / 255).astype(np.float32)
