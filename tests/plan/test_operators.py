"""Machines that are listed under two names are lost together: no redundancy, and one provider's share."""

from dataclasses import replace
from typing import Any

import pytest
from support.asking import CHAT
from support.scenarios import proven

from optimizer.inputs.catalog.entries.terms import Operator
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.losses import by_operator, share_left
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.simulate.losing import SimulatedLoss
from optimizer.plan.verify.verify import verify

SPREAD = (
    {"availability": "region"},
    {"availability": "provider"},
    {"min_providers": 2},
    {"min_regions": 2},
    {"max_provider_share": 0.5},
)


def asked(*providers: str, **policy: Any) -> Scenario:
    """One workload on one kind of card in one region of each provider."""
    own = {
        "providers": {"allow": list(providers)},
        "regions": {"allow": ["us-east-1", "us-east4"]},
        "gpus": {"allow": ["l4", "l40s"]},
        "unmeasured_performance": "accept",
    }
    return Scenario.model_validate({"name": "places", "workloads": [CHAT], "policy": own | policy})


@pytest.mark.parametrize("policy", SPREAD, ids="-".join)
def test_a_second_name_is_no_second_place(policy: dict[str, Any], catalogs: Catalogs) -> None:
    """Both halves ran in AWS us-east-1, one of them as SageMaker's, and were called a plan that survives its loss."""
    scenario = asked("aws", "aws-sagemaker", **policy)
    assert solved(Inquiry.of(scenario, catalogs)).solution.outcome == "infeasible"
    apart = replace(catalogs, terms=replace(catalogs.terms, operators={}))
    assert solved(Inquiry.of(scenario, apart)).solution.outcome == "optimal"


@pytest.mark.parametrize("policy", [each for each in SPREAD if "region" not in str(each)], ids=str)
def test_verification_knows_whose_machines_they_are(policy: dict[str, Any], catalogs: Catalogs) -> None:
    scenario = asked("aws", "gcp", **policy)
    bought = proven(Inquiry.of(scenario, catalogs))
    assert {d.provider for d in bought.deployments} == {"aws", "gcp"}
    assert verify(scenario, catalogs, bought).passed
    row = Operator(provider="gcp", operator="aws", source="test", as_of=catalogs.as_of)
    terms = replace(catalogs.terms, operators={"gcp": row})
    assert not verify(scenario, replace(catalogs, terms=terms), bought).passed


def test_a_region_is_lost_with_all_that_its_operator_runs_there(catalogs: Catalogs) -> None:
    bought = proven(Inquiry.of(asked("aws", "aws-sagemaker"), catalogs))
    d = bought.deployments[0].model_copy(update={"provider": "aws-sagemaker"})
    alone = replace(catalogs.terms, operators={})
    for region, own, others in (
        ("us-east-1", True, True),
        ("aws/us-east-1", True, False),
        ("gcp/us-east-1", False, False),
    ):
        loss = SimulatedLoss("region", region)
        assert loss.takes(d, catalogs.terms) == own
        assert loss.takes(d, alone) == others


def test_what_is_left_is_told_by_operator(catalogs: Catalogs) -> None:
    scenario = asked("aws", "gcp", availability="provider")
    bought = proven(Inquiry.of(scenario, catalogs))
    row = Operator(provider="gcp", operator="aws", source="test", as_of=catalogs.as_of)
    together = by_operator(bought, replace(catalogs.terms, operators={"gcp": row}))
    assert share_left(scenario, bought)[0] >= 1
    assert share_left(scenario, together) == (0.0, "aws")
