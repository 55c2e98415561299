"""`optimizer why-not`: what another choice would cost, or which requirements it fails and by how much."""

from typing import Annotated

import typer

from optimizer.answers.why_not import PHASES, why_not
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
from optimizer.cli.progress import progress
from optimizer.cli.question import question
from optimizer.plan.question.forcing import Choice
from optimizer.report.export import as_json
from optimizer.report.plan.why_not import why_not_markdown, why_not_text

EXIT_NO_PLAN = 3


def why_not_command(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped scenario.")],
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
    time_limit_s: TimeLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """What a choice would cost against the plan and why, or what it fails, and the price at which it wins."""
    check_writable(output)
    file, known = question(scenario, catalogs)
    choice = Choice(gpu, provider, precision, tensor_parallel, pricing_term, engine, region, workload)
    with progress(quiet, PHASES) as began:
        answer = why_not(file.scenario, known, choice, time_limit_s=time_limit_s, progress=began)
    forms = {Format.JSON: as_json, Format.MARKDOWN: why_not_markdown, Format.TEXT: why_not_text}
    write(forms[output_format](answer), output)
    raise typer.Exit(EXIT_NO_PLAN if answer.optimal_monthly_cost_usd is None else 0)
