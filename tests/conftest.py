"""What many tests share: the shipped catalogs and the shipped scenarios' plans, computed once."""

from collections.abc import Callable
from functools import lru_cache

import pytest

from optimizer import load_catalogs, load_scenario, optimize
from optimizer.inputs.catalog import Catalogs
from optimizer.inputs.scenario import Scenario
from optimizer.plan.plan import PlanReport


@pytest.fixture(scope="session")
def catalogs() -> Catalogs:
    return load_catalogs()


@pytest.fixture(scope="session")
def planned(catalogs: Catalogs) -> Callable[[str], PlanReport]:
    """The plan of a shipped scenario."""
    return lru_cache(maxsize=None)(lambda name: optimize(load_scenario(name), catalogs))


@pytest.fixture
def chat() -> Scenario:
    return load_scenario("chat-8b")


def with_policy(scenario: Scenario, **changes: object) -> Scenario:
    """The scenario under a changed policy, validated as if it had been written so."""
    return Scenario.model_validate(scenario.model_dump() | {"policy": scenario.policy.model_dump() | changes})


def with_workload(scenario: Scenario, **changes: object) -> Scenario:
    """The scenario with its first workload changed, validated as if it had been written so."""
    first, *others = (workload.model_dump() for workload in scenario.workloads)
    return Scenario.model_validate(scenario.model_dump() | {"workloads": [first | changes, *others]})
