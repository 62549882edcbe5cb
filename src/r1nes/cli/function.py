"""Import of the user's function, named on the command line or in a checkpoint."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from pathlib import Path
from typing import Any

PACKAGE = str(Path(__file__).parents[1])


def load(name: str) -> Any:
    """Import the function that ``module:function``, ``file.py:function`` or ``file.py`` names."""
    place, _, attribute = ("", "", name) if ":" not in name else name.rpartition(":")
    if name.endswith(".py"):
        place, attribute = name, ""
    elif not (place and attribute):
        raise ValueError(f"the function must be named as MODULE:FUNCTION or FILE.py:FUNCTION, got {name!r}")
    module = _module(place)
    if not attribute:
        return _only_function(module, place)
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{place} has no {attribute}")
        found = getattr(found, part)
    return found


def _module(place: str) -> Any:
    """Import a module or file; it can import from the working directory or the file's folder."""
    name, path = place, None
    folder = ""
    if place.endswith(".py"):
        path = Path(place).resolve(strict=True)
        name, folder = path.stem, str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name.split(".")[0]:
            raise ValueError(
                f"no module named {name!r} can be imported here; use FILE.py:FUNCTION for a file"
            ) from None
        raise
    except Exception as error:
        raise ValueError(f"{place} cannot be imported: {in_one_line(error)}") from error
    if path is not None and Path(module.__file__ or "").resolve() != path:
        raise ValueError(f"{place} has the same name as the module {module.__file__}: rename it")
    return module


def _only_function(module: Any, place: str) -> Any:
    functions = inspect.getmembers(
        module, lambda found: inspect.isfunction(found) and found.__module__ == module.__name__
    )
    public = {name: function for name, function in functions if not name.startswith("_")}
    if len(public) != 1:
        raise ValueError(
            f"{place} defines {', '.join(public) or 'no function'}: choose one with {place}:FUNCTION"
        )
    return next(iter(public.values()))


def in_one_line(error: Exception) -> str:
    """Describe an error in one line, with the line of the user's code that raised it, if known."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = traceback.extract_tb(error.__traceback__)  # none if it was raised in another process
    if not frames or frames[-1].filename.startswith((PACKAGE, "<frozen")):
        return text
    return f"{text} ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
