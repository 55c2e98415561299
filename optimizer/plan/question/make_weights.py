"""A plan of a week without the configurations that it can do without: the one that carries least is left out first.

The simplest plan of all is a search over everything that may be configured, which takes too long for many weeks. What a
plan can do without of its own is told soon: without one configuration few are left.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.plan.question.holding import holding
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.program.simplest import search_near


def own_configurations(answer: Answer) -> tuple[Flags, ...]:
    """By entry of the options (P,) whether the plan runs a configuration."""
    own = tuple(np.zeros(len(choice.configurations), dtype=np.bool_) for choice in answer.inquiry.options)
    for use in answer.used:
        own[use.column.workload][use.column.configuration] = True
    return own


def without_make_weights(known: Answer, asked: Inquiry, most_usd: float) -> Answer | None:
    """A plan of fewer of a known plan's own configurations, None where it can do without none of them within a cost.

    Args:
        known: The plan.
        asked: Its question, on a clock of its own.
        most_usd: What a plan may cost a month.
    """
    plan, own = known, own_configurations(known)
    for workload, configuration in _least_carried_first(known):
        fewer = _without(own, workload, configuration)
        if not own[workload][configuration] or not fewer[workload].any() or asked.clock.expired:
            continue
        found, _ = holding(asked, fewer, search_near, most_usd)
        if found is not None and found.complexity < plan.complexity:
            plan, own = found, own_configurations(found)
    return None if plan is known else plan


def _least_carried_first(plan: Answer) -> list[tuple[int, int]]:
    """Workload and configuration of all that runs, by the share of its workload's requests in a month."""
    share_of_month = plan.formulation.problem.traffic.share_of_month
    carried, of_workload = defaultdict[tuple[int, int], float](float), defaultdict[int, float](float)
    for use in plan.used:
        requests = float(share_of_month @ use.flow_per_s)
        carried[use.column.workload, use.column.configuration] += requests
        of_workload[use.column.workload] += requests
    return sorted(carried, key=lambda each: (carried[each] / (of_workload[each[0]] or 1.0), each))


def _without(own: Sequence[Flags], workload: int, configuration: int) -> tuple[Flags, ...]:
    """The same configurations but one."""
    fewer = tuple(flags.copy() for flags in own)
    fewer[workload][configuration] = False
    return fewer
