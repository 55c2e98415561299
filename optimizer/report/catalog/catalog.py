"""What the catalogs hold as tables: the overview, the rows of one catalog, and whether all is sound."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.model import Strict
from optimizer.inputs.catalog.checks import SEVERITIES, CatalogFinding
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.report.layout.elements import Section, Table

Row = Any
Column = tuple[str, Callable[[Row], object]]

SHOWN_SUBJECTS = 3
"""Of one check's remarks, unless all are asked for."""


@dataclass(frozen=True)
class Listing:
    """One catalog: what a row is, where the rows are, what a table of them shows and what a filter looks at."""

    about: str
    rows: Callable[[Catalogs], Sequence[Strict]]
    columns: tuple[Column, ...]
    names: tuple[str, ...]


def _by_gpu_and_price(offer: Offer) -> tuple[object, ...]:
    return offer.gpu, offer.price_usd_per_hour / offer.gpu_count, offer.id


def _term(offer: Offer) -> str:
    months = (
        f" {offer.commitment_months} months" if offer.pricing_term == "committed" and offer.commitment_months else ""
    )
    return offer.pricing_term.replace("_", " ") + months


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _price(value: Decimal | None) -> str:
    """Every digit that was published, two places at least."""
    return "" if value is None else f"{value:.2f}" if value == round(value, 2) else f"{value:f}"


LISTINGS: dict[str, Listing] = {
    "gpus": Listing(
        "an accelerator: usable memory, dense peaks, one-directional links",
        lambda known: tuple(known.gpus.values()),
        (
            ("gpu", lambda row: row.id),
            ("architecture", lambda row: row.architecture),
            (">GiB usable", lambda row: f"{row.usable_memory_mib / 1024:.1f}"),
            (">GB/s memory", lambda row: _number(row.memory_bandwidth_gb_per_s)),
            (">BF16 TFLOPS", lambda row: _number(row.bf16_tflops)),
            (">FP8", lambda row: _number(row.fp8_tflops)),
            (">FP4", lambda row: _number(row.fp4_tflops)),
            ("link, GB/s", lambda row: f"{row.link} {_number(row.link_gb_per_s)}".strip()),
            (">joins", lambda row: f"{row.link_domain_gpus:,}"),
            (">W", lambda row: _number(row.tdp_w)),
        ),
        ("id", "vendor", "architecture", "name"),
    ),
    "offers": Listing(
        "an instance one can buy, with the price of the whole instance",
        lambda known: sorted(known.offers, key=_by_gpu_and_price),
        (
            ("provider", lambda row: row.provider),
            ("region", lambda row: row.region),
            ("instance", lambda row: row.instance_type),
            ("GPUs", lambda row: f"{row.gpu_count}× {row.gpu}"),
            ("term", _term),
            (">$/h", lambda row: _price(row.price_usd_per_hour)),
            (">$/GPU-h", lambda row: f"{row.price_usd_per_hour / row.gpu_count:.2f}"),
            ("as of", lambda row: row.as_of),
            ("price", lambda row: row.confidence),
        ),
        ("id", "provider", "provider_kind", "region", "instance_type", "gpu", "pricing_term", "confidence"),
    ),
    "regions": Listing(
        "where a provider's region stands, as far as its name or documentation tells",
        lambda known: tuple(known.terms.regions.values()),
        (
            ("provider", lambda row: row.provider),
            ("region", lambda row: row.region),
            ("country", lambda row: row.country),
            ("zones", lambda row: " ".join(row.zones)),
            ("as of", lambda row: row.as_of),
            ("note", lambda row: row.note),
        ),
        ("provider", "region", "country"),
    ),
    "models": Listing(
        "a model architecture, from which memory, compute and traffic follow",
        lambda known: tuple(known.models.values()),
        (
            ("model", lambda row: row.id),
            ("published as", lambda row: row.hf_id),
            (">B params", lambda row: _number(row.total_params_b)),
            (">B active", lambda row: _number(row.active_params_b)),
            ("attention", lambda row: row.attention),
            (">KV KiB/token", lambda row: _number(row.kv_bytes_per_token_bf16 / 1024)),
            (">context", lambda row: f"{row.max_context_tokens:,}"),
            ("native", lambda row: row.native_precision),
        ),
        ("id", "hf_id", "attention", "native_precision"),
    ),
    "aliases": Listing(
        "a published name of a model in the catalog: a re-upload, a fine-tune or a quantized checkpoint",
        lambda known: tuple(known.aliases.values()),
        (
            ("published as", lambda row: row.hf_id),
            ("is", lambda row: row.model),
            ("relation", lambda row: row.relation),
            ("weights", lambda row: row.weight_precision or ""),
            (">context", lambda row: _number(row.max_context_tokens)),
        ),
        ("hf_id", "model", "relation"),
    ),
    "precisions": Listing(
        "a way to store and multiply weights and activations",
        lambda known: tuple(known.schemes.values()),
        (
            ("precision", lambda row: row.id),
            (">weight bits", lambda row: _number(row.weight_bits)),
            (">activation bits", lambda row: _number(row.activation_bits)),
            ("multiplied in", lambda row: row.compute),
            ("quantized", lambda row: row.quantized_part.replace("_", " ")),
            ("note", lambda row: row.note),
        ),
        ("id",),
    ),
    "kernels": Listing(
        "whether an architecture multiplies a precision natively, only unpacks it, or refuses it",
        lambda known: tuple(known.kernel_support.values()),
        (
            ("precision", lambda row: row.scheme),
            ("architecture", lambda row: row.architecture),
            ("support", lambda row: row.support.replace("_", " ")),
            ("note", lambda row: row.note),
        ),
        ("scheme", "architecture", "support"),
    ),
    "quality": Listing(
        "a published benchmark of a quantized model as a share of its 16-bit score",
        lambda known: known.quality,
        (
            ("model", lambda row: row.model),
            ("precision", lambda row: row.scheme),
            ("benchmark", lambda row: row.benchmark),
            ("kind", lambda row: row.benchmark_kind),
            (">kept", lambda row: f"{row.recovery_share:.1%}"),
            ("tool", lambda row: row.tool),
        ),
        ("model", "scheme", "benchmark", "benchmark_kind"),
    ),
    "engines": Listing(
        "a serving engine and the defaults it starts with",
        lambda known: tuple(known.engines.values()),
        (
            ("engine", lambda row: row.id),
            ("runs on", lambda row: " ".join(row.architectures)),
            ("precisions", lambda row: " ".join(row.schemes)),
            ("planned", lambda row: "yes" if row.plannable else "no"),
            (">memory share", lambda row: f"{row.memory_utilization:.0%}"),
            (">sequences", lambda row: f"{row.max_num_seqs:,}"),
            ("newest", lambda row: row.newest_version),
        ),
        ("id", "name"),
    ),
    "serverless": Listing(
        "a hosted API's price",
        lambda known: known.serverless,
        (
            ("provider", lambda row: row.provider),
            ("model", lambda row: row.model),
            ("called", lambda row: row.provider_model_name),
            (">$/M in", lambda row: _price(row.usd_per_million_input_tokens)),
            (">$/M out", lambda row: _price(row.usd_per_million_output_tokens)),
            (">$/M cached", lambda row: _price(row.usd_per_million_cached_input_tokens)),
            (">$/request", lambda row: _price(row.usd_per_request)),
            ("as of", lambda row: row.as_of),
            ("price", lambda row: row.confidence),
        ),
        ("provider", "model", "provider_model_name", "confidence"),
    ),
    "ancillary": Listing(
        "a cost beside GPU rental: storage, transfer, power, discounts",
        lambda known: known.ancillary,
        (
            ("provider", lambda row: row.provider),
            ("item", lambda row: row.item),
            (">value", lambda row: f"{row.value:f}"),
            ("unit", lambda row: row.unit),
            ("as of", lambda row: row.as_of),
            ("note", lambda row: row.note),
        ),
        ("provider", "item"),
    ),
    "calibration": Listing(
        "a constant of the performance model, and the group of configurations it holds for",
        lambda known: known.calibration,
        (
            ("parameter", lambda row: row.parameter),
            ("group", lambda row: row.group or "all"),
            (">value", lambda row: f"{row.value:g}"),
            ("unit", lambda row: row.unit),
            ("method", lambda row: row.method),
            ("as of", lambda row: row.as_of),
        ),
        ("parameter", "group"),
    ),
    "sources": Listing(
        "where rows come from; every row of every catalog names one",
        lambda known: tuple(known.sources.values()),
        (
            ("source", lambda row: row.id),
            ("title", lambda row: row.title),
            ("licence", lambda row: row.licence),
            ("as of", lambda row: row.as_of),
        ),
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
        rows.append((name, f"{len(held):,}", *_dates(held), listing.about))
    return Section(
        f"Catalogs of {catalogs.as_of}", (), Table(("catalog", ">rows", "oldest", "newest", "a row is"), tuple(rows))
    )


def listing_section(name: str, rows: Sequence[Strict], limit: int) -> Section:
    """The rows as a table, the first `limit` of them; 0 means all."""
    listing = LISTINGS[name]
    shown = rows[:limit] if limit else rows
    cells = tuple(tuple(str(cell(row)) for _, cell in listing.columns) for row in shown)
    rest = len(rows) - len(shown)
    more = f"; the first {len(shown)}, narrow them with --filter or see all with --limit 0" if rest else ""
    table = Table(tuple(heading for heading, _ in listing.columns), cells)
    return Section(f"{name}: {len(rows):,}{more}", (), table)


def check_sections(findings: Sequence[CatalogFinding], verbose: bool) -> tuple[Section, ...]:
    """The verdict, then each severity's remarks; of a check with many subjects only the first, unless verbose."""
    counts = Counter(finding.severity for finding in findings)
    verdict = "The catalogs are sound" if not counts["error"] else "A plan on these catalogs would be wrong"
    told = ", ".join(f"{counts[severity]} {severity}{'' if counts[severity] == 1 else 's'}" for severity in SEVERITIES)
    sections = [Section(f"{verdict}: {told}")]
    for severity in SEVERITIES:
        rows = _remarks([finding for finding in findings if finding.severity == severity], verbose)
        if rows:
            title = f"{severity.capitalize()}s"
            sections.append(Section(title, (), Table(("check", "about", "finding"), rows)))
    return tuple(sections)


def _dates(rows: Sequence[Strict]) -> tuple[str, str]:
    """The oldest and the newest date of a catalog whose rows are dated."""
    dates = sorted(str(getattr(row, "as_of", "")) for row in rows)
    return (dates[0], dates[-1]) if dates else ("", "")


def _remarks(findings: Sequence[CatalogFinding], verbose: bool) -> tuple[tuple[str, ...], ...]:
    rows: list[tuple[str, ...]] = []
    by_check = Counter(finding.check for finding in findings)
    told: Counter[str] = Counter()
    for finding in findings:
        told[finding.check] += 1
        if verbose or by_check[finding.check] <= SHOWN_SUBJECTS or told[finding.check] < SHOWN_SUBJECTS:
            rows.append((finding.check, finding.subject, finding.text))
        elif told[finding.check] == SHOWN_SUBJECTS:
            rest = by_check[finding.check] - SHOWN_SUBJECTS + 1
            rows.append((finding.check, f"and {rest} more", "see all with --verbose"))
    return tuple(rows)
