"""Whatever a result file holds, reading it ends in runs or in an error that says where: no traceback, no NaN."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.load_results import SAMPLES, content_of

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.importing.load_results import files
from optimizer.inputs.importing.load_results.fitness import doubts, unfit
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import LoadResult

NASTY: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e300, -0.5, float("nan"), float("inf"), 10**400, "", "12", "inf", "x" * 1000, "a\x1b[2Jb"),
    *([], [[]], [None], {}, {"a": 1}, [1.0, float("nan")], [{"mean": "x"}]),
)
MUTATIONS = 150
NAMES = sorted(path.name for path in SAMPLES.iterdir())
STRUCTURED = [name for name in NAMES if name.endswith((".json", ".jsonl", ".yaml"))]


def read(path: Path) -> None:
    """Reads a file; whatever comes of it is sound."""
    results, error = outcome(path)
    assert results or error
    assert all(finding.file == str(path) and finding.problem for finding in error)
    for result in results:
        unfit(result)
        doubts(result)
        assert all(np.isfinite(number) for number in numbers_in(result, but="burstiness")), result


def outcome(path: Path) -> tuple[tuple[LoadResult, ...], tuple[Finding, ...]]:
    """The runs of a file, or what is wrong with it."""
    try:
        return read_results(path), ()
    except InputError as error:
        return (), error.findings


def numbers_in(value: Any, but: str = "") -> Iterator[float]:
    """Every number in a record."""
    if is_dataclass(value):
        for field in fields(value):
            if field.name not in (but, "requests"):
                yield from numbers_in(getattr(value, field.name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from numbers_in(item)
    elif isinstance(value, int | float):
        yield value


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every group or list of a document with each of its keys or positions."""
    keys = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield content, key
        yield from places(content[key])


@pytest.mark.parametrize("name", STRUCTURED)
def test_fields_that_are_missing_or_of_another_kind(name: str, tmp_path: Path) -> None:
    dice = random.Random(name)
    path = tmp_path / f"changed-{name}"
    for _ in range(MUTATIONS):
        content = content_of(name)
        for _ in range(dice.choice((1, 1, 3))):
            holder, key = dice.choice(list(places(content)))
            if dice.random() < 0.4:
                holder.pop(key)
            else:
                holder[key] = deepcopy(dice.choice(NASTY))
            if not content:
                break
        path.write_text(json.dumps(content), encoding="utf-8")
        read(path)


@pytest.mark.parametrize("name", NAMES)
def test_text_that_is_cut_off_or_overwritten(name: str, tmp_path: Path) -> None:
    dice = random.Random(name)
    whole = (SAMPLES / name).read_bytes()
    path = tmp_path / name
    for _ in range(MUTATIONS // 3):
        start = dice.randrange(len(whole))
        rest = dice.choice((b"", b"\xff\xfe", b"-1e999", b'"', b",,,\n", b"}{", whole[start + dice.randrange(40) :]))
        path.write_bytes(whole[:start] + rest)
        read(path)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith((".csv", ".txt"))])
def test_cells_that_hold_something_else(name: str, tmp_path: Path) -> None:
    dice = random.Random(name)
    lines = (SAMPLES / name).read_text(encoding="utf-8").split("\n")
    separator = "," if name.endswith(".csv") else ":"
    path = tmp_path / name
    for _ in range(MUTATIONS):
        changed = list(lines)
        row = dice.randrange(len(changed))
        cells = changed[row].split(separator)
        cells[dice.randrange(len(cells))] = str(dice.choice(NASTY))
        changed[row] = separator.join(cells)
        path.write_text("\n".join(changed), encoding="utf-8")
        read(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfe\x00", "cannot be read as text"),
        (b"hello", "is neither JSON, YAML, CSV nor an MLPerf log"),
        (b"[]", "broken JSON: an empty list"),
        (b"[1]", "a result is a group of fields"),
        (b"{}", "has the keys of no result that is read"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'{"a": ' * 50_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "broken JSON: exceeds the limit"),
        (b"version: " + b"[" * 40_000 + b"]" * 40_000, "nested too deeply"),
        (b"a,b\n1,2,3\n", "3 cells under 2 columns"),
        (b"a,a\n1,2\n", "this column stands twice"),
        (b"a,b\n", "holds no run"),
        (b'a,b\n"1,2\n', "broken CSV"),
    ],
)
def test_what_is_no_result_says_what_is_wrong_with_it(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "result").write_bytes(content)
    with pytest.raises(InputError, match=problem.replace("[", r"\[")):
        read_results(tmp_path / "result")


def test_a_file_that_is_not_there_or_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_results(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a folder"):
        read_results(tmp_path)
    monkeypatch.setattr(files, "MAX_RESULT_BYTES", 10)
    with pytest.raises(InputError, match="more than it may have"):
        read_results(SAMPLES / "llmperf_summary.json")


def test_text_is_no_number_and_a_huge_number_is_none(tmp_path: Path) -> None:
    content = content_of("vllm_0.33.0_bench_serve.json")
    content |= {"completed": "600", "mean_ttft_ms": float("nan"), "duration": 10**400, "p99_tpot_ms": float("inf")}
    (tmp_path / "r.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_results(tmp_path / "r.json")
    assert [finding.field for finding in error.value.findings] == [
        "completed",
        "duration",
        "mean_ttft_ms",
        "p99_tpot_ms",
    ]
