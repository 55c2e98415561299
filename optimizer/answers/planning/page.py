"""Everything that the HTML report shows: the thorough plan, a frontier, and the data of its charts."""

from dataclasses import dataclass
from typing import Final

from optimizer.answers.planning.frontier import Frontier, swept
from optimizer.answers.planning.optimize import OPTIMIZE_PHASES, optimized
from optimizer.base.clock import Clock
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.pictures import Curve, RejectionMap, RooflinePoint, curves, rejection_maps, roofline_points
from optimizer.plan.readback.readback import stands_for
from optimizer.plan.record.report import PlanReport
from optimizer.plan.variants.frontier import Sweep

PAGE_PHASES: Final = (*OPTIMIZE_PHASES, "drawing")
SHARE_OF_REPORT: Final = 0.7
"""Of a limit, for the plan with all its explanations; the rest is for the frontier."""
FRONTIER_POINTS: Final = 9
FRONTIER_REACH: Final = 2.0
"""From half of today's limit to twice it."""

SWEPT: Final = ("ttft_ms", "tpot_ms")


@dataclass(frozen=True)
class Page:
    """A plan with the data of its charts; without a plan only the map of rejected candidates."""

    report: PlanReport
    frontier: Frontier | None
    curves: tuple[Curve, ...]
    roofline: tuple[RooflinePoint, ...]
    rejections: tuple[RejectionMap, ...]


def page(
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> Page:
    """The thorough answer and what its charts show.

    Args:
        scenario: What is asked.
        catalogs: What is known.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told the name of each phase (`PAGE_PHASES`) as it begins.

    Returns:
        The plan with the data of its charts, for `page_html`.

    Raises:
        InputError: the scenario names what the catalogs do not know.
        VerificationFailed: the plan did not survive independent arithmetic.
    """
    clock = Clock(time_limit_s, work_limit, memory=Memory())
    found = optimized(scenario, catalogs, clock.share(SHARE_OF_REPORT), progress, thorough=True)
    begin = progress or silent
    begin(PAGE_PHASES[-1])
    report, answer, plan = found.report, found.answer, found.bought
    if plan is None or not report.deployments:
        return Page(report, None, (), (), tuple(rejection_maps(answer.inquiry, ())))
    sweep = _sweep(scenario)
    return Page(
        report=report,
        frontier=swept(scenario, catalogs, [sweep], clock) if sweep else None,
        curves=tuple(curves(answer, plan)),
        roofline=tuple(roofline_points(answer, plan)),
        rejections=tuple(rejection_maps(answer.inquiry, [column for column, _ in stands_for(answer)])),
    )


def _sweep(scenario: Scenario) -> Sweep | None:
    """The first latency that the first workload with one limits, around today's limit."""
    for workload in scenario.workloads:
        for field in SWEPT:
            latency = getattr(workload.slo, field)
            if latency is not None:
                today = next(iter(latency.limits_ms().values()))
                name = workload.name if len(scenario.workloads) > 1 else None
                return Sweep(field, today / FRONTIER_REACH, today * FRONTIER_REACH, FRONTIER_POINTS, name)
    return None
