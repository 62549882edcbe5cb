"""Natural evolution strategies for black-box functions of many interacting variables."""

from importlib.metadata import version

from r1nes.integrations.scipy import scipy_method
from r1nes.minimize import minimize
from r1nes.optimizer import Optimizer
from r1nes.parallel.replicas import Replicas
from r1nes.settings import Settings
from r1nes.strategies import R1NES, SNES, XNES, Method, RkNES, Strategy

__version__ = version("r1nes")
__all__ = [
    "R1NES",
    "SNES",
    "XNES",
    "Method",
    "Optimizer",
    "Replicas",
    "RkNES",
    "Settings",
    "Strategy",
    "__version__",
    "minimize",
    "scipy_method",
]
