"""The keywords of ``Optimizer``: the start, the method, its distribution, and when to stop."""

from __future__ import annotations

from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from r1nes.arguments import (
    Check,
    anything,
    at_least_zero,
    count,
    finite,
    flag,
    one_of,
    optional,
    positive,
)
from r1nes.arrays import Array, ArrayType, array_type_named, as_start, host
from r1nes.arrays.compiled import choose
from r1nes.bounds import BoundsLike, as_edges
from r1nes.probing import LEAST_PROBED, REPEATED
from r1nes.sampling.gaussian import Seed, seed_sequence
from r1nes.settings.step_size import positive_each, step_size_of
from r1nes.settings.weights import weights_of
from r1nes.strategies import Method, method_named, method_of, name_of

LARGEST_POPSIZE = 2**31 - 1


def ask_again(name: str, value: object) -> object:
    """Check the keyword ``noise``; where random numbers are drawn is the keyword ``sampling``."""
    if value is None or (isinstance(value, str) and value == "device"):
        raise ValueError(f"{name} says whether values are noisy; where to draw is now sampling={value!r}")
    return one_of("auto", True, False)(name, value)


def keyword(text: str, check: Check = anything, default: Any = None, **facts: Any) -> Any:
    """Declare a keyword with its help ``text``, its check and its default."""
    return field(default=default, metadata={"help": text, "check": check, **facts})


@dataclass(frozen=True, eq=False, repr=False)
class Settings:
    """The keywords of ``Optimizer``, checked, and with defaults that depend on other keywords filled in."""

    x0: ArrayLike = keyword(
        "The starting point, a vector. float32 stays float32, all else becomes float64. Pass a PyTorch "
        "tensor or a JAX array to search on its device; points are then arrays of the same type.",
        default=MISSING,
    )
    sigma0: ArrayLike | None = keyword(
        "The standard deviation of the first samples around x0: roughly the distance at which you expect the "
        "optimum. A number, or a vector with one per variable; the search then measures each variable in "
        "these units. By default 1, or 0.3 times the narrowest side of a finite box.",
        optional(positive_each),
    )
    _: KW_ONLY
    method: str | Method | type[Method] | None = keyword(
        'The search distribution: a name ("rknes", "r1nes", "snes" or "xnes") or an object such as '
        'RkNES(rank=(4, 4)). By default "rknes", or "snes" for a single variable.'
    )
    popsize: int | None = keyword(
        "Points per generation; by default, the method's own choice.",
        optional(partial(count, least=2, most=LARGEST_POPSIZE)),
    )
    utilities: ArrayLike | None = keyword("A weight per rank, best first; by default, the method's own.")
    bounds: BoundsLike = keyword(
        "SciPy's Bounds, or a (low, high) pair per variable. Points outside the box are folded into it, "
        "never resampled."
    )
    ftarget: float | None = keyword("Stop once a value is at or below this target.", optional(finite))
    max_evals: float | None = keyword("The maximum number of evaluations, including restarts.", limit=True)
    max_seconds: float | None = keyword(
        "The maximum time in seconds, including restarts. No call of fun begins later, and those under way "
        "are finished, unless asynchronous: values of an unfinished generation count but make no step. "
        "With vectorized=True or a map as workers, the current generation is finished.",
        optional(positive),
        limit=True,
    )
    xtol: float | None = keyword(
        "Stop once the largest standard deviation is at or below this; by default, 1e-12 times sigma0.",
        optional(at_least_zero),
    )
    ftol: float = keyword(
        "Stop once the distribution has shrunk and the best values of recent generations differ by no more "
        "than this, relative to the range of the best values of all generations or, if that is less, to the "
        "distance from ftarget; 0 turns this off.",
        at_least_zero,
        1e-12,
    )
    max_condition: float | None = keyword(
        "Stop once the condition number of the covariance matrix exceeds this; by default, the limit of "
        "the method's arithmetic.",
        optional(positive),
    )
    min_sigma: float = keyword(
        "The step size, the geometric mean of the standard deviations, does not fall below this. Such a run "
        "does not converge: it ends by a target, a limit, stagnation or noise.",
        at_least_zero,
        0.0,
    )
    weight_decay: float = keyword(
        "Each generation multiplies the mean by 1 - weight_decay, which pulls it towards 0. Values and the "
        "best point are reported as evaluated.",
        at_least_zero,
        0.0,
    )
    asynchronous: bool = keyword(
        "Evaluate without waiting for the slowest point of a generation. This takes more evaluations, and "
        "the run depends on the order in which they finish.",
        flag,
        False,
    )
    noise: str | bool = keyword(
        'Whether to detect noisy values. "auto": now and then, two points are evaluated again; if their '
        "values differ, the learning rates follow the signal. True: the rates adapt from the start, whether "
        "values differ or not. False: no point is evaluated again.",
        ask_again,
        "auto",
    )
    sampling: str | None = keyword(
        'Where random numbers are drawn: None for the host, the same for every array library; "device" for '
        "the generator of the device that holds x0.",
        one_of(None, "device"),
    )
    compiled: bool | None = keyword(
        "Whether numba compiles the arithmetic of the method, for NumPy arrays of float64. By default, if it "
        "is installed and max_evals is at least 50,000, or the problem has at least 10,000 variables. The "
        "first compiled run takes half a minute more; the machine code is cached on disk.",
        optional(flag),
    )
    rng: Seed = keyword("The seed of the run: None, an int, a SeedSequence or a Generator.")
    rank: int | tuple[int, int] | None = keyword("Short for method=RkNES(rank=…).", of_method=True)
    base: str | None = keyword("Short for method=RkNES(base=…).", of_method=True)
    preset: str | None = keyword(
        "Short for method=R1NES(preset=…): which of its authors' settings R1-NES uses.", of_method=True
    )
    rate_mean: float | None = keyword("The learning rate of the mean, for any method.", of_method=True)
    rate_sigma: float | None = keyword("The learning rate of the step size, for any method.", of_method=True)
    rate_shape: float | None = keyword("The learning rate of the shape, for all but SNES.", of_method=True)
    rate_base: float | None = keyword("Short for method=RkNES(rate_base=…).", of_method=True)

    # Derived from the above, with their final types.
    start: Array = field(init=False)  # x0 on the host
    array_type: ArrayType = field(init=False)  # of x0, and so of all points
    algorithm: Method = field(init=False)  # the method as an object
    size: int = field(init=False)  # popsize
    sigma: float = field(init=False)  # sigma0, or its geometric mean
    scales: Array | None = field(init=False)  # sigma0/sigma if it differs between variables, else None
    weights: Array = field(init=False)  # utilities
    edges: tuple[Array, Array] | None = field(init=False)  # bounds
    dim: int = field(init=False)  # the number of variables that bounds do not fix
    probes: bool = field(init=False)  # whether points are evaluated again
    probe_weights: Array = field(init=False)  # weights of a generation that evaluates points again
    seed: np.random.SeedSequence = field(init=False)  # rng
    is_seeded: bool = field(init=False)  # whether rng was given
    is_compiled: bool = field(init=False)  # whether numba compiles the arithmetic
    choices: dict[str, str] = field(init=False)  # defaults that depend on the problem, and why

    def __post_init__(self) -> None:
        """Check every keyword on its own, then those that depend on each other."""
        for each in fields(self):
            if each.init:
                self._set(**{each.name: each.metadata["check"](each.name, getattr(self, each.name))})
        start, array_type = as_start(self.x0)
        self._set(start=start, array_type=array_type, x0=array_type.array(start))
        edges = as_edges(self.bounds, start)
        dim = start.size if edges is None else int((edges[0] < edges[1]).sum())
        self._set(edges=edges, bounds=None if edges is None else Bounds(*edges), dim=dim)
        self._choose_method()
        size = self.algorithm.default_popsize(dim) if self.popsize is None else self.popsize
        self._set(size=size, popsize=size)
        if self.max_evals is not None:
            self._set(max_evals=count("max_evals", self.max_evals, least=size))
        weights = self._weights(size).astype(start.dtype)
        self._set(weights=weights, utilities=None if self.utilities is None else weights)
        self._choose_probes()
        self._choose_sigma()
        seed = seed_sequence(self.rng)
        self._set(is_seeded=self.rng is not None, seed=seed, rng=seed)
        is_compiled, reason = choose(self.compiled, array_type, dim, self.max_evals)
        choices = {**self.algorithm.choices(dim), "compiled": f"{is_compiled}, because {reason}"}
        self._set(is_compiled=is_compiled, choices=choices)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)  # frozen once __post_init__ has ended

    def _choose_method(self) -> None:
        given = {name: getattr(self, name) for name in OF_METHOD if getattr(self, name) is not None}
        method = method_of(self.method, self.dim, given)
        self._set(algorithm=method, method=method, **dict.fromkeys(OF_METHOD))

    def _choose_sigma(self) -> None:
        sigma0, sigma, scales = step_size_of(self.sigma0, self.edges, self.start)
        self._set(sigma0=sigma0, sigma=sigma, scales=scales)
        if self.min_sigma > sigma:
            raise ValueError(f"min_sigma must be at most sigma0, {sigma:.6g}, got {self.min_sigma!r}")
        if self.weight_decay and (self.weight_decay >= 1 or self.edges is not None):
            raise ValueError(f"weight_decay must be below 1, and 0 with bounds; got {self.weight_decay!r}")

    def _choose_probes(self) -> None:
        n, can = self.size, self.algorithm.heeds_noise and not self.asynchronous and self.size >= LEAST_PROBED
        if self.noise is True and not can:
            raise ValueError(
                f"noise must be 'auto' or False for {name_of(self.algorithm)} with popsize={n} and "
                f"asynchronous={self.asynchronous}: only RkNES adapts its rates, synchronously, and from "
                f"{LEAST_PROBED} points on; got True"
            )
        probes = can and self.noise is not False
        weights = self._weights(n - REPEATED).astype(self.start.dtype) if probes else self.weights
        self._set(probes=probes, probe_weights=weights)

    def _weights(self, n: int) -> Array:
        """Return the weights of a generation of ``n`` points that are new."""
        if self.utilities is None:
            return self.algorithm.default_utilities(n, self.dim)
        if n < self.size:
            ranks = np.linspace(0, 1, self.size)
            return np.interp(np.linspace(0, 1, n), ranks, self.weights)
        return weights_of(self.utilities, n)

    def __repr__(self) -> str:
        """The keywords that differ from their defaults."""
        given = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.init and getattr(self, each.name) is not each.default and each.name not in ("x0", "rng")
        }
        listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"{type(self).__name__}(x0 of {self.variables}, {listed})"

    @property
    def variables(self) -> str:
        """The number of variables, in words."""
        d, free = self.start.size, self.dim
        return f"{d} variables" + (
            "" if free == d else f", of which {free} {'is' if free == 1 else 'are'} free"
        )

    def keywords(self) -> dict[str, Any]:
        """Return the keywords that create the same Optimizer."""
        return {each.name: getattr(self, each.name) for each in fields(Settings) if each.init}

    def to_plain(self) -> dict[str, Any]:
        """Return the settings as plain values and NumPy arrays, for a checkpoint."""
        seed, bounds, name = self.seed, self.edges, self.array_type.name
        return {
            **{key: value for key, value in self.keywords().items() if key not in OF_METHOD},
            "x0": host(self.x0),
            "method": name_of(self.algorithm),
            "bounds": bounds,
            "rng": {"entropy": seed.entropy, "spawn_key": seed.spawn_key, "pool_size": seed.pool_size},
            "method_settings": self.algorithm.given(),
            "compiled": self.is_compiled,
            **({} if name is None else {"arrays": name}),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any], method: Method | type[Method] | None = None) -> Self:
        """Return the settings that ``to_plain`` stored; a ``method`` of your own must be passed again."""
        plain = renamed(plain)
        bounds, x0 = plain["bounds"], plain["x0"]
        known = {each.name for each in fields(cls) if each.init}
        keywords = {name: plain[name] for name in plain if name in known and name not in OF_METHOD}
        return cls(
            **keywords
            | {
                "x0": array_type_named(plain.get("arrays"), x0.dtype).array(x0),
                "method": method_named(plain["method"], method_settings(plain), method),
                "bounds": None if bounds is None else Bounds(*bounds),
                "rng": np.random.SeedSequence(**plain["rng"]),
            }
        )


OF_METHOD = tuple(each.name for each in fields(Settings) if "of_method" in each.metadata)


def renamed(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a checkpoint under the names that they have now, with those that it lacks."""
    plain = {"min_sigma": 0.0, "weight_decay": 0.0, **plain}
    if "sampling" in plain:
        return plain
    return {**plain, "sampling": plain.get("noise"), "noise": "auto"}


def method_settings(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the method in plain ``settings``; format 2 has them beside all others."""
    flat = {name: plain[name] for name in OF_METHOD if name in plain}
    return plain.get("method_settings", flat)
