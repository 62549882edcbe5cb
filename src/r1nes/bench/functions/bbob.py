"""The twelve noise-free unimodal BBOB functions, in the classic form at every dimension.

Each function maps points in rows (n, d) to f(x) − fopt, (n,). Q and R are rotations, Λ^α the
conditioning, T_osz and T_asy the transformations in ``transforms``. ``QLR`` is the single matrix
Q Λ^10 R, precomputed because nothing non-linear lies between its factors; likewise ``LR`` and
``cR``. Points are rows, so z = R (x − xopt) is written ``z = (x - xopt) @ R.T``.

The values equal those of COCO's bbob suite. ioh differs in two places: above 40 dimensions its f13
has ⌈d/40⌉ long axes instead of one, and its f7 is flat around xopt, where COCO's is 10⁻⁵ |ẑ₁|.

N. Hansen, S. Finck, R. Ros, A. Auger: Real-parameter black-box optimization benchmarking 2009:
noiseless functions definitions, INRIA research report RR-6829.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions.textbook import cigar, ellipsoid, rosenbrock, sharp_ridge, sphere, tablet
from r1nes.bench.functions.transforms import conditioning, grades, oscillate, rotation, shift, skew


def f1(x: Array, xopt: Array) -> Array:
    """Sphere: ‖z‖², z = x − xopt."""
    return sphere(x - xopt)


def f2(x: Array, xopt: Array) -> Array:
    """Ellipsoid: Σ 10^(6 (i−1)/(d−1)) z_i², z = T_osz(x − xopt)."""
    return ellipsoid(oscillate(x - xopt))


def f5(x: Array, xopt: Array) -> Array:
    """Linear slope: Σ 5 |s_i| − s_i z_i, s_i = sign(xopt_i) 10^((i−1)/(d−1)).

    z_i = x_i, clamped at xopt_i: the function is flat beyond the corner xopt of [−5, 5]^d.
    """
    s = np.sign(xopt) * conditioning(100, x.shape[-1])
    z = np.where(x * xopt < 25, x, xopt)
    return np.sum(s * (xopt - z), axis=-1)  # 5 |s_i| = s_i xopt_i


def f6(x: Array, xopt: Array, QLR: Array) -> Array:
    """Attractive sector: T_osz(Σ (s_i z_i)²)^0.9, z = Q Λ^10 R (x − xopt).

    s_i = 100 where z_i xopt_i > 0, otherwise 1.
    """
    z = (x - xopt) @ QLR.T
    return oscillate(sphere(np.where(z * xopt > 0, 100 * z, z))) ** 0.9


def f7(x: Array, xopt: Array, LR: Array, Q: Array) -> Array:
    """Step ellipsoid: 0.1 max(|ẑ₁|/10⁴, Σ 10^(2 (i−1)/(d−1)) z_i²) + penalty.

    ẑ = Λ^10 R (x − xopt); z = Q z̃, where z̃ is ẑ rounded, to integers where |ẑ_i| > ½ and to
    tenths elsewhere. The penalty Σ max(0, |x_i| − 5)² applies outside [−5, 5]^d.
    """
    z_hat = (x - xopt) @ LR.T
    steps = np.where(np.abs(z_hat) > 0.5, 1.0, 10.0)
    z = np.floor(0.5 + steps * z_hat) / steps @ Q.T
    plateaus = np.sum(10 ** (2 * grades(x.shape[-1])) * z**2, axis=-1)
    penalty = sphere(np.maximum(0, np.abs(x) - 5))
    return 0.1 * np.maximum(np.abs(z_hat[:, 0]) / 1e4, plateaus) + penalty


def f8(x: Array, xopt: Array) -> Array:
    """Rosenbrock: Σ 100 (z_i² − z_{i+1})² + (z_i − 1)², z = max(1, √d/8) (x − xopt) + 1."""
    return rosenbrock(valley_scale(x.shape[-1]) * (x - xopt) + 1)


def f9(x: Array, xopt: Array, cR: Array) -> Array:
    """Rotated Rosenbrock: Σ 100 (z_i² − z_{i+1})² + (z_i − 1)², z = max(1, √d/8) R x + ½.

    z = 1 at xopt, so z = max(1, √d/8) R (x − xopt) + 1, which is accurate close to xopt.
    """
    return rosenbrock((x - xopt) @ cR.T + 1)


def f10(x: Array, xopt: Array, R: Array) -> Array:
    """Rotated ellipsoid: Σ 10^(6 (i−1)/(d−1)) z_i², z = T_osz(R (x − xopt))."""
    return ellipsoid(oscillate((x - xopt) @ R.T))


def f11(x: Array, xopt: Array, R: Array) -> Array:
    """Discus (tablet): 10⁶ z₁² + Σ_{i≥2} z_i², z = T_osz(R (x − xopt))."""
    return tablet(oscillate((x - xopt) @ R.T))


def f12(x: Array, xopt: Array, R: Array) -> Array:
    """Bent cigar: z₁² + 10⁶ Σ_{i≥2} z_i², z = R T_asy^½(R (x − xopt))."""
    return cigar(skew((x - xopt) @ R.T, 0.5) @ R.T)


def f13(x: Array, xopt: Array, QLR: Array) -> Array:
    """Sharp ridge: z₁² + 100 √(Σ_{i≥2} z_i²), z = Q Λ^10 R (x − xopt)."""
    return sharp_ridge((x - xopt) @ QLR.T)


def f14(x: Array, xopt: Array, R: Array) -> Array:
    """Different powers: √(Σ |z_i|^(2 + 4 (i−1)/(d−1))), z = R (x − xopt)."""
    z = (x - xopt) @ R.T
    return np.sqrt(np.sum(np.abs(z) ** (2 + 4 * grades(x.shape[-1])), axis=-1))


def valley_scale(dim: int) -> float:
    """Return c = max(1, √d/8), the scale factor of the Rosenbrock functions."""
    return max(1.0, sqrt(dim) / 8)


class Definition(NamedTuple):
    """A BBOB function: its name, its formula, and the random parameters of an instance."""

    name: str
    formula: Callable[..., Array]  # (x, **parts) → f(x) − fopt
    parts: Callable[[int, int], dict[str, Array]]  # (d, seed) → xopt and the matrices


# Added to the seed for a second random stream; BBOB fixes which parameter uses which stream.
OTHER = 1_000_000


def _shifted(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": shift(d, seed)}


def _rotated(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": shift(d, seed), "R": rotation(d, seed + OTHER)}


def _stretched(d: int, seed: int) -> Array:
    return conditioning(10, d)[:, None] * rotation(d, seed)  # Λ^10 R


def _rotated_twice(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": shift(d, seed), "QLR": rotation(d, seed + OTHER) @ _stretched(d, seed)}


def _corner(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": np.where(shift(d, seed) < 0, -5.0, 5.0)}


def _stepped(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": shift(d, seed), "LR": _stretched(d, seed), "Q": rotation(d, seed + OTHER)}


def _valley(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": 0.75 * shift(d, seed)}  # in [−3, 3]^d


def _rotated_valley(d: int, seed: int) -> dict[str, Array]:
    c, R = valley_scale(d), rotation(d, seed)
    return {"xopt": R.sum(axis=0) / (2 * c), "cR": c * R}  # c R xopt + ½ = 1


def _bent(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": shift(d, seed + OTHER), "R": rotation(d, seed + OTHER)}


FUNCTIONS = {
    "f1": Definition("Sphere", f1, _shifted),
    "f2": Definition("Ellipsoid", f2, _shifted),
    "f5": Definition("Linear slope", f5, _corner),
    "f6": Definition("Attractive sector", f6, _rotated_twice),
    "f7": Definition("Step ellipsoid", f7, _stepped),
    "f8": Definition("Rosenbrock", f8, _valley),
    "f9": Definition("Rotated Rosenbrock", f9, _rotated_valley),
    "f10": Definition("Rotated ellipsoid", f10, _rotated),
    "f11": Definition("Discus", f11, _rotated),
    "f12": Definition("Bent cigar", f12, _bent),
    "f13": Definition("Sharp ridge", f13, _rotated_twice),
    "f14": Definition("Different powers", f14, _rotated),
}
