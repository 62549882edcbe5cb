"""Learning rates of RkNES under noise: they follow the signal in the steps of the mean.

Without noise, η = 1 and nothing below is computed. With noise, the doubt g of ``r1nes.probing`` says how far
rates should follow the signal-to-noise ratio of s = Σ w y, the whitened step of the mean, in dimension d:

    E ← (1 − β)E + βs,   V ← (1 − β)V + β‖s‖²,   β = min(0.1, c_σ/2)                            (12)
    SNR = (‖E‖² − β/(2 − β) V)/(V − ‖E‖²)                                                       (13)
    log η ← log η + (1 − g') min(0.1 √η, β) + g' min(0.1 η, β) clip(SNR/(αη) − 1, i − 1, 1)     (14)
    log σ ← log σ + κ log(η_old/η_new),   κ = 3/2 while σ < σ₀, ¼ beyond                        (15)

with α = 1.4 min(1, 3μ_eff/d), g' = g (1 − worsening), i = improving, and η ≤ 1. The mean learns at the rate
η; σ, the layer and the base at min(1, 2η). A wider distribution with a slower mean takes steps of the same
length, but sees larger differences between values: by (15) the search widens until it sees more than noise.
The mean then wanders around the optimum, and its average is nearer to it than the last one:

    μ̄ ← μ̄ + 0.1 η (μ − μ̄) while η < 1, else μ                                                  (16)

On values that are pure luck, η falls like the inverse of the generation's number, and σ rises with its
fourth root.

Without noise, biased step sizes are faster (``rates``). Under noise, they would shrink σ without end. So p_σ
and q have the gains that keep their expected length under random ranks, Σ w² in place of 1/μ_eff, and σ falls
no faster than it may grow.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from r1nes.arrays import Array
from r1nes.arrays.one_text import dot, most, number, one_text
from r1nes.probing import Doubt
from r1nes.sampling.orthogonal import pairs_of
from r1nes.strategies.rank_k.rates import Rates
from r1nes.strategies.rank_k.step import FASTEST, TINY

SPEED = 0.1  # the fastest change of log η per generation
STEADY = 1.4  # α: the signal-to-noise ratio at which η stays, in units of η
AVERAGED = 0.1  # the rate of μ̄, in units of η
NARROW, WIDE = 1.5, 0.25  # κ below and above σ₀


class Pace(NamedTuple):
    """The rate of the mean, and what it follows."""

    first: float  # log σ₀
    E: Array  # the average step of the mean, whitened
    average: Array  # μ̄
    V: float = 0.0  # the average power of a step
    eta: float = 1.0
    doubt: tuple[Any, ...] = Doubt()

    @property
    def is_adapted(self) -> bool:
        """Whether rates differ from those without noise."""
        return bool(self.doubt[0]) or self.eta < 1


@one_text
def signal(E: Array, V: float, s: Array, b: float) -> tuple[Array, float, float]:
    """Return the next E and V, and SNR: (12) and (13)."""
    E = (1 - b) * E + b * s
    V = (1 - b) * V + b * number(dot(s, s))
    power = number(dot(E, E))
    return E, V, (power - b / (2 - b) * V) / most(V - power, TINY)


def slowed(rates: Rates, power: float, n: int, d: int, eta: float) -> Rates:
    """Return neutral ``rates`` that are slowed by η."""
    share, slow = 2 * pairs_of(n, d) / n, min(1.0, 2 * eta)
    neutral = (1 - share / n) / power  # opposites never have the same rank
    unit = rates.mu**share * power ** (share - 1)
    return rates._replace(
        gain_p=rates.gain_p * math.sqrt(neutral / unit),
        gain_q=rates.gain_q * math.sqrt(neutral / rates.mu),
        fall=FASTEST,
        mean=eta * rates.mean,
        sigma=slow * rates.sigma,
        layer=slow * rates.layer,
        diagonal=slow * rates.diagonal,
        full=slow * rates.full,
        moved=slow * rates.moved,
    )


def followed(
    pace: Pace, s: Array, mean: Array, log_sigma: float, rates: Rates, library: str
) -> tuple[Pace, float]:
    """Return the next pace, and the change of log σ: (12) to (16)."""
    d, eta = len(pace.E), pace.eta
    b = min(0.1, 0.5 * (1 - rates.keep_p))
    E, V, snr = signal.of(library)(pace.E, pace.V, s, b)
    alpha = STEADY * min(1.0, 3 * rates.mu / d)
    _, share, improving, worsening = Doubt(*pace.doubt)
    g = share * (1 - worsening)
    follow = min(1.0, max(improving - 1.0, float(snr) / (alpha * eta) - 1))
    change = (1 - g) * min(SPEED * math.sqrt(eta), b) + g * min(SPEED * eta, b) * follow
    change = min(change, -math.log(eta))  # η ≤ 1
    kappa = NARROW if log_sigma < pace.first else WIDE
    eta *= math.exp(change)
    average = pace.average + AVERAGED * eta * (mean - pace.average) if eta < 1 else mean
    return pace._replace(E=E, V=float(V), eta=eta, average=average), -kappa * change
