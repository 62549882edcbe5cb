"""The command line: ``r1nes run``, ``resume``, ``report``, ``paper``, ``bench`` and ``coco``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from r1nes import __version__
from r1nes.extras import needs

CODES = """exit codes:
  0  the run ended as asked: at the target or, without one, converged or at a limit
  1  it ended short of its target, or got stuck
  2  a mistake in the command, or a file that cannot be read
  3  the function failed
  130  Ctrl-C; the best point so far is printed, and the checkpoint written"""

RUN = f"""examples:
  r1nes run model.py:loss --dim 100 --sigma0 0.5
  r1nes run package.module:loss --x0 start.npy --max-evals 1e6 --workers -1 --checkpoint run.r1nes
  r1nes run model.py:loss --dim 10 --bounds=-5,5 --restarts 9 --ftarget 1e-6 --json

{CODES}"""

RESUME = f"""examples:
  r1nes resume run.r1nes
  r1nes resume run.r1nes --max-evals 2e6 --workers 4

The function that the file names is imported: resume only files you trust.

{CODES}"""

REPORT = """examples:
  r1nes report run.r1nes
  r1nes report run.r1nes --out pages/run.html --contour

Nothing is imported, unless --contour asks for values of the function."""

EXAMPLES = """examples:
  r1nes run model.py:loss --dim 100 --checkpoint run.r1nes
  r1nes resume run.r1nes --max-evals 1e6
  r1nes report run.r1nes
  r1nes paper

r1nes COMMAND --help tells more."""


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line, without repeating all that could have been meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help tells more\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could follow
        _complete(parser)
    options = parser.parse_args(arguments)
    try:
        return int(options.command(options))
    except (OSError, ImportError, TypeError, ValueError) as error:
        if getattr(options, "traceback", False):
            raise
        print(f"r1nes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130  # as shells report it


def _complete(parser: argparse.ArgumentParser) -> None:
    """Tell the shell, and exit."""
    with needs("argcomplete", extra="cli"):
        import argcomplete
    argcomplete.autocomplete(parser)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="r1nes",
        description="Natural evolution strategies for functions of many interacting variables.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    _add_coco(commands)
    return parser


def _add_run(commands: Any) -> None:
    run = _command(commands, "run", "minimise a function, live on a terminal, resumable at any time", RUN)
    run.add_argument("function", metavar="FUNCTION", help="MODULE:FUNCTION, FILE.py:FUNCTION or FILE.py")
    start = run.add_mutually_exclusive_group(required=True)
    start.add_argument("--x0", metavar="NUMBERS", help="where to start: 0.5,-1,2 or a .npy file")
    start.add_argument("--dim", type=int, help="or from 0 in so many variables")
    run.add_argument("--sigma0", type=float, help="the first standard deviation")
    run.add_argument("--bounds", type=_pair, metavar="LOW,HIGH", help="of every variable")
    run.add_argument("--method", help="rknes, r1nes, snes or xnes (default: rknes)")
    run.add_argument("--popsize", type=int, help="evaluations per generation")
    run.add_argument("--ftarget", type=float, help="the value that is good enough")
    run.add_argument("--restarts", default="0", help="a number, or bipop:N (default: %(default)s)")
    run.add_argument("--seed", type=int, help="of all random numbers")
    run.add_argument("--vectorized", action="store_true", help="the function takes points in rows, (n, d)")
    run.add_argument("--checkpoint", type=Path, metavar="FILE", help="what `resume` and `report` read")
    run.set_defaults(command=_run)
    resume = _command(commands, "resume", "go on with a run, from its checkpoint", RESUME)
    resume.add_argument("checkpoint", type=Path, metavar="FILE")
    resume.add_argument("--function", help="if it is to be found elsewhere than before")
    resume.set_defaults(command=_resume)
    for command in (run, resume):
        command.add_argument("--max-evals", type=float, help="the most evaluations, of all runs together")
        command.add_argument("--max-seconds", type=float, help="the most time, of all runs together")
        command.add_argument("--workers", default="1", help="processes, or threads:N (default: %(default)s)")
        command.add_argument("--timeout", type=float, help="seconds that an evaluation may take")
        command.add_argument(
            "--on-failure", default="raise", help="or worst: failures rank last (default: %(default)s)"
        )
        command.add_argument(
            "--checkpoint-every", type=float, default=10.0, help="seconds (default: %(default)s)"
        )
        command.add_argument(
            "--every", type=float, default=10.0, help="seconds between lines, if no terminal (default: 10)"
        )
        command.add_argument("--quiet", action="store_true", help="show nothing before the end")
        command.add_argument("--json", action="store_true", help="print the result as one line of JSON")
        command.add_argument("--traceback", action="store_true", help="show all of an error")
    report = _command(commands, "report", "say what a checkpoint holds, and draw it on a page", REPORT)
    report.add_argument("checkpoint", type=Path, metavar="FILE")
    report.add_argument("--out", type=Path, help="the page (default: FILE with .html)")
    report.add_argument("--contour", action="store_true", help="of 2 variables: call the function for it")
    report.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    report.set_defaults(command=_report)


def _command(commands: Any, name: str, purpose: str, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=purpose,
        description=purpose[0].upper() + purpose[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _add_coco(commands: Any) -> None:
    coco = commands.add_parser("coco", help="run a suite of COCO with its observer, for its post-processing")
    coco.add_argument("--suite", default="bbob-largescale", help="(default: %(default)s)")
    coco.add_argument("--method", default="rknes", help="(default: %(default)s)")
    coco.add_argument("--dims", type=_numbers, metavar="NUMBERS", help="(default: all of the suite)")
    coco.add_argument("--functions", type=_numbers, metavar="NUMBERS", help="(default: all of the suite)")
    coco.add_argument("--instances", type=int, help="how many of each function (default: all of the suite)")
    coco.add_argument(
        "--budget", type=int, default=1000, help="evaluations per variable (default: %(default)s)"
    )
    coco.add_argument("--restarts", default="9", help="a number, or bipop:N (default: %(default)s)")
    coco.add_argument("--seed", type=int, default=1, help="of all random numbers (default: %(default)s)")
    coco.add_argument(
        "--batch",
        type=_fraction,
        default="1/1",
        metavar="K/N",
        help="only the K-th of N parts of the problems",
    )
    coco.add_argument(
        "--out", type=Path, default=Path("exdata/r1nes"), help="where to (default: %(default)s)"
    )
    coco.set_defaults(command=_coco)


def _run(options: argparse.Namespace) -> int:
    from r1nes.cli import run

    return run.run(options)


def _resume(options: argparse.Namespace) -> int:
    from r1nes.cli import run

    return run.resume(options)


def _report(options: argparse.Namespace) -> int:
    from r1nes.cli import run

    return run.report(options)


def _pair(text: str) -> tuple[float, float]:
    try:
        low, high = (float(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected two numbers like -5,5, got {text!r}") from None
    return low, high


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _fraction(text: str) -> tuple[int, int]:
    if not (found := re.fullmatch(r"(\d+)/(\d+)", text)):
        raise argparse.ArgumentTypeError(f"must be two numbers K/N, like 1/4; got {text!r}")
    return int(found[1]), int(found[2])


def _coco(options: argparse.Namespace) -> int:
    from r1nes.bench import coco

    lines = coco.run(
        options.suite,
        options.out,
        method=options.method,
        dims=options.dims,
        functions=options.functions,
        instances=options.instances,
        budget=options.budget,
        restarts=int(options.restarts) if options.restarts.isdecimal() else options.restarts,
        seed=options.seed,
        batch=options.batch,
    )
    for line in lines:
        print(line, flush=True)
    print(f"{options.out}; next: python -m cocopp {options.out}")
    return 0


def _can_draw() -> None:
    """Learn it before hours of measuring."""
    for package in ("jinja2", "matplotlib"):
        with needs(package, extra="bench"):
            import_module(package)


def _paper(options: argparse.Namespace) -> int:
    from r1nes.bench.paper import reproduction as paper

    _can_draw()
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
    from r1nes.bench.analysis import comparison, targets
    from r1nes.bench.analysis.statistics import summarize
    from r1nes.bench.runner import grid as runner

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
