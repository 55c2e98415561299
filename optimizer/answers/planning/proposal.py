"""The plan on a choice that is held against the plan shown: simulated as that one is, and counted on for no more."""

from dataclasses import dataclass, replace

from optimizer.answers.planning.until_it_holds import Attempt, held_beside
from optimizer.base.clock import LimitReached
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.simulate.judging import promises


@dataclass(frozen=True)
class HeldProposal:
    """What a choice costs that keeps its promises when requests arrive one by one.

    Attributes:
        plan: The simplest on the choice that is as good as cheapest.
        least: The cheapest on it.
        broken: Fields of the promises that every plan found on it breaks; then the plan is the last of them.
        left_out: What a limit left no time to know, in words.
    """

    plan: PlannedFleet
    least: PlannedFleet
    broken: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def held_proposal(proposal: Inquiry, answer: Answer) -> HeldProposal:
    """The answer where its plan holds under simulated load; else that of the question with lowered rates.

    Args:
        proposal: The question on the choice alone.
        answer: Its answer, which has a plan.
    """
    plan = read_back(answer)
    least = plan if answer.cheapest is None else read_back(answer.cheapest)
    try:
        attempt = held_beside(proposal, answer)
        if attempt.breaks:
            return HeldProposal(attempt.bought, attempt.bought, broken=_broken(attempt))
        if answer.cheapest is None:
            return HeldProposal(attempt.bought, attempt.bought)
        cheapest = held_beside(replace(proposal, simplifies=False), answer.cheapest)
    except LimitReached as reached:
        what = "whether the plan on it keeps every promise when requests arrive one by one"
        return HeldProposal(plan, least, left_out=(f"{what}: not worked out, the {reached.limit} was reached",))
    dearer = cheapest.breaks or cheapest.bought.monthly_cost_usd > attempt.bought.monthly_cost_usd
    return HeldProposal(attempt.bought, attempt.bought if dearer else cheapest.bought)


def _broken(attempt: Attempt) -> tuple[str, ...]:
    """The promises that a plan breaks, as fields of the scenario."""
    broken = (
        f"workloads[{item.workload}].slo.{limit.metric}"
        for item, limit in promises(attempt.simulation)
        if limit.verdict == "broken"
    )
    return tuple(dict.fromkeys(broken))
