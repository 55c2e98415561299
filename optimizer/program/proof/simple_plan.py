"""A plan that is always there: each mix of requests on the cheapest thing that serves all of it, whatever time is left.

Only what a short look at prices and rates points to is solved for, under every limit of the plan, up to a few nodes:
some dozen candidates are solved in a moment. The plan is one to start from or to fall back on; it proves nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.clock import Clock
from optimizer.program.problem.data import LayoutTerms
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, stands_in_force
from optimizer.program.proof.peak import at_peak
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.proof.steps import promising_candidates, solve_on

FEW, MORE, MANY = 2, 24, 200
"""How many candidates, besides one for every mix and every group that a limit wants variety in: in three tries."""

POINTED_TO = 100
"""The same of those that the bound of the search points to, which are tried first."""

NODES = 20
"""Of branch and bound, in each of the tries."""

LEAST_S, SHARE_OF_SPENT, SHARE_OF_TRY = 1.0, 0.2, 0.5
"""Where time is limited: seconds for all tries, or that share of what the search took if that is more, and of what is
left of them for one try. A week of many periods may take long for one node."""

SHARE_OF_LIMIT, SHARE_OF_QUESTION = 0.1, 0.25
"""The same of the limit of the whole question, and of what it has left: a search has a part of it, and on a machine
that does other things a moment is not enough to write a program down."""


def simple_plan(problem: Problem, state: SearchState, with_candidate_usd_per_hour: Floats) -> Incumbent | None:
    """A plan of few candidates that keeps every limit; None where those few have none.

    Args:
        problem: In canonical order.
        state: Of the search that found none in time.
        with_candidate_usd_per_hour: (C,) what the search knows that no plan with each candidate undercuts.
    """
    # where machines keep what is loaded for good the program is small, and its plans are plans where they may change it
    problem = replace(problem, layouts=LayoutTerms(kept=problem.layouts.kept))
    own = replace(
        state, clock=Clock(_seconds(state.clock)), progress=None, cutoff_usd_per_hour=np.inf, relative_gap=0.0
    )
    told = with_candidate_usd_per_hour
    if problem.traffic.periods == 1 and len(np.unique(told)) > 1:
        # a bound that tells candidates apart knows the limits, prices and rates alone do not
        promising = promising_candidates(problem, np.isfinite(told), told, POINTED_TO)
        plan = _on(problem, affordable(problem, promising, told), own)
        if plan is not None:
            return plan
    return _first(problem, own)


def _seconds(clock: Clock) -> float | None:
    """For all tries, counted from here, since the search may have used its own up; None without a limit of seconds."""
    if clock.left_s() is None:
        return None
    limit_s, left_s = clock.question.time_limit_s or 0.0, clock.question.left_s() or 0.0
    return max(LEAST_S, SHARE_OF_SPENT * clock.spent_s, SHARE_OF_LIMIT * limit_s, SHARE_OF_QUESTION * left_s)


def _first(problem: Problem, state: SearchState) -> Incumbent | None:
    """The plan of the first try that has one."""
    for chosen in _few_candidates(problem) if problem.traffic.periods == 1 else _serving_the_peak(problem, state):
        plan = _on(problem, chosen, state)
        if plan is not None:
            return plan
    return None


def _on(problem: Problem, chosen: Flags, state: SearchState) -> Incumbent | None:
    """The plan of one try."""
    return solve_on(problem, chosen, replace(state, clock=state.clock.share(SHARE_OF_TRY)), NODES)[1]


def _serving_the_peak(problem: Problem, state: SearchState) -> Iterator[Flags]:
    """(C,) what a simple plan of the busiest moment runs, which serves the whole week; then few candidates as ever."""
    peak = _first(at_peak(problem), state)
    if peak is not None:
        yield peak.used | stands_in_force(problem)
    yield from _few_candidates(problem)


def _few_candidates(problem: Problem) -> Iterator[Flags]:
    """(C,) one kind of machine for each mix, then more, then what spends least of all that may be limited, too."""
    offers, everything = problem.offers, np.ones(len(problem.candidates), dtype=np.bool_)
    cost = _spent_alone(problem, offers.price_usd_per_hour)
    if problem.limits.survive:
        # each of two places for all of it survives the loss of either; with many to choose from that takes long to see
        yield _cheapest_in_two_places(problem, cost) | stands_in_force(problem)
    yield affordable(problem, promising_candidates(problem, everything, cost, FEW, but=("configuration",)), cost)
    yield affordable(problem, promising_candidates(problem, everything, cost, MORE), cost)
    chosen = promising_candidates(problem, everything, cost, MANY)
    for spent in (offers.gpus_per_instance, offers.power_kw, offers.carbon_kg_per_hour):
        least = _spent_alone(problem, np.asarray(spent, dtype=np.float64))
        chosen |= promising_candidates(problem, everything, least, MORE)
    yield affordable(problem, chosen, cost)


def _cheapest_in_two_places(problem: Problem, cost: Floats) -> Flags:
    """(C,) for each mix what serves it for least, and what does so at another provider in another region."""
    offers, candidates = problem.offers, problem.candidates
    order, chosen = np.argsort(cost, kind="stable"), np.zeros(len(cost), dtype=np.bool_)
    # (C,) by falling preference
    offer = candidates.offer[order]
    provider, region = label_numbers(offers.provider)[offer], label_numbers(offers.region)[offer]
    serving = candidates.rate_per_s[order].T > 0
    for serves in serving[serving.any(axis=1)]:
        first = int(serves.argmax())
        elsewhere = serves & (provider != provider[first]) & (region != region[first])
        chosen[order[[first, int(elsewhere.argmax())]]] = True
    return chosen & np.isfinite(cost)


def _most_instances(problem: Problem) -> Floats:
    """(O,) of an offer that can be had, within every limit on GPUs."""
    offers, limits = problem.offers, problem.limits
    most_gpus = np.full(len(offers), np.inf if limits.max_gpus is None else limits.max_gpus)
    for quota in limits.quotas:
        covered = list(quota.offers)
        most_gpus[covered] = np.minimum(most_gpus[covered], quota.max_gpus)
    return np.asarray(np.minimum(offers.available, np.floor(most_gpus / offers.gpus_per_instance)))


def _spent_alone(problem: Problem, of_instance: Floats) -> Floats:
    """(C,) what whole instances for all of a mix spend over the least that serves it, for the best of its mixes.

    Args:
        problem: In canonical order.
        of_instance: (O,) what an instance spends: dollars, GPUs, power, carbon; NaN where unknown.
    """
    candidates, offers = problem.candidates, problem.offers
    reach_per_s = problem.reach_per_s.max(axis=0, initial=0.0)
    # (C, M) replicas, whole instances of the offer that hold them, and what they spend
    with np.errstate(divide="ignore", invalid="ignore"):
        replicas = np.ceil(reach_per_s / (candidates.rate_per_s * problem.limits.max_utilization))
    held = (offers.gpus_per_instance[candidates.offer] // candidates.gpus_per_replica)[:, None]
    instances = np.ceil((replicas + problem.limits.spare_replicas) / held)
    known = np.isfinite(of_instance)[candidates.offer][:, None]
    to_be_had = known & (candidates.rate_per_s > 0) & (instances <= _most_instances(problem)[candidates.offer][:, None])
    spent = np.where(to_be_had, instances * of_instance[candidates.offer][:, None], np.inf)
    least = spent.min(axis=0, initial=np.inf)
    over_least = np.divide(spent, least, out=np.full_like(spent, np.inf), where=np.isfinite(least) & (least > 0))
    return np.asarray(over_least.min(axis=1, initial=np.inf))
