"""Every row of the table of faults keeps its promise, and the page shows the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.rows import Row
from faults.table import PAGE, ROOMS, page

ROWS = [pytest.param(row, id=row.fault) for room in ROOMS.values() for row in room.ROWS]


@pytest.mark.parametrize("row", ROWS)
def test_the_promise_is_kept(row: Row, tmp_path: Path) -> None:
    row.check(tmp_path)


def test_there_are_at_least_a_hundred_faults_and_none_twice() -> None:
    faults = [param.id for param in ROWS]
    assert len(faults) == len(set(faults)) >= 100


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: PYTHONPATH=src:tests python tests/faults/table.py"
    )
