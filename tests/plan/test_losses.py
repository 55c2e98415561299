"""What a plan says of losses: what a lost instance leaves, what surviving one costs, and one word that asks for it."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from support.asking import CHAT, few_offers
from support.scenarios import proven

from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.plan.explain.alternatives import availability
from optimizer.plan.explain.losses import instance_lost
from optimizer.plan.grounds.quotes import price_doubts, quotes_worth_taking
from optimizer.plan.grounds.warnings import warnings
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fields import difference_of_cents
from optimizer.plan.record.fleet import PeriodInstances, PlannedFleet
from optimizer.plan.variants.by_api import by_api

RATE = 16.0
Asked = Callable[..., Inquiry]


@pytest.fixture(scope="module")
def asking(catalogs: Catalogs) -> Asked:
    few = few_offers(catalogs)

    def inquiry(workload: dict[str, Any] | None = None, **policy: Any) -> Inquiry:
        said = {"name": "losses", "workloads": [CHAT | (workload or {})], "policy": policy}
        return Inquiry.of(Scenario.model_validate(said), few)

    return inquiry


@pytest.mark.parametrize("word", ["instance", "region", "provider"])
def test_one_word_asks_for_what_the_list_asks(word: str, asking: Asked) -> None:
    in_a_word, in_a_list = proven(asking(availability=word)), proven(asking(survive={"loss_of": [word]}))
    assert in_a_word == in_a_list
    plain = proven(asking(availability="none"))
    assert plain == proven(asking())
    assert plain.monthly_cost_usd < in_a_word.monthly_cost_usd


def test_a_plan_that_survives_an_instance_as_it_is_costs_nothing_more(asking: Asked) -> None:
    """Lowered rates once made a row of its own, dearer than the plan, beside "all demand is still served"."""
    inquiry = asking()
    safe = replace(proven(asking(availability="instance")), placement=())
    lost = instance_lost(inquiry.scenario, safe)
    assert lost is not None
    assert lost.share_left >= 1
    (row,) = availability(inquiry.for_comparison(), Clock(0.0), safe, held_answer)
    assert row.difference_usd == 0
    assert row.monthly_cost_usd == safe.monthly_cost_usd


def test_surviving_an_instance_costs_what_the_row_says(asking: Asked) -> None:
    inquiry = asking()
    bought, safe = proven(inquiry), proven(asking(availability="instance"))
    (row,) = availability(inquiry.for_comparison(), Clock(), bought, held_answer)
    assert (row.outcome, row.monthly_cost_usd) == ("optimal", safe.monthly_cost_usd)
    assert row.difference_usd == difference_of_cents(safe.monthly_cost_usd, bought.monthly_cost_usd)
    for promised in ("instance", "region", "provider"):
        assert not list(availability(asking(availability=promised), Clock(), safe, held_answer))
    (hasty,) = availability(inquiry.for_comparison().beside_a_plan(Clock()), Clock(0.0), bought, held_answer)
    assert hasty.outcome == "feasible"
    assert "at most $" in hasty.text
    assert row.monthly_cost_usd <= hasty.monthly_cost_usd <= 2 * bought.monthly_cost_usd


def test_what_a_lost_instance_leaves(asking: Asked) -> None:
    inquiry = asking({"requests_per_second": RATE}, max_distinct_configurations=1)
    bought, safe = proven(inquiry), proven(asking(availability="instance"))
    lost = instance_lost(inquiry.scenario, bought)
    assert lost is not None
    (d,) = bought.deployments
    assert d.gpus_per_instance == d.gpus_per_replica == 1
    expected = d.max_requests_per_second / d.replicas * (d.replicas - 1) / RATE
    assert lost.share_left == pytest.approx(expected)
    assert lost.share_left < 1
    outlived = instance_lost(asking(availability="instance").scenario, safe)
    assert outlived is not None
    assert outlived.share_left >= 1 - 1e-9
    assert instance_lost(inquiry.scenario, PlannedFleet()) is None


def test_a_full_box_takes_as_many_replicas_as_it_holds(asking: Asked) -> None:
    bought = proven(asking(max_distinct_configurations=1))
    (d,) = bought.deployments
    as_one_box = d.model_copy(update={"gpus_per_instance": 8, "instances": 1})
    boxed = replace(bought, deployments=(as_one_box,))
    scenario = asking().scenario
    lost = instance_lost(scenario, boxed)
    assert lost is not None
    assert lost.share_left == 0
    assert lost.text == f"if one {d.instance_type} at {d.provider} fails, nothing serves chat"


def test_replicas_that_all_stand_in_one_box_are_a_warning(catalogs: Catalogs, asking: Asked) -> None:
    inquiry = asking({"requests_per_second": 0.2})
    bought = proven(inquiry)
    (d,) = bought.deployments
    assert (d.replicas, d.instances) == (1, 1)
    said = (
        f"chat: its one replica stands on one {d.instance_type} at {d.provider}: nothing is served while that is down"
    )
    assert any(text.startswith(said) for text in warnings(inquiry.scenario, catalogs, bought, None))
    two = replace(bought, deployments=(d.model_copy(update={"replicas": 2}),))
    assert any("both replicas stand" in text for text in warnings(inquiry.scenario, catalogs, two, None))
    apart = replace(bought, deployments=(d.model_copy(update={"replicas": 2, "instances": 2}),))
    larger = d.model_copy(update={"gpus_per_instance": 8})
    of_two_sizes = replace(bought, deployments=(d, larger))
    for plan in (apart, of_two_sizes):
        assert not any("while that is down" in text for text in warnings(inquiry.scenario, catalogs, plan, None))
    lost = instance_lost(inquiry.scenario, of_two_sizes)
    assert lost is not None
    assert lost.instance == f"1-GPU {d.instance_type} at {d.provider}"


def test_what_stands_on_one_instance_or_one_spot_offer_is_told(catalogs: Catalogs, asking: Asked) -> None:
    inquiry = asking({"requests_per_second": 0.2})
    bought = proven(inquiry)
    (d,) = bought.deployments
    scenario = inquiry.scenario
    both = scenario.model_copy(update={"workloads": tuple(replace_name(scenario, name) for name in ("chat", "mail"))})
    two = replace(bought, deployments=(d, d.model_copy(update={"workload": "mail"})))
    (said,) = (text for text in warnings(both, catalogs, two, None) if "while that is down" in text)
    place = f"({d.instance_type} at {d.provider})"
    assert said == f"each stands on one instance and is not served while that is down: chat {place}, mail {place}"
    on_spot = d.model_copy(update={"pricing_term": "spot", "replicas": 3, "instances": 3})
    spot = replace(bought, deployments=(on_spot,))
    said = f"chat: all of it is {d.instance_type} spot at {d.provider}, which may be taken back at once"
    assert any(text.startswith(said) for text in warnings(scenario, catalogs, spot, None))
    surviving = asking(survive={"loss_of": ["spot_offer"]}).scenario
    beside = replace(bought, deployments=(on_spot, d))
    for asked, plan in ((surviving, spot), (scenario, beside), (scenario, bought)):
        assert not any("taken back" in text for text in warnings(asked, catalogs, plan, None))


def replace_name(scenario: Scenario, name: str) -> Workload:
    """The scenario's first workload by another name."""
    return scenario.workloads[0].model_copy(update={"name": name})


def test_many_instances_are_asked_for_by_what_people_call_them(catalogs: Catalogs, asking: Asked) -> None:
    bought = proven(asking({"requests_per_second": 0.2}))
    (purchase,) = bought.purchases
    many = purchase.model_copy(update={"instances": 182})
    elsewhere = [beside("provider", "9000"), beside("gpu", "8000")]
    told = warnings(asking().scenario, catalogs, replace(bought, purchases=(many,)), None, elsewhere)
    (said,) = (text for text in told if "so many" in text)
    (d,) = bought.deployments
    assert said.startswith(f"182× {d.instance_type} at {d.provider}")
    assert said.endswith("or set a quota; without the provider it is $9,000.00 a month")
    assert "/" not in said


def test_sellers_whose_terms_nobody_read_are_asked_what_the_plan_rests_on(catalogs: Catalogs, asking: Asked) -> None:
    """Whether a GPU is one's own; and where instances come and go, whether they may."""
    bought = proven(asking({"requests_per_second": 0.2}))
    (purchase,) = bought.purchases
    offer = next(each for each in catalogs.offers if each.provider == "beyondpl")
    coming = [PeriodInstances(period=at, instances=n) for at, n in enumerate((0, 2))]
    steady = purchase.model_copy(update={"offer": offer.id})
    for schedule, paid_always, questions in (
        (purchase.schedule, False, "whether a GPU is yours alone"),
        (coming, True, "whether a GPU is yours alone"),
        (coming, False, "whether a GPU is yours alone and whether it rents by the hour"),
    ):
        rented = steady.model_copy(update={"schedule": schedule, "always_paid": paid_always})
        told = warnings(asking().scenario, catalogs, replace(bought, purchases=(rented,)), None)
        assert f"ask beyondpl {questions}: nobody read that in the terms" in told
    read = steady.model_copy(update={"offer": purchase.offer, "schedule": coming})
    told = warnings(asking().scenario, catalogs, replace(bought, purchases=(read,)), None)
    assert not any("by the hour" in text for text in told)


def test_how_far_a_quote_may_exceed_a_price_that_nobody_lists(asking: Asked) -> None:
    """Up to the factor the plan with those prices multiplied costs less than the one at listed prices."""
    bought = proven(asking({"requests_per_second": 0.2}))
    (d,) = bought.deployments
    resold = d.provenance.model_copy(update={"price_confidence": "derived", "price_derived_from": "2 x 1.50"})
    unlisted = d.model_copy(update={"provenance": resold, "monthly_cost_usd": Decimal(100)})
    listed = d.model_copy(update={"monthly_cost_usd": Decimal(50)})
    (said,) = quotes_worth_taking([listed, unlisted], [beside("listed", "249", "99")])
    assert said == "no plan at listed prices alone costs less while the quote is below 1.9 times the price"
    assert 50 + Decimal("1.9") * 100 < 249 < 50 + 2 * 100
    (asked,) = price_doubts([listed, unlisted])
    assert asked.endswith(f"{d.gpus_per_instance}×{d.gpu} at {d.provider} (derived: 2 x 1.50)")
    spot = unlisted.model_copy(update={"pricing_term": "spot"})
    quoted, looked_up = price_doubts([spot, listed, unlisted])
    assert (quoted, looked_up) == (asked, asked.replace(asked.partition(":")[0], "look up today's spot price"))
    not_known = beside("listed", "249", "99").model_copy(update={"outcome": "feasible"})
    for plan, others in (([listed], [beside("listed", "249", "99")]), ([unlisted], [not_known]), ([unlisted], [])):
        assert not list(quotes_worth_taking(plan, others))


def beside(kind: str, monthly_usd: str, more_usd: str = "1") -> Alternative:
    """Another plan, in figures."""
    return Alternative(
        kind=kind,
        change=f"without the {kind}",
        outcome="optimal",
        monthly_cost_usd=Decimal(monthly_usd),
        difference_usd=Decimal(more_usd),
        summary="",
        text="",
    )


def test_the_cheapest_hosted_api_stands_beside_the_plan(asking: Asked) -> None:
    """Tokens of a month times the cheapest price, which is what the API alone costs."""
    inquiry = asking()
    bought = proven(inquiry)
    (row,) = by_api(inquiry, bought)
    by_the_token = proven(asking(hosting=["serverless"]))
    assert row.monthly_cost_usd == by_the_token.monthly_cost_usd
    assert row.change == "by APIs that promise no latency"
    assert not list(by_api(inquiry, by_the_token))


def test_no_hosted_api_says_why(asking: Asked) -> None:
    inquiry = asking(countries={"allow": ["us"]})
    (row,) = by_api(inquiry, proven(inquiry))
    assert row.outcome == "infeasible"
    assert "APIs fail" in row.text
