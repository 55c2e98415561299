"""Answers of the service are the command's, byte for byte."""

import json
import re
from collections.abc import Callable
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command import Command

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json
from optimizer.serve.jobs.job import JobProgress
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.scenario_text import shipped_scenarios
from optimizer.serve.jobs.working import Held, answered

OF_THE_RUN = re.compile(r'"wall_s": [0-9.e-]+|"file": ".*"')
"""How long it took, and what the scenario's file is called."""
PREDICTED = ("--model", "llama-3.1-8b", "--gpu", "l4", "--precision", "fp8", "--input-tokens", "1024")


def asked(catalogs: Catalogs, kind: str, scenario: str, *options: str) -> tuple[int, str, list[JobProgress]]:
    """Exit code, answer and remarks of a process, options written as on the command line."""
    said = dict(zip((each[2:].replace("-", "_") for each in options[::2]), options[1::2], strict=True))
    told = list[JobProgress]()
    question = JobQuestion.of(kind, shipped_scenarios().get(scenario, ""), said)
    answer = answered(question, Held(catalogs, 8.0), told.append)
    return int(answer.exit_code), answer.content.decode(), told


@pytest.mark.parametrize(
    ("kind", "scenario", "options"),
    [
        ("plan", "ci-gate", ()),
        ("gate", "ci-gate", ("--max-monthly-usd", "1")),
        ("predict", "", (*PREDICTED, "--output-tokens", "256", "--request-rate", "2")),
        ("predict", "", (*PREDICTED, "--output-tokens", "256", "--concurrency", "4", "--speculation", "eagle3:3")),
    ],
)
def test_a_process_writes_what_the_command_writes(
    catalogs: Catalogs, optimizer: Command, kind: str, scenario: str, options: tuple[str, ...]
) -> None:
    typed = optimizer(kind, *([scenario] if scenario else []), *options, "--format", "json")
    code, text, told = asked(catalogs, kind, scenario, *options)
    assert code == typed.code
    assert OF_THE_RUN.sub("", text) == OF_THE_RUN.sub("", typed.out)
    assert [each.step for each in told] == sorted(each.step for each in told)
    assert not told or told[-1].step < told[-1].steps


def test_a_plan_is_simulated_as_its_file_is(
    catalogs: Catalogs, optimizer: Command, planned: Callable[[str], PlanReport], tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(as_json(planned("ci-gate")), encoding="utf-8")
    how = ("--requests", "500", "--router", "least_loaded")
    typed = optimizer("simulate", str(file), *how, "--format", "json")
    options = {"requests": 500, "router": "least_loaded"}
    question = JobQuestion.of("simulate", "", {"plan": json.loads(file.read_text()), **options})
    answer = answered(question, Held(catalogs, 8.0), lambda _: None)
    assert (int(answer.exit_code), answer.content.decode()) == (typed.code, typed.out)
    broken = JobQuestion.of("simulate", "", {"plan": {"schema_version": 0}})
    (finding,) = answered(broken, Held(catalogs, 8.0), lambda _: None).findings
    assert (finding.file, finding.field) == ("plan", "schema_version")
    with pytest.raises(InputError, match="simulate is asked of a plan alone"):
        JobQuestion.of("simulate", "name: x", {"plan": {}})


def test_a_plan_of_before_that_is_none_is_refused(catalogs: Catalogs) -> None:
    broken = JobQuestion.of("gate", shipped_scenarios()["ci-gate"], {"baseline": {"scenario": "ci-gate"}})
    findings = answered(broken, Held(catalogs, 8.0), lambda _: None).findings
    assert findings
    assert {each.file for each in findings} == {"baseline"}


def test_a_try_that_has_no_plan_bounds_nothing() -> None:
    told = list[tuple[float | None, float]]()
    watched: Any = SimpleNamespace(best_and_bound=lambda best, bound: told.append((best, bound)))
    for bound_usd_per_hour in (inf, 1.0):
        Inquiry._told(watched, None, bound_usd_per_hour)
    assert told == [(None, 730.0)]


def test_what_goes_wrong_is_told_without_a_traceback(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    question = JobQuestion.of("plan", shipped_scenarios()["chat-8b"], {})
    for error, code in ((MemoryError(), 4), (RuntimeError("a\nb"), 70)):

        def fail(*_: object, raised: Exception = error) -> None:
            raise raised

        monkeypatch.setattr(JobQuestion, "read", fail)
        answer = answered(question, Held(catalogs, 8.0), lambda _: None)
        assert (answer.exit_code, answer.content) == (code, b"")
        assert answer.problem
        assert "\n" not in answer.problem
