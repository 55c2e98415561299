"""Why not another choice: what it would cost and why, or which requirements it fails, and the price that admits it."""

import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from pydantic import Field

from optimizer.answers.planning.entry_price import EntryPrice, entry_prices
from optimizer.answers.planning.plan_shown import PlanShown, bought
from optimizer.answers.planning.proposal import HeldProposal, held_proposal
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.until_it_holds import held_plan
from optimizer.base.clock import Clock, Limit, until_limit
from optimizer.base.errors import refuse
from optimizer.base.memory import Memory
from optimizer.base.model import Strict
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import waivable
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import CRITERIA, OFFER_CRITERIA
from optimizer.plan.explain.conflict import plan_without
from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.explain.ways_out import BROKEN, WayOut, alone, held_ways, relaxation, together, worth_telling
from optimizer.plan.grounds.cost_factors import CostFactor, cost_factors
from optimizer.plan.question.asking import as_decided
from optimizer.plan.question.batches import hours_in_words, solved_at_best_hours
from optimizer.plan.question.forcing import MENDABLE, OF_CONFIGURATIONS, OF_OFFERS, Choice, forced, offers_of, unknown
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import Relaxation
from optimizer.plan.record.fields import Figure, Outcome, Usd, difference_of_cents
from optimizer.plan.record.fleet import Deployment, PlannedFleet
from optimizer.plan.variants.shortfalls import Shortfall, out_of_reach, shortfalls

SCHEMA_VERSION: Final = 1
SHARE_OF_EACH_PLAN: Final = 0.4
"""Of what is left of a limit, for the plan and for the choice's plan in turn; the rest is for what lies between."""
WHY_NOT_PHASES: Final = ("predicting", "solving", "comparing")
SHORTFALLS: Final = frozenset(item.requirement for item in CRITERIA.values() if not item.predicted)
"""Requirements that decide which candidates and offers there are: failing them is told as a shortfall."""
NOT_ADMITTED: Final = f"lifting what bars it: {BROKEN}"


WhyNotVerdict = Literal["chosen", "as_cheap", "cheaper", "dearer", "fails", "not_offered", "only_this", "undecided"]
"""`cheaper`: the plan that is shown costs more, for being simpler or for lack of time. `undecided`: a limit was reached
before a plan on the choice was found or ruled out."""


class WhyNot(Strict):
    """A proposed choice beside the plan."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    confidence: Figure
    choice: dict[str, str | int]
    verdict: WhyNotVerdict
    """`only_this`: the choice has a plan and the scenario as a whole was not solved in time."""
    summary: str
    optimal_outcome: Outcome = "unproven"
    """Of the scenario without the choice: `infeasible` where it is proven that nothing meets it."""
    enough: bool = False
    """Whether the search for its cheapest plan ended since a simple one is near enough, as `simplicity.enough` says."""
    optimal_monthly_cost_usd: Usd | None
    """Of the plan that is shown for the scenario, which may be a simpler one than the cheapest."""
    optimal_summary: str
    cheapest_usd: Usd | None
    """The proven optimum; less than the plan that is shown where that is simpler; null where none is proven."""
    monthly_cost_usd: Usd | None
    difference_usd: Usd | None
    """Against the plan that is shown."""
    deployments: list[Deployment]
    factors: list[CostFactor]
    notes: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    """What to know of the two plans."""
    shortfalls: list[Shortfall]
    admitted_monthly_cost_usd: Usd | None
    """What it would cost if the policies and quality floors that it fails were lifted."""
    admitted_summary: str
    relaxations: list[Relaxation]
    entries: list[EntryPrice]
    broken_ways: tuple[str, ...] = Field(default=(), exclude_if=().__eq__)
    """What would help by formulas, in words, had it a plan that keeps every promise under simulated load."""
    not_worked_out: list[str]
    """What of all this was left out because the time limit or the work limit was reached, in words."""

    @property
    def of_optimum(self) -> bool:
        """Whether the plan that is shown is the proven optimum, or it is proven that there is none."""
        return self.optimal_outcome != "unproven" and self.cheapest_usd == self.optimal_monthly_cost_usd


def why_not(
    scenario: Scenario,
    catalogs: Catalogs,
    choice: Choice,
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> WhyNot:
    """What a choice costs against the plan, or what it fails.

    Args:
        scenario: What is asked.
        catalogs: What is known.
        choice: What to force.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told the name of each phase (`WHY_NOT_PHASES`) as it begins.

    Returns:
        Both plans with what makes the difference, or what the choice fails and the ways out.

    Raises:
        InputError: the scenario or the choice names what the catalogs do not know.
    """
    refuse(check_scenario(scenario, catalogs))
    begin = progress or silent
    begin("predicting")
    clock = Clock(time_limit_s, work_limit, memory=Memory())
    inquiry = Inquiry.of(scenario, catalogs, clock.share(SHARE_OF_EACH_PLAN))
    refuse(unknown(choice, inquiry))
    begin("solving")
    answer = confirmed_answer(inquiry)
    chosen = PlanShown.of(answer, bought(answer))
    inquiry = replace(as_decided(inquiry, answer), clock=clock.share(SHARE_OF_EACH_PLAN))
    proposal = forced(inquiry, choice)
    begin("comparing")
    told = _beside(inquiry, choice, chosen, proposal, clock, answer)
    return told.model_copy(update={"optimal_outcome": answer.solution.outcome, "enough": answer.enough})


def _beside(
    inquiry: Inquiry,
    choice: Choice,
    chosen: PlanShown | None,
    proposal: Inquiry | None,
    clock: Clock,
    answer: Answer,
) -> WhyNot:
    """The choice beside the plan that is shown, or beside none."""
    if chosen is not None and _covers_all(choice, chosen.plan):
        return _already(inquiry, choice, chosen)
    if proposal is None:
        return _not_to_be_had(inquiry, choice, chosen)
    # as simple as the plan that is shown where it can be, else the cheapest: what `compare` asks of each choice
    shown = None if chosen is None else answer.complexity
    alone = solved_at_best_hours(replace(proposal, shown=shown))
    inquiry, proposal = inquiry.beside_a_plan(clock), proposal.beside_a_plan(clock, shown)
    if alone.solution.outcome == "unproven":
        return _undecided(inquiry, choice, chosen, alone.solution.ended_by)
    if bought(alone) is None:
        return _failing(inquiry, choice, chosen, proposal)
    stands = held_proposal(proposal, alone)
    if stands.broken:
        return _failing(inquiry, choice, chosen, proposal, stands.broken)
    if chosen is None:
        summary = f"{choice.words()}: ${stands.plan.monthly_cost_usd:,.2f} a month, {summarized(stands.plan)}"
        return _told(inquiry, choice, None, stands.plan, summary=summary, verdict="only_this", left_out=stands.left_out)
    return _compared(inquiry.as_simple_as(answer.complexity), choice, chosen, stands)


def _already(inquiry: Inquiry, choice: Choice, chosen: PlanShown) -> WhyNot:
    """The plan that is shown is on the choice."""
    what = f"the plan{chosen.but}:" if chosen.but else "the optimal plan,"
    text = f"{choice.words()}: ${chosen.usd:,.2f} a month: this is {what} {summarized(chosen.plan)}"
    return _told(inquiry, choice, chosen, chosen.plan, summary=text, verdict="chosen")


def _compared(as_simple: Inquiry, choice: Choice, chosen: PlanShown, stands: HeldProposal) -> WhyNot:
    """Both plans stand: the difference, what makes it, and the price that closes it.

    Args:
        as_simple: The question for plans as simple as the one that is shown.
        choice: What was proposed.
        chosen: The plan that is shown.
        stands: The plans on the choice alone.
    """
    # of plans on it the simplest, unless only a less simple one is cheaper than the plan
    proposed = stands.least if stands.least.monthly_cost_usd < chosen.usd else stands.plan
    told = partial(_told, as_simple, choice, chosen, proposed)
    difference = difference_of_cents(proposed.monthly_cost_usd, chosen.usd)
    percent = difference / chosen.usd * 100
    cost, plan = f"{choice.words()}: ${proposed.monthly_cost_usd:,.2f} a month", summarized(proposed)
    if abs(difference) <= SAME_COST:
        text = f"{cost}, as cheap as {chosen.words}: {plan}"
        return told(summary=text, verdict="as_cheap", left_out=stands.left_out)
    if difference < 0:
        text = f"{cost}, ${-difference:,.2f} ({-percent:.1f} %) less than {chosen.words}: {plan}"
        return told(summary=text, verdict="cheaper", left_out=stands.left_out)
    text = f"{cost}, +${difference:,.2f} ({percent:+.1f} %) against {chosen.words}: {plan}"
    entries, broken, limit = entry_prices(as_simple, choice, chosen.plan, stands.least)
    left_out = (*stands.left_out, *_left_out("the price at which it enters the plan", limit))
    return told(summary=text, verdict="dearer", entries=entries, broken=broken, left_out=left_out)


def _left_out(what: str, limit: Limit | None) -> list[str]:
    return [] if limit is None else [f"{what}: not worked out, the {limit} was reached"]


def _covers_all(choice: Choice, chosen: PlannedFleet) -> bool:
    forced_on = [d for d in chosen.deployments if choice.workload in (None, d.workload)]
    return not chosen.hosted and all(choice.covers(d, {*OF_OFFERS, *OF_CONFIGURATIONS}) for d in forced_on)


def _undecided(inquiry: Inquiry, choice: Choice, chosen: PlanShown | None, limit: Limit | None) -> WhyNot:
    """A limit was reached before a plan on the choice was found or ruled out."""
    summary = f"{choice.words()}: no plan on it was found in time for {inquiry.scenario.name}, and none is ruled out"
    left_out = _left_out("whether a plan on it meets the scenario", limit)
    return _told(inquiry, choice, chosen, None, summary=summary, verdict="undecided", left_out=left_out)


def _failing(
    inquiry: Inquiry, choice: Choice, chosen: PlanShown | None, proposal: Inquiry, broken: Sequence[str] = ()
) -> WhyNot:
    """No plan on the choice: what its closest candidates fail, what admitting it would cost, what else helps.

    Args:
        inquiry: The question as it is decided.
        choice: What was proposed.
        chosen: The plan that is shown; None where there is none.
        proposal: The question on the choice alone.
        broken: Fields of the promises that plans on it break under simulated load, where formulas keep all of them.
    """
    failed = shortfalls(inquiry, choice)
    liftable = {item.criterion for item in failed} & {*MENDABLE, *(criterion.name for criterion in OFFER_CRITERIA)}
    tried, ended = until_limit(_admitted(inquiry, choice, liftable))
    admitted, not_admitted = [plan for plan in tried if plan], [NOT_ADMITTED for plan in tried if not plan]
    names = [item.requirement for item in failed if item.requirement]
    found = _loosened(proposal, broken) if broken else _ways(proposal, names)
    ways, no_ways, limit = held_ways(proposal, iter(()) if liftable else found, held_plan)
    left_out = [*_left_out("what it would cost if it were let in", ended), *_left_out("further ways out", limit)]
    named = [item.requirement or item.criterion.replace("_", " ") for item in failed]
    named = named or [item.field for way in ways for item, _ in way.changes]
    unnamed = "no limit loosened alone gives it one" if limit is None else "what would give it one is not known"
    reason = f"it fails {', '.join(dict.fromkeys(named))}" if named else unnamed
    if broken:
        reason = f"every one that was found breaks {', '.join(broken)} when requests arrive one by one"
    # what is paid by its use is no part of a choice, whoever sells it
    machines = " on machines" if {"serverless", "per_second"} & set(inquiry.scenario.policy.hosting) else ""
    return _told(
        inquiry,
        choice,
        chosen,
        None,
        summary=f"{choice.words()}: no plan{machines} meets {inquiry.scenario.name}, {reason}",
        verdict="fails",
        failed=failed,
        admitted=admitted[0] if admitted else None,
        ways=[relaxation(way) for way in worth_telling(ways)],
        broken=(*not_admitted, *no_ways),
        left_out=left_out,
    )


def _admitted(inquiry: Inquiry, choice: Choice, lifted: Collection[str]) -> Iterator[PlannedFleet | None]:
    """The plan on the choice where what bars it is lifted, if that alone helps; None where it breaks a promise then."""
    admitted = forced(inquiry, choice, lifted) if lifted else None
    answer = None if admitted is None else solved_at_best_hours(admitted)
    if admitted is not None and answer is not None and answer.solution.cost_usd_per_month is not None:
        yield held_plan(admitted, answer)


def _loosened(proposal: Inquiry, broken: Sequence[str]) -> Iterator[WayOut]:
    """Each promise that plans on the choice break, loosened alone."""
    items = [item for item in waivable(proposal.scenario) if item.field.startswith(tuple(broken))]
    return (way for item in items for way in alone(proposal, item))


def _ways(proposal: Inquiry, failed: Sequence[str]) -> Iterator[WayOut]:
    """Each number of the scenario that, loosened alone, gives the choice a plan, else all that it fails at once."""
    numbers = [item for item in waivable(proposal.scenario) if item.requirement.step and item.number is not None]
    items = [item for item in numbers if item.requirement.name not in SHORTFALLS and item.written]
    found = False
    for way in (way for item in items for way in alone(proposal, item)):
        found = True
        yield way
    missed = [item for item in items if item.field.startswith(tuple(failed))]
    if not found and missed and plan_without(proposal, missed) is not None:
        yield from together(proposal, missed)


def _not_to_be_had(inquiry: Inquiry, choice: Choice, chosen: PlanShown | None) -> WhyNot:
    """No configuration on any offer of the choice: what keeps workloads from them, or what there is none of."""
    kept = out_of_reach(inquiry, choice)
    if not kept:
        return _told(inquiry, choice, chosen, None, summary=_not_offered(choice, inquiry), verdict="not_offered")
    named = ", ".join(dict.fromkeys(item.requirement for item in kept))
    summary = f"{choice.words()}: no plan meets {inquiry.scenario.name}, it fails {named}"
    return _told(inquiry, choice, chosen, None, summary=summary, verdict="fails", failed=kept)


def _not_offered(choice: Choice, inquiry: Inquiry) -> str:
    """Which part of the choice exists in no offer or configuration together with the rest."""
    if not offers_of(choice, inquiry.market).any():
        homes = [offer for offer in inquiry.market.offers if Choice(gpu=choice.gpu).covers(offer, OF_OFFERS)]
        places = ", ".join(sorted({f"{o.provider} {o.region} {o.pricing_term}" for o in homes})[:6])
        where = f"; {choice.gpu} is offered at {places}" if choice.gpu and homes else ""
        return f"{choice.words()}: no offer of the catalogs is that{where}"
    return (
        f"{choice.words()}: no configuration is that; degrees are powers of two that one instance holds, "
        "and precisions beyond the common ones are considered when policy.precisions names them"
    )


def _told(
    inquiry: Inquiry,
    choice: Choice,
    chosen: PlanShown | None,
    proposed: PlannedFleet | None,
    *,
    summary: str,
    verdict: WhyNotVerdict,
    entries: Sequence[EntryPrice] = (),
    failed: Sequence[Shortfall] = (),
    admitted: PlannedFleet | None = None,
    ways: Sequence[Relaxation] = (),
    broken: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> WhyNot:
    beside = chosen.plan.deployments if chosen and proposed and verdict != "chosen" else None
    return WhyNot(
        scenario=inquiry.scenario.name,
        confidence=inquiry.scenario.policy.confidence,
        choice=choice.given(),
        verdict=verdict,
        summary=summary,
        optimal_monthly_cost_usd=chosen.usd if chosen else None,
        optimal_summary=summarized(chosen.plan) if chosen else "",
        cheapest_usd=chosen.cheapest_usd if chosen else None,
        monthly_cost_usd=proposed.monthly_cost_usd if proposed else None,
        difference_usd=difference_of_cents(proposed.monthly_cost_usd, chosen.usd) if proposed and chosen else None,
        deployments=list(proposed.deployments) if proposed else [],
        factors=cost_factors(beside, proposed.deployments) if beside and proposed else [],
        notes=hours_in_words(inquiry.scenario) if beside else [],
        shortfalls=list(failed),
        admitted_monthly_cost_usd=admitted.monthly_cost_usd if admitted else None,
        admitted_summary=summarized(admitted) if admitted else "",
        relaxations=list(ways),
        entries=list(entries),
        broken_ways=tuple(broken),
        not_worked_out=list(left_out),
    )
