"""The best plan under each choice of provider, GPU, precision, term, region or hosting, and what stops the others."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Final, get_args

from optimizer.answers.compare.basis import assumptions, rounding, sources_of
from optimizer.answers.compare.hosting import hosting_facts, hostings
from optimizer.answers.compare.rows import Ruler, row, row_without_plan
from optimizer.answers.compare.types import Compared, Comparison, HostingFacts
from optimizer.answers.planning.plan_shown import PlanShown
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.answers.planning.verified_plan import verified_plan
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.errors import Finding, InputError, did_you_mean, refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.comparing import NONE_HOLDS
from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.question.asking import as_decided
from optimizer.plan.question.batches import hours_in_words, solved_at_best_hours
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fields import Outcome, cents
from optimizer.plan.variants.choices import Dimension, Stop, Tried, choices_of, mixes_of, tried, value_of

HOSTING: Final = "hosting"
COMPARABLE: Final = (*get_args(Dimension), HOSTING)
SHARE_OF_PLAN: Final = 0.3
"""Of what is left of a limit, for the unrestricted plan; the rest is for the choices, in equal shares."""
COMPARE_PHASES: Final = ("predicting", "solving", "comparing")
HOSTED: Final = {"request": "hosted API", "second": "containers by the second"}


def compare(
    scenario: Scenario,
    catalogs: Catalogs,
    by: str,
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """The best plan under each choice along one dimension, at the same service levels, ranked by monthly cost.

    Args:
        scenario: What is asked.
        catalogs: What is known.
        by: One of COMPARABLE.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told the name of each phase (`COMPARE_PHASES`) as it begins.

    Returns:
        A row for each choice, ranked, with what stops those that do not comply.

    Raises:
        InputError: the scenario names what the catalogs do not know, or there is no such dimension.
        VerificationFailed: a plan did not survive independent arithmetic.
    """
    if by not in COMPARABLE:
        hint = did_you_mean(by, COMPARABLE) or f"one of {', '.join(COMPARABLE)}"
        raise InputError([Finding("compare", 0, "--by", f"'{by}' cannot be compared by", hint)])
    refuse(check_scenario(scenario, catalogs))
    begin = progress or silent
    begin("predicting")
    clock = Clock(time_limit_s, work_limit, memory=Memory())
    inquiry = Inquiry.of(scenario, catalogs, clock)
    begin("solving")
    answer = confirmed_answer(replace(inquiry, clock=clock.share(SHARE_OF_PLAN)))
    inquiry = as_decided(inquiry, answer)
    begin("comparing")
    ruler = Ruler.of(inquiry, verified_plan(answer))
    if by == HOSTING:
        found = hostings(replace(inquiry, clock=clock), answer, ruler.chosen)
        rows = [_row(ruler, each) for each in found.by_way.values()]
        return _comparison(ruler, answer, by, rows, hosting_facts(found))
    dimension: Dimension = next(name for name in get_args(Dimension) if name == by)
    return _comparison(ruler, answer, by, _rows(ruler, answer, dimension, clock), None)


def _rows(ruler: Ruler, answer: Answer, by: Dimension, clock: Clock) -> list[Compared]:
    """The unrestricted plan under what it is made of, then every other choice solved alone."""
    whole, chosen = answer.inquiry, ruler.chosen
    shown = answer.complexity if chosen else None
    compared = replace(whole, clock=clock, shown=shown, close_enough=_takes_long(whole))
    few = narrowed(compared)
    used = [] if chosen is None else sorted({value_of(by, d) for d in chosen.deployments})
    names = [*used, *sorted({HOSTED[item.paid_by] for item in chosen.hosted} if chosen else ())]
    rows = [row(ruler, " + ".join(names), answer, chosen)] if chosen else []
    others = {name: choice for name, choice in choices_of(by, whole).items() if names != [name]}
    if by == "provider" and len(used) > 1:
        others |= mixes_of(used, whole)
    found = []
    for number, (name, choice) in enumerate(others.items()):
        # what is left in equal shares for the choices still to be tried
        in_turn = clock.share(1 / (len(others) - number))
        found.append(tried(replace(few, clock=in_turn), replace(compared, clock=in_turn), name, choice))
    waiting = sum(each.answer is not None for each in found)
    for each in found:
        rows.append(_row(ruler, _that_holds(each, clock.share(1 / max(waiting, 1)))))
        waiting -= each.answer is not None
    return rows


def _that_holds(found: Tried, clock: Clock) -> Tried:
    """The choice with a plan that holds when requests arrive one by one, as the plan does that it is set beside."""
    if found.answer is None or found.answer.solution.cost_usd_per_month is None:
        return found
    asked = found.answer.inquiry.beside_a_plan(clock, found.answer.inquiry.shown)
    try:
        answer = held_answer(asked, found.answer, solved_at_best_hours)
    except LimitReached as reached:
        return Tried(found.name, None, limit=reached.limit)
    return replace(found, answer=answer) if answer else Tried(found.name, None, (Stop("", NONE_HOLDS),))


def _takes_long(inquiry: Inquiry) -> bool:
    """Whether proof of dozens of plans takes minutes: demand over time, or losses to survive."""
    return inquiry.for_comparison().close_enough or bool(inquiry.scenario.policy.losses)


def _row(ruler: Ruler, found: Tried) -> Compared:
    if found.answer is None:
        return row_without_plan(found.name, found.stops, found.limit)
    return row(ruler, found.name, found.answer, read_back(found.answer), found.stops)


def _comparison(
    ruler: Ruler, answer: Answer, by: str, rows: Sequence[Compared], hosting: HostingFacts | None
) -> Comparison:
    """The whole answer; of the rows the first is the unrestricted plan, if there is one."""
    ranked = _ranked(rows, rows[0] if ruler.chosen else None, admitted_first=by != HOSTING)
    but = _not_the_cheapest(PlanShown.of(answer, ruler.chosen), ranked)
    scenario, catalogs, week = ruler.inquiry.scenario, ruler.inquiry.catalogs, answer.formulation.periods
    return Comparison(
        scenario=scenario.name,
        by=by,
        outcome=answer.solution.outcome,
        enough=answer.enough,
        summary=_summary(scenario.name, by, ranked, answer.solution.outcome, but),
        notes=[*([f"the first row is the plan{but}: others may cost less"] if but else ()), *hours_in_words(scenario)],
        catalog_as_of=catalogs.as_of,
        confidence=scenario.policy.confidence,
        requests_per_month=float(ruler.volume.requests),
        demand_rounding=rounding(week),
        choices=ranked,
        hosting=hosting,
        assumptions=assumptions(scenario, catalogs, week),
        sources=sources_of(catalogs, (line.price_source for each in ranked for line in each.lines)),
    )


def _ranked(rows: Sequence[Compared], plan: Compared | None, *, admitted_first: bool) -> list[Compared]:
    """By verdict, then by cost, those that are admitted first among equals; the plan before all that comply.

    A row may cost less than the plan, which is shown for being simpler or was not proven the cheapest in time. Ways to
    host stand by cost whether admitted or not: to build or to buy is what is asked.
    """
    order = {"complies": 0, "not_admitted": 1 if admitted_first else 0, "fails": 2, "not_compared": 3}
    costs = [row.monthly_cost_usd for row in rows if row.verdict == "complies" and row.monthly_cost_usd is not None]

    def place(row: Compared) -> tuple[int, Decimal, bool, bool]:
        usd = min(costs) if row is plan else row.monthly_cost_usd or Decimal(0)
        return order[row.verdict], cents(usd), row.verdict == "not_admitted", row is not plan

    ranks = count(1)
    by_place = sorted(rows, key=place)
    return [each.model_copy(update={"rank": next(ranks)}) if each.verdict == "complies" else each for each in by_place]


def _not_the_cheapest(shown: PlanShown | None, rows: Sequence[Compared]) -> str:
    """Why the plan may not be the cheapest row, as far as is known; empty where it is."""
    if shown is None:
        return ""
    costs = [row.monthly_cost_usd for row in rows if row.verdict == "complies" and row.monthly_cost_usd is not None]
    return shown.but if shown.cheapest_usd is not None or min(costs) < shown.usd - SAME_COST else ""


def _summary(scenario: str, by: str, rows: list[Compared], outcome: Outcome, but: str = "") -> str:
    what = by.replace("_", " ")
    complying = [each for each in rows if each.verdict == "complies"]
    if not complying and outcome != "infeasible":
        return f"No plan was found in time for {scenario} by {what}."
    if not complying:
        return f"No {what} serves {scenario} under its policy."
    first, others = complying[0], complying[1:]
    barred_first = "" if rows[0] is first else _cheaper_if_admitted(rows[0])
    cheapest = f"the plan is {first.choice}" if but else f"{first.choice} is cheapest"
    text = f"{barred_first}{scenario} by {what}: {cheapest} at ${first.monthly_cost_usd:,.2f} a month{but}"
    if others:
        text += f"; next {others[0].choice} at ${others[0].monthly_cost_usd:,.2f}"
    if len(others) > 1:
        text += f", dearest of {len(complying)} {others[-1].choice} at ${others[-1].monthly_cost_usd:,.2f}"
    failing = sum(each.verdict == "fails" for each in rows)
    uncompared = sum(each.verdict == "not_compared" for each in rows)
    barred = len(rows) - len(complying) - failing - uncompared
    left_out = [f"{barred} not admitted by the policy"] if barred else []
    left_out += [f"{failing} cannot comply"] if failing else []
    left_out += [f"{uncompared} not compared for lack of time"] if uncompared else []
    return f"{text}{'; ' if left_out else ''}{', '.join(left_out)}."


def _cheaper_if_admitted(row: Compared) -> str:
    """What stands before all that complies because it costs less."""
    fields = " and ".join(dict.fromkeys(item.requirement for item in row.stopped_by if item.requirement))
    return f"{row.choice} would be cheapest at ${row.monthly_cost_usd:,.2f} a month, were it admitted ({fields}). "
