"""Everything the catalogs say about one name: a GPU, a model, an engine, a precision, a provider or a source."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.figures import figure
from optimizer.base.model import Strict
from optimizer.inputs.catalog.entries.models import Model, ModelAlias
from optimizer.inputs.catalog.entries.terms import Seller
from optimizer.inputs.catalog.quality import quality_share
from optimizer.inputs.catalog.records import Catalogs, KernelSupport, Offer
from optimizer.report.catalog.catalog import listing_section
from optimizer.report.catalog.listings import LISTINGS
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table, with_content

SHOWN_OFFERS: Final = 12
SHOWN_ALIASES: Final = 12
FIGURES: Final[Mapping[str, Cell]] = {
    "figure": "{figure}",
    ">value": "{value}",
    "unit": "{unit}",
    "status": "{status}",
    "as of": "{as_of}",
    "source": "{source}",
    "note": "{note}",
}
KERNELS: Final[Mapping[str, Cell]] = {
    "architecture": "{architecture}",
    "support": "{support:words}",
    "source": "{source}",
    "note": "{note}",
}
SUPPORT: Final = {"native": "native", "weight_only": "only unpacked: saves memory", "none": "not run"}


RowsByCatalog = Mapping[str, Sequence[Strict]]
Description = tuple[tuple[Section, ...], RowsByCatalog]
"""What the catalogs say of a name: in sections for reading, in rows by catalog for programs."""


@dataclass(frozen=True)
class CatalogEntry:
    """One name's record with what belongs to it, in sections for reading and in rows for programs."""

    kind: str
    name: str
    sections: tuple[Section, ...]
    rows: RowsByCatalog


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
    found, known = [], set[str]()
    for kind, (names, describe) in KINDS.items():
        folded = {own.casefold(): own for own in names(catalogs)}
        known.update(names(catalogs))
        if name.casefold() in folded:
            own = folded[name.casefold()]
            found.append(CatalogEntry(kind, own, *describe(catalogs, own)))
    if not found:
        hint = did_you_mean(name, sorted(known)) or "see the names with `optimizer catalog list`"
        raise InputError([Finding("catalogs", 0, "", f"nothing is called '{name}'", hint)])
    return tuple(found)


def _gpu(catalogs: Catalogs, name: str) -> Description:
    gpu = catalogs.gpus[name]
    figures = tuple(figure for figure in catalogs.gpu_figures if figure.gpu == name)
    kernels = tuple(row for row in catalogs.kernel_support.values() if row.architecture == gpu.architecture)
    offers = tuple(offer for offer in catalogs.offers if offer.gpu == name)
    about = (f"{gpu.vendor}, {gpu.architecture}, linked by {gpu.link}", gpu.note)
    sections = [
        Section(f"GPU {name}: {gpu.name}", about, table_of(figures, FIGURES)),
        Section("Precisions", tuple(_precisions(kernels))),
    ]
    if offers:
        table = listing_section("offers", _cheapest(offers)[:SHOWN_OFFERS], 0).table
        sections.append(
            Section(
                "Cheapest per GPU-hour", (f"of {len(offers)} {plural('price', len(offers))}: {_terms(offers)}",), table
            )
        )
    return tuple(sections), {"gpu": (gpu,), "figures": figures, "kernels": kernels, "offers": offers}


def _precisions(kernels: Sequence[KernelSupport]) -> Iterator[str]:
    """Which precisions run natively, which are only unpacked, which do not run."""
    for level, meaning in SUPPORT.items():
        schemes = [row.scheme for row in kernels if row.support == level]
        if schemes:
            yield f"{meaning}: {', '.join(schemes)}"


def _model(catalogs: Catalogs, name: str) -> Description:
    alias = catalogs.aliases.get(name.casefold())
    model = catalogs.model(name)
    aliases = tuple(row for row in catalogs.aliases.values() if row.model == model.id)
    figures = tuple(row for row in catalogs.quality if row.model == model.id)
    hosted = tuple(row for row in catalogs.serverless if row.model == model.id)
    about = f"{name} is {model.id}: {alias.relation}. {alias.note}".strip() if alias is not None else ""
    sections = (
        Section(f"model {model.id}: {model.hf_id}", (about, model.note), _fields(model, {"id", "hf_id", "note"})),
        Section("What precisions keep of the 16-bit score", table=_quality(catalogs, model)),
        Section("Also published as", tuple(_published_names(aliases))),
        listing_section("serverless", hosted, 0),
    )
    rows = {"model": (model,), "aliases": aliases, "quality": figures, "serverless": hosted}
    return with_content(sections), rows


def _quality(catalogs: Catalogs, model: Model) -> Table:
    estimates = {scheme: quality_share(catalogs, model.id, scheme) for scheme in catalogs.schemes}
    rows = [
        (scheme, f"{known.share:.1%}", "" if known.worst_share is None else f"{known.worst_share:.1%}", known.basis)
        for scheme, known in estimates.items()
        if known is not None
    ]
    unknown = " ".join(scheme for scheme, known in estimates.items() if known is None)
    rows += [(unknown, "unknown", "", "nobody published it")] if unknown else []
    return Table(("precision", ">kept", ">worst benchmark", "basis"), tuple(rows))


def _published_names(aliases: Sequence[ModelAlias]) -> Iterator[str]:
    yield from (f"{row.hf_id} ({row.relation})" for row in aliases[:SHOWN_ALIASES])
    rest = len(aliases) - SHOWN_ALIASES
    if rest > 0:
        yield f"and {rest} more: optimizer catalog list aliases --filter {aliases[0].model}"


DEFAULTS: Final[Mapping[str, Cell]] = {
    "setting": "{setting}",
    ">value": "{value:,g}",
    "unit": "{unit}",
    "GPUs": "{gpu}",
    ">from GiB": "{min_memory_gib:g}",
    "before": "{before_version}",
    "status": "{status}",
    "source": "{source}",
}


def _engine(catalogs: Catalogs, name: str) -> Description:
    engine = catalogs.engines[name]
    table = _fields(engine, {"id", "name", "note"})
    closer = tuple(row for row in catalogs.engine_defaults if row.engine == name)
    sections = (
        Section(f"engine {name}: {engine.name}", (engine.note,), table),
        Section("What it starts with elsewhere", table=table_of(closer, DEFAULTS)),
    )
    return sections, {"engine": (engine,), "engine_defaults": closer}


def _precision(catalogs: Catalogs, name: str) -> Description:
    scheme = catalogs.schemes[name]
    kernels = tuple(row for row in catalogs.kernel_support.values() if row.scheme == name)
    sections = (
        Section(f"precision {name}", (scheme.note,), _fields(scheme, {"id", "note"})),
        Section("Kernels", table=table_of(kernels, KERNELS)),
    )
    return sections, {"precision": (scheme,), "kernels": kernels}


def _provider(catalogs: Catalogs, name: str) -> Description:
    offers = tuple(offer for offer in catalogs.offers if offer.provider == name)
    hosted = tuple(row for row in catalogs.serverless if row.provider == name)
    costs = tuple(row for row in catalogs.ancillary if row.provider == name)
    kinds = ", ".join(sorted({offer.provider_kind for offer in offers})) or "hosted models only"
    sellers = tuple(row for row in catalogs.terms.sellers.values() if row.provider == name)
    regions = len({offer.region for offer in offers})
    many = f"{len(offers)} {plural('price', len(offers))}"
    prices = f"{many} in {regions} {plural('region', regions)}: {_terms(offers)}" if offers else ""
    # the last offer that a GPU's key is given is its cheapest
    cheapest = {offer.gpu: offer for offer in reversed(_cheapest(offers))}
    of_each_gpu = [cheapest[gpu] for gpu in sorted(cheapest)]
    sections = (
        Section(f"provider {name}", (kinds, prices)),
        Section("Who sells", tuple(_seller(row) for row in sellers)),
        Section("Cheapest of each GPU", table=listing_section("offers", of_each_gpu, 0).table),
        listing_section("serverless", hosted, 0),
        listing_section("ancillary", costs, 0),
    )
    return with_content(sections), {
        "sellers": sellers,
        "offers": offers,
        "serverless": hosted,
        "ancillary": costs,
    }


def _seller(row: Seller) -> str:
    """What a provider says of itself, unknown facts named as such."""
    said = {
        "": f"{row.provider_kind} offers" if row.provider_kind else "",
        "seller": row.kind,
        "whole GPUs": row.whole_gpu,
        "may serve others": row.serves_others,
        "SLA": row.sla,
        "billed by": row.billing_increment,
        "at least": row.minimum_commitment,
        "note": row.note,
    }
    facts = "; ".join(f"{name}: {fact}".removeprefix(": ") for name, fact in said.items() if fact)
    return f"{facts} ({row.source}, {row.as_of})"


def _source(catalogs: Catalogs, name: str) -> Description:
    source = catalogs.sources[name]
    held = {listing: shown.rows(catalogs) for listing, shown in LISTINGS.items()} | {
        "GPU figures": catalogs.gpu_figures
    }
    counts = {listing: sum(getattr(row, "source", None) == name for row in rows) for listing, rows in held.items()}
    used = (f"{count:,} {plural('row', count)} of {listing}" for listing, count in sorted(counts.items()) if count)
    about = (f"{source.licence}; as of {source.as_of}", *used)
    return (Section(f"source {name}: {source.title}", about),), {"source": (source,)}


def _terms(offers: Sequence[Offer]) -> str:
    terms = Counter(offer.pricing_term for offer in offers)
    return ", ".join(f"{count} {term.replace('_', ' ')}" for term, count in sorted(terms.items()))


def _cheapest(offers: Sequence[Offer]) -> list[Offer]:
    """On-demand offers, or all where there are none, by price per GPU-hour."""
    on_demand = [offer for offer in offers if offer.pricing_term == "on_demand"] or offers
    return sorted(on_demand, key=lambda offer: (offer.price_usd_per_hour / offer.gpu_count, offer.id))


def _fields(row: Strict, hidden: set[str]) -> Table:
    """A record as field and value, unknown ones left out."""
    values = row.model_dump(mode="json", exclude=hidden).items()
    return Table(
        ("field", "value"), tuple((name, _written(value)) for name, value in values if value not in (None, ""))
    )


def _written(value: Any) -> str:
    match value:
        case list():
            return " ".join(map(str, value))
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{figure(value, 10)}"
    return str(value)


def _model_names(catalogs: Catalogs) -> list[str]:
    return [*catalogs.models, *(alias.hf_id for alias in catalogs.aliases.values())]


def _provider_names(catalogs: Catalogs) -> list[str]:
    rented = {row.provider for row in catalogs.offers}
    hosted = {row.provider for row in catalogs.serverless}
    return sorted(rented | hosted | {row.provider for row in catalogs.ancillary})


KINDS: Final[Mapping[str, tuple[Callable[[Catalogs], Iterable[str]], Callable[[Catalogs, str], Description]]]] = {
    "GPU": (lambda known: known.gpus, _gpu),
    "model": (_model_names, _model),
    "engine": (lambda known: known.engines, _engine),
    "precision": (lambda known: known.schemes, _precision),
    "provider": (_provider_names, _provider),
    "source": (lambda known: known.sources, _source),
}
"""What can be shown: the names of each kind, and what is said of one."""
