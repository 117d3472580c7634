"""Files that are replaced atomically: a reader sees the old file or the new one, never a part.

A new file is written beside the old one under a unique name, synced to disk and then renamed. Of
several writers of one file, the last to finish wins.
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
except ImportError:  # not a Unix: temporary files of killed writers are then not removed
    fcntl = None  # type: ignore[assignment]
_NAME = 60  # characters of a file's name kept in its temporary name: at most 255 bytes


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """An empty binary file that replaces `path` when the `with` block ends without an error.

    The file is synced to disk before it is renamed. After any error (no space, a read-only folder,
    Ctrl-C) an earlier file is unchanged, and the temporary file is removed. A symbolic link stays:
    the file that it points to is replaced. Permissions of an earlier file are kept, its owner too
    if that is allowed; a new file has default permissions.

    Raises
    ------
    OSError
        Names `path` and the reason why it cannot be written.
    """
    with _named(path):
        target, earlier = _target(path)
        remove_stale(path)
        temporary = _temporary(target)
        file: BinaryIO | None = None
        try:  # Ctrl-C may come as soon as there is a file
            file = _create(temporary, 0o666 if earlier is None else 0o600)
            yield file
            file.flush()
            if earlier is not None and hasattr(os, "fchown"):  # not on Windows
                with contextlib.suppress(OSError):  # changing the owner may not be allowed
                    os.fchown(file.fileno(), earlier.st_uid, earlier.st_gid)
                os.fchmod(file.fileno(), earlier.st_mode & 0o777)
            os.fsync(file.fileno())
            if fcntl is None:  # Windows renames no open file; elsewhere it stays locked until then
                file.close()
            os.replace(temporary, target)
        except BaseException:
            _unlink(temporary)
            raise
        finally:
            with contextlib.suppress(OSError):
                if file is not None:
                    file.close()
        _sync_folder(target.parent)


def replace(path: Any, content: str | bytes) -> None:
    """Write a file atomically, as `replacing` does."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def remove(path: Any) -> None:
    """Remove a file, if it exists, and temporary files of killed writers; a link to it stays."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)
    remove_stale(path)


def try_out(path: Any) -> None:
    """Raise the OSError that `replacing` would raise, for example for a read-only folder."""
    with _named(path):
        target, _ = _target(path)
        temporary = _temporary(target)
        try:
            _create(temporary, 0o600).close()
        finally:
            _unlink(temporary)


def remove_stale(path: Any) -> None:
    """Remove temporary files of killed writers of `path`, but none in use.

    A writer holds a lock on its temporary file, so a file that can be locked has no writer.
    """
    target = Path(os.path.realpath(path))
    ours = re.compile(re.escape(f".{target.name[:_NAME]}") + r"(\.[0-9a-f]{16})?\.tmp")
    # Cleaning up must not fail a write.
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
    """Add the path to any OSError."""
    try:
        yield
    except OSError as error:
        text = f"{path} was not written ({error.strerror or error})"
        # With a number, OSError chooses its own subclass.
        raise (OSError(text) if error.errno is None else OSError(error.errno, text)) from error


def _target(path: Any) -> tuple[Path, os.stat_result | None]:
    """The file that a path points to through its links, and its status, None if it is new."""
    target = Path(os.path.realpath(path))
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, "it is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):  # a device, a pipe, or a broken link
        raise OSError(errno.EINVAL, "it is not a regular file; name another")
    return target, status


def _temporary(target: Path) -> Path:
    """A new name beside the target."""
    return target.with_name(f".{target.name[:_NAME]}.{secrets.token_hex(8)}.tmp")


def _create(temporary: Path, mode: int) -> BinaryIO:
    """A new temporary file, locked."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    while True:
        descriptor = os.open(temporary, flags, mode)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # not every file system has locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_named(descriptor, temporary):
            return os.fdopen(descriptor, "w+b")
        os.close(descriptor)  # another writer removed it as stale before it was locked


def _unlink(temporary: Path) -> None:
    """Remove a temporary file, if it was created."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(temporary)


def _is_named(descriptor: int, path: Any) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename in it survives a power loss, if the system can."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
