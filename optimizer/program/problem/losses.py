"""Losses that a plan must survive: which candidates each takes away and who answers it."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import labels, lost_with_an_instance, wanted_classes


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


def losses(problem: Problem, detailed: bool = True) -> Losses:
    """Every loss the plan must survive.

    Args:
        problem: The problem.
        detailed: Whether flows after a loss are decided; without, only the totals of `class_after_loss` are kept.
    """
    offers, where, kinds = problem.offers, problem.candidates.offer, problem.limits.survive
    events: list[tuple[str, Flags, Flags, Ints]] = []
    safe, whole = np.zeros(len(problem.apis), dtype=np.bool_), np.zeros(len(where), dtype=np.int64)
    if "provider" in kinds:
        at, hosted = np.array(offers.provider, dtype=object)[where], np.array(problem.apis.provider, dtype=object)
        everyone = labels((*offers.provider, *problem.apis.provider))
        events += [(f"provider|{name}", at == name, hosted == name, whole) for name in everyone]
    if "region" in kinds:
        at = np.array(offers.region, dtype=object)[where]
        events += [(f"region|{name}", at == name, safe, whole) for name in labels(offers.region)]
    if "spot_offer" in kinds:
        taken = np.flatnonzero(offers.spot).tolist()
        events += [(f"spot_offer|{offers.ids[o]}", where == o, safe, whole) for o in taken]
    if "instance" in kinds:
        held, kept = lost_with_an_instance(problem), np.zeros(len(where), dtype=np.bool_)
        each = enumerate(offers.ids)
        events += [(f"instance|{name}", kept, safe, np.where(where == o, held, 0)) for o, name in each]
    gone = np.array([lost for _, lost, _, _ in events], dtype=np.bool_).reshape(len(events), len(where))
    event, stream = np.nonzero(~gone[:, problem.streams.server]) if detailed else (whole[:0], whole[:0])
    return Losses(
        names=tuple(name for name, *_ in events),
        gone=gone,
        api_gone=np.array([lost for _, _, lost, _ in events], dtype=np.bool_).reshape(len(events), len(problem.apis)),
        thinned=np.array([lost for *_, lost in events], dtype=np.int64).reshape(len(events), len(where)),
        event=event,
        stream=stream,
    )


def best_share_per_replica(problem: Problem) -> tuple[Ints, Ints, Ints, Floats]:
    """The most of each class's demand that one replica carries at full rate, as entries (period, class, candidate).

    share = max over mixes m of mixes[m,k] rate[c,m] / demand[t,k], at most 1
    """
    period, request_class = wanted_classes(problem)
    mixes, rate = problem.traffic.mixes, problem.candidates.rate_per_s
    most = np.stack([(rate * mixes[:, k]).max(axis=1, initial=0.0) for k in range(mixes.shape[1])])
    share = most[request_class] / problem.traffic.demand_per_s[period, request_class][:, None]
    row, candidate = np.nonzero(share)
    return period[row], request_class[row], candidate, np.minimum(share[row, candidate], 1.0)
