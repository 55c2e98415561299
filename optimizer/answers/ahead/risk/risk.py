"""What a plan is worth over draws of demand, prices, capacity and predictions, and what would be better bought."""

from math import inf
from typing import Final

import numpy as np

from optimizer.answers.ahead.risk.report import JudgedDraws, asked_of, reported
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.verified_plan import verified_plan
from optimizer.answers.withheld import confirmed
from optimizer.base.arguments import check_within
from optimizer.base.clock import Clock
from optimizer.base.errors import refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.record.risk import RiskReport
from optimizer.plan.risk.judged import plan_in_draws
from optimizer.plan.risk.purchases import purchases_of
from optimizer.plan.risk.question import asked_in_draws, not_held
from optimizer.plan.risk.sample import Sample, Sampled
from optimizer.plan.risk.spreads import risk_of
from optimizer.plan.verify.ahead.risk import verify_risk
from optimizer.program.risk.gap import BestBought, chosen
from optimizer.program.risk.known import known_draws
from optimizer.program.risk.problem import outcome

RISK_PHASES: Final = ("planning", "drawing", "knowing each draw", "choosing purchases", "verifying")

DRAWS: Final = 200
"""Unless others are asked for."""
LEAST_DRAWS, MOST_DRAWS = 10, 5000
BATCHES: Final = 10
FEWEST_PER_BATCH, MOST_PER_BATCH = 10, 100
"""Draws by which purchases are chosen are others than those by which they are judged; half as many in each batch."""

JUDGED, CHOOSING = 0, 1
"""Streams of the draws that judge, and of those that choose."""

WANTED_GAP: Final = 1e-4
"""Where the search over a batch ends, as a share of its optimum."""

SHARE_OF_PLAN, SHARE_OF_KNOWN, SHARE_OF_CHOOSING = 0.5, 0.5, 0.9
"""Of what is left of a limit."""


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
        InputError: names that the catalogs do not know, requirements that draws do not keep, draws out of their range.
        VerificationFailed: the answer did not survive independent arithmetic.
    """
    check_within("risk", draws=(draws, LEAST_DRAWS, MOST_DRAWS), seed=(seed, 0, inf))
    refuse(check_scenario(scenario, catalogs))
    check_drawable(scenario)
    begin, clock = progress or silent, Clock(time_limit_s, work_limit, memory=Memory())
    begin(RISK_PHASES[0])
    answer = confirmed_answer(Inquiry.of(scenario, catalogs, clock.share(SHARE_OF_PLAN)))
    return risk_of_answer(answer, scenario, catalogs, clock, draws=draws, seed=seed, progress=begin)


def check_drawable(scenario: Scenario) -> None:
    """Says what draws do not keep before any time is spent on them.

    Raises:
        InputError: everything that the scenario asks and that is not kept.
    """
    refuse(not_held(scenario))


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
    asked = asked_of(scenario, catalogs, answer.solution.outcome, bought, draws=draws, seed=seed)
    if bought is None:
        return asked
    progress(RISK_PHASES[1])
    sampled = sampled_of(answer, scenario, catalogs, clock)
    sample = sampled.sample(seed, JUDGED, draws)
    progress(RISK_PHASES[2])
    known = known_draws(sample.problem, clock.share(SHARE_OF_KNOWN))
    progress(RISK_PHASES[3])
    size = min(max(draws // 2, FEWEST_PER_BATCH), MOST_PER_BATCH)
    picked = _chosen(sampled, sample, seed, size, clock.share(SHARE_OF_CHOOSING))
    best = None if picked is None else outcome(sample.problem, picked.counts)
    progress(RISK_PHASES[4])
    return _verified(
        reported(asked, JudgedDraws(sampled, sample, known, picked, best, size), scenario), scenario, catalogs
    )


def risk_in_brief(answer: Answer, scenario: Scenario, catalogs: Catalogs, clock: Clock) -> RiskReport:
    """What the plan of a solved question is worth in the draws of `risk`; nothing of what would be better bought."""
    bought = verified_plan(answer)
    asked = asked_of(scenario, catalogs, answer.solution.outcome, bought, draws=DRAWS, seed=0)
    if bought is None:
        return asked
    sampled = sampled_of(answer, scenario, catalogs, clock)
    sample = sampled.sample(0, JUDGED, DRAWS)
    return _verified(reported(asked, JudgedDraws(sampled, sample), scenario), scenario, catalogs)


def sampled_of(answer: Answer, scenario: Scenario, catalogs: Catalogs, clock: Clock) -> Sampled:
    """A scenario with its plan, ready to be drawn."""
    inquiry = asked_in_draws(answer, scenario, catalogs, clock)
    purchases = purchases_of(inquiry, risk_of(scenario))
    return Sampled.of(scenario, catalogs, purchases, plan_in_draws(answer))


def _chosen(sampled: Sampled, sample: Sample, seed: int, size: int, clock: Clock) -> BestBought | None:
    """The purchases of least mean and tail over batches of other draws, in the draws that judge."""
    pooled = sampled.sample(seed, CHOOSING, BATCHES * size).problem
    batches = [pooled.during(np.arange(size) + number * size) for number in range(BATCHES)]
    return chosen(batches, pooled, sample.problem, sampled.spreads.aim, clock, WANTED_GAP)


def _verified(report: RiskReport, scenario: Scenario, catalogs: Catalogs) -> RiskReport:
    """The report with what independent arithmetic says of it.

    Raises:
        VerificationFailed: some of it does not hold.
    """
    found = verify_risk(report, scenario, catalogs)
    return report.model_copy(update={"verification": confirmed(found, "the draws did not survive verification")})
