"""The equations of RkNES, written once for NumPy, numba, PyTorch and JAX.

    x = μ + B M y,   M = I + Vᵀ(e^c − 1)V                                                       (1)

The base B includes the step size. It is a diagonal, stored as a vector, or a full matrix. The rows of V are k
orthonormal directions, along which the layer M stretches by e^c; some only grow, the others only shrink.

**The layer.** In whitened coordinates the natural gradient over all covariances is G = Σ w (yyᵀ − I), and the
metric is ½ tr(G²). Over V, c and a common factor of B it is therefore the projection of G onto what these can
change. With S = Σ w, P = YVᵀ and W = diag(w)

    G_V = PᵀWP − S I                               within V                                     (2)
    τ   = Σ w (‖y‖² − ‖p‖²)/(d − k) − S            the rest, on average                         (3)
    H   = PᵀWY − (PᵀWP) V                          between V and the rest, k × d                (4)
    δλ = τ/2,   δc = (diag G_V − τ)/2,   δv = H/(2 sinh c)                                      (5)

The path q of the mean counts as one more sample, of weight 1/μ_eff. It is kept in the space of My, so its
whitened value is ŷ = M⁻¹q.

**The base** learns from the same G: its diagonal fast and, if it is a matrix, all of it slowly.

    δ = ½ η_D h_D diag(Q(G + ŷŷᵀ/μ_eff − m)Q),   Q = I − VᵀtV,   t = 1 − e^{−2c} for c > 0, else 0       (6)
    E = ½ η_A h_A (G − mean)                                                                    (7)
    B ← B e^E e^δ,   q ← e^{−δ}e^{−E}q,   v ← e^{−δ}e^{−E}v for c > 0,   v ← e^δ e^E v for c < 0         (8)

with m such that Σ δ = 0. By (6) the base learns across what has grown, so that base and layer do not both
stretch one axis. By (8) long and short axes keep their direction in the space of x. E has rank n: with
K = YYᵀ and A = ½ η_A h_A W

    e^{±E} = I + YᵀΦY,   Φ = ±A + AKA/2! ± AKAKA/3! + …,   up to a factor that removes the trace           (9)

**The gates** h measure whether a generation agrees with the past. For the centred diagonal g of G, and for
the part off the diagonal,

    z = ⟨g, s⟩/(‖s‖ sd),   s ← (1 − β)s + βg,   e ← (1 − β)e + √(β(2 − β)) z,   h = clip(e/7, 0, 1)      (10)

where sd² = Σ w² · 2(d − 1)/(d + 2), or Σ w² · d/(d + 2) off the diagonal, is the variance of an entry of g
under random ranks; then z and e have mean 0 and a variance near 1, whatever s is. What the layer has learnt
moves into a full base, which frees its slots: while the base learns, or if all growing slots are busy and the
diagonal is not what is being learnt.

    B ← B(I + Vᵀ(e^{κc} − 1)V),   c ← (1 − κ)c,   q ← (I + Vᵀ(e^{−κc} − 1)V)q
    κ = 0.4/d · max(h_A, (1 − h_D) clip(c₊/2, 0, 1)),   c₊ the smallest c of a growing slot              (11)

Rows that a step combines are split along and across V. All of its sums over columns come from ``measure``,
and ``shift`` works column by column, so that many variables can be processed in tiles (``rank_k.tiles``).
"""

from __future__ import annotations

from typing import Any

from r1nes.arrays import Array
from r1nes.arrays.one_text import (
    add_product,
    clip,
    diagonal,
    dot,
    eigh,
    exp,
    join,
    least,
    most,
    number,
    one_text,
    sqrt,
    svd,
    triangle,
    xp,
)
from r1nes.strategies.rank_k.rates import Rates, Slots, State

PACE = 0.5  # of shrinking slots, relative to growing ones
SLOWER = 0.25  # share by which the layer learns slower while a full base learns
FASTEST = 0.15  # growth of log σ per generation: a faster one outruns the mean without end
TURN = 0.5  # the most that a direction turns in one generation, as a tangent
SURE = 7.0  # standard deviations of agreement at which the base learns at its full rate
TINY = 1e-37  # replaces a divisor of 0


@one_text
def offsets(B: Array, V: Array, P: Array, Y: Array) -> Array:
    """Return BMy for each row y, given P = (e^c − 1)∘YVᵀ: (1)."""
    if B.ndim == 1:
        return (Y + dot(P, V)) * B
    return dot(Y + dot(P, V), B.T)


@one_text
def whole_offsets(B: Array, V: Array, c: Array, Y: Array) -> Array:
    """Return BMy for each row y."""
    return offsets(B, V, (xp.exp(c) - 1.0) * dot(Y, V.T), Y)


@one_text
def weighted_sums(P: Array, Y: Array, of_mean: Array, w: Array) -> tuple[Array, Array]:
    """Return PᵀWY and Σ w y, with weights of the mean in the latter; and Σ w y², the diagonal of G."""
    return dot(join((w * P.T, of_mean[None, :])), Y), dot(w, Y * Y)


@one_text
def gate(e: float, agreement: float, power: float, variance: float, memory: float) -> tuple[float, float]:
    """Return the next e and h, given ⟨g, s⟩, ‖s‖² and sd²: (10)."""
    z = agreement / sqrt(most(power * variance, TINY))
    e = (1 - memory) * e + sqrt(memory * (2 - memory)) * z
    return e, least(most(e / SURE, 0.0), 1.0)


@one_text
def measure(V: Array, along: Array, rows: Array, p: Array, g: Array, past: Array, rates: Rates) -> Any:
    """Return PᵀWY, Σ w y and q across V, the next p_σ, and the sums over columns that ``decide`` needs.

    ``rows`` are these rows and may be overwritten; ``along`` is what they have along V.
    """
    p = rates.keep_p * p + rates.gain_p * rows[V.shape[0]]
    across = add_product(rows, -along, V)
    of_past = number(past.sum()), number(dot(past, past)), number(dot(g, past))
    return across, p, dot(across, across.T), (number(dot(p, p)), number(g.sum())) + of_past  # noqa: RUF005


@one_text
def decide(
    state: State, along: Array, gram: Array, sums: Any, luck: float, h_full: float, rates: Rates, slots: Slots
) -> Any:
    """Return the next c and e, and how ``shift`` combines rows: all that needs no pass over columns."""
    k, d, c, stretch = state.c.shape[0], state.mean.shape[0], state.c, xp.exp(state.c)
    p_power, power, of_past, past_power, agreement = sums

    # The length of p_σ decides on the step size, and whether q takes up the mean's step.
    excess = sqrt(p_power) / rates.expected
    growth = least(rates.damping * (excess - 1), FASTEST)
    steady = excess < sqrt(1 - rates.keep_p ** (2 * state.age + 2)) * rates.longest  # p_σ starts at 0
    gain = rates.gain_q * steady

    # Products of ŷ, which is a sum of Σ w y and q across V; with it, PᵀWP and the squares of H.
    along_y = gain * along[k] + rates.keep_q * along[k + 1] / stretch
    of_y, of_W = gain * slots.of_s + rates.keep_q * slots.of_q, along_y / rates.mu
    with_y = dot(of_y, gram[k:])  # products of PᵀWY, Σ w y and q with ŷ, across V
    y_power = number(dot(of_y, with_y[k:]))
    within = along[:k] + of_W[:, None] * along_y
    H_power = diagonal(gram)[:k] + of_W * (2.0 * with_y[:k] + y_power * of_W)

    # The diagonal of the base: (6) and its gate.
    of_s, variance = past_power - of_past * of_past / d, luck * 2 * (d - 1) / (d + 2)
    e, h = gate(state.e_diagonal, agreement - power * of_past / d, of_s, variance, rates.memory)
    power = power + (y_power + number(dot(along_y, along_y))) / rates.mu
    t, kept = xp.maximum(1.0 - 1.0 / (stretch * stretch), slots.zeros), diagonal(within)
    share = t * (2.0 - t)
    middle = (power - number(dot(share, kept))) / (d - number(share.sum()))
    taken = t[:, None] * (within * (2.0 - t)) - (middle * share) * slots.one

    # The layer: (2) to (5).
    tau = (power - number(kept.sum())) / (d - k) - rates.total
    pace = (rates.layer * (1 - SLOWER * h_full)) * xp.where(c < 0.0, PACE * slots.ones, slots.ones)
    root = xp.sqrt(pace)
    G_V, U = eigh(root[:, None] * (within - (rates.total + tau) * slots.one) * root)
    a, U = svd(stretch[:, None] * (U * xp.exp(0.5 * clip(G_V, -1.0, 1.0))))
    c = clip(xp.log(a) + rates.layer * slots.pull, slots.low, slots.high)
    order = (slots.tie - xp.abs(c)).argsort()  # the largest |c| first: Cholesky moves it the least
    turn = pace / (stretch - 1.0 / stretch)
    turn = turn / xp.maximum(xp.abs(turn) * xp.sqrt(xp.abs(H_power)) / TURN, slots.ones)
    U = U.T[order]
    change = rates.sigma * (growth + 0.5 * rates.layer * tau)
    rows = stretch * along[k], along_y, of_y, of_W, 2.0 * t, taken, U, U * turn
    return c[order], e, rows, (0.5 * rates.diagonal * h, middle, gain, change, h)


@one_text
def shift(V: Array, across: Array, q: Array, g: Array, rows: Any, numbers: Any, rates: Rates) -> Any:
    """Return the next V and q in the old coordinates, the mean's step before B, and e^δ."""
    along_walk, along_y, of_y, of_W, twice_t, taken, of_V, of_H = rows
    rate, middle, gain, _, _ = numbers
    k = V.shape[0]
    y = dot(of_y, across[k:])
    H = add_product(across[:k], of_W[:, None], y[None, :])  # (4)
    y = y + dot(along_y, V)  # ŷ
    R = add_product(twice_t[:, None] * H, taken, V)
    delta = rate * (g + y * (y / rates.mu) - middle - (V * R).sum(0))  # (6)
    walk = across[k] + dot(along_walk, V)  # Ms
    ahead = rates.mean * walk + (rates.mean * rates.drift) * q
    V = add_product(dot(of_V, V), of_H, H)  # (5)
    return V, rates.keep_q * q + gain * walk, ahead, xp.exp(clip(delta, -1.0, 1.0))


@one_text
def transported(V: Array, c: Array, grown: Array) -> Array:
    """Return V after the diagonal of the base grew, not orthonormal: (8)."""
    return xp.where(c[:, None] > 0.0, 1.0 / grown, grown) * V


@one_text
def orthonormal(V: Array, gram: Array) -> Array:
    """Return V with orthonormal rows, given VVᵀ; the first row keeps its direction."""
    return dot(triangle(gram), V)


@one_text
def settle(state: State, V: Array, c: Array, q: Array, g: Array, ahead: Array, grown: Array, change: float,
           rates: Rates) -> Any:  # fmt: skip
    """Return the next mean, B, V, not yet orthonormal, q and s for a diagonal base: (8) and (10)."""
    past = state.past + rates.memory * (g - state.past)
    mean, B = state.mean + state.B * ahead, state.B * (exp(change) * grown)
    return mean, B, transported(V, c, grown), q / grown, past


@one_text
def agree(state: State, Y: Array, w: Array, g: Array, rates: Rates) -> Any:
    """Return the next s and its power off the diagonal, e, h and K, for a full base: (10)."""
    b, d, past = rates.memory, state.past.shape[0], state.past
    wY, K = (b * w)[:, None] * Y, dot(Y, Y.T)
    agreement = number(dot(dot(Y, past).ravel(), wY.ravel())) / b - number(dot(g, diagonal(past)))
    e, h = gate(state.e_full, agreement, 2 * state.past_power, number(dot(w, w)) * d / (d + 2), b)
    power = number(dot(w, dot(K * K, w))) - number(dot(g, g))
    power = (1 - b) ** 2 * state.past_power + 2 * b * (1 - b) * agreement + b * b * power
    return add_product((1 - b) * past, Y.T, wY), power, e, h, K


@one_text
def learn(state: State, V: Array, c: Array, q: Array, Y: Array, w: Array, K: Array, ahead: Array, grown: Any,
          trace: float, h: float, h_diagonal: float, change: float, rates: Rates) -> Any:  # fmt: skip
    """Return the next mean, B, V, c and q for a full base: (7) to (9) and (11)."""
    k, m, d, rate = c.shape[0], Y.shape[0], Y.shape[1], 0.5 * rates.full * h
    A = rate * w
    X = A[:, None] * K
    X2 = dot(X, X)
    odd, even = xp.diag(A) + X2 * (A / 6.0), (0.5 * X + dot(X, X2) / 24.0) * A  # (9), up to the fourth order
    plus, minus, centre = even + odd, even - odd, exp(-rate * trace / d)
    along = dot(V, Y.T)
    turned: Any = xp.where(c[:, None] > 0.0, dot(along, minus), dot(along, plus))
    V = add_product(V, turned, Y)
    V = transported(V, c, grown)
    V = orthonormal(V, dot(V, V.T))
    q = (q + dot(dot(dot(Y, q), minus), Y)) / (centre * grown)
    busy = least(0.5 * number(xp.where(c > 0.0, c, 2.0 + 0.0 * c).min()), 1.0)
    moved = (rates.moved * most(h, (1 - h_diagonal) * busy)) * c
    scale = (exp(change) * centre) * grown
    factor = xp.exp(moved) - 1.0
    q = q + dot((1.0 / (1.0 + factor) - 1.0) * dot(V, q), V)
    rows = Y * scale
    products = dot(join((Y, scale * V, ahead[None, :])), state.B.T)
    left = dot(plus, products[:m])
    along = (products[m : m + k] + dot(dot(V, rows.T), left)) * factor[:, None]
    B = add_product(state.B * scale, join((left, along)).T, join((rows, V)))
    return state.mean + products[m + k], B, V, c - moved, q, number(moved.sum()) / d


@one_text
def advance(state: State, sums: Array, g: Array, w: Array, rates: Rates, slots: Slots) -> Any:
    """Return the next state, but for its age, over a diagonal base, given the sums over samples."""
    rows = join((sums, state.q[None, :]))
    along = dot(rows, state.V.T)
    across, p, gram, measured = measure(state.V, along, rows, state.p, g, state.past, rates)
    c, e, parts, numbers = decide(state, along, gram, measured, number(dot(w, w)), 0.0, rates, slots)
    V, q, ahead, grown = shift(state.V, across, state.q, g, parts, numbers, rates)
    mean, B, V, q, past = settle(state, V, c, q, g, ahead, grown, numbers[3], rates)
    log_sigma = state.log_sigma + numbers[3] + number(xp.log(grown).sum()) / g.shape[0]
    V = orthonormal(V, dot(V, V.T))
    return mean, B, V, c, q, p, past, state.past_power, e, state.e_full, log_sigma


@one_text
def step_diagonal(state: State, Y: Array, of_mean: Array, w: Array, rates: Rates, slots: Slots) -> Any:
    """Return the next state over a diagonal base, given samples and their weights."""
    sums, g = weighted_sums(dot(Y, state.V.T), Y, of_mean, w)
    return advance(state, sums, g, w, rates, slots)


@one_text
def step_full(state: State, Y: Array, of_mean: Array, w: Array, rates: Rates, slots: Slots) -> Any:
    """Return the next state over a full base, given samples and their weights."""
    sums, g = weighted_sums(dot(Y, state.V.T), Y, of_mean, w)
    past, past_power, e_full, h, K = agree(state, Y, w, g, rates)
    rows = join((sums, state.q[None, :]))
    along = dot(rows, state.V.T)
    across, p, gram, measured = measure(state.V, along, rows, state.p, g, diagonal(state.past), rates)
    c, e, parts, numbers = decide(state, along, gram, measured, number(dot(w, w)), h, rates, slots)
    V, q, ahead, grown = shift(state.V, across, state.q, g, parts, numbers, rates)
    trace, change, h_diagonal = measured[1], numbers[3], numbers[4]
    mean, B, V, c, q, moved = learn(
        state, V, c, q, Y, w, K, ahead, grown, trace, h, h_diagonal, change, rates
    )
    log_sigma = state.log_sigma + change + number(xp.log(grown).sum()) / g.shape[0] + moved
    return mean, B, V, c, q, p, past, past_power, e, e_full, log_sigma
