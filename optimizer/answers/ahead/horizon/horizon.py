"""When to commit, for how long and what to wait for: purchases over the months ahead as one program over a tree."""

from collections.abc import Iterator, Sequence
from typing import Final

from optimizer.answers.ahead.horizon.strategies import (
    BRANCH_KNOWN,
    HORIZON_PHASES,
    Alone,
    Name,
    mean_branch,
    quantile_of,
    strategies,
    value_between,
    without_looking_ahead,
)
from optimizer.answers.withheld import confirmed
from optimizer.base.arguments import check_within
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario, outgrown
from optimizer.inputs.scenario.lifecycle import MAX_HORIZON_MONTHS
from optimizer.inputs.scenario.scenario import Lifecycle, Scenario
from optimizer.plan.horizon.branches import branches_of, demand_factor, horizon_of, months_of, tree_of
from optimizer.plan.horizon.formulate import PlannedMonths, planned
from optimizer.plan.horizon.observed import observed_percent_per_year, observed_prices
from optimizer.plan.horizon.question import asked_over_months, in_hours_to_try, not_held, terms_considered
from optimizer.plan.horizon.readback import Read, break_even
from optimizer.plan.horizon.scope import notes_of, scope_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fields import usd
from optimizer.plan.record.horizon import BranchAhead, HorizonReport
from optimizer.plan.verify.ahead.horizon import verify_horizon
from optimizer.program.horizon.dominance import undominated
from optimizer.program.horizon.problem import HorizonProblem
from optimizer.program.horizon.solve import Purchases, solve_horizon

WANTED_GAP: Final = 0.005
"""Where the search for purchases ends, as a share of their cost, unless another is asked for."""

SHARE_OF_PURCHASES, SHARE_OF_MEAN, SHARE_OF_KNOWN = 0.5, 0.3, 0.6
"""Of what is left of a limit: for the answer, the mean branch and the branches alone; the others have the rest."""

_REASON: Final = {
    "optimal": "no purchases within the scope cost less",
    "feasible": "proven to within the gap that was asked for",
    "infeasible": "no purchases within the scope and the limits serve the demand of every month",
    "unproven": "a limit was reached before purchases were found or ruled out",
}


def horizon(
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    wanted_gap: float = WANTED_GAP,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> HorizonReport:
    """The purchases of least expected net present cost over the months of a scenario's `lifecycle`.

    Args:
        scenario: With a `lifecycle` section; its `horizon` says what is not known.
        catalogs: What is known.
        wanted_gap: Search no further than proven within this share of the least cost.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told each of `HORIZON_PHASES`.

    Returns:
        What to sign now and later, its cost by branch and month, and what other ways to decide would cost.

    Raises:
        InputError: no `lifecycle` section, names that the catalogs do not know, requirements that it cannot keep.
        VerificationFailed: the purchases did not survive independent arithmetic.
    """
    check_within("horizon", wanted_gap=(wanted_gap, 0, 1))
    life = scenario.lifecycle
    if life is None:
        hint = "add for example lifecycle: {months: 36, growth_percent_per_month: 5}"
        raise InputError([Finding("scenario", 0, "lifecycle", "is missing", hint)])
    if months_of(life) > MAX_HORIZON_MONTHS:
        hint = f"say at most {MAX_HORIZON_MONTHS} in lifecycle.horizon.months"
        raise InputError([Finding("scenario", 0, "lifecycle.months", "is more than purchases are planned over", hint)])
    refuse([*check_scenario(scenario, catalogs), *not_held(scenario), *outgrown(scenario, _factors(life))])
    begin, clock = progress or silent, Clock(time_limit_s, work_limit, memory=Memory())
    inquiries = in_hours_to_try(asked_over_months(scenario, catalogs, clock), life)
    begin(HORIZON_PHASES[0])
    plan, problem, bought = _cheapest(inquiries, life, clock.share(SHARE_OF_PURCHASES), wanted_gap)
    ways: dict[Name, Purchases] = {}
    if bought.found and len(problem.tree.weight) > 1:
        begin("the mean branch")
        ways["the mean branch"] = mean_branch(problem, clock.share(SHARE_OF_MEAN), wanted_gap)
        bought = bought.or_cheaper(ways["the mean branch"])
    if not bought.found:
        return _report(scenario, plan, problem, bought, wanted_gap)
    begin(BRANCH_KNOWN)
    branch_usd = Read(plan, problem, bought).branch_usd()
    alone = Alone.of(problem, branch_usd, clock.share(SHARE_OF_KNOWN), wanted_gap)
    ways |= without_looking_ahead(problem, clock, wanted_gap, begin)
    for other in ways.values():
        # after a limit another way to decide may have found what costs less
        bought = bought.or_cheaper(other)
    branch_usd = Read(plan, problem, bought).branch_usd()
    alone = alone.at_most(branch_usd)
    report = _report(scenario, plan, problem, bought, wanted_gap)
    return _verified(_compared(report, plan, problem, alone, ways, branch_usd), scenario, catalogs)


def _cheapest(
    inquiries: Sequence[Inquiry], life: Lifecycle, clock: Clock, wanted_gap: float
) -> tuple[PlannedMonths, HorizonProblem, Purchases]:
    """The purchases in the hours of batches in which they cost least, with what is proven of all hours tried."""
    found: list[tuple[PlannedMonths, HorizonProblem, Purchases]] = []
    for number, inquiry in enumerate(inquiries):
        plan = planned(inquiry, life, observed_percent_per_year(inquiry.market))
        problem = undominated(plan.problem)
        bought = solve_horizon(problem, clock.share(1 / (len(inquiries) - number)), wanted_gap)
        found.append((plan, problem, bought))
    plan, problem, bought = min(found, key=lambda each: (each[2].expected_usd, each[2].status == "infeasible"))
    return plan, problem, bought.undercut_by(each for _, _, each in found)


def _factors(life: Lifecycle) -> Iterator[tuple[int, float]]:
    """Every month's demand over that of the first, of each branch that has parted."""
    tree = tree_of(life)
    return zip((tree.month + 1).tolist(), demand_factor(life, tree).tolist(), strict=True)


def _report(
    scenario: Scenario, plan: PlannedMonths, problem: HorizonProblem, bought: Purchases, wanted_gap: float
) -> HorizonReport:
    """The purchases with nothing beside them."""
    life, read = plan.prices.life, Read(plan, problem, bought) if bought.found else None
    signed = read.signed() if read else []
    return HorizonReport(
        scenario=scenario.name,
        outcome=bought.status,
        reason=_reason(bought, wanted_gap),
        catalog_as_of=plan.inquiry.catalogs.as_of,
        months=months_of(life),
        growth_percent_per_month=life.growth_percent_per_month,
        discount_percent_per_year=horizon_of(life).discount_percent_per_year,
        pricing_terms=list(terms_considered(scenario, life)),
        expected_usd=usd(bought.expected_usd) if read else None,
        bound_usd=usd(bought.bound_usd) if read else None,
        relative_gap=bought.relative_gap if read else None,
        wanted_gap=wanted_gap,
        owed_after_usd=usd(read.owed_after_usd()) if read else None,
        sign_now=[each for each in signed if each.month == 1],
        sign_later=[each for each in signed if each.month > 1],
        branches=[],
        regret_quantile=horizon_of(life).regret_quantile,
        regret_usd=None,
        strategies=[],
        value_of_stochastic_solution=None,
        value_of_perfect_information=None,
        break_even=break_even(plan, problem),
        by_month=read.months() if read else [],
        observed_prices=observed_prices(plan.prices.market, [each.offer for each in signed]),
        scope=scope_of(plan, problem),
        verification=None,
        notes=notes_of(scenario, plan),
    )


def _reason(bought: Purchases, wanted_gap: float) -> str:
    """Why the search ended so."""
    if bought.status == "feasible" and bought.relative_gap > wanted_gap:
        return "a limit was reached before the gap that was asked for was proven"
    return _REASON[bought.status]


def _compared(
    report: HorizonReport,
    plan: PlannedMonths,
    problem: HorizonProblem,
    alone: Alone,
    ways: dict[Name, Purchases],
    branch_usd: Sequence[float],
) -> HorizonReport:
    """The same, beside what others would decide and what each branch would cost had it been known."""
    answer, quantile = (float(report.expected_usd or 0), float(report.bound_usd or 0)), report.regret_quantile
    mean, regrets, gap = ways.get("the mean branch"), alone.regrets(branch_usd), report.wanted_gap
    return report.model_copy(
        update={
            "branches": [
                BranchAhead(
                    name=branch.name,
                    weight=branch.weight,
                    from_month=branch.from_month,
                    net_present_usd=usd(branch_usd[b]),
                    known_usd=usd(alone.usd[b]),
                    known_bound_usd=usd(alone.bound_usd[b]),
                    regret_usd=usd(regrets[b]),
                )
                for b, branch in enumerate(branches_of(plan.prices.life))
            ],
            "regret_usd": usd(quantile_of(regrets, alone.weight, quantile)),
            "strategies": strategies(plan, problem, answer[0], ways, alone, quantile),
            "value_of_stochastic_solution": mean and value_between((mean.expected_usd, mean.bound_usd), answer, gap),
            "value_of_perfect_information": value_between(answer, alone.expected, gap) if len(regrets) > 1 else None,
        }
    )


def _verified(report: HorizonReport, scenario: Scenario, catalogs: Catalogs) -> HorizonReport:
    """The report with what independent arithmetic says of it.

    Raises:
        VerificationFailed: some of it does not hold.
    """
    found = verify_horizon(report, scenario, catalogs)
    return report.model_copy(update={"verification": confirmed(found, "the purchases did not survive verification")})
