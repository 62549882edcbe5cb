"""Plain test functions, without shift or rotation.

Each takes one point (d,) or points in rows (n, d) and returns one value per point. The value of a
point is bitwise identical whether it is evaluated alone or in a batch. The minimum is 0, at the
origin, or at (1, …, 1) for Rosenbrock's function.

N. Hansen, A. Ostermeier: Completely derandomized self-adaptation in evolution strategies,
Evolutionary Computation 9(2), 2001; the ridge as in BBOB, with x₁² instead of −x₁. The k-tablet:
J. Sakuma, S. Kobayashi: Latent variable crossover for k-tablet structures, GECCO 2005.
"""

from __future__ import annotations

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions.transforms import grades


def sphere(x: Array) -> Array:
    """Σ x_i²."""
    return np.sum(x**2, axis=-1)


def cigar(x: Array) -> Array:
    """x₁² + 10⁶ Σ_{i≥2} x_i²: one long axis."""
    return x[..., 0] ** 2 + 1e6 * sphere(x[..., 1:])


def tablet(x: Array) -> Array:
    """10⁶ x₁² + Σ_{i≥2} x_i²: one short axis; also called the discus."""
    return 1e6 * x[..., 0] ** 2 + sphere(x[..., 1:])


def ellipsoid(x: Array) -> Array:
    """Σ 10^(6 (i−1)/(d−1)) x_i²: axis lengths from 1 to 10⁻³, evenly spaced on a log scale."""
    return np.sum(10 ** (6 * grades(x.shape[-1])) * x**2, axis=-1)


def cigar_tablet(x: Array) -> Array:
    """x₁² + 10⁴ Σ_{1<i<d} x_i² + 10⁸ x_d²: one long and one short axis."""
    return x[..., 0] ** 2 + 1e4 * sphere(x[..., 1:-1]) + 1e8 * x[..., -1] ** 2


def k_tablet(x: Array) -> Array:
    """Σ_{i≤k} x_i² + Σ_{i>k} (100 x_i)², k = max(1, ⌊d/4⌋): k long axes."""
    k = max(1, x.shape[-1] // 4)
    return sphere(x[..., :k]) + sphere(100 * x[..., k:])


def rosenbrock(x: Array) -> Array:
    """Σ_{i<d} 100 (x_i² − x_{i+1})² + (x_i − 1)²: a bent valley."""
    a, b = x[..., :-1], x[..., 1:]
    return 100 * sphere(a**2 - b) + sphere(a - 1)


def different_powers(x: Array) -> Array:
    """Σ |x_i|^(2 + 10 (i−1)/(d−1)): increasingly flat coordinates, exponents from 2 to 12."""
    return np.sum(np.abs(x) ** (2 + 10 * grades(x.shape[-1])), axis=-1)


def sharp_ridge(x: Array) -> Array:
    """x₁² + 100 √(Σ_{i≥2} x_i²): a ridge whose sides do not flatten towards it."""
    return x[..., 0] ** 2 + 100 * np.sqrt(sphere(x[..., 1:]))
