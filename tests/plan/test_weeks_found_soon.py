"""A week whose classes may mix: a plan of few periods is simulated before every hour is asked, and nothing is lost."""

from dataclasses import replace

import pytest

from optimizer.answers.planning.tried import SimulatedPlan, tried
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question import solving, soon
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import of_every_hour, solved_for_least_cost
from optimizer.plan.question.soon import first_answer, found_soon


def _week(ttft_ms: int = 3000) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "mixed-week",
            "workloads": [
                {
                    "name": "desk",
                    "model": "llama-3.1-8b",
                    "demand": {"hourly": [0.3] * 8 + [0.6] * 8 + [1.0] * 8, "peak_requests_per_second": 20},
                    "request_classes": [
                        {"share": 0.5, "input_tokens": 300, "output_tokens": 100},
                        {"share": 0.5, "input_tokens": 3000, "output_tokens": 250},
                    ],
                    "slo": {"ttft_ms": {"p95": ttft_ms}, "tpot_ms": {"mean": 50}},
                }
            ],
            "policy": {
                "gpus": {"allow": ["l4", "l40s"]},
                "engines": ["vllm"],
                "precisions": ["fp8"],
                "providers": {"allow": ["aws", "gcp"]},
                "elastic": {"start_up_minutes": 8, "max_periods": 2},
            },
        }
    )


def _cheapest_usd(found: SimulatedPlan) -> float:
    cost_usd = (found.answer.cheapest or found.answer).solution.cost_usd_per_month
    assert cost_usd is not None
    return cost_usd


def test_every_hour_is_asked_once_a_plan_of_few_periods_holds(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With time for all of it the end is that of the whole search, simulated at its end."""
    asked = Inquiry.of(_week(), catalogs)
    whole = tried(asked, answered(asked), Clock())
    assert not first_answer(asked).every_hour_is_due
    monkeypatch.setattr(soon, "is_large", lambda _: True)
    first = first_answer(asked)
    assert first.every_hour_is_due
    assert (first.solution.outcome, first.solution.bound_usd_per_month) == ("feasible", 0.0)
    assert first.formulation.problem.traffic.periods == 2
    found = tried(asked, first, Clock())
    assert found.simulation is not None
    assert whole.simulation is not None
    assert found.simulation.holds is whole.simulation.holds is True
    assert not found.answer.every_hour_is_due
    assert _cheapest_usd(found) == pytest.approx(_cheapest_usd(whole))
    assert found.answer.solution.outcome == whole.answer.solution.outcome == "optimal"


def test_mixes_that_every_hour_was_predicted_with_stay_known(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that uses one is read back from what the answer's inquiry knows of it."""
    first = found_soon(Inquiry.of(_week(), catalogs))
    told = tuple(replace(choice) for choice in first.inquiry.options)

    def predicting_more(asked: Inquiry, known_usd: float) -> Answer:
        """Every hour, in an inquiry that knows more than the one that was asked."""
        found = solved_for_least_cost(asked, known_usd=known_usd)
        return replace(found, inquiry=replace(found.inquiry, options=told))

    monkeypatch.setattr(solving, "solved_for_least_cost", predicting_more)
    more = of_every_hour(first, Clock())
    assert more.solution.cost_usd_per_month is not None
    assert more.inquiry.options is told


def test_a_week_of_one_class_is_asked_whole_at_once(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soon, "is_large", lambda _: True)
    week = _week()
    (workload,) = week.workloads
    alone = workload.model_copy(update={"request_classes": workload.request_classes[:1]})
    one = alone.model_copy(update={"request_classes": (alone.request_classes[0].model_copy(update={"share": 1.0}),)})
    asked = Inquiry.of(week.model_copy(update={"workloads": (one,)}), catalogs)
    assert not first_answer(asked).every_hour_is_due
