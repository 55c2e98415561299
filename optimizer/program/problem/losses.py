"""Losses of places that a plan must survive: which candidates and hosted APIs each takes away.

Where losses must be survived every candidate serves one mix (see `soundness`), so nobody need decide who serves what
after a loss: what is left, run at full rate, serves every class most. The loss of one instance takes what stands on it
alone, see `instance_contents`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import labels


@dataclass(frozen=True, eq=False)
class Losses:
    """The events of `Limits.survive` that take a whole place away; E of them.

    Attributes:
        names: (E,) event names.
        gone: (E, C) whether every replica of a candidate is lost.
        api_gone: (E, A) whether a hosted API is lost.
    """

    names: tuple[str, ...]
    gone: Flags
    api_gone: Flags


class _Loss(NamedTuple):
    """One event: its kind (of `data.LOSSES`), what is lost, (O,) the offers and (A,) the hosted APIs that it hits."""

    kind: str
    name: str
    offers: Flags
    apis: Flags


def losses(problem: Problem) -> Losses:
    """Every loss of a place that the plan must survive."""
    kinds = problem.limits.survive
    events = [loss for loss in _every_loss(problem) if loss.kind in kinds] if kinds else []
    hit = np.array([loss.offers for loss in events], dtype=np.bool_).reshape(len(events), len(problem.offers))
    return Losses(
        names=tuple(f"{loss.kind}|{loss.name}" for loss in events),
        gone=hit[:, problem.candidates.offer],
        api_gone=np.array([loss.apis for loss in events], dtype=np.bool_).reshape(len(events), len(problem.apis)),
    )


def _every_loss(problem: Problem) -> Iterator[_Loss]:
    """What can be lost as a whole, whether or not the plan must survive it."""
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


def full_rate_shares(problem: Problem) -> tuple[Ints, Ints, Floats]:
    """What one replica at full rate carries of each demand, as entries (demand, candidate, share).

    share = mixes[m,k] rate[c,m] / demand[t,k] for the one mix of c, at most 1: a replica that carries a whole demand is
    enough for it, whatever more it could carry.
    """
    share = shares_at_full_rate(problem)
    row, candidate = np.nonzero(share)
    return row, candidate, share[row, candidate]


def shares_at_full_rate(problem: Problem) -> Floats:
    """(D, C) the same as a table."""
    return np.minimum(rates_per_demand(problem), 1.0)


def rates_per_demand(problem: Problem) -> Floats:
    """(D, C) the most that one replica at full rate serves of a demand, as a multiple of it."""
    demands, mixes, rate = problem.demands, problem.traffic.mixes, problem.candidates.rate_per_s
    # (class, candidate) -> the most requests/s of the class
    most = np.stack([(rate * mixes[:, k]).max(axis=1, initial=0.0) for k in range(mixes.shape[1])])
    demand_per_s = problem.traffic.demand_per_s[demands.period, demands.request_class]
    of_demand: Floats = most[demands.request_class] / demand_per_s[:, None]
    return of_demand


def least_usd_of_demands(problem: Problem) -> Floats:
    """(D,) what it costs at least to carry a demand whole, GPU by GPU; 0 where none is carried."""
    candidates, offers, share = problem.candidates, problem.offers, shares_at_full_rate(problem)
    of_gpu = offers.price_usd_per_hour / offers.gpus_per_instance
    cost = of_gpu[candidates.offer] * candidates.gpus_per_replica
    least = np.divide(cost, share, out=np.full_like(share, np.inf), where=share > 0).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, 0.0)
