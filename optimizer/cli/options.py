"""Options that commands share, the exit codes, and the one place that writes results."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import EXIT_BY_OUTCOME as EXIT_BY_OUTCOME
from optimizer.base.errors import Exit as Exit
from optimizer.base.errors import Finding, InputError
from optimizer.base.files import STANDARD_INPUT, check_outputs, write_text
from optimizer.cli import calls
from optimizer.cli.terminal import show


class Format(StrEnum):
    """How a result is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


MOST = 10**12
"""US dollars or percent, as in guardrails: more is a slip."""


def amount(text: str) -> Decimal:
    """Money or a percentage as written on the command line."""
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        raise typer.BadParameter(f"'{text}' is not a number") from error
    if not found.is_finite() or not 0 <= found <= MOST:
        raise typer.BadParameter(f"'{text}' is not a finite number of at least 0 and at most {MOST:,}")
    return found


STANDARD_OUTPUT = STANDARD_INPUT
"""Both are called `-`."""
ScenarioArgument = Annotated[
    str, typer.Argument(help="A scenario file, the name of a shipped scenario, or - for standard input.")
]
OUTPUT = "output"
"""Where the context of a call keeps the file that its result goes to."""
FORMAT_BY_SUFFIX = {".json": "json", ".md": "markdown", ".csv": "csv", ".html": "html", ".xlsx": "xlsx"}
NOT_GIVEN = "DEFAULT"
"""What the library calls the source of an option's value where nobody gave one."""


def _keep_output(context: typer.Context, output: Path | None) -> Path | None:
    context.meta[OUTPUT] = output
    return output


def format_of_file(context: typer.Context, chosen: StrEnum) -> StrEnum:
    """What `--format` says; where it says nothing, what the name of the file ends in, if the command writes that."""
    output: Path | None = context.meta.get(OUTPUT)
    source = context.get_parameter_source("output_format")
    if output is None or source is None or source.name != NOT_GIVEN:
        return chosen
    forms = type(chosen)
    meant = FORMAT_BY_SUFFIX.get(output.suffix.lower())
    return forms(meant) if meant in set(forms) else chosen


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", callback=format_of_file, help="How to write the result; unless given, as --output's name ends."
    ),
]
# eager: known before the format is decided, in whatever order the two are given
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        callback=_keep_output,
        is_eager=True,
        help="Write the result to this file instead of the terminal.",
    ),
]
CatalogsOption = Annotated[
    Path | None, typer.Option("--catalogs", help="A folder of your own catalog files, laid over the shipped ones.")
]
TIME_LIMIT_S = 60.0
"""Unless another is asked for."""

TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit-s",
        min=0.001,
        help="Seconds for the whole command once its files are read; without proof in time the exit code is 4.",
    ),
]
WorkLimitOption = Annotated[
    int | None,
    typer.Option(
        "--work-limit",
        min=1,
        help="The same in simplex iterations, some thousand a second: it ends at the same place on every machine.",
    ),
]
MaxMemoryOption = Annotated[
    float | None,
    typer.Option(
        "--max-memory-gb",
        min=0.001,
        help="What the command may hold in memory; by default most of the machine's. Where it is reached the best "
        "plan is shown, and the exit code is 4.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress, no remarks.")]


def check_writable(*outputs: Path | None) -> None:
    """Says that a result could not be written before any time is spent on it; to be asked once the inputs are read.

    Raises:
        InputError: a path is a folder, or its folder does not exist, or it is an input of the command.
    """
    check_outputs(output for output in outputs if output is not None)


def check_absent(output: Path, force: bool) -> None:
    """Says that a file is there before anybody answers questions about it.

    Raises:
        InputError: it is there and may not be written over, or could not be written at all.
    """
    check_writable(output)
    if output.exists() and not force:
        raise InputError([Finding(str(output), 0, "", "is there already", "another name, or --force to write over it")])


@contextmanager
def watched(steps: Sequence[str], quiet: bool, *, alike: bool = False) -> Iterator["calls.ProgressBar | None"]:
    """A bar on stderr; None, and nothing loaded for one, where no terminal would show it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with calls.progress_bar(steps, alike) as bar:
        yield bar


def deliver(
    answer: "calls.WrittenAnswer",
    content: "calls.Content",
    output_format: Format,
    output: Path | None,
    *,
    width: int | None = None,
) -> None:
    """Writes an answer, or its content, in the form that was asked for.

    Raises:
        InputError: the file can't be written.
    """
    text = calls.rendered(answer, content, output_format.value, width=width or calls.DEFAULT_WIDTH)
    write(text, output)


def write(text: str, output: Path | None, *, over_inputs: bool = False) -> None:
    """Prints a result, or writes it to a file; over one that the command has read only where that is meant.

    Raises:
        InputError: the file can't be written.
    """
    if output is None or output == STANDARD_OUTPUT:
        show(text)
    else:
        write_text(output, text, over_inputs=over_inputs)


def written(rows_by_file: Mapping[Path, int]) -> list[str]:
    """Catalog files that were written, in words."""
    return [f"{path} ({rows:,} {'row' if rows == 1 else 'rows'})" for path, rows in rows_by_file.items()]
