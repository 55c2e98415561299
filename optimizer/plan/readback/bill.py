"""What a solution costs in Decimal, from whole counts in every hour of the week: instances, APIs, egress, changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR, SECONDS_PER_HOUR
from optimizer.inputs.catalog.records import Offer
from optimizer.performance.candidates.periods import Periods
from optimizer.performance.market.market import egress_usd_per_gb, storage_usd_per_month
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Use, flows_by_class
from optimizer.plan.record.fleet import Bought, Hosted, Migration, PaidRun, Period, Purchase, Sent
from optimizer.program.problem.quantities import busiest_period, deployments
from optimizer.program.refine import paid_runs as billing


def hours_per_month(answer: Answer) -> list[Decimal]:
    """Hours of a month that each period stands for: its hours of the week x 730 / 168."""
    week = answer.formulation.periods
    hours = np.bincount(week.hour_to_period, minlength=week.count).tolist()
    return [Decimal(count * HOURS_PER_MONTH) / HOURS_PER_WEEK for count in hours]


def purchase(
    answer: Answer, position: int, instances: Sequence[int], sizes: Sequence[int], uses: Sequence[Use]
) -> Purchase:
    """The bill for one offer.

    Args:
        answer: The solution.
        position: The offer's place in the market.
        instances: (T,) that run.
        sizes: GPUs per replica of each of `uses`.
        uses: What runs on them.
    """
    market, week = answer.inquiry.market, answer.formulation.periods
    offer, always = market.offers[position], bool(market.always_paid[position])
    policy, catalogs = answer.inquiry.scenario.policy, answer.inquiry.catalogs
    start_up = Decimal(repr(policy.elastic.start_up_minutes)) / MINUTES_PER_HOUR
    least = 1 if always or week.count == 1 else policy.elastic.billed_hours(offer.provider)
    runs = billing.paid_runs(week.hour_to_period, np.array(instances), least) if least > 1 else ()
    hours = paid_hours(week, instances, always, start_up) + lingering_hours(week, instances, runs)
    storage = _priced(storage_usd_per_month(offer, catalogs, policy.storage_gb_per_instance), offer, "storage")
    most = max(instances)
    used = [sum(size * use.replicas[t] for size, use in zip(sizes, uses, strict=True)) for t in range(week.count)]
    idle = min(offer.gpu_count * n - busy for n, busy in zip(instances, used, strict=True) if n == most)
    per_hour = storage / HOURS_PER_MONTH
    return Purchase(
        offer=offer.id,
        instances=most,
        gpus=offer.gpu_count * most,
        idle_gpus=idle,
        always_paid=always,
        schedule=[Bought(period=t, instances=n) for t, n in enumerate(instances)],
        runs=[PaidRun(first_hour=r.first_hour, hours=r.hours, instances=r.instances) for r in runs],
        instance_hours_per_month=float(hours),
        price_usd_per_hour=offer.price_usd_per_hour,
        storage_usd_per_hour=per_hour,
        monthly_cost_usd=(offer.price_usd_per_hour + per_hour) * hours,
    )


def paid_hours(week: Periods, instances: Sequence[int], always_paid: bool, start_up_hours: Decimal) -> Decimal:
    """Instance hours of a month: every hour where always paid, else those that run and those that start."""
    if always_paid:
        return Decimal(max(instances) * HOURS_PER_MONTH)
    by_hour: list[int] = [instances[t] for t in week.hour_to_period.tolist()]
    started = sum(max(0, later - now) for now, later in zip(by_hour, by_hour[1:] + by_hour[:1], strict=True))
    return (Decimal(sum(by_hour)) + start_up_hours * Decimal(started)) * HOURS_PER_MONTH / HOURS_PER_WEEK


@dataclass(frozen=True)
class SentOut:
    """What a deployment's answers send out in a month, and what its provider charges for it."""

    gb_per_month: float
    usd_per_month: Decimal


def _priced(amount: Decimal | None, offer: Offer, what: str) -> Decimal:
    """A price that the criteria on offers have made sure of; one that is missing all the same is not nothing."""
    if amount is None:
        raise ValueError(f"nobody prices {what} at {offer.provider}, yet the plan runs on {offer.id}")
    return amount


def sent_out(answer: Answer, use: Use) -> SentOut | None:
    """Requests of each class and period x GB per request x USD/GB; None where the policy does not ask for egress."""
    egress, inquiry = answer.inquiry.scenario.policy.egress, answer.inquiry
    if egress is None:
        return None
    choice = inquiry.options[use.column.workload]
    each = [egress.gb_per_request(item.output_tokens) for item in choice.workload.classes()]
    gb_per_s = (sum(f * gb for f, gb in zip(flows, each, strict=True)) for flows in flows_by_class(choice, use))
    per_hour = (Decimal(repr(gb)) * h for gb, h in zip(gb_per_s, hours_per_month(answer), strict=True))
    gb = sum(per_hour, Decimal(0)) * SECONDS_PER_HOUR
    offer = inquiry.market.offers[use.column.offer]
    price = _priced(egress_usd_per_gb(offer, inquiry.catalogs), offer, "egress")
    return SentOut(float(gb), gb * price)


def lingering_hours(week: Periods, instances: Sequence[int], runs: Sequence[billing.BilledRun]) -> Decimal:
    """Instance hours of a month in which nothing runs that still is paid for, since its least time is not over."""
    if not runs:
        return Decimal(0)
    paid = sum(run.hours * run.instances for run in runs)
    return Decimal(paid - sum(instances[t] for t in week.hour_to_period.tolist())) * HOURS_PER_MONTH / HOURS_PER_WEEK


def hosted_shares(answer: Answer) -> Iterator[Hosted]:
    """What hosted APIs are sent and cost."""
    sent, asked = answer.solution.api_flow_per_s, answer.inquiry.scenario.policy.robust.demand
    for at, api in enumerate(answer.formulation.apis):
        flow = (sent[:, at] / asked).tolist()
        if not any(flow):
            continue
        hours = hours_per_month(answer)
        requests = sum((Decimal(repr(f)) * h * SECONDS_PER_HOUR for f, h in zip(flow, hours, strict=True)), Decimal(0))
        yield Hosted(
            api=api.name,
            provider=api.provider,
            model=api.model,
            workload=api.workload,
            request_class=api.request_class,
            schedule=[Sent(period=t, requests_per_second=f) for t, f in enumerate(flow)],
            requests_per_month=float(requests),
            usd_per_request=api.usd_per_request,
            monthly_cost_usd=api.usd_per_request * requests,
            price_as_of=api.as_of,
            price_source=answer.inquiry.catalogs.sources[api.source].title,
        )


def planned_periods(answer: Answer) -> tuple[Period, ...]:
    """The periods and what each workload asks in them."""
    week, workloads = answer.formulation.periods, answer.inquiry.scenario.workloads
    return tuple(
        Period(
            period=t,
            hours_of_week=_ranges(np.flatnonzero(week.hour_to_period == t).tolist()),
            hours_per_month=float(hours),
            requests_per_second={
                workload.name: float(week.demand_requests_per_second[t, w]) for w, workload in enumerate(workloads)
            },
        )
        for t, hours in enumerate(hours_per_month(answer))
    )


def _ranges(hours: Sequence[int]) -> list[tuple[int, int]]:
    """Rising hours as runs, the first and last of each."""
    starts = [hour for hour in hours if hour - 1 not in hours]
    ends = [hour for hour in hours if hour + 1 not in hours]
    return list(zip(starts, ends, strict=True))


def migration(answer: Answer) -> Migration | None:
    """What is started and stopped against the plan in force, in the period with most traffic."""
    policy = answer.inquiry.scenario.policy.migration
    if policy is None:
        return None
    problem = answer.formulation.problem
    alike, in_force = deployments(problem)
    replicas = answer.solution.replicas[busiest_period(problem)]
    more = np.bincount(alike, weights=replicas, minlength=len(in_force)).astype(np.int64) - in_force
    started = int(np.maximum(more, 0).sum())
    stopped = int(np.maximum(-more, 0).sum()) + answer.formulation.stopped_anyway
    cost = Decimal(repr(policy.usd_per_change)) * (started + stopped)
    return Migration(started=started, stopped=stopped, one_time_cost_usd=cost)
