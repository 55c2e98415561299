"""`optimizer schema`: the JSON schema of what goes in and what comes out."""

from typing import Annotated

import typer

from optimizer.cli import calls, names
from optimizer.cli.options import OutputOption, write


def schema(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(sorted(names.SCHEMAS))}.")],
    output: OutputOption = None,
) -> None:
    """The JSON schema of a published shape."""
    write(calls.schema(name), output)
