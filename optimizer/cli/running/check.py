"""`optimizer check`: whether results of benchmarks keep a plan's promises."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import (
    CatalogsOption,
    Exit,
    Format,
    FormatOption,
    OutputOption,
    check_writable,
    deliver,
    write,
)

EXIT_BY_VERDICT = {"kept": Exit.ANSWERED, "broken": Exit.BROKEN, "undecided": Exit.UNPROVEN, "unfit": Exit.BAD_INPUT}


def check(
    results: Annotated[list[Path], typer.Argument(help="Result files of load generators.")],
    plan: Annotated[Path, typer.Option(help="The plan (JSON) that they measured.")],
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Whether benchmarks keep a plan's promises: exit code 0 kept, 1 broken, 4 undecided, 2 another run."""
    check_writable(output, junit)
    known = calls.load_catalogs(catalogs)
    report, scenario = calls.sound_plan(plan, known)
    found = calls.check(results, report, scenario, known)
    if junit is not None:
        write(calls.check_junit(found), junit)
    deliver(calls.check_answer(found), found, output_format, output)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict])
