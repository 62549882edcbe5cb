"""A method for ``scipy.optimize.minimize``."""

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
    """Minimise ``fun`` as a ``method`` of ``scipy.optimize.minimize``.

    Args:
        fun: The objective.
        x0: The starting point.
        args: Further arguments of ``fun``.
        jac: Ignored with a warning: the method uses no derivatives.
        hess: Ignored with a warning.
        hessp: Ignored with a warning.
        bounds: As for ``r1nes.minimize``.
        constraints: Must be empty; only bounds are supported.
        callback: Called after each generation by SciPy's convention: ``callback(xk)``, or
            ``callback(intermediate_result)`` if its only parameter has that name. StopIteration ends the run.
        tol: The default of both ``xtol`` and ``ftol``.
        maxiter: The maximum number of generations.
        disp: Whether to print the reason for the end of the run.
        **options: Other keywords of ``r1nes.minimize``: ``sigma0``, ``method``, ``max_evals``, ``ftarget``,
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
            f"constraints must be empty, r1nes.scipy_method supports only bounds; got {constraints!r}"
        )
    for name, given in {"jac": jac, "hess": hess, "hessp": hessp}.items():
        if given is not None:
            warnings.warn(f"r1nes.scipy_method does not use {name}", RuntimeWarning, stacklevel=3)
    if tol is not None:
        options = {"xtol": tol, "ftol": tol, **options}
    max_generations = None if maxiter is None else count("maxiter", maxiter)
    reached_maxiter = False

    def after_generation(result: OptimizeResult) -> None:
        nonlocal reached_maxiter
        if callback is not None:
            _call(callback, result)
        if result.nit == max_generations and not result.stop:
            reached_maxiter = True
            raise StopIteration

    result = minimize(fun, x0, args=args, bounds=bounds, callback=after_generation, **options)
    if reached_maxiter:
        result.update(stop={"maxiter": float(result.nit)}, message=f"{MAXITER} (maxiter = {result.nit}).")
    if disp:
        print(f"{result.message} f = {result.fun:.6g} after {result.nfev} evaluations.")
    return result


def _call(callback: Callable[..., object], result: OptimizeResult) -> None:
    """Call ``callback`` with the argument that its signature expects."""
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
        callback(intermediate_result=result)
    else:
        callback(copied(result.x))
