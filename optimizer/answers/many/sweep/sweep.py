"""One scenario under every value asked for: a plan for each run, kept as it comes, the same bytes from any machine."""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Literal, TypeAlias

from optimizer.answers.many.sweep.on_ray import rows_of_ray
from optimizer.answers.many.sweep.processes import rows_of_processes
from optimizer.answers.many.sweep.results import SweepFolder, as_asked, by_key
from optimizer.answers.many.sweep.types import RunLimits, SweepReport, SweepRow, SweepRun, SweepRuns
from optimizer.base.progress import Progress, silent
from optimizer.plan.record.fields import Outcome, cents

WORK_LIMIT: Final = 200_000
"""Simplex iterations of a run, as many as a gate gives a scenario."""

Executor: TypeAlias = Literal["processes", "ray"]
"""What the runs are spread by."""

OUTCOMES: Final[dict[Outcome, str]] = {
    "optimal": "proven optimal",
    "infeasible": "proven to have no plan",
    "feasible": "with a plan that was not proven in time",
    "unproven": "with neither plan nor proof in time",
    "failed": "failed",
}
"""How a run may have ended, in words."""


def sweep(
    asked: SweepRuns,
    *,
    jobs: int | None = 1,
    engine: Executor = "processes",
    address: str | None = None,
    output: Path | None = None,
    work_limit: int | None = WORK_LIMIT,
    time_limit_s: float | None = None,
    progress: Progress | None = None,
) -> SweepReport:
    """Plans every run of a sweep.

    Args:
        asked: The runs, as `load_sweep` reads them.
        jobs: Runs at once; None for as many as a Ray cluster has cores. More than one process needs the usual
            `if __name__ == "__main__":` in a script.
        engine: Processes of this machine, or actors of a Ray cluster. Neither changes a byte of the answer.
        address: Of the Ray cluster; without it one of this machine is made.
        output: A folder for `results.jsonl`. Rows in it that nothing more would come of are not worked out again.
        work_limit: Simplex iterations for each run, which end at the same place on every machine; None for no limit.
        time_limit_s: Seconds for each run, with which rows may differ from machine to machine.
        progress: Told the name of each step (`sweep_steps`) as it begins.

    Returns:
        A row for each run, in the order of the sweep; of a run that failed, with the reason.

    Raises:
        InputError: the folder holds something else, or cannot be written; Ray is not installed, or does not answer.
    """
    limits = RunLimits(work_limit, time_limit_s)
    folder = None if output is None else SweepFolder(output)
    rows = dict(by_key(folder.known.values() if folder else (), limits))
    left = {run.key: run for run in asked.runs if run.key not in rows}
    steps, begin = sweep_steps(asked), progress or silent
    if folder is not None:
        folder.begin()
    for step in steps[len(steps) - len(left) :][:1]:
        begin(step)
    with closing(_answered(list(left.values()), asked, limits, engine, jobs=jobs, address=address)) as found:
        for row in found:
            rows[row.key] = row
            if folder is not None:
                folder.add(row)
            del left[row.key]
            for step in steps[len(steps) - len(left) :][:1]:
                begin(step)
    listed = [as_asked(rows[run.key], run) for run in asked.runs]
    if folder is not None:
        folder.finish(listed)
    return _report(asked, listed)


def _answered(
    runs: list[SweepRun],
    asked: SweepRuns,
    limits: RunLimits,
    engine: Executor,
    *,
    jobs: int | None,
    address: str | None,
) -> Generator[SweepRow]:
    """The row of each run as it is worked out, in no order."""
    if engine == "ray" and runs:
        return rows_of_ray(runs, asked.catalogs, limits, jobs, address)
    return rows_of_processes(runs, asked.catalogs, limits, jobs or 1)


def sweep_steps(asked: SweepRuns) -> list[str]:
    """What `progress` is told, in order: runs that ask the same are one, and those known before are left out."""
    total = len({run.key for run in asked.runs})
    return [f"run {number:,} of {total:,}" for number in range(1, total + 1)]


def _report(asked: SweepRuns, rows: Sequence[SweepRow]) -> SweepReport:
    costs = {at: cents(row.monthly_cost_usd) for at, row in enumerate(rows) if row.monthly_cost_usd is not None}
    least = min(costs.values(), default=None)
    return SweepReport(
        scenario=asked.scenario,
        summary=_summary(asked.scenario, rows),
        varied=asked.varied,
        cheapest=tuple(at for at, cost in costs.items() if cost == least),
        rows=tuple(rows),
    )


def _summary(scenario: str, rows: Sequence[SweepRow]) -> str:
    """How many runs there are, what they cost, and how they ended."""
    costs = [cents(row.monthly_cost_usd) for row in rows if row.monthly_cost_usd is not None]
    ended = Counter(row.outcome for row in rows)
    said = [f"{ended[outcome]} {words}" for outcome, words in OUTCOMES.items() if ended[outcome]]
    runs = f"{len(rows):,} {'run' if len(rows) == 1 else 'runs'} of {scenario}: {', '.join(said)}."
    if not costs:
        return runs
    low, high = min(costs), max(costs)
    span = f"${low:,.2f}" if low == high else f"${low:,.2f} to ${high:,.2f}"
    return f"{runs} {'The one plan costs' if len(costs) == 1 else 'The plans cost'} {span} a month."
