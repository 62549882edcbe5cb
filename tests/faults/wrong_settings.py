"""Settings that cannot be honoured are refused by name, before anything is evaluated."""

from __future__ import annotations

from faults.rows import ended, refused

ROWS = [
    # the starting point
    refused("minimize(f, [])", ValueError, "x0 must be a vector of at least one number, got shape (0,)"),
    refused(
        "minimize(f, [[1, 2]])", ValueError, "x0 must be a vector of at least one number, got shape (1, 2)"
    ),
    refused("minimize(f, [[1], [2, 3]])", ValueError, "x0 must be a vector of numbers, got [[1], [2, 3]]"),
    refused("minimize(f, [1, nan])", ValueError, "x0 must be finite, got x0[1] = nan"),
    refused("minimize(f, [1, inf])", ValueError, "x0 must be finite, got x0[1] = inf"),
    refused("minimize(f, ['1', '2'])", TypeError, "x0 must hold real numbers"),
    refused("minimize(f, [1j, 2])", TypeError, "x0 must hold real numbers, got dtype complex128"),
    refused("minimize(f, None)", TypeError, "x0 must hold real numbers, got dtype object"),
    refused("minimize(f, [10**400, 1])", TypeError, "x0 must hold real numbers, got dtype object"),
    refused("minimize(f, masked_array([1, 2], [0, 1]))", ValueError, "x0 must be finite, got x0[1] = nan"),
    # the first step
    refused("minimize(f, [1, 2], 0)", ValueError, "sigma0 must be finite and above 0, got 0"),
    refused("minimize(f, [1, 2], -1)", ValueError, "sigma0 must be finite and above 0, got -1"),
    refused("minimize(f, [1, 2], nan)", TypeError, "sigma0 must be a number, got nan"),
    refused("minimize(f, [1, 2], inf)", ValueError, "sigma0 must be finite and above 0, got inf"),
    refused("minimize(f, [1, 2], '1')", TypeError, "sigma0 must be a number, got '1'"),
    refused("minimize(f, [1, 2], True)", TypeError, "sigma0 must be a number, got True"),
    refused(
        "minimize(f, [1, 2], [1, 1, 1])", ValueError, "sigma0 must be a number or 2, one per variable; got 3"
    ),
    refused("minimize(f, [1, 2], [1, 0])", ValueError, "sigma0 must be finite and above 0, got [1, 0]"),
    refused("minimize(f, [1, 2], [[1], 2])", ValueError, "sigma0 must be a vector of numbers, got [[1], 2]"),
    refused(
        "minimize(f, [1, 2], masked_array([1, 2], [0, 1]))", ValueError, "sigma0 must be finite and above 0"
    ),
    refused(
        "minimize(f, [1, 2], [1, 1e-200])", ValueError, "sigma0 must be above 1.49e-154 and below 1.16e+77"
    ),
    refused("minimize(f, [1, 2], min_sigma=9)", ValueError, "min_sigma must be at most sigma0, 1, got 9"),
    refused(
        "minimize(f, [1, 2], weight_decay=2)", ValueError, "weight_decay must be below 1, and 0 with bounds"
    ),
    refused(
        "minimize(f, [1, 2], 1e300)",
        ValueError,
        "sigma0 must be above 1.49e-154 and below 1.16e+77, the limits",
    ),
    refused(
        "minimize(f, [1, 2], 1e160)",
        ValueError,
        "sigma0 must be above 1.49e-154 and below 1.16e+77, the limits",
    ),
    refused(
        "minimize(f, np.float32([1, 2]), 1e10)",
        ValueError,
        "sigma0 must be above 1.08e-19 and below 4.29e+09, the limits",
    ),
    refused("minimize(f, [1, 2], 10**400)", ValueError, "sigma0 must be a number below 1.8e308, got 1000"),
    refused("minimize(f, [1, 2], 10**5000)", ValueError, "sigma0 must be a number below 1.8e308, got an int"),
    refused(
        "minimize(f, [1, 2], 1e-300)",
        ValueError,
        "sigma0 must be above 1.49e-154 and below 1.16e+77, the limits",
    ),
    ended("minimize(f, [1, 2], 1e-30)", "the points cannot be told apart", "flat", fun=5),
    # bounds
    refused("minimize(f, [1, 2], bounds=3)", ValueError, "bounds must be scipy.optimize.Bounds or a pair"),
    refused("minimize(f, [1, 2], bounds=[(0, 3)])", ValueError, "for each of 2 variables, got 1 pairs"),
    refused(
        "minimize(f, [1, 2], bounds=[(0, 3), (4, 1)])", ValueError, "must have low ≤ high, got (4.0, 1.0) for"
    ),
    refused("minimize(f, [1, 2], bounds=[(0, 3), (nan, 3)])", ValueError, "got (nan, 3.0) for variable 1"),
    refused("minimize(f, [1, 2], bounds=[(0, 3), (inf, inf)])", ValueError, "got (inf, inf) for variable 1"),
    refused(
        "minimize(f, [1, 2], bounds=[(0, 3), ('a', 3)])", TypeError, "bounds must be numbers or None, got 'a'"
    ),
    refused(
        "minimize(f, [1, 2], bounds=[(0, 3), (0, 3j)])", TypeError, "bounds must be numbers or None, got 3j"
    ),
    refused(
        "minimize(f, [1, 2], bounds=[(0, 3), (0, 10**400)])",
        ValueError,
        "bounds must be a number below 1.8e308",
    ),
    refused(
        "minimize(f, [1, 2], bounds=Bounds([0] * 3, [3] * 3))", ValueError, "must match the 2 variables of x0"
    ),
    refused(
        "minimize(f, [1, 2], bounds=[(0, 3), (5, 9)])",
        ValueError,
        "x0 must lie within bounds, got x0[1] = 2.0",
    ),
    refused("minimize(f, [1, 2], bounds=[(1, 1), (2, 2)])", ValueError, "bounds must leave a variable free"),
    refused(
        "minimize(f, [1, 2], bounds=masked_array([[0, 3], [0, 3]], [[0, 0], [1, 0]]))",
        ValueError,
        "bounds must have low ≤ high, got (nan, 3.0) for variable 1",
    ),
    refused(
        "minimize(f, [1, 2], bounds=[(-1e200, 1e200)] * 2)",
        ValueError,
        "by default 0.3 times the narrowest side",
    ),
    ended(
        "minimize(f, [1, 2], 1, bounds=[(-1e308, 1e308)] * 2, rng=1)",
        "as without bounds",
        "ftol",
        success=True,
    ),
    ended(
        "minimize(f, [0, 2], bounds=[(-1, 1), (2, 2)], rng=1)",
        "one variable is fixed",
        "ftol",
        success=True,
        fun=4,
    ),
    # the method and its settings
    refused(
        "minimize(f, [1, 2], method='cma')", ValueError, "method must be one of r1nes, rknes, snes, xnes, got"
    ),
    refused("minimize(f, [1, 2], method='rkne')", ValueError, "got 'rkne'; did you mean rknes?"),
    refused(
        "minimize(f, [1, 2], method=[])",
        TypeError,
        "method must be a name or a Method such as RkNES(), got []",
    ),
    refused(
        "minimize(f, [1, 2], method=3)", TypeError, "method must be a name or a Method such as RkNES(), got 3"
    ),
    refused(
        "minimize(f, [1, 2], method=r1nes.Method)",
        TypeError,
        "method must be a name or a Method such as RkNES()",
    ),
    refused(
        "minimize(f, [1], method='r1nes')", ValueError, "needs at least 2 free variables, got 1; use 'snes'"
    ),
    refused(
        "minimize(f, [1, 2], method=RkNES(), rank=1)",
        TypeError,
        "rank must be set on the method, as RkNES(rank=1)",
    ),
    refused(
        "minimize(f, [1, 2], method='snes', rank=1)",
        TypeError,
        "rank is not a setting of SNES; it has rate_mean",
    ),
    refused("minimize(f, [1, 2, 3], rank=1.5)", TypeError, "rank must be an int or a pair of ints, got 1.5"),
    refused("minimize(f, [1, 2, 3], rank='2')", TypeError, "rank must be an int or a pair of ints, got '2'"),
    refused(
        "minimize(f, [1, 2, 3], rank=True)", TypeError, "rank must be an int or a pair of ints, got True"
    ),
    refused(
        "minimize(f, [1, 2, 3], rank=(1, 1, 1))",
        TypeError,
        "rank must be an int or a pair of ints, got (1, 1, 1)",
    ),
    refused(
        "minimize(f, [1, 2, 3], rank=(1, 0.5))",
        TypeError,
        "rank must be an int or a pair of ints, got (1, 0.5)",
    ),
    refused("minimize(f, [1, 2, 3], rank=9)", ValueError, "rank must be 1 to 2 directions, or a pair"),
    refused(
        "minimize(f, [1, 2], base='dense')",
        ValueError,
        "base must be 'auto', 'diagonal' or 'full', got 'dense'",
    ),
    refused("minimize(f, [1, 2], base=[])", ValueError, "base must be 'auto', 'diagonal' or 'full', got []"),
    refused(
        "minimize(f, [1, 2], method='r1nes', preset=[])",
        ValueError,
        "preset must be one of pybrain, heuristic",
    ),
    refused("minimize(f, [1, 2], rate_mean=-1)", ValueError, "rate_mean must be between 0 and 10, got -1"),
    refused(
        "minimize(f, [1, 2], rate_sigma=1e300)", ValueError, "rate_sigma must be between 0 and 10, got 1e+300"
    ),
    refused(
        "minimize(f, [1, 2], rate_shape=inf)", ValueError, "rate_shape must be between 0 and 10, got inf"
    ),
    # the population
    refused(
        "minimize(f, [1, 2], popsize=1)",
        ValueError,
        "popsize must be a whole number from 2 to 2147483647, got 1",
    ),
    refused(
        "minimize(f, [1, 2], popsize=7.5)",
        ValueError,
        "popsize must be a whole number from 2 to 2147483647, got",
    ),
    refused(
        "minimize(f, [1, 2], popsize=1e300)",
        ValueError,
        "popsize must be a whole number from 2 to 2147483647, got",
    ),
    refused("minimize(f, [1, 2], popsize='8')", TypeError, "popsize must be a number, got '8'"),
    refused(
        "minimize(f, [1, 2], popsize=4, utilities=[2, 1, 0])",
        ValueError,
        "one weight per rank, 4, got shape (3,)",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=[0, 1, 2])",
        ValueError,
        "must be finite and fall from the best",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=[1, 1, 1])",
        ValueError,
        "must be finite and fall from the best",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=[1, nan, 0])",
        ValueError,
        "must be finite and fall from the best",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=['a', 0, 0])",
        TypeError,
        "utilities must hold real numbers, got",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=[[1], 0, 0])",
        ValueError,
        "utilities must be a vector of numbers",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=[1e300, 0, -1e300])",
        ValueError,
        "utilities must have absolute values of sum 100 at most",
    ),
    refused(
        "minimize(f, [1, 2], popsize=3, utilities=masked_array([2, 1, 0], [0, 1, 0]))",
        ValueError,
        "utilities must be finite and fall from the best",
    ),
    ended(
        "minimize(f, [1, 2], method='r1nes', rate_sigma=10, popsize=4, utilities=[50, 0, 0, -50], rng=1)",
        "the step is not made",
        "overflow",
    ),
    # limits and tolerances
    refused("minimize(f, [1, 2], ftarget=nan)", TypeError, "ftarget must be a number, got nan"),
    refused("minimize(f, [1, 2], ftarget=inf)", ValueError, "ftarget must be finite, got inf"),
    refused("minimize(f, [1, 2], ftarget=-inf)", ValueError, "ftarget must be finite, got -inf"),
    refused("minimize(f, [1, 2], ftarget=10**400)", ValueError, "ftarget must be a number below 1.8e308"),
    refused(
        "minimize(f, [1, 2], max_evals=3)",
        ValueError,
        "max_evals must be a whole number of at least 4, got 3",
    ),
    refused(
        "minimize(f, [1, 2], max_evals=99.5)",
        ValueError,
        "max_evals must be a whole number of at least 4, got 99.5",
    ),
    refused("minimize(f, [1, 2], max_evals=10**400)", ValueError, "max_evals must be a number below 1.8e308"),
    refused(
        "minimize(f, [1, 2], max_seconds=0)", ValueError, "max_seconds must be finite and above 0, got 0"
    ),
    refused("minimize(f, [1, 2], max_seconds='1h')", TypeError, "max_seconds must be a number, got '1h'"),
    refused("minimize(f, [1, 2], xtol=-1e-9)", ValueError, "xtol must be finite and not below 0, got -1e-09"),
    refused("minimize(f, [1, 2], ftol=None)", TypeError, "ftol must be a number, got None"),
    refused(
        "minimize(f, [1, 2], max_condition=0)", ValueError, "max_condition must be finite and above 0, got 0"
    ),
    refused(
        "minimize(f, [1, 2], restarts=-1)",
        ValueError,
        "restarts must be a whole number of at least 0, got -1",
    ),
    refused(
        "minimize(f, [1, 2], restarts='often')",
        ValueError,
        "restarts must be a number, 'ipop:N' or 'bipop:N', got",
    ),
    # everything else
    refused(
        "minimize(f, [1, 2], rng=-1)",
        TypeError,
        "rng must be None, an int ≥ 0, a SeedSequence or a Generator",
    ),
    refused(
        "minimize(f, [1, 2], rng=1.5)",
        TypeError,
        "rng must be None, an int ≥ 0, a SeedSequence or a Generator",
    ),
    refused("minimize(f, [1, 2], noise=1)", ValueError, "noise must be 'auto', True or False, got 1"),
    refused(
        "minimize(f, [1, 2], noise=np.ones(2))",
        ValueError,
        "noise must be 'auto', True or False, got array(",
    ),
    refused("minimize(f, [1, 2], noise=True, method='snes')", ValueError, "only RkNES adapts its rates"),
    refused(
        "minimize(f, [1, 2], sampling='gpu')", ValueError, "sampling must be None or 'device', got 'gpu'"
    ),
    refused("minimize(f, [1, 2], compiled='yes')", TypeError, "compiled must be True or False, got 'yes'"),
    refused(
        "minimize(f, [1, 2], on_failure='ignore')",
        ValueError,
        "on_failure must be 'raise' or 'worst', got 'ignore'",
    ),
    refused(
        "minimize(f, [1, 2], args=3)", TypeError, "args must be a tuple of further arguments of fun, got 3"
    ),
    refused("minimize(f, [1, 2], callback='print')", TypeError, "callback must be callable, got 'print'"),
    refused("minimize(f, [1, 2], checkpoint=3)", TypeError, "checkpoint must be the path of a file, got 3"),
    refused(
        "minimize(f, [1, 2], checkpoint='')", ValueError, "checkpoint must be the path of a file, got ''"
    ),
    refused(
        "minimize(f, [1, 2], checkpoint_every=-1)",
        ValueError,
        "checkpoint_every must be finite and not below 0",
    ),
    refused(
        "minimize(f, [1, 2], timeout=1)",
        ValueError,
        "timeout needs workers that can be abandoned, got workers=1",
    ),
    ended(
        "minimize(f, [1, 2], workers=2, timeout=1e300, max_evals=60, rng=1)",
        "a long time is a time",
        "max_evals",
    ),
    refused(
        "minimize(f, [1, 2], workers='processes')",
        ValueError,
        "workers must be a number, 'threads:N', a map or an",
    ),
    refused("minimize(f, [1, 2], maxiter=9)", TypeError, "maxiter is not a keyword; did you mean max_evals?"),
    refused("minimize(f, [1, 2], seed=9)", TypeError, "seed is not a keyword; did you mean rng?"),
    refused(
        "Optimizer([1, 2], workers=2)", TypeError, "workers is a keyword of minimize, but not of Optimizer"
    ),
]
