"""The connection to a Dask cluster, which may break at any time, even in the middle of a request.

Dask reconnects by itself and cancels the tasks under way. It does not recover from three kinds of failure,
each of which would leave the run waiting forever:

- a break while a value is being fetched, which Dask's Executor ignores;
- a break of the new connection while it is being established, after which the client no longer receives any
  updates from the scheduler;
- the death of all workers at once, after which the scheduler keeps a task that was meant for one of them in
  the state ``no-worker``, even when others have taken their places (dask/distributed#7346).
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

    def unfinishable(self, futures: Iterable[Future[Any]]) -> tuple[list[Future[Any]], str]:
        """Return those of ``futures`` that would never end, and why.

        If the scheduler lacks any of them, the client no longer receives updates and is replaced.
        """
        keys, given = {future: self._keys[future] for future in futures}, self._given
        try:
            client = self.client
            states = client.sync(client.scheduler.get_task_status, keys=list(keys.values()))
            if None in states.values():
                successor = type(given)(self._address, security=given.security, set_as_default=False)
                self.close()
                self._client = successor
                return list(keys), "the scheduler did not have the task"
            if "no-worker" in states.values() and client.nthreads():
                stranded = [future for future, key in keys.items() if states[key] == "no-worker"]
                return stranded, "the scheduler kept the task for a worker that is gone"
        except OSError:  # no connection at the moment: Dask reconnects, or reports that it cannot
            pass
        return [], ""

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
