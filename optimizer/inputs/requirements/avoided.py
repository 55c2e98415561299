"""What a scenario avoids and may have to accept: what nobody measured, and weights whose quality nobody published."""

from collections.abc import Iterator
from typing import Final

from optimizer.inputs.scenario.fields import WithoutEvidence
from optimizer.inputs.scenario.scenario import Scenario, Workload

SPEED: Final = "policy.unmeasured_performance"
AVOID: Final[WithoutEvidence] = "avoid"
AVOIDING: Final = (AVOID, "family")
"""Of quality: what nobody published is avoided, or what even models of its size do not tell."""


def quality_of(workload: Workload) -> str:
    """The field of a workload."""
    return f"workloads[{workload.name}].unknown_quality"


def avoided(scenario: Scenario) -> tuple[str, ...]:
    """The fields that avoid something; a quality floor is a requirement, and what fails it is never accepted so."""
    speed = (SPEED,) if scenario.policy.unmeasured_performance == AVOID else ()
    unasked = [each for each in scenario.workloads if not each.has_quality_floor and each.unknown_quality in AVOIDING]
    return (*speed, *(quality_of(workload) for workload in unasked))


def kept_to(scenario: Scenario) -> Iterator[tuple[str, ...]]:
    """Which of those fields are kept to, in the order in which questions are asked: all, then ever fewer, then none.

    An estimated speed is accepted first: a benchmark settles it in an hour, and it has a margin until then.
    """
    fields = avoided(scenario)
    quality = tuple(field for field in fields if field != SPEED)
    speed = tuple(field for field in fields if field == SPEED)
    yield from dict.fromkeys([fields, quality, speed, ()])
