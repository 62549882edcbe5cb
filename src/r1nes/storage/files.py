"""Files that other processes may read, write or damage at the same time: replace, read and lock them safely.

``replace_file`` writes the new content under another name, flushes it to disk and renames it, so that readers
always find a complete file, the old one or the new one, even after a crash. The other name is random and
opened exclusively: two processes never write to the same draft, and a link that somebody put in its place is
not followed. A path that is a symbolic link stays one; the file that it points to is replaced. The new file
has the permissions of the old one.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 1.0  # seconds to wait for a lock: the workers of a killed process hold it for a moment longer
UNLOCKABLE = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # from file systems that have no locks
DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not block


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Give the file ``path`` new ``content``; if this raises OSError, the file is the old or the new one."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f"{target.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(draft, DRAFT, 0o666)  # minus the umask
    try:
        try:
            _keep_mode(descriptor, target)
            _write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    _flush_directory(target.parent)


def read_file(path: str | os.PathLike[str], start: bytes, largest: int) -> bytes:
    """Return the content of a regular file of at most ``largest`` bytes.

    Only the first bytes are read if they differ from ``start``. Devices and pipes, which may have no end, are
    refused with ValueError.
    """
    descriptor = os.open(path, READ)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is a device or a pipe, not a file")
        first = file.read(len(start))
        if first != start:
            return first
        if status.st_size > largest:
            raise ValueError(f"it has {status.st_size:,} bytes, and at most {largest:,} are read")
        return first + file.read(largest - len(first))


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Reserve the file ``path`` for this process; raise BlockingIOError if another one has reserved it.

    The lock is held on ``path.lock`` beside the file, which is itself replaced again and again. It ends with
    the process at the latest; a file that a killed process has left behind is no obstacle.
    """
    target = Path(os.path.realpath(path))
    lock = target.with_name(f"{target.name}.lock")
    descriptor = _locked_descriptor(lock, target)
    try:
        yield
    finally:
        with suppress(OSError):
            if sys.platform == "win32":  # where a file that is open cannot be deleted
                os.close(descriptor)
                os.unlink(lock)
            else:  # while locked: nobody may lock a file that is about to vanish
                os.unlink(lock)
                os.close(descriptor)


def lock_descriptor(descriptor: int, path: str | os.PathLike[str]) -> None:
    """Lock an open file until it is closed; raise BlockingIOError if another process has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 40, os.SEEK_SET)  # a byte that is never read: a lock blocks reading
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in UNLOCKABLE:
            message = f"{os.fspath(path)} is on a file system without locks: let only one process write to it"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        else:
            raise BlockingIOError(f"{os.fspath(path)} is being written to by another process") from None


def _locked_descriptor(lock: Path, target: Path) -> int:
    """Return the locked ``lock``; if its owner has just deleted it, lock its successor."""
    deadline = time.monotonic() + PATIENCE
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            lock_descriptor(descriptor, target)
            if _is_still(descriptor, lock):
                return descriptor
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise
            time.sleep(0.02)
        os.close(descriptor)


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _keep_mode(descriptor: int, target: Path) -> None:
    """Give the draft the permissions of the file that it will replace, where the system allows it."""
    if hasattr(os, "fchmod"):
        with suppress(FileNotFoundError, PermissionError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(target).st_mode))


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _flush_directory(directory: Path) -> None:
    """Make the rename durable; only POSIX systems support this."""
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
