"""Train a neural network without gradients to separate two interleaved spirals.

All 337 weights interact. Back-propagation could train this network too; the same script works where it is
not available, because the activation is a step, the network runs on a device or the loss comes from a
simulator.
"""

from itertools import pairwise

import numpy as np

import r1nes

TURN = 10.0  # length of each spiral in radians
LAYERS = [2, 16, 16, 1]
SIZES = list(pairwise(LAYERS))
WEIGHTS = sum(a * b + b for a, b in SIZES)


def spirals(points, rng):
    """Sample points on two spirals with a little noise; return them and the spiral of each."""
    which = np.arange(points) % 2
    turn = np.sqrt(rng.uniform(0.05, 1, points)) * TURN
    angle = turn + np.pi * which
    places = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) / TURN
    return places + rng.normal(0, 0.02, places.shape), which


def network(weights, inputs):
    """The network's outputs for each row of weights, (n, points): positive for the second spiral."""
    signal, start = np.broadcast_to(inputs, (len(weights), *inputs.shape)), 0
    for a, b in SIZES:
        matrix = weights[:, start : start + a * b].reshape(-1, a, b)
        bias = weights[:, None, start + a * b : start + a * b + b]
        signal = signal @ matrix / np.sqrt(a) + bias
        start += a * b + b
        if b > 1:
            signal = np.tanh(3 * signal)
    return signal[..., 0]


def main():
    """Train on 200 points, test on 200 others."""
    rng = np.random.default_rng(1)
    inputs, which = spirals(200, rng)
    signs = 2 * which - 1

    def loss(weights):
        """The mean logistic loss with a little weight decay, for each row."""
        return np.logaddexp(0, -3 * signs * network(weights, inputs)).mean(axis=1) + 1e-4 * (weights**2).mean(
            axis=1
        )

    x0 = rng.normal(0, 1, WEIGHTS)
    result = r1nes.minimize(loss, x0, sigma0=0.2, vectorized=True, ftarget=0.02, max_evals=20_000, rng=1)
    new, truth = spirals(200, rng)
    right = np.mean((network(result.x[None], new)[0] > 0) == truth)
    print(f"{WEIGHTS} weights, loss {result.fun:.3f} after {result.nfev} evaluations")
    print(f"{right:.0%} of 200 new points are classified correctly")
    assert right > 0.95


if __name__ == "__main__":
    main()
