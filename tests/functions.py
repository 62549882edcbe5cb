"""Objectives for the tests, on points in rows."""

from __future__ import annotations

from r1nes.arrays import Array


def sphere(X: Array) -> Array:
    return (X * X).sum(axis=-1)


def cigar(X: Array) -> Array:
    return X[..., 0] ** 2 + 1e6 * (X[..., 1:] ** 2).sum(axis=-1)


def rosenbrock(X: Array) -> Array:
    return (100 * (X[..., 1:] - X[..., :-1] ** 2) ** 2 + (1 - X[..., :-1]) ** 2).sum(axis=-1)
