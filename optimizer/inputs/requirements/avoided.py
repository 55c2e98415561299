"""What a scenario avoids and may have to accept: what nobody measured, and weights whose quality nobody published."""

from collections.abc import Collection, Iterator
from typing import Final

from optimizer.inputs.scenario.fields import WithoutEvidence
from optimizer.inputs.scenario.scenario import Scenario, Workload

SPEED: Final = "policy.unmeasured_performance"
AVOID: Final[WithoutEvidence] = "avoid"


def quality_of(workload: Workload) -> str:
    """The field of a workload."""
    return f"workloads[{workload.name}].unknown_quality"


def avoids_estimates(scenario: Scenario) -> bool:
    """Whether plans on estimated speeds are only made where no other is found."""
    return scenario.policy.unmeasured_performance == AVOID


def avoided_qualities(scenario: Scenario) -> tuple[str, ...]:
    """The fields of workloads that avoid weights of few bits; a floor is a requirement, and never given up so."""
    return tuple(
        quality_of(workload)
        for workload in scenario.workloads
        if workload.unknown_quality == AVOID and workload.min_quality is None
    )


def acceptable(scenario: Scenario) -> Iterator[tuple[str, ...]]:
    """What may be accepted of what is avoided, in the order in which it is tried: nothing first.

    An estimated speed is given up first: a benchmark settles it in an hour, and it has a margin until then.
    """
    speed, quality = (SPEED,) if avoids_estimates(scenario) else (), avoided_qualities(scenario)
    yield from dict.fromkeys([(), speed, quality, (*speed, *quality)])


def accepting(scenario: Scenario, fields: Collection[str]) -> Scenario:
    """The scenario where those fields accept."""
    return _with(scenario, fields, "accept")


def avoiding(scenario: Scenario, fields: Collection[str]) -> Scenario:
    """The scenario where those fields avoid."""
    return _with(scenario, fields, AVOID)


def _with(scenario: Scenario, fields: Collection[str], value: WithoutEvidence) -> Scenario:
    policy, workloads = scenario.policy, scenario.workloads
    if SPEED in fields:
        policy = policy.model_copy(update={"unmeasured_performance": value})
    workloads = tuple(
        each.model_copy(update={"unknown_quality": value}) if quality_of(each) in fields else each for each in workloads
    )
    return scenario.model_copy(update={"policy": policy, "workloads": workloads})
