"""What predictions depend on, so that a changed scenario is predicted again only where it must be."""

from typing import Final

from optimizer.inputs.requirements.stated import own_fields, policy_fields
from optimizer.inputs.scenario.demand import POISSON_CV2
from optimizer.inputs.scenario.policy import DEALING
from optimizer.inputs.scenario.scenario import Scenario

IN_WORDS: Final = "stated_as"
"""The field of a workload that tells its demand for people."""


def what_is_considered(scenario: Scenario) -> tuple[object, ...]:
    """What decides which configurations are considered at all and which fail without a prediction.

    Not how much is asked for: what one replica sustains does not depend on the demand, unless requests arrive in
    bursts, which the more replicas share the more of them there are, or are dealt to them in turn.
    """
    apart = dict.fromkeys((*own_fields("levels", "fleet"), IN_WORDS))
    workloads = tuple(workload.model_copy(update=apart) for workload in scenario.workloads)
    policy = scenario.policy
    in_turn = policy.router in DEALING
    uneven = [each for each in scenario.workloads if in_turn or each.arrival_cv2 != POISSON_CV2]
    shared = tuple((each.peak_requests_per_second(), each.least_requests_per_second()) for each in uneven)
    return (
        workloads,
        policy.router,
        shared,
        *(getattr(policy, field) for field in sorted(policy_fields("candidates"))),
    )


def levels_of(scenario: Scenario) -> tuple[object, ...]:
    """What decides how fast a configuration must be."""
    return (tuple(workload.slo for workload in scenario.workloads), scenario.policy.confidence)
