"""`optimizer compare`: the best plan under each choice, ranked, with what disqualifies the others."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError
from optimizer.base.extras import optional
from optimizer.base.files import write_bytes
from optimizer.cli import calls, names
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    WorkLimitOption,
    format_of_file,
    watched,
    write,
)
from optimizer.cli.question import question
from optimizer.cli.terminal import printable, say


class SheetFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    HTML = "html"
    XLSX = "xlsx"


FORMAT_HELP = (
    "How to write the result; unless given, as --output's name ends. xlsx needs --output and pip install '.\\[sheet]'."
)


TIME_HELP = (
    "Seconds for the whole command once its files are read. What is left out for lack of time is told as not compared, "
    "with exit code 0; 4 where the plan that all are held against is without proof."
)


def compare(
    scenario: ScenarioArgument,
    by: Annotated[str, typer.Option(help=f"One of {', '.join(names.COMPARABLE)}.")],
    top: Annotated[
        int | None, typer.Option(min=1, help=f"Rows shown of each table; {names.MOST_SHOWN}, and all of them in csv.")
    ] = None,
    output_format: Annotated[
        SheetFormat, typer.Option("--format", callback=format_of_file, help=FORMAT_HELP)
    ] = SheetFormat.TEXT,
    output: OutputOption = None,
    chart: Annotated[Path | None, typer.Option(help="Draw the costs as an .svg file.")] = None,
    catalogs: CatalogsOption = None,
    time_limit_s: Annotated[float | None, typer.Option("--time-limit-s", min=0.001, help=TIME_HELP)] = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """The best plan under each choice at the same service levels, ranked by cost, and what stops the others."""
    _check_chart(chart)
    _check_sheet(output_format, output)
    inputs = question(scenario, catalogs, output, chart)
    with watched(calls.COMPARE_PHASES, quiet) as progress:
        answer = calls.compare(
            inputs.scenario, inputs.catalogs, by, time_limit_s=time_limit_s, work_limit=work_limit, progress=progress
        )
    if chart is not None:
        write(calls.compare_chart(answer, top or names.MOST_SHOWN), chart)
    if output_format is SheetFormat.XLSX and output is not None:
        write_bytes(output, calls.compare_xlsx(answer, top))
    else:
        write(_rendered(answer, output_format, top, quiet=quiet), output)
    raise typer.Exit(calls.exit_of(answer))


def _check_chart(chart: Path | None) -> None:
    """Says that a chart could not be drawn before any time is spent on it."""
    if chart is None:
        return
    if chart.suffix.lower() != ".svg":
        raise InputError([Finding("compare", 0, "--chart", f"cannot draw a '{chart.suffix}' file", "known: .svg")])
    optional("matplotlib", extra="report")


def _check_sheet(form: SheetFormat, output: Path | None) -> None:
    """Says that a spreadsheet could not be written before any time is spent on it."""
    if form is not SheetFormat.XLSX:
        return
    if output is None:
        raise InputError([Finding("compare", 0, "--format", "xlsx is a file of its own", "add --output FILE.xlsx")])
    optional("xlsxwriter", extra=calls.SHEET_EXTRA)


def _rendered(answer: "calls.Comparison", form: SheetFormat, top: int | None, *, quiet: bool) -> str:
    if form is SheetFormat.CSV:
        return calls.compare_csv(answer, top)
    if form is SheetFormat.HTML:
        return calls.compare_html(answer, top, _chart_if_it_can_be_drawn(answer, top, quiet=quiet))
    return calls.rendered(calls.compare_answer(answer, top), answer, form.value)


def _chart_if_it_can_be_drawn(answer: "calls.Comparison", top: int | None, *, quiet: bool) -> str:
    """The page holds all figures without it, so that it is written all the same."""
    try:
        return calls.compare_chart(answer, top or names.MOST_SHOWN)
    except InputError as error:
        if not quiet:
            say(f"the page has no chart: {printable(str(error))}")
        return ""
