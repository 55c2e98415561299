"""What a plan was made from: its scenario word for word, and hashes that tell later which of its inputs has changed."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

from pydantic import BaseModel, JsonValue

from optimizer.base.model import Strict
from optimizer.base.once_of import OnceOf
from optimizer.base.version import VERSION
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Scenario

NO_MATTER: Final = frozenset({"description", "lifecycle", "risk"})
"""Fields of a scenario on which no plan depends."""

CHOSEN: Final = frozenset({"requests_per_second", "demand", "stated_as"})
"""Fields of a workload with a deadline that follow from the hours in which a plan works on it."""

WORDS: Final = frozenset({"note", "source", "title", "licence"})
"""Columns that say where a row comes from, and that no plan depends on."""

OFFERED: Final = attrgetter(
    *(name for name in Offer.model_fields if name not in {"price_usd_per_hour", "as_of"} | WORDS)
)
PER_TOKEN: Final = tuple(
    f"usd_per_{unit}"
    for unit in ("million_input_tokens", "million_output_tokens", "million_cached_input_tokens", "request")
)


class PlanInputs(Strict):
    """Everything that decides a plan, one entry for each cause a later difference may have.

    Prices are those of offers after discounts, of hosted APIs and of what is rented beside, with their dates; the
    catalog is the rest of what is known: which offers there are, GPUs, models, precisions, engines, quality, places.
    """

    program: str
    """Version of the program."""
    scenario_sha256: str
    prices_sha256: str
    catalog_sha256: str
    calibration_sha256: str
    scenario: dict[str, JsonValue]
    """As planned: defaults left out, files that it names read in."""


def inputs_of(scenario: Scenario, catalogs: Catalogs) -> PlanInputs:
    """The inputs as a plan on them records them."""
    content = asked(scenario)
    return PlanInputs(
        program=VERSION,
        scenario_sha256=content_sha256(content),
        scenario=content,
        **catalogs_sha256(catalogs, by_second="per_second" in scenario.policy.hosting),
    )


def asked(scenario: Scenario) -> dict[str, JsonValue]:
    """A scenario as a plan records it: what a plan depends on, defaults left out."""
    return scenario.model_dump(mode="json", exclude_defaults=True, exclude=set(NO_MATTER))


def stated(content: Mapping[str, Any]) -> dict[str, JsonValue]:
    """A recorded scenario without what its plan chose: at which rate a batch is worked on, which follows from hours."""
    workloads = [
        {name: value for name, value in each.items() if name not in CHOSEN} if "deadline" in each else each
        for each in content.get("workloads", ())
    ]
    return {**content, "workloads": workloads}


def fields_of(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every field that holds no others, as a path with list elements by name, and its value."""
    if isinstance(node, Mapping):
        for name, child in node.items():
            yield from fields_of(child, f"{path}.{name}" if path else str(name))
    elif isinstance(node, list) and any(isinstance(each, Mapping) for each in node):
        for position, child in enumerate(node):
            label = child["name"] if isinstance(child, Mapping) and isinstance(child.get("name"), str) else position
            yield from fields_of(child, f"{path}[{label}]")
    else:
        yield path, node if isinstance(node, str) else json.dumps(node, ensure_ascii=False)


def catalogs_sha256(catalogs: Catalogs, *, by_second: bool) -> dict[str, str]:
    """The hashes of everything that is known, by their names in the record; of containers where a plan may use them."""
    prices = _prices_and_containers_sha256 if by_second else _prices_sha256
    return {
        "prices_sha256": prices(catalogs),
        "catalog_sha256": _known_sha256(catalogs),
        "calibration_sha256": _calibration_sha256(catalogs),
    }


def content_sha256(content: object) -> str:
    """The hash by which one of a plan's inputs is known again."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=_plain).encode()).hexdigest()


def _plain(value: object) -> object:
    """Money in its shortest form and dates as text, so that 0.50 and 0.5 are the same price."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return str(value) if isinstance(value, date) else repr(value)


def _prices(catalogs: Catalogs) -> list[Any]:
    offers = [(offer.id, offer.price_usd_per_hour, offer.as_of) for offer in catalogs.offers]
    hosted = [
        (row.provider, row.provider_model_name, row.unit, row.as_of, *(getattr(row, name) for name in PER_TOKEN))
        for row in catalogs.serverless
    ]
    beside = [(row.provider, row.item, row.unit, row.value) for row in catalogs.ancillary]
    return [catalogs.as_of, offers, hosted, beside]


def _by_second(catalogs: Catalogs) -> list[Any]:
    """Prices of containers, with their dates, and how long a server takes to start in one."""
    return [
        [row.model_dump(mode="json", exclude=set(WORDS)) for row in catalogs.per_second],
        _rows(catalogs.start_up),
    ]


def _known(catalogs: Catalogs) -> list[Any]:
    """All but prices and calibration; aliases of other people's price lists only matter when those are imported."""
    terms = catalogs.terms
    by_name = (
        catalogs.gpus,
        catalogs.models,
        catalogs.aliases,
        catalogs.thinking,
        catalogs.length_profiles,
        catalogs.schemes,
    )
    by_place = (terms.sellers, terms.operators, terms.round_trips, terms.grid)
    hosted = WORDS | {"as_of", *PER_TOKEN}
    return [
        [OFFERED(offer) for offer in catalogs.offers],
        *(_rows(table.values()) for table in (*by_name, catalogs.kernel_support, catalogs.engines, *by_place)),
        *map(_rows, (catalogs.engine_defaults, catalogs.acceptance, catalogs.quality, catalogs.quality_spreads)),
        [row.model_dump(mode="json", exclude=set(hosted)) for row in catalogs.serverless],
        [(*key, *terms.regions[key].names, terms.regions[key].account) for key in sorted(terms.regions)],
        sorted(terms.available_instances.items()),
        [(key, row.power_kw, row.instances) for key, row in sorted(terms.owned.items())],
    ]


def _rows(rows: Iterable[BaseModel]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json", exclude=set(WORDS) | {"as_of"}) for row in rows]


_prices_sha256 = OnceOf[Catalogs, str](lambda catalogs: content_sha256(_prices(catalogs)))
_prices_and_containers_sha256 = OnceOf[Catalogs, str](
    lambda catalogs: content_sha256([*_prices(catalogs), *_by_second(catalogs)])
)
_known_sha256 = OnceOf[Catalogs, str](lambda catalogs: content_sha256(_known(catalogs)))
_calibration_sha256 = OnceOf[Catalogs, str](lambda catalogs: content_sha256(_rows(catalogs.calibration)))
