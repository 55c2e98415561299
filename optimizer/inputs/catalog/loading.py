"""Reads the shipped catalogs, lays the user's own files over them and refuses whatever does not fit together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from optimizer.base.errors import Finding, did_you_mean, refuse
from optimizer.base.model import Strict
from optimizer.inputs.catalog import records as catalog
from optimizer.inputs.catalog.entries import engines as engine_rows
from optimizer.inputs.catalog.entries import terms as own
from optimizer.inputs.catalog.entries.deploying import DeployFacts, DeployName, EngineFlag, EngineMetric
from optimizer.inputs.catalog.entries.lengths import LengthProfile, ThinkingLength
from optimizer.inputs.catalog.entries.models import Model, ModelAlias
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice, StartUp
from optimizer.inputs.catalog.entries.quality_spread import QualitySpread
from optimizer.inputs.catalog.entries.risk_spread import RiskSpread
from optimizer.inputs.catalog.entries.sources import PricePlace, Source
from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.reading.csv_tables import AllRows, CsvTable, LocatedRow, Rows
from optimizer.inputs.catalog.reading.loading_terms import Priced, priced
from optimizer.inputs.catalog.reading.look_alikes import look_alikes
from optimizer.inputs.catalog.reading.price_places import price_places
from optimizer.inputs.catalog.records import Catalogs, Gpu
from optimizer.inputs.catalog.shipped import shipped_dir

SHIPPED_LABEL: Final = "catalogs"
"""How messages name the shipped folder."""

FIGURE_UNITS: Final = {
    "memory_gb": "GB",
    "usable_memory_mib": "MiB",
    "memory_bandwidth_gb_per_s": "GB/s",
    "memory_data_share": "share",
    "bf16_tflops": "TFLOPS",
    "fp16_tflops": "TFLOPS",
    "fp8_tflops": "TFLOPS",
    "int8_tops": "TOPS",
    "fp4_tflops": "TFLOPS",
    "link_gb_per_s": "GB/s",
    "link_pair_gb_per_s": "GB/s",
    "all_reduce_2_gb_per_s": "GB/s",
    "all_reduce_4_gb_per_s": "GB/s",
    "link_domain_gpus": "GPUs",
    "pcie_gb_per_s": "GB/s",
    "tdp_w": "W",
    "launch_year": "year",
}
"""The figures of a GPU and the one unit each is written in."""


class CatalogDate(Strict):
    """The one row of catalog.csv: the day from which ages are measured."""

    as_of: date
    note: str = ""


class GpuIdentity(Strict):
    """One row of gpus.csv: what a GPU is; its numbers stand in gpu_figures.csv."""

    id: str
    vendor: str
    name: str
    architecture: str
    link: Link
    consumer: bool = False
    note: str = ""


TABLES: Final[dict[str, CsvTable[Any]]] = {
    "catalog": CsvTable(("catalog.csv",), CatalogDate, "as_of", own_key=lambda _: ""),
    "sources": CsvTable(("sources.csv",), Source, "id"),
    "gpus": CsvTable(("gpus.csv",), GpuIdentity, "id"),
    "figures": CsvTable(("gpu_figures.csv",), catalog.Figure, "gpu, figure"),
    "models": CsvTable(("models.csv",), Model, "id"),
    "aliases": CsvTable(("model_aliases.csv",), ModelAlias, "hf_id", own_key=lambda row: row.hf_id.casefold()),
    "thinking": CsvTable(("thinking.csv",), ThinkingLength, "model"),
    "length_profiles": CsvTable(("length_profiles.csv",), LengthProfile, "profile"),
    "schemes": CsvTable(("precision_schemes.csv",), catalog.PrecisionScheme, "id"),
    "kernels": CsvTable(("kernel_support.csv",), catalog.KernelSupport, "scheme, architecture"),
    "quality": CsvTable(("quality.csv",), catalog.QualityFigure, "model, scheme, benchmark, tool, source"),
    "quality_spreads": CsvTable(("quality_spreads.csv",), QualitySpread, "scheme, recipe, from_params_b"),
    "engines": CsvTable(("engines.csv",), engine_rows.Engine, "id"),
    "engine_defaults": CsvTable(
        ("engine_defaults.csv",), engine_rows.EngineDefault, "engine, setting, before_version, gpu, min_memory_gib"
    ),
    "engine_flags": CsvTable(("engine_flags.csv",), EngineFlag, "engine, version, setting, planned"),
    "engine_metrics": CsvTable(("engine_metrics.csv",), EngineMetric, "engine, version, quantity"),
    "deploy_names": CsvTable(("deploy_names.csv",), DeployName, "tool, subject, id, name"),
    "calibration": CsvTable(("calibration.csv",), catalog.CalibrationEntry, "parameter, group"),
    "kept_promises": CsvTable(("kept_promises.csv",), catalog.KeptPromises, "targets, confidence"),
    "deployment_shares": CsvTable(("deployment_shares.csv",), catalog.DeploymentShare, "metric, alike"),
    "offers": CsvTable(
        ("offers.csv", "offers_seed.csv"),
        catalog.Offer,
        "provider, region, instance_type, gpu, pricing_term",
        own_key=lambda row: row.id,
    ),
    "sellers": CsvTable(("sellers.csv",), own.Seller, "provider, provider_kind"),
    "operators": CsvTable(("operators.csv",), own.Operator, "provider"),
    "regions": CsvTable(("regions.csv",), own.Region, "provider, region"),
    "round_trips": CsvTable(("round_trips.csv",), own.RoundTrip, "geography, provider, region"),
    "grid": CsvTable(("grid.csv",), own.GridIntensity, "provider, region"),
    "price_checks": CsvTable(("price_checks.csv",), own.PriceCheck, "provider, gpu, gpu_count, pricing_term, source"),
    "price_trends": CsvTable(
        ("price_trends.csv",), own.PriceTrend, "provider, gpu, variant, pricing_term, first_as_of"
    ),
    "risk_spreads": CsvTable(("risk_spreads.csv",), RiskSpread, "quantity, seller, pricing_term"),
    "serverless_checks": CsvTable(
        ("serverless_checks.csv",), own.ServerlessCheck, "provider, provider_model_name, source"
    ),
    "discounts": CsvTable(("discounts.csv",), own.Discount, "provider, gpu, pricing_term", private=True),
    "owned": CsvTable(("owned.csv",), own.Owned, "site, id", private=True),
    "availability": CsvTable(
        ("availability.csv",), own.Availability, "provider, region, gpu, pricing_term", private=True
    ),
    "offer_aliases": CsvTable(
        ("offer_aliases.csv",),
        own.OfferAlias,
        "subject, name, id",
        own_key=lambda row: (row.subject, row.name.casefold(), row.id),
    ),
    "serverless": CsvTable(("serverless.csv",), catalog.ServerlessPrice, "provider, provider_model_name, unit"),
    "ancillary": CsvTable(("ancillary_costs.csv",), catalog.AncillaryCost, "provider, item"),
    "per_second": CsvTable(("per_second.csv",), PerSecondPrice, "provider, name, gpu"),
    "start_up": CsvTable(("start_up.csv",), StartUp, "engine"),
    "acceptance": CsvTable(
        ("acceptance.csv",), engine_rows.Acceptance, "model, method, draft_tokens, task, thinking, run"
    ),
}
"""Every table of the catalogs; the files of those that are not private must be complete in the shipped folder."""

REFERENCES: Final = (
    ("figures", "gpu", "gpus"),
    ("aliases", "model", "models"),
    ("thinking", "model", "models"),
    ("models", "native_precision", "schemes"),
    ("aliases", "weight_precision", "schemes"),
    ("kernels", "scheme", "schemes"),
    ("quality", "model", "models"),
    ("quality", "scheme", "schemes"),
    ("quality_spreads", "scheme", "schemes"),
    ("engines", "schemes", "schemes"),
    ("engine_defaults", "engine", "engines"),
    ("engine_flags", "engine", "engines"),
    ("engine_metrics", "engine", "engines"),
    ("offers", "gpu", "gpus"),
    ("owned", "gpu", "gpus"),
    ("price_checks", "gpu", "gpus"),
    ("price_trends", "gpu", "gpus"),
    ("serverless", "model", "models"),
    ("per_second", "gpu", "gpus"),
    ("start_up", "engine", "engines"),
    ("acceptance", "model", "models"),
)
"""Which field of which table names a row of which other; beside these, every `source` names a source."""


DATED_MONEY: Final = (
    *("offers", "serverless", "per_second", "ancillary", "discounts", "owned", "price_checks", "serverless_checks"),
    "price_trends",
)
"""The tables that hold money, each row with the day on which it was so."""


def load_catalogs(overlay: Path | None = None) -> Catalogs:
    """The shipped catalogs, with the user's own rows laid over them by key.

    Args:
        overlay: A folder with any of the catalogs' files; its rows replace or join the shipped ones.

    Returns:
        Everything that is known, validated.

    Raises:
        InputError: a file is missing, a column or value is wrong, a key stands twice, a reference leads nowhere,
            a name holds a sign that nobody sees or looks like another;
            all problems of all files at once, each with file, line and field.
    """
    findings: list[Finding] = []
    shipped = shipped_dir("catalogs")
    known = [name for table in TABLES.values() for name in table.files]
    findings.extend(_missing(shipped, (name for table in TABLES.values() if not table.private for name in table.files)))
    rows = {name: table.read(shipped, SHIPPED_LABEL, findings) for name, table in TABLES.items()}
    laid_over: dict[str, Rows] = {}
    if overlay is not None:
        shipped_day = rows["catalog"][""].row.as_of if rows["catalog"] else date.min
        findings.extend(_overlay_problems(overlay, known))
        for name, table in TABLES.items():
            laid_over[name] = table.read(overlay, str(overlay), findings)
            rows[name].update(laid_over[name])
            if name == "catalog":
                findings.extend(_earlier(rows["catalog"], shipped_day))
    findings = findings or [*_dangling(rows), *_later_than_the_catalog(rows), *look_alikes(rows, TABLES)]
    gpus = _gpus(rows["gpus"], rows["figures"], findings)
    refuse(findings)
    on_own_terms = priced(rows, gpus, findings)
    refuse(findings)
    return _assembled(rows, gpus, on_own_terms, price_places(rows, laid_over, on_own_terms.terms))


def _missing(folder: Path, known: Iterable[str]) -> Iterator[Finding]:
    for name in known:
        if not (folder / name).is_file():
            yield Finding(f"{SHIPPED_LABEL}/{name}", 0, "", "this shipped file is missing", "install the package again")


def _overlay_problems(overlay: Path, known: list[str]) -> Iterator[Finding]:
    names = f"known files: {', '.join(known)}"
    if not overlay.is_dir():
        yield Finding(str(overlay), 0, "", "no such folder of catalogs", names)
        return
    found = sorted(path.name for path in overlay.iterdir() if path.suffix.casefold() == ".csv")
    if not set(found) & set(known):
        yield Finding(str(overlay), 0, "", "no catalog file in this folder", names)
    for name in found:
        if name not in known:
            yield Finding(f"{overlay}/{name}", 0, "", "not a catalog file", did_you_mean(name, known) or names)


def _earlier(catalog: Rows, shipped_day: date) -> Iterator[Finding]:
    """An overlay that counts ages from a day before prices were read would make every price look new."""
    for placed in catalog.values():
        if placed.row.as_of < shipped_day:
            problem = f"{placed.row.as_of} is before the day of the shipped catalogs, {shipped_day}"
            yield placed.finding("as_of", problem, "leave the file out, or give the day of your newest price")


def _later_than_the_catalog(rows: AllRows) -> Iterator[Finding]:
    """Prices from after the day of the catalogs: their ages would be below zero, and no rule of age would hold."""
    today = rows["catalog"][""].row.as_of if rows["catalog"] else date.max
    for table in DATED_MONEY:
        for placed in rows[table].values():
            if placed.row.as_of > today:
                problem = f"{placed.row.as_of} is after the day of the catalogs, {today}"
                hint = f"if it is right, put a catalog.csv beside it with the columns as_of,note and {placed.row.as_of}"
                yield placed.finding("as_of", problem, hint)


def _dangling(rows: AllRows) -> Iterator[Finding]:
    """References that lead nowhere; blank optional ones are none."""
    sourced = ((name, "source", "sources") for name, table in TABLES.items() if "source" in table.row.model_fields)
    for table, field, target in (*REFERENCES, *sourced):
        ids = rows[target]
        for placed in rows[table].values():
            value = getattr(placed.row, field)
            for name in value if isinstance(value, tuple) else (value,):
                if name and name not in ids:
                    hint = (
                        did_you_mean(name, map(str, ids)) or f"it must be the id of a row in {TABLES[target].files[0]}"
                    )
                    yield placed.finding(field, f"unknown '{name}'", hint)
    architectures = {placed.row.architecture for placed in rows["gpus"].values()}
    for placed in rows["kernels"].values():
        if placed.row.architecture not in architectures:
            hint = did_you_mean(placed.row.architecture, architectures)
            yield placed.finding("architecture", f"no GPU has the architecture '{placed.row.architecture}'", hint)


def _gpus(identities: Rows, figures: Rows, findings: list[Finding]) -> dict[str, Gpu]:
    """Identities and figures joined; a wrong unit, an unknown, unreadable or missing figure is a finding."""
    values: defaultdict[str, dict[str, LocatedRow[catalog.Figure]]] = defaultdict(dict)
    for placed in figures.values():
        name, unit = placed.row.figure, FIGURE_UNITS.get(placed.row.figure)
        if unit is None:
            findings.append(placed.finding("figure", f"unknown figure '{name}'", did_you_mean(name, FIGURE_UNITS)))
        elif unit != placed.row.unit:
            findings.append(placed.finding("unit", f"{name} is written in {unit}, not in '{placed.row.unit}'"))
        else:
            values[placed.row.gpu][name] = placed
    built = {}
    for identity in identities.values():
        own = values[identity.row.id]
        raw = identity.row.model_dump() | {name: placed.row.value for name, placed in own.items()}
        try:
            built[identity.row.id] = Gpu.model_validate(raw)
        except ValidationError as error:
            findings.extend(_bad_figure(details, identity, own) for details in error.errors())
    return built


def _bad_figure(
    details: Any, identity: LocatedRow[GpuIdentity], own: Mapping[str, LocatedRow[catalog.Figure]]
) -> Finding:
    name = str(details["loc"][0])
    if name in own:
        return own[name].finding("value", f"{name} '{details['input']}': {details['msg']}")
    return identity.finding(name, f"{identity.row.id} has no {name}", "add the figure to gpu_figures.csv")


def _assembled(
    rows: AllRows, gpus: Mapping[str, Gpu], on_own_terms: Priced, places: Mapping[str, PricePlace]
) -> Catalogs:
    def by_key(table: str) -> dict[Any, Any]:
        return {key: placed.row for key, placed in sorted(rows[table].items())}

    def in_order(table: str) -> tuple[Any, ...]:
        return tuple(by_key(table).values())

    return Catalogs(
        as_of=rows["catalog"][""].row.as_of,
        sources=by_key("sources"),
        gpus=dict(sorted(gpus.items())),
        gpu_figures=in_order("figures"),
        models=by_key("models"),
        aliases=by_key("aliases"),
        thinking=by_key("thinking"),
        length_profiles=by_key("length_profiles"),
        schemes=by_key("schemes"),
        kernel_support=by_key("kernels"),
        quality=in_order("quality"),
        quality_spreads=in_order("quality_spreads"),
        engines=by_key("engines"),
        engine_defaults=in_order("engine_defaults"),
        calibration=in_order("calibration"),
        kept_promises=in_order("kept_promises"),
        deployment_shares=in_order("deployment_shares"),
        offers=on_own_terms.offers,
        terms=on_own_terms.terms,
        offer_aliases=in_order("offer_aliases"),
        serverless=in_order("serverless"),
        ancillary=in_order("ancillary"),
        per_second=in_order("per_second"),
        start_up=in_order("start_up"),
        acceptance=in_order("acceptance"),
        deploying=DeployFacts(
            flags=in_order("engine_flags"), metrics=in_order("engine_metrics"), names=in_order("deploy_names")
        ),
        engine_places={str(key): f"{placed.file}:{placed.line}" for key, placed in rows["engines"].items()},
        price_places=places,
    )
