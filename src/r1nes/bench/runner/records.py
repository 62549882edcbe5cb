"""A file of finished runs: one JSON object per line, safe against a kill at any moment.

A record is written at once, newline last, and is on the disk before the next run is told of it. A line
without its newline is therefore what a kill left behind, and is dropped.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Record = dict[str, Any]


class Records:
    """A file of records to add to, held by one process at a time: a second one gets BlockingIOError.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "records.jsonl"
        >>> with Records(path) as records:
        ...     records.append({"method": "r1nes", "evaluations": 1234})
        >>> read_records(path)
        [{'method': 'r1nes', 'evaluations': 1234}]
    """

    def __init__(self, path: Path) -> None:
        """Opens and locks the file, and drops what a kill left of its last line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        try:
            _lock(self._file.fileno(), path)
            self._file.seek(0)
            text = self._file.read()
            self._file.truncate(text.rfind(b"\n") + 1)
        except BaseException:
            self._file.close()
            raise

    def append(self, record: Record) -> None:
        """Write one record, wholly or not at all."""
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        size = os.fstat(self._file.fileno()).st_size
        try:
            if self._file.write(line) != len(line):
                raise OSError(f"{self._file.name} could not be written to: is the disk full?")
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(size)
            raise

    def __enter__(self) -> Self:
        """The records themselves."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the file, which unlocks it."""
        self._file.close()


def read_records(path: Path) -> list[Record]:
    """Every whole record of a file; also while a runner still appends to it."""
    records: list[Record] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if line.endswith(b"\n"):
            try:
                records.append(json.loads(line))
            except ValueError as error:
                raise ValueError(f"{path}, line {number} is no record: {error}") from None
    return records


def _lock(descriptor: int, path: Path) -> None:
    """Lock the file until it is closed; its death closes a process's files, so no lock outlives one."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 40, os.SEEK_SET)  # a byte nobody reads: Windows' locks forbid reading
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BlockingIOError(f"{path} is being written to by another process") from None
