"""Where idling through a dip costs less than starting again, plans do so: as cheap as a program of every hour."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.scenarios import proven

from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet

CHAT: dict[str, Any] = {
    "name": "chat", "model": "llama-3.1-8b", "input_tokens": 900, "output_tokens": 250,
    "slo": {"ttft_ms": 4000, "tpot_ms": 60}, "min_quality": 0.99,
}  # fmt: skip
ONE_PLACE: dict[str, Any] = {
    "providers": {"allow": ["aws"]}, "regions": {"allow": ["us-east-1"]}, "gpus": {"allow": ["l4"]},
    "engines": ["vllm"],
}  # fmt: skip
LUNCH = [1.0] * 8 + [6.0] * 4 + [2.0] * 2 + [6.0] * 4 + [1.0] * 6
TWO_DIPS = [1.0] * 7 + [5.0] * 3 + [2.0] + [5.0] * 3 + [2.0] * 4 + [5.0] * 3 + [1.0] * 3
TWELVE_HOURS = [0.5] * 6 + [4.0] * 5 + [2.0] * 7 + [4.0] * 2 + [0.5] * 4
DEMANDS = [
    (LUNCH, 0.0, {"start_up_minutes": 240}),
    (TWO_DIPS, 0.5, {"start_up_minutes": 150}),
    (TWELVE_HOURS, 1.0, {"minimum_billing_hours": 6}),
    (TWELVE_HOURS, 0.0, {"start_up_minutes": 90, "minimum_billing_hours": 12}),
]


def question(hourly: list[float], weekend_factor: float, elastic: dict[str, Any]) -> Scenario:
    demand = {"hourly": hourly, "weekend_factor": weekend_factor, "peak_requests_per_second": 4}
    policy = ONE_PLACE | {"elastic": elastic}
    return Scenario.model_validate({"name": "dips", "workloads": [CHAT | {"demand": demand}], "policy": policy})


def by_the_hour(scenario: Scenario, catalogs: Catalogs) -> PlannedFleet:
    """The proven plan of a program in which every hour of the week is a period of its own."""
    return proven(replace(Inquiry.of(scenario, catalogs), hour_to_period=np.arange(HOURS_PER_WEEK)))


@pytest.mark.slow("proves a program of 168 periods")
@pytest.mark.parametrize(("hourly", "weekend_factor", "elastic"), DEMANDS)
def test_a_plan_costs_what_it_would_hour_by_hour(
    hourly: list[float], weekend_factor: float, elastic: dict[str, Any], catalogs: Catalogs
) -> None:
    scenario = question(hourly, weekend_factor, elastic)
    planned = proven(Inquiry.of(scenario, catalogs))
    hour_by_hour = by_the_hour(scenario, catalogs)
    assert len(hour_by_hour.periods) == HOURS_PER_WEEK
    assert math.isclose(planned.monthly_cost_usd, hour_by_hour.monthly_cost_usd, rel_tol=1e-9)


def test_an_hour_between_two_peaks_is_idled_through_and_a_night_is_not(catalogs: Catalogs) -> None:
    """The same demand as at night is served by more instances where the dip is shorter than a start."""
    hourly = [2.0] * 8 + [6.0] * 4 + [2.0] + [6.0] * 5 + [2.0] * 6
    fleet = proven(Inquiry.of(question(hourly, 1.0, {"start_up_minutes": 90}), catalogs))
    period_of = {hour: item.period for item in fleet.periods for a, b in item.hours_of_week for hour in range(a, b + 1)}
    night, peak, dip = (
        sum(
            purchase.gpus // purchase.instances * purchase.schedule[period_of[hour]].instances
            for purchase in fleet.purchases
        )
        for hour in (3, 10, 12)
    )
    assert night < dip == peak
    assert fleet.periods[period_of[3]].requests_per_second == fleet.periods[period_of[12]].requests_per_second
