"""The runs of a sweep on a Ray cluster: actors instead of processes, everything else as it is there."""

import os
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

from optimizer.answers.many.sweep.dealing import dealt
from optimizer.answers.many.sweep.planning import RunPlanner
from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRun
from optimizer.base.errors import Finding, InputError
from optimizer.base.extras import optional
from optimizer.base.memory import BYTES_PER_GB
from optimizer.inputs.catalog.records import Catalogs

RAY_EXTRA: Final = "ray"
USAGE_STATISTICS: Final = "RAY_USAGE_STATS_ENABLED"
"""Ray tells its makers of every cluster unless this says 0; nothing that runs here calls home."""


def rows_of_ray(
    runs: Sequence[SweepRun], catalogs: Mapping[str, Catalogs], limits: RunLimits, jobs: int | None, address: str | None
) -> Generator[SweepRow]:
    """The row of each run as it is worked out, in no order.

    Args:
        runs: What is asked.
        catalogs: What is known, by the name that runs call it.
        limits: Of each run.
        jobs: Actors at once; as many as the cluster has cores where it is None.
        address: Of the cluster; None makes one of this machine, which ends with the sweep.

    Raises:
        InputError: Ray is not installed, or no cluster is at the address.
    """
    ray: Any = optional("ray", extra=RAY_EXTRA)
    os.environ.setdefault(USAGE_STATISTICS, "0")
    own = {"num_cpus": jobs, "include_dashboard": False} if address is None else {"address": address}
    try:
        ray.init(logging_level="error", log_to_driver=False, **own)
    except (ConnectionError, ValueError) as error:
        where = "--address", f"no Ray cluster answers at {address}: {' '.join(str(error).split())}"
        raise InputError([Finding("this command", 0, *where, "HOST:PORT of its head node, or auto")]) from error
    try:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cores = int(sum(node.get("CPU", 0) for node in nodes))
        share_gb = min(node["memory"] / node["CPU"] for node in nodes if node.get("CPU")) / BYTES_PER_GB
        within = RunLimits(limits.work_limit, limits.time_limit_s, limits.max_memory_gb or share_gb)
        known = ray.put(dict(catalogs))
        workers = [_Actor(ray, known, within) for _ in range(min(jobs or cores, cores, len(runs)))]
        yield from dealt(runs, workers, lambda awaited: ray.wait(awaited)[0], limits)
    finally:
        ray.shutdown()


class _Actor:
    """An actor that answers one run at a time."""

    def __init__(self, ray: Any, known: Any, limits: RunLimits) -> None:
        self._ray, self._known, self._limits = ray, known, limits
        self.runs: deque[SweepRun] = deque()
        self.awaited: Any = None
        self._start()

    def _start(self) -> None:
        self._planner = self._ray.remote(num_cpus=1)(RunPlanner).remote(self._known, self._limits)

    def ask(self, run: SweepRun) -> None:
        """Hands over a run."""
        self.awaited = self._planner.row.remote(run)

    def answer(self) -> SweepRow | None:
        """The row of the run that was handed over; None where the actor died, and another takes its place."""
        try:
            row: SweepRow = self._ray.get(self.awaited)
        except self._ray.exceptions.RayActorError:
            self._start()
            return None
        return row

    def end(self) -> None:
        """At once, whatever it is at."""
        self._ray.kill(self._planner)
