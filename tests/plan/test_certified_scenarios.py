"""The bound of every shipped scenario of steady demand is certified in whole, but where single instances are lost."""

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
