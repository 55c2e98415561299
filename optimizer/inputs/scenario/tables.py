"""Tables that a scenario names: traces of requests and weekly profiles, read whole and checked in every row."""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optimizer.base.errors import Finding, file_error, refuse, some_of
from optimizer.base.figures import figure
from optimizer.base.files import read_text
from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.scenario.demand import POISSON_CV2, ArrivalProcess
from optimizer.inputs.scenario.fields import MAX_RATE, MAX_TOKENS
from optimizer.inputs.scenario.scenario import RequestClass
from optimizer.inputs.scenario.traces.arrivals import critical_scale_s, squared_variation, step_of_times_s
from optimizer.inputs.scenario.traces.blocks import prompt_blocks
from optimizer.inputs.scenario.traces.lengths import class_of_lengths
from optimizer.inputs.scenario.traces.lines import BLOCKS, is_lines, trace_lines
from optimizer.inputs.scenario.traces.requests import TraceRequests, recorded_requests

PEAK_WINDOW_S = 60.0
LENGTHS = ["input_tokens", "output_tokens"]
TRACE_COLUMNS = ["arrived_at_s", *LENGTHS]
ELSEWHERE = dict(zip(TRACE_COLUMNS, ("TIMESTAMP", "ContextTokens", "GeneratedTokens"), strict=True))
"""The same columns as Azure's public traces of language models call them, arrivals as dates.

Source: Azure/AzurePublicDataset, AzureLLMInferenceDataset2023 and 2024.
"""
PROFILE_COLUMNS = ["hour_of_week", "requests_per_second"]
MAX_ARRIVED_S = 1e12
"""Of a request: seconds since any day that clocks count from."""


@dataclass(frozen=True)
class TraceDemand:
    """What a trace asks of a plan.

    Attributes:
        requests_per_second: In its busiest minute.
        requests: Its requests as one class, of mean lengths and with how these vary, so that limits are those of all of
            them.
        kept: All of them, in time order.
    """

    requests_per_second: float
    requests: RequestClass
    kept: TraceRequests

    def arrivals(self, limit_s: float, most_utilization: float) -> ArrivalProcess:
        """How unevenly its requests arrive, as far as it decides whether a wait passes a limit.

        Args:
            limit_s: The wait that a request may have.
            most_utilization: Share of a capacity that a plan uses.

        Raises:
            ValueError: more unevenly than a scenario may say.
        """
        arrived_s = self.kept.arrived_s
        seconds = _whole_seconds(arrived_s[-1])
        window_s = min(PEAK_WINDOW_S, seconds)
        mean_per_s = len(arrived_s) / seconds
        critical_s = critical_scale_s(limit_s, mean_per_s, self.requests_per_second, most_utilization)
        scale_s = min(critical_s, window_s / 2)
        cv2 = round(squared_variation(arrived_s, scale_s, window_s), 2)
        step_s = step_of_times_s(arrived_s)
        rounded = f"; its times are rounded to {figure(step_s)} s, which counts as bursts" if step_s else ""
        read_from = f"counts of the trace over up to {figure(scale_s)} s{rounded}"
        mean_tokens = self.requests.input_tokens, self.requests.output_tokens
        recorded = recorded_requests(self.requests_per_second, mean_tokens, self.kept)
        if cv2 == POISSON_CV2:
            return ArrivalProcess(process="poisson", read_from=read_from, recorded=recorded)
        return ArrivalProcess(cv2=cv2, read_from=read_from, recorded=recorded)


def demand_of_trace(path: Path) -> TraceDemand:
    """Peak requests per second, lengths and arrivals of a trace.

    Raises:
        InputError: file or columns missing, rows that are not numbers, an empty trace.
    """
    frame = _trace(path)
    arrived_s = frame["arrived_at_s"]
    busiest = (arrived_s // PEAK_WINDOW_S).value_counts().max()
    rate = float(busiest) / min(PEAK_WINDOW_S, _whole_seconds(arrived_s.max()))
    prompt, answer = (frame[name].to_numpy(np.float64) for name in LENGTHS)
    return TraceDemand(rate, class_of_lengths(prompt, answer), _requests(path, frame))


def _whole_seconds(last_s: float) -> float:
    """How long a trace is whose last request came then: a second at least."""
    return max(1.0, math.ceil(last_s))


def requests_of_trace(path: Path) -> TraceRequests:
    """Every request of a trace.

    Raises:
        InputError: as `demand_of_trace`, blocks of prompts that do not hold them, or all of them came at once.
    """
    requests = _requests(path, _trace(path))
    if not requests.arrived_s[-1]:
        problem = "the trace spans no time: all of its requests come at one moment"
        hint = "give requests of two moments at least, or how they arrive with --arrivals"
        raise file_error(path, problem, field="arrived_at_s", hint=hint)
    return requests


def _requests(path: Path, frame: pd.DataFrame) -> TraceRequests:
    """Those of a frame with whole tokens; of one moment as they were written."""
    frame = frame.sort_values("arrived_at_s", kind="stable")
    prompt, answer = (frame[name].round().to_numpy(np.int64) for name in LENGTHS)
    blocks = None
    if BLOCKS in frame.columns:
        try:
            blocks = prompt_blocks(frame[BLOCKS].tolist(), prompt)
        except ValueError as error:
            raise file_error(
                path, str(error), field=BLOCKS, hint="one for each block, which names its tokens and all before them"
            ) from error
    return TraceRequests(frame["arrived_at_s"].to_numpy(np.float64), prompt, answer, blocks)


def _trace(path: Path) -> pd.DataFrame:
    """The requests of a trace, the first of them at 0 s."""
    frame = trace_lines(path) if is_lines(path) else _table(path, TRACE_COLUMNS)
    below = (frame[LENGTHS] < 1).any(axis=1)
    findings = [
        *_no_numbers(path, frame),
        *_rows(path, below, "token counts below 1", "drop rows without prompt or answer"),
        *_too_large(path, frame[LENGTHS].max(axis=1), MAX_TOKENS, "tokens of a prompt or an answer"),
        *_too_large(path, frame["arrived_at_s"].abs(), MAX_ARRIVED_S, "seconds"),
    ]
    refuse(findings)
    return frame.assign(arrived_at_s=frame["arrived_at_s"] - frame["arrived_at_s"].min())


def weekly_profile(path: Path) -> tuple[float, ...]:
    """(168,) requests per second of each hour of the week, Monday first.

    Raises:
        InputError: file or columns missing, rows that are not numbers, or not those of one week.
    """
    table = _table(path, PROFILE_COLUMNS)
    refuse([*_no_numbers(path, table), *_too_large(path, table["requests_per_second"], MAX_RATE, "requests/s")])
    frame = table.sort_values("hour_of_week")
    if frame["hour_of_week"].tolist() != list(range(HOURS_PER_WEEK)):
        raise file_error(path, f"must count 0 to {HOURS_PER_WEEK - 1}, each once", field="hour_of_week")
    rates = tuple(frame["requests_per_second"].tolist())
    if min(rates) < 0 or max(rates) <= 0:
        raise file_error(path, "rates are ≥ 0 and not all zero", field="requests_per_second")
    return rates


def _too_large(path: Path, values: "pd.Series[float]", most: float, unit: str) -> Iterator[Finding]:
    """A column with a figure that nobody means, at its line."""
    if values.max() > most:
        line: Any = values.idxmax()
        problem = f"{values.max():,.4g} {unit} is more than a scenario may have ({most:,.0f})"
        yield Finding(str(path), int(line), "", problem)


def _no_numbers(path: Path, frame: pd.DataFrame) -> Iterator[Finding]:
    """Rows of a table that hold something else."""
    return _rows(path, frame.isna().any(axis=1), "cells that are no numbers")


def _rows(path: Path, bad: "pd.Series[bool]", problem: str, hint: str = "") -> Iterator[Finding]:
    """How many rows share a problem, at the line of the first of them."""
    if bad.any():
        line: Any = bad.idxmax()
        rows = int(bad.sum())
        which = f"{rows:,} rows have {problem}, this is the first" if rows > 1 else f"the row has {problem}"
        yield Finding(str(path), int(line), "", which, hint)


def _table(path: Path, columns: list[str]) -> pd.DataFrame:
    """Those columns of a CSV file by line, as finite numbers, and nan where a cell is none."""
    text = read_text(path)
    try:
        # as text: a whole number of hundreds of digits is none that pandas could take apart later
        frame = pd.read_csv(io.StringIO(text), dtype=str)
    except pd.errors.EmptyDataError as error:
        raise file_error(path, "the file is empty", hint=f"the first row is {','.join(columns)}") from error
    except ValueError as error:
        raise file_error(path, f"cannot be read as CSV: {error}") from error
    if columns == TRACE_COLUMNS and set(ELSEWHERE.values()) <= set(frame.columns):
        frame = _as_ours(frame)
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        hint = f"the file has {some_of(list(frame.columns))}: rename what means the same"
        raise file_error(path, f"columns missing: {', '.join(missing)}", line=1, hint=hint)
    if frame.empty:
        raise file_error(path, "no rows", line=1)
    numbers: pd.DataFrame = frame[columns].apply(pd.to_numeric, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers)).set_axis(_lines_of_rows(text, len(numbers)), axis="index")


def _as_ours(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns under our names, dates as seconds; a cell that is no date as it is, to be told with its line."""
    ours = frame.rename(columns={theirs: name for name, theirs in ELSEWHERE.items()})
    times = pd.to_datetime(ours["arrived_at_s"], errors="coerce", utc=True, format="ISO8601")
    seconds = (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    return ours.assign(arrived_at_s=seconds)


def _lines_of_rows(text: str, rows: int) -> "pd.Index[int]":
    """(rows,) the line of each row below the heading; lines that hold nothing are no rows."""
    held = [number for number, line in enumerate(io.StringIO(text), start=1) if line.strip()][1:]
    # a cell of several lines tells nobody where it ends
    return pd.Index(held if len(held) == rows else range(2, rows + 2))
