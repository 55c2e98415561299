"""The text of a plan is a page for who decides: question, plan, what else there is, what to settle before signing."""

import re
from collections.abc import Callable
from decimal import Decimal

import pytest

from optimizer import load_scenario
from optimizer.answers.planning.optimize import optimized
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.uncertainty.evidence import setups_measured
from optimizer.plan.explain.comparing import NOT_HELD, OF_FIRST_PAGE
from optimizer.plan.grounds.benchmark import FEW_SETUPS
from optimizer.plan.grounds.filters import idle_filters
from optimizer.plan.grounds.question import asked
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import ReplicaChanges
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text
from optimizer.report.plan.brief import BEARINGS, choices_in_short, question_in_short, shortened
from optimizer.report.plan.running import deployments_in_short
from optimizer.report.plan.schedule import schedule_in_short
from optimizer.report.plan.sections import plan_answer, plan_sections

MAX_LINES = {1: 22, 2: 27}
"""Lines with words of a plan with so many deployments."""
MOST_LINES, LINES_OF_ONE_MORE = 28, 4
"""Of a page whose plan changes over the week or serves several workloads; of each deployment beyond the second."""
PAGE = ["Question", "Plan", "What else it could cost a month", "Before you sign", "How sure"]


@pytest.mark.parametrize(
    "name", ["api-at-night", "chat-70b", "ci-gate", "eu-residency", "mixed-chat-rag", "office-hours", "three-clouds"]
)
def test_pages_with_hours_or_several_workloads_are_not_much_longer(
    name: str, planned: Callable[[str], PlanReport]
) -> None:
    report = planned(name)
    text, more = answer_text(plan_answer(report, verbose=False)), max(0, len(report.deployments) - 2)
    assert len([line for line in text.splitlines() if line]) <= MOST_LINES + LINES_OF_ONE_MORE * more
    assert max(map(len, text.splitlines())) <= DEFAULT_WIDTH


def test_the_first_plan_names_a_measured_card_at_a_seller_that_one_can_sign_with(
    planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    """Measured in some setup; how few they are stands where the page says what to measure first."""
    report = planned("chat-8b")
    (d,) = report.deployments
    assert (d.provenance.performance, d.provenance.price_confidence) == ("calibrated", "listed")
    assert d.provenance.seller in ("hyperscaler", "established")
    setups = setups_measured(catalogs, d.gpu, d.engine)
    assert setups.alike > 0
    assert report.explanation.benchmark is not None
    few = f"; {d.gpu} is known by {setups.alike} published setup"
    assert (few in report.explanation.benchmark.text) == (setups.alike < FEW_SETUPS)
    assert "proven optimal on measured speeds" in report.explanation.summary
    assert not report.accepted


def test_instances_that_several_deployments_share_are_counted_and_paid_once(
    planned: Callable[[str], PlanReport],
) -> None:
    report = planned("two-shifts")
    (purchase,) = report.purchases
    assert len(report.deployments) == 2
    first, second = deployments_in_short(report).table.rows
    assert first[1].startswith(f"{purchase.instances}× secure-h100-sxm at runpod")
    assert first[-1] == f"{report.monthly_cost_usd:,.2f}"
    assert second[1] == f"the same {purchase.instances}× secure-h100-sxm"
    assert second[-1] == ""


def test_of_a_week_the_page_says_what_comes_and_goes(planned: Callable[[str], PlanReport]) -> None:
    report = planned("office-hours")
    *lines, rest = schedule_in_short(report).lines
    coming = [item for item in report.purchases if not item.always_paid]
    assert [line.rpartition(", ")[2] for line in lines] == [
        f"{item.instance_hours_per_month:,.0f} instance-hours a month" for item in coming
    ]
    assert all(line.startswith("0 to ") for line in lines)
    assert rest == "each hour: --verbose"
    assert schedule_in_short(planned("chat-8b")).lines == ()


def test_a_plan_that_costs_less_is_never_called_safer(planned: Callable[[str], PlanReport]) -> None:
    """Without a loss to survive it is bolder; and what hardly saves is left out."""
    explained, row = planned("chat-8b").explanation, planned("chat-8b").explanation.alternatives[0]
    less = row.model_copy(
        update={
            "kind": "availability",
            "change": "no loss",
            "monthly_cost_usd": Decimal(90),
            "difference_usd": Decimal(-10),
        }
    )
    hardly = less.model_copy(update={"kind": "spot", "change": "hardly", "difference_usd": Decimal("-0.5")})
    shown = explained.model_copy(update={"alternatives": [less, hardly], "opportunities": [], "also_priced": []})
    assert [row[:2] for row in choices_in_short(shown, Decimal(100)).table.rows] == [("bolder", "no loss")]


def test_a_plan_that_is_simpler_and_safer_says_both(planned: Callable[[str], PlanReport]) -> None:
    explained, row = planned("chat-8b").explanation, planned("chat-8b").explanation.alternatives[0]
    safer = row.model_copy(
        update={
            "kind": "availability",
            "change": "any may fail",
            "monthly_cost_usd": Decimal(110),
            "difference_usd": Decimal(10),
        }
    )
    simpler = safer.model_copy(update={"kind": "configurations", "change": "of one kind"})
    shown = explained.model_copy(update={"alternatives": [safer, simpler], "opportunities": [], "also_priced": []})
    rows = choices_in_short(shown, Decimal(100)).table.rows
    assert [row[:2] for row in rows] == [("simpler, safer", "of one kind")]


def test_what_may_save_is_told_where_no_plan_is_known_that_holds(planned: Callable[[str], PlanReport]) -> None:
    explained, row = planned("chat-8b").explanation, planned("chat-8b").explanation.alternatives[0]
    why = "with spot: saves at most $30.00 a month, the time limit was reached"
    bounded = row.model_copy(
        update={
            "kind": "spot",
            "change": "with spot",
            "monthly_cost_usd": None,
            "at_least_usd": Decimal(70),
            "text": why,
        }
    )
    dear = bounded.model_copy(update={"kind": "sellers", "change": "dearer", "at_least_usd": Decimal(120)})
    empty = {"alternatives": [], "opportunities": [], "also_priced": [], "only_bounded": [dear, bounded]}
    table = choices_in_short(explained.model_copy(update=empty), Decimal(100)).table
    assert table.rows == (("wider", "with spot", "≥ $70", "≥ −$30", "no plan known yet: its share of the time was up"),)
    broke = bounded.model_copy(update={"text": f"with spot: saves at most $30.00 a month, {NOT_HELD}"})
    again = choices_in_short(explained.model_copy(update=empty | {"only_bounded": [broke]}), Decimal(100)).table
    assert again.rows[0][-1] == "no plan known yet that holds in simulation"


def test_long_lists_and_phrases_are_cut_where_they_say_so(planned: Callable[[str], PlanReport]) -> None:
    report = planned("chat-8b")
    lists = "policy: gpus allow l4, l40s, a10g, t4, h100-sxm; max gpus 3; planned on 90 % bounds"
    asked_in_short = question_in_short(report.model_copy(update={"asked": ("chat: x", lists)})).lines
    assert asked_in_short == ("chat: x", "policy: gpus allow l4, l40s, a10g and 2 more; max gpus 3")
    sure = question_in_short(report.model_copy(update={"asked": ("chat: x", "policy: planned on 50 % bounds")})).lines
    assert sure[-1] == "policy: planned on 50 % bounds"
    assert shortened("1× 8×h100-sxm int4 (gcp europe-north1 spot), 2× l4 fp8 (aws us-east-1)") == (
        "1× 8×h100-sxm int4 (gcp spot) + 1 more"
    )
    assert shortened("1× 8×h100-sxm fp8/int4/bf16/fp4 (vultr reserved 3y)").endswith("(vultr reserved 3y)")
    assert shortened("2× l4 fp8 (aws eu-south-2 spot)") == "2× l4 fp8 (aws eu-south-2 spot)"


@pytest.mark.parametrize("name", ["chat-8b", "qwen3-32b", "shared-replicas"])
def test_the_page_is_short_and_in_the_order_of_a_decision(name: str, planned: Callable[[str], PlanReport]) -> None:
    report = planned(name)
    assert [section.title for section in plan_sections(report)] == PAGE
    text = answer_text(plan_answer(report, verbose=False))
    # one line more says what a cheaper, less simple plan would take
    told = report.simplicity is not None and report.simplicity.cheapest is not None
    assert len([line for line in text.splitlines() if line]) <= MAX_LINES[len(report.deployments)] + told
    assert not re.search(r"\de[+-]\d", text)
    assert "measure first: one replica of " in text
    assert len(answer_text(plan_answer(report, verbose=True)).splitlines()) > 2 * len(text.splitlines())


def test_the_question_is_restated_with_what_the_policy_asks() -> None:
    chat, policy = asked(load_scenario("chat-8b"))
    assert chat.startswith("chat: llama-3.1-8b, 4.5 requests/s, 1,024 tokens in and 256 out, TTFT p95 ≤ 500 ms")
    assert policy == "policy: planned on 90 % bounds"
    *_, policy = asked(load_scenario("three-clouds"))
    assert "providers allow aws, gcp, azure; regions allow us-*, eastus*, centralus" in policy
    assert "survive loss of provider; max provider share 0.4" in policy
    assert (
        "moves from what runs today by at most 2 replicas, $50.00 a replica" in asked(load_scenario("moving-day"))[-1]
    )
    assert ", users in germany" in asked(load_scenario("two-continents"))[0]


def test_a_list_that_lets_nothing_in_is_told_with_what_keeps_its_offers_out(catalogs: Catalogs) -> None:
    raw = load_scenario("chat-8b").model_dump()
    raw["policy"] |= {"gpus": {"allow": ["l4", "rtx5090"]}, "providers": {"allow": ["aws", "gcp"]}}
    scenario = Scenario.model_validate(raw)
    told = list(idle_filters(scenario, Inquiry.of(scenario, catalogs).market))
    assert len(told) == 1
    assert told[0].startswith("policy.gpus: rtx5090 lets nothing in, what else is asked excludes its offers (")


def test_what_the_first_page_tells_is_asked_for_it() -> None:
    """And nothing else beside a plan, where that page is all that is wanted."""
    told = {kind for kinds in BEARINGS.values() for kind in kinds} - {"hosted_api", "confidence"}
    assert told == OF_FIRST_PAGE


def test_how_far_a_plan_may_be_off_is_told_by_what_none_costs_less_than(planned: Callable[[str], PlanReport]) -> None:
    """One figure on the page and none where nothing is open."""
    closed = planned("chat-8b")
    left_open = closed.model_copy(update={"bound_usd": 123.45, "relative_gap": 0.1})
    by_a_hair = closed.model_copy(update={"bound_usd": closed.cheapest_usd, "relative_gap": 1e-9})
    for report, words in ((closed, ""), (by_a_hair, ""), (left_open, "none costs less than $123.45")):
        (text,) = (section.lines[0] for section in plan_sections(report, verbose=False) if section.title == "How sure")
        assert ("none costs less" in text) == bool(words)
        assert words in text
        assert "gap" not in text


def test_what_was_not_looked_for_is_told(planned: Callable[[str], PlanReport]) -> None:
    """A plan may not be the simplest, and one comparison is left out for its own share of a limit."""
    closed = planned("chat-8b")
    assert closed.simplicity is not None
    told = closed.explanation.model_copy(update={"not_worked_out": ["without runpod"]})
    unsure = closed.simplicity.model_copy(update={"proven": False})
    for report, words in (
        (
            closed.model_copy(update={"simplicity": unsure}),
            "a simpler plan within 5 % of the cheapest is not ruled out",
        ),
        (closed.model_copy(update={"explanation": told}), "1 comparison left out as its share of a limit was used up"),
    ):
        (text,) = (section.lines for section in plan_sections(report, verbose=False) if section.title == "How sure")
        assert words in text
        assert words not in str(plan_sections(closed))


def test_which_plans_were_not_considered_is_told_where_the_first_line_names_those_that_were(
    planned: Callable[[str], PlanReport],
) -> None:
    closed = planned("chat-8b")
    scope = closed.scope.model_copy(update={"not_considered": ["batches at other rates", "4-bit weights"]})
    narrow = closed.model_copy(update={"scope": scope, "bound_of": "the plans considered"})
    for report, told in ((closed, False), (narrow, True)):
        (text,) = (section.lines for section in plan_sections(report, verbose=False) if section.title == "How sure")
        assert ("not considered: batches at other rates; 4-bit weights" in text) == told


def test_what_moving_costs_stands_with_the_plan(planned: Callable[[str], PlanReport]) -> None:
    """It is in the amount and in no row."""
    moved = ReplicaChanges(started=1, stopped=0, one_time_cost_usd=Decimal(50))
    lines = deployments_in_short(planned("chat-8b").model_copy(update={"migration": moved})).lines
    assert lines[1] == "moving from what runs today: 1 replica started, 0 stopped, $50.00 once, counted in the amount"


def test_a_page_is_that_of_the_whole_answer(planned: Callable[[str], PlanReport], catalogs: Catalogs) -> None:
    whole = planned("chat-8b")
    short = optimized(load_scenario("chat-8b"), catalogs, Clock(), first_page=True).report
    pages = [answer_text(plan_answer(report, verbose=False)) for report in (whole, short)]
    assert pages[0] == pages[1]
    assert not short.explanation.marginal_values
    assert {item.kind for item in short.explanation.alternatives} < {
        item.kind for item in whole.explanation.alternatives
    }
