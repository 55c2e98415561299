"""Ways out that somebody might take: none ten times as dear as another, further on where a plan breaks a promise."""

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from optimizer.inputs.requirements.stated import waivable
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain import ways_out
from optimizer.plan.explain.ways_out import WayOut, worth_telling

CHAT = {"name": "chat", "model": "llama-3.1-8b", "requests_per_second": 9, "input_tokens": 900, "output_tokens": 90}
POLICY = {"max_gpus": 2, "max_monthly_usd": 1500}
SCENARIO = Scenario.model_validate({"name": "desk", "workloads": [CHAT], "policy": POLICY})
ITEMS = {item.requirement.name: item for item in waivable(SCENARIO)}


def costing(usd: str) -> Any:
    return SimpleNamespace(monthly_cost_usd=Decimal(usd))


def test_a_way_ten_times_as_dear_as_another_is_none() -> None:
    """1,749 GPUs so that a limit may be 221 ms in place of 506: it stood beside what costs a two-hundredth."""
    ways = [
        WayOut(((ITEMS["max_gpus"], gpus),), costing(usd)) for gpus, usd in ((9, "1071294"), (5, "51000"), (4, "5142"))
    ]
    assert [way.plan.monthly_cost_usd for way in worth_telling(ways)] == [5142, 51000]
    assert worth_telling([]) == []


def test_limits_loosened_together_go_further_where_their_plan_breaks_a_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three GPUs had no plan that holds, for any budget, and no other number was tried."""

    def shown(_: object, changes: ways_out.Changes, __: object) -> Any:
        values = {item.requirement.name: to for item, to in changes}
        held = values["max_gpus"] >= 4 and (values["max_monthly_usd"] or 1e9) >= 9000  # type: ignore[operator]
        return costing("8999.5") if held else None

    monkeypatch.setattr(ways_out, "_shown", shown)
    monkeypatch.setattr(ways_out, "replace", lambda each, **_: each)
    together = ((ITEMS["max_gpus"], 3.0), (ITEMS["max_monthly_usd"], 2000.0))
    found = list(ways_out._loosened(SimpleNamespace(scenario=SCENARIO), together, lambda *_: None))  # type: ignore[arg-type]
    assert [[to for _, to in changes] for changes in found] == [[3.0, 2000.0], [4.0, 9000.0]]
