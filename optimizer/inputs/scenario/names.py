"""Names that mean something only in the catalogs, found by the types of a record's fields, whatever else is wrong."""

import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel

from optimizer.base.errors import Finding, did_you_mean, some_of
from optimizer.inputs import scenario as door
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.fields import NameKind, NameOf
from optimizer.inputs.scenario.yaml_lines import Document, Location

MOST_TOLD: Final = 100
"""Of the unknown names of a document with wrong fields: each is held against all known ones for a suggestion."""
REGIONS: Final = "regions"
"""Where people name countries by mistake."""
MISSPELT: Final = 0.8
"""How alike a place is to one that was meant; what is less so lies anywhere: of Asia it would be Australia."""


@dataclass(frozen=True)
class Named:
    """A name as it stands in a document, and what it should be a name of."""

    location: Location
    text: str
    of: NameOf


def names_in(content: object, record: type[BaseModel], at: Location = ()) -> Iterator[Named]:
    """Every name in a document of that record, in the order of its fields; what has another shape is passed over."""
    if not isinstance(content, dict):
        return
    for field, info in record.model_fields.items():
        value, here = content.get(field), (*at, field)
        inner = record_in(info.annotation)
        of = next((each for each in info.metadata if isinstance(each, NameOf)), None)
        if of is not None:
            # where figures are given by name, a text alone is a figure that cannot be read
            told = None if isinstance(value, str) and dict in kinds_in(info.annotation) else value
            yield from (Named(location, text, of) for location, text in _texts(told, inner, here))
        elif inner is not None:
            items = enumerate(value) if isinstance(value, list | tuple) else None
            for location, item in [(here, value)] if items is None else (((*here, n), item) for n, item in items):
                yield from names_in(item, inner, location)


def _texts(value: object, inner: type[BaseModel] | None, at: Location) -> Iterator[tuple[Location, str]]:
    """A text, those of a list, those of the lists of a record, or what figures are given by."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, list | tuple):
        yield from ((at, item) for item in value if isinstance(item, str))
    elif isinstance(value, dict) and inner is not None:
        for field in inner.model_fields:
            yield from _texts(value.get(field), None, (*at, field))
    elif isinstance(value, dict):
        yield from ((at, name) for name in value if isinstance(name, str))


def unknown_names(document: Document, record: type[BaseModel], catalogs: Catalogs) -> Iterator[Finding]:
    """A finding, with its line, for each name in a document that the catalogs do not know."""
    known: dict[NameKind, list[str]] = {}
    for named in names_in(document.content, record):
        kind = named.of.kind
        if kind not in known:
            known[kind] = sorted(_known(kind, catalogs))
        if not _matches(named, known[kind], catalogs):
            problem, hint = _unknown(named, known[kind], document, catalogs)
            line = document.line(named.location)
            yield Finding(document.file, line, document.path(named.location), problem, hint)


def with_unknown_names(
    findings: Iterable[Finding], document: Document, record: type[BaseModel], catalogs: Catalogs
) -> list[Finding]:
    """What is wrong with a document's fields, and of what stands in other fields the names that nobody knows."""
    told = list(findings)
    fields = {each.field for each in told}
    first = islice(unknown_names(document, record, catalogs), MOST_TOLD)
    beside = (each for each in first if each.field not in fields)
    return sorted([*told, *beside], key=lambda each: (each.file, each.line))


def _known(kind: NameKind, catalogs: Catalogs) -> Iterable[str]:
    """What the catalogs know of a kind."""
    offers, terms = catalogs.offers, catalogs.terms
    match kind:
        case "model":
            return [*catalogs.models, *(alias.hf_id for alias in catalogs.aliases.values())]
        case "gpu":
            return catalogs.gpus
        case "seller":
            return {offer.provider for offer in offers}
        case "provider":
            hosts = {row.provider for row in catalogs.serverless if row.model}
            return hosts | {row.provider for row in catalogs.per_second} | {offer.provider for offer in offers}
        case "region":
            return {offer.region for offer in offers}
        case "country":
            return {name for region in terms.regions.values() for name in region.names}
        case "engine":
            return {engine.id for engine in catalogs.engines.values() if engine.plannable}
        case "precision":
            return catalogs.schemes
        case "kv_precision":
            return {name for engine in catalogs.engines.values() for name in engine.kv_precisions}
        case "geography":
            return {geography for geography, _, _ in terms.round_trips}
        case "length_profile":
            return catalogs.length_profiles


def _matches(named: Named, known: list[str], catalogs: Catalogs) -> bool:
    """Whether a name, or one that its wildcards cover, is known; models also by what they were published as."""
    if named.of.kind == "model":
        return named.text in catalogs.models or named.text.casefold() in catalogs.aliases
    # codes of countries are read in either case
    text = named.text.casefold() if named.of.kind == "country" else named.text
    return any(fnmatchcase(name, text) for name in known) if named.of.wildcards else text in known


def _unknown(named: Named, known: list[str], document: Document, catalogs: Catalogs) -> tuple[str, str]:
    """What is wrong with a name, and the nearest that are known."""
    near, at = did_you_mean(named.text, known), named.location
    problem, hint = f"'{named.text}' matches nothing in the catalogs", near or f"known: {some_of(known)}"
    match named.of.kind:
        case "model":
            problem, hint = f"unknown model '{named.text}'", door.why_not_planned(named.text) or near
        case "provider" | "seller" if (cloud := _cloud_of(named.text, catalogs)) in known:
            hint = f"did you mean {cloud}?"
        case "geography":
            misspelt = did_you_mean(named.text, known, alike=MISSPELT)
            problem = f"nobody measured round trips from '{named.text}'"
            hint = misspelt or f"known: {some_of(known)}"
        case "length_profile":
            problem = f"unknown profile of lengths '{named.text}'"
        case "country" if (code := _aliased(named.text, "country", catalogs)) in known:
            hint = f"did you mean {code}?"
        case "region" if REGIONS in at and _is_country(named.text, catalogs):
            countries = document.path((*at[: at.index(REGIONS)], "countries"))
            hint = f"{countries} is where countries are named"
    return problem, hint


def _cloud_of(text: str, catalogs: Catalogs) -> str | None:
    """What the catalogs call a cloud by its company, which a name begins with (Google Cloud), or by another name."""
    companies = (alias for alias in catalogs.offer_aliases if alias.subject == "company")
    begun = (alias.id for alias in companies if text.casefold().startswith(alias.name.casefold()))
    return next(begun, None) or _aliased(text, "provider", catalogs)


def _aliased(text: str, subject: str, catalogs: Catalogs) -> str | None:
    """What the catalogs call a provider or a country by another name of it."""
    others = (alias for alias in catalogs.offer_aliases if alias.subject == subject)
    return next((alias.id for alias in others if alias.name.casefold() == text.casefold()), None)


def _is_country(text: str, catalogs: Catalogs) -> bool:
    """Whether it is the code of a country, or the name of one."""
    return text.casefold() in _known("country", catalogs) or _aliased(text, "country", catalogs) is not None


def kinds_in(annotation: Any) -> set[Any]:
    """What an annotation is made of: `dict[str, float] | None` of a dict, texts, numbers and nothing."""
    parts = typing.get_args(annotation)
    return {typing.get_origin(annotation) or annotation}.union(*(kinds_in(part) for part in parts))


def record_in(annotation: Any) -> type[BaseModel] | None:
    """The record type inside an annotation such as `list[Quota]` or `Latency | None`."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for part in typing.get_args(annotation) if (found := record_in(part))), None)
