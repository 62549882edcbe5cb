"""A missing optional package is named together with what installs it."""

from __future__ import annotations

import pytest

from r1nes.extras import needs


def test_a_missing_package_names_its_extra() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match=r"not_there is not installed; pip install 'r1nes\[plot\]'"),
        needs("not_there", extra="plot"),
    ):
        import not_there.at_all  # type: ignore[import-not-found]  # noqa: F401


def test_other_missing_packages_are_not_blamed_on_the_extra() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match="No module named 'elsewhere'"),
        needs("there", extra="plot"),
    ):
        import elsewhere  # type: ignore[import-not-found]  # noqa: F401
