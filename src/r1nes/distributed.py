"""Where ``Replicas`` used to live; ``r1nes.Replicas`` is the same class."""

from r1nes.parallel.replicas import Replicas

__all__ = ["Replicas"]
