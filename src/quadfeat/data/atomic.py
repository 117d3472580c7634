"""Files that are replaced whole: at every moment the old one is there, or the new one.

A new file is written beside the old one, under a name that no other writer has, and takes its place
only when it is safe on the disk. Of several writers of one file, the last that finishes wins.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # not a Unix: what killed writers leave behind is then left there
    fcntl = None  # type: ignore[assignment]
_NAME = 60  # characters of a file's name in those beside it: no name may have above 255 bytes


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """An empty binary file that takes the place of `path` when the block ends without an error.

    When it returns, the file is on the disk. After any error (no space, a folder that is read-only,
    Ctrl-C) an earlier file is as it was, and nothing is left beside it. A link stays a link: the
    file that it points to is replaced. An earlier file passes on its permissions, and its owner
    where that is allowed; a new one has those of any new file.

    Raises
    ------
    OSError
        That names `path`, for whatever keeps it from being written.
    """
    with _named(path):
        target, earlier = _target(path)
        remove_stale(path)
        temporary, file = _create(target, 0o666 if earlier is None else 0o600)
        try:
            yield file
            file.flush()
            if earlier is not None:
                with contextlib.suppress(OSError):  # the owner is not ours to give away
                    os.fchown(file.fileno(), earlier.st_uid, earlier.st_gid)
                os.fchmod(file.fileno(), earlier.st_mode & 0o777)
            os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        finally:
            with contextlib.suppress(OSError):
                file.close()
        _sync_folder(target.parent)


def replace(path: Any, content: str | bytes) -> None:
    """Write a file whole, as `replacing` does."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def remove(path: Any) -> None:
    """Remove a file, if there is one, and what killed writers of it left; a link to it stays."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)
    remove_stale(path)


def try_out(path: Any) -> None:
    """Raise the OSError that a missing or read-only folder would make `replacing` raise."""
    with _named(path):
        target, _ = _target(path)
        temporary, file = _create(target, 0o600)
        os.unlink(temporary)
        file.close()


def remove_stale(path: Any) -> None:
    """Remove what killed writers of `path` have left beside it, and nothing that is in use.

    A writer holds a lock on its file for as long as it lives, so what can be locked is left behind.
    """
    target = Path(os.path.realpath(path))
    ours = re.compile(re.escape(f".{target.name[:_NAME]}") + r"(\.[0-9a-f]{16})?\.tmp")
    # Nothing here is worth an error.
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(descriptor, path):  # not renamed by its writer since
                os.unlink(path)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _named(path: Any) -> Iterator[None]:
    """Errors of the disk, with the file that was to be written in them."""
    try:
        yield
    except OSError as error:
        text = f"{path} was not written ({error.strerror or error})"
        # With a number, OSError chooses its own subclass.
        raise (OSError(text) if error.errno is None else OSError(error.errno, text)) from error


def _target(path: Any) -> tuple[Path, os.stat_result | None]:
    """The file that a path leads to through its links, and what it is so far."""
    target = Path(os.path.realpath(path))
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, "it is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):  # a device or a pipe would be lost; a link leads nowhere
        raise OSError(errno.EINVAL, "it is not a regular file; name another")
    return target, status


def _create(target: Path, mode: int) -> tuple[Path, BinaryIO]:
    """A new file beside the target, locked."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    while True:
        temporary = target.with_name(f".{target.name[:_NAME]}.{secrets.token_hex(8)}.tmp")
        descriptor = os.open(temporary, flags, mode)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # not every file system has locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_named(descriptor, temporary):
            return temporary, os.fdopen(descriptor, "w+b")
        os.close(descriptor)  # before it was locked, it was taken for one left behind


def _is_named(descriptor: int, path: Any) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Make a rename in a folder last through a loss of power, where the system can."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
