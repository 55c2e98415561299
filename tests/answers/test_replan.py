"""Yesterday's plans against today: what stays, what moves and pays back, what must move, what is new or gone."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from support.command import Command
from support.gate_cases import baseline, offer, scenario, world

from optimizer.answers.gate.baseline import Baseline
from optimizer.answers.many.replan.choice import PlanOfToday, ReplanChoice
from optimizer.answers.many.replan.replan import replan
from optimizer.answers.many.replan.types import Replanned, ReplanReport
from optimizer.answers.many.replan.words import sentence
from optimizer.answers.planning import until_it_holds
from optimizer.base.errors import InputError
from optimizer.cli.many.replan import exit_code
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile, load_scenario_file
from optimizer.inputs.scenario.policy import Migration
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json
from optimizer.report.layout.text import answer_text
from optimizer.report.many.replan import replan_answer


def costing(folder: Path, usd_per_change: float, name: str = "support") -> ScenarioFile:
    """The scenario where each replica that is started or stopped costs so much."""
    path = folder / f"{name}.yaml"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    text = text or Path(str(scenario(folder, name).document.file)).read_text(encoding="utf-8")
    path.write_text(f"{text}  migration: {{in_force: [], usd_per_change: {usd_per_change}}}\n", encoding="utf-8")
    return load_scenario_file(str(path))


def only(report: ReplanReport) -> Replanned:
    (found,) = report.scenarios
    return found


@pytest.fixture
def before(tmp_path: Path, catalogs: Catalogs) -> Baseline:
    """One L4 at 0.40 USD/h: 292.00 a month."""
    return baseline(scenario(tmp_path), world(catalogs, l4="0.40", l40s="1.50"))


def test_what_is_still_best_stays(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    report = replan([scenario(tmp_path)], world(catalogs, l4="0.50", l40s="1.50"), [before])
    found = only(report)
    assert (found.advice, found.before_usd, found.stay_usd, found.after_usd) == (
        *("stay", Decimal("292.00"), Decimal("365.00")),
        Decimal("365.00"),
    )
    assert (found.saves_usd_per_month, found.one_time_usd, found.replicas_changed) == (None, Decimal(0), 0)
    assert [price.what for price in found.prices] == ["price_moved"]
    assert report.summary == "1 scenario: 1 to leave as they are."


@pytest.mark.parametrize(("l4", "l40s", "advice"), [("0.40", "0.015", "move"), ("0.004", "1.50", "stay")])
def test_nothing_moves_onto_a_price_far_from_what_others_ask_without_a_word(
    tmp_path: Path, catalogs: Catalogs, before: Baseline, l4: str, l40s: str, advice: str
) -> None:
    """One price slipped by three digits; others ask what they did."""
    others = tuple(
        offer(gpu, usd).model_copy(update={"provider": f"{gpu}other{number}"})
        for gpu, usd in (("l4", "0.60"), ("l40s", "1.60"))
        for number in range(5)
    )
    today = world(catalogs, l4=l4, l40s=l40s)
    report = replan([scenario(tmp_path)], replace(today, offers=(*today.offers, *others)), [before])
    found = only(report)
    assert found.advice == advice
    (warning,) = found.warnings
    odd = "l4" if advice == "stay" else "l40s"
    assert f"{odd}house/us/box/1x{odd}/on_demand: {odd}house asks" in warning
    assert "have the price confirmed" in warning
    assert report.summary.endswith("have an odd price confirmed first.")
    assert warning in answer_text(replan_answer(report)).replace("\n    ", " ")


def test_a_move_is_worth_it_where_it_pays_back_within_the_months(
    tmp_path: Path, catalogs: Catalogs, before: Baseline
) -> None:
    """The L4 went to 0.80 USD/h, an L40S to 0.50: 584 against 365 a month, 219 saved for two replicas changed."""
    today = world(catalogs, l4="0.80", l40s="0.50")
    free = only(replan([scenario(tmp_path)], today, [before]))
    assert (free.advice, free.stay_usd, free.after_usd) == ("move", Decimal("584.00"), Decimal("365.00"))
    assert (free.saves_usd_per_month, free.one_time_usd, free.replicas_changed) == (Decimal("219.00"), Decimal(0), 2)
    dear = costing(tmp_path, 150)
    assert only(replan([dear], today, [before])).advice == "stay"
    report = replan([dear], today, [before], months=2)
    worth = only(report)
    assert (worth.advice, worth.after_usd, worth.one_time_usd) == ("move", Decimal("365.00"), Decimal("300.00"))
    assert worth.pays_back_months == pytest.approx(300 / 219)
    assert worth.text.startswith("move: $365.00 instead of $584.00 a month; 2 replicas to start or stop, $300.00 once")
    assert {change.sign for change in worth.deployments} == {"+", "-"}
    table, moved = replan_answer(report).sections
    assert table.table.rows == (("support", "move", "$292.00", "$584.00", "$365.00", "$219.00", "$300.00"),)
    assert moved.lines[0] == worth.text


def test_what_cannot_be_bought_any_more_must_move(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    found = only(replan([scenario(tmp_path)], world(catalogs, l40s="1.50"), [before]))
    assert (found.advice, found.stay_usd, found.after_usd) == ("must_move", None, Decimal("1095.00"))
    assert [price.what for price in found.prices] == ["price_gone"]


def test_what_breaks_a_promise_under_simulated_load_must_move(
    tmp_path: Path, catalogs: Catalogs, before: Baseline
) -> None:
    """One L4 is predicted to keep a TTFT of 210 ms, and simulated requests wait longer: nothing is saved by moving."""
    found = only(replan([scenario(tmp_path, ttft=210)], world(catalogs, l4="0.40", l40s="1.50"), [before]))
    assert (found.advice, found.stay_usd, found.after_usd) == ("must_move", None, Decimal("584.00"))
    assert found.saves_usd_per_month is None


def test_replicas_of_quiet_hours_start_freely_and_are_neither_counted_nor_paid(
    tmp_path: Path, catalogs: Catalogs
) -> None:
    """Yesterday L40S by day and night; today an L4 is cheaper at night, which no plan counts as a change."""
    busy = f"demand: {{hourly: {[1] * 8 + [20] * 10 + [1] * 6}, peak_requests_per_second: 20}}"
    path = Path(str(scenario(tmp_path).document.file))
    text = path.read_text(encoding="utf-8").replace("requests_per_second: 2", busy)
    elastic = (
        "  simplicity_percent: 0\n  elastic: {start_up_minutes: 5}\n  migration: {in_force: [], usd_per_change: 100}\n"
    )
    path.write_text(text + elastic, encoding="utf-8")
    file = load_scenario_file(path)
    unasked = file.scenario.policy.model_copy(update={"migration": None})
    bare = replace(file, scenario=file.scenario.model_copy(update={"policy": unasked}))
    report = replan([file], world(catalogs, l4="0.40", l40s="0.60"), [baseline(bare, world(catalogs, l40s="0.60"))])
    found = only(report)
    assert (found.advice, found.replicas_changed, found.one_time_usd) == ("stay", 0, Decimal(0))
    assert found.after_usd == found.stay_usd
    assert "+" in {change.sign for change in found.deployments}
    assert found.text.endswith("; what moves freely stands below")
    assert [section.title for section in replan_answer(report).sections][:2] == ["All scenarios", "support"]


def test_a_week_in_which_nothing_changed_stays_as_simple_as_it_is(tmp_path: Path, catalogs: Catalogs) -> None:
    """Under unchanged prices an L4 was added at night, for it is free to, and less than the percentage was saved."""
    busy = f"demand: {{hourly: {[1] * 8 + [20] * 10 + [1] * 6}, peak_requests_per_second: 20}}"
    path = Path(str(scenario(tmp_path).document.file))
    text = path.read_text(encoding="utf-8").replace("requests_per_second: 2", busy)
    path.write_text(f"{text}  simplicity_percent: 50\n  elastic: {{start_up_minutes: 5}}\n", encoding="utf-8")
    file, same = load_scenario_file(path), world(catalogs, l4="0.55", l40s="0.60")
    before = baseline(file, same)
    assert {each.gpu for each in before.plan.deployments} == {"l40s"}
    found = only(replan([file], same, [before]))
    assert found.advice == "stay"
    assert found.before_usd == found.stay_usd == found.after_usd
    assert {change.sign for change in found.deployments} == {"="}


def test_demand_that_what_runs_cannot_serve_must_move(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    grown = replan([scenario(tmp_path, rate=20)], world(catalogs, l4="0.40", l40s="1.50"), [before])
    assert (only(grown).advice, only(grown).stay_usd) == ("must_move", None)


def test_new_removed_and_impossible_scenarios_are_told(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    today = world(catalogs, l4="0.40", l40s="1.50")
    files = [scenario(tmp_path, "fresh"), scenario(tmp_path, "hopeless", ttft=1)]
    report = replan(files, today, [before])
    assert [each.advice for each in report.scenarios] == ["new", "no_plan"]
    assert [(each.scenario, each.before_usd) for each in report.removed] == [("support", Decimal("292.00"))]
    assert report.summary == "2 scenarios: 1 new, 1 without a plan, 1 removed."


def test_what_is_undecided_says_that_better_may_be_found_and_is_in_no_sum(
    tmp_path: Path, catalogs: Catalogs, before: Baseline
) -> None:
    dear, today = costing(tmp_path, 1), world(catalogs, l4="0.80", l40s="0.50")
    report = replan([dear], today, [before], work_limit=1)
    assert (only(report).advice, report.one_time_usd, report.saves_usd_per_month) == ("undecided", 0, 0)
    assert "what is shown is the best found by then, at most" in only(report).text
    bound_usd, after_usd = only(report).bound_usd, only(report).after_usd
    assert bound_usd is not None
    assert after_usd is not None
    assert bound_usd <= after_usd + 2


@pytest.mark.parametrize(
    ("best_usd", "bound_usd", "advice", "leaves"),
    [
        (None, "286.00", "stay", False),
        ("290.00", "286.00", "stay", False),
        (None, "146.00", "undecided", False),
        ("300.00", None, "undecided", False),
        ("200.00", "160.00", "undecided", True),
    ],
)
def test_what_runs_is_the_best_known_where_a_limit_left_nothing_cheaper(
    best_usd: str | None, bound_usd: str | None, advice: str, *, leaves: bool, tmp_path: Path, before: Baseline
) -> None:
    """Of 292.00 USD a month. Nothing was advised where no plan can save what is worth a move."""
    file, stays = scenario(tmp_path), PlanOfToday(before.plan, 0, holds=True, known=True)
    found = None if best_usd is None else before.plan.model_copy(update={"monthly_cost_usd": Decimal(best_usd)})
    bound = None if bound_usd is None else Decimal(bound_usd)
    best = PlanOfToday(found, 2, holds=found is not None, known=False, bound_usd=bound)
    choice = ReplanChoice(file, None, before.running, stays, best)
    assert (choice.advice, choice.changed, choice.holds) == (advice, 2 if leaves else 0, True)
    assert choice.after == (found if leaves else before.plan)
    doubtful = replace(choice, stays=replace(stays, holds=False))
    assert doubtful.advice == "undecided"


@pytest.mark.parametrize(
    ("after_usd", "bound_usd", "holds", "says"),
    [
        ("292.00", "146.00", True, "what runs may stay, at most 100.0 % above the cheapest"),
        ("292.00", None, True, "what runs may stay, how far above the cheapest is not known"),
        ("200.00", "160.00", True, "what is shown is the best found by then, at most 25.0 % above the cheapest"),
        (
            "292.00",
            "292.00",
            False,
            "what is shown is the best found by then, at most 0.0 % above the cheapest; whether",
        ),
        (None, None, False, "no plan was found by then"),
    ],
)
def test_what_is_undecided_says_how_far_the_best_may_be_above_the_cheapest(
    after_usd: str | None, bound_usd: str | None, says: str, *, holds: bool
) -> None:
    after, bound = (None if usd is None else Decimal(usd) for usd in (after_usd, bound_usd))
    told = Replanned.model_construct(
        advice="undecided", stay_usd=Decimal("292.00"), after_usd=after, bound_usd=bound, deployments=[],
        saves_usd_per_month=None, replicas_changed=0, one_time_usd=Decimal(0), pays_back_months=None,
    )  # fmt: skip
    assert sentence(told, after, holds=holds).startswith(f"a limit was reached before it was known; {says}")


def test_what_stays_and_what_is_best_against_it_are_simulated_once(
    tmp_path: Path, catalogs: Catalogs, before: Baseline, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated: list[None] = []
    confirmed = until_it_holds.confirmed
    monkeypatch.setattr(until_it_holds, "confirmed", lambda *given: simulated.append(None) or confirmed(*given))
    found = only(replan([costing(tmp_path, 10)], world(catalogs, l4="0.40", l40s="1.50"), [before]))
    assert (found.advice, len(simulated)) == ("stay", 1)


def test_what_a_scenario_says_runs_stands_in_for_a_plan_of_yesterday(
    tmp_path: Path, catalogs: Catalogs, before: Baseline
) -> None:
    file = scenario(tmp_path)
    migration = Migration(in_force=before.running, usd_per_change=10)
    policy = file.scenario.policy.model_copy(update={"migration": migration})
    own = replace(file, scenario=file.scenario.model_copy(update={"policy": policy}))
    found = only(replan([own], world(catalogs, l4="0.80", l40s="0.50"), []))
    assert (found.advice, found.baseline, found.stay_usd, found.one_time_usd) == (
        *("move", None, Decimal("584.00")),
        Decimal(20),
    )


def test_a_plan_that_does_not_say_what_runs_is_refused(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    bare = [each.model_copy(update={"tensor_parallel": 0}) for each in before.plan.deployments]
    old = Baseline(before.file, before.plan.model_copy(update={"deployments": bare}))
    with pytest.raises(InputError, match="does not say how its replicas are laid out"):
        replan([scenario(tmp_path)], world(catalogs, l4="0.40"), [old])


def test_what_is_paid_by_the_second_is_refused(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    """It has a plan that replan does not see: it was told to have none."""
    file = scenario(tmp_path)
    policy = file.scenario.policy.model_copy(update={"hosting": ("per_second",)})
    seconds = replace(file, scenario=file.scenario.model_copy(update={"policy": policy}))
    with pytest.raises(InputError, match="paid by the second"):
        replan([seconds], catalogs, [before])


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    """Both would keep the one plan of yesterday, and its machines would be counted twice."""
    (tmp_path / "other").mkdir()
    files = [scenario(tmp_path), scenario(tmp_path / "other")]
    with pytest.raises(InputError, match="has the same name, support"):
        replan(files, world(catalogs, l4="0.40"), [before])


def test_the_exit_code_is_the_gravest_of_what_there_is(tmp_path: Path, catalogs: Catalogs, before: Baseline) -> None:
    report = replan([scenario(tmp_path)], world(catalogs, l4="0.40", l40s="1.50"), [before])
    assert exit_code(report) == 0
    for advice, code in (("move", 1), ("new", 1), ("must_move", 1), ("undecided", 4), ("no_plan", 3)):
        found = only(report).model_copy(update={"advice": advice})
        assert exit_code(report.model_copy(update={"scenarios": [*report.scenarios, found]})) == code


@pytest.mark.slow("plans a shipped scenario twice more")
def test_the_command_writes_one_page_and_removed_scenarios_are_something_to_do(
    planned: Callable[[str], PlanReport], optimizer: Command, tmp_path: Path
) -> None:
    """`ci-gate` stays, and the plan of `chat-8b` has no scenario any more."""
    for name in ("ci-gate", "chat-8b"):
        (tmp_path / f"{name}.json").write_text(as_json(planned(name)), encoding="utf-8")
    said = optimizer("replan", "ci-gate", "--baseline", str(tmp_path), "--format", "json")
    report = ReplanReport.model_validate_json(said.out)
    assert (said.code, only(report).advice, [each.scenario for each in report.removed]) == (1, "stay", ["chat-8b"])
