"""Random configurations of a run and of the faults that disturb it; the seed and a number determine each."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import r1nes
from r1nes import R1NES, SNES, XNES, RkNES
from soak.objectives import LANDSCAPES, SHAPES

SERIAL = ("serial", "vectorized", "map")
PARALLEL = ("threads", "executor", "processes")
OF_DRIVER = ("SIGKILL", "SIGTERM", "SIGINT", "exception", "callback")
OF_DISK = ("kill while saving", "full disk", "broken disk", "damaged file")
OF_WORKER = ("worker SIGKILL", "worker SIGTERM", "worker SIGSTOP")
OF_CALLS = (*OF_DRIVER[:-1], *OF_WORKER)  # those that strike during a call of the function


@dataclass(frozen=True)
class Configuration:
    """One run of the soak.

    Attributes:
        options: Keywords of ``minimize`` that define the search.
        landscape: The function.
        shape: What becomes of its values.
        is_stateful: Whether the function has a state.
        evaluator: Who calls it.
        fault: The kind of fault; "" for none.
        moments: When each of the faults strikes, as parts of the undisturbed run.
        every: Seconds between checkpoints.
    """

    options: dict[str, Any]
    landscape: str
    shape: str
    is_stateful: bool
    evaluator: str
    fault: str
    moments: tuple[float, ...]
    every: float

    @property
    def dim(self) -> int:
        return len(self.options["x0"])

    def __str__(self) -> str:
        kinds = (
            self.landscape,
            self.shape,
            f"{self.dim} variables",
            self.evaluator,
            self.fault or "no fault",
        )
        brief = {name: value for name, value in self.options.items() if np.ndim(value) == 0}
        words = [f"{name}={value!r}" for name, value in brief.items()]
        return f"{', '.join(kinds)}; {' '.join(words)}"


def configuration(seed: int, number: int) -> Configuration:
    """Return the configuration with that number."""
    draw = random.Random(f"{seed} {number}")
    dim = round(2 * 100 ** draw.random() ** 1.5)
    evaluator = draw.choice(SERIAL + PARALLEL)
    is_asynchronous = evaluator in PARALLEL and draw.random() < 0.2
    shapes = set(SHAPES) - ({"exceptions"} if evaluator == "vectorized" else set())
    shape = draw.choice(["plain"] * 5 + sorted(shapes))
    faults = ["", *OF_DRIVER * 3, *OF_DISK * 3, *(OF_WORKER * 4 if evaluator == "processes" else ())]
    fault = draw.choice(faults)
    if fault == "exception" and shape == "exceptions":
        shape = "plain"  # else its exceptions would be scored as NaN
    options = _options(draw, dim, is_asynchronous)
    if shape == "exceptions":
        options["on_failure"] = "worst"
    if shape == "noise" and not is_asynchronous:
        options["keyed"] = True
    if fault == "worker SIGSTOP":
        options["timeout"] = 2.0
    return Configuration(
        options,
        draw.choice(sorted(LANDSCAPES)),
        shape,
        evaluator in ("serial", "vectorized") and draw.random() < 0.2,
        evaluator,
        fault,
        tuple(draw.random() for _ in range(draw.choice([1, 1, 2, 3]))),
        0.0 if fault in OF_DISK else draw.choice([0.0, 0.0, 0.05, 10.0]),
    )


def _options(draw: random.Random, dim: int, is_asynchronous: bool) -> dict[str, Any]:
    method = _method(draw, dim)
    popsize = draw.choice([None, None, draw.randint(4, 40)])
    size = popsize or method.default_popsize(dim)
    step: Any = 10 ** draw.uniform(-2, 1)
    x0 = np.array([draw.uniform(-1, 1) for _ in range(dim)], draw.choice([np.float64] * 4 + [np.float32]))
    if draw.random() < 0.2:
        step = step * np.array([10 ** draw.uniform(-1, 1) for _ in range(dim)])
    options: dict[str, Any] = {
        "x0": x0,
        "sigma0": step,
        "method": method,
        "popsize": popsize,
        "bounds": _bounds(draw, x0),
        "max_evals": size * draw.randint(1, 60) + draw.randint(0, size - 1),
        "restarts": draw.choice([0, 0, 0, 2, "ipop:2", "bipop:1"]),
        "noise": draw.choice(["auto", "auto", False, True if _adapts(method, is_asynchronous) else "auto"]),
        "asynchronous": is_asynchronous,
        "compiled": False,
        "rng": draw.getrandbits(32),
    }
    rare = {
        "ftarget": 10 ** draw.uniform(-3, 3),
        "min_sigma": 1e-3,
        "weight_decay": 0.01,
        "xtol": 1e-2,
        "ftol": draw.choice([0.0, 1e-3]),
        "max_condition": 1e3,
    }
    chosen = {name: value for name, value in rare.items() if draw.random() < 0.1}
    if options["bounds"] is not None:
        chosen.pop("weight_decay", None)
    return options | chosen


def _adapts(method: r1nes.Method, is_asynchronous: bool) -> bool:
    return isinstance(method, RkNES) and not is_asynchronous


def _method(draw: random.Random, dim: int) -> r1nes.Method:
    kind = draw.choice([RkNES, RkNES, R1NES, SNES, XNES])
    if kind is RkNES:
        rank = draw.choice([None, None, (1, 1), (2, 0)] if dim > 3 else [None])
        return RkNES(base=draw.choice(["auto", "full", "diagonal"]), rank=rank)
    if kind is R1NES:
        return R1NES(preset=draw.choice(["pybrain", "heuristic", "matlab"]))
    return kind()


def _bounds(draw: random.Random, x0: Any) -> Any:
    kind = draw.choice(["none", "none", "box", "tight", "half", "fixed"])
    if kind == "none":
        return None
    width = 1e-3 if kind == "tight" else draw.uniform(0.5, 5)
    pairs: list[Any] = [(float(x) - width * draw.random(), float(x) + width) for x in x0]
    if kind == "half":
        pairs = [(low, None) if draw.random() < 0.5 else (None, high) for low, high in pairs]
    if kind == "fixed":
        pairs[0] = (float(x0[0]), float(x0[0])) if len(x0) > 3 else pairs[0]
    return pairs
