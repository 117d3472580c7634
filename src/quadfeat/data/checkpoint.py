"""`Checkpoint`: a file from which an interrupted fit is resumed."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from . import archive, atomic


class Checkpoint:
    """A file from which an interrupted fit is resumed; `Checkpoint.none()` writes nothing.

    Parameters
    ----------
    path : path
    interval : float, minimum seconds between two writes
    identity : dict of str, must be equal in the fit that wrote the file
    """

    active = True

    def __init__(self, path: Any, interval: float, identity: dict[str, str]) -> None:
        self._path = Path(path)
        self._interval, self._identity = interval, identity
        self._written = time.monotonic()
        self._stage, self._block = "", 0
        self._arrays: dict[str, Any] = {}
        self._lasting: dict[str, Any] = {}
        self._theirs: dict[str, Any] | None = None  # the identity in the file
        self._try_out(self._path)
        if self.exists:
            self._read(self._path)

    @staticmethod
    def none() -> Checkpoint:
        """A checkpoint without a file: nothing to resume, never due, writes nothing."""
        return _NoCheckpoint()

    def _try_out(self, path: Path) -> None:
        """Fail now, not after an hour, if the file cannot be written."""
        try:
            atomic.try_out(path)
        except OSError as error:
            raise type(error)(
                error.errno,
                f"checkpoint={str(path)!r} cannot be used; name a file in a folder that exists and "
                f"can be written to: {error.strerror}",
            ) from None

    def _read(self, path: Path) -> None:
        try:
            manifest, arrays = archive.read(path)
        except ValueError as error:
            raise ValueError(
                f"checkpoint={str(path)!r} cannot be resumed; give another path, or delete it: "
                f"{error}"
            ) from None
        theirs = manifest.get("identity")
        self._theirs = theirs if isinstance(theirs, dict) else {}
        for what, value in self._identity.items():
            self.require(what, value)
        self._stage, self._block = str(manifest["stage"]), int(manifest["block"])
        for name, array in arrays.items():
            kind, _, key = name.partition("/")
            (self._lasting if kind == "lasting" else self._arrays)[key] = array

    def require(self, what: str, value: str) -> None:
        """Add one more part to the identity; a ValueError if the file has another value."""
        if self._theirs is not None and self._theirs.get(what) != value:
            raise ValueError(
                f"checkpoint={str(self._path)!r} is from a fit with other {what}; give another "
                f"path, or delete the file to start again"
            )
        self._identity[what] = value

    @property
    def exists(self) -> bool:
        """Whether there is a file to resume from."""
        return self._path.exists()

    @property
    def lasting(self) -> dict[str, Any]:
        """Arrays of completed stages that later stages need."""
        return self._lasting

    def resume(self, stage: str) -> tuple[int, dict[str, Any]] | None:
        """The block to resume from and the arrays, if the file was written in this stage."""
        if self._stage != stage:
            return None
        return self._block, self._arrays

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self._interval

    def remove(self) -> None:
        """Remove the file after the fit, so that the next fit starts from the beginning."""
        atomic.remove(self._path)

    def write(self, stage: str, block: int, arrays: dict[str, Any]) -> None:
        """Replace the file atomically.

        If the disk is full, warn and continue the fit; the next write is tried when it is due.
        """
        named = {f"lasting/{name}": array for name, array in self._lasting.items()}
        named |= {f"now/{name}": array for name, array in arrays.items()}
        manifest = {"identity": self._identity, "stage": stage, "block": block}
        try:
            archive.write(self._path, manifest, named)
        except OSError as error:
            warnings.warn(
                f"{error.strerror or error}; the fit continues, and would be resumed from an "
                f"earlier checkpoint or from the start",
                stacklevel=2,
            )
        self._written = time.monotonic()


class _NoCheckpoint(Checkpoint):
    """The checkpoint of a fit without a file."""

    active = False
    exists = False

    def __init__(self) -> None:
        self._lasting = {}

    def require(self, what: str, value: str) -> None:
        pass

    def resume(self, stage: str) -> None:
        return None

    def due(self) -> bool:
        return False

    def remove(self) -> None:
        pass

    def write(self, stage: str, block: int, arrays: dict[str, Any]) -> None:
        pass
