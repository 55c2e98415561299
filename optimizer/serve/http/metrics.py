"""What the service is doing, in the text format of Prometheus."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from optimizer.base.memory import resident_bytes
from optimizer.serve.jobs.service import JobService

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Values = Mapping[Any, float]
"""The value of a metric for each of its labels' values."""


class RequestCounts:
    """How many requests there were, by route and status."""

    def __init__(self) -> None:
        self.by_route = Counter[tuple[str, str]]()

    def count(self, route: str, status: int) -> None:
        """One more."""
        self.by_route[route, str(status)] += 1


def exposition(service: JobService, requests: RequestCounts, streams: int) -> str:
    """Every metric; `streams` of events are open."""
    counts, limits = service.counts, service.limits
    seconds = {(kind,): spent for kind, spent in counts.seconds.items()}
    known = Counter((job.state,) for job in service.jobs())
    lines = [
        *_counter("requests", "Requests.", requests.by_route, "route", "status"),
        *_counter("jobs_ended", "Questions that a process was at, by how they ended.", counts.ended, "kind", "state"),
        *_counter("job_seconds", "Time at work on questions.", seconds, "kind"),
        *_counter("answers_shared", "Questions answered by a job that was there already.", {(): counts.shared}),
        *_counter("refused_full", "Questions for which there was no place.", {(): counts.refused}),
        *_counter("workers_lost", "Processes that ended at work, for cancelled jobs too.", {(): counts.lost}),
        *_gauge("jobs", "Jobs that are known.", known, "state"),
        *_gauge("jobs_waiting", "Questions in the queue.", {(): service.waiting}),
        *_gauge("jobs_waiting_limit", "Places in the queue.", {(): limits.max_waiting}),
        *_gauge("event_streams", "Streams of events that are open.", {(): streams}),
        *_gauge("workers", "Processes that answer.", {(): limits.workers}),
        *_gauge("resident_memory_bytes", "Memory of the server itself.", {(): resident_bytes()}),
    ]
    return "\n".join(lines) + "\n"


def _counter(name: str, about: str, values: Values, *labels: str) -> Iterator[str]:
    return _metric(f"optimizer_{name}_total", "counter", about, values, labels)


def _gauge(name: str, about: str, values: Values, *labels: str) -> Iterator[str]:
    return _metric(f"optimizer_{name}", "gauge", about, values, labels)


def _metric(name: str, kind: str, about: str, values: Values, labels: tuple[str, ...]) -> Iterator[str]:
    """A metric's lines: help, type and each value. Labels hold our own words only."""
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for words, value in sorted(values.items()):
        told = ",".join(f'{label}="{word}"' for label, word in zip(labels, words, strict=True))
        yield f"{name}{f'{{{told}}}' if told else ''} {value:.15g}"
