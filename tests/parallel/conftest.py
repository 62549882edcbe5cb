"""Dask clusters for the tests of this room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.cluster import Cluster, connected_cluster


@pytest.fixture(scope="session")
def safe() -> Iterator[tuple[Cluster, Any]]:
    """A cluster that no test changes, shared by all tests of a process."""
    with connected_cluster() as pair:
        yield pair


@pytest.fixture
def doomed() -> Iterator[tuple[Cluster, Any]]:
    """A cluster whose workers may be killed."""
    with connected_cluster() as pair:
        yield pair
