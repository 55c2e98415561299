"""Which benchmark run to buy first: a row a run, what the best of them is, and how its worth is counted."""

from collections.abc import Iterator
from typing import Final

from optimizer.answers.running.experiment import ExperimentReport, ExperimentResult, ExperimentRun
from optimizer.base.figures import exactly, figure
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.report.layout.amounts import money, plural
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

HEADINGS: Final = ("", "what to run", ">price", ">saves a month", ">changes", ">too small", "the plan would become")
MOST_SHOWN: Final = 6
MOST_OVER_BUDGET: Final = 3
NOT_WORKED_OUT: Final = "not worked out"


def experiment_answer(found: ExperimentReport, asked: str, own: str = "") -> WrittenAnswer:
    """The run to buy, the others beside it, how to make it, and what was counted as a saving.

    Args:
        found: The runs.
        asked: The scenario as a command line names it.
        own: Options that name the user's own catalogs.
    """
    if found.monthly_cost_usd is None:
        return WrittenAnswer((), _without_a_plan(found), f"Experiment: {found.scenario}")
    best = next((run for run in found.runs if run.net_usd > 0), None)
    first = best or _for_being_sure(found)
    rows = tuple(_row(str(number), run, found) for number, run in enumerate(_worth_a_row(found), start=1))
    sections = (
        Section("What to run", table=Table(HEADINGS, rows)),
        Section("How to run it", tuple(_how(first, asked, own)) if first else ()),
        Section(f"Over the budget of {money(found.budget_usd)}", tuple(_over(found))),
        Section("How it was counted", tuple(_counted(found))),
    )
    return WrittenAnswer(with_content(sections), _summary(found, best), f"Experiment: {found.scenario}")


def _without_a_plan(found: ExperimentReport) -> str:
    why = "has no plan" if found.outcome == "infeasible" else "has none that was found in time"
    return f"{found.scenario} {why}, so no measurement makes it cheaper; optimizer plan says what stands in its way."


def _summary(found: ExperimentReport, best: ExperimentRun | None) -> str:
    """The run to buy, or that none is worth it, as far as was worked out; then today's plan."""
    unproven = "" if found.outcome == "optimal" else ", not proven to be the cheapest"
    plan = f"Today's plan for {found.scenario}{unproven}: {money(found.monthly_cost_usd)} a month, {found.plan}."
    if best is not None:
        return f"Measure first: {best.configuration}, for {money(best.price_usd)}, {_expected(best)}. {plan}"
    in_time = " that could be worked out in time" if found.not_worked_out else ""
    none = f"No run within {money(found.budget_usd)}{in_time} is expected to save its price"
    return f"{none}{_all_the_same(found)}. {plan}"


def _all_the_same(found: ExperimentReport) -> str:
    """What a run may be bought for where none saves its price: it costs more, or it is for being sure."""
    dearer = next((run for run in found.over_budget if run.net_usd > 0), None)
    if dearer is not None:
        return f"; {dearer.configuration} would, for {money(dearer.price_usd)}, {_expected(dearer)}"
    unsure = _for_being_sure(found)
    if unsure is None:
        return ""
    chance = f"that the plan is too small has a chance of {_least(unsure)}{unsure.chance_plan_too_small:.0%}"
    return f"; {chance}, which {unsure.configuration} would show for {money(unsure.price_usd)}"


def _for_being_sure(found: ExperimentReport) -> ExperimentRun | None:
    """The run that is likeliest to show the plan too small, if one may."""
    unsure = [run for run in found.runs if run.chance_plan_too_small > 0]
    return max(unsure, key=lambda run: run.chance_plan_too_small, default=None)


def _expected(run: ExperimentRun) -> str:
    return f"expected to save {_least(run)}{money(run.expected_saving_usd_per_month)} a month"


def _worth_a_row(found: ExperimentReport) -> list[ExperimentRun]:
    """The first runs, of those on one GPU that may bring the same plan only the one that saves most."""
    best: dict[tuple[str, str, str, bool], ExperimentRun] = {}
    for run in found.runs:
        best.setdefault((run.workload, run.gpu, _becomes(run), run.in_plan), run)
    return list(best.values())[:MOST_SHOWN]


def _row(number: str, run: ExperimentRun, found: ExperimentReport) -> tuple[str, ...]:
    workload = f"{run.workload}: " if len({each.workload for each in found.runs}) > 1 else ""
    nothing_known = not run.results
    results_of_plan = not nothing_known and (run.in_plan or run.chance_plan_too_small > 0)
    cache = f", KV {run.kv_precision}" if len({each.kv_precision for each in found.runs}) > 1 else ""
    return (
        number,
        f"{workload}{run.configuration}{cache}{_mark(run)}",
        money(run.price_usd),
        NOT_WORKED_OUT if nothing_known else f"{_least(run)}{money(run.expected_saving_usd_per_month)}",
        "" if nothing_known else f"{_least(run)}{run.chance_plan_changes:.0%}",
        f"{_least(run)}{run.chance_plan_too_small:.0%}" if results_of_plan else "",
        _becomes(run),
    )


def _least(run: ExperimentRun) -> str:
    """Before what is counted over results of which some are not known."""
    return "at least " if run.results_left_out else ""


def _mark(run: ExperimentRun) -> str:
    if run.in_plan:
        return ", in the plan"
    return ", measured by nobody" if run.performance == "estimated" else ""


def _becomes(run: ExperimentRun) -> str:
    """The plan of the best result that changes it."""
    changed = [result for result in run.results if result.becomes]
    if not changed:
        return NOT_WORKED_OUT if run.results_left_out else "no other plan"
    when = "if too small, " if changed[0].plan_too_small else ""
    return f"{when}{money(changed[0].knowing_usd)}: {changed[0].becomes}"


def _how(run: ExperimentRun, asked: str, own: str) -> Iterator[str]:
    """What is sent where, and the command that writes or makes it."""
    owned = run.pricing_term == OWNED
    rented = f"{run.instances} {plural('instance', run.instances)} {'of your own' if owned else f'at {run.provider}'}"
    paid = "paid for already" if owned else money(run.price_usd)
    yield f"{run.load}: if it keeps {run.limits}, {run.decides}"
    yield f"{rented} for {figure(run.hours)} {plural('hour', 1 if run.hours == 1 else 2)}, {paid}"
    if run.in_plan and run.at_todays_load:
        yield f"`optimizer plan {asked}{own} --format json --output plan.json`"
        yield f"`optimizer benchmark plan.json --tool vllm --output runs{own}`"
    else:
        yield f"`{run.command}`"


def _over(found: ExperimentReport) -> Iterator[str]:
    for run in found.over_budget[:MOST_OVER_BUDGET]:
        yield f"{run.configuration}: {money(run.price_usd)}, {_expected(run)}; {_becomes(run)}"
    more = len(found.over_budget) - MOST_OVER_BUDGET
    if more > 0:
        yield f"and {more} more"


def _counted(found: ExperimentReport) -> Iterator[str]:
    """What counts as a saving, and what was not looked at."""
    results = next((len(run.results) + run.results_left_out for run in found.runs + found.over_budget), 0)
    if results:
        yield (
            f"a run has {results} equally likely results, from the interval of its prediction; it teaches what "
            "`calibrate --own` would make of it, of other models and layouts on that GPU too, and nothing of the most "
            "that a replica serves"
        )
        yield (
            "a result saves what the best plan that knows it costs less than today's plan, or, where that proves too "
            f"small at {exactly(found.confidence * 100)} % confidence, less than the more of the same that is then "
            "needed; what the cheapest plan of today would save without any run is in no saving of a plan that is less "
            "simple; ranked by the saving of one month less the price"
        )
    yield from _small(found)
    rest = found.rest_saves_at_most_usd
    if rest is not None:
        share = found.compared_within_percent
        nothing = f"would save nothing, within {exactly(share)} %" if share else "would save nothing"
        at_most = f"would save {money(rest)} a month at most" if rest else nothing
        yield f"all else that could be measured, all of it at its best, {at_most}"
    hidden = len(found.runs) - len(_worth_a_row(found))
    if hidden > 0:
        yield f"{hidden} more {plural('run', hidden)} within the budget, on these GPUs or for less: --format json"
    yield from found.not_worked_out


def _small(found: ExperimentReport) -> Iterator[str]:
    """Results for which there is no money to compare."""
    for run in (*found.runs, *found.over_budget):
        stuck = [result for result in run.results if _is_stuck(result)]
        if stuck:
            chance = sum(result.probability for result in stuck)
            broken = (
                f"in {_least(run)}{chance:.0%} of cases today's plan breaks a promise that more of the same cannot keep"
            )
            yield f"{run.configuration}: {broken}, which is in no sum of money"


def _is_stuck(result: ExperimentResult) -> bool:
    return result.plan_too_small and result.blind_usd is None
