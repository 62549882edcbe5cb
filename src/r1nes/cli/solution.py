"""The file for the best point of a run: checked before the run, and written whatever happens to the run."""

from __future__ import annotations

import io
import json
import os
import re
from itertools import count
from pathlib import Path

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.cli import output
from r1nes.storage.files import replace_file


class Solution:
    """Writes ``x`` to the file ``out``, or to a new one that is named after ``function``.

    A .npy file holds x, and ``--x0`` accepts it; any other file holds the result as JSON.
    """

    def __init__(self, out: Path | None, function: str) -> None:
        """Check that ``out`` can be written to, before hours are spent."""
        self._out, self._function = out, function
        if out is not None and not os.access(out.parent, os.W_OK):
            raise ValueError(f"--out must be in a folder that exists and can be written to, got {out}")

    def write(self, result: OptimizeResult) -> Path:
        """Write the result and return the path; only a file that was named by the user is replaced."""
        path = self._unused() if self._out is None else self._out
        if path.suffix == ".npy":
            file = io.BytesIO()
            np.save(file, np.asarray(result.x))
            replace_file(path, file.getvalue())
        else:
            replace_file(path, json.dumps(output.plain(result)).encode() + b"\n")
        return path

    def _unused(self) -> Path:
        name = self._function.rpartition(":")[2].removesuffix(".py")
        stem = re.sub(r"[^\w-]+", "_", Path(name).name) + "-best"
        names = (Path(f"{stem}{'' if i == 1 else f'-{i}'}.npy") for i in count(1))
        return next(name for name in names if not name.exists())
