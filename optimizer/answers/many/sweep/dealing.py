"""The runs of a sweep dealt to workers, wherever these are: a worker is idle only when nothing is left to begin.

Runs that are predicted alike go to the same worker one after another. A worker that dies takes down its run alone,
which is tried once more.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from optimizer.answers.many.sweep.planning import failed
from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRun

TRIES: Final = 2
"""Of a run whose worker dies."""

Wait: TypeAlias = Callable[[list[Any]], Iterable[Any]]
"""Of what is awaited, what has come; at least one."""


class Worker(Protocol):
    """Answers one run at a time."""

    runs: deque[SweepRun]
    """What it is to answer next."""

    @property
    def awaited(self) -> Any:
        """Stands for the answer to come; told apart from any other worker's."""

    def ask(self, run: SweepRun) -> None:
        """Hands over a run."""

    def answer(self) -> SweepRow | None:
        """The row of the run that was handed over; None where the worker died, and another takes its place."""

    def end(self) -> None:
        """At once, whatever it is at."""


def dealt(runs: Sequence[SweepRun], workers: Sequence[Worker], wait: Wait, limits: RunLimits) -> Generator[SweepRow]:
    """The row of each run as it is worked out, in no order; the workers are ended with it."""
    unstarted = deque(predicted_alike(runs))
    at_work: dict[Any, tuple[Worker, SweepRun, int]] = {}

    def hand_over(worker: Worker, run: SweepRun, tries: int) -> None:
        worker.ask(run)
        at_work[worker.awaited] = worker, run, tries

    def next_run(worker: Worker) -> SweepRun | None:
        if not worker.runs:
            # a group that nobody has begun, else a part of the longest that is left
            worker.runs = unstarted.popleft() if unstarted else max((each.runs for each in workers), key=len)
        return worker.runs.popleft() if worker.runs else None

    idle = list(workers)
    try:
        while idle or at_work:
            for worker in idle:
                run = next_run(worker)
                if run is not None:
                    hand_over(worker, run, 1)
            idle = []
            for ready in wait(list(at_work)) if at_work else ():
                worker, run, tries = at_work.pop(ready)
                row = worker.answer()
                if row is None and tries < TRIES:
                    hand_over(worker, run, tries + 1)
                    continue
                yield row or failed(run, "its process died: it was ended, or there is not enough memory", limits)
                idle.append(worker)
    finally:
        for worker in workers:
            worker.end()


def predicted_alike(runs: Sequence[SweepRun]) -> list[deque[SweepRun]]:
    """Runs that share predictions stand together, the largest such group first, equal service levels in a row."""
    groups = defaultdict[str, list[SweepRun]](list)
    for run in runs:
        groups[run.predictions].append(run)
    largest_first = sorted(groups.values(), key=len, reverse=True)
    return [deque(sorted(group, key=lambda run: run.levels)) for group in largest_first]
