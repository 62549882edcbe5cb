"""The grid runner: each missing run gets its own process, and each finished run is stored immediately.

Only the process that calls ``run`` writes. It can be killed at any time: its workers exit, the runs in
progress are lost, and the next call of ``run`` continues with the missing ones.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from r1nes.arguments import count
from r1nes.bench.functions.problems import FUNCTIONS
from r1nes.bench.runner.measure import BENCH_METHODS, OWN, Cell, measure_cell
from r1nes.bench.runner.peers import PEERS
from r1nes.bench.runner.progress_bar import progress_bar
from r1nes.bench.runner.records import Record, Records, read_records

BLAS_THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]


def default_budget(dim: int) -> int:
    """Return the evaluations allowed per run: above the best published ones on BBOB up to d = 640."""
    return 10_000 * dim + 30 * dim**2


def grid(
    methods: Iterable[str],
    functions: Iterable[str],
    dims: Iterable[int],
    trials: int | Sequence[int],
    max_evals: int | Sequence[int] | None = None,
    restarts: int = 0,
) -> list[Cell]:
    """Return ``trials`` runs of every method on every function in every dimension.

    ``trials`` and ``max_evals`` are the same for all dimensions, or one number for each. Only methods of this
    package restart.
    """
    methods, functions, dims = dict.fromkeys(methods), dict.fromkeys(functions), list(dims)
    _known("method", methods, BENCH_METHODS)
    _known("function", functions, FUNCTIONS)
    for dim in dims:
        count("dim", dim, least=2)
    repeats = _for_each("trials", trials, dims)
    budgets = [default_budget(dim) for dim in dims]
    if max_evals is not None:
        budgets = _for_each("budget", max_evals, dims)
    return [
        Cell(method, function, dim, trial, budget, restarts if method in OWN else 0)
        for function in functions
        for dim, repeat, budget in zip(dims, repeats, budgets, strict=True)
        for method in methods
        for trial in range(1, repeat + 1)
    ]


def _for_each(name: str, given: int | Sequence[int], dims: list[int]) -> list[int]:
    """Return a number for each dimension."""
    numbers = [given] if isinstance(given, int) else given
    if len(numbers) not in (1, len(dims)):
        raise ValueError(
            f"{name} must be one number, or one for each of {len(dims)} dims; got {len(numbers)}"
        )
    numbers = [count(name, number) for number in numbers]
    return numbers * len(dims) if len(numbers) == 1 else numbers


def run(
    cells: Iterable[Cell], path: Path, *, jobs: int = 1, as_published: bool = False
) -> tuple[list[Record], dict[Cell, str]]:
    """Run the cells that have no record in ``path`` yet, ``jobs`` at a time; see ``measure_cell``.

    A KeyboardInterrupt stops the runs in progress; the records written so far are returned.

    Returns:
        The records of ``cells``, in their order, and the traceback of each run that raised an exception.
    """
    cells, jobs = list(dict.fromkeys(cells)), count("jobs", jobs)
    failures: dict[Cell, str] = {}
    with Records(path) as records:
        done = {cell_of(record) for record in read_records(path)}
        # Start the longest runs first, so that none of them runs alone at the end.
        missing = sorted((cell for cell in cells if cell not in done), key=_cost, reverse=True)
        for peer in {cell.method for cell in missing} & PEERS.keys():
            PEERS[peer].load()  # reports a missing package before the first run
        with (
            suppress(KeyboardInterrupt),
            progress_bar([_cost(cell) for cell in missing]) as advance,
            closing(_outcomes(missing, jobs, as_published)) as outcomes,
        ):
            for cell, outcome in outcomes:
                if isinstance(outcome, str):
                    failures[cell] = outcome
                else:
                    records.append(outcome)
                advance(_cost(cell), str(cell))
    return recorded(cells, path), failures


def recorded(cells: Iterable[Cell], path: Path) -> list[Record]:
    """Return the records of ``cells`` in the file ``path``, in the order of the cells."""
    found = {cell_of(record): record for record in read_records(path)}
    return [found[cell] for cell in cells if cell in found]


def _known(what: str, names: Iterable[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what} must be one of {', '.join(known)}; got {name!r}")


def cell_of(record: Record) -> Cell:
    """Return the cell that produced a record."""
    return Cell(**{name: record[name] for name in Cell.__match_args__ if name in record})


def _cost(cell: Cell) -> float:
    """Return the relative cost of a run: below d ≈ 100 all evaluations cost about the same."""
    return cell.budget * (100.0 + cell.dim)


def _outcomes(cells: list[Cell], jobs: int, as_published: bool) -> Generator[tuple[Cell, Record | str]]:
    """Yield each cell with its record, or with a traceback if it failed, in order of completion."""
    if sys.platform == "win32":
        context = multiprocessing.get_context("spawn")
    else:  # starts quickly with all modules imported, and does not inherit open files
        context = multiprocessing.get_context("forkserver")
        peers = {PEERS[cell.method].module for cell in cells if cell.method in PEERS}
        context.set_forkserver_preload([__name__, "r1nes.bench.runner.preloaded", *sorted(peers)])
    waiting = deque(cells)
    running: dict[Connection, tuple[Cell, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.popleft()
                receiver, sender = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(
                    target=_work, args=(cell, as_published, sender), daemon=True
                )
                with single_blas_thread():
                    process.start()
                sender.close()
                running[receiver] = cell, process
            ready = wait(list(running))
            for receiver in [receiver for receiver in running if receiver in ready]:
                cell, process = running.pop(receiver)
                yield cell, _receive(receiver, process)
    finally:
        for _, process in running.values():
            process.kill()
            process.join()


def _receive(receiver: Connection, process: BaseProcess) -> Record | str:
    with receiver:
        try:
            outcome: Record | str = receiver.recv()
        except EOFError:  # the process died without sending anything
            outcome = ""
    process.join()
    return outcome or f"the worker process ended with exit code {process.exitcode}"


def _work(cell: Cell, as_published: bool, sender: Connection) -> None:
    """Measure the cell in a worker process and send its record or a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; only the runner acts on it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send(measure_cell(cell, as_published=as_published))
    except Exception:
        sender.send(traceback.format_exc())


def _end_with_parent() -> None:
    """Exit as soon as the runner is gone, even during an evaluation."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in processes started within, so that ``jobs`` do not compete for cores."""
    unset = [name for name in BLAS_THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]
