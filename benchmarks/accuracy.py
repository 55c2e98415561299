"""How accurate the predictions are on what they were not fitted to; regenerates docs/accuracy.md.

    python benchmarks/accuracy.py            # leaves out again and again (minutes), stores and renders
    python benchmarks/accuracy.py --render   # the page from the stored results (seconds)

Each scheme leaves a part of the measurements out, takes the constants that the rest alone asks for, and predicts the
part. What belongs together is left out together: a source; an architecture with an engine and dense or routed models;
a configuration (model, GPU, layout, precision) whatever source published it, so that no twin of it stays behind; a
model; a GPU; a generation of GPUs or a whole vendor. The constants without a part solve the fit to the rest, with
residuals as linear as at the shipped ones (decision 0004); ablations are fitted anew.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from ablations import ABLATIONS, without
from accuracy_page import page
from noise_floor import noise_floor

from optimizer.answers.accuracy.calibrate import fit
from optimizer.answers.accuracy.calibration_rows import Origin, evidence_rows, ordered, source_of
from optimizer.answers.accuracy.decisions import decided
from optimizer.answers.accuracy.validate import error_table, errors, judged
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.inputs.measurements import deployments_of, shipped_measurements
from optimizer.performance.fit.fitting import problem
from optimizer.performance.fit.solving import linearized
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.uncertainty.evidence import EVIDENCE
from optimizer.report.accuracy.plots import plot_errors

ROOT = Path(__file__).resolve().parent.parent
CALIBRATION = ROOT / "catalogs" / "calibration.csv"
KEPT = ROOT / "catalogs" / "kept_promises.csv"
RESULTS = ROOT / "benchmarks" / "results" / "accuracy.json"
PAGE = ROOT / "docs" / "accuracy.md"
IMAGE = ROOT / "docs" / "images" / "accuracy.png"

FULL = "nothing left out"
ABLATION_FOLDS = 2
"""The first part is predicted by a fit to the others; a mechanism shows as well on half of the data."""

TABLES = {"configurations": ("metric", "engine+load")}
PARTS_SHOWN = 12
PARTS = ("schemes", "ablations")
DRAWN = "configurations"
QUOTED = ("TPOT", "TTFT", "TPOT and TTFT")
"""Limits as people write them; those at quantiles of the measurements are a harder exercise."""
SOURCE = "serving-measurements-2026-11"
CONFIGURATION = ("model", "gpu", "tp", "pp", "weight_precision")


def configuration(frame: pd.DataFrame, _: Catalogs) -> pd.Series:
    """Model, GPU, layout and precision, whatever the source."""
    return frame[list(CONFIGURATION)].agg("|".join, axis=1)


def generation(frame: pd.DataFrame, catalogs: Catalogs) -> pd.Series:
    """NVIDIA's generations with all their variants; every other vendor as a whole."""
    known = {
        gpu.id: gpu.architecture.split("-")[0] if gpu.vendor.casefold() == "nvidia" else gpu.vendor
        for gpu in catalogs.gpus.values()
    }
    return frame["gpu"].map(lambda name: known.get(name, "unknown"))


def _column(name: str) -> "Labelled":
    return lambda frame, _: frame[name]


Labelled = Callable[[pd.DataFrame, Catalogs], pd.Series]
"""What belongs together, by name, of every row."""


def cell(frame: pd.DataFrame, catalogs: Catalogs) -> pd.Series:
    """Architecture, engine, and dense or routed models."""
    routed = {name: _routed(name, catalogs) for name in frame["model"].unique()}
    architecture = {gpu.id: gpu.architecture for gpu in catalogs.gpus.values()}
    columns = [frame["gpu"].map(architecture).fillna("?"), frame["engine"].str.lower(), frame["model"].map(routed)]
    return pd.concat(columns, axis=1).agg("|".join, axis=1)


def _routed(name: str, catalogs: Catalogs) -> str:
    try:
        return "moe" if catalogs.model(name).moe_experts else "dense"
    except InputError:
        return "unknown"


FOREIGN = ("sources", "architectures, engines and kinds")
"""Schemes whose predictions know nothing of who measured, so that somebody else's settings count."""

SERVER_FLAGS = ["admission_interval_steps", "rank_wait_steps", "max_num_batched_tokens"]
"""Columns that such predictions are not told."""

SCHEMES: dict[str, tuple[Labelled, int]] = {
    "sources": (_column("source"), 8),
    "architectures, engines and kinds": (cell, 10),
    "configurations": (configuration, 8),
    "models": (_column("model"), 8),
    "GPUs": (_column("gpu"), 8),
    "generations and vendors": (generation, 5),
}
"""What is left out together, and in how many parts."""


def folds(labels: pd.Series, count: int) -> np.ndarray:
    """The part of every row, (n,): labels by falling number of rows, each into the part with the fewest so far."""
    sizes = labels.value_counts()
    filled = np.zeros(count, dtype=int)
    part = {}
    for label in sorted(sizes.index, key=lambda name: (-sizes[name], name)):
        part[label] = int(np.argmin(filled))
        filled[part[label]] += sizes[label]
    return labels.map(part).to_numpy()


Job = tuple[str, int, tuple[CalibrationEntry, ...], np.ndarray]
"""Name, part, the calibration to fit under, and the rows left out, (n,)."""


def jobs(frame: pd.DataFrame, catalogs: Catalogs) -> Iterator[Job]:
    """Every fit that the ablations need, and what it then has to predict."""
    part = folds(configuration(frame, catalogs), ABLATION_FOLDS)
    for name in ABLATIONS:
        yield name, 0, without(catalogs.calibration, name), part == 0


def left_out(job: Job) -> tuple[str, int, pd.DataFrame]:
    """Fit to the rest; the part's rows with their predictions, as `predict_batch` returns them."""
    name, at, entries, out = job
    frame, catalogs = shipped_measurements(), replace(load_catalogs(), calibration=entries)
    fitted = fit(frame[~out], catalogs, intervals=False)
    predicted = predict_batch(deployments_of(frame[out]), replace(catalogs, calibration=fitted.entries), look_up=False)
    return name, at, predicted.assign(row=np.flatnonzero(out))


def without_parts(frame: pd.DataFrame, catalogs: Catalogs) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every scheme with all rows predicted by what the fit would be without their part, and its evidence."""
    fitted = problem(frame, catalogs)
    shipped = fitted.calibration.values[fitted.parameters.position]
    around = linearized(fitted, np.log(shipped / fitted.parameters.start))
    origin = Origin(source_of(frame, catalogs), catalogs.as_of, "the rest")
    for scheme, (labelled, count) in SCHEMES.items():
        part = folds(labelled(frame, catalogs), count)
        found = []
        for at in range(count):
            fold = part[fitted.rows] == at
            values = fitted.parameters.values(fitted.calibration, around.without(fold[around.row]))
            evidence = evidence_rows(fitted.take(np.flatnonzero(~fold)), catalogs, origin, keep=False)
            entries = [
                entry.model_copy(update={"value": float(value)})
                for entry, value in zip(catalogs.calibration, values, strict=True)
                if entry.parameter != EVIDENCE
            ]
            known = replace(catalogs, calibration=ordered([*entries, *evidence]))
            rows = deployments_of(frame[part == at])
            asked = rows.drop(columns=SERVER_FLAGS) if scheme in FOREIGN else rows
            predicted = predict_batch(asked, known, look_up=False, foreign=scheme in FOREIGN)
            found.append(predicted.assign(row=np.flatnonzero(part == at)))
        yield scheme, pd.concat(found).sort_values("row", ignore_index=True)


def run(workers: int, parts: Sequence[str]) -> dict[str, pd.DataFrame]:
    """All fits: every row's predictions by scheme or ablation."""
    frame, catalogs = shipped_measurements(), load_catalogs()
    found: dict[str, list[pd.DataFrame]] = {}
    schemes = dict(without_parts(frame, catalogs)) if "schemes" in parts else {}
    todo = list(jobs(frame, catalogs)) if "ablations" in parts else []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, (name, at, predicted) in enumerate(pool.map(left_out, todo), start=1):
            found.setdefault(name, []).append(predicted)
            sys.stderr.write(f"{done} of {len(todo)}: {name}, part {at + 1}\n")
    return schemes | {name: pd.concat(each).sort_values("row", ignore_index=True) for name, each in found.items()}


def scheme_results(left: dict[str, pd.DataFrame], frame: pd.DataFrame, catalogs: Catalogs) -> dict[str, Any]:
    """What is stored of the schemes: error tables and decisions, and the noise floor beside them."""
    whole = {FULL: predict_batch(deployments_of(frame), catalogs, look_up=False), **left}
    return {
        "as_of": str(catalogs.as_of),
        "calibration": hashlib.sha256(CALIBRATION.read_bytes()).hexdigest()[:12],
        "models": int(frame["model"].nunique()),
        "gpus": int(frame["gpu"].nunique()),
        "sources": int(frame["source"].nunique()),
        "schemes": {
            name: _judged(predicted, catalogs, TABLES.get(name, ("metric",))) for name, predicted in whole.items()
        },
        "parts_left_out": {name: _by_part(whole[name], catalogs, SCHEMES[name][0]) for name in BY_PART},
        "decisions": {name: decided(whole[name], catalogs).model_dump(mode="json") for name in DECIDED},
        "noise_floor": noise_floor(frame),
    }


def ablation_results(removed: dict[str, pd.DataFrame], catalogs: Catalogs) -> dict[str, Any]:
    """What is stored of the ablations: the error table of each."""
    return {name: _judged(predicted, catalogs, ("metric",))["tables"] for name, predicted in removed.items()}


BY_PART = ("generations and vendors", "sources", "models", "GPUs")
DECIDED = (FULL, "configurations", "models", "GPUs")


def _judged(predicted: pd.DataFrame, catalogs: Catalogs, by: Sequence[str]) -> dict[str, Any]:
    return judged(predicted, errors(predicted, catalogs), by).model_dump(mode="json")


def _by_part(predicted: pd.DataFrame, catalogs: Catalogs, labelled: Labelled) -> dict[str, Any]:
    """The errors of the labels that were left out, of those with the most points."""
    points = errors(predicted, catalogs)
    label = labelled(predicted, catalogs).to_numpy()[points["at"]]
    sizes = pd.Series(label).value_counts()
    shown = sorted(sizes.index, key=lambda name: (-sizes[name], name))[:PARTS_SHOWN]
    found = {}
    for name in shown:
        rows = error_table(points[label == name], "metric").rows
        found[name] = [row.model_dump(mode="json") for row in rows if row.label == "all"]
    return found


def main() -> None:
    """Parses the command line, fits, stores and renders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true", help="only render the page from the stored results")
    parser.add_argument("--only", choices=PARTS, help="fit for this part only and keep what is stored of the other")
    parser.add_argument("--workers", type=int, default=2, help="fits at a time")
    parser.add_argument("--points", type=Path, help="a folder for every row's left-out predictions, as CSV")
    asked = parser.parse_args()
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    if not asked.render:
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        left = run(asked.workers, [asked.only] if asked.only else PARTS)
        for name, predicted in left.items() if asked.points else ():
            asked.points.mkdir(parents=True, exist_ok=True)
            predicted.to_csv(asked.points / f"{name.replace(' ', '-')}.csv", index=False)
        _store(stored, left)
    if "schemes" in stored:
        PAGE.write_text(page({"ablations": {}, **stored}), encoding="utf-8")


def kept_promises(decisions: dict[str, Any], as_of: str) -> str:
    """The table of catalogs/kept_promises.csv: what plans kept of limits that people write, by confidence."""
    lines = ["targets,confidence,plans,kept_share,cost_factor,source,as_of,note"]
    for rule in sorted(decisions["rules"], key=lambda rule: (rule["targets"], rule["rule"])):
        kind, _, confidence = rule["rule"].partition(" ")
        if kind == "confidence" and rule["targets"] in QUOTED:
            plans, kept = round(rule["questions"] * rule["picked_percent"] / 100), round(rule["kept_percent"] / 100, 4)
            figures = f"{rule['targets']},{confidence},{plans},{kept},{rule['cost_factor']}"
            lines.append(f"{figures},{SOURCE},{as_of},configurations left out of the fit (benchmarks/accuracy.py)")
    return "\n".join(lines) + "\n"


def _store(stored: dict[str, Any], left: dict[str, pd.DataFrame]) -> None:
    """Adds what was found to what is stored, and draws what was left out."""
    catalogs, removed = load_catalogs(), {name: each for name, each in left.items() if name in ABLATIONS}
    if removed:
        stored["ablations"] = ablation_results(removed, catalogs)
    if DRAWN in left:
        schemes = {name: each for name, each in left.items() if name in SCHEMES}
        stored |= scheme_results(schemes, shipped_measurements(), catalogs)
        plot_errors(errors(left[DRAWN], catalogs), IMAGE)
    text = json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    KEPT.write_text(kept_promises(stored["decisions"][DRAWN], stored["as_of"]), encoding="utf-8")


if __name__ == "__main__":
    main()
