"""`optimizer catalog import` and `catalog update`: other price lists as a folder of own catalog files."""

from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.cli import calls, names
from optimizer.cli.options import CatalogsOption, Format, FormatOption, deliver, written
from optimizer.inputs.catalog.kinds import Confidence, ProviderKind, SellerKind

KINDS = get_args(ProviderKind)
DEFAULT_LIMIT = 20
SELLERS = get_args(SellerKind)
CONFIDENCES = get_args(Confidence)

ProviderKindOption = Annotated[
    str, typer.Option(help=f"Where rows and the catalog do not say one: {', '.join(KINDS)}.")
]
SellerOption = Annotated[str, typer.Option(help=f"Of providers new to the catalog: {', '.join(SELLERS)}.")]
GpuNamesOption = Annotated[list[str] | None, typer.Option(help="NAME=ID: what a name in the file stands for.")]
SourceOption = Annotated[str, typer.Option(help="Name of the source, where rows do not state one.")]
AsOfOption = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Day of the prices, where rows do not state it.")
]
ProviderOption = Annotated[str, typer.Option(help="Who sells, where rows do not say.")]
ModelNamesOption = Annotated[
    list[str] | None, typer.Option(help="NAME=ID: what a hosted model's name in the file stands for.")
]


def catalog_import(
    file: Annotated[
        Path,
        typer.Argument(
            help="A SkyPilot vms.csv, a gpuhunt CSV, a CSV with our own columns; or LiteLLM's or genai-prices' JSON."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", help="Folder for the rows and their sources; then use it with --catalogs.")
    ],
    source: SourceOption = "",
    as_of: AsOfOption = None,
    provider: ProviderOption = "",
    provider_kind: ProviderKindOption = "",
    seller: SellerOption = "unknown",
    price_list: Annotated[
        str, typer.Option("--as", help=f"{', '.join(names.FORMATS)}; else told by the content.")
    ] = "",
    gpu: GpuNamesOption = None,
    model: ModelNamesOption = None,
    confidence: Annotated[str, typer.Option(help=f"Of the prices: {', '.join(CONFIDENCES)}.")] = "listed",
    title: Annotated[str, typer.Option(help="What the source is; the file's name unless given.")] = "",
    licence: Annotated[str, typer.Option(help="Of the source.")] = "not stated",
    replace: Annotated[
        bool, typer.Option("--replace", help="Drop the rows that are there already, instead of joining them.")
    ] = False,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """Another price list as your own catalog files; what is not certain is left out and listed."""
    known = calls.load_catalogs(catalogs)
    terms = calls.PriceListTerms(
        source=source,
        as_of=as_of.date() if as_of else None,
        provider=provider,
        provider_kind=_kind(provider_kind),
        seller=_one_of(SELLERS, seller, "--seller"),
        confidence=_one_of(CONFIDENCES, confidence, "--confidence"),
        gpus=_gpus(gpu),
        models=_models(model),
        title=title,
        licence=licence,
    )
    imported = calls.import_prices(
        file, known, terms, _one_of(names.FORMATS, price_list, "--as") if price_list else None
    )
    calls.refuse_nothing(file, imported)
    files = written(calls.write_overlay(output, imported.tables, afresh=replace))
    sections, content = (
        calls.import_sections(imported, file.name, files),
        calls.import_content(imported, file.name, files),
    )
    deliver(calls.WrittenAnswer(sections), content, output_format, None)


def catalog_update(
    newer: Annotated[Path, typer.Argument(help="A newer price list, or a folder of price lists and catalog files.")],
    output: Annotated[
        Path, typer.Option("--output", help="Your folder of catalog files; then use it with --catalogs.")
    ],
    source: SourceOption = "",
    as_of: AsOfOption = None,
    provider: ProviderOption = "",
    provider_kind: ProviderKindOption = "",
    seller: SellerOption = "unknown",
    gpu: GpuNamesOption = None,
    model: ModelNamesOption = None,
    limit: Annotated[int, typer.Option(min=0, help="Rows shown of each kind; 0 shows all.")] = DEFAULT_LIMIT,
    output_format: FormatOption = Format.TEXT,
) -> None:
    """Newer prices in one go: rows newer than what is known are taken, and what moved is shown."""
    terms = calls.PriceListTerms(
        source=source,
        as_of=as_of.date() if as_of else None,
        provider=provider,
        provider_kind=_kind(provider_kind),
        seller=_one_of(SELLERS, seller, "--seller"),
        gpus=_gpus(gpu),
        models=_models(model),
    )
    update = calls.update_catalogs(newer, output, terms)
    files = written(update.files)
    sections = calls.update_sections(update, files, limit if output_format is Format.TEXT else 0)
    deliver(calls.WrittenAnswer(sections), calls.update_content(update, files), output_format, None)


def _kind(name: str) -> ProviderKind | None:
    return _one_of(KINDS, name, "--provider-kind") if name else None


def _gpus(texts: Iterable[str] | None) -> dict[str, str]:
    return dict(_pair(text, "--gpu", "H100=h100-sxm") for text in texts or ())


def _models(texts: Iterable[str] | None) -> dict[str, str]:
    return dict(_pair(text, "--model", "deepseek-v3-0324=deepseek-v3") for text in texts or ())


def _one_of(known: Collection[str], value: str, option: str) -> Any:
    """The value, which must be one of those."""
    if value not in known:
        hint = did_you_mean(value, known) or f"one of: {', '.join(known)}"
        raise InputError([Finding(option, 0, "", f"unknown '{value}'", hint)])
    return value


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, _, identity = text.rpartition("=")
    if not name or not identity:
        raise InputError([Finding(option, 0, "", f"'{text}' is not NAME=ID", f"such as {option} {example}")])
    return name, identity
