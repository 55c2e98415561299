"""A week whose replicas follow what arrived, beside the plan's own schedule, which knew it: promises and money."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import exactly
from optimizer.base.units import (
    HOURS_PER_DAY,
    HOURS_PER_MONTH,
    HOURS_PER_WEEK,
    MINUTES_PER_HOUR,
    SECONDS_PER_HOUR,
    SECONDS_PER_MINUTE,
)
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import Dealing
from optimizer.performance.simulation.fleet import Outcome
from optimizer.performance.simulation.scaling import (
    EVERY_S,
    LOOKS_BACK_S,
    MOST_ADDED,
    STEADY_S,
    TOLERANCE,
    paid_seconds,
)
from optimizer.plan.record.autoscaling import Autoscaling, ScaledRun, ScaledWorkload
from optimizer.plan.record.fleet import Deployment, Purchase
from optimizer.plan.simulate.judging import ServedRequests, met_by, within_all
from optimizer.plan.simulate.minutes import broken_minutes
from optimizer.plan.simulate.reacting import Scalable, asked_by_scaler, scalable, sent_to_what_is_there, timelines
from optimizer.plan.simulate.starting import start_of
from optimizer.plan.simulate.week import Week, requests_of_week, sent_as_planned, served_as_dealt
from optimizer.plan.verify.bill import paid_hours_per_month
from optimizer.plan.verify.claim import Claim

RULE: Final = (
    f"every {exactly(EVERY_S)} s, by the requests of the last {exactly(LOOKS_BACK_S)} s; nothing within "
    f"{TOLERANCE:.0%} of the target; {MOST_ADDED} more or twice as many at once; fewer when they were enough for "
    f"{exactly(STEADY_S / SECONDS_PER_MINUTE)} minutes: the defaults of Kubernetes' autoscaler"
)


@dataclass(frozen=True)
class ScaledSeed:
    """A workload's requests of one seed under the scaler and under the plan's schedule.

    Attributes:
        stream: The requests of both.
        asked: (D, J) replicas after each look of the scaler.
        scaled, planned: What became of them.
    """

    stream: Stream
    asked: Ints
    scaled: Outcome
    planned: Outcome


@dataclass(frozen=True)
class ScaledWeek:
    """A workload over the simulated days, one run a seed."""

    week: Week
    of: Scalable
    seeds: Sequence[ScaledSeed]


def scaled_weeks(
    claim: Claim,
    weeks: Sequence[Week],
    router: Dealing,
    luck: Sequence[int],
    target: float,
    most_replicas: int,
) -> list[ScaledWeek]:
    """Every workload's days under a scaler.

    Args:
        claim: The plan.
        weeks: Its workloads' hours.
        router: What sends requests to replicas, in turn or by chance.
        luck: A seed for each run.
        target: Share of what replicas sustain that the scaler aims at.
        most_replicas: Of each deployment, that are looked at.

    Raises:
        InputError: Nothing of the plan comes and goes.
    """
    scalables = [_scalable(claim, week) for week in weeks]
    if not any(each.elastic.any() for each in scalables):
        problem = "all that the plan runs on is paid all month, so nothing can be removed and nothing is added"
        raise InputError([Finding("--autoscale", 0, "", problem, "plan with pricing terms that are paid by the hour")])
    return [
        ScaledWeek(week, of, [_run(week, of, router, (seed, number), target, most_replicas) for seed in luck])
        for number, (week, of) in enumerate(zip(weeks, scalables, strict=True))
    ]


def _scalable(claim: Claim, week: Week) -> Scalable:
    """A workload's deployments with what holds them, and how long a replica takes to start."""
    service, holds = week.service, {id(d): purchase for d, purchase, _ in claim.placed}
    pairs = zip(service.deployments, service.servers, strict=True)
    starts = [start_of(claim, d, server.costs) for d, server in pairs]
    return scalable(week, [holds[id(d)] for d in service.deployments], starts)


def _run(
    week: Week, of: Scalable, router: Dealing, seeds: tuple[int, int], target: float, most_replicas: int
) -> ScaledSeed:
    """The same requests by what the scaler has there, and by the plan's replicas, ready when their hour begins."""
    coming, dealing, other = (np.random.default_rng([*seeds, use]) for use in range(3))
    days = len(week.period) // HOURS_PER_DAY
    stream, period = requests_of_week(week, coming)
    as_planned = sent_as_planned(week, dealing, router, stream, period)
    planned = served_as_dealt(week.service, stream, as_planned, week.schedules, router, most_replicas, dealing)
    asked = asked_by_scaler(of, stream, target, days)
    there = timelines(of, asked, days)
    as_there = sent_to_what_is_there(of, there, other, router, stream)
    scaled = served_as_dealt(week.service, stream, as_there, there, router, most_replicas, other)
    return ScaledSeed(stream, asked, scaled, planned)


def autoscaling(claim: Claim, weeks: Sequence[ScaledWeek], target: float, warm_up: float) -> Autoscaling:
    """What the scaler made of it, and what the plan does.

    Args:
        claim: The plan.
        weeks: Its workloads.
        target: Of the scaler.
        warm_up: Share of the time whose requests do not count.
    """
    days = len(weeks[0].week.period) // HOURS_PER_DAY
    scaled_usd, planned_usd = _costs(claim, weeks, days)
    return Autoscaling(
        target=target,
        rule=RULE,
        cost_usd=scaled_usd,
        planned_cost_usd=planned_usd,
        workloads=[_workload(each, days, warm_up) for each in weeks],
    )


def _workload(each: ScaledWeek, days: int, warm_up: float) -> ScaledWorkload:
    week, minutes = each.week, days * HOURS_PER_DAY * MINUTES_PER_HOUR
    grows = [number for number in each.of.home.tolist() if number >= 0]
    slowest = max((each.of.starts[number] for number in grows), default=each.of.starts[0])
    hourly = np.array([one.replicas for one in week.schedules])
    rises = np.maximum(np.diff(hourly, axis=1), 0).sum()
    asked = [seed.asked for seed in each.seeds]
    scaled = _sample(week, [(seed.stream, seed.scaled) for seed in each.seeds])
    planned = _sample(week, [(seed.stream, seed.planned) for seed in each.seeds])
    return ScaledWorkload(
        workload=week.service.workload.name,
        requests=float(np.mean([seed.stream.requests for seed in each.seeds])),
        minutes=minutes,
        start_up_s=slowest.seconds,
        start_up=slowest.known,
        scaled=ScaledRun(
            **_promises(week, scaled, minutes, warm_up),
            replica_hours=float(np.mean([one.sum() for one in asked])) * EVERY_S / SECONDS_PER_HOUR,
            most_replicas=max(int(one.sum(axis=0).max()) for one in asked),
            starts=float(np.mean([np.maximum(np.diff(one, axis=1), 0).sum() for one in asked])),
        ),
        planned=ScaledRun(
            **_promises(week, planned, minutes, warm_up),
            replica_hours=float(hourly.sum()),
            most_replicas=int(hourly.sum(axis=0).max()),
            starts=float(rises),
        ),
    )


def _sample(week: Week, runs: Sequence[tuple[Stream, Outcome]]) -> list[ServedRequests]:
    """What requests of each seed met."""
    return [met_by(week.service, [run]) for run in runs]


def _promises(week: Week, samples: Sequence[ServedRequests], minutes: int, warm_up: float) -> dict[str, float]:
    """How many requests, and how many minutes, kept their limits."""
    counted = [sample.after(warm_up) for sample in samples]
    within = [within_all(week.service.workload, sample) for sample in counted]
    return {
        "share_within_limits": float(np.mean(np.concatenate(within))),
        "broken_minutes": float(np.mean([broken_minutes(week.service, sample, minutes) for sample in counted])),
    }


def _costs(claim: Claim, weeks: Sequence[ScaledWeek], days: int) -> tuple[Decimal, Decimal]:
    """Of all instances over the days: as the scaler asks for them, and as the plan has them."""
    seeds = len(weeks[0].seeds)
    of_month = Decimal(days * HOURS_PER_DAY) / HOURS_PER_MONTH
    scaled, planned = Decimal(0), Decimal(0)
    for purchase, offer in claim.bought:
        hourly_usd = purchase.price_usd_per_hour + purchase.storage_usd_per_hour
        if purchase.always_paid:
            whole = purchase.monthly_cost_usd * of_month
            scaled, planned = scaled + whole, planned + whole
            continue
        hours = _planned_hours(claim, purchase, days)
        if days * HOURS_PER_DAY == HOURS_PER_WEEK:
            hours = float(paid_hours_per_month(claim, purchase, offer)) * HOURS_PER_WEEK / HOURS_PER_MONTH
        planned += hourly_usd * Decimal(repr(hours))
        least = claim.policy.elastic.billed_hours(offer.provider)
        least_s = float(least * SECONDS_PER_HOUR) if least > 1 else 0.0
        on_it = [d for d, holder, _ in claim.placed if holder is purchase]
        paid_s = [paid_seconds(_instances(weeks, seed, on_it), least_s) for seed in range(seeds)]
        scaled += hourly_usd * Decimal(repr(sum(paid_s) / seeds / SECONDS_PER_HOUR))
    return scaled, planned


def _instances(weeks: Sequence[ScaledWeek], seed: int, on_it: Sequence[Deployment]) -> Ints:
    """(J,) instances that hold the replicas of some deployments, filled GPU by GPU.

    Of those that stand by, which are never sent anything, there are as many as the plan has.
    """
    asked = {
        id(d): counts
        for each in weeks
        for d, counts in zip(each.week.service.deployments, each.seeds[seed].asked, strict=True)
    }
    period, each_hour = weeks[0].week.period, int(SECONDS_PER_HOUR / EVERY_S)
    gpus, of_instance = np.zeros(len(period) * each_hour), 1
    for d in on_it:
        standing_by = np.repeat([d.schedule[number].replicas for number in period], each_hour)
        gpus, of_instance = gpus + asked.get(id(d), standing_by) * d.gpus_per_replica, d.gpus_per_instance
    instances: Ints = np.ceil(gpus / of_instance).astype(np.int64)
    return instances


def _planned_hours(claim: Claim, purchase: Purchase, days: int) -> float:
    """Instance hours of those days that run, and in which instances start."""
    running = [purchase.schedule[period].instances for period in claim.period_of_hour]
    hours = range(days * HOURS_PER_DAY)
    starts = sum(max(running[hour] - running[hour - 1], 0) for hour in hours)
    start_hours = claim.policy.elastic.start_up_minutes / MINUTES_PER_HOUR
    return float(sum(running[hour] for hour in hours) + starts * start_hours)
