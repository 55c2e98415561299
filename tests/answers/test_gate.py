"""A gate breaks for each demand that is not met, names where, and is kept otherwise."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.gate_cases import baseline, judged, offer, scenario, world

from optimizer.answers.catalog.snapshot import snapshot
from optimizer.answers.gate import gate as gate_module
from optimizer.answers.gate.baseline import paired
from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.pin import Pin, pinned
from optimizer.answers.gate.plan import Planned
from optimizer.answers.gate.reading import read_baselines
from optimizer.answers.gate.rules.demands import Case, GateLimits, proof
from optimizer.answers.gate.types import GateReport
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.terms import AppliedDiscount, Discount
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import load_scenario_file
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.report import PlanReport
from optimizer.report.exits import exit_of
from optimizer.report.export import as_json
from optimizer.report.gate.gate import scenarios_table, verdict_line


@pytest.fixture
def small(catalogs: Catalogs) -> Catalogs:
    return world(catalogs, l4="0.50", l40s="1.50")


def rules(report: GateReport) -> list[str]:
    return [reason.rule for reason in report.reasons]


@pytest.mark.parametrize(
    ("limits", "broken"),
    [
        ({}, []),
        ({"max_monthly_usd": Decimal(365)}, []),
        ({"max_monthly_usd": Decimal("364.99")}, ["max_monthly_usd"]),
        ({"max_increase_usd": Decimal(73)}, []),
        ({"max_increase_usd": Decimal("72.99")}, ["max_increase_usd"]),
        ({"max_increase_percent": Decimal(25)}, []),
        ({"max_increase_percent": Decimal("24.9")}, ["max_increase_percent"]),
        ({"max_monthly_usd": Decimal(1), "max_increase_usd": Decimal(1)}, ["max_monthly_usd", "max_increase_usd"]),
        ({"max_monthly_usd": Decimal(1), "warn_only": ("max_monthly_*",)}, []),
    ],
)
def test_money(
    limits: dict[str, Decimal], broken: list[str], small: Catalogs, catalogs: Catalogs, tmp_path: Path
) -> None:
    """One instance at 0.40 USD/h before, at 0.50 today: 292.00 → 365.00 a month, a quarter more."""
    file = scenario(tmp_path)
    report = judged(file, small, baseline(file, world(catalogs, l4="0.40", l40s="1.50")), **limits)
    assert (report.before_usd, report.after_usd) == (Decimal("292.00"), Decimal("365.00"))
    assert (report.change_usd, report.change_percent) == (Decimal("73.00"), 25.0)
    assert rules(report) == broken
    assert report.verdict == ("broken" if broken else "kept")
    assert bool(report.warnings) == ("warn_only" in limits and not broken)


def test_a_budget_between_two_cents_shows_the_digits_that_differ(small: Catalogs, tmp_path: Path) -> None:
    (reason,) = judged(scenario(tmp_path), small, max_monthly_usd=Decimal("364.995")).reasons
    assert reason.text == "$365.00 a month is $0.005 over the budget of $364.995"
    assert (reason.limit, reason.value) == ("364.995", "365.00")


def test_a_price_that_is_gone_breaks_until_it_is_allowed_by_name(
    small: Catalogs, catalogs: Catalogs, tmp_path: Path
) -> None:
    file = scenario(tmp_path)
    before = baseline(file, small)
    without = world(catalogs, l40s="1.50")
    report = judged(file, without, before)
    assert rules(report) == ["missing_price"]
    assert "l4house/us/box/1xl4/on_demand" in report.reasons[0].text
    assert judged(file, without, before, allow_missing_price=("l4house",)).verdict == "kept"
    assert judged(file, without, before, allow_missing_price=("l40shouse",)).verdict == "broken"


def test_an_old_price_breaks_until_it_is_allowed_by_name(small: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    assert judged(file, small, max_price_age_days=30).verdict == "kept"
    assert rules(judged(file, small, max_price_age_days=18)) == ["expired_price"]
    late = date(2028, 1, 1)
    report = judged(file, small, today=late)
    assert rules(report) == ["expired_price"]
    assert (report.reasons[0].limit, report.reasons[0].line) == (365.0, 11)
    assert any("the catalogs are of" in each.text for each in report.warnings)
    allowed = judged(file, small, today=late, allow_expired=("l4house/*",))
    assert allowed.verdict == "kept"
    assert any("allowed by name" in each.text for each in allowed.warnings)


def test_a_hosted_price_of_zero_is_left_out_and_breaks_until_it_is_allowed(catalogs: Catalogs, tmp_path: Path) -> None:
    path = Path(scenario(tmp_path).document.file)
    path.write_text(path.read_text() + "  hosting: [rented, serverless]\n")
    file = load_scenario_file(path)
    priced = next(row for row in catalogs.serverless if row.usd_per_million_cached_input_tokens is None)
    nothing = dict.fromkeys(("usd_per_million_input_tokens", "usd_per_million_output_tokens"), Decimal(0))
    named = {"provider": "gift", "model": "llama-3.1-8b", "provider_model_name": "llama", "usd_per_request": None}
    free = replace(world(catalogs, l4="0.5"), serverless=(priced.model_copy(update=named | nothing),))
    report = judged(file, free)
    assert rules(report) == ["zero_price"]
    assert report.after_usd == Decimal("365.00")
    assert judged(file, free, allow_missing_price=("gift/llama",)).verdict == "kept"


def test_odd_prices_break_a_gate_unless_they_may_warn(catalogs: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    bargain = world(catalogs, l4="0.5")
    usual = tuple(offer("l4", "6").model_copy(update={"provider": name}) for name in ("one", "two"))
    bargain = replace(bargain, offers=(*bargain.offers, *usual))
    report = judged(file, bargain)
    assert rules(report) == ["odd_price"]
    (reason,) = report.reasons
    assert "l4house asks 0.5 USD per GPU-hour of l4, others 6 in the median" in reason.text
    warned = judged(file, bargain, warn_only=("odd_price",))
    assert warned.verdict == "kept"
    assert "odd_price" in [each.rule for each in warned.warnings]
    assert judged(file, replace(bargain, offers=bargain.offers[:1])).verdict == "kept"


@pytest.mark.parametrize(
    ("private", "says"),
    [(False, "the discount of l4house is of 1999-01-01"), (True, "the price of l4house for l4 is over a year old")],
)
def test_an_old_discount_breaks_a_gate_and_a_private_one_is_not_told(
    private: bool, says: str, catalogs: Catalogs, tmp_path: Path
) -> None:
    (rented,) = world(catalogs, l4="0.5").offers
    row = {"provider": "l4house", "percent": "10", "private": private, "source": rented.source, "as_of": "1999-01-01"}
    granted = AppliedDiscount(list_price_usd_per_hour=rented.price_usd_per_hour, discount=Discount.model_validate(row))
    known = replace(catalogs, offers=(rented,), serverless=())
    known = replace(known, terms=replace(known.terms, discounts={rented.id: granted}))
    report = judged(scenario(tmp_path), known)
    assert rules(report) == ["odd_price"]
    assert says in report.reasons[0].text
    assert ("discount" in report.reasons[0].text) != private


def test_no_plan_and_no_proof_end_a_gate(small: Catalogs, tmp_path: Path) -> None:
    impossible = judged(scenario(tmp_path, ttft=0.1), small, max_monthly_usd=Decimal(1))
    assert rules(impossible) == ["no_plan"]
    assert impossible.after_usd is None
    assert "No plan meets support" in impossible.reasons[0].text
    assert verdict_line(impossible) == "Gate broken: not every scenario has a plan."
    assert exit_of(impossible) == 3
    late = [impossible.reasons[0].model_copy(update={"rule": "unproven"})]
    assert exit_of(impossible.model_copy(update={"reasons": late})) == 4
    fleet = baseline(scenario(tmp_path), small).plan.model_copy(update={"outcome": "feasible"})
    case = Case(scenario(tmp_path), Planned(fleet, 0.02, ""), None)
    assert [verdict.rule for verdict in proof(case) if verdict.broken] == ["unproven"]


def test_what_is_known_may_break_a_limit_where_a_scenario_has_no_plan(
    small: Catalogs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One costs 365.00 a month and 365.00 before; of the other nobody can say, as all gates are told once."""
    afresh, impossible = gate_module.planned, list[Planned]()

    def planned(asked: Scenario, *rest: Any) -> Planned:
        if asked.name != "dev":
            return afresh(asked, *rest)
        impossible[:] = impossible or [afresh(asked, *rest)]
        return impossible[0]

    monkeypatch.setattr(gate_module, "planned", planned)
    files = [scenario(tmp_path, "one"), scenario(tmp_path, "dev", ttft=0.1)]
    before = (baseline(files[0], small),)
    tight = GateLimits(max_monthly_usd=Decimal(364), warn_only=("dev:no_plan",))
    report = gate(files, small, tight, before)
    assert rules(report) == ["max_monthly_usd"]
    assert report.reasons[0].text.endswith("scenarios without a plan are not counted")
    grown = [scenario(tmp_path, "one", rate=60), files[1]]
    more = GateLimits(max_increase_usd=Decimal(1), max_increase_percent=Decimal(1), warn_only=("dev:no_plan",))
    assert rules(gate(grown, small, more, before)) == ["max_increase_percent", "max_increase_usd"]
    within = GateLimits(max_monthly_usd=Decimal(365), max_increase_usd=Decimal(0), warn_only=("dev:no_plan",))
    kept = gate(files, small, within, before)
    assert kept.verdict == "kept"
    assert [each.rule for each in kept.rules if each.state == "skipped"] == ["max_monthly_usd", "max_increase_usd"]


def test_several_scenarios_are_held_to_their_total(small: Catalogs, tmp_path: Path) -> None:
    """A new scenario counts in full, one that is gone as saved, and both as the scenarios' doing."""
    files = [scenario(tmp_path, "one"), scenario(tmp_path, "two")]
    before = (baseline(files[0], small), baseline(scenario(tmp_path, "three"), small))
    report = gate(files, small, GateLimits(max_increase_usd=Decimal(0)), before)
    assert (report.before_usd, report.after_usd, report.verdict) == (Decimal("730.00"), Decimal("730.00"), "kept")
    assert [each.change_usd for each in report.scenarios] == [Decimal("0.00"), Decimal("365.00")]
    assert [(each.scenario, each.before_usd) for each in report.removed] == [("three", Decimal("365.00"))]
    assert [each.new for each in report.scenarios] == [False, True]
    told = [each.text for each in report.warnings]
    assert any(text.startswith("three was removed; ") for text in told)
    assert any(text.startswith("two is new, ") for text in told)
    assert not any(".json" in text for text in told)
    assert any(row[0] == "three" and "removed" in row for row in scenarios_table(report).rows)
    alone = gate(files, small, GateLimits(max_increase_usd=Decimal(364)), before[:1])
    assert rules(alone) == ["max_increase_usd"]
    assert gate(files, small, GateLimits(max_increase_percent=Decimal(0)), before[:1]).verdict == "broken"


def test_baselines_find_their_scenarios(small: Catalogs, tmp_path: Path) -> None:
    one, two = (baseline(scenario(tmp_path, name), small) for name in ("one", "two"))
    assert paired(["renamed"], [one]) == ({"renamed": one}, ())
    assert paired(["one", "new"], [one, two]) == ({"one": one}, (two,))


@pytest.mark.parametrize("text", ["{}", "nonsense", '{"scenario": 1}'])
def test_what_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InputError, match="not a plan"):
        read_baselines([tmp_path / "plan.json"])
    with pytest.raises(InputError, match="cannot be read"):
        read_baselines([tmp_path / "missing.json"])


def test_two_baselines_of_one_scenario_are_refused(small: Catalogs, tmp_path: Path) -> None:
    plan = baseline(scenario(tmp_path), small).plan.model_dump_json()
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(plan)
    with pytest.raises(InputError, match="a plan of the same scenario"):
        read_baselines([tmp_path])


def test_a_removed_scenario_is_no_change_of_another(small: Catalogs, tmp_path: Path) -> None:
    one, two, three = (scenario(tmp_path, name) for name in ("one", "two", "three"))
    report = gate([one, two], small, GateLimits(), tuple(baseline(file, small) for file in (one, two, three)))
    (cause,) = report.causes
    assert (cause.cause, cause.change_usd, cause.text) == ("scenario", Decimal("-365.00"), "three was removed")


@pytest.mark.parametrize("asked", [True, False])
def test_where_nothing_is_compared_limits_on_increase_are_skipped_and_budgets_hold(
    asked: bool, small: Catalogs, tmp_path: Path
) -> None:
    limits = GateLimits(max_monthly_usd=Decimal(1), max_increase_percent=Decimal(5), max_increase_usd=Decimal(5))
    report = gate([scenario(tmp_path)], small, limits, () if asked else None)
    assert rules(report) == ["max_monthly_usd"]
    skipped = [ruling.rule for ruling in report.rules if ruling.state == "skipped"]
    assert skipped == ["max_increase_usd", "max_increase_percent"]
    told = [each.text for each in report.warnings]
    assert all(any(text.startswith(f"{rule} is not judged") for text in told) for rule in skipped)
    assert report.scenarios[0].new == asked == any("every scenario is new" in text for text in told)


def test_names_that_stand_twice_are_refused(small: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    (tmp_path / "copy.yaml").write_text(Path(file.document.file).read_text())
    files = [file, load_scenario_file(tmp_path / "copy.yaml")]
    with pytest.raises(InputError) as refused:
        gate(files, small, GateLimits(max_increase_percent=Decimal(5)))
    assert [finding.field for finding in refused.value.findings] == ["name"]


def test_the_command_keeps_and_refuses(
    optimizer: Command, planned: Callable[[str], PlanReport], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(as_json(planned("ci-gate")))
    kept = optimizer("gate", "ci-gate", "--baseline", str(plan), "--max-increase-percent", "0", "--format", "json")
    said = json.loads(kept.out)
    assert (kept.code, said["verdict"], said["reasons"], said["causes"]) == (0, "kept", [], [])
    assert (said["change_usd"], said["change_percent"]) == ("0.00", 0.0)
    assert said["before_usd"] == said["after_usd"] == json.loads(plan.read_text())["monthly_cost_usd"]
    drifted = optimizer("gate", "ci-gate", "--pin", "0" * 64)
    assert (drifted.code, drifted.out) == (2, "")
    assert "--pin" in drifted.err
    missing = optimizer("gate", "ci-gate", "--baseline", str(tmp_path / "none.json"))
    assert missing.code == 2
    assert "none.json" in missing.err


def test_the_command_opens_folders_and_holds_a_pin(optimizer: Command, tmp_path: Path) -> None:
    scenario(tmp_path, "one")
    (tmp_path / "notes.txt").write_text("not a scenario")
    forms = {form: tmp_path / f"gate.{form}" for form in ("junit", "sarif", "comment")}
    written = [word for form, path in forms.items() for word in (f"--{form}", str(path))]
    pin = snapshot().sha256
    ended = optimizer("gate", str(tmp_path), "--pin", pin, "--max-monthly-usd", "1", *written)
    assert ended.code == 1
    assert ended.out.startswith("Gate broken: $")
    assert f"pinned to {pin}" in ended.out
    assert all(path.is_file() for path in forms.values())
    (tmp_path / "empty").mkdir()
    assert "no scenario in this folder" in optimizer("gate", str(tmp_path / "empty")).err
    assert "is not a number" in optimizer("gate", str(tmp_path), "--max-monthly-usd", "much").err


@pytest.mark.parametrize("amount", ["1e30", "1e400", "-1", "nan"])
@pytest.mark.parametrize("option", ["--max-monthly-usd", "--max-increase-usd", "--max-increase-percent"])
def test_amounts_beyond_all_measure_are_refused(option: str, amount: str, optimizer: Command) -> None:
    ended = optimizer("gate", "ci-gate", f"{option}={amount}")
    assert ended.code == 2
    assert "is not a finite number" in ended.err


def test_a_run_that_cannot_print_is_remembered_once(
    optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("optimizer.cli.gate.outputs.deliver", closed)
    remembered, wrong = tmp_path / "history.csv", ("--max-monthly-usd", "1")
    optimizer("gate", "ci-gate", *wrong, "--history", str(remembered))
    (line,) = remembered.read_text().splitlines()[1:]
    assert ",not_evaluated," in line


def test_drift_from_a_pin_is_told_price_by_price(tmp_path: Path) -> None:
    taken = snapshot()
    (name, price), *_ = taken.prices["offers"].items()
    dearer = price.model_copy(update={"amounts": {"price_usd_per_hour": price.amounts["price_usd_per_hour"] * 2}})
    prices = taken.prices | {"offers": taken.prices["offers"] | {name: dearer}}
    manifest = tmp_path / "pin.json"
    manifest.write_text(as_json(taken.model_copy(update={"sha256": "0" * 64, "prices": prices})))
    with pytest.raises(InputError, match=r"1 prices? moved.*-50\.0 %"):
        pinned(str(manifest))
    pin = pinned(str(manifest), allow_drift=True)
    assert pin.sha256 == "0" * 64
    assert any(name in line for line in pin.drift)
    assert pinned(taken.sha256) == Pin(taken.sha256)
