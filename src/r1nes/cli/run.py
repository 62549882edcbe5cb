"""What ``r1nes run``, ``resume`` and ``report`` do."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import math
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from r1nes.display.progress import Pace, shown
from r1nes.minimize import minimize
from r1nes.parallel.errors import EvaluationsLost, ObjectiveError
from r1nes.result import Result
from r1nes.settings import LIMITS, Settings
from r1nes.storage.run_file import read

ENDED, SHORT_OF_TARGET, MISTAKE, FUNCTION_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
PRINTED = 20  # variables; more are in the JSON and in the checkpoint


def run(options: argparse.Namespace) -> int:
    """Minimise a function from the start, or from its checkpoint if there is one."""
    x0 = np.zeros(options.dim) if options.x0 is None else _start(options.x0)
    bounds = None if options.bounds is None else [options.bounds] * x0.size
    names = ("sigma0", "method", "popsize", "ftarget", "restarts", "vectorized", "max_evals", "max_seconds")
    settings = {name: getattr(options, name) for name in names}
    return _minimize(options, options.function, x0=x0, bounds=bounds, rng=options.seed, **settings)


def resume(options: argparse.Namespace) -> int:
    """Go on from a checkpoint, with the limits it has unless there are others now."""
    tree = read(options.checkpoint)
    fun = tree["fun"]
    if not (fun["importable"] or options.function):
        raise ValueError(
            f"{options.checkpoint} is of {fun['name']}, which cannot be imported or takes further arguments: "
            "--function says what to call, or the same call of minimize in Python resumes it"
        )
    settings = Settings.from_plain(tree["search"]["settings"]).keywords()
    for name in LIMITS:
        if getattr(options, name) is not None:
            settings[name] = getattr(options, name)
    settings |= {"restarts": tree["search"]["restarts"], "vectorized": fun["vectorized"]}
    seconds = tree["search"]["optimizer"]["stopping"]["seconds"]
    return _minimize(options, options.function or fun["name"], seconds=seconds, **settings)


def report(options: argparse.Namespace) -> int:
    """Say what a checkpoint holds, and write it down as a page."""
    from r1nes.display.report import Report

    told = Report(options.checkpoint)
    to = options.out or options.checkpoint.with_suffix(".html")
    told.write(to, _contour(told.fun) if options.contour else None)
    if options.json:
        print(json.dumps(_plain(told.result) | {"function": told.fun["name"], "page": str(to)}))
    else:
        print(told.text())
        print(to)
    return ENDED


def _minimize(options: argparse.Namespace, function: str, *, seconds: float = 0.0, **settings: Any) -> int:
    fun = load(function)
    pace = Pace(settings["max_evals"], settings["max_seconds"], seconds)
    restarts, workers = settings.pop("restarts"), options.workers
    arguments = {
        "restarts": int(restarts) if restarts.isdecimal() else restarts,
        "workers": int(workers) if workers.lstrip("-").isdecimal() else workers,
        "timeout": options.timeout,
        "on_failure": options.on_failure,
        "checkpoint": options.checkpoint,
        "checkpoint_every": options.checkpoint_every,
        **settings,
    }
    search = minimize if options.traceback else inspect.unwrap(minimize)  # which raises ObjectiveError
    try:
        if options.quiet:
            result = search(fun, **arguments)
        else:
            with shown(pace, sys.stderr, options.every) as callback:
                result = search(fun, callback=callback, **arguments)
    except (ObjectiveError, EvaluationsLost, FloatingPointError) as error:  # the last if all values are NaN
        if options.traceback:
            raise
        failure = error.cause if isinstance(error, ObjectiveError) else error
        print(f"r1nes: {function} failed: {_in_one_line(failure)}", file=sys.stderr)
        return FUNCTION_FAILED
    _print(result, function, options)
    return _exit_code(result, settings["ftarget"])


def _print(result: Result, function: str, options: argparse.Namespace) -> None:
    if options.json:
        checkpoint = None if options.checkpoint is None else str(options.checkpoint)
        print(json.dumps(_plain(result) | {"function": function, "checkpoint": checkpoint}))
        return
    print(f"{result.fun:.12g} after {result.nfev:,} evaluations. {result.message}")
    if len(result.x) <= PRINTED:
        print("x =", ", ".join(f"{value:.12g}" for value in result.x))


def _exit_code(result: Result, ftarget: float | None) -> int:
    """What a shell should know: whether the run did what it was sent for."""
    if "interrupt" in result.stop:
        return INTERRUPTED
    spent = ftarget is None and not result.stop.keys().isdisjoint(LIMITS)
    return ENDED if result.success or spent else SHORT_OF_TARGET


def _plain(result: Any) -> dict[str, Any]:
    """A result as JSON knows it; there is no word for NaN and infinity but null."""
    names = ("fun", "nfev", "nit", "success", "message", "stop", "sigma", "restarts", "nan_count")
    plain = {name: result[name] for name in names} | {"x": result.x.tolist(), "seed": result.seed.entropy}
    return {name: _finite(value) for name, value in plain.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _start(text: str) -> Any:
    """The numbers of ``text``, or those of the .npy file that it names."""
    if text.endswith(".npy"):
        return np.load(text, allow_pickle=False)
    try:
        return np.array([float(number) for number in text.split(",")])
    except ValueError:
        raise ValueError(f"--x0 must be numbers like 0.5,-1,2 or a .npy file, got {text!r}") from None


def load(name: str) -> Any:
    """The function that ``module:function``, ``file.py:function`` or ``file.py`` names."""
    place, _, attribute = ("", "", name) if ":" not in name else name.rpartition(":")
    if name.endswith(".py"):
        place, attribute = name, ""
    elif not (place and attribute):
        raise ValueError(f"the function must be named as MODULE:FUNCTION or FILE.py:FUNCTION, got {name!r}")
    module = _module(place)
    if not attribute:
        return _only_function(module, place)
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{place} has no {attribute}")
        found = getattr(found, part)
    return found


def _module(place: str) -> Any:
    """The module; those of the working directory count, and a file's neighbours."""
    name, path = place, None
    folder = ""
    if place.endswith(".py"):
        path = Path(place).resolve(strict=True)
        name, folder = path.stem, str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name.split(".")[0]:
            raise ValueError(f"No module named {name!r} here; FILE.py:FUNCTION names a file") from None
        raise
    except Exception as error:
        raise ValueError(f"{place} cannot be imported: {_in_one_line(error)}") from error
    if path is not None and Path(module.__file__ or "").resolve() != path:
        raise ValueError(f"{place} has the name of another module, {module.__file__}: rename it")
    return module


def _only_function(module: Any, place: str) -> Any:
    functions = inspect.getmembers(
        module, lambda found: inspect.isfunction(found) and found.__module__ == module.__name__
    )
    public = {name: function for name, function in functions if not name.startswith("_")}
    if len(public) != 1:
        raise ValueError(
            f"{place} defines {', '.join(public) or 'no function'}: name one as {place}:FUNCTION"
        )
    return next(iter(public.values()))


def _contour(fun: dict[str, Any]) -> Any:
    function = load(fun["name"])
    return (lambda x: function(x[None])[0]) if fun["vectorized"] else function


def _in_one_line(error: Exception) -> str:
    """Return the type and message of ``error``, and the line of the user's code if it was raised here."""
    message = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = traceback.extract_tb(error.__traceback__)  # none if it comes from another process
    package = str(Path(__file__).parents[1])
    if not frames or frames[-1].filename.startswith((package, "<frozen")):
        return message
    return f"{message} ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
