"""The simplest plan that is as good as the cheapest: among those within a percentage of its cost, a second question.

What is proven of the cheapest plan stays as it is; the plan in its place says what it is dearer, and why.
"""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.base.arrays import Flags
from optimizer.plan.question.inquiry import Answer
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.simplest import least_complexity

MOST_ROUNDS = 4
"""Searches with mixing, each knowing the mixes that broke before; the last one mixes nothing in between."""


def simplified(cheapest: Answer, keep: Sequence[Flags] | None = None) -> Answer:
    """The simplest plan within the policy's percentage of a cheapest plan, or that one where none is simpler.

    Every replica holds at the mix that it is sent, as in the cheapest plan: where one does not, its mix is predicted
    and the search is repeated.

    Args:
        cheapest: The question, solved for the least cost.
        keep: The configurations that it was solved over, if not all.
    """
    cost_usd, asked = cheapest.solution.cost_usd_per_month, replace(cheapest.inquiry, looks_ahead=False)
    if cost_usd is None or not asked.simplifies:
        return cheapest
    most_usd = cost_usd * (1 + asked.scenario.policy.simplicity_percent / 100)
    if (kept := _running_on(cheapest, keep, most_usd)) is not None:
        return kept
    if _as_simple_as_can_be(cheapest):
        return cheapest
    for later in reversed(range(MOST_ROUNDS)):
        found, proven = asked.simpler_once(keep, cheapest.complexity, most_usd)
        if found is None:
            return replace(cheapest, simplicity_proven=proven)
        broken = found.broken()
        if not broken:
            simpler = found.complexity < cheapest.complexity
            return _in_place_of(cheapest, found, proven) if simpler else replace(cheapest, simplicity_proven=False)
        asked = asked.with_predicted(broken) if later > 1 else asked.apart()
    return replace(cheapest, simplicity_proven=False)


def _running_on(cheapest: Answer, keep: Sequence[Flags] | None, most_usd: float) -> Answer | None:
    """The plan that changes nothing of what runs today; None where nothing does, or it is none within the cost."""
    inquiry, migration = cheapest.inquiry, cheapest.inquiry.scenario.policy.migration
    running = inquiry.running if migration is None else migration.in_force or ()
    if not running:
        return None
    asked = replace(inquiry.unchanged_from(running), looks_ahead=False, falls_back=False)
    found = asked.solved_once(keep, most_usd)
    if found.solution.cost_usd_per_month is None or found.broken():
        return None
    same = found.solution.cost_usd_per_month <= (cheapest.solution.cost_usd_per_month or 0.0) * (1 + EQUAL_COST)
    return replace(cheapest if same else _in_place_of(cheapest, found, proven=True), kept=True)


def _as_simple_as_can_be(answer: Answer) -> bool:
    """Whether no plan has fewer configurations, places or instances."""
    pairs = zip(answer.complexity, least_complexity(answer.formulation.problem), strict=True)
    return all(own <= least for own, least in pairs)


def _in_place_of(cheapest: Answer, found: Answer, proven: bool) -> Answer:
    """A simpler plan, with what was proven of the cheapest."""
    of_cheapest, own = cheapest.solution, found.solution
    solution = replace(
        of_cheapest,
        cost_usd_per_month=own.cost_usd_per_month,
        instances=own.instances,
        replicas=own.replicas,
        flows=own.flows,
        api_flow_per_s=own.api_flow_per_s,
        loaded=own.loaded,
        placed=own.placed,
    )
    inquiry = replace(cheapest.inquiry, options=found.inquiry.options)
    return replace(
        cheapest,
        inquiry=inquiry,
        formulation=found.formulation,
        solution=solution,
        cheapest=cheapest,
        simplicity_proven=proven,
    )
