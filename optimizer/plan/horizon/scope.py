"""What the proof of purchases over months is of, and what stands beside it unsaid elsewhere."""

from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.horizon.branches import horizon_of
from optimizer.plan.horizon.formulate import PlannedMonths
from optimizer.plan.horizon.question import defaults_left_out
from optimizer.plan.record.horizon import HorizonScope
from optimizer.plan.record.simulation import BY_FORMULAS
from optimizer.program.horizon.problem import HorizonProblem

NOT_CONSIDERED = (
    "replicas of several configurations or for several kinds of requests on one instance in the same hours",
    "hosted APIs and containers paid by the second",
    "machines that are not on sale today",
    "resale and purchase at other times than whole years, the end of a machine's life and the last month",
)


def scope_of(planned: PlannedMonths, problem: HorizonProblem) -> HorizonScope:
    """What was considered, and what no bound here speaks of."""
    whole, tree = planned.problem, problem.tree
    considered = [
        f"{len(whole.hourly.ids):,} offers paid while they run, {len(whole.deals.ids):,} ways to hold one for a term",
        f"of these {len(problem.hourly.ids)} and {len(problem.deals.ids)}, which replace all others",
        f"{tree.months} months, {len(tree.weight)} branches, {len(tree.month)} decisions that may differ",
    ]
    left_out = list(NOT_CONSIDERED)
    left_out += [f"`{item.field}`" for item in defaults_left_out(planned.inquiry.scenario)]
    life = planned.prices.life
    due = [workload.name for workload in planned.inquiry.scenario.workloads if workload.deadline is not None]
    if due:
        named = ", ".join(due)
        left_out.append(f"batches of {named} worked on in other hours than those best in month 1, or in the busiest")
    if life.training:
        left_out.append("training, which `optimizer lifecycle` adds up")
    if life.replan_every_months > 1:
        left_out.append("`lifecycle.replan_every_months`: what is paid by the hour may change every month")
    if planned.no_term:
        left_out.append(f"{planned.no_term} commitments of which nobody says how long they last")
    return HorizonScope(
        statement=(
            "No purchases of whole instances, each with one configuration and one kind of requests at a time, "
            "have a lower expected cost than the bound."
        ),
        exact=False,
        considered=considered,
        not_considered=left_out,
    )


def notes_of(scenario: Scenario, planned: PlannedMonths) -> list[str]:
    """What a reader must know of the figures."""
    horizon = horizon_of(planned.prices.life)
    useful = f"less {horizon.used_after_share:.0%} that is still of use" if horizon.used_after_share else "in full"
    notes = [
        f"A term is paid to its end. What is owed after the last month counts {useful}.",
        "Offers, their speed and what may be signed later are today's.",
    ]
    changing = horizon.price_changes or any(branch.price_changes for branch in horizon.branches)
    notes.append(
        f"Prices {'change as the scenario says; where it says nothing they ' if changing else ''}stay as they are."
    )
    if any(workload.demand for workload in scenario.workloads):
        notes.append("Within a week what is paid by the hour follows the demand; what is held keeps what is loaded.")
    return [*notes, f"{BY_FORMULAS[0].upper()}{BY_FORMULAS[1:]}."]
