"""`optimizer simulate`: what a plan's percentiles are when requests really arrive."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    OutputOption,
    QuietOption,
    TimeLimitOption,
    WorkLimitOption,
    check_writable,
    format_of_file,
    watched,
    write,
)
from optimizer.cli.question import about_plan, question

REQUESTS = 50_000


class PageFormat(StrEnum):
    """How a simulation is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


class Router(StrEnum):
    """What sends requests to replicas."""

    IN_TURN = "in_turn"
    BY_CHANCE = "by_chance"
    LEAST_LOADED = "least_loaded"
    PREFIX_AWARE = "prefix_aware"


def simulate(
    plan: Annotated[str, typer.Argument(help="A plan (JSON), a scenario, or the name of a shipped scenario.")],
    arrivals: Annotated[
        str | None,
        typer.Option(
            help="poisson; gamma:CV2, CV2 the squared variation of the gaps; ramp:FROM-TO, multiples of the plan's "
            "rate; together:SECONDS, crowds every so often; week or week:DAYS, the scenario's own hours; or trace. "
            "Else as the scenario says."
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Requests: a CSV file (arrived_at_s, input_tokens, output_tokens), or lines of JSON (.jsonl: "
            "timestamp in ms, input_length, output_length) whose hash_ids say what prefix caches may find."
        ),
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(help="A profile as `optimizer catalog list length-profiles` shows it, instead of the lengths."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How often to repeat it with other luck.")] = 1,
    requests: Annotated[
        int, typer.Option(min=100, max=10_000_000, help="Of each workload and seed; more for large fleets.")
    ] = REQUESTS,
    confidence: Annotated[
        float | None,
        typer.Option(min=0.5, max=0.999, help="Step times at this bound, 0.5 as predicted; else the plan's."),
    ] = None,
    by_chance: Annotated[
        bool, typer.Option("--by-chance", help="Requests go to any replica at random, whatever policy.router says.")
    ] = False,
    router: Annotated[
        Router | None,
        typer.Option(
            help="What sends requests to replicas, whatever policy.router says; prefix_aware, to the one that was sent "
            "most of the prompt, of a trace with hash_ids."
        ),
    ] = None,
    lose_instance: Annotated[
        bool,
        typer.Option(
            "--lose-instance",
            help="Half-way an instance of each workload is lost, until another has started. Promises are then judged "
            "by the requests that come while it lasts.",
        ),
    ] = False,
    lose_region: Annotated[
        str | None, typer.Option(help="The same of all replicas in a region: us-east-1 or aws/us-east-1.")
    ] = None,
    lose_spot: Annotated[
        bool, typer.Option("--lose-spot", help="The same of all spot replicas in a region, taken back together.")
    ] = False,
    lost_minutes: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=10_000,
            help="How long that lasts; else what the scenario says, or a start of what can be rented again.",
        ),
    ] = None,
    autoscale: Annotated[
        float | None,
        typer.Option(
            min=0.05,
            max=1.0,
            help="Over --arrivals week or week:DAYS: replicas are added and removed by what arrived, so that this "
            "share of what they sustain is used, late by their start; beside it the plan's own hours.",
        ),
    ] = None,
    output_format: Annotated[
        PageFormat,
        typer.Option(
            "--format", callback=format_of_file, help="How to write the result; unless given, as --output's name ends."
        ),
    ] = PageFormat.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """A plan's percentiles when requests really arrive, one by one; exit code 1 when a promise breaks."""
    coming = calls.arrivals_of(arrivals, trace)
    report, scenario, known = _planned(
        plan, catalogs, output, time_limit_s=time_limit_s, work_limit=work_limit, quiet=quiet
    )
    with about_plan(Path(plan)):
        found = calls.simulate(
            report,
            scenario,
            known,
            coming,
            confidence=confidence,
            requests=requests,
            seeds=seeds,
            lengths=lengths,
            by_chance=by_chance,
            router=None if router is None else router.value,
            lose_instance=lose_instance,
            lose_region=lose_region,
            lose_spot=lose_spot,
            lost_minutes=lost_minutes,
            autoscale=autoscale,
        )
    if output_format is PageFormat.HTML:
        write(calls.simulation_html(report, found), output)
    else:
        write(calls.rendered(calls.simulation_answer(report, found), found, output_format.value), output)
    raise typer.Exit(calls.exit_of(found))


def _planned(
    plan: str,
    catalogs: Path | None,
    output: Path | None,
    *,
    time_limit_s: float | None,
    work_limit: int | None,
    quiet: bool,
) -> "tuple[calls.PlanReport, calls.Scenario, calls.Catalogs]":
    """A file's plan, else the one of a scenario, with what it was made for and from."""
    if calls.is_plan(Path(plan)):
        known = calls.load_catalogs(catalogs)
        report, scenario = calls.plan_in(Path(plan), known)
        check_writable(output)
        return report, scenario, known
    inputs = question(plan, catalogs, output)
    with watched(calls.OPTIMIZE_PHASES, quiet) as progress:
        report = calls.optimize(
            inputs.scenario, inputs.catalogs, time_limit_s=time_limit_s, work_limit=work_limit, progress=progress
        )
    return report, inputs.scenario, inputs.catalogs
