"""``r1nes coco``: run a COCO suite."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from r1nes.cli.parser import add_command, fraction, number_or_word, numbers


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(
        commands, "coco", "run a COCO suite with COCO's observer, ready for its post-processing"
    )
    parser.add_argument("--suite", default="bbob-largescale", help="The suite. (default: %(default)s)")
    parser.add_argument(
        "--method", default="rknes", help="A method, or pycma for its BIPOP-CMA-ES. (default: %(default)s)"
    )
    parser.add_argument("--dims", type=numbers, metavar="NUMBERS", help="The dimensions. (default: all)")
    parser.add_argument("--functions", type=numbers, metavar="NUMBERS", help="The functions. (default: all)")
    parser.add_argument("--instances", type=int, help="The number of instances per function. (default: all)")
    parser.add_argument(
        "--budget", type=int, default=1000, help="Evaluations per variable. (default: %(default)s)"
    )
    parser.add_argument(
        "--restarts", type=number_or_word, default="9", help="A number, or ipop:N. (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="The seed of all random numbers. (default: %(default)s)"
    )
    parser.add_argument(
        "--batch",
        type=fraction,
        default="1/1",
        metavar="K/N",
        help="Run only the K-th of N parts of the problems.",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("exdata/r1nes"), help="The output folder. (default: %(default)s)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the suite, printing one line per dimension."""
    from r1nes.bench import coco

    lines = coco.run(
        options.suite,
        options.out,
        method=options.method,
        dims=options.dims,
        functions=options.functions,
        instances=options.instances,
        budget=options.budget,
        restarts=options.restarts,
        seed=options.seed,
        batch=options.batch,
    )
    for line in lines:
        print(line, flush=True)
    print(f"{options.out}; next: python -m cocopp {options.out}")
    return 0
