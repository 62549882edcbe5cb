"""Functions that take the keywords of a dataclass and receive them as one checked object."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from textwrap import fill
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from r1nes.arguments import suggestion
from r1nes.settings.run import KEYWORDS

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")


def takes(settings: Callable[P, S]) -> Callable[[Callable[[T, S], R]], Callable[Concatenate[T, P], R]]:
    """Make a function accept the keywords of ``settings`` and pass them to it as one checked object.

    Its signature lists the keywords, and the first paragraph of its docstring is followed by their help.
    """
    keywords, checked = inspect.signature(settings).parameters, cast("Callable[..., S]", settings)
    texts = [f"{name}: {KEYWORDS[name].metadata['help']}" for name in keywords]
    listed = "\n".join(fill(text, 100, initial_indent=8 * " ", subsequent_indent=12 * " ") for text in texts)

    def decorate(function: Callable[[T, S], R]) -> Callable[Concatenate[T, P], R]:
        (name, first), *_ = inspect.signature(function).parameters.items()
        signature = inspect.Signature([first, *keywords.values()])

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            for unknown in kwargs.keys() - signature.parameters.keys():
                if unknown in KEYWORDS or unknown == "fun":
                    raise TypeError(f"{unknown} is a keyword of minimize, but not of Optimizer")
                raise TypeError(f"{unknown} is not a keyword{suggestion(unknown, ['fun', *KEYWORDS])}")
            arguments = signature.bind(*args, **kwargs).arguments
            return function(arguments.pop(name), checked(**arguments))

        summary, _, rest = (function.__doc__ or "").partition("\n\n")
        call.__doc__ = f"{summary}\n\n    Args:\n{listed}\n\n{rest}"
        call.__dict__["__signature__"] = signature
        return call

    return decorate
