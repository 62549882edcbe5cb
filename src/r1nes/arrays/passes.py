"""Passes over rows of noise, for compiled functions to call: four rows at a time, strip by strip."""

from __future__ import annotations

from typing import Any

from r1nes.arrays.compiled import kernel, strip_width
from r1nes.arrays.libraries import Array
from r1nes.arrays.loops import add_four, dot, fill_with, four_dots, four_powers, four_starts


@kernel
def project(u: Array, noise: Array, starts: Any, along: Array, squares: Array) -> float:
    """Add uᵀy to ``along`` and ‖y‖² to ``squares``; return uᵀu."""
    n, d, power = along.size, u.size, 0.0
    width = strip_width(n, d)
    for start in range(0, d, width):
        v = u[start : start + width]
        power += dot(v, v)
        for i in range(0, n, 4):
            four = four_starts(starts, i, start, noise.size)
            dots, powers = four_dots(v, noise, four), four_powers(noise, four, v.size)
            for q in range(min(4, n - i)):
                along[i + q] += dots[q]
                squares[i + q] += powers[q]
    return power


@kernel
def add_weighted(noise: Array, starts: Any, weights: Array, wy: Array, wby: Array) -> float:
    """Set ``wy`` to Σ w y and ``wby`` to Σ w b y; return the squared length of the latter."""
    n, d, power = starts.size, wy.size, 0.0
    width = strip_width(n, d)
    for start in range(0, d, width):
        stop = min(start + width, d)
        fill_with(wy[start:stop], 0.0)
        fill_with(wby[start:stop], 0.0)
        for i in range(0, n, 4):
            four = four_starts(starts, i, start, noise.size)
            add_four(wy[start:stop], weights[0, i:], noise, four)
            add_four(wby[start:stop], weights[1, i:], noise, four)
        power += dot(wby[start:stop], wby[start:stop])
    return power
