"""What is delivered, again: demand in every hour of the week, replicas and their load, memory, quality."""

import math
from collections import defaultdict
from collections.abc import Mapping

from optimizer.base.units import (
    BYTES_PER_GIB,
    HOURS_PER_DAY,
    HOURS_PER_WEEK,
    MINUTES_PER_HOUR,
    MS_PER_S,
    SECONDS_PER_HOUR,
)
from optimizer.inputs.catalog.quality import FEW_BITS, SIXTEEN_BIT, quality_share
from optimizer.inputs.scenario.demand import DAYS_PER_WEEK, WEEKDAYS, TokensPerDay
from optimizer.inputs.scenario.fields import MAX_NETWORK_MS
from optimizer.inputs.scenario.scenario import Latency, Workload
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fleet import Deployment, PeriodReplicas
from optimizer.plan.verify.claim import Claim, Findings, hours_of
from optimizer.plan.verify.on_call import answered_by_apis


def demand(claim: Claim) -> Findings:
    """Every class in the hour in which least of what is asked is served."""
    served = _served_per_s(claim)
    for name, workload in claim.workloads.items():
        asked_per_s = claim.asked_per_s(workload)
        for period in claim.fleet.periods:
            highest, planned = max(asked_per_s[hour] for hour in hours_of(period)), period.requests_per_second[name]
            text = f"{name}: period {period.period} is planned for {planned:g} of {highest:g} requests/s"
            yield math.isclose(planned, highest, rel_tol=claim.precision.figure), text
        for item in workload.classes():
            got_per_s = [served[name, item.name, period] for period in claim.period_of_hour]
            missing, got, needed, hour = max(
                (asked * item.share - got, got, asked * item.share, hour)
                for hour, (asked, got) in enumerate(zip(asked_per_s, got_per_s, strict=True))
            )
            text = f"{name} {item.name}: {got:g} of {needed:g} requests/s served in hour {hour} of the week"
            yield missing <= needed * claim.precision.figure, text


def batches(claim: Claim) -> Findings:
    """Every batch is served whole between the hour at which it is there and the hour at which it is due."""
    served = _served_per_s(claim)
    for name, workload in claim.workloads.items():
        due = workload.deadline
        if due is None:
            continue
        hours = due.by - due.start if due.by > due.start else due.by - due.start + HOURS_PER_DAY
        classes = workload.classes()
        by_hour = [sum(served[name, item.name, period] for item in classes) for period in claim.period_of_hour]
        needed = due.requests if due.tokens is None else _requests_of(due.tokens, workload)
        for day in range(DAYS_PER_WEEK if due.days == "every_day" else WEEKDAYS):
            window = [(day * HOURS_PER_DAY + due.start + hour) % HOURS_PER_WEEK for hour in range(hours)]
            got = sum(by_hour[hour] for hour in window) * SECONDS_PER_HOUR
            text = f"{name}: {got:,.0f} of {needed or 0:,.0f} requests by {due.by:02}:00, batch {day + 1} of the week"
            yield got >= (needed or 0) * (1 - claim.precision.figure), text


def _requests_of(tokens: TokensPerDay, workload: Workload) -> float:
    """Requests whose prompts, answers or both have so many tokens."""
    each = [(item.share, item.input_tokens, item.output_tokens) for item in workload.classes()]
    prompt, answer = sum(share * size for share, size, _ in each), sum(share * size for share, _, size in each)
    if tokens.total is not None:
        return tokens.total / (prompt + answer)
    return tokens.input / prompt if tokens.input is not None else (tokens.output or 0.0) / answer


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
    in_containers = {c.workload for c in claim.fleet.containers}
    for name, workload in claim.workloads.items():
        if name in in_containers:
            continue
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
    if answered_by_apis(claim, workload):
        return True
    slo, start_up_minutes = workload.slo, claim.policy.elastic.start_up_minutes
    tightest_ms = min([*limits_ms(slo.ttft_ms).values(), *limits_ms(slo.e2e_ms).values()], default=math.inf)
    before_ms = slo.ttft_overhead_ms + (MAX_NETWORK_MS if workload.users_in or workload.network_ms else 0.0)
    return start_up_minutes * SECONDS_PER_HOUR / MINUTES_PER_HOUR * MS_PER_S + before_ms <= tightest_ms


def utilization(claim: Claim) -> Findings:
    """The load of each period against what its replicas sustain, and that the figures shown are the schedule's."""
    for d in claim.fleet.deployments:
        for running in d.schedule:
            yield from _load(claim, d, running)
        busiest = max(d.schedule, key=lambda item: (item.requests_per_second, item.replicas))
        shown = (d.replicas, d.requests_per_second, d.max_requests_per_second, d.utilization)
        most = max(item.utilization for item in d.schedule)
        own = (busiest.replicas, busiest.requests_per_second, busiest.max_requests_per_second, most)
        same = all(math.isclose(*pair, rel_tol=claim.precision.figure) for pair in zip(shown, own, strict=True))
        yield same, f"{d.workload} on {d.gpu} is shown at its busiest"


def _load(claim: Claim, d: Deployment, running: PeriodReplicas) -> Findings:
    """What a deployment is sent in one period, of classes that may meet on its replicas."""
    full, sent = running.max_requests_per_second, running.requests_per_second
    highest = claim.policy.max_utilization
    worst = sent * claim.policy.robust.demand / claim.policy.robust.throughput
    text = f"{d.workload} on {d.gpu} runs at {worst / full if full else math.inf:.3f} of {highest:g}"
    yield worst <= highest * full * (1 + claim.precision.figure), text
    share = sent / full if full else 0.0
    yield math.isclose(running.utilization, share, rel_tol=claim.precision.figure), f"{d.workload}: {share:.3f} shown"
    flows = running.requests_per_second_by_class
    total = sum(flows.values())
    known = set(flows) <= {item.name for item in d.classes} and min(flows.values(), default=0.0) >= 0
    whole = math.isclose(total, sent, rel_tol=claim.precision.figure) or not sent
    yield known and whole, f"{d.workload} on {d.gpu} is sent {total:g} requests/s of classes it is shown with"
    if total and not _may_meet(claim, d.workload, flows):
        yield False, f"{d.workload} on {d.gpu} is sent a mix of {', '.join(flows)}"


def _may_meet(claim: Claim, workload: str, flows: Mapping[str, float]) -> bool:
    """Whether a replica may be sent these flows: any, or where classes do not mix one alone or all in their shares.

    After a loss other mixes would meet on a replica, which nobody predicted; so they do not mix where one is survived.
    """
    policy, total = claim.policy, sum(flows.values())
    if policy.mix_classes and not (policy.losses or policy.spare_on_other_instances):
        return True
    distances = [abs(flows.get(item.name, 0.0) / total - item.share) for item in claim.classes(workload)]
    return sum(flow > 0 for flow in flows.values()) == 1 or max(distances) <= claim.precision.figure


def memory(claim: Claim) -> Findings:
    """Something is left for the KV cache beside the weights, and the longest request fits the model's context."""
    for number, (d, _, _) in enumerate(claim.placed):
        yield from _vram(claim, d, number)
        free_gib = float(claim.memory.kv_capacity[number]) / BYTES_PER_GIB
        yield free_gib > 0, f"{d.model} {d.precision} leaves {free_gib:.1f} GiB for KV cache on {d.gpu}"
        served = {item.name for item in d.classes}
        longest = max(item.longest_tokens for item in claim.classes(d.workload) if item.name in served)
        context = claim.catalogs.model(d.model).max_context_tokens
        yield longest <= context, f"{d.model} holds {longest} of {context} tokens"


def _vram(claim: Claim, d: Deployment, number: int) -> Findings:
    """The parts that no load changes; how much of the KV cache the load fills is predicted with its latencies."""
    use = claim.memory
    own = {
        "usable": (use.usable, d.vram.usable_gib),
        "weights": (use.weights, d.vram.weights_gib),
        "activations": (use.activations + use.overhead, d.vram.activations_gib),
        "KV cache": (use.kv_capacity, d.vram.kv_cache_gib + d.vram.free_gib),
    }
    for what, (needed, shown_gib) in own.items():
        own_gib = float(needed[number]) / BYTES_PER_GIB
        yield (
            claim.same(own_gib, shown_gib),
            f"{d.workload} on {d.gpu}: {what} {own_gib:.2f} GiB, shown {shown_gib:.2f}",
        )


def limits_ms(latency: Latency | None) -> Mapping[str, float]:
    return latency.limits_ms() if latency else {}


def quality(claim: Claim) -> Findings:
    """What the model and its precision keep of the first model's score, against the workload's floor."""
    running: list[Deployment | Containers] = [*claim.fleet.deployments, *claim.fleet.containers]
    for d in running:
        workload, models = claim.workloads[d.workload], claim.models(d.workload)
        yield d.model in models, f"{d.workload} is served by {d.model}"
        if d.model not in models:
            continue
        model = claim.catalogs.model(d.model)
        weights = quality_share(claim.catalogs, model.id, d.precision, by_family=workload.unknown_quality == "family")
        kept = weights if d.kv_precision in SIXTEEN_BIT else None
        if kept is None:
            few_bits = weights is None and claim.catalogs.schemes[d.precision].weight_bits <= FEW_BITS
            avoided = few_bits and f"workloads[{d.workload}].unknown_quality" in claim.avoided
            unasked = not workload.has_quality_floor and workload.unknown_quality in ("avoid", "family") and not avoided
            known = unasked or workload.unknown_quality == "accept"
            yield known, f"{d.workload}: quality of {d.precision} with a {d.kv_precision} KV cache is unknown"
            continue
        served = f"{d.workload}: {d.model} {d.precision}"
        if workload.min_quality is not None:
            share = models[d.model] * kept.share
            yield share >= workload.min_quality, f"{served} keeps {share:.4f}, floor {workload.min_quality:g}"
        floor = workload.min_quality_worst
        if floor is not None and kept.worst_share is None:
            yield workload.unknown_quality == "accept", f"{served}: its worst benchmark is unknown"
        elif floor is not None and kept.worst_share is not None:
            share = models[d.model] * kept.worst_share
            yield share >= floor, f"{served} keeps {share:.4f} of its worst benchmark, floor {floor:g}"
