"""Hosted APIs as candidates: what one request of each class costs there, and why the others are left out."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from operator import attrgetter
from typing import Final

from optimizer.base.units import TOKENS_PER_MILLION
from optimizer.inputs.catalog.records import Catalogs, ServerlessPrice
from optimizer.inputs.scenario.scenario import Policy, RequestClass, Scenario, Workload
from optimizer.performance.candidates.options import variants

TUNED: Final = frozenset({"fine_tune", "distill_same_architecture"})
"""Relations of a published name to a model whose weights differ from those that an API of the model serves."""


@dataclass(frozen=True)
class Api:
    """One request class of a workload served by one hosted API.

    Attributes:
        workload_index: Position of the workload in the scenario.
        workload: Name of the workload.
        model: What the scenario calls the model that serves it.
        request_class: Name of the class.
        class_index: Position in the workload's classes.
        provider: Who hosts it.
        name: What the provider calls the model.
        usd_per_request: Tokens times prices, or the price of a request.
        as_of: Date of the price.
        source: Id of its source.
    """

    workload_index: int
    workload: str
    model: str
    request_class: str
    class_index: int
    provider: str
    name: str
    usd_per_request: Decimal
    as_of: date
    source: str


@dataclass(frozen=True)
class JudgedApis:
    """What can be bought by the request.

    Attributes:
        admitted: Sorted by workload, class, price, provider and name.
        rejected: How many pairs of class and price fail each of API_CRITERIA; a pair counts under each one it fails.
    """

    admitted: tuple[Api, ...]
    rejected: Mapping[str, int]


def apis(scenario: Scenario, catalogs: Catalogs) -> JudgedApis:
    """Every published price of every model that a workload may use, held against the policy, for each class."""
    admitted: list[Api] = []
    rejected: Counter[str] = Counter()
    for variant in variants(scenario):
        for row in _hosted(variant.workload, catalogs):
            for index, item in enumerate(variant.workload.classes()):
                failed = _failures(row, item, variant.workload, scenario.policy, catalogs)
                cost_usd = usd_per_request(row, item, variant.workload.cached_input_share)
                rejected.update(failed)
                if not failed and cost_usd is not None:
                    admitted.append(
                        Api(
                            workload_index=variant.workload_index,
                            workload=variant.workload.name,
                            model=variant.workload.model,
                            request_class=item.name,
                            class_index=index,
                            provider=row.provider,
                            name=row.provider_model_name,
                            usd_per_request=cost_usd,
                            as_of=row.as_of,
                            source=row.source,
                        )
                    )
    order = attrgetter("workload_index", "class_index", "usd_per_request", "provider", "name", "model")
    return JudgedApis(tuple(sorted(admitted, key=order)), dict(sorted(rejected.items())))


def usd_per_request(row: ServerlessPrice, item: RequestClass, cached_input_share: float) -> Decimal | None:
    """Price of a request plus prompt and answer tokens times their prices; None where a price is missing.

    Tokens from the prefix cache count at the cached price where one is published, else as any other.
    """
    paid_in, paid_out = row.usd_per_million_input_tokens, row.usd_per_million_output_tokens
    if paid_in is None and paid_out is None:
        return row.usd_per_request
    if paid_in is None or paid_out is None:
        return None
    cached = Decimal(repr(cached_input_share))
    cached_price = row.usd_per_million_cached_input_tokens
    prompt = paid_in * (1 - cached) + (paid_in if cached_price is None else cached_price) * cached
    tokens = item.input_tokens * prompt + item.output_tokens * paid_out
    return tokens / TOKENS_PER_MILLION + (row.usd_per_request or 0)


def _hosted(workload: Workload, catalogs: Catalogs) -> Iterator[ServerlessPrice]:
    model = catalogs.model(workload.model).id
    return (row for row in catalogs.serverless if row.model == model)


def asks_for_quality(workload: Workload) -> bool:
    """Whether quality is asked for of what is not published, which the precision of an API is not."""
    floor = workload.has_quality_floor and workload.unknown_quality != "accept"
    return floor or workload.unknown_quality == "reject"


def _failures(
    row: ServerlessPrice, item: RequestClass, workload: Workload, policy: Policy, catalogs: Catalogs
) -> list[str]:
    """The names of the API_CRITERIA that it fails."""
    age_days = (catalogs.as_of - row.as_of).days
    places = (policy.regions, policy.countries, workload.regions, workload.countries)
    failed = {
        "api_hosting": "serverless" not in policy.hosting,
        "api_provider": not all(lists.permits(row.provider) for lists in (policy.providers, workload.providers)),
        "api_place": any(lists.restricts for lists in places),
        "api_price_confidence": row.confidence not in policy.price_confidence,
        "api_price_age": policy.max_price_age_days is not None and age_days > policy.max_price_age_days,
        "api_price_complete": not usd_per_request(row, item, workload.cached_input_share),
        "api_context": row.max_input_tokens is not None and item.input_tokens > row.max_input_tokens,
        "api_weights": _has_own_weights(workload, catalogs),
        "api_quality": workload.min_quality is not None and asks_for_quality(workload),
        "api_quality_worst": workload.min_quality_worst is not None and asks_for_quality(workload),
        "api_published": not workload.has_quality_floor and asks_for_quality(workload),
        "api_measured": policy.unmeasured_performance == "reject",
        "api_precision": bool(policy.precisions or policy.kv_precisions),
        "api_carbon": policy.max_carbon_kg_per_month is not None,
    }
    return [name for name, fails in failed.items() if fails]


def _has_own_weights(workload: Workload, catalogs: Catalogs) -> bool:
    """Whether it was tuned, under a name of its own or by an adapter, and an API of the model serves other weights."""
    alias = catalogs.aliases.get(workload.model.casefold())
    tuned = alias is not None and workload.model not in catalogs.models and alias.relation in TUNED
    return tuned or workload.lora_adapters is not None
