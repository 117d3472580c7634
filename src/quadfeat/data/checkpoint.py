"""A file that holds how far a fit has come."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from . import archive, atomic


class Checkpoint:
    """A file that holds how far a fit has come; without a path it does nothing.

    Parameters
    ----------
    path : path or None
    interval : float, seconds between two writes at least
    identity : dict of str, what a fit must share with the one that wrote the file
    """

    def __init__(self, path: Any, interval: float, identity: dict[str, str]) -> None:
        self._path = None if path is None else Path(path)
        self._interval, self._identity = interval, identity
        self._written = time.monotonic()
        self._stage, self._block = "", 0
        self._arrays: dict[str, Any] = {}
        self._lasting: dict[str, Any] = {}
        self._theirs: dict[str, Any] | None = None  # the identity in the file
        if self._path is not None:
            self._try_out(self._path)
        if self._path is not None and self.exists:
            self._read(self._path)

    def _try_out(self, path: Path) -> None:
        """Notice at once, not after an hour, that nothing can be written."""
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
            kind, _, own = name.partition("/")
            (self._lasting if kind == "lasting" else self._arrays)[own] = array

    def require(self, what: str, value: str) -> None:
        """Take up one more part of the identity; a ValueError where the file has another."""
        if self._theirs is not None and self._theirs.get(what) != value:
            raise ValueError(
                f"checkpoint={str(self._path)!r} is of a fit with other {what}; give another path, "
                f"or delete the file to begin again"
            )
        self._identity[what] = value

    @property
    def active(self) -> bool:
        return self._path is not None

    @property
    def exists(self) -> bool:
        """Whether there is a file to go on from."""
        return self._path is not None and self._path.exists()

    @property
    def lasting(self) -> dict[str, Any]:
        """Arrays of stages that are over, which later ones need."""
        return self._lasting

    def resume(self, stage: str) -> tuple[int, dict[str, Any]] | None:
        """The block to go on from and the arrays, if the file was written in this stage."""
        if self._stage != stage:
            return None
        return self._block, self._arrays

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.active and time.monotonic() - self._written >= self._interval

    def remove(self) -> None:
        """The fit is over: the next one begins anew, with other data if it likes."""
        if self._path is not None:
            atomic.remove(self._path)

    def write(self, stage: str, block: int, arrays: dict[str, Any]) -> None:
        """Replace the file; whatever happens, the old one or the new one is whole.

        A full disk is no reason to lose the fit: it warns, and tries again when it is due.
        """
        if self._path is None:
            return
        named = {f"lasting/{name}": array for name, array in self._lasting.items()}
        named |= {f"now/{name}": array for name, array in arrays.items()}
        manifest = {"identity": self._identity, "stage": stage, "block": block}
        try:
            archive.write(self._path, manifest, named)
        except OSError as error:
            warnings.warn(
                f"{error.strerror or error}; the fit goes on, and would be resumed from an earlier "
                f"checkpoint or none",
                stacklevel=2,
            )
        self._written = time.monotonic()
