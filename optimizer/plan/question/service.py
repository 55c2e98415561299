"""What a deployment is sent in each period and what it sustains of just that, predicted again at the plan's own mix."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.by_contents import OnceByContents
from optimizer.inputs.scenario.scenario import Policy
from optimizer.performance.candidates.between import rates_between
from optimizer.performance.candidates.mixes import OverloadedMix
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.pools import by_row, shares_of
from optimizer.performance.candidates.predict import Mix, sustainable_rate
from optimizer.performance.candidates.probing import middle_of
from optimizer.program.problem.columns import Column

NEAR_A_CORNER = 0.02
"""Share of a replica's requests beside which its mix is as good as predicted; then the middle of its simplex is."""

LOAD_TOLERANCE = 1e-6
"""Relative: routing comes from a linear program in floating point."""

_SUSTAINABLE_RATE: Final = OnceByContents(sustainable_rate)


@dataclass(frozen=True)
class Use:
    """A candidate that runs: what it stands for, and by period its replicas and the requests/s routed to it.

    Attributes:
        column: Workload, configuration, offer, and the pools that its requests may lie between.
        replicas: (T,).
        pool_flow_per_s: (T, pools of the column) requests/s of the demand asked for, without what may vary.
    """

    column: Column
    replicas: tuple[int, ...]
    pool_flow_per_s: tuple[tuple[float, ...], ...]

    @cached_property
    def flow_per_s(self) -> tuple[float, ...]:
        """(T,) requests/s of all classes."""
        return tuple(sum(flows) for flows in self.pool_flow_per_s)

    @property
    def busiest(self) -> int:
        """The period with the most traffic, the first such; with the most replicas for a standby."""
        by_load = list(zip(self.flow_per_s, self.replicas, strict=True))
        return by_load.index(max(by_load))


@dataclass(frozen=True)
class Service:
    """One deployment in one period.

    Attributes:
        flow_per_class_per_s: (K,) requests/s of each of the workload's classes.
        classes: Those that it is sent, or that it stands by for.
        mix: Their lengths and shares.
        rate_per_s: Requests/s of this mix that one replica sustains within the service levels, interruptions included.
        limited_by: Index into `LIMITS` of what stops a higher rate.
    """

    flow_per_class_per_s: tuple[float, ...]
    classes: tuple[int, ...]
    mix: Mix
    rate_per_s: float
    limited_by: int

    @property
    def flow_per_s(self) -> float:
        """Requests/s of all classes."""
        return sum(self.flow_per_class_per_s)

    @property
    def share_of_class(self) -> tuple[float, ...]:
        """(K,) share of each of the workload's classes in what it is sent."""
        return tuple(flow / self.flow_per_s for flow in self.flow_per_class_per_s)


def services_of(
    options: Sequence[WorkloadOptions], uses: Sequence[Use], serving_share: Floats
) -> tuple[tuple[Service, ...], ...]:
    """(uses, T) deployments' periods; a standby one is taken to wait for the first of its pools.

    One pool's prediction is as it is known; what lies between several is predicted at its own mix, and all that are
    sent the same classes of a workload together.

    Args:
        options: Of all workloads.
        uses: What runs when.
        serving_share: (O,) share of the time in which a replica on each offer serves; below 1 where it is interrupted.
    """
    sent = [_sent(options[use.column.workload], use, float(serving_share[use.column.offer])) for use in uses]
    together = defaultdict[tuple[int, tuple[int, ...]], list[_SentMix]](list)
    for each in (each for of_use in sent for each in of_use.values()):
        if each.known is None:
            together[each.column.workload, each.classes].append(each)
    predicted = dict[_SentMix, Service]()
    for (workload, classes), alike in together.items():
        predicted |= zip(alike, _between(options[workload], classes, alike), strict=True)
    return tuple(
        tuple(of_use[flows].known or predicted[of_use[flows]] for flows in use.pool_flow_per_s)
        for use, of_use in zip(uses, sent, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _SentMix:
    """What replicas of one kind are sent in some periods, with what is known of it if that is one pool's mix.

    Attributes:
        column: What they are.
        by_class: (K,) requests/s.
        classes: Those that they are sent.
        serving_share: Of the time.
        known: None where it lies between several.
    """

    column: Column
    by_class: tuple[float, ...]
    classes: tuple[int, ...]
    serving_share: float
    known: Service | None


def _sent(choice: WorkloadOptions, use: Use, serving_share: float) -> dict[tuple[float, ...], _SentMix]:
    """By what they are sent of each pool, what replicas of one kind are sent."""
    found = {}
    for flows, by_class in zip(use.pool_flow_per_s, flows_by_class(choice, use), strict=True):
        if flows not in found:
            classes = tuple(np.flatnonzero(by_class).tolist())
            known = _as_known(choice, use.column, flows, by_class, serving_share)
            found[flows] = _SentMix(use.column, by_class, classes, serving_share, known)
    return found


def _as_known(
    choice: WorkloadOptions,
    column: Column,
    flows: tuple[float, ...],
    by_class: tuple[float, ...],
    serving_share: float,
) -> Service | None:
    """What is known of one pool; None where requests of several meet."""
    pools = [choice.pools[p] for p in column.pools]
    sent = [pool for pool, flow in zip(pools, flows, strict=True) if flow > 0] or pools[:1]
    if len(sent) > 1:
        return None
    (known,), row = sent, column.configuration
    rate_per_s, limited_by = float(known.rate_per_s[row]) * serving_share, int(known.limited_by[row])
    return Service(by_class, known.pool.classes, known.pool.mix, rate_per_s, limited_by)


def _between(choice: WorkloadOptions, classes: tuple[int, ...], sent: Sequence[_SentMix]) -> list[Service]:
    """What is predicted of deployments that are sent the same classes of a workload, each in shares of its own."""
    rows = np.array([each.column.configuration for each in sent])
    mixes = [choice.mix(classes, np.array(each.by_class)[list(classes)]) for each in sent]
    found = _SUSTAINABLE_RATE(choice.setup.take(rows), by_row(mixes), choice.limits.take(rows))
    of_each = zip(sent, mixes, found.rate_per_s.tolist(), found.limited_by.tolist(), strict=True)
    return [
        Service(each.by_class, classes, mix, rate_per_s * each.serving_share, limited_by)
        for each, mix, rate_per_s, limited_by in of_each
    ]


def flows_by_class(choice: WorkloadOptions, use: Use) -> list[tuple[float, ...]]:
    """(T, K) requests/s of each of the workload's classes that a deployment is sent."""
    share = shares_of([choice.pools[p].pool for p in use.column.pools], len(choice.workload.classes()))
    return [tuple(flows) for flows in (np.array(use.pool_flow_per_s) @ share).tolist()]


def with_own_pools(choice: WorkloadOptions, use: Use) -> Use:
    """What a plan at `raised` rates runs, in terms of the pools of the options whose rates were raised."""
    own = [p for simplex in choice.simplices for p in simplex]
    return replace(use, column=use.column._replace(pools=tuple(own[p] for p in use.column.pools)))


def promising_mixes(policy: Policy, choice: WorkloadOptions, use: Use, serving_share: float) -> list[OverloadedMix]:
    """The mixes of a deployment that is sent more than one replica sustains by the shares that requests take of it.

    Where it is sent hardly more than one predicted mix, the middle of its simplex stands for it.
    """
    rates = (rates_between(choice, use.column.pools)[use.column.configuration] * serving_share).tolist()
    middle, found = middle_of(choice, use.column.pools, use.column.configuration), []
    for replicas, flows, sent in zip(use.replicas, use.pool_flow_per_s, flows_by_class(choice, use), strict=True):
        taken = sum(flow / rate for flow, rate in zip(flows, rates, strict=True) if flow > 0)
        excess = overload(policy, replicas, sum(flows), sum(flows) / taken) if taken else 0.0
        if len(flows) > 1 and excess > 1 + LOAD_TOLERANCE:
            near_a_corner = max(flows) > (1 - NEAR_A_CORNER) * sum(flows)
            share = middle if near_a_corner else tuple(flow / sum(sent) for flow in sent)
            found.append(OverloadedMix(choice.workload_index, share, excess))
    return found


def overload(policy: Policy, replicas: int, flow_per_s: float, rate_per_s: float) -> float:
    """What a deployment is sent over the most that the policy allows at its mix: utilization, and spare replicas.

    Args:
        policy: What it allows.
        replicas: How many run.
        flow_per_s: Requests/s that they are sent.
        rate_per_s: Requests/s of that mix that one sustains.
    """
    if not flow_per_s:
        return 0.0
    most = min(policy.max_utilization * replicas, replicas - policy.spare_replicas)
    most_per_s = most * rate_per_s * policy.robust.throughput
    return flow_per_s * policy.robust.demand / most_per_s if most_per_s > 0 else float("inf")
