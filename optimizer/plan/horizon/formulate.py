"""From a scenario's first month to the program over its months, remembering what every machine and deal stands for.

An instance runs replicas of one configuration and serves one mix of one workload's classes at a time: of each machine
and mix the configuration counts of which an instance sustains most. That is a restriction, see docs/horizon.md; what an
instance serves may change from month to month.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.catalog.kinds import SPOT, UNCOMMITTED
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Lifecycle
from optimizer.plan.horizon.branches import demand_factor, horizon_of, price_factor, tree_of
from optimizer.plan.horizon.prices import Deal, PriceBook, deals_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.program.horizon.problem import Ceilings, HorizonProblem, Machines, Starts
from optimizer.program.problem.formulate import Formulation

WARM_PER_S = 1e-6
"""Requests/s that stand for hours without demand in which a replica stays warm."""

Key: TypeAlias = tuple[str, str, str, str, int, bool]


@dataclass(frozen=True)
class PlannedMonths:
    """The program over months and the meaning of its parts.

    Attributes:
        inquiry: The first month's question.
        formulation: The first month's purchase problem.
        prices: Of every offer in every node.
        problem: The program over months.
        candidate: (X, M) the candidate of the formulation that an instance runs replicas of; -1 where none serves.
        replicas: (X, M) how many of them.
        hourly_offer: (H,) positions in the market.
        deals: (D,).
        demand_factor: (N,) demand over that of the first month.
        no_term: Commitments that were left out because nobody says how long they last.
    """

    inquiry: Inquiry
    formulation: Formulation
    prices: PriceBook
    problem: HorizonProblem
    candidate: Ints
    replicas: Ints
    hourly_offer: Ints
    deals: tuple[Deal, ...]
    demand_factor: Floats
    no_term: int


def planned(inquiry: Inquiry, life: Lifecycle, observed: Floats) -> PlannedMonths:
    """The program over the months of a scenario.

    Args:
        inquiry: Its first month.
        life: Its months.
        observed: (O,) percent a year by which prices changed, for changes that say so.
    """
    formulation, market, tree = inquiry.formulated(), inquiry.market, tree_of(life)
    offers = formulation.offers.tolist()
    keys = [machine_key(market.offers[o]) for o in offers]
    kinds = sorted(set(keys))
    number = {kind: position for position, kind in enumerate(kinds)}
    machine_of = {o: number[key] for o, key in zip(offers, keys, strict=True)}
    own_machine = np.array([number[key] for key in keys], dtype=np.int64)
    capacity, candidate, replicas = _capacities(formulation, own_machine, len(kinds))
    prices = PriceBook(market, life, tree, price_factor(life, tree, market, observed))
    hourly = np.array([o for o in offers if market.offers[o].pricing_term in UNCOMMITTED], dtype=np.int64)
    deals, no_term = deals_of(market, offers, life)
    demand = demand_factor(life, tree)
    cell_node, cell_share, demand_per_s = _cells(formulation, demand)
    switch_usd = horizon_of(life).switch_usd_per_instance
    problem = HorizonProblem(
        tree=tree,
        machines=Machines(tuple("/".join(map(str, kind)) for kind in kinds), capacity),
        hourly=prices.hourly(hourly, np.array([machine_of[o] for o in hourly.tolist()], dtype=np.int64)),
        deals=prices.deals(deals, np.array([machine_of[deal.offer] for deal in deals], dtype=np.int64)),
        ceilings=_ceilings(inquiry, hourly.tolist(), [deal.offer for deal in deals]),
        mixes=formulation.problem.traffic.mixes,
        cell_node=cell_node,
        cell_share=cell_share,
        demand_per_s=demand_per_s,
        kept=formulation.problem.layouts.kept or bool(formulation.problem.layouts.followed.any()),
        starts=_starts(formulation),
        switch_usd=np.where(tree.month > 0, switch_usd * prices.discount(), 0.0),
    )
    return PlannedMonths(
        inquiry, formulation, prices, problem, candidate, replicas, hourly, deals, demand_factor=demand, no_term=no_term
    )


def machine_key(offer: Offer) -> Key:
    """What two offers have in common that are the same machine on other terms; spot instances are taken back."""
    spot = offer.pricing_term == SPOT
    return offer.provider, offer.region, offer.instance_type, offer.gpu, offer.gpu_count, spot


def _capacities(formulation: Formulation, machine: Ints, count: int) -> tuple[Floats, Ints, Ints]:
    """(X, M) requests/s of an instance, the candidate that sustains most and how many replicas of it there are.

    Args:
        formulation: The first month.
        machine: (O of the problem,) the kind of each offer.
        count: X.
    """
    problem, candidates = formulation.problem, formulation.problem.candidates
    shape = (count, len(problem.traffic.mixes))
    capacity, best, replicas = np.zeros(shape), np.full(shape, -1), np.zeros(shape, dtype=np.int64)
    fitting = problem.offers.gpus_per_instance[candidates.offer] // candidates.gpus_per_replica
    # (C, M) what an instance full of each candidate sustains
    whole = candidates.rate_per_s * (fitting * problem.limits.max_utilization)[:, None]
    order = sorted(range(len(candidates)), key=candidates.ids.__getitem__)
    for c in order:
        own = machine[candidates.offer[c]]
        better = whole[c] > capacity[own]
        capacity[own, better], best[own, better], replicas[own, better] = whole[c, better], c, fitting[c]
    return capacity, best, replicas


def _cells(formulation: Formulation, demand_factor: Floats) -> tuple[Ints, Floats, Floats]:
    """(J,) the node of each cell and its share of the month, (J, K) what is asked: the first month's, grown."""
    traffic, nodes = formulation.problem.traffic, len(demand_factor)
    asked = traffic.demand_per_s
    names = sorted(set(traffic.workload))
    # a workload that keeps a replica warm is asked for next to nothing, which takes one instance
    warm = np.stack([traffic.least_replicas[:, names.index(name)] > 0 for name in traffic.workload], axis=1)
    grown = (asked * demand_factor[:, None, None]).reshape(-1, asked.shape[1])
    standing = np.tile(np.where(warm & (asked <= 0), WARM_PER_S, 0.0), (nodes, 1))
    return np.repeat(np.arange(nodes), traffic.periods), np.tile(traffic.share_of_month, nodes), grown + standing


def _starts(formulation: Formulation) -> Starts:
    """The changes of the week at which what runs more is started."""
    traffic = formulation.problem.traffic
    before, after = traffic.changes
    return Starts(before, after, traffic.start_share[before, after])


def _ceilings(inquiry: Inquiry, hourly: list[int], held: list[int]) -> Ceilings:
    """What is there of each offer, and the policy's limits on GPUs and power."""
    market, policy = inquiry.market, inquiry.scenario.policy
    available, gpus = market.available_instances, market.gpu_count.astype(float)
    every = np.arange(len(market.offers))
    limits = [
        (f"instances of {market.offers[o].id}", (every == o).astype(float), float(available[o]))
        for o in sorted({*hourly, *held})
        if np.isfinite(available[o])
    ]
    if policy.max_gpus is not None:
        limits.append(("GPUs", gpus, float(policy.max_gpus)))
    if policy.max_power_kw is not None:
        limits.append(("kW", market.power_kw, policy.max_power_kw))
    for quota in policy.quotas:
        covered = np.array([quota.covers(o.provider, o.region, o.gpu) for o in market.offers])
        limits.append((f"GPUs of quota {quota.name}", np.where(covered, gpus, 0.0), float(quota.max_gpus)))
    weight = np.array([each for _, each, _ in limits]).reshape(len(limits), len(every))
    most = np.array([most for _, _, most in limits])
    return Ceilings(tuple(name for name, _, _ in limits), weight[:, hourly], weight[:, held], most)
