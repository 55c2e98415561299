"""What happened between two moments, or since the servers started: counters and histograms of all replicas together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from optimizer.answers.running.watch.exposition import Labels, number
from optimizer.answers.running.watch.scrapes import Observed, Replicas
from optimizer.base.arrays import Floats
from optimizer.base.errors import Finding, InputError

OF_PROMETHEUS: Final = ("instance", "pod")
"""Labels that Prometheus adds and that tell servers apart."""
MODEL_LABEL: Final = "model_name"


class Series(NamedTuple):
    """One line of a server's metrics: where it stands, and its labels."""

    source: str
    labels: Labels


@dataclass(frozen=True)
class Histogram:
    """How many of so many values lie in each bucket, all replicas together.

    Attributes:
        edges: (b,) largest value of each bucket, the last one infinite.
        counts: (b,) values in it, not those below.
        total: Of all values; not a number where nobody says.
    """

    edges: Floats
    counts: Floats
    total: float

    @property
    def count(self) -> int:
        """Values in all."""
        return round(float(np.sum(self.counts)))


class Window:
    """What happened between two moments.

    Args:
        observed: Both, or one: then everything since the servers started.
        replica_label: By which the engine tells replicas in one process apart; empty where it has none.
    """

    def __init__(self, observed: Observed, replica_label: str = "") -> None:
        self._later, self._earlier, self.seconds = observed.later, observed.earlier, observed.seconds
        self._replica_labels = {*OF_PROMETHEUS, replica_label} - {""}

    @property
    def moments(self) -> int:
        """Two, or one."""
        return 1 if self._earlier is None else 2

    def newcomers(self, metric: str) -> set[Series]:
        """Replicas of which the earlier moment says nothing: nobody knows what of their counters came in between."""
        if self._earlier is None:
            return set()
        told = (name for scrape in self._earlier.values() for name in scrape.samples)
        known = {self._replica(series) for name in dict.fromkeys(told) for series, _ in _series(self._earlier, name)}
        return self.replicas(metric) - known

    def replicas(self, metric: str) -> set[Series]:
        """Those of which a metric tells at the later moment."""
        return {self._replica(series) for series, _ in _series(self._later, metric)}

    def models(self, metric: str) -> list[str]:
        """Names of the models of which a metric tells."""
        labels = (dict(series.labels) for series, _ in _series(self._later, metric))
        return sorted({each[MODEL_LABEL] for each in labels if MODEL_LABEL in each})

    def changed(self, metric: str) -> str:
        """Why a counter does not tell of the whole time between; empty where it does."""
        if self._earlier is None:
            return ""
        before, now = dict(_series(self._earlier, metric)), dict(_series(self._later, metric))
        was, are = {self._replica(each) for each in before}, {self._replica(each) for each in now}
        if any(before[series] > now[series] for series in before if series in now):
            return "a server started again between the two, and its counters from zero"
        if was != are:
            return f"{len(was)} replicas told of themselves first and {len(are)} last, not all of them the same"
        return ""

    def counted(self, metric: str) -> float | None:
        """By how much a counter rose, over all its labels; one that fell began again at zero. None where it is not.

        Newcomers are left out; new labels of a replica that was there began at zero.
        """
        new = self.newcomers(metric)
        now = {series: value for series, value in _series(self._later, metric) if self._replica(series) not in new}
        before = dict(_series(self._earlier or {}, metric))
        went_on = {series: before.get(series, 0.0) <= value for series, value in now.items()}
        risen = (value - before.get(series, 0.0) if went_on[series] else value for series, value in now.items())
        return sum(max(rise, 0.0) for rise in risen) if now else None

    def gauge(self, metric: str) -> dict[Series, list[float]]:
        """Every reading at each moment, by replica."""
        readings: dict[Series, list[float]] = {}
        for at in (self._earlier, self._later):
            for series, value in _series(at or {}, metric):
                readings.setdefault(self._replica(series), []).append(value)
        return readings

    def histogram(self, metric: str) -> Histogram | None:
        """The values of a histogram that came in between, newcomers left out; None where there is none.

        Raises:
            InputError: buckets are missing, count down, or differ between replicas.
        """
        new = self.newcomers(f"{metric}_bucket")
        told, before = _histograms(self._later, metric), _histograms(self._earlier or {}, metric)
        now = {series: each for series, each in told.items() if self._replica(series) not in new}
        if not now:
            return None
        edges = next(iter(now.values())).edges
        if any(not np.array_equal(each.edges, edges) for each in (*now.values(), *before.values())):
            raise InputError([_broken(metric, "its buckets differ between servers")])
        parts = [_since(each, before.get(series)) for series, each in now.items()]
        counts = np.sum([part.counts for part in parts], axis=0)
        return Histogram(edges, counts, sum(part.total for part in parts))

    def _replica(self, series: Series) -> Series:
        mine = tuple((name, value) for name, value in series.labels if name in self._replica_labels)
        return Series(series.source, mine)


def _series(at: Replicas, metric: str) -> Iterator[tuple[Series, float]]:
    """Every sample of a metric, wherever it was read."""
    for source, scrape in at.items():
        for labels, value in scrape.samples.get(metric, {}).items():
            yield Series(source, labels), value


def _histograms(at: Replicas, metric: str) -> dict[Series, Histogram]:
    """Each histogram of that name, by its labels but for the bucket's."""
    cumulated: dict[Series, dict[float, float]] = {}
    for series, value in _series(at, f"{metric}_bucket"):
        edge = dict(series.labels).get("le", "")
        rest = tuple(label for label in series.labels if label[0] != "le")
        cumulated.setdefault(Series(series.source, rest), {})[_edge(edge, metric)] = value
    totals = dict(_series(at, f"{metric}_sum"))
    return {
        series: _histogram(by_edge, totals.get(series, float("nan")), metric) for series, by_edge in cumulated.items()
    }


def _edge(text: str, metric: str) -> float:
    try:
        return number(text)
    except ValueError:
        raise InputError([_broken(metric, f'le="{text}" is no bucket')]) from None


def _histogram(by_edge: dict[float, float], total: float, metric: str) -> Histogram:
    edges = np.array(sorted(by_edge))
    cumulated = np.array([by_edge[edge] for edge in edges])
    if not np.isinf(edges[-1]):
        raise InputError([_broken(metric, 'no bucket le="+Inf", so nobody knows how many there are')])
    counts = np.diff(cumulated, prepend=0.0)
    if np.any(counts < 0):
        raise InputError([_broken(metric, "its buckets count down")])
    return Histogram(edges, counts, total)


def _since(now: Histogram, before: Histogram | None) -> Histogram:
    """What came in since; all of it where the server began again."""
    if before is None or np.any(now.counts < before.counts):
        return now
    return Histogram(now.edges, now.counts - before.counts, now.total - before.total)


def _broken(metric: str, problem: str) -> Finding:
    return Finding("--metrics", 0, metric, problem, "save what the server's /metrics says, unchanged")
