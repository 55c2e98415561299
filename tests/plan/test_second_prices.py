"""Where two sources differ by more than 5 %, the plan says so: of instances, and of hosted APIs planned or compared."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from support.scenarios import proven, with_policy, with_workload

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.second_prices import NOTABLE_DIFFERENCE, second_prices
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import PlanReport


def by_api_alone(chat: Scenario, catalogs: Catalogs) -> PlannedFleet:
    gemma = with_workload(chat, model="gemma-3-27b", min_quality=None)
    asked = with_policy(gemma, hosting=["serverless"], providers={"allow": ["fireworks_ai"]})
    return proven(Inquiry.of(asked, catalogs))


def test_a_hosted_price_that_another_source_contradicts_is_told(chat: Scenario, catalogs: Catalogs) -> None:
    bought = by_api_alone(chat, catalogs)
    (check,) = (
        row
        for row in catalogs.terms.serverless_checks
        if (row.provider, row.provider_model_name) == ("fireworks_ai", bought.hosted[0].api)
    )
    (said,) = second_prices(catalogs, bought)
    assert f"says ${check.usd_per_million_input_tokens} in and ${check.usd_per_million_output_tokens} out" in said
    name = (check.provider, check.provider_model_name)
    row = next(each for each in catalogs.serverless if (each.provider, each.provider_model_name) == name)
    within = Decimal(repr(1 + NOTABLE_DIFFERENCE - 0.001))
    near = check.model_copy(
        update={
            "usd_per_million_input_tokens": (row.usd_per_million_input_tokens or 0) * within,
            "usd_per_million_output_tokens": (row.usd_per_million_output_tokens or 0) * within,
        }
    )
    close = replace(catalogs, terms=replace(catalogs.terms, serverless_checks=(near,)))
    assert list(second_prices(close, bought)) == []


def test_a_price_of_an_instance_that_another_source_contradicts_is_told(
    planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    """By the GPU-hour, with what is planned with; within the percentage nothing is said."""
    (purchase,) = planned("chat-8b").purchases
    bought = PlannedFleet(purchases=(purchase,))
    offer = next(each for each in catalogs.offers if each.id == purchase.offer)
    per_gpu = offer.price_usd_per_hour / offer.gpu_count
    (check,) = (
        row
        for row in catalogs.terms.price_checks
        if row.covers(offer.provider, offer.gpu, offer.gpu_count, offer.pricing_term)
    )
    for factor, words in (("0.9", "10% less"), ("1.2", "20% more"), ("1.049", ""), ("0.951", "")):
        other = check.model_copy(update={"usd_per_gpu_hour": per_gpu * Decimal(factor)})
        said = list(second_prices(replace(catalogs, terms=replace(catalogs.terms, price_checks=(other,))), bought))
        assert [f"{words} than the ${per_gpu:,.2f} planned with" in text for text in said] == [True] * bool(words)


def test_every_second_price_of_an_api_is_of_an_api_that_is_listed(catalogs: Catalogs) -> None:
    listed = {(row.provider, row.provider_model_name) for row in catalogs.serverless}
    checked = {(row.provider, row.provider_model_name) for row in catalogs.terms.serverless_checks}
    assert checked <= listed
    assert len(checked) == 14
