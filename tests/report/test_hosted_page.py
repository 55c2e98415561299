"""What a page says of requests that no rented machine serves: what runs, where the money goes, why nothing can."""

import pytest
from support.scenarios import sold_little, with_policy, with_workload

from optimizer import load_scenario, optimize
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return sold_little(catalogs)


def rarely(hosting: str, e2e_ms: float = 600_000) -> Scenario:
    """Asked something every four minutes."""
    slo = {"e2e_ms": {"p95": e2e_ms}}
    scenario = with_workload(load_scenario("chat-8b"), requests_per_second=0.004, min_quality=None, slo=slo)
    return with_policy(scenario, hosting=[hosting])


def page(scenario: Scenario, catalogs: Catalogs, *, verbose: bool) -> str:
    text = answer_text(plan_answer(optimize(scenario, catalogs), verbose=verbose))
    return " ".join(text.split())


def test_the_first_page_says_on_what_containers_run(few: Catalogs) -> None:
    """It named the seller alone: nobody could say which GPU was bought, nor for how long."""
    stopped = page(rarely("per_second"), few, verbose=False)
    assert "(1×l4, vllm) at runpod, up to" in stopped
    assert "stops after 5 s without a request" in stopped
    kept = page(rarely("per_second", e2e_ms=60_000), few, verbose=False)
    assert "at runpod, never stopped, as a start takes" in kept
    assert "stops after" not in kept


@pytest.mark.parametrize(
    ("hosting", "words"), [("per_second", "containers by the second $"), ("serverless", "hosted APIs $")]
)
def test_what_is_hosted_is_where_the_money_goes(hosting: str, words: str, few: Catalogs) -> None:
    """All of the bill was left out, and compute told of $0.00 in five parts."""
    _, said = page(rarely(hosting), few, verbose=True).split("Where the money goes ")
    assert said.startswith(words)


def test_without_hardware_of_ones_own_it_is_said_where_it_is_told(few: Catalogs) -> None:
    """Without `--catalogs` it was told that hosting cannot hold, and of no file that would mend it."""
    said = page(rarely("owned"), few, verbose=False)
    assert "policy.hosting: no hardware of one's own is known: owned.csv in the folder of --catalogs" in said
