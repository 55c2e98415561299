"""Intervals hold what they promise, are wider where less is known, and say where a row was measured."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import deployments_of, shipped_measurements
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit.coverage import HeldOutErrors, interval_tables, narrowest, quantile
from optimizer.performance.measured.batch import PREDICTIONS, predict_batch
from optimizer.performance.measured.measured import repeat_noise
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import PLANNING_LOAD, margins
from optimizer.performance.uncertainty.intervals import (
    FACTOR,
    HALF_WIDTH,
    HIGH,
    LOW,
    NOVEL,
    PLANNING,
    PLANNING_CONFIDENCE,
    REPEAT_NOISE,
    UNSEEN,
    bounds,
    half_width,
    load_class,
    planning_share,
)

KNOWN = Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)
NOVELTIES = ("gpu", "model", "precision", "engine", "model_kind", "cell", "host_link", "author")


def synthetic(count: int, spread: float, new: float, seed: int = 1) -> HeldOutErrors:
    """Errors of a known spread, larger by `new` on a third of the rows, whose GPU is new."""
    random = np.random.default_rng(seed)
    unseen = np.arange(count) % 3 == 0
    errors = random.normal(0.0, np.where(unseen, np.hypot(spread, new), spread), (3, count))
    names = np.array([f"group {at // 4}" for at in range(count)], dtype=object)
    load = np.where(np.arange(count) % 2 == 0, "offline", "request_rate").astype(object)
    missing = {kind: np.tile(unseen & (kind == "gpu"), (3, 1)) for kind in NOVELTIES}
    of_one_kind = (np.full(count, "hopper", dtype=object), np.full(count, "dense", dtype=object))
    return HeldOutErrors(errors, load, np.full(count, "vllm", dtype=object), of_one_kind, names, missing)


def test_widths_are_found_again_in_errors_of_a_known_spread() -> None:
    tables = interval_tables(synthetic(12_000, 0.1, 0.3), 8, 16)
    for metric in METRICS:
        assert tables[HALF_WIDTH, metric] == pytest.approx(1.645 * 0.1, rel=0.05)
        assert narrowest(tables, metric, "offline", "vllm") == pytest.approx(1.645 * 0.1, rel=0.1)
        assert tables[UNSEEN, f"{metric}@gpu"] == pytest.approx(1.645 * 0.3, rel=0.1)
        assert tables[UNSEEN, f"{metric}@model"] == 0
        assert tables[LOW, metric] == pytest.approx(1, rel=0.05)
        assert tables[HIGH, metric] == pytest.approx(1, rel=0.05)
        for share in (metric, f"{metric}@{NOVEL}"):
            assert tables[PLANNING, share] == pytest.approx(1.2816 / 1.645, rel=0.06)
            assert tables[HIGH, share] == pytest.approx(1, rel=0.05)


def test_ends_are_those_of_rows_alike() -> None:
    """Where the new only ever takes longer, what was measured keeps its even ends."""
    rows = synthetic(12_000, 0.1, 0.3)
    rows.errors[:, rows.missing["gpu"][0]] = -np.abs(rows.errors[:, rows.missing["gpu"][0]])
    tables = interval_tables(rows, 8, 16)
    assert tables[HIGH, "ttft"] == pytest.approx(tables[LOW, "ttft"], rel=0.1)
    assert tables[HIGH, f"ttft@{NOVEL}"] > 1.5 * tables[LOW, f"ttft@{NOVEL}"]
    assert tables[PLANNING, f"ttft@{NOVEL}"] > tables[PLANNING, "ttft"]


def test_an_older_calibration_has_one_share_for_all(catalogs: Catalogs) -> None:
    older = [entry for entry in catalogs.calibration if NOVEL not in entry.group.split("@")]
    missing = {"gpu": np.array([False, True])}
    shares = planning_share(Calibration.of(older), "ttft", 0.9, missing)
    assert shares[0] == shares[1]
    low, high = bounds(Calibration.of(older), "ttft", ["offline"] * 2, np.ones(2), np.ones(2), missing)
    assert (low[0], high[0]) == (low[1], high[1])


def test_a_class_of_few_groups_is_drawn_to_the_broader_one() -> None:
    rows = synthetic(4_000, 0.1, 0.0)
    rows.engine[:8] = "tgi"
    rows.errors[:, :8] = 1.0
    tables = interval_tables(rows, 8, 16)
    width = narrowest(tables, "tpot", "offline", "tgi")
    assert narrowest(tables, "tpot", "offline", "vllm") < width < 0.5


def test_traits_are_found_again_each_beside_the_others() -> None:
    """Routed models are off by twice as much, Ampere by thrice, whatever else they are."""
    rows = synthetic(24_000, 0.1, 0.0)
    random = np.random.default_rng(2)
    architecture, kind = rows.traits
    architecture[random.random(24_000) < 0.5] = "ampere"
    kind[random.random(24_000) < 0.5] = "moe"
    rows.errors[:] *= np.where(architecture == "ampere", 3.0, 1.0) * np.where(kind == "moe", 2.0, 1.0)
    tables = interval_tables(rows, 8, 16)
    for metric in METRICS:
        factors = {name: tables[FACTOR, f"{metric}@{name}"] for name in ("ampere", "hopper", "moe", "dense")}
        assert factors["ampere"] / factors["hopper"] == pytest.approx(3, rel=0.1)
        assert factors["moe"] / factors["dense"] == pytest.approx(2, rel=0.1)
        # of each kind by itself nine in ten lie within
        for of_each in product(("ampere", "hopper"), ("moe", "dense")):
            own = (architecture == of_each[0]) & (kind == of_each[1])
            width = tables[HALF_WIDTH, metric] * factors[of_each[0]] * factors[of_each[1]]
            assert np.mean(np.abs(rows.errors[METRICS.index(metric), own]) <= width) == pytest.approx(0.9, abs=0.02)


def test_a_trait_of_few_groups_hardly_counts() -> None:
    rows = synthetic(4_000, 0.1, 0.0)
    rows.traits[0][:8] = "ampere"
    rows.errors[:, :8] = 1.0
    tables = interval_tables(rows, 8, 16)
    assert 1 < tables[FACTOR, "tpot@ampere"] < 2
    assert interval_tables(rows, 8, 1)[FACTOR, "tpot@ampere"] > 3


def test_what_plans_take_knows_no_traits() -> None:
    """Which traits rows have changes the interval's factors and ends, and nothing that a margin is made of."""
    rows = synthetic(4_000, 0.1, 0.3)
    plain = interval_tables(rows, 8, 16)
    rows.errors[:, ::3] *= 2
    before = interval_tables(rows, 8, 16)
    rows.traits[1][::3] = "moe"
    after = interval_tables(rows, 8, 16)
    changed = {parameter for (parameter, group), value in after.items() if before.get((parameter, group)) != value}
    assert changed <= {FACTOR, LOW, HIGH}
    assert FACTOR in changed
    assert plain != before


def test_an_interval_is_as_wide_as_its_traits_say(catalogs: Catalogs) -> None:
    calibration, nothing = Calibration.of(catalogs.calibration), {"gpu": np.zeros(3, dtype=np.bool_)}
    of_row = ["hopper", "ampere", "nobody measured it"]
    plain = half_width(calibration, "tpot", ["request_rate"] * 3, ["vllm"] * 3, nothing)
    found = half_width(calibration, "tpot", ["request_rate"] * 3, ["vllm"] * 3, nothing, traits=[of_row])
    factors = [calibration.lookup(FACTOR, f"tpot@{name}") for name in of_row[:2]]
    assert found == pytest.approx(plain * [*factors, 1.0])
    assert factors[1] > factors[0]


def test_an_older_calibration_knows_no_traits(catalogs: Catalogs) -> None:
    older = Calibration.of([entry for entry in catalogs.calibration if entry.parameter != FACTOR])
    nothing = {"gpu": np.zeros(1, dtype=np.bool_)}
    plain = half_width(older, "ttft", ["request_rate"], ["vllm"], nothing)
    assert half_width(older, "ttft", ["request_rate"], ["vllm"], nothing, traits=[["hopper"]]) == plain


def test_quantiles_count_weights() -> None:
    values, weight = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 8.0])
    assert quantile(values, weight, 0.5) == 2
    assert quantile(values, weight, 0.05) == 1
    assert quantile(values, weight, 0.95) == 3


def test_closed_loops_are_told_apart_by_clients_and_waiting() -> None:
    loads = ["concurrency"] * 6 + ["offline"]
    value = np.array([1.0, 8.0, 64.0, 128.0, 256.0, 64.0, np.nan])
    found = load_class(loads, value, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 50.0, 1.0]), np.full(7, 100.0))
    closed = ["low", "middle", "middle", "high", "crowd", "waiting"]
    assert found == [*(f"concurrency-{size}" for size in closed), "offline"]


def test_margins_are_one_at_one_half_and_grow_with_confidence(catalogs: Catalogs) -> None:
    found = [margins(catalogs, [KNOWN], confidence) for confidence in (0.5, 0.6, 0.75, 0.9, 0.95, 0.99)]
    for metric in METRICS:
        factors = [float(getattr(each, metric)[0]) for each in found]
        assert factors[0] == 1
        assert factors == sorted(set(factors))
    assert set(PLANNING_LOAD) == set(METRICS)


def test_intervals_were_calibrated_on_what_was_left_out(catalogs: Catalogs) -> None:
    made = (HALF_WIDTH, FACTOR, UNSEEN, LOW, HIGH, PLANNING, REPEAT_NOISE)
    entries = [entry for entry in catalogs.calibration if entry.parameter in made]
    assert {entry.parameter for entry in entries} == set(made)
    assert {entry.method for entry in entries if entry.parameter != REPEAT_NOISE} == {"left out"}
    assert {entry.method for entry in entries if entry.parameter == REPEAT_NOISE} == {"observed"}


def test_shipped_intervals_hold_most_of_the_measurements_and_say_something(catalogs: Catalogs) -> None:
    """In sample and as wide as for strangers, so above the nominal 90 %; the accuracy page has what was left out."""
    frame = shipped_measurements()
    found = predict_batch(deployments_of(frame), catalogs, look_up=False)
    tpot = pd.to_numeric(frame["tpot_ms_mean"], errors="coerce").to_numpy()
    rows = np.isfinite(tpot) & (frame["exclude_tpot"] == "").to_numpy() & (found["pred_status"] == "ok").to_numpy()
    low, high = (found[f"pred_tpot_ms_mean_{end}"].to_numpy() for end in ("low", "high"))
    assert 0.88 < np.mean((low <= tpot) & (tpot <= high), where=rows) < 0.975
    assert np.median(np.sqrt(high / low)[rows]) < 1.4


def test_a_row_of_the_measurement_catalog_is_measured_and_its_interval_reaches_the_measurement(
    catalogs: Catalogs,
) -> None:
    frame = shipped_measurements()
    frame = frame[frame["source"] == "inferencemax_2025-10"].head(40).reset_index(drop=True)
    found = predict_batch(deployments_of(frame), catalogs)
    assert set(found["pred_source"]) == {"measured"}
    seen = frame["tpot_ms_mean"].astype(float)
    assert (found["pred_tpot_ms_mean_low"] <= seen).all()
    assert (seen <= found["pred_tpot_ms_mean_high"]).all()
    for name in PREDICTIONS:
        assert (found[f"{name}_low"] <= found[name]).all()
        assert (found[name] <= found[f"{name}_high"]).all()
    plain = predict_batch(deployments_of(frame), catalogs, look_up=False)
    assert "measured" not in set(plain["pred_source"])
    assert all((plain[name] == found[name]).all() for name in PREDICTIONS)
    moved = predict_batch(frame.assign(load_value="63"), catalogs)
    assert "measured" not in set(moved["pred_source"])


def test_repeat_noise_is_the_distance_of_two_runs() -> None:
    logs = np.array([0.0, 0.1, 1.0, 1.1, 5.0, np.nan])
    assert repeat_noise(logs, np.array([0, 0, 1, 1, 2, 2]), 0.9) == pytest.approx(0.1)
    assert repeat_noise(logs, np.arange(6), 0.9) == 0


def test_what_is_known_less_has_a_wider_interval(catalogs: Catalogs) -> None:
    calibration = Calibration.of(catalogs.calibration)
    for metric in METRICS:
        assert all(calibration.lookup(UNSEEN, f"{metric}@{kind}") >= 0 for kind in NOVELTIES)
        assert sum(calibration.lookup(UNSEEN, f"{metric}@{kind}") > 0 for kind in NOVELTIES) >= 3


def test_who_knows_less_leaves_no_less_room_at_either_end(catalogs: Catalogs) -> None:
    """Somebody's deployment spans at least what the same one does as exported, whatever the load and the metric."""
    rows = deployments_of(shipped_measurements()).iloc[::7].reset_index(drop=True)
    theirs, ours = (predict_batch(rows, catalogs, look_up=False, foreign=foreign) for foreign in (True, False))
    answered = (theirs["pred_status"] == "ok").to_numpy()
    assert answered.sum() > 500
    for name in PREDICTIONS:
        low, own_low = (each[f"{name}_low"].to_numpy(float)[answered] for each in (theirs, ours))
        high, own_high = (each[f"{name}_high"].to_numpy(float)[answered] for each in (theirs, ours))
        assert np.all(low <= own_low * (1 + 1e-12))
        assert np.all(high >= own_high * (1 - 1e-12))


def test_there_are_no_margins_where_there_are_no_configurations(catalogs: Catalogs) -> None:
    """A model of which the limits leave nothing has none."""
    assert margins(catalogs, [], 0.9).ttft.shape == (0,)


def test_the_room_that_decisions_are_judged_with_is_that_of_plans(catalogs: Catalogs) -> None:
    """Plans know no engine in a width; of the load they are made for, on what was measured, nothing else differs."""
    row = {"engine": "vllm", "model": KNOWN.model, "gpu": KNOWN.gpu, "weight_precision": KNOWN.precision, "tp": 1}
    row |= {"num_gpus": 1, "input_tokens": 1024, "output_tokens": 256, "load_type": "request_rate", "load_value": 2}
    found = predict_batch(pd.DataFrame([row]).astype(str), catalogs, look_up=False, foreign=False).iloc[0]
    calibration, planned = Calibration.of(catalogs.calibration), margins(catalogs, [KNOWN], PLANNING_CONFIDENCE)
    for metric, factor in (("tpot", planned.tpot), ("ttft", planned.ttft)):
        # of TPOT there is none by the clock, where its errors are of steps: that of all loads
        of_load = (f"{metric}@request_rate", metric)
        width = {
            name: calibration.lookup(HALF_WIDTH, f"{metric}@request_rate{name}", *of_load) for name in ("", "@vllm")
        }
        assert found[f"pred_{metric}_room"] == pytest.approx(np.log(factor[0]) * width["@vllm"] / width[""])


def test_an_interval_by_the_clock_is_that_of_steps_beside_as_many_more_requests(catalogs: Catalogs) -> None:
    row = {"engine": "vllm", "model": KNOWN.model, "gpu": KNOWN.gpu, "weight_precision": KNOWN.precision, "tp": 1}
    row |= {"num_gpus": 1, "input_tokens": 1024, "output_tokens": 256, "load_type": "request_rate"}

    def at(*rates: float) -> pd.DataFrame:
        frame = pd.DataFrame([row | {"load_value": rate} for rate in rates]).astype(str)
        return predict_batch(frame, catalogs, look_up=False, foreign=False)

    name = "pred_tpot_ms_mean"
    idle, busy = at(1e-6, 15.0)[[name, f"{name}_low", f"{name}_high"]].to_numpy(float)
    for end in (1, 2):
        times = idle[end] / idle[0]
        assert busy[end] == pytest.approx(times * at(15.0 * times)[name][0], rel=1e-3)
    assert busy[2] / busy[0] > 1.2 * idle[2] / idle[0]
    # what a percentile adds to its width is none of steps
    late = at(15.0)
    assert late["pred_tpot_ms_p95_high"][0] < late["pred_tpot_ms_p95"][0] * 4
