"""A local Dask cluster for benchmarks: each process is started separately, and all traffic can be counted."""

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


class Proxy:
    """Forwards connections to another local port and counts the bytes."""

    def __init__(self, target: int) -> None:
        """Listen on a free port and forward to ``target``."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.bytes = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                outer, _ = self._listener.accept()
                inner = socket.create_connection(("127.0.0.1", self._target))
                for source, sink in ((outer, inner), (inner, outer)):
                    threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 20):
                with self._lock:
                    self.bytes += len(data)
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        """Stop accepting connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@dataclass
class Cluster:
    """A Dask scheduler and its workers; if ``counted``, each behind a proxy."""

    stack: ExitStack
    counted: bool
    address: str = ""
    proxies: list[Proxy] = field(default_factory=list)
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def traffic(self) -> int:
        """Bytes sent so far, in both directions."""
        return sum(proxy.bytes for proxy in self.proxies)

    def add_worker(self) -> None:
        """Start a worker with one thread and no nanny, so that it is not restarted if killed."""
        port = _free_port()
        listen, contact = f"tcp://127.0.0.1:{port}", self._address(port)
        options = ["--listen-address", listen, "--contact-address", contact, "--nthreads", "1", "--no-nanny"]
        self.workers.append(self._process("dask_worker", self.address, *options))

    def start_scheduler(self) -> None:
        """Start the scheduler; call this once, before ``add_worker``."""
        port = _free_port()
        self._process("dask_scheduler", "--host", "127.0.0.1", "--port", str(port))
        self.address = self._address(port)
        _wait_for(port)

    def _address(self, port: int) -> str:
        """The address of ``port``, or of a new proxy in front of it."""
        if self.counted:
            proxy = Proxy(port)
            self.stack.callback(proxy.close)
            self.proxies.append(proxy)
            port = proxy.port
        return f"tcp://127.0.0.1:{port}"

    def _process(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *options, "--no-dashboard"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.stack.callback(_end, process)
        return process


@contextmanager
def cluster(workers: int, *, counted: bool = True) -> Iterator[Cluster]:
    """Run a scheduler and ``workers`` workers within the context, behind proxies if ``counted``."""
    with ExitStack() as stack:
        started = Cluster(stack, counted)
        started.start_scheduler()
        for _ in range(workers):
            started.add_worker()
        yield started


def _end(process: subprocess.Popen[bytes]) -> None:
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
    raise TimeoutError(f"no process listens on port {port} after 30 seconds")
