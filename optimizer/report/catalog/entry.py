"""Everything the catalogs say about one name: a GPU, a model, an engine, a precision, a provider or a source."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.model import Strict
from optimizer.inputs.catalog.quality import quality_share
from optimizer.inputs.catalog.records import Catalogs, Model, Offer
from optimizer.report.catalog.catalog import LISTINGS, listing_section
from optimizer.report.layout.elements import Section, Table

SHOWN_OFFERS = 12
SHOWN_ALIASES = 12


@dataclass(frozen=True)
class CatalogEntry:
    """One name's record with what belongs to it, in sections for reading and in rows for programs."""

    kind: str
    name: str
    sections: tuple[Section, ...]
    rows: Mapping[str, Sequence[Strict]]


def catalog_entries(catalogs: Catalogs, name: str) -> tuple[CatalogEntry, ...]:
    """Everything the catalogs say about one name.

    Args:
        catalogs: What is known.
        name: A GPU, model, engine, precision, provider or source, in any case.

    Returns:
        Every entry of that name; usually one.

    Raises:
        InputError: no catalog knows the name; gives the nearest.
    """
    found = []
    for kind, (names, describe) in KINDS.items():
        folded = {known.casefold(): known for known in names(catalogs)}
        if name.casefold() in folded:
            found.append(describe(catalogs, kind, folded[name.casefold()]))
    if not found:
        known = sorted({each for names, _ in KINDS.values() for each in names(catalogs)})
        hint = did_you_mean(name, known) or "see the names with `optimizer catalog list`"
        raise InputError([Finding("catalogs", 0, "", f"nothing is called '{name}'", hint)])
    return tuple(found)


def _gpu(catalogs: Catalogs, kind: str, name: str) -> CatalogEntry:
    gpu = catalogs.gpus[name]
    figures = tuple(figure for figure in catalogs.gpu_figures if figure.gpu == name)
    cells = tuple((f.figure, f.value, f.unit, f.status, str(f.as_of), f.source, f.note) for f in figures)
    headings = ("figure", ">value", "unit", "status", "as of", "source", "note")
    kernels = tuple(row for row in catalogs.kernel_support.values() if row.architecture == gpu.architecture)
    offers = _offers(catalogs, lambda offer: offer.gpu == name)
    lines = (f"{gpu.vendor}, {gpu.architecture}, linked by {gpu.link}", *([gpu.note] if gpu.note else []))
    sections = (
        Section(f"{kind} {name}: {gpu.name}", lines, Table(headings, cells)),
        Section("Precisions", tuple(_supported(kernels))),
        *_offer_sections(offers),
    )
    return CatalogEntry(kind, name, sections, {"gpu": (gpu,), "figures": figures, "kernels": kernels, "offers": offers})


def _supported(kernels: Sequence[Any]) -> Iterator[str]:
    """Which precisions run natively, which are only unpacked, which do not run."""
    for level, words in (("native", "native"), ("weight_only", "only unpacked: saves memory"), ("none", "not run")):
        schemes = [row.scheme for row in kernels if row.support == level]
        if schemes:
            yield f"{words}: {', '.join(schemes)}"


def _model(catalogs: Catalogs, kind: str, name: str) -> CatalogEntry:
    alias = catalogs.aliases.get(name.casefold())
    model = catalogs.model(name)
    aliases = tuple(row for row in catalogs.aliases.values() if row.model == model.id)
    figures = tuple(row for row in catalogs.quality if row.model == model.id)
    hosted = tuple(row for row in catalogs.serverless if row.model == model.id)
    said = [f"{name} is {model.id}: {alias.relation}. {alias.note}".strip()] if alias is not None else []
    said += [model.note] if model.note else []
    sections = (
        Section(f"{kind} {model.id}: {model.hf_id}", tuple(said), _fields(model, hidden={"id", "hf_id", "note"})),
        Section("What precisions keep of the 16-bit score", (), _quality(catalogs, model)),
        _aliases(aliases),
        *([listing_section("serverless", hosted, 0)] if hosted else []),
    )
    rows = {"model": (model,), "aliases": aliases, "quality": figures, "serverless": hosted}
    return CatalogEntry(kind, name, tuple(section for section in sections if section.lines or section.table), rows)


def _quality(catalogs: Catalogs, model: Model) -> Table:
    rows = []
    unknown = []
    for scheme in catalogs.schemes:
        estimate = quality_share(catalogs, model.id, scheme)
        if estimate is None:
            unknown.append(scheme)
        else:
            rows.append((scheme, f"{estimate.share:.1%}", estimate.basis))
    rows += [(" ".join(unknown), "unknown", "nobody published it")] if unknown else []
    return Table(("precision", ">kept", "basis"), tuple(rows))


def _aliases(aliases: Sequence[Any]) -> Section:
    rest = len(aliases) - SHOWN_ALIASES
    names = [f"{row.hf_id} ({row.relation})" for row in aliases[:SHOWN_ALIASES]]
    more = [f"and {rest} more: optimizer catalog list aliases --filter {aliases[0].model}"] if rest > 0 else []
    return Section("Also published as", (*names, *more))


def _engine(catalogs: Catalogs, kind: str, name: str) -> CatalogEntry:
    engine = catalogs.engines[name]
    lines = (engine.note,) if engine.note else ()
    table = _fields(engine, hidden={"id", "name", "note"})
    return CatalogEntry(kind, name, (Section(f"{kind} {name}: {engine.name}", lines, table),), {"engine": (engine,)})


def _precision(catalogs: Catalogs, kind: str, name: str) -> CatalogEntry:
    scheme = catalogs.schemes[name]
    kernels = tuple(row for row in catalogs.kernel_support.values() if row.scheme == name)
    headings = ("architecture", "support", "source", "note")
    cells = tuple((row.architecture, row.support.replace("_", " "), row.source, row.note) for row in kernels)
    lines = (scheme.note,) if scheme.note else ()
    sections = (
        Section(f"{kind} {name}", lines, _fields(scheme, hidden={"id", "note"})),
        Section("Kernels", (), Table(headings, cells)),
    )
    return CatalogEntry(kind, name, sections, {"precision": (scheme,), "kernels": kernels})


def _provider(catalogs: Catalogs, kind: str, name: str) -> CatalogEntry:
    offers = _offers(catalogs, lambda offer: offer.provider == name)
    hosted = tuple(row for row in catalogs.serverless if row.provider == name)
    costs = tuple(row for row in catalogs.ancillary if row.provider == name)
    kinds = ", ".join(sorted({offer.provider_kind for offer in offers})) or "hosted models only"
    regions = len({offer.region for offer in offers})
    about = (kinds, *([f"{len(offers)} prices in {regions} regions: {_terms(offers)}"] if offers else []))
    sections = [Section(f"{kind} {name}", about)]
    cheapest = _cheapest(offers)
    first = {offer.gpu: offer for offer in reversed(cheapest)}
    each = sorted((first[gpu] for gpu in first), key=lambda offer: offer.gpu)
    if each:
        sections.append(Section("Cheapest of each GPU", (), listing_section("offers", each, 0).table))
    sections += [listing_section("serverless", hosted, 0)] if hosted else []
    sections += [listing_section("ancillary", costs, 0)] if costs else []
    return CatalogEntry(kind, name, tuple(sections), {"offers": offers, "serverless": hosted, "ancillary": costs})


def _source(catalogs: Catalogs, kind: str, name: str) -> CatalogEntry:
    source = catalogs.sources[name]
    used = Counter(
        listing
        for listing in LISTINGS
        for row in LISTINGS[listing].rows(catalogs)
        if getattr(row, "source", None) == name
    )
    used["GPU figures"] = sum(figure.source == name for figure in catalogs.gpu_figures)
    lines = [f"{source.licence}; as of {source.as_of}"]
    lines += [f"{count:,} rows of {listing}" for listing, count in sorted(used.items()) if count]
    return CatalogEntry(kind, name, (Section(f"{kind} {name}: {source.title}", tuple(lines)),), {"source": (source,)})


def _offers(catalogs: Catalogs, wanted: Callable[[Offer], bool]) -> tuple[Offer, ...]:
    return tuple(offer for offer in catalogs.offers if wanted(offer))


def _offer_sections(offers: Sequence[Offer]) -> Iterator[Section]:
    """The cheapest on-demand offers per GPU-hour, and how many there are on each term."""
    if offers:
        table = listing_section("offers", _cheapest(offers)[:SHOWN_OFFERS], 0).table
        yield Section("Cheapest per GPU-hour", (f"of {len(offers)} prices: {_terms(offers)}",), table)


def _terms(offers: Sequence[Offer]) -> str:
    terms = Counter(offer.pricing_term for offer in offers)
    return ", ".join(f"{count} {term.replace('_', ' ')}" for term, count in sorted(terms.items()))


def _cheapest(offers: Sequence[Offer]) -> list[Offer]:
    """On-demand offers, or all where there are none, by price per GPU-hour."""
    on_demand = [offer for offer in offers if offer.pricing_term == "on_demand"] or offers
    return sorted(on_demand, key=lambda offer: (offer.price_usd_per_hour / offer.gpu_count, offer.id))


def _fields(row: Strict, hidden: Iterable[str]) -> Table:
    """A record as field and value, unknown ones left out."""
    values = row.model_dump(mode="json", exclude=set(hidden))
    told = {name: value for name, value in values.items() if value not in (None, "")}
    return Table(("field", "value"), tuple((name, _shown(value)) for name, value in told.items()))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}" if isinstance(value, float) else str(value)


def _model_names(catalogs: Catalogs) -> list[str]:
    return [*catalogs.models, *(alias.hf_id for alias in catalogs.aliases.values())]


def _provider_names(catalogs: Catalogs) -> list[str]:
    rented = {row.provider for row in catalogs.offers}
    hosted = {row.provider for row in catalogs.serverless}
    return sorted(rented | hosted | {row.provider for row in catalogs.ancillary})


KINDS: dict[str, tuple[Callable[[Catalogs], Iterable[str]], Callable[[Catalogs, str, str], CatalogEntry]]] = {
    "GPU": (lambda known: known.gpus, _gpu),
    "model": (_model_names, _model),
    "engine": (lambda known: known.engines, _engine),
    "precision": (lambda known: known.schemes, _precision),
    "provider": (_provider_names, _provider),
    "source": (lambda known: known.sources, _source),
}
"""What can be shown: the names of each kind, and who describes one."""
