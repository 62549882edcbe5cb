"""Imported once by the server that forks the runs: numba's start takes 0.3 s, longer than a short run."""

from __future__ import annotations

from r1nes.arrays.compiled import numba_available

if numba_available():
    import numba

    numba.njit(lambda x: x + 1)(1)  # the first compilation loads most of numba
