"""What a plan is worth over draws of demand, prices, capacity and predictions, and what would be better bought."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.answers.tried import confirmed_answer
from optimizer.answers.verified_plan import verified_plan
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError, VerificationFailed
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.record.fields import usd
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.risk import RiskReport, RiskScope
from optimizer.plan.risk.judged import plan_in_draws
from optimizer.plan.risk.naming import deployments, machines, paid
from optimizer.plan.risk.purchases import purchases_of
from optimizer.plan.risk.question import asked_in_draws, not_held
from optimizer.plan.risk.readback import best_in, bought_of, draws_of, gap_of, over_draws, promises
from optimizer.plan.risk.sample import Sample, Sampled
from optimizer.plan.risk.scope import notes_of, scope_of, spreads_told
from optimizer.plan.risk.speeds import DEVIATIONS
from optimizer.plan.risk.spreads import risk_of
from optimizer.plan.risk.variance import variance_shares
from optimizer.plan.verify.risk import verify_risk
from optimizer.program.risk.gap import Chosen, chosen
from optimizer.program.risk.known import KnownDraws, known_draws
from optimizer.program.risk.measure import Aim
from optimizer.program.risk.problem import CostInDraws, outcome

RISK_PHASES: Final = ("planning", "drawing", "knowing each draw", "choosing purchases", "verifying")

DRAWS: Final = 200
"""Unless others are asked for."""
MAX_DRAWS: Final = 5000
BATCHES: Final = 10
FEWEST_PER_BATCH, MOST_PER_BATCH = 10, 100
"""Draws by which purchases are chosen are others than those by which they are judged; half as many in each batch."""

JUDGED, CHOOSING = 0, 1
"""Streams of the draws that judge, and of the first batch."""

WANTED_GAP: Final = 1e-4
"""Where the search over a batch ends, as a share of its optimum."""

SHARE_OF_PLAN, SHARE_OF_KNOWN, SHARE_OF_CHOOSING = 0.5, 0.5, 0.9
"""Of what is left of a limit."""


@dataclass(frozen=True, eq=False)
class _Judged:
    """Everything that the report tells."""

    sampled: Sampled
    sample: Sample
    known: KnownDraws
    chosen: Chosen | None
    best: CostInDraws | None
    draws_per_batch: int

    @property
    def all_known(self) -> bool:
        return len(self.known.usd) == self.sample.problem.draws


def risk(
    scenario: Scenario,
    catalogs: Catalogs,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> RiskReport:
    """What a scenario's plan is worth in drawn states of the month ahead, and the purchases that are best over them.

    Args:
        scenario: On steady demand; its `risk` section says what is drawn.
        catalogs: What is known, and how far it was seen to spread.
        draws: By which everything is judged.
        seed: Of all of them: the same seed gives the same bytes.
        time_limit_s: For all of it.
        work_limit: The same in simplex iterations, which end at the same place on every machine.
        progress: Told each of `RISK_PHASES`.

    Returns:
        How often each promise holds, what the plan costs where more is rented, what knowing would save, the purchases
        of least mean and tail with their gap, and what brings the variance.

    Raises:
        InputError: names that the catalogs do not know, requirements that draws do not keep.
        VerificationFailed: the answer did not survive independent arithmetic.
    """
    findings = [*check_scenario(scenario, catalogs), *not_held(scenario)]
    if findings:
        raise InputError(findings)
    begin, clock = progress or silent, Clock(time_limit_s, work_limit, memory=Memory())
    begin(RISK_PHASES[0])
    answer = confirmed_answer(Inquiry.of(scenario, catalogs, clock.share(SHARE_OF_PLAN)))
    return risk_of_answer(answer, scenario, catalogs, clock, draws=draws, seed=seed, progress=begin)


def risk_of_answer(
    answer: Answer,
    scenario: Scenario,
    catalogs: Catalogs,
    clock: Clock,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress = silent,
) -> RiskReport:
    """As `risk`, of a question that was solved already."""
    bought = verified_plan(answer)
    asked = _empty(scenario, catalogs, answer, bought, draws=draws, seed=seed)
    if bought is None:
        return asked
    progress(RISK_PHASES[1])
    sampled = sampled_of(answer, scenario, catalogs, clock)
    sample = sampled.sample(seed, JUDGED, draws)
    _refuse_what_nobody_serves(sample)
    progress(RISK_PHASES[2])
    known = known_draws(sample.problem, clock.share(SHARE_OF_KNOWN))
    progress(RISK_PHASES[3])
    judged = _chosen(sampled, sample, known, seed, clock.share(SHARE_OF_CHOOSING))
    report = _report(asked, judged, scenario)
    progress(RISK_PHASES[4])
    verification = verify_risk(report, scenario, catalogs)
    if not verification.passed:
        failed = [check.text for check in verification.checks if not check.passed]
        raise VerificationFailed(f"the draws did not survive verification: {'; '.join(failed[:3])}")
    return report.model_copy(update={"verification": verification})


def sampled_of(answer: Answer, scenario: Scenario, catalogs: Catalogs, clock: Clock) -> Sampled:
    """A scenario with its plan, ready to be drawn."""
    inquiry = asked_in_draws(answer, scenario, catalogs, clock)
    purchases = purchases_of(inquiry, risk_of(scenario))
    return Sampled.of(scenario, catalogs, purchases, plan_in_draws(answer))


def _refuse_what_nobody_serves(sample: Sample) -> None:
    """Draws in which no machine at short notice keeps the promises cost nothing that could be told."""
    top_up = sample.problem.top_up
    if (~(top_up.rate_per_s > 0) & np.isinf(top_up.unserved_usd)[:, None]).any():
        problem = "in some draws no machine on demand keeps the promises, so that missing demand cannot be met"
        hint = "say what requests cost that are not served, or admit on_demand and more machines"
        raise InputError([Finding("scenario", 0, "risk.unserved_usd_per_million_requests", problem, hint)])


def _chosen(sampled: Sampled, sample: Sample, known: KnownDraws, seed: int, clock: Clock) -> _Judged:
    """The purchases of least mean and tail over batches of other draws, in the draws that judge."""
    risk = sampled.spreads.risk
    aim = Aim(risk.tail_weight, risk.tail_level)
    size = min(max(sample.problem.draws // 2, FEWEST_PER_BATCH), MOST_PER_BATCH)
    pooled = sampled.sample(seed, CHOOSING, BATCHES * size).problem
    batches = [pooled.during(np.arange(size) + number * size) for number in range(BATCHES)]
    found = chosen(batches, pooled, sample.problem, aim, clock, WANTED_GAP)
    best = None if found is None else outcome(sample.problem, found.counts)
    return _Judged(sampled, sample, known, found, best, size)


def _report(asked: RiskReport, judged: _Judged, scenario: Scenario) -> RiskReport:
    """Everything but its verification."""
    sampled, sample, known, picked, best = judged.sampled, judged.sample, judged.known, judged.chosen, judged.best
    names, purchases = sampled.drawn.workloads, sampled.purchases
    aim = Aim(sampled.spreads.risk.tail_weight, sampled.spreads.risk.tail_level)
    demand, known_usd = sample.problem.demand_per_s, known.usd if judged.all_known else None
    bought = np.flatnonzero(picked.counts) if picked is not None else np.zeros(0, dtype=np.int64)
    rows = {*sample.machine.ravel().tolist(), *bought.tolist(), *np.flatnonzero(known.counts.any(axis=0)).tolist()} - {
        -1
    }
    told = machines(purchases, sorted(rows), names)
    running = deployments(sampled.plan, scenario)
    shown = {each.error_moves_with for each in told} | {each.error_moves_with for each in running}
    return asked.model_copy(
        update={
            "complete": judged.all_known and picked is not None and picked.proven,
            "spreads": spreads_told(sampled),
            "promises": promises(sample, names),
            "all_held": float((sample.plan.short_per_s <= 0).all(axis=0).mean()),
            "plan": over_draws(sample.plan, paid(sampled.plan), demand, aim, known_usd),
            "best": None
            if picked is None or best is None
            else over_draws(best, bought_of(purchases, picked.counts, names), demand, aim, known_usd),
            "gap": None if picked is None or picked.gap is None else gap_of(picked.gap, judged.draws_per_batch),
            "known_usd": None if known_usd is None else usd(known_usd.mean()),
            "best_in": best_in(purchases, sample, known, names),
            "variance": variance_shares(sampled, asked.seed),
            "machines": told,
            "deployments": running,
            "scope": scope_of(sampled),
            "notes": notes_of(sampled, scenario),
            "by_draw": draws_of(sampled, sample, best, known, shown),
        }
    )


def _empty(
    scenario: Scenario, catalogs: Catalogs, answer: Answer, bought: PlannedFleet | None, *, draws: int, seed: int
) -> RiskReport:
    """What is asked, and nothing of what is found but the plan's cost."""
    risk = risk_of(scenario)
    return RiskReport(
        scenario=scenario.name,
        outcome=answer.solution.outcome,
        complete=False,
        catalog_as_of=catalogs.as_of,
        draws=draws,
        seed=seed,
        months_ahead=risk.months_ahead,
        tail_level=risk.tail_level,
        tail_weight=risk.tail_weight,
        plan_usd=None if bought is None else bought.monthly_cost_usd,
        spreads=[],
        promises=[],
        all_held=None,
        plan=None,
        best=None,
        gap=None,
        known_usd=None,
        best_in=[],
        variance=[],
        deviations=list(DEVIATIONS),
        machines=[],
        deployments=[],
        scope=RiskScope(statement="There is no plan to judge.", considered=[], not_considered=[]),
        notes=[],
        verification=None,
        by_draw=[],
    )
