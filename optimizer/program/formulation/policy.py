"""What the scenario's policy adds: limits on GPUs, money, power, carbon, shares of the traffic, and variety."""

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.formulation.objective import cost_usd_per_hour
from optimizer.program.formulation.rows import Rows, at_most, one_row_at_most
from optimizer.program.formulation.variables import Variables, by_period, tagged
from optimizer.program.problem.data import Labels
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, labels, most_replicas, trimming_groups


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
    periods = problem.traffic.periods
    row = np.repeat(np.arange(len(listed)), [len(offers) for _, offers, _ in listed]).astype(np.int64)
    offer = np.concatenate([np.zeros(0, dtype=np.int64), *(offers for _, offers, _ in listed)])
    time = np.arange(periods)[:, None]
    return at_most(
        tagged(family, by_period(problem, [name for name, _, _ in listed])),
        np.tile(np.array([limit for *_, limit in listed], dtype=float), periods),
        (row + time * len(listed), variables.instance_at[time, offer], np.tile(value[offer], periods)),
    )


def max_spot_share(problem: Problem, variables: Variables) -> Rows:
    """sum of flow on spot offers <= max_spot_share x sum of demand in each period, divided by the sum of demand.

    The share is of demand rather than of flow, so that idle on-demand capacity can't be counted as served to make
    room for more spot.
    """
    place = np.where(problem.offers.spot, 0, -1)[problem.candidates.offer]
    return _carried(problem, variables, "max_spot_share", [""], place, limit_of(problem.limits.max_spot_share))


def max_provider_share(problem: Problem, variables: Variables) -> Rows:
    """sum of flow at provider p <= max_provider_share x sum of demand in each period, divided by the sum of demand."""
    everyone = labels((*problem.offers.provider, *problem.apis.provider))
    number = {name: at for at, name in enumerate(everyone)}
    place = np.array([number[p] for p in problem.offers.provider], dtype=np.int64)[problem.candidates.offer]
    hosted = np.array([number[p] for p in problem.apis.provider], dtype=np.int64)
    limit = limit_of(problem.limits.max_provider_share)
    return _carried(problem, variables, "max_provider_share", list(everyone), place, limit, hosted)


def _carried(
    problem: Problem,
    variables: Variables,
    family: str,
    members: list[str],
    place: Ints,
    limit: float,
    api_place: Ints | None = None,
) -> Rows:
    """For each member and period: the flow of what is placed there as a share of the period's demand <= limit."""
    total = problem.traffic.demand_per_s.sum(axis=1)
    streams, apis = problem.streams, problem.api_streams
    member = np.flatnonzero(place[streams.server] >= 0)
    hosted = np.arange(len(apis)) if api_place is not None else np.zeros(0, dtype=np.int64)
    at = hosted if api_place is None else api_place[apis.server]
    period = streams.period[member]
    return at_most(
        tagged(family, by_period(problem, members)),
        np.full(len(members) * problem.traffic.periods, limit),
        (
            period * len(members) + place[streams.server[member]],
            variables.flow[member],
            streams.reach_per_s[member] / total[period],
        ),
        (
            apis.period[hosted] * len(members) + at,
            variables.bought[hosted],
            apis.reach_per_s[hosted] / total[apis.period[hosted]],
        ),
    )


def max_distinct_configurations(problem: Problem, variables: Variables) -> Rows:
    """sum of chosen[l] <= limit; replicas[t,c] <= most[t,c] chosen[l]; trimmed flows of a label <= demand[k] chosen[l].

    The big-M `most` is the count of replicas beyond which one more is useless (see `quantities`). The flow rows follow
    from the replica rows for whole numbers and are what makes the relaxation tight.
    """
    limit = limit_of(problem.limits.max_distinct_configurations)
    names = problem.candidates.configuration
    return _variety(problem, variables, "max_distinct_configurations", names, variables.chosen, limit)


def max_engines(problem: Problem, variables: Variables) -> Rows:
    """sum of chosen[e] <= limit; replicas[t,c] <= most[t,c] chosen[e]; trimmed flows of an engine <= demand chosen."""
    limit = limit_of(problem.limits.max_engines)
    return _variety(problem, variables, "max_engines", problem.candidates.engine, variables.engine_chosen, limit)


def _variety(problem: Problem, variables: Variables, family: str, names: Labels, chosen: Ints, limit: float) -> Rows:
    """At most `limit` of the labels have a replica in any period."""
    streams, label = problem.streams, label_numbers(names)
    cells = variables.replicas.size
    group = trimming_groups(problem, label)
    first = np.unique(group, return_index=True)[1]
    switch = np.tile(chosen[label], problem.traffic.periods)
    total = cells + len(first)
    ids = problem.candidates.ids
    where = zip(streams.server[first], streams.mix[first], streams.period[first], strict=True)
    leads = [f"{ids[c]}|m{m}|t{t}" for c, m, t in where]
    rows = [f"replicas|{name}" for name in by_period(problem, ids)] + [f"flow|{name}" for name in leads] + ["count"]
    lead = cells + np.arange(len(first))
    return at_most(
        tagged(family, rows),
        np.append(np.zeros(total), limit),
        (np.arange(cells), variables.replicas, 1.0 / most_replicas(problem)),
        (np.arange(cells), switch, -np.ones(cells)),
        (cells + group, variables.flow, np.ones(len(streams))),
        (lead, chosen[label[streams.server[first]]], -np.ones(len(first))),
        (np.full_like(chosen, total), chosen, np.ones(len(chosen))),
    )


def limit_of(value: float | None) -> float:
    """A limit that the family's activity promises to be there."""
    if value is None:
        raise ValueError("a family without its limit is not part of the program")
    return value
