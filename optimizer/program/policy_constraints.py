"""What the scenario's policy adds: limits on GPUs, money, power, variety, and what must survive a loss."""

import numpy as np

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem import Ints, Problem
from optimizer.program.quantities import most_replicas, reach_per_s, trimming_groups
from optimizer.program.rows import Rows, at_least, at_most, one_row_at_most
from optimizer.program.variables import Variables, label_numbers, labels, tagged


def max_gpus(problem: Problem, variables: Variables) -> Rows:
    """sum over o of G_o instances[o] <= max_gpus."""
    limit = _limit(problem.limits.max_gpus)
    return one_row_at_most("max_gpus[]", limit, variables.instances, problem.gpus_per_instance.astype(float))


def max_monthly_usd(problem: Problem, variables: Variables) -> Rows:
    """sum over o of price[o] instances[o] <= max_monthly_usd / 730."""
    limit = _limit(problem.limits.max_monthly_usd)
    return one_row_at_most(
        "max_monthly_usd[]", limit / HOURS_PER_MONTH, variables.instances, problem.price_usd_per_hour
    )


def max_power_kw(problem: Problem, variables: Variables) -> Rows:
    """sum over o of power[o] instances[o] <= max_power_kw."""
    limit = _limit(problem.limits.max_power_kw)
    return one_row_at_most("max_power_kw[]", limit, variables.instances, problem.power_kw_per_instance)


def quotas(problem: Problem, variables: Variables) -> Rows:
    """For each quota q: sum over its offers of G_o instances[o] <= max_gpus[q]."""
    listed = problem.limits.quotas
    row = np.array([number for number, quota in enumerate(listed) for _ in quota.offers], dtype=np.int64)
    offers = np.array([offer for quota in listed for offer in quota.offers], dtype=np.int64)
    return at_most(
        tagged("quotas", [quota.name for quota in listed]),
        np.array([quota.max_gpus for quota in listed], dtype=float),
        (row, variables.instances[offers], problem.gpus_per_instance[offers].astype(float)),
    )


def max_spot_share(problem: Problem, variables: Variables) -> Rows:
    """sum of flow[c] on spot offers <= max_spot_share x sum of demand, divided by the sum of demand.

    The share is of demand rather than of flow, so that idle on-demand capacity can't be counted as served to make
    room for more spot.
    """
    limit = _limit(problem.limits.max_spot_share)
    spot = np.flatnonzero(problem.spot[problem.offer_index])
    share = reach_per_s(problem)[spot] / problem.demand_per_s.sum()
    return one_row_at_most("max_spot_share[]", limit, variables.flow[spot], share)


def spare_replicas(problem: Problem, variables: Variables) -> Rows:
    """With s spare: flow[c] <= rate[c] (replicas[c] - s used[c]), flow[c] <= reach[c] used[c], replicas >= (s+1) used.

    Each deployment that serves anything still serves its flow within the SLA, at full rate, after losing s replicas.
    The big-M of the second row is reach: no trimmed plan routes more. The third row excludes no plan (a deployment
    with flow has more than s replicas by the first) and tightens the relaxation.
    """
    number, spare = np.arange(len(problem.candidates)), problem.limits.spare_replicas
    ones = np.ones(len(number))
    survive = (number, variables.flow, reach_per_s(problem) / problem.replica_rate_per_s)
    stand_by = (number, variables.used, spare * ones)
    counted = (len(number) + number, variables.flow, ones)
    when_used = (len(number) + number, variables.used, -ones)
    least = (2 * len(number) + number, variables.used, (spare + 1) * ones)
    names = [f"{part}|{name}" for part in ("survive", "used", "least") for name in problem.candidates]
    replicas = np.concatenate([number, 2 * len(number) + number])
    return at_most(
        tagged("spare_replicas", names),
        np.zeros(len(names)),
        survive,
        stand_by,
        counted,
        when_used,
        least,
        (replicas, np.tile(variables.replicas, 2), np.tile(-ones, 2)),
    )


def max_distinct_configurations(problem: Problem, variables: Variables) -> Rows:
    """sum of chosen[l] <= limit; replicas[c] <= most[c] chosen[l]; trimmed flows of a label <= demand[k] chosen[l].

    The big-M `most` is the count of replicas beyond which one more is useless (see `quantities`). The flow rows follow
    from the replica rows for whole numbers and are what makes the relaxation tight.
    """
    limit = _limit(problem.limits.max_distinct_configurations)
    number, label = np.arange(len(problem.candidates)), label_numbers(problem.configuration)
    group = trimming_groups(problem, label)
    first = np.unique(group, return_index=True)[1]
    flows, chosen = len(number) + group, variables.chosen[label]
    total = len(number) + len(first)
    names = [f"replicas|{name}" for name in problem.candidates]
    names += [f"flow|{problem.candidates[c]}" for c in first] + ["count"]
    lead = len(number) + np.arange(len(first))
    return at_most(
        tagged("max_distinct_configurations", names),
        np.append(np.zeros(total), limit),
        (number, variables.replicas, 1.0 / most_replicas(problem)),
        (number, chosen, -np.ones(len(number))),
        (flows, variables.flow, np.ones(len(number))),
        (lead, chosen[first], -np.ones(len(first))),
        (np.full_like(variables.chosen, total), variables.chosen, np.ones(len(variables.chosen))),
    )


def min_providers(problem: Problem, variables: Variables) -> Rows:
    """sum of present[p] >= min_providers; present[p] <= deployments (or replicas) of p that can serve."""
    present, least = variables.provider_present, problem.limits.min_providers
    return _presence("min_providers", problem.provider, present, least, problem, variables)


def min_regions(problem: Problem, variables: Variables) -> Rows:
    """sum of present[r] >= min_regions; present[r] <= deployments (or replicas) in r that can serve."""
    present, least = variables.region_present, problem.limits.min_regions
    return _presence("min_regions", problem.region, present, least, problem, variables)


def _presence(
    family: str, place: tuple[str, ...], present: Ints, least: int, problem: Problem, variables: Variables
) -> Rows:
    """A place counts with one replica there, or spare + 1 of one candidate; a spot replica that may not serve does not.

    An empty instance does not count: it is bought but serves nobody.
    """
    limits = problem.limits
    idle = problem.spot[problem.offer_index] & (limits.max_spot_share == 0)
    member = np.flatnonzero(~idle)
    columns = variables.used if len(variables.used) else variables.replicas
    place_of_candidate = label_numbers(place)[problem.offer_index[member]]
    number = np.arange(len(present))
    return at_least(
        tagged(family, [*labels(place), "count"]),
        np.append(np.zeros(len(number)), float(least)),
        (place_of_candidate, columns[member], np.ones(len(member))),
        (number, present, -np.ones(len(number))),
        (np.full_like(number, len(number)), present, np.ones(len(number))),
    )


def _limit(value: float | None) -> float:
    if value is None:
        raise ValueError("a family without its limit is not part of the program")
    return value
