"""The runs of a sweep spread over processes, each of which loads what is known once and keeps its predictions.

Runs that are predicted alike go to the same process one after another. A process that dies takes down its run alone,
which is tried once more.
"""

from collections import defaultdict, deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from typing import Any, Final

from optimizer.answers.sweep.planning import RunPlanner, failed
from optimizer.answers.sweep.types import RunLimits, SweepRow, SweepRun
from optimizer.base.memory import BYTES_PER_GB, Memory
from optimizer.base.workers import WorkerProcess
from optimizer.inputs.catalog.records import Catalogs

TRIES: Final = 2
"""Of a run whose process dies."""


def answered_rows(
    runs: Sequence[SweepRun], catalogs: Mapping[str, Catalogs], limits: RunLimits, jobs: int
) -> Generator[SweepRow]:
    """The row of each run as it is worked out, in no order; with one job in this process."""
    groups = _predicted_alike(runs)
    if jobs == 1:
        planner = RunPlanner(catalogs, limits)
        yield from (planner.row(run) for group in groups for run in group)
        return
    share_gb = Memory().limit_bytes / BYTES_PER_GB / jobs
    within = RunLimits(limits.work_limit, limits.time_limit_s, limits.max_memory_gb or share_gb)
    workers = [_Worker(catalogs, within) for _ in range(min(jobs, len(runs)))]
    try:
        yield from _rows_of(workers, groups, limits)
    finally:
        for worker in workers:
            worker.end()


def _predicted_alike(runs: Sequence[SweepRun]) -> list[deque[SweepRun]]:
    """Runs that share predictions stand together, the largest such group first, equal service levels in a row."""
    groups = defaultdict[str, list[SweepRun]](list)
    for run in runs:
        groups[run.predictions].append(run)
    largest_first = sorted(groups.values(), key=len, reverse=True)
    return [deque(sorted(group, key=lambda run: run.levels)) for group in largest_first]


class _Worker(WorkerProcess):
    """A process with the runs that it is to answer, one at a time."""

    def __init__(self, catalogs: Mapping[str, Catalogs], limits: RunLimits) -> None:
        super().__init__(_work, (catalogs, limits))
        self.runs: deque[SweepRun] = deque()


def _rows_of(workers: list[_Worker], groups: list[deque[SweepRun]], limits: RunLimits) -> Iterator[SweepRow]:
    """Keeps every process at work until all runs are answered."""
    unstarted = deque(groups)
    at_work: dict[Any, tuple[_Worker, SweepRun, int]] = {}

    def hand_over(worker: _Worker, run: SweepRun, tries: int) -> None:
        worker.hand(run)
        at_work[worker.connection] = worker, run, tries

    def next_run(worker: _Worker) -> SweepRun | None:
        if not worker.runs:
            # a group that nobody has begun, else a part of the longest that is left
            worker.runs = unstarted.popleft() if unstarted else max((each.runs for each in workers), key=len)
        return worker.runs.popleft() if worker.runs else None

    idle = list(workers)
    while idle or at_work:
        for worker in idle:
            run = next_run(worker)
            if run is not None:
                hand_over(worker, run, 1)
        idle = []
        for ready in wait(list(at_work)) if at_work else ():
            worker, run, tries = at_work.pop(ready)
            row: SweepRow | None = worker.received()
            if row is None and tries < TRIES:
                hand_over(worker, run, tries + 1)
                continue
            yield row or failed(run, "its process died: it was ended, or there is not enough memory", limits)
            idle.append(worker)


def _work(connection: Any) -> None:
    """The life of a worker: what is known, then runs, until nobody asks any more."""
    try:
        planner = RunPlanner(*connection.recv())
        while True:
            connection.send(planner.row(connection.recv()))
    except (EOFError, OSError):
        # whoever asked has gone
        return
