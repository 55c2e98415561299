"""When to commit, by hand: terms, payments, purchases and branches on a market of few offers; false figures seen."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command import Command
from support.scenarios import with_workload
from support.tables import OFFERS, OWNED, SELLERS, SOURCES

from optimizer import HorizonReport, horizon, load_catalogs, load_scenario
from optimizer.answers.ahead.horizon.strategies import quantile_of, value_between
from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.restating import restated
from optimizer.inputs.scenario.scenario import Deadline, Scenario
from optimizer.plan.question.asking import first_with_a_plan
from optimizer.plan.question.batches import at_best_hours
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.verify.ahead.horizon import verify_horizon
from optimizer.program.horizon.problem import HorizonProblem
from optimizer.program.horizon.solve import Purchases, cost_usd, solve_horizon
from optimizer.report.ahead.horizon import horizon_answer
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text

ON_DEMAND, RESERVED = 10, 6
"""USD/h of four H100."""
QUAD = "acme,neocloud,us,quad,h100-sxm,4,nvlink,{price},{term},2026-11-01,litgpt-0.5.13,listed\n"
OWN = "rack,basement,h100-sxm,4,nvlink,3,100000,36,0.1,4,1.5,0.1,100,0,62,mine,2026-10-01\n"


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    """One machine on demand and for a year, and three of one's own for sale."""
    folder = tmp_path_factory.mktemp("acme")
    offers = [QUAD.format(price=ON_DEMAND, term="on_demand"), QUAD.format(price=RESERVED, term="reserved_1y")]
    (folder / "offers.csv").write_text(OFFERS + "".join(offers))
    (folder / "sellers.csv").write_text(SELLERS + "acme,established,yes,yes,litgpt-0.5.13,2026-11-01\n")
    (folder / "owned.csv").write_text(OWNED + OWN)
    (folder / "sources.csv").write_text(SOURCES + "mine,the quote,private,2026-10-01\n")
    return load_catalogs(folder)


Asked = Callable[..., tuple[HorizonReport, Scenario]]
STAYS = {"name": "stays", "weight": 1, "from_month": 4, "growth_percent_per_month": 0}


@pytest.fixture(scope="module")
def asked(acme: Catalogs) -> Asked:
    """The answer for a life, on the offers of this page alone."""
    base = load_scenario("chat-70b")

    def answer(
        policy: dict[str, Any] | None = None, growth: float = 0, lifecycle: dict[str, Any] | None = None, **life: Any
    ) -> tuple[HorizonReport, Scenario]:
        own = {"providers": {"allow": ["acme", "owned"]}, "hosting": ["rented"], "gpus": {"allow": ["h100-sxm"]}}
        admits = base.policy.model_dump() | own | (policy or {})
        whole = {"months": 12, "growth_percent_per_month": growth, "horizon": life} | (lifecycle or {})
        scenario = Scenario.model_validate(base.model_dump() | {"policy": admits, "lifecycle": whole})
        return horizon(scenario, acme, wanted_gap=0.0), scenario

    return answer


@pytest.fixture(scope="module")
def year(asked: Asked) -> tuple[HorizonReport, Scenario]:
    """A year that is certain."""
    return asked({"max_gpus": 100})


def test_a_year_that_is_certain_is_signed_for_at_once(year: tuple[HorizonReport, Scenario]) -> None:
    found, _ = year
    assert found.outcome == "optimal"
    assert [(each.instances, each.term_months, each.last_month) for each in found.sign_now] == [(1, 12, 12)]
    assert found.expected_usd == RESERVED * HOURS_PER_MONTH * 12
    assert {each.name: each.expected_usd for each in found.strategies} == {
        "on demand alone": ON_DEMAND * HOURS_PER_MONTH * 12,
        "month by month": RESERVED * HOURS_PER_MONTH * 12,
    }
    # 12 months at 6 USD are paid by 8 at 10
    assert [each.months for each in found.break_even] == [8]
    assert found.value_of_perfect_information is None


def test_paid_at_once_it_must_be_cheaper_than_its_months_are_worth(asked: Asked) -> None:
    """At 10 % a year twelve months count as 11.5, so 4 % off beats paying month by month and 3 % off does not."""
    rate = 1.1 ** (-1 / 12)
    worth = sum(rate**month for month in range(12)) / 12
    for percent, payment in ((4.5, "upfront"), (4.0, "monthly")):
        found, _ = asked(discount_percent_per_year=10, prepayment_discount_percent=percent)
        assert [each.payment for each in found.sign_now] == [payment]
        share = 1 - percent / 100 if payment == "upfront" else worth
        # the discount is in the price of an hour, in both tables
        paid = RESERVED * (1 - percent / 100) if payment == "upfront" else RESERVED
        (term,) = (each for each in found.break_even if each.payment == payment)
        assert [float(each.usd_per_instance_hour) for each in found.sign_now] == pytest.approx([paid])
        assert float(term.usd_per_hour) == pytest.approx(paid)
        assert float(found.expected_usd or 0) == pytest.approx(RESERVED * HOURS_PER_MONTH * 12 * share)
    assert 0.955 < worth < 0.96


def test_what_is_owed_after_the_end_counts_unless_it_is_of_use(asked: Asked) -> None:
    short, _ = asked(months=6)
    assert not short.sign_now
    assert short.expected_usd == ON_DEMAND * HOURS_PER_MONTH * 6
    useful, _ = asked(months=6, used_after_share=1)
    assert useful.expected_usd == RESERVED * HOURS_PER_MONTH * 6
    assert useful.owed_after_usd == RESERVED * HOURS_PER_MONTH * 6


def test_demand_that_may_double_is_signed_for_in_part(asked: Asked) -> None:
    """What is needed in any case is signed for, what may be needed is rented until the branch is known."""
    doubles = {"name": "doubles", "weight": 0.5, "from_month": 2, "growth_percent_per_month": 900}
    steady = {"name": "steady", "weight": 0.5, "from_month": 2, "growth_percent_per_month": 0}
    found, _ = asked(months=2, branches=[doubles, steady], used_after_share=1)
    assert [(each.instances, each.branches) for each in found.sign_now] == [(1, ["doubles", "steady"])]
    assert {name for each in found.sign_later for name in each.branches} == {"doubles"}
    (now,) = [each for each in found.by_month if each.month == 1]
    assert now.probability == 1


def test_prices_that_rise_are_signed_for_before(asked: Asked) -> None:
    """On demand is cheaper this month; a third dearer from month 2 on, it is not."""
    rises = [{"providers": ["acme"], "step_month": 2, "step_percent": 100}]
    found, _ = asked(months=13, price_changes=rises, used_after_share=0)
    assert found.sign_now[0].usd_per_instance_hour == RESERVED
    expected = RESERVED * HOURS_PER_MONTH * 12 + 2 * ON_DEMAND * HOURS_PER_MONTH
    assert found.expected_usd == pytest.approx(Decimal(expected))


def test_a_machine_is_bought_run_and_sold(asked: Asked) -> None:
    """100,000 at once, 4 kW × 1.5 × 0.1 USD and 162 a month, less what a straight line to a tenth leaves."""
    found, _ = asked({"hosting": ["owned"]})
    (bought,) = found.sign_now
    running = 4 * 1.5 * HOURS_PER_MONTH * 0.1 + 162
    assert (bought.payment, bought.term_months) == ("bought", 12)
    assert float(bought.monthly_usd) == pytest.approx(running)
    assert float(bought.returned_usd) == pytest.approx(100_000 * (1 - 0.9 * 12 / 36))
    assert float(found.expected_usd or 0) == pytest.approx(100_000 * 0.9 * 12 / 36 + 12 * running)


def test_running_what_is_paid_for_costs_the_same_in_every_month(tmp_path: Path) -> None:
    """4 kW × 1.5 × 0.1 USD and 162 a month: prices of machines, and paying rent ahead, change none of it."""
    (tmp_path / "owned.csv").write_text(OWNED.replace("\n", ",sunk\n") + OWN.replace("\n", ",yes\n"))
    (tmp_path / "sources.csv").write_text(SOURCES + "mine,the quote,private,2026-10-01\n")
    base = load_scenario("chat-70b")
    policy = base.policy.model_dump() | {"hosting": ["owned"]}
    unknown = {"price_changes": [{"percent_per_year": -50}], "prepayment_discount_percent": 10}
    life = {"months": 3, "horizon": unknown}
    scenario = Scenario.model_validate(base.model_dump() | {"policy": policy, "lifecycle": life})
    found = horizon(scenario, load_catalogs(tmp_path), wanted_gap=0.0)
    running = 4 * 1.5 * HOURS_PER_MONTH * 0.1 + 162
    assert [float(each.bill_usd) for each in found.by_month] == pytest.approx([running] * 3)


def test_what_purchases_do_not_keep_is_refused_by_name(asked: Asked) -> None:
    with pytest.raises(InputError) as refused:
        asked({"spare_replicas": 1, "max_monthly_usd": 9000})
    assert {finding.field for finding in refused.value.findings} == {"policy.spare_replicas", "policy.max_monthly_usd"}
    with pytest.raises(InputError, match="matches nothing"):
        asked(price_changes=[{"gpus": ["h1000*"], "percent_per_year": 3}])
    with pytest.raises(InputError, match="grows beyond 1,000,000 requests/s in month 7"):
        asked(months=60, growth=1000)
    with pytest.raises(ValueError, match="after the last month"):
        asked(months=3, branches=[STAYS])


def test_a_limit_that_no_month_keeps_leaves_no_purchases(asked: Asked) -> None:
    found, _ = asked({"max_gpus": 4}, growth=60)
    assert (found.outcome, found.expected_usd) == ("infeasible", None)
    assert "No purchases" in answer_text(horizon_answer(found))


TAMPERED: dict[str, Callable[[dict[str, Any]], None]] = {
    "months": lambda told: told["by_month"].pop(),
    "demand": lambda told: told["by_month"][1].update(demand_factor=0.5),
    "service": lambda told: told["by_month"][2]["hours"][0]["serving"].clear(),
    "held": lambda told: told["sign_now"].clear(),
    "prices": lambda told: told["sign_now"][0].update(usd_per_instance_hour="5.00"),
    "contracts": lambda told: told["sign_now"][0].update(monthly_usd="4000.00"),
    "bills": lambda told: told["by_month"][3].update(bill_usd="1.00"),
    "sums": lambda told: told.update(expected_usd="50000.00"),
    "branches": lambda told: told["sign_now"][0].update(branches=["another"]),
    "limits": lambda told: told["sign_now"][0].update(instances=40),
}


def test_verification_sees_that_the_last_month_is_left_out(
    year: tuple[HorizonReport, Scenario], acme: Catalogs
) -> None:
    found, scenario = year
    less = found.model_copy(update={"months": found.months - 1, "by_month": found.by_month[:-1]})
    (check, *_) = verify_horizon(less, scenario, acme).checks
    assert (check.name, check.passed) == ("months", False)
    assert check.text == f"{found.months - 1} of {found.months} months are planned"


@pytest.mark.parametrize("check", TAMPERED)
def test_verification_sees_what_was_changed(check: str, year: tuple[HorizonReport, Scenario], acme: Catalogs) -> None:
    found, scenario = year
    told = json.loads(found.model_dump_json())
    TAMPERED[check](told)
    verdict = verify_horizon(HorizonReport.model_validate(told), scenario, acme)
    assert not verdict.passed
    assert check in {each.name for each in verdict.checks if not each.passed}


def _of_serving(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Changes all that serves."""

    def change(told: dict[str, Any]) -> None:
        for month in told["by_month"]:
            for hours in month["hours"]:
                for serving in hours["serving"]:
                    serving.update(changes)

    return change


def _planned_for_less(told: dict[str, Any]) -> None:
    for hours in told["by_month"][0]["hours"]:
        hours["requests_per_second"] = dict.fromkeys(hours["requests_per_second"], 0.01)


SAID: dict[str, Callable[[dict[str, Any]], None]] = {
    "is decided with branches that it is told apart from": lambda told: told["by_month"][0]["branches"].append("ghost"),
    "the hours of month 1 are": lambda told: told["by_month"][0]["hours"][0].update(share_of_month=0.001),
    "does not tell every hour of the week": lambda told: told["by_month"][0]["hours"][0]["hours_of_week"].pop(),
    "is planned for 0.01 of": _planned_for_less,
    "GPUs of replicas on an instance": _of_serving(replicas_per_instance=99),
    "l4 on": _of_serving(gpu="l4"),
    "is not sold by the hour": _of_serving(held=False),
    "USD an hour in month": _of_serving(usd_per_instance_hour="0.01"),
    "is not considered": lambda told: told.update(pricing_terms=[]),
    "signed in month 1 counts": lambda told: told["sign_now"][0].update(net_present_usd="1.00"),
    "what is decided in month 2": lambda told: told["by_month"][1].update(net_present_usd="1.00"),
    "expected counts": lambda told: told["branches"][0].update(net_present_usd="1.00"),
    "branches by weight count": lambda told: told.update(expected_usd="50000.00"),
    "is above the cost": lambda told: told.update(bound_usd="99999999.00"),
    "the gap is not": lambda told: told.update(relative_gap=0.5),
}
"""Words of a finding, and what it finds."""


@pytest.mark.parametrize("words", SAID)
def test_verification_says_what_was_changed(words: str, year: tuple[HorizonReport, Scenario], acme: Catalogs) -> None:
    found, scenario = year
    told = json.loads(found.model_dump_json())
    SAID[words](told)
    verdict = verify_horizon(HorizonReport.model_validate(told), scenario, acme)
    assert any(words in check.text for check in verdict.checks if not check.passed)


def test_a_batch_is_held_to_its_highest_hour(year: tuple[HorizonReport, Scenario], acme: Catalogs) -> None:
    found, scenario = year
    more = with_workload(scenario, requests_per_second=100.0, demand=None)
    # as if the hours of the batch had been read into that rate
    (workload,) = (
        each.model_copy(update={"deadline": Deadline(requests=360_000, start=0, by=1)}) for each in more.workloads
    )
    batch = more.model_copy(update={"workloads": (workload,)})
    verdict = verify_horizon(found, batch, acme)
    assert any("requests/s at most" in check.text for check in verdict.checks if not check.passed)


def test_a_batch_has_hours_in_which_its_largest_month_fits(acme: Catalogs) -> None:
    """Of a batch that doubles on four GPUs it said that there are none, in the hours that were best at first."""
    batch = {"requests": 115_000, "start": "22:00", "by": "06:00"}
    one = {"name": "night", "model": "llama-3.1-70b", "input_tokens": 500, "output_tokens": 200, "deadline": batch}
    policy = {"providers": {"allow": ["acme"]}, "max_gpus": 4}
    life = {"months": 3, "growth_percent_per_month": 100}
    asked = {"name": "night", "workloads": [one], "policy": policy, "lifecycle": life}
    found = horizon(restated(Scenario.model_validate(asked)), acme)
    assert found.outcome == "optimal"
    hours_a_day = {
        sum(len(each.hours_of_week) for each in month.hours if each.serving) // 7 for month in found.by_month
    }
    assert hours_a_day == {6}
    words = "batches of night worked on in other hours than those best in month 1, or in the busiest"
    assert words in found.scope.not_considered


LIMITED = {
    "kW in month 1": {"max_power_kw": 0.001},
    "GPUs of quota": {"quotas": [{"gpu": "h100-sxm", "max_gpus": 1}]},
}


@pytest.mark.parametrize("words", LIMITED)
def test_verification_holds_purchases_to_every_limit(
    words: str, year: tuple[HorizonReport, Scenario], acme: Catalogs
) -> None:
    found, scenario = year
    asked = scenario.model_dump() | {"policy": scenario.policy.model_dump() | LIMITED[words]}
    verdict = verify_horizon(found, Scenario.model_validate(asked), acme)
    assert any(words in check.text for check in verdict.checks if not check.passed)


def test_verification_holds_purchases_to_what_there_is(year: tuple[HorizonReport, Scenario], acme: Catalogs) -> None:
    nothing = replace(acme.terms, available_instances=dict.fromkeys((offer.id for offer in acme.offers), 0))
    verdict = verify_horizon(*year, replace(acme, terms=nothing))
    assert any("instances of" in check.text for check in verdict.checks if check.name == "limits" and not check.passed)


def test_the_command_answers_first_and_names_what_is_missing(optimizer: Command, tmp_path: Path) -> None:
    life = "lifecycle: {months: 2, growth_percent_per_month: 5}\n"
    scenario = (
        "name: small\nworkloads: [{name: chat, model: llama-3.1-8b, requests_per_second: 2, input_tokens: 500, "
        "output_tokens: 100}]\npolicy: {gpus: {allow: [l4]}}\n"
    )
    path = tmp_path / "small.yaml"
    path.write_text(scenario + life)
    result = optimizer("horizon", str(path), "--quiet")
    assert (result.code, result.out.startswith("$")) == (0, True)
    path.write_text(scenario)
    without = optimizer("horizon", str(path), "--quiet")
    assert (without.code, "lifecycle" in without.err) == (2, True)


def test_both_forms_say_the_same(year: tuple[HorizonReport, Scenario]) -> None:
    answer = horizon_answer(year[0])
    for form in (answer_text(answer), answer_markdown(answer)):
        assert "Sign now" in form
        assert "1× acme quad" in form
        assert "Break-even" in form


def test_prices_may_go_on_as_they_were_observed(asked: Asked, acme: Catalogs) -> None:
    """The lists of AWS's H100 fell by 44 % in not quite three years; at established sellers Hopper rose."""
    (aws,) = [trend for trend in acme.terms.price_trends if (trend.provider, trend.variant) == ("aws", "p5.48xlarge")]
    assert aws.percent_per_year == pytest.approx(-17.9, abs=0.1)
    rises = [{"gpus": ["h100*"], "percent_per_year": "observed", "until_month": 13}]
    found, _ = asked(months=14, pricing_terms=["on_demand"], price_changes=rises)
    alike = sorted(
        trend.percent_per_year
        for trend in acme.terms.price_trends
        if trend.pricing_term == "on_demand"
        and acme.gpus[trend.gpu].architecture == "hopper"
        and acme.terms.seller_kind(trend.provider, "") == "established"
    )
    middle = (alike[(len(alike) - 1) // 2] + alike[len(alike) // 2]) / 2
    bills = [float(each.bill_usd) for each in found.by_month]
    assert bills[12] / bills[0] == pytest.approx(1 + middle / 100)
    assert bills[13] == pytest.approx(bills[12])


def test_a_month_is_the_plan_of_that_month(catalogs: Catalogs) -> None:
    """Two models by day and by night, on machines that keep theirs or on some that are started for each shift.

    The program of one month comes to the same cost.
    """
    base = load_scenario("two-shifts")
    policy = base.policy.model_dump() | {"pricing_terms": ["on_demand", "reserved_1y"]}
    month = {"months": 1, "horizon": {"used_after_share": 1}}
    scenario = Scenario.model_validate(base.model_dump() | {"policy": policy, "lifecycle": month})
    found = horizon(scenario, catalogs, wanted_gap=0.0)
    inquiry = Inquiry.of(scenario, catalogs)
    plan = first_with_a_plan(inquiry, lambda asked: solved_for_least_cost(at_best_hours(asked))).solution
    assert float(found.expected_usd or 0) == pytest.approx(plan.cost_usd_per_month)


def test_a_quantile_is_the_least_value_that_is_not_exceeded_so_often() -> None:
    weight = np.array([0.5, 0.3, 0.2])
    assert [quantile_of([3.0, 1.0, 9.0], weight, share) for share in (0.3, 0.5, 0.8, 0.81)] == [1, 3, 3, 9]


def test_what_knowing_is_worth_is_told_only_between_proven_costs() -> None:
    assert value_between((100.0, 98.0), (90.0, 90.0), gap=0.01) is None
    value = value_between((100.0, 99.0), (90.0, 89.5), gap=0.01)
    assert value is not None
    assert (value.lowest_usd, value.usd, value.highest_usd) == (Decimal(9), Decimal(10), Decimal("10.5"))


@pytest.mark.parametrize("percent", [3, 5, 7, 8, 11])
def test_differences_are_those_of_the_figures_that_are_told(percent: int, asked: Asked) -> None:
    """Of 26,642.12 and 20,875.34 USD it was said that they are 5,766.77 apart, and of equals −0.00."""
    doubles = {"name": "doubles", "weight": 0.3, "from_month": 3, "growth_percent_per_month": 60}
    steady = {"name": "steady", "weight": 0.7, "from_month": 3, "growth_percent_per_month": 1}
    found, _ = asked(months=7, branches=[doubles, steady], discount_percent_per_year=percent, used_after_share=0.3)
    told = json.loads(found.model_dump_json())
    expected = Decimal(told["expected_usd"])
    for each in told["strategies"]:
        assert Decimal(each["more_usd"]) == Decimal(each["expected_usd"]) - expected
    for each in told["branches"]:
        assert Decimal(each["regret_usd"]) == Decimal(each["net_present_usd"]) - Decimal(each["known_usd"])
    assert "-0.00" not in json.dumps(told)
    (known,) = (each for each in found.strategies if each.name == "every branch known")
    assert known.outcome == "optimal"


def test_what_another_way_found_for_less_is_the_answer(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that a limit ended may know purchases that cost more than renting, or than signing month by month."""

    def stopped(problem: HorizonProblem, clock: Clock, gap: float) -> Purchases:
        found = solve_horizon(problem, clock, gap)
        dear = replace(found, sign=found.sign * 3)
        cost = cost_usd(problem, dear.sign, dear.run, dear.serve)
        return replace(dear, status="feasible", expected_usd=cost, bound_usd=0.0)

    monkeypatch.setattr("optimizer.answers.ahead.horizon.horizon.solve_horizon", stopped)
    found, _ = asked()
    assert found.expected_usd == RESERVED * HOURS_PER_MONTH * 12
    assert [each.instances for each in found.sign_now] == [1]
    assert min(each.more_usd for each in found.strategies if each.more_usd is not None) == 0


@pytest.mark.parametrize(("months", "even"), [(6, None), (9, 8)])
def test_a_term_that_outlasts_the_months_breaks_even_by_its_whole_cost(
    months: int, even: int | None, asked: Asked
) -> None:
    """12 months at 6 USD are 8 at 10 whatever of them is still of use, and no 6 months are enough."""
    found, _ = asked(months=months, used_after_share=1)
    assert [(each.months, each.usd_per_hour) for each in found.break_even] == [(even, Decimal(RESERVED))]


def test_a_term_is_used_no_longer_than_it_lasts(asked: Asked) -> None:
    falls = [{"pricing_terms": ["on_demand"], "step_month": 2, "step_percent": -50}]
    found, _ = asked(months=24, price_changes=falls)
    assert [each.months for each in found.break_even] == [None]
    assert "not reached" in answer_text(horizon_answer(found))


def test_each_month_for_itself_counts_a_term_by_what_it_costs_a_month(asked: Asked) -> None:
    """On demand costs 5 USD when more is needed, a year 6: it is rented, whatever is of use after the last month."""
    falls = [{"pricing_terms": ["on_demand"], "step_month": 2, "step_percent": -50}]
    found, _ = asked(growth=900, months=2, price_changes=falls, used_after_share=1)
    (own,) = [each for each in found.strategies if each.name == "month by month"]
    assert own.owed_after_usd == RESERVED * HOURS_PER_MONTH * 10


def test_what_of_a_lifecycle_is_no_part_of_it_is_said(asked: Asked) -> None:
    run = {"name": "tune", "gpus": 8, "hours": 12, "usd_per_gpu_hour": 2.5}
    found, _ = asked(months=1, lifecycle={"training": [run], "replan_every_months": 3})
    left_out = "; ".join(found.scope.not_considered)
    assert "training" in left_out
    assert "replan_every_months" in left_out
