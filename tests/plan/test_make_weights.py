"""A plan of a week runs nothing that it can do without for little more, where the simplest of all takes too long."""

import pytest
from support.asking import CHAT, few_offers

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question import simple_first, simplifying
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
    demand = {"hourly": HOURLY, "weekend_factor": 0.4, "peak_requests_per_second": 37}
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
