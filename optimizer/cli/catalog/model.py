"""`optimizer catalog add-model`: a model of your own from its config.json."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Format, FormatOption, deliver, written


def catalog_add_model(
    config: Annotated[Path, typer.Argument(help="A folder with a Hugging Face config.json, or that file.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Folder for models.csv and sources.csv; without it nothing is written."),
    ] = None,
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
    """A model of your own from its config.json: what was read, and its row of the catalog."""
    added = calls.add_model(
        config,
        calls.load_catalogs(catalogs),
        name=identity,
        hf_id=hf_id,
        precision=precision,
        licence=licence,
        as_of=as_of.date() if as_of else None,
        replace=replace,
    )
    files = written(calls.write_overlay(output, added.tables)) if output else []
    content = {
        "model": added.model.model_dump(mode="json"),
        "read": dict(added.told),
        "released_gb": round(added.released_gb, 3),
        "written": files,
    }
    sections = calls.model_sections(added.model, added.told, added.released_gb, files)
    deliver(calls.WrittenAnswer(sections), content, output_format, None)
