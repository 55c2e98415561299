"""`optimizer plan`: the cheapest plan, with its explanation."""

import json
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.base.memory import Memory
from optimizer.cli import calls
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    Format,
    FormatOption,
    MaxMemoryOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    TimeLimitOption,
    WorkLimitOption,
    deliver,
    watched,
    write,
)
from optimizer.cli.question import CommandInputs, question


def plan(
    scenario: ScenarioArgument,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    max_memory_gb: MaxMemoryOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="All of it; varies every limit and price, which takes tens of seconds.")
    ] = False,
    quiet: QuietOption = False,
    risk: Annotated[
        bool, typer.Option("--risk", help="Say in a line how often it holds, and its cost, over 200 draws of a month.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="Write to this file what proves the bound, checked without any solver."),
    ] = None,
) -> None:
    """The cheapest plan that meets the scenario, with its proof and explanation."""
    # the time is that of the whole command; of the work a proof and draws may take as much again as the plan
    clock = Clock(time_limit_s, work_limit, memory=Memory(max_memory_gb))
    inputs = question(scenario, catalogs, output, certificate)
    if certificate is not None:
        calls.check_certifiable(inputs.scenario)
    if risk:
        with inputs.file.naming_lines():
            calls.check_drawable(inputs.scenario)
    with watched(calls.OPTIMIZE_PHASES, quiet) as progress:
        planned = calls.optimized(
            inputs.scenario,
            inputs.catalogs,
            Clock(time_limit_s, work_limit, memory=Memory(max_memory_gb)),
            progress,
            best_and_bound=progress.best_and_bound if progress else None,
            thorough=verbose,
            first_page=output_format is Format.TEXT and not verbose,
        )
    report = calls.located(planned.report, inputs.file)
    answer = calls.plan_answer(report, verbose or output_format is Format.MARKDOWN)
    if risk:
        answer = calls.with_risk(answer, _drawn(planned, inputs, clock))
    if certificate is not None:
        found = calls.certificate_of(report, inputs.scenario, inputs.catalogs, clock)
        if found is not None:
            write(json.dumps(found.content, separators=(",", ":")) + "\n", certificate)
        answer = calls.with_certificate(answer, found, str(certificate), clock.reached)
    deliver(answer, report, output_format, output)
    raise typer.Exit(calls.exit_of(report))


def _drawn(planned: "calls.Optimized", inputs: CommandInputs, clock: Clock) -> "calls.RiskReport | InputError":
    """What the plan is worth in draws, or what keeps it from being told."""
    try:
        return calls.risk_in_brief(planned.answer, inputs.scenario, inputs.catalogs, clock)
    except InputError as error:
        return error
