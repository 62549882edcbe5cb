"""Gradient-free optimisation of PyTorch modules, for losses without a useful gradient.

Examples are rewards of a simulator, accuracies, and quantised or spiking networks. The parameters form one
vector; the best vector found is loaded back into the module.
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
    """Minimise ``loss(module)`` over the parameters of ``module`` and load the best ones into it.

    ``loss`` is called under ``torch.no_grad`` with copies of ``module``, one per thread or process; the
    module itself changes once, at the end. Every call starts from the buffers of ``module``, which remain
    unchanged even if ``loss`` updates the statistics of a BatchNorm. Parameters that do not require gradients
    are not changed either.

    Args:
        loss: ``loss(module, *args)``, which returns a number or a tensor with one element.
        module: The module to optimise, in float32 or float64, on any device.
        sigma0: The standard deviation of the first samples around the present parameters.
        **settings: Any other keyword of ``r1nes.minimize`` except ``bounds`` and ``vectorized``.

    Returns:
        The result of ``r1nes.minimize``, where ``x`` is the vector of all parameters in module order.

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
                f"{name} is not a setting of minimize_module, which calls loss with one module at a time"
            )
    x0 = _flat(_parameters(module))
    result = minimize(_Loss(loss, module), x0, sigma0=sigma0, **settings)
    _load(_parameters(module), result.x)
    return result


class _Loss:
    """The loss as a function of the parameter vector; each thread writes it to its own copy of the module."""

    def __init__(self, loss: Callable[..., Any], module: torch.nn.Module) -> None:
        self.loss, self.module = loss, module
        self._thread = threading.local()

    def __reduce__(self) -> tuple[type[_Loss], tuple[Any, ...]]:
        return _Loss, (self.loss, self.module)

    def __call__(self, x: Array, *args: Any) -> float:
        import torch

        if not hasattr(self._thread, "module"):
            self._thread.module = copy.deepcopy(self.module)
        module = self._thread.module
        _load(_parameters(module), x)
        with torch.no_grad():
            for buffer, original in zip(module.buffers(), self.module.buffers(), strict=True):
                buffer.copy_(original)
            return float(self.loss(module, *args))


def _parameters(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    """Return the parameters that require gradients; frozen parameters are not optimised."""
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
