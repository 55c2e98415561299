"""What there is to operate: kinds of configuration and of engine, places, instances, each counted against a limit."""

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.formulation.policy import limit_of
from optimizer.program.formulation.rows import Rows, at_most, family_of, tagged
from optimizer.program.formulation.variables import Variables, by_period
from optimizer.program.problem.loss_levels import most_held
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import (
    label_numbers,
    labels,
    providers_of,
    trimming_groups,
)


def max_distinct_configurations(problem: Problem, variables: Variables) -> Rows:
    """sum of chosen[l] <= limit; replicas[t,c] <= most[t,c] chosen[l]; trimmed flows of a label <= demand[k] chosen[l].

    The big-M `most` is the count of replicas beyond which one more is useless (see `quantities` and `loss_levels`). The
    flow rows follow from the replica rows for whole numbers and are what makes the relaxation tight.
    """
    limit, label = problem.limits.max_distinct_configurations, label_numbers(problem.candidates.configuration)
    return family_of(
        "max_distinct_configurations",
        **_linked(problem, variables, label, variables.chosen),
        count=_count(variables.chosen, limit_of(limit)),
    )


def max_engines(problem: Problem, variables: Variables) -> Rows:
    """sum of chosen[e] <= limit; replicas[t,c] <= most[t,c] chosen[e]; trimmed flows of an engine <= demand chosen."""
    limit, label = problem.limits.max_engines, label_numbers(problem.candidates.engine)
    return family_of(
        "max_engines",
        **_linked(problem, variables, label, variables.engine_chosen),
        count=_count(variables.engine_chosen, limit_of(limit)),
    )


def places(problem: Problem, variables: Variables) -> Rows:
    """sum of used[p] + sum of used[r] <= limit; replicas, trimmed flows and bought requests only where used."""
    offer, of_server = problem.candidates.offer, label_numbers(providers_of(problem))
    at_provider, in_region = np.split(variables.place_used, [len(labels(providers_of(problem)))])
    bought = np.arange(len(variables.bought))
    api_provider = of_server[len(problem.offers) :][problem.api_streams.server]
    providers = _linked(problem, variables, of_server[: len(problem.offers)][offer], at_provider, "provider_")
    regions = _linked(problem, variables, label_numbers(problem.offers.region)[offer], in_region, "region_")
    return family_of(
        "places",
        **providers,
        **regions,
        bought=at_most(
            [f"bought|{number}" for number in bought.tolist()],
            0.0,
            (bought, variables.bought, 1.0),
            (bought, at_provider[api_provider], -1.0),
        ),
        count=_count(variables.place_used, limit_of(problem.ceiling.places)),
    )


def instance_count(problem: Problem, variables: Variables) -> Rows:
    """sum over o of instances[t,o] <= limit in each period."""
    row = np.arange(problem.traffic.periods)[:, None] + np.zeros_like(variables.instance_at)
    names = tagged("instance_count", by_period(problem, [""]))
    return at_most(names, limit_of(problem.ceiling.instances), (row, variables.instance_at, 1.0))


def _linked(problem: Problem, variables: Variables, label: Ints, chosen: Ints, prefix: str = "") -> dict[str, Rows]:
    """Blocks of rows: only what is of a chosen label has replicas and flows.

    Args:
        problem: The problem.
        variables: Its columns.
        label: (C,) the number of each candidate's label.
        chosen: (labels,) the column that says whether a label is chosen.
        prefix: Of the rows' names, where a family links several kinds of label.
    """
    streams, ids = problem.streams, problem.candidates.ids
    groups, cell = trimming_groups(problem, label), np.arange(variables.replicas.size)
    # a group of streams goes by its first one
    first = groups.first
    leads = zip(streams.server[first], streams.mix[first], streams.period[first], strict=True)
    replicas = at_most(
        [f"{prefix}replicas|{name}" for name in by_period(problem, ids)],
        0.0,
        (cell, variables.replicas, 1.0 / most_held(problem, variables.contents)),
        (cell, np.tile(chosen[label], problem.traffic.periods), -1.0),
    )
    flow = at_most(
        [f"{prefix}flow|{ids[c]}|m{m}|t{t}" for c, m, t in leads],
        0.0,
        (groups.number, variables.flow, 1.0),
        (np.arange(len(first)), chosen[label[streams.server[first]]], -1.0),
    )
    return {f"{prefix}replicas": replicas, f"{prefix}flow": flow}


def _count(chosen: Ints, limit: float) -> Rows:
    """No more are chosen than the limit."""
    return at_most(["count"], limit, (np.zeros_like(chosen), chosen, 1.0))
