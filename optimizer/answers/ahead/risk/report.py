"""The record of an answer over draws: what is asked, what the plan comes to, what would be better bought."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.fields import Outcome, usd
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.risk import RiskReport, RiskScope
from optimizer.plan.risk.naming import deployments, machines, paid
from optimizer.plan.risk.readback import best_in, bought_of, draws_of, gap_of, over_draws, promises
from optimizer.plan.risk.sample import Sample, Sampled
from optimizer.plan.risk.scope import notes_of, scope_of, spreads_told
from optimizer.plan.risk.speeds import DEVIATIONS
from optimizer.plan.risk.spreads import risk_of
from optimizer.plan.risk.variance import variance_shares
from optimizer.program.risk.gap import BestBought
from optimizer.program.risk.known import NOTHING_KNOWN, KnownDraws
from optimizer.program.risk.problem import CostInDraws


@dataclass(frozen=True, eq=False)
class JudgedDraws:
    """Everything that an answer tells.

    Attributes:
        sampled: The scenario in draws.
        sample: The draws that judge.
        known: What each would have cost.
        chosen: The purchases that are best before a draw is known; None where none were looked for.
        best: What these come to.
        draws_per_batch: By which they were chosen.
    """

    sampled: Sampled
    sample: Sample
    known: KnownDraws = NOTHING_KNOWN
    chosen: BestBought | None = None
    best: CostInDraws | None = None
    draws_per_batch: int = 0

    @property
    def all_known(self) -> bool:
        """Whether there was time for every draw."""
        return len(self.known.usd) == self.sample.problem.draws

    @property
    def rows(self) -> list[int]:
        """The ways to buy that the answer speaks of."""
        found = {*self.sample.machine.ravel().tolist(), *np.flatnonzero(self.known.counts.any(axis=0)).tolist()}
        found |= set() if self.chosen is None else set(np.flatnonzero(self.chosen.counts).tolist())
        return sorted(found - {-1})


def reported(asked: RiskReport, judged: JudgedDraws, scenario: Scenario) -> RiskReport:
    """Everything but its verification."""
    sampled, sample = judged.sampled, judged.sample
    told = machines(sampled.purchases, judged.rows, sampled.drawn.workloads)
    running = deployments(sampled.plan, scenario)
    shown = {each.error_moves_with for each in told} | {each.error_moves_with for each in running}
    return asked.model_copy(
        update={
            "spreads": spreads_told(sampled),
            "promises": promises(sample, sampled.drawn.workloads),
            "all_held": float((sample.plan.short_per_s <= 0).all(axis=0).mean()),
            "variance": variance_shares(sampled, asked.seed),
            "machines": told,
            "deployments": running,
            "scope": scope_of(sampled),
            "notes": notes_of(sampled, scenario),
            "by_draw": draws_of(judged.sampled, sample, judged.best, judged.known, shown),
            **_bought(judged, scenario),
        }
    )


def _bought(judged: JudgedDraws, scenario: Scenario) -> dict[str, Any]:
    """What the plan and the best purchases come to, against what each draw would have cost had it been known."""
    sampled, sample, picked, best = judged.sampled, judged.sample, judged.chosen, judged.best
    names, demand = sampled.drawn.workloads, sample.problem.demand_per_s
    known_usd, budget_usd = judged.known.usd if judged.all_known else None, scenario.policy.max_monthly_usd
    over = partial(over_draws, aim=sampled.spreads.aim, known_usd=known_usd, budget_usd=budget_usd)
    found: dict[str, Any] = {
        "plan": over(sample.plan, paid(sampled.plan), demand),
        "known_usd": None if known_usd is None else usd(known_usd.mean()),
        "best_in": best_in(sampled.purchases, sample, judged.known, names),
    }
    if picked is None or best is None:
        return found
    return found | {
        "complete": judged.all_known and picked.proven,
        "best": over(best, bought_of(sampled.purchases, picked.counts, names), demand),
        "gap": None if picked.gap is None else gap_of(picked.gap, judged.draws_per_batch),
    }


def asked_of(
    scenario: Scenario, catalogs: Catalogs, outcome: Outcome, bought: PlannedFleet | None, *, draws: int, seed: int
) -> RiskReport:
    """What is asked, and nothing of what is found but the plan's cost."""
    risk = risk_of(scenario)
    return RiskReport(
        scenario=scenario.name,
        outcome=outcome,
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
