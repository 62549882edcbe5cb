"""Check that the mean does not run away on plateaus, scale-free objectives and mini-batches.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/scale_free.py [--seeds 1-11] [--digits]

A linear classifier of 300 points in 20 variables: the share of errors (0-1 loss, the same for w and 2w), a
saturating reward (tanh), and the logistic loss of a batch of 16 points, drawn for each evaluation or for each
generation. Printed are the median loss over all points and the median length of the mean after 10,000
evaluations, and the largest ratio of that length to that of SNES. With ``--digits``, a network of 2,410
weights is trained on batches of 64 digits; this needs scikit-learn.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from r1nes import Optimizer
from r1nes.arrays import Array

METHODS: dict[str, dict[str, Any]] = {
    "rknes": {"method": "rknes"},
    "rknes, noise=False": {"method": "rknes", "noise": False},
    "rknes, popsize=56": {"method": "rknes", "popsize": 56},
    "snes": {"method": "snes"},
}
Run = tuple[float, float]  # loss, length of the mean


def train(
    measured: Callable[[Array], Array], x0: Array, sigma0: float, budget: int, **settings: Any
) -> Array:
    """Return the mean after ``budget`` evaluations."""
    optimizer = Optimizer(x0, sigma0, **settings)
    while optimizer.nfev < budget:
        X = optimizer.ask()
        optimizer.tell(X, measured(X))
    return optimizer.mean


def classifier(kind: str, seed: int, settings: dict[str, Any]) -> Run:
    """Train a linear classifier."""
    rng = np.random.default_rng([seed, 1])
    points, teacher = rng.standard_normal((300, 20)), rng.standard_normal(20)
    labels = np.sign(points @ teacher + rng.standard_normal(300))

    def margins(X: Array, rows: Any = slice(None)) -> Array:
        return (X @ points[rows].T) * labels[rows]

    def logistic(X: Array, rows: Any = slice(None)) -> Array:
        return np.logaddexp(0, -margins(X, rows)).mean(1)

    def batch() -> Any:
        return rng.integers(300, size=16)

    measures: dict[str, Callable[[Array], Array]] = {
        "errors": lambda X: (margins(X) <= 0).mean(1),
        "tanh": lambda X: -np.tanh(margins(X)).mean(1),
        "batch per evaluation": lambda X: np.concatenate([logistic(x[None], batch()) for x in X]),
        "batch per generation": lambda X: logistic(X, batch()),
    }
    mean = train(measures[kind], np.zeros(20), 1.0, 10_000, rng=seed, **settings)
    return float((margins(mean[None]) <= 0).mean()), float(np.linalg.norm(mean))


def digits(kind: str, seed: int, settings: dict[str, Any]) -> Run:
    """Train a network of 2,410 weights."""
    data = import_module("sklearn.datasets").load_digits()
    images, labels = data.data / 16, data.target
    rng = np.random.default_rng([seed, 2])
    order = np.random.default_rng(0).permutation(len(labels))[:1400]

    def loss(w: Array, rows: Any) -> float:
        A, a, B, b = np.split(w, [64 * 32, 64 * 32 + 32, 64 * 32 + 32 + 320])
        logits = np.tanh(images[rows] @ A.reshape(64, 32) + a) @ B.reshape(32, 10) + b
        logits -= logits.max(1, keepdims=True)
        return float((np.log(np.exp(logits).sum(1)) - logits[np.arange(len(rows)), labels[rows]]).mean())

    def measured(X: Array) -> Array:
        if kind.endswith("evaluation"):
            return np.array([loss(x, rng.choice(order, 64)) for x in X])
        rows = rng.choice(order, 64)
        return np.array([loss(x, rows) for x in X])

    x0 = 0.1 * rng.standard_normal(64 * 32 + 32 + 320 + 10)
    mean = train(measured, x0, 0.1, 20_000, rng=seed, **settings)
    return loss(mean, order), float(np.linalg.norm(mean))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="1-11")
    parser.add_argument("--digits", action="store_true")
    options = parser.parse_args()
    first, last = map(int, options.seeds.split("-"))
    kinds = ["batch per evaluation", "batch per generation"]
    kinds = kinds if options.digits else ["errors", "tanh", *kinds]
    for kind in kinds:
        lengths: dict[str, list[float]] = {}
        for name, settings in reversed(METHODS.items()):
            one = digits if options.digits else classifier
            runs = [one(kind, seed, settings) for seed in range(first, last + 1)]
            lengths[name] = [length for _, length in runs]
            ratio = max(ours / theirs for ours, theirs in zip(lengths[name], lengths["snes"], strict=True))
            losses = statistics.median(loss for loss, _ in runs)
            length = statistics.median(lengths[name])
            print(
                f"{kind:21} {name:19} loss {losses:6.3g}, ‖mean‖ {length:6.3g}, at most {ratio:6.3g} of SNES"
            )


if __name__ == "__main__":
    main()
