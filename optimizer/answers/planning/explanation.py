"""The explanation of an answer, put together: what binds, what else there is, how sure it is; as far as time allows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from optimizer.answers.planning.until_it_holds import held_answer, held_plan
from optimizer.base.clock import Limit, LimitReached, until_limit
from optimizer.inputs.requirements.avoided import SPEED
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.alternatives import (
    availability,
    central_prediction,
    insurance,
    next_best,
    opportunities,
    rule_of_thumb,
)
from optimizer.plan.explain.binding import deciding, requirements, with_deciding
from optimizer.plan.explain.breakpoints import limit_breakpoints, price_breakpoints
from optimizer.plan.explain.comparing import OF_FIRST_PAGE, SideQuestion, compared
from optimizer.plan.explain.levers import levers, that_matter
from optimizer.plan.explain.losses import instance_lost
from optimizer.plan.explain.marginal import marginal_values, worth_moving
from optimizer.plan.explain.simplicity import rounded_up_percent
from optimizer.plan.explain.unpublished import savings, unpublished
from optimizer.plan.explain.ways_out import ways_out
from optimizer.plan.grounds.benchmark import first_benchmark
from optimizer.plan.grounds.exposure import exposure
from optimizer.plan.grounds.filters import idle_filters, left_out_unrecorded, too_far_to_tell
from optimizer.plan.grounds.rejections import Census, nearest_misses
from optimizer.plan.grounds.scope import narrow
from optimizer.plan.grounds.track_record import track_record
from optimizer.plan.grounds.warnings import MANY_INSTANCES, warnings
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import Alternative, Explanation
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import Simplicity
from optimizer.plan.variants.by_api import by_api

SHARE_OF_AVAILABILITY = 0.15
"""Of the time for comparisons, for a plan that survives a lost instance and runs what this one does not: it may take
long to prove."""


def explained(
    answer: Answer,
    beside: Inquiry,
    bought: PlannedFleet,
    counts: Census,
    simplicity: Simplicity,
    *,
    first_page: bool = False,
) -> Explanation:
    """A plan beside others, without its variations.

    Args:
        answer: The question, solved.
        beside: The same question for what is solved next to the plan, on a clock of its own.
        bought: The plan.
        counts: What was evaluated and rejected.
        simplicity: Of the plan.
        first_page: Whether only what that page tells is asked beside the plan.
    """
    inquiry = beside.for_comparison()
    scenario, catalogs, few = inquiry.scenario, inquiry.catalogs, narrowed(inquiry)
    found = _asked_beside(inquiry, few, bought, first_page=first_page)
    measured = requirements(scenario, catalogs, bought)
    undecided = iter(()) if first_page else deciding(few, bought, measured, found.promises)
    fields, limit = until_limit(undecided)
    limits = with_deciding(measured, fields)
    week = None if _proven(answer) else answer.formulation.periods
    return Explanation(
        summary=_summary(answer, bought, simplicity),
        binding=[item for item in limits if item.binding],
        requirements=limits,
        alternatives=sorted(_within(scenario, _in_time(found.next_best)), key=_cheapest_first),
        opportunities=_in_time(found.offered),
        also_priced=tuple(_in_time(found.also_priced)),
        baselines=_within(scenario, _in_time(found.rules)),
        rejected=counts.rejected,
        nearest_misses=[],
        conflict=[],
        relaxations=[],
        only_bounded=[item for item in found.opportunities if item.at_least_usd is not None],
        marginal_values=[],
        breakpoints=[],
        exposure=None,
        benchmark=first_benchmark(scenario, catalogs, bought),
        track_record=track_record(scenario, catalogs),
        instance_lost=instance_lost(scenario, bought),
        warnings=[
            *idle_filters(scenario, inquiry.market),
            *warnings(scenario, catalogs, bought, week, found.next_best),
            *too_far_to_tell(scenario, inquiry.market),
            *left_out_unrecorded(scenario, inquiry.market),
            *savings(found.unpublished),
        ],
        not_worked_out=[*_stopped("which other limits bind", limit), *found.not_compared],
    )


@dataclass(frozen=True)
class _Beside:
    """Plans beside the chosen one, by what is asked of them."""

    promises: Mapping[str, Alternative]
    """What the plan costs without each promise that insures it, by field."""
    next_best: Sequence[Alternative]
    opportunities: Sequence[Alternative]
    """What else could be had, and the plan by the central prediction."""
    unpublished: Sequence[Alternative]
    """What it would be worth if the catalogs said more."""
    rules: Sequence[Alternative]
    """Of thumb."""
    also_priced: Sequence[Alternative]

    @property
    def offered(self) -> list[Alternative]:
        """What might be chosen instead if something asked for, or known, were otherwise."""
        return [*self.promises.values(), *self.opportunities, *self.unpublished]

    @property
    def not_compared(self) -> list[str]:
        """Sentences on what time was too short for."""
        each = (*self.next_best, *self.offered, *self.also_priced, *self.rules)
        return [item.text for item in each if item.outcome == "unproven"]


def _asked_beside(inquiry: Inquiry, few: Inquiry, bought: PlannedFleet, *, first_page: bool) -> _Beside:
    """What else there is, all asked in one turn, so that nothing is tried again before all has been asked; `few` is the
    question of the fewer configurations that a comparison needs.
    """
    insured = {field: each for field, each in insurance(inquiry).items() if _is_told(each, first_page)}
    budget_usd = inquiry.scenario.policy.max_monthly_usd
    unbudgeted = few if budget_usd is None else few.under_policy(max_monthly_usd=None)
    also_priced = list(by_api(inquiry, bought))
    within = few.clock.share(SHARE_OF_AVAILABILITY)
    also_priced += availability(replace(unbudgeted, close_enough=True), within, bought, held_answer)
    groups = (
        insured.values(),
        next_best(unbudgeted, bought),
        (*opportunities(inquiry), *central_prediction(few)),
        unpublished(inquiry),
        rule_of_thumb(unbudgeted),
    )
    untold_kinds = _behind(also_priced, bought) if first_page else frozenset()
    told = ([each for each in group if _is_told(each, first_page, untold_kinds)] for group in groups)
    without, others, more, untold, rules = compared(bought, held_answer, *told)
    return _Beside(dict(zip(insured, without, strict=True)), others, more, untold, rules, also_priced)


def _is_told(question: SideQuestion, first_page: bool, untold: Collection[str] = ()) -> bool:
    """Whether whoever reads the answer is told of it."""
    return not first_page or (question.kind in OF_FIRST_PAGE and question.kind not in untold)


def _behind(also: Sequence[Alternative], bought: PlannedFleet) -> frozenset[str]:
    """What a first page has no line for: another provider where it says what surviving an instance costs.

    Of many instances it says what they cost elsewhere all the same.
    """
    safer = any(item.kind == "availability" and (item.difference_usd or 0) > 0 for item in also)
    many = any(purchase.instances >= MANY_INSTANCES for purchase in bought.purchases)
    return frozenset({"provider"}) if safer and not many else frozenset()


def _in_time(found: Sequence[Alternative]) -> list[Alternative]:
    return [item for item in found if item.outcome != "unproven"]


def _cheapest_first(item: Alternative) -> tuple[bool, Decimal | None]:
    return item.monthly_cost_usd is None, item.monthly_cost_usd


def _within(scenario: Scenario, found: Sequence[Alternative]) -> list[Alternative]:
    """The same plans; of those that cost more than the budget it is said."""
    budget = scenario.policy.max_monthly_usd
    return [
        item.model_copy(update={"change": f"{item.change}, over the budget", "text": f"{item.text}; over the budget"})
        if budget is not None and item.monthly_cost_usd is not None and item.monthly_cost_usd > budget
        else item
        for item in found
    ]


def _stopped(what: str, limit: Limit | None) -> list[str]:
    return [] if limit is None else [f"{what}: not worked out, the {limit} was reached"]


def with_variations(
    explanation: Explanation, answer: Answer, beside: Inquiry, bought: PlannedFleet, *, thorough: bool
) -> Explanation:
    """With what a step of a limit costs, how far it may go and what all rests on; less where nobody would wait."""
    if beside.for_comparison().close_enough and not thorough:
        return explanation
    limits, few = explanation.requirements, narrowed(beside)
    every = that_matter(levers(beside.scenario, beside.options, bought.deployments), bought)
    moved = every if thorough else worth_moving(every, limits)
    values, steps_stopped = until_limit(marginal_values(few, bought, limits, moved))
    # what saves is told of the plans that are no more complicated, of which this one is the cheapest
    as_simple = few.as_simple_as(answer.complexity)
    how_far = limit_breakpoints(few, as_simple, bought, every, held_answer) if thorough else iter(())
    points, moves_stopped = until_limit(how_far)
    prices, prices_stopped = until_limit(price_breakpoints(as_simple, bought, held_answer) if thorough else iter(()))
    rests_on, exposure_stopped = None, None
    try:
        rests_on = exposure(replace(answer, inquiry=beside), bought) if thorough else None
    except LimitReached as reached:
        exposure_stopped = reached.limit
    return explanation.model_copy(
        update={
            "marginal_values": values,
            "breakpoints": [*points, *prices],
            "exposure": rests_on,
            "not_worked_out": [
                *explanation.not_worked_out,
                *_stopped("what further steps cost", steps_stopped),
                *_stopped("how far further limits may move", moves_stopped),
                *_stopped("how far further prices may move", prices_stopped),
                *_stopped("which estimates the money hangs on", exposure_stopped),
            ],
        }
    )


def _summary(answer: Answer, bought: PlannedFleet, simplicity: Simplicity) -> str:
    machines_alone = SPEED in answer.inquiry.avoided and not bought.hosted
    drafted = any(d.speculation for d in bought.deployments) or any(c.speculation for c in bought.containers)
    measured = " on measured speeds" + (" but for drafts" if drafted else "")
    of_those = (" of the plans considered" if narrow(answer) else "") + (measured if machines_alone else "")
    what = f"${bought.monthly_cost_usd:,.2f} a month for {answer.inquiry.scenario.name}"
    return f"{what}, {_nearness(answer, bought, simplicity)}{of_those}: {summarized(bought)}."


def _nearness(answer: Answer, bought: PlannedFleet, simplicity: Simplicity) -> str:
    """How far the plan may be above the cheapest, as far as that is proven."""
    if _proven(answer):
        premium = f"at most {rounded_up_percent(simplicity.premium_percent)} % above the proven cheapest"
        return "proven optimal" if simplicity.cheapest is None else premium
    least_usd = answer.solution.bound_usd_per_month
    if not least_usd:
        return "with no proof of how far it is above the cheapest"
    above_percent = (float(bought.monthly_cost_usd) / least_usd - 1) * 100
    return f"at most {rounded_up_percent(above_percent)} % above the cheapest"


def _proven(answer: Answer) -> bool:
    return answer.solution.outcome == "optimal"


def without_plan(answer: Answer, beside: Inquiry, counts: Census) -> Explanation:
    """Why there is none: what cannot hold together and what would lead out, or that a limit was reached.

    Args:
        answer: The question, solved.
        beside: The same question for what is solved to explain it.
        counts: What was evaluated and rejected.
    """
    inquiry, proven = answer.inquiry, answer.solution.outcome == "infeasible"
    conflict, relaxations, broken, left_out = ways_out(beside, held_plan) if proven else ([], [], (), [])
    verdict = "No plan meets" if proven else "No plan was found in time for"
    verdict = "None of the plans considered meets" if proven and narrow(answer) else verdict
    kept = f"{counts.kept:,} of {counts.evaluated:,} candidates pass what is asked of each"
    way = f" Cheapest way out: {relaxations[0].text}." if relaxations else ""
    return Explanation(
        summary=f"{verdict} {inquiry.scenario.name}: {answer.solution.reason}; {kept}.{way}",
        binding=[],
        requirements=[],
        alternatives=[],
        opportunities=[],
        baselines=[],
        rejected=counts.rejected,
        nearest_misses=nearest_misses(inquiry.options, inquiry.market),
        conflict=conflict,
        relaxations=relaxations,
        broken_ways=broken,
        marginal_values=[],
        breakpoints=[],
        exposure=None,
        warnings=[
            *idle_filters(inquiry.scenario, inquiry.market),
            *left_out_unrecorded(inquiry.scenario, inquiry.market),
        ],
        not_worked_out=left_out,
    )
