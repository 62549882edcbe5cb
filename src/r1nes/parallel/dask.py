"""The line to a Dask cluster, which may break at any moment: while a value travels, while nobody looks.

Dask connects again by itself, and cancels what was under way. Two breaks it does not survive, and both would
leave us waiting for ever: one in the middle of fetching a value, which its Executor passes over in silence,
and one that hits the new connection while it is made, after which the client reports nothing any more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from typing import Any
from weakref import WeakKeyDictionary

CLOSED = ("closing", "closed")
RECONNECTION = 10.0  # seconds, after which it is worth finding out whether the line is there again


class Line:
    """The tasks of a Dask client as futures that end, whatever happens; one that is deaf is replaced."""

    def __init__(self, client: Any) -> None:
        """``client`` remains its owner's."""
        if client.status in CLOSED or client.asynchronous:
            raise ValueError(
                f"workers must be a Dask client that is open and not asynchronous, got {client!r}"
            )
        self._client = self._given = client
        self._address = client.scheduler.address
        self._keys: WeakKeyDictionary[Future[Any], str] = WeakKeyDictionary()

    @property
    def client(self) -> Any:
        """The one that has the line at the moment."""
        if self._client.status in CLOSED:
            raise ConnectionError(f"the Dask client of {self._address} is closed")
        return self._client

    def submit(self, function: Callable[..., Any], *args: Any, **where: Any) -> Future[Any]:
        """Have ``function`` called by a worker; a line that breaks is an exception of the future."""
        client = self.client
        task = client.submit(function, *args, pure=False, **where)

        async def value() -> Any:
            try:
                return await task
            except CancelledError as error:  # Dask lost it; asyncio would make of it what is no Exception
                raise ConnectionError(f"{task.key} was cancelled") from error

        future = asyncio.run_coroutine_threadsafe(value(), client.loop.asyncio_loop)
        self._keys[future] = task.key
        return future

    def wait(self) -> None:
        """Until Dask is no longer busy connecting again, or for long."""
        deadline = time.monotonic() + RECONNECTION
        while self._client.status == "connecting" and time.monotonic() < deadline:
            time.sleep(0.05)

    def replace_if_deaf(self, futures: Iterable[Future[Any]]) -> bool:
        """Have another client if the scheduler has not heard of ``futures``, which then never end."""
        keys, given = [self._keys[future] for future in futures], self._given
        try:
            client = self.client
            states = client.sync(client.scheduler.get_task_status, keys=keys)
            if None not in states.values():
                return False
            successor = type(given)(self._address, security=given.security, set_as_default=False)
        except OSError:  # the line is broken at the moment: Dask connects again, or says that it cannot
            return False
        self.close()
        self._client = successor
        return True

    def close(self) -> None:
        """Close the client, if it is our own."""
        if self._client is not self._given:
            close(self._client)


def close(client: Any) -> None:
    """Close ``client``, even one that has gone deaf, whose own ``close`` fails."""
    try:
        client.close()
    except Exception:
        client.status = "closed"
