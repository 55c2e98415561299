"""`optimizer sweep`: one scenario under many values at once."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Exit, Format, FormatOption, QuietOption, cores, deliver

WORK_LIMIT = 200_000
"""As many for each run as a gate gives a scenario."""
NO_ANSWER = frozenset({"feasible", "unproven", "failed"})
"""Outcomes that are neither a proven plan nor the proof that there is none."""


def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="SWEEP", help="A sweep file (YAML or JSON), or - for standard input.")
    ],
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as there are cores unless said.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A folder for results.jsonl; runs that are in it are not worked out again."),
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
    asked = calls.load_sweep(file, calls.load_catalogs(catalogs))
    with calls.watched(calls.sweep_steps(asked), quiet, alike=True) as progress:
        found = calls.sweep(
            asked,
            jobs=jobs or cores(),
            output=output,
            work_limit=work_limit,
            time_limit_s=time_limit_s,
            progress=progress,
        )
    kept = "" if output is None else str(output / "results.jsonl")
    deliver(calls.sweep_answer(found, kept), found, output_format, None)
    unanswered = any(row.outcome in NO_ANSWER for row in found.rows)
    raise typer.Exit(Exit.UNPROVEN if unanswered else Exit.ANSWERED)
