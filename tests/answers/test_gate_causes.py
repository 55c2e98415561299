"""A difference is told by cause: each input exchanged alone is the only one named, and shares add up to the cent."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from support.gate_cases import amounts, baseline, batch, judged, offer, scenario, world
from support.tables import SOURCES

from optimizer.answers.gate.baseline import Baseline, GatePlan, GateSimulation
from optimizer.answers.gate.causes.exchanging import IN_ORDER
from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.places import Places
from optimizer.answers.gate.rules.demands import GateLimits, Verdict
from optimizer.answers.gate.types import Cause, CausedBy, GateReport
from optimizer.answers.planning.tried import tried
from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.sources import PricePlace
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.loading import load_scenario_file
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.origin import inputs_of
from optimizer.report.gate.gate import gate_answer

L4, A10 = "l4house/us/box/1xl4/on_demand", "a10house/us/box/1xa10/on_demand"


@pytest.fixture
def small(catalogs: Catalogs) -> Catalogs:
    return world(catalogs, l4="0.50", l40s="1.50")


def slower(catalogs: Catalogs) -> Catalogs:
    """Another calibration, under which everything takes longer."""
    entries = tuple(
        entry.model_copy(update={"value": entry.value * 0.6}) if "efficiency" in entry.parameter else entry
        for entry in catalogs.calibration
    )
    assert entries != catalogs.calibration
    return replace(catalogs, calibration=entries)


def told(before: Baseline, **changes: object) -> Baseline:
    """A baseline that was made from something else than it says of today."""
    assert before.plan.inputs is not None
    inputs = before.plan.inputs.model_copy(update=changes)
    return replace(before, plan=before.plan.model_copy(update={"inputs": inputs}))


def test_nothing_changed_nothing_is_blamed(small: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    report = judged(file, small, baseline(file, small))
    assert (report.causes, report.scenarios[0].edits) == ([], [])
    assert [change.sign for change in report.scenarios[0].deployments] == ["="]


def test_the_hours_in_which_a_plan_works_on_a_batch_are_no_edit(
    small: Catalogs, catalogs: Catalogs, tmp_path: Path
) -> None:
    """The plan works in fewer hours than the batch has; its rate, profile and words stood under Edits, and the
    scenario was blamed beside a price."""
    file = batch(tmp_path, requests=60_000)
    before = baseline(file, small)
    assert before.plan.inputs is not None
    assert before.plan.inputs.scenario_sha256 != inputs_of(file.scenario, small).scenario_sha256
    assert judged(file, small, before).scenarios[0].edits == []
    report = judged(file, world(catalogs, l4="0.60", l40s="1.50"), before)
    assert (report.scenarios[0].edits, list(amounts(report))) == ([], ["prices"])
    (edit,) = judged(batch(tmp_path, requests=90_000), small, before).scenarios[0].edits
    assert (edit.field, edit.before, edit.after) == ("workloads[chat].deadline.requests", "60000", "90000")


def test_the_author_is_blamed_for_the_scenario_alone(small: Catalogs, tmp_path: Path) -> None:
    before = baseline(scenario(tmp_path, rate=2), small)
    report = judged(scenario(tmp_path, rate=30), small, before)
    assert amounts(report) == {"scenario": report.change_usd}
    (edit,) = report.scenarios[0].edits
    assert (edit.field, edit.before, edit.after, edit.line) == ("workloads[chat].requests_per_second", "2.0", "30.0", 5)


def test_a_price_move_is_not_blamed_on_the_author(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    before = baseline(scenario(tmp_path, rate=2), small)
    dearer = world(catalogs, l4="0.60", l40s="1.50")
    alone = judged(scenario(tmp_path, rate=2), dearer, before)
    assert amounts(alone) == {"prices": Decimal("73.00")}
    both = judged(scenario(tmp_path, rate=30), dearer, before)
    assert amounts(both)["prices"] == Decimal("73.00")
    assert sum(amounts(both).values()) == both.change_usd


def test_a_new_offer_is_the_catalogs_doing(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    before = baseline(file, small)
    wider = replace(small, offers=(*small.offers, world(catalogs, a10="0.30").offers[0]))
    report = judged(file, wider, before, old=small)
    assert amounts(report) == {"catalog": Decimal("-146.00")}
    assert sorted(change.sign for change in report.scenarios[0].deployments) == ["+", "-"]


def test_several_causes_are_told_apart_with_the_catalogs_of_before(
    small: Catalogs, catalogs: Catalogs, tmp_path: Path
) -> None:
    before = baseline(scenario(tmp_path, rate=20), small)
    today = slower(world(catalogs, l4="0.60", l40s="1.60"))
    file = scenario(tmp_path, rate=30)
    exact = judged(file, today, before, old=small)
    assert set(amounts(exact)) >= {"prices", "scenario", "calibration"}
    assert sum(amounts(exact).values()) == exact.change_usd
    assert all(not cause.together_with for cause in exact.causes)
    guessed = judged(file, today, before)
    assert sum(amounts(guessed).values()) == guessed.change_usd
    assert amounts(guessed)["scenario"] == amounts(exact)["scenario"]
    assert "--baseline-catalogs" in guessed.scenarios[0].notes[0]
    wrong = judged(file, today, before, old=slower(small))
    assert "not those that the baseline of support was made on: calibration differ" in wrong.scenarios[0].notes[0]


def test_what_cannot_be_told_apart_says_so(small: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    before = baseline(file, small)
    cheaper = replace(before, plan=before.plan.model_copy(update={"monthly_cost_usd": Decimal("300.00")}))
    other = told(cheaper, calibration_sha256="0" * 64, program="0.0.1")
    report = judged(file, small, other)
    (cause,) = report.causes
    assert (cause.cause, cause.together_with, cause.change_usd) == ("calibration", ["program"], Decimal("65.00"))
    assert cause.share_percent == 100
    unreadable = told(cheaper, scenario={"name": "x"}, scenario_sha256="0" * 64, program="0.0.1")
    blamed = judged(file, small, unreadable)
    assert [(each.cause, each.together_with) for each in blamed.causes] == [("program", ["scenario"])]


def test_equal_inputs_with_another_cost_are_an_edited_file(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    """Told by solving again: on today's catalogs, or on those of the baseline where they are at hand."""
    file = scenario(tmp_path)
    before = baseline(file, small)
    cheaper = replace(before, plan=before.plan.model_copy(update={"monthly_cost_usd": Decimal("300.00")}))
    with pytest.raises(InputError, match=r"support\.json: monthly_cost_usd: 300\.00, .* costs 365\.00"):
        judged(file, small, cheaper)
    today = slower(world(catalogs, l4="0.60", l40s="1.60"))
    with pytest.raises(InputError, match=r"300\.00, .* costs 365\.00"):
        judged(file, today, cheaper, old=small)
    unproven = replace(cheaper, plan=cheaper.plan.model_copy(update={"outcome": "feasible"}))
    report = judged(file, small, unproven)
    assert amounts(report) == {"program": Decimal("65.00")}
    assert "the same inputs and program" in report.causes[0].text


@pytest.mark.parametrize("simulation", [None, GateSimulation(holds=None), GateSimulation(holds=False, rounds=({},))])
def test_a_baseline_whose_simulation_may_have_been_cut_is_no_edited_file(
    simulation: GateSimulation | None, small: Catalogs, tmp_path: Path
) -> None:
    """Of rounds that the clock ended, the plan is another with more time."""
    file = scenario(tmp_path)
    before = baseline(file, small)
    assert before.plan.proven
    cut = before.plan.model_copy(update={"monthly_cost_usd": Decimal("300.00"), "simulation": simulation})
    assert amounts(judged(file, small, replace(before, plan=cut))) == {"program": Decimal("65.00")}


def test_a_plan_whose_simulation_was_cut_is_not_held_against_others(small: Catalogs, tmp_path: Path) -> None:
    asked = Inquiry.of(scenario(tmp_path).scenario, small, None)
    answer, over = answered(asked), Clock(1e-9)
    assert answer.proven
    assert over.expired
    assert [tried(asked, answer, clock).proven for clock in (Clock(None), over)] == [True, False]


def test_nothing_is_solved_again_where_nothing_changed(
    small: Catalogs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Today's plan is that of the baseline's inputs afresh."""

    def solved_again(*_: object, **__: object) -> None:
        pytest.fail("it was solved again")

    file = scenario(tmp_path)
    before = baseline(file, small)
    cheaper = replace(before, plan=before.plan.model_copy(update={"monthly_cost_usd": Decimal("300.00")}))
    monkeypatch.setattr("optimizer.answers.gate.causes.difference.afresh_usd", solved_again)
    with pytest.raises(InputError, match=r"300\.00, .* costs 365\.00"):
        judged(file, small, cheaper)


def test_a_plan_that_records_nothing_is_compared_without_causes(small: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    plan = baseline(file, small).plan.model_dump(mode="json", exclude={"inputs"})
    report = judged(file, small, Baseline("old.json", GatePlan.model_validate(plan)))
    assert (report.change_usd, report.causes) == (Decimal("0.00"), [])
    (note,) = report.scenarios[0].notes
    assert "does not record" in note
    assert "the baseline of support does not record its inputs: whether they cost" in report.warnings[0].text
    shown = {section.title: section.lines for section in gate_answer(report).sections}
    assert shown["What the difference comes from"] == (note,)


def test_inputs_depend_on_what_is_said_and_not_on_how(small: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    said = inputs_of(file.scenario, small)
    again = tuple(
        each.model_copy(update={"price_usd_per_hour": each.price_usd_per_hour.normalize(), "note": "seen again"})
        for each in small.offers
    )
    assert inputs_of(file.scenario, replace(small, offers=again)) == said
    described = file.scenario.model_copy(update={"description": "words"})
    assert inputs_of(described, small) == said


def caused(report: GateReport) -> dict[str, list[tuple[str, str]]]:
    return {cause.cause: [(each.what, each.name) for each in cause.caused_by] for cause in report.causes}


def test_a_price_that_moved_is_named_with_its_row(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    place = PricePlace("prices/offers.csv", 7, own=True)
    today = replace(world(catalogs, l4="0.60", l40s="1.50"), price_places={L4: place})
    report = judged(file, today, baseline(file, small), max_increase_usd=Decimal(0))
    (cause,) = report.causes
    (price,) = cause.caused_by
    assert (price.what, price.name, price.before_usd, price.after_usd) == ("price_moved", L4, "0.5", "0.6")
    assert (price.change_usd, price.file, price.line) == (Decimal("73.00"), "prices/offers.csv", 7)
    assert cause.text == f"{L4} 0.5 → 0.6 USD an hour (prices/offers.csv:7)"
    (reason,) = report.reasons
    assert (reason.file, reason.line) == ("prices/offers.csv", 7)
    warned = judged(file, today, baseline(file, small), max_increase_usd=Decimal(0), warn_only=("max_*",))
    assert [(each.file, each.line) for each in warned.warnings if each.rule] == [("prices/offers.csv", 7)]


def test_a_shipped_row_is_named_and_the_annotation_stays_in_files_of_the_user(
    small: Catalogs, catalogs: Catalogs, tmp_path: Path
) -> None:
    file = scenario(tmp_path)
    place = PricePlace("catalogs/offers.csv", 7, own=False)
    today = replace(world(catalogs, l4="0.60", l40s="1.50"), price_places={L4: place})
    report = judged(file, today, baseline(file, small), max_increase_usd=Decimal(0))
    assert "(shipped catalogs/offers.csv:7)" in report.causes[0].text
    assert report.reasons[0].file == file.document.file


def test_prices_that_came_and_went_are_named(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    file = scenario(tmp_path)
    other = world(catalogs, l40s="1.50", a10="0.30")
    report = judged(file, other, baseline(file, small), old=small)
    assert caused(report) == {"catalog": [("price_new", A10), ("price_gone", L4)]}
    assert f"{L4} has no price any more, was 0.5 USD an hour" in report.causes[0].text


def test_an_expired_price_is_named_and_breaks_the_rule_about_it(catalogs: Catalogs, tmp_path: Path) -> None:
    """The policy admits it no more, so the plan does without; the rule speaks of what the baseline runs on, too."""
    path = Path(scenario(tmp_path).document.file)
    path.write_text(path.read_text().replace("max_price_age_days: null", "max_price_age_days: 30"))
    file = load_scenario_file(path)
    before = world(catalogs, l4="0.50", l40s="1.50")
    later = before.as_of + timedelta(days=20)
    fresh = offer("l40s", "1.50", as_of=later)
    today = replace(before, as_of=later, offers=(*(each for each in before.offers if each.gpu == "l4"), fresh))
    report = judged(file, today, baseline(file, before), old=before)
    assert caused(report) == {"prices": [("price_expired", L4)]}
    (reason,) = report.reasons
    assert (reason.rule, reason.limit) == ("expired_price", 30.0)
    assert "the policy allows: left out" in reason.text
    assert judged(file, today, baseline(file, before), old=before, allow_expired=("l4house",)).verdict == "kept"


def test_scenarios_are_named_at_their_lines(small: Catalogs, tmp_path: Path) -> None:
    one, two = scenario(tmp_path, "one"), scenario(tmp_path, "two", rate=60)
    report = gate([one, two], small, GateLimits(max_increase_usd=Decimal(0)), (baseline(one, small),))
    assert caused(report) == {"scenario": [("scenario_new", "two")]}
    assert (report.reasons[0].file, report.reasons[0].line) == (two.document.file, 1)


def test_a_price_that_several_scenarios_pay_stands_once(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    files = [scenario(tmp_path, name) for name in ("one", "two")]
    before = tuple(baseline(file, small) for file in files)
    report = gate(files, world(catalogs, l4="0.60", l40s="1.50"), GateLimits(), before)
    (price,) = report.causes[0].caused_by
    assert (price.name, price.change_usd) == (L4, Decimal("146.00"))


def test_shares_that_depend_on_an_order_say_so(small: Catalogs, catalogs: Catalogs, tmp_path: Path) -> None:
    before = baseline(scenario(tmp_path, rate=2), small)
    today = world(catalogs, l4="0.60", l40s="1.50")
    assert IN_ORDER in judged(scenario(tmp_path, rate=30), today, before).scenarios[0].notes
    assert judged(scenario(tmp_path, rate=2), today, before).scenarios[0].notes == []


@pytest.mark.parametrize("private", ["yes", "no"])
def test_prices_stand_where_their_rows_do(private: str, tmp_path: Path) -> None:
    """A discount of one's own is the row to look at, a private one is not; a row of one's own beats it."""
    header = (shipped_dir("catalogs") / "offers.csv").read_text(encoding="utf-8").splitlines()[0]
    own = offer("l4", "0.50")
    cells = {name: "" if value is None else str(value) for name, value in own.model_dump().items()}
    cells |= {"as_of": "2026-10-01", "source": "ours"}
    row = ",".join(cells.get(name, "") for name in header.split(","))
    (tmp_path / "offers.csv").write_text(f"{header}\n{row}\n")
    (tmp_path / "sources.csv").write_text(SOURCES + "ours,Deal,private,2026-10-01\n")
    heading = "provider,gpu,pricing_term,percent,private,source,as_of"
    (tmp_path / "discounts.csv").write_text(f"{heading}\naws,l4,on_demand,37,{private},ours,2026-10-01\n")
    known = load_catalogs(tmp_path)
    assert known.price_places[own.id] == PricePlace(f"{tmp_path}/offers.csv", 2, own=True)
    discounted = [each.id for each in known.offers if each.id in known.terms.discounts]
    assert discounted
    named = {known.price_places[name] for name in discounted}
    assert (named == {PricePlace(f"{tmp_path}/discounts.csv", 2, own=True)}) == (private == "no")
    others = {offer.id for offer in known.offers} - {own.id, *(discounted if private == "no" else ())}
    assert not any(known.price_places[name].own for name in others)


def test_a_row_that_fell_is_not_what_raised_the_cost(small: Catalogs, tmp_path: Path) -> None:
    """Of a cause that adds, the row that fell most stands first; the one that rose is the one to look at."""
    file = scenario(tmp_path)
    moved = [("fell", -9, 1), ("unknown", None, 2), ("rose", 5, 3)]
    named = [
        CausedBy(
            what="price_moved", name=n, change_usd=None if usd is None else Decimal(usd), file=n, line=line, text=n
        )
        for n, usd, line in moved
    ]
    report = judged(file, small, baseline(file, small))
    verdict = Verdict("max_increase_usd", None, broken=True, text="")
    for count, expected in ((3, ("rose", 3)), (2, ("unknown", 2)), (1, (file.document.file, 2))):
        cause = Cause(
            cause="prices",
            together_with=[],
            change_usd=Decimal(1),
            share_percent=100.0,
            text="",
            caused_by=named[:count],
        )
        places = Places(report.scenarios, {"support": file}, small, [cause])
        assert places.of(verdict) == expected
