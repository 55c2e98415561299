"""A plan that was tampered with in any way is rejected, and the finding that rejects it is the right one."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.broken_plans import BROKEN
from support.tampering import decided

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.verify.claim import Claim
from optimizer.plan.verify.verify import CHECKS, verify

Claims = Callable[[str], Claim]


@pytest.fixture(scope="module")
def claims(known: Callable[[str], Catalogs], fleet: Callable[[str], PlannedFleet]) -> Claims:
    """The claim of a shipped scenario's plan."""

    def claim(name: str) -> Claim:
        return Claim(load_scenario(name), known(name), fleet(name))

    return claim


def failed(claim: Claim) -> dict[str, str]:
    """What is wrong, by check."""
    checks = verify(claim.scenario, claim.catalogs, claim.fleet).checks
    return {check.name: check.text for check in checks if not check.passed}


@pytest.mark.parametrize("name", sorted({plan.scenario for plans in BROKEN.values() for plan in plans.values()}))
def test_the_untouched_plan_passes(name: str, claims: Claims) -> None:
    assert failed(claims(name)) == {}


@pytest.mark.parametrize(("check", "what"), [(check, what) for check, plans in BROKEN.items() for what in plans])
def test_a_broken_plan_is_rejected_by_the_right_finding(check: str, what: str, claims: Claims) -> None:
    plan = BROKEN[check][what]
    assert plan.words in failed(plan.how(claims(plan.scenario))).get(check, "")


def test_every_check_has_something_to_reject() -> None:
    # no shipped scenario pays by the second: test_paid_by_second tampers with a plan that does
    assert {*BROKEN} == {*CHECKS} - {"containers"}


def test_a_plan_that_does_not_hang_together_is_checked_for_nothing_else(claims: Claims) -> None:
    claim = decided(claims("chat-8b"), periods=())
    verification = verify(claim.scenario, claim.catalogs, claim.fleet)
    assert [check.name for check in verification.checks] == ["whole"]


def test_prices_are_looked_up_again(claims: Claims, catalogs: Catalogs) -> None:
    claim = claims("chat-8b")
    bought = {p.offer for p in claim.fleet.purchases}
    dearer = [
        offer.model_copy(update={"price_usd_per_hour": 2 * offer.price_usd_per_hour}) if offer.id in bought else offer
        for offer in catalogs.offers
    ]
    assert "cost" in failed(replace(claim, catalogs=replace(catalogs, offers=tuple(dearer))))
