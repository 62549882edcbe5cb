"""``scipy.optimize.minimize`` with r1nes inside."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from r1nes.arguments import count
from r1nes.arrays import copied
from r1nes.bounds import BoundsLike
from r1nes.minimize import minimize
from r1nes.parallel.objective import Function

MAXITER = "Another generation would exceed maxiter"


def scipy_method(
    fun: Function,
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    jac: object = None,
    hess: object = None,
    hessp: object = None,
    bounds: BoundsLike = None,
    constraints: Any = (),
    callback: Callable[..., object] | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
    disp: bool = False,
    **options: Any,
) -> OptimizeResult:
    """What ``scipy.optimize.minimize`` takes as ``method``.

    Args:
        fun: The objective.
        x0: Where to start.
        args: More arguments of ``fun``.
        jac: Derivatives are of no use here; those given cause a warning.
        hess: Likewise.
        hessp: Likewise.
        bounds: As ``r1nes.minimize`` takes them.
        constraints: Refused: there is no way to honour them.
        callback: As SciPy calls it: ``callback(xk)``, or ``callback(intermediate_result)`` if its only
            parameter has that name. StopIteration ends the run.
        tol: Stands for ``xtol`` and ``ftol``, where the options do not set them.
        maxiter: The most generations.
        disp: Whether to print how the run ended.
        **options: Whatever else ``r1nes.minimize`` takes: ``sigma0``, ``method``, ``max_evals``, ``ftarget``,
            ``workers``, ``rng`` and so on.

    Returns:
        The result of ``r1nes.minimize``.

    Examples:
        >>> import numpy as np, r1nes
        >>> from scipy.optimize import minimize, rosen
        >>> result = minimize(rosen, np.zeros(5), method=r1nes.scipy_method, tol=1e-9, options={"rng": 1})
        >>> result.success, bool(abs(result.x - 1).max() < 1e-3)
        (True, True)
    """
    if not (isinstance(constraints, list | tuple) and not constraints):
        raise ValueError(
            f"constraints must be empty, r1nes.scipy_method knows bounds only; got {constraints!r}"
        )
    for name, given in {"jac": jac, "hess": hess, "hessp": hessp}.items():
        if given is not None:
            warnings.warn(f"r1nes.scipy_method does not use {name}", RuntimeWarning, stacklevel=3)
    if tol is not None:
        options = {"xtol": tol, "ftol": tol, **options}
    most = None if maxiter is None else count("maxiter", maxiter)
    ended = False

    def after_generation(result: OptimizeResult) -> None:
        nonlocal ended
        if callback is not None:
            _call(callback, result)
        if result.nit == most and not result.stop:
            ended = True
            raise StopIteration

    result = minimize(fun, x0, args=args, bounds=bounds, callback=after_generation, **options)
    if ended:
        result.update(stop={"maxiter": float(result.nit)}, message=f"{MAXITER} (maxiter = {result.nit}).")
    if disp:
        print(f"{result.message} f = {result.fun:.6g} after {result.nfev} evaluations.")
    return result


def _call(callback: Callable[..., object], result: OptimizeResult) -> None:
    """In the spelling that its signature asks for."""
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
        callback(intermediate_result=result)
    else:
        callback(copied(result.x))
