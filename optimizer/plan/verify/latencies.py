"""Every deployment predicted again at its planned loads: what users wait for against the limits, and what is shown."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.by_contents import OnceByContents
from optimizer.base.units import BYTES_PER_GIB, MS_PER_S
from optimizer.inputs.scenario.policy import Router
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.lengths import lengths_of
from optimizer.performance.candidates.predict import STATISTICS, Mix, OperatingPoint, operate
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.plan.record.fleet import Deployment, PeriodReplicas
from optimizer.plan.verify.bounds import at_bound
from optimizer.plan.verify.claim import Claim, Finding, Findings
from optimizer.plan.verify.service import limits_ms

Shares = tuple[float, ...]
"""Of each of a deployment's classes in its requests."""

ABOUT = 1e-3
"""Relative, around a rate that is the last one at which limits hold."""

SHARE_DIGITS = 12
"""To which shares of classes are the same mix."""

_OPERATE: Final = OnceByContents(operate)
_AT_BOUND: Final = OnceByContents(at_bound)


def service_levels(claim: Claim) -> Findings:
    """Each limit at the load and mix of each period, and at the full rate that utilization is counted from; then what
    the plan shows of it."""
    by_mix = [_by_mix(d) for d, _, _ in claim.placed]
    predicted = _predictions(claim, by_mix)
    for number, of_deployment in enumerate(by_mix):
        for shares, running in of_deployment.items():
            yield from _levels_at(claim, number, shares, running, predicted)
        yield from _as_predicted(claim, number, predicted)
        yield from _as_shown(claim, number, of_deployment, predicted)


def _by_mix(d: Deployment) -> Mapping[Shares, Sequence[PeriodReplicas]]:
    """The periods in which a deployment runs, by the shares of its classes that it is sent; standing by, its own."""
    by_mix: dict[Shares, list[PeriodReplicas]] = defaultdict(list)
    for running in d.schedule:
        flows = [running.requests_per_second_by_class.get(item.name, 0.0) for item in d.classes]
        shares = [flow / sum(flows) for flow in flows] if any(flows) else [item.share for item in d.classes]
        if running.replicas:
            by_mix[tuple(round(share, SHARE_DIGITS) for share in shares)].append(running)
    return by_mix


class AtLoad(NamedTuple):
    """A replica of a deployment, by its number, at shares of its classes and requests/s while it serves."""

    number: int
    shares: Shares
    rate_per_s: float


class PredictedRow(NamedTuple):
    """A row of what was predicted together: as predicted, and with the margins of the chosen confidence."""

    point: OperatingPoint
    bound: OperatingPoint
    row: int


Predictions = Mapping[AtLoad, PredictedRow]


def _predictions(claim: Claim, by_mix: Sequence[Mapping[Shares, Sequence[PeriodReplicas]]]) -> Predictions:
    """Every replica at every load that is looked at: those that serve the same classes as rows of the same arrays."""
    asked = dict.fromkeys(
        load for number, of_deployment in enumerate(by_mix) for load in _looked_at(claim, number, of_deployment)
    )
    together = defaultdict[tuple[str, ...], list[AtLoad]](list)
    for load in asked:
        d = claim.placed[load.number][0]
        together[d.workload, *_served(d, load.shares)].append(load)
    found = dict[AtLoad, PredictedRow]()
    for (workload, *classes), loads in together.items():
        rows = np.array([load.number for load in loads])
        shares = [[share for share in load.shares if share] for load in loads]
        mix = _mix(claim.workloads[workload], classes, shares, claim.policy.router)
        setup, room = claim.setup.take(rows), claim.margins.take(rows)
        rates = np.array([load.rate_per_s for load in loads])
        point, bound = _OPERATE(setup, mix, rates), _AT_BOUND(setup, mix, rates, room)
        found |= {load: PredictedRow(point, bound, row) for row, load in enumerate(loads)}
    return found


def _looked_at(claim: Claim, number: int, by_mix: Mapping[Shares, Sequence[PeriodReplicas]]) -> Iterator[AtLoad]:
    """The loads of a deployment at which anything is checked."""
    for shares, running in by_mix.items():
        rates = [*_worst_rates(claim, number, running), _full_rate(claim, number, running)]
        rates += [_slower_rate(claim, number, running), _shown_rate(claim, number, running)]
        yield from (AtLoad(number, shares, rate) for rate in rates)
    yield from _about_predicted(claim, number)


def _served(d: Deployment, shares: Shares) -> tuple[str, ...]:
    """The classes of a mix."""
    return tuple(item.name for item, share in zip(d.classes, shares, strict=True) if share)


def _serving_share(claim: Claim, number: int) -> float:
    return claim.serving_share(claim.placed[number][2])


def _worst_rates(claim: Claim, number: int, running: Sequence[PeriodReplicas]) -> list[float]:
    """Of each period with as much more demand and as much less throughput as the plan allows for."""
    more = claim.policy.robust.demand / claim.policy.robust.throughput / _serving_share(claim, number)
    return [item.requests_per_second / item.replicas * more for item in running]


def _full_rate(claim: Claim, number: int, running: Sequence[PeriodReplicas]) -> float:
    """What a replica is said to sustain."""
    full = max(item.max_requests_per_second / item.replicas for item in running)
    return full * (1 - claim.precision.figure) / _serving_share(claim, number)


def _slower_rate(claim: Claim, number: int, running: Sequence[PeriodReplicas]) -> float:
    """What one as predicted must be able to do, so that a slower one sustains the full rate."""
    return _full_rate(claim, number, running) * float(claim.margins.throughput[number])


def _shown_rate(claim: Claim, number: int, running: Sequence[PeriodReplicas]) -> float:
    """The highest load of a mix, whose latencies are shown."""
    return max(item.requests_per_second / item.replicas for item in running) / _serving_share(claim, number)


def _about_predicted(claim: Claim, number: int) -> list[AtLoad]:
    """Just below and just above what a replica would sustain as predicted; none where that is not told."""
    d = claim.placed[number][0]
    if d.predicted_max_requests_per_second is None:
        return []
    shares = [item.share for item in d.classes]
    served = tuple(share / sum(shares) if sum(shares) else 1 / len(shares) for share in shares)
    rate = d.predicted_max_requests_per_second / d.replicas / _serving_share(claim, number)
    return [AtLoad(number, served, rate * about) for about in (1 - ABOUT, 1 + ABOUT)]


def _levels_at(
    claim: Claim, number: int, shares: Shares, running: Sequence[PeriodReplicas], predicted: Predictions
) -> Findings:
    """The limits at one mix of classes, over the periods that have it; and that replicas as much slower as throughput
    may turn out still keep up with the full rate."""
    d, _, offer = claim.placed[number]
    workload = claim.workloads[d.workload]
    before_ms = _before_ms(workload, claim.network_ms(workload, offer))
    rates = [*_worst_rates(claim, number, running), _full_rate(claim, number, running)]
    for rate in (*rates, _slower_rate(claim, number, running)):
        point, _, row = predicted[AtLoad(number, shares, rate)]
        yield bool(point.stable[row]), f"{d.workload} on {d.gpu} keeps up with {rate:g} requests/s a replica"
    for rate in rates:
        _, bound, row = predicted[AtLoad(number, shares, rate)]
        yield from _within_limits(claim, workload, bound, row, before_ms=before_ms)


def _as_predicted(claim: Claim, number: int, predicted: Predictions) -> Findings:
    """At the rate that a replica would sustain were it as fast as predicted, without any margin, all limits hold; a
    little above it one does not, or the replica does not keep up."""
    d, _, offer = claim.placed[number]
    about, workload = _about_predicted(claim, number), claim.workloads[d.workload]
    if not about:
        return
    before_ms, kept = _before_ms(workload, claim.network_ms(workload, offer)), list[bool]()
    for load in about:
        point, _, row = predicted[load]
        levels = _within_limits(claim, workload, point, row, before_ms=before_ms)
        kept.append(bool(point.stable[row]) and all(held for held, _ in levels))
    rate = about[0].rate_per_s / (1 - ABOUT)
    yield kept == [True, False], f"{d.workload} on {d.gpu} would sustain {rate:g} requests/s a replica as predicted"


def _within_limits(claim: Claim, workload: Workload, point: OperatingPoint, row: int, *, before_ms: float) -> Findings:
    """TTFT, TPOT and E2E of the slowest class."""
    slo = workload.slo
    latencies = (
        ("TTFT", slo.ttft_ms, point.ttft_s, before_ms),
        ("TPOT", slo.tpot_ms, point.tpot_s, 0.0),
        ("end to end", slo.e2e_ms, point.e2e_s, before_ms),
    )
    for what, latency, seconds, outside_ms in latencies:
        for statistic, limit in limits_ms(latency).items():
            worst = outside_ms + MS_PER_S * float(seconds[statistic][row].max())
            text = f"{workload.name}: {what} {statistic} {worst:.2f} of {limit:g} ms"
            yield worst <= limit * (1 + claim.precision.figure), text


def _before_ms(workload: Workload, network_ms: float) -> float:
    """What passes outside the model: the network and the stages before it."""
    return network_ms + workload.slo.ttft_overhead_ms


class Shown(NamedTuple):
    """A deployment at one mix of classes, at the highest load of it.

    Attributes:
        classes: Names of those that it is sent, in the order of the point's columns.
        fullness: Of what it sustains of this mix.
        at: What was predicted there.
    """

    classes: tuple[str, ...]
    fullness: float
    at: PredictedRow


def _shown(
    claim: Claim, number: int, by_mix: Mapping[Shares, Sequence[PeriodReplicas]], predicted: Predictions
) -> Iterator[Shown]:
    """Each mix that a deployment is sent; of a standby one, those that it waits for."""
    idle = not any(item.requests_per_second for running in by_mix.values() for item in running)
    for shares, running in by_mix.items():
        rate = _shown_rate(claim, number, running)
        if rate or idle:
            fullness = max(item.requests_per_second / item.max_requests_per_second for item in running)
            classes = _served(claim.placed[number][0], shares)
            yield Shown(classes, fullness, predicted[AtLoad(number, shares, rate)])


@dataclass(frozen=True)
class Slowest:
    """What users of a deployment wait for in its slowest mix, in ms from where the model begins.

    Attributes:
        tpot_ms: Per output token.
        ttft_ms: By class, to the first token.
        e2e_ms: By class, to the last.
    """

    tpot_ms: float
    ttft_ms: Mapping[str, float]
    e2e_ms: Mapping[str, float]

    @classmethod
    def of(cls, points: Sequence[tuple[Sequence[str], OperatingPoint, int]], statistic: str) -> "Slowest":
        """Over all mixes that a deployment is sent, each with its classes and its row."""
        tpot_ms = max(MS_PER_S * float(point.tpot_s[statistic][row]) for _, point, row in points)
        ttft_ms, e2e_ms = defaultdict[str, float](float), defaultdict[str, float](float)
        for classes, point, row in points:
            ttft_s, e2e_s = point.ttft_s[statistic][row], point.e2e_s[statistic][row]
            for column, name in enumerate(classes):
                ttft_ms[name] = max(ttft_ms[name], MS_PER_S * float(ttft_s[column]))
                e2e_ms[name] = max(e2e_ms[name], MS_PER_S * float(e2e_s[column]))
        return cls(tpot_ms, ttft_ms, e2e_ms)


def _as_shown(
    claim: Claim, number: int, by_mix: Mapping[Shares, Sequence[PeriodReplicas]], predicted: Predictions
) -> Findings:
    """Latencies are those of the slowest mix; concurrency and KV cache those of the fullest."""
    d, _, offer = claim.placed[number]
    mixes = list(_shown(claim, number, by_mix, predicted))
    before_ms = _before_ms(claim.workloads[d.workload], claim.network_ms(claim.workloads[d.workload], offer))
    for statistic in STATISTICS:
        slowest = Slowest.of([(mix.classes, mix.at.point, mix.at.row) for mix in mixes], statistic)
        bound = Slowest.of([(mix.classes, mix.at.bound, mix.at.row) for mix in mixes], statistic)
        for what, own_ms, shown_ms in _figures(d, slowest, bound, before_ms):
            text = f"{d.workload}: {what} {statistic} is {own_ms:.2f} ms, shown {shown_ms.get(statistic, math.nan):.2f}"
            yield statistic in shown_ms and claim.same_latency(own_ms, shown_ms[statistic]), text
    yield _filled(claim, number, mixes)


def _figures(
    d: Deployment, slowest: Slowest, bound: Slowest, before_ms: float
) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    """Each latency by its name, as it is here and as the plan shows it by statistic.

    Args:
        d: The deployment that the plan shows.
        slowest: What was predicted again.
        bound: The same with margins.
        before_ms: What comes before the model.
    """
    yield "TTFT", before_ms + max(slowest.ttft_ms.values()), d.ttft_ms
    yield "bound of TTFT", before_ms + max(bound.ttft_ms.values()), d.ttft_bound_ms
    yield "TPOT", slowest.tpot_ms, d.tpot_ms
    yield "bound of TPOT", bound.tpot_ms, d.tpot_bound_ms
    yield "end to end", before_ms + max(slowest.e2e_ms.values()), d.e2e_ms
    for item in d.classes:
        name = item.name
        yield f"TTFT of {name}", before_ms + slowest.ttft_ms[name], item.ttft_ms
        yield f"bound of TTFT of {name}", before_ms + bound.ttft_ms[name], item.ttft_bound_ms
        yield f"end to end of {name}", before_ms + slowest.e2e_ms[name], item.e2e_ms
        yield f"bound of end to end of {name}", before_ms + bound.e2e_ms[name], item.e2e_bound_ms


def _filled(claim: Claim, number: int, mixes: Sequence[Shown]) -> Finding:
    """Requests in flight and the KV cache they fill where a replica has most to do; several mixes may fill it alike."""
    d, cache_gib = claim.placed[number][0], float(claim.memory.kv_capacity[number]) / BYTES_PER_GIB
    highest = max(mix.fullness for mix in mixes)
    fullest = [mix.at for mix in mixes if mix.fullness >= highest * (1 - claim.precision.figure)]
    shown = d.concurrency, d.max_concurrency, d.vram.kv_cache_gib
    own = [
        (float(p.concurrency[row]), float(p.max_concurrency[row]), cache_gib * float(p.kv_utilization[row]))
        for p, _, row in fullest
    ]
    text = f"{d.workload} on {d.gpu}: {own[0][0]:g} requests in flight fill {own[0][2]:.2f} GiB of KV cache"
    return any(all(map(claim.predicted_same, each, shown)) for each in own), text


def _mix(workload: Workload, classes: Sequence[str], shares: Sequence[Sequence[float]], router: Router) -> Mix:
    """Some of a workload's classes, with shares (n, K), as its router sends them."""
    asked = {item.name: item for item in workload.classes()}
    served = [asked[name] for name in classes]
    in_turn = router in ("in_turn", "least_loaded")
    hours = [workload.requests_per_second] if workload.demand is None else workload.demand.weekly()
    least, peak = min(rate for rate in hours if rate), workload.peak_requests_per_second()
    return Mix(
        input_tokens=np.array([item.input_tokens for item in served], dtype=float),
        output_tokens=np.array([item.output_tokens for item in served], dtype=float),
        share=np.array(shares),
        cached_input_share=workload.cached_input_share,
        arrivals=ArrivalVariation(workload.arrival_cv2, least if in_turn else peak),
        lengths=lengths_of(served),
        dealt=np.array([item.share for item in served]) if in_turn else None,
    )
