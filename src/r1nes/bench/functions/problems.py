"""Test problems by name: ``problem("f10", dim=128)`` returns a function together with its optimum.

``"f1"`` … ``"f14"`` are the unimodal BBOB functions (module ``bbob``), in any number of instances;
``"f1-pybrain"`` … ``"f14-pybrain"`` are the same in the form of R1-NES's authors (module ``pybrain``);
``"sphere"``, ``"cigar"`` and so on are plain textbook functions (module ``textbook``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from r1nes.arguments import count
from r1nes.arrays import Array
from r1nes.bench.functions import bbob, pybrain, textbook
from r1nes.bench.functions.transforms import offset

TEXTBOOK: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "sphere": ("Sphere", textbook.sphere),
    "cigar": ("Cigar", textbook.cigar),
    "tablet": ("Tablet", textbook.tablet),
    "ellipsoid": ("Ellipsoid", textbook.ellipsoid),
    "cigar_tablet": ("Cigar-tablet", textbook.cigar_tablet),
    "k_tablet": ("k-tablet", textbook.k_tablet),
    "rosenbrock": ("Rosenbrock", textbook.rosenbrock),
    "different_powers": ("Different powers", textbook.different_powers),
    "sharp_ridge": ("Sharp ridge", textbook.sharp_ridge),
}
FUNCTIONS: list[str] = [*bbob.FUNCTIONS, *pybrain.FUNCTIONS, *TEXTBOOK]


def titled(function: str) -> str:
    """Return a BBOB function with its name, such as "f1 Sphere"; a plain function as it is."""
    definition = bbob.FUNCTIONS.get(function) or pybrain.FUNCTIONS.get(function)
    return function if definition is None else f"{function} {definition.name}"


@dataclass(frozen=True, eq=False)
class Problem:
    """A function to minimise, f(x) = fopt + formula(x), whose minimum is fopt at xopt.

    Call it with points in rows, (n, d), to get n values, or with one point, (d,), to get a float.
    """

    id: str
    name: str
    dim: int
    instance: int
    fopt: float
    xopt: Array  # (d,)
    formula: Callable[[Array], Array]  # (n, d) → (n,)

    def __post_init__(self) -> None:
        """Make xopt read-only, because the formula shares the array."""
        self.xopt.flags.writeable = False

    def __call__(self, x: ArrayLike) -> Array | float:
        """Return f at the points ``x``."""
        points = np.asarray(x, dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != self.dim:
            raise ValueError(f"x must have shape (n, {self.dim}) or ({self.dim},), got {points.shape}")
        values = self.fopt + self.formula(np.atleast_2d(points))
        return values if points.ndim == 2 else float(values[0])


def problem(function: str, dim: int, instance: int = 1) -> Problem:
    """Return the test problem ``function`` in ``dim`` dimensions.

    Args:
        function: A BBOB function, one of f1, f2, f5 … f14, the same in the form of R1-NES's authors, such as
            ``"f14-pybrain"``, or a plain function such as ``"cigar"``.
        dim: Number of dimensions, at least 2.
        instance: Selects the shift, rotation and offset of a BBOB function, at least 1. Plain
            functions have none of these, so their only instance is 1.

    Example:
        >>> f = problem("f1", dim=3)
        >>> f.name, f.fopt
        ('Sphere', 79.48)
        >>> f(f.xopt)
        79.48
    """
    if not isinstance(function, str):
        raise TypeError(f"function must be a string such as 'f10' or 'cigar', got {function!r}")
    dim = count("dim", dim, least=2)
    instance = count("instance", instance)
    if function in bbob.FUNCTIONS or function in pybrain.FUNCTIONS:
        is_bbob = function in bbob.FUNCTIONS
        name, formula, parts_of = (bbob if is_bbob else pybrain).FUNCTIONS[function]
        seed = int(function[1:].removesuffix("-pybrain")) + 10_000 * instance
        parts, fopt = parts_of(dim, seed), offset(seed) if is_bbob else 0.0
        return Problem(function, name, dim, instance, fopt, parts["xopt"], partial(formula, **parts))
    if function in TEXTBOOK:
        if instance != 1:
            raise ValueError(
                f"instance must be 1 for {function!r}, which has no other instance, got {instance}"
            )
        xopt = np.ones(dim) if function == "rosenbrock" else np.zeros(dim)
        name, formula = TEXTBOOK[function]
        return Problem(function, name, dim, instance, 0.0, xopt, formula)
    raise ValueError(f"function must be one of {', '.join(FUNCTIONS)}; got {function!r}")
