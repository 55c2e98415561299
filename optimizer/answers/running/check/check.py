"""`check`: whether results of benchmarks keep a plan's promises."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from optimizer.answers.running.benchmark import not_benchmarked
from optimizer.answers.running.check.fitness import Judged, Promised
from optimizer.answers.running.check.promise import checked_promises
from optimizer.answers.running.check.types import CheckedPromise, CheckedRun, CheckReport, CheckVerdict
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.load_results.copies import without_copies
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import LoadResult
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.benchmark.runs import SURE, BenchmarkRun, runs_of
from optimizer.plan.record.report import PlanReport

GRAVEST_FIRST: Final[tuple[CheckVerdict, ...]] = ("unfit", "broken", "undecided", "kept")


def check(paths: Sequence[Path], report: PlanReport, scenario: Scenario, catalogs: Catalogs) -> CheckReport:
    """Holds every run in the files against what the plan promises of it.

    Args:
        paths: Results of load generators, each counted once.
        report: The plan.
        scenario: What it was made for.
        catalogs: Those that it was made from.

    Returns:
        A verdict on each promise and on all of them, and what became of each run.

    Raises:
        InputError: there is no plan, nothing in it to measure, or a file cannot be read.
    """
    runs = runs_of(scenario, catalogs, report.fleet)
    if not runs:
        raise InputError([Finding("--plan", 0, "deployments", "nothing in this plan can be measured")])
    promised = Promised(runs, report.plan_id, report.scenario, catalogs)
    judged = [promised.judged(result) for result in _results(paths)]
    promises = [promise for run in runs for promise in _promises(run, judged)]
    given = {each.run.name for each in judged if each.run is not None}
    return CheckReport(
        verdict=_gravest(promises, judged),
        scenario=report.scenario,
        plan=report.plan_id,
        sure=SURE,
        promises=promises,
        runs=[_checked_run(each) for each in judged],
        not_measured=[run.name for run in runs if run.name not in given],
        not_benchmarked=list(not_benchmarked(report)),
    )


def _promises(run: BenchmarkRun, judged: Sequence[Judged]) -> list[CheckedPromise]:
    """What became of a run's promises, by all that was given for it."""
    mine = [each for each in judged if each.run is run]
    fit = [each.result for each in mine if not each.reasons]
    return checked_promises(run, fit, unfit=bool(mine))


def _gravest(promises: Sequence[CheckedPromise], judged: Sequence[Judged]) -> CheckVerdict:
    """The verdict on all: no promise is kept for the others, and no run that does not count is passed over."""
    verdicts = {promise.verdict for promise in promises} | {"unfit" for each in judged if each.reasons}
    return next(verdict for verdict in GRAVEST_FIRST if verdict in verdicts)


def _results(paths: Iterable[Path]) -> list[LoadResult]:
    """Every run of every file, what is given twice once; the problems of all files at once."""
    findings: list[Finding] = []
    results: list[LoadResult] = []
    for path in {each.resolve(): each for each in paths}.values():
        try:
            results += read_results(path)
        except InputError as error:
            findings += error.findings
    refuse(findings)
    return without_copies(results)


def _checked_run(judged: Judged) -> CheckedRun:
    result = judged.result
    return CheckedRun(
        file=result.file,
        place=result.run,
        tool=result.tool,
        benchmark=None if judged.run is None else judged.run.name,
        fit=not judged.reasons,
        reasons=list(judged.reasons),
        notes=list(judged.notes),
    )
