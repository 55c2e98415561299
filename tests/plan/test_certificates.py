"""A certificate proves what enumeration finds, and one that was changed anywhere proves nothing it should not."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.brute_force import cheapest_by_enumeration
from support.instances import TINY, problems

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.plan.certify.certificate import TOLERANCE_USD, certified
from optimizer.plan.verify.certificate.problem import NotProven
from optimizer.plan.verify.certificate.tree import Proven, check, read_certificate
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve

FEW = 60
"""Linear programs that a proof may take here."""

ONE_PERIOD = sorted(set(TINY) - {"starts", "minimum_billing"})


def proven(content: dict[str, Any]) -> Proven:
    """What the checker makes of the content once written and read."""
    return check(read_certificate(json.dumps(content)))


def steady(problem: Problem) -> Problem:
    """The problem in its first period alone, in which every class is wanted."""
    traffic = problem.traffic.during(np.array([0]))
    assume((traffic.demand_per_s > 0).all())
    return replace(problem, traffic=replace(traffic, share_of_month=np.ones(1), start_share=np.zeros((1, 1))))


def certifies(problem: Problem) -> None:
    """What is proven is never above what enumeration finds; and as much, where the certificate says so."""
    problem = steady(problem)
    expected = cheapest_by_enumeration(problem)
    assume(expected is None or not np.isnan(expected))
    found = certified(problem, "drawn", None if expected is None else expected * HOURS_PER_MONTH, FEW)
    if found is None:
        assert expected is None
        return
    usd = proven(found.content).usd_per_month
    if expected is None:
        assert usd is None or not found.complete
        return
    assert usd is not None
    assert float(usd) <= expected * HOURS_PER_MONTH + 1e-6
    assert not found.complete or float(usd) >= expected * HOURS_PER_MONTH - TOLERANCE_USD - 1e-3


@pytest.mark.parametrize("family", ["", *ONE_PERIOD, "apis", "workloads", "mixed_replicas", "sending"])
def test_what_is_certified_is_what_enumeration_finds(family: str) -> None:
    settings(max_examples=5)(given(problems(family))(certifies))()


@pytest.mark.slow("enumerates every plan of problems under several families")
def test_certificates_under_several_families() -> None:
    settings(max_examples=150)(given(problems("any", several=5))(certifies))()


@pytest.mark.parametrize("family", ONE_PERIOD)
def test_more_than_the_optimum_is_never_certified(family: str) -> None:
    problem = TINY[family]()
    if problem.traffic.periods > 1:
        problem = replace(
            problem,
            traffic=replace(
                problem.traffic.during(np.array([0])), share_of_month=np.ones(1), start_share=np.zeros((1, 1))
            ),
        )
    usd = solve(problem).cost_usd_per_month
    found = certified(problem, family, None if usd is None else usd * 1.01, FEW)
    assert found is None or usd is None or found.usd_per_month is not None
    if found is not None and usd is not None:
        assert not found.complete
        assert float(proven(found.content).usd_per_month or 0) <= usd + 1e-6


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    """A proof of several leaves."""
    problem = TINY["max_gpus"]()
    found = certified(problem, "tiny", solve(problem).cost_usd_per_month)
    assert found is not None
    assert found.complete
    assert found.leaves > 1
    return found.content


def _leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "split" in node:
        yield from _leaves(node["most"])
        yield from _leaves(node["least"])
    else:
        yield node


def _splits(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "split" in node:
        yield node
        yield from _splits(node["most"])
        yield from _splits(node["least"])


def _dearest(leaf: dict[str, Any]) -> str:
    return max(leaf["prices"], key=leaf["prices"].get)


def _raise_price(content: dict[str, Any]) -> None:
    for leaf in _leaves(content["proof"]):
        leaf["prices"][_dearest(leaf)] *= 1.5


def _lower_price(content: dict[str, Any]) -> None:
    for leaf in _leaves(content["proof"]):
        leaf["prices"][_dearest(leaf)] *= 0.5


def _negative_price(content: dict[str, Any]) -> None:
    next(_leaves(content["proof"]))["prices"]["max_gpus"] = -1.0


def _unknown_price(content: dict[str, Any]) -> None:
    next(_leaves(content["proof"]))["prices"]["split 99"] = 1.0


def _no_prices(content: dict[str, Any]) -> None:
    next(_leaves(content["proof"])).clear()


def _branch_dropped(content: dict[str, Any]) -> None:
    del next(_splits(content["proof"]))["most"]


def _branch_taken_twice(content: dict[str, Any]) -> None:
    node = next(_splits(content["proof"]))
    node["most"] = node["least"]


def _split_skips(content: dict[str, Any]) -> None:
    next(_splits(content["proof"]))["split"]["members"] = [99]


def _more_claimed(content: dict[str, Any]) -> None:
    content["claim"]["no_plan_costs_less_than_usd_per_month"] += 1.0


def _no_plan_claimed(content: dict[str, Any]) -> None:
    content["claim"]["no_plan_costs_less_than_usd_per_month"] = None


def _cheaper(content: dict[str, Any]) -> None:
    for offer in content["problem"]["offers"]:
        offer["usd_per_hour"] *= 0.9


def _faster(content: dict[str, Any]) -> None:
    for candidate in content["problem"]["candidates"]:
        candidate["rates_per_s"] = {mix: rate * 1.5 for mix, rate in candidate["rates_per_s"].items()}


def _less_wanted(content: dict[str, Any]) -> None:
    for item in content["problem"]["classes"]:
        item["demand_per_s"] *= 0.8


def _unknown_limit(content: dict[str, Any]) -> None:
    content["problem"]["limits"]["max_everything"] = 1


def _odd_size(content: dict[str, Any]) -> None:
    content["problem"]["candidates"][0]["gpus"] = 3


CHANGES = (
    *(_raise_price, _lower_price, _negative_price, _unknown_price, _no_prices, _branch_dropped, _branch_taken_twice),
    *(_split_skips, _more_claimed, _no_plan_claimed, _cheaper, _faster, _less_wanted, _unknown_limit, _odd_size),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_a_changed_certificate_is_refused(certificate: dict[str, Any], change: Any) -> None:
    content = copy.deepcopy(certificate)
    assert proven(content).usd_per_month is not None
    change(content)
    with pytest.raises(NotProven):
        proven(content)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_prices_are_changed_the_optimum_is_not_exceeded(
    certificate: dict[str, Any], data: st.DataObject
) -> None:
    content = copy.deepcopy(certificate)
    optimum = content["claim"]["no_plan_costs_less_than_usd_per_month"] + TOLERANCE_USD
    for leaf in _leaves(content["proof"]):
        for name in sorted(leaf["prices"]):
            leaf["prices"][name] *= data.draw(st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.2, 3.0]))
    content["claim"]["no_plan_costs_less_than_usd_per_month"] = data.draw(st.integers(1, 40_000))
    try:
        usd = proven(content).usd_per_month
    except NotProven:
        return
    assert usd is not None
    assert usd <= Fraction(str(optimum + 1e-3))
