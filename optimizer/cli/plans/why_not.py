"""`optimizer why-not`: what another choice would cost, or which requirements it fails and by how much."""

from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    TimeLimitOption,
    WorkLimitOption,
    deliver,
    watched,
)
from optimizer.cli.question import question


def why_not(
    scenario: ScenarioArgument,
    gpu: Annotated[str | None, typer.Option(help="As `optimizer catalog list gpus` shows it, or a pattern.")] = None,
    provider: Annotated[str | None, typer.Option(help="A provider, or a pattern.")] = None,
    precision: Annotated[str | None, typer.Option(help="Of the weights: bf16, fp8, int4 and so on.")] = None,
    tensor_parallel: Annotated[int | None, typer.Option(min=1, max=1024, help="GPUs that share each layer.")] = None,
    pricing_term: Annotated[str | None, typer.Option(help="on_demand, spot, reserved_1y and so on.")] = None,
    engine: Annotated[str | None, typer.Option(help="Serving engine.")] = None,
    region: Annotated[str | None, typer.Option(help="A region, or a pattern.")] = None,
    workload: Annotated[str | None, typer.Option(help="Force GPU, precision, engine on this workload alone.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """What a choice would cost against the plan and why, or what it fails, and the price at which it wins."""
    inputs = question(scenario, catalogs, output)
    choice = calls.Choice(gpu, provider, precision, tensor_parallel, pricing_term, engine, region, workload)
    with watched(calls.WHY_NOT_PHASES, quiet) as progress:
        answer = calls.why_not(
            inputs.scenario,
            inputs.catalogs,
            choice,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(calls.why_not_answer(answer), answer, output_format, output)
    raise typer.Exit(calls.exit_of(answer))
