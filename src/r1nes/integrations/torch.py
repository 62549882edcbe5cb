"""PyTorch modules without gradients: their parameters as one vector, and the best one loaded back.

For losses that have no useful gradient: rewards of a simulator, accuracies, quantised or spiking networks.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from r1nes.arrays import Array
from r1nes.extras import needs
from r1nes.minimize import minimize

if TYPE_CHECKING:
    import torch


def minimize_module(
    loss: Callable[..., Any], module: torch.nn.Module, *, sigma0: float = 0.1, **settings: Any
) -> OptimizeResult:
    """Minimise ``loss(module)`` over the parameters of ``module``, which end at the best ones found.

    ``loss`` is called within ``torch.no_grad`` and with copies of ``module``, one per thread or process; the
    module itself changes once, at the end. Each call sees the buffers as they are in ``module``, which
    therefore stay what they are, even if ``loss`` trains a BatchNorm; parameters that do not require
    gradients stay as well.

    Args:
        loss: From the module, and ``args`` if set, to a number or a tensor of one number.
        module: What to optimise, in float32 or float64, on any device.
        sigma0: The standard deviation of the first samples around the parameters as they are.
        **settings: Whatever else ``r1nes.minimize`` takes, but for ``bounds`` and ``vectorized``.

    Returns:
        The result of ``r1nes.minimize``, where ``x`` is the vector of all parameters in their order.

    For example::

        net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        result = minimize_module(lambda net: ((net(inputs) - targets) ** 2).mean(), net, max_evals=20_000)
    """
    with needs("torch", extra="torch"):
        import torch
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {module!r}")
    for name in ("bounds", "vectorized"):
        if name in settings:
            raise TypeError(
                f"{name} is not a setting of minimize_module, which hands loss one module at a time"
            )
    x0 = _flat(_parameters(module))
    result = minimize(_Loss(loss, module), x0, sigma0=sigma0, **settings)
    _load(_parameters(module), result.x)
    return result


class _Loss:
    """A function of the vector of parameters; each thread has a copy of the module to write them to."""

    def __init__(self, loss: Callable[..., Any], module: torch.nn.Module) -> None:
        self.loss, self.module = loss, module
        self._of_thread = threading.local()

    def __reduce__(self) -> tuple[type[_Loss], tuple[Any, ...]]:
        return _Loss, (self.loss, self.module)

    def __call__(self, x: Array, *args: Any) -> float:
        import torch

        if not hasattr(self._of_thread, "module"):
            self._of_thread.module = copy.deepcopy(self.module)
        module = self._of_thread.module
        _load(_parameters(module), x)
        with torch.no_grad():
            for buffer, original in zip(module.buffers(), self.module.buffers(), strict=True):
                buffer.copy_(original)
            return float(self.loss(module, *args))


def _parameters(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    """Those that require gradients: what is frozen for gradients is frozen here."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    kinds = {str(parameter.dtype) for parameter in parameters}
    if len(kinds) != 1 or not kinds <= {"torch.float32", "torch.float64"}:
        found = ", ".join(sorted(kinds)) or "none"
        raise ValueError(
            f"module must have parameters that require gradients, all float32 or all float64; got {found}"
        )
    return parameters


def _flat(parameters: list[torch.nn.Parameter]) -> Array:
    return np.concatenate([parameter.detach().cpu().numpy().ravel() for parameter in parameters])


def _load(parameters: list[torch.nn.Parameter], x: Array) -> None:
    import torch

    vector, start = torch.from_numpy(x), 0
    with torch.no_grad():
        for parameter in parameters:
            stop = start + parameter.numel()
            parameter.copy_(vector[start:stop].view_as(parameter))
            start = stop
