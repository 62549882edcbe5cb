"""Policy search: train the weights of a small network to act in a Gymnasium environment."""

from r1nes.integrations.gymnasium.rollouts import Rollouts

__all__ = ["Rollouts"]
