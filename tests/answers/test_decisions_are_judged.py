"""Decision quality is arithmetic on options: hand-made cases whose best pick, misses and costs are known."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from optimizer.answers.accuracy.decisions import (
    KINDS,
    MIN_CONFIGURATIONS,
    SLA_TARGETS,
    Question,
    bounded,
    flat,
    gpu_hour_prices,
    options,
    quality,
    questions,
    validate_decisions,
)
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import deployments_of, load_measurements
from optimizer.performance.measured.batch import predict_batch

HEADINGS = (
    "engine,model,gpu,num_gpus,tp,weight_precision,input_tokens,output_tokens,load_type,load_value,"
    "ttft_ms_mean,tpot_ms_mean,output_tok_s"
)


@pytest.fixture
def table() -> pd.DataFrame:
    """Three options: the cheapest is predicted right on the limit, the next well below it, the last is expensive."""
    columns = {
        "case": ["a"] * 3,
        "tpot": [21.0, 15.0, 5.0],
        "ttft": [100.0, 100.0, 100.0],
        "cost": [1.0, 1.5, 6.0],
        "predicted_tpot": [19.5, 15.0, 5.0],
        "predicted_ttft": [100.0, 100.0, 100.0],
        "predicted_cost": [1.0, 1.5, 6.0],
    }
    return pd.DataFrame(columns)


ASKED = [Question(np.arange(3), (20.0, 1000.0))]


def test_a_pick_too_close_to_the_limit_is_a_miss_and_a_margin_mends_it(table: pd.DataFrame) -> None:
    central = quality("TPOT", "none", table, ASKED, flat(table, 1.0))
    assert (central.picked_percent, central.kept_percent, central.cost_factor) == (100, 0, 0)
    assert central.cost_factor_all == pytest.approx(1 / 1.5)
    careful = quality("TPOT", "some", table, ASKED, flat(table, 1.2))
    assert (careful.kept_percent, careful.cost_factor) == (100, 1)


def test_too_much_margin_costs_money_and_then_picks(table: pd.DataFrame) -> None:
    assert quality("TPOT", "more", table, ASKED, flat(table, 2.0)).cost_factor == pytest.approx(6 / 1.5)
    none = quality("TPOT", "most", table, ASKED, flat(table, 5.0))
    assert (none.questions, none.picked_percent, none.kept_percent) == (1, 0, 0)


def test_only_questions_with_an_answer_are_asked(table: pd.DataFrame) -> None:
    tpot = [each.limits[0] for each in questions(table, "TPOT")]
    assert tpot == list(SLA_TARGETS[0])
    slow = table.assign(tpot=table["tpot"] + 40)
    assert min(each.limits[0] for each in questions(slow, "TPOT")) == 50
    assert all(np.isinf(each.limits[0]) for each in questions(table, "TTFT"))
    assert len(list(questions(table, KINDS[2]))) == sum(len(SLA_TARGETS[0]) for ttft in SLA_TARGETS[1] if ttft >= 100)


@pytest.fixture
def measured(tmp_path: Path, catalogs: Catalogs) -> Callable[..., pd.DataFrame]:
    """Measured closed loops with their predictions."""

    def predict(*rows: str) -> pd.DataFrame:
        path = tmp_path / "measured.csv"
        path.write_text("\n".join([HEADINGS, *rows]) + "\n", encoding="utf-8")
        return predict_batch(deployments_of(load_measurements(path)), catalogs)

    return predict


def row(gpu: str, clients: int = 8, tokens_per_s: object = 900, load: str = "concurrency") -> str:
    return f"vllm,llama-3.1-8b,{gpu},1,1,fp8,1024,256,{load},{clients},60,8,{tokens_per_s}"


GPUS = ("h100-sxm", "l40s", "h200-sxm")


def test_options_are_closed_loops_of_cases_with_enough_configurations(measured: Callable[..., pd.DataFrame]) -> None:
    prices = dict.fromkeys(GPUS, 3.6)
    enough = [row(gpu) for gpu in GPUS]
    found = options(measured(*enough, row("h100-sxm", 16), row("h100-sxm", 2, load="request_rate")), prices)
    assert found["configuration"].nunique() == MIN_CONFIGURATIONS
    assert len(found) == MIN_CONFIGURATIONS + 1
    assert found["cost"].to_numpy() == pytest.approx(3.6 / 3600 / 900 * 1e6)
    assert options(measured(*enough[:2]), prices).empty
    assert options(measured(*enough), dict.fromkeys(GPUS[:2], 3.6)).empty


def test_throughput_follows_from_the_closed_loop_where_it_was_not_published(
    measured: Callable[..., pd.DataFrame],
) -> None:
    found = options(measured(*[row(gpu, tokens_per_s="") for gpu in GPUS]), dict.fromkeys(GPUS, 3.6))
    per_second = 8 * 256 / (0.060 + 255 * 0.008)
    assert found["cost"].to_numpy() == pytest.approx(3.6 / 3600 / per_second * 1e6)


def test_a_point_measured_twice_counts_once(measured: Callable[..., pd.DataFrame]) -> None:
    twice = [row(gpu, tokens_per_s=rate) for gpu in GPUS for rate in (800, 1000)]
    found = options(measured(*twice), dict.fromkeys(GPUS, 3.6))
    assert len(found) == len(GPUS)
    assert found["cost"].to_numpy() == pytest.approx(3.6 / 3600 * 1e6 * (1 / 800 + 1 / 1000) / 2)


def test_one_half_plans_on_the_prediction_and_confidence_adds_room(measured: Callable[..., pd.DataFrame]) -> None:
    found = options(measured(*[row(gpu) for gpu in GPUS]), dict.fromkeys(GPUS, 3.6))
    room = [bounded(found, confidence)["tpot"] for confidence in (0.5, 0.8, 0.9)]
    assert room[0] == pytest.approx(1)
    assert (room[0] < room[1]).all()
    assert (room[1] < room[2]).all()


def test_prices_are_those_a_plan_considers(catalogs: Catalogs) -> None:
    prices = gpu_hour_prices(catalogs)
    cheapest = min(
        float(offer.price_usd_per_hour) / offer.gpu_count for offer in catalogs.offers if offer.gpu == "h100-sxm"
    )
    assert cheapest <= prices["h100-sxm"]
    assert list(prices) == sorted(prices)


def test_every_rule_is_asked_the_same_questions(catalogs: Catalogs, tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    path.write_text("\n".join([HEADINGS, *[row(gpu) for gpu in GPUS]]) + "\n", encoding="utf-8")
    found = validate_decisions(load_measurements(path), catalogs)
    assert (found.cases, found.options) == (1, 3)
    for kind in KINDS:
        assert len({each.questions for each in found.rules if each.targets == kind}) == 1
