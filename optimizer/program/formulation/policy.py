"""What the scenario's policy adds: limits on GPUs, money, power, carbon and shares of the traffic."""

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.objective import cost_usd_per_hour
from optimizer.program.formulation.rows import Rows, at_most, one_row_at_most, tagged
from optimizer.program.formulation.variables import Variables, by_period
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, labels, providers_of


def max_gpus(problem: Problem, variables: Variables) -> Rows:
    """sum over o of G_o instances[t,o] <= max_gpus in each period."""
    everywhere = [("", np.arange(len(problem.offers)), limit_of(problem.limits.max_gpus))]
    return _bought(problem, variables, "max_gpus", everywhere, problem.offers.gpus_per_instance.astype(float))


def max_monthly_usd(problem: Problem, variables: Variables) -> Rows:
    """The month's bill <= max_monthly_usd, in USD/h over the month."""
    cost, limit = cost_usd_per_hour(problem, variables), limit_of(problem.limits.max_monthly_usd)
    paid = np.flatnonzero(cost)
    return one_row_at_most("max_monthly_usd[]", limit / HOURS_PER_MONTH, paid, cost[paid])


def max_power_kw(problem: Problem, variables: Variables) -> Rows:
    """sum over o of power[o] instances[t,o] <= max_power_kw in each period."""
    everywhere = [("", np.arange(len(problem.offers)), limit_of(problem.limits.max_power_kw))]
    return _bought(problem, variables, "max_power_kw", everywhere, problem.offers.power_kw)


def max_carbon_kg_per_month(problem: Problem, variables: Variables) -> Rows:
    """sum over o, t of carbon[o] hours[t] instances[t,o] <= max_carbon_kg_per_month, divided by the month's hours."""
    limit = limit_of(problem.limits.max_carbon_kg_per_month)
    value = problem.offers.carbon_kg_per_hour[variables.instance_offer] * variables.instance_share
    return one_row_at_most("max_carbon_kg_per_month[]", limit / HOURS_PER_MONTH, variables.instances, value)


def quotas(problem: Problem, variables: Variables) -> Rows:
    """For each quota q: sum over its offers of G_o instances[t,o] <= max_gpus[q] in each period."""
    listed = [
        (quota.name, np.array(quota.offers, dtype=np.int64), float(quota.max_gpus)) for quota in problem.limits.quotas
    ]
    return _bought(problem, variables, "quotas", listed, problem.offers.gpus_per_instance.astype(float))


def availability(problem: Problem, variables: Variables) -> Rows:
    """instances[t,o] <= available[o] for each offer of which only so many can be had."""
    scarce = np.flatnonzero(np.isfinite(problem.offers.available)).tolist()
    listed = [(problem.offers.ids[o], np.array([o]), float(problem.offers.available[o])) for o in scarce]
    return _bought(problem, variables, "availability", listed, np.ones(len(problem.offers)))


def _bought(
    problem: Problem,
    variables: Variables,
    family: str,
    listed: list[tuple[str, Ints, float]],
    value: Floats,
) -> Rows:
    """For each (name, offers, limit) and period: sum over the offers of value x instances <= limit."""
    row = np.repeat(np.arange(len(listed)), [len(offers) for _, offers, _ in listed]).astype(np.int64)
    offer = np.concatenate([np.zeros(0, dtype=np.int64), *(offers for _, offers, _ in listed)])
    # (T, 1): the rows of a period follow those of the one before
    time = np.arange(problem.traffic.periods)[:, None]
    return at_most(
        tagged(family, by_period(problem, [name for name, _, _ in listed])),
        np.tile([limit for *_, limit in listed], len(time)),
        (row + time * len(listed), variables.instance_at[time, offer], value[offer]),
    )


def max_spot_share(problem: Problem, variables: Variables) -> Rows:
    """sum of flow on spot offers <= max_spot_share x sum of demand in each period, divided by the sum of demand.

    The share is of demand rather than of flow, so that idle on-demand capacity can't be counted as served to make
    room for more spot.
    """
    spot, no_api = np.where(problem.offers.spot, 0, -1), np.full(len(problem.apis), -1)
    limit = limit_of(problem.limits.max_spot_share)
    return _carried(problem, variables, "max_spot_share", limit, [""], spot, no_api)


def max_provider_share(problem: Problem, variables: Variables) -> Rows:
    """sum of flow at provider p <= max_provider_share x sum of demand in each period, divided by the sum of demand."""
    providers = providers_of(problem)
    of_offer, of_api = np.split(label_numbers(providers), [len(problem.offers)])
    limit = limit_of(problem.limits.max_provider_share)
    return _carried(problem, variables, "max_provider_share", limit, [*labels(providers)], of_offer, of_api)


def _carried(
    problem: Problem,
    variables: Variables,
    family: str,
    limit: float,
    members: list[str],
    member_of_offer: Ints,
    member_of_api: Ints,
) -> Rows:
    """For each member and period: the flow on its offers and APIs as a share of the period's demand <= limit.

    Offers (O,) and APIs (A,) of member -1 belong to none.
    """
    total = problem.traffic.demand_per_s.sum(axis=1)
    sides = (
        (problem.streams, variables.flow, member_of_offer[problem.candidates.offer]),
        (problem.api_streams, variables.bought, member_of_api),
    )
    entries = []
    for streams, columns, member_of_server in sides:
        member, period = member_of_server[streams.server], streams.period
        counted = member >= 0
        share = streams.reach_per_s / total[period]
        entries.append(((period * len(members) + member)[counted], columns[counted], share[counted]))
    return at_most(tagged(family, by_period(problem, members)), limit, *entries)


def limit_of(value: float | None) -> float:
    """A limit that the family's activity promises to be there."""
    if value is None:
        raise ValueError("a family without its limit is not part of the program")
    return value
