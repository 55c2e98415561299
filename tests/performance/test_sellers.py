"""Whom a plan may buy from: kinds of seller by policy, and three facts that no policy loosens."""

from typing import Any

import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy
from optimizer.performance.market.criteria import OFFER_CRITERIA
from optimizer.performance.market.market import market

EVERYBODY = ("hyperscaler", "established", "reseller", "decentralized", "shared", "unknown")
NAMES = [criterion.name for criterion in OFFER_CRITERIA]


def failing(catalogs: Catalogs, provider: str, criterion: str, *, latency: bool = True, **policy: Any) -> set[bool]:
    """Whether a provider's offers fail a criterion."""
    offers = market(catalogs, Policy.model_validate(policy), promises_latency=latency)
    column = offers.failed[:, NAMES.index(criterion)]
    return {bool(column[row]) for row, offer in enumerate(offers.offers) if offer.provider == provider}


def test_every_provider_has_a_kind_with_source_and_date(catalogs: Catalogs) -> None:
    for offer in catalogs.offers:
        seller = catalogs.terms.seller(offer.provider, offer.provider_kind)
        assert seller is not None
        assert seller.source in catalogs.sources


@pytest.mark.parametrize(
    ("provider", "kind"),
    [("aws", "hyperscaler"), ("nebius", "established"), ("vast", "decentralized"), ("packet-ai", "shared")],
)
def test_the_default_takes_hyperscalers_and_established_sellers(catalogs: Catalogs, provider: str, kind: str) -> None:
    assert catalogs.terms.seller_kind(provider, "neocloud") == kind
    assert failing(catalogs, provider, "seller") == {kind not in ("hyperscaler", "established")}
    assert failing(catalogs, provider, "seller", sellers=list(EVERYBODY)) == {False}


def test_a_row_may_be_about_one_kind_of_offer(catalogs: Catalogs) -> None:
    assert catalogs.terms.seller_kind("runpod", "neocloud") == "established"
    assert catalogs.terms.seller_kind("runpod", "marketplace") == "decentralized"
    assert catalogs.terms.seller_kind("nobody-we-know", "neocloud") == "unknown"


def test_terms_that_forbid_serving_others_are_never_planned_on(catalogs: Catalogs) -> None:
    assert failing(catalogs, "gpuhub", "serves_others", sellers=list(EVERYBODY), consumer_gpus=True) == {True}


@pytest.mark.parametrize("provider", ["packet-ai", "thunder-compute"])
def test_shared_gpus_carry_no_latency_promise(catalogs: Catalogs, provider: str) -> None:
    assert failing(catalogs, provider, "whole_gpu", sellers=list(EVERYBODY)) == {True}
    assert failing(catalogs, provider, "whole_gpu", latency=False, sellers=list(EVERYBODY)) == {False}


def test_a_price_of_the_gpu_alone_is_no_price_of_an_instance(catalogs: Catalogs) -> None:
    assert failing(catalogs, "coreweave", "price_of_instance") == {True, False}
    assert sum(offer.provider == "coreweave" and offer.price_of == "gpu" for offer in catalogs.offers) == 9
    assert {offer.pricing_term for offer in catalogs.offers if offer.provider == "akash"} == {"spot"}


def test_gaming_cards_are_opted_into_and_workstation_cards_are_not_among_them(catalogs: Catalogs) -> None:
    assert {gpu.id for gpu in catalogs.gpus.values() if gpu.consumer} == {"rtx3090", "rtx4090", "rtx5090"}
    assert failing(catalogs, "runpod", "consumer_gpu") == {True, False}
    assert failing(catalogs, "runpod", "consumer_gpu", consumer_gpus=True) == {False}


def test_an_old_price_is_admitted_and_flagged_and_a_strict_choice_leaves_it_out(catalogs: Catalogs) -> None:
    policy = Policy()
    assert failing(catalogs, "gcp", "price_age") == {False}
    assert failing(catalogs, "gcp", "price_age", max_price_age_days=365) == {True, False}
    days = [policy.flagged_from_days(kind) for kind in ("hyperscaler", "owned", "established", "unknown")]
    assert days == [180, 180, 90, 90]
    assert Policy.model_validate({"flag_price_age_days": 30}).flagged_from_days("hyperscaler") == 30


def test_lambda_sells_its_a100_pcie_at_what_two_lists_say(catalogs: Catalogs) -> None:
    (price,) = [o.price_usd_per_hour for o in catalogs.offers if o.provider == "lambda" and o.gpu == "a100-40-pcie"]
    assert float(price) == 1.29
    assert max(row.as_of for row in (*catalogs.offers, *catalogs.serverless)) == catalogs.as_of
