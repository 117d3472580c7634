"""The data sets of the paper, from a folder that the user names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self


class MissingData(ValueError):
    """A data set is not there; the message says what to do."""


@dataclass(frozen=True)
class Data:
    """Where data sets are found: a folder, or None where none was named."""

    folder: Path | None

    @classmethod
    def find(cls, folder: Path | None = None) -> Self:
        """The folder given, or the one that QUADFEAT_DATA names, or none.

        Raises
        ------
        ValueError
            Where a folder was named and there is none of that name.
        """
        named = str(folder) if folder is not None else os.environ.get("QUADFEAT_DATA", "")
        if not named:
            return cls(None)
        if not Path(named).is_dir():
            option = "--data" if folder is not None else "QUADFEAT_DATA"
            raise ValueError(
                f"{option} names {named!r}, which is not a folder; name one that holds mnist.npz "
                f"and timit_sample_frames.npz, or none to use what scikit-learn ships"
            )
        return cls(Path(named))
