"""`optimizer validate` counts every row, weighs groups equally, names what is worst and refuses what it cannot read."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import Command
from support.paths import ROOT

from optimizer.answers.accuracy.validate import DIMENSIONS, WORST_ROWS, errors, validate
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import deployments_of, load_measurements
from optimizer.performance.measured.batch import predict_batch

HEADINGS = (
    "source,engine,engine_version,model,gpu,num_gpus,tp,weight_precision,input_tokens,output_tokens,load_type,"
    "load_value,ttft_ms_mean,ttft_ms_p50,tpot_ms_mean,output_tok_s,exclude_ttft,exclude_tpot,exclude_throughput"
)
ROW = "mine,vllm,0.15.0,llama-3.1-8b,{gpu},1,1,fp8,1024,256,concurrency,{clients},{mean},{median},{tpot},{rate},{no},,"


def row(gpu: str = "h100-sxm", clients: int = 8, **seen: object) -> str:
    """One measured deployment."""
    return ROW.format(gpu=gpu, clients=clients, **{"mean": 60, "median": "", "tpot": 8, "rate": 900, "no": ""} | seen)


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., Path]:
    """A file of measurements."""

    def write(*rows: str, headings: str = HEADINGS) -> Path:
        path = tmp_path / "measured.csv"
        path.write_text("\n".join([headings, *rows]) + "\n", encoding="utf-8")
        return path

    return write


def test_groups_count_alike_however_many_rows_they_have(catalogs: Catalogs, measured: Callable[..., Path]) -> None:
    """Nine rows that are right on one GPU and one row twice as fast on another: the median lies between the two."""
    frame = load_measurements(measured(*[row() for _ in range(9)], row("l40s")))
    predicted = predict_batch(deployments_of(frame), catalogs)
    for at, factor in ((slice(0, 9), 1.0), (slice(9, 10), 0.5)):
        frame.loc[frame.index[at], "tpot_ms_mean"] = (predicted["pred_tpot_ms_mean"].iloc[at] * factor).map(repr)
    (table,) = validate(frame, catalogs, ["metric"]).tables
    tpot = next(each for each in table.rows if each.metric == "tpot" and each.label == "all")
    assert (tpot.rows, tpot.groups) == (10, 2)
    assert tpot.median_percent == pytest.approx(50)
    assert tpot.bias_percent == pytest.approx(100 * (2**0.5 - 1))


def test_excluded_and_refused_rows_are_not_judged_but_counted(
    catalogs: Catalogs, measured: Callable[..., Path]
) -> None:
    frame = load_measurements(measured(row(), row(no="burst"), row("no-such-gpu"), row("no-such-gpu")))
    found = validate(frame, catalogs, ["metric", "gpu"])
    rows = {(each.metric, each.label): each.rows for each in found.tables[0].rows}
    assert (rows["ttft", "all"], rows["tpot", "all"], rows["throughput", "all"]) == (1, 2, 2)
    assert (found.rows, found.predicted) == (4, 2)
    assert [each.rows for each in found.unsupported] == [2]
    assert "no-such-gpu" in found.unsupported[0].reason
    assert {each.label for each in found.tables[1].rows} == {"h100-sxm"}


def test_the_published_median_is_compared_with_a_predicted_median(
    catalogs: Catalogs, measured: Callable[..., Path]
) -> None:
    frame = load_measurements(measured(row(clients=64, mean=500, median=100), row(clients=64, mean=500)))
    points = errors(predict_batch(deployments_of(frame), catalogs), catalogs)
    ttft = points[points["metric"] == "ttft"]
    assert list(ttft["measured"]) == [100, 500]
    assert ttft["predicted"].iloc[0] < ttft["predicted"].iloc[1]


def test_every_point_stands_once_in_every_table(catalogs: Catalogs, measured: Callable[..., Path]) -> None:
    frame = load_measurements(measured(*[row(clients=each) for each in (1, 4, 8, 64)], row("l40s"), row("a100-80-sxm")))
    by = (*DIMENSIONS[1:], "engine+load")
    for table in validate(frame, catalogs, by).tables:
        assert sum(each.rows for each in table.rows if each.metric == "tpot") == 6, table.by
    (load,) = validate(frame, catalogs, ["load"]).tables
    assert {(each.label, each.rows) for each in load.rows if each.metric == "tpot"} == {
        ("concurrency ≤ 4", 2),
        ("concurrency > 4", 4),
    }


def test_worst_groups_come_worst_first_and_never_from_a_row_or_two(
    catalogs: Catalogs, measured: Callable[..., Path]
) -> None:
    rows = [row(tpot=80) for _ in range(WORST_ROWS)] + [row("l40s", tpot=800) for _ in range(WORST_ROWS - 1)]
    worst = validate(load_measurements(measured(*rows)), catalogs).worst_groups
    assert {each.label.split("|")[2] for each in worst} == {"h100-sxm"}
    assert [each.median_percent for each in worst] == sorted((each.median_percent for each in worst), reverse=True)


def test_unknown_dimensions_are_refused_together_with_the_nearest(catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as raised:
        validate(pd.DataFrame(), catalogs, ["metric", "gpus", "engine+lod"])
    assert [each.hint for each in raised.value.findings] == ["did you mean gpu?", "did you mean load?"]


def test_a_missing_column_is_bad_input(optimizer: Command, measured: Callable[..., Path]) -> None:
    result = optimizer("validate", measured("vllm,llama-3.1-8b", headings="engine,model"))
    assert result.code == 2
    assert result.out == ""
    assert "gpu: this column is missing" in result.err


@pytest.mark.parametrize("arguments", [("--by", "gpu,colour"), ("--plot", "errors.pdf"), ("--by", ",")])
def test_bad_options_are_bad_input(
    optimizer: Command, measured: Callable[..., Path], arguments: tuple[str, ...]
) -> None:
    result = optimizer("validate", measured(row()), *arguments)
    assert (result.code, result.out) == (2, "")
    assert arguments[0] in result.err


def test_json_is_whole_and_the_same_every_time(optimizer: Command, measured: Callable[..., Path]) -> None:
    path = measured(row(), row(clients=1), row("l40s"))
    first, second = (optimizer("validate", path, "--format", "json", "--decisions") for _ in range(2))
    assert first == second
    assert first.err == ""
    said = json.loads(first.out)
    assert said["validation"]["rows"] == 3
    assert said["decisions"]["cases"] == 0


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_words_have_every_table(optimizer: Command, measured: Callable[..., Path], tmp_path: Path, form: str) -> None:
    out = tmp_path / "errors"
    arguments = ("--by", "metric,engine+load", "--format", form, "--output", out, "--decisions")
    result = optimizer("validate", measured(row(), row("no-such-gpu")), *arguments)
    assert (result.code, result.out) == (0, "")
    said = out.read_text(encoding="utf-8")
    for title in ("Errors by metric", "Errors by engine and load", "Worst groups", "Not predicted", "Decisions"):
        assert title in said


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_equal_points_are_drawn_equal(
    optimizer: Command, measured: Callable[..., Path], tmp_path: Path, ending: str
) -> None:
    pytest.importorskip("matplotlib")
    path, images = measured(row(), row(clients=1), row("l40s")), [tmp_path / f"{at}.{ending}" for at in range(2)]
    for image in images:
        assert optimizer("validate", path, "--plot", image).code == 0
    assert images[0].read_bytes() == images[1].read_bytes()


def test_the_shipped_calibration_agrees_with_the_shipped_measurements(catalogs: Catalogs) -> None:
    """A guard against a broken calibration, far above what it reaches."""
    frame = load_measurements(ROOT / "catalogs" / "measurements.csv")
    found = validate(frame, catalogs, ["metric"])
    assert found.predicted / found.rows > 0.95
    medians = {each.metric: each.median_percent for each in found.tables[0].rows if each.label == "all"}
    assert np.array([medians[name] for name in ("tpot", "ttft", "throughput")]) == pytest.approx([0, 0, 0], abs=25)


def test_cells_that_are_no_figure_are_told_and_not_read(catalogs: Catalogs, measured: Callable[..., Path]) -> None:
    found = validate(load_measurements(measured(row(), row(mean="abc", tpot=-5), row(rate="nan"))), catalogs)
    assert [(each.what.split(":")[0], each.figures) for each in found.doubtful] == [
        ("tpot_ms_mean", 1),
        ("ttft_ms_mean", 1),
    ]
    assert "line 3: 'abc'" in found.doubtful[1].what


def test_a_column_of_another_name_is_told(catalogs: Catalogs, measured: Callable[..., Path]) -> None:
    headings = HEADINGS.replace("ttft_ms_mean,ttft_ms_p50", "ttft_ms,ttft_ms_p99")
    found = validate(load_measurements(measured(row(), headings=headings)), catalogs)
    assert [each.what for each in found.doubtful] == ["ttft_ms: not read, ttft is ttft_ms_p50 or ttft_ms_mean"]


def test_seconds_for_milliseconds_are_told(catalogs: Catalogs, measured: Callable[..., Path]) -> None:
    found = validate(load_measurements(measured(row(mean=0.06, tpot=0.008))), catalogs)
    assert [each.what.split(":")[0] for each in found.doubtful] == ["tpot", "ttft"]
    assert all("latencies are in ms" in each.what for each in found.doubtful)
