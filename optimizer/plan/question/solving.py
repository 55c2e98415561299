"""How a question is solved: few periods of a week before every hour, and predicted mixes before what lies between them.

One program knows some periods and some predicted mixes of request classes. What it proves is true of plans made of
these; the steps here go on until it is true of the question, or the answer says what it is true of.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.units import HOURS_PER_WEEK
from optimizer.performance.candidates.mixes import OverloadedMix
from optimizer.performance.candidates.periods import exact_hours, told_apart
from optimizer.performance.candidates.probing import raised
from optimizer.performance.candidates.triangulation import MOST_SPLIT
from optimizer.plan.question.by_second import cheaper, choices_of, containers_of, usd_of, without_containers
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import own_configurations
from optimizer.plan.question.mixes_held import held
from optimizer.plan.question.service import promising_mixes, with_own_pools
from optimizer.plan.question.simple_first import (
    enough_usd,
    is_refuted,
    is_settled,
    may_end_simply,
    simple_first,
    simpler_of_its_own,
)
from optimizer.plan.question.simplifying import simplified
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.solve import configurations_missing

MOST_PROBINGS = 8
"""Times that mixes are predicted because replicas may sustain more of them; most plans need one or two."""

WORTH_MORE_MIXES = 1e-6
"""Share of a plan's cost that more mixes must save."""

SHARE_WITHOUT_MIXING = 0.5
"""Of what is left of a limit, for the best plan without mixing, which is there if nothing else is."""

EXACT_NODES = 500
"""Where the search over a week of many periods ends, the same on every machine; most end at the first node."""

SHARE_OF_LEAST_COST = 0.7
"""Of what is left of a limit, for the cheapest plan of a week: a simpler one is looked for after it."""

SHARE_OF_FEW_PERIODS = 0.5
"""Of what is left of a limit, for the first plan of a week."""

MOST_CELLS_LATE = 2_000_000
"""Candidates times hours beyond which an exact week is not even set up where no time is left: it takes seconds."""

MOST_TIDIED = 24
"""Periods of a plan for which ties are broken anew."""


def solved(inquiry: Inquiry, keep: Sequence[Flags] | None = None, known_usd: float | None = None) -> Answer:
    """The simplest plan that is as good as cheapest, optionally over a part of the configurations.

    Where a plan is known that is still to be had, with no more to operate than the one `shown`, only cheaper ones are
    looked for: where it stays the best, the answer has none (`infeasible`), which takes bounds to know and few solves.
    """
    share = SHARE_OF_LEAST_COST if inquiry.over_time and inquiry.simplifies else 1.0
    less_usd = None if known_usd is None else less_than(known_usd)
    alone = keep is None and known_usd is None and may_end_simply(inquiry)
    asked = replace(inquiry, clock=inquiry.clock.share(share))
    cheapest = solved_for_least_cost(asked, keep, less_usd, ends_simply=alone)
    return simplified(replace(cheapest, inquiry=replace(cheapest.inquiry, clock=inquiry.clock)), keep, known_usd)


def solved_for_least_cost(
    inquiry: Inquiry,
    keep: Sequence[Flags] | None = None,
    known_usd: float | None = None,
    *,
    ends_simply: bool = False,
) -> Answer:
    """The optimum, optionally over a part of the configurations; or that no plan costs as little as a known amount.

    Where it `ends_simply` the optimum of a large week is looked for no further than a simple plan needs, if none is
    served by containers.

    Containers paid by the second serve all of a workload or none of it: each choice of such workloads is a program of
    its own, save those whose containers alone cost more than a plan that is known. What is left of a limit is for the
    programs still to be solved, in equal shares.
    """
    asked = without_containers(inquiry)
    choices = tuple(choices_of(containers_of(asked)))
    if not choices:
        return _without_choice(asked, keep, known_usd, ends_simply=ends_simply)
    best = _without_choice(replace(asked, clock=asked.clock.share(1 / (len(choices) + 1))), keep, known_usd)
    for number, chosen in enumerate(choices):
        known, alone = best.solution.cost_usd_per_month, usd_of(chosen)
        if known is not None and alone >= known * (1 - EQUAL_COST):
            continue
        if known is not None and (limit := asked.clock.reached) is not None:
            bound = min(best.solution.bound_usd_per_month or 0.0, alone)
            best = replace(best, solution=best.solution.above(bound, limit))
            continue
        in_turn = replace(asked, by_second=chosen, clock=asked.clock.share(1 / (len(choices) - number)))
        best = cheaper(best, _without_choice(in_turn, keep, known_usd))
    return replace(best, inquiry=replace(best.inquiry, clock=asked.clock))


def _without_choice(
    inquiry: Inquiry, keep: Sequence[Flags] | None, known_usd: float | None, *, ends_simply: bool = False
) -> Answer:
    """The optimum where it is decided which workloads containers serve.

    A week of few periods, whose demand is rounded up, is solved first; then one of as many periods as lose no plan. The
    cheaper plan is the answer, with what is proven of every plan. Few periods do for a plan that is compared or varied;
    that there is none is said of every plan alone, that there is none cheaper than a known one of few periods, too.
    """
    week, enough = inquiry.week, inquiry.close_enough or inquiry.hour_to_period is not None
    began_s = inquiry.clock.spent_s
    first = inquiry.clock.share(SHARE_OF_FEW_PERIODS)
    few_first = replace(inquiry, node_limit=EXACT_NODES, clock=first, proves=False, any_of_equals=True)
    asked = inquiry if week.exact or enough else few_first
    coarse = _over_mixes(asked, keep, known_usd)
    few = coarse.solution.cost_usd_per_month
    if week.exact or (enough and (few is not None or known_usd is not None)):
        return coarse
    inquiry = replace(inquiry, few_periods_s=inquiry.clock.spent_s - began_s)
    cells = len(coarse.formulation.problem.candidates) * HOURS_PER_WEEK
    if (limit := inquiry.clock.reached) is not None and few is not None and cells > MOST_CELLS_LATE:
        return _shown(inquiry, coarse, replace(coarse, solution=coarse.solution.left_open(limit)))
    whole = replace(coarse.inquiry, clock=inquiry.clock, hour_to_period=exact_hours(inquiry.scenario), proves=True)
    every = replace(whole, node_limit=EXACT_NODES, any_of_equals=True, falls_back=False)
    simple = simple_first(inquiry, coarse) if ends_simply else None
    if simple is not None:
        every = replace(every, enough_usd=enough_usd(simple))
    known_usd = known_usd if few is None else less_than(few)
    shown = _shown(inquiry, coarse, _over_mixes(every, keep, known_usd), simple)
    if simple is not None and is_refuted(simple, shown):
        # every hour has a plan that the simple one costs too much beside: one of that plan's own may do as well
        simple = simpler_of_its_own(shown)
        if simple is None:
            shown = _shown(inquiry, coarse, _over_mixes(replace(every, enough_usd=np.inf), keep, known_usd))
    return replace(shown, simple_first=simple)


def of_few_periods(inquiry: Inquiry) -> Answer:
    """A plan of few periods of the week, sooner than with what no plan undercuts, and not the simplest."""
    week = replace(inquiry, hour_to_period=None).week
    asked = replace(inquiry, hour_to_period=week.hour_to_period, node_limit=EXACT_NODES, proves=False)
    found = solved_for_least_cost(asked)
    own = replace(found.inquiry, proves=inquiry.proves, node_limit=inquiry.node_limit)
    return replace(found, inquiry=own, simplicity_proven=False)


def of_every_hour(known: Answer, clock: Clock) -> Answer:
    """The cheapest plan of every hour that costs less than a known plan of a week, or what no such plan undercuts."""
    inquiry, hours = replace(known.inquiry, clock=clock), known.formulation.periods.hour_to_period
    exact = replace(inquiry, hour_to_period=exact_hours(inquiry.scenario), proves=True)
    every = replace(exact, node_limit=EXACT_NODES, any_of_equals=True, falls_back=False)
    found = solved_for_least_cost(every, known_usd=less_than(known.solution.cost_usd_per_month))
    return found if found.solution.cost_usd_per_month is None else _told_apart(inquiry, hours, found)


def tidied(found: Answer, clock: Clock) -> Answer:
    """A plan `of_every_hour` with ties broken, as far as the clock allows."""
    inquiry = replace(found.inquiry, clock=clock)
    every = replace(inquiry, node_limit=EXACT_NODES, falls_back=False, proves=True)
    shown = _tidied(inquiry, replace(found, inquiry=every))
    return _told_apart(inquiry, inquiry.week.hour_to_period, shown)


def _told_apart(inquiry: Inquiry, hours: Ints, shown: Answer) -> Answer:
    """An answer of which variations are made of some periods (168,), told apart where its hours run different
    instances."""
    apart = told_apart(hours, shown.running_alike)
    return replace(shown, inquiry=replace(inquiry, options=shown.inquiry.options, hour_to_period=apart))


def for_variations(inquiry: Inquiry) -> Inquiry:
    """The same question, whose changes are all answered in periods that tell hours apart as its own plan does."""
    simply = may_end_simply(inquiry)
    return inquiry if inquiry.week.exact else solved_for_least_cost(inquiry, ends_simply=simply).inquiry


def _shown(inquiry: Inquiry, coarse: Answer, exact: Answer, simple: Answer | None = None) -> Answer:
    """The cheaper of two plans, of equals the one of fewer periods, with what is proven of every plan.

    Variations of it are made of the few periods, told apart where hours of the plan run different instances.
    """
    few, every = coarse.solution.cost_usd_per_month, exact.solution.cost_usd_per_month
    hours = coarse.formulation.periods.hour_to_period
    if few is None and every is None:
        return replace(exact, inquiry=inquiry)
    # ties are not broken for a plan that a simpler one takes the place of
    aside = simple is not None and is_settled(simple, exact)
    if few is None or (every is not None and every < few * (1 - EQUAL_COST)):
        shown = exact if aside else _tidied(inquiry, exact)
        hours = told_apart(hours, shown.running_alike)
    else:
        proven = exact.solution.outcome in ("optimal", "infeasible")
        bound = few if proven else exact.solution.bound_usd_per_month or 0.0
        tidy = coarse if aside else _counted_as(coarse, _with_ties_broken(inquiry, coarse, hours))
        solution = tidy.solution.above(bound, exact.solution.ended_by)
        shown = replace(tidy, solution=solution, mixes_settled=exact.mixes_settled)
    varied = replace(shown.inquiry, clock=inquiry.clock, hour_to_period=hours, node_limit=inquiry.node_limit)
    asked = replace(varied, any_of_equals=inquiry.any_of_equals, falls_back=inquiry.falls_back, proves=inquiry.proves)
    asked = replace(asked, enough_usd=inquiry.enough_usd, few_periods_s=inquiry.few_periods_s)
    return replace(shown, inquiry=asked)


def _tidied(inquiry: Inquiry, exact: Answer) -> Answer:
    """The plan in periods of hours that run the same instances, ties broken among its own configurations.

    It stays as it is where these periods are many, or where they cost more: what is sent to hosted APIs follows the
    demand of each hour.
    """
    hours = exact.running_alike
    if hours.max() >= MOST_TIDIED:
        return exact
    tidy = _with_ties_broken(inquiry, exact, hours)
    bound_usd = exact.solution.bound_usd_per_month or 0.0
    solution = tidy.solution.above(bound_usd, exact.solution.ended_by)
    return exact if tidy is exact else replace(tidy, solution=solution, mixes_settled=exact.mixes_settled)


def _with_ties_broken(inquiry: Inquiry, found: Answer, hours: Ints) -> Answer:
    """The plan in some periods, ties broken among its own configurations; as it is where that finds none as cheap."""
    cost_usd = found.solution.cost_usd_per_month or 0.0
    asked = replace(found.inquiry, hour_to_period=hours, any_of_equals=inquiry.any_of_equals, clock=inquiry.clock)
    tidy = _over_mixes(asked, own_configurations(found), cost_usd)
    least_usd = tidy.solution.cost_usd_per_month
    return found if least_usd is None or least_usd > cost_usd * (1 + EQUAL_COST) else tidy


def _counted_as(found: Answer, tidy: Answer) -> Answer:
    """The plan with ties broken, told with what was left out and solved in the search that found its cost."""
    own = found.solution
    solution = replace(tidy.solution, eliminated=own.eliminated, columns_solved=own.columns_solved)
    formulation = replace(tidy.formulation, same_platform=found.formulation.same_platform)
    return replace(tidy, solution=solution, formulation=formulation, rounds=found.rounds)


def _over_mixes(inquiry: Inquiry, keep: Sequence[Flags] | None, known_usd: float | None = None) -> Answer:
    """The optimum in this week that holds at the mixes it runs, or that there is none as cheap as a known plan.

    The best plan without any mixing, which is found soon, is a ceiling. Then capacity is added up between predicted
    mixes (`held`). Where replicas may sustain more between them than that, `raised` rates say how much a plan could
    gain at most: as long as one could cost less, the mixes that it would run are predicted, too. Where that leads to no
    proof it is left out, save for telling whether there may be a plan where none was found.
    """
    if not inquiry.mixes_between():
        return inquiry.solved_once(keep, known_usd)
    plain = None
    if known_usd is None:
        plain = replace(inquiry.apart(), clock=inquiry.clock.share(SHARE_WITHOUT_MIXING)).solved_once(keep)
    try:
        best = held(replace(inquiry, falls_back=False), keep, plain, known_usd)
    except LimitReached as reached:
        if plain is None or plain.solution.cost_usd_per_month is None or not inquiry.settles:
            raise
        return replace(plain, solution=plain.solution.above(0.0, reached.limit))
    nothing_known = best.solution.cost_usd_per_month is None and known_usd is None
    looks_ahead = inquiry.looks_ahead and _is_small(best.inquiry)
    problem = best.formulation.problem
    # where no replica may run, as where APIs alone are asked for, none sustains more between mixes
    settled = not (best.inquiry.mixes_between() and len(problem.candidates)) or configurations_missing(problem)
    if settled or not (looks_ahead or nothing_known):
        return best
    if (limit := inquiry.clock.reached) is not None:
        # to probe between mixes takes seconds; without it what is proven is of plans that use the predicted ones
        return replace(best, solution=best.solution.left_open(limit)) if nothing_known else best
    least_usd = 0.0
    for _ in range(MOST_PROBINGS):
        ahead = _raised(best.inquiry).solved_once(keep, _just_below(best.solution.cost_usd_per_month or known_usd))
        # more predicted mixes only lower what is raised: what was a bound before is one still
        least_usd = max(least_usd, ahead.solution.bound_usd_per_month or 0.0)
        worth = _worth_predicting(ahead, best.inquiry)
        if not (looks_ahead and worth) or inquiry.clock.expired:
            break
        best = held(best.inquiry.with_predicted(worth), keep, best, known_usd)
        if not best.inquiry.mixes_between():
            return best
    return _ahead_of(replace(best, inquiry=replace(best.inquiry, looks_ahead=False)), ahead, least_usd)


def _raised(inquiry: Inquiry) -> Inquiry:
    """The same candidates, sustaining the most that probes leave possible between predicted mixes.

    Where few mixes are predicted between many, so that proof is out of reach, a near answer suffices.
    """
    options = tuple(raised(choice) for choice in inquiry.options)
    return replace(inquiry, options=options, any_of_equals=True, close_enough=not _is_small(inquiry))


def _worth_predicting(ahead: Answer, known: Inquiry) -> tuple[OverloadedMix, ...]:
    """The mixes of which a plan, at the raised rates of `known`, gives a replica more than shares add up to."""
    found: list[OverloadedMix] = []
    for use in ahead.used:
        choice, serving_share = known.options[use.column.workload], known.market.serving_share[use.column.offer]
        found += promising_mixes(known.scenario.policy, choice, with_own_pools(choice, use), float(serving_share))
    return tuple(found)


def _is_small(inquiry: Inquiry) -> bool:
    """Whether predicting more mixes leads to a proof: few classes meet on a replica, at one load all week."""
    corners = max(len(simplex) for choice in inquiry.options for simplex in choice.simplices)
    return corners <= MOST_SPLIT and not inquiry.over_time


def _just_below(known_usd: float | None) -> float | None:
    """What a plan costs that is worth looking for beside a known one."""
    return None if known_usd is None else known_usd * (1 - WORTH_MORE_MIXES)


def less_than(known_usd: float | None) -> float | None:
    """What a plan costs that is cheaper than a known one, by so much that a bound at its cost rules all others out."""
    return None if known_usd is None else known_usd * (1 - 20 * EQUAL_COST)


def _ahead_of(best: Answer, ahead: Answer, least_usd: float) -> Answer:
    """The same, knowing that no plan at raised rates costs less than so much: nothing is cheaper, or so much may be."""
    own, told = best.solution, ahead.solution
    cost = own.cost_usd_per_month
    if told.outcome == "infeasible" or (cost is not None and least_usd >= cost * (1 - WORTH_MORE_MIXES)):
        return replace(best, mixes_settled=True)
    if cost is None:
        return replace(best, solution=own.bounded_by(told))
    return replace(best, solution=own.above(least_usd, told.ended_by))
