"""A distributed run: two workers of a Dask cluster on this machine, each with a replica of the search.

The same script runs on any number of machines, once the client is that of their cluster. What travels is a
number per evaluation, whatever the number of variables; and the result is that of one process, to the last
bit.
"""

import numpy as np
from distributed import LocalCluster

import r1nes
from r1nes import Replicas


def beam(heights):
    """The compliance of a cantilever beam of 20 segments, the sum of whose heights is given."""
    heights = np.exp(heights)
    heights = heights * len(heights) / heights.sum()
    middle = np.arange(len(heights)) + 0.5
    moment = len(heights) - middle  # of a load at the free end
    return float(np.sum(moment**2 / heights**3)) / 1000


def main():
    """The shape of the stiffest beam, searched for by two processes and by one."""
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
    print(f"compliance {result.fun:.4f}, of a beam of one height {beam(x0):.4f}")
    print(f"the height follows the square root of the distance from the load to {error:.0e}")
    print("the same as in one process:", np.array_equal(result.x, alone.x))
    assert error < 0.05
    assert np.array_equal(result.x, alone.x)


if __name__ == "__main__":
    main()
