"""An engine that nobody calibrated: plans go on without it, and who names it is told which rows are missing."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from support.command import run

from optimizer import load_catalogs, predict
from optimizer.answers.accuracy.predicted import Setting
from optimizer.answers.accuracy.prediction import predict_setting
from optimizer.answers.catalog.soundness import check_catalogs
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.rejections import census
from optimizer.plan.question.forcing import Choice
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.variants.shortfalls import shortfalls

ENGINES = (
    "id,name,architectures,schemes,kv_precisions,plannable,memory_utilization,max_num_seqs,max_num_batched_tokens,"
    "newest_version,source,as_of\n"
    "turbo,Turbo,hopper ada cdna3,bf16 fp8,bf16 fp8,true,0.9,1024,8192,1.0,litgpt-0.5.13,2026-11-20\n"
)
CALIBRATION = "parameter,group,value,unit,method,source,as_of\n"
PARAMETERS = ("step_overhead_s", "layer_overhead_s", "sequence_overhead_s", "request_overhead_s")


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    (tmp_path / "engines.csv").write_text(ENGINES)
    return tmp_path


@pytest.fixture
def uncalibrated(overlay: Path) -> Catalogs:
    return load_catalogs(overlay)


def calibrated(overlay: Path, group: str) -> Catalogs:
    """The overlay with rows for one group of the engine's constants."""
    rows = "".join(f"{name},{group},0.0001,s,quoted,litgpt-0.5.13,2026-11-20\n" for name in PARAMETERS)
    (overlay / "calibration.csv").write_text(CALIBRATION + rows)
    return load_catalogs(overlay)


def setting(gpu: str, engine: str = "turbo") -> Setting:
    return Setting(
        model="llama-3.1-8b",
        gpu=gpu,
        tensor_parallel=1,
        precision="bf16",
        engine=engine,
        input_tokens=512,
        output_tokens=64,
        load_type="concurrency",
        load_value=4,
    )


def test_other_engines_plan_as_before(
    chat: Scenario, uncalibrated: Catalogs, fleet: Callable[[str], PlannedFleet]
) -> None:
    inquiry = Inquiry.of(chat, uncalibrated)
    solution = solved(inquiry).solution
    assert solution.cost_usd_per_month == pytest.approx(float(fleet("chat-8b").monthly_cost_usd), abs=0.01)
    rejected = census(inquiry.options, inquiry.market).rejected
    assert rejected.by_reason["engine_calibrated"] > rejected.only_reason["engine_calibrated"] > 0


def test_a_policy_that_names_it_is_told_the_rows(
    overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nworkloads:\n  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, "
        "output_tokens: 100}\npolicy:\n  engines: [turbo]\n"
    )
    ended = run(monkeypatch, capsys, "plan", str(file), "--catalogs", str(overlay))
    assert ended.code == 2
    needed = f"calibration.csv needs a row each for {', '.join(PARAMETERS)} in the group turbo@nvidia or turbo"
    assert f"{file}:5: policy.engines: turbo is not calibrated on nvidia: {needed}" in ended.err
    assert "turbo is not calibrated on amd" in ended.err


def test_a_plan_from_python_refuses_it_too(chat: Scenario, uncalibrated: Catalogs) -> None:
    named = chat.model_copy(update={"policy": chat.policy.model_copy(update={"engines": ("turbo",)})})
    with pytest.raises(InputError, match="turbo is not calibrated on nvidia"):
        Inquiry.of(named, uncalibrated)


def test_an_engine_calibrated_on_some_gpus_is_planned_on_those(overlay: Path, chat: Scenario) -> None:
    half = calibrated(overlay, "turbo@nvidia")
    named = chat.model_copy(update={"policy": chat.policy.model_copy(update={"engines": ("turbo",)})})
    (options,) = Inquiry.of(named, half).options
    passing = {options.configurations[row].gpu for row in options.pools[0].passed.nonzero()[0]}
    assert passing
    assert {half.gpus[gpu].vendor for gpu in passing} == {"nvidia"}
    findings = [finding for finding in check_catalogs(half) if finding.check == "engines"]
    assert [finding.text.split(": ")[2] for finding in findings] == ["turbo is not calibrated on amd"]


def test_why_not_says_what_is_missing(chat: Scenario, uncalibrated: Catalogs) -> None:
    (missed,) = shortfalls(Inquiry.of(chat, uncalibrated), Choice(engine="turbo", gpu="h100-sxm"))
    assert missed.criterion == "engine_calibrated"
    assert f"needs a row each for {', '.join(PARAMETERS)} in the group turbo@nvidia or turbo" in missed.text


def test_a_prediction_says_what_is_missing(uncalibrated: Catalogs) -> None:
    with pytest.raises(InputError, match=r"needs a row each for step_overhead_s, .* in the group turbo@amd or turbo"):
        predict_setting(setting("mi300x"), uncalibrated)


def test_rows_of_other_engines_in_the_same_file_are_predicted(uncalibrated: Catalogs) -> None:
    rows = pd.DataFrame(
        {
            "engine": ["vllm", "turbo"],
            "model": "llama-3.1-8b",
            "gpu": "h100-sxm",
            "input_tokens": 512,
            "output_tokens": 64,
            "load_type": "offline",
        }
    )
    found = predict(rows, uncalibrated)
    assert found["pred_status"].tolist() == ["ok", "unsupported"]
    assert found["pred_reason"][1].startswith("turbo is not calibrated on nvidia")


def test_catalog_check_tries_every_engine_and_names_its_row(overlay: Path, uncalibrated: Catalogs) -> None:
    findings = [finding for finding in check_catalogs(uncalibrated) if finding.check == "engines"]
    assert [finding.subject for finding in findings] == ["turbo", "turbo"]
    assert {finding.severity for finding in findings} == {"warning"}
    start = f"{overlay}/engines.csv:2: no plan can use it on "
    assert findings[0].text.startswith(f"{start}ada, hopper: turbo is not calibrated on nvidia")
    assert findings[1].text.startswith(f"{start}cdna3: turbo is not calibrated on amd")


def test_every_shipped_engine_can_be_predicted_where_its_row_says_it_runs() -> None:
    assert [finding for finding in check_catalogs(load_catalogs()) if finding.check == "engines"] == []


def test_rows_of_its_own_make_it_an_engine_like_any_other(overlay: Path) -> None:
    known = calibrated(overlay, "turbo")
    assert predict_setting(setting("mi300x"), known).tpot.predicted > 0
    assert [finding for finding in check_catalogs(known) if finding.check == "engines"] == []
