"""What stands beside a plan answers to its simulation, as the plan does that a reader gets who asks for it."""

from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal

import pytest

from optimizer.answers.planning import until_it_holds
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.base.clock import Clock, LimitReached
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.alternatives import availability
from optimizer.plan.explain.comparing import NONE_HOLDS, NOT_HELD, Asking, SideQuestion, compared, told
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet


def chat_on(gpu: str, requests_per_second: float = 60) -> Scenario:
    """A question in bursts at limits that a formula passes and simulated requests break on an L40S."""
    workload = {
        **{"name": "chat", "model": "llama-3.1-8b", "requests_per_second": requests_per_second, "input_tokens": 1024},
        **{"output_tokens": 256, "arrivals": {"cv2": 6}, "slo": {"ttft_ms": 220, "tpot_ms": 34}},
    }
    policy = {"gpus": {"allow": [gpu]}, "precisions": ["fp8", "bf16"], "engines": ["vllm"]}
    return Scenario.model_validate({"name": "beside", "workloads": [workload], "policy": policy})


@pytest.fixture(scope="module")
def chosen(catalogs: Catalogs) -> PlannedFleet:
    """A plan on other cards, that holds."""
    return read_back(confirmed_answer(Inquiry.of(chat_on("h100-pcie"), catalogs)))


@pytest.fixture(scope="module")
def refutable(catalogs: Catalogs) -> Inquiry:
    """Whose plan by formulas breaks a promise."""
    return Inquiry.of(chat_on("l40s"), catalogs).beside_a_plan(Clock())


def test_a_row_is_the_plan_that_its_reader_gets(catalogs: Catalogs, chosen: PlannedFleet, refutable: Inquiry) -> None:
    by_formulas = solved(refutable)
    shown = confirmed_answer(Inquiry.of(refutable.scenario, catalogs))
    assert by_formulas.solution.cost_usd_per_month != shown.solution.cost_usd_per_month
    ((row,),) = compared(chosen, held_answer, [SideQuestion("gpu", "on other cards", lambda: refutable)])
    assert row == told("gpu", "on other cards", chosen, shown)


def test_where_no_time_is_left_for_another_plan_it_is_said_what_it_costs_at_least(
    chosen: PlannedFleet, refutable: Inquiry
) -> None:
    def look_alone(asked: Inquiry, answer: Answer, again: Asking | None) -> Answer | None:
        if again is not None:
            raise LimitReached("time limit")
        return held_answer(asked, answer, None)

    least_usd, cheap = solved(refutable).solution.bound_usd_per_month, replace(chosen, monthly_cost_usd=Decimal(1))
    ((row,),) = compared(cheap, look_alone, [SideQuestion("gpu", "on other cards", lambda: refutable)])
    assert row.outcome == "unproven"
    assert row.monthly_cost_usd is None
    assert least_usd is not None
    down = Decimal(repr(least_usd)).quantize(Decimal("0.01"), ROUND_FLOOR)
    assert row.text.startswith(f"on other cards: at least ${down:,} a month")
    assert row.text.endswith(NOT_HELD)


@pytest.mark.parametrize(("work", "outcome"), [(0, "optimal"), (1_000_000, "unproven")])
def test_rounds_of_simulation_are_work(
    catalogs: Catalogs, chosen: PlannedFleet, work: int, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of work ended only what solvers do: beside a plan that took a second, requests were simulated for 14."""
    monkeypatch.setattr(until_it_holds, "WORK_OF_ROUND", work)
    clock = Clock(None, 1_000_000)
    asked = Inquiry.of(chat_on("l40s"), catalogs, clock).beside_a_plan(clock)
    ((row,),) = compared(chosen, held_answer, [SideQuestion("gpu", "on other cards", lambda: asked)])
    assert row.outcome == outcome
    assert (clock.reached == "work limit") == (outcome == "unproven")


@pytest.mark.parametrize("admits_more", [False, True])
def test_where_none_holds_nothing_is_promised(chosen: PlannedFleet, refutable: Inquiry, admits_more: bool) -> None:
    """A question that admits more than the plan leaves the plan itself; another one has none."""
    dear = replace(chosen, monthly_cost_usd=chosen.monthly_cost_usd * 100)
    question = SideQuestion("wider", "with more", lambda: refutable, admits_more=admits_more)
    ((row,),) = compared(dear, lambda *_: None, [question])
    if admits_more:
        assert (row.outcome, row.difference_usd) == ("feasible", 0)
    else:
        assert (row.outcome, row.text) == ("unproven", f"with more: {NONE_HOLDS}")


@pytest.mark.parametrize("in_time", [False, True])
def test_what_surviving_a_loss_costs_is_told_of_a_plan_that_holds(catalogs: Catalogs, in_time: bool) -> None:
    # at 55 and at 60 requests/s the plan survives one as it is
    scenario = chat_on("h100-pcie", 57)
    chosen = read_back(confirmed_answer(Inquiry.of(scenario, catalogs)))

    def held(*_: object) -> None:
        if not in_time:
            raise LimitReached("time limit")

    asked = Inquiry.of(scenario, catalogs).beside_a_plan(Clock()).for_comparison()
    (row,) = availability(asked, Clock(), chosen, held)
    assert (row.outcome, row.monthly_cost_usd) == ("unproven", None)
    assert row.text.endswith(NONE_HOLDS if in_time else "the time limit was reached")
