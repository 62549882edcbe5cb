"""Objective functions for tests; points are rows."""

from __future__ import annotations

import numpy as np

from r1nes.arrays import Array


def sphere(X: Array) -> Array:
    return (X * X).sum(axis=-1)


def cigar(X: Array) -> Array:
    return X[..., 0] ** 2 + 1e6 * (X[..., 1:] ** 2).sum(axis=-1)


def rosenbrock(X: Array) -> Array:
    return (100 * (X[..., 1:] - X[..., :-1] ** 2) ** 2 + (1 - X[..., :-1]) ** 2).sum(axis=-1)


def rastrigin(X: Array) -> Array:
    return 10 * X.shape[-1] + (X * X - 10 * np.cos(2 * np.pi * X)).sum(axis=-1)
