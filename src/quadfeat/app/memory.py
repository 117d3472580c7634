"""The peak memory of a piece of work, as the system counts it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Peak:
    """Bytes beyond those before the work; None except on Linux."""

    bytes: int | None = None


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the resident memory of this process at its largest, threads and buffers included.

    Freed memory is first returned to the system, so that reusing it does not make the work look
    cheaper.
    """
    peak = Peak()
    before = _reset()
    yield peak
    if before is not None:
        peak.bytes = max(0, _resident("VmHWM") - before)


def _reset() -> int | None:
    """Restart the system's count; the bytes now, or None if this is not possible."""
    with suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
    try:
        _RESET.write_text("5")  # resets VmHWM, see proc(5)
        return _resident("VmRSS")
    except OSError:
        return None


def _resident(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])
