"""Whatever a scenario asks is seen everywhere: it costs, is measured, moved, in a conflict and on a way out."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from support.asking import ASKING, few_offers

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import stated_requirements, waivable
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.binding import requirements
from optimizer.plan.explain.conflict import conflicts_of
from optimizer.plan.explain.levers import levers
from optimizer.plan.explain.ways_out import alone
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.readback import read_back

pytestmark = pytest.mark.together("path")

Solve = Callable[[str, bool], Answer]
HEAVY = ("policy.elastic.minimum_billing_hours",)
"""Takes a minute to prove a conflict; the budget that it breaks has a test of its own."""


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


@pytest.fixture(scope="module")
def solve(few: Catalogs) -> Solve:
    """The answer to a field's scenario without it (False) or with it (True)."""

    @cache
    def answer(path: str, asks: bool) -> Answer:
        return solved_for_least_cost(Inquiry.of(scenario_of(path, asks), few))

    return answer


def scenario_of(path: str, asks: bool) -> Scenario:
    return ASKING[path].asking() if asks else ASKING[path].without()


def of_schema(field: str) -> str:
    """A scenario's path as the schema has it; statistics and members of lists belong to their field."""
    bare = re.sub(r"\[[^\]]*\]", "[]", field)
    return max((path for path in ASKING if bare.startswith(path.removesuffix("[]"))), key=len, default=bare)


def rented(catalogs: Catalogs, *answers: Answer) -> Catalogs:
    """The catalogs with nothing for sale but what the plans rent, so that each costs what it did."""
    planned = [read_back(answer) for answer in answers if answer.solution.outcome != "infeasible"]
    wanted = {purchase.offer for plan in planned for purchase in plan.purchases}
    return replace(catalogs, offers=tuple(offer for offer in catalogs.offers if offer.id in wanted))


def cost(answer: Answer) -> float:
    found = answer.solution.cost_usd_per_month
    return float("inf") if found is None else found


@pytest.mark.parametrize("path", ASKING)
def test_it_is_seen_when_it_is_asked_and_makes_a_difference(path: str, solve: Solve) -> None:
    asked = {of_schema(item.field): item.value for item in stated_requirements(scenario_of(path, True))}
    before = {of_schema(item.field): item.value for item in stated_requirements(scenario_of(path, False))}
    assert path in asked
    assert asked[path] != before.get(path)
    assert cost(solve(path, True)) > cost(solve(path, False)) * (1 + 1e-6)


@pytest.mark.parametrize("path", [path for path, edit in ASKING.items() if edit.explained])
def test_the_plan_measures_it_and_slack_is_never_negative(path: str, solve: Solve, few: Catalogs) -> None:
    answer = solve(path, True)
    if answer.solution.outcome == "infeasible":
        return
    measured = requirements(answer.inquiry.scenario, few, read_back(answer))
    assert path in {of_schema(item.requirement) for item in measured}
    assert all(item.slack >= -1e-6 * max(1.0, abs(item.limit)) for item in measured)


@pytest.mark.parametrize("path", [path for path, edit in ASKING.items() if edit.lever])
def test_a_lever_moves_it_to_both_sides_where_there_is_room(path: str, solve: Solve) -> None:
    answer = solve(path, True)
    chosen = () if answer.solution.outcome == "infeasible" else read_back(answer).deployments
    moved = levers(answer.inquiry.scenario, answer.inquiry.options, chosen)
    found = [lever for lever in moved if of_schema(lever.field) == path or of_schema(lever.field).startswith(path)]
    assert found
    for lever in found:
        assert lever.steps
        tighter = 1 if lever.requirement.sense == "at_least" else -1
        assert (lever.steps.get("tighter", lever.value) - lever.value) * tighter >= 0
        assert (lever.steps.get("looser", lever.value) - lever.value) * tighter <= 0


@pytest.mark.slow("proves a conflict for each requirement")
@pytest.mark.parametrize("path", [path for path in ASKING if path not in ("workloads[].demand", *HEAVY)])
def test_under_a_budget_between_it_stands_in_the_conflict_or_on_a_way_out(
    path: str, solve: Solve, few: Catalogs
) -> None:
    """The budget allows the plan without it and no plan with it, so dropping it is a way out and both conflict."""
    dear, cheap = cost(solve(path, True)), cost(solve(path, False))
    budget = round((dear + cheap) / 2 if dear < float("inf") else 2 * cheap, 2)
    scenario = ASKING[path].asking(max_monthly_usd=ASKING[path].rule.get("max_monthly_usd", budget))
    inquiry = replace(Inquiry.of(scenario, rented(few, solve(path, True), solve(path, False))), simplifies=False)
    assert solved_for_least_cost(inquiry).solution.outcome == "infeasible"
    blamed = {of_schema(item.field) for conflict in conflicts_of(inquiry) for item in conflict}
    # the ways of all others are looked at in their own turn
    own = [item for item in waivable(scenario) if of_schema(item.field) == path]
    ways = [way for item in own for way in alone(inquiry, item)]
    assert path in blamed or ways or path == "workloads[].requests_per_second"
    written = {of_schema(item.field) for item in stated_requirements(scenario) if item.written}
    assert path in blamed or path not in written or path == "workloads[].requests_per_second"
