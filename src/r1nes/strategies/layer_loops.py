"""The arithmetic of ``layer`` as numba compiles it: the same, with loops for products, and in place.

``noise`` holds the directions or, if there are ``starts``, has room for some columns of those that the
sequence, the signs and the starts make up: they are made where they are needed, and as often.

Each pass over the variables goes strip by strip, and does all that does not depend on the whole of another
one: with many variables a step is nothing but passes over memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.compiled import LONG_STRIP, STRIP, compiled, kernel
from r1nes.loops import (
    TINY,
    add,
    add_rows,
    add_squares,
    copy_to,
    dot,
    eigh,
    fill_with,
    largest_first,
    multiply,
    place_at,
    total_of,
)

# Machine code is made anew when this file changes, so the constants of both forms are here.
LEAST, SHORTEST, LONGEST = 0.1, -9.0, 12.0  # |c| of a free slot, and the limits of c
PACE = 0.5  # of shrinking slots, relative to growing ones
PULL = 0.02  # of shrunk directions back to 0, in units of the rate of the layer
DRIFT = 0.3  # of the mean along its path p_c/√μ_eff, in each generation
FASTEST = 0.15  # growth of λ in a generation: a faster one outruns the mean, and never ends
TURN = 0.5  # the most that a direction turns in one generation, as a tangent
NOISE = 1.2  # s: how much stronger than pure noise the signal of D must be to count


@compiled
def points(
    mean: Array,
    sigma: float,
    log_scales: Array,
    V: Array,
    c: Array,
    noise: Array,
    sequence: Array,
    signs: Any,
    starts: Any,
    X: Array,
) -> None:
    """Points x = μ + σDMy, of covariance σ²DM²D."""
    n, d = X.shape
    P = _projections(V, noise, sequence, signs, starts) * np.expm1(c)
    strip = min(LONG_STRIP, noise.shape[1])
    left = starts[: 0 if d <= strip else n]  # where there is but one strip, it is at hand
    for start in range(0, d, strip):
        stop = min(start + strip, d)
        at = _columns(start, stop, noise, sequence, signs, left)
        scales = sigma * np.exp(log_scales[start:stop])
        for i in range(n):
            x = X[i, start:stop]
            copy_to(x, noise[i, at : at + stop - start])
            add_rows(x, P[i], V, start)
            place_at(x, scales, mean[start:stop])


@kernel
def _columns(start: int, stop: int, noise: Array, sequence: Array, signs: Any, starts: Any) -> int:
    """Have the columns from ``start`` to ``stop`` in ``noise``; where they begin there."""
    for i in range(starts.size):
        first = (starts[i] + start) % sequence.size
        unbroken = min(stop - start, sequence.size - first)
        multiply(noise[i], sequence[first : first + unbroken], signs[start : start + unbroken])
        rest = stop - start - unbroken
        if rest:
            multiply(noise[i, unbroken:], sequence[:rest], signs[start + unbroken : stop])
    return 0 if starts.size else start


@kernel
def _projections(V: Array, noise: Array, sequence: Array, signs: Any, starts: Any) -> Array:
    """P = YVᵀ."""
    n, (k, d) = noise.shape[0], V.shape
    P, strip = np.zeros((n, k)), min(LONG_STRIP, noise.shape[1])
    for start in range(0, d, strip):
        stop = min(start + strip, d)
        at = _columns(start, stop, noise, sequence, signs, starts)
        for i in range(n):
            y = noise[i, at : at + stop - start]
            for m in range(k):
                P[i, m] += dot(V[m, start:stop], y)
    return P


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
    paired: bool,
    noise: Array,
    sequence: Array,
    signs: Any,
    starts: Any,
    w: Array,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
    rate_scales: float,
    state: Array,
    next_c: Array,
    followed: Array,
) -> tuple[float, float]:
    """The next λ, and noise in the signal; in ``state`` μ, log D, p_σ, p_c, the signal of D, and V; and c.

    Until they are known, their rows hold what they are made of. NumPy's large arrays have larger pages than
    numba's, so all that is large is given, with room for ŷ.
    """
    n, (k, d) = noise.shape[0], V.shape
    walked, squares, whitened, sampled, weighted = state[0], state[1], state[2], state[4], state[5:]
    stretch, along = np.expm1(c), np.zeros(k)
    mean_sampled = _gather(V, noise, sequence, signs, starts, w, whitened, sampled, weighted, along) / d
    total, of_shape, of_mean = total_of(w[1]), dot(w[1], w[1]), dot(w[0], w[0])
    mu = 1 / (of_mean + 1 / n)  # μ_eff, the effective number of selected samples

    # The path p_σ, and what its length makes of λ.
    c_sigma = (mu + 2) / (d + mu + 5)
    damping = 0.4 * (1 + c_sigma)
    unit = mu if paired else 1 / of_mean  # without selection 1/of_mean keeps ‖p_σ‖ at E‖N(0, I)‖
    of_whitened = math.sqrt(c_sigma * (2 - c_sigma) * unit)
    power = _walk(log_scales, V, stretch * along, path_sigma, 1 - c_sigma, of_whitened, state)
    expected = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # E‖N(0, I)‖
    excess = math.sqrt(power) / expected
    step_of_mean, drift = rate_mean * math.exp(log_sigma), DRIFT / math.sqrt(mu)
    log_sigma += rate_sigma * min(c_sigma / damping * (excess - 1), FASTEST)

    # The path p_c, as one more sample, and μ.
    begun = math.sqrt(1 - (1 - c_sigma) ** (2 * (age + 1)))  # the path p_σ starts at 0
    c_path = min(1.0, 0.6 / math.sqrt(d))
    goes_on = excess < begun * (1.4 + 2 / (d + 1))  # not longer than a steady state allows
    of_walked = math.sqrt(c_path * (2 - c_path) * mu) if goes_on else 0.0
    for j in range(d):
        state[3, j] = (1 - c_path) * path[j] + of_walked * walked[j]
        state[0, j] = mean[j] + step_of_mean * (walked[j] + drift * path[j])
    of_path = _followed(state[3], squares, V, c, followed)  # Vŷ
    memory = 0.7 / d
    within = np.zeros((k, k))  # PᵀWP
    powers = _follow(followed, of_path / mu, mu, V, signal, memory, mean_sampled, within, state)

    # D, by the share of its gradient that is signal.
    signal_noise = (1 - memory) ** 2 * signal_noise + memory**2 * 2 * of_shape
    noisy = NOISE * (d - 1) * signal_noise  # (d − 1) s
    heard = max(0.0, 1 - noisy / powers[0]) if powers[0] > 0 else 0.0  # 1 − s/ρ
    rate_of_scales = min(0.7, 0.6 * rate_scales * mu / math.sqrt(d)) * heard
    share, turns = followed, np.zeros(k)
    mean_gradient = _across(V, c, within, squares, share, weighted, turns)

    # The layer.
    rate = min(0.5, 5 * rate_shape * mu / (3 * d + 10))
    rest = (powers[1] - np.trace(within)) / (d - k) - (total + 1 / mu)  # (2)
    for i in range(k):
        within[i, i] -= total + 1 / mu + rest  # (1), less τ
    T = _turned(V, c, rate, within, weighted, turns, shrinking, next_c)
    log_sigma += 0.5 * rate_sigma * rate * rest
    shift = 0.0
    if rate_of_scales > 0:
        for j in range(d):
            delta = 0.5 * rate_of_scales * (squares[j] - share[j] * mean_gradient)
            squares[j] = min(max(delta, -1.0), 1.0)
        T = _transport(T, weighted, next_c, squares)
        shift = total_of(squares) / d
        for j in range(d):
            state[1, j] = log_scales[j] + (squares[j] - shift)
    else:
        state[1] = log_scales
    for start in range(0, d, STRIP):
        _combine(T, weighted, start, min(start + STRIP, d))
    return log_sigma + shift, signal_noise


@kernel
def _gather(
    V: Array,
    noise: Array,
    sequence: Array,
    signs: Any,
    starts: Any,
    w: Array,
    whitened: Array,
    sampled: Array,
    weighted: Array,
    along: Array,
) -> float:
    """Σ w y, Σ w y² and PᵀWY; and of the first V Σ w y, of the second the sum."""
    n, (k, d) = noise.shape[0], V.shape
    weights = (_projections(V, noise, sequence, signs, starts) * w[1].reshape(-1, 1)).T.copy()  # PᵀW
    total, strip = 0.0, min(LONG_STRIP, noise.shape[1])
    left = starts[: 0 if d <= strip else n]
    for start in range(0, d, strip):
        stop = min(start + strip, d)
        at = _columns(start, stop, noise, sequence, signs, left)
        fill_with(whitened[start:stop], 0.0)
        fill_with(sampled[start:stop], 0.0)
        for m in range(k):
            fill_with(weighted[m, start:stop], 0.0)
        add_rows(whitened[start:stop], w[0], noise, at)
        for m in range(k):
            add_rows(weighted[m, start:stop], weights[m], noise, at)
        for i in range(n):
            add_squares(sampled[start:stop], w[1, i], noise[i, at : at + stop - start])
        total += total_of(sampled[start:stop])
        for m in range(k):
            along[m] += dot(V[m, start:stop], whitened[start:stop])
    return total


@kernel
def _walk(
    log_scales: Array, V: Array, p: Array, path_sigma: Array, kept: float, of_whitened: float, state: Array
) -> float:
    """D M Σ w y, D, and p_σ in place of Σ w y; the square of its length."""
    power = 0.0
    for start in range(0, log_scales.size, STRIP):
        stop = min(start + STRIP, log_scales.size)
        walked, D, whitened = state[0, start:stop], state[1, start:stop], state[2, start:stop]
        copy_to(walked, whitened)
        add_rows(walked, p, V, start)
        for j in range(D.size):
            D[j] = math.exp(log_scales[start + j])
            walked[j] *= D[j]  # Σ w (x − μ)/σ
            whitened[j] = kept * path_sigma[start + j] + of_whitened * whitened[j]
        power += dot(whitened, whitened)
    return power


@kernel
def _followed(path: Array, D: Array, V: Array, c: Array, y: Array) -> Array:
    """ŷ = M⁻¹ D⁻¹ p_c, put into ``y``; Vŷ."""
    p, along = np.zeros(c.size), np.zeros(c.size)
    for start in range(0, y.size, STRIP):
        part, by = y[start : start + STRIP], D[start : start + STRIP]
        for j in range(part.size):
            part[j] = path[start + j] / by[j]
        for m in range(c.size):
            p[m] += dot(V[m, start : start + STRIP], part)
    for m in range(c.size):
        p[m] *= math.expm1(-c[m])
    for start in range(0, y.size, STRIP):
        part = y[start : start + STRIP]
        add_rows(part, p, V, start)
        for m in range(c.size):
            along[m] += dot(V[m, start : start + STRIP], part)
    return along


@kernel
def _follow(
    followed: Array,
    along: Array,
    mu: float,
    V: Array,
    signal: Array,
    memory: float,
    mean_sampled: float,
    within: Array,
    state: Array,
) -> tuple[float, float]:
    """Add ŷ to Σ w y² and PᵀWY, and Σ w y² to the signal; the square of its length, and Σ w‖y‖²."""
    k, d = V.shape
    power_of_signal, power = 0.0, 0.0
    for start in range(0, d, STRIP):
        stop = min(start + STRIP, d)
        y, squares, sampled = followed[start:stop], state[1, start:stop], state[4, start:stop]
        for j in range(y.size):
            squares[j] = sampled[j] + y[j] * y[j] / mu
            sampled[j] = (1 - memory) * signal[start + j] + memory * (sampled[j] - mean_sampled)
        power += total_of(squares)
        power_of_signal += dot(sampled, sampled)
        for i in range(k):
            weighted = state[5 + i, start:stop]
            add(weighted, along[i], y)
            for m in range(k):
                within[i, m] += dot(weighted, V[m, start:stop])
    return power_of_signal, power


@kernel
def _across(
    V: Array, c: Array, within: Array, squares: Array, share: Array, weighted: Array, turns: Array
) -> float:
    """The diagonal of G across what has grown, and the share of each coordinate that is left: (5); H: (3).

    They take the places of Σ w y² and PᵀWY. The mean of the first, relative to the second; and ‖H_i‖².
    """
    k, d = V.shape
    t = np.empty(k)
    for i in range(k):
        t[i] = -math.expm1(-2 * max(c[i], 0.0))
    minus, minus_t = -within, -within * t
    total, total_share = 0.0, 0.0
    for start in range(0, d, STRIP):
        stop = min(start + STRIP, d)
        across, left = squares[start:stop], share[start:stop]
        fill_with(left, 1.0)
        for i in range(k):
            v, H = V[i, start:stop], weighted[i, start:stop]
            if t[i] > 0:
                twice = 2 * H
                add_rows(twice, minus_t[i], V, start)
                for j in range(v.size):
                    across[j] -= t[i] * v[j] * twice[j]
                    left[j] -= t[i] * (2 - t[i]) * v[j] * v[j]
            add_rows(H, minus[i], V, start)
            turns[i] += dot(H, H)
        total += total_of(across)
        total_share += total_of(left)
    return total / total_share


@kernel
def _turned(
    V: Array,
    c: Array,
    rate: float,
    within: Array,
    between: Array,
    turn: Array,
    shrinking: int,
    next_c: Array,
) -> Array:
    """V and c after a step along (4), V in place of ``between``: out of their span, and in it.

    Of ``turn``, which holds ‖H_i‖², nothing is left; V is still to be multiplied by what is returned.
    """
    k, d = V.shape
    pace, gram = np.empty(k), np.zeros((k, k))
    for i in range(k):
        pace[i] = PACE if i < shrinking else 1.0
        length, of_between = math.sqrt(turn[i]), rate * pace[i] / (2 * math.sinh(c[i]))
        turn[i] = of_between * min(1.0, TURN / max(abs(of_between) * length, TURN))
    variances, U = _grown(c, rate, pace, within)
    turned = U * turn  # out of the span
    for start in range(0, d, STRIP):
        stop = min(start + STRIP, d)
        H = between[:, start:stop].copy()
        for i in range(k):
            v = between[i, start:stop]
            fill_with(v, 0.0)
            add_rows(v, U[i], V, start)
            add_rows(v, turned[i], H, 0)
        _add_products(gram, between, start, stop)
    for i in range(k):
        c_i = 0.5 * math.log(max(variances[i], TINY))
        shrunk = min(max(c_i + PULL * rate, SHORTEST), -LEAST)
        next_c[i] = shrunk if i < shrinking else min(max(c_i, LEAST), LONGEST)
    return _orthonormal(next_c, gram)


@kernel
def _grown(c: Array, rate: float, pace: Array, within: Array) -> tuple[Array, Array]:
    """The variances along V after a step, ascending, and their axes, in rows; ``within`` is used up."""
    k = c.size
    for i in range(k):
        for m in range(k):
            within[i, m] *= rate * math.sqrt(pace[i]) * math.sqrt(pace[m])
    g, U = eigh(within)
    for i in range(k):
        g[i] = math.exp(min(max(g[i], -1.0), 1.0))
    stretch = np.exp(c)
    for i in range(k):
        for m in range(k):
            grown = 0.0
            for q in range(k):
                grown += U[q, i] * g[q] * U[q, m]
            within[i, m] = stretch[i] * grown * stretch[m]
    return eigh(within)


@kernel
def _transport(T: Array, V: Array, c: Array, delta: Array) -> Array:
    """Leave the long and the short axes TV where they point, in place, while log D moves by ``delta``: (6).

    V is still to be multiplied by what is returned.
    """
    gram = np.zeros((c.size, c.size))
    for start in range(0, delta.size, STRIP):
        stop = min(start + STRIP, delta.size)
        _combine(T, V, start, stop)
        grown = np.exp(delta[start:stop])
        for i in range(c.size):
            v = V[i, start:stop]
            if c[i] > 0:
                v /= grown
            else:
                v *= grown
        _add_products(gram, V, start, stop)
    return _orthonormal(c, gram)


@kernel
def _add_products(gram: Array, V: Array, start: int, stop: int) -> None:
    for i in range(V.shape[0]):
        for m in range(i + 1):
            gram[i, m] += dot(V[i, start:stop], V[m, start:stop])
            gram[m, i] = gram[i, m]


@kernel
def _orthonormal(c: Array, gram: Array) -> Array:
    """T such that the rows of TV are orthonormal; those with the largest |c| move the least.

    By Cholesky's decomposition of VVᵀ, which is well-conditioned, since V is nearly orthonormal.
    """
    k, order = c.size, largest_first(c)
    T = np.zeros((k, k))
    for i in range(k):
        row = T[order[i]]
        row[order[i]] = 1.0
        for m in range(i):
            p, done = 0.0, T[order[m]]  # of the row that V has here, along a row of the result
            for q in range(k):
                p += gram[order[i], q] * done[q]
            add(row, -p, done)
        power = 0.0
        for p in range(k):
            for q in range(k):
                power += row[p] * gram[p, q] * row[q]
        row /= math.sqrt(power)
    return T


@kernel
def _combine(T: Array, V: Array, start: int, stop: int) -> None:
    """TV in place of V."""
    old = V[:, start:stop].copy()
    for i in range(len(T)):
        v = V[i, start:stop]
        fill_with(v, 0.0)
        add_rows(v, T[i], old, 0)
