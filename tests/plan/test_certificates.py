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

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.plan.certify.blocks import RowBlocks
from optimizer.plan.certify.certificate import TOLERANCE_USD, certified
from optimizer.plan.certify.figures import Figures
from optimizer.plan.certify.kinds import kinds_of
from optimizer.plan.certify.relaxation import relaxed
from optimizer.plan.certify.statement import statement
from optimizer.plan.verify.certificate.branch import Branch
from optimizer.plan.verify.certificate.prices import appraise
from optimizer.plan.verify.certificate.problem import NotProven, Stated
from optimizer.plan.verify.certificate.tree import Proven, check, read_certificate, sides, stated
from optimizer.program.problem.data import Limits
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
    found = certified(problem, "drawn", None if expected is None else expected * HOURS_PER_MONTH, most_relaxations=FEW)
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
    settings(max_examples=75)(given(problems("any", several=5))(certifies))()


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
    found = certified(problem, family, None if usd is None else usd * 1.01, most_relaxations=FEW)
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


OTHERS: tuple[Any, ...] = (None, True, False, 0, -1, 2, 1.5, 1e300, "x", [], {}, [[]], {"a": 1}, "1/0", 10**30)


def _places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field and item; of candidates and offers the first alone."""
    if at:
        yield at
    first = at[-1:] in (("candidates",), ("offers",))
    items = node.items() if isinstance(node, dict) else enumerate(node[: 1 if first else None])
    for key, inner in items if isinstance(node, dict | list) else ():
        yield from _places(inner, (*at, key)) if isinstance(inner, dict | list) else [(*at, key)]


@pytest.mark.parametrize("part", ["problem", "claim", "proof"])
def test_whatever_stands_in_a_field_nothing_false_is_proven(certificate: dict[str, Any], part: str) -> None:
    optimum = certificate["claim"]["no_plan_costs_less_than_usd_per_month"] + TOLERANCE_USD
    refused = 0
    for *path, last in _places({part: certificate[part]}):
        for other in OTHERS:
            content = copy.deepcopy(certificate)
            holder = content
            for key in path:
                holder = holder[key]
            holder[last] = other
            try:
                usd = proven(content).usd_per_month
            except NotProven:
                refused += 1
                continue
            # a certificate of another problem is told apart by comparing problems
            assert content["problem"] != certificate["problem"] or (usd is not None and usd <= optimum + 1e-3)
    assert refused > 0


def test_a_number_without_end_is_refused(certificate: dict[str, Any]) -> None:
    text = json.dumps(certificate)
    price = json.dumps(certificate["problem"]["offers"][0]["usd_per_hour"])
    for number in ("1e999999999", "1e-999999999", "NaN", "Infinity"):
        with pytest.raises(NotProven):
            read_certificate(text.replace(f'"usd_per_hour": {price}', f'"usd_per_hour": {number}', 1))


def _bound(problem: Stated, region: Branch, claim: float | None, data: st.DataObject, depth: int) -> Fraction | None:
    """The best of a few bounds of a region split at random, in dollars an hour; None where it is empty."""
    if depth and data.draw(st.booleans()):
        over = data.draw(st.sampled_from(["instances", "replicas"]))
        known = len(problem.offers if over == "instances" else problem.candidates)
        members = sorted(data.draw(st.sets(st.integers(0, known - 1), min_size=1)))
        parts = sides(problem, over, members, data.draw(st.integers(0, 3)))
        found = [_bound(problem, region.within(side), claim, data, depth - 1) for side in parts]
        return min((each for each in found if each is not None), default=None)
    if region.is_empty(problem):
        return None
    prices = relaxed(
        RowBlocks(Figures(problem)), region, frozenset(range(len(problem.candidates))), claim, Clock()
    ).prices
    best = Fraction(0)
    for _ in range(3):
        factors = {name: data.draw(st.sampled_from([0.0, 0.9, 0.999, 1.0, 1.0, 1.05, 2.0])) for name in sorted(prices)}
        moved = {name: Fraction(price * factors[name]) for name, price in prices.items()}
        moved |= {name: max(min(lean, Fraction(1)), Fraction(-1)) for name, lean in moved.items() if "lean " in name}
        found_here = appraise(problem, region, moved, at_cost=claim is not None)
        best = max(best, found_here.earned if found_here.holds else best)
    return best


def no_tree_proves_too_much(problem: Problem, data: st.DataObject) -> None:
    """Whatever the splits and the prices, the least that leaves prove is no more than the cheapest plan costs."""
    problem = steady(problem)
    expected = cheapest_by_enumeration(problem)
    assume(expected is not None and not np.isnan(expected))
    exact = stated(read_certificate(json.dumps({"certificate_version": 1, "problem": statement(problem)})))
    claim = (expected or 0.0) * data.draw(st.sampled_from([1.0, 1.2, 3.0]))
    usd = _bound(exact, Branch(), claim, data, depth=2)
    assert usd is not None
    assert float(usd) <= (expected or 0.0) * (1 + 1e-6)
    assert _bound(exact, Branch(), None, data, depth=1) == 0


@pytest.mark.parametrize("family", ["placement", "survive", "changes", "spare_replicas", "apis", "any"])
def test_no_tree_proves_too_much(family: str) -> None:
    settings(max_examples=8)(given(problems(family), st.data())(no_tree_proves_too_much))()


@pytest.mark.slow("enumerates every plan of problems under several families")
def test_no_tree_proves_too_much_under_several_families() -> None:
    settings(max_examples=75)(given(problems("any", several=5), st.data())(no_tree_proves_too_much))()


def test_what_is_replaced_elsewhere_counts_where_its_better_is_ruled_out() -> None:
    problem = TINY["max_gpus"]()
    rate = np.array([[0.8, 0.0, 0.0], [0.8, 0.0, 0.0], [0.0, 0.0, 0.8]])
    alike = replace(
        problem,
        traffic=replace(problem.traffic, demand_per_s=np.array([[0.2, 0.6]])),
        candidates=replace(problem.candidates.select(np.array([2, 2, 2])), ids=("c", "d", "e"), rate_per_s=rate),
        limits=Limits(max_utilization=0.7),
    )
    usd = solve(alike).cost_usd_per_month
    found = certified(alike, "alike", usd, most_relaxations=FEW)
    assert found is not None
    assert found.complete
    assert float(proven(found.content).usd_per_month or 0) >= (usd or 0) - TOLERANCE_USD - 1e-3


def test_a_part_without_instances_of_an_offer_loses_none_of_them() -> None:
    problem = stated(
        read_certificate(json.dumps({"certificate_version": 1, "problem": statement(TINY["placement"]())}))
    )
    without, _ = sides(problem, "instances", [0], 0)
    found = appraise(problem, Branch().within(without), {"after loss of instance a: chat/short": Fraction(1)})
    assert sorted(found.left_of_offer) == [1, 2]


def test_a_part_that_stops_more_than_allowed_is_told_to_have_no_plans() -> None:
    problem = stated(read_certificate(json.dumps({"certificate_version": 1, "problem": statement(TINY["changes"]())})))
    without, _ = sides(problem, "replicas", [0, 1], 0)
    stopped = replace(problem, limits=problem.limits | {"max_changes": 0})
    keep = frozenset(range(len(problem.candidates)))
    assert relaxed(RowBlocks(Figures(stopped)), Branch().within(without), keep, 10.0, Clock()).usd_per_hour > 100.0


@pytest.mark.parametrize("family", ["max_gpus", "changes"])
def test_a_proof_ends_where_its_work_does(family: str) -> None:
    problem = TINY[family]()
    usd = solve(problem).cost_usd_per_month
    whole = Clock()
    complete = certified(problem, family, usd, whole)
    assert complete is not None
    assert complete.complete
    assert certified(problem, family, usd, Clock(work_limit=0)) is None
    for work in range(1, whole.spent_work, max(whole.spent_work // 4, 1)):
        found = certified(problem, family, usd, Clock(work_limit=work))
        assert found is None or float(proven(found.content).usd_per_month or 0) <= (usd or 0)
        again = certified(problem, family, usd, Clock(work_limit=work))
        assert (found and found.content) == (again and again.content)


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


def _at(region: str, usd_per_hour: float, **more: Any) -> dict[str, Any]:
    return {
        "id": f"cloud/{region}", "usd_per_hour": usd_per_hour, "gpus": 1, "provider": "cloud", "region": region,
        "spot": False, **more,
    }  # fmt: skip


def _one_replica_each(offers: list[dict[str, Any]], **limits: Any) -> Stated:
    own = {"workload": "chat", "configuration": "fp8", "engine": "vllm", "gpus": 1, "in_force": 0}
    problem = {
        "classes": [{"name": "chat", "workload": "chat", "demand_per_s": 3}],
        "mixes": [{"chat": 1}],
        "offers": offers,
        "candidates": [{"id": o["id"], "offer": i, "rates_per_s": {"0": 2}, **own} for i, o in enumerate(offers)],
        "apis": [],
        "limits": {"max_utilization": 1, **limits},
    }
    return stated({"problem": problem})


def test_offers_of_a_kind_differ_in_price_alone() -> None:
    """Told by the cheapest, in whatever order they stand; where regions are told apart, none is of another's kind."""
    offers = [_at("north", 2.0), _at("south", 1.0), _at("west", 3.0, available=4), _at("east", 4.0, power_kw=1.0)]
    assert kinds_of(_one_replica_each(offers)) == [1, 1, 2, 3]
    assert kinds_of(_one_replica_each(offers, survive=["provider"])) == [1, 1, 2, 3]
    for limits in ({"survive": ["region"]}, {"survive": ["spot_offer"]}, {"min_regions": 2}):
        assert kinds_of(_one_replica_each(offers, **limits)) == [0, 1, 2, 3]
    quotas = [{"name": "north", "offers": [0], "max_gpus": 1}]
    assert kinds_of(_one_replica_each(offers, quotas=quotas)) == [0, 1, 2, 3]
