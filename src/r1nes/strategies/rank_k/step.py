"""The equations of RkNES, written once for NumPy, numba, PyTorch and JAX.

    x = μ + B M y,   M = I + Vᵀ(a − 1)V,   a = e^c                                              (1)

The base B includes the step size. It is a diagonal, stored as a vector, or a full matrix. The rows of V are k
orthonormal directions, along which the layer M stretches by a; some only grow, the others only shrink.

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
    B ← B e^δ e^E,   q ← e^{−E}e^{−δ}q,   v ← e^{−E}e^{−δ}v for c > 0,   v ← e^E e^δ v for c < 0         (8)

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

    B ← B(I + Vᵀ(a^κ − 1)V),   a ← a^{1 − κ},   q ← (I + Vᵀ(a^{−κ} − 1)V)q
    κ = 0.6/d · max(h_A, (1 − h_D) clip(c₊/2, 0, 1)),   c₊ the smallest c of a growing slot, or 0       (11)

``measure``, ``combine`` and ``move`` work column by column, and ``aim`` and ``decide`` only need sums over
the columns, so that many variables can be processed in tiles (``rank_k.tiles``).
"""

from __future__ import annotations

from typing import Any

from r1nes.arrays import Array
from r1nes.arrays.one_text import (
    add_product,
    clip,
    diag,
    diagonal,
    dot,
    exp,
    inner,
    join,
    least,
    log,
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
JUMP = 1.0  # the same for the part that follows τ, which a path beside a very long axis makes huge
TURN = 0.5  # the most that a direction turns in one generation, as a tangent
SURE = 7.0  # standard deviations of agreement at which the base learns at its full rate
TINY = 1e-37  # replaces a divisor of 0
ROUNDING = 1e-12  # up to which the variance of g counts as 0: weights of opposites may cancel


@one_text
def offsets(B: Array, V: Array, P: Array, Y: Array) -> Array:
    """Return BMy for each row y, given P = (a − 1)∘YVᵀ: (1)."""
    moved = dot(P, V)
    moved += Y  # in place, because temporary arrays cost more than the arithmetic
    if B.ndim == 1:
        moved *= B
        return moved
    return dot(moved, B.T)


@one_text
def whole_offsets(B: Array, V: Array, a: Array, Y: Array) -> Array:
    """Return BMy for each row y."""
    return offsets(B, V, inner(Y, V) * (a - 1.0), Y)


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
    """Return the next p_σ and s of the diagonal; and ‖p_σ‖², tr G, three sums of the old s, Vs and Vq."""
    p = rates.keep_p * p + rates.gain_p * s
    of_past = number(total(past)), number(dot(g, past)), number(dot(past, past))
    sums = number(dot(p, p)), number(total(g)), of_past[0], of_past[1], of_past[2], dot(V, s), dot(V, q)
    return p, past + rates.memory * (g - past), sums


@one_text
def aim(a: Array, e: float, age: int, d: int, sums: Any, w_power: float, rates: Rates) -> Any:
    """Return e and h of the diagonal, the growth of log σ, and how ``combine`` adds V to the paths."""
    p_power, trace, of_past, agreement, past_power, along_s, along_q = sums
    excess = sqrt(p_power) / rates.expected
    growth = most(least(rates.damping * (excess - 1), FASTEST), -rates.fall)
    steady = excess < sqrt(1 - rates.keep_p ** (2 * age + 2)) * rates.longest  # p_σ starts at 0
    gain, walked = rates.gain_q * steady, a * along_s
    along = rates.keep_q * along_q + gain * walked
    along_y = along / a
    agreement, past_power = agreement - trace * of_past / d, past_power - of_past * of_past / d
    e, h = gate(e, agreement, past_power, w_power * 2 * (d - 1) / (d + 2), rates.memory)
    return e, h, growth, gain, (walked - along_s, along_y - along, along_y / rates.mu)


@one_text
def agree(s: Array, e: float, Y: Array, w: Array, sums: Any, w_power: float, rates: Rates) -> Any:
    """Return the next s, and e and h of the part off the diagonal: (10)."""
    b, d = rates.memory, Y.shape[1]
    after = add_product((1 - b) * s, Y.T, (b * w)[:, None] * Y)
    power = number(dot(s.ravel(), s.ravel()))
    agreement = (number(dot(after.ravel(), s.ravel())) - (1 - b) * power) / b - sums[3]
    e, h = gate(e, agreement, 2 * (power - sums[4]), w_power * d / (d + 2), b)
    return after, e, h


@one_text
def combine(V: Array, sums: Array, q: Array, gain: float, of_V: Any, rates: Rates) -> Any:
    """Return the mean's step before B, the next q, ŷ, and W = VG with ŷ as one more sample; and products."""
    k = V.shape[0]
    walk = sums[k] + dot(of_V[0], V)  # Ms
    ahead = rates.mean * (walk + rates.drift * q)
    q = rates.keep_q * q + gain * walk
    y = q + dot(of_V[1], V)
    W = of_V[2][:, None] * y
    W += sums[:k]
    return ahead, q, y, W, (inner(W, V), powers(W), number(dot(y, y)))


@one_text
def decide(a: Array, sums: Any, trace: float, growth: float, h: float, h_full: float, d: int, rates: Rates,
           slots: Slots) -> Any:  # fmt: skip
    """Return the next a, the change of log σ, and the coefficients of ``move``: (2) to (6)."""
    within, W_power, y_power = sums
    power, k, shrunk, kept = trace + y_power / rates.mu, a.shape[0], 1.0 / a, diagonal(within)
    t = slots.grows * (1.0 - shrunk * shrunk)
    share = t * (2.0 - t)
    middle = (power - number(dot(share, kept))) / (d - number(dot(share, slots.ones)))  # m of (6)
    level = middle * slots.one
    tau = (power - number(dot(kept, slots.ones))) / (d - k) - rates.total
    speed = 1 - SLOWER * h_full
    G_V = (speed * slots.paces) * (within - (rates.total + tau) * slots.one)
    turn = (speed * slots.pace) / (a - shrunk)
    a, U = svd(a[:, None] * (slots.one + dot(G_V, 0.125 * G_V + slots.half)))  # e^{½G_V}
    tangent = (turn * turn) * (W_power - powers(within)) * (1 / TURN**2)  # squared, in units of TURN
    turn = turn / xp.sqrt(xp.maximum(tangent, slots.ones))
    of_W = U.T * turn
    change = rates.sigma * growth + least(0.5 * rates.radial * tau, JUMP)
    a = clip(a * slots.pull, slots.low, slots.high)
    across = t + t, level + (within - level) * (0.5 * t)
    return a, change, (U.T - dot(of_W, within), of_W, *across, 0.5 * rates.diagonal * h, middle)


@one_text
def move(mean: Array, B: Array, V: Array, W: Array, y: Array, g: Array, q: Array, ahead: Array,
         coefficients: Any, factor: float, mu: float, slots: Slots) -> Any:  # fmt: skip
    """Return the next mean, B, V and q, but for what a full base learns; and Σ δ and VVᵀ: (5), (6), (8)."""
    of_V, of_W, twice_t, half, rate, middle = coefficients
    across = W - dot(half, V)
    across *= V
    delta = clip(rate * (g + y * (y / mu) - middle - dot(twice_t, across)), -1.0, 1.0)
    scale = xp.exp(delta)
    V = dot(of_V, V)
    V += dot(of_W, W)
    V *= xp.where(slots.grow, 1.0 / scale, scale)
    mean = mean + (B * ahead if B.ndim == 1 else dot(B, ahead))
    return mean, B * (factor * scale), V, q / scale, (number(total(delta)), inner(V, V))


@one_text
def orthonormal(V: Array, gram: Array) -> Array:
    """Return V with orthonormal rows, given VVᵀ; the first row keeps its direction."""
    return dot(triangle(gram), V)


@one_text
def learn(B: Array, V: Array, a: Array, q: Array, Y: Array, w: Array, rate: float, centre: float,
          kappa: float, slots: Slots) -> Any:  # fmt: skip
    """Return what a full base makes of B, V, a and q; and the change of log det B: (7) to (9) and (11)."""
    m, A, turned = Y.shape[0], rate * w, join((V, (q / centre)[None, :]))
    along, X = dot(turned, Y.T), A[:, None] * dot(Y, Y.T)
    X2 = dot(X, X)
    odd, even = diag(A) + X2 * (A / 6.0), (0.5 * X + dot(X, X2) / 24.0) * A  # (9), up to the fourth order
    turned = turned + dot(dot(along, even) - slots.signs * dot(along, odd), Y)
    V, q, lift = turned[:-1], turned[-1], a**kappa
    V = orthonormal(V, inner(V, V))
    q = q + dot((1.0 / lift - 1.0) * dot(V, q), V)
    rows = join((Y, V))
    products = dot(rows, B.T)
    left = dot(even + odd, products[:m])
    right = (products[m:] + dot(dot(V, Y.T), left)) * (lift - 1.0)[:, None]
    B = add_product(B, join((left, right)).T, rows)
    return B, V, a / lift, q, number(dot(xp.log(lift), slots.ones))


@one_text
def advance(state: State, sums: Array, g: Array, Y: Any, w: Any, w_power: float, rates: Rates,
            slots: Slots) -> Any:  # fmt: skip
    """Return the next state, given sums over the samples; Y and w are the samples if the base is full."""
    mean, B, V, a, q, p, past, past_full, e, e_full, log_sigma, age = state
    d, h_full = g.shape[0], 0.0
    p, past, measured = measure(V, p, q, sums[-1], g, past, rates)
    e, h, growth, gain, of_V = aim(a, e, age, d, measured, w_power, rates)
    if Y is not None:
        past_full, e_full, h_full = agree(past_full, e_full, Y, w, measured, w_power, rates)
    ahead, q, y, W, products = combine(V, sums, q, gain, of_V, rates)
    a, change, coefficients = decide(a, products, measured[1], growth, h, h_full, d, rates, slots)
    rate = 0.5 * rates.full * h_full
    centre = exp(-rate * measured[1] / d)  # makes E traceless
    factor = exp(change) * centre
    mean, B, V, q, moved = move(mean, B, V, W, y, g, q, ahead, coefficients, factor, rates.mu, slots)
    log_sigma += change + moved[0] / d
    if Y is not None:
        busy = least(0.5 * log(number(a[slots.growing - 1])), 1.0)
        kappa = rates.moved * most(h_full, (1 - h) * busy)
        B, V, a, q, lifted = learn(B, V, a, q, Y, w, rate, centre, kappa, slots)
        log_sigma += lifted / d
    else:
        V = orthonormal(V, moved[1])
    return State(mean, B, V, a, q, p, past, past_full, e, e_full, log_sigma, age + 1)


@one_text
def step(state: State, Y: Array, of_mean: Array, w: Array, samples: Any, rates: Rates, slots: Slots) -> Any:
    """Return the next state, given samples and their weights; ``samples`` is Y for a full base, else None."""
    sums, g = weighted_sums(inner(Y, state.V), Y, of_mean, w)
    return advance(state, sums, g, samples, w, number(dot(w, w)), rates, slots)
