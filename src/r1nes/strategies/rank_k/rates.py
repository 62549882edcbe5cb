"""The state of RkNES, and the numbers in its equations that do not depend on the samples."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from r1nes.arrays import Array, ArrayType
from r1nes.sampling.orthogonal import pairs_of

LEAST, SHORTEST, LONGEST = 0.1, -9.0, 12.0  # |c| of a free slot, and the limits of c
PULL = 0.02  # of shrunk directions back to 0, in units of the rate of the layer
FALL = 0.15  # of log σ per generation under noise, the limit of its growth
RADIAL = 2.0  # rate of σ by τ among many minima, in units of η
PACE = 0.5  # of shrinking slots, relative to growing ones


class State(NamedTuple):
    """Everything that a step changes."""

    mean: Array  # μ, (d,)
    B: Array  # with the step size: (d,) or (d, d)
    V: Array  # (k, d), the longest first
    a: Array  # e^c, (k,)
    q: Array  # the path of the mean, (d,), in the space of My
    p: Array  # the path p_σ, (d,), whitened
    past: Array  # s of the diagonal, (d,)
    past_full: Array  # s of a full base, (d, d); else (0, 0)
    e_diagonal: float
    e_full: float
    log_sigma: float  # the mean logarithm of B's singular values
    age: int  # generations


class Rates(NamedTuple):
    """Numbers that depend on the settings and the weights alone."""

    total: float  # Σ w of the covariance, with the path's 1/μ_eff
    mu: float  # μ_eff, the effective number of selected samples
    keep_p: float  # of p_σ
    gain_p: float
    damping: float
    expected: float  # length of p_σ without selection
    longest: float  # steady length of p_σ, relative to the expected one
    fall: float  # the most that log σ falls in one generation
    keep_q: float  # of q
    gain_q: float
    drift: float  # of the mean along q
    mean: float
    sigma: float
    layer: float
    radial: float  # of σ, by τ
    diagonal: float  # η_D
    full: float  # η_A
    memory: float  # β
    moved: float  # the largest κ


class Slots(NamedTuple):
    """What sets growing slots, which come first, apart from shrinking ones."""

    growing: int  # how many there are
    grows: Array  # 1 or 0
    grow: Array  # True or False, a column
    signs: Array  # 1 or −1, a column, with a 1 below it for q
    low: Array  # the limits of a
    high: Array
    pull: Array  # the factor of a per generation
    pace: Array  # the rate of the layer
    paces: Array  # the geometric means of any two of them, (k, k)
    ones: Array
    one: Array  # the identity matrix
    half: Array  # of it


@lru_cache(maxsize=256)  # sums of the same weights in another order may differ in the last digit
def rates_of(
    power: float, total: float, n: int, d: int, mean: float, sigma: float, layer: float, base: float
) -> Rates:
    """Return the rates for weights with Σ w² = ``power`` for the mean and Σ w = ``total`` for the covariance.

    The last four arguments are relative to the defaults.
    """
    mu = 1 / (power + 1 / n)
    c_sigma, c_path = (mu + 2) / (d + mu + 5), min(1.0, 0.6 / math.sqrt(d))
    share = 2 * pairs_of(n, d) / n  # of the samples that are one of a pair
    biased = share * min(1.0, 2 * d / n)  # pairs may shrink σ, but not in large populations, which explore
    unit = mu**biased * power ** (biased - 1)  # without selection 1/power keeps ‖p_σ‖ at its expected length
    by_layer = min(0.5, 5 * layer * mu / (3 * d + 10))
    return Rates(
        total=total + 1 / mu,
        mu=mu,
        keep_p=1 - c_sigma,
        gain_p=math.sqrt(c_sigma * (2 - c_sigma) * unit),
        damping=c_sigma / (0.4 * (1 + c_sigma)),
        expected=math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d)),  # E‖N(0, I)‖
        longest=max(1.4 + 2 / (d + 1), d / 16),
        fall=math.inf,
        keep_q=1 - c_path,
        gain_q=math.sqrt(c_path * (2 - c_path) * mu),
        drift=0.3 * min(1.0, math.sqrt(512 / d)) / math.sqrt(mu),
        mean=mean,
        sigma=sigma,
        layer=by_layer,
        radial=sigma * by_layer,
        diagonal=min(0.7, 0.6 * base * mu / math.sqrt(d)),
        full=min(0.5, 1.6 * base * mu * math.sqrt(d) / ((d + 2) ** 2 + mu)),
        memory=0.5 / d,
        moved=0.6 * min(1.0, base) / d,
    )


def slowed(rates: Rates, power: float, n: int, d: int, eta: float, is_blind: bool) -> Rates:
    """Return ``rates`` for noisy values, slowed by η.

    Without noise, biased step sizes are faster; under noise they would shrink σ without end. So p_σ and q
    have gains that keep their expected length under random ranks, and σ falls no faster than it may grow.
    A slow mean hardly turns back where steps are too long, so among many minima, if no noise was seen, σ has
    to follow the lengths of the best samples instead.
    """
    share, slow = 2 * pairs_of(n, d) / n, min(1.0, 2 * eta)
    neutral = (1 - share / n) / power  # opposites never have the same rank
    unit = rates.mu**share * power ** (share - 1)
    return rates._replace(
        gain_p=rates.gain_p * math.sqrt(neutral / unit),
        gain_q=rates.gain_q * math.sqrt(neutral / rates.mu),
        fall=FALL,
        mean=eta * rates.mean,
        sigma=slow * rates.sigma,
        layer=slow * rates.layer,
        radial=RADIAL * eta * rates.sigma if is_blind else slow * slow * rates.radial,
        diagonal=slow * rates.diagonal,
        full=slow * rates.full,
        moved=slow * rates.moved,
    )


@lru_cache(maxsize=256)
def slots_of(growing: int, k: int, rate: float, kind: np.dtype[Any] | ArrayType) -> Slots:
    """Return the slots for k directions, given the rate of the layer; a dtype is NumPy's."""
    array_type = kind if isinstance(kind, ArrayType) else ArrayType("numpy", kind)
    grows = np.arange(k) < growing
    pace = rate * np.where(grows, 1.0, PACE)
    slots = (
        np.append(np.where(grows, 1.0, -1.0), 1.0)[:, None],
        np.exp(np.where(grows, LEAST, SHORTEST)),
        np.exp(np.where(grows, LONGEST, -LEAST)),
        np.exp(rate * PULL * ~grows),
        pace,
        np.sqrt(np.outer(pace, pace)),
        np.ones(k),
        np.eye(k),
        0.5 * np.eye(k),
    )
    grow = replace(array_type, dtype=grows.dtype).array(grows[:, None])
    return Slots(growing, array_type.array(1.0 * grows), grow, *map(array_type.array, slots))


@lru_cache(maxsize=256)
def numbers_like(rates: Rates, array_type: ArrayType) -> Rates:
    """Return the ``rates`` as arrays, which JAX need not convert in every generation."""
    arrays = array_type.array(np.array(rates))
    return Rates._make([arrays[i] for i in range(len(rates))])
