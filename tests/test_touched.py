"""``make check`` finds the tests that belong to a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.touched import CORE, ROOT, related_tests, selected


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("src/r1nes/bounds.py", ["tests/test_bounds.py"]),
        ("src/r1nes/settings/run.py", ["tests/test_settings.py"]),
        ("src/r1nes/parallel/backend.py", ["tests/parallel"]),
        ("src/r1nes/strategies/rank_k/step.py", ["tests/strategies"]),
        ("src/r1nes/bench/paper/claims.py", ["tests/bench/paper"]),
        ("src/r1nes/display/templates/report.html", ["tests/display"]),
        ("src/r1nes/removed.py", []),
        ("tests/test_bounds.py", ["tests/test_bounds.py"]),
        ("tests/test_removed.py", []),
        ("tests/conftest.py", []),  # all tests: left to make test
        ("tests/parallel/conftest.py", ["tests/parallel"]),
        ("tests/support/touched.py", ["tests/test_touched.py"]),
        ("README.md", ["tests/docs/test_docs.py", "tests/docs/test_readme.py"]),
        ("Makefile", []),
    ],
)
def test_tests_of_a_changed_file(file: str, tests: list[str]) -> None:
    assert related_tests(Path(file)) == [Path(test) for test in tests]


def test_an_unchanged_repository_gets_the_core_tests() -> None:
    assert selected([]) == sorted(CORE)
    assert all((ROOT / test).exists() for test in CORE)


def test_files_inside_a_selected_folder_are_not_repeated() -> None:
    paths = selected([Path("tests/parallel/test_faults.py"), Path("src/r1nes/parallel/backend.py")])
    assert Path("tests/parallel") in paths
    assert Path("tests/parallel/test_faults.py") not in paths
