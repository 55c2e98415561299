"""A batch with a deadline is worked on in the hours that cost least, whole, and in no others."""

from itertools import product
from math import prod
from typing import Any

import pytest
from support.asking import CHAT, few_offers
from support.scenarios import shown as shown_plan
from support.scenarios import with_policy

from optimizer.answers.compare.compare import compare
from optimizer.answers.planning.frontier import frontier
from optimizer.answers.planning.optimize import optimize
from optimizer.answers.planning.why_not import why_not
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.restating import restated, worked_on_in
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.levers import levers
from optimizer.plan.grounds.scope import scope_of
from optimizer.plan.question import batches
from optimizer.plan.question.batches import at_best_hours, solved_at_best_hours
from optimizer.plan.question.forcing import Choice
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved, solved_for_least_cost
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.report import PlanReport
from optimizer.plan.variants.frontier import Sweep
from optimizer.plan.verify.verify import verify
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer

DUE = {"requests": 150_000, "start": "23:00", "by": "04:00"}
ELASTIC = {"elastic": {"start_up_minutes": 0}}


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


def batch(**due: Any) -> Scenario:
    own = CHAT | {"requests_per_second": None, "slo": {}, "deadline": DUE | due}
    return restated(Scenario.model_validate({"name": "batch", "workloads": [own], "policy": ELASTIC}))


@pytest.fixture(scope="module")
def shown(few: Catalogs) -> PlanReport:
    """The plan of a batch as it stands."""
    return optimize(batch(), few)


def test_what_is_proven_of_a_batch_says_what_was_avoided(shown: PlanReport) -> None:
    """A budget of a dollar less found a cheaper plan than the proven optimum, on speeds that nobody measured."""
    assert shown.bound_of == "the plans considered"
    assert "machines whose speed nobody measured" in shown.scope.statement
    assert shown.scope.statement.endswith(f"; {shown.scope.not_considered[-1]}")
    lines = " ".join(answer_text(plan_answer(shown, verbose=True)).split())
    assert "machines whose speed nobody measured" in lines


def cost(inquiry: Inquiry) -> float:
    found = solved_for_least_cost(inquiry).solution.cost_usd_per_month
    return float("inf") if found is None else found


def test_no_other_number_of_hours_costs_less(few: Catalogs) -> None:
    inquiry = Inquiry.of(batch(), few)
    (workload,) = inquiry.scenario.workloads
    each = [
        cost(inquiry.changed(inquiry.scenario.model_copy(update={"workloads": (worked_on_in(workload, hours),)})))
        for hours in range(1, 6)
    ]
    best = cost(at_best_hours(inquiry))
    assert best == pytest.approx(min(each), rel=2e-3)
    assert best < each[-1], "fewer hours on full machines cost less than all five"


def test_each_point_of_a_frontier_is_worked_on_in_its_own_hours(few: Catalogs) -> None:
    """All points kept the hours of the scenario's own confidence, and were called optimal in them."""
    asked = batch(requests=205_000)
    # where in between the plan changes is not looked for any more
    found = frontier(asked, few, [Sweep("confidence", 0.5, 0.95, 2)], work_limit=5_000)
    for point in found.points:
        alone = with_policy(asked, confidence=point.values["confidence"])
        assert float(point.monthly_cost_usd or 0) == pytest.approx(cost(at_best_hours(Inquiry.of(alone, few))))
    assert len({point.monthly_cost_usd for point in found.points}) == 2


def test_the_rate_of_a_batch_is_not_swept(few: Catalogs) -> None:
    with pytest.raises(InputError, match="the rate of chat follows from its deadline"):
        frontier(batch(), few, [Sweep("requests_per_second", 1, 10, 3)])


def test_ways_out_and_steps_are_told_in_the_hours_that_are_best_for_them(
    few: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They kept the hours of the scenario as it stands: a budget was told far too high."""
    # steps of one field show it; those of all others, and how far limits and prices may move, take ten times as long
    explained = "optimizer.answers.planning.explanation"
    monkeypatch.setattr(
        f"{explained}.levers",
        lambda *asked: tuple(lever for lever in levers(*asked) if lever.field == "policy.confidence"),
    )
    for further in ("limit_breakpoints", "price_breakpoints"):
        monkeypatch.setattr(f"{explained}.{further}", lambda *_: iter(()))
    asked = with_policy(batch(requests=132_000, by="02:00"), simplicity_percent=0)
    plan = optimize(asked, few, thorough=True)
    least = plan.monthly_cost_usd
    assert least is not None
    told = optimize(with_policy(asked, max_monthly_usd=float(least) - 1), few).explanation
    budgets = [each for each in told.relaxations if [c.field for c in each.changes] == ["policy.max_monthly_usd"]]
    assert [each.monthly_cost_usd for each in budgets] == [least]
    moved = [each for each in plan.explanation.marginal_values if each.field == "policy.confidence"]
    assert len(moved) == 2
    for step in moved:
        alone = shown_plan(with_policy(asked, confidence=step.to), few).bought.monthly_cost_usd
        assert step.monthly_cost_usd == alone
        assert step.same_plan == (alone == least)


def test_other_hours_stand_where_that_is_simpler_for_little_more(few: Catalogs) -> None:
    """One card for four hours instead of two for one; the cheapest hours stay what bounds it."""
    asked = Inquiry.of(with_policy(batch(), simplicity_usd_per_configuration=300), few)
    cheapest, simpler = solved(at_best_hours(asked)), solved_at_best_hours(asked)
    assert simpler.cheapest is not None
    assert simpler.complexity < cheapest.complexity
    least = simpler.cheapest.solution.cost_usd_per_month
    assert least == (cheapest.cheapest or cheapest).solution.cost_usd_per_month
    assert simpler.solution.bound_usd_per_month == pytest.approx(least)
    done = simpler.inquiry.scenario
    assert done.workloads[0].stated_as != cheapest.inquiry.scenario.workloads[0].stated_as
    assert verify(done, few, read_back(simpler)).passed
    bare = asked.changed(with_policy(asked.scenario, simplicity_percent=0))
    assert solved_at_best_hours(bare).solution.cost_usd_per_month == pytest.approx(least)


def test_another_choice_is_asked_in_one_way_and_its_hours_are_told(few: Catalogs) -> None:
    """Beside a plan of one card it took more hours for fewer cards than `compare` did, and its factors did not multiply
    to the difference."""
    asked = batch(requests=600_000)
    told = why_not(asked, few, Choice(gpu="l4"))
    rows = {row.choice: row for row in compare(asked, few, by="gpu").choices}
    assert told.monthly_cost_usd is not None
    assert told.monthly_cost_usd == rows["l4"].monthly_cost_usd
    ratio = float(told.monthly_cost_usd / (told.optimal_monthly_cost_usd or 0))
    assert prod(each.cost_factor for each in told.factors if each.cost_factor) == pytest.approx(ratio, rel=1e-4)
    price = next(each for each in told.factors if each.what == "price of a GPU-hour")
    assert price.proposed == pytest.approx(float(told.deployments[0].price_usd_per_hour))
    assert told.notes == ["each plan works on chat in the hours in which that costs least"]


def two_batches() -> Scenario:
    """Each alone is best in all of its hours as long as the other is, and both in one."""
    own = [
        CHAT
        | {"name": name, "requests_per_second": None, "slo": {}, "input_tokens": 1500, "output_tokens": 300}
        | {"deadline": {"requests": 610_000, "start": "22:00", "by": "00:00"}}
        for name in ("one", "two")
    ]
    only = {"gpus": {"allow": ["h200-sxm"]}, "providers": {"allow": ["aws"]}, "engines": ["vllm"]}
    policy = only | {"simplicity_percent": 0}
    return restated(Scenario.model_validate({"name": "two", "workloads": own, "policy": policy}))


def test_batches_are_given_their_hours_together(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    inquiry = Inquiry.of(two_batches(), catalogs)
    one, two = inquiry.scenario.workloads
    each = {
        hours: cost(
            inquiry.changed(
                inquiry.scenario.model_copy(
                    update={"workloads": (worked_on_in(one, hours[0]), worked_on_in(two, hours[1]))}
                )
            )
        )
        for hours in product((1, 2), repeat=2)
    }
    assert each[1, 1] < each[2, 2] <= min(each[1, 2], each[2, 1]), "no step of one batch alone leads there"
    found = solved_at_best_hours(inquiry)
    assert found.solution.cost_usd_per_month == pytest.approx(each[1, 1])
    assert found.solution.outcome == "optimal"
    assert "not tried" not in scope_of(found).statement
    # of too many ways one batch after the other has its turn, and that is said
    monkeypatch.setattr(batches, "MOST_TRIED", 3)
    by_turns = solved_at_best_hours(inquiry)
    assert by_turns.solution.cost_usd_per_month == pytest.approx(each[2, 2])
    assert "or in numbers of hours that were not tried" in scope_of(by_turns).statement


@pytest.mark.parametrize("work_limit", [1, 100, 300, 1_000, 3_000])
def test_what_a_limit_leaves_is_never_called_proven(few: Catalogs, shown: PlanReport, work_limit: int) -> None:
    """The bound is one of all hours, those that there was no time for included."""
    least = shown.cheapest_usd
    found = optimize(batch(), few, work_limit=work_limit)
    assert least is not None
    assert found.cheapest_usd is not None
    assert found.bound_usd is None or found.bound_usd <= least
    assert (found.outcome == "optimal") <= (found.cheapest_usd == least)


def test_a_choice_is_compared_in_the_hours_that_suit_it(catalogs: Catalogs) -> None:
    """One L40S for some hours costs less than as many as the hours of another card take."""
    due = {"requests": 60_000, "start": "22:00", "by": "06:00"}
    own = CHAT | {"requests_per_second": None, "slo": {}, "input_tokens": 1500, "output_tokens": 300, "deadline": due}
    both = {"gpus": {"allow": ["l40s", "h100-sxm"]}, "engines": ["vllm"]}
    asked = restated(Scenario.model_validate({"name": "night", "workloads": [own], "policy": both}))
    alone = shown_plan(with_policy(asked, gpus={"allow": ["l40s"]}), catalogs).bought.monthly_cost_usd
    (row,) = [item for item in compare(asked, catalogs, "gpu").choices if item.choice == "l40s"]
    assert row.monthly_cost_usd == alone
    assert why_not(asked, catalogs, Choice(gpu="l40s")).monthly_cost_usd == alone


def test_a_plan_says_in_which_hours_and_is_held_to_the_whole_batch(few: Catalogs, shown: PlanReport) -> None:
    assert shown.verification.passed
    assert " of 5 hours" in shown.asked[0]
    assert any("batches of chat" in text for text in shown.scope.not_considered)
    answer = solved(at_best_hours(Inquiry.of(batch(), few)))
    bought, done = read_back(answer), answer.inquiry.scenario
    assert verify(done, few, bought).passed
    larger = Scenario.model_validate(
        done.model_dump() | {"workloads": [done.workloads[0].model_dump() | {"deadline": DUE | {"requests": 200_000}}]}
    )
    assert [check.name for check in verify(larger, few, bought).checks if not check.passed] == ["batches"]


def test_where_nothing_is_due_nothing_is_tried(few: Catalogs) -> None:
    inquiry = Inquiry.of(Scenario.model_validate({"name": "chat", "workloads": [CHAT]}), few)
    assert at_best_hours(inquiry) is inquiry
