"""The choice of the noise source of a run."""

from __future__ import annotations

import numpy as np

from r1nes.arrays import ArrayType
from r1nes.sampling.gaussian import GaussianNoise
from r1nes.sampling.on_device import DeviceDirections, DeviceNoise, HostNoise
from r1nes.sampling.orthogonal import OrthogonalDirections

NoiseSource = GaussianNoise | OrthogonalDirections | HostNoise | DeviceNoise


def source_of(
    kind: str | None,
    seed: np.random.SeedSequence,
    width: int,
    array_type: ArrayType,
    popsize: int,
    *,
    orthogonal: bool,
    compiled: bool = False,
) -> NoiseSource:
    """Return the source of rows of ``width`` numbers, ``popsize`` per generation.

    ``kind`` is None for noise drawn on the host, or ``"device"`` for noise drawn on the arrays' device;
    ``compiled`` lets numba draw it, which changes no number.
    """
    on_device = array_type.library != "numpy"
    if kind == "device":
        if not on_device:
            raise ValueError(
                "sampling='device' needs a PyTorch tensor or a JAX array as x0, got a NumPy array"
            )
        drawn = DeviceDirections if orthogonal else DeviceNoise
        return drawn(seed, width, array_type, popsize)
    source = (
        OrthogonalDirections(seed, width, array_type.dtype, popsize)
        if orthogonal
        else GaussianNoise(seed, width, array_type.dtype)
    )
    source.compiled = compiled
    return HostNoise(source, array_type) if on_device else source
