"""What of a plan is lost in the middle of the simulated time, and for how long: until something serves in its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import BYTES_PER_GB, SECONDS_PER_MINUTE
from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.kinds import OWNED, SPOT
from optimizer.inputs.scenario.policy import DEFAULT_START_UP_MINUTES
from optimizer.performance.per_second.sales import start_seconds
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.simulation.outage import Outage
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.simulate.servers import ServedWorkload
from optimizer.plan.verify.claim import Claim

AFTER: Final = 2.0
"""Times as long as a loss lasts are simulated from its beginning at least: until it ends, and as long again."""
MOST_REQUESTS: Final = 3_000_000
"""Of a workload in which a loss is simulated, which take minutes."""


@dataclass(frozen=True)
class SimulatedLoss:
    """What is lost of each workload at half of the time.

    Attributes:
        of: One instance of the deployment that is sent most; all of a region; or all spot instances of one provider's
            region, those that are sent most, which were seen to go nearly together.
        region: Which one, with or without its provider before it: aws/us-east-1.
        minutes: For how long; None for what the scenario or the catalogs say of it.
    """

    of: Literal["instance", "region", "spot"]
    region: str = ""
    minutes: float | None = None

    def takes(self, d: Deployment, terms: Terms) -> bool:
        """Whether a deployment of a plan may be lost so, with all that the same operator runs there."""
        if self.of == "region":
            named = (f"{name}/{d.region}" for name in (d.provider, terms.run_by(d.provider)))
            return self.region in (d.region, *named)
        return self.of == "instance" or d.pricing_term == SPOT


@dataclass(frozen=True)
class Lost:
    """What a workload loses.

    Attributes:
        replicas: How many, by the position of their deployment.
        lasts_s: Until others serve in their place.
        until: What then has happened, or who says that it takes so long.
    """

    replicas: Mapping[int, int]
    lasts_s: float
    until: str

    def outages(self, from_s: float) -> Mapping[int, Outage]:
        """The same from a time on."""
        return {number: Outage(lost, from_s, from_s + self.lasts_s) for number, lost in self.replicas.items()}

    def left_per_s(self, service: ServedWorkload) -> Floats:
        """(K, servers) what the replicas that are left serve of each class at full rate, by which a router that is
        told of the loss divides what comes; the plan counts on just that where it promises to survive one."""
        left = [
            server.rate_per_s
            * (1 - self.replicas.get(number, 0) / server.replicas)
            * (d.schedule[service.period].max_requests_per_second / d.schedule[service.period].requests_per_second)
            for number, (d, server) in enumerate(zip(service.deployments, service.servers, strict=True))
        ]
        return np.column_stack(left)


def lost_of(claim: Claim, service: ServedWorkload, loss: SimulatedLoss) -> Lost | None:
    """What a workload loses; None where that is nothing.

    Raises:
        InputError: Nobody says how long it lasts.
    """
    sent = [float(server.rate_per_s.sum()) for server in service.servers]
    may = [number for number, d in enumerate(service.deployments) if loss.takes(d, claim.catalogs.terms)]
    if not may:
        return None
    most = service.deployments[max(may, key=lambda number: sent[number])]
    if loss.of == "instance":
        may = [int(np.argmax(sent))]
    if loss.of == "spot":
        may = [number for number in may if _place(service.deployments[number]) == _place(most)]
    replicas = {number: service.servers[number].replicas for number in may}
    if loss.of == "instance":
        of_instance = max(most.gpus_per_instance // most.gpus_per_replica, 1)
        replicas = {number: min(of_instance, all_of_it) for number, all_of_it in replicas.items()}
    lasts_s, until = _lasts(claim, service, may[0], loss)
    return Lost(replicas, lasts_s, until)


def _place(d: Deployment) -> tuple[str, str]:
    return d.provider, d.region


def _lasts(claim: Claim, service: ServedWorkload, number: int, loss: SimulatedLoss) -> tuple[float, str]:
    """Seconds until something serves in the place of what is lost, and how that is known: what is stated first, then
    the start of a server where its like can be rented at once."""
    d, policy = service.deployments[number], claim.policy
    if loss.minutes is not None:
        return loss.minutes * SECONDS_PER_MINUTE, "as --lost-minutes says"
    taken_back = loss.of != "region" and d.pricing_term == SPOT
    if taken_back and policy.spot is not None and policy.spot.recovery_minutes > 0:
        return policy.spot.recovery_minutes * SECONDS_PER_MINUTE, "as policy.spot.recovery_minutes says"
    if loss.of == "instance" and d.pricing_term not in (OWNED, SPOT):
        stated = policy.elastic.start_up_minutes
        if stated not in (0, DEFAULT_START_UP_MINUTES):
            return stated * SECONDS_PER_MINUTE, "as policy.elastic.start_up_minutes says"
        weights_gb = float(memory_use(service.servers[number].costs.setup).weights[0]) * d.gpus_per_replica
        start_s = start_seconds(claim.catalogs, policy, d.engine, weights_gb / BYTES_PER_GB)
        return start_s, "when another with the same weights has started (catalogs/start_up.csv)"
    raise InputError([Finding(f"--lose-{loss.of}", 0, "", _unknown(d, loss), "say for how long: --lost-minutes N")])


def _unknown(d: Deployment, loss: SimulatedLoss) -> str:
    """Why nobody knows how long it lasts."""
    if loss.of == "region":
        return f"nobody knows when {d.provider}/{d.region} is back, and meanwhile nothing can be rented there"
    if d.pricing_term == OWNED:
        return f"nobody knows how long the repair of a {d.instance_type} at {d.provider} takes"
    return (
        f"nobody knows when {d.provider} has spot instances in {d.region} again, "
        "and policy.spot.recovery_minutes does not say"
    )


def requests_through(lost: Lost, rate_per_s: float, requests: int) -> int:
    """So many requests that a loss at half of the first `requests` ends, and what waited for that is served.

    Raises:
        InputError: They take too long to simulate.
    """
    wanted = int(requests + max(AFTER * lost.lasts_s * rate_per_s - requests / 2, 0))
    if wanted > max(requests, MOST_REQUESTS):
        minutes = lost.lasts_s / SECONDS_PER_MINUTE
        problem = f"{minutes:,.0f} minutes of loss take {wanted:,} requests, more than {MOST_REQUESTS:,}"
        raise InputError([Finding("--lost-minutes", 0, "", problem, "simulate fewer minutes: --lost-minutes N")])
    return wanted


def loss_in_words(service: ServedWorkload, lost: Lost, from_s: float) -> Iterator[str]:
    """What was lost, from when until when."""
    begins, ends = (each / SECONDS_PER_MINUTE for each in (from_s, from_s + lost.lasts_s))
    for number, replicas in lost.replicas.items():
        d, server = service.deployments[number], service.servers[number]
        yield (
            f"{d.workload}: {replicas} of {server.replicas} replicas on {d.instance_type} ({d.gpu}, "
            f"{d.pricing_term.replace('_', ' ')}) at {d.provider}/{d.region} lost from minute {begins:,.1f} to "
            f"{ends:,.1f}, {lost.until}"
        )
