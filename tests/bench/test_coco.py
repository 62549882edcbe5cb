"""Runs on COCO's own suites with its observer, read back by its post-processing."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from r1nes.bench import coco
from r1nes.cli import main


def data_of(folder: Path) -> list[Any]:
    """Read ``folder`` with COCO's post-processing: one data set per function and dimension."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cocopp expects 15 instances, and its own code warns
        import cocopp

        return list(cocopp.load(str(folder)))


def test_post_processing_reads_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = "--suite bbob-largescale --dims 20,80 --functions 1 --instances 2 --budget 150"
    out = tmp_path / "exdata" / "ours"
    assert main(["coco", *chosen.split(), "--out", str(out)]) == 0
    said = re.findall(r"d = (\d+): solved 2 of 2 with ([\d,]+) evaluations", capsys.readouterr().out)
    spent = {int(dim): int(evaluations.replace(",", "")) for dim, evaluations in said}
    sets = {data.dim: data for data in data_of(out)}
    assert sets.keys() == spent.keys() == {20, 80}
    for dim, data in sets.items():
        assert data.funcId == 1
        assert list(data.instancenumbers) == [1, 2]
        assert data.detSuccesses([1e-8])[0] == 2
        assert "algId = 'r1nes-rknes'" in (out / "bbobexp_f1.info").read_text()
        assert spent[dim] - 40 < sum(data.maxevals) <= spent[dim]  # COCO stops counting at the target


@pytest.mark.slow
def test_post_processing_draws_its_pages(tmp_path: Path) -> None:
    list(coco.run("bbob", tmp_path / "r1nes", dims=[5], functions=[1, 8], budget=200))
    subprocess.run(
        [sys.executable, "-m", "cocopp", "-o", "pages", "r1nes"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    pages = list((tmp_path / "pages").rglob("*.html"))
    assert any("r1nes" in page.read_text() for page in pages)
    assert len(list((tmp_path / "pages").rglob("*.svg"))) > 4


def test_pycma_is_recorded_in_the_same_way(tmp_path: Path) -> None:
    lines = list(
        coco.run("bbob", tmp_path / "pycma", method="pycma", dims=[2], functions=[1], instances=2, budget=500)
    )
    assert lines[0].startswith("f1, d = 2: solved 2 of 2")
    (data,) = data_of(tmp_path / "pycma")
    assert data.detSuccesses([1e-8])[0] == 2
    assert "algId = 'pycma'" in (tmp_path / "pycma" / "bbobexp_f1.info").read_text()


def test_batches_together_are_the_whole(tmp_path: Path) -> None:
    chosen: Any = {"dims": [2, 3], "functions": [1, 6], "instances": 3, "budget": 300}
    list(coco.run("bbob", tmp_path / "whole", **chosen))
    for part in (1, 2):
        list(coco.run("bbob", tmp_path / f"part{part}", batch=(part, 2), **chosen))

    def evaluations(*folders: str) -> dict[tuple[int, int, int], int]:
        return {
            (data.funcId, data.dim, instance): int(evals)
            for folder in folders
            for data in data_of(tmp_path / folder)
            for instance, evals in zip(data.instancenumbers, data.maxevals, strict=True)
        }

    whole = evaluations("whole")
    assert len(whole) == 12
    assert evaluations("part1", "part2") == whole


def test_restarts_spend_the_budget_on_a_multimodal_function(tmp_path: Path) -> None:
    (line,) = coco.run("bbob", tmp_path / "out", dims=[5], functions=[3], instances=1, budget=2000)
    assert "solved 0 of 1" not in line or int(re.findall(r"([\d,]+) eval", line)[0].replace(",", "")) > 8000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "--suite bbob-largescale --dims 21",
            "--dims must be among the suite's 20, 40, 80, 160, 320, 640; got 21",
        ),
        ("--dims 20,21", "--dims must be among the suite's 2, 3, 5, 10, 20, 40; got 21"),
        ("--dims 2 --functions 25", "--functions must be among the suite's 1, 2, 3"),
        ("--dims 2 --instances 99", "--instances must be at most the suite's 15, got 99"),
        ("--dims 2 --instances 0", "--instances must be a whole number of at least 1, got 0"),
        ("--budget 0", "--budget must be a whole number of at least 1, got 0"),
        ("--batch 3/2", "--batch must be K/N with 1 ≤ K ≤ N, got 3/2"),
        ("--suite bbob-constrained", "--suite must be one of bbob, bbob-largescale, bbob-noisy; got"),
    ],
)
def test_numbers_that_the_suite_lacks_are_refused(
    given: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["coco", "--suite=bbob", *given.split(), "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_experiment_is_not_mixed_with_another(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--out must be a new folder"):
        list(coco.run("bbob", tmp_path))
    with pytest.raises(ValueError, match="--out must not contain spaces"):
        list(coco.run("bbob", tmp_path / "my data"))
