"""A proposed choice is priced, or told what it fails, and every price and way in holds when tried."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import prod

import numpy as np
import pytest
from support.simpler import SIMPLER, of_two_cards

from optimizer.answers.compare.compare import compare
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.answers.planning.why_not import WhyNot, why_not
from optimizer.base.errors import Exit, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import load_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.pricing import repriced
from optimizer.plan.question.asking import as_decided
from optimizer.plan.question.forcing import Choice, offers_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.report.exits import exit_of
from optimizer.report.plan.why_not import why_not_answer

SCENARIO = {
    "name": "proposed",
    "workloads": [
        {
            "name": "chat",
            "model": "llama-3.1-8b",
            "requests_per_second": 6,
            "input_tokens": 900,
            "output_tokens": 200,
            "slo": {"ttft_ms": 1500, "tpot_ms": 100},
            "min_quality": 0.99,
        }
    ],
}
PROVIDERS = ("aws", "lambda", "nebius", "verda")
REGIONS = ("us-east-1", "eu-west-2")
"""Of the first one; what its many others sell answers no question here."""


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    sold = market_of(*PROVIDERS)
    return replace(sold, offers=tuple(o for o in sold.offers if o.provider != "aws" or o.region in REGIONS))


@pytest.fixture(scope="module")
def two_cards(catalogs: Catalogs) -> Catalogs:
    return of_two_cards(catalogs)


@pytest.fixture(scope="module")
def dearer(few: Catalogs) -> WhyNot:
    return asked(few, gpu="l4")


def asked(few: Catalogs, **changes: object) -> WhyNot:
    choice = Choice(**changes)  # type: ignore[arg-type]
    return why_not(Scenario.model_validate(SCENARIO), few, choice)


def of_measured(few: Catalogs) -> Inquiry:
    """The question as it is decided: of machines that somebody measured."""
    inquiry = Inquiry.of(Scenario.model_validate(SCENARIO), few)
    return as_decided(inquiry, confirmed_answer(inquiry))


def test_a_dearer_choice_is_explained_by_factors_that_multiply_to_the_difference(dearer: WhyNot) -> None:
    assert dearer.verdict == "dearer"
    assert dearer.monthly_cost_usd is not None
    assert dearer.optimal_monthly_cost_usd is not None
    assert {d.gpu for d in dearer.deployments} == {"l4"}
    ratio = float(dearer.monthly_cost_usd / dearer.optimal_monthly_cost_usd)
    assert prod(f.cost_factor for f in dearer.factors if f.cost_factor is not None) == pytest.approx(ratio, rel=1e-5)


def test_the_price_that_lets_it_in_does_and_a_little_more_does_not(dearer: WhyNot, few: Catalogs) -> None:
    (entry,) = (each for each in dearer.entries if each.way == "beside")
    inquiry = of_measured(few)
    as_simple = inquiry.as_simple_as(solved(inquiry).complexity)
    moved = offers_of(Choice(gpu="l4"), inquiry.market)
    factor = 1 - Decimal(str(entry.discount_percent)) / 100

    def gpus(at: Decimal) -> set[str]:
        return {d.gpu for d in read_back(solved(repriced(as_simple, moved, at))).deployments}

    assert "l4" in gpus(factor * Decimal("0.99"))
    assert "l4" not in gpus(factor * Decimal("1.01"))


def test_a_choice_that_is_cheaper_than_the_simpler_plan_that_is_shown_says_so(two_cards: Catalogs) -> None:
    """It was "as cheap as the optimum" at 523.48 USD less."""
    answer = why_not(Scenario.model_validate(SIMPLER), two_cards, Choice(gpu="a100-40-sxm"))
    assert (answer.verdict, answer.entries) == ("cheaper", [])
    assert answer.cheapest_usd == answer.monthly_cost_usd
    assert answer.difference_usd is not None
    assert answer.difference_usd < 0
    less = f"${-answer.difference_usd:,.2f}"
    assert f"a month, {less} (2.1 %) less than the plan of" in answer.summary
    assert f"which costs {less} more than the cheapest for being simpler" in answer.summary
    titles = [section.title for section in why_not_answer(answer).sections]
    assert ("The plan" in titles, "The optimum" in titles) == (True, False)


def test_the_plan_that_is_shown_is_no_optimum_where_it_is_simpler(two_cards: Catalogs) -> None:
    answer = why_not(Scenario.model_validate(SIMPLER), two_cards, Choice(gpu="h100-sxm"))
    assert (answer.verdict, answer.difference_usd) == ("chosen", 0)
    assert "this is the plan, which costs $523.48 more than the cheapest for being simpler" in answer.summary


def test_the_smallest_discount_that_brings_a_choice_in_is_named_first(two_cards: Catalogs) -> None:
    """Only that of a plan as simple as the one shown was, which takes a larger one."""
    answer = why_not(Scenario.model_validate(SIMPLER), two_cards, Choice(provider="aws"))
    assert [entry.way for entry in answer.entries] == ["alone", "beside"]
    whole, simple = answer.entries
    assert whole.discount_percent < simple.discount_percent
    assert answer.optimal_monthly_cost_usd is not None
    assert answer.monthly_cost_usd is not None
    paid = answer.monthly_cost_usd * (1 - Decimal(str(whole.discount_percent)) / 100)
    assert float(paid) == pytest.approx(float(answer.optimal_monthly_cost_usd))
    assert "with no more to operate" in simple.text


def test_what_is_already_chosen_is_said_to_be(few: Catalogs) -> None:
    best = read_back(solved(of_measured(few)))
    answer = asked(few, gpu=best.deployments[0].gpu, provider=best.deployments[0].provider)
    assert answer.verdict == "chosen"
    assert answer.difference_usd == 0
    assert answer.factors == answer.shortfalls == answer.entries == []


def test_a_failed_latency_is_told_by_how_much_and_the_way_out_is_feasible(few: Catalogs) -> None:
    scenario = {**SCENARIO, "workloads": [SCENARIO["workloads"][0] | {"slo": {"ttft_ms": 1500, "tpot_ms": 9}}]}  # type: ignore[index,operator]
    answer = why_not(Scenario.model_validate(scenario), few, Choice(gpu="l4"))
    assert answer.verdict == "fails"
    (shortfall,) = answer.shortfalls
    assert shortfall.requirement == "workloads[chat].slo.tpot_ms"
    assert shortfall.limit == 9
    assert shortfall.value is not None
    assert shortfall.value > 9
    assert answer.relaxations
    for way in answer.relaxations:
        (change,) = way.changes
        scenario["workloads"][0]["slo"] = {"ttft_ms": 1500, "tpot_ms": change.to}  # type: ignore[index]
        again = why_not(Scenario.model_validate(scenario), few, Choice(gpu="l4"))
        assert again.monthly_cost_usd == way.monthly_cost_usd


def test_policies_and_floors_that_bar_it_are_named_with_what_it_would_cost(few: Catalogs) -> None:
    spot = asked(few, pricing_term="spot", provider="verda")
    assert spot.verdict == "fails"
    assert [item.requirement for item in spot.shortfalls] == ["policy.pricing_terms"]
    assert spot.admitted_monthly_cost_usd is not None
    rough = asked(few, precision="int4")
    assert [item.requirement for item in rough.shortfalls] == ["workloads[chat].min_quality"]
    assert rough.shortfalls[0].value is not None
    assert rough.shortfalls[0].value < 0.99
    assert rough.admitted_monthly_cost_usd is not None


@pytest.mark.parametrize(("confidence", "said"), [(0.9, " ms of 9 ms at the 90 % bound, "), (0.5, " ms of 9 ms, ")])
def test_a_latency_that_is_missed_at_a_bound_says_so(confidence: float, said: str, few: Catalogs) -> None:
    """It told a bound as what is reached: 932 ms of a replica that is predicted to take 81."""
    raw = SCENARIO["workloads"][0] | {"slo": {"tpot_ms": 9}}
    scenario = Scenario.model_validate(SCENARIO | {"workloads": [raw], "policy": {"confidence": confidence}})
    texts = [each.text for each in why_not(scenario, few, Choice(gpu="l4")).shortfalls]
    assert any(said in text and "TPOT: " in text for text in texts), texts


def test_the_floor_of_the_worst_benchmark_is_named_with_both_numbers(few: Catalogs) -> None:
    raw = SCENARIO["workloads"][0] | {"min_quality": None, "min_quality_worst": 0.98}
    scenario = Scenario.model_validate(SCENARIO | {"workloads": [raw]})
    found = why_not(scenario, few, Choice(precision="int4"))
    (missed,) = found.shortfalls
    assert (missed.requirement, missed.value, missed.limit) == ("workloads[chat].min_quality_worst", 0.9434, 0.98)
    assert "quality on the worst benchmark: " in missed.text
    assert found.admitted_monthly_cost_usd is not None


def test_a_limit_of_the_policy_is_named_when_every_candidate_passes(few: Catalogs) -> None:
    scenario = Scenario.model_validate({**SCENARIO, "policy": {"max_gpus": 1}})
    answer = why_not(scenario, few, Choice(gpu="l4"))
    assert answer.verdict == "fails"
    assert "policy.max_gpus" in answer.summary
    assert answer.relaxations[0].changes[0].field == "policy.max_gpus"


def test_what_nobody_offers_is_said_with_where_it_is(few: Catalogs) -> None:
    answer = asked(few, gpu="h100-sxm", provider="aws", pricing_term="reserved_*", region="eu-west-2")
    assert answer.verdict == "not_offered"
    assert "h100-sxm is offered at" in answer.summary
    assert asked(few, tensor_parallel=3).verdict == "not_offered"


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"gpu": "h100sxm"}, "h100-sxm"),
        ({"gpu": "a100"}, "a100-40-sxm"),
        ({"gpu": "xx"}, r"known: a10, .* and \d+ more"),
        ({"provider": "lamda"}, "lambda"),
        ({"workload": "chta"}, "chat"),
        ({}, "--gpu"),
    ],
)
def test_unknown_names_and_empty_questions_are_answered_with_a_hint(
    changes: dict[str, object], hint: str, few: Catalogs
) -> None:
    with pytest.raises(InputError, match=hint):
        asked(few, **changes)


def test_moved_offers_are_those_of_the_choice(few: Catalogs) -> None:
    inquiry = Inquiry.of(Scenario.model_validate(SCENARIO), few)
    moved = offers_of(Choice(gpu="l4", provider="aws"), inquiry.market)
    assert moved.any()
    assert {(inquiry.market.offers[o].gpu, inquiry.market.offers[o].provider) for o in np.flatnonzero(moved)} == {
        ("l4", "aws")
    }


@pytest.mark.parametrize(
    ("kept_by", "field", "mended_by"),
    [
        ({"users_in": ["germany"]}, "users_in", {"users_in": ["germany"], "network_ms": {"*": 30}}),
        ({"providers": {"allow": ["lambda"]}}, "providers", {"providers": {"allow": ["lambda", "verda"]}}),
        ({"countries": {"deny": ["fi"]}}, "countries", {}),
    ],
)
def test_what_no_replica_may_stand_on_says_which_field_keeps_it_away(
    few: Catalogs, kept_by: dict[str, object], field: str, mended_by: dict[str, object]
) -> None:
    (chat,) = SCENARIO["workloads"]
    scenario = Scenario.model_validate({**SCENARIO, "workloads": [{**chat, **kept_by}]})  # type: ignore[dict-item]
    answer = why_not(scenario, few, Choice(provider="verda"))
    assert answer.verdict == "fails"
    assert [each.requirement for each in answer.shortfalls] == [f"workloads[chat].{field}"]
    assert "verda" in answer.shortfalls[0].text
    mended = Scenario.model_validate({**SCENARIO, "workloads": [{**chat, **mended_by}]})  # type: ignore[dict-item]
    assert why_not(mended, few, Choice(provider="verda")).monthly_cost_usd is not None


@pytest.fixture(scope="module")
def cut_short(catalogs: Catalogs) -> Callable[[str], WhyNot]:
    """A choice where one iteration neither finds a plan within the budget nor rules one out."""
    scenario = load_scenario("one-engine")
    within_14k = scenario.model_copy(update={"policy": scenario.policy.model_copy(update={"max_monthly_usd": 14_000})})

    def ask(gpu: str) -> WhyNot:
        return why_not(within_14k, catalogs, Choice(gpu=gpu), work_limit=1)

    return ask


def test_that_nothing_meets_the_scenario_is_said_only_where_it_is_proven(cut_short: Callable[[str], WhyNot]) -> None:
    answer = cut_short("h100-sxm")
    assert answer.optimal_monthly_cost_usd is None
    assert answer.optimal_outcome == "unproven"
    assert answer.summary.endswith("what would give it one is not known")
    assert exit_of(answer) is Exit.UNPROVEN
    assert why_not_answer(answer).sections[-1].lines[0] == "no plan was found in time, and none is ruled out"
    assert exit_of(answer.model_copy(update={"optimal_outcome": "infeasible"})) is Exit.NO_PLAN


def test_a_choice_whose_plan_was_not_found_in_time_fails_nothing(cut_short: Callable[[str], WhyNot]) -> None:
    answer = cut_short("mi300x")
    assert answer.verdict == "undecided"
    assert answer.summary == "gpu mi300x: no plan on it was found in time for one-engine, and none is ruled out"
    left_out = "whether a plan on it meets the scenario: not worked out, the work limit was reached"
    assert answer.not_worked_out == [left_out]
    assert exit_of(answer.model_copy(update={"optimal_outcome": "optimal"})) is Exit.UNPROVEN


def test_a_plan_that_is_not_proven_is_no_answer_of_exit_code_0(dearer: WhyNot) -> None:
    assert exit_of(dearer) is Exit.ANSWERED
    unproven = dearer.model_copy(update={"optimal_outcome": "feasible"})
    assert exit_of(unproven) is Exit.UNPROVEN
    assert exit_of(unproven.model_copy(update={"enough": True})) is Exit.ANSWERED


@pytest.mark.parametrize(("rate", "gpu"), [(5.2, "h100-sxm"), (7, "a100-40-sxm")])
def test_a_choice_costs_what_the_comparison_says(rate: float, gpu: str, two_cards: Catalogs) -> None:
    """Both ask for a plan as simple as the one shown, or the cheapest: of h100-sxm one said $36,982, one $42,992."""
    workload = SIMPLER["workloads"][0] | {"requests_per_second": rate}
    policy = SIMPLER["policy"] | {"simplicity_percent": 20}
    scenario = Scenario.model_validate(SIMPLER | {"workloads": [workload], "policy": policy})
    row = next(each for each in compare(scenario, two_cards, "gpu").choices if each.choice == gpu)
    alone = why_not(scenario, two_cards, Choice(gpu=gpu))
    assert alone.monthly_cost_usd == row.monthly_cost_usd
    assert row.summary in alone.summary
