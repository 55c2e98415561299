"""How long a container paid by the second is up and who waits for it, again, from what it still has to hold.

With h_k seconds for a request of class k, its service and the idle time-out, R(t) = rate · Σ share_k max(h_k − t, 0)
requests are expected to let go later than t seconds after the start, and the container stays up for
∫ e^{R(t)} P(a request of the start is still held after t) dt.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from optimizer.base.once_of import OnceOf
from optimizer.base.units import BYTES_PER_GB
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy, Workload
from optimizer.performance.candidates.lengths import lengths_of
from optimizer.performance.candidates.predict import Mix, operate
from optimizer.performance.physics.memory import memory_use
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.uncertainty.evidence import Margins, margins
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


@dataclass(frozen=True)
class LoadedContainer:
    """One container at one load, and its bounds: at the worst load, and at that over the utilization.

    Attributes:
        run: How long it is up and who waits.
        keeps_up: Whether it does at both loads, and at the most that is counted on.
        running: Most sequences at once.
        prefill_s: Of the longest prompts, alone.
        latency_s: Of the slowest class by latency and statistic, at both loads.
    """

    run: ContainerRun
    keeps_up: bool
    running: float
    prefill_s: float
    latency_s: Mapping[str, Mapping[str, tuple[float, float]]]


@dataclass(frozen=True, eq=False)
class ServingContainer:
    """A container of a plan: what is the same of it at every load, each worked out once, and what it does at one.

    Attributes:
        catalogs: That the plan is made from.
        policy: Of its scenario.
        workload: That it serves.
        c: What the plan says of it.
        price: Its row of the catalogs.
        asked_per_s: (168,) of the workload.
    """

    catalogs: Catalogs
    policy: Policy
    workload: Workload
    c: Containers
    price: PerSecondPrice | None
    asked_per_s: Sequence[float]

    @cached_property
    def setup(self) -> Setup:
        """What the catalogs know of its configuration."""
        return gather(self.catalogs, [configuration_of(self.c)])

    @cached_property
    def room(self) -> Margins:
        """Of its predictions, with the confidence that is asked for."""
        return margins(self.catalogs, [configuration_of(self.c)], self.policy.confidence)

    @cached_property
    def start_s(self) -> float:
        """What the policy says, else what the catalogs know of the engine with weights of that size."""
        if self.policy.per_second.start_up_s is not None:
            return self.policy.per_second.start_up_s
        rows = {row.engine: row for row in self.catalogs.start_up}
        weights = float(memory_use(self.setup).weights[0]) * self.c.gpus_per_replica
        row = rows.get(self.c.engine, rows[""])
        return row.fixed_s + row.seconds_per_gb * weights / BYTES_PER_GB

    def rate_of(self, entry: ContainerHours) -> float:
        """Requests/s to each of the containers in its busiest hour."""
        return max(self.asked_per_s[hour] for hour in hours_in(entry)) / entry.containers

    def in_hours(self, entry: ContainerHours) -> LoadedContainer:
        """One of its containers as they are loaded in hours of the plan with demand."""
        return self._loaded[self.rate_of(entry)]

    @cached_property
    def _loaded(self) -> Mapping[float, LoadedContainer]:
        """Every load of the schedule, all in one call."""
        served = [entry for entry in self.c.schedule if entry.containers > 0]
        rates = sorted({rate for entry in served if (rate := self.rate_of(entry))})
        if not rates:
            return {}
        policy, mix = self.policy, mix_of(self.workload)
        worst = np.array(rates) * policy.robust.demand / policy.robust.throughput
        # (load, at the worst or over the utilization) -> a row each
        loads = np.column_stack([worst, worst / policy.max_utilization]).reshape(-1)
        bound = at_bound(self.setup.take(np.zeros(len(loads), dtype=np.int64)), mix, loads, self.room)
        counted_on = bound.rate_per_s[1::2] * float(self.room.throughput[0])
        full = operate(self.setup.take(np.zeros(len(rates), dtype=np.int64)), mix, counted_on)
        alone_s = operate(self.setup, mix, np.zeros(1)).e2e_s["mean"][0].tolist()
        slowest = {
            what: {name: each.reshape(len(loads), -1).max(axis=1).tolist() for name, each in seconds.items()}
            for what, seconds in (("TTFT", bound.ttft_s), ("TPOT", bound.tpot_s), ("end to end", bound.e2e_s))
        }
        return {
            rate: LoadedContainer(
                run=self._run(rate, bound.e2e_s["mean"][2 * n].tolist(), alone_s),
                keeps_up=bool(bound.stable[2 * n : 2 * n + 2].all() and full.stable[n]),
                running=float(bound.max_concurrency[2 * n]),
                prefill_s=float(bound.prefill_s[2 * n].max()),
                latency_s={
                    what: {name: (each[2 * n], each[2 * n + 1]) for name, each in of_rows.items()}
                    for what, of_rows in slowest.items()
                },
            )
            for n, rate in enumerate(rates)
        }

    def _run(self, rate: float, longest_s: Sequence[float], shortest_s: Sequence[float]) -> ContainerRun:
        """At a rate, with services of each class as long and as short as they may turn out."""
        own, price, start_s = self.policy.per_second.idle_timeout_s, self.price, self.start_s
        idle_s = own if own is not None else ((price.idle_timeout_s if price else None) or 0.0)
        share = [item.share for item in self.workload.classes()]
        met = _down(rate, start_s, [service + idle_s for service in shortest_s], share)
        gathered = 1 + rate * start_s
        return ContainerRun(
            down=_down(rate, start_s, [service + idle_s for service in longest_s], share),
            waiting=gathered * met,
            wait_s=start_s * (gathered + 1) / 2 * met,
            starts_per_s=rate * met,
        )


def _all_of(claim: Claim) -> dict[int, ServingContainer]:
    """Those of a plan, by the number of what it says of each; the claim itself is not held."""
    served = ((c, claim.workloads[c.workload]) for c in claim.fleet.containers if c.workload in claim.workloads)
    return {
        id(c): ServingContainer(
            claim.catalogs, claim.policy, workload, c, price_of(claim, c), claim.asked_per_s(workload)
        )
        for c, workload in served
    }


_SERVING: Final = OnceOf(_all_of)


def serving(claim: Claim, c: Containers) -> ServingContainer:
    """A container of the plan, worked out once for all checks."""
    return _SERVING(claim)[id(c)]


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
