"""What many tests share: the shipped catalogs and the shipped scenarios' plans, computed once."""

from collections.abc import Callable
from functools import lru_cache

import pytest
from support.scenarios import proven

from optimizer import load_catalogs, load_scenario, optimize
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import PlanReport


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
def fleet(asked: Callable[[str], Inquiry]) -> Callable[[str], PlannedFleet]:
    """What the plan of a shipped scenario buys and runs, without what a report compares it with."""
    return lru_cache(maxsize=None)(lambda name: proven(asked(name)))


@pytest.fixture
def chat() -> Scenario:
    return load_scenario("chat-8b")
