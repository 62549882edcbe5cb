"""The grid runner: every missing run in a process of its own, every finished one on disk at once.

Only the process that runs ``run`` writes. Kill it at any moment: its workers notice and end, the runs under
way are lost, and the next ``run`` goes on with what is missing.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from r1nes.arguments import count
from r1nes.bench.functions.bbob import FUNCTIONS
from r1nes.bench.functions.problems import TEXTBOOK
from r1nes.bench.runner.measure import BENCH_METHODS, Cell, measure_cell
from r1nes.bench.runner.peers import PEERS
from r1nes.bench.runner.progress_bar import progress_bar
from r1nes.bench.runner.records import Record, Records, read_records

BLAS_THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]


def default_budget(dim: int) -> int:
    """The evaluations a run may take: the best published ones on BBOB's functions are fewer up to d = 640."""
    return 10_000 * dim + 30 * dim**2


def grid(
    methods: Iterable[str],
    functions: Iterable[str],
    dims: Iterable[int],
    trials: int,
    max_evals: int | None = None,
) -> list[Cell]:
    """Every method on every function in every dimension, ``trials`` times."""
    methods, functions, dims = dict.fromkeys(methods), dict.fromkeys(functions), dict.fromkeys(dims)
    _known("method", methods, BENCH_METHODS)
    _known("function", functions, [*FUNCTIONS, *TEXTBOOK])
    for dim in dims:
        count("dim", dim, least=2)
    if max_evals is not None:
        count("budget", max_evals)
    return [
        Cell(method, function, dim, trial, max_evals or default_budget(dim))
        for function in functions
        for dim in dims
        for method in methods
        for trial in range(1, count("trials", trials) + 1)
    ]


def run(cells: Iterable[Cell], path: Path, *, jobs: int = 1) -> tuple[list[Record], dict[Cell, str]]:
    """Run the cells that ``path`` has no record of yet, ``jobs`` at a time.

    Returns:
        The records of ``cells``, in their order, and for each run that raised an exception its traceback.
        A KeyboardInterrupt ends the runs under way; those recorded so far are then what there is.
    """
    cells, jobs = list(dict.fromkeys(cells)), count("jobs", jobs)
    failures: dict[Cell, str] = {}
    with Records(path) as records:
        done = {cell_of(record) for record in read_records(path)}
        # The longest runs first, so that none of them is left to run alone in the end.
        missing = sorted((cell for cell in cells if cell not in done), key=_cost, reverse=True)
        for peer in {cell.method for cell in missing} & PEERS.keys():
            PEERS[peer].load()  # one that is not installed is told of before the first run
        with (
            suppress(KeyboardInterrupt),
            progress_bar([_cost(cell) for cell in missing]) as advance,
            closing(_outcomes(missing, jobs)) as outcomes,
        ):
            for cell, outcome in outcomes:
                if isinstance(outcome, str):
                    failures[cell] = outcome
                else:
                    records.append(outcome)
                advance(_cost(cell), str(cell))
        found = {cell_of(record): record for record in read_records(path)}
    return [found[cell] for cell in cells if cell in found], failures


def _known(what: str, names: Iterable[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"{what} must be one of {', '.join(known)}; got {name!r}")


def cell_of(record: Record) -> Cell:
    """Which run a record is of."""
    return Cell(**{name: record[name] for name in Cell.__match_args__ if name in record})


def _cost(cell: Cell) -> float:
    """How long a run may take, up to a factor: the cost of an evaluation shows its d from about 100 on."""
    return cell.budget * (100.0 + cell.dim)


def _outcomes(cells: list[Cell], jobs: int) -> Generator[tuple[Cell, Record | str]]:
    """Each cell with its record or the traceback of what went wrong, as they come."""
    if sys.platform == "win32":
        context = multiprocessing.get_context("spawn")
    else:  # quick to start, with everything imported already, and without the open files of this process
        context = multiprocessing.get_context("forkserver")
        peers = {PEERS[cell.method].module for cell in cells if cell.method in PEERS}
        context.set_forkserver_preload([__name__, *sorted(peers)])
    waiting = deque(cells)
    running: dict[Connection, tuple[Cell, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                cell = waiting.popleft()
                receiver, sender = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=_work, args=(cell, sender), daemon=True)
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
        except EOFError:  # it died without a word
            outcome = ""
    process.join()
    return outcome or f"its process ended with exit code {process.exitcode}"


def _work(cell: Cell, sender: Connection) -> None:
    """In a process of its own: measure the cell and send the record, or the traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the runner decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send(measure_cell(cell))
    except Exception:
        sender.send(traceback.format_exc())


def _end_with_parent() -> None:
    """Outlive the runner by no more than an instant, even in the midst of an evaluation."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """For processes started within: more threads than cores only slow each other down."""
    unset = [name for name in BLAS_THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]
