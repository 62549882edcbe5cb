"""Run on a local Dask cluster of two workers, each with a replica of the search.

The script runs on any number of machines if ``client`` connects to their cluster. Each evaluation transfers
one number, whatever the number of variables, and the result equals that of a single process, bit for bit.
"""

import numpy as np
from distributed import LocalCluster

import r1nes
from r1nes import Replicas


def beam(heights):
    """The compliance of a cantilever beam with 20 segments, for a fixed sum of their heights."""
    heights = np.exp(heights)
    heights = heights * len(heights) / heights.sum()
    centre = np.arange(len(heights)) + 0.5
    moment = len(heights) - centre  # bending moment of a load at the free end
    return float(np.sum(moment**2 / heights**3)) / 1000


def main():
    """Find the stiffest beam with two processes, and again with one."""
    x0 = np.zeros(20)
    settings = {"sigma0": 0.2, "popsize": 20, "max_evals": 1000, "rng": 1}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        cluster.get_client() as client,
    ):
        result = r1nes.minimize(beam, x0, workers=Replicas(client), **settings)
    alone = r1nes.minimize(beam, x0, **settings)
    heights = np.exp(result.x) / np.exp(result.x).mean()
    exact = np.sqrt(20 - np.arange(20) - 0.5)
    error = np.abs(heights - exact / exact.mean()).max()
    print(f"compliance {result.fun:.4f}, against {beam(x0):.4f} for a uniform beam")
    print(f"largest deviation from the exact heights, √(distance from the load): {error:.0e}")
    print("same result as in one process:", np.array_equal(result.x, alone.x))
    assert error < 0.05
    assert np.array_equal(result.x, alone.x)


if __name__ == "__main__":
    main()
