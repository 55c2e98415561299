"""What is asked of plans without a machine: an answer about what they pay for, or a refusal in words."""

from dataclasses import replace

import pytest
from support.scenarios import sold_little

from optimizer import load_catalogs, optimize
from optimizer.answers.planning.frontier import frontier, sweep_of
from optimizer.answers.planning.why_not import why_not
from optimizer.answers.running.simulate import simulate
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.forcing import Choice
from optimizer.report.plan.why_not import why_not_answer

SHAPE = {"model": "llama-3.1-8b", "input_tokens": 1000, "output_tokens": 200}


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return sold_little(catalogs)


def rarely(*hosting: str) -> Scenario:
    named = [{"name": "chat", "requests_per_second": 0.0005, **SHAPE}]
    return Scenario.model_validate({"name": "rarely", "workloads": named, "policy": {"hosting": hosting}})


@pytest.mark.parametrize("hosting", ["per_second", "serverless"])
def test_there_is_nothing_to_leave_out_and_nothing_to_simulate(few: Catalogs, hosting: str) -> None:
    report = optimize(rarely(hosting), few)
    assert report.hosted
    assert not report.deployments
    assert [item.change for item in report.explanation.alternatives if item.change.strip() == "without"] == []
    with pytest.raises(InputError, match="nothing of the plan can be simulated: chat: "):
        simulate(report, rarely(hosting), few)


def test_a_plan_paid_by_its_use_changes_where_another_takes_over_and_not_with_its_bill(few: Catalogs) -> None:
    scenario = rarely("rented", "per_second")
    found = frontier(scenario, few, [sweep_of("requests_per_second=0.003:0.02:2", scenario)])
    (change,) = found.breakpoints
    assert (change.before_plan, change.after_plan) == (0, 1)
    assert ["by the second" in plan for plan in found.plans] == [True, False]


def test_why_not_speaks_of_machines_where_the_same_seller_is_paid_by_the_second(few: Catalogs) -> None:
    by_the_hour = replace(few, offers=tuple(each for each in load_catalogs().offers if each.provider == "modal"))
    said = why_not(rarely("per_second"), by_the_hour, Choice(provider="modal"))
    assert said.summary.startswith("provider modal: no plan on machines meets rarely, it fails policy.hosting")
    written = str(why_not_answer(said))
    assert "price of instance let it in" in written
