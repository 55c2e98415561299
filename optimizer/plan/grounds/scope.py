"""What an answer is true of: what was considered, what was not, and what its bound is a bound of.

A table of facts: each row says what of one kind was considered and, where the program is narrower than the question,
what was left out of it. Nothing else says "proven" of more than that.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from optimizer.base.figures import exactly
from optimizer.inputs.requirements.avoided import SPEED
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.per_second.sales import PER_SECOND
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.mixing import mixing_of
from optimizer.plan.record.report import BoundOf, Scope
from optimizer.program.problem.columns import may_mix

NOT_AVOIDED: Final[Mapping[tuple[bool, bool], BoundOf]] = {
    (False, False): "the scenario",
    (True, False): "plans on machines of measured speed",
    (False, True): "plans without 4-bit weights of unknown quality",
    (True, True): "plans on machines of measured speed, without 4-bit weights of unknown quality",
}
"""By whether estimated speeds are avoided, and weights of few bits whose quality nobody published."""


@dataclass(frozen=True)
class ScopeRow:
    """One kind of thing that plans differ in.

    Attributes:
        considered: What of it the answer considered; empty where the scenario has none of it.
        left_out: What it did not consider; empty where that is nothing.
        narrows_bound: Whether what was left out may cost less than the bound, or be a plan where none was found.
    """

    considered: Callable[[Answer], str]
    left_out: Callable[[Answer], str]
    narrows_bound: bool = True


def _configurations(answer: Answer) -> str:
    count = sum(len(choice.configurations) for choice in answer.inquiry.options)
    drafts = (
        ", with and without drafts" if any(choice.workload.speculation for choice in answer.inquiry.options) else ""
    )
    return f"{count:,} configurations: precision, engine and degrees of parallelism that are powers of two{drafts}"


def _evidence(answer: Answer) -> str:
    """Plans on what the scenario avoids are priced beside the answer, and are none of those that it is chosen from."""
    of = _not_avoided(answer)
    return "" if of == "the scenario" else f"{of}: what others would save is told beside the plan"


def _not_avoided(answer: Answer) -> BoundOf:
    """The plans that are chosen from while what the scenario avoids is not accepted: of hosted APIs alone that is
    nothing, since both speak of machines."""
    return NOT_AVOIDED[_avoided(answer)]


def _avoided(answer: Answer) -> tuple[bool, bool]:
    """Whether speeds that nobody measured are avoided, and weights of few bits whose quality nobody published."""
    fields = () if answer.inquiry.scenario.policy.hosting == ("serverless",) else answer.inquiry.avoided
    return SPEED in fields, any(field != SPEED for field in fields)


def _avoided_too(answer: Answer) -> str:
    """What is avoided beside what a narrower program leaves out: one that lets it in may cost less, too."""
    named = ("machines whose speed nobody measured", "4-bit weights of unknown quality")
    found = [words for words, is_avoided in zip(named, _avoided(answer), strict=True) if is_avoided]
    return f"{' and '.join(found)}, priced beside the plan" if found and narrow(answer) else ""


def _offers(answer: Answer) -> str:
    admitted = answer.inquiry.market.admitted
    apis = len(answer.formulation.problem.apis)
    hosted = f" and {apis:,} prices of hosted APIs" if apis else ""
    return f"{int(admitted.sum()):,} of {len(admitted):,} offers, those that the policy admits{hosted}"


def _containers(answer: Answer) -> str:
    by_second = PER_SECOND in answer.inquiry.scenario.policy.hosting
    return "every choice of workloads that containers paid by the second serve as a whole" if by_second else ""


def _parts_by_second(answer: Answer) -> str:
    """Of containers the fewest serve, all left to stop or all kept up in an hour; what they serve is chosen by cost."""
    by_second = PER_SECOND in answer.inquiry.scenario.policy.hosting
    parts = "containers for a part of a workload, more of them than needed, or with several GPUs"
    return f"{parts}, nor for other workloads where that were simpler" if by_second else ""


def _other_rates(answer: Answer) -> str:
    """A batch is worked on at one rate from its start, in the best number of hours of those that were tried."""
    due = [workload.name for workload in answer.inquiry.scenario.workloads if workload.deadline is not None]
    others = ", or in numbers of hours that were not tried" if answer.other_hours_untried else ""
    words = f"batches of {', '.join(due)} worked on at rates that change, or later than they are there"
    return f"{words}{others}" if due else ""


def _nothing(_: Answer) -> str:
    return ""


def _hours(answer: Answer) -> str:
    """However few periods a plan is shown in, it was held against the best plan of every hour."""
    varies = any(workload.demand is not None for workload in answer.inquiry.scenario.workloads)
    return "every hour of the week as it is asked for" if varies else ""


def _mixes(answer: Answer) -> str:
    options = answer.inquiry.options
    count = sum(len(choice.pools) for choice in options)
    return f"{count} mixes of request classes predicted" if any(_has_classes(choice) for choice in options) else ""


def _has_classes(choice: WorkloadOptions) -> bool:
    return len(choice.pools) > 1


def _between_mixes(answer: Answer) -> str:
    """Between predicted mixes capacity is added up by shares, and probes did not show that nothing else helps."""
    facts = mixing_of(answer)
    if facts.predicted_mixes and not facts.settled:
        return (
            f"what replicas sustain beyond the shares of {facts.predicted_mixes} predicted mixes, by which capacity is "
            "added up"
        )
    mixed = may_mix(answer.inquiry.scenario.policy) and any(_has_classes(choice) for choice in answer.inquiry.options)
    return "replicas that serve other mixes than those predicted" if mixed and not facts.predicted_mixes else ""


def _beyond_probes(answer: Answer) -> str:
    """Probes between mixes bound what lies between them where it is shaped as they take it to be."""
    facts = mixing_of(answer)
    return "what replicas sustain between mixes beyond what probes there leave possible" if facts.settled else ""


def _above_simulated(answer: Answer) -> str:
    """What a simulation found replicas not to hold, whatever was predicted of them."""
    lowered = [each for each in answer.inquiry.lowered if each.kin is not None]
    several = f"{len(lowered)} configurations" if len(lowered) > 1 else "a configuration"
    shares = {each.workload: each.counted_share for each in answer.inquiry.lowered if each.kin is None}
    others = [f"others for {name} at more than {share:.0%} of what is predicted" for name, share in shares.items()]
    found = f"{several} at more requests than a simulation found a replica to hold"
    return ", and ".join([found, *others]) if lowered else ""


def _joined_classes(answer: Answer) -> str:
    """Classes that are mixed as one keep their shares."""
    joined = mixing_of(answer).joined
    return f"other shares within classes that are mixed as one ({', '.join(joined)})" if joined else ""


def _unmixed_for_loss(answer: Answer) -> str:
    """After a loss other classes meet on a replica than before, so none are mixed."""
    left_out = mixing_of(answer).left_out_for_loss
    return "replicas that serve other mixes than one class or all, since a loss must be survived" if left_out else ""


def _across_workloads(answer: Answer) -> str:
    """A replica is a workload's own, also where another one asks for the same model on the same machines."""
    admitted = answer.inquiry.market.admitted
    alike = {
        name
        for one, other in combinations(answer.inquiry.options, 2)
        if one.workload.name != other.workload.name and one.model.id == other.model.id
        if np.any(one.permitted & other.permitted & admitted)
        for name in (one.workload.name, other.workload.name)
    }
    named = ", ".join(sorted(alike))
    shared = f"replicas that serve requests of several workloads ({named}), as `request_classes` of one may share them"
    return shared if alike else ""


def _simpler(answer: Answer) -> str:
    """What may cost more for being simple and nobody ruled out."""
    if answer.simplicity_proven:
        return ""
    policy = answer.inquiry.scenario.policy
    usd = policy.simplicity_usd_per_configuration
    a_configuration = f", or ${exactly(usd)} for each configuration less," if usd else ""
    within = f"simpler plans within {exactly(policy.simplicity_percent)} % of the cheapest{a_configuration}"
    return f"{within} that the search had not ruled out when it ended"


def _not_reached(answer: Answer) -> str:
    limit, proven = answer.solution.ended_by, answer.solution.outcome not in ("feasible", "unproven")
    when = f"when the {limit} was" if limit else "when it ended"
    return "" if proven else f"plans that the search had not reached or ruled out {when}"


ROWS: Final = (
    ScopeRow(_configurations, _nothing),
    ScopeRow(_evidence, _nothing),
    ScopeRow(_offers, _nothing),
    ScopeRow(_containers, _parts_by_second),
    ScopeRow(_hours, _other_rates),
    ScopeRow(_mixes, _between_mixes),
    ScopeRow(_nothing, _beyond_probes),
    ScopeRow(_nothing, _above_simulated),
    ScopeRow(_nothing, _joined_classes),
    ScopeRow(_nothing, _unmixed_for_loss),
    ScopeRow(_nothing, _across_workloads),
    ScopeRow(_nothing, _simpler, narrows_bound=False),
    ScopeRow(_nothing, _not_reached, narrows_bound=False),
)
"""A restriction of the program that is lifted takes its words out of its row; a new one adds a row."""


def scope_of(answer: Answer) -> Scope:
    """What the answer is true of."""
    left_out = [text for row in ROWS if (text := row.left_out(answer))]
    left_out += [text] if (text := _avoided_too(answer)) else []
    return Scope(
        statement=f"{_verdict(answer)}{'; not considered: ' if left_out else ''}{'; '.join(left_out)}",
        exact=not left_out,
        considered=[text for row in ROWS if (text := row.considered(answer))],
        not_considered=left_out,
    )


def narrow(answer: Answer) -> bool:
    """Whether the program was narrower than the scenario, so that what it proves is true of the plans considered."""
    return any(row.left_out(answer) for row in ROWS if row.narrows_bound)


def bound_of(answer: Answer) -> BoundOf:
    """What the bound is a bound of."""
    return "the plans considered" if narrow(answer) else _not_avoided(answer)


def _verdict(answer: Answer) -> str:
    no_plan = "no plan" + _not_avoided(answer).removeprefix("plans").replace("the scenario", "")
    none = "none of the plans considered" if narrow(answer) else no_plan
    words = {
        "optimal": f"{none} costs less",
        "feasible": f"{none} costs less than the bound",
        "infeasible": f"{none} meets the scenario",
        "unproven": "whether a plan meets the scenario is not known",
        "failed": "nothing was proven",
    }
    return words[answer.solution.outcome]


def reason_of(answer: Answer) -> str:
    """Why the search ended as it did, of what it searched."""
    reason = answer.solution.reason
    return reason.replace("no plan ", "none of them ") if narrow(answer) else reason
