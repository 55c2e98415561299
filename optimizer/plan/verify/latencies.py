"""Every deployment predicted again at its planned loads: what users wait for against the limits, and what is shown."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.units import BYTES_PER_GIB, MS_PER_S
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.policy import Router
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.lengths import lengths_of
from optimizer.performance.candidates.predict import STATISTICS, Mix, OperatingPoint, operate
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.physics.setup import gather
from optimizer.performance.uncertainty.evidence import margins
from optimizer.plan.record.fleet import Deployment, PeriodReplicas
from optimizer.plan.verify.bounds import at_bound
from optimizer.plan.verify.claim import Claim, Finding, Findings
from optimizer.plan.verify.service import configuration, limits_ms

Shares = tuple[float, ...]
"""Of each of a deployment's classes in its requests."""

ABOUT = 1e-3
"""Relative, around a rate that is the last one at which limits hold."""

SHARE_DIGITS = 12
"""To which shares of classes are the same mix."""


def service_levels(claim: Claim) -> Findings:
    """Each limit at the load and mix of each period, and at the full rate that utilization is counted from; then what
    the plan shows of it."""
    for d, _, offer in claim.placed:
        by_mix = _by_mix(d)
        for shares, running in by_mix.items():
            yield from _levels_at(claim, d, offer, shares, running)
        yield from _as_predicted(claim, d, offer)
        yield from _as_shown(claim, d, offer, by_mix)


def _by_mix(d: Deployment) -> Mapping[Shares, Sequence[PeriodReplicas]]:
    """The periods in which a deployment runs, by the shares of its classes that it is sent; standing by, its own."""
    by_mix: dict[Shares, list[PeriodReplicas]] = defaultdict(list)
    for running in d.schedule:
        flows = [running.requests_per_second_by_class.get(item.name, 0.0) for item in d.classes]
        shares = [flow / sum(flows) for flow in flows] if any(flows) else [item.share for item in d.classes]
        if running.replicas:
            by_mix[tuple(round(share, SHARE_DIGITS) for share in shares)].append(running)
    return by_mix


def _levels_at(
    claim: Claim, d: Deployment, offer: Offer, shares: Shares, running: Sequence[PeriodReplicas]
) -> Findings:
    """The limits at one mix of classes, over the periods that have it; and that replicas as much slower as throughput
    may turn out still keep up with the full rate."""
    of, workload = configuration(d, offer), claim.workloads[d.workload]
    room = margins(claim.catalogs, [of], claim.policy.confidence)
    loads = [item.requests_per_second / item.replicas for item in running]
    worst = [load * claim.policy.robust.demand / claim.policy.robust.throughput for load in loads]
    full = max(item.max_requests_per_second / item.replicas for item in running) * (1 - claim.precision.figure)
    # One row for each period at its worst load, one at the full rate, one at what a slower replica must be able to do
    rates = np.array([*worst, full, full * float(room.throughput[0])]) / claim.serving_share(offer)
    setup = gather(claim.catalogs, [of]).take(np.zeros(len(rates), dtype=np.int64))
    mix, before_ms = (
        _mix(workload, d, shares, claim.policy.router),
        _before_ms(workload, claim.network_ms(workload, offer)),
    )
    point = operate(setup, mix, rates)
    for row, rate in enumerate(rates.tolist()):
        yield bool(point.stable[row]), f"{d.workload} on {d.gpu} keeps up with {rate:g} requests/s a replica"
    bound = at_bound(setup, mix, rates, room)
    for row in range(len(rates) - 1):
        yield from _within_limits(claim, workload, bound, row, before_ms=before_ms)


def _as_predicted(claim: Claim, d: Deployment, offer: Offer) -> Findings:
    """At the rate that a replica would sustain were it as fast as predicted, without any margin, all limits hold; a
    little above it one does not, or the replica does not keep up."""
    if d.predicted_max_requests_per_second is None:
        return
    workload, shares = claim.workloads[d.workload], [item.share for item in d.classes]
    served = tuple(share / sum(shares) if sum(shares) else 1 / len(shares) for share in shares)
    rate = d.predicted_max_requests_per_second / d.replicas / claim.serving_share(offer)
    setup = gather(claim.catalogs, [configuration(d, offer)]).take(np.zeros(2, dtype=np.int64))
    point = operate(setup, _mix(workload, d, served, claim.policy.router), rate * np.array([1 - ABOUT, 1 + ABOUT]))
    before_ms = _before_ms(workload, claim.network_ms(workload, offer))
    levels = [_within_limits(claim, workload, point, row, before_ms=before_ms) for row in range(2)]
    kept = [bool(point.stable[row]) and all(held for held, _ in found) for row, found in enumerate(levels)]
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


@dataclass(frozen=True)
class Predicted:
    """A deployment at one mix of classes, at the highest load of it.

    Attributes:
        classes: Names of those that it is sent, in the order of the point's columns.
        load_per_s: Requests/s of a replica.
        fullness: Of what it sustains of this mix.
        point: One row.
        bound: The same with the margins of the chosen confidence.
    """

    classes: tuple[str, ...]
    load_per_s: float
    fullness: float
    point: OperatingPoint
    bound: OperatingPoint


def _predicted(
    claim: Claim, d: Deployment, offer: Offer, by_mix: Mapping[Shares, Sequence[PeriodReplicas]]
) -> Iterator[Predicted]:
    """Each mix that a deployment is sent; of a standby one, those that it waits for."""
    of, workload = configuration(d, offer), claim.workloads[d.workload]
    setup, room = gather(claim.catalogs, [of]), margins(claim.catalogs, [of], claim.policy.confidence)
    idle = not any(item.requests_per_second for running in by_mix.values() for item in running)
    for shares, running in by_mix.items():
        load = max(item.requests_per_second / item.replicas for item in running)
        if load or idle:
            mix, rate = _mix(workload, d, shares, claim.policy.router), np.array([load / claim.serving_share(offer)])
            point, bound = operate(setup, mix, rate), at_bound(setup, mix, rate, room)
            names = tuple(item.name for item, share in zip(d.classes, shares, strict=True) if share)
            fullness = max(item.requests_per_second / item.max_requests_per_second for item in running)
            yield Predicted(names, load, fullness, point, bound)


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
    def of(cls, points: Sequence[tuple[Sequence[str], OperatingPoint]], statistic: str) -> "Slowest":
        """Over all mixes that a deployment is sent, each with its classes."""
        tpot_ms = max(MS_PER_S * float(point.tpot_s[statistic][0]) for _, point in points)
        ttft_ms, e2e_ms = defaultdict[str, float](float), defaultdict[str, float](float)
        for classes, point in points:
            for column, name in enumerate(classes):
                ttft_ms[name] = max(ttft_ms[name], MS_PER_S * float(point.ttft_s[statistic][0, column]))
                e2e_ms[name] = max(e2e_ms[name], MS_PER_S * float(point.e2e_s[statistic][0, column]))
        return cls(tpot_ms, ttft_ms, e2e_ms)


def _as_shown(claim: Claim, d: Deployment, offer: Offer, by_mix: Mapping[Shares, Sequence[PeriodReplicas]]) -> Findings:
    """Latencies are those of the slowest mix; concurrency and KV cache those of the fullest."""
    mixes = list(_predicted(claim, d, offer, by_mix))
    before_ms = _before_ms(claim.workloads[d.workload], claim.network_ms(claim.workloads[d.workload], offer))
    for statistic in STATISTICS:
        slowest = Slowest.of([(mix.classes, mix.point) for mix in mixes], statistic)
        bound = Slowest.of([(mix.classes, mix.bound) for mix in mixes], statistic)
        for what, own_ms, shown_ms in _figures(d, slowest, bound, before_ms):
            text = f"{d.workload}: {what} {statistic} is {own_ms:.2f} ms, shown {shown_ms.get(statistic, math.nan):.2f}"
            yield statistic in shown_ms and claim.same_latency(own_ms, shown_ms[statistic]), text
    yield _filled(claim, d, offer, mixes)


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


def _filled(claim: Claim, d: Deployment, offer: Offer, mixes: Sequence[Predicted]) -> Finding:
    """Requests in flight and the KV cache they fill where a replica has most to do; several mixes may fill it alike."""
    cache_gib = float(memory_use(gather(claim.catalogs, [configuration(d, offer)])).kv_capacity[0]) / BYTES_PER_GIB
    highest = max(mix.fullness for mix in mixes)
    fullest = [mix.point for mix in mixes if mix.fullness >= highest * (1 - claim.precision.figure)]
    shown = d.concurrency, d.max_concurrency, d.vram.kv_cache_gib
    own = [
        (float(p.concurrency[0]), float(p.max_concurrency[0]), cache_gib * float(p.kv_utilization[0])) for p in fullest
    ]
    text = f"{d.workload} on {d.gpu}: {own[0][0]:g} requests in flight fill {own[0][2]:.2f} GiB of KV cache"
    return any(all(map(claim.predicted_same, each, shown)) for each in own), text


def _mix(workload: Workload, d: Deployment, shares: Shares, router: Router | None) -> Mix:
    served = [item for item, share in zip(d.classes, shares, strict=True) if share]
    asked = {item.name: item for item in workload.classes()}
    in_turn = router in ("in_turn", "least_loaded")
    hours = [workload.requests_per_second] if workload.demand is None else workload.demand.weekly()
    least, peak = min(rate for rate in hours if rate), workload.peak_requests_per_second()
    return Mix(
        input_tokens=np.array([item.input_tokens for item in served], dtype=float),
        output_tokens=np.array([item.output_tokens for item in served], dtype=float),
        share=np.array([share for share in shares if share]),
        cached_input_share=workload.cached_input_share,
        arrivals=ArrivalVariation(workload.arrival_cv2, least if in_turn else peak),
        lengths=lengths_of([asked[item.name] for item in served]),
        dealt=np.array([asked[item.name].share for item in served]) if in_turn else None,
    )
