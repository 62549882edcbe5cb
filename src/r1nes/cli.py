"""The command line: ``r1nes run``, ``resume``, ``report``, ``paper`` and ``bench``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from r1nes import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (OSError, ImportError, ValueError) as error:
        print(f"r1nes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as shells report it


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="r1nes", description="Natural evolution strategies for functions of many interacting variables."
    )
    parser.add_argument("--version", action="version", version=f"r1nes {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    paper = commands.add_parser(
        "paper",
        help="reproduce the evaluation of the R1-NES paper: its figures, and its claims with verdicts",
    )
    paper.add_argument("--full", action="store_true", help="the paper's grid: up to d = 512, 20 trials; days")
    paper.add_argument("--figure", action="append", metavar="NAME", help="only this one; may be repeated")
    paper.add_argument("--no-run", action="store_true", help="draw what is recorded, run nothing")
    paper.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: %(default)s)"
    )
    paper.add_argument("--out", type=Path, default=Path("paper"), help="where to (default: %(default)s)")
    paper.set_defaults(command=_paper)
    bench = commands.add_parser("bench", help="compare methods, here and of other packages, side by side")
    bench.add_argument("--methods", type=_names, default="rknes,snes,crfmnes,pypop7-rmes", metavar="NAMES")
    bench.add_argument("--functions", type=_names, default="f1,f12", metavar="NAMES")
    bench.add_argument("--dims", type=_numbers, default="8,32", metavar="NUMBERS")
    bench.add_argument("--trials", type=int, default=3, help="runs of each cell (default: %(default)s)")
    bench.add_argument("--budget", type=int, help="evaluations per run (default: by dimension)")
    bench.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="runs at a time (default: %(default)s)"
    )
    bench.add_argument(
        "--targets", metavar="METHOD", help="instead, whether this method keeps to its targets, up to d = 512"
    )
    bench.add_argument("--out", type=Path, default=Path("bench"), help="where to (default: %(default)s)")
    bench.set_defaults(command=_bench)
    return parser


def _add_run(commands: Any) -> None:
    run = commands.add_parser("run", help="minimise a function of a Python module, resumable at any time")
    run.add_argument("function", metavar="MODULE:FUNCTION", help="takes a vector, returns a number")
    start = run.add_mutually_exclusive_group(required=True)
    start.add_argument("--x0", type=_floats, metavar="NUMBERS", help="where to start, like 0.5,-1,2")
    start.add_argument("--dim", type=int, help="or from 0 in so many variables")
    run.add_argument("--sigma0", type=float, help="the first standard deviation")
    run.add_argument("--method", default="rknes", help="(default: %(default)s)")
    run.add_argument("--popsize", type=int, help="evaluations per generation")
    run.add_argument("--ftarget", type=float, help="the value that is good enough")
    run.add_argument("--restarts", default="0", help="a number, or bipop:N (default: %(default)s)")
    run.add_argument("--seed", type=int, help="of all random numbers")
    run.set_defaults(command=_run)
    resume = commands.add_parser("resume", help="go on with a run, from its checkpoint")
    resume.set_defaults(command=_resume)
    report = commands.add_parser("report", help="say what a checkpoint holds, and draw its history")
    report.add_argument("checkpoint", type=Path, metavar="FILE")
    report.add_argument("--out", type=Path, help="the figure (default: beside FILE)")
    report.set_defaults(command=_report)
    resume.add_argument("checkpoint", type=Path, metavar="FILE")
    run.add_argument("--checkpoint", type=Path, metavar="FILE", help="what `resume` and `report` read")
    for command in (run, resume):
        command.add_argument("--max-evals", type=float, help="the most evaluations, of all runs together")
        command.add_argument("--max-seconds", type=float, help="the most time, of all runs together")
        command.add_argument("--workers", default="1", help="processes, or threads:N (default: %(default)s)")


def _run(options: argparse.Namespace) -> int:
    import numpy as np

    x0 = np.zeros(options.dim) if options.x0 is None else options.x0
    settings = {name: getattr(options, name) for name in ("sigma0", "method", "popsize", "ftarget")}
    return _minimize(
        options, options.function, x0=x0, restarts=options.restarts, rng=options.seed, **settings
    )


def _resume(options: argparse.Namespace) -> int:
    from r1nes.saving import read
    from r1nes.settings import from_plain

    tree = read(options.checkpoint)
    fun = tree["fun"]
    if not fun["importable"]:
        raise ValueError(
            f"{options.checkpoint} is of {fun['name']}, which cannot be imported or takes further arguments: "
            "the same call of minimize in Python resumes it"
        )
    settings = from_plain(tree["search"]["settings"])
    for name in ("max_evals", "max_seconds"):
        if getattr(options, name) is None:
            setattr(options, name, settings[name])
        del settings[name]
    restarts = tree["search"]["restarts"]
    return _minimize(options, fun["name"], vectorized=fun["vectorized"], restarts=restarts, **settings)


def _minimize(options: argparse.Namespace, function: str, *, restarts: str, **settings: Any) -> int:
    from r1nes.minimize import minimize

    workers, limits = options.workers, {"max_evals": options.max_evals, "max_seconds": options.max_seconds}
    result = minimize(
        _function(function),
        restarts=int(restarts) if restarts.isdecimal() else restarts,
        workers=int(workers) if workers.lstrip("-").isdecimal() else workers,
        checkpoint=options.checkpoint,
        **limits,
        **settings,
    )
    print(f"{result.fun:.12g} after {result.nfev:,} evaluations. {result.message}")
    if result.x.size <= 20:
        print("x =", ", ".join(f"{value:.12g}" for value in result.x))
    return 130 if "interrupt" in result.stop else 0


def _function(name: str) -> Any:
    """The function that ``module:function`` names; modules of the working directory count."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ValueError(f"the function must be named as MODULE:FUNCTION, got {name!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{module} has no {attribute}")
        found = getattr(found, part)
    return found


def _report(options: argparse.Namespace) -> int:
    from r1nes import report

    print(report.describe(options.checkpoint))
    to = options.out or options.checkpoint.with_suffix("")
    report.draw(options.checkpoint, to)
    print(f"{to}.svg, .png, .pdf")
    return 0


def _floats(text: str) -> list[float]:
    return [float(number) for number in text.split(",")]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _paper(options: argparse.Namespace) -> int:
    from r1nes.bench import paper

    for name in options.figure or []:
        if name not in paper.FIGURES:
            raise ValueError(f"--figure must be one of {', '.join(paper.FIGURES)}; got {name!r}")
    failures = paper.reproduce(
        options.out, figures=options.figure, full=options.full, measure=not options.no_run, jobs=options.jobs
    )
    for failure in failures:
        print(f"r1nes: {failure}", file=sys.stderr)
    for name in options.figure or ["index"]:
        print(options.out / (f"{name}.svg" if options.figure else f"{name}.html"))
    return 1 if failures else 0


def _bench(options: argparse.Namespace) -> int:
    from r1nes.bench import comparison, runner, targets
    from r1nes.bench.statistics import summarize

    if options.targets:
        cells = targets.cells(options.targets)
    else:
        cells = runner.grid(options.methods, options.functions, options.dims, options.trials, options.budget)
    records, failures = runner.run(cells, options.out / "records.jsonl", jobs=options.jobs)
    complaints = [f"{cell} failed: {trace.strip().splitlines()[-1]}" for cell, trace in failures.items()]
    if missing := len(cells) - len(records) - len(failures):
        complaints.append(f"interrupted, {missing} runs are missing; the same command goes on")
    if options.targets:
        print(targets.table(records))
        complaints += targets.missed(records)
    elif records:
        summaries = summarize(records)
        print(comparison.table(summaries))
        comparison.draw(summaries, options.out / "comparison")
        print(f"{options.out / 'comparison'}.svg, .png, .pdf")
    for complaint in complaints:
        print(f"r1nes: {complaint}", file=sys.stderr)
    return 1 if complaints else 0
