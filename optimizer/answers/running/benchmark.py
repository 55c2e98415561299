"""`benchmark`: the runs that can falsify a plan, and what of it no run is written for."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from optimizer.base.errors import Finding, InputError, did_you_mean, refuse
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.demand import arrivals_in_words
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.benchmark.commands import TOOLS, is_poisson
from optimizer.plan.benchmark.runs import BenchmarkRun, busiest_period, runs_of
from optimizer.plan.record.report import PlanReport

UNMEASURED: Final = {"request": "of which no latency is promised", "second": "whose starts no run measures"}
"""Why no run measures what is paid so."""


@dataclass(frozen=True)
class BenchmarkedDeployment:
    """What is measured of one deployment: all its classes at once, at one replica.

    Attributes:
        name: What it is called.
        monthly_cost_usd: What rests on its predictions, of all deployments that it speaks for.
        performance: What they rest on.
        runs: One for each class.
    """

    name: str
    monthly_cost_usd: Decimal
    performance: str
    runs: tuple[BenchmarkRun, ...]


@dataclass(frozen=True)
class BenchmarkPlan:
    """The runs for a plan.

    Attributes:
        scenario: Its name.
        plan_id: Which plan.
        tool: That makes the runs.
        deployments: The one that most money rests on first.
        not_benchmarked: What nothing is written for, and why.
    """

    scenario: str
    plan_id: str
    tool: str
    deployments: tuple[BenchmarkedDeployment, ...]
    not_benchmarked: tuple[str, ...]


def benchmark(report: PlanReport, scenario: Scenario, catalogs: Catalogs, tool: str) -> BenchmarkPlan:
    """The runs that can falsify a plan, for one tool.

    Args:
        report: The plan.
        scenario: What it was made for.
        catalogs: Those that it was made from.
        tool: One of `TOOLS`.

    Returns:
        The runs of each deployment, and what nothing is written for.

    Raises:
        InputError: there is no plan, nothing in it to measure, or the tool cannot send what is promised.
    """
    if tool not in TOOLS:
        hint = did_you_mean(tool, TOOLS) or f"one of {', '.join(TOOLS)}"
        raise InputError([Finding("benchmark", 0, "tool", f"no load generator is called '{tool}'", hint)])
    if report.monthly_cost_usd is None:
        problem = f"there is no plan to measure: the outcome is {report.outcome}"
        raise InputError([Finding("plan", 0, "monthly_cost_usd", problem, "name one that has deployments")])
    runs = runs_of(scenario, catalogs, report.fleet)
    left_out = not_benchmarked(report)
    if not runs:
        why = "; ".join(left_out) or "nothing runs on instances that it buys"
        raise InputError([Finding("plan", 0, "deployments", f"nothing to measure: {why}")])
    _check_arrivals(runs, tool)
    names = dict.fromkeys(run.deployment_name for run in runs)
    grouped = [tuple(run for run in runs if run.deployment_name == name) for name in names]
    deployments = tuple(
        BenchmarkedDeployment(name, mine[0].stake_usd, mine[0].d.provenance.performance, mine)
        for name, mine in zip(names, grouped, strict=True)
    )
    return BenchmarkPlan(report.scenario, report.plan_id, tool, deployments, left_out)


def not_benchmarked(report: PlanReport) -> tuple[str, ...]:
    """What of a plan no run measures, and why."""
    hosted = {(item.workload, item.model, item.provider): item for item in report.hosted}
    return (
        *(
            f"{workload}: {model} at {provider} by the {hosted[each].paid_by}, {UNMEASURED[hosted[each].paid_by]}"
            for each in sorted(hosted)
            for workload, model, provider in (each,)
        ),
        *(
            f"{d.workload}: {d.replicas}× {d.gpus_per_replica}×{d.gpu} at {d.provider} stands by and is sent nothing"
            for d in report.deployments
            if busiest_period(d) is None
        ),
    )


def _check_arrivals(runs: tuple[BenchmarkRun, ...], tool: str) -> None:
    """That the tool sends requests as unevenly as they are promised to arrive."""
    if TOOLS[tool].sends_bursts:
        return
    others = ", ".join(name for name, known in TOOLS.items() if known.sends_bursts)
    findings = [
        Finding(
            "--tool",
            0,
            "",
            f"{tool} sends Poisson arrivals only; {run.name} is promised {arrivals_in_words(round(run.cv2, 3))}",
            f"one of {others}",
        )
        for run in runs
        if not is_poisson(run)
    ]
    refuse(findings)
