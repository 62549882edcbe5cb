"""Exponential natural evolution strategy (xNES): N(μ, AAᵀ) with A = σB, det B = 1.

With whitened noise s = A⁻¹(x − μ) and utilities w, the natural gradient is

    ∇μ = Σ w s                         μ ← μ + η_μ σB ∇μ             (1)
    ∇M = Σ w (ssᵀ − I)
    ∇σ = tr(∇M)/d                      σ ← σ exp(½ η_σ ∇σ)           (2)
    ∇B = ∇M − ∇σ I                     B ← B exp(½ η_B ∇B)           (3)

The matrix exponential needs no d×d decomposition. With S the n samples in rows and W = diag(w), the part
SᵀWS of ∇M has rank n at most: Sᵀ = QR and RWRᵀ = U diag(g) Uᵀ give V = QU with orthonormal columns and

    SᵀWS = V diag(g) Vᵀ,    exp(½ η SᵀWS) = I + V diag(e^{½ηg} − 1) Vᵀ         (4)

which costs O(d²) per sample; the rest of ∇B is a multiple of the identity. The mean reuses the BV of (3):
B∇μ = BV (VᵀSᵀ)w, where VᵀSᵀ = UᵀR.

T. Glasmachers, T. Schaul, Y. Sun, D. Wierstra, J. Schmidhuber: Exponential natural evolution strategies,
GECCO 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from r1nes.arrays import Array, host, like, namespace, on_host
from r1nes.arrays.tiles import TILE
from r1nes.strategies.presets import xnes_rate
from r1nes.strategies.protocol import Method, Strategy


@dataclass(frozen=True, kw_only=True)
class XNES(Method):
    """Exponential NES: any covariance matrix, for up to a few hundred variables.

    Args:
        rate_mean: Learning rate η_μ of the mean.
        rate_sigma: Learning rate η_σ of the step size; by default (9 + 3 ln d)/(5d√d), as published.
        rate_shape: Learning rate η_B of the shape; the same default.
    """

    rate_mean: float = 1.0
    rate_sigma: float | None = None
    rate_shape: float | None = None

    def start(self, mean: Array, sigma: float, rng: np.random.Generator) -> FullGaussian:  # noqa: ARG002
        """Return the isotropic Gaussian of standard deviation ``sigma``."""
        d = mean.size
        rate = xnes_rate(d)
        return FullGaussian(
            mean,
            sigma,
            np.eye(d, dtype=mean.dtype),
            float(d),
            self.rate_mean,
            rate if self.rate_sigma is None else self.rate_sigma,
            rate if self.rate_shape is None else self.rate_shape,
        )


@dataclass(slots=True, eq=False, repr=False)
class FullGaussian(Strategy):
    """A Gaussian with any covariance matrix."""

    mean: Array  # μ, (d,)
    sigma: float
    shape: Array  # B, (d, d), of determinant 1
    power: float  # the sum of the squares of B
    rate_mean: float  # η_μ
    rate_sigma: float  # η_σ
    rate_shape: float  # η_B

    def sample(self, noise: Array, out: Array | None = None) -> Array:
        """Return points for standard normal ``noise``, one per row."""
        into = {"out": out} if on_host(noise) else {}
        X: Array = namespace(noise).matmul(noise, self.shape.T, **into)
        X *= self.sigma
        X += self.mean  # ~ N(μ, σ²BBᵀ)
        return X

    def update(self, noise: Array, utilities: Array) -> Self:
        """Return the distribution after one step along the natural gradient."""
        d, w, s = len(self.mean), utilities, noise
        q, r = namespace(s).linalg.qr(s.T)
        r = host(r)
        g, rotation = np.linalg.eigh((r * w) @ r.T)
        V = q @ like(rotation, s)  # SᵀWS = V diag(g) Vᵀ
        BV = self.shape @ V
        trace = float(g.sum()) / d  # tr(SᵀWS)/d
        grad_sigma = trace - float(w.sum())  # ∇σ
        grown = BV * like(np.expm1(0.5 * self.rate_shape * g), s)  # (4)
        shape, power = _sum(self.shape, grown, V.T, math.exp(-0.5 * self.rate_shape * trace))  # (3)
        return replace(
            self,
            mean=self.mean + self.rate_mean * self.sigma * (BV @ like(rotation.T @ (r @ w), s)),  # (1)
            sigma=self.sigma * math.exp(0.5 * self.rate_sigma * grad_sigma),  # (2)
            shape=shape,
            power=power,
        )

    def shrunk(self, factor: float) -> Self:
        """Return the same shape with σ divided by ``factor``."""
        return replace(self, sigma=self.sigma / factor)

    def stds(self) -> Array:
        """Return the standard deviation of each coordinate."""
        xp, B = namespace(self.shape), self.shape
        return self.sigma * xp.sqrt(xp.einsum("ij,ij->i", B, B))  # not in the array API standard

    def largest_std(self) -> tuple[float, float]:
        """Return bounds of the largest standard deviation: the root of the mean and of the sum of squares."""
        root = self.sigma * math.sqrt(self.power)
        return root / math.sqrt(len(self.mean)), root

    def cov(self) -> Array:
        """Return the covariance matrix, dense and on the host."""
        B = host(self.shape)
        return self.sigma**2 * (B @ B.T)

    def condition(self) -> float:
        """Return the condition number of the covariance matrix."""
        return float(np.linalg.cond(host(self.shape))) ** 2


def _sum(B: Array, left: Array, right: Array, factor: float) -> tuple[Array, float]:
    """Return (B + left·right)·factor and the sum of its squares.

    NumPy arrays are processed in tiles of a few rows, because memory bandwidth dominates the cost.
    """
    if not on_host(B):
        out = (B + left @ right) * factor
        return out, float((out * out).sum())
    out, power = np.empty_like(B), 0.0
    rows = max(1, TILE // len(B))
    for start in range(0, len(B), rows):
        tile = np.matmul(left[start : start + rows], right, out=out[start : start + rows])
        tile += B[start : start + rows]
        tile *= factor
        power += float(np.vdot(tile, tile))
    return out, power
