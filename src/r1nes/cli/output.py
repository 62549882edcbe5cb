"""A result on standard output, as text or as one line of JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from scipy.optimize import OptimizeResult

PRINTED = 20  # print x up to this number of variables; beyond that, it is written to a file


def print_text(result: OptimizeResult) -> None:
    """Print the best value, the reason to stop and, if it is short, the best point."""
    print(f"{result.fun:.12g} after {result.nfev:,} evaluations. {result.message}")
    if len(result.x) <= PRINTED:
        print_point(result)


def print_point(result: OptimizeResult) -> None:
    """Print the best point in full."""
    print("x =", ", ".join(f"{value:.12g}" for value in result.x))


def print_json(result: OptimizeResult, **more: str | None) -> None:
    """Print the result, and ``more`` about it, as one line of JSON."""
    print(json.dumps(plain(result) | more))


def plain(result: OptimizeResult) -> dict[str, Any]:
    """Return the result as JSON values; null stands for NaN and infinity, which JSON lacks."""
    names = ("fun", "nfev", "nit", "success", "message", "stop", "sigma", "restarts", "nan_count")
    values = {name: result[name] for name in names} | {"x": result.x.tolist(), "seed": result.seed.entropy}
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
