"""Files that somebody has changed, with a valid checksum: refused by name, or harmless, and never obeyed."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import r1nes
from r1nes.bench.runner.records import read_records
from r1nes.display.report import Report
from r1nes.strategies import STRATEGIES
from support.functions import sphere

VALUES: list[Any] = [
    *(None, True, -1, 0, 2**70, 1e308, float("nan"), "", "\x1b[31m", [], [1], {}),
    *({"dict": {}}, {"tuple": []}, {"array": ["<f8", [0], 0]}, {"array": ["<f8", [3, 3], 0]}),
    *({"array": ["<i8", [], 0]}, {"array": ["<f8", [2**62, 2**62], 0]}, {"array": ["<f8", [-1], 0]}),
]
Path_ = tuple[Any, ...]


def paths(node: Any, before: Path_ = ()) -> Iterator[Path_]:
    if before:
        yield before
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from paths(value, (*before, key))


def forged(content: bytes, change: Any) -> bytes:
    """Return a file whose tree ``change`` has changed in place."""
    magic, _, body = content.split(b"\n", 2)
    header, _, data = body.partition(b"\n")
    tree = json.loads(header)
    change(tree)
    body = json.dumps(tree).encode() + b"\n" + data
    return b"\n".join([magic, hashlib.sha256(body).hexdigest().encode(), body])


def changed(path: Path_, value: Any, tree: Any) -> None:
    for key in path[:-1]:
        tree = tree[key]
    if value is ...:
        del tree[path[-1]]
    else:
        tree[path[-1]] = copy.deepcopy(value)


@pytest.mark.filterwarnings("ignore")  # numbers may be absurd
@pytest.mark.parametrize("method", STRATEGIES)
def test_every_entry_missing_or_of_another_kind(method: str, tmp_path: Path) -> None:
    """``minimize`` and ``report`` accept a file or raise a ValueError that names it."""
    path, rng = tmp_path / "f", random.Random(0)
    messages: list[str] = []
    solve = partial(
        r1nes.minimize, sphere, np.ones(3), method=method, rng=1, restarts=2, vectorized=True, checkpoint=path
    )
    solve(max_evals=60)
    sound = path.read_bytes()
    entries = list(paths(json.loads(sound.split(b"\n", 3)[2])))
    for entry in entries:
        kinds = [value for value in VALUES if not isinstance(value, float)]
        content = forged(sound, partial(changed, entry, rng.choice([..., *kinds])))
        for read in (partial(solve, max_evals=60), lambda: Report(path).text()):
            path.write_bytes(content)
            try:
                read()
            except ValueError as error:
                messages.append(str(error))
    assert all(str(path) in message for message in messages)
    assert len(messages) > len(entries)


@pytest.mark.parametrize("name", ["restart", "generation", "nfev", "nan_count", "blanks", "drawn", "earlier"])
def test_counts_are_whole_numbers(name: str, tmp_path: Path) -> None:
    path = tmp_path / "f"
    solve = partial(r1nes.minimize, sphere, np.ones(3), rng=1, restarts=2, max_evals=60, checkpoint=path)
    solve()
    entry = ("dict", "search", "dict", "optimizer", "dict", "counts", "dict", name)
    path.write_bytes(forged(path.read_bytes(), partial(changed, entry, 1e300)))
    with pytest.raises(ValueError, match=r"f holds no run of minimize that can be continued"):
        solve()


def test_names_in_a_file_cannot_take_over_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "f"
    r1nes.minimize(sphere, np.ones(3), max_evals=60, checkpoint=path)
    name = "\x1b]0;owned\x07\nr1nes: all is well \udc80"
    path.write_bytes(forged(path.read_bytes(), partial(changed, ("dict", "fun", "dict", "name"), name)))
    text = Report(path).text()
    text.encode()
    assert text.replace("\n", "").isprintable()
    assert r"\x1b]0;owned\x07\nr1nes" in text


def test_a_file_cannot_make_the_report_import_a_library(tmp_path: Path) -> None:
    """The name of an array library in a file is not an order to import it."""
    path = tmp_path / "f"
    r1nes.minimize(sphere, np.ones(3), max_evals=60, checkpoint=path)

    def on_torch(tree: Any) -> None:
        search = tree["dict"]["search"]["dict"]
        for settings in (search["settings"], search["optimizer"]["dict"]["settings"]):
            settings["dict"] |= {"arrays": "torch:cpu", "sampling": "device", "compiled": True}

    path.write_bytes(forged(path.read_bytes(), on_torch))
    for library in ("torch", "numba"):
        (tmp_path / f"{library}.py").write_text("raise SystemExit('imported')")
    code = (
        "import sys; from pathlib import Path; from r1nes.display.report import Report; "
        "print(Report(Path(sys.argv[1])).text())"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    assert "best value" in shown.stdout


def test_a_deeply_nested_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("[" * 100_000 + "]" * 100_000 + "\n")
    with pytest.raises(ValueError, match=r"records\.jsonl, line 1 is not a record"):
        read_records(path)
