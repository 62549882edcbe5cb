"""Literal, slow transcriptions of the papers: dense matrices, loops and an inverted Fisher matrix.

Nothing here shares code with the package, and nothing is optimised. Gradients refer to one Gaussian N(0, C)
whose covariance depends on parameters θ; ``slopes`` are the matrices ∂C/∂θ_i.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Array = NDArray[np.floating[Any]]


def gradient_of_log_density(x: Array, C: Array, slopes: Sequence[Array]) -> Array:
    """∂ log N(x; 0, C) / ∂θ_i = ½ tr(C⁻¹ ∂C (C⁻¹xxᵀ − I))."""
    inverse = np.linalg.inv(C)
    difference = inverse @ np.outer(x, x) - np.eye(len(x))
    return np.array([0.5 * np.trace(inverse @ slope @ difference) for slope in slopes])


def fisher_by_quadrature(C: Array, slopes: Sequence[Array]) -> Array:
    """E[∇ log p ∇ log pᵀ] by Gauss–Hermite quadrature, three nodes per axis: exact for degree 4."""
    d = len(C)
    root = np.linalg.cholesky(C)
    nodes, weights = [-math.sqrt(3), 0.0, math.sqrt(3)], [1 / 6, 2 / 3, 1 / 6]
    F = np.zeros((len(slopes), len(slopes)))
    for indices in itertools.product(range(3), repeat=d):
        gradient = gradient_of_log_density(root @ np.array([nodes[i] for i in indices]), C, slopes)
        F += math.prod(weights[i] for i in indices) * np.outer(gradient, gradient)
    return F


def fisher_by_traces(C: Array, slopes: Sequence[Array]) -> Array:
    """The textbook Fisher matrix of a Gaussian: F_ij = ½ tr(C⁻¹ ∂_iC C⁻¹ ∂_jC)."""
    products = [np.linalg.inv(C) @ slope for slope in slopes]
    return np.array([[0.5 * np.trace(a @ b) for b in products] for a in products])


def natural_gradient(x: Array, C: Array, slopes: Sequence[Array], F: Array) -> Array:
    """F⁻¹ ∇ log p."""
    return np.linalg.solve(F, gradient_of_log_density(x, C, slopes))


def rank_one_covariance(log_sigma: float, u: Array) -> tuple[Array, Sequence[Array]]:
    """C = e^{2λ}(I + uuᵀ) and its slopes along λ, u_1, …, u_d."""
    C = math.exp(2 * log_sigma) * (np.eye(len(u)) + np.outer(u, u))
    unit = np.eye(len(u))
    slopes = [2 * C]
    slopes += [math.exp(2 * log_sigma) * (np.outer(e, u) + np.outer(u, e)) for e in unit]
    return C, slopes


@dataclass
class RankOneStep:
    """The result of one generation of Algorithm 1 of the R1-NES paper, and the ∇c that led to it."""

    mean: Array
    log_sigma: float
    u: Array
    grad_c: float


def rank_one_step(
    mean: Array,
    log_sigma: float,
    u: Array,
    points: Array,
    utilities: Array,
    *,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
) -> RankOneStep:
    """Algorithm 1 with Σ w instead of 1/n Σ f, and the authors' cap on the rate of u."""
    C, slopes = rank_one_covariance(log_sigma, u)
    F = fisher_by_traces(C, slopes)
    grad_mean, grad = np.zeros(len(u)), np.zeros(1 + len(u))
    for x, w in zip(points, utilities, strict=True):
        grad_mean += w * (x - mean)
        grad += w * natural_gradient(x - mean, C, slopes, F)
    grad_u = grad[1:]
    r = math.sqrt(sum(u**2))
    c, v = math.log(r), u / r
    grad_c = float(grad_u @ v) / r
    grad_v = (grad_u - (grad_u @ v) * v) / r
    rate = min(rate_shape, 2 * r / math.sqrt(sum(grad_u**2)))
    if grad_c < 0:
        c = c + rate * grad_c
        v = (v + rate * grad_v) / math.sqrt(sum((v + rate * grad_v) ** 2))
        u = math.exp(c) * v
    else:
        u = u + rate * grad_u
    return RankOneStep(mean + rate_mean * grad_mean, log_sigma + rate_sigma * grad[0], u, grad_c)


def separable_step(
    mean: Array, sigmas: Array, points: Array, utilities: Array, *, rate_mean: float, rate_sigma: float
) -> tuple[Array, Array]:
    """One generation of SNES, coordinate by coordinate, from F⁻¹∇ of the normal density N(μ, e^{2s})."""
    new_mean, new_sigmas = mean.copy(), sigmas.copy()
    for j in range(len(mean)):
        variance = sigmas[j] ** 2
        for x, w in zip(points[:, j], utilities, strict=True):
            fisher_mean, grad_mean = 1 / variance, (x - mean[j]) / variance
            fisher_log, grad_log = 2.0, (x - mean[j]) ** 2 / variance - 1
            new_mean[j] += rate_mean * w * grad_mean / fisher_mean
            new_sigmas[j] *= math.exp(rate_sigma * w * grad_log / fisher_log)
    return new_mean, new_sigmas


def exponential_step(
    mean: Array,
    sigma: float,
    B: Array,
    points: Array,
    utilities: Array,
    *,
    rate_mean: float,
    rate_sigma: float,
    rate_shape: float,
) -> tuple[Array, float, Array]:
    """One generation of xNES as printed in its paper, with a dense matrix exponential."""
    d = len(mean)
    A_inverse = np.linalg.inv(sigma * B)
    grad_delta, grad_M = np.zeros(d), np.zeros((d, d))
    for x, w in zip(points, utilities, strict=True):
        s = A_inverse @ (x - mean)
        grad_delta += w * s
        grad_M += w * (np.outer(s, s) - np.eye(d))
    grad_sigma = np.trace(grad_M) / d
    grad_B = grad_M - grad_sigma * np.eye(d)
    return (
        mean + rate_mean * sigma * B @ grad_delta,
        sigma * math.exp(rate_sigma / 2 * grad_sigma),
        B @ expm(rate_shape / 2 * grad_B),
    )


def log_utilities(n: int, *, zero_sum: bool) -> Array:
    """u_k = max(0, log(n/2 + 1) − log k) / Σ_j max(0, log(n/2 + 1) − log j) [− 1/n]."""
    raw = [max(0.0, math.log(n / 2 + 1) - math.log(k)) for k in range(1, n + 1)]
    return np.array([value / sum(raw) - (1 / n if zero_sum else 0) for value in raw])


def numerical_slopes(covariance: Callable[[Array], Array], at: Array, step: float = 1e-6) -> Sequence[Array]:
    """∂C/∂θ_i by central differences, to check the slopes above."""
    slopes = []
    for i in range(len(at)):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        slopes.append((covariance(up) - covariance(down)) / (2 * step))
    return slopes


def signed_rank_covariance(log_sigma: float, V: Array, c: Array) -> tuple[Array, Sequence[Array]]:
    """C = e^{2λ}(I + Vᵀ(e^{2c} − 1)V) and a basis of its changes with λ, c and V.

    The slopes, in this order: along λ; along each c_i; for each direction i, turning it towards each of the
    d − k axes across V; turning i towards j for each i < j.
    """
    k, d = V.shape
    scale, variances = math.exp(2 * log_sigma), np.exp(2 * c)
    C = scale * (np.eye(d) + (V.T * (variances - 1)) @ V)
    slopes = [2 * C]
    slopes += [scale * 2 * variances[i] * np.outer(V[i], V[i]) for i in range(k)]
    for i in range(k):
        for e in axes_across(V):
            slopes.append(scale * (variances[i] - 1) * (np.outer(e, V[i]) + np.outer(V[i], e)))
    for i, j in itertools.combinations(range(k), 2):
        slopes.append(scale * (variances[i] - variances[j]) * (np.outer(V[i], V[j]) + np.outer(V[j], V[i])))
    return C, slopes


def axes_across(V: Array) -> Array:
    """An orthonormal basis of the orthogonal complement of the rows of V, in rows."""
    return np.linalg.svd(V)[2][len(V) :]


def rank_k_step(state: Any, Y: Array, of_mean: Array, w: Array, r: Any, growing: int) -> dict[str, Array]:
    """Return RkNES's next state, from dense matrices: exponentials, inverses and Gram–Schmidt.

    A diagonal base is a matrix here, whose part off the diagonal does not learn. Rates are taken as they are.
    """
    mean, B, V, a, q, p, past, past_full = (np.asarray(x, float) for x in state[:8])
    full, (k, d), one, c = B.ndim == 2, V.shape, np.eye(V.shape[1]), np.log(a)
    B = B if full else np.diag(B)
    past = past_full if full else np.diag(past)
    M = one + V.T @ np.diag(np.exp(c) - 1) @ V
    walk = M @ (of_mean @ Y)

    p = r.keep_p * p + r.gain_p * (of_mean @ Y)
    excess = np.linalg.norm(p) / r.expected
    next_mean = mean + B @ (r.mean * (walk + r.drift * q))
    short = excess < math.sqrt(1 - r.keep_p ** (2 * (state.age + 1))) * r.longest
    q = r.keep_q * q + (r.gain_q * walk if short else 0)
    y = np.linalg.inv(M) @ q

    G = sum(wi * np.outer(yi, yi) for wi, yi in zip(w, Y, strict=True))
    on, off = np.diag(np.diag(G) - np.trace(G) / d), G - np.diag(np.diag(G))
    past_on, past_off = np.diag(np.diag(past) - np.trace(past) / d), past - np.diag(np.diag(past))

    def gate(e: float, part: Array, before: Array, variance: float, upper: Array) -> tuple[float, float]:
        length = math.sqrt((upper * before**2).sum() * (w @ w) * variance)
        z = (upper * part * before).sum() / length if length > 0 else 0.0
        e = (1 - r.memory) * e + math.sqrt(r.memory * (2 - r.memory)) * z
        return e, min(1.0, max(0.0, e / 7))

    e_diagonal, h_diagonal = gate(state.e_diagonal, on, past_on, 2 * (d - 1) / (d + 2), one)
    e_full, h_full = (
        gate(state.e_full, off, past_off, d / (d + 2), np.triu(np.ones((d, d)), 1))
        if full
        else (state.e_full, 0.0)
    )

    G_path = G + np.outer(y, y) / r.mu
    Q = one - V.T @ np.diag(np.where(c > 0, 1 - np.exp(-2 * c), 0)) @ V
    across, share = np.diag(Q @ G_path @ Q), np.diag(Q @ Q)
    delta = 0.5 * r.diagonal * h_diagonal * (across - share * across.sum() / share.sum())
    delta = np.clip(delta, -1, 1)
    E = 0.5 * r.full * h_full * G

    def exp_of_centred(sign: int) -> Array:  # to the fourth order
        series = sum(np.linalg.matrix_power(sign * E, j) / math.factorial(j) for j in range(5))
        return np.exp(-sign * np.trace(E) / d) * series

    within = V @ G_path @ V.T
    tau = (np.trace(G_path) - np.trace(within)) / (d - k) - r.total
    H = V @ G_path - within @ V
    pace = r.layer * (1 - 0.25 * h_full) * np.where(c < 0, 0.5, 1)
    root = np.diag(np.sqrt(pace))
    G_V = root @ (within - (r.total + tau) * np.eye(k)) @ root
    grown = np.diag(np.exp(c)) @ (np.eye(k) + G_V / 2 + G_V @ G_V / 8)
    variances, axes = np.linalg.eigh(grown @ grown.T)
    next_c, axes = 0.5 * np.log(variances[::-1]), axes[:, ::-1]
    next_c[:growing] = np.clip(next_c[:growing], 0.1, 12)
    next_c[growing:] = np.clip(next_c[growing:] + 0.02 * r.layer, -9, -0.1)
    turn = pace / (2 * np.sinh(c))
    turn = turn / np.maximum(1, abs(turn) * np.linalg.norm(H, axis=1) / 0.5)
    rows = axes.T @ (V + np.diag(turn) @ H)

    moved = list[Array]()
    for row, ci in zip(rows, next_c, strict=True):
        sign = -1 if ci > 0 else 1
        v = exp_of_centred(sign) @ (np.exp(sign * delta) * row)
        for other in moved:
            v = v - (v @ other) * other
        moved.append(v / np.linalg.norm(v))
    next_V = np.array(moved)
    change = r.sigma * min(r.damping * (excess - 1), 0.15) + 0.5 * r.radial * tau
    busy = min(1.0, min([ci for ci in next_c if ci > 0], default=0.0) / 2)
    kappa = r.moved * max(h_full, (1 - h_diagonal) * busy) * next_c if full else 0 * next_c
    N = one + next_V.T @ np.diag(np.exp(kappa) - 1) @ next_V
    next_B = math.exp(change) * B @ np.diag(np.exp(delta)) @ exp_of_centred(1) @ N
    next_past = (1 - r.memory) * past + r.memory * G
    return {
        "mean": next_mean,
        "B": next_B if full else np.diag(next_B),
        "V": next_V,
        "a": np.exp(next_c - kappa),
        "q": np.linalg.inv(N) @ (exp_of_centred(-1) @ (np.exp(-delta) * q)),
        "p": p,
        "past": np.diag(next_past),
        "past_full": next_past if full else past_full,
        "e_diagonal": np.array(e_diagonal),
        "e_full": np.array(e_full),
    }
