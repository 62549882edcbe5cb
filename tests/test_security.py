"""What SECURITY.md promises about the source: no code from text, and no pickles from files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import r1nes

SOURCE = Path(r1nes.__file__).parent

# Calls that run text as code or start programs, and those that unpickle; each with the files that may use it.
FORBIDDEN: dict[str, set[str]] = {
    "eval": set(),
    "compile": set(),
    "__import__": set(),
    "os.system": set(),
    "os.popen": set(),
    "pickle.load": set(),
    "marshal.loads": set(),
    "yaml.load": set(),
    "np.fromfile": set(),
    "exec": {"arrays/one_text.py"},  # binds the package's own functions to another array library
    "pickle.loads": {"parallel/objective.py"},  # an exception that this process has just pickled
    "importlib.import_module": {"cli/function.py"},  # the function that the user names
}


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield path.relative_to(SOURCE).as_posix(), name_of(node.func), node


def test_no_text_becomes_code() -> None:
    found = {(name, file) for file, name, _ in calls() if name in FORBIDDEN}
    assert found <= {(name, file) for name, files in FORBIDDEN.items() for file in files}


def test_no_shell_and_no_pickled_arrays() -> None:
    for file, name, call in calls():
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        assert "shell" not in keywords, file
        if name == "np.load":
            allow = keywords.get("allow_pickle")
            assert isinstance(allow, ast.Constant), file
            assert allow.value is False, file


def test_pickle_is_imported_only_where_processes_talk() -> None:
    importing = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import) and any(alias.name == "pickle" for alias in node.names)
    }
    assert importing <= {"parallel/objective.py", "parallel/processes.py"}
