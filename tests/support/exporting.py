"""Plans as runs and as files, for the tests of exports."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from optimizer.answers.running.export.export import export
from optimizer.answers.running.export.record import Export, LeftOut, Run
from optimizer.answers.running.export.runs import runs_of
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.report import PlanReport

Runs = tuple[tuple[Run, ...], tuple[LeftOut, ...]]


def runs(report: PlanReport, catalogs: Catalogs, named: Mapping[tuple[str, str], str] | None = None) -> Runs:
    """What a plan runs, and what can't be."""
    return runs_of(report, Scenario.model_validate(report.inputs.scenario), catalogs, named or {})


def exported(report: PlanReport, catalogs: Catalogs, *targets: str) -> Export:
    """A plan's files for some targets."""
    found, left_out = runs(report, catalogs)
    return export(report, catalogs, found, targets=targets, left_out=left_out)


def with_deployment(report: PlanReport, **changes: Any) -> PlanReport:
    """The plan with its first deployment changed, whatever that does to its promises."""
    first, *others = report.deployments
    return report.model_copy(update={"deployments": (first.model_copy(update=changes), *others)})


def on_tensorrt(report: PlanReport, **changes: Any) -> PlanReport:
    """The plan with its first deployment on TensorRT-LLM."""
    starts = {"memory_utilization": 0.9, "max_num_seqs": 2048, "max_num_batched_tokens": 8192}
    settings = report.deployments[0].engine_starts_with.model_copy(update=starts)
    engine = {"engine": "tensorrt-llm", "engine_version": "1.2.1", "engine_starts_with": settings}
    return with_deployment(report, **engine, **changes)


def on_spot(run: Run) -> Run:
    """The run on machines that may be taken back."""
    return replace(run, machine=replace(run.machine, pricing_term="spot"))


def documents(found: Export, file: str) -> list[Any]:
    """Every YAML document of the files of that name."""
    return [
        content
        for path, text in found.files.items()
        if path.endswith(f"/{file}")
        for content in yaml.safe_load_all(text)
    ]
