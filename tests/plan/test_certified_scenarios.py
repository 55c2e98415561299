"""The bound of every shipped scenario of steady demand is certified in whole, but where single instances are lost.

Three clouds of which any may fail are asked at rates at which whole instances in each decide.
"""

import json
from pathlib import Path

import pytest

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.plan.certify.certificate import TOLERANCE_USD, certified
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.verify.certificate.tree import check, read_certificate

NEEDS_AN_OVERLAY = "own-rack"

STEADY = [
    file.stem
    for file in sorted(Path(shipped_dir("scenarios")).glob("*.yaml"))
    if file.stem != NEEDS_AN_OVERLAY and all(workload.demand is None for workload in load_scenario(file).workloads)
]


@pytest.mark.slow("certifies every shipped scenario of steady demand")
@pytest.mark.parametrize("name", STEADY)
def test_the_bound_is_certified(name: str, catalogs: Catalogs) -> None:
    answer = solved_for_least_cost(Inquiry.of(load_scenario(name), catalogs))
    usd = answer.solution.cost_usd_per_month
    found = certified(answer.inquiry.formulated().problem, name, usd)
    assert found is not None
    assert found.complete
    proven = check(read_certificate(json.dumps(found.content)))
    if usd is None:
        assert proven.usd_per_month is None
    else:
        assert usd - TOLERANCE_USD - 1e-3 <= float(proven.usd_per_month or 0) <= usd


@pytest.mark.parametrize("requests_per_second", [8.4, 15])
def test_offers_that_differ_in_price_alone_take_no_parts_of_their_own(
    requests_per_second: float, catalogs: Catalogs
) -> None:
    """The same instances in other regions were split off one by one; 600 linear programs were not enough for that."""
    scenario = load_scenario("three-clouds")
    workload = scenario.workloads[0].model_copy(update={"requests_per_second": requests_per_second})
    asked = Inquiry.of(scenario.model_copy(update={"workloads": (workload,)}), catalogs)
    answer = solved_for_least_cost(asked)
    usd = answer.solution.cost_usd_per_month
    found = certified(answer.inquiry.formulated().problem, "three-clouds", usd)
    assert found is not None
    assert found.complete
    assert found.leaves <= 40
    proven = check(read_certificate(json.dumps(found.content)))
    assert usd is not None
    assert usd - TOLERANCE_USD - 1e-3 <= float(proven.usd_per_month or 0) <= usd
