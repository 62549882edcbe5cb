"""Text has the same encoding on every platform: whoever reads or writes it names the encoding."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
OTHERS = {"os.open", "tarfile.open"}  # take no encoding


def unnamed(source: str) -> Iterator[int]:
    """The lines with a call that reads or writes text without naming its encoding."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and not any(each.arg == "encoding" for each in node.keywords):
            function = ast.unparse(node.func)
            name = function.rpartition(".")[2]
            opens = name == "open" and function not in OTHERS and not _is_binary(node)
            pipes = name in ("run", "Popen") and any(each.arg == "text" for each in node.keywords)
            if opens or pipes or name in ("read_text", "write_text"):
                yield node.lineno


def _is_binary(node: ast.Call) -> bool:
    values = [*node.args, *(each.value for each in node.keywords)]
    modes = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any("b" in mode and set(mode) <= set("rwxab+") for mode in modes)


def test_every_file_names_its_encodings() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("src", "benchmarks", "docs", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for line in unnamed(path.read_text(encoding="utf-8"))
    ]
    assert not found


def test_the_check_tells_text_from_bytes() -> None:
    text = "p.read_text()\np.write_text('b')\nopen(p)\np.open('a')\nrun(c, text=True)"
    assert list(unnamed(text)) == [1, 2, 3, 4, 5]
    assert not list(unnamed("p.read_text(encoding='utf-8')\nopen(p, 'rb')\nos.open(p, 0)\np.read_bytes()"))
