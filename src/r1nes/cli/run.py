"""``r1nes run``: minimise a function."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.cli import exit_codes, minimization
from r1nes.cli.parser import Flag, add_command, keywords, number_or_word, pair

EXAMPLES = f"""examples:
  r1nes run model.py:loss --dim 100 --sigma0 0.5
  r1nes run package.module:loss --x0 start.npy --max-evals 1e6 --workers -1 --checkpoint run.r1nes
  r1nes run model.py:loss --dim 10 --bounds=-5,5 --restarts 9 --ftarget 1e-6 --json

{exit_codes.HELP}"""

FLAGS = (
    Flag("sigma0", float),
    Flag("bounds", pair, metavar="LOW,HIGH", help="The bounds of every variable."),
    Flag(
        "method",
        str,
        help="The method: rknes (the default), r1nes, snes (the default for one variable) or xnes.",
    ),
    Flag("preset", str, help="The settings of r1nes: pybrain (the default), heuristic or matlab."),
    Flag("popsize", int),
    Flag("ftarget", float),
    Flag("restarts", number_or_word),
    Flag("rng", int, metavar="SEED", name="--seed", help="The seed of the run."),
    Flag("vectorized", bool, help="Pass a whole generation to the function, as an (n, d) array."),
    Flag(
        "checkpoint",
        Path,
        metavar="FILE",
        help="A file for the state of the run. The same command resumes from it, bit for bit.",
    ),
)


def add_to(commands: Any) -> None:
    """Add the command and its flags."""
    parser = add_command(
        commands, "run", "minimise a function, with live progress and optional checkpoints", EXAMPLES
    )
    parser.add_argument("function", metavar="FUNCTION", help="MODULE:FUNCTION, FILE.py:FUNCTION or FILE.py.")
    start = parser.add_mutually_exclusive_group(required=True)
    start.add_argument("--x0", metavar="NUMBERS", help="The starting point: 0.5,-1,2 or a .npy file.")
    start.add_argument("--dim", type=int, help="The number of variables; the run starts at 0.")
    for flag in FLAGS:
        flag.add_to(parser)
    minimization.add_flags(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Minimise a function from its starting point, or resume the run if its checkpoint exists."""
    x0 = np.zeros(options.dim) if options.x0 is None else _start(options.x0)
    settings = {"x0": x0} | keywords(options, FLAGS + minimization.FLAGS)
    if "bounds" in settings:
        settings["bounds"] = [settings["bounds"]] * x0.size
    return minimization.minimize_function(options, options.function, settings)


def _start(text: str) -> Any:
    """Return the numbers in ``text``, or those in the .npy file that it names."""
    if text.endswith(".npy"):
        return np.load(text, allow_pickle=False)
    try:
        return np.array([float(number) for number in text.split(",")])
    except ValueError:
        raise ValueError(f"--x0 must be numbers like 0.5,-1,2 or a .npy file, got {text!r}") from None
