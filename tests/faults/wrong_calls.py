"""Ask and tell: points and values that do not belong together change nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faults.rows import Row
from r1nes import Optimizer
from r1nes.arrays import Array
from support.functions import sphere


def untouched(
    fault: str, error: type[Exception], says: str, wrong: Callable[[Optimizer, Array, Array], Any]
) -> Row:
    """A call of ``tell`` or ``ask`` that is refused; the right call works after it."""

    def check(_: Path) -> None:
        optimizer = Optimizer(np.ones(3), popsize=6, rng=1)
        X = optimizer.ask()
        before = optimizer.strategy, optimizer.nfev, optimizer.best
        with pytest.raises(error) as caught:
            wrong(optimizer, X.copy(), sphere(X))
        assert says in str(caught.value)
        assert (optimizer.strategy, optimizer.nfev, optimizer.best) == before
        np.testing.assert_array_equal(optimizer.ask(), X)
        optimizer.tell(X, sphere(X))
        assert optimizer.nfev == 6

    return Row(fault, f"`{error.__name__}`: {says}; nothing is changed", check)


def tell(fault: str, error: type[Exception], says: str, told: Callable[[Array, Array], Any]) -> Row:
    return untouched(fault, error, says, lambda optimizer, X, values: optimizer.tell(*told(X, values)))


def ask(out: Any, error: type[Exception], says: str) -> Row:
    kind = f"{type(out).__name__} of shape {np.shape(out)}"
    fault = f"`ask(out=…)` for 6 points of 3 variables, with a {kind} and dtype {np.asarray(out).dtype}"
    return untouched(fault, error, says, lambda optimizer, *_: optimizer.ask(out=out))


def _tell_before_ask(_: Path) -> None:
    with pytest.raises(RuntimeError, match="call ask first"):
        Optimizer(np.ones(3), popsize=6).tell(np.ones((6, 3)), np.ones(6))


def _tell_twice(_: Path) -> None:
    optimizer = Optimizer(np.ones(3), popsize=6)
    X = optimizer.ask()
    optimizer.tell(X, sphere(X))
    with pytest.raises(RuntimeError, match="tell its values once"):
        optimizer.tell(X, sphere(X))
    assert optimizer.nfev == 6


def _masked_value(_: Path) -> None:
    masked, plain = (Optimizer(np.ones(3), popsize=6, rng=1) for _ in range(2))
    X, values = plain.ask(), sphere(plain.ask())
    masked.ask()
    masked.tell(X, np.ma.masked_array(values, values == values.min()))
    plain.tell(X, np.where(values == values.min(), np.nan, values))
    assert masked.best == plain.best > values.min()
    assert masked.nan_count == 1
    np.testing.assert_array_equal(masked.ask(), plain.ask())


ROWS = [
    tell("`tell` with a point missing", ValueError, "X must be of shape (6, 3)", lambda X, v: (X[1:], v[1:])),
    tell(
        "`tell` with a value missing",
        ValueError,
        "values must hold one number per point",
        lambda X, v: (X, v[1:]),
    ),
    tell(
        "`tell` with a value too many",
        ValueError,
        "values must hold one number per",
        lambda X, v: (X, [*v, 1.0]),
    ),
    tell("`tell` with a changed point", ValueError, "row 0 is not one of them", lambda X, v: (X + 1e-13, v)),
    tell(
        "`tell` with one point twice",
        ValueError,
        "is not one of them",
        lambda X, v: (X[[0, 0, 2, 3, 4, 5]], v),
    ),
    tell(
        "`tell` with masked points",
        ValueError,
        "is not one of them",
        lambda X, v: (np.ma.masked_array(X, X > 1), v),
    ),
    tell(
        "`tell` with `None` as a value",
        TypeError,
        "values must hold real numbers",
        lambda X, v: (X, [None, *v[1:]]),
    ),
    tell(
        "`tell` with text as values",
        TypeError,
        "values must hold real numbers",
        lambda X, v: (X, v.astype(str)),
    ),
    tell("`tell` with complex values", TypeError, "values must hold real numbers", lambda X, v: (X, v + 1j)),
    tell(
        "`tell` with lists of several lengths",
        ValueError,
        "values must be a vector",
        lambda X, v: (X, [[1], [], *v[2:]]),
    ),
    Row("`tell` with masked values", "a masked value counts as NaN", _masked_value),
    Row("`tell` before `ask`", "`RuntimeError`: call ask first", _tell_before_ask),
    Row("`tell` a second time", "`RuntimeError`: tell its values once", _tell_twice),
    ask(np.empty((5, 3)), ValueError, "out must be of shape (6, 3)"),
    ask(np.empty((6, 4)), ValueError, "out must be of shape (6, 3)"),
    ask(np.empty((6, 3), np.float32), TypeError, "out must be a NumPy array of float64"),
    ask([[0.0] * 3] * 6, TypeError, "out must be a NumPy array of float64"),
    ask(np.broadcast_to(0.0, (6, 3)), ValueError, "out must be writable"),
]
