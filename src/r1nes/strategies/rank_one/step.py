"""The equations of R1-NES, written once for NumPy, numba, PyTorch and JAX.

    x = μ + σ(y + z·u),   y ~ N(0, I),   z ~ N(0, 1),   u = r·v,   ‖v‖ = 1

With σ = e^λ, r = e^c, x̃ = (x − μ)/σ, a = x̃ᵀx̃ and b = x̃ᵀv, the natural gradients of log p(x) are

    ∇μ = x − μ                                                               (1)
    ∇λ = [(a − d) − (b² − 1)] / (2(d − 1))                                    (2)
    ∇u = {[(r² − d + 2) b² − (r² + 1) a] v + 2(d − 1) b x̃} / (2(d − 1) r)     (3)
    ∇c = ∇uᵀv / r                                                             (4)
    ∇v = (∇u − (∇uᵀv) v) / r                                                  (5)

and each parameter follows the sum of its gradients over the samples, weighted by their utilities.
If u would shrink, c and v are updated instead of u, so that u never flips.

For large r the terms of (2) and (3) cancel, and all digits are lost. They are therefore computed from y,
split along and across v: with p = yᵀv, b = p + z r and q = ‖y‖² − p² = a − b²,

    ∇λ = (q/(d − 1) − 1)/2,    ∇uᵀv = [b² − (r² + 1) q/(d − 1)] / (2r),    the rest of ∇u = b (y − p v) / r

Eq. (5) of the paper is printed without the vector v and without the last term; (3) is complete.
"""

from __future__ import annotations

import math
from typing import Any

from r1nes.arrays import Array
from r1nes.arrays.one_text import dot, exp, join, number, one_text, powers, sqrt
from r1nes.arrays.tiles import STRIP

SHORTEST = 1e-8  # below this, 1 + r² rounds to 1, so a shorter u would give the same distribution


@one_text
def points(mean: Array, sigma: float, u: Array, y: Array, z: Array) -> Array:
    """Return points x = μ + σ(y + z·u), ~ N(μ, σ²(I + uuᵀ))."""
    x = z * u  # changed in place, because temporary arrays cost NumPy more than the arithmetic
    x += y
    x *= sigma
    x += mean
    return x


@one_text
def write_points(mean: Array, sigma: float, u: Array, noise: Array, X: Array) -> None:
    """Write points to X, one number at a time: for numba, which needs no temporary arrays then."""
    n, d = X.shape
    for start in range(0, d, STRIP):
        stop = min(start + STRIP, d)
        m, v = mean[start:stop], u[start:stop]
        for i in range(n):
            x, y, z = X[i, start:stop], noise[i, start:stop], noise[i, d]
            for j in range(m.size):
                x[j] = points(m[j], sigma, v[j], y[j], z)


@one_text
def _direction(u: Array) -> tuple[Array, float]:
    """Return v, followed by a 0 for the z of the noise, and r."""
    r = sqrt(number(dot(u, u)))
    return join((u / r, 0.0 * u[:1])), r


@one_text
def _project(v: Array, noise: Array) -> tuple[Array, Array]:
    """Return p = yᵀv and ‖y‖² + z² for each sample."""
    return dot(noise, v), powers(noise)


@one_text
def _weigh(d: int, r: float, p: Array, power: Array, z: Array, w: Array) -> Any:
    """Return the weights w and w b; and Σ w, Σ w b p, Σ w b², Σ w q/(d − 1)."""
    b = p + r * z
    wb, q = w * b, power - z * z - p * p
    numbers = number(w.sum()), number(dot(wb, p)), number(dot(wb, b)), number(dot(w, q)) / (d - 1)
    return join((w, wb)).reshape((2, -1)), numbers


@one_text
def measure(u: Array, noise: Array, w: Array) -> Any:
    """Return Σ w (y, z) and Σ w b (y, z), one per row; and the numbers of ``_weigh``."""
    v, r = _direction(u)
    p, power = _project(v, noise)
    weights, numbers = _weigh(u.shape[0], r, p, power, noise[:, -1], w)
    return dot(weights, noise), numbers


@one_text
def _shape(
    r: float, wbp: float, wbb: float, wq: float, power: float, rate_shape: float
) -> tuple[float, float]:
    """Return the coefficients of u and Σ w b y in the next u; ``power`` is the squared length of Σ w b y.

    ∇u = along·v + across, where across = (Σ w b y − (Σ w b p) v)/r is normal to v.
    """
    along = (wbb - (r * r + 1) * wq) / (2 * r)
    across = math.sqrt(max(0.0, power - wbp * wbp)) / r  # its length
    length = math.hypot(along, across)  # of ∇u (3)
    rate = min(rate_shape, 2 * r / length) if length > 0 else 0.0  # ε
    if along < 0:  # shrink c by (4) and turn v by (5) separately: adding to u could flip it
        turned = max(r * math.exp(rate * along / r), SHORTEST) / math.hypot(1, rate * across / r)
        along_v, across_v = turned, turned * rate / r
    else:  # grow: an exponential step in c could explode
        along_v, across_v = r + rate * along, rate
    return (along_v - across_v * wbp / r) / r, across_v / r


@one_text
def _numbers(log_sigma: float, u: Array, sums: Array, numbers: Any,
             rate_mean: float, rate_sigma: float, rate_shape: float) -> Any:  # fmt: skip
    """Return the next λ, and the coefficients of ``_next``."""
    wz, wby = number(sums[0, -1]), sums[1, : u.shape[0]]
    total, wbp, wbb, wq = numbers
    r, power = sqrt(number(dot(u, u))), number(dot(wby, wby))
    of_u, of_wby = _shape(r, wbp, wbb, wq, power, rate_shape)
    log_next = log_sigma + rate_sigma * 0.5 * (wq - total)  # (2)
    return log_next, (rate_mean * exp(log_sigma), wz, of_u, of_wby)


@one_text
def _next(mean: Array, u: Array, wy: Array, wby: Array, numbers: Any) -> tuple[Array, Array]:
    """Return the next μ and u."""
    rate, wz, of_u, of_wby = numbers
    return mean + rate * (wy + wz * u), of_u * u + of_wby * wby  # (1), (3) to (5)


@one_text
def step(mean: Array, log_sigma: float, u: Array, sums: Array, numbers: Any,
          rate_mean: float, rate_sigma: float, rate_shape: float) -> tuple[Array, float, Array]:  # fmt: skip
    """Return the next μ, λ and u, given what ``measure`` returns."""
    log_next, parts = _numbers(log_sigma, u, sums, numbers, rate_mean, rate_sigma, rate_shape)
    next_mean, next_u = _next(mean, u, sums[0, :-1], sums[1, :-1], parts)
    return next_mean, log_next, next_u


@one_text
def write_update(mean: Array, log_sigma: float, u: Array, noise: Array, w: Array,
                  rate_mean: float, rate_sigma: float, rate_shape: float,
                  next_mean: Array, next_u: Array) -> float:  # fmt: skip
    """Return the next λ and write the next μ and u, given samples and their utilities: for numba."""
    sums, numbers = measure(u, noise, w)
    log_next, parts = _numbers(log_sigma, u, sums, numbers, rate_mean, rate_sigma, rate_shape)
    for j in range(u.size):
        next_mean[j], next_u[j] = _next(mean[j], u[j], sums[0, j], sums[1, j], parts)
    return log_next
