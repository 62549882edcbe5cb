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
    κ = 0.6/d · max(h_A, (1 − h_D) clip(c₊/2, 0, 1)),   c₊ the smallest c of a growing slot, or 0       (11)

The functions ``measure``, ``combine``, ``shift`` and ``settle`` work column by column, and what ``aim`` and
``decide`` need of the columns are sums, so that many variables can be processed in tiles (``rank_k.tiles``).
"""

from __future__ import annotations

from typing import Any

from r1nes.arrays import Array
from r1nes.arrays.one_text import (
    add_product,
    clip,
    diagonal,
    dot,
    exp,
    join,
    least,
    most,
    number,
    one_text,
    powers,
    sqrt,
    svd,
    total,
    triangle,
    xp,
)
from r1nes.strategies.rank_k.rates import Rates, Slots, State

SLOWER = 0.25  # share by which the layer learns slower while a full base learns
FASTEST = 0.15  # growth of log σ per generation: a faster one outruns the mean without end
TURN = 0.5  # the most that a direction turns in one generation, as a tangent
SURE = 7.0  # standard deviations of agreement at which the base learns at its full rate
TINY = 1e-37  # replaces a divisor of 0
ROUNDING = 1e-12  # up to which the variance of g counts as 0: weights of opposites may cancel


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
    z = agreement * (variance > ROUNDING) / sqrt(most(power * variance, TINY))
    e = (1 - memory) * e + sqrt(memory * (2 - memory)) * z
    return e, least(most(e / SURE, 0.0), 1.0)


@one_text
def measure(V: Array, p: Array, q: Array, s: Array, g: Array, past: Array, rates: Rates) -> Any:
    """Return the next p_σ, and its power, tr G, three sums of the past for the gate, Vs and Vq."""
    p = rates.keep_p * p + rates.gain_p * s
    of_past = number(total(past)), number(dot(g, past)), number(dot(past, past))
    return p, (number(dot(p, p)), number(total(g)), of_past[0], of_past[1], of_past[2], dot(V, s), dot(V, q))


@one_text
def aim(c: Array, e: float, age: int, d: int, sums: Any, luck: float, rates: Rates) -> Any:
    """Return e and h of the diagonal, the growth of log σ, and how ``combine`` adds V to the paths."""
    p_power, trace, of_past, agreement, past_power, along_s, along_q = sums
    excess, stretch = sqrt(p_power) / rates.expected, xp.exp(c)
    growth = least(rates.damping * (excess - 1), FASTEST)
    steady = excess < sqrt(1 - rates.keep_p ** (2 * age + 2)) * rates.longest  # p_σ starts at 0
    gain, walked = rates.gain_q * steady, stretch * along_s
    along = rates.keep_q * along_q + gain * walked
    along_y = along / stretch
    agreement, past_power = agreement - trace * of_past / d, past_power - of_past * of_past / d
    e, h = gate(e, agreement, past_power, luck * 2 * (d - 1) / (d + 2), rates.memory)
    return e, h, growth, gain, (walked - along_s, along_y - along, along_y / rates.mu)


@one_text
def combine(V: Array, sums: Array, q: Array, gain: float, of_V: Any, rates: Rates) -> Any:
    """Return the mean's step before B, the next q, ŷ, and W = VG with ŷ as one more sample; and products."""
    k = V.shape[0]
    walk = sums[k] + dot(of_V[0], V)  # Ms
    ahead = rates.mean * (walk + rates.drift * q)
    q = rates.keep_q * q + gain * walk
    y = q + dot(of_V[1], V)
    W = sums[:k] + of_V[2][:, None] * y
    return ahead, q, y, W, (dot(W, V.T), powers(W), number(dot(y, y)))


@one_text
def decide(c: Array, sums: Any, trace: float, growth: float, h: float, h_full: float, d: int, rates: Rates,
           slots: Slots) -> Any:  # fmt: skip
    """Return the next c, the change of log σ, and the coefficients of ``shift``: (2) to (6)."""
    within, W_power, y_power = sums
    power = trace + y_power / rates.mu
    k, stretch = c.shape[0], xp.exp(c)
    shrunk, kept = 1.0 / stretch, diagonal(within)
    t = slots.grows * (1.0 - shrunk * shrunk)
    share = t * (2.0 - t)
    middle = (power - number(dot(share, kept))) / (d - number(dot(share, slots.ones)))
    taken = t[:, None] * within * t + (middle * share) * slots.one
    tau = (power - number(dot(kept, slots.ones))) / (d - k) - rates.total
    speed = 1 - SLOWER * h_full
    root = sqrt(speed) * slots.root
    G_V = root[:, None] * (within - (rates.total + tau) * slots.one) * root
    a, U = svd(stretch[:, None] * (slots.one + dot(G_V, 0.125 * G_V + 0.5 * slots.one)))  # e^{½G_V}
    turn = speed * slots.pace / (stretch - shrunk)
    tangent = xp.abs(turn) * xp.sqrt(xp.abs(W_power - powers(within)))
    turn = turn / xp.maximum(tangent / TURN, slots.ones)
    of_W = U.T * turn
    c = clip(xp.log(a) + slots.pull, slots.low, slots.high)
    change = rates.sigma * (growth + 0.5 * rates.layer * tau)
    return (
        c,
        change,
        (U.T - dot(of_W, within), of_W, 2.0 * t, taken, 0.5 * rates.diagonal * h, middle, slots.ones),
    )


@one_text
def shift(V: Array, W: Array, y: Array, g: Array, coefficients: Any, mu: float) -> Any:
    """Return the next V in the old coordinates, δ, and Σ δ: (5) and (6)."""
    of_V, of_W, twice_t, taken, rate, middle, ones = coefficients
    across = twice_t[:, None] * W - dot(taken, V)
    delta = clip(rate * (g + y * (y / mu) - middle - dot(ones, V * across)), -1.0, 1.0)
    return dot(of_V, V) + dot(of_W, W), delta, (number(total(delta)),)


@one_text
def transported(V: Array, grown: Array, slots: Slots) -> Array:
    """Return V after the diagonal of the base grew, not orthonormal: (8)."""
    return xp.where(slots.grows[:, None] > 0.0, 1.0 / grown, grown) * V


@one_text
def orthonormal(V: Array, gram: Array) -> Array:
    """Return V with orthonormal rows, given VVᵀ; the first row keeps its direction."""
    return dot(triangle(gram), V)


@one_text
def settle(mean: Array, B: Array, V: Array, q: Array, past: Array, g: Array, ahead: Array, delta: Array,
           change: float, rates: Rates, slots: Slots) -> Any:  # fmt: skip
    """Return the next mean, B, V, q and s over a diagonal base, and VVᵀ: (8) and (10)."""
    grown = xp.exp(delta)
    V = transported(V, grown, slots)
    past = past + rates.memory * (g - past)
    return mean + B * ahead, B * (exp(change) * grown), V, q / grown, past, (dot(V, V.T),)


@one_text
def agree(state: State, Y: Array, w: Array, sums: Any, luck: float, rates: Rates) -> Any:
    """Return the next s, ‖s‖², and e and h of the part off the diagonal, for a full base: (10)."""
    b, d = rates.memory, state.past.shape[0]
    past = add_product((1 - b) * state.past, Y.T, (b * w)[:, None] * Y)
    agreement = (number(dot(past.ravel(), state.past.ravel())) - (1 - b) * state.past_power) / b - sums[3]
    e, h = gate(state.e_full, agreement, 2 * (state.past_power - sums[4]), luck * d / (d + 2), b)
    return past, number(dot(past.ravel(), past.ravel())), e, h


@one_text
def learn(state: State, V: Array, c: Array, q: Array, Y: Array, w: Array, ahead: Array, delta: Array,
          trace: float, h: float, h_diagonal: float, change: float, rates: Rates,
          slots: Slots) -> Any:  # fmt: skip
    """Return the next mean, B, V, c and q for a full base: (7) to (9) and (11)."""
    k, m, d, rate = c.shape[0], Y.shape[0], Y.shape[1], 0.5 * rates.full * h
    A, grown = rate * w, xp.exp(delta)
    X = A[:, None] * dot(Y, Y.T)
    X2 = dot(X, X)
    odd, even = xp.diag(A) + X2 * (A / 6.0), (0.5 * X + dot(X, X2) / 24.0) * A  # (9), up to the fourth order
    plus, minus, centre = even + odd, even - odd, exp(-rate * trace / d)
    along = dot(V, Y.T)
    turned: Any = xp.where(slots.grows[:, None] > 0.0, dot(along, minus), dot(along, plus))
    V = transported(add_product(V, turned, Y), grown, slots)
    V = orthonormal(V, dot(V, V.T))
    q = (q + dot(dot(dot(Y, q), minus), Y)) / (centre * grown)
    busy = least(0.5 * number(dot(c, slots.last)), 1.0)
    moved = (rates.moved * most(h, (1 - h_diagonal) * busy)) * c
    q = q + dot((xp.exp(-moved) - 1.0) * dot(V, q), V)
    scale = (exp(change) * centre) * grown
    rows = Y * scale
    products = dot(join((Y, scale * V, ahead[None, :])), state.B.T)
    left = dot(plus, products[:m])
    along = (products[m : m + k] + dot(dot(V, rows.T), left)) * (xp.exp(moved) - 1.0)[:, None]
    B = add_product(state.B * scale, join((left, along)).T, join((rows, V)))
    return state.mean + products[m + k], B, V, c - moved, q, number(dot(moved, slots.ones)) / d


@one_text
def advance(state: State, sums: Array, g: Array, luck: float, rates: Rates, slots: Slots) -> Any:
    """Return the next state, but for its age, over a diagonal base, given the sums over samples."""
    mean, B, V, c, q, p, past, d = *state[:7], g.shape[0]
    p, measured = measure(V, p, q, sums[-1], g, past, rates)
    e, h, growth, gain, of_V = aim(c, state.e_diagonal, state.age, d, measured, luck, rates)
    ahead, q, y, W, products = combine(V, sums, q, gain, of_V, rates)
    c, change, coefficients = decide(c, products, measured[1], growth, h, 0.0, d, rates, slots)
    V, delta, grown = shift(V, W, y, g, coefficients, rates.mu)
    mean, B, V, q, past, gram = settle(mean, B, V, q, past, g, ahead, delta, change, rates, slots)
    log_sigma = state.log_sigma + change + grown[0] / d
    return mean, B, orthonormal(V, gram[0]), c, q, p, past, state.past_power, e, state.e_full, log_sigma


@one_text
def step_diagonal(state: State, Y: Array, of_mean: Array, w: Array, rates: Rates, slots: Slots) -> Any:
    """Return the next state over a diagonal base, given samples and their weights."""
    sums, g = weighted_sums(dot(Y, state.V.T), Y, of_mean, w)
    return advance(state, sums, g, number(dot(w, w)), rates, slots)


@one_text
def step_full(state: State, Y: Array, of_mean: Array, w: Array, rates: Rates, slots: Slots) -> Any:
    """Return the next state over a full base, given samples and their weights."""
    V, c, q, luck, d = state.V, state.c, state.q, number(dot(w, w)), Y.shape[1]
    sums, g = weighted_sums(dot(Y, V.T), Y, of_mean, w)
    p, measured = measure(V, state.p, q, sums[-1], g, diagonal(state.past), rates)
    past, past_power, e_full, h_full = agree(state, Y, w, measured, luck, rates)
    e, h, growth, gain, of_V = aim(c, state.e_diagonal, state.age, d, measured, luck, rates)
    ahead, q, y, W, products = combine(V, sums, q, gain, of_V, rates)
    c, change, coefficients = decide(c, products, measured[1], growth, h, h_full, d, rates, slots)
    V, delta, grown = shift(V, W, y, g, coefficients, rates.mu)
    mean, B, V, c, q, moved = learn(
        state, V, c, q, Y, w, ahead, delta, measured[1], h_full, h, change, rates, slots
    )
    log_sigma = state.log_sigma + change + grown[0] / d + moved
    return mean, B, V, c, q, p, past, past_power, e, e_full, log_sigma
