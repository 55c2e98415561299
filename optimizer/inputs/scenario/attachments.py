"""Files that a scenario names: traces, weekly profiles and plans in force, read into it with every problem at once."""

import io
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from pydantic import ValidationError

from optimizer.base.arrays import Floats, Ints
from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_bytes, read_json
from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.scenario.fields import MAX_RATE, MAX_TOKENS
from optimizer.inputs.scenario.policy import InForce, Migration
from optimizer.inputs.scenario.scenario import Demand, RequestClass, Scenario, Workload
from optimizer.inputs.scenario.yaml_lines import Document, Location

Record = TypeVar("Record")

PEAK_WINDOW_S = 60.0
LENGTHS = ["input_tokens", "output_tokens"]
TRACE_COLUMNS = ["arrived_at_s", *LENGTHS]
PROFILE_COLUMNS = ["hour_of_week", "requests_per_second"]
MAX_ARRIVED_S = 1e12
"""Of a request: seconds since any day that clocks count from."""
PROMPT_BINS = 4
"""A trace becomes at most this many classes by prompt length, each split in two by answer length."""
CLASSES_INSTEAD = "write its requests as request_classes and requests_per_second"
HOURS_INSTEAD = "write the hours of the week as demand.weekly_requests_per_second"
REPLICAS_INSTEAD = "write what runs as in_force"
HOW_TO_WRITE_A_PLAN = "write it with optimizer plan SCENARIO --format json --output FILE"


def with_files(scenario: Scenario, document: Document, folder: Path | None) -> Scenario:
    """The scenario with every file that it names read into it.

    Args:
        scenario: As written.
        document: Where its fields stand.
        folder: Where the scenario lies; the files are named from there. None where it may name none.

    Raises:
        InputError: the problems of all files, each at the field that names the file.
    """
    findings: list[Finding] = []

    def read(record: Record, reader: Callable[[Record, Path | None], Record], location: Location) -> Record:
        try:
            return reader(record, folder)
        except InputError as error:
            place = document.file, document.line(location), document.path(location)
            findings.extend(Finding(*place, str(finding)) for finding in error.findings)
            return record

    workloads = tuple(
        read(workload, _workload_with_files, ("workloads", position, "trace" if workload.trace else "demand"))
        for position, workload in enumerate(scenario.workloads)
    )
    migration = scenario.policy.migration
    if migration is not None:
        migration = read(migration, _migration_with_plan, ("policy", "migration", "from_plan"))
    if findings:
        raise InputError(findings)
    policy = scenario.policy.model_copy(update={"migration": migration})
    return scenario.model_copy(update={"workloads": workloads, "policy": policy})


def _workload_with_files(workload: Workload, folder: Path | None) -> Workload:
    if workload.trace is not None and workload.request_classes is None:
        rate, classes = classes_of_trace(_lying_in(folder, workload.trace, CLASSES_INSTEAD))
        return workload.model_copy(update={"requests_per_second": rate, "request_classes": classes})
    if workload.demand is not None and workload.demand.profile is not None:
        weekly = _weekly_profile(_lying_in(folder, workload.demand.profile, HOURS_INSTEAD))
        return workload.model_copy(update={"demand": Demand(weekly_requests_per_second=weekly)})
    return workload


def _migration_with_plan(migration: Migration, folder: Path | None) -> Migration:
    if migration.from_plan is None:
        return migration
    return migration.model_copy(
        update={
            "from_plan": None,
            "in_force": replicas_of_plan(_lying_in(folder, migration.from_plan, REPLICAS_INSTEAD)),
        }
    )


def _lying_in(folder: Path | None, name: str | Path, instead: str) -> Path:
    """The file of that name in a folder; without one no file is read, whatever it is called."""
    if folder is None:
        raise _error(Path(name), "is a file, and none is read for a scenario that came from elsewhere", hint=instead)
    return folder / name


def _error(path: Path, problem: str, *, line: int = 0, field: str = "", hint: str = "") -> InputError:
    return InputError([Finding(str(path), line, field, problem, hint)])


def classes_of_trace(path: Path) -> tuple[float, tuple[RequestClass, ...]]:
    """Peak requests per second and request classes of a trace.

    The peak is the busiest minute. Classes are quartiles of the prompt length, each split at its median
    answer length; a class carries the mean lengths of its requests, so the token totals are those of the trace.

    Raises:
        InputError: file or columns missing, rows that are not numbers, an empty trace.
    """
    frame = _trace(path)
    arrived_s = frame["arrived_at_s"]
    busiest = (arrived_s // PEAK_WINDOW_S).value_counts().max()
    rate = float(busiest) / min(PEAK_WINDOW_S, max(1.0, math.ceil(arrived_s.max())))
    prompt_bin = frame["input_tokens"].rank(method="first", pct=True).mul(PROMPT_BINS).apply(math.ceil)
    long_answer = frame["output_tokens"] > frame.groupby(prompt_bin)["output_tokens"].transform("median")
    # One row a group of requests: mean lengths and share; groups whose lengths round alike are one class
    groups = frame.groupby([prompt_bin.rename("bin"), long_answer.rename("long")])
    lengths = groups[LENGTHS].mean().round().clip(lower=1).astype(int)
    shares = lengths.assign(share=groups.size() / len(frame)).groupby(LENGTHS)["share"].sum().reset_index()
    return rate, tuple(
        RequestClass(share=share, input_tokens=prompt, output_tokens=answer)
        for prompt, answer, share in shares.itertuples(index=False)
    )


def requests_of_trace(path: Path) -> tuple[Floats, Ints, Ints]:
    """Seconds from the first request, prompt and answer tokens of every request of a trace, (N,) each, in time order.

    Raises:
        InputError: as `classes_of_trace`.
    """
    frame = _trace(path).sort_values("arrived_at_s", kind="stable")
    prompt, answer = (frame[name].round().to_numpy(np.int64) for name in LENGTHS)
    return frame["arrived_at_s"].to_numpy(np.float64), prompt, answer


def _trace(path: Path) -> pd.DataFrame:
    """The requests of a trace, the first of them at 0 s."""
    frame = _numbers(path, TRACE_COLUMNS)
    if (frame[LENGTHS] < 1).any(axis=None):
        raise _error(path, "token counts below 1", hint="drop rows without prompt or answer")
    _check_largest(path, frame[LENGTHS].max(axis=1), MAX_TOKENS, "tokens of a prompt or an answer")
    _check_largest(path, frame["arrived_at_s"].abs(), MAX_ARRIVED_S, "seconds")
    return frame.assign(arrived_at_s=frame["arrived_at_s"] - frame["arrived_at_s"].min())


def _weekly_profile(path: Path) -> tuple[float, ...]:
    frame = _numbers(path, PROFILE_COLUMNS).sort_values("hour_of_week")
    if frame["hour_of_week"].tolist() != list(range(HOURS_PER_WEEK)):
        raise _error(path, f"must count 0 to {HOURS_PER_WEEK - 1}, each once", field="hour_of_week")
    _check_largest(path, frame["requests_per_second"], MAX_RATE, "requests/s")
    rates = tuple(frame["requests_per_second"].tolist())
    if min(rates) < 0 or max(rates) <= 0:
        raise _error(path, "rates are ≥ 0 and not all zero", field="requests_per_second")
    return rates


def _check_largest(path: Path, values: "pd.Series[float]", most: float, unit: str) -> None:
    """Refuses a column with a figure that nobody means, at its row."""
    if values.max() > most:
        row: Any = values.idxmax()
        problem = f"{values.max():,.4g} {unit} is more than a scenario may have ({most:,.0f})"
        raise _error(path, problem, line=int(row) + 2)


def _numbers(path: Path, columns: list[str]) -> pd.DataFrame:
    """Those columns of a CSV file as finite numbers."""
    try:
        # as text: a whole number of hundreds of digits is none that pandas could take apart later
        frame = pd.read_csv(io.BytesIO(read_bytes(path)), dtype=str)
    except ValueError as error:
        raise _error(path, f"cannot be read as CSV: {error}") from error
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise _error(path, f"columns missing: {', '.join(missing)}", line=1)
    if frame.empty:
        raise _error(path, "no rows", line=1)
    numbers: pd.DataFrame = frame[columns].apply(pd.to_numeric, errors="coerce").astype(float)
    bad = ~numbers.map(math.isfinite).all(axis=1)
    if bad.any():
        first = int(bad.to_numpy().argmax()) + 2
        raise _error(path, f"{int(bad.sum())} rows are not numbers, this is the first", line=first)
    return numbers


def replicas_of_plan(path: Path) -> tuple[InForce, ...]:
    """The replicas of a plan as `optimizer plan --format json` writes it, sorted; those alike are added up.

    Raises:
        InputError: no such file, not a plan, or a plan without deployments.
    """
    findings: list[Finding] = []
    counts = Counter[tuple[tuple[str, Any], ...]]()
    for position, deployment in enumerate(_deployments(path)):
        try:
            row = InForce.model_validate(
                {name: deployment[name] for name in InForce.model_fields if name in deployment}
            )
        except ValidationError as error:
            findings.extend(_bad_deployment(path, position, error))
        else:
            counts[tuple(row.model_dump(exclude={"replicas"}).items())] += row.replicas
    if findings:
        raise InputError(findings)
    return tuple(InForce.model_validate({**dict(key), "replicas": count}) for key, count in sorted(counts.items()))


def _deployments(path: Path) -> list[dict[str, Any]]:
    plan = read_json(path, hint=HOW_TO_WRITE_A_PLAN)
    deployments = plan.get("deployments") if isinstance(plan, dict) else None
    if not isinstance(deployments, list) or not all(isinstance(item, dict) for item in deployments):
        raise _error(path, "not a plan", field="deployments", hint=HOW_TO_WRITE_A_PLAN)
    if not deployments:
        problem = f"the plan deploys nothing (its outcome is {plan.get('outcome')})"
        raise _error(path, problem, field="deployments", hint="leave migration out to start from nothing")
    return deployments


def _bad_deployment(path: Path, position: int, error: ValidationError) -> Iterator[Finding]:
    for details in error.errors():
        field = ".".join(str(step) for step in details["loc"])
        problem = "missing" if details["type"] == "missing" else f"'{details['input']}': {details['msg']}"
        yield Finding(str(path), 0, f"deployments[{position}].{field}", problem)
