"""What became of simulated requests, held against the limits of their workload: kept, broken, or not decided."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import MS_PER_S
from optimizer.inputs.scenario.scenario import Latency, Workload
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.fleet import Outcome
from optimizer.performance.simulation.luck import DrawnFigures, Luck
from optimizer.performance.simulation.statistics import FEWEST_ALIKE, Bounded, mean, quantile, share_within
from optimizer.plan.record.simulation import (
    LossPhase,
    MeasuredLimit,
    Phase,
    SimulatedClass,
    SimulatedPart,
    Simulation,
    Verdict,
)
from optimizer.plan.simulate.finding import FoundPrompts, joined, prompts_of
from optimizer.plan.simulate.servers import ServedWorkload

Metric = Literal["ttft_ms", "tpot_ms", "e2e_ms"]

PromiseName: TypeAlias = tuple[str, str, str, str]
"""Workload, class, metric and statistic."""

LIKELY: Final = 0.95
"""Of every interval."""
MEAN: Final = "mean"
LEAST_MS: Final = 1e-9


@dataclass(frozen=True)
class ServedRequests:
    """Those of one workload, over all seeds, (n,) each: seconds from the first of their seed until they came, the same
    over the time that all took, milliseconds, and what was found of their prompts where a trace says their blocks."""

    arrived_s: Floats
    arrived_share: Floats
    request_class: Ints
    latency_ms: dict[Metric, Floats]
    prompts: FoundPrompts | None = None
    drawn: DrawnFigures | None = None
    """Where they come at one rate all the time."""

    @property
    def luck(self) -> Luck | None:
        """Of the sample; None where nothing is known of it, or too few came to tell."""
        return None if self.drawn is None or len(self.arrived_s) < FEWEST_ALIKE else Luck.of_sample(self.drawn)

    def of(self, members: Flags) -> "ServedRequests":
        """Some of them."""
        latencies = {name: values[members] for name, values in self.latency_ms.items()}
        arrived = self.arrived_s[members], self.arrived_share[members]
        prompts = None if self.prompts is None else self.prompts.of(members)
        drawn = None if self.drawn is None else self.drawn.of(members)
        return ServedRequests(*arrived, self.request_class[members], latencies, prompts, drawn)

    def after(self, warm_up: float) -> "ServedRequests":
        """But for those of a share of the time: a trace, too, begins with empty replicas."""
        return self.of(self.arrived_share >= warm_up)

    def between(self, from_s: float, to_s: float) -> "ServedRequests":
        """Those that came from one time on and before another."""
        return self.of((self.arrived_s >= from_s) & (self.arrived_s < to_s))


def met_by(
    service: ServedWorkload, runs: Sequence[tuple[Stream, Outcome]], steady: ServedWorkload | None = None
) -> ServedRequests:
    """What became of the requests of all runs, where they come at one rate all the time to that fleet, or to any."""
    before_ms = np.array(service.before_ms)
    parts = []
    for stream, outcome in runs:
        arrived_s = stream.arrived_s[outcome.request] - stream.arrived_s[0]
        outside_ms = before_ms[outcome.server]
        latencies: dict[Metric, Floats] = {
            "ttft_ms": outcome.ttft_s * MS_PER_S + outside_ms,
            "tpot_ms": outcome.tpot_s * MS_PER_S,
            "e2e_ms": outcome.e2e_s * MS_PER_S + outside_ms,
        }
        arrived_share = arrived_s / max(stream.span_s, LEAST_MS)
        prompts = prompts_of(stream, outcome)
        parts.append(
            ServedRequests(
                arrived_s,
                arrived_share,
                stream.request_class[outcome.request],
                latencies,
                prompts,
                None if steady is None else _drawn(steady, stream, outcome),
            )
        )
    drawn = [part.drawn for part in parts if part.drawn is not None]
    return ServedRequests(
        np.concatenate([part.arrived_s for part in parts]),
        np.concatenate([part.arrived_share for part in parts]),
        np.concatenate([part.request_class for part in parts]),
        {name: np.concatenate([part.latency_ms[name] for part in parts]) for name in parts[0].latency_ms},
        joined([part.prompts for part in parts if part.prompts is not None]),
        DrawnFigures(np.concatenate([each.figures for each in drawn]), drawn[0].expected) if drawn else None,
    )


def _drawn(fleet: ServedWorkload, stream: Stream, outcome: Outcome) -> DrawnFigures:
    """The gap before each request that counts, its prompt and its answer, and what is expected of them."""
    looked_at = zip(fleet.servers, outcome.replicas, strict=True)
    expected_s = 1 / (fleet.rate_per_s * min(len(replicas) / server.replicas for server, replicas in looked_at))
    arrived_s = stream.arrived_s[outcome.request]
    gaps_s = np.diff(arrived_s, prepend=arrived_s[:1] - expected_s)
    lengths = stream.input_tokens[outcome.request], stream.output_tokens[outcome.request]
    return DrawnFigures(np.column_stack([gaps_s, *lengths]), np.array([expected_s, *fleet.classes.expected_tokens]))


def judged(service: ServedWorkload, sample: ServedRequests, *, of_record: bool = False) -> Iterator[SimulatedClass]:
    """Each class of the workload against its limits, as `limits_of`."""
    luck = sample.luck
    for number, name in enumerate(service.names):
        members = sample.request_class == number
        mine, own = sample.of(members), None if luck is None else luck.of(members)
        if not len(mine.request_class):
            continue
        within = within_all(service.workload, mine)
        share = share_within(within, LIKELY, alike=not of_record, luck=own)
        yield SimulatedClass.model_validate(
            {
                "workload": service.workload.name,
                "class": name,
                "requests": len(mine.request_class),
                "share_within_limits": share.value,
                "interval": (share.low, share.high),
                **{metric: _statistics(values) for metric, values in mine.latency_ms.items()},
                "limits": list(limits_of(service.workload, mine, of_record=of_record, luck=own)),
                "prefix_cache": None if mine.prompts is None else mine.prompts.share(service.workload),
            }
        )


def over_time(service: ServedWorkload, found: ServedRequests, span_s: float, parts: int) -> Iterator[SimulatedPart]:
    """What requests met that came in each part of the time, the warm-up among them."""
    part = np.minimum((found.arrived_share * parts).astype(np.int64), parts - 1)
    for number in range(parts):
        mine = found.of(part == number)
        if len(mine.request_class):
            yield SimulatedPart(**_met(service, mine, number * span_s / parts, (number + 1) * span_s / parts))


def around_loss(
    service: ServedWorkload, found: ServedRequests, from_s: float, to_s: float, end_s: float
) -> Iterator[LossPhase]:
    """What requests met that came before a loss, while it lasted, and since."""
    phases: tuple[tuple[Phase, float, float], ...] = (
        ("before", 0.0, from_s),
        ("lost", from_s, to_s),
        ("after", to_s, end_s),
    )
    for phase, begins, ends in phases:
        mine = found.between(begins, np.inf if phase == "after" else ends)
        if len(mine.request_class):
            yield LossPhase(phase=phase, **_met(service, mine, begins, ends))


def _met(service: ServedWorkload, mine: ServedRequests, from_s: float, to_s: float) -> dict[str, Any]:
    """The fields of a part of the time."""
    return {
        "workload": service.workload.name,
        "from_s": from_s,
        "to_s": to_s,
        "requests": len(mine.request_class),
        "share_within_limits": float(np.mean(within_all(service.workload, mine))),
        "ttft_p95_ms": _finite(np.quantile(mine.latency_ms["ttft_ms"], QUANTILES["p95"], method="higher")),
    }


def _finite(value: float) -> float | None:
    """The same where it is a number; None for requests that were never answered."""
    return float(value) if np.isfinite(value) else None


def asked_limits(workload: Workload) -> Iterator[tuple[Metric, str, float]]:
    """Each limit of the workload: metric, statistic, ms."""
    limits: tuple[tuple[Metric, Latency | None], ...] = (
        ("ttft_ms", workload.slo.ttft_ms),
        ("tpot_ms", workload.slo.tpot_ms),
        ("e2e_ms", workload.slo.e2e_ms),
    )
    for metric, latency in limits:
        for statistic, limit_ms in (latency.limits_ms() if latency else {}).items():
            yield metric, statistic, limit_ms


def within_all(workload: Workload, sample: ServedRequests) -> Flags:
    """(n,) whether a request keeps every limit at once."""
    kept = np.ones(len(sample.request_class), dtype=np.bool_)
    for metric, _, limit_ms in asked_limits(workload):
        kept &= sample.latency_ms[metric] <= limit_ms
    return kept


def limits_of(
    workload: Workload,
    sample: ServedRequests,
    likely: float = LIKELY,
    *,
    of_record: bool = False,
    luck: Luck | None = None,
) -> Iterator[MeasuredLimit]:
    """Each promise with what was measured of it.

    Args:
        workload: Whose.
        sample: The requests.
        likely: Of the interval.
        of_record: Whether the promise is of these requests: that those of a burst wait alike is then no luck.
        luck: What is known of that of the sample.
    """
    for metric, statistic, limit_ms in asked_limits(workload):
        found = _measured(sample.latency_ms[metric], statistic, likely, alike=not of_record, luck=luck)
        yield MeasuredLimit(
            metric=metric,
            statistic=statistic,
            limit_ms=limit_ms,
            value_ms=found.value,
            low_ms=found.low,
            high_ms=found.high if np.isfinite(found.high) else None,
            verdict=_verdict(found, limit_ms),
        )


def _measured(values: Floats, statistic: str, likely: float, *, alike: bool, luck: Luck | None) -> Bounded:
    if statistic == MEAN:
        return mean(values, likely, alike=alike, luck=luck)
    return quantile(values, QUANTILES[statistic], likely, alike=alike, luck=luck)


def _verdict(found: Bounded, limit_ms: float) -> Verdict:
    if found.high <= limit_ms:
        return "holds"
    return "broken" if found.low > limit_ms else "undecided"


def _statistics(values: Floats) -> dict[str, float]:
    """The mean and every percentile."""
    return {MEAN: float(np.mean(values)), **{name: float(np.quantile(values, q)) for name, q in QUANTILES.items()}}


def all_hold(classes: Sequence[SimulatedClass]) -> bool | None:
    """Whether every promise holds; None where one is not decided and none is broken."""
    verdicts = [limit.verdict for item in classes for limit in item.limits]
    return False if "broken" in verdicts else None if "undecided" in verdicts else True


def in_doubt(limit: MeasuredLimit) -> bool:
    """Whether a promise is broken, or so undecided that a replica which is sent less would show it kept.

    Of requests too few to bound a figure, as of a rare class, no rate leaves no doubt: the figure itself decides.
    """
    if limit.verdict == "undecided" and limit.high_ms is None:
        return limit.value_ms > limit.limit_ms
    return limit.verdict != "holds"


def without_doubt(classes: Sequence[SimulatedClass]) -> bool:
    """Whether no promise is in doubt."""
    return not any(in_doubt(limit) for item in classes for limit in item.limits)


def promises(found: Simulation) -> Iterator[tuple[SimulatedClass, MeasuredLimit]]:
    """Every promise that was measured."""
    return ((item, limit) for item in found.classes for limit in item.limits)


def name_of(item: SimulatedClass, limit: MeasuredLimit) -> PromiseName:
    """What a promise is called, in every simulation of a plan."""
    return item.workload, item.request_class, limit.metric, limit.statistic


def of_these_alone(classes: Sequence[SimulatedClass], names: Container[PromiseName]) -> list[SimulatedClass]:
    """The same with those of their promises alone."""
    return [
        item.model_copy(update={"limits": [limit for limit in item.limits if name_of(item, limit) in names]})
        for item in classes
    ]


def room(promise: tuple[SimulatedClass, MeasuredLimit]) -> float:
    """What a promise has to spare: its limit over what was measured."""
    _, limit = promise
    return limit.limit_ms / max(limit.value_ms, LEAST_MS)
