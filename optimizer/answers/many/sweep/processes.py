"""The runs of a sweep on processes of this machine: each loads what is known once and keeps its predictions."""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from multiprocessing.connection import wait
from typing import Any

from optimizer.answers.many.sweep.dealing import dealt, predicted_alike
from optimizer.answers.many.sweep.planning import RunPlanner
from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRun
from optimizer.base.memory import BYTES_PER_GB, Memory
from optimizer.base.workers import WorkerProcess
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


class _Process(WorkerProcess):
    """A process with the runs that it is to answer, one at a time."""

    def __init__(self, catalogs: Mapping[str, Catalogs], limits: RunLimits) -> None:
        super().__init__(_work, (catalogs, limits))
        self.runs: deque[SweepRun] = deque()

    @property
    def awaited(self) -> Any:
        """The end of the pipe that the answer comes through."""
        return self.connection


def _work(connection: Any) -> None:
    """The life of a worker: what is known, then runs, until nobody asks any more."""
    try:
        planner = RunPlanner(*connection.recv())
        while True:
            connection.send(planner.row(connection.recv()))
    except (EOFError, OSError):
        # whoever asked has gone
        return
