"""Learning rates under noise: they follow the signal in the steps of the mean. RkNES uses them.

Without noise, η = 1 and nothing below is computed. With noise, the doubt g of ``r1nes.probing`` says how far
rates should follow the signal-to-noise ratio of s = Σ w y, the whitened step of the mean, in dimension d:

    E ← (1 − β)E + βs,   V ← (1 − β)V + β‖s‖²,   β = min(0.1, c_σ/2)                            (12)
    SNR = (‖E‖² − β/(2 − β) V)/(V − ‖E‖²)                                                       (13)
    log η ← log η + (1 − g') min(0.1 √η, γ) + g' min(0.1 η, γ) clip(SNR/(αη) − 1, i − 1, 1)     (14)
    log σ ← log σ + κ log(η_old/η_new),   κ = 3/2 while σ < σ₀, ¼ beyond                        (15)

with α = 1.4 r, r = min(1, 3μ_eff/d), γ = max(β, 0.06), g' = g (1 − worsening), i = improving, and η ≤ 1. In
many dimensions β alone is so small that η would take thousands of generations to fall. Then r, the share of
the directions that a generation informs about, is small too: steps hardly have directions in common, so that
their SNR is near 0 although the mean improves. So unless rates adapt without noise, in generation t

    η ≥ min(0.3, 0.12 + r) min(1, (3d/t)²)                                                      (18)

until the search has seen every direction several times.

The mean learns at the rate η; σ, the layer and the base at min(1, 2η). A wider distribution with a slower
mean takes steps of the same length, but sees larger differences between values: by (15) the search widens
until it sees more than noise. The mean then wanders around the optimum, and its average is nearer to it than
the last one:

    μ̄ ← μ̄ + (0.1 η i + min(0.1 η, 4/(t − 3d)) (1 − i)) (μ − μ̄) while η < 1, else μ              (16)

Where medians improve, or in the first 3d generations, the average follows the mean at a tenth of its rate;
later it extends over a quarter of the run, because a mean that has arrived only wanders.

Where large weights saturate, as in policies, the layer would stretch along the mean without end. So under
noise no stretch makes the distribution wider than three times σ₀:

    a ≤ max(e^0.1, 3σ₀/σ)                                                                       (17)

On values that are pure luck, η falls like the inverse of the generation's number, down to (18), and σ rises
with its fourth root.

``rank_k.rates.slowed`` has the rates that follow from η.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from r1nes.arrays import Array
from r1nes.arrays.one_text import dot, most, number, one_text
from r1nes.probing import Doubt

TINY = 1e-37  # replaces a divisor of 0
SPEED = 0.1  # the fastest change of log η per generation
SLOWEST = 0.06  # γ: the limit of that change in many dimensions
SUFFICIENT = 0.12  # η in very many dimensions does not fall below this,
MOST_SUFFICIENT = 0.3  # and in few not below this,
LOOKS = 3.0  # as long as there were fewer generations than this times the dimension
LONGEST = 3.0  # standard deviation along a direction that grows under noise, in units of σ₀
STEADY = 1.4  # α: the signal-to-noise ratio at which η stays, in units of η
AVERAGED = 0.1  # the rate of μ̄, in units of η
PART = 4.0  # where the mean has arrived, μ̄ is the average over one in so many generations
CAUTIOUS = 0.03  # the first η if no noise was seen: σ must not shrink before rates have fallen
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

    def heeding(self, doubt: Doubt) -> Pace:
        """Return the pace that follows ``doubt`` from now on."""
        eta = self.eta
        if doubt.is_blind != Doubt(*self.doubt).is_blind:
            eta = CAUTIOUS if doubt.is_blind else 1.0
        return self._replace(doubt=tuple(doubt), eta=eta)


@one_text
def signal(E: Array, V: float, s: Array, b: float) -> tuple[Array, float, float]:
    """Return the next E and V, and SNR: (12) and (13)."""
    E = (1 - b) * E + b * s
    V = (1 - b) * V + b * number(dot(s, s))
    power = number(dot(E, E))
    return E, V, (power - b / (2 - b) * V) / most(V - power, TINY)


def followed(
    pace: Pace, s: Array, mean: Array, log_sigma: float, age: int, mu: float, c_sigma: float, library: str
) -> tuple[Pace, float]:
    """Return the next pace, and the change of log σ: (12) to (16)."""
    d, eta = len(pace.E), pace.eta
    b = min(0.1, 0.5 * c_sigma)
    E, V, snr = signal.of(library)(pace.E, pace.V, s, b)
    reach = min(1.0, 3 * mu / d)  # r
    alpha = STEADY * reach
    _, share, improving, worsening, is_blind = Doubt(*pace.doubt)
    least = 0.0 if is_blind else min(MOST_SUFFICIENT, SUFFICIENT + reach) * min(1.0, LOOKS * d / age) ** 2
    g = share * (1 - worsening)
    follow = min(1.0, max(improving - 1.0, float(snr) / (alpha * eta) - 1))
    limit = max(b, SLOWEST)
    change = (1 - g) * min(SPEED * math.sqrt(eta), limit) + g * min(SPEED * eta, limit) * follow
    change = min(change, -math.log(eta))  # η ≤ 1
    change = max(change, math.log(min(1.0, max(least, TINY) / eta)))  # (18)
    kappa = NARROW if log_sigma < pace.first else WIDE
    eta *= math.exp(change)
    average = mean
    if eta < 1:
        following, moves = AVERAGED * eta, 1.0 if is_blind else improving
        arrived = min(following, PART / max(age - LOOKS * d, TINY))
        average = pace.average + (moves * following + (1 - moves) * arrived) * (mean - pace.average)  # (16)
    return pace._replace(E=E, V=float(V), eta=eta, average=average), -kappa * change
