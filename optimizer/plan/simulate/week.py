"""The scenario's own week from Monday on: rates and replicas hour by hour, as the plan has them.

The plan starts replicas before the hour that needs them, and pays for that, so they are there when it begins.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import HOURS_PER_DAY, SECONDS_PER_HOUR
from optimizer.performance.simulation.arrivals import Classes, Stream, by_rates, drawn_at
from optimizer.performance.simulation.dealing import KNOWING, Dealing, sent
from optimizer.performance.simulation.fleet import Outcome, outcome_of
from optimizer.performance.simulation.scheduled import ComingAndGoing, Schedule, served_by_schedule
from optimizer.plan.simulate.servers import ServedWorkload, every_service
from optimizer.plan.verify.claim import Claim

MOST_REQUESTS: Final = 3_000_000
"""Of all hours together, which take minutes."""


@dataclass(frozen=True)
class Week:
    """A workload's hours, (H,), from Monday 0 h on.

    Attributes:
        service: Its deployments, each with the most replicas that it ever has.
        period: (H,) of the plan.
        flow_per_s: (periods, deployments, K) requests a second that each deployment is sent of each class.
        schedules: Of each deployment.
    """

    service: ServedWorkload
    period: tuple[int, ...]
    flow_per_s: Floats
    schedules: tuple[Schedule, ...]

    @property
    def rate_per_s(self) -> Floats:
        """(H,) of all its requests."""
        rate: Floats = self.flow_per_s.sum(axis=(1, 2))[list(self.period)]
        return rate


def weeks(claim: Claim, confidence: float, days: int, router: Dealing) -> tuple[Week, ...]:
    """Every workload that replicas serve, over so many days.

    Raises:
        InputError: They have more requests than can be simulated in minutes, or a router that is not simulated so.
    """
    found = tuple(_weeks(claim, confidence, days))
    requests = sum(float(each.rate_per_s.sum()) for each in found) * SECONDS_PER_HOUR
    if requests > MOST_REQUESTS:
        problem = f"{days} days have {requests:,.0f} requests, more than {MOST_REQUESTS:,}"
        raise InputError([Finding("--arrivals", 0, "", problem, "say week:DAYS with fewer days")])
    if router in KNOWING:
        problem = "over a week replicas are simulated one by one, so nobody knows what each has to do"
        raise InputError([Finding("--arrivals", 0, "", problem, "simulate the busiest hours, or another router")])
    return found


def _weeks(claim: Claim, confidence: float, days: int) -> Iterator[Week]:
    period = tuple(claim.period_of_hour[: days * HOURS_PER_DAY])
    for service in every_service(claim, confidence):
        flow = np.array(
            [
                [
                    [d.schedule[number].requests_per_second_by_class.get(name, 0.0) for name in service.names]
                    for d in service.deployments
                ]
                for number in range(len(claim.fleet.periods))
            ]
        )
        planned = [np.array([d.schedule[number].replicas for number in period]) for d in service.deployments]
        yield Week(service, period, flow, tuple(Schedule(each) for each in planned))


def served_week(week: Week, router: Dealing, most_replicas: int, seeds: tuple[int, int]) -> tuple[Stream, Outcome]:
    """One seed's requests of the week, served.

    Args:
        week: The workload's.
        router: What sends requests to replicas, in turn or by chance.
        most_replicas: Of each deployment, that are looked at.
        seeds: The luck, and what tells this use of it from others.
    """
    coming, dealing = (np.random.default_rng([*seeds, use]) for use in range(2))
    stream, period = requests_of_week(week, coming)
    server = sent_as_planned(week, dealing, router, stream, period)
    return stream, served_as_dealt(week.service, stream, server, week.schedules, router, most_replicas, dealing)


def requests_of_week(week: Week, coming: np.random.Generator) -> tuple[Stream, Ints]:
    """The requests of its hours, and the period of the plan in which each comes, (N,)."""
    classes = week.service.classes
    arrived_s = by_rates(coming, week.rate_per_s, float(SECONDS_PER_HOUR), week.service.cv2)
    hour = np.minimum((arrived_s / SECONDS_PER_HOUR).astype(np.int64), len(week.period) - 1)
    period = np.array(week.period)[hour]
    drawn = np.zeros((3, len(arrived_s)), dtype=np.int64)
    for number in np.unique(period):
        (those,) = np.nonzero(period == number)
        by_class = week.flow_per_s[number].sum(axis=0)
        part = drawn_at(coming, _in_shares(classes, by_class / by_class.sum()), arrived_s[those])
        drawn[:, those] = part.request_class, part.input_tokens, part.output_tokens
    return Stream(arrived_s, *drawn), period


def sent_as_planned(week: Week, dealing: np.random.Generator, router: Dealing, stream: Stream, period: Ints) -> Ints:
    """(N,) the deployment that each request goes to, in the shares of its period."""
    server = np.zeros(stream.requests, dtype=np.int64)
    for number in np.unique(period):
        (those,) = np.nonzero(period == number)
        server[those] = sent(dealing, router, stream.request_class[those], week.flow_per_s[number].T)
    return server


def served_as_dealt(
    service: ServedWorkload,
    stream: Stream,
    server: Ints,
    replicas: Sequence[ComingAndGoing],
    router: Dealing,
    most_replicas: int,
    dealing: np.random.Generator,
) -> Outcome:
    """What became of requests that go to those deployments, (N,), whose replicas come and go."""
    chance, cached = dealing if router == "by_chance" else None, service.workload.cached_input_share
    served = [
        served_by_schedule(one.costs, stream, np.flatnonzero(server == number), there, cached, most_replicas, chance)
        for number, (one, there) in enumerate(zip(service.servers, replicas, strict=True))
    ]
    return outcome_of(stream, [max(each.most, 1) for each in replicas], served, most_replicas)


def _in_shares(classes: Classes, share: Floats) -> Classes:
    return Classes(share, classes.input_tokens, classes.output_tokens, classes.kinds)
