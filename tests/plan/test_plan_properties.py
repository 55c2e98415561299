"""What must hold for any scenario: dearer inputs never give a cheaper plan, looser limits never a dearer one."""

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from support.scenarios import monthly_cost, with_policy, with_workload

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    """The offers of three providers: enough to choose from, fast to solve."""
    return market_of("lambda", "runpod", "nebius")


def repriced(catalogs: Catalogs, factor: Decimal, every: int) -> Catalogs:
    def changed(at: int, offer: Offer) -> Offer:
        price = offer.price_usd_per_hour * factor
        return offer.model_copy(update={"price_usd_per_hour": price}) if at % every == 0 else offer

    return replace(catalogs, offers=tuple(changed(at, offer) for at, offer in enumerate(catalogs.offers)))


@pytest.mark.parametrize("every", [1, 2, 3])
def test_higher_prices_never_make_it_cheaper(few: Catalogs, chat: Scenario, every: int) -> None:
    before, after = monthly_cost(chat, few), monthly_cost(chat, repriced(few, Decimal("1.3"), every))
    assert before is not None
    assert after is not None
    assert after >= before


def test_all_prices_doubled_double_the_cost(few: Catalogs, chat: Scenario) -> None:
    before, after = monthly_cost(chat, few), monthly_cost(chat, repriced(few, Decimal(2), 1))
    assert before is not None
    assert after == 2 * before


def test_more_offers_never_make_it_dearer(few: Catalogs, chat: Scenario) -> None:
    rng = random.Random(7)
    offers = list(few.offers)
    rng.shuffle(offers)
    costs = [monthly_cost(chat, replace(few, offers=tuple(offers[:size]))) for size in (40, 80, len(offers))]
    known = [value for value in costs if value is not None]
    assert known == sorted(known, reverse=True)
    assert costs[-1] is not None


@pytest.mark.parametrize(
    ("tight", "loose"),
    [
        ({"max_utilization": 0.5}, {"max_utilization": 0.9}),
        ({"confidence": 0.99}, {"confidence": 0.5}),
        ({"spare_replicas": 2}, {"spare_replicas": 0}),
        ({"max_gpus": 1}, {"max_gpus": None}),
        ({"min_providers": 2}, {"min_providers": 1}),
        ({"pricing_terms": ["on_demand"]}, {"pricing_terms": ["on_demand", "spot"]}),
        ({"quotas": [{"gpu": "rtx*", "max_gpus": 0}]}, {"quotas": []}),
    ],
)
def test_looser_policy_never_costs_more(
    few: Catalogs, chat: Scenario, tight: dict[str, object], loose: dict[str, object]
) -> None:
    dear, cheap = monthly_cost(with_policy(chat, **tight), few), monthly_cost(with_policy(chat, **loose), few)
    assert cheap is not None
    assert dear is None or dear >= cheap


@pytest.mark.parametrize(
    ("tight", "loose"),
    [
        ({"requests_per_second": 40.0}, {"requests_per_second": 4.0}),
        ({"slo": {"ttft_ms": 300}}, {"slo": {"ttft_ms": 900}}),
        ({"slo": {"tpot_ms": 15}}, {"slo": {"tpot_ms": 60}}),
        ({"slo": {"e2e_ms": 6000}}, {"slo": {"e2e_ms": 60000}}),
        ({"min_quality": 1.0}, {"min_quality": None}),
        ({"min_quality_worst": 1.0}, {"min_quality_worst": None}),
        ({"cached_input_share": 0.0}, {"cached_input_share": 0.8}),
        ({"input_tokens": 4000}, {"input_tokens": 500}),
        ({"output_tokens": 900}, {"output_tokens": 100}),
    ],
)
def test_easier_workload_never_costs_more(
    few: Catalogs, chat: Scenario, tight: dict[str, object], loose: dict[str, object]
) -> None:
    dear, cheap = monthly_cost(with_workload(chat, **tight), few), monthly_cost(with_workload(chat, **loose), few)
    assert cheap is not None
    assert dear is None or dear >= cheap


def test_the_order_of_offers_does_not_matter(few: Catalogs) -> None:
    scenario = load_scenario("mixed-chat-rag")
    shuffled = list(few.offers)
    random.Random(3).shuffle(shuffled)
    plans = [read_back(solved(Inquiry.of(scenario, c))) for c in (few, replace(few, offers=tuple(shuffled)))]
    assert plans[0].deployments == plans[1].deployments
    assert plans[0].purchases == plans[1].purchases
