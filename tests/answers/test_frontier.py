"""Every point of a frontier is the optimum of the edited scenario, and its breakpoints are where the cost changes."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from support.command import Command
from support.scenarios import accepting, monthly_cost

from optimizer import load_scenario
from optimizer.answers.planning.frontier import Frontier, frontier, sweep_of
from optimizer.base.errors import Exit, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import Outline
from optimizer.plan.variants import frontier as swept
from optimizer.plan.variants.frontier import Sweep, set_to
from optimizer.report.exits import exit_of
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.frontier import frontier_answer


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    return market_of("nebius", "verda")


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return accepting(load_scenario("chat-8b"))


@pytest.fixture(scope="module")
def line(few: Catalogs, scenario: Scenario) -> Frontier:
    return frontier(scenario, few, [sweep_of("tpot_ms=2:42:5", scenario)])


@pytest.fixture(scope="module")
def asked(few: Catalogs, scenario: Scenario) -> Inquiry:
    return Inquiry.of(scenario, few)


def cost(scenario: Scenario, few: Catalogs, **tpot: float) -> str | None:
    first = scenario.workloads[0]
    slo = first.slo.model_copy(update={"tpot_ms": first.slo.tpot_ms.model_copy(update=tpot)})  # type: ignore[union-attr]
    edited = scenario.model_copy(update={"workloads": (first.model_copy(update={"slo": slo}),)})
    usd = monthly_cost(edited, few)
    return None if usd is None else f"{usd:.2f}"


@pytest.mark.parametrize(
    ("field", "found", "told"),
    [
        ("tpot_ms", [90, 95, None, 80, 85], [90, 90, 90, 80, 80]),
        ("requests_per_second", [80, 70, None, 75, 90], [70, 70, 75, 75, 90]),
    ],
)
def test_a_search_cut_short_knows_the_plans_of_points_that_ask_for_more(
    field: str, found: list[int | None], told: list[int], monkeypatch: pytest.MonkeyPatch, asked: Inquiry
) -> None:
    """A page showed a cost that rose by half where TTFT could be longer. What is proven stays."""

    def point(usd: int | None) -> swept.Point:
        outcome: Outcome = "optimal" if usd == 70 else "unproven" if usd is None else "feasible"
        return swept.Point({}, outcome, None if usd is None else Outline(monthly_cost_usd=Decimal(usd)))

    sweep = Sweep(field, 10, 50, 5)
    for first, second in ((sweep, None), (Sweep("confidence", 0.5, 0.6, 2), sweep)):
        costs = found if second is None else [usd for usd in found for _ in range(2)]
        each = map(point, costs)
        monkeypatch.setattr(swept, "_at", lambda *_, each=each: next(each))
        rows = swept.points(asked, first, second, lambda: None)
        lines = rows if second is None else list(zip(*rows, strict=True))
        assert [[point.cost_usd for point in line] for line in lines] == [told] * len(lines)
        assert {point.outcome for line in lines for point in line} <= {"feasible", "optimal"}


def test_every_point_is_the_optimum_there(line: Frontier, few: Catalogs, scenario: Scenario) -> None:
    assert [point.values["tpot_ms"] for point in line.points] == [2, 12, 22, 32, 42]
    assert line.points[0].plan is None
    for point in line.model_dump(mode="json")["points"]:
        assert point["monthly_cost_usd"] == cost(scenario, few, mean=point["values"]["tpot_ms"])


def test_the_cost_changes_within_each_bracket_and_nowhere_else(
    line: Frontier, few: Catalogs, scenario: Scenario
) -> None:
    assert line.breakpoints
    for item in line.model_dump(mode="json")["breakpoints"]:
        assert item["changes_at"] / item["holds_to"] <= 1.011
        assert item["before_usd"] != item["after_usd"]
        assert cost(scenario, few, mean=item["changes_at"]) == item["after_usd"]
    told = [None if p.monthly_cost_usd is None else p.monthly_cost_usd for p in line.points]
    walked = [line.breakpoints[0].before_usd, *(item.after_usd for item in line.breakpoints)]
    assert [c for k, c in enumerate(told) if k == 0 or c != told[k - 1]] == [c for c in walked if c in told]


def test_changes_that_are_missing_are_said_to_be(
    line: Frontier, few: Catalogs, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert line.complete
    assert "may" not in answer_text(frontier_answer(line))
    monkeypatch.setattr(swept, "MAX_CHANGES", 1)
    short = frontier(scenario, few, [sweep_of("tpot_ms=2:42:2", scenario)])
    assert (short.complete, len(short.breakpoints)) == (False, 1)
    assert short.summary.endswith("; the plan may change at more values than are told.")
    assert "There may be more" in answer_markdown(frontier_answer(short))


def test_that_there_is_no_plan_is_only_said_where_that_is_proven(line: Frontier) -> None:
    nowhere = line.model_copy(update={"plans": []})
    assert exit_of(nowhere) is Exit.NO_PLAN
    assert exit_of(nowhere.model_copy(update={"complete": False})) is Exit.UNPROVEN


def test_two_sweeps_make_a_grid_that_text_and_markdown_show(few: Catalogs, scenario: Scenario) -> None:
    grid = frontier(
        scenario, few, [sweep_of("ttft_ms=300:600:2", scenario), sweep_of("chat.confidence=0.5:0.9:2", scenario)]
    )
    assert len(grid.points) == 4
    assert {tuple(point.values) for point in grid.points} == {("ttft_ms", "chat.confidence")}
    text = answer_text(frontier_answer(grid))
    assert "chat.confidence ↓ ttft_ms →" in text
    assert max(map(len, text.splitlines())) <= 120
    assert answer_markdown(frontier_answer(grid)).startswith("# Frontier of chat-8b\n")


def test_latencies_of_several_statistics_move_together(scenario: Scenario) -> None:
    raw = scenario.model_dump(exclude_defaults=True)
    raw["workloads"][0]["slo"]["ttft_ms"] = {"p50": 200, "p95": 500}
    moved = set_to(Scenario.model_validate(raw), Sweep("ttft_ms", 100, 200, 2), 100)
    assert moved.workloads[0].slo.ttft_ms is not None
    assert moved.workloads[0].slo.ttft_ms.limits_ms() == {"p50": 100, "p95": 250}


@pytest.mark.parametrize(
    ("sweep", "hint"),
    [
        ("tpto_ms=1:2:3", "did you mean tpot_ms"),
        ("ttft_ms=1:2", "for instance"),
        ("ttft_ms=5:5:3", "no range"),
        ("ttft_ms=1:2:1", "no range"),
        ("ttft_ms=0:2:3", "no range"),
        ("ttft_ms=1:2:nan", "no range"),
        ("ttft_ms=1:2:inf", "no range"),
        ("nobody.ttft_ms=1:2:3", "no workload"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused_with_a_hint(sweep: str, hint: str, scenario: Scenario) -> None:
    with pytest.raises(InputError, match=hint):
        sweep_of(sweep, scenario)


def test_values_outside_the_range_of_their_field_are_refused(few: Catalogs, scenario: Scenario) -> None:
    with pytest.raises(InputError, match=r"cannot be 1\.5: .*\.min_quality: must be less than or equal to 1"):
        frontier(scenario, few, [Sweep("min_quality", 0.9, 1.5, 3)])


def test_what_a_field_cannot_stand_beside_is_said_as_a_scenario_that_says_it_is_told(catalogs: Catalogs) -> None:
    with pytest.raises(InputError, match="nobody waits for a single answer of a batch with a deadline"):
        frontier(load_scenario("night-batch"), catalogs, [Sweep("ttft_ms", 3000, 6000, 3)])


def test_a_frontier_without_any_plan_says_so_and_exits_with_3(optimizer: Command) -> None:
    result = optimizer("frontier", "infeasible-latency", "--sweep", "tpot_ms=20:30:2")
    assert result.code == 3
    assert result.out.startswith("No plan meets infeasible-latency anywhere along tpot_ms.")
