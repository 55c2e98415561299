"""`optimizer sweep`: one scenario under many values at once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError
from optimizer.base.extras import optional
from optimizer.base.files import write_bytes
from optimizer.base.workers import cores
from optimizer.cli import calls
from optimizer.cli.options import (
    CatalogsOption,
    Exit,
    Format,
    FormatOption,
    QuietOption,
    check_writable,
    deliver,
    watched,
)

WORK_LIMIT = 200_000
"""As many for each run as a gate gives a scenario."""
NO_ANSWER = frozenset({"feasible", "unproven", "failed"})
"""Outcomes that are neither a proven plan nor the proof that there is none."""


class Executor(StrEnum):
    """What the runs of a sweep are spread by."""

    PROCESSES = "processes"
    RAY = "ray"


def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="SWEEP", help="A sweep file (YAML or JSON), or - for standard input.")
    ],
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at once; as many as there are here or in the cluster.")
    ] = None,
    engine: Annotated[
        Executor, typer.Option(help="Processes of this machine, or a Ray cluster; ray needs pip install '.\\[ray]'.")
    ] = Executor.PROCESSES,
    address: Annotated[
        str | None, typer.Option(help="HOST:PORT of the Ray cluster, or auto; without it one of this machine is made.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A folder for results.jsonl; runs that are in it are not worked out again."),
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option(help="Write the rows to this Parquet file, too; needs pip install '.\\[parquet]'.")
    ] = None,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
    time_limit_s: Annotated[
        float | None, typer.Option("--time-limit-s", min=0.001, help="Seconds for each run; none unless asked for.")
    ] = None,
    work_limit: Annotated[
        int, typer.Option("--work-limit", min=1, help="Simplex iterations for each run; the same on every machine.")
    ] = WORK_LIMIT,
    quiet: QuietOption = False,
) -> None:
    """One scenario under many values at once: a plan each, on all cores, kept so that a stop loses nothing."""
    if address is not None and engine is not Executor.RAY:
        raise InputError([Finding("sweep", 0, "--address", "is of a Ray cluster", "add --engine ray")])
    if parquet is not None:
        optional("pyarrow", extra=calls.PARQUET_EXTRA)
    asked = calls.load_sweep(file, calls.load_catalogs(catalogs))
    check_writable(parquet)
    with watched(calls.sweep_steps(asked), quiet, alike=True) as progress:
        found = calls.sweep(
            asked,
            jobs=jobs or (None if address else cores()),
            engine=engine.value,
            address=address,
            output=output,
            work_limit=work_limit,
            time_limit_s=time_limit_s,
            progress=progress,
        )
    if parquet is not None:
        write_bytes(parquet, calls.sweep_parquet(found))
    kept = "" if output is None else str(output / "results.jsonl")
    deliver(calls.sweep_answer(found, kept), found, output_format, None)
    unanswered = any(row.outcome in NO_ANSWER for row in found.rows)
    raise typer.Exit(Exit.UNPROVEN if unanswered else Exit.ANSWERED)
