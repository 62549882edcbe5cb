"""The former location of ``Replicas``, which is now ``r1nes.Replicas``."""

from r1nes.parallel.replicas import Replicas

__all__ = ["Replicas"]
