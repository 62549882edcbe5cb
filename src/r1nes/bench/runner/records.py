"""A file of finished runs: one JSON object per line, safe if the process is killed at any time.

``append`` writes a record in one call, newline last, and flushes it to disk before it returns. A last line
without a newline is therefore left over from a killed process, and is dropped.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from r1nes.storage.files import lock_descriptor

Record = dict[str, Any]


class Records:
    """A record file open for appending, by one process at a time: a second one gets a BlockingIOError.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "records.jsonl"
        >>> with Records(path) as records:
        ...     records.append({"method": "r1nes", "evaluations": 1234})
        >>> read_records(path)
        [{'method': 'r1nes', 'evaluations': 1234}]
    """

    def __init__(self, path: Path) -> None:
        """Open and lock the file, and drop an incomplete last line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b", buffering=0)
        try:
            lock_descriptor(self._file.fileno(), path)
            self._file.seek(0)
            text = self._file.read()
            self._file.truncate(text.rfind(b"\n") + 1)
        except BaseException:
            self._file.close()
            raise

    def append(self, record: Record) -> None:
        """Write one record completely, or leave the file as it was."""
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
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file, which unlocks it."""
        self._file.close()


def read_records(path: Path) -> list[Record]:
    """Return all complete records of a file, even while a runner appends to it."""
    records: list[Record] = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if line.endswith(b"\n"):
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number} is not a record: {error}") from None
    return records
