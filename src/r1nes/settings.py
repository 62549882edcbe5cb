"""What an Optimizer is made with: checked, completed by defaults, and as plain values for a file."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from r1nes.arguments import at_least_zero, count
from r1nes.arrays import Array, array_type_named, array_type_of, host
from r1nes.strategies import STRATEGIES, Strategy


def strategy_type_of(method: str, d: int, settings: dict[str, Any]) -> type[Strategy]:
    """The class of ``method``, once it is sure that it takes ``d`` variables and these ``settings``."""
    if method not in STRATEGIES:
        raise ValueError(f"method must be one of {', '.join(STRATEGIES)}, got {method!r}")
    strategy_type = STRATEGIES[method]
    if d < strategy_type.min_dim:
        others = " or ".join(repr(name) for name, other in STRATEGIES.items() if d >= other.min_dim)
        raise ValueError(
            f"method={method!r} needs x0 of at least {strategy_type.min_dim} variables, got {d}: use {others}"
        )
    known = [
        name
        for name, parameter in inspect.signature(strategy_type.start).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    for name, value in settings.items():
        if name not in known:
            raise TypeError(f"{name} is not a setting of method={method!r}; it knows {', '.join(known)}")
        if name.startswith("rate_"):
            at_least_zero(name, value)
    return strategy_type


def checked_popsize(popsize: int | None, strategy_type: type[Strategy], d: int) -> int:
    """Points per generation, by default the method's own choice."""
    return strategy_type.default_popsize(d) if popsize is None else count("popsize", popsize, least=2)


def default_sigma(edges: tuple[Array, Array] | None) -> float:
    """The first standard deviation: 1, or 0.3 times the narrowest side of a finite box."""
    if edges is None:
        return 1.0
    widths = edges[1] - edges[0]
    if not (np.isfinite(widths).all() and widths.any()):
        return 1.0
    return 0.3 * float(widths[widths > 0].min())


def checked_utilities(utilities: ArrayLike | None, strategy_type: type[Strategy], n: int, d: int) -> Array:
    """A weight per rank, best first, by default the method's own."""
    if utilities is None:
        return strategy_type.default_utilities(n, d)
    w = np.array(utilities, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"utilities must hold one weight per rank, {n}, got shape {w.shape}")
    if not np.isfinite(w).all() or (np.diff(w) > 0).any() or w[0] == w[-1]:
        raise ValueError(f"utilities must be finite and fall from the best rank to the worst, got {w}")
    return w


def to_plain(settings: dict[str, Any]) -> dict[str, Any]:
    """``Optimizer.settings`` as plain values and arrays of NumPy's; ``arrays`` says where ``x0`` lived."""
    seed, bounds = settings["rng"], settings["bounds"]
    plain_seed = {"entropy": seed.entropy, "spawn_key": seed.spawn_key, "pool_size": seed.pool_size}
    array_type = array_type_of(settings["x0"]).name
    return settings | {
        "x0": host(settings["x0"]),
        "rng": plain_seed,
        "bounds": None if bounds is None else (bounds.lb, bounds.ub),
        **({} if array_type is None else {"arrays": array_type}),
    }


def from_plain(plain: dict[str, Any]) -> dict[str, Any]:
    """The settings that ``to_plain`` made plain."""
    bounds, x0 = plain["bounds"], plain["x0"]
    array_type = array_type_named(plain.get("arrays"), x0.dtype)
    return {name: value for name, value in plain.items() if name != "arrays"} | {
        "x0": array_type.array(x0),
        "rng": np.random.SeedSequence(**plain["rng"]),
        "bounds": None if bounds is None else Bounds(*bounds),
    }
