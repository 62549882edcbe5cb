"""The methods, one file or folder each, by name in ``STRATEGIES``."""

from __future__ import annotations

from dataclasses import fields
from inspect import isabstract
from typing import Any

from r1nes.arguments import shown, suggestion
from r1nes.strategies.diagonal import SNES
from r1nes.strategies.full import XNES
from r1nes.strategies.protocol import Method, Strategy
from r1nes.strategies.rank_k import RkNES
from r1nes.strategies.rank_one import R1NES

__all__ = ["R1NES", "SNES", "STRATEGIES", "XNES", "Method", "RkNES", "Strategy"]

STRATEGIES: dict[str, type[Method]] = {"r1nes": R1NES, "rknes": RkNES, "snes": SNES, "xnes": XNES}


def method_of(method: str | Method | type[Method] | None, d: int, given: dict[str, Any]) -> Method:
    """Return ``method`` as an object, with the settings ``given``; check that it supports ``d`` variables."""
    if method is None:
        method = "rknes" if d > 1 else "snes"
    if isinstance(method, str) and method not in STRATEGIES:
        raise ValueError(
            f"method must be one of {', '.join(STRATEGIES)}, got {method!r}{suggestion(method, STRATEGIES)}"
        )
    kind = STRATEGIES[method] if isinstance(method, str) else method
    if isinstance(kind, type) and issubclass(kind, Method) and not isabstract(kind):
        known = [field.name for field in fields(kind)]
        for name in given:
            if name not in known:
                raise TypeError(f"{name} is not a setting of {kind.__name__}; it has {', '.join(known)}")
        chosen = kind(**given)
    elif isinstance(kind, Method):
        for name, value in given.items():
            raise TypeError(f"{name} must be set on the method, as {type(kind).__name__}({name}={value!r})")
        chosen = kind
    else:
        raise TypeError(f"method must be a name or a Method such as RkNES(), got {shown(method)}")
    if d < chosen.min_dim:
        others = " or ".join(repr(name) for name, other in STRATEGIES.items() if d >= other.min_dim)
        needed = f"at least {chosen.min_dim} free variables"
        raise ValueError(f"method={name_of(chosen)!r} needs {needed}, got {d}; use {others}")
    return chosen


def name_of(method: Method) -> str:
    """Return the name of ``method``: its key in ``STRATEGIES`` or, for a user's own, that of its class."""
    for name, kind in STRATEGIES.items():
        if type(method) is kind:
            return name
    return f"{type(method).__module__}:{type(method).__qualname__}"


def method_named(name: str, given: dict[str, Any], own: Method | type[Method] | None) -> Method:
    """Return the method that ``name_of`` named, with its settings; ``own`` must agree with it, if passed."""
    if isinstance(own, type):
        own = own()
    if own is None and name in STRATEGIES:
        return STRATEGIES[name](**given)
    listed = ", ".join(f"{key}={value!r}" for key, value in given.items())
    if own is None:
        raise ValueError(
            f"{name}({listed}) is a method of your own, which a file cannot hold: "
            "continue in Python, and pass it as method"
        )
    if name_of(own) != name or own != type(own)(**given):
        raise ValueError(f"method must be the one that was saved, {name}({listed}), got {own!r}")
    return own
