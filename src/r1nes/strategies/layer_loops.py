"""The arithmetic of ``layer`` as numba compiles it: the same, line by line, with loops for products."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from r1nes.arrays import Array
from r1nes.compiled import STRIP, compiled, kernel
from r1nes.directions import PAIRED
from r1nes.strategies.layer import DRIFT, LEAST, LONGEST, NOISE, PACE, PULL, SHORTEST, TINY, TURN


@compiled
def points(mean: Array, sigma: float, log_scales: Array, V: Array, c: Array, noise: Array, X: Array) -> None:
    """Points x = μ + σDMy, of covariance σ²DM²D."""
    _points(mean, sigma * np.exp(log_scales), V, np.expm1(c), noise, X)


@kernel
def _points(mean: Array, scales: Array, V: Array, stretch: Array, noise: Array, X: Array) -> None:
    n, d = noise.shape
    k = stretch.size
    p = np.empty(k)
    for i in range(n):
        y, x = noise[i], X[i]
        for m in range(k):
            p[m] = stretch[m] * _dot(V[m], y)
        for start in range(0, d, STRIP):
            part, at = x[start : start + STRIP], y[start : start + STRIP]
            for j in range(part.size):
                part[j] = at[j]
            for m in range(k):
                _add(part, p[m], V[m, start : start + STRIP])
            _scale(part, scales[start : start + STRIP], mean[start : start + STRIP])


@compiled
def update(
    mean: Array,
    log_sigma: float,
    log_scales: Array,
    V: Array,
    c: Array,
    shrinking: int,
    path_sigma: Array,
    path: Array,
    signal: Array,
    signal_noise: float,
    age: int,
    noise: Array,
    w: Array,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
    rate_scales: float,
) -> tuple[Array, Array, float, float]:
    """The next μ, log D, p_σ, p_c, the signal of D, and V, in rows; and c, λ, and the noise in the signal."""
    n, d = noise.shape
    k = c.size
    sums = np.zeros((2 + k, d))
    _gather(V, noise, w, sums)
    whitened, sampled, weighted = sums[0], sums[1], sums[2:]  # Σ w y, Σ w y², PᵀWY
    total, of_shape, of_mean = _sum(w[1]), _dot(w[1], w[1]), _dot(w[0], w[0])
    state = np.empty((5 + k, d))
    mu = 1 / (of_mean + 1 / n)  # μ_eff, the effective number of selected samples
    D = np.exp(log_scales)
    walked = _stretched(whitened, V, c)
    walked *= D  # Σ w (x − μ)/σ
    state[0] = mean + rate_mean * math.exp(log_sigma) * (walked + DRIFT * path)

    # The path p_σ, and what its length makes of λ.
    c_sigma = (mu + 2) / (d + mu + 5)
    damping = 0.4 * (1 + c_sigma)
    unit = mu if d <= PAIRED * n else 1 / of_mean  # 1/of_mean keeps the path at E‖N(0, I)‖, μ above it
    state[2] = (1 - c_sigma) * path_sigma + math.sqrt(c_sigma * (2 - c_sigma) * unit) * whitened
    expected = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # E‖N(0, I)‖
    excess = math.sqrt(_dot(state[2], state[2])) / expected
    log_sigma = log_sigma + rate_sigma * c_sigma / damping * (excess - 1)

    # The path p_c, as one more sample.
    begun = math.sqrt(1 - (1 - c_sigma) ** (2 * (age + 1)))  # the path p_σ starts at 0
    c_path = min(1.0, 1.2 / math.sqrt(d))
    state[3] = (1 - c_path) * path
    if excess < begun * (1.4 + 2 / (d + 1)):  # not longer than a steady state allows
        _add(state[3], math.sqrt(c_path * (2 - c_path) * mu), walked)
    followed = _stretched(state[3] / D, V, -c)  # ŷ
    squares = sampled + followed * followed / mu
    for i in range(k):
        _add(weighted[i], _dot(V[i], followed) / mu, followed)

    # D, by the share of its gradient that is signal.
    memory = 0.7 / d
    mean_sampled = _sum(sampled) / d
    state[4] = (1 - memory) * signal + memory * (sampled - mean_sampled)
    signal_noise = (1 - memory) ** 2 * signal_noise + memory**2 * 2 * of_shape
    power = _dot(state[4], state[4])  # (d − 1) ρ times the noise
    heard = max(0.0, 1 - NOISE * (d - 1) * signal_noise / power) if power > 0 else 0.0  # 1 − s/ρ
    rate = min(0.7, 0.6 * rate_scales * mu / math.sqrt(d)) * heard
    within = np.empty((k, k))  # PᵀWP
    for i in range(k):
        for m in range(k):
            within[i, m] = _dot(weighted[i], V[m])

    learns = rate > 0
    delta = _step_of_scales(0.5 * rate, squares, weighted, within, V, c) if learns else np.zeros(d)

    # The layer.
    rate = min(0.5, 4 * rate_shape * mu / (3 * d + 10))
    trace = 0.0
    for i in range(k):
        trace += within[i, i]
        for m in range(k):
            _add(weighted[i], -within[i, m], V[m])  # (3)
    rest = (_sum(squares) - trace) / (d - k) - (total + 1 / mu)  # (2)
    for i in range(k):
        within[i, i] -= total + 1 / mu + rest  # (1), less τ
    c = _turned(V, c, rate, within, weighted, shrinking, state[5:])
    log_sigma += 0.5 * rate_sigma * rate * rest
    shift = 0.0
    if learns:
        _transport(state[5:], c, delta)
        shift = _sum(delta) / d
    state[1] = log_scales + (delta - shift)
    return state, c, log_sigma + shift, signal_noise


@kernel
def _gather(V: Array, noise: Array, w: Array, sums: Array) -> None:
    """Σ w y, Σ w y² and PᵀWY."""
    n, d = noise.shape
    k = V.shape[0]
    wp = np.empty((n, k))
    for i in range(n):
        for m in range(k):
            wp[i, m] = w[1, i] * _dot(V[m], noise[i])
    for start in range(0, d, STRIP):
        for i in range(n):
            y = noise[i, start : start + STRIP]
            _add(sums[0, start : start + STRIP], w[0, i], y)
            _add_squares(sums[1, start : start + STRIP], w[1, i], y)
            for m in range(k):
                _add(sums[2 + m, start : start + STRIP], wp[i, m], y)


@kernel
def _step_of_scales(rate: float, squares: Array, weighted: Array, within: Array, V: Array, c: Array) -> Array:
    """The step along the diagonal of G across what has grown, less its mean: (5)."""
    k, d = V.shape
    across, share = squares.copy(), np.ones(d)  # share: of each coordinate that is left
    row = np.empty(d)
    t = np.empty(k)
    for i in range(k):
        t[i] = -math.expm1(-2 * max(c[i], 0.0))
    for i in range(k):
        if t[i] > 0:
            for j in range(d):
                row[j] = 2 * weighted[i, j]
            for m in range(k):
                _add(row, -within[i, m] * t[m], V[m])
            for j in range(d):
                across[j] -= t[i] * V[i, j] * row[j]
                share[j] -= t[i] * (2 - t[i]) * V[i, j] * V[i, j]
    mean = _sum(across) / _sum(share)
    for j in range(d):
        across[j] = min(max(rate * (across[j] - share[j] * mean), -1.0), 1.0)
    return across


@kernel
def _turned(
    V: Array, c: Array, rate: float, within: Array, between: Array, shrinking: int, turned: Array
) -> Array:
    """V and c after a step along (4), V in ``turned``: out of their span, and in it by an eigenproblem."""
    k = c.size
    turn, pace = np.empty(k), np.empty(k)
    for i in range(k):
        pace[i] = PACE if i < shrinking else 1.0
        turn[i] = rate * pace[i] / (2 * math.sinh(c[i]))  # e^c/(e^{2c} − 1) = 1/(2 sinh c)
        tangent = abs(turn[i]) * math.sqrt(_dot(between[i], between[i]))
        turn[i] *= min(1.0, TURN / max(tangent, TURN))
    variances, U = _grown(c, rate, pace, within)
    turned[:] = 0.0
    for i in range(k):
        for m in range(k):
            _add(turned[i], U[m, i], V[m])
            _add(turned[i], U[m, i] * turn[m], between[m])
    for i in range(k):
        c_i = 0.5 * math.log(max(variances[i], TINY))
        shrunk = min(max(c_i + PULL * rate, SHORTEST), -LEAST)
        variances[i] = shrunk if i < shrinking else min(max(c_i, LEAST), LONGEST)
    _orthonormalise(turned, variances)
    return variances


@kernel
def _grown(c: Array, rate: float, pace: Array, within: Array) -> tuple[Array, Array]:
    """The variances along V after a step, ascending, and their axes, in columns; ``within`` is used up."""
    k = c.size
    for i in range(k):
        for m in range(k):
            within[i, m] *= rate * math.sqrt(pace[i]) * math.sqrt(pace[m])
    g, U = _eigh(within)
    for i in range(k):
        g[i] = math.exp(min(max(g[i], -1.0), 1.0))
    stretch = np.exp(c)
    for i in range(k):
        for m in range(k):
            grown = 0.0
            for q in range(k):
                grown += U[i, q] * g[q] * U[m, q]
            within[i, m] = stretch[i] * grown * stretch[m]
    return _eigh(within)


@kernel
def _transport(V: Array, c: Array, delta: Array) -> None:
    """Leave the long and the short axes V where they point, in place, while log D moves by ``delta``: (6)."""
    grown = np.exp(delta)
    for i in range(c.size):
        if c[i] > 0:
            for j in range(delta.size):
                V[i, j] /= grown[j]
        else:
            for j in range(delta.size):
                V[i, j] *= grown[j]
    _orthonormalise(V, c)


@kernel
def _orthonormalise(V: Array, c: Array) -> None:
    """Make the rows of ``V`` orthonormal, in place; those with the largest |c| move the least."""
    order = _ascending(-np.abs(c))
    for i in range(c.size):
        v = V[order[i]]
        for j in range(i):
            _add(v, -_dot(v, V[order[j]]), V[order[j]])
        length = math.sqrt(_dot(v, v))
        for j in range(v.size):
            v[j] /= length


@kernel
def _stretched(y: Array, V: Array, c: Array) -> Array:
    """M y; with −c for c, M⁻¹ y."""
    stretched = y.copy()
    for i in range(c.size):
        _add(stretched, _dot(V[i], y) * math.expm1(c[i]), V[i])
    return stretched


@kernel
def _dot(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@kernel
def _sum(x: Array) -> float:
    total = 0.0
    for j in range(x.size):
        total += x[j]
    return total


@kernel
def _add(out: Array, factor: float, x: Array) -> None:
    """Add ``factor`` times ``x``, in place."""
    for j in range(out.size):
        out[j] += factor * x[j]


@kernel
def _add_squares(out: Array, factor: float, x: Array) -> None:
    for j in range(out.size):
        out[j] += factor * x[j] * x[j]


@kernel
def _scale(out: Array, scales: Array, mean: Array) -> None:
    """Multiply by ``scales`` and add ``mean``, in place."""
    for j in range(out.size):
        out[j] = mean[j] + scales[j] * out[j]


@kernel
def _ascending(x: Array) -> NDArray[np.intp]:
    """The order that sorts a few numbers, equal ones as they are."""
    order = np.arange(x.size)
    for i in range(1, x.size):
        moved, j = order[i], i
        while j > 0 and x[order[j - 1]] > x[moved]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = moved
    return order


@kernel
def _eigh(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors, in columns.

    By Jacobi's rotations, each of which makes one pair of entries 0: the quickest way for a few rows.
    """
    k = A.shape[0]
    A, U = A.copy(), np.eye(k)
    for _ in range(50):
        off = 0.0
        for p in range(k):
            for q in range(p):
                off = max(off, abs(A[p, q]) / math.sqrt(abs(A[p, p] * A[q, q]) + TINY))
        if off < 1e-17:
            break
        for p in range(k):
            for q in range(p):
                if A[p, q] == 0.0:
                    continue
                half = 0.5 * (A[p, p] - A[q, q]) / A[p, q]
                t = math.copysign(1.0, half) / (abs(half) + math.sqrt(1 + half * half))
                cos = 1 / math.sqrt(1 + t * t)
                sin = t * cos
                for m in range(k):
                    A[m, p], A[m, q] = cos * A[m, p] + sin * A[m, q], cos * A[m, q] - sin * A[m, p]
                for m in range(k):
                    A[p, m], A[q, m] = cos * A[p, m] + sin * A[q, m], cos * A[q, m] - sin * A[p, m]
                    U[m, p], U[m, q] = cos * U[m, p] + sin * U[m, q], cos * U[m, q] - sin * U[m, p]
    order = _ascending(np.diag(A))
    return np.diag(A)[order], U[:, order]
