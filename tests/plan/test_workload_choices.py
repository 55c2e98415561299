"""A workload's own choices: places it is pinned to and other models that may serve it."""

import numpy as np
import pytest
from support.scenarios import with_policy, with_workload

from optimizer import load_scenario
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import AllowDeny, Scenario
from optimizer.performance.candidates.options import WorkloadOptions, evaluate, variants
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.market.market import Market, market
from optimizer.plan.grounds.scope import scope_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.record.report import Scope

SMALL = {"gpus": {"allow": ["l4"]}, "precisions": ["bf16", "fp8"]}
OTHER = {"model": "llama-3.2-3b", "quality": 0.8}


@pytest.fixture(scope="module")
def asked() -> Scenario:
    return with_policy(load_scenario("chat-8b"), **SMALL)


def options(scenario: Scenario, catalogs: Catalogs) -> tuple[Market, tuple[WorkloadOptions, ...]]:
    offers = market(catalogs, scenario.policy)
    return offers, evaluate(scenario, catalogs, offers, Clock())


def test_each_model_has_options_of_its_own(asked: Scenario, catalogs: Catalogs) -> None:
    with_other = with_workload(asked, alternatives=[OTHER], min_quality=0.79)
    first, second = variants(with_other)
    assert (first.workload_index, second.workload_index) == (0, 0)
    assert (first.workload.model, second.workload.model) == (asked.workloads[0].model, "llama-3.2-3b")
    _, (plain,) = options(with_workload(asked, min_quality=0.79), catalogs)
    _, (main, other) = options(with_other, catalogs)
    assert main.configurations == plain.configurations
    assert (main.pools[0].rate_per_s == plain.pools[0].rate_per_s).all()
    assert other.model.id == "llama-3.2-3b"
    assert other.workload.name == main.workload.name
    assert (other.workload_index, other.model_quality) == (0, 0.8)


def test_the_quality_floor_is_held_against_model_and_precision_together(asked: Scenario, catalogs: Catalogs) -> None:
    at = [criterion.name for criterion in CONFIGURATION_CRITERIA].index("quality")
    for floor, passes in ((0.79, True), (0.81, False)):
        _, (_, other) = options(with_workload(asked, alternatives=[OTHER], min_quality=floor), catalogs)
        full = [row for row, c in enumerate(other.configurations) if {c.precision, c.kv_precision} == {"bf16"}]
        assert [estimate.share for row in full if (estimate := other.quality[row])] == pytest.approx([0.8] * len(full))
        assert (~other.pools[0].failed[full, at] == passes).all()


def test_a_pinned_workload_fits_only_where_it_may_run(asked: Scenario, catalogs: Catalogs) -> None:
    pins = {"providers": {"allow": ["aws", "gcp"]}, "regions": {"deny": ["us-*"]}, "countries": {"allow": ["eu"]}}
    offers, (pinned,) = options(with_workload(asked, **pins), catalogs)
    _, (free,) = options(asked, catalogs)
    assert free.permitted.all()
    assert (pinned.fits == (free.fits & pinned.permitted)).all()
    permitted = [offers.offers[row] for row in np.flatnonzero(pinned.permitted)]
    assert {offer.provider for offer in permitted} == {"aws", "gcp"}
    places = [catalogs.terms.place(offer.provider, offer.region) for offer in permitted]
    assert all("eu" in place for place in places)


def test_an_inquiry_changes_all_models_of_a_workload(asked: Scenario, catalogs: Catalogs) -> None:
    with_other = with_workload(asked, alternatives=[OTHER])
    inquiry = Inquiry.of(with_other, catalogs)
    slower = with_workload(with_other, slo={"ttft_ms": 5000, "tpot_ms": 500})
    changed, anew = inquiry.changed(slower), Inquiry.of(slower, catalogs)
    for one, other in zip(changed.options, anew.options, strict=True):
        assert one.workload == other.workload
        assert (one.pools[0].rate_per_s == other.pools[0].rate_per_s).all()


def test_what_two_workloads_of_one_model_would_share_is_not_called_proven(asked: Scenario, catalogs: Catalogs) -> None:
    """Two workloads, each with a card of its own, were proven the best; as one workload they need one."""
    (chat,) = asked.workloads

    def planned(*names: str, **said: object) -> Scope:
        alike = tuple(chat.model_copy(update={"name": name, "requests_per_second": 0.05} | said) for name in names)
        both = with_policy(asked.model_copy(update={"workloads": alike}), providers={"allow": ["gcp"]})
        return scope_of(solved(Inquiry.of(both, catalogs)))

    shared = "replicas that serve requests of several workloads (a, b), as `request_classes` of one may share them"
    assert planned("a", "b").not_considered == [shared]
    assert planned("a").exact
    apart = with_policy(asked, providers={"allow": ["gcp"]}).model_copy(
        update={
            "workloads": tuple(
                chat.model_copy(
                    update={"name": name, "regions": AllowDeny(allow=(region,)), "requests_per_second": 0.05}
                )
                for name, region in (("a", "us-*"), ("b", "europe-*"))
            )
        }
    )
    assert scope_of(solved(Inquiry.of(apart, catalogs))).exact
