"""Predictions and simulations that are kept from plan to plan change nothing but the time it takes."""

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from optimizer.answers.planning import until_it_holds
from optimizer.answers.planning.optimize import optimize
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question import predicting
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.price_free import PriceFree, differ_in_prices_only

CHAT = {
    "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 8, "input_tokens": 1000, "output_tokens": 300,
    "slo": {"ttft_ms": 3000, "tpot_ms": 60},
}  # fmt: skip
LONG = CHAT | {"name": "long", "input_tokens": 4000, "requests_per_second": 2}
OFFICE = CHAT | {"requests_per_second": None, "demand": {"hourly": [1] * 8 + [9] * 10 + [3] * 6,
                                                         "peak_requests_per_second": 20}}  # fmt: skip
POLICY = {"engines": ["vllm"], "precisions": ["fp8"]}


def asked(*workloads: dict[str, Any], **policy: Any) -> Scenario:
    return Scenario.model_validate({"name": "asked", "workloads": workloads, "policy": POLICY | policy})


SCENARIOS = {
    "one workload": asked(CHAT),
    "two workloads": asked(CHAT, LONG, max_distinct_configurations=2),
    "a week": asked(OFFICE, pricing_terms=["on_demand"], providers={"allow": ["runpod"]}),
    "no plan": asked(CHAT, max_gpus=1, max_monthly_usd=10),
}


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    """Cards of two sellers."""
    gpus = {"l4", "l40s"}
    return replace(
        catalogs, offers=tuple(o for o in catalogs.offers if o.provider in {"aws", "runpod"} and o.gpu in gpus)
    )


def at_other_prices(catalogs: Catalogs, seed: int, within: float) -> Catalogs:
    """Every price moved by its own amount."""
    draw = random.Random(seed)
    by = [Decimal(repr(round(1 + draw.uniform(-within, within), 6))) for _ in catalogs.offers]
    offers = tuple(
        offer.model_copy(update={"price_usd_per_hour": offer.price_usd_per_hour * factor})
        for offer, factor in zip(catalogs.offers, by, strict=True)
    )
    return replace(catalogs, offers=offers)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_plan_at_other_prices_is_the_one_from_nothing(name: str, few: Catalogs) -> None:
    kept, scenario = PriceFree(), SCENARIOS[name]
    for seed, within in enumerate((0, 0.02, 0.3)):
        catalogs = at_other_prices(few, seed, within)
        again, anew = (confirmed_plan(Inquiry.of(scenario, catalogs, kept=known)) for known in (kept, None))
        if isinstance(anew, SimulatedPlan):
            assert isinstance(again, SimulatedPlan)
            assert (again.bought, again.simulation, again.proven) == (anew.bought, anew.simulation, anew.proven)
            again, anew = again.answer, anew.answer
        assert isinstance(again, Answer)
        for told in ("outcome", "reason", "bound_usd_per_month", "relative_gap", "columns_solved", "eliminated"):
            assert getattr(again.solution, told) == getattr(anew.solution, told)


def test_a_report_at_other_prices_is_the_one_from_nothing(few: Catalogs) -> None:
    kept, dearer = PriceFree(), at_other_prices(few, 7, 0.1)
    optimize(SCENARIOS["one workload"], few, kept=kept)
    again, anew = (optimize(SCENARIOS["one workload"], dearer, kept=known) for known in (kept, None))
    assert again.model_dump(exclude={"solver": {"wall_s"}}) == anew.model_dump(exclude={"solver": {"wall_s"}})


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[int, int]]:
    """How often anything was predicted and simulated."""
    predicted, simulated = list[None](), list[None]()
    evaluate, confirmed = predicting.evaluate, until_it_holds.confirmed
    monkeypatch.setattr(predicting, "evaluate", lambda *given: predicted.append(None) or evaluate(*given))
    monkeypatch.setattr(until_it_holds, "confirmed", lambda *given: simulated.append(None) or confirmed(*given))
    return lambda: (len(predicted), len(simulated))


def test_the_same_machines_are_predicted_and_simulated_once(
    few: Catalogs, counted: Callable[[], tuple[int, int]]
) -> None:
    kept, scenario = PriceFree(), SCENARIOS["one workload"]
    for factor in (1, 2):
        offers = [o.model_copy(update={"price_usd_per_hour": o.price_usd_per_hour * factor}) for o in few.offers]
        confirmed_plan(Inquiry.of(scenario, replace(few, offers=tuple(offers)), kept=kept))
    assert counted() == (1, 1)
    more = scenario.model_copy(
        update={"workloads": (scenario.workloads[0].model_copy(update={"requests_per_second": 90.0}),)}
    )
    confirmed_plan(Inquiry.of(more, few, kept=kept))
    assert counted() == (1, 2)


def test_nothing_is_kept_where_more_than_prices_differs(few: Catalogs, counted: Callable[[], tuple[int, int]]) -> None:
    kept, scenario = PriceFree(), SCENARIOS["one workload"]
    confirmed_plan(Inquiry.of(scenario, few, kept=kept))
    corrected = replace(few, gpu_figures=few.gpu_figures[1:])
    confirmed_plan(Inquiry.of(scenario, corrected, kept=kept))
    assert counted() == (2, 2)


def test_what_differs_in_prices_only(few: Catalogs) -> None:
    assert differ_in_prices_only(few, at_other_prices(few, 1, 0.1))
    assert differ_in_prices_only(few, replace(few, ancillary=()))
    assert not differ_in_prices_only(few, replace(few, offers=few.offers[1:]))
    larger = few.offers[0].model_copy(update={"gpu_count": few.offers[0].gpu_count + 1})
    assert not differ_in_prices_only(few, replace(few, offers=(larger, *few.offers[1:])))
    assert not differ_in_prices_only(few, replace(few, calibration=few.calibration[1:]))
    assert not differ_in_prices_only(few, replace(few, terms=replace(few.terms, round_trips={})))
