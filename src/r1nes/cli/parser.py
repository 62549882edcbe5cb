"""The parser of all commands: one-line errors, suggestions for unknown flags, and argument types."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, NoReturn

from r1nes.settings import KEYWORDS

SYNONYMS = (  # flags and their names in other packages; a command has at most one flag of each line
    "--max-evals --budget --evals --iterations --max-fevals --max-iter --maxfev --maxfun --maxiter",
    "--max-seconds --max-time --time-limit",
    "--popsize --lam --lambda --population --population-size",
    "--seed --random-state --rng",
    "--sigma0 --sigma --step-size",
    "--ftarget --target",
    "--workers --jobs --processes",
    "--dim --dims --dimension",
    "--out --output",
)
VERBOSE = ("--disp", "--progress", "--verbose")
CLOSE = 0.7  # the least similarity of a suggestion, between 0 and 1


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, with a suggestion."""

    commands: Collection[str] = ()  # set on the top-level parser

    def __init__(self, *args: Any, **keywords: Any) -> None:
        """Let values begin with a minus sign and a digit, like ``--bounds -5,5``, as Python 3.14 does."""
        super().__init__(*args, **keywords)
        self._negative_number_matcher = re.compile(r"-\.?\d|-inf")

    def error(self, message: str) -> NoReturn:
        """Print ``message`` without the usage and exit with code 2."""
        end = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: {message}{end} See {self.prog} --help.\n")

    def parse_known_args(
        self, args: Iterable[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse ``args`` after a check for unknown flags.

        argparse alone reports a missing argument first, even if an unknown flag is the misspelt one.
        """
        args = sys.argv[1:] if args is None else list(args)
        for given in args:
            if given == "--":
                break
            if given.startswith("--"):
                self._check_flag(given.partition("=")[0])
            elif self.commands and not given.startswith("-"):
                self._check_command(given)
                break  # the command's parser checks the rest
        return super().parse_known_args(args, namespace)

    def _check_flag(self, flag: str) -> None:
        known = [name for name in self._option_string_actions if name.startswith("--")]
        if not any(name.startswith(flag) for name in known):  # argparse accepts abbreviations
            self.error(f"unknown flag {flag}.{suggestion(flag, known)}")

    def _check_command(self, name: str) -> None:
        if name not in self.commands:
            close = difflib.get_close_matches(name, self.commands, n=1)
            self.error(f"unknown command {name}." + "".join(f" Did you mean {match}?" for match in close))


def suggestion(flag: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests one of the ``known`` flags in place of ``flag``, or ''."""
    flag, known = flag.lower().replace("_", "-"), list(known)
    if flag in VERBOSE and "--quiet" in known:
        return " Progress is shown by default; --quiet turns it off."
    groups = [line.split() for line in SYNONYMS]
    meant = {synonym: name for group in groups for name in known if name in group for synonym in group}
    meant |= {name: name for name in known}
    close = difflib.get_close_matches(flag, meant, n=1, cutoff=CLOSE)
    return f" Did you mean {meant[close[0]]}?" if close else ""


class Flag(NamedTuple):
    """A flag that sets a keyword of ``minimize``, whose help and default are those of the keyword."""

    keyword: str
    type: Callable[[str], Any]
    metavar: str | None = None
    name: str | None = None  # if the flag is not spelt like the keyword
    help: str | None = None  # if the keyword's own help does not suit the command line

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the flag to the parser of a command."""
        keyword, name = KEYWORDS[self.keyword], self.name or "--" + self.keyword.replace("_", "-")
        text = (self.help or keyword.metadata["help"]).replace("%", "%%")
        if self.type is bool:
            parser.add_argument(name, dest=self.keyword, action="store_true", help=text)
            return
        if keyword.default is not None and self.help is None:
            text += f" (default: {keyword.default})"
        parser.add_argument(name, dest=self.keyword, type=self.type, metavar=self.metavar, help=text)


def keywords(options: argparse.Namespace, flags: Iterable[Flag]) -> dict[str, Any]:
    """Return the keyword arguments of ``minimize`` that were given as ``flags``."""
    given = {flag.keyword: getattr(options, flag.keyword) for flag in flags}
    return {keyword: value for keyword, value in given.items() if value is not None}


def add_command(commands: Any, name: str, purpose: str, examples: str | None = None) -> Parser:
    """Add the parser of one command, with ``purpose`` in the list of commands and in its own help."""
    parser: Parser = commands.add_parser(
        name,
        help=purpose,
        description=purpose[0].upper() + purpose[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def pair(text: str) -> tuple[float, float]:
    """Parse ``-5,5``."""
    try:
        low, high = (float(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected two numbers like -5,5, got {text!r}") from None
    return low, high


def names(text: str) -> list[str]:
    """Parse ``rknes,snes``."""
    return [name.strip() for name in text.split(",")]


def numbers(text: str) -> list[int]:
    """Parse ``8,32``."""
    return [int(number) for number in text.split(",")]


def fraction(text: str) -> tuple[int, int]:
    """Parse ``1/4``."""
    if not (found := re.fullmatch(r"(\d+)/(\d+)", text)):
        raise argparse.ArgumentTypeError(f"must be two numbers K/N, like 1/4; got {text!r}")
    return int(found[1]), int(found[2])


def number_or_word(text: str) -> int | str:
    """Parse ``9`` as an int, and leave ``bipop:9`` or ``threads:4`` as it is."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text
