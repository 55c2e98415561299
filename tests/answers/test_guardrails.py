"""Guardrails of a file hold for whom they say, until when they say; a name that nothing has is refused."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command
from support.gate_cases import baseline, judged, scenario, world

from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.rules.guardrails import Guardrails, read_guardrails
from optimizer.answers.gate.rules.judging import unmatched
from optimizer.answers.gate.types import GateReport
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs

OVERRIDDEN = "rules:\n  - name: a\n    max_monthly_usd: 1\n    override: "


@pytest.fixture
def small(catalogs: Catalogs) -> Catalogs:
    return world(catalogs, l4="0.50")


def written(folder: Path, text: str) -> Guardrails:
    (folder / "gate.yaml").write_text(text, encoding="utf-8")
    return read_guardrails(folder / "gate.yaml")


def states(report: GateReport) -> dict[tuple[str, str | None], str]:
    return {(each.guardrail, each.scenario): each.state for each in report.rules if each.guardrail}


def test_a_rule_holds_for_its_scope_alone(small: Catalogs, tmp_path: Path) -> None:
    """Each scenario costs 365.00 a month; search has two of them."""
    files = [scenario(tmp_path, name) for name in ("search-a", "search-b", "chat")]
    guardrails = written(
        tmp_path,
        """
teams: {search: [search-*]}
rules:
  - {name: search-total, teams: search, max_monthly_usd: 729.99, message: Talk to us first, owner: "@search"}
  - {name: each-small, over: each, max_monthly_usd: 365}
  - {name: chat, scenarios: [chat], max_monthly_usd: 400, effect: warn}
""",
    )
    report = gate(files, small, GateLimits(guardrails=guardrails))
    assert states(report) == {
        ("search-total", None): "broken",
        ("each-small", "search-a"): "kept",
        ("each-small", "search-b"): "kept",
        ("each-small", "chat"): "kept",
        ("chat", None): "kept",
    }
    (reason,) = report.reasons
    assert (reason.rule, reason.guardrail, reason.limit, reason.value) == (
        "max_monthly_usd",
        "search-total",
        "729.99",
        "730.00",
    )
    assert reason.text.startswith("search-total: $730.00 a month is ")
    assert reason.text.endswith("Talk to us first; ask @search")


@pytest.mark.parametrize(
    ("today", "state", "says"),
    [
        (date(2026, 12, 31), "warned", "overridden until 2026-12-31: launch, agreed with J."),
        (date(2027, 1, 1), "broken", "its override ended on 2026-12-31"),
    ],
)
def test_an_override_ends_on_its_day(today: date, state: str, says: str, small: Catalogs, tmp_path: Path) -> None:
    text = """
rules:
  - name: total
    max_monthly_usd: 1
    override: {reason: "launch, agreed with J.", until: 2026-12-31}
"""
    report = judged(scenario(tmp_path), small, guardrails=written(tmp_path, text), today=today)
    assert states(report) == {("total", None): state}
    told = [*report.reasons, *(each for each in report.warnings if each.guardrail)]
    assert [says in each.text for each in told] == [True]


def test_increases_are_those_of_the_scope(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    """73.00 more for each scenario; a removed one is in its scope, too."""
    files = [scenario(tmp_path, name) for name in ("one", "two", "gone")]
    before = tuple(baseline(file, world(catalogs, l4="0.40")) for file in files)
    text = """
rules:
  - {name: one, scenarios: [one], max_increase_usd: 73, max_increase_percent: 24}
  - {name: rest, scenarios: [two, gone], max_increase_usd: 0}
"""
    report = gate(files[:2], small, GateLimits(guardrails=written(tmp_path, text)), before)
    broken = [(each.guardrail, each.rule, each.value) for each in report.reasons]
    assert broken == [("one", "max_increase_percent", 25.0)]
    alone = gate(files[:2], small, GateLimits(guardrails=written(tmp_path, text), warn_only=("one",)), before)
    assert alone.verdict == "kept"
    assert (alone.before_usd, alone.change_usd) == (Decimal("876.00"), Decimal("-146.00"))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("rules: []", 1, "at least 1 entry"),
        ("rules:\n  - {name: a, max_monthly: 1}", 2, "did you mean max_monthly_usd"),
        ("rules:\n  - {name: a}", 2, "limits nothing"),
        ("rules:\n  - {name: a, max_monthly_usd: 1}\n  - {name: a, max_monthly_usd: 2}", 3, "two rules"),
        ("teams: {search: [x]}\nrules:\n  - {name: a, teams: serch, max_monthly_usd: 1}", 3, "did you mean search"),
        ("rules:\n  - {name: a, max_monthly_usd: -1}", 2, "greater than or equal to 0"),
        ("rules:\n  - {name: a, max_monthly_usd: 1, override: {until: 2026-12-31}}", 2, "missing"),
        ("- a", 1, "start with rules"),
        ("teams: {search: []}\nrules:\n  - {name: a, teams: search, max_monthly_usd: 1}", 1, "at least 1 entry"),
        ("rules:\n  - {name: a, scenarios: [], max_monthly_usd: 1}", 2, "at least 1 entry"),
        ("rules:\n  - {name: a, teams: [], max_monthly_usd: 1}", 2, "at least 1 entry"),
        (f"{OVERRIDDEN}{{reason: x, until: 1893456000}}", 4, "must be a day"),
        (f"{OVERRIDDEN}{{reason: x, until: '1893456000'}}", 4, "must be a day"),
        (f"{OVERRIDDEN}{{reason: x, until: 2026-12-31T00:00:00}}", 4, "must be a day"),
        (f"{OVERRIDDEN}{{reason: '  ', until: 2026-12-31}}", 4, "at least 1 character"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_its_line(text: str, line: int, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        written(tmp_path, text)
    (finding,) = refused.value.findings
    assert finding.line == line
    assert says in str(finding)


def test_an_empty_file_of_rules_is_not_told_what_a_scenario_needs(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        written(tmp_path, "")
    (finding,) = refused.value.findings
    assert (finding.problem, finding.hint) == ("the file is empty", "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"warn_only": ("max_increse_*",)}, "--warn-only: 'max_increse_*' matches no rule or scenario"),
        ({"warn_only": ("suport:no_plan",)}, "did you mean support:no_plan"),
        (
            {"warn_only": ("support:max_increase_usd",)},
            "max_increase_usd is judged for scenarios together (rules of one",
        ),
        ({"warn_only": ("*:max_monthly_*",)}, "rules of one scenario: missing_price, zero_price"),
        ({"allow_missing_price": ("zzz",)}, "--allow-missing-price: 'zzz' matches no offer or provider"),
        ({"allow_expired": ("l4hous",)}, "did you mean l4house"),
    ],
)
def test_a_name_that_nothing_has_is_refused(
    options: dict[str, tuple[str, ...]], says: str, small: Catalogs, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r".") as refused:
        judged(scenario(tmp_path), small, **options)
    assert says in str(refused.value)
    fine = {"warn_only": ("max_*", "support", "supp*:no_plan"), "allow_expired": ("l4house", "l4house/*")}
    judged(scenario(tmp_path), small, **fine)


def test_a_pattern_of_a_rule_that_matches_no_scenario_is_refused(small: Catalogs, tmp_path: Path) -> None:
    guardrails = written(tmp_path, "rules:\n  - {name: a, scenarios: [suport], max_monthly_usd: 1}")
    with pytest.raises(InputError, match=r"'suport' matches no scenario \(did you mean support"):
        judged(scenario(tmp_path), small, guardrails=guardrails)
    (found,) = unmatched(guardrails, [f"s{number}" for number in range(10)], [], [])
    assert found.hint == "scenarios: s0, s1, s2, s3, s4, s5, s6, s7 and 2 more"


def test_a_scenario_that_leaves_a_scope_is_told(small: Catalogs, tmp_path: Path) -> None:
    """Of `search` and `chat` the first was renamed, so that its rule would judge nothing of today."""
    before = tuple(baseline(scenario(tmp_path, name), small) for name in ("search", "chat"))
    files = [scenario(tmp_path, name) for name in ("find", "chat")]
    named = "rules:\n  - {name: a, scenarios: [search], max_monthly_usd: 1}"
    with pytest.raises(InputError, match=r"'search' matches removed scenarios only, and no rule is about find"):
        gate(files, small, GateLimits(guardrails=written(tmp_path, named)), before)
    both = f"{named}\n  - {{name: b, scenarios: [find], max_monthly_usd: 400}}"
    covered = gate(files, small, GateLimits(guardrails=written(tmp_path, both)), before)
    wide = "rules:\n  - {name: a, scenarios: [search, chat], max_monthly_usd: 400}".replace("search, chat", '"[sc]*"')
    left = gate(files, small, GateLimits(guardrails=written(tmp_path, wide)), before)
    told = [[each.text for each in report.warnings if "no guardrail" in each.text] for report in (covered, left)]
    assert told == [[], ["find is new, and no guardrail is about it"]]


def test_one_scenario_may_be_let_through_a_guardrail(small: Catalogs, tmp_path: Path) -> None:
    files = [scenario(tmp_path, name) for name in ("one", "two")]
    guardrails = written(tmp_path, "rules:\n  - {name: small, over: each, max_monthly_usd: 1}")
    report = gate(files, small, GateLimits(guardrails=guardrails, warn_only=("one:small",)))
    assert states(report) == {("small", "one"): "warned", ("small", "two"): "broken"}
    by_limit = gate(files, small, GateLimits(guardrails=guardrails, warn_only=("one:max_monthly_usd",)))
    assert states(by_limit) == states(report)
    together = written(tmp_path, "rules:\n  - {name: small, max_monthly_usd: 1}")
    with pytest.raises(InputError, match="'one:small': small is judged for scenarios together"):
        gate(files, small, GateLimits(guardrails=together, warn_only=("one:small",)))


def test_an_annotation_stands_in_the_scope_of_its_rule(small: Catalogs, tmp_path: Path) -> None:
    """Both grew, the one outside the scope by more."""
    before = tuple(baseline(scenario(tmp_path, name), small) for name in ("one", "two"))
    files = [scenario(tmp_path, "one", rate=120), scenario(tmp_path, "two", rate=60)]
    text = "rules:\n  - {name: two, scenarios: [two], max_increase_usd: 0, max_monthly_usd: 1}"
    report = gate(files, small, GateLimits(guardrails=written(tmp_path, text)), before)
    assert [(each.file, each.line) for each in report.reasons] == [(files[1].document.file, 5)] * 2


def test_the_command_reads_the_file(optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("rules:\n  - {name: tiny, max_monthly_usd: 1}\n")
    ended = optimizer("gate", "ci-gate", "--rules", str(tmp_path / "gate.yaml"))
    assert ended.code == 1
    assert "max_monthly_usd: tiny: $" in ended.out
    wrong = optimizer("gate", "ci-gate", "--warn-only", "nothing-like-it")
    assert (wrong.code, wrong.out) == (2, "")
    assert "matches no rule or scenario" in wrong.err
