"""The loop closed: plan, benchmark, a server's results, check, calibrate on them, and the plan that comes of it."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from support.command import Command
from support.load_generators import as_guidellm, as_vllm, simulated_run

from optimizer import load_catalogs, load_scenario, write_overlay
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.engines import Draft
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.predict import Mix, operate
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.own import FACTOR, WIDTH, OwnRows
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.uncertainty.evidence import margins, own_measured
from optimizer.plan.benchmark.runs import runs_of
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

FASTER = 0.85
ONLY_THAT_CARD = {
    "gpus": {"allow": ["l40s"]},
    "engines": ["vllm"],
    "precisions": ["fp8"],
    "providers": {"allow": ["runpod"]},
}

ROW = {
    "engine": "vllm",
    "engine_version": "",
    "model": "llama-3.1-8b",
    "gpu": "l40s",
    "tp": "1",
    "weight_precision": "fp8",
    "input_tokens": "1024",
    "output_tokens": "256",
    "load_type": "concurrency",
    "load_value": "8",
    "tpot_ms_mean": "17",
}

Calibrate = Callable[..., Any]


@pytest.fixture
def calibrate(optimizer: Command, tmp_path: Path) -> Calibrate:
    """Calibrates on rows like `ROW` with changes, and gives what was said."""

    def calibrated(*changes: dict[str, str], options: tuple[str, ...] = ("--format", "json")) -> Any:
        path = tmp_path / "mine.csv"
        pd.DataFrame([ROW | change for change in changes]).fillna("").to_csv(path, index=False)
        return optimizer("calibrate", "--own", str(path), "--output", str(tmp_path / "own"), *options)

    return calibrated


@pytest.mark.slow("plans the same question again, on what was measured")
def test_a_measured_plan_comes_back_with_what_was_seen(
    optimizer: Command, planned: Callable[[str], PlanReport], catalogs: Catalogs, tmp_path: Path
) -> None:
    """A server that is faster than predicted; the next plan predicts it so, with less doubt, and verifies."""
    report, scenario = planned("chat-8b"), load_scenario("chat-8b")
    plan, result, own, mine = (tmp_path / name for name in ("plan.json", "result.json", "own", "mine.csv"))
    plan.write_text(as_json(report), encoding="utf-8")
    (run,) = runs_of(scenario, catalogs, report.fleet)
    server = simulated_run(run, report, scenario, catalogs).slower(FASTER)
    rows = []
    for write in (as_guidellm, as_vllm):
        result.write_text(json.dumps(write(run, server, report.plan_id)), encoding="utf-8")
        # the run decides the promises of the plan, and becomes a measurement of one's own
        assert optimizer("check", str(result), "--plan", str(plan)).code == 0
        assert optimizer("measurements", "import", str(result), "--output", str(mine)).code == 0
        rows.append(pd.read_csv(mine)[["gpu", "load_value", "tpot_ms_mean", "ttft_ms_p50"]])
    pd.testing.assert_frame_equal(*rows, rtol=1e-6)
    learned = optimizer("calibrate", "--own", str(mine), "--output", str(own), "--format", "json")
    assert learned.code == 0, learned.err
    (told,) = json.loads(learned.out)["configurations"]
    for metric in told["metrics"]:
        assert metric["error_after_percent"] < metric["error_before_percent"]
        # one point says little of how far TTFT may be off elsewhere
        narrower = math.log(metric["interval_after"]) / math.log(metric["interval_before"])
        assert narrower < 0.9 if metric["metric"] == "tpot" else narrower <= 1
    # the same question, where only that card may be rented
    asked = report.inputs.scenario | {"policy": ONLY_THAT_CARD}
    (tmp_path / "same.yaml").write_text(yaml.safe_dump(asked), encoding="utf-8")
    again = tmp_path / "again.json"
    options = ("--catalogs", str(own), "--format", "json", "--output", str(again), "--quiet")
    assert optimizer("plan", str(tmp_path / "same.yaml"), *options).code == 0
    assert optimizer("verify", str(again), "--catalogs", str(own)).code == 0
    assert "calibration_sha256" in optimizer("verify", str(again)).err
    ((before,), (after,)) = (json.loads(path.read_text())["deployments"] for path in (plan, again))
    assert json.loads(again.read_text())["explanation"]["benchmark"] is None
    assert after["provenance"]["performance"] == "measured"
    assert after["provenance"]["performance_note"] == "on your own deployment"
    assert FASTER < after["tpot_ms"]["mean"] / before["tpot_ms"]["mean"] < 1
    room_before, room_after = (each["tpot_bound_ms"]["mean"] / each["tpot_ms"]["mean"] for each in (before, after))
    assert 1 < room_after < room_before


def test_a_plan_cannot_claim_measurements_that_nobody_made(
    optimizer: Command, planned: Callable[[str], PlanReport], tmp_path: Path
) -> None:
    forged = json.loads(as_json(planned("chat-8b")))
    forged["deployments"][0]["provenance"]["performance"] = "measured"
    (tmp_path / "forged.json").write_text(json.dumps(forged), encoding="utf-8")
    found = optimizer("verify", str(tmp_path / "forged.json"))
    assert found.code == 1
    assert "the speed is calibrated" in found.out


def test_prediction_and_plan_move_alike(calibrate: Calibrate, catalogs: Catalogs, tmp_path: Path) -> None:
    """What plans ask of a replica at a rate is what `predict` says of it there, with own measurements as without."""
    assert calibrate({"load_type": "request_rate", "load_value": "2", "ttft_ms_mean": "150"}).code == 0
    frame = pd.DataFrame([ROW | {"load_type": "request_rate", "load_value": "2"}])
    asked = Configuration("vllm", "llama-3.1-8b", "l40s", "fp8", "bf16", 1, 1)
    mix = Mix(np.array([1024.0]), np.array([256.0]), np.array([1.0]), 0.0)
    tpot_ms = []
    for known in (catalogs, load_catalogs(tmp_path / "own")):
        row = predict_batch(frame, known, look_up=False).iloc[0]
        point = operate(gather(known, [asked]), mix, np.array([2.0]))
        assert row["pred_tpot_ms_mean"] == pytest.approx(1e3 * point.tpot_s["mean"][0], rel=1e-3)
        assert row["pred_ttft_ms_mean"] == pytest.approx(1e3 * point.ttft_s["mean"][0, 0], rel=1e-3)
        tpot_ms.append(row["pred_tpot_ms_mean"])
    assert tpot_ms[0] != tpot_ms[1]


def test_what_a_token_takes_under_arrivals_tells_of_steps(calibrate: Calibrate, catalogs: Catalogs) -> None:
    """A replica of slower steps gathers requests, which make its steps longer still: that part is no error of steps."""
    told = []
    for rate in ("1", "5"):
        arriving = {"load_type": "request_rate", "load_value": rate}
        found = predict_batch(pd.DataFrame([ROW | arriving]), catalogs, look_up=False).iloc[0]
        slow = {"tpot_ms_mean": repr(float(1.6 * found["pred_tpot_ms_mean"]))}
        (item,) = json.loads(calibrate(arriving | slow).out)["configurations"]
        (tpot,) = item["metrics"]
        assert tpot["error_after_percent"] < 8
        told.append(tpot["plan_factor"])
    assert 1.1 < told[1] < 1.25 < told[0] < 1.6


def test_names_that_nobody_knows_are_all_refused_with_their_lines(calibrate: Calibrate) -> None:
    refused = calibrate({"gpu": "l400"}, {}, {"model": "llama-9"}, {"engine": "vlm"})
    assert refused.code == 2
    for line, name in ((2, "l400"), (4, "llama-9"), (5, "vlm")):
        assert any(f"mine.csv:{line}:" in said and f"'{name}'" in said for said in refused.err.splitlines()), (
            refused.err
        )


def test_runs_of_one_point_that_contradict_each_other_are_refused(calibrate: Calibrate) -> None:
    refused = calibrate({}, {"tpot_ms_mean": "30"}, {"load_value": "16", "tpot_ms_mean": "20"})
    assert refused.code == 2
    assert "mine.csv:3: tpot: is 1.76 times that of line 2, which measured the same" in refused.err
    assert calibrate({}, {"tpot_ms_mean": "18"}).code == 0


def test_a_mistaken_unit_is_refused(calibrate: Calibrate) -> None:
    refused = calibrate({}, {"load_value": "16", "tpot_ms_mean": "0.02"})
    assert refused.code == 2
    assert "mine.csv:3: tpot: is 0.0" in refused.err
    assert "latencies are in ms" in refused.err


OVER = {"load_type": "request_rate", "load_value": "60", "request_throughput": "20", "ttft_ms_mean": "90000"}


def test_a_run_above_the_capacity_tells_nothing(calibrate: Calibrate) -> None:
    refused = calibrate(OVER)
    assert refused.code == 2
    assert "more arrives than is served" in refused.err
    # the queue shows in what was served, too, where it was predicted to be enough
    told = json.loads(calibrate({}, OVER, OVER | {"load_value": "2", "request_throughput": "1.5"}).out)
    assert [each.partition(".csv:")[2][0] for each in told["left_out"]] == ["3", "4"]
    assert [metric["points"] for item in told["configurations"] for metric in item["metrics"]] == [1]


def test_a_short_run_is_told_from_a_queue_by_how_long_its_last_answers_took(calibrate: Calibrate) -> None:
    # 100 requests at 2 a second are sent in 50 s, and the last answer takes 7 s more: 1.75 requests/s are no queue
    short = {"load_type": "request_rate", "load_value": "2", "request_throughput": "1.75", "num_requests": "100"}
    slow = {"tpot_ms_mean": str(7000 / 255), "output_tokens": "256"}
    assert calibrate(short | slow).code == 0
    assert calibrate(short | slow | {"num_requests": "3000"}).code == 2


def test_a_draft_is_measured_where_what_it_kept_is_said(
    calibrate: Calibrate, catalogs: Catalogs, tmp_path: Path
) -> None:
    """The plain configuration is a neighbour of it, not the same; without `accepted_tokens` the row says nothing."""
    drafts = {"speculation": "eagle3:3", "tpot_ms_mean": "12"}
    assert "does not say accepted_tokens" in calibrate(drafts).err
    assert calibrate(drafts | {"accepted_tokens": "2"}).code == 0
    own = load_catalogs(tmp_path / "own")
    plain = Configuration("vllm", "llama-3.1-8b", "l40s", "fp8", "bf16", 1, 1)
    drafted = plain.with_draft(Draft(method="eagle3", draft_tokens=3, accepted_tokens=2))
    assert own_measured(own, [plain, drafted]).tolist() == [False, True]
    before, after = (margins(known, [plain, drafted], 0.9).tpot for known in (catalogs, own))
    assert after[1] < before[1]
    assert after[1] / before[1] < after[0] / before[0] <= 1


def test_one_point_is_told_to_be_one(calibrate: Calibrate) -> None:
    said = calibrate({}, options=()).out
    assert "one point; a second, at another load, would show a slip" in said
    assert "other models on l40s" in said


def test_a_prediction_says_that_it_rests_on_own_measurements(
    calibrate: Calibrate, optimizer: Command, tmp_path: Path
) -> None:
    assert calibrate({}).code == 0
    asked = ("--model", ROW["model"], "--gpu", ROW["gpu"], "--input-tokens", "1024", "--output-tokens", "256")
    options = ("--concurrency", "16", "--catalogs", str(tmp_path / "own"))
    said = {each: optimizer("predict", *asked, *options, "--precision", each).out for each in ("fp8", "bf16")}
    assert "Measured: on your own deployment of this very configuration" in said["fp8"]
    assert "Calibrated:" in said["bf16"]
    assert "moved by your own measurements of this engine on this GPU" in said["bf16"]


def test_a_point_that_the_others_do_not_lead_one_to_expect_is_named(calibrate: Calibrate) -> None:
    like = [
        {"load_value": clients, "tpot_ms_mean": tpot} for clients, tpot in (("6", "16"), ("10", "18"), ("12", "60"))
    ]
    (remark,) = json.loads(calibrate(*like).out)["remarks"]
    assert "mine.csv:4: tpot is" in remark


def test_an_older_era_moves_no_plan_and_says_so(calibrate: Calibrate, tmp_path: Path, catalogs: Catalogs) -> None:
    told = json.loads(calibrate({"engine_version": "0.5.0"}).out)
    assert any("are not moved by it" in remark for remark in told["remarks"])
    asked = [Configuration("vllm", "llama-3.1-8b", "l40s", "fp8", "bf16", 1, 1)]
    own = load_catalogs(tmp_path / "own")
    assert margins(own, asked, 0.9) == margins(catalogs, asked, 0.9)


def test_own_constants_and_factors_made_with_others_do_not_mix(
    calibrate: Calibrate, catalogs: Catalogs, tmp_path: Path
) -> None:
    """The folder's constants stay where the measurements were held against them; else both together mislead."""
    constant = next(entry for entry in catalogs.calibration if entry.parameter == "request_overhead_s")
    mine = constant.model_copy(update={"value": constant.value * 2})
    write_overlay(tmp_path / "own", {"calibration": [mine]})
    refused = calibrate({})
    assert refused.code == 2
    assert "other constants than those that the measurements were held against" in refused.err
    assert calibrate({}, options=("--catalogs", str(tmp_path / "own"))).code == 0
    held = load_catalogs(tmp_path / "own").calibration
    assert mine in held
    assert any(entry.parameter == FACTOR for entry in held)


def test_measurements_replace_those_of_before(calibrate: Calibrate, tmp_path: Path) -> None:
    assert calibrate({}, {"gpu": "a10g", "tpot_ms_mean": "40"}).code == 0
    first = (tmp_path / "own" / "calibration.csv").read_text()
    assert calibrate({}).code == 0
    second = (tmp_path / "own" / "calibration.csv").read_text()
    assert "@a10g" in first
    assert "@a10g" not in second


@pytest.mark.parametrize(("parameter", "value"), [(FACTOR, 0.0), (FACTOR, float("nan")), (WIDTH, 1.5), (WIDTH, 0.0)])
def test_rows_that_no_measurement_makes_are_refused(catalogs: Catalogs, parameter: str, value: float) -> None:
    made = catalogs.calibration[0].model_copy(update={"parameter": parameter, "group": "tpot@any@x", "value": value})
    with pytest.raises(InputError, match="calibrate --own"):
        OwnRows.of(Calibration.of([*catalogs.calibration, made]))
    assert OwnRows.of(Calibration.of(catalogs.calibration)) is None


def test_either_a_fit_or_an_update(optimizer: Command, tmp_path: Path) -> None:
    output = ("--output", str(tmp_path / "own"))
    assert "give either a file of measurements or --own" in optimizer("calibrate", *output).err
    both = optimizer("calibrate", "a.csv", "--own", "b.csv", *output)
    assert (both.code, "give either" in both.err) == (2, True)


@pytest.mark.parametrize("figure", ["-17", "inf", "seventeen"])
def test_a_figure_that_is_none_is_refused_at_its_line(calibrate: Calibrate, figure: str) -> None:
    """Another column that tells of the same must not take its place in silence."""
    refused = calibrate({}, {"load_value": "16", "tpot_ms_mean": figure, "itl_ms_mean": "17"})
    assert refused.code == 2
    assert f"mine.csv:3: tpot_ms_mean: '{figure}' is no latency or throughput" in refused.err
