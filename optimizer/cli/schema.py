"""`optimizer schema`: the JSON schema of what goes in and what comes out."""

from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.cli.options import OutputOption, write
from optimizer.report.export import SCHEMAS, schema


def schema_command(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(sorted(SCHEMAS))}.")], output: OutputOption = None
) -> None:
    """The JSON schema of a published shape."""
    if name not in SCHEMAS:
        hint = did_you_mean(name, SCHEMAS) or f"known: {', '.join(sorted(SCHEMAS))}"
        raise InputError([Finding("NAME", 0, "", f"unknown schema '{name}'", hint)])
    write(schema(name), output)
