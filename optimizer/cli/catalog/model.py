"""`optimizer catalog add-model`: a model of your own from its config.json."""

import hashlib
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.model import Strict
from optimizer.cli.options import CatalogsOption, Format, FormatOption
from optimizer.cli.overlay import write_overlay
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs, ModelAlias, Source
from optimizer.inputs.importing.hf_config import CONFIG_NAME, Naming, model_of_config
from optimizer.report.catalog.model import model_section
from optimizer.report.layout.rendering import rendered

HASH_DIGITS = 12
NOT_IN_AN_ID = re.compile(r"[^a-z0-9.]+")


def add_model_command(
    config: Annotated[Path, typer.Argument(help="A folder with a Hugging Face config.json, or that file.")],
    output: Annotated[Path, typer.Option("--output", help="Folder for models.csv and sources.csv; use --catalogs.")],
    identity: Annotated[str, typer.Option("--id", help="What scenarios call it; the folder's name unless given.")] = "",
    hf_id: Annotated[str, typer.Option(help="Its Hugging Face name; scenarios may then use it, too.")] = "",
    precision: Annotated[str, typer.Option(help="Of the weights, where the file's own is not understood.")] = "",
    licence: Annotated[str, typer.Option(help="Of the weights.")] = "not stated",
    as_of: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Day of the file; the catalogs' own unless given.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write over files, and take a known model's place.")
    ] = False,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """A model of your own from its config.json: shapes, counted parameters, cache bytes; its weights aren't read."""
    known = load_catalogs(catalogs)
    folder = config if config.is_dir() else config.absolute().parent
    name = identity or NOT_IN_AN_ID.sub("-", folder.resolve().name.casefold()).strip("-")
    day = as_of.date() if as_of else known.as_of
    naming = Naming(name, hf_id or name, licence, f"config-{name}", day, precision)
    _check(naming, known, replace)
    model = model_of_config(config, naming)
    file = config / CONFIG_NAME if config.is_dir() else config
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:HASH_DIGITS]
    source = Source(id=naming.source, title=f"{CONFIG_NAME} of {name} (SHA-256 {digest})", licence=licence, as_of=day)
    tables: dict[str, list[Strict]] = {"models": [model], "sources": [source]}
    if hf_id:
        tables["aliases"] = [ModelAlias(hf_id=hf_id, model=name, relation="same")]
    written = write_overlay(output, tables, afresh=False)
    content = {"model": model.model_dump(mode="json"), "written": written}
    typer.echo(rendered([model_section(model, written)], content, output_format.value), nl=False)


def _check(naming: Naming, known: Catalogs, replace: bool) -> None:
    """A name that is free, and a precision that the catalogs know."""
    findings = []
    if naming.id in known.models and not replace:
        hint = "choose another --id, or --replace to take its place in this overlay"
        findings.append(Finding("catalog add-model", 0, "--id", f"'{naming.id}' is in the catalog already", hint))
    if naming.precision and naming.precision not in known.schemes:
        hint = did_you_mean(naming.precision, known.schemes)
        findings.append(Finding("catalog add-model", 0, "--precision", f"unknown '{naming.precision}'", hint))
    if findings:
        raise InputError(findings)
