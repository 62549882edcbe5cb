"""The line to a Dask cluster, which may break at any moment: while a value travels, while nobody looks.

Dask connects again by itself, and cancels what was under way. Two breaks it does not survive, and both would
leave us waiting for ever: one in the middle of fetching a value, which its Executor passes over in silence,
and one that hits the new connection while it is made, after which the client reports nothing any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary


class Line:
    """The tasks of a Dask client as futures that end, whatever happens; one that is deaf is replaced."""

    def __init__(self, client: Any) -> None:
        """``client`` remains its owner's."""
        self.client = self._given = client
        self._keys: WeakKeyDictionary[Future[Any], str] = WeakKeyDictionary()

    def submit(self, function: Callable[..., Any], *args: Any, **where: Any) -> Future[Any]:
        """Have ``function`` called by a worker; a line that breaks is an exception of the future."""
        task = self.client.submit(function, *args, pure=False, **where)

        async def value() -> Any:
            return await task

        future = asyncio.run_coroutine_threadsafe(value(), self.client.loop.asyncio_loop)
        self._keys[future] = task.key
        return future

    def is_deaf(self, futures: Iterable[Future[Any]]) -> bool:
        """Whether the scheduler has not heard of ``futures``, so that they never end; replaces the client."""
        keys = [self._keys[future] for future in futures]
        try:
            states = self.client.sync(self.client.scheduler.get_task_status, keys=keys)
        except OSError:  # the line is broken at the moment: Dask connects again, or says that it cannot
            return False
        if None not in states.values():
            return False
        self.close()
        given = self._given
        self.client = type(given)(given.scheduler.address, security=given.security, set_as_default=False)
        return True

    def close(self) -> None:
        """Close the client, if it is our own."""
        if self.client is not self._given:
            close(self.client)


def close(client: Any) -> None:
    """Close ``client``, even one that has gone deaf, whose own ``close`` fails."""
    try:
        client.close()
    except Exception:
        client.status = "closed"
