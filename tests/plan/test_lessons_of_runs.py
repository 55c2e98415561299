"""What `experiment` takes a run to teach is what `calibrate --own` makes of its result, row by row."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from optimizer.answers.accuracy.own import own_update
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.inputs.metrics import METRICS
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.physics.own import FACTOR, SAME, WIDTH, deployment_names, without_own
from optimizer.performance.physics.setup import Configuration, categorical
from optimizer.performance.uncertainty.learning import after_each_run, after_run, results_of

ROW = {
    "engine": "vllm", "engine_version": "", "model": "llama-3.1-8b", "gpu": "l40s", "tp": "1",
    "weight_precision": "fp8", "kv_precision": "bf16", "input_tokens": "1000", "output_tokens": "300",
    "load_type": "request_rate", "load_value": "2",
}  # fmt: skip
HERE = Configuration("vllm", "llama-3.1-8b", "l40s", "fp8", "bf16", 1, 1)
OTHER = HERE._replace(precision="bf16")


def measured(catalogs: Catalogs, runs: Sequence[tuple[Catalogs, float]]) -> pd.DataFrame:
    """So many runs at ever higher rates, each with a result of `HERE` as experiments take it where so much is known:
    what is predicted where own measurements moved it by that."""
    (name,) = deployment_names(catalogs, categorical([HERE], SAME)).categories
    plain = next(row for row in catalogs.calibration if row.parameter == "request_overhead_s")
    rows = []
    for number, (known, run) in enumerate(runs):
        row, before = ROW | {"load_value": str(2 + number)}, own_rows(known.calibration)
        of_metric = dict(zip(METRICS, np.exp(results_of(known, [[HERE]], run))[:, 0].tolist(), strict=True))
        moved = []
        for metric in ("tpot", "ttft"):
            group = f"{metric}@request_rate@{name.configuration}"
            value = before.get((FACTOR, group), 1.0) * of_metric[metric]
            moved.append(plain.model_copy(update={"parameter": FACTOR, "group": group, "value": value}))
        found = predict_batch(pd.DataFrame([row]), _with(catalogs, moved), look_up=False).iloc[0]
        rows.append(row | {f"{each}_ms_mean": repr(float(found[f"pred_{each}_ms_mean"])) for each in ("tpot", "ttft")})
    return pd.DataFrame(rows)


def calibrated(catalogs: Catalogs, runs: Sequence[tuple[Catalogs, float]]) -> dict[tuple[str, str], float]:
    """The rows that `calibrate --own` makes of such runs."""
    return own_rows(own_update(measured(catalogs, runs), catalogs, file="mine.csv", data="runs").entries)


def own_rows(entries: Sequence[CalibrationEntry]) -> dict[tuple[str, str], float]:
    return {(row.parameter, row.group): row.value for row in entries if row.parameter in (FACTOR, WIDTH)}


@pytest.mark.parametrize("result", [0.1, 0.5, 0.9])
def test_a_run_teaches_what_calibrate_makes_of_it(catalogs: Catalogs, result: float) -> None:
    """Of the configuration, of its neighbours, and how much narrower their intervals become."""
    taught = own_rows(after_run(catalogs, [HERE], result).calibration)
    assert taught == pytest.approx(calibrated(catalogs, [(catalogs, result)]))
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
    before = [(catalogs, run) for run in earlier]
    first = calibrated(catalogs, before)
    plain = next(row for row in catalogs.calibration if row.parameter == "request_overhead_s")
    rows = [plain.model_copy(update={"parameter": p, "group": g, "value": v}) for (p, g), v in first.items()]
    known = _with(catalogs, rows)
    taught = own_rows(after_run(known, [HERE], last).calibration)
    moved = {row for row in taught if taught[row] != first[row]}
    assert {group.split("@")[1] for _, group in moved} == {"request_rate"}
    assert {group.count("@") for _, group in moved} == {7}
    # the last run as far from the first prediction as it is from the one that the earlier runs moved
    assert moved
    expected = calibrated(catalogs, [*before, (known, last)])
    assert {row: taught[row] for row in moved} == pytest.approx({row: expected[row] for row in moved}, rel=2e-3)


def _with(catalogs: Catalogs, rows: Sequence[CalibrationEntry]) -> Catalogs:
    return replace(catalogs, calibration=(*without_own(catalogs.calibration), *rows))
