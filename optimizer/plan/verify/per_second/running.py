"""How long a container paid by the second is up and who waits for it, again, from what it still has to hold.

With h_k seconds for a request of class k, its service and the idle time-out, R(t) = rate · Σ share_k max(h_k − t, 0)
requests are expected to let go later than t seconds after the start, and the container stays up for
∫ e^{R(t)} P(a request of the start is still held after t) dt.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from optimizer.base.units import BYTES_PER_GB
from optimizer.inputs.catalog.per_second import PerSecondPrice
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.lengths import lengths_of
from optimizer.performance.candidates.predict import Mix, OperatingPoint, operate
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.uncertainty.evidence import margins
from optimizer.plan.record.containers import ContainerHours, Containers
from optimizer.plan.verify.bounds import at_bound
from optimizer.plan.verify.claim import Claim, with_draft

LONG = 600.0
"""Expected holders from which a container never comes to a stop."""


def price_of(claim: Claim, c: Containers) -> PerSecondPrice | None:
    """The row of the catalogs; None where there is none."""
    size = (c.provider, c.name, c.gpu, c.gpus_per_replica)
    return next(
        (row for row in claim.catalogs.per_second if (row.provider, row.name, row.gpu, row.gpu_count) == size), None
    )


def hours_in(entry: ContainerHours) -> list[int]:
    """Hours of the week, Monday 0 h first."""
    return [hour for first, last in entry.hours_of_week for hour in range(first, last + 1)]


def configuration_of(c: Containers) -> Configuration:
    """What a container runs."""
    plain = Configuration(
        *(c.engine, c.model, c.gpu, c.precision, c.kv_precision),
        *(c.tensor_parallel, c.pipeline_parallel, "none", None),
    )
    return with_draft(plain, c)


def start_seconds(claim: Claim, c: Containers) -> float:
    """What the policy says, else what the catalogs know of the engine with weights of that size."""
    if claim.policy.per_second.start_up_s is not None:
        return claim.policy.per_second.start_up_s
    rows = {row.engine: row for row in claim.catalogs.start_up}
    weights = float(memory_use(gather(claim.catalogs, [configuration_of(c)])).weights[0]) * c.gpus_per_replica
    row = rows.get(c.engine, rows[""])
    return row.fixed_s + row.seconds_per_gb * weights / BYTES_PER_GB


def idle_seconds(claim: Claim, c: Containers) -> float:
    """What the policy says, else what the seller sets."""
    own = claim.policy.per_second.idle_timeout_s
    price = price_of(claim, c)
    return own if own is not None else (price.idle_timeout_s if price and price.idle_timeout_s is not None else 0.0)


@dataclass(frozen=True)
class ContainerRun:
    """One container at one load.

    Attributes:
        down: Share of time, services as long as they may turn out.
        waiting: Share of requests that wait, services as short as they may turn out; so the next.
        wait_s: What requests wait, on average over all.
        starts_per_s: How often.
    """

    down: float
    waiting: float
    wait_s: float
    starts_per_s: float


def run_at(claim: Claim, c: Containers, rate: float) -> tuple[ContainerRun, OperatingPoint]:
    """A container at a rate, and its bounds: at the worst load, at that over the utilization."""
    workload, policy = claim.workloads[c.workload], claim.policy
    worst = rate * policy.robust.demand / policy.robust.throughput
    setup, mix = gather(claim.catalogs, [configuration_of(c)]), mix_of(workload)
    room = margins(claim.catalogs, [configuration_of(c)], policy.confidence)
    rates = np.array([worst, worst / policy.max_utilization])
    bound = at_bound(setup.take(np.zeros(2, dtype=np.int64)), mix, rates, room)
    idle_s, start_s = idle_seconds(claim, c), start_seconds(claim, c)
    share = [item.share for item in workload.classes()]
    longest = [service + idle_s for service in bound.e2e_s["mean"][0].tolist()]
    shortest = [service + idle_s for service in operate(setup, mix, np.zeros(1)).e2e_s["mean"][0].tolist()]
    met = _down(rate, start_s, shortest, share)
    gathered = 1 + rate * start_s
    return (
        ContainerRun(
            down=_down(rate, start_s, longest, share),
            waiting=gathered * met,
            wait_s=start_s * (gathered + 1) / 2 * met,
            starts_per_s=rate * met,
        ),
        bound,
    )


def mix_of(workload: Workload) -> Mix:
    """All of a workload's requests."""
    classes = workload.classes()
    return Mix(
        input_tokens=np.array([item.input_tokens for item in classes], dtype=float),
        output_tokens=np.array([item.output_tokens for item in classes], dtype=float),
        share=np.array([item.share for item in classes]),
        cached_input_share=workload.cached_input_share,
        arrivals=ArrivalVariation(workload.arrival_cv2, workload.peak_requests_per_second()),
        lengths=lengths_of(classes),
    )


def _down(rate: float, start_s: float, held_s: Sequence[float], share: Sequence[float]) -> float:
    """Share of time in which a container is down, from what it still has to hold after its start."""

    def to_come(t: float) -> float:
        return rate * sum(part * max(held - t, 0.0) for held, part in zip(held_s, share, strict=True))

    if to_come(0.0) > LONG:
        return 0.0
    ends, up_s = sorted({0.0, *held_s}), start_s
    for begin, end in pairwise(ends):
        stays = sum(part for held, part in zip(held_s, share, strict=True) if held > begin)
        begun_held = 1 - (1 - stays) * math.exp(-rate * start_s * stays)
        up_s += begun_held * (math.exp(to_come(begin)) - math.exp(to_come(end))) / (rate * stays)
    return 1 / (1 + rate * up_s)
