"""Calibrate an epidemic simulator: eight parameters from twelve weeks of noisy case counts in three groups.

The parameters are the infection rates within and between three age groups, the recovery rate and the share
of cases reported. All are positive, so the search works on their logarithms, within bounds. A simulation
without a valid result returns NaN, which ranks last.
"""

import numpy as np

import r1nes

DAYS, PER_WEEK = 84, 7
NAMES = ["within 1", "within 2", "within 3", "1 with 2", "1 with 3", "2 with 3", "recovery", "reported"]
TRUTH = np.array([0.45, 0.30, 0.15, 0.10, 0.05, 0.08, 0.20, 0.40])
PEOPLE = np.array([30_000.0, 50_000.0, 20_000.0])


def weekly_cases(parameters):
    """Reported cases by week and group, (n, weeks, 3), for n rows of parameters, simulated day by day."""
    a, b, c, ab, ac, bc, recovery, reported = parameters.T[..., None]
    contacts = np.stack([np.hstack([a, ab, ac]), np.hstack([ab, b, bc]), np.hstack([ac, bc, c])], axis=1)
    infected = np.full((len(parameters), 3), [5.0, 5.0, 0.0])
    susceptible = PEOPLE - infected
    cases = np.zeros((len(parameters), DAYS, 3))
    for day in range(DAYS):
        pressure = np.einsum("nij,nj->ni", contacts, infected / PEOPLE)
        new = susceptible * -np.expm1(-pressure)
        susceptible = susceptible - new
        infected = infected + new - recovery * infected
        cases[:, day] = reported * new
    return cases.reshape(len(parameters), -1, PER_WEEK, 3).sum(axis=2)


def main():
    """Simulate one observation with Poisson noise, then recover its parameters."""
    observed = np.random.default_rng(1).poisson(weekly_cases(TRUTH[None])[0])

    def misfit(logarithms):
        """Half the Poisson deviance for each row."""
        expected = weekly_cases(np.exp(logarithms))
        expected[expected <= 0] = np.nan
        ratio = np.maximum(observed, 1) / expected
        return np.sum(expected - observed + observed * np.log(ratio), axis=(1, 2))

    bounds = [(np.log(0.01), np.log(1.0))] * len(TRUTH)
    x0 = np.full(len(TRUTH), np.log(0.1))
    result = r1nes.minimize(misfit, x0, sigma0=0.5, bounds=bounds, vectorized=True, max_evals=6000, rng=1)
    for name, found, true in zip(NAMES, np.exp(result.x), TRUTH, strict=True):
        print(f"{name:10} {found:.3f}   true {true:.3f}")
    truth = misfit(np.log(TRUTH)[None])[0]
    print(f"misfit {result.fun:.1f} after {result.nfev} simulations, {truth:.1f} for the true parameters")
    assert result.fun <= truth


if __name__ == "__main__":
    main()
