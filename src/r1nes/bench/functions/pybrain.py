"""The twelve functions as the authors of R1-NES define them in PyBrain.

PyBrain calls them BBOB's, but several differ from COCO's (module ``bbob``):

    all     the shift is uniform in [−4.9, 4.9]^d, and fopt = 0
    T_osz   x_i exp(0.049 (sin(c₁ x_i) + sin(c₂ x_i))), the waves of x_i instead of ln|x_i|: near the
            optimum f2, f10 and f11 are quadratic, and f6 is a power of a quadratic function
    f6      one rotation, no Λ^10
    f7      only ẑ_i > ½ is rounded to integers; |ẑ₁| is taken after rounding, so that f is 0 around xopt
    f8, f9  no factor max(1, √d/8); the optimum is where x − shift, or R (x − shift), is (1, …, 1)
    f12     two different rotations
    f14     no square root, and exponents 2 + ⌊4 (i−1)/(d−1)⌋: Python 2 divides integers

A rotation consists of the left singular vectors of a matrix of uniform numbers. The first of them is close
to (1, …, 1)/√d, up to its sign. From d = 500 on it is a product of Givens rotations and reflections of
neighbouring coordinates, which leaves at most four entries per row. Runs start at x₀ ~ N(0, I) with σ₀ = 1.

It is not known whether the paper used this form. T. Schaul et al.: PyBrain, JMLR 11, 2010; its modules
``bbob2010``, ``unimodal`` and ``transformations``.
"""

from __future__ import annotations

import numpy as np

from r1nes.arrays import Array
from r1nes.bench.functions import bbob
from r1nes.bench.functions.bbob import Definition
from r1nes.bench.functions.textbook import cigar, ellipsoid, rosenbrock, sphere, tablet
from r1nes.bench.functions.transforms import conditioning, grades, skew

WIDEST = 4.9  # of the shift, in each coordinate
SPARSE = 500  # dimensions from which rotations are sparse


def wave(x: Array) -> Array:
    """PyBrain's T_osz: x_i exp(0.049 (sin(c₁ x_i) + sin(c₂ x_i))).

    (c₁, c₂) is (10, 7.9) where x_i > 0 and (5.5, 3.1) where x_i < 0.
    """
    positive = x > 0
    waves = np.sin(np.where(positive, 10, 5.5) * x) + np.sin(np.where(positive, 7.9, 3.1) * x)
    return x * np.exp(0.049 * waves)


def f2(x: Array, xopt: Array) -> Array:
    """Ellipsoid: Σ 10^(6 (i−1)/(d−1)) z_i², z = T_osz(x − xopt)."""
    return ellipsoid(wave(x - xopt))


def f6(x: Array, xopt: Array, R: Array) -> Array:
    """Attractive sector: T_osz(Σ (s_i z_i)²)^0.9, z = R (x − xopt).

    s_i = 100 where z_i xopt_i > 0, otherwise 1.
    """
    z = (x - xopt) @ R.T
    return wave(sphere(np.where(z * xopt > 0, 100 * z, z))) ** 0.9


def f7(x: Array, xopt: Array, QLR: Array, T: Array) -> Array:
    """Step ellipsoid: 0.1 max(|z₁|/10⁴, Σ 10^(2 (i−1)/(d−1)) z_i²) + penalty.

    z = T z̃, where z̃ is ẑ = Q Λ^10 R (x − xopt) rounded, to integers where ẑ_i > ½ and to tenths elsewhere.
    The penalty Σ max(0, |x_i| − 5)² applies outside [−5, 5]^d.
    """
    z_hat = (x - xopt) @ QLR.T
    steps = np.where(z_hat > 0.5, 1.0, 10.0)
    z = np.floor(0.5 + steps * z_hat) / steps @ T.T
    plateaus = np.sum(10 ** (2 * grades(x.shape[-1])) * z**2, axis=-1)
    return 0.1 * np.maximum(np.abs(z[:, 0]) / 1e4, plateaus) + sphere(np.maximum(0, np.abs(x) - 5))


def f8(x: Array, xopt: Array) -> Array:
    """Rosenbrock: Σ 100 (z_i² − z_{i+1})² + (z_i − 1)², z = x − xopt + 1."""
    return rosenbrock(x - xopt + 1)


def f9(x: Array, xopt: Array, R: Array) -> Array:
    """Rotated Rosenbrock: Σ 100 (z_i² − z_{i+1})² + (z_i − 1)², z = R (x − xopt) + 1."""
    return rosenbrock((x - xopt) @ R.T + 1)


def f10(x: Array, xopt: Array, R: Array) -> Array:
    """Rotated ellipsoid: Σ 10^(6 (i−1)/(d−1)) z_i², z = T_osz(R (x − xopt))."""
    return ellipsoid(wave((x - xopt) @ R.T))


def f11(x: Array, xopt: Array, R: Array) -> Array:
    """Tablet: 10⁶ z₁² + Σ_{i≥2} z_i², z = T_osz(R (x − xopt))."""
    return tablet(wave((x - xopt) @ R.T))


def f12(x: Array, xopt: Array, R: Array, Q: Array) -> Array:
    """Bent cigar: z₁² + 10⁶ Σ_{i≥2} z_i², z = Q T_asy^½(R (x − xopt))."""
    return cigar(skew((x - xopt) @ R.T, 0.5) @ Q.T)


def f14(x: Array, xopt: Array, R: Array) -> Array:
    """Different powers: Σ |z_i|^(2 + ⌊4 (i−1)/(d−1)⌋), z = R (x − xopt)."""
    d = x.shape[-1]
    exponents = 2 + 4 * np.arange(d) // (d - 1)
    return np.sum(np.abs((x - xopt) @ R.T) ** exponents, axis=-1)


def dense(d: int, rng: np.random.Generator) -> Array:
    """Return the left singular vectors of a matrix of uniform numbers, in columns."""
    return np.linalg.svd(rng.random((d, d)))[0]


def sparse(d: int, rng: np.random.Generator) -> Array:
    """Return a product of planar rotations and reflections: of (1, 2), (3, 4) …, then of (2, 3), (4, 5) ….

    Each is one or the other with probability ½, by a random angle.
    """
    Q = np.eye(d)
    for first in [*range(0, d - 1, 2), *range(1, d - 1, 2)]:
        angle, sign = 2 * np.pi * rng.random(), 1 if rng.random() < 0.5 else -1
        c, s = np.cos(angle), np.sin(angle)
        Q[:, first : first + 2] = Q[:, first : first + 2] @ np.array([[c, -sign * s], [s, sign * c]])
    return Q


def orthogonal(d: int, rng: np.random.Generator) -> Array:
    """Return PyBrain's orthogonal matrix, which is sparse in many dimensions."""
    return (dense if d < SPARSE else sparse)(d, rng)


def _shift(d: int, rng: np.random.Generator) -> Array:
    return rng.uniform(-WIDEST, WIDEST, d)


def _turn(d: int, rng: np.random.Generator) -> Array:
    return orthogonal(d, rng).T  # PyBrain multiplies x by the matrix from the right


def _shifted(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": _shift(d, np.random.default_rng(seed))}


def _corner(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": np.where(np.random.default_rng(seed).random(d) < 0.5, -5.0, 5.0)}


def _rotated(d: int, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {"xopt": _shift(d, rng), "R": _turn(d, rng)}


def _bent(d: int, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {"xopt": _shift(d, rng), "R": _turn(d, rng), "Q": orthogonal(d, rng)}


def _stretched(d: int, rng: np.random.Generator) -> Array:
    R = orthogonal(d, rng) @ _turn(d, rng)  # two matrices in a row
    return orthogonal(d, rng) @ (conditioning(10, d)[:, None] * R)  # Q Λ^10 R


def _ridge(d: int, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {"xopt": _shift(d, rng), "QLR": _stretched(d, rng)}


def _stepped(d: int, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {"xopt": _shift(d, rng), "QLR": _stretched(d, rng), "T": dense(d, rng)}


def _valley(d: int, seed: int) -> dict[str, Array]:
    return {"xopt": _shift(d, np.random.default_rng(seed)) + 1}


def _rotated_valley(d: int, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shift, R = _shift(d, rng), _turn(d, rng)
    return {"xopt": shift + R.sum(axis=0), "R": R}  # R (xopt − shift) = 1


FUNCTIONS = {
    "f1-pybrain": Definition("Sphere", bbob.f1, _shifted),
    "f2-pybrain": Definition("Ellipsoid", f2, _shifted),
    "f5-pybrain": Definition("Linear slope", bbob.f5, _corner),
    "f6-pybrain": Definition("Attractive sector", f6, _rotated),
    "f7-pybrain": Definition("Step ellipsoid", f7, _stepped),
    "f8-pybrain": Definition("Rosenbrock", f8, _valley),
    "f9-pybrain": Definition("Rotated Rosenbrock", f9, _rotated_valley),
    "f10-pybrain": Definition("Rotated ellipsoid", f10, _rotated),
    "f11-pybrain": Definition("Tablet", f11, _rotated),
    "f12-pybrain": Definition("Bent cigar", f12, _bent),
    "f13-pybrain": Definition("Sharp ridge", bbob.f13, _ridge),
    "f14-pybrain": Definition("Different powers", f14, _rotated),
}
