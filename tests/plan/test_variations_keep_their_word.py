"""What a step costs and where the plan changes, solved again from scratch: marginal values and breakpoints."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from support.scenarios import monthly_cost

from optimizer import optimize
from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.base.clock import Clock, LimitReached
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain import comparing
from optimizer.plan.explain.alternatives import availability, next_best
from optimizer.plan.explain.breakpoints import DOUBTED, limit_breakpoints, price_breakpoints
from optimizer.plan.explain.comparing import Asking, SideQuestion, compared, told
from optimizer.plan.explain.levers import is_demand, levers
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import restricted
from optimizer.plan.question.solving import for_variations, solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.explanation import Breakpoint
from optimizer.plan.record.report import PlanReport

SCENARIO: dict[str, Any] = {
    "name": "varied",
    "workloads": [
        {
            "name": "chat.v2",
            "model": "llama-3.1-8b",
            "requests_per_second": 10,
            "input_tokens": 900,
            "output_tokens": 200,
            "slo": {"ttft_ms": 700, "tpot_ms": 40},
            "min_quality": 0.99,
        }
    ],
    "policy": {
        "max_gpus": 4,
        "max_monthly_usd": 9000,
        "quotas": [{"provider": "nebius", "max_gpus": 2}],
        "unmeasured_performance": "accept",
    },
}
NEAR = Decimal("0.01")


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    return market_of("lambda", "nebius", "verda")


@pytest.fixture(scope="module")
def report(few: Catalogs) -> PlanReport:
    return optimize(Scenario.model_validate(SCENARIO), few, thorough=True)


def cost(few: Catalogs, field: str, value: float) -> Decimal | None:
    """Of the plan that is answered with, which is as simple as it may be."""
    answer = solved(Inquiry.of(with_field(Scenario.model_validate(SCENARIO), field, value), few))
    return read_back(answer).monthly_cost_usd if answer.solution.outcome == "optimal" else None


def test_every_step_costs_what_the_edited_scenario_costs(report: PlanReport, few: Catalogs) -> None:
    values = report.explanation.marginal_values
    assert {item.field for item in values} >= {
        "workloads[chat.v2].requests_per_second",
        "workloads[chat.v2].slo.ttft_ms.p95",
        "workloads[chat.v2].slo.tpot_ms.mean",
        "workloads[chat.v2].min_quality",
        "policy.max_utilization",
        "policy.max_gpus",
        "policy.quotas[nebius/*/*].max_gpus",
    }
    for item in values:
        assert cost(few, item.field, item.to) == item.monthly_cost_usd, item.text
        assert item.change_usd is None or (item.change_usd >= 0) == (item.direction == "tighter" or not item.change_usd)


def test_the_plan_holds_up_to_a_breakpoint_and_not_beyond(report: PlanReport, few: Catalogs) -> None:
    limits = [item for item in report.explanation.breakpoints if item.kind == "limit"]
    assert any(item.changes_at is not None for item in limits)
    for item in limits:
        assert cost(few, item.field, item.holds_to) == report.monthly_cost_usd, item.text
        if item.changes_at is not None:
            beyond = cost(few, item.field, item.changes_at)
            assert beyond == item.monthly_cost_usd
            assert item.direction == "tighter" or (beyond is not None and beyond < report.monthly_cost_usd)


def test_beyond_a_tighter_limit_one_more_instance_may_be_bought(few: Catalogs) -> None:
    """Of no more instances than the plan's a dearer card took over, at what the same table of steps had for less."""
    scenario = Scenario.model_validate(SCENARIO | {"policy": {"spare_replicas": 1, "gpus": {"allow": ["l4", "h100*"]}}})
    explained = optimize(scenario, few, thorough=True).explanation
    steps = {(item.field, item.to): item for item in explained.marginal_values if item.direction == "tighter"}
    (beyond,) = [
        item for item in explained.breakpoints if (item.field, item.direction) == ("policy.spare_replicas", "tighter")
    ]
    assert (beyond.field, beyond.changes_at) in steps
    assert beyond.monthly_cost_usd == steps[beyond.field, beyond.changes_at].monthly_cost_usd, beyond.text


def test_where_a_looser_limit_changes_is_told_with_the_plan_there(few: Catalogs) -> None:
    """It told what the plan costs at the end of the range: two cards all week, not the second by day alone."""
    day = {"hourly": [4] * 12 + [9] * 4 + [4] * 8, "peak_requests_per_second": 22}
    asks = {"requests_per_second": None, "demand": day, "slo": {"tpot_ms": 40}}
    weekly = SCENARIO | {"workloads": [SCENARIO["workloads"][0] | asks], "policy": {"gpus": {"allow": ["l40s"]}}}
    scenario = Scenario.model_validate(weekly)
    inquiry = for_variations(Inquiry.of(scenario, few))
    chosen = read_back(solved(inquiry))
    moved = [each for each in levers(scenario, inquiry.options, chosen.deployments) if is_demand(each.field)]
    found = [each for each in limit_breakpoints(inquiry, inquiry, chosen, moved, broken) if each.direction == "looser"]
    assert [each.field for each in found] == ["workloads[chat.v2].demand.peak_requests_per_second"]
    for each in found:
        assert each.changes_at is not None
        there = solved(inquiry.changed(with_field(scenario, each.field, each.changes_at)))
        at_end = solved(inquiry.changed(with_field(scenario, each.field, moved[0].ends["looser"])))
        assert each.monthly_cost_usd == read_back(there).monthly_cost_usd > read_back(at_end).monthly_cost_usd
        # nobody who asks for a plan at that value gets one that breaks a promise
        assert (each.plan_holds, each.text.endswith(DOUBTED)) == (False, True)


def broken(_: Inquiry, answer: Answer, again: Asking | None) -> None:
    """No plan keeps its promises."""
    assert (answer.solution.outcome, again) == ("optimal", None)


def test_a_price_breakpoint_is_where_another_plan_costs_the_same(report: PlanReport, few: Catalogs) -> None:
    prices = [item for item in report.explanation.breakpoints if item.kind == "price"]
    assert len(prices) == 2 * len(report.purchases)
    for item in prices:
        if item.changes_at is None:
            continue
        bought = next(p for p in report.purchases if p.offer == item.field)
        line = (
            report.monthly_cost_usd
            + (Decimal(str(item.changes_at)) - bought.price_usd_per_hour) * bought.instances * 730
        )
        assert abs(line - item.monthly_cost_usd) <= NEAR * abs(line)
        further = Decimal(str(item.changes_at)) + (Decimal(str(item.changes_at)) - bought.price_usd_per_hour) / 20
        moved = read_back(solved(Inquiry.of(Scenario.model_validate(SCENARIO), priced(few, item.field, further))))
        assert {(p.offer, p.instances) for p in moved.purchases} != {(p.offer, p.instances) for p in report.purchases}


def priced(catalogs: Catalogs, offer: str, price: Decimal) -> Catalogs:
    offers = (o.model_copy(update={"price_usd_per_hour": price}) if o.id == offer else o for o in catalogs.offers)
    return replace(catalogs, offers=tuple(offers))


def test_only_what_binds_and_the_demand_are_moved_unless_asked(few: Catalogs, report: PlanReport) -> None:
    brief = optimize(Scenario.model_validate(SCENARIO), few)
    assert brief.explanation.breakpoints == []
    moved = {item.field for item in brief.explanation.marginal_values}
    binding = {item.requirement for item in brief.explanation.binding}
    assert moved <= binding | {"workloads[chat.v2].requests_per_second"}
    everything = {item.text for item in report.explanation.marginal_values}
    assert {item.text for item in brief.explanation.marginal_values} <= everything


def dearer_prices(scenario: Scenario, few: Catalogs) -> list[Breakpoint]:
    inquiry = Inquiry.of(scenario, few)
    return [
        each
        for each in price_breakpoints(inquiry, read_back(solved(inquiry)), held_answer)
        if each.direction == "dearer"
    ]


def test_a_price_that_uses_up_the_budget_leaves_no_plan(market_of: Callable[..., Catalogs]) -> None:
    """Without the budget another card takes over; with it the plan ends first, since the other costs more than it."""
    few = market_of("lambda")
    scenario = Scenario.model_validate(SCENARIO | {"policy": {"gpus": {"allow": ["gh200-96", "h100-pcie"]}}})
    unlimited = dearer_prices(scenario, few)
    assert [each.outcome for each in unlimited] == ["optimal"]
    usual = read_back(solved(Inquiry.of(scenario, few))).monthly_cost_usd
    tight = with_field(scenario, "policy.max_monthly_usd", 1.1 * float(usual))
    dearer = dearer_prices(tight, few)
    assert dearer
    for each in dearer:
        assert each.outcome == "infeasible", each.text
        assert each.holds_to < unlimited[0].holds_to
        assert each.from_ < each.holds_to <= 1.1 * each.from_ + 1e-3
        assert "no plan within the budget" in each.text
        for factor, possible in ((0.999, True), (1.001, False)):
            moved = priced(few, each.field, Decimal(str(each.holds_to * factor)))
            assert (monthly_cost(tight, moved) is not None) == possible


def test_where_no_latency_is_promised_a_variation_may_stand_on_shared_gpus(market_of: Callable[..., Catalogs]) -> None:
    batch = {"name": "batch", "model": "llama-3.1-8b", "requests_per_second": 10, "slo": {}}
    policy = {"sellers": ["shared"], "unmeasured_performance": "accept"}
    workloads = [{**batch, "input_tokens": 900, "output_tokens": 200, "min_quality": 0.99}]
    asked = Scenario.model_validate({"name": "unhurried", "workloads": workloads, "policy": policy})
    other = with_field(asked, "workloads[batch].min_quality", 0.9)
    few = market_of("packet-ai")
    inquiry = Inquiry.of(asked, few)
    admitted = inquiry.changed(other).market.admitted
    assert admitted.any()
    assert admitted.tolist() == Inquiry.of(other, few).market.admitted.tolist()
    # and what was left to few offers stays with them
    assert not restricted(inquiry, ()).changed(other).market.admitted.any()


@pytest.mark.parametrize(
    "wider",
    [
        {"pricing_terms": ("on_demand", "reserved_1y", "reserved_3y", "committed")},
        {"consumer_gpus": True},
        {"price_confidence": ("listed", "derived", "seed")},
        {"max_gpus": 64, "quotas": ()},
    ],
)
def test_what_more_would_save_is_what_a_search_that_knows_no_plan_finds(few: Catalogs, wider: dict[str, Any]) -> None:
    answer = solved(Inquiry.of(Scenario.model_validate(SCENARIO), few))
    chosen, beside = read_back(answer), answer.inquiry.beside_a_plan(Clock(), answer.complexity).for_comparison()
    asked = beside.under_policy(**wider)
    ((from_below,),) = compared(
        chosen, held_answer, [SideQuestion("wider", "with more", lambda: asked, admits_more=True)]
    )
    assert from_below == told("wider", "with more", chosen, solved(asked), admits_more=True)


@pytest.mark.parametrize(
    ("found", "gap", "admits_more", "said"),
    [(1.1, 0.2, False, "feasible"), (1.1, 0.3, False, "unproven"), (0.9, 0.3, True, "feasible"),
     (1.1, 0.2, True, "unproven"), (None, None, False, "unproven")],
)  # fmt: skip
def test_what_time_leaves_unproven_is_told_as_at_most_where_that_says_much(
    few: Catalogs,
    monkeypatch: pytest.MonkeyPatch,
    found: float | None,
    gap: float | None,
    admits_more: bool,
    said: str,
) -> None:
    """A plan so many times as dear as the chosen one, with a bound so far below it."""
    inquiry = Inquiry.of(Scenario.model_validate(SCENARIO), few)
    answer = solved(inquiry)
    chosen = read_back(answer)
    usd = None if found is None else float(chosen.monthly_cost_usd) * found
    cut_short = {"outcome": "unproven" if found is None else "feasible", "ended_by": "time limit"}
    solution = replace(answer.solution, **cut_short, cost_usd_per_month=usd, relative_gap=gap)
    monkeypatch.setattr(comparing, "solved_for_least_cost", lambda *_: replace(answer, solution=solution))
    ((row,),) = compared(
        chosen, held_answer, [SideQuestion("other", "with another", lambda: inquiry, admits_more=admits_more)]
    )
    assert row.outcome == said
    assert ("at most" in row.text) == (said == "feasible")


@pytest.mark.parametrize(
    ("least", "admits_more", "said"),
    [(1.2, False, "at least $"), (0.8, True, "saves at most $"), (0.8, False, "not compared, ")],
)
def test_a_least_cost_tells_what_is_due_where_no_time_was_left_for_the_simplest_plan(
    few: Catalogs, monkeypatch: pytest.MonkeyPatch, least: float, admits_more: bool, said: str
) -> None:
    inquiry = Inquiry.of(Scenario.model_validate(SCENARIO), few)
    answer = solved(inquiry)
    chosen = read_back(answer)
    usd = float(chosen.monthly_cost_usd) * least
    solution = replace(answer.solution, cost_usd_per_month=usd, bound_usd_per_month=usd)

    def out_of_time(*_: object) -> Answer:
        raise LimitReached("time limit")

    monkeypatch.setattr(comparing, "solved_for_least_cost", lambda *_: replace(answer, solution=solution))
    monkeypatch.setattr(comparing, "simplified", out_of_time)
    ((row,),) = compared(
        chosen, held_answer, [SideQuestion("other", "with another", lambda: inquiry, admits_more=admits_more)]
    )
    assert row.outcome == "unproven"
    assert row.monthly_cost_usd is None
    assert row.text.startswith(f"with another: {said}")
    assert row.text.endswith("the time limit was reached")


def test_a_comparison_leaves_time_for_those_behind_it_and_is_tried_again_at_the_end(
    few: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = read_back(solved(Inquiry.of(Scenario.model_validate(SCENARIO), few)))
    asked = replace(Inquiry.of(Scenario.model_validate(SCENARIO), few, Clock(work_limit=1000)), insists=False)
    own: list[int | None] = []

    def spends_all(inquiry: Inquiry, *_: object) -> Answer:
        own.append(left := inquiry.clock.left_work())
        inquiry.clock.spend(left or 0)
        raise LimitReached("work limit")

    monkeypatch.setattr(comparing, "solved_for_least_cost", spends_all)
    question = SideQuestion("other", "with another", lambda: asked)
    one, other = compared(chosen, held_answer, [question] * 2, [question])
    assert [row.outcome for row in (*one, *other)] == ["unproven"] * 3
    assert own == [250, 188, 141, 211, 105, 53], "a quarter of what is left each, then halves of it"


def test_where_time_is_short_what_the_first_page_tells_is_asked_first(
    few: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    inquiry = Inquiry.of(Scenario.model_validate(SCENARIO), few)
    answer = solved(inquiry)
    chosen, turns = read_back(answer), list[str]()

    def asking(kind: str) -> SideQuestion:
        return SideQuestion(kind, f"with {kind}", lambda: (turns.append(kind), inquiry)[1])

    monkeypatch.setattr(comparing, "solved_for_least_cost", lambda *_: answer)
    groups = (["max_gpus"], ["gpu", "configurations"], ["seed", "spot"], ["rule_of_thumb"])
    found = compared(chosen, held_answer, *([asking(kind) for kind in group] for group in groups))
    assert turns == ["configurations", "spot", "max_gpus", "gpu", "seed", "rule_of_thumb"]
    assert [[row.kind for row in rows] for rows in found] == [*groups]


def test_a_week_is_compared_with_one_configuration_for_each_workload(few: Catalogs) -> None:
    inquiry = replace(Inquiry.of(Scenario.model_validate(SCENARIO), few), close_enough=True)
    chosen = read_back(solved(inquiry))
    several = replace(chosen, deployments=chosen.deployments * 3)
    assert [next(iter(next_best(inquiry, plan))).kind for plan in (chosen, several)] == ["gpu", "configurations"]


def test_what_a_lost_instance_costs_is_the_cheapest_plan_that_survives_it(few: Catalogs) -> None:
    answer = solved(Inquiry.of(Scenario.model_validate(SCENARIO), few))
    chosen, beside = read_back(answer), answer.inquiry.beside_a_plan(Clock(), answer.complexity).for_comparison()
    (row,) = availability(beside, Clock(), chosen, held_answer)
    surviving = solved(beside.under_policy(survive={"loss_of": ("instance",)}))
    assert row.outcome == "optimal"
    assert row == told(row.kind, row.change, chosen, surviving)
    # and where no time is left for other plans, more of what this one runs
    (at_most,) = availability(beside, Clock(0.0), chosen, held_answer)
    assert at_most.outcome == "feasible"
    assert "at most" in at_most.text
    assert at_most.monthly_cost_usd is not None
    assert at_most.monthly_cost_usd >= (row.monthly_cost_usd or 0)
