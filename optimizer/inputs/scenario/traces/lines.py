"""Traces as lines of JSON, a request each, with the blocks of their prompts: the form of Mooncake's traces.

`timestamp` in milliseconds, `input_length`, `output_length`, and `hash_ids`: names of a prompt's blocks, each of its
tokens and all before them. Source: kvcache-ai/Mooncake, README of its traces (Qin et al., FAST 2025).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd

from optimizer.base.errors import file_error
from optimizer.base.files import read_text
from optimizer.base.units import MS_PER_S

LINES_SUFFIX: Final = ".jsonl"
FIELDS: Final = {"timestamp": "arrived_at_s", "input_length": "input_tokens", "output_length": "output_tokens"}
BLOCKS: Final = "hash_ids"


def is_lines(path: Path) -> bool:
    """Whether a trace is written so, by its name."""
    return path.suffix == LINES_SUFFIX


def trace_lines(path: Path) -> pd.DataFrame:
    """Requests by line as a table trace has them, those columns as floats, and the list `hash_ids` where all have one.

    Raises:
        InputError: no such file, no requests, or a line that is none.
    """
    requests = list(_requests(path, read_text(path)))
    if not requests:
        raise file_error(path, "no requests", line=1)
    frame = pd.DataFrame({name: [float(each[field]) for each in requests] for field, name in FIELDS.items()})
    frame.index += 1
    frame["arrived_at_s"] /= MS_PER_S
    if all(BLOCKS in each for each in requests):
        frame[BLOCKS] = pd.Series([each[BLOCKS] for each in requests], dtype=object, index=frame.index)
    return frame


def _requests(path: Path, text: str) -> Iterator[dict[str, Any]]:
    """The requests, each with numbers where numbers belong."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            raise file_error(path, "a line without a request", line=number, hint="a request is one line of JSON")
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise file_error(path, f"no JSON: {error}", line=number, hint="a request is one line of JSON") from error
        if not isinstance(request, dict):
            raise file_error(path, "no request", line=number, hint=f"with {', '.join(FIELDS)}")
        for field in FIELDS:
            if not _is_number(request.get(field)):
                raise file_error(path, "missing or no number", line=number, field=field)
        if BLOCKS in request and not _are_blocks(request[BLOCKS]):
            hint = "a list of whole numbers or texts, one at least"
            raise file_error(path, "no blocks of a prompt", line=number, field=BLOCKS, hint=hint)
        yield request


def _is_number(value: object) -> bool:
    """Whether a figure is one that floats hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _are_blocks(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, int | str) for each in value)
