"""What of all mixes of request classes a plan could use: facts for whoever says what a proof is a proof of."""

from dataclasses import dataclass

from optimizer.performance.candidates.options import names_of_joined
from optimizer.plan.question.inquiry import Answer


@dataclass(frozen=True)
class Mixing:
    """What was mixed, and what was left out.

    Attributes:
        predicted_mixes: Between so many capacity is added up by shares; 0 where every replica serves one of the
            predicted mixes: a class alone, or all in their shares.
        settled: Whether probes between them leave no cheaper plan possible, see `Answer.mixes_settled`. Where not, and
            classes are mixed, a proof is of plans that use the predicted mixes and what adds up between them.
        joined: Groups of classes that share replicas with others only in their own shares, see `joined_classes`.
        left_out_for_loss: Whether classes would be mixed, had the plan not to survive a loss.
    """

    predicted_mixes: int
    settled: bool
    joined: tuple[str, ...]
    left_out_for_loss: bool


def mixing_of(answer: Answer) -> Mixing:
    """The facts of one answer."""
    inquiry = answer.inquiry
    several = [choice for choice in inquiry.options if len(choice.workload.classes()) > 1]
    between = inquiry.mixes_between()
    joined = [name for choice in several for name in names_of_joined(choice)] if between else []
    policy = inquiry.scenario.policy
    return Mixing(
        predicted_mixes=between,
        settled=answer.mixes_settled,
        joined=tuple(dict.fromkeys(joined)),
        left_out_for_loss=bool(several and policy.mix_classes and policy.losses),
    )
