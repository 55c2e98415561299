"""Replicas of a plan as a scaler asks for them: what is paid in any case stays, the cheapest of the rest follows.

A router that knows which replicas are there divides each class among them by what they serve at full rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import HOURS_PER_DAY, SECONDS_PER_HOUR
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import Dealing, sent
from optimizer.performance.simulation.scaling import Timeline, asked_for, looks, observed_per_s, serving
from optimizer.plan.record.fleet import Deployment, Purchase
from optimizer.plan.simulate.starting import ReplicaStart
from optimizer.plan.simulate.week import Week


@dataclass(frozen=True)
class Scalable:
    """A workload's deployments, (D,), as a scaler sees them.

    Attributes:
        full_per_s: (D,) requests a second that one replica sustains.
        serves: (D, K) which classes each is ever sent.
        fixed: (D,) replicas that are paid in any case; 0 where they come and go.
        elastic: (D,) which come and go.
        least: (D,) replicas of those that always run.
        home: (K,) the deployment that grows for a class, the cheapest for a request; −1 where none does.
        first: (D,) replicas at the beginning.
        most: Replicas that come and go at once at most.
        starts: (D,) of a replica.
    """

    full_per_s: Floats
    serves: Flags
    fixed: Ints
    elastic: Flags
    least: Ints
    home: Ints
    first: Ints
    most: int
    starts: Sequence[ReplicaStart]


NO_LIMIT = 10**9


def scalable(week: Week, purchases: Sequence[Purchase], starts: Sequence[ReplicaStart]) -> Scalable:
    """What a scaler may do with a workload's deployments.

    Args:
        week: The workload's hours.
        purchases: (D,) what holds each deployment.
        starts: (D,) of a replica of each.
    """
    deployments, workload = week.service.deployments, week.service.workload
    planned = np.array([[entry.replicas for entry in d.schedule] for d in deployments])
    full_per_s = np.array([_full_per_s(d) for d in deployments])
    # (periods, deployments, K) -> (D, K)
    serves: Flags = week.flow_per_s.sum(axis=0) > 0
    elastic: Flags = np.array([not purchase.always_paid for purchase in purchases])
    fixed = np.where(elastic, 0, planned.max(axis=1))
    usd = np.array([_usd_an_hour(d, purchase) for d, purchase in zip(deployments, purchases, strict=True)])
    by_price = [int(number) for number in np.argsort(usd / full_per_s, kind="stable") if elastic[number]]
    home = np.array([next((d for d in by_price if serves[d, k]), -1) for k in range(serves.shape[1])])
    least = _kept_for_classes(planned, serves, fixed, home)
    short = (workload.min_replicas or 0) - int(fixed.sum() + least.sum())
    if short > 0 and by_price:
        least[by_price[0]] += short
    most = NO_LIMIT if workload.max_replicas is None else max(workload.max_replicas - int(fixed.sum()), 1)
    first = np.where(elastic, np.maximum(planned[:, week.period[0]], least), fixed)
    return Scalable(full_per_s, serves, fixed, elastic, least, home, first, most, starts)


def _kept_for_classes(planned: Ints, serves: Flags, fixed: Ints, home: Ints) -> Ints:
    """(D,) replicas that always run so that a class which the plan always serves is served: one where it grows.

    Args:
        planned: (D, periods) replicas of the plan.
        serves: (D, K) whether a deployment serves a class.
        fixed: (D,) replicas that are paid for anyway.
        home: (K,) the deployment that grows for a class; −1 where none does.
    """
    least = np.zeros(len(fixed), dtype=np.int64)
    for number, grown in enumerate(home.tolist()):
        having: Flags = serves[:, number]
        always = int(planned[having].sum(axis=0).min()) if having.any() else 0
        if grown >= 0 and always and not fixed[having].any():
            least[grown] = 1
    return least


def _full_per_s(d: Deployment) -> float:
    """What one replica sustains of the mix that its deployment is sent most of."""
    entry = max(d.schedule, key=lambda entry: entry.requests_per_second)
    return entry.max_requests_per_second / entry.replicas


def _usd_an_hour(d: Deployment, purchase: Purchase) -> float:
    whole = purchase.price_usd_per_hour + purchase.storage_usd_per_hour
    return float(whole) * d.gpus_per_replica / d.gpus_per_instance


def asked_by_scaler(scaled: Scalable, stream: Stream, target: float, days: int) -> Ints:
    """(D, J) replicas that are asked for after each look at what arrived."""
    looks_s = looks(days * HOURS_PER_DAY * float(SECONDS_PER_HOUR))
    classes = scaled.serves.shape[1]
    # (J, K) requests a second of each class that the fixed replicas leave over
    left = np.column_stack(
        [observed_per_s(stream.arrived_s[stream.request_class == number], looks_s) for number in range(classes)]
    )
    for replicas, full_per_s, serves in zip(scaled.fixed, scaled.full_per_s, scaled.serves, strict=True):
        theirs = left[:, serves].sum(axis=1)
        taken = np.minimum(replicas * target * full_per_s, theirs) / np.maximum(theirs, np.finfo(np.float64).tiny)
        left[:, serves] *= (1 - taken)[:, None]
    asked = np.repeat(scaled.first[:, None], len(looks_s), axis=1)
    for number in np.flatnonzero(scaled.elastic):
        load = left[:, scaled.home == number].sum(axis=1) / scaled.full_per_s[number]
        asked[number] = asked_for(load, target, int(scaled.first[number]), int(scaled.least[number]), scaled.most)
    return asked


def timelines(scaled: Scalable, asked: Ints, days: int) -> list[Timeline]:
    """When how many replicas of each deployment serve."""
    until_s = days * HOURS_PER_DAY * float(SECONDS_PER_HOUR)
    return [serving(each, start.seconds, until_s) for each, start in zip(asked, scaled.starts, strict=True)]


def sent_to_what_is_there(
    scaled: Scalable, replicas: Sequence[Timeline], dealing: np.random.Generator, router: Dealing, stream: Stream
) -> Ints:
    """(N,) the deployment that each request goes to; where nobody is there for it, the one that grows for it."""
    changes = np.unique(np.concatenate([each.begins for each in replicas]))
    part = np.searchsorted(changes, stream.arrived_s, side="right") - 1
    # (part, D) requests a second of those that are there
    full_per_s = np.column_stack([each.at(changes) for each in replicas]) * scaled.full_per_s
    grows: Flags = scaled.home[:, None] == np.arange(len(replicas))
    waits = np.where(scaled.home[:, None] >= 0, grows, scaled.serves.T).astype(np.float64)
    server = np.zeros(stream.requests, dtype=np.int64)
    bounds = np.searchsorted(part, np.arange(len(changes) + 1))
    for number, (first, last) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        if first == last:
            continue
        # (K, D)
        there = full_per_s[number] * scaled.serves.T
        nobody: Flags = there.sum(axis=1) == 0
        shares = np.where(nobody[:, None], waits, there)
        server[first:last] = sent(dealing, router, stream.request_class[first:last], shares)
    return server
