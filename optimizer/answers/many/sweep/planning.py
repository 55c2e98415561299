"""Plans one run after another, and predicts again only what differs from the runs before."""

from collections.abc import Mapping
from decimal import Decimal

from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRun
from optimizer.answers.planning.optimize import verified
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.memory import Memory
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.explain.simplicity import simplicity_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.price_free import PriceFree
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import cents


class RunPlanner:
    """Answers runs, and keeps what was predicted and simulated of them for the next."""

    def __init__(self, catalogs: Mapping[str, Catalogs], limits: RunLimits) -> None:
        """Of those catalogs, each run within those limits."""
        self._catalogs, self._limits, self._kept = catalogs, limits, PriceFree()

    def row(self, run: SweepRun) -> SweepRow:
        """The answer to a run; what goes wrong with it is told in its row."""
        try:
            return self._answered(run)
        except LimitReached as error:
            reason = f"{error} before anything was searched"
        except MemoryError:
            reason = "there is not enough memory"
        except Exception as error:  # noqa: BLE001 (one run is told as failed, the others go on)
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return failed(run, reason, self._limits)

    def _answered(self, run: SweepRun) -> SweepRow:
        found = confirmed_plan(self._asked(run))
        answer = found.answer if isinstance(found, SimulatedPlan) else found
        proven = found.proven or answer.solution.outcome == "infeasible"
        row = SweepRow(
            key=run.key,
            inputs=dict(run.inputs),
            outcome=answer.solution.outcome,
            relative_gap=answer.solution.relative_gap,
            proven=proven,
            work_limit=None if proven else self._limits.work_limit,
        )
        if not isinstance(found, SimulatedPlan):
            return row
        bought, simplicity = found.bought, simplicity_of(answer, found.bought)
        verified(answer.inquiry, bought, simplicity)
        cheapest = simplicity.cheapest.monthly_cost_usd if simplicity.cheapest else bought.monthly_cost_usd
        placed = bought.deployments
        fields = {
            "monthly_cost_usd": cents(bought.monthly_cost_usd),
            "cheapest_usd": cents(Decimal(cheapest)),
            "holds": found.simulation.holds if found.simulation else None,
            "plan": summarized(bought),
            "providers": tuple(
                sorted({*(each.provider for each in placed), *(each.provider for each in bought.hosted)})
            ),
            "gpus": tuple(sorted({each.gpu for each in placed})),
            "total_gpus": sum(each.gpus for each in bought.purchases),
            "replicas": sum(each.replicas for each in placed),
        }
        return row.model_copy(update=fields)

    def _asked(self, run: SweepRun) -> Inquiry:
        """The question of a run; predicted anew where none before it was predicted alike."""
        clock = Clock(self._limits.time_limit_s, self._limits.work_limit, memory=Memory(self._limits.max_memory_gb))
        return Inquiry.of(run.scenario, self._catalogs[run.catalogs], clock, self._kept)


def failed(run: SweepRun, reason: str, limits: RunLimits) -> SweepRow:
    """The row of a run that has no answer."""
    return SweepRow(key=run.key, inputs=dict(run.inputs), outcome="failed", work_limit=limits.work_limit, reason=reason)
