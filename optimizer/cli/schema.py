"""`optimizer schema`: the JSON schema of what goes in and what comes out."""

from typing import Annotated

import typer

from optimizer.cli.options import OutputOption, write
from optimizer.report.export import SCHEMAS, schema


def schema_command(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(sorted(SCHEMAS))}.")], output: OutputOption = None
) -> None:
    """The JSON schema of a published shape."""
    write(schema(name), output)
