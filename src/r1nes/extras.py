"""Imports of optional packages, with an error that names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(package: str, *, extra: str) -> Iterator[None]:
    """Wrap the import of an optional ``package``; the error for a missing one names the ``extra``."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"{package} is not installed; pip install 'r1nes[{extra}]' installs it", name=package
        ) from None
