"""Every shipped scenario solves as its comment says, is proven, and survives verification."""

from collections.abc import Callable
from decimal import Decimal
from itertools import count

import numpy as np
import pytest
from support.scenarios import BY_FAMILY

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.report import PlanReport
from optimizer.plan.simulate.held import lowered_in

NAMES = sorted({file.stem for file in shipped_dir("scenarios").glob("*.yaml")} - set(BY_FAMILY))
SOLVABLE = [name for name in NAMES if not name.startswith("infeasible")]
SLOW = {"shared-replicas": pytest.mark.slow("compares mixed replicas with every plan of pools")}
PLANNED = [pytest.param(name, marks=SLOW.get(name, ())) for name in SOLVABLE]
SINGLE_CLASS_WITHOUT_SIDE_LIMITS = ["chat-70b", "chat-8b", "deepseek-v3", "long-context", "qwen3-32b"]


@pytest.mark.parametrize("name", PLANNED)
def test_the_plan_is_proven_and_verified(name: str, planned: Callable[[str], PlanReport]) -> None:
    report = planned(name)
    assert report.outcome == "optimal"
    assert report.relative_gap == 0.0
    assert report.bound_usd == report.cheapest_usd
    assert report.cheapest_usd is not None
    assert report.monthly_cost_usd is not None
    assert report.cheapest_usd <= report.monthly_cost_usd <= report.cheapest_usd * Decimal("1.05")
    assert report.verification.passed
    assert len(report.verification.checks) >= 10
    assert report.monthly_cost_usd == sum(d.monthly_cost_usd for d in report.deployments)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("infeasible")])
def test_infeasible_scenarios_name_the_nearest_miss_and_a_way_out(
    name: str, planned: Callable[[str], PlanReport]
) -> None:
    report = planned(name)
    assert report.outcome == "infeasible"
    assert not report.deployments
    assert report.explanation.nearest_misses
    assert report.explanation.relaxations


@pytest.mark.parametrize("name", PLANNED)
def test_alternatives_and_opportunities_are_priced_against_the_plan(
    name: str, planned: Callable[[str], PlanReport]
) -> None:
    report = planned(name)
    assert report.monthly_cost_usd is not None
    assert report.cheapest_usd is not None
    for item in report.explanation.alternatives:
        assert item.monthly_cost_usd is None or item.monthly_cost_usd >= report.cheapest_usd
    for item in report.explanation.opportunities:
        # surviving a loss asks for more, and hosted APIs are another way to serve
        admits_more = item.kind not in ("availability", "hosted_api")
        assert item.difference_usd is None or item.difference_usd <= 0 or not admits_more
    told = [item.kind for item in report.explanation.baselines]
    assert told == ["rule_of_thumb"] or any("rule of thumb" in text for text in report.explanation.not_worked_out)


@pytest.mark.parametrize("name", SINGLE_CLASS_WITHOUT_SIDE_LIMITS)
def test_the_cost_equals_brute_force(name: str, catalogs: Catalogs, planned: Callable[[str], PlanReport]) -> None:
    """One request class and no side limit: the cheapest set of instances whose best contents cover the demand, of
    those that the plan is made of, at the rates that it counts on once it was simulated."""
    scenario, report = load_scenario(name), planned(name)
    assert report.simulation is not None
    asked = Inquiry.of(scenario, catalogs).keeping_to(report.avoided(scenario))
    inquiry = asked.with_lowered(lowered_in(report.simulation, asked.scenario.policy))
    choice = inquiry.options[0]
    rate = np.where(choice.pools[0].passed, choice.pools[0].rate_per_s, 0.0)
    sizes, fits_kind = np.unique(choice.gpus_per_replica).tolist(), choice.fits
    boxes = []
    for row, (offer, admitted) in enumerate(zip(inquiry.market.offers, inquiry.market.admitted, strict=True)):
        if admitted:
            fits = fits_kind[:, row][choice.kind]
            per_size = {s: float(rate[fits & (choice.gpus_per_replica == s)].max(initial=0.0)) for s in sizes}
            capacity = best_content(offer.gpu_count, per_size) * scenario.policy.max_utilization
            if capacity > 0:
                boxes.append((float(offer.price_usd_per_hour), capacity))
    cheapest = cheapest_cover(pareto(boxes), scenario.workloads[0].peak_requests_per_second())
    assert report.cheapest_usd is not None
    assert float(report.cheapest_usd) == pytest.approx(cheapest * 730, rel=1e-9)


def best_content(gpus: int, rate_by_size: dict[int, float]) -> float:
    """The most requests per second that replicas of any sizes reach together in one instance."""
    best = [0.0] * (gpus + 1)
    for room in range(1, gpus + 1):
        best[room] = max([best[room - 1], *(best[room - s] + r for s, r in rate_by_size.items() if s <= room)])
    return best[gpus]


def pareto(boxes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """(price, capacity) pairs that no cheaper pair beats, best price per capacity first."""
    kept: list[tuple[float, float]] = []
    for price, capacity in sorted(boxes, key=lambda box: (box[0], -box[1])):
        if not kept or capacity > max(other for _, other in kept):
            kept.append((price, capacity))
    return sorted(kept, key=lambda box: box[0] / box[1])


def cheapest_cover(boxes: list[tuple[float, float]], demand: float) -> float:
    """Depth-first search over how many of each box to buy, pruned by the best price per capacity left."""
    best = min(price * -(-demand // capacity) for price, capacity in boxes)
    tolerance = demand * 1e-9

    def descend(position: int, need: float, spent: float) -> None:
        nonlocal best
        if need <= tolerance:
            best = min(best, spent)
            return
        if position == len(boxes) or spent + need * boxes[position][0] / boxes[position][1] >= best - 1e-12:
            return
        price, capacity = boxes[position]
        for bought in count():
            if spent + bought * price >= best:
                return
            descend(position + 1, need - bought * capacity, spent + bought * price)
            if bought * capacity >= need:
                return

    descend(0, demand, 0.0)
    return best
