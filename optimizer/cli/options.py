"""Options that all commands share, and the one place that writes results."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError


class Format(StrEnum):
    """How a result is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


FormatOption = Annotated[Format, typer.Option("--format", help="How to write the result.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", help="Write the result to this file instead of the terminal.")
]
CatalogsOption = Annotated[
    Path | None, typer.Option("--catalogs", help="A folder of your own catalog files, laid over the shipped ones.")
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option("--time-limit-s", min=0.001, help="Seconds for each solve; without proof in time the exit code is 4."),
]
EXIT_BY_OUTCOME = {"optimal": 0, "infeasible": 3, "feasible": 4, "unproven": 4, "failed": 70}
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress, no remarks.")]


def check_writable(output: Path | None) -> None:
    """Says that a result could not be written before any time is spent on it.

    Raises:
        InputError: the path is a folder, or its folder does not exist.
    """
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        what = "is a folder" if output.is_dir() else f"is in {output.parent}, which is not a folder"
        raise InputError([Finding("--output", 0, "", f"{output} {what}")])


def write(text: str, output: Path | None) -> None:
    """Prints a result, or writes it to a file.

    Raises:
        InputError: the file can't be written.
    """
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot write {output}: {error.strerror}")]) from error
