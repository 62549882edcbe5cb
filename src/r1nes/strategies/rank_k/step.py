"""The arithmetic of RkNES: its points, and the step from one distribution to the next.

The equations are those of ``rank_k.strategy``. A step depends on its samples only through the weighted sums
that ``gather`` accumulates: Σ w y², Σ w y and PᵀWY. Arrays of d columns may belong to any library; c and all
other arrays of k rows and columns are NumPy's.
"""

from __future__ import annotations

import math

import numpy as np

from r1nes.arrays import Array, Operations, operations
from r1nes.arrays.loops import TINY
from r1nes.arrays.tiles import accumulate_tiles, compute_tiles
from r1nes.sampling.orthogonal import PAIRED
from r1nes.strategies.rank_k.matrices import (
    DRIFT,
    FASTEST,
    LEAST,
    LONGEST,
    NOISE,
    PACE,
    PULL,
    SHORTEST,
    TURN,
)
from r1nes.strategies.rank_k.points import FIRST, PATH_SIGMA, SIGNAL


def points(mean: Array, sigma: float, D: Array, V: Array, c: Array, noise: Array, out: Array | None) -> Array:
    """Points x = μ + σDMy, of covariance σ²DM²D."""
    xp, like, _ = operations(noise)
    P = (noise @ V.T) * like(np.expm1(c))

    def formula(cols: slice, **into: Array) -> Array:
        x: Array = xp.matmul(P, V[:, cols], **into)
        x += noise[:, cols]
        x *= sigma * D[cols]
        x += mean[cols]
        return x

    return compute_tiles(formula, noise, len(mean), out)


def gather(
    ops: Operations, V: Array, noise: Array, w: Array, sums: Array, numbers: Array
) -> tuple[Array, Array]:
    """With Σ w y², Σ w y and PᵀWY added to rows of ``sums``; Σ w, both Σ w², and n added to ``numbers``.

    The first row of ``w`` is for the mean, so for Σ w y; the second one for the covariance.
    """
    n, (xp, like, host) = len(noise), ops
    P = host(noise @ V.T)
    weights, of_squares = like(np.concatenate([w[:1], P.T * w[1]])), like(w[1])

    def formula(cols: slice) -> tuple[Array, Array]:
        y = noise[:, cols]
        return of_squares @ (y * y), weights @ y

    numbers += np.array([w[1].sum(), w[1] @ w[1], w[0] @ w[0], n])
    last = accumulate_tiles(formula, n, sums[SIGNAL:])
    return sums if xp is np else xp.concat([sums[:SIGNAL], last]), numbers


def step(
    ops: Operations,
    rows: Array,
    c: Array,
    log_sigma: float,
    signal_noise: float,
    age: int,
    shrinking: int,
    sums: Array,
    numbers: Array,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
    rate_scales: float,
) -> tuple[Array, Array, float, float, float]:
    """The next state, c, λ, noise in the signal of D, and largest of D."""
    mean, D, path, signal, path_sigma = (rows[i] for i in range(FIRST))
    V, d = rows[FIRST:], rows.shape[1]
    sampled, whitened, weighted = sums[SIGNAL], sums[PATH_SIGMA], sums[FIRST:]  # Σ w y², Σ w y, PᵀWY
    total, n = float(numbers[0]), float(numbers[3])
    of_shape, of_mean = float(numbers[1]), float(numbers[2])  # Σ w²
    mu = 1 / (of_mean + 1 / n)  # μ_eff, the effective number of selected samples
    walked = D * _stretched(ops, whitened, V, c)  # Σ w (x − μ)/σ
    mean = mean + rate_mean * math.exp(log_sigma) * (walked + DRIFT / math.sqrt(mu) * path)

    # The path p_σ, and what its length makes of λ.
    c_sigma = (mu + 2) / (d + mu + 5)
    damping = 0.4 * (1 + c_sigma)
    unit = mu if d <= PAIRED * n else 1 / of_mean  # without selection 1/of_mean keeps ‖p_σ‖ at E‖N(0, I)‖
    path_sigma = (1 - c_sigma) * path_sigma + math.sqrt(c_sigma * (2 - c_sigma) * unit) * whitened
    expected = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # E‖N(0, I)‖
    excess = math.sqrt(path_sigma @ path_sigma) / expected
    log_sigma = log_sigma + rate_sigma * min(c_sigma / damping * (excess - 1), FASTEST)

    # The path p_c, as one more sample.
    begun = math.sqrt(1 - (1 - c_sigma) ** (2 * (age + 1)))  # the path p_σ starts at 0
    c_path = min(1.0, 0.6 / math.sqrt(d))
    path = (1 - c_path) * path
    if excess < begun * (1.4 + 2 / (d + 1)):  # not longer than a steady state allows
        path += math.sqrt(c_path * (2 - c_path) * mu) * walked
    followed = _stretched(ops, path / D, V, -c)  # ŷ
    squares = sampled + followed * followed / mu
    weighted += (V @ followed / mu)[:, None] * followed

    # D, by the share of its gradient that is signal.
    memory = 0.7 / d
    signal = (1 - memory) * signal + memory * (sampled - sampled.mean())
    signal_noise = (1 - memory) ** 2 * signal_noise + memory**2 * 2 * of_shape
    power = float(signal @ signal)  # (d − 1) ρ times the noise
    heard = max(0.0, 1 - NOISE * (d - 1) * signal_noise / power) if power > 0 else 0.0  # 1 − s/ρ
    rate = min(0.7, 0.6 * rate_scales * mu / math.sqrt(d)) * heard
    delta = ops.xp.clip(0.5 * rate * _gradient_of_scales(ops, squares, weighted, V, c), -1, 1)

    # The layer.
    rate = min(0.5, 5 * rate_shape * mu / (3 * d + 10))
    within, rest, between = natural_gradient(ops, weighted, float(squares.sum()), total + 1 / mu, V)
    V, c = _turned(ops, V, c, rate, within, rest, between, shrinking)
    log_sigma += 0.5 * rate_sigma * rate * rest
    if delta.any():
        V = _transport(ops, V, c, delta)
    shift = float(delta.mean())
    D = D * ops.xp.exp(delta - shift)
    rows = _joined(ops, [mean, D, path, signal, path_sigma, *V], sums)
    return rows, c, log_sigma + shift, signal_noise, float(D[D.argmax()])  # faster than max


def natural_gradient(
    ops: Operations, weighted: Array, power: float, total: float, V: Array
) -> tuple[Array, float, Array]:
    """G_V (k, k), τ and H (k, d), from PᵀWY, Σ w‖y‖² and S = Σ w; H takes the place of PᵀWY."""
    k, d = V.shape
    within = ops.host(weighted @ V.T)  # PᵀWP, since P = YVᵀ
    rest = (power - float(within.trace())) / (d - k) - total  # (2)
    weighted -= ops.like(within) @ V  # (3)
    for i in range(k):
        within[i, i] -= total  # (1)
    return within, rest, weighted


def _stretched(ops: Operations, y: Array, V: Array, c: Array) -> Array:
    """M y; with −c for c, M⁻¹ y."""
    return y + (V @ y * ops.like(np.expm1(c))) @ V


def _gradient_of_scales(ops: Operations, squares: Array, weighted: Array, V: Array, c: Array) -> Array:
    """The diagonal of G across what has grown, less its mean: (5)."""
    t = -np.expm1(-2 * np.maximum(c, 0))
    along = ops.host(weighted @ V.T)  # PᵀWP
    across = ops.xp.asarray(squares, copy=True)
    share = ops.xp.ones_like(squares)  # of each coordinate that is left
    for i in range(c.size):
        if t[i] > 0:
            across -= float(t[i]) * V[i] * (2 * weighted[i] - ops.like(along[i] * t) @ V)
            share -= float(t[i] * (2 - t[i])) * V[i] * V[i]
    return across - share * float(across.sum() / share.sum())


def _turned(
    ops: Operations,
    V: Array,
    c: Array,
    rate: float,
    within: Array,
    rest: float,
    between: Array,
    shrinking: int,
) -> tuple[Array, Array]:
    """V and c after a step along (4): turned out of their span, and within it by an eigenproblem."""
    k = c.size
    pace = np.ones_like(c)
    pace[:shrinking] = PACE
    turn = rate * pace / (2 * np.sinh(c))  # e^c/(e^{2c} − 1) = 1/(2 sinh c)
    for i in range(k):
        tangent = abs(float(turn[i])) * math.sqrt(between[i] @ between[i])
        turn[i] *= min(1.0, TURN / max(tangent, TURN))
        within[i, i] -= rest
    root, stretch = np.sqrt(pace), np.exp(c)
    g, U = np.linalg.eigh(root.reshape(-1, 1) * (rate * within) * root)
    grown = (U * np.exp(_clipped(g, -1, 1))) @ U.T
    variances, U = np.linalg.eigh(stretch.reshape(-1, 1) * grown * stretch)  # ascending: shrinking ones first
    V = ops.like(U.T) @ V + ops.like(U.T * turn) @ between

    c = 0.5 * np.log(np.maximum(variances, TINY))
    c[:shrinking] = _clipped(c[:shrinking] + PULL * rate, SHORTEST, -LEAST)
    c[shrinking:] = _clipped(c[shrinking:], LEAST, LONGEST)
    return orthonormalise(ops, V, c), c


def _transport(ops: Operations, V: Array, c: Array, delta: Array) -> Array:
    """V such that long and short axes point where they did, while log D moves by ``delta``: (6).

    NumPy's V is changed in place, here and below.
    """
    grown = ops.xp.exp(delta)
    rows = [*V]
    for i in range(c.size):
        if c[i] > 0:
            rows[i] /= grown
        else:
            rows[i] *= grown
    return orthonormalise(ops, _stacked(ops, rows, V), c)


def orthonormalise(ops: Operations, V: Array, c: Array) -> Array:
    """V with its rows made orthonormal; those with the largest |c| move the least."""
    rows = [*V]
    done: list[Array] = []
    for i in np.argsort(-np.abs(c), kind="stable").tolist():
        v = rows[i]
        for other in done:
            v -= (v @ other) * other
        v /= math.sqrt(v @ v)
        rows[i] = v
        done.append(v)
    return _stacked(ops, rows, V)


def _stacked(ops: Operations, rows: list[Array], x: Array) -> Array:
    """The ``rows`` as a matrix; NumPy's are views of ``x``, which already is that matrix."""
    return x if ops.xp is np else ops.xp.stack(rows)


def _joined(ops: Operations, rows: list[Array], x: Array) -> Array:
    """The ``rows`` as a matrix; NumPy's overwrite ``x``, because fresh memory costs as much again."""
    if ops.xp is not np:
        return ops.xp.stack(rows)
    for i, row in enumerate(rows):
        x[i] = row
    return x


def _clipped(x: Array, low: float, high: float) -> Array:
    """As np.clip, in a third of its time for a few numbers."""
    return np.minimum(np.maximum(x, low), high)
