"""What a command says when its time or its work is up: a verified plan, its gap, and all that was left out."""

import re
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from ortools.math_opt import model_pb2
from ortools.math_opt.core.python import solver as mathopt
from support.command import Command

from optimizer.answers.planning.optimize import _for_comparing, optimized
from optimizer.base import memory
from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.base.memory import Memory, resident_bytes
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import find_scenario, load_scenario
from optimizer.plan.question import solving
from optimizer.plan.record.report import PlanReport
from optimizer.program import solver
from optimizer.program.solver import solve_linear
from optimizer.report.export import as_json


@pytest.fixture(scope="module")
def hasty(catalogs: Catalogs) -> PlanReport:
    """A plan for which there was no time at all."""
    return optimized(load_scenario("account-limits"), catalogs, Clock(0.0)).report


def test_without_time_there_is_a_verified_plan_with_its_gap(hasty: PlanReport) -> None:
    assert (hasty.outcome, hasty.verification.passed) == ("feasible", True)
    assert hasty.bound_usd is not None
    assert hasty.monthly_cost_usd is not None
    assert 0 < hasty.bound_usd <= hasty.monthly_cost_usd
    assert "the time limit was reached" in hasty.solver.reason


def test_what_there_was_no_time_for_is_left_out_and_said(hasty: PlanReport) -> None:
    explained = hasty.explanation
    assert not [*explained.alternatives, *explained.opportunities, *explained.marginal_values]
    assert any(text.startswith("without ") and ": not compared" in text for text in explained.not_worked_out)
    assert any(text.startswith("what further steps cost: not worked out") for text in explained.not_worked_out)


def test_the_scope_says_that_the_search_was_cut_short(hasty: PlanReport, planned: Callable[[str], PlanReport]) -> None:
    assert not hasty.scope.exact
    assert hasty.bound_of == "plans on machines of measured speed"
    assert any("when the time limit was" in text for text in hasty.scope.not_considered)
    whole = planned("chat-8b")
    assert (whole.scope.exact, whole.scope.not_considered, whole.bound_of) == (True, [], hasty.bound_of)


def test_a_proof_among_predicted_mixes_says_so(planned: Callable[[str], PlanReport]) -> None:
    plan = planned("mixed-chat-rag")
    assert (plan.outcome, plan.scope.exact, plan.bound_of) == ("optimal", False, "the plans considered")
    assert "proven optimal of the plans considered" in plan.explanation.summary
    assert plan.scope.statement.startswith("none of the plans considered costs less; not considered: ")


def test_the_same_work_gives_the_same_bytes(catalogs: Catalogs) -> None:
    scenario = load_scenario("office-hours")
    one, other = (optimized(scenario, catalogs, Clock(work_limit=60)).report for _ in range(2))
    without_time = {"solver": one.solver.model_copy(update={"wall_s": 0.0})}
    assert one.solver.reason.startswith("the work limit was reached")
    assert as_json(one.model_copy(update=without_time)) == as_json(other.model_copy(update=without_time))


def test_a_plan_cut_short_says_how_far_it_is_above_its_bound(catalogs: Catalogs) -> None:
    one = optimized(load_scenario("office-hours"), catalogs, Clock(work_limit=60)).report
    said = re.search(r", at most ([\d.]+) % above the cheapest( on measured speeds)?: ", one.explanation.summary)
    assert said is not None, one.explanation.summary
    assert one.monthly_cost_usd is not None
    assert one.bound_usd is not None
    above = one.monthly_cost_usd / one.bound_usd - 1
    assert above * 100 <= Decimal(said[1]) < above * 100 + Decimal("0.2")


def test_an_exact_week_that_takes_long_to_set_up_is_not_begun_after_the_limit(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solving, "exact_hours", lambda _: pytest.fail("an exact week was begun"))
    monkeypatch.setattr(solving, "MOST_CELLS_LATE", 0)
    report = optimized(load_scenario("office-hours"), catalogs, Clock(0.0)).report
    assert (report.outcome, report.verification.passed) == ("feasible", True)
    assert "the time limit was reached" in report.solver.reason
    assert "with no proof of how far it is above the cheapest" in report.explanation.summary


@pytest.mark.parametrize("work", [400, 1200, 4800])
def test_wherever_the_work_ends_there_is_an_answer(work: int, catalogs: Catalogs) -> None:
    report = optimized(load_scenario("model-choice"), catalogs, Clock(work_limit=work)).report
    assert report.verification.passed
    assert report.explanation.not_worked_out or report.outcome == "optimal"


class Full(Memory):
    """What is used up after so many looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    @property
    def used_up(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("looks", [1, 2, 3])
def test_wherever_memory_ends_there_is_a_verified_plan(looks: int, catalogs: Catalogs) -> None:
    report = optimized(load_scenario("account-limits"), catalogs, Clock(memory=Full(looks))).report
    assert (report.outcome, report.verification.passed) == ("feasible", True)
    assert "the memory limit was reached" in report.solver.reason


class FullForAMoment(Memory):
    """What is used up at the second look at it only."""

    looks = 0

    @property
    def used_up(self) -> bool:
        self.looks += 1
        return self.looks == 2


def test_memory_that_was_freed_since_is_what_ended_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(solver, "MOST_ENTRIES_AT_ONCE", -1)
    monkeypatch.setattr(mathopt, "solve", lambda *_, **__: never.wait())
    clock, proto = Clock(memory=FullForAMoment()), model_pb2.ModelProto()
    assert solve_linear(proto, clock).status == "unproven"
    never.set()
    assert clock.reached == "memory limit"


def test_memory_that_is_used_up_stays_so() -> None:
    clock = Clock(memory=Full(1))
    part = clock.part()
    assert (clock.reached, part.reached, clock.reached) == (None, "memory limit", "memory limit")


def test_what_a_process_holds_is_known_here() -> None:
    assert 10**7 < resident_bytes() < Memory().limit_bytes < float("inf")
    assert Memory(0.001).used_up
    assert not Memory(10**6).used_up


def test_where_no_file_tells_what_a_process_holds_the_most_that_it_held_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    now = resident_bytes()
    monkeypatch.setattr(memory, "RESIDENT", tmp_path / "none")
    assert 0.9 * now < resident_bytes() < Memory().limit_bytes


def test_a_limit_that_nothing_can_tell_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "RESIDENT", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert not Memory().used_up
    assert not Memory(float("inf")).used_up
    with pytest.raises(InputError, match="does not tell how much memory"):
        Memory(8.0)


def test_without_memory_for_the_candidates_there_is_no_answer(optimizer: Command, tmp_path: Path) -> None:
    asked = tmp_path / "asked-nowhere-else.yaml"  # what these tests predicted before is kept
    asked.write_text(find_scenario("chat-8b").read_text("utf-8").replace("1024", "1019"), "utf-8")
    done = optimizer("plan", asked, "--max-memory-gb", "0.001")
    assert done.code == 4
    assert "error: no answer, for the memory limit was reached before anything was searched" in done.err
    assert "ask for fewer GPUs" in done.err


def test_limits_on_the_command_line(optimizer: Command) -> None:
    done = optimizer("plan", "chat-70b", "--work-limit", "1", "--format", "json")
    assert done.code == 4
    assert '"the work limit was reached' in done.out
    assert optimizer("gate", "chat-70b", "--work-limit", "1").code == 4
    assert optimizer("gate", "chat-8b").code == 0


def test_nothing_is_probed_between_mixes_after_the_limit(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random scenario 9041 probed for four seconds after its time was up, twice; what it proved is said of less."""

    def probed(_: object) -> None:
        pytest.fail("probed between mixes although no time was left")

    monkeypatch.setattr(solving, "_raised", probed)
    shared = load_scenario("shared-replicas")
    more = tuple(each.model_copy(update={"requests_per_second": 9.0}) for each in shared.workloads)
    found = optimized(shared.model_copy(update={"workloads": more}), catalogs, Clock(0.0)).report
    assert (found.outcome, found.verification.passed) == ("feasible", True)
    assert found.bound_of == "the plans considered"


def test_a_limit_that_nothing_reaches_is_none(optimizer: Command) -> None:
    for endless in (float("inf"), 1e20):
        clock = Clock(endless, 10**21).share(0.5)
        assert (clock.left_s(), clock.left_work(), clock.reached) == (None, None, None)
    assert optimizer("gate", "ci-gate", "--time-limit-s", "inf", "--work-limit", str(10**21)).code == 0


@pytest.mark.parametrize(("spent_s", "given_s"), [(1.0, 4.8), (6.0, 3.0), (20.0, 6.0)])
def test_comparisons_have_what_the_plan_left_of_a_share_of_the_limit_or_of_what_it_took(
    spent_s: float, given_s: float
) -> None:
    at_s = [0.0]
    clock = Clock(60.0, now=lambda: at_s[0])
    at_s[0] = spent_s
    assert _for_comparing(clock).time_limit_s == pytest.approx(given_s)
    assert _for_comparing(Clock(None)).time_limit_s is None
