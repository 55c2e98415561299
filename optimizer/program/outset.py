"""What is known of a week before it is searched: from its busiest moment, and from its hours with nothing joining them.

Both are problems of far fewer periods. The one has a plan wherever the week has, and what serves it serves the week; no
plan of the week costs less than the other's. Where nothing is paid all month, a few levels of demand tell the latter.
"""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.large.unlinked import kinds_of_periods, linked_again, unlinked
from optimizer.program.problem.data import Limits
from optimizer.program.problem.instance_contents import places_instances
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.peak import at_peak, peaks_at_once
from optimizer.program.proof.state import NOTHING_KNOWN, Known, SearchState
from optimizer.program.proof.steps import MOST_CELLS_OF_EQUALS, cheaper, solve_on
from optimizer.program.search import search
from optimizer.program.weeks.level_prices import CLOSE, bound_with_starts, follows_itself
from optimizer.program.weeks.levels import Levels, has_levels
from optimizer.program.weeks.paid_all_month import told_by_counts
from optimizer.program.weeks.period_programs import MOST_PERIODS, single_period
from optimizer.program.weeks.rises import with_rises
from optimizer.program.weeks.schedule import scheduled

SHARE_OF_LEVELS, SHARE_OF_FEWER_PERIODS, SHARE_WITHOUT_LINKS, SHARE_WITHOUT_SHARES = 0.85, 0.6, 0.25, 0.4
"""Of what is left on the clock: what the week without links may use by its levels, with fewer periods, else, and by its
levels where these bound it but are no plans of it."""

HARDLY_OPEN = 0.01
"""Share of a plan's cost that may be open where a large program of machines paid all month is not searched any more:
its first node alone takes a minute, and what it finds then is rarely cheaper."""

MOST_TOGETHER, MOST_STREAMS_TOGETHER = 12, 2_000
"""Periods of a week, and flows of it without links, that are searched together sooner than by their levels."""

SHARE_OF_PEAK, NODES_FROM_PEAK = 0.25, 50
"""The same for its busiest moment, and nodes of branch and bound for a plan of what serves that."""


def known_at_outset(problem: Problem, state: SearchState) -> Known:
    """What two simpler problems say of a sorted one before it is searched; nothing where there is no week."""
    if problem.traffic.periods == 1:
        return NOTHING_KNOWN
    # who counts what there is to operate has a plan already, and asks whether there is a simpler one
    wanted = _wants_peak(problem, state) and not (problem.ceiling.in_force or state.clock.expired)
    peak = _known_at_peak(problem, state) if wanted else NOTHING_KNOWN
    if peak.usd_per_hour == np.inf:
        return peak
    free = _known_without_links(problem, state)
    return Known(free.usd_per_hour, cheaper(peak.plan, free.plan))


def _known_at_peak(problem: Problem, state: SearchState) -> Known:
    """A plan of what serves the busiest moment, where the whole week takes long; or that nothing does."""
    with state.phase("peak"):
        own = replace(state, progress=None, cutoff_usd_per_hour=np.inf, eliminated={})
        result = search(at_peak(problem), replace(own, clock=state.clock.share(SHARE_OF_PEAK)))
        if result.status == "infeasible":
            ruled_out = peaks_at_once(problem) or _none_for_the_busiest(problem, own)
            return Known(np.inf) if ruled_out else NOTHING_KNOWN
        if result.incumbent is None:
            return NOTHING_KNOWN
        used = result.incumbent.used | stands_in_force(problem)
        _, plan = solve_on(problem, used, replace(own, clock=state.clock.share(SHARE_OF_PEAK)), NODES_FROM_PEAK)
    return Known(0.0, plan if plan is not None and plan.usd_per_hour <= state.cutoff_usd_per_hour else None)


def _none_for_the_busiest(problem: Problem, state: SearchState) -> bool:
    """Whether nothing serves a period that asks for most, which then rules the week out.

    The busiest moment may ask for more than any period: for the replicas that stay where nothing is asked for, too. So
    the period of the most demand is looked at, and that of the most replicas that stay.
    """
    traffic, price = problem.traffic, problem.offers.price_usd_per_hour
    most = traffic.demand_per_s.max(axis=0)
    of_most = np.divide(traffic.demand_per_s, most, out=np.zeros_like(traffic.demand_per_s), where=most > 0)
    for asked in (of_most, traffic.least_replicas):
        own = replace(state, clock=state.clock.share(SHARE_OF_PEAK))
        busiest = single_period(problem, int(asked.sum(axis=1).argmax()), price)
        if search(busiest, own).status == "infeasible":
            return True
    return False


def _known_without_links(problem: Problem, state: SearchState) -> Known:
    """What the week says in which nothing joins the hours but what is paid all month.

    Asked where that week is far smaller, where its levels are solved sooner one by one, or where what joins the hours
    is hard to count.
    """
    periods, kind = problem.traffic.periods, kinds_of_periods(problem)
    fewer = periods > MOST_PERIODS and kind.max() + 1 < periods
    joined = fewer or problem.has_minimum_billing
    if not (joined or _loses_much(problem) or periods > MOST_TOGETHER):
        return NOTHING_KNOWN
    with state.phase("unlinked"):
        part = compacted(problem, undominated(problem))
        free = unlinked(part.problem, kind)
        # where no time is left a bound of all hours is had at once, and none of the levels is solved
        many = len(free.streams) > MOST_STREAMS_TOGETHER and not state.clock.expired
        leveled = many and has_levels(problem)
        if many and not leveled and state.proof and has_levels(without := _without_shares(part.problem)):
            own = replace(state, clock=state.clock.share(SHARE_WITHOUT_SHARES), progress=None, eliminated={})
            return Known(_known_of_levels(without, kind, unlinked(without, kind), own).usd_per_hour)
        if not (leveled or joined):
            return NOTHING_KNOWN
        large = len(part.candidates) * periods > MOST_CELLS_OF_EQUALS and not problem.ceiling.in_force
        counted = large and bool(problem.offers.always_paid.any())
        share = SHARE_OF_LEVELS if leveled or counted else SHARE_OF_FEWER_PERIODS if fewer else SHARE_WITHOUT_LINKS
        own = replace(state, clock=state.clock.share(share), progress=None, eliminated={})
        # the hours at once are a hard program, of which the counts need no more than what a plan may cost
        asked = counted and not leveled
        # for a proof numbers are looked at to the end: beyond them the program of all hours is as large as that of none
        looks = replace(own, clock=state.clock) if state.proof else own
        known = told_by_counts(part.problem, kind, NOTHING_KNOWN, looks, search) if asked else NOTHING_KNOWN
        if not known.usd_per_hour:
            told = (_known_of_levels if leveled else _known_of_hours)(part.problem, kind, free, own)
            known = Known(told.usd_per_hour, cheaper(known.plan, told.plan))
        if leveled and counted and _is_wide(known, state):
            known = told_by_counts(part.problem, kind, known, looks, search)
    plan = known.plan
    wanted = plan is not None and plan.usd_per_hour <= state.cutoff_usd_per_hour
    return Known(known.usd_per_hour, plan.for_whole(part, problem) if plan is not None and wanted else None)


def _without_shares(problem: Problem) -> Problem:
    """The problem without limits on shares of the whole fleet, of which levels of demand know nothing."""
    neutral = Limits(problem.limits.max_utilization)
    shares = {item.name for item in problem.limits.in_force if item.unit == "share" and item.over == "fleet"}
    return replace(problem, limits=replace(problem.limits, **{name: getattr(neutral, name) for name in shares}))


def hardly_open(problem: Problem, known: Known, state: SearchState) -> bool:
    """Whether the program of a large week is not worth a search: it is known whether plans cost what
    was asked, or of machines paid all month it could save too little."""
    narrow = problem.offers.always_paid.any() and not _is_wide(known, state, HARDLY_OPEN)
    settled = state.refuted_by(known.plan) or state.enough_usd_per_hour <= known.usd_per_hour < np.inf
    if not (narrow or settled):
        return False
    return int(undominated(problem).sum()) * problem.traffic.periods > MOST_CELLS_OF_EQUALS


def _is_wide(known: Known, state: SearchState, close: float = CLOSE) -> bool:
    """Whether what is known of the least that plans cost is far from what a plan costs that is of interest."""
    most = min(state.cutoff_usd_per_hour, np.inf if known.plan is None else known.plan.usd_per_hour)
    return not (np.isfinite(most) and (1 - close) * most <= known.usd_per_hour <= most)


def _loses_much(problem: Problem) -> bool:
    """Whether losses are survived, which makes a program of several periods a hard one."""
    return bool(problem.limits.survive) or places_instances(problem)


def _wants_peak(problem: Problem, state: SearchState) -> bool:
    """Whether it takes long to find a plan of a week, or that there is none: losses, or few kinds that may ever run;
    or limits on places and kinds where levels of demand have no plans, for a first plan, too."""
    limits = problem.limits
    hard = _loses_much(problem) or bool(limits.spare_replicas) or limits.max_distinct_configurations is not None
    if state.proof and hard:
        return True
    wanted = state.proof or np.isinf(state.cutoff_usd_per_hour)
    told_apart = any(item.compares_offers_by + item.compares_candidates_by for item in limits.in_force)
    return bool(wanted and told_apart and not has_levels(problem))


def _known_of_hours(week: Problem, kind: Ints, free: Problem, state: SearchState) -> Known:
    """The same from all hours at once."""
    result = search(free, state)
    if result.status == "infeasible":
        return Known(np.inf)
    plan = None if result.incumbent is None else linked_again(week, kind, result.incumbent)
    return Known(result.bound.usd_per_hour, plan)


def _known_of_levels(week: Problem, kind: Ints, free: Problem, state: SearchState) -> Known:
    """The same where few levels of demand tell the others, with what starts and least billed times add."""
    levels = Levels(free)
    if not levels.solve(state, search):
        return Known(np.inf)
    plan, bound = scheduled(week, kind, levels), with_rises(week, levels.lower[kind], state.clock)
    if follows_itself(week) and plan is not None and plan.usd_per_hour - bound > CLOSE * plan.usd_per_hour:
        bound = max(bound, bound_with_starts(week, kind, levels, state, search).usd_per_hour)
        plan = cheaper(plan, scheduled(week, kind, levels))
    return Known(bound, plan)
