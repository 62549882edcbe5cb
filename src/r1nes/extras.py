"""Optional packages: a missing one gives an error that says what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(package: str, *, extra: str) -> Iterator[None]:
    """Around the import of an optional ``package``: names the ``extra`` that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"{package} is not installed; pip install 'r1nes[{extra}]' brings it", name=package
        ) from None
