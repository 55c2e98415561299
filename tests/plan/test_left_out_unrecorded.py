"""Offers that are left out since nobody recorded a fact that a policy asks for: their sellers are named."""

from typing import Any

import numpy as np
import pytest

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.fields import AllowDeny
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import OFFER_CRITERIA
from optimizer.performance.market.market import Market, market
from optimizer.plan.grounds.filters import UNRECORDED, left_out_unrecorded

ASKING: dict[str, tuple[dict[str, Any], str]] = {
    "country_known": ({"countries": {"allow": ["eu"]}}, "policy.countries: nobody recorded in which country"),
    "power_known": ({"max_power_kw": 40}, "policy.max_power_kw: nobody recorded what power"),
    "carbon_known": (
        {"max_carbon_kg_per_month": 900, "grid": {"pue": 1.2}},
        "policy.max_carbon_kg_per_month: nobody recorded what power",
    ),
    "storage_priced": (
        {"storage_gb_per_instance": 200},
        "policy.storage_gb_per_instance: nobody recorded what storage",
    ),
    "egress_priced": ({"egress": {"bytes_per_output_token": 4}}, "policy.egress: nobody recorded what sending answers"),
}


def asking(**policy: Any) -> Scenario:
    raw = load_scenario("chat-8b").model_dump()
    return Scenario.model_validate(raw | {"policy": policy})


def test_every_fact_is_asked_for_here() -> None:
    assert set(ASKING) == set(UNRECORDED)
    assert set(UNRECORDED) == {item.name for item in OFFER_CRITERIA if item.name.endswith(("_known", "_priced"))}


@pytest.mark.parametrize("criterion", ASKING)
def test_sellers_left_out_for_want_of_a_fact_are_named(criterion: str, catalogs: Catalogs) -> None:
    policy, words = ASKING[criterion]
    scenario = asking(**policy)
    offers = market(catalogs, scenario.policy)
    told = [text for text in left_out_unrecorded(scenario, offers) if text.startswith(words)]
    column = [item.name for item in OFFER_CRITERIA].index(criterion)
    only_that = offers.failed[:, column] & ~np.delete(offers.failed, column, axis=1).any(axis=1)
    out = {offer.provider for offer, is_out in zip(offers.offers, only_that, strict=True) if is_out}
    left = {offer.provider for offer, admitted in zip(offers.offers, offers.admitted, strict=True) if admitted}
    assert len(told) == bool(out - left)
    assert all(", ".join(sorted(out - left)[:4]) in text for text in told)
    assert out - left or criterion in ("power_known", "carbon_known")


def test_who_asks_for_no_such_fact_is_told_nothing(catalogs: Catalogs) -> None:
    scenario = asking()
    assert not list(left_out_unrecorded(scenario, market(catalogs, scenario.policy)))


def test_cards_that_are_not_asked_for_are_not_missed(catalogs: Catalogs) -> None:
    scenario = asking(countries={"allow": ["eu"]}, gpus={"allow": ["no-such-card"]})
    assert not list(left_out_unrecorded(scenario, market(catalogs, scenario.policy)))


def test_a_workload_of_its_own_countries_says_the_same_of_them(catalogs: Catalogs) -> None:
    everywhere, (of_policy,) = asking(), left_out_unrecorded(*held(asking(countries={"allow": ["eu"]}), catalogs))
    (chat,) = everywhere.workloads
    european = chat.model_copy(update={"countries": AllowDeny(allow=("eu",))})
    (of_workload,) = left_out_unrecorded(*held(everywhere.model_copy(update={"workloads": (european,)}), catalogs))
    assert of_workload.removeprefix("chat: ") == of_policy.removeprefix("policy.countries: ")


def held(scenario: Scenario, catalogs: Catalogs) -> tuple[Scenario, Market]:
    return scenario, market(catalogs, scenario.policy)
