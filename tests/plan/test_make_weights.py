"""A plan of a week runs nothing that it can do without for little more, where the simplest of all takes too long."""

from dataclasses import replace

import pytest
from support.asking import CHAT, few_offers

from optimizer.base.clock import Clock, LimitReached
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.comparing import _as_far_as_time_goes
from optimizer.plan.question import simple_first, simplifying, solving
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.make_weights import own_configurations, without_make_weights
from optimizer.plan.question.solving import solved, solved_for_least_cost
from optimizer.plan.readback.readback import read_back
from optimizer.plan.verify.verify import verify

HOURLY = [1] * 6 + [5] * 2 + [15] * 9 + [8] * 3 + [3] * 4


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


def week(percent: float = 0) -> Scenario:
    demand = {"hourly": HOURLY, "weekend_factor": 0.4, "peak_requests_per_second": 36}
    own = CHAT | {"requests_per_second": None, "demand": demand}
    return Scenario.model_validate({"name": "week", "workloads": [own], "policy": {"simplicity_percent": percent}})


@pytest.fixture(scope="module")
def cheapest(few: Catalogs) -> Answer:
    return solved_for_least_cost(Inquiry.of(week(), few))


def cost(answer: Answer) -> float:
    assert answer.solution.cost_usd_per_month is not None
    return answer.solution.cost_usd_per_month


def test_what_carries_little_is_left_out_where_the_rest_costs_little_more(few: Catalogs, cheapest: Answer) -> None:
    assert cheapest.complexity.configurations > 1
    simpler = without_make_weights(cheapest, cheapest.inquiry, 1.3 * cost(cheapest))
    assert simpler is not None
    assert simpler.complexity.configurations < cheapest.complexity.configurations
    assert cost(cheapest) <= cost(simpler) <= 1.3 * cost(cheapest)
    for own, known in zip(own_configurations(simpler), own_configurations(cheapest), strict=True):
        assert not (own & ~known).any(), "nothing is run that the known plan does not run"
    assert verify(week(), few, read_back(simpler)).passed


def test_a_plan_that_needs_all_of_its_own_stays(cheapest: Answer) -> None:
    assert without_make_weights(cheapest, cheapest.inquiry, 1.0001 * cost(cheapest)) is None


def test_it_is_asked_for_where_the_simplest_of_all_takes_too_long(
    few: Catalogs, cheapest: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asking in (simple_first, simplifying):
        monkeypatch.setattr(asking, "holding", lambda *_: (None, False))
    found = solved(Inquiry.of(week(30), few))
    assert found.cheapest is not None
    assert not found.simplicity_proven
    assert found.complexity < found.cheapest.complexity
    assert cost(found) <= 1.3 * cost(cheapest) * (1 + 1e-9)


def test_one_of_its_own_stands_beside_a_plan_of_every_hour_where_the_first_simple_one_is_too_dear(
    few: Catalogs, cheapest: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = 2 * cost(cheapest)
    monkeypatch.setattr(
        solving,
        "simple_first",
        lambda _, coarse: replace(coarse, solution=replace(coarse.solution, cost_usd_per_month=dear)),
    )
    found = solved(Inquiry.of(week(30), few))
    least_usd = found.solution.bound_usd_per_month
    assert found.cheapest is not None
    assert least_usd is not None
    assert found.complexity < found.cheapest.complexity
    assert cost(found) <= 1.3 * least_usd * (1 + 1e-9)
    assert not found.simplicity_proven


def test_every_hour_is_searched_to_the_end_where_a_plan_can_do_without_nothing_of_its_own(
    few: Catalogs, cheapest: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for = list[float]()
    real = solving._over_mixes
    monkeypatch.setattr(
        solving, "_over_mixes", lambda asked, *of: (asked_for.append(asked.enough_usd), real(asked, *of))[1]
    )
    dear = 2 * cost(cheapest)
    monkeypatch.setattr(
        solving,
        "simple_first",
        lambda _, coarse: replace(coarse, solution=replace(coarse.solution, cost_usd_per_month=dear)),
    )
    monkeypatch.setattr(solving, "simpler_of_its_own", lambda _: None)
    found = solved_for_least_cost(Inquiry.of(week(30), few), ends_simply=True)
    assert asked_for.count(dear / 1.3) == 1
    assert asked_for.index(dear / 1.3) < len(asked_for) - 1
    assert found.simple_first is None
    assert cost(found) == pytest.approx(cost(cheapest))


def test_a_simple_plan_is_refuted_by_what_was_found_before_a_limit_was_reached(cheapest: Answer) -> None:
    dear = replace(cheapest, solution=replace(cheapest.solution, cost_usd_per_month=2 * cost(cheapest)))
    cut_short = replace(cheapest, solution=cheapest.solution.above(0.0, "time limit"))
    without = replace(cheapest, solution=cheapest.solution.none_cheaper())
    refuted = [simple_first.is_refuted(dear, every) for every in (cheapest, cut_short, without)]
    assert refuted == [True, False, False]
    assert not simple_first.is_refuted(cheapest, cheapest)


def test_a_comparison_that_has_far_less_time_than_few_periods_took_is_not_begun(cheapest: Answer) -> None:
    asked = replace(cheapest.inquiry.for_comparison(), clock=Clock(4.0), few_periods_s=10.0)
    with pytest.raises(LimitReached, match="time limit"):
        _as_far_as_time_goes(asked, None, None)
    assert cost(_as_far_as_time_goes(replace(asked, few_periods_s=1e-3, clock=Clock()), None, None)) > 0
