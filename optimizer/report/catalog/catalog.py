"""What the catalogs hold as tables: the overview, the rows of one catalog, and whether all is sound."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter
from typing import Final

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.model import Strict
from optimizer.inputs.catalog.checks import SEVERITIES, CatalogFinding
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.report.layout.amounts import plural, rounded
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table

SHOWN_SUBJECTS: Final = 3
"""Of one check's remarks, unless all are asked for."""


@dataclass(frozen=True)
class Listing:
    """One catalog as it is listed.

    Attributes:
        about: What a row is.
        rows: Where the rows are.
        columns: What a table of them shows.
        names: The fields that a filter looks at.
    """

    about: str
    rows: Callable[[Catalogs], Sequence[Strict]]
    columns: Mapping[str, Cell]
    names: tuple[str, ...]


def _offers(catalogs: Catalogs) -> list[Offer]:
    return sorted(catalogs.offers, key=lambda offer: (offer.gpu, offer.price_usd_per_hour / offer.gpu_count, offer.id))


def _term(offer: Offer) -> str:
    term = offer.pricing_term.replace("_", " ")
    return f"{term} {offer.commitment_months} months" if term == "committed" and offer.commitment_months else term


LISTINGS: Final[Mapping[str, Listing]] = {
    "gpus": Listing(
        "an accelerator: usable memory, dense peaks, one-directional links",
        lambda known: tuple(known.gpus.values()),
        {
            "gpu": "{id}",
            "architecture": "{architecture}",
            ">GiB usable": lambda gpu: f"{gpu.usable_memory_mib / 1024:.1f}",
            ">GB/s memory": "{memory_bandwidth_gb_per_s:rounded}",
            ">BF16 TFLOPS": "{bf16_tflops:rounded}",
            ">FP8": "{fp8_tflops:rounded}",
            ">FP4": "{fp4_tflops:rounded}",
            "link, GB/s": "{link} {link_gb_per_s:rounded}",
            ">joins": "{link_domain_gpus:,}",
            ">W": "{tdp_w:rounded}",
        },
        ("id", "vendor", "architecture", "name"),
    ),
    "offers": Listing(
        "an instance one can buy, with the price of the whole instance",
        _offers,
        {
            "provider": "{provider}",
            "region": "{region}",
            "instance": "{instance_type}",
            "GPUs": "{gpu_count}× {gpu}",
            "term": _term,
            ">$/h": "{price_usd_per_hour:price}",
            ">$/GPU-h": lambda offer: f"{offer.price_usd_per_hour / offer.gpu_count:.2f}",
            "as of": "{as_of}",
            "price": "{confidence}",
        },
        ("id", "provider", "provider_kind", "region", "instance_type", "gpu", "pricing_term", "confidence"),
    ),
    "sellers": Listing(
        "whom one would sign with: what kind of seller a provider is, and what it says of itself",
        lambda known: tuple(known.terms.sellers.values()),
        {
            "provider": lambda row: f"{row.provider} {row.provider_kind}".rstrip(),
            "seller": "{kind}",
            "whole GPUs": "{whole_gpu}",
            "may serve others": "{serves_others}",
            "SLA": "{sla}",
            "billed by": "{billing_increment}",
            "at least": "{minimum_commitment}",
            "as of": "{as_of}",
        },
        ("provider", "kind", "whole_gpu"),
    ),
    "regions": Listing(
        "where a provider's region stands, as far as its name or documentation tells",
        lambda known: tuple(known.terms.regions.values()),
        {
            "provider": "{provider}",
            "region": "{region}",
            "country": "{country}",
            "zones": "{zones:list}",
            "as of": "{as_of}",
            "note": "{note}",
        },
        ("provider", "region", "country"),
    ),
    "round-trips": Listing(
        "the network between where users are and a provider's region",
        lambda known: tuple(known.terms.round_trips.values()),
        {
            "users in": "{geography}",
            "provider": "{provider}",
            "region": "{region}",
            ">round trip": "{rtt_ms:g} ms",
            "statistic": "{statistic}",
            "status": "{status}",
            "as of": "{as_of}",
        },
        ("geography", "provider", "region", "status"),
    ),
    "grid": Listing(
        "what a kilowatt-hour emits where a provider's region stands",
        lambda known: tuple(known.terms.grid.values()),
        {
            "provider": "{provider}",
            "region": "{region}",
            ">g CO₂/kWh": "{g_co2_per_kwh:rounded}",
            ">year": "{year}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "region"),
    ),
    "price_checks": Listing(
        "what another source says that a GPU costs at a provider",
        lambda known: known.terms.price_checks,
        {
            "provider": "{provider}",
            "GPUs": "{gpu_count}× {gpu}",
            "term": "{pricing_term:words}",
            ">$/GPU-h": "{usd_per_gpu_hour:price}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "gpu", "pricing_term"),
    ),
    "serverless_checks": Listing(
        "what another source says that a hosted API costs",
        lambda known: known.terms.serverless_checks,
        {
            "provider": "{provider}",
            "API": "{provider_model_name}",
            ">$/M in": "{usd_per_million_input_tokens:unit_price}",
            ">$/M out": "{usd_per_million_output_tokens:unit_price}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "provider_model_name"),
    ),
    "models": Listing(
        "a model architecture, from which memory, compute and traffic follow",
        lambda known: tuple(known.models.values()),
        {
            "model": "{id}",
            "published as": "{hf_id}",
            ">B params": "{total_params_b:rounded}",
            ">B active": "{active_params_b:rounded}",
            "attention": "{attention}",
            ">KV KiB/token": lambda model: rounded(model.kv_bytes_per_token_bf16 / 1024),
            ">context": "{max_context_tokens:,}",
            "native": "{native_precision}",
        },
        ("id", "hf_id", "attention", "native_precision"),
    ),
    "aliases": Listing(
        "a published name of a model in the catalog: a re-upload, a fine-tune or a quantized checkpoint",
        lambda known: tuple(known.aliases.values()),
        {
            "published as": "{hf_id}",
            "is": "{model}",
            "relation": "{relation}",
            "weights": "{weight_precision}",
            ">context": "{max_context_tokens:rounded}",
        },
        ("hf_id", "model", "relation"),
    ),
    "precisions": Listing(
        "a way to store and multiply weights and activations",
        lambda known: tuple(known.schemes.values()),
        {
            "precision": "{id}",
            ">weight bits": "{weight_bits:rounded}",
            ">activation bits": "{activation_bits:rounded}",
            "multiplied in": "{compute}",
            "quantized": "{quantized_part:words}",
            "note": "{note}",
        },
        ("id",),
    ),
    "kernels": Listing(
        "whether an architecture multiplies a precision natively, only unpacks it, or refuses it",
        lambda known: tuple(known.kernel_support.values()),
        {
            "precision": "{scheme}",
            "architecture": "{architecture}",
            "support": "{support:words}",
            "note": "{note}",
        },
        ("scheme", "architecture", "support"),
    ),
    "quality": Listing(
        "a published benchmark of a quantized model as a share of its 16-bit score",
        lambda known: known.quality,
        {
            "model": "{model}",
            "precision": "{scheme}",
            "benchmark": "{benchmark}",
            "kind": "{benchmark_kind}",
            ">kept": "{recovery_share:.1%}",
            ">worst": lambda row: "" if row.worst_recovery_share is None else f"{row.worst_recovery_share:.1%}",
            "on": "{worst_benchmark}",
            "tool": "{tool}",
        },
        ("model", "scheme", "benchmark", "benchmark_kind"),
    ),
    "engines": Listing(
        "a serving engine and the defaults it starts with",
        lambda known: tuple(known.engines.values()),
        {
            "engine": "{id}",
            "runs on": "{architectures:list}",
            "precisions": "{schemes:list}",
            "planned": "{plannable:yes_no}",
            ">memory share": "{memory_utilization:.0%}",
            ">sequences": "{max_num_seqs:,}",
            "newest": "{newest_version}",
        },
        ("id", "name"),
    ),
    "serverless": Listing(
        "a hosted API's price",
        lambda known: known.serverless,
        {
            "provider": "{provider}",
            "model": "{model}",
            "called": "{provider_model_name}",
            ">$/M in": "{usd_per_million_input_tokens:price}",
            ">$/M out": "{usd_per_million_output_tokens:price}",
            ">$/M cached": "{usd_per_million_cached_input_tokens:price}",
            ">$/request": "{usd_per_request:price}",
            "as of": "{as_of}",
            "price": "{confidence}",
        },
        ("provider", "model", "provider_model_name", "confidence"),
    ),
    "ancillary": Listing(
        "a cost beside GPU rental: storage, transfer, power, discounts",
        lambda known: known.ancillary,
        {
            "provider": "{provider}",
            "item": "{item}",
            ">value": "{value:f}",
            "unit": "{unit}",
            "as of": "{as_of}",
            "note": "{note}",
        },
        ("provider", "item"),
    ),
    "calibration": Listing(
        "a constant of the performance model, and the group of configurations it holds for",
        lambda known: known.calibration,
        {
            "parameter": "{parameter}",
            "group": lambda entry: entry.group or "all",
            ">value": "{value:g}",
            "unit": "{unit}",
            "method": "{method}",
            "as of": "{as_of}",
        },
        ("parameter", "group"),
    ),
    "sources": Listing(
        "where rows come from; every row of every catalog names one",
        lambda known: tuple(known.sources.values()),
        {"source": "{id}", "title": "{title}", "licence": "{licence}", "as of": "{as_of}"},
        ("id", "title", "licence"),
    ),
}
"""Every catalog that can be listed."""


def catalog_rows(catalogs: Catalogs, name: str, pattern: str = "") -> tuple[Strict, ...]:
    """The rows of one catalog.

    Args:
        catalogs: What is known.
        name: Of the catalog, one of `LISTINGS`.
        pattern: A wildcard that one of a row's names must match, in any case; a bare word matches anywhere in a name.

    Returns:
        The rows as they were read, in the order in which they are listed.

    Raises:
        InputError: no catalog has that name.
    """
    if name not in LISTINGS:
        hint = did_you_mean(name, LISTINGS) or f"known: {', '.join(LISTINGS)}"
        raise InputError([Finding("catalog list", 0, "", f"unknown catalog '{name}'", hint)])
    listing = LISTINGS[name]
    glob = pattern.casefold() if any(sign in pattern for sign in "*?[") else f"*{pattern.casefold()}*"
    return tuple(
        row
        for row in listing.rows(catalogs)
        if any(fnmatchcase(str(getattr(row, name)).casefold(), glob) for name in listing.names)
    )


def overview_section(catalogs: Catalogs) -> Section:
    """Every catalog with its number of rows."""
    rows = []
    for name, listing in LISTINGS.items():
        held = listing.rows(catalogs)
        dates = sorted(str(getattr(row, "as_of", "")) for row in held) or [""]
        rows.append((name, f"{len(held):,}", dates[0], dates[-1], listing.about))
    table = Table(("catalog", ">rows", "oldest", "newest", "a row is"), tuple(rows))
    return Section(f"Catalogs of {catalogs.as_of}", table=table)


def listing_section(name: str, rows: Sequence[Strict], limit: int) -> Section:
    """The rows as a table, the first `limit` of them; 0 means all."""
    shown = rows[:limit] if limit else rows
    rest = len(rows) - len(shown)
    more = f"; the first {len(shown)}, narrow them with --filter or see all with --limit 0" if rest else ""
    return Section(f"{name}: {len(rows):,}{more}", table=table_of(shown, LISTINGS[name].columns))


def check_sections(findings: Sequence[CatalogFinding], verbose: bool) -> tuple[Section, ...]:
    """The verdict, then each severity's remarks; of a check with many subjects only the first, unless verbose."""
    counts = Counter(finding.severity for finding in findings)
    verdict = "The catalogs are sound" if not counts["error"] else "A plan on these catalogs would be wrong"
    sections = [
        Section(f"{verdict}: {', '.join(f'{counts[name]} {plural(name, counts[name])}' for name in SEVERITIES)}")
    ]
    for severity in SEVERITIES:
        rows = tuple(_remarks([finding for finding in findings if finding.severity == severity], verbose))
        if rows:
            sections.append(Section(f"{severity.capitalize()}s", table=Table(("check", "about", "finding"), rows)))
    return tuple(sections)


def _remarks(findings: Sequence[CatalogFinding], verbose: bool) -> Iterator[tuple[str, ...]]:
    """One row a finding; behind the first of a check with many, one row that counts the others."""
    for check, group in groupby(findings, key=attrgetter("check")):
        remarks = list(group)
        shown = remarks if verbose or len(remarks) <= SHOWN_SUBJECTS else remarks[: SHOWN_SUBJECTS - 1]
        yield from ((check, remark.subject, remark.text) for remark in shown)
        if len(shown) < len(remarks):
            yield check, f"and {len(remarks) - len(shown)} more", "see all with --verbose"
