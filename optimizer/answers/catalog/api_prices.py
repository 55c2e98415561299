"""A price list of hosted APIs made rows of ours: models by recorded names, no zero and no router between hosts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from optimizer.answers.catalog.imported import (
    ImportedPrices,
    PriceListTerms,
    PriceRefused,
    check_names,
    left_out_prices,
    new_sources,
    newer_day,
)
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.signs import look
from optimizer.inputs.catalog.records import Catalogs, ServerlessPrice
from optimizer.inputs.importing.api_prices import CACHED, INPUT, OUTPUT, REQUEST, ListedApi, read_api_prices
from optimizer.performance.candidates.apis import TUNED

UNIT: Final = "million tokens"
NO_LINE: Final = 0
FREE_CACHE: Final = "cached input at a price of 0: read as no price of its own"


@dataclass(frozen=True)
class _Known:
    """What the catalogs call hosts and models, ready to look up.

    Attributes:
        rows: Prices that are known, by what provider and name look like.
        models: Model ids by published name and by id, fine-tunes left out: their weights are others.
        hosts: Our names of hosts by that of other lists.
        routers: Patterns of names that stand between hosts.
    """

    rows: Mapping[tuple[str, str], ServerlessPrice]
    models: Mapping[str, str]
    hosts: Mapping[str, str]
    routers: tuple[str, ...]


def import_api_prices(
    path: Path, catalogs: Catalogs, terms: PriceListTerms, format_name: str | None = None
) -> ImportedPrices:
    """Reads a price list of hosted APIs and says of every price what became of it.

    Args:
        path: A JSON file of LiteLLM or genai-prices.
        catalogs: What is known.
        terms: What the list does not say of itself: its source, and the day of its prices.
        format_name: What to read the file as; else told by its content.

    Returns:
        The rows for `serverless.csv`, the sources that are new with them, and what was left out and why.

    Raises:
        InputError: the file is no such list; or `terms` lack the source or the day, or name a model that is not known.
    """
    day = _checked(path, terms, catalogs)
    chosen, listed = read_api_prices(path, day, format_name)
    known = _known(catalogs)
    named = {name.casefold(): model for name, model in terms.models.items()}
    found: defaultdict[tuple[str, str], list[ServerlessPrice]] = defaultdict(list)
    refused: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    remarks: Counter[str] = Counter()
    for price in listed:
        try:
            row = _row(price, known, named, terms)
        except PriceRefused as problem:
            refused[problem.reason].append(NO_LINE)
            continue
        remarks.update([FREE_CACHE] if price.prices_usd.get(CACHED) == 0 else [])
        found[look(row.provider), look(row.provider_model_name)].append(row)
    kept = tuple(map(_dearest, (found[key] for key in sorted(found))))
    return ImportedPrices(
        format_name=chosen,
        prices=len(listed),
        apis=kept,
        sources=new_sources(kept, catalogs, terms, path),
        merged=sum(map(len, found.values())) - len(kept),
        left_out=left_out_prices(refused),
        remarks=tuple(remarks.most_common()),
        day=newer_day(kept, catalogs),
    )


def _checked(path: Path, terms: PriceListTerms, catalogs: Catalogs) -> date:
    """The day of the prices; whatever no such list says must have been said by an option."""
    given = {"--as-of": terms.as_of, "--source": terms.source}
    findings = [
        Finding(str(path), 0, option, "the file does not say it", "give this option")
        for option, value in given.items()
        if not value
    ]
    findings += [
        Finding("--model", 0, "", f"unknown model '{model}'", did_you_mean(model, catalogs.models))
        for model in terms.models.values()
        if model not in catalogs.models
    ]
    if findings or terms.as_of is None:
        raise InputError(findings)
    return terms.as_of


def _known(catalogs: Catalogs) -> _Known:
    published = [(alias.hf_id, alias.model) for alias in catalogs.aliases.values() if alias.relation not in TUNED]
    names = [(name, model.id) for model in catalogs.models.values() for name in (model.hf_id, model.id)]
    others = [alias for alias in catalogs.offer_aliases if alias.subject in ("host", "router")]
    return _Known(
        rows={(look(row.provider), look(row.provider_model_name)): row for row in catalogs.serverless},
        models={name.casefold(): model for name, model in (*published, *names)},
        hosts={alias.name: alias.id for alias in others if alias.subject == "host"},
        routers=tuple(alias.name for alias in others if alias.subject == "router"),
    )


def _row(listed: ListedApi, known: _Known, named: Mapping[str, str], terms: PriceListTerms) -> ServerlessPrice:
    """One price with everything that a row needs."""
    if listed.problem is not None:
        raise PriceRefused(*listed.problem)
    if any(fnmatchcase(listed.provider, pattern) for pattern in known.routers):
        raise PriceRefused("a router between hosts, or no host of its own", listed.provider)
    provider = known.hosts.get(listed.provider, listed.provider)
    before = known.rows.get((look(provider), look(listed.name)))
    name = listed.name.casefold()
    model = named.get(name) or (before.model if before else "") or known.models.get(name, "")
    if not model:
        raise PriceRefused("model not in the catalog", provider, "--model NAME=ID")
    _check(listed, provider)
    cells = {column: str(price) for column, price in listed.prices_usd.items() if price}
    try:
        return ServerlessPrice.model_validate(
            {
                **cells,
                "provider": provider,
                "model": model,
                # the spelling that is known, so that the row takes the place of the older one
                "provider_model_name": before.provider_model_name if before else listed.name,
                "max_input_tokens": listed.max_prompt_tokens,
                "unit": before.unit if before else UNIT,
                "as_of": terms.as_of,
                "source": terms.source,
                "confidence": terms.confidence,
                "note": listed.note,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        about = ".".join(str(step) for step in first["loc"])
        raise PriceRefused(f"{about} cannot be read", f"{provider}/{listed.name}") from error


def _check(listed: ListedApi, provider: str) -> None:
    """Names that can be told apart by eye, and a price for prompts and answers, or for requests, above zero."""
    check_names(provider, listed.name)
    about = f"{provider}/{listed.name}"
    asked = {column: listed.prices_usd.get(column) for column in (INPUT, OUTPUT, REQUEST)}
    if any(price is not None and price <= 0 for price in asked.values()) or listed.prices_usd.get(CACHED, 0) < 0:
        raise PriceRefused("price is not above zero", about)
    if not asked[REQUEST] and not (asked[INPUT] and asked[OUTPUT]):
        raise PriceRefused("no price per token", about)


def _dearest(rows: Iterable[ServerlessPrice]) -> ServerlessPrice:
    """Of several prices of the same thing the highest, which says so."""
    ordered = sorted(rows, key=_prices)
    lowest, dearest = ordered[0], ordered[-1]
    if _prices(lowest) == _prices(dearest):
        return dearest
    spread = f"the highest of {len(ordered)} listings"
    return dearest.model_copy(update={"note": f"{dearest.note}; {spread}" if dearest.note else spread})


def _prices(row: ServerlessPrice) -> tuple[Decimal, ...]:
    """What it asks, what weighs most first; a price that is not stated counts as none."""
    return tuple(getattr(row, column) or Decimal(0) for column in (OUTPUT, INPUT, REQUEST, CACHED))
