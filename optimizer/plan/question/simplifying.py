"""The simplest plan that is as good as the cheapest: among those that cost little more, a second question.

Little is a percentage, or so many dollars a month for each configuration less, if that is more. What is proven of the
cheapest plan stays as it is; the plan in its place says what it is dearer, and why. For an answer beside a plan it does
to have no more to operate than that plan, which is one question more and mostly none.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from optimizer.base.arrays import Flags
from optimizer.performance.uncertainty.evidence import drafting
from optimizer.plan.question.holding import holding
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import without_make_weights
from optimizer.plan.question.simple_first import ended_simply, within_percentage
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.simplest import Complexity, least_complexity, search_no_more, search_simplest

SHARE_OF_EVERY_CONFIGURATION = 0.25
"""Of what is left of a limit, for the simplest plan of a week among all configurations, before what a plan can do
without of its own."""


ANY_NUMBER = 10**6
"""Of instances, more than a plan has."""


def simplified(cheapest: Answer, keep: Sequence[Flags] | None = None, known_usd: float | None = None) -> Answer:
    """The simplest plan that costs little more than a cheapest plan, or that one where none is simpler; without drafts
    where what they save is as little (`plain`).

    Within the percentage it is the simplest in everything; beyond it, where fewer configurations are worth their
    dollars, it is the cheapest of so few, with no more places and instances than that plan. Every replica holds at the
    mix that it is sent, as in the cheapest plan: where one does not, its mix is predicted and the search is repeated.

    Args:
        cheapest: The question, solved for the least cost.
        keep: The configurations that it was solved over, if not all.
        known_usd: What a plan costs that is still to be had, with no more to operate than the one that is shown; where
            no such plan costs less, the answer has none.
    """
    cost_usd, asked = cheapest.solution.cost_usd_per_month, replace(cheapest.inquiry, looks_ahead=False)
    if cost_usd is None or not asked.simplifies:
        return cheapest
    return plain(_of_any_drafts(cheapest, asked, cost_usd, keep, known_usd), asked, keep)


def _of_any_drafts(
    cheapest: Answer, asked: Inquiry, cost_usd: float, keep: Sequence[Flags] | None, known_usd: float | None
) -> Answer:
    """As `simplified`, whether steps verify drafts or not.

    Args:
        cheapest: As there.
        asked: Its question.
        cost_usd: Of its plan.
        keep: As there.
        known_usd: As there.
    """
    most_usd = cost_usd * (1 + asked.scenario.policy.simplicity_percent / 100)
    if (kept := _running_on(cheapest, keep, most_usd)) is not None:
        return kept
    if asked.shown is not None:
        most_usd = allowed_usd(cheapest, asked.shown.configurations)
        return _beside(cheapest, asked, asked.shown, keep, most_usd, known_usd)
    if (simple := within_percentage(cheapest)) is not None:
        # every hour may have a plan that is as simple and costs less
        stands = is_simpler(simple, cheapest) or (simple.solution.cost_usd_per_month or 0.0) < cost_usd
        return ended_simply(in_place_of(cheapest, simple if stands else cheapest, simple.simplicity_proven), simple)
    if _as_simple_as_can_be(cheapest):
        return cheapest
    if asked.clock.expired:
        return replace(cheapest, simplicity_proven=False)
    found, proven = _simplest(cheapest, asked, keep, most_usd)
    fewer, fewest = _worth_its_usd(cheapest, asked, keep, (found or cheapest).complexity.configurations)
    best = fewer or found
    if best is None:
        return replace(cheapest, simplicity_proven=proven and fewest)
    return in_place_of(cheapest, best, fewest if fewer else proven and fewest)


def plain(answer: Answer, asked: Inquiry, keep: Sequence[Flags] | None) -> Answer:
    """The plan without drafts where one of no more configurations and places costs as little as a simpler plan may."""
    if answer.kept or answer.solution.cost_usd_per_month is None or not _drafts(answer):
        return answer
    cheapest, never = answer.cheapest or answer, [drafting(choice.configurations) for choice in asked.options]
    without = tuple(~drafts if keep is None else ~drafts & keep[n] for n, drafts in enumerate(never))
    search = partial(search_no_more, most=answer.complexity._replace(instances=ANY_NUMBER))
    found, proven = holding(asked, without, search, allowed_usd(cheapest, answer.complexity.configurations))
    if found is None:
        return replace(answer, simplicity_proven=answer.simplicity_proven and proven)
    return in_place_of(cheapest, found, answer.simplicity_proven)


def _drafts(answer: Answer) -> bool:
    """Whether steps of any replica verify drafts."""
    columns = [use.column for use in answer.used]
    return any(answer.inquiry.options[c.workload].configurations[c.configuration].draft_tokens for c in columns)


def _simplest(
    cheapest: Answer, asked: Inquiry, keep: Sequence[Flags] | None, most_usd: float
) -> tuple[Answer | None, bool]:
    """The simplest plan within a cost, if it is simpler than the cheapest; and whether none is simpler, proven.

    Where that is not proven of a week, the plan at least runs no configuration that it can do without.
    """
    weekly = asked.over_time
    own = replace(asked, clock=asked.clock.share(SHARE_OF_EVERY_CONFIGURATION)) if weekly else asked
    search = partial(
        search_simplest,
        known=cheapest.complexity,
        break_ties=not asked.any_of_equals,
        single=cheapest.single,
        least_usd_per_month=cheapest.solution.bound_usd_per_month or 0.0,
    )
    found, proven = holding(own, keep, search, most_usd)
    if found is None or found.complexity >= cheapest.complexity:
        found, proven = None, proven and found is None
    if weekly and not proven:
        found = without_make_weights(found or cheapest, asked, most_usd) or found
    return found, proven


def _worth_its_usd(
    cheapest: Answer, asked: Inquiry, keep: Sequence[Flags] | None, known: int
) -> tuple[Answer | None, bool]:
    """The cheapest plan of the fewest configurations, fewer than are known, that they make worth what it costs more.

    Of those with no more places and instances than the cheapest has; and whether none of fewer is, proven.
    """
    all_proven = True
    for count in range(least_complexity(cheapest.formulation.problem).configurations, known):
        if allowed_usd(cheapest, count) <= allowed_usd(cheapest, cheapest.complexity.configurations):
            # none is within the percentage, and so few are worth no more
            continue
        search = partial(search_no_more, most=cheapest.complexity._replace(configurations=count))
        found, proven = holding(asked, keep, search, allowed_usd(cheapest, count))
        all_proven = all_proven and proven
        if found is not None:
            return found, all_proven
    return None, all_proven


def allowed_usd(cheapest: Answer, configurations: int) -> float:
    """What a plan of so many configurations may cost a month."""
    cost_usd, policy = cheapest.solution.cost_usd_per_month or 0.0, cheapest.inquiry.scenario.policy
    fewer = max(0, cheapest.complexity.configurations - configurations)
    by_percent = cost_usd * policy.simplicity_percent / 100
    return cost_usd + (max(by_percent, fewer * policy.simplicity_usd_per_configuration) if by_percent else 0.0)


def _beside(
    cheapest: Answer,
    asked: Inquiry,
    shown: Complexity,
    keep: Sequence[Flags] | None,
    most_usd: float,
    known_usd: float | None,
) -> Answer:
    """A plan with no more to operate than the one shown, save instances if it must be, or the cheapest.

    Nothing is asked where the cheapest is such a plan, and it is the answer where such a plan costs too much more. A
    known plan is such a one, so where it costs no more than that, one that is dearer is of no interest.
    """
    found, any_number = cheapest, max(shown.instances, cheapest.complexity.instances)
    stands = known_usd is not None and known_usd <= most_usd
    most_usd = known_usd if known_usd is not None and stands else most_usd
    for most in (shown._replace(instances=any_number), shown):
        if not no_more(found.complexity, most):
            simpler, proven = holding(asked, keep, partial(search_no_more, most=most), most_usd)
            if simpler is None and proven and stands:
                return replace(cheapest, solution=cheapest.solution.none_cheaper())
            if simpler is None:
                break
            found = simpler
    return cheapest if found is cheapest else in_place_of(cheapest, found, proven=False)


def _running_on(cheapest: Answer, keep: Sequence[Flags] | None, most_usd: float) -> Answer | None:
    """The plan that changes nothing of what runs today; None where nothing does, or it is none within the cost.

    Over a week replicas come and go outside the busiest hours: of the plans that leave those as they are the simplest.
    """
    inquiry, migration = cheapest.inquiry, cheapest.inquiry.scenario.policy.migration
    running = inquiry.running if migration is None else migration.in_force or ()
    if not running:
        return None
    asked = replace(inquiry.unchanged_from(running), looks_ahead=False, falls_back=False)
    found = asked.solved_once(keep, most_usd)
    if found.solution.cost_usd_per_month is None or found.broken():
        return None
    simple, proven = None, True
    if asked.over_time and not _as_simple_as_can_be(found):
        simple, proven = _simplest(found, asked, keep, most_usd)
    return replace(in_place_of(cheapest, simple or found, proven), kept=True)


def _as_simple_as_can_be(answer: Answer) -> bool:
    """Whether no plan has fewer configurations, places or instances."""
    return no_more(answer.complexity, least_complexity(answer.formulation.problem))


def is_simpler(answer: Answer, other: Answer) -> bool:
    """Whether there is less to operate; of instances only where no workload more stands on a single one."""
    own, theirs = answer.complexity, other.complexity
    return own < theirs and (answer.single <= other.single or own[:2] < theirs[:2])


def no_more(own: Complexity, most: Complexity) -> bool:
    """Whether there is no more to operate, of anything."""
    return all(each <= allowed for each, allowed in zip(own, most, strict=True))


def in_place_of(cheapest: Answer, found: Answer, proven: bool) -> Answer:
    """A simpler plan, with what was proven of the cheapest, which it may be itself; or it costs less than the cheapest
    that was found, where that was not proven, and is nearer to the bound."""
    of_cheapest, own = cheapest.solution, found.solution
    usd, least_usd = own.cost_usd_per_month or 0.0, of_cheapest.cost_usd_per_month or 0.0
    bound_usd = of_cheapest.bound_usd_per_month
    dearer, cheaper = usd > least_usd * (1 + EQUAL_COST), usd < least_usd * (1 - EQUAL_COST)
    solution = replace(
        of_cheapest,
        cost_usd_per_month=own.cost_usd_per_month,
        relative_gap=(usd - bound_usd) / usd if cheaper and bound_usd is not None else of_cheapest.relative_gap,
        instances=own.instances,
        replicas=own.replicas,
        flows=own.flows,
        api_flow_per_s=own.api_flow_per_s,
        loaded=own.loaded,
        placed=own.placed,
    )
    inquiry = replace(cheapest.inquiry, options=found.inquiry.options)
    return replace(
        cheapest,
        inquiry=inquiry,
        formulation=found.formulation,
        solution=solution,
        cheapest=cheapest if dearer else None,
        simplicity_proven=proven,
    )
