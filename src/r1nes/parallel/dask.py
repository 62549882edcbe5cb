"""The connection to a Dask cluster, which may break at any time, even in the middle of a request.

Dask reconnects by itself and cancels the tasks under way. It does not recover from two kinds of failure, and
both would leave the run waiting forever: a break while a value is being fetched, which Dask's Executor
ignores, and a break of the new connection while it is being established, after which the client no longer
receives any updates from the scheduler.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from typing import Any
from weakref import WeakKeyDictionary

from r1nes.parallel.backend import RECONNECTION

CLOSED = ("closing", "closed")


class DaskConnection:
    """Submits tasks to a Dask client, as futures that end even if the connection breaks.

    It replaces a client that no longer receives scheduler updates.
    """

    def __init__(self, client: Any) -> None:
        """Use ``client``, which still belongs to the caller and is not closed here."""
        if client.status in CLOSED or client.asynchronous:
            raise ValueError(
                f"workers must be a Dask client that is open and not asynchronous, got {client!r}"
            )
        self._client = self._given = client
        self._address = client.scheduler.address
        self._keys: WeakKeyDictionary[Future[Any], str] = WeakKeyDictionary()

    @property
    def client(self) -> Any:
        """The client in use: the one given, or its replacement."""
        if self._client.status in CLOSED:
            raise ConnectionError(f"the Dask client of {self._address} is closed")
        return self._client

    def submit(self, function: Callable[..., Any], *args: Any, **where: Any) -> Future[Any]:
        """Have a worker call ``function``; if the connection breaks, the future raises ConnectionError."""
        client = self.client
        task = client.submit(function, *args, pure=False, **where)

        async def value() -> Any:
            try:
                return await task
            except CancelledError as error:  # lost by Dask; asyncio's own CancelledError is no Exception
                raise ConnectionError(f"{task.key} was cancelled") from error

        future = asyncio.run_coroutine_threadsafe(value(), client.loop.asyncio_loop)
        self._keys[future] = task.key
        return future

    def wait_until_reconnected(self) -> None:
        """Wait while Dask is reconnecting, for at most ``RECONNECTION`` seconds."""
        deadline = time.monotonic() + RECONNECTION
        while self._client.status == "connecting" and time.monotonic() < deadline:
            time.sleep(0.05)

    def replace_disconnected(self, futures: Iterable[Future[Any]]) -> bool:
        """Replace the client if the scheduler lacks any of the tasks ``futures``, which would never end.

        Returns:
            Whether the client was replaced.
        """
        keys, given = [self._keys[future] for future in futures], self._given
        try:
            client = self.client
            states = client.sync(client.scheduler.get_task_status, keys=keys)
            if None not in states.values():
                return False
            successor = type(given)(self._address, security=given.security, set_as_default=False)
        except OSError:  # no connection at the moment: Dask reconnects, or reports that it cannot
            return False
        self.close()
        self._client = successor
        return True

    def close(self) -> None:
        """Close the client if it is a replacement."""
        if self._client is not self._given:
            close(self._client)


def close(client: Any) -> None:
    """Close ``client``, even if it no longer receives scheduler updates, which makes its ``close`` fail."""
    try:
        client.close()
    except Exception:
        client.status = "closed"
