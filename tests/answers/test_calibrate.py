"""Calibration: few rows move what they are about and little else; the same data give the same bytes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.command import Command

from optimizer.answers.accuracy.calibrate import fit
from optimizer.answers.accuracy.calibration_rows import THEN, Origin, moved_rows
from optimizer.base.arrays import Floats
from optimizer.base.errors import InputError
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.measurements import load_measurements, observed, shipped_measurements
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit import fitting
from optimizer.performance.fit.cross_validation import cross_validated_errors, folds_of
from optimizer.performance.fit.derivatives import jacobian
from optimizer.performance.fit.fitting import (
    FIT,
    RUN_SETTINGS,
    FitProblem,
    FreeConstants,
    from_priors,
    log_errors,
    problem,
    residuals,
)
from optimizer.performance.fit.solving import believed, linearized, solve
from optimizer.performance.fit.step_errors import errors_of_steps
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.measured.deployments import deliver_slowed
from optimizer.performance.physics.constants import HIERARCHY, OF_LATENCY, Calibration
from optimizer.report.accuracy.calibration import calibration_csv

SLOWER = 1.2
OWN = {
    "engine": "vllm",
    "engine_version": "0.19.0",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "num_gpus": "1",
    "tp": "1",
    "pp": "1",
    "weight_precision": "bf16",
    "input_tokens": "1000",
    "output_tokens": "300",
    "load_type": "concurrency",
}


def rows(**changes: str) -> pd.DataFrame:
    return pd.DataFrame([OWN | {"load_value": clients} | changes for clients in ("1", "4", "16", "32", "64")])


def slower(catalogs: Catalogs, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with measurements that are a fifth slower than predicted."""
    seen = predict_batch(frame, catalogs, look_up=False)
    return frame.assign(
        ttft_ms_mean=(seen["pred_ttft_ms_mean"] * SLOWER).map("{:.6g}".format),
        tpot_ms_mean=(seen["pred_tpot_ms_mean"] * SLOWER).map("{:.6g}".format),
        output_tok_s=(seen["pred_output_tok_s"] / SLOWER).map("{:.6g}".format),
    )


def tpot(catalogs: Catalogs, frame: pd.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return predict_batch(frame, catalogs, look_up=False)["pred_tpot_ms_mean"].to_numpy()


@pytest.fixture(scope="module")
def sharpened(catalogs: Catalogs) -> Catalogs:
    found = fit(slower(catalogs, rows()), catalogs, start="shipped", intervals=False)
    return replace(catalogs, calibration=found.entries)


def test_five_slower_rows_move_their_engine_on_their_gpu_part_of_the_way(
    catalogs: Catalogs, sharpened: Catalogs
) -> None:
    moved = tpot(sharpened, rows()) / tpot(catalogs, rows())
    assert 1 + 0.25 * (SLOWER - 1) < np.median(moved) < SLOWER


@pytest.mark.parametrize(
    "other",
    [{"gpu": "a100-80-sxm"}, {"gpu": "mi300x"}, {"engine": "sglang", "engine_version": "0.5.6"}, {"gpu": "b200"}],
    ids=str,
)
def test_they_hardly_move_any_other(catalogs: Catalogs, sharpened: Catalogs, other: dict[str, str]) -> None:
    moved = tpot(sharpened, rows(**other)) / tpot(catalogs, rows(**other))
    assert np.abs(np.log(moved)).max() < 0.25 * np.log(SLOWER)


def test_rows_that_are_as_predicted_move_nothing(catalogs: Catalogs) -> None:
    frame = rows()
    seen = predict_batch(frame, catalogs, look_up=False)
    exact = frame.assign(tpot_ms_mean=seen["pred_tpot_ms_mean"].map("{:.9g}".format))
    found = fit(exact, catalogs, start="shipped", intervals=False)
    assert np.abs(found.x).max() < 1e-6
    assert found.after[0].median_percent < 0.1


def test_a_fit_lowers_the_error_and_a_second_one_on_top_of_it_gives_the_same_bytes(catalogs: Catalogs) -> None:
    """From priors no earlier fit is looked at, so that the shipped file makes itself again."""
    measured = shipped_measurements()
    frame = measured[measured["source"] == "xiongjiedai_llamacpp"].reset_index(drop=True)
    first = fit(frame, catalogs, data="subset")
    second = fit(frame, replace(catalogs, calibration=first.entries), data="subset")
    assert calibration_csv(first.entries) == calibration_csv(second.entries)
    before = {error.metric: error.median_percent for error in first.before}
    after = {error.metric: error.median_percent for error in first.after}
    assert all(after[metric] < before[metric] for metric in ("tpot", "ttft"))


def test_derivatives_are_those_of_the_residuals(catalogs: Catalogs) -> None:
    fitted = problem(rows().assign(tpot_ms_mean="10", ttft_ms_mean="30"), catalogs)
    start = np.zeros(len(fitted.parameters.start))
    slope = jacobian(fitted, start)
    varied = np.flatnonzero(np.abs(slope[:10]).sum(axis=0) > 0)
    assert len(varied) > 5
    for at in varied:
        step = np.zeros_like(start)
        step[at] = 1e-3
        change = (residuals(fitted, start + step) - residuals(fitted, start)) / 1e-3
        assert change == pytest.approx(slope[:, at], abs=1e-6)


def test_leaving_a_fold_out_without_fitting_anew_is_nearly_a_fit_without_it(catalogs: Catalogs) -> None:
    measured = shipped_measurements()
    frame = measured[measured["source"] == "xiongjiedai_llamacpp"].reset_index(drop=True)
    whole = fit(frame, catalogs, intervals=False)
    fold = folds_of(whole.fitted.group, 3, seed=1)
    (errors,) = cross_validated_errors(whole.fitted, whole.x, [fold])
    kept, out = frame.iloc[whole.fitted.rows[fold != 0]].reset_index(drop=True), np.flatnonzero(fold == 0)
    anew = fit(kept, catalogs, intervals=False)
    exact = log_errors(whole.fitted, anew.fitted.parameters.values(anew.fitted.calibration, anew.x))
    known = np.isfinite(exact[0, out])
    assert np.median(np.abs(errors[0, out] - exact[0, out])[known]) < 0.02


def test_what_a_token_takes_by_the_clock_is_an_error_of_steps(catalogs: Catalogs) -> None:
    measured = shipped_measurements()
    frame = measured[measured["source"].isin(["kaito_guidellm", "nm-vllm_nightly"])].reset_index(drop=True)
    fitted = problem(frame, catalogs)
    values = fitted.parameters.values(fitted.calibration, fitted.parameters.start * 0)
    slower_s = deliver_slowed(fitted.deployments.with_values(values), np.full(len(fitted.rows), SLOWER)).tpot_s
    found = replace(fitted, measured=np.stack([np.log(slower_s * MS_PER_S), *fitted.measured[1:]]))
    by_clock = fitted.deployments.by_clock
    errors = errors_of_steps(found, values)[METRICS.index("tpot")]
    assert by_clock.sum() > 10
    assert errors[by_clock] == pytest.approx(-np.log(SLOWER), abs=1e-6)
    # at its rate the error is larger
    assert log_errors(found, values)[METRICS.index("tpot")][by_clock].min() < -1.2 * np.log(SLOWER)


def moves(fitted: FitProblem, x: Floats) -> dict[tuple[str, str], float]:
    """How far every free constant moved, by parameter and group."""
    entries = [fitted.calibration.entries[at] for at in fitted.parameters.position]
    return {(entry.parameter, entry.group): move for entry, move in zip(entries, x, strict=True)}


def test_only_what_was_timed_moves_a_time(catalogs: Catalogs) -> None:
    """Throughput at an unknown number of sequences once put half a millisecond on every expert layer."""
    offline = rows(
        engine="tensorrt-llm", engine_version="1.0.0", model="mixtral-8x7b", load_type="offline", weight_precision="fp8"
    )
    fitted = problem(offline.assign(output_tok_s="2000"), catalogs)
    moved = moves(fitted, solve(fitted, np.zeros(len(fitted.parameters.start))))
    assert all(abs(move) < 1e-9 for (parameter, _), move in moved.items() if parameter in OF_LATENCY)
    assert max(abs(move) for move in moved.values()) > 0.05
    closed = problem(slower(catalogs, rows(engine="tensorrt-llm", engine_version="1.0.0")), catalogs)
    moved = moves(closed, solve(closed, np.zeros(len(closed.parameters.start))))
    assert moved["step_overhead_s", "tensorrt-llm:1.0"] > 0.015
    assert moved["request_overhead_s", "tensorrt-llm:1.0"] > 0.1


def test_what_runs_away_from_its_broader_group_is_held_there(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One era waits as predicted, the other half as long again; for so few rows the limit is set low."""
    monkeypatch.setattr(fitting, "MOST_DEVIATIONS", 0.5)
    eras = {"0.4.9": 1.0, "0.5.6": 1.5}
    frame = pd.concat([rows(engine="sglang", engine_version=version) for version in eras], ignore_index=True)
    ttft = predict_batch(frame, catalogs, look_up=False)["pred_ttft_ms_mean"] * frame["engine_version"].map(eras)
    fitted = problem(frame.assign(ttft_ms_mean=ttft.map("{:.6g}".format)), catalogs)
    start = np.zeros(len(fitted.parameters.start))
    held, x = believed(fitted, start)
    assert fitted.parameters.runaway(solve(fitted, start)).any()
    assert not fitted.parameters.runaway(x).any()
    moved = moves(fitted, x)
    pooled = {name for name, at in zip(moved, held.parameters.pooled, strict=True) if at}
    assert pooled
    assert all(group for _, group in pooled)


def test_groups_are_tied_to_broader_ones_more_tightly_than_these_to_their_priors(catalogs: Catalogs) -> None:
    assert Calibration.of(catalogs.calibration).lookup(FIT, "tied_spread_factor") < 1


def test_a_prior_that_is_judgement_may_be_less_sure_than_others_of_its_parameter(catalogs: Catalogs) -> None:
    calibration = Calibration.of(catalogs.calibration)
    free, own = from_priors(calibration), calibration.members("spread")
    tied = calibration.lookup(FIT, "tied_spread_factor")
    found = {
        calibration.entries[position].group: 1 / free.precision[column, column]
        for column, position in enumerate(free.position)
        if calibration.entries[position].parameter == "expert_format_compute_factor"
    }
    assert found["int4@hopper"] == pytest.approx(tied * own["expert_format_compute_factor"])
    assert found["int4@ampere"] == pytest.approx(tied * own["expert_format_compute_factor@int4@ampere"])
    assert found["int4@ampere"] > found["int4@hopper"]


def test_what_a_prior_rests_on_is_told_after_any_number_of_fits(catalogs: Catalogs) -> None:
    fitted = problem(slower(catalogs, rows()), catalogs)
    moved = moved_rows(fitted, np.zeros(len(fitted.parameters.start)), Origin("own", catalogs.as_of, "mine"))
    rested = {(row.parameter, row.group): row.note.split(THEN) for row in moved if row.note.startswith("prior: ")}
    before = {(row.parameter, row.group): row.note for row in catalogs.calibration}
    assert rested
    assert all(len(note) == 2 and before[key].startswith(note[0]) for key, note in rested.items())


def test_a_constant_without_a_broader_group_never_counts_as_run_away() -> None:
    alone = FreeConstants.of([0, 1], [1.0, 1.0], np.array([[1.0, 0.0], [-1.0, 1.0]]), [False, True])
    assert alone.runaway(np.array([9.0, 9.0])).tolist() == [False, False]
    assert alone.runaway(np.array([0.0, 9.0])).tolist() == [False, True]
    assert alone.at_broader_group(np.array([2.0, 9.0]), np.array([False, True])).tolist() == [2.0, 2.0]


def test_a_server_flag_of_one_source_moves_its_own_value_and_no_constant_of_the_engine(catalogs: Catalogs) -> None:
    """What the runs of one source waited for, nobody says why, is no property of SGLang."""
    flagged = rows(engine="sglang", engine_version="0.5.6", source="aiconfigurator_silicon").assign(ttft_ms_mean="900")
    plain = flagged.assign(source="somebody else")
    found, other = (problem(frame, catalogs) for frame in (flagged, plain))
    own, engine = (moves(each, solve(each, np.zeros(len(each.parameters.start)))) for each in (found, other))
    assert own["waited_steps_closed", "sglang:0.5.4"] == pytest.approx(0, abs=1e-9)
    assert own["run_waited_steps_closed", "sglang@nvidia@aiconfigurator_silicon"] > 0.3
    assert engine["waited_steps_closed", "sglang:0.5.4"] > 0.1
    assert not set(RUN_SETTINGS.values()) & set(HIERARCHY)


def test_a_fit_ends_where_all_pulls_are_equal(catalogs: Catalogs) -> None:
    fitted = problem(rows().assign(tpot_ms_mean="10", ttft_ms_mean="30"), catalogs)
    around = linearized(fitted, solve(fitted, np.zeros(len(fitted.parameters.start))))
    further = around.x + around.step()
    assert linearized(fitted, further).cost == pytest.approx(around.cost, rel=2e-3)


def test_every_shipped_constant_that_a_fit_may_move_has_a_prior(catalogs: Catalogs) -> None:
    calibration = Calibration.of(catalogs.calibration)
    free = {calibration.entries[at] for at in from_priors(calibration).position}
    assert all(entry.prior is not None for entry in free)
    assert {entry.method for entry in free} <= {"fit", "pooled"}


def test_the_measurement_catalog_is_sourced_and_small_and_has_seen_every_engine(catalogs: Catalogs) -> None:
    frame = shipped_measurements()
    assert set(frame["source"]) <= set(catalogs.sources)
    assert (shipped_dir("catalogs") / "measurements.csv").stat().st_size < 1_000_000
    seen, engines = observed(frame), frame["engine"].str.casefold()
    for engine in (engine.id for engine in catalogs.engines.values() if engine.plannable):
        assert all(np.isfinite(seen[metric][(engines == engine).to_numpy()]).any() for metric in METRICS), engine
    assert not np.isfinite(seen["ttft"][(frame["load_type"] == "offline").to_numpy()]).any()


def test_the_command_writes_a_catalog_file_that_can_be_laid_over(
    optimizer: Command, tmp_path: Path, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    slower(catalogs, rows()).to_csv("own.csv", index=False)
    (tmp_path / "mine").mkdir()
    result = optimizer("calibrate", "own.csv", "--output", "mine/calibration.csv", "--as-of", "2026-11-21")
    assert result.code == 0, result.err
    assert "constants fitted to 5 rows of own.csv (SHA-256 " in result.out + result.err
    laid = load_catalogs(tmp_path / "mine")
    assert {entry.source for entry in laid.calibration if entry.note.startswith("fitted to own.csv")} == {
        "own-measurements"
    }
    assert tpot(laid, rows())[0] > tpot(catalogs, rows())[0]


def test_measurements_that_cannot_be_used_are_refused_with_the_reason(tmp_path: Path, catalogs: Catalogs) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("engine,model\nvllm,llama-3.1-8b\n", encoding="utf-8")
    with pytest.raises(InputError, match="gpu: this column is missing"):
        load_measurements(path)
    with pytest.raises(InputError, match="unknown gpu 'abacus'"):
        fit(rows(gpu="abacus").assign(tpot_ms_mean="10"), catalogs, intervals=False)
    with pytest.raises(InputError, match="no usable figure"):
        fit(rows(), catalogs, intervals=False)
