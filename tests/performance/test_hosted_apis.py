"""Hosted APIs: every class has its price per request, and every price that is left out has a reason."""

from decimal import Decimal

import pytest
from support.scenarios import with_policy, with_workload

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs, ServerlessPrice
from optimizer.inputs.scenario.scenario import RequestClass, Scenario
from optimizer.performance.candidates.apis import apis, usd_per_request
from optimizer.performance.market.criteria import API_CRITERIA

CLASS = RequestClass(share=1, input_tokens=1000, output_tokens=200)


def row(**prices: str) -> ServerlessPrice:
    known = {"provider": "p", "provider_model_name": "m", "unit": "million tokens", "source": "s"}
    return ServerlessPrice.model_validate(known | {"as_of": "2026-11-01", "confidence": "listed"} | prices)


TOKENS = {"usd_per_million_input_tokens": "0.5", "usd_per_million_output_tokens": "2"}


@pytest.mark.parametrize(
    ("prices", "cached", "usd"),
    [
        (TOKENS, 0.0, "0.0009"),
        (TOKENS, 0.5, "0.0009"),
        (TOKENS | {"usd_per_million_cached_input_tokens": "0.1"}, 0.5, "0.0007"),
        (TOKENS | {"usd_per_million_cached_input_tokens": "0"}, 0.5, "0.00065"),
        ({"usd_per_request": "0.03"}, 0.5, "0.03"),
        (TOKENS | {"usd_per_request": "0.01"}, 0.0, "0.0109"),
        ({"usd_per_million_input_tokens": "0.5"}, 0.0, None),
        ({}, 0.0, None),
    ],
)
def test_a_request_costs_its_tokens_times_their_prices(prices: dict[str, str], cached: float, usd: str | None) -> None:
    assert usd_per_request(row(**prices), CLASS, cached) == (None if usd is None else Decimal(usd))


@pytest.fixture
def asked() -> Scenario:
    return with_policy(with_workload(load_scenario("chat-8b"), min_quality=None), hosting=["serverless"])


def test_every_price_of_the_model_is_either_admitted_or_rejected(asked: Scenario, catalogs: Catalogs) -> None:
    found = apis(asked, catalogs)
    model = asked.workloads[0].model
    assert found.admitted
    assert {api.model for api in found.admitted} == {model}
    assert [api.usd_per_request for api in found.admitted] == sorted(api.usd_per_request for api in found.admitted)
    listed = sum(price.model == model for price in catalogs.serverless)
    assert len(found.admitted) <= listed
    nothing = apis(load_scenario("chat-8b"), catalogs)
    assert nothing.admitted == ()
    assert nothing.rejected["api_hosting"] == listed
    assert set(nothing.rejected) <= {criterion.name for criterion in API_CRITERIA}


@pytest.mark.parametrize(
    ("policy", "workload", "reason"),
    [
        ({"countries": {"deny": ["us"]}}, {}, "api_place"),
        ({"price_confidence": ["seed"]}, {}, "api_price_confidence"),
        ({"max_price_age_days": 1}, {}, "api_price_age"),
        ({"precisions": ["bf16"]}, {}, "api_precision"),
        ({"max_carbon_kg_per_month": 5, "grid": {"g_co2_per_kwh": 300, "pue": 1.2}}, {}, "api_carbon"),
        ({"providers": {"allow": ["aws"]}}, {}, "api_provider"),
        ({}, {"providers": {"allow": ["aws"]}}, "api_provider"),
        ({}, {"regions": {"allow": ["us-*"]}}, "api_place"),
        ({}, {"min_quality": 0.9}, "api_quality"),
        ({}, {"min_quality_worst": 0.9}, "api_quality_worst"),
        ({}, {"unknown_quality": "reject"}, "api_published"),
        ({}, {"model": "allenai/Llama-3.1-Tulu-3-8B"}, "api_weights"),
        ({}, {"lora_adapters": {"count": 1, "rank": 16}}, "api_weights"),
        ({}, {"model": "deepseek-r1", "input_tokens": 60_000}, "api_context"),
    ],
)
def test_each_reason_is_counted(
    policy: dict[str, object], workload: dict[str, object], reason: str, asked: Scenario, catalogs: Catalogs
) -> None:
    before, after = apis(asked, catalogs), apis(with_policy(with_workload(asked, **workload), **policy), catalogs)
    assert after.rejected[reason] > before.rejected.get(reason, 0)


def test_an_unknown_precision_may_be_accepted(asked: Scenario, catalogs: Catalogs) -> None:
    accepted = with_workload(asked, min_quality=0.9, unknown_quality="accept")
    assert apis(accepted, catalogs).admitted == apis(asked, catalogs).admitted


def test_classes_and_models_are_priced_apart(asked: Scenario, catalogs: Catalogs) -> None:
    classes = [{"share": 0.5, "input_tokens": n, "output_tokens": 100} for n in (200, 2000)]
    mixed = with_workload(asked, request_classes=classes, input_tokens=None, output_tokens=None)
    found = apis(with_workload(mixed, alternatives=[{"model": "gpt-oss-20b", "quality": 0.9}]), catalogs).admitted
    assert {(api.model, api.request_class) for api in found} == {
        (model, name) for model in (asked.workloads[0].model, "gpt-oss-20b") for name in ("200x100", "2000x100")
    }
    assert [api.class_index for api in found] == sorted(api.class_index for api in found)
