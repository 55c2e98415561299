"""Losses that a plan must survive: which candidates each takes away and who answers it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import labels, lost_with_an_instance


@dataclass(frozen=True, eq=False)
class Losses:
    """The events of `Limits.survive`.

    Attributes:
        names: (E,) event names.
        gone: (E, C) whether every replica of a candidate is lost.
        api_gone: (E, A) whether a hosted API is lost.
        thinned: (E, C) replicas of a candidate that are lost if it is used (with one instance of its offer).
        event, stream: (F,) the pairs for which a flow after the loss is decided; empty where it need not be.
    """

    names: tuple[str, ...]
    gone: Flags
    api_gone: Flags
    thinned: Ints
    event: Ints
    stream: Ints


class _Loss(NamedTuple):
    """One event: its kind (of `data.LOSSES`), what is lost, (O,) the offers and (A,) the hosted APIs that it hits."""

    kind: str
    name: str
    offers: Flags
    apis: Flags


def losses(problem: Problem, detailed: bool = True) -> Losses:
    """Every loss the plan must survive.

    Args:
        problem: The problem.
        detailed: Whether flows after a loss are decided; without, only the totals of whole replicas are kept.
    """
    kinds, offer = problem.limits.survive, problem.candidates.offer
    events = [loss for loss in _every_loss(problem) if loss.kind in kinds] if kinds else []
    # (event, candidate) -> whether its offer is hit, with all its instances or with one of them
    hit = np.array([loss.offers for loss in events], dtype=np.bool_).reshape(len(events), len(problem.offers))[:, offer]
    one_instance = np.array([loss.kind == "instance" for loss in events], dtype=np.bool_)[:, None]
    gone = hit & ~one_instance
    event, stream = np.nonzero(~gone[:, problem.streams.server] & detailed)
    return Losses(
        names=tuple(f"{loss.kind}|{loss.name}" for loss in events),
        gone=gone,
        api_gone=np.array([loss.apis for loss in events], dtype=np.bool_).reshape(len(events), len(problem.apis)),
        thinned=np.where(hit & one_instance, lost_with_an_instance(problem), 0),
        event=event,
        stream=stream,
    )


def _every_loss(problem: Problem) -> Iterator[_Loss]:
    """What can be lost, whether or not the plan must survive it."""
    offers, apis = problem.offers, problem.apis
    provider, region, hosted = (
        np.array(names, dtype=object) for names in (offers.provider, offers.region, apis.provider)
    )
    itself, no_api = np.eye(len(offers), dtype=np.bool_), np.zeros(len(apis), dtype=np.bool_)
    for name in labels((*offers.provider, *apis.provider)):
        yield _Loss("provider", name, provider == name, hosted == name)
    for name in labels(offers.region):
        yield _Loss("region", name, region == name, no_api)
    for offer in np.flatnonzero(offers.spot).tolist():
        yield _Loss("spot_offer", offers.ids[offer], itself[offer], no_api)
    for offer, name in enumerate(offers.ids):
        yield _Loss("instance", name, itself[offer], no_api)


def best_share_per_replica(problem: Problem) -> tuple[Ints, Ints, Floats]:
    """The most of each demand that one replica carries at full rate, as entries (demand, candidate, share).

    share = max over mixes m of mixes[m,k] rate[c,m] / demand[t,k], at most 1
    """
    demands, mixes, rate = problem.demands, problem.traffic.mixes, problem.candidates.rate_per_s
    # (class, candidate) -> the most requests/s of the class
    most = np.stack([(rate * mixes[:, k]).max(axis=1, initial=0.0) for k in range(mixes.shape[1])])
    demand_per_s = problem.traffic.demand_per_s[demands.period, demands.request_class]
    share = most[demands.request_class] / demand_per_s[:, None]
    row, candidate = np.nonzero(share)
    return row, candidate, np.minimum(share[row, candidate], 1.0)
