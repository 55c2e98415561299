"""The runs of a sweep on processes of this machine: each loads what is known once and keeps its predictions."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from optimizer.answers.sweep.dealing import dealt, predicted_alike
from optimizer.answers.sweep.planning import RunPlanner
from optimizer.answers.sweep.types import RunLimits, SweepRow, SweepRun
from optimizer.base.memory import BYTES_PER_GB, Memory
from optimizer.inputs.catalog.records import Catalogs


def rows_of_processes(
    runs: Sequence[SweepRun], catalogs: Mapping[str, Catalogs], limits: RunLimits, jobs: int
) -> Generator[SweepRow]:
    """The row of each run as it is worked out, in no order; with one job in this process."""
    if jobs == 1:
        planner = RunPlanner(catalogs, limits)
        yield from (planner.row(run) for group in predicted_alike(runs) for run in group)
        return
    share_gb = Memory().limit_bytes / BYTES_PER_GB / jobs
    within = RunLimits(limits.work_limit, limits.time_limit_s, limits.max_memory_gb or share_gb)
    workers = [_Process(catalogs, within) for _ in range(min(jobs, len(runs)))]
    yield from dealt(runs, workers, wait, limits)


class _Process:
    """A process that answers one run at a time."""

    def __init__(self, catalogs: Mapping[str, Catalogs], limits: RunLimits) -> None:
        self._known = catalogs, limits
        self.runs: deque[SweepRun] = deque()
        self._start()

    def _start(self) -> None:
        # a new interpreter: a copy of this one would copy its threads' locks without the threads
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there,), daemon=True)
        with _interrupts_held_back():
            self._process.start()
        there.close()
        self._has_catalogs = False

    @property
    def awaited(self) -> Any:
        """The end of the pipe that the answer comes through."""
        return self.connection

    def ask(self, run: SweepRun) -> None:
        """Hands over a run; what is known goes before the first, once all processes have begun to load."""
        try:
            if not self._has_catalogs:
                self.connection.send(self._known)
                self._has_catalogs = True
            self.connection.send(run)
        except OSError:
            # it has died: whoever waits for its answer finds that out
            pass

    def answer(self) -> SweepRow | None:
        """The row of the run that was handed over; None where the process died, and another takes its place."""
        try:
            row: SweepRow = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            self._start()
            return None
        return row

    def end(self) -> None:
        """At once, whatever it is at."""
        self.connection.close()
        self._process.kill()
        self._process.join()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Processes that start here never hear Ctrl-C, which ends them through their parent; it hears it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(connection: Any) -> None:
    """The life of a worker: what is known, then runs, until nobody asks any more."""
    try:
        planner = RunPlanner(*connection.recv())
        while True:
            connection.send(planner.row(connection.recv()))
    except (EOFError, OSError):
        # whoever asked has gone
        return
