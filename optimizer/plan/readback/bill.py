"""What a solution costs in Decimal, from whole counts in every hour of the week: instances, APIs, egress, changes."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

import numpy as np

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR, SECONDS_PER_HOUR
from optimizer.inputs.catalog.records import Offer
from optimizer.performance.market.market import egress_usd_per_gb, storage_usd_per_month
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Use, flows_by_class
from optimizer.plan.record.fleet import (
    BilledRun,
    Hosted,
    InstanceLayout,
    LoadedReplicas,
    PeriodInstances,
    PeriodRequests,
    Purchase,
    ReplicaChanges,
)
from optimizer.program.problem.columns import Column
from optimizer.program.problem.quantities import busiest_period, deployments
from optimizer.program.refine.paid_runs import paid_runs


def hours_of_week(answer: Answer) -> list[int]:
    """(T,) hours of a week that each period stands for."""
    week = answer.formulation.periods
    hours: list[int] = np.bincount(week.hour_to_period, minlength=week.count).tolist()
    return hours


def hours_per_month(answer: Answer) -> list[Decimal]:
    """(T,) hours of a month that each period stands for: its hours of the week x 730 / 168."""
    return [Decimal(hours * HOURS_PER_MONTH) / HOURS_PER_WEEK for hours in hours_of_week(answer)]


def asked_hours_per_month(answer: Answer, workload: int) -> list[Decimal]:
    """(T,) hours of a month at a period's demand in which as much is asked of a workload as in all its hours.

    Money goes by what is asked in each hour; a period is planned for its highest, and what is sent where keeps its
    proportions in the others.
    """
    share = answer.formulation.periods.asked_share[:, workload].tolist()
    return [Decimal(repr(part)) * hours for part, hours in zip(share, hours_per_month(answer), strict=True)]


def purchase(answer: Answer, position: int, instances: Sequence[int], gpus_in_use: Sequence[int]) -> Purchase:
    """The bill for one offer.

    Args:
        answer: The solution.
        position: The offer's place in the market.
        instances: (T,) that run.
        gpus_in_use: (T,) that hold a replica.
    """
    inquiry, market, layouts = answer.inquiry, answer.inquiry.market, layouts_on(answer, position)
    offer, always_paid = market.offers[position], bool(market.always_paid[position])
    runs = () if always_paid else _billed_runs(answer, offer, instances)
    hours = Decimal(max(instances) * HOURS_PER_MONTH) if always_paid else _paid_hours(answer, instances, runs, layouts)
    storage = storage_usd_per_month(offer, inquiry.catalogs, inquiry.scenario.policy.storage_gb_per_instance)
    storage_usd_per_hour, most = _priced(storage, offer, "storage") / HOURS_PER_MONTH, max(instances)
    return Purchase(
        offer=offer.id,
        instances=most,
        gpus=offer.gpu_count * most,
        idle_gpus=min(
            offer.gpu_count * n - in_use for n, in_use in zip(instances, gpus_in_use, strict=True) if n == most
        ),
        always_paid=always_paid,
        schedule=[PeriodInstances(period=t, instances=n) for t, n in enumerate(instances)],
        runs=list(runs),
        layouts=layouts,
        instance_hours_per_month=float(hours),
        price_usd_per_hour=offer.price_usd_per_hour,
        storage_usd_per_hour=storage_usd_per_hour,
        monthly_cost_usd=(offer.price_usd_per_hour + storage_usd_per_hour) * hours,
    )


def _billed_runs(answer: Answer, offer: Offer, instances: Sequence[int]) -> tuple[BilledRun, ...]:
    """What is paid for in a week where a provider bills a least time; none where it bills the hours that run."""
    week, minimum_hours = (
        answer.formulation.periods,
        answer.inquiry.scenario.policy.elastic.billed_hours(offer.provider),
    )
    if week.count == 1 or minimum_hours == 1:
        return ()
    runs = paid_runs(week.hour_to_period, np.array(instances), minimum_hours)
    return tuple(BilledRun(first_hour=run.first_hour, hours=run.hours, instances=run.instances) for run in runs)


def layouts_on(answer: Answer, position: int) -> list[InstanceLayout]:
    """What the instances of an offer hold, given its place in the market; nothing where one configuration runs."""
    for held in answer.solution.loaded:
        if answer.formulation.offers[held.offer] == position:
            columns = [answer.formulation.columns[c] for c in held.groups.tolist()]
            return [
                InstanceLayout(
                    contents=[_replicas(answer, *each) for each in zip(columns, counts, strict=True) if each[1]],
                    schedule=[PeriodInstances(period=t, instances=n) for t, n in enumerate(standing)],
                )
                for counts, standing in zip(held.contents.tolist(), held.standing.T.tolist(), strict=True)
                if any(standing)
            ]
    return []


def _replicas(answer: Answer, column: Column, replicas: int) -> LoadedReplicas:
    """So many replicas of the configuration that a column stands for."""
    choice = answer.inquiry.options[column.workload]
    configuration = choice.configurations[column.configuration]
    return LoadedReplicas(
        workload=choice.workload.name,
        model=choice.workload.model,
        engine=configuration.engine,
        precision=configuration.precision,
        kv_precision=configuration.kv_precision,
        speculation=configuration.speculation,
        tensor_parallel=configuration.tensor_parallel,
        pipeline_parallel=configuration.pipeline_parallel,
        replicas=replicas,
    )


def _paid_hours(
    answer: Answer, instances: Sequence[int], runs: Sequence[BilledRun], layouts: Sequence[InstanceLayout]
) -> Decimal:
    """Instance hours of a month: those that run, are billed until a least time is over, or are spent on starting.

    Started is what more instances run than an hour before, or what more of a layout do and did not rest before.
    """
    week = answer.formulation.periods.hour_to_period
    by_hour = np.array(instances)[week]
    # (layouts, 168) instances that hold each
    counts = [[item.instances for item in layout.schedule] for layout in layouts]
    held = np.array(counts, dtype=np.int64).reshape(len(counts), len(instances))[:, week]
    turned = np.maximum(held - np.roll(held, 1, axis=1), 0).sum(axis=0)
    rested = np.roll(by_hour - held.sum(axis=0), 1) if layouts else 0
    started = int(np.maximum(np.maximum(by_hour - np.roll(by_hour, 1), turned - rested), 0).sum())
    paid = sum(run.hours * run.instances for run in runs) or int(by_hour.sum())
    start_up_hours = Decimal(repr(answer.inquiry.scenario.policy.elastic.start_up_minutes)) / MINUTES_PER_HOUR
    return (paid + start_up_hours * started) * HOURS_PER_MONTH / HOURS_PER_WEEK


def _priced(amount: Decimal | None, offer: Offer, what: str) -> Decimal:
    """A price that the criteria on offers have made sure of; one that is missing all the same is not nothing."""
    if amount is None:
        raise ValueError(f"nobody prices {what} at {offer.provider}, yet the plan runs on {offer.id}")
    return amount


def egress_gb_per_month(answer: Answer, use: Use) -> Decimal | None:
    """Requests asked of each class and period x GB per request; None where the policy does not ask for egress."""
    egress, choice = answer.inquiry.scenario.policy.egress, answer.inquiry.options[use.column.workload]
    if egress is None:
        return None
    gb_per_request = [egress.gb_per_request(item.output_tokens) for item in choice.workload.classes()]
    gb_per_s = (
        sum(f * gb for f, gb in zip(flows, gb_per_request, strict=True)) for flows in flows_by_class(choice, use)
    )
    by_period = zip(gb_per_s, asked_hours_per_month(answer, choice.workload_index), strict=True)
    return sum((Decimal(repr(gb)) * hours for gb, hours in by_period), Decimal(0)) * SECONDS_PER_HOUR


def egress_usd(answer: Answer, offer: Offer, gb: Decimal) -> Decimal:
    """What the offer's provider charges for data sent to the internet."""
    return gb * _priced(egress_usd_per_gb(offer, answer.inquiry.catalogs), offer, "egress")


def hosted_shares(answer: Answer) -> Iterator[Hosted]:
    """What hosted APIs, and containers paid by the second, are sent and cost."""
    by_second = {served.choice.workload_index for served in answer.inquiry.by_second}
    flows_per_s = answer.solution.api_flow_per_s.T / answer.inquiry.scenario.policy.robust.demand
    for api, flows in zip(answer.formulation.apis, flows_per_s.tolist(), strict=True):
        if not any(flows):
            continue
        by_period = zip(flows, asked_hours_per_month(answer, api.workload_index), strict=True)
        requests = sum((Decimal(repr(flow)) * hours * SECONDS_PER_HOUR for flow, hours in by_period), Decimal(0))
        yield Hosted(
            api=api.name,
            provider=api.provider,
            model=api.model,
            workload=api.workload,
            request_class=api.request_class,
            schedule=[PeriodRequests(period=t, requests_per_second=flow) for t, flow in enumerate(flows)],
            requests_per_month=float(requests),
            usd_per_request=api.usd_per_request,
            monthly_cost_usd=api.usd_per_request * requests,
            price_as_of=api.as_of,
            price_source=answer.inquiry.catalogs.sources[api.source].cited,
            paid_by="second" if api.workload_index in by_second else "request",
        )


def replica_changes(answer: Answer) -> ReplicaChanges | None:
    """What is started and stopped against the plan in force, in the period with most traffic."""
    policy, problem = answer.inquiry.scenario.policy.migration, answer.formulation.problem
    if policy is None:
        return None
    # (C,) candidate -> its group of equal configurations; (G,) replicas of each group today, then more than today
    group, in_force = deployments(problem)
    planned = np.bincount(group, answer.solution.replicas[busiest_period(problem)], len(in_force)).astype(np.int64)
    started = int(np.maximum(planned - in_force, 0).sum())
    stopped = int(np.maximum(in_force - planned, 0).sum()) + answer.formulation.stopped_anyway
    cost = Decimal(repr(policy.usd_per_change)) * (started + stopped)
    return ReplicaChanges(started=started, stopped=stopped, one_time_cost_usd=cost)
