"""A week whose classes may mix: a plan of few periods is simulated before every hour is asked, and nothing is lost."""

from dataclasses import replace
from typing import Any

import pytest

from optimizer.answers.planning import tried as trying
from optimizer.answers.planning import until_it_holds
from optimizer.answers.planning.optimize import verified
from optimizer.answers.planning.tried import SimulatedPlan, tried
from optimizer.answers.planning.until_it_holds import Attempt, confirmed_by_simulation
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.lowering import LoweredRate
from optimizer.performance.candidates.mixes import OverloadedMix
from optimizer.performance.candidates.periods import exact_hours, joined_hours
from optimizer.plan.question import mixes_held, solving, soon
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixes_held import held
from optimizer.plan.question.solving import of_every_hour, solved_for_least_cost
from optimizer.plan.question.soon import first_answer, found_soon
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.simulation import HeldRate, Simulation
from optimizer.plan.simulate.simulated import CONFIRMING_REQUESTS, DECIDING_REQUESTS

_HELD = HeldRate(
    workload="desk",
    model="llama-3.1-8b",
    gpu="l4",
    precision="fp8",
    tensor_parallel=1,
    pipeline_parallel=1,
    predicted_requests_per_second=2.0,
    held_requests_per_second=1.0,
    counted_share=0.5,
    text="a replica holds half",
)


def _week(ttft_ms: int = 3000, peak_per_s: int = 26) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "mixed-week",
            "workloads": [
                {
                    "name": "desk",
                    "model": "llama-3.1-8b",
                    "demand": {"hourly": [0.3] * 8 + [0.6] * 8 + [1.0] * 8, "peak_requests_per_second": peak_per_s},
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


def _bursty_week() -> Scenario:
    """Of bursts and replicas without a reserve: what formulas buy breaks a promise under simulated requests."""
    said = _week(1000).model_dump(mode="json", exclude_defaults=True)
    said["workloads"][0]["arrivals"] = {"cv2": 10}
    said["policy"]["max_utilization"] = 1.0
    return Scenario.model_validate(said)


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


def test_a_plan_found_later_that_is_as_simple_and_cheaper_is_shown(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simple plan beside a dearer cheapest one was kept beside this, than which it is no simpler: a draw of
    `benchmarks/any_scenario.py` (706) was withheld for it."""
    asked = Inquiry.of(_week(peak_per_s=25), catalogs)
    best = tried(asked, answered(asked), Clock()).answer
    assert best.cheapest is None
    usd = best.solution.cost_usd_per_month
    assert usd is not None

    def cut_short(times: float) -> Answer:
        known = replace(best.solution, cost_usd_per_month=usd * times, bound_usd_per_month=usd / 2)
        return replace(best, solution=known.above(usd / 2, "time limit"))

    simple = replace(cut_short(1.03), cheapest=cut_short(1.01))
    monkeypatch.setattr(trying, "of_every_hour", lambda *_: best)
    shown = tried(asked, simple, Clock()).answer
    assert shown.cheapest is None
    assert shown.solution.cost_usd_per_month == usd


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


class _OverloadedAnswer(Answer):
    """An answer of which one mix is told to be more than a replica holds."""

    def broken(self) -> tuple[OverloadedMix, ...]:
        return (OverloadedMix(0, (0.3, 0.7), 1.1),)


def test_a_plan_whose_replicas_do_not_hold_is_made_larger_where_no_round_is_left(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was proven of it stands; where even that costs more than a known plan there is no plan."""
    week = _week()
    asked = replace(Inquiry.of(week, catalogs), hour_to_period=exact_hours(week), any_of_equals=True)
    plain = asked.solved_once(None)
    overloaded = _OverloadedAnswer(plain.inquiry, plain.formulation, plain.solution)
    least_usd = plain.solution.cost_usd_per_month
    assert least_usd is not None
    monkeypatch.setattr(Inquiry, "solved_once", lambda *_: overloaded)
    monkeypatch.setattr(mixes_held, "_too_late", lambda *_: "time limit")
    larger = held(asked, None, None, 2 * least_usd)
    assert not larger.broken()
    assert least_usd * (1 - 1e-9) <= (larger.solution.cost_usd_per_month or 0.0) < 2 * least_usd
    assert larger.solution.bound_usd_per_month == pytest.approx(plain.solution.bound_usd_per_month)
    assert verified(larger.inquiry, read_back(larger)).passed
    none = held(asked, None, None, 0.5 * least_usd)
    assert none.solution.cost_usd_per_month is None
    assert none.solution.bound_usd_per_month == plain.solution.bound_usd_per_month


@pytest.mark.parametrize("enlarges", [True, False])
def test_a_mix_that_a_plan_found_soon_sends_too_much_of_is_known_to_whoever_asks_on(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch, enlarges: bool
) -> None:
    """Its replicas hold what they are sent all the same: there are more of them, or nothing is mixed."""
    solved_once, apart = Inquiry.solved_once, list[bool]()

    def overloaded(asked: Inquiry, keep: None, *_: float | None) -> Answer:
        found = solved_once(asked, keep)
        apart.append(not asked.mixes_between())
        return found if apart[-1] else _OverloadedAnswer(found.inquiry, found.formulation, found.solution)

    monkeypatch.setattr(Inquiry, "solved_once", overloaded)
    if not enlarges:
        monkeypatch.setattr(soon, "enlarged", lambda *_: None)
    asked = Inquiry.of(_week(), catalogs)
    found = found_soon(asked, most_periods=1)
    assert found.formulation.problem.traffic.periods == 1
    assert not found.broken()
    assert apart == [True, False]
    assert len(found.inquiry.options[0].pools) > len(asked.options[0].pools)
    assert verified(found.inquiry, read_back(found)).passed
    again = found_soon(asked, found.inquiry, most_periods=1)
    assert len(again.inquiry.options[0].pools) >= len(found.inquiry.options[0].pools)


def test_where_every_hour_has_no_plan_in_time_there_is_one_of_as_many_periods_as_allowed(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Inquiry.of(_week(), catalogs)
    first = replace(found_soon(asked, most_periods=1), every_hour_is_due=True)
    first = replace(first, solution=first.solution.above(0.0, None))
    none = replace(first, solution=first.solution.without_its_plan())
    monkeypatch.setattr(trying, "of_every_hour", lambda *_: none)
    found = tried(asked, first, Clock())
    assert found.simulation is not None
    assert found.simulation.holds
    assert found.answer.formulation.problem.traffic.periods == 2
    # at what its replicas were found to hold, like one of a single period
    alone = found_soon(found.answer.inquiry, most_periods=1).solution.cost_usd_per_month
    assert _cheapest_usd(found) < (alone or 0.0)


def test_after_a_plan_that_breaks_a_promise_every_hour_is_asked_at_what_its_replicas_hold(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the plan that holds as cutoff, not from a plan of few periods on."""
    asked = Inquiry.of(_bursty_week(), catalogs)
    first = replace(tried(asked, answered(asked), Clock()).answer, cheapest=None, every_hour_is_due=True)
    bought = read_back(first)
    holding = Attempt(first, bought, confirmed_by_simulation(asked, bought))
    assert holding.holds
    usd, broken = holding.cost_usd, read_back(found_soon(asked, most_periods=2))
    cheaper = replace(first, solution=replace(first.solution, cost_usd_per_month=0.9 * usd))
    refuted = Attempt(cheaper, broken, confirmed_by_simulation(asked, broken))
    assert not refuted.holds
    own = LoweredRate("desk", None, 0.5, 1.0)
    begun: list[Attempt] = []

    def further(_: Inquiry, known: Attempt, __: Clock) -> tuple[Attempt, Attempt | None]:
        begun.append(known)
        last = Attempt(cheaper, replace(bought), holding.simulation, known.rounds)
        return (holding, refuted) if len(begun) == 1 else (last, None)

    monkeypatch.setattr(trying, "_further", further)
    monkeypatch.setattr(until_it_holds, "_held", lambda *_: [_HELD])
    monkeypatch.setattr(until_it_holds, "lowered_rates", lambda *_: (own,))
    found = tried(asked, replace(first, solution=first.solution.above(0.0, None)), Clock())
    assert [each.cost_usd for each in begun] == [usd, usd]
    assert begun[1].answer.inquiry.lowered[-1] == own
    assert found.answer.solution.cost_usd_per_month == 0.9 * usd
    assert found.simulation is not None
    assert [each.lowered for each in found.simulation.rounds] == [[_HELD]]


def test_more_requests_decide_what_fewer_leave_open(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Inquiry.of(_week(), catalogs)
    answer = tried(asked, answered(asked), Clock()).answer
    bought, counts = read_back(answer), list[tuple[int, ...]]()
    sure = confirmed_by_simulation(asked, bought)
    assert sure.holds
    open_still = Simulation.model_construct(**(dict(sure) | {"holds": None}))

    def more(*told: Any) -> Simulation:
        counts.append(told[-1])
        return sure

    monkeypatch.setattr(until_it_holds, "confirmed", more)
    assert until_it_holds.decided(asked, Attempt(answer, bought, sure)).simulation is sure
    assert not counts
    assert until_it_holds.decided(asked, Attempt(answer, bought, open_still)).simulation is sure
    assert counts == [DECIDING_REQUESTS]
    assert min(DECIDING_REQUESTS) > max(CONFIRMING_REQUESTS)


def test_hours_are_joined_to_as_few_periods_as_asked() -> None:
    week = _week()
    assert [int(joined_hours(week, most).max()) + 1 for most in (1, 2, 3, 9)] == [1, 2, 3, 3]
