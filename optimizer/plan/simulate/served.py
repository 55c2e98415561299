"""Simulated requests dealt to a plan's replicas: what came, and what became of it, a run a seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import KNOWING, Dealing
from optimizer.performance.simulation.fleet import NO_OUTAGES, Outcome, serve_stream
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.autoscaling import ScaledWeek, scaled_weeks
from optimizer.plan.simulate.judging import ServedRequests, met_by
from optimizer.plan.simulate.losing import Lost, SimulatedLoss, lost_of, requests_through
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.simulate.week import served_week, weeks
from optimizer.plan.verify.claim import Claim

MOST_REPLICAS: Final = 8
"""Replicas of a deployment that are looked at; the others are like them."""
LARGEST_FLEET: Final = 2000
"""Replicas that a workload's requests are dealt to; a larger fleet is simulated as one of so many."""
REQUESTS_OF_A_REPLICA: Final = 1000
"""At least so many requests reach each replica, so that what is left out is the start and not the plan."""
LARGEST_COUNTED_FLEET: Final = 16
"""The same where a router counts what is in flight, whose replicas are simulated side by side: of fewer there is less
to choose from."""
OF_ANY_WORKLOAD: Final = 0
"""Every workload meets the luck of its seed. Were it by place in the scenario, a plan would hold or not, and cost more
or less, by the order in which workloads are written. Each is judged for itself, so they may have the same."""


@dataclass(frozen=True)
class ServedRuns:
    """A workload with its runs, one a seed: when its requests came, and what became of them.

    Attributes:
        service: The workload.
        runs: One a seed.
        of_record: Whether its requests are those of a record, all of which are there.
        lost: What it lost.
        lost_from_s: From when on, after the first request.
        steady: The fleet that they were dealt to, where they come at one rate all the time.
        scaled: Where a scaler has replicas there: what it asked for, beside the plan's own hours.
    """

    service: ServedWorkload
    runs: Sequence[tuple[Stream, Outcome]]
    of_record: bool = False
    lost: Lost | None = None
    lost_from_s: float = 0.0
    steady: ServedWorkload | None = None
    scaled: ScaledWeek | None = None

    @cached_property
    def requests(self) -> ServedRequests:
        """Of all runs."""
        return met_by(self.service, self.runs, self.steady)

    @property
    def span_s(self) -> float:
        """The longest of a run."""
        return max(stream.span_s for stream, _ in self.runs)

    def counted(self, warm_up: float) -> ServedRequests:
        """Those by which promises are judged: that came while a loss lasted, else all but those of the warm-up."""
        if self.lost is None:
            return self.requests.after(warm_up)
        return self.requests.between(self.lost_from_s, self.lost_from_s + self.lost.lasts_s)


def served_as_they_arrive(
    claim: Claim,
    confidence: float,
    router: Dealing,
    luck: Sequence[int],
    arrivals: Arrivals | None,
    requests: int,
    loss: SimulatedLoss | None,
) -> Iterator[ServedRuns]:
    """Every workload that replicas serve, at its busiest."""
    for each in services(claim, confidence):
        service = replace(each, router=router)
        coming = arrivals or Arrivals.as_asked(service)
        fleet, count = simulated_part(service, coming, requests)
        lost = None if loss is None else lost_of(claim, fleet, loss)
        half_s = coming.expected_s(fleet, count) / 2
        if lost is not None and coming.may_go_on:
            count = requests_through(lost, fleet.rate_per_s, count)
        losing = None if lost is None else (lost, half_s)
        runs = [one_run(fleet, coming, count, seed, losing) for seed in luck]
        if loss is None:
            yield ServedRuns(service, runs, coming.is_record, steady=steadily_dealt_to(fleet, coming))
        else:
            yield ServedRuns(service, runs, coming.is_record, lost_of(claim, service, loss), half_s)


def served_by_hours(
    claim: Claim, confidence: float, router: Dealing, luck: Sequence[int], days: int, autoscale: float | None
) -> Iterator[ServedRuns]:
    """Every workload that replicas serve, over so many days."""
    asked = weeks(claim, confidence, days, router)
    if autoscale is not None:
        for scaled in scaled_weeks(claim, asked, router, luck, autoscale, MOST_REPLICAS):
            met = [(each.stream, each.scaled) for each in scaled.seeds]
            yield ServedRuns(replace(scaled.week.service, router=router), met, scaled=scaled)
        return
    for week in asked:
        runs = [served_week(week, router, MOST_REPLICAS, (seed, OF_ANY_WORKLOAD)) for seed in luck]
        yield ServedRuns(replace(week.service, router=router), runs)


def simulated_part(service: ServedWorkload, arrivals: Arrivals, requests: int) -> tuple[ServedWorkload, int]:
    """The fleet that requests are dealt to, and how many there are, enough for each of its replicas."""
    largest = LARGEST_COUNTED_FLEET if service.router in KNOWING else LARGEST_FLEET
    fleet = service if arrivals.is_record else service.no_larger_than(largest)
    return fleet, max(requests, REQUESTS_OF_A_REPLICA * sum(server.replicas for server in fleet.servers))


def steadily_dealt_to(fleet: ServedWorkload, arrivals: Arrivals) -> ServedWorkload | None:
    """The fleet, if each of its replicas is sent what the plan says, at one rate all the time."""
    return fleet if arrivals.is_steady and fleet.router not in KNOWING else None


def one_run(
    fleet: ServedWorkload,
    arrivals: Arrivals,
    requests: int,
    seed: int,
    losing: tuple[Lost, float] | None = None,
) -> tuple[Stream, Outcome]:
    """One seed's requests, served; the same ones whatever the plan is, so that two plans meet the same luck."""
    coming, dealing = (np.random.default_rng([seed, OF_ANY_WORKLOAD, use]) for use in range(2))
    stream = arrivals.stream(coming, fleet, requests)
    lost, left_per_s = NO_OUTAGES, None
    if losing is not None:
        what, from_s = losing
        lost, left_per_s = what.outages(float(stream.arrived_s[0]) + from_s), what.left_per_s(fleet)
    outcome = serve_stream(
        dealing,
        stream,
        fleet.servers,
        fleet.workload.cached_input_share,
        MOST_REPLICAS,
        router=fleet.router,
        outages=lost,
        left_per_s=left_per_s,
    )
    return stream, outcome
