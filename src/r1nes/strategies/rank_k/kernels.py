"""The step of ``rank_k.step`` for numba: the same equations, with explicit loops and in place.

With many variables the cost of a step is its passes over memory, so there are few passes, each strip by
strip. Before any variable can move, the step needs a few scalars and small matrices. Two passes sum them from
vectors split along and across V: there H, ŷ and the rest are sums of a few vectors, and so are their
products. A third pass moves all variables, and a last one restores the orthonormality of V to the last
digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from r1nes.arrays import Array
from r1nes.arrays.compiled import compiled, kernel, strip_width
from r1nes.arrays.loops import (
    add,
    add_four,
    add_four_squares,
    add_rows,
    add_squares,
    combine,
    copy_to,
    divide,
    divide_by,
    dot,
    exp_small,
    fill_with,
    four_starts,
    multiply,
    multiply_by,
    total_of,
)
from r1nes.sampling.orthogonal import PAIRED
from r1nes.strategies.rank_k.matrices import (
    DRIFT,
    FASTEST,
    NOISE,
    across_grown,
    add_followed,
    orthonormal,
    step_between,
    step_within,
    stretches,
    weigh,
)
from r1nes.strategies.rank_k.points import FIRST, MEAN, PATH, PATH_SIGMA, SCALES, SIGNAL, project


@compiled
def update(
    rows: Array,
    c: Array,
    log_sigma: float,
    signal_noise: float,
    age: int,
    shrinking: int,
    sequence: Array,
    period: int,
    signs: Any,
    starts: Any,
    mirrored: bool,
    w: Array,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
    rate_scales: float,
    next_rows: Array,
    next_c: Array,
) -> tuple[float, float, float]:
    """The next λ, noise in the signal and largest of D; all else is put into the arrays for it."""
    n, k, d = w.shape[1], c.size, rows.shape[1]
    V, width = rows[FIRST:], min(strip_width(n, d), d)
    total, of_shape, of_mean = total_of(w[1]), dot(w[1], w[1]), dot(w[0], w[0])
    mu = 1 / (of_mean + 1 / n)  # μ_eff, the effective number of selected samples
    c_sigma, memory = (mu + 2) / (d + mu + 5), 0.7 / d
    unit = mu if d <= PAIRED * n else 1 / of_mean  # without selection 1/of_mean keeps ‖p_σ‖ at E‖N(0, I)‖
    of_whitened = math.sqrt(c_sigma * (2 - c_sigma) * unit)

    # What the samples and the path have along V, and then all else that must be known of the whole.
    work, P, weights = np.empty((k + 8, width)), np.zeros((starts.size, k)), np.zeros((k + 2, n + 3))
    numbers, matrices = np.zeros((9, max(k, 7))), np.zeros((9, k, k))
    along, of_path, followed, t = numbers[0, :k], numbers[1, :k], numbers[2, :k], numbers[3, :k]
    with_path, with_walk, stretch = numbers[4, :k], numbers[5, :k], numbers[6, :k]
    sums, moved = numbers[7], numbers[8]
    within, of_samples, between, gram = matrices[0], matrices[1], matrices[2], matrices[3]
    project(V, sequence, period, signs, starts, work, P)
    weigh(P, w, mirrored, weights, along, of_samples)
    _project_path(rows, work[0], of_path)
    for start in range(0, d, width):
        stop = min(start + width, d)
        _gather(sequence, period, signs, starts, weights, start, stop, next_rows)
        _split(rows, next_rows, along, of_samples, of_path, start, stop, work)
        p, s = rows[PATH_SIGMA, start:stop], rows[SIGNAL, start:stop]
        _measure(p, s, 1 - c_sigma, of_whitened, memory, work, sums, between, with_path, with_walk)

    # The path p_σ, and what its length makes of λ.
    expected = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))  # E‖N(0, I)‖
    excess = math.sqrt(sums[0]) / expected
    step_of_mean, drift = rate_mean * math.exp(log_sigma), DRIFT / math.sqrt(mu)
    damping = 0.4 * (1 + c_sigma)
    log_sigma += rate_sigma * min(c_sigma / damping * (excess - 1), FASTEST)

    # The path p_c, as one more sample ŷ.
    begun = math.sqrt(1 - (1 - c_sigma) ** (2 * (age + 1)))  # the path p_σ starts at 0
    c_path = min(1.0, 0.6 / math.sqrt(d))
    goes_on = excess < begun * (1.4 + 2 / (d + 1))  # not longer than a steady state allows
    kept, of_walked = 1 - c_path, math.sqrt(c_path * (2 - c_path) * mu) if goes_on else 0.0
    power_across = kept * kept * sums[4] + 2 * kept * of_walked * sums[5] + of_walked * of_walked * sums[6]
    for i in range(k):
        stretch[i] = math.exp(c[i])
        followed[i] = kept / stretch[i] * of_path[i] + of_walked * along[i]  # Vŷ
        with_path[i] = kept * with_path[i] + of_walked * with_walk[i]  # H ŷ
    add_followed(followed, with_path, power_across, mu, of_samples, within, between)
    power = sums[1] + (power_across + dot(followed, followed)) / mu  # Σ w‖y‖²

    # D, by the share of its gradient that is signal.
    signal_noise = (1 - memory) ** 2 * signal_noise + memory**2 * 2 * of_shape
    noisy = NOISE * (d - 1) * signal_noise  # (d − 1) s
    of_squares = memory * sums[1] / d
    power_of_signal = sums[3] + of_squares * (d * of_squares - 2 * sums[2])
    heard = max(0.0, 1 - noisy / power_of_signal) if power_of_signal > 0 else 0.0  # 1 − s/ρ
    rate_of_scales = min(0.7, 0.6 * rate_scales * mu / math.sqrt(d)) * heard
    trace, of_grown, of_share = across_grown(stretch, within, t)
    gradient = (0.5 * rate_of_scales, (power - of_grown) / (d - of_share))

    # The layer.
    rate = min(0.5, 5 * rate_shape * mu / (3 * d + 10))
    rest = (power - trace) / (d - k) - (total + 1 / mu)  # (2)
    log_sigma += 0.5 * rate_sigma * rate * rest
    of_V, of_H, T, variances, U = matrices[4], matrices[5], matrices[6], matrices[7], matrices[8]
    step_within(stretch, rate, total + 1 / mu + rest, within, shrinking, variances, U, T)
    stretches(variances, rate, shrinking, next_c)
    step_between(stretch, rate, between, shrinking, U, next_c, of_V, of_H, T, variances)

    # And all of it for each variable.
    move = (1 - c_sigma, of_whitened, kept, of_walked, step_of_mean, drift, memory, of_squares)
    for start in range(0, d, width):
        stop = min(start + width, d)
        if width < d:  # else it is at hand
            _split(rows, next_rows, along, of_samples, of_path, start, stop, work)
        _move(rows, stretch, along, move, start, stop, work, next_rows)
        _follow(V, followed, mu, start, stop, work)
        _scale(rows, t, within, gradient, start, stop, work, moved, next_rows)
        _turn(V, of_V, of_H, next_c, rate_of_scales > 0, start, stop, work, gram, next_rows[FIRST:])
    _orthonormalise(next_rows[FIRST:], next_c, gram, work, T)
    largest = moved[2]
    if moved[0] > 0:  # steps of log D were cut off, so its mean is no longer 0
        log_sigma += moved[1] / d
        next_rows[SCALES] *= math.exp(-moved[1] / d)
        largest *= math.exp(-moved[1] / d)
    return log_sigma, signal_noise, largest


@kernel
def _project_path(rows: Array, ratio: Array, along: Array) -> None:
    """Add V D⁻¹p_c."""
    for start in range(0, rows.shape[1], ratio.size):
        part = ratio[: min(ratio.size, rows.shape[1] - start)]
        divide(part, rows[PATH, start:], rows[SCALES, start:])
        for m in range(along.size):
            along[m] += dot(part, rows[FIRST + m, start:])


@kernel
def _gather(
    sequence: Array, period: int, signs: Any, starts: Any, weights: Array, start: int, stop: int, rows: Array
) -> None:
    """Σ w y, Σ w y² and PᵀWY of some columns, where p_σ, the signal and V will be."""
    k, whitened, squares = len(weights) - 2, rows[PATH_SIGMA, start:stop], rows[SIGNAL, start:stop]
    fill_with(whitened, 0.0)
    fill_with(squares, 0.0)
    for m in range(k):
        fill_with(rows[FIRST + m, start:stop], 0.0)
    for i in range(0, starts.size, 4):
        four = four_starts(starts, i, start, period)
        add_four(whitened, weights[0, i:], sequence, four)
        for m in range(k):
            add_four(rows[FIRST + m, start:stop], weights[1 + m, i:], sequence, four)
        add_four_squares(squares, weights[k + 1, i:], sequence, four)
    multiply_by(whitened, signs[start:stop])
    for m in range(k):
        multiply_by(rows[FIRST + m, start:stop], signs[start:stop])


@kernel
def _split(
    rows: Array,
    gathered: Array,
    along: Array,
    within: Array,
    of_path: Array,
    start: int,
    stop: int,
    work: Array,
) -> None:
    """Of some columns: D⁻¹p_c and Σ w y, both across V; Σ w y; Σ w y²; and H, which is PᵀWY across V.

    They are the rows of ``work`` from the fifth on; the first four are spare.
    """
    V, width = rows[FIRST:], stop - start
    divide(work[4, :width], rows[PATH, start:], rows[SCALES, start:])
    add_rows(work[4, :width], -1.0, of_path, V, start)
    copy_to(work[5, :width], gathered[PATH_SIGMA, start:])
    add_rows(work[5, :width], -1.0, along, V, start)
    copy_to(work[6, :width], gathered[PATH_SIGMA, start:])
    copy_to(work[7, :width], gathered[SIGNAL, start:])
    for m in range(len(V)):
        copy_to(work[8 + m, :width], gathered[FIRST + m, start:])
        add_rows(work[8 + m, :width], -1.0, within[m], V, start)


@kernel
def _measure(
    path_sigma: Array,
    signal: Array,
    of_path_sigma: float,
    of_whitened: float,
    memory: float,
    work: Array,
    sums: Array,
    between: Array,
    with_path: Array,
    with_walk: Array,
) -> None:
    """Add up what a step must know of the whole: squares of vectors, and some products of two."""
    width = signal.size
    path, walked, whitened, squares = work[4, :width], work[5, :width], work[6, :width], work[7, :width]
    power, of_signal, power_of_signal = 0.0, 0.0, 0.0
    for j in range(width):
        p = of_path_sigma * path_sigma[j] + of_whitened * whitened[j]
        power += p * p
    for j in range(width):
        s = (1 - memory) * signal[j] + memory * squares[j]
        of_signal += s
        power_of_signal += s * s
    sums[0] += power
    sums[1] += total_of(squares)
    sums[2] += of_signal
    sums[3] += power_of_signal
    sums[4] += dot(path, path)
    sums[5] += dot(path, walked)
    sums[6] += dot(walked, walked)
    for i in range(with_path.size):
        with_path[i] += dot(path, work[8 + i])
        with_walk[i] += dot(walked, work[8 + i])
    _add_products(between, work[8:], 0, width)


@kernel
def _add_products(gram: Array, V: Array, start: int, stop: int) -> None:
    for i in range(len(gram)):
        for m in range(i + 1):
            gram[i, m] += dot(V[i, start:stop], V[m, start:stop])
            gram[m, i] = gram[i, m]


@kernel
def _move(
    rows: Array, stretch: Array, along: Array, move: Any, start: int, stop: int, work: Array, next_rows: Array
) -> None:
    """The next μ, p_σ, p_c and signal of some columns; and that p_c, whitened and across V, where it was."""
    of_path_sigma, of_whitened, kept, of_walked, step_of_mean, drift, memory, of_squares = move
    width, path = stop - start, rows[PATH, start:stop]
    walked, across, whitened, squares = work[0, :width], work[1, :width], work[6, :width], work[7, :width]
    copy_to(walked, whitened)
    for i in range(along.size):
        add(walked, (stretch[i] - 1) * along[i], rows[FIRST + i, start:stop])
    multiply_by(walked, rows[SCALES, start:stop])  # Σ w (x − μ)/σ
    combine(next_rows[MEAN, start:stop], step_of_mean, walked, step_of_mean * drift, path)
    add(next_rows[MEAN, start:stop], 1.0, rows[MEAN, start:])
    combine(next_rows[PATH_SIGMA, start:stop], of_path_sigma, rows[PATH_SIGMA, start:], of_whitened, whitened)
    combine(next_rows[PATH, start:stop], kept, path, of_walked, walked)
    combine(next_rows[SIGNAL, start:stop], 1 - memory, rows[SIGNAL, start:], memory, squares)
    for j in range(start, stop):
        next_rows[SIGNAL, j] -= of_squares
    combine(across, kept, work[4], of_walked, work[5])
    copy_to(work[4, :width], across)


@kernel
def _follow(V: Array, followed: Array, mu: float, start: int, stop: int, work: Array) -> None:
    """Add ŷ to H and Σ w y² of some columns."""
    y, across, squares = work[0, : stop - start], work[4, : stop - start], work[7, : stop - start]
    for i in range(len(V)):
        add(work[8 + i, : y.size], followed[i] / mu, across)
    copy_to(y, across)
    add_rows(y, 1.0, followed, V, start)
    add_squares(squares, 1 / mu, y)


@kernel
def _scale(
    rows: Array,
    t: Array,
    within: Array,
    gradient: Any,
    start: int,
    stop: int,
    work: Array,
    moved: Array,
    next_rows: Array,
) -> None:
    """The next D of some columns, by the diagonal of G across what has grown: (5).

    ``work`` keeps by how much it has grown. ``moved`` adds up by how much its logarithm would have gone
    beyond a limit, and how far it went; and the largest of D comes there.
    """
    (rate, mean_gradient), V, width = gradient, rows[FIRST:], stop - start
    next_D = next_rows[SCALES, start:stop]
    if rate == 0:
        copy_to(next_D, rows[SCALES, start:stop])
        moved[2] = max(moved[2], next_D.max())
        return
    twice, share, grown, across = work[0, :width], work[1, :width], work[2, :width], work[7, :width]
    fill_with(share, 1.0)
    for i in range(t.size):
        if t[i] > 0:
            v = V[i, start:stop]
            combine(twice, 2.0, work[8 + i], within[i, i] * (2 - t[i]), v)
            for m in range(t.size):
                if m != i:
                    add(twice, within[i, m] * (2 - t[m]), V[m, start:stop])
            for j in range(width):
                across[j] -= t[i] * v[j] * twice[j]
            add_squares(share, -t[i] * (2 - t[i]), v)
    beyond, total = 0.0, 0.0
    for j in range(width):
        step = rate * (across[j] - share[j] * mean_gradient)
        delta = min(max(step, -1.0), 1.0)
        beyond += abs(step - delta)
        total += delta
        across[j] = delta
    moved[0] += beyond
    moved[1] += total
    exp_small(grown, across)
    multiply(next_D, rows[SCALES, start:stop], grown)
    moved[2] = max(moved[2], next_D.max())


@kernel
def _turn(
    V: Array,
    of_V: Array,
    of_H: Array,
    c: Array,
    scaled: bool,
    start: int,
    stop: int,
    work: Array,
    gram: Array,
    next_V: Array,
) -> None:
    """The next V of some columns; left where it points if D has moved: (6)."""
    for i in range(c.size):
        v = next_V[i, start:stop]
        fill_with(v, 0.0)
        add_rows(v, 1.0, of_V[i], V, start)
        add_rows(v, 1.0, of_H[i], work[8:], 0)
        if scaled and c[i] > 0:
            divide_by(v, work[2])
        elif scaled:
            multiply_by(v, work[2])
    _add_products(gram, next_V, start, stop)


@kernel
def _orthonormalise(V: Array, c: Array, gram: Array, work: Array, T: Array) -> None:
    """Make the rows of V orthonormal, whose products with each other are ``gram``."""
    orthonormal(c, gram, T)
    for start in range(0, V.shape[1], work.shape[1]):
        stop = min(start + work.shape[1], V.shape[1])
        for i in range(c.size):
            copy_to(work[i, : stop - start], V[i, start:stop])
        for i in range(c.size):
            fill_with(V[i, start:stop], 0.0)
            add_rows(V[i, start:stop], 1.0, T[i], work, 0)
