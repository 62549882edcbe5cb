"""Policy search: train a small network to act in a Gymnasium environment, without gradients.

    pip install 'r1nes[gymnasium]'
    python examples/policy_search.py
    python examples/policy_search.py --env Pendulum-v1 --episodes 2 --evals 5000 --workers 4 --checkpoint run

The point is the vector of all weights, and its value minus the mean return of its episodes. All points of a
generation play the same episodes. The trained policy is the mean of the distribution; it is tested on
episodes that training never plays.
"""

import argparse

from r1nes.integrations.gymnasium import Rollouts

TESTED = range(50)  # the seeds of the test episodes


def main():
    """Train, print the test return on the way, and test the trained policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--hidden", type=int, default=16, help="units of the hidden layer")
    parser.add_argument("--episodes", type=int, default=1, help="episodes per evaluation")
    parser.add_argument("--evals", type=int, default=900, help="evaluations")
    parser.add_argument("--normalize", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--checkpoint", help="a file; the same command resumes")
    options = parser.parse_args()

    rollouts = Rollouts(
        options.env, (options.hidden,), episodes=options.episodes, normalize=options.normalize
    )

    def test(result):
        if result.nit % 10 == 0:
            tested = rollouts.returns(result.mean, TESTED).mean()
            print(f"{result.nfev:6} evaluations: test return {tested:.1f}")

    result = rollouts.minimize(
        max_evals=options.evals,
        workers=options.workers,
        checkpoint=options.checkpoint,
        callback=test,
        rng=1,
    )
    tested = rollouts.returns(result.mean, TESTED)
    print(f"{len(result.mean)} weights: return {tested.mean():.0f} on {len(tested)} test episodes")


if __name__ == "__main__":
    main()
