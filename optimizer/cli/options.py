"""Options that all commands share, and the one place that writes results."""

import sys
from collections.abc import Mapping
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


def write_files(folder: Path, files: Mapping[str, str], replace: bool) -> list[str]:
    """Writes all files into a folder, making it where needed, or none; returns their paths.

    Raises:
        InputError: one of them is there already and may not be replaced, or the folder can't be made.
    """
    there = [name for name in files if (folder / name).exists()]
    if there and not replace:
        raise InputError(
            Finding(str(folder / name), 0, "", "is there already", "choose another folder or give --replace")
            for name in there
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Finding("--output", 0, "", f"cannot make {folder}: {error.strerror}")]) from error
    for name, text in files.items():
        write(text, folder / name)
    return [str(folder / name) for name in files]
