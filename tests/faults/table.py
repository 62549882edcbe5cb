"""The table of faults: the tests run its rows, and ``docs/faults.md`` shows them.

A room is a module with a docstring, which the page shows too, and a list ``ROWS``. To add a fault, add a row
to its room; then ``PYTHONPATH=src:tests python tests/faults/table.py`` writes the page again.
"""

from __future__ import annotations

from pathlib import Path

from faults import bad_objectives, files_and_processes, wrong_calls, wrong_settings

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
ROOMS = {
    "Settings": wrong_settings,
    "Objectives": bad_objectives,
    "Ask and tell": wrong_calls,
    "Files and processes": files_and_processes,
}
INTRODUCTION = """\
# Faults and guarantees

Each row is a test: the fault is provoked and the promise checked, with warnings as errors. In the calls, `f`
is x ↦ ‖x‖². [Evaluations that fail](failures.md) explains what to do.
"""


def page() -> str:
    """Return the page that shows the table."""
    parts = [INTRODUCTION]
    for title, room in ROOMS.items():
        lines = [f"| {_cell(row.fault)} | {_cell(row.promise)} |" for row in room.ROWS]
        parts.append(
            f"\n## {title}\n\n{room.__doc__}\n\n| fault | promise |\n|---|---|\n" + "\n".join(lines) + "\n"
        )
    return "".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
