"""A loss in a simulation lasts as long as it lasts: as stated, as a start takes, or it is asked for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.asking import CHAT, few_offers
from support.scenarios import proven

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.simulate.losing import Lost, SimulatedLoss, lost_of, requests_through
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.simulate.simulated import simulated
from optimizer.plan.verify.claim import Claim


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


def asked(**policy: Any) -> Scenario:
    said = CHAT | {"requests_per_second": 18.0}
    return Scenario.model_validate({"name": "losses", "workloads": [said], "policy": policy})


@pytest.fixture(scope="module")
def bought(few: Catalogs) -> PlannedFleet:
    return proven(Inquiry.of(asked(max_distinct_configurations=1), few))


def claimed(few: Catalogs, fleet: PlannedFleet, term: str = "on_demand", **policy: Any) -> tuple[Claim, ServedWorkload]:
    """The plan as if it were bought at that term, under that policy."""
    (served,) = services(Claim(asked(**policy), few, fleet), 0.9)
    at_term = tuple(d.model_copy(update={"pricing_term": term}) for d in served.deployments)
    return Claim(asked(**policy), few, fleet), replace(served, deployments=at_term)


def test_what_is_stated_comes_first_and_a_start_where_its_like_can_be_rented(
    few: Catalogs, bought: PlannedFleet
) -> None:
    claim, service = claimed(few, bought)
    (row,) = (each for each in few.start_up if not each.engine)
    found = lost_of(claim, service, SimulatedLoss("instance"))
    assert found is not None
    assert found.replicas == {0: 1}
    assert row.fixed_s + row.seconds_per_gb * 4 < found.lasts_s < row.fixed_s + row.seconds_per_gb * 17
    slow, service_of_slow = claimed(few, bought, elastic={"start_up_minutes": 25})
    taken_back = claimed(few, bought, "spot", spot={"interruptions_per_month": 9, "recovery_minutes": 40})
    for given, loss, seconds, word in (
        ((slow, service_of_slow), SimulatedLoss("instance"), 1500, "start_up_minutes"),
        ((slow, service_of_slow), SimulatedLoss("instance", minutes=2), 120, "--lost-minutes"),
        (taken_back, SimulatedLoss("spot"), 2400, "recovery_minutes"),
        (taken_back, SimulatedLoss("instance"), 2400, "recovery_minutes"),
    ):
        stated = lost_of(*given, loss)
        assert stated is not None
        assert (stated.lasts_s, word in stated.until) == (seconds, True)
    assert lost_of(claim, service, SimulatedLoss("region", "moon", 5)) is None


@pytest.mark.parametrize(
    ("term", "loss", "said"),
    [
        ("owned", SimulatedLoss("instance"), "how long the repair of"),
        ("spot", SimulatedLoss("spot"), "has spot instances in"),
        ("spot", SimulatedLoss("instance"), "has spot instances in"),
        ("on_demand", SimulatedLoss("region", "*"), "is back"),
    ],
)
def test_what_nobody_knows_is_asked_for(
    few: Catalogs, bought: PlannedFleet, term: str, loss: SimulatedLoss, said: str
) -> None:
    claim, service = claimed(few, bought, term)
    if loss.of == "region":
        loss = replace(loss, region=service.deployments[0].region)
    with pytest.raises(InputError, match=f"{said}.*--lost-minutes N"):
        lost_of(claim, service, loss)
    stated = lost_of(claim, service, replace(loss, minutes=3.0))
    assert stated is not None
    assert stated.lasts_s == 180


def test_the_run_goes_on_until_a_loss_is_over_and_as_long_again() -> None:
    lost = Lost({0: 1}, lasts_s=3600.0, until="")
    # 1,000 requests at 2 a second take 500 s: half of them before the loss, 7,200 s of them after its beginning
    assert requests_through(lost, 2.0, 1000) == 500 + 14_400
    assert requests_through(lost, 2.0, 1_000_000) == 1_000_000
    with pytest.raises(InputError, match=r"60 minutes of loss take .* more than 3,000,000"):
        requests_through(lost, 1000.0, 1000)


def test_promises_in_a_loss_are_those_to_requests_that_come_meanwhile(few: Catalogs, bought: PlannedFleet) -> None:
    """The same verdict however long the run is, and never kept where what is left does not carry what comes."""
    (d,) = bought.deployments
    assert d.max_requests_per_second / d.replicas * (d.replicas - 1) < d.requests_per_second
    claim = Claim(asked(max_distinct_configurations=1), few, bought)
    for requests in (5_000, 60_000):
        found = simulated(
            claim, None, confidence=0.9, requests=requests, seeds=2, parts=4, loss=SimulatedLoss("instance", "", 20)
        )
        (item,) = found.classes
        before, meanwhile, since = found.phases
        assert [each.phase for each in found.phases] == ["before", "lost", "after"]
        assert item.requests == meanwhile.requests
        assert item.requests == pytest.approx(2 * 18.0 * 1200, rel=0.05)
        assert found.holds is False
        assert before.share_within_limits > 0.9 > meanwhile.share_within_limits
        assert since.to_s - since.from_s > 1100
        # each promise that broke did so from the loss on, or in the requests that it cut short
        spells = [spell for spell in found.broken_spells if spell.to_s > meanwhile.from_s]
        assert min(spell.from_s for spell in spells) > meanwhile.from_s - 300


def test_a_router_that_is_told_divides_by_what_is_left_at_full_rate(few: Catalogs, bought: PlannedFleet) -> None:
    _, service = claimed(few, bought)
    (server,) = service.servers
    twice = replace(service, deployments=service.deployments * 2, servers=(server, server))
    left = Lost({0: server.replicas}, 60.0, "").left_per_s(twice)
    (d,) = bought.deployments
    assert np.allclose(left, [[0.0, d.schedule[service.period].max_requests_per_second]])
