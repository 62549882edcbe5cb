"""Print the tests of the rooms that a change touches; ``make check`` passes them to pytest.

A change is every file that differs from the merge base with origin/main, committed or not, or that is new.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = [
    Path("tests", name)
    for name in ("test_minimize.py", "test_optimizer.py", "test_settings.py", "strategies/test_contract.py")
]


def changed_files() -> list[Path]:
    base = _git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    names = _git("diff", "--name-only", base[0]) + _git("ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in sorted(names)]


def _git(*arguments: str) -> list[str]:
    """The lines that git prints, none if it fails."""
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.splitlines() if ended.returncode == 0 else []


def related_tests(file: Path) -> list[Path]:
    """The test files and folders that belong to one file of the repository, as paths from its root."""
    match file.parts:
        case ("src", "r1nes", *rooms, _):
            found = [_tests_of_module(rooms, file.stem)]
        case ("tests", "support", _):
            imported = re.compile(rf"^from support(\.| import .*\b){file.stem}\b", re.MULTILINE)
            found = [test for test in _all_tests() if imported.search((ROOT / test).read_text())]
        case ("tests", _, *_, "conftest.py"):
            found = [file.parent]
        case ("tests", *_):
            found = [file] if file.name.startswith("test_") else []
        case ("docs", *_) | ("README.md",):
            found = [Path("tests/docs/test_docs.py"), Path("tests/docs/test_readme.py")]
        case ("examples", *_):
            found = [Path("tests/docs/test_examples.py")]
        case _:
            found = []
    return [path for path in found if (ROOT / path).exists()]


def _tests_of_module(rooms: list[str], stem: str) -> Path:
    """The folder that mirrors the room of a module, or the test file of the module or of its room."""
    file, folder = Path("tests", f"test_{rooms[0] if rooms else stem}.py"), Path("tests", *rooms)
    if not rooms or (ROOT / file).exists():
        return file
    return folder if (ROOT / folder).is_dir() else folder.parent


def _all_tests() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))


def selected(files: Iterable[Path]) -> list[Path]:
    """The core tests and those of ``files``, without paths inside selected folders."""
    paths = {*CORE, *(test for file in files for test in related_tests(file))}
    return sorted(path for path in paths if not paths & set(path.parents))


def main() -> None:
    files = changed_files()
    paths = selected(files)
    others = [test for test in _all_tests() if not {test, *test.parents} & set(paths)]
    left_out = sorted({test.parts[1] for test in others})
    print(f"{len(files)} changed files; make check runs {', '.join(map(str, paths))}", file=sys.stderr)
    print(f"and leaves to make test the doctests and tests in {', '.join(left_out)}", file=sys.stderr)
    print(*paths)


if __name__ == "__main__":
    main()
