"""What is delivered, again: demand in every hour of the week, and every deployment predicted at its planned loads."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from optimizer.base.units import BYTES_PER_GIB, MINUTES_PER_HOUR, MS_PER_S, SECONDS_PER_HOUR
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, quality_share
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Latency, Workload
from optimizer.performance.candidates.predict import STATISTICS, Mix, OperatingPoint, operate
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.uncertainty.evidence import margins
from optimizer.plan.record.fleet import Deployment, PeriodReplicas
from optimizer.plan.verify.claim import RATE_TOLERANCE, Claim, Findings, hours_of

Shares = tuple[float, ...]
"""Of each of a deployment's classes in its requests."""

SHARE_DIGITS = 12
"""To which shares of classes are the same mix."""


def demand(claim: Claim) -> Findings:
    """Every class in the hour in which least of what is asked is served."""
    served = _served_per_s(claim)
    for name, workload in claim.workloads.items():
        asked_per_s = claim.asked_per_s(workload)
        for period in claim.fleet.periods:
            highest, planned = max(asked_per_s[hour] for hour in hours_of(period)), period.requests_per_second[name]
            text = f"{name}: period {period.period} is planned for {planned:g} of {highest:g} requests/s"
            yield math.isclose(planned, highest, rel_tol=RATE_TOLERANCE), text
        for item in workload.classes():
            got_per_s = [served[name, item.name, period] for period in claim.period_of_hour]
            missing, got, needed, hour = max(
                (asked * item.share - got, got, asked * item.share, hour)
                for hour, (asked, got) in enumerate(zip(asked_per_s, got_per_s, strict=True))
            )
            text = f"{name} {item.name}: {got:g} of {needed:g} requests/s served in hour {hour} of the week"
            yield missing <= needed * RATE_TOLERANCE, text


def _served_per_s(claim: Claim) -> Mapping[tuple[str, str, int], float]:
    """Requests/s that deployments and hosted APIs serve of each workload's classes in each period."""
    served: dict[tuple[str, str, int], float] = defaultdict(float)
    for d in claim.fleet.deployments:
        for running in d.schedule:
            for name, flow in running.requests_per_second_by_class.items():
                served[d.workload, name, running.period] += flow
    for api in claim.fleet.hosted:
        for sent in api.schedule:
            served[api.workload, api.request_class, sent.period] += sent.requests_per_second
    return served


def warm(claim: Claim) -> Findings:
    """No fewer and no more replicas of a workload than it asks for, and one where a start would come too late."""
    for name, workload in claim.workloads.items():
        deployments = [d for d in claim.fleet.deployments if d.workload == name]
        by_period = [sum(d.schedule[t].replicas for d in deployments) for t in range(len(claim.fleet.periods))]
        idle = 0 if _waits_for_a_start(claim, workload) else 1
        for hour, asked in enumerate(claim.asked_per_s(workload)):
            running = by_period[claim.period_of_hour[hour]]
            needed = max(workload.min_replicas, 0 if asked else idle)
            if needed:
                yield running >= needed, f"{name}: {running} of at least {needed} replicas in hour {hour} of the week"
        if workload.max_replicas is not None:
            most = max(by_period)
            yield most <= workload.max_replicas, f"{name}: {most} of at most {workload.max_replicas} replicas"


def _waits_for_a_start(claim: Claim, workload: Workload) -> bool:
    """Whether a request in hours without demand is answered in time though no replica runs: by an API, or a start."""
    if any(item.workload == workload.name for item in claim.fleet.hosted):
        return True
    slo, start_up_minutes = workload.slo, claim.policy.elastic.start_up_minutes
    tightest_ms = min([*_limits_ms(slo.ttft_ms).values(), *_limits_ms(slo.e2e_ms).values()], default=math.inf)
    return start_up_minutes * SECONDS_PER_HOUR / MINUTES_PER_HOUR * MS_PER_S + slo.ttft_overhead_ms <= tightest_ms


def utilization(claim: Claim) -> Findings:
    """The load of each period against what its replicas sustain, and that the figures shown are the schedule's."""
    for d in claim.fleet.deployments:
        for running in d.schedule:
            yield from _load(claim, d, running)
        busiest = max(d.schedule, key=lambda item: (item.requests_per_second, item.replicas))
        shown = (d.replicas, d.requests_per_second, d.max_requests_per_second, d.utilization)
        most = max(item.utilization for item in d.schedule)
        own = (busiest.replicas, busiest.requests_per_second, busiest.max_requests_per_second, most)
        same = all(math.isclose(*pair, rel_tol=RATE_TOLERANCE) for pair in zip(shown, own, strict=True))
        yield same, f"{d.workload} on {d.gpu} is shown at its busiest"


def _load(claim: Claim, d: Deployment, running: PeriodReplicas) -> Findings:
    """What a deployment is sent in one period, of classes that may meet on its replicas."""
    full, sent = running.max_requests_per_second, running.requests_per_second
    highest = claim.policy.max_utilization
    worst = sent * claim.policy.robust.demand / claim.policy.robust.throughput
    text = f"{d.workload} on {d.gpu} runs at {worst / full if full else math.inf:.3f} of {highest:g}"
    yield worst <= highest * full * (1 + RATE_TOLERANCE), text
    share = sent / full if full else 0.0
    yield math.isclose(running.utilization, share, rel_tol=RATE_TOLERANCE), f"{d.workload}: {share:.3f} shown"
    flows = running.requests_per_second_by_class
    total = sum(flows.values())
    known = set(flows) <= {item.name for item in d.classes} and min(flows.values(), default=0.0) >= 0
    whole = math.isclose(total, sent, rel_tol=RATE_TOLERANCE) or not sent
    yield known and whole, f"{d.workload} on {d.gpu} is sent {total:g} requests/s of classes it is shown with"
    if total and not _may_meet(claim, d.workload, flows):
        yield False, f"{d.workload} on {d.gpu} is sent a mix of {', '.join(flows)}"


def _may_meet(claim: Claim, workload: str, flows: Mapping[str, float]) -> bool:
    """Whether a replica may be sent these flows: any, or where classes do not mix one alone or all in their shares.

    After a loss other mixes would meet on a replica, which nobody predicted; so they do not mix where one is survived.
    """
    policy, total = claim.policy, sum(flows.values())
    if policy.mix_classes and not policy.survive.loss_of:
        return True
    distances = [abs(flows.get(item.name, 0.0) / total - item.share) for item in claim.classes(workload)]
    return sum(flow > 0 for flow in flows.values()) == 1 or max(distances) <= RATE_TOLERANCE


def memory(claim: Claim) -> Findings:
    """Something is left for the KV cache beside the weights, and the longest request fits the model's context."""
    for d, _, offer in claim.placed:
        use = memory_use(gather(claim.catalogs, [_configuration(d, offer)]))
        free_gib = float(use.kv_capacity[0]) / BYTES_PER_GIB
        yield free_gib > 0, f"{d.model} {d.precision} leaves {free_gib:.1f} GiB for KV cache on {d.gpu}"
        longest = max(item.input_tokens + item.output_tokens for item in d.classes)
        context = claim.catalogs.model(d.model).max_context_tokens
        yield longest <= context, f"{d.model} holds {longest} of {context} tokens"


def service_levels(claim: Claim) -> Findings:
    """Each limit at the load and mix of each period, and at the full rate that utilization is counted from."""
    for d, _, offer in claim.placed:
        for shares, running in _by_mix(d).items():
            yield from _levels_at(claim, d, offer, shares, running)


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
    """The limits at one mix of classes, over the periods that have it."""
    configuration, workload = _configuration(d, offer), claim.workloads[d.workload]
    room = margins(claim.catalogs, [configuration], claim.policy.confidence)
    slower = float(room.ttft[0]), float(room.tpot[0])
    loads = [item.requests_per_second / item.replicas for item in running]
    worst = [load * claim.policy.robust.demand / claim.policy.robust.throughput for load in loads]
    full = max(item.max_requests_per_second / item.replicas for item in running) * float(room.throughput[0])
    # One row for each period at its worst load, one at the full rate, one at the highest load that is planned
    rates = np.array([*worst, full * (1 - RATE_TOLERANCE), max(loads)]) / claim.serving_share(offer)
    setup = gather(claim.catalogs, [configuration]).take(np.zeros(len(rates), dtype=np.int64))
    point = operate(setup, _mix(workload, d, shares), rates)
    for row, rate in enumerate(rates[:-1].tolist()):
        yield bool(point.stable[row]), f"{d.workload} on {d.gpu} keeps up with {rate:g} requests/s a replica"
        yield from _within_limits(workload, point, row, slower)
    if max(loads) or not d.requests_per_second:
        yield from _as_shown(workload, d, point, slower)


def _within_limits(workload: Workload, point: OperatingPoint, row: int, slower: tuple[float, float]) -> Findings:
    """TTFT, TPOT and E2E of the slowest class, with the margin of the chosen confidence."""
    slo = workload.slo
    for what, latency in (("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("end to end", slo.e2e_ms)):
        for statistic, limit in _limits_ms(latency).items():
            worst = _latencies_ms(workload, point, row, statistic, slower)[f"bound of {what}"]
            text = f"{workload.name}: {what} {statistic} {worst:.2f} of {limit:g} ms"
            yield worst <= limit * (1 + RATE_TOLERANCE), text


def _as_shown(workload: Workload, d: Deployment, point: OperatingPoint, slower: tuple[float, float]) -> Findings:
    """The latencies that the plan shows are no lower than those predicted at its highest load, the last row."""
    figures = {
        "TTFT": d.ttft_ms,
        "bound of TTFT": d.ttft_bound_ms,
        "TPOT": d.tpot_ms,
        "bound of TPOT": d.tpot_bound_ms,
        "end to end": d.e2e_ms,
    }
    for statistic in STATISTICS:
        predicted = _latencies_ms(workload, point, -1, statistic, slower)
        for what, shown in figures.items():
            text = f"{workload.name}: {what} {statistic} is {predicted[what]:.2f} ms, shown {shown[statistic]:.2f}"
            yield shown[statistic] >= predicted[what] * (1 - RATE_TOLERANCE), text


def _latencies_ms(
    workload: Workload, point: OperatingPoint, row: int, statistic: str, slower: tuple[float, float]
) -> dict[str, float]:
    """One statistic of the slowest class, as predicted and with the margins on TTFT and TPOT."""
    before, predicted = workload.slo.ttft_overhead_ms, (point.ttft_s, point.tpot_s, point.e2e_s)
    first, token, last = (MS_PER_S * float(seconds[statistic][row].max()) for seconds in predicted)
    return {
        "TTFT": before + first,
        "bound of TTFT": before + slower[0] * first,
        "TPOT": token,
        "bound of TPOT": slower[1] * token,
        "end to end": before + last,
        "bound of end to end": before + max(slower) * last,
    }


def _mix(workload: Workload, d: Deployment, shares: Shares) -> Mix:
    served = [item for item, share in zip(d.classes, shares, strict=True) if share]
    return Mix(
        input_tokens=np.array([item.input_tokens for item in served], dtype=float),
        output_tokens=np.array([item.output_tokens for item in served], dtype=float),
        share=np.array([share for share in shares if share]),
        cached_input_share=workload.cached_input_share,
    )


def _limits_ms(latency: Latency | None) -> Mapping[str, float]:
    return latency.limits_ms() if latency else {}


def _configuration(d: Deployment, offer: Offer) -> Configuration:
    link, speed = ("none", None) if d.gpus_per_replica == 1 else (offer.link, offer.link_gb_per_s)
    return Configuration(
        d.engine, d.model, d.gpu, d.precision, d.kv_precision, d.tensor_parallel, d.pipeline_parallel, link, speed
    )


def quality(claim: Claim) -> Findings:
    """What the model and its precision keep of the first model's score, against the workload's floor."""
    for d in claim.fleet.deployments:
        workload = claim.workloads[d.workload]
        models = {workload.model: 1.0} | {other.model: other.quality for other in workload.alternatives}
        yield d.model in models, f"{d.workload} is served by {d.model}"
        if workload.min_quality is None or d.model not in models:
            continue
        model = claim.catalogs.model(d.model)
        kept = quality_share(claim.catalogs, model.id, d.precision) if d.kv_precision in SIXTEEN_BIT else None
        if kept is None:
            yield workload.unknown_quality == "accept", f"{d.workload}: quality of {d.precision} is unknown"
        else:
            share = models[d.model] * kept.share
            text = f"{d.workload}: {d.model} {d.precision} keeps {share:.4f}, floor {workload.min_quality:g}"
            yield share >= workload.min_quality, text
