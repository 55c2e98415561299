"""Inputs that once ended in a traceback, without end or in a false answer are refused with file, line and field."""

from pathlib import Path

import pytest
from support.command import Command

HEAD = """\
name: p
workloads:
  - name: c
    model: llama-3.1-8b
"""
LENGTHS = "    input_tokens: 100\n    output_tokens: 50\n"
ASKED = f"{HEAD}    requests_per_second: 1\n{LENGTHS}"
TRACE = "arrived_at_s,input_tokens,output_tokens\n"

SCENARIOS = {
    "bracket in a key": ('"a[b": 1\n' + ASKED, "s.yaml:1: a[b: unknown field"),
    "bracket in a known key": (
        ASKED.replace("name: p", "n[ame: p"),
        "s.yaml:1: n[ame: unknown field",
    ),
    "tagged value": (ASKED.replace(": 1\n", ': !!bool "abc"\n'), "s.yaml:5: YAML tags such as !!bool are not read"),
    "tagged key": (f"{ASKED}!!timestamp    min_quality: 1\n", "s.yaml:8: YAML tags such as !!timestamp are not read"),
    "huge hexadecimal": (ASKED.replace(": 1\n", f": 0x{'f' * 5000}\n"), "s.yaml:5: a number of 5,002 digits"),
    "deep": (f"a: {'[' * 40_000}{']' * 40_000}", "s.yaml:1: nested too deeply"),
    "endless plan": (
        f"{ASKED}policy: {{migration: {{from_plan: /dev/zero}}}}\n",
        "s.yaml:8: policy.migration.from_plan: /dev/zero: is a device or a pipe",
    ),
}


@pytest.mark.parametrize("content", SCENARIOS)
def test_a_scenario_that_broke_us_is_refused_at_its_line(content: str, optimizer: Command, tmp_path: Path) -> None:
    text, said = SCENARIOS[content]
    (tmp_path / "s.yaml").write_text(text)
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "1,99999999,5\n",
            "t.csv:2: 1e+08 tokens of a prompt or an answer is more than a scenario may have",
        ),
        ("1,10,5\n2,10,1e300\n", "t.csv:3: 1e+300 tokens"),
        ("1e308,100,5\n-1e308,50,7\n", "t.csv:2: 1e+308 seconds is more than a scenario may have"),
    ],
)
def test_a_trace_holds_numbers_that_somebody_may_mean(rows: str, said: str, optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TRACE + rows)
    (tmp_path / "s.yaml").write_text(f"{HEAD}    trace: t.csv\n")
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert f"s.yaml:5: workloads[c].trace: {tmp_path / said}" in result.err


def test_a_profile_asks_for_no_more_than_a_scenario_may(optimizer: Command, tmp_path: Path) -> None:
    hours = "".join(f"{hour},1e9\n" for hour in range(168))
    (tmp_path / "p.csv").write_text(f"hour_of_week,requests_per_second\n{hours}")
    (tmp_path / "s.yaml").write_text(f"{HEAD}{LENGTHS}    demand: {{profile: p.csv}}\n")
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert "p.csv:2: 1e+09 requests/s is more than a scenario may have (1,000,000)" in result.err


def test_a_plan_in_force_with_a_number_without_end_is_refused(optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(f'{{"deployments": [{{"replicas": {"9" * 5000}}}]}}')
    (tmp_path / "s.yaml").write_text(f"{ASKED}policy: {{migration: {{from_plan: plan.json}}}}\n")
    for arguments in (("plan", "s.yaml"), ("verify", "plan.json")):
        result = optimizer(arguments[0], str(tmp_path / arguments[1]))
        assert result.code == 2
        assert "plan.json: holds a number of thousands of digits" in result.err
    (tmp_path / "s.json").write_text(f'{{"name": {"9" * 5000}}}')
    assert optimizer("plan", str(tmp_path / "s.json")).code == 2
