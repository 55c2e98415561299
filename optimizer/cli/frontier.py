"""`optimizer frontier`: cost against a requirement or two, each point a proven optimum."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from optimizer.answers.frontier import frontier, sweep_of
from optimizer.cli.options import (
    CatalogsOption,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    TimeLimitOption,
    check_writable,
    write,
)
from optimizer.cli.question import question
from optimizer.plan.variants.frontier import SWEEPABLE
from optimizer.report.export import as_json
from optimizer.report.plan.frontier import frontier_markdown, frontier_text

EXIT_NO_PLAN = 3
SWEEP_HELP = f"FIELD=A:B:N with FIELD one of {', '.join(SWEEPABLE)}, or WORKLOAD.FIELD; twice for a grid."


def frontier_command(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped scenario.")],
    sweep: Annotated[list[str], typer.Option(help=SWEEP_HELP)],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Cost against a requirement or two, each point a proven optimum, and the values where the plan changes."""
    check_writable(output)
    file, known = question(scenario, catalogs)
    sweeps = [sweep_of(text, file.scenario) for text in sweep]
    with _progress(quiet, prod(each.count for each in sweeps)) as solved:
        answer = frontier(file.scenario, known, sweeps, time_limit_s=time_limit_s, progress=solved)
    forms = {Format.JSON: as_json, Format.MARKDOWN: frontier_markdown, Format.TEXT: frontier_text}
    write(forms[output_format](answer), output)
    raise typer.Exit(0 if answer.plans else EXIT_NO_PLAN)


@contextmanager
def _progress(quiet: bool, total: int) -> Iterator[Callable[[], None] | None]:
    """A bar on stderr that advances with every point, where there is a terminal to see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("solving", total=total)
        yield lambda: bar.advance(task)
