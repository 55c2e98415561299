"""What many tests share: the shipped catalogs and the shipped scenarios' plans, computed once."""

from collections.abc import Callable
from functools import lru_cache

import pytest

from optimizer import load_catalogs, load_scenario, optimize
from optimizer.answers.optimize import verified
from optimizer.inputs.catalog import Catalogs
from optimizer.inputs.scenario import Scenario
from optimizer.inputs.shipped import shipped_dir
from optimizer.plan.inquiry import Inquiry
from optimizer.plan.plan import PlanReport
from optimizer.plan.readback import Bought, read_back


@pytest.fixture(scope="session")
def catalogs() -> Catalogs:
    return load_catalogs()


@pytest.fixture(scope="session")
def planned(catalogs: Catalogs) -> Callable[[str], PlanReport]:
    """The plan of a shipped scenario."""
    return lru_cache(maxsize=None)(lambda name: optimize(load_scenario(name), catalogs))


@pytest.fixture(scope="session")
def asked(catalogs: Catalogs) -> Callable[[str], Inquiry]:
    """The inquiry of a shipped scenario, over the example of one's own terms where there is one."""

    def inquiry(name: str) -> Inquiry:
        overlay = shipped_dir("scenarios") / "overlays" / name
        return Inquiry.of(load_scenario(name), load_catalogs(overlay) if overlay.is_dir() else catalogs)

    return lru_cache(maxsize=None)(inquiry)


@pytest.fixture(scope="session")
def fleet(asked: Callable[[str], Inquiry]) -> Callable[[str], Bought]:
    """What the plan of a shipped scenario buys and runs, without what a report compares it with."""
    return lru_cache(maxsize=None)(lambda name: proven(asked(name)))


def proven(inquiry: Inquiry) -> Bought:
    """The plan, proven optimal and verified."""
    answer = inquiry.solved()
    assert answer.solution.outcome == "optimal"
    assert answer.solution.relative_gap == 0.0
    bought = read_back(answer)
    assert verified(inquiry, bought).passed
    return bought


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
