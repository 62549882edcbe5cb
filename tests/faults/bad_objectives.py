"""Objectives that return something else than a number, or numbers that say nothing."""

from __future__ import annotations

from faults.rows import ended, refused

ROWS = [
    refused("minimize(None, [1, 2])", TypeError, "fun must be callable, got None"),
    refused("minimize(lambda x: None, [1, 2])", TypeError, "fun must return one real number, got None"),
    refused("minimize(lambda x: 'a', [1, 2])", TypeError, "fun must return one real number, got 'a'"),
    refused("minimize(lambda x: 1j, [1, 2])", TypeError, "fun must return one real number, got 1j"),
    refused("minimize(lambda x: x, [1, 2])", TypeError, "fun must return one real number, got array("),
    refused(
        "minimize(lambda x: x, [1, 2], vectorized=True)", TypeError, "fun must return one real number per row"
    ),
    refused("minimize(lambda x: 1 / 0, [1, 2])", ZeroDivisionError, "division by zero"),
    refused("minimize(lambda x: nan, [1, 2])", FloatingPointError, "got only NaN in 10 generations in a row"),
    refused(
        "minimize(lambda x: 1 / 0, [1, 2], on_failure='worst')",
        FloatingPointError,
        "got only NaN in 10 generations in a row",
    ),
    refused(
        "minimize(lambda x: np.ma.masked, [1, 2])",
        FloatingPointError,
        "got only NaN in 10 generations in a row",
    ),
    ended("minimize(lambda x: inf, [1, 2])", "no point has a value", "flat", fun=float("inf")),
    ended("minimize(lambda x: inf, [1, 2], xtol=9)", "no point has a value", "xtol", fun=float("inf")),
    ended("minimize(lambda x: -inf, [1, 2])", "no value is lower", "minus_inf", fun=float("-inf")),
    ended("minimize(lambda x: 7, [1, 2])", "the search was widened after each generation", "flat", fun=7),
    ended(
        "minimize(lambda x: 1e308, [1, 2])", "the largest numbers are values like others", "flat", fun=1e308
    ),
    ended(
        "minimize(lambda x: x[0], [1], rng=1)",
        "there is no minimum",
        "sigma_overflow",
    ),
    ended(
        "minimize(lambda x: [f(x)], [1, 2], rng=1)", "one number in a list is a number", "ftol", success=True
    ),
    ended(
        "minimize(lambda x: nan if x[0] > 1 else f(x), [1, 2], rng=1)",
        "NaN ranks last",
        "ftol",
        success=True,
    ),
]
