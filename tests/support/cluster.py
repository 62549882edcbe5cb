"""A Dask cluster of local processes whose connections can be counted and cut."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from distributed import Client


class Proxy:
    """Forwards connections to another local port and counts the bytes."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.bytes = 0
        self.cut_at: bytes | None = None  # drop the next message that contains it and cut all connections
        self.is_down = False  # whether to close new connections at once
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                outer, _ = self._listener.accept()
                if self.is_down:
                    outer.close()
                    continue
                try:
                    inner = socket.create_connection(("127.0.0.1", self._target))
                except ConnectionError:  # nobody is there any more
                    outer.close()
                    continue
                self._sockets += [outer, inner]
                for source, sink in ((outer, inner), (inner, outer)):
                    threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 20):
                if self.cut_at is not None and self.cut_at in data:
                    self.cut_at = None
                    self.cut()
                    break
                with self._lock:
                    self.bytes += len(data)
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut(self) -> int:
        """Close every connection and return their number; new ones are accepted."""
        sockets, self._sockets = self._sockets, []
        for end in sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return len(sockets) // 2

    def close(self) -> None:
        """Stop accepting connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@dataclass
class Cluster:
    """A scheduler and its workers, each behind a proxy."""

    stack: ExitStack
    address: str = ""
    proxies: list[Proxy] = field(default_factory=list)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    scheduler: subprocess.Popen[bytes] | None = None

    def traffic(self) -> int:
        """Bytes sent so far, in both directions."""
        return sum(proxy.bytes for proxy in self.proxies)

    def add_worker(self) -> None:
        """Start a worker with one thread and no nanny, so that a killed worker is not restarted."""
        port = _free_port()
        listen, contact = f"tcp://127.0.0.1:{port}", self._proxied(port)
        options = ["--listen-address", listen, "--contact-address", contact, "--nthreads", "1", "--no-nanny"]
        self.workers.append(self._process("dask_worker", self.address, *options))

    def add_nanny(self) -> None:
        """Start a nanny: it starts a worker with one thread, and another one whenever that is killed."""
        self.workers.append(self._process("dask_worker", self.address, "--nthreads", "1", "--nanny"))

    def start_scheduler(self) -> None:
        """Start the scheduler; call it once, before workers are added."""
        port = _free_port()
        self.scheduler = self._process("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
        self.address = self._proxied(port)
        _wait_for(port)

    def _proxied(self, port: int) -> str:
        """The address of a new proxy in front of ``port``."""
        proxy = Proxy(port)
        self.stack.callback(proxy.close)
        self.proxies.append(proxy)
        return f"tcp://127.0.0.1:{proxy.port}"

    def _process(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.stack.callback(_kill, process)
        return process


@contextmanager
def connected_cluster() -> Iterator[tuple[Cluster, Any]]:
    """A cluster of two workers and a client that is connected to it."""
    with ExitStack() as stack:
        cluster = Cluster(stack)
        cluster.start_scheduler()
        for _ in range(2):
            cluster.add_worker()
        client = stack.enter_context(Client(cluster.address, set_as_default=False))
        client.wait_for_workers(2)
        yield cluster, client


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no process listens on port {port}")
