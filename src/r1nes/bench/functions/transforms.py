"""Building blocks of the BBOB functions: random numbers, rotations and transformations.

A BBOB instance is a seed. It determines the shift xopt, the rotations Q and R and the offset fopt
through a portable random number generator that every BBOB implementation reproduces exactly.

The deterministic transformations act on points in rows; Λ^α is stored as its diagonal:

    Λ^α      diag(α^(½ (i−1)/(d−1)))                                          ill-conditioning
    T_osz    x_i ← sign(x_i) exp(x̂_i + 0.049 (sin(c₁ x̂_i) + sin(c₂ x̂_i)))     small bumps
    T_asy    x_i ← x_i^(1 + β (i−1)/(d−1) √x_i) where x_i > 0                 broken symmetry

N. Hansen, S. Finck, R. Ros, A. Auger: Real-parameter black-box optimization benchmarking 2009:
noiseless functions definitions, INRIA research report RR-6829.
"""

from __future__ import annotations

import math

import numpy as np

from r1nes.arrays import Array

MODULUS = 2**31 - 1


def uniform(n: int, seed: int) -> Array:
    """Return ``n`` uniform numbers in (0, 1): s ← 16807 s mod (2³¹ − 1), shuffled.

    The Bays–Durham shuffle takes each number from a table of 32 states, at an index derived from
    the previous number, so the loop cannot be vectorised.
    """
    state, states = seed, []
    for _ in range(40):
        state = 16807 * state % MODULUS
        states.append(state)
    table = states[:-33:-1]  # the last 32 states, newest first
    number, numbers = table[0], []
    for _ in range(n):
        state = 16807 * state % MODULUS
        index = number // (2**26 + 1)
        number, table[index] = table[index], state
        numbers.append(number)
    return np.array(numbers, dtype=np.float64) / MODULUS


def gaussian(n: int, seed: int) -> Array:
    """Return ``n`` standard normal numbers, √(−2 ln u) cos(2π v) (Box–Muller)."""
    u, v = uniform(2 * n, seed).reshape(2, n)
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)


def shift(dim: int, seed: int) -> Array:
    """Return xopt, uniform in [−4, 4]^d on a grid of step 8·10⁻⁴ without zero."""
    x = 8 * np.floor(1e4 * uniform(dim, seed)) / 1e4 - 4
    return np.where(x == 0, -1e-5, x)


def rotation(dim: int, seed: int) -> Array:
    """Return a random orthogonal matrix: Gram–Schmidt on columns of Gaussian numbers.

    A QR decomposition gives the same columns up to their signs, which diag(R) > 0 fixes.
    """
    columns = gaussian(dim * dim, seed).reshape(dim, dim).T
    q, r = np.linalg.qr(columns)
    return q * np.sign(np.diag(r))


def offset(seed: int) -> float:
    """Return fopt: 100 times a ratio of two Gaussians, rounded to two decimals, within ±1000."""
    cents = math.floor(1e4 * gaussian(1, seed)[0] / gaussian(1, seed + 1)[0] + 0.5)
    return min(1000.0, max(-1000.0, cents / 100))


def grades(dim: int) -> Array:
    """Return (i−1)/(d−1) for i = 1…d, the exponents from the first coordinate to the last."""
    return np.linspace(0.0, 1.0, dim)


def conditioning(alpha: float, dim: int) -> Array:
    """Return the diagonal of Λ^α, α^(½ (i−1)/(d−1))."""
    return alpha ** (0.5 * grades(dim))


def oscillate(x: Array) -> Array:
    """T_osz: x_i exp(0.049 (sin(c₁ x̂_i) + sin(c₂ x̂_i))), x̂ = ln|x|.

    (c₁, c₂) is (10, 7.9) where x_i > 0 and (5.5, 3.1) where x_i < 0; zero stays zero.
    """
    positive = x > 0
    log_x = np.log(np.where(x == 0, 1.0, np.abs(x)))
    waves = np.sin(np.where(positive, 10, 5.5) * log_x)
    waves += np.sin(np.where(positive, 7.9, 3.1) * log_x)
    return x * np.exp(0.049 * waves)


def skew(x: Array, beta: float) -> Array:
    """T_asy^β: x_i^(1 + β (i−1)/(d−1) √x_i) where x_i > 0, otherwise x_i."""
    positive = np.maximum(x, 0)
    exponents = 1 + beta * grades(x.shape[-1]) * np.sqrt(positive)
    return np.where(x > 0, positive**exponents, x)
