"""Solves until every replica of a plan holds at the mix of request classes that it is sent.

Capacity is added up between predicted mixes by the shares that requests take of a replica. A mix in between may be
worse than that, which its own prediction tells: then it becomes one of the predicted mixes, and the program is solved
again. Of a week, where a round takes long, a plan whose replicas do not hold is made larger instead if time is short.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Final

from optimizer.base.arrays import Flags
from optimizer.base.clock import Limit
from optimizer.plan.question.enlarging import enlarged
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.program.proof.state import EQUAL_COST

MOST_ROUNDS = 8
"""Solves with mixing, each knowing the mixes that broke before; most plans settle in one to three."""

SHARE_OF_LARGER: Final = 0.4
"""Of what is left of the limit of a whole question, for making a plan larger."""


def held(inquiry: Inquiry, keep: Sequence[Flags] | None, known: Answer | None, known_usd: float | None) -> Answer:
    """The optimum of which every replica holds at the mix that it is sent, or a known plan where that is cheaper.

    Every deployment is predicted again at the mix that the plan sends it. Where one does not hold, its mix becomes one
    of the predicted ones and the program is solved again, after `MOST_ROUNDS` with nothing added up between predicted
    mixes, which always holds. What is proven before a limit ends that stands.
    """
    cost_usd = known_usd if known is None else known.solution.cost_usd_per_month or known_usd
    solved_before = known.rounds if known is not None and known.looked_between else 0
    rounds, since_s = 1, inquiry.clock.spent_s
    answer = inquiry.solved_once(keep, cost_usd)
    while broken := answer.broken():
        mixing = rounds < (MOST_ROUNDS if inquiry.most_rounds is None else inquiry.most_rounds)
        if not mixing and inquiry.most_rounds is not None and known is not None:
            return known
        again = inquiry if inquiry.clock.expired else inquiry.with_predicted(broken) if mixing else inquiry.apart()
        if cost_usd is not None and (limit := _too_late(inquiry, inquiry.clock.spent_s - since_s)) is not None:
            inquiry.still_wanted()
            bounded = replace(answer.solution, ended_by=answer.solution.ended_by or limit)
            larger = _larger(answer)
            if larger is not None and (larger.solution.cost_usd_per_month or inf) < cost_usd:
                solution = larger.solution.above(bounded.bound_usd_per_month or 0.0, bounded.ended_by)
                return replace(larger, solution=solution, rounds=solved_before + rounds, looked_between=True)
            if known is None or known.solution.cost_usd_per_month is None:
                return replace(answer, solution=bounded.without_its_plan(), rounds=rounds, looked_between=True)
            solution = known.solution.bounded_by(bounded)
            return replace(known, inquiry=inquiry, solution=solution, rounds=solved_before + rounds)
        inquiry, rounds, since_s = again, rounds + 1, inquiry.clock.spent_s
        answer = inquiry.solved_once(keep, cost_usd)
    found = answer if known is None else _better(known, answer)
    return replace(found, rounds=solved_before + rounds, looked_between=True)


def _larger(broken: Answer) -> Answer | None:
    """A plan of a week, of which replicas do not hold, with as many more as their own mixes take; None of no week."""
    inquiry = broken.inquiry
    if not inquiry.over_time:
        return None
    asked = replace(inquiry.with_predicted(broken.broken()), clock=inquiry.clock.question.share(SHARE_OF_LARGER))
    larger = enlarged(broken, asked)
    return None if larger is None else replace(larger, inquiry=replace(larger.inquiry, clock=inquiry.clock))


def _too_late(inquiry: Inquiry, took_s: float) -> Limit | None:
    """The limit that leaves no time for another round; of a week for one that takes as long as the last did, which
    would end with a bound that is worse."""
    left_s = inquiry.clock.left_s()
    short = inquiry.over_time and left_s is not None and left_s < took_s
    return inquiry.clock.reached or ("time limit" if short else None)


def _better(known: Answer, found: Answer) -> Answer:
    """The cheaper of two plans, with what is proven of both; of equals the known one."""
    plain, other = known.solution, found.solution
    if plain.cost_usd_per_month is None:
        return found
    if other.cost_usd_per_month is not None and other.cost_usd_per_month < plain.cost_usd_per_month * (1 - EQUAL_COST):
        return found
    if other.outcome not in ("optimal", "infeasible"):
        solution = plain.bounded_by(other)
    else:
        solution = plain if plain.outcome == "optimal" else plain.above(plain.cost_usd_per_month, plain.ended_by)
    return replace(known, inquiry=found.inquiry, solution=solution)
