"""What `experiment` takes a run to teach is what `calibrate --own` makes of its result, row by row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from optimizer.answers.accuracy.own import own_update
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.own import FACTOR, WIDTH, without_own
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.learning import after_each_run, after_run, results_of

ROW = {
    "engine": "vllm", "engine_version": "", "model": "llama-3.1-8b", "gpu": "l40s", "tp": "1",
    "weight_precision": "fp8", "kv_precision": "bf16", "input_tokens": "1000", "output_tokens": "300",
    "load_type": "request_rate", "load_value": "2",
}  # fmt: skip
HERE = Configuration("vllm", "llama-3.1-8b", "l40s", "fp8", "bf16", 1, 1)
OTHER = HERE._replace(precision="bf16")


def calibrated(catalogs: Catalogs, runs: Sequence[float]) -> dict[tuple[str, str], float]:
    """The rows that `calibrate --own` makes of so many runs, each with a result of `HERE` as experiments take it."""
    frame = pd.DataFrame([ROW | {"load_value": str(2 + number)} for number in range(len(runs))])
    predicted = predict_batch(frame, catalogs, look_up=False)
    tpot, ttft, _ = np.exp(np.hstack([results_of(catalogs, [[HERE]], run) for run in runs]))
    frame["tpot_ms_mean"] = (predicted["pred_tpot_ms_mean"] * tpot).map(repr)
    frame["ttft_ms_mean"] = (predicted["pred_ttft_ms_mean"] * ttft).map(repr)
    return own_rows(own_update(frame, catalogs, file="mine.csv", data="runs").entries)


def own_rows(entries: Sequence[CalibrationEntry]) -> dict[tuple[str, str], float]:
    return {(row.parameter, row.group): row.value for row in entries if row.parameter in (FACTOR, WIDTH)}


@pytest.mark.parametrize("result", [0.1, 0.5, 0.9])
def test_a_run_teaches_what_calibrate_makes_of_it(catalogs: Catalogs, result: float) -> None:
    """Of the configuration, of its neighbours, and how much narrower their intervals become."""
    taught = own_rows(after_run(catalogs, [HERE], result).calibration)
    assert taught == pytest.approx(calibrated(catalogs, [result]))
    assert {group.count("@") for _, group in taught} == {3, 4, 7}
    assert not any(group.startswith("throughput") for _, group in taught)


def test_measured_by_themselves_runs_tell_of_nothing_else(catalogs: Catalogs) -> None:
    both = own_rows(after_each_run(catalogs, [[HERE], [OTHER]], 0.1).calibration)
    alone = {**own_rows(after_run(catalogs, [HERE], 0.1).calibration)}
    alone |= own_rows(after_run(catalogs, [OTHER], 0.1).calibration)
    assert both == {row: value for row, value in alone.items() if row[1].count("@") == 7}


@pytest.mark.parametrize("runs", [(0.3, 0.3), (0.8, 0.2, 0.6)])
def test_one_more_run_teaches_what_calibrate_makes_of_all(catalogs: Catalogs, runs: tuple[float, ...]) -> None:
    """Of the configuration itself, where plans read it; earlier runs were held against predictions without them."""
    *earlier, last = runs
    first = calibrated(catalogs, earlier)
    plain = next(row for row in catalogs.calibration if row.parameter == "request_overhead_s")
    rows = [plain.model_copy(update={"parameter": p, "group": g, "value": v}) for (p, g), v in first.items()]
    known = _with(catalogs, rows)
    taught = own_rows(after_run(known, [HERE], last).calibration)
    moved = {row for row in taught if taught[row] != first[row]}
    assert {group.split("@")[1] for _, group in moved} == {"request_rate"}
    assert {group.count("@") for _, group in moved} == {7}
    # the last run as far from the first prediction as it is from the one that the earlier runs moved
    assert moved
    expected = _all_at_once(catalogs, known, earlier, last)
    assert {row: taught[row] for row in moved} == pytest.approx({row: expected[row] for row in moved}, rel=2e-3)


def _all_at_once(
    catalogs: Catalogs, known: Catalogs, earlier: Sequence[float], last: float
) -> dict[tuple[str, str], float]:
    frame = pd.DataFrame([ROW | {"load_value": str(2 + number)} for number in range(len(earlier) + 1)])
    before, after = (predict_batch(frame, each, look_up=False) for each in (catalogs, known))
    ratios = [np.exp(results_of(catalogs, [[HERE]], run))[:, 0] for run in earlier]
    final = np.exp(results_of(known, [[HERE]], last))[:, 0]
    for at, metric in enumerate(("tpot", "ttft")):
        column = f"pred_{metric}_ms_mean"
        values = [before[column][number] * ratio[at] for number, ratio in enumerate(ratios)]
        frame[f"{metric}_ms_mean"] = [repr(float(value)) for value in (*values, after[column].iloc[-1] * final[at])]
    return own_rows(own_update(frame, catalogs, file="mine.csv", data="runs").entries)


def _with(catalogs: Catalogs, rows: Sequence[CalibrationEntry]) -> Catalogs:
    return replace(catalogs, calibration=(*without_own(catalogs.calibration), *rows))
