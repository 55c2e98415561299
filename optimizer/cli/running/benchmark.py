"""`optimizer benchmark`: the runs that can falsify a plan's promises, as scripts of a load generator."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.names import LOAD_GENERATORS
from optimizer.cli.options import CatalogsOption, Format, FormatOption, deliver
from optimizer.cli.question import about_plan

LoadGenerator = StrEnum("LoadGenerator", {name: name for name in LOAD_GENERATORS})  # type: ignore[misc]


def benchmark(
    plan: Annotated[Path, typer.Argument(help="A plan (JSON) as `optimizer plan --format json` writes it.")],
    tool: Annotated[LoadGenerator, typer.Option(help="Which load generator makes the runs.")],
    output: Annotated[Path, typer.Option(help="The folder to write scripts to; made where it is not there.")],
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """The runs that can falsify a plan's promises, as scripts of a load generator, dearest doubts first."""
    known = calls.load_catalogs(catalogs)
    report, scenario = calls.sound_plan(plan, known)
    with about_plan(plan):
        found = calls.benchmark(report, scenario, known, tool.value)
    calls.write_folder(output, calls.benchmark_files(found), "benchmark", [calls.RESULTS])
    deliver(calls.benchmark_answer(found), calls.benchmark_content(found, str(output)), output_format, None)
