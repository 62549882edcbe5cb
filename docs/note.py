"""Draw COCO's figures, and copy recorded tables into the pages that show them. ``make note`` runs it."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "results"

COCO = ["20D_noiselessall", "40D_noiselessall", "40D_hcond"]  # dimension and group of functions
TABLES = {  # a recorded table, and the page that shows it
    "ablation_32.md": "research/rknes.md",
    "ablation_128.md": "research/rknes.md",
    "paper/claims.md": "paper.md",
    "comparison/comparison.md": "choose.md",
}


def copy_table(page: str, table: str) -> None:
    """Replace the table of a page that begins with the same line as the recorded one."""
    text, recorded = (DOCS / page).read_text(encoding="utf-8"), (RESULTS / table).read_text(encoding="utf-8")
    header = re.escape(recorded.splitlines()[0])
    text, count = re.subn(rf"^{header}\n(?:\|.*\n)+", lambda _: recorded, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{page} must have exactly one table like {table}, got {count}")
    (DOCS / page).write_text(text, encoding="utf-8")


def draw_coco() -> None:
    """Let COCO's post-processing draw its runtime distributions; this takes two minutes."""
    with tempfile.TemporaryDirectory() as folder:
        archives = [shutil.copy(RESULTS / "coco" / f"{name}.tgz", folder) for name in ("RkNES", "pycma")]
        silent = io.StringIO()  # cocopp warns that it expects 15 instances
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            import cocopp
            from matplotlib import pyplot

            cocopp.genericsettings.figure_file_formats = ["png"]
            save = pyplot.savefig  # cocopp asks for 60 dots per inch
            with patch.object(pyplot, "savefig", lambda *args, **given: save(*args, **given | {"dpi": 100})):
                cocopp.main(["-o", f"{folder}/out", *archives])
        for name in COCO:
            (drawn,) = Path(folder, "out").glob(f"*/pprldmany_{name}.png")
            shutil.copy(drawn, DOCS / "figures" / f"coco_{name}.png")


if __name__ == "__main__":
    for table, page in TABLES.items():
        copy_table(page, table)
    draw_coco()
