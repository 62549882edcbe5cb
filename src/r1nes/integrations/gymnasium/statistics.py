"""Normalised observations: their mean and variance over all episodes so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from r1nes.arrays import Array

FARTHEST = 10.0  # standard deviations from the mean, at which normalised observations are cut off


class Statistics(NamedTuple):
    """The number of observations, their mean, and the sum of their squared deviations from it."""

    number: float
    mean: Array
    squares: Array

    @classmethod
    def empty(cls, inputs: int) -> Statistics:
        """Return the statistics of no observations."""
        return cls(0.0, np.zeros(inputs), np.zeros(inputs))

    def merged(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of observations."""
        n = self.number + other.number
        if not n:
            return self
        step = other.mean - self.mean
        squares = self.squares + other.squares + step * step * (self.number * other.number / n)
        return Statistics(n, self.mean + step * (other.number / n), squares)

    def normalized(self, observations: Array) -> Array:
        """Return ``observations`` with mean 0 and variance 1; unchanged while there are no statistics."""
        if not self.number:
            return observations
        stds = np.sqrt(self.squares / self.number)
        scaled = (observations - self.mean) / np.where(stds > 0, stds, 1.0)
        return np.clip(scaled, -FARTHEST, FARTHEST)


class Sums:
    """Sums over the observations of several episodes, one per row, relative to a common ``shift``."""

    def __init__(self, episodes: int, shift: Array) -> None:
        """Begin without observations."""
        self.shift, self.counts = shift, np.zeros(episodes)
        self.sums, self.squares = np.zeros((2, episodes, shift.size))

    def add(self, rows: Any, observations: Array) -> None:
        """Add an observation to the episodes in ``rows``."""
        deviations = observations - self.shift
        self.counts[rows] += 1
        self.sums[rows] += deviations
        self.squares[rows] += deviations * deviations

    def statistics(self) -> list[Statistics]:
        """Return the statistics of each episode."""
        n = self.counts[:, None]
        means, squares = self.sums / n, np.maximum(0.0, self.squares - self.sums**2 / n)
        rows = zip(self.counts.tolist(), self.shift + means, squares, strict=True)
        return [Statistics(*row) for row in rows]
