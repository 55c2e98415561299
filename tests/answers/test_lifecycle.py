"""Training and serving add up by month: the articles' sums to the cent, every fleet the optimum of its demand."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.scenarios import shown
from support.tables import OFFERS, SELLERS

from optimizer import load_catalogs, load_scenario
from optimizer.answers.ahead.lifecycle.arithmetic import Training, checkpoints_held, inference_share, scaling_efficiency
from optimizer.answers.ahead.lifecycle.fleets import grown, growth_factor
from optimizer.answers.ahead.lifecycle.lifecycle import lifecycle
from optimizer.answers.ahead.lifecycle.training import exact
from optimizer.answers.ahead.lifecycle.types import LifecycleReport
from optimizer.base.errors import InputError
from optimizer.base.units import HOURS_PER_DAY
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.avoided import avoided
from optimizer.inputs.scenario.demand import Deadline
from optimizer.inputs.scenario.restating import restated
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.report.ahead.lifecycle import lifecycle_markdown, lifecycle_text, summary
from optimizer.report.export import as_json

H100_USD = Decimal("2.49")
ACME = OFFERS + ("acme,neocloud,us,quad,h100-sxm,4,nvlink,9.96,on_demand,2026-11-01,litgpt-0.5.13,listed\n")
FINE_TUNING = {"name": "tune", "gpu": "h100-sxm", "gpus": 8, "hours": 12, "usd_per_gpu_hour": 2.49}


def living(base: Scenario, policy: dict[str, Any] | None = None, **life: Any) -> Scenario:
    """The scenario with a lifecycle section, validated as if it had been written so."""
    changed = base.policy.model_dump() | (policy or {})
    return Scenario.model_validate(base.model_dump() | {"lifecycle": life, "policy": changed})


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    """The articles' price, on sale as four H100 an instance."""
    folder = tmp_path_factory.mktemp("acme")
    (folder / "offers.csv").write_text(ACME)
    (folder / "sellers.csv").write_text(SELLERS + "acme,established,yes,yes,litgpt-0.5.13,2026-11-01\n")
    return load_catalogs(folder)


@pytest.fixture(scope="module")
def shipped(catalogs: Catalogs) -> LifecycleReport:
    return lifecycle(load_scenario("lifecycle-70b"), catalogs)


def test_e1_to_e3_come_out_of_the_whole_answer(acme: Catalogs) -> None:
    """8 GPUs for 12 h and a fifth on top, then four H100 for a year: 286.85, 7,270.80 a month, 87,536.45 in all.

    The article adds 287 and 12 × 7,271, rounded before: 87,539.
    """
    policy = {"providers": {"allow": ["acme"]}}
    scenario = living(load_scenario("chat-70b"), policy, months=12, training=[FINE_TUNING | {"overhead_share": 0.2}])
    found = lifecycle(scenario, acme)
    assert found.training[0].cost_per_run_usd == Decimal("286.848")
    assert {month.serving_usd for month in found.by_month} == {Decimal("7270.80")}
    totals = [found.by_month[n - 1].cumulative_usd for n in (1, 6, 12)]
    assert totals == [Decimal("7557.648"), Decimal("43911.648"), Decimal("87536.448")]
    assert found.total_usd == totals[-1]
    assert found.overtaking_month == 1
    assert found.inference_share == pytest.approx(0.9967, abs=1e-4)


def test_a_life_that_a_limit_cuts_short_says_which_months_and_by_how_much(catalogs: Catalogs) -> None:
    """Its exit code was 4, and nothing else told of it."""
    life = {"months": 4, "growth_percent_per_month": 50, "replan_every_months": 2}
    found = lifecycle(living(load_scenario("account-limits"), **life), catalogs, time_limit_s=0.0)
    assert {month.outcome for month in found.by_month} == {"feasible"}
    for month in found.by_month:
        assert "the time limit was reached" in month.reason
        assert month.serving_usd is not None
        assert month.bound_usd is not None
        assert 0 < month.bound_usd <= month.serving_usd
        assert month.relative_gap is not None
        assert float(month.bound_usd) >= float(month.serving_usd) * (1 - month.relative_gap) - 0.01
    said = lifecycle_text(found)
    assert "4 of 4 months are not proven to be the cheapest." in " ".join(said.split())
    assert "months 1 to 2: at most " in said
    assert "months 3 to 4: at most " in said
    assert "above the cheapest, the time limit was reached before the plan was proven cheapest" in " ".join(
        said.split()
    )


def test_e9_weekly_checkpoints_cost_two_thousand_a_year_once_a_year_of_them_is_kept() -> None:
    weekly, per_month = Decimal(52) / 12, 140 * Decimal("0.023")
    second_year = sum(checkpoints_held(0, weekly, 12, month) * per_month for month in range(13, 25))
    assert round(second_year, 2) == Decimal("2009.28")
    first_year = sum(checkpoints_held(0, weekly, None, month) * per_month for month in range(1, 13))
    assert round(first_year, 2) == Decimal("1088.36")


def test_checkpoints_are_kept_for_as_long_as_said() -> None:
    assert [checkpoints_held(1, Decimal(0), None, month) for month in (1, 2, 9)] == [1, 1, 1]
    assert [checkpoints_held(1, Decimal(2), 3, month) for month in (1, 2, 3, 4)] == [3, 5, 6, 6]


def test_e10_more_gpus_save_time_and_cost_more(acme: Catalogs) -> None:
    days = {64: 56, 128: 30, 256: 16, 512: 9}
    tried = [{"gpus": gpus, "hours": each * HOURS_PER_DAY} for gpus, each in days.items() if gpus != 64]
    training = FINE_TUNING | {"gpus": 64, "hours": 56 * HOURS_PER_DAY, "scaling": tried}
    scenario = living(load_scenario("chat-70b"), {"providers": {"allow": ["acme"]}}, months=1, training=[training])
    sizes = lifecycle(scenario, acme).training[0].scaling
    assert [round(size.cost_usd) for size in sizes] == [214180, 229478, 244777, 275374]
    assert [round(size.efficiency, 3) for size in sizes] == [1, 0.933, 0.875, 0.778]
    assert [size.chosen for size in sizes] == [True, False, False, False]
    assert scaling_efficiency(128, Decimal(30), 64, Decimal(56)) == Decimal(56) / 60


def test_e11_large_runs_and_the_share_of_inference() -> None:
    gpt4 = Training(25_000, Decimal(90 * HOURS_PER_DAY), Decimal("1.89"))
    assert gpt4.cost_usd == 102_060_000
    gpt3 = Decimal(4_600_000)
    shares = [inference_share(gpt3, monthly * 24) for monthly in (Decimal(287_500), Decimal(1_725_000))]
    assert [round(share, 3) for share in shares] == [Decimal("0.6"), Decimal("0.9")]


def test_every_fleet_is_the_optimum_of_the_busiest_month_it_is_kept_for(
    shipped: LifecycleReport, catalogs: Catalogs
) -> None:
    scenario = load_scenario("lifecycle-70b")
    inquiry = Inquiry.of(scenario, catalogs).keeping_to(avoided(scenario))
    for month in (1, 7, 12):
        busiest = growth_factor(8, month + 2 - (month - 1) % 3)
        alone = read_back(solved(inquiry.changed(grown(scenario, busiest))))
        assert shipped.by_month[month - 1].serving_usd == alone.monthly_cost_usd
    assert shipped.outcome == "optimal"
    assert [m.requests_per_second for m in shipped.by_month[:2]] == [2, pytest.approx(2.16)]


def test_the_parts_add_up(shipped: LifecycleReport) -> None:
    months = shipped.by_month
    assert shipped.training_usd == sum(run.cost_usd for run in shipped.training)
    assert shipped.training_usd == shipped.training_before_serving_usd + sum(m.training_usd for m in months)
    assert shipped.total_usd == months[-1].cumulative_usd
    assert shipped.storage_usd == sum(month.storage_usd for month in months)
    run = shipped.training[0]
    assert run.energy_kwh_per_run == pytest.approx(8 * 0.7 * 12 * 1.2 * 1.25)
    assert run.carbon_kg_per_run == pytest.approx(8 * 0.7 * 12 * 1.2 * 1.25 * 0.38)
    for month in months:
        assert month.power_kw is not None
        assert month.energy_kwh == pytest.approx(month.power_kw * 730)
        assert month.tokens_per_second_per_watt == pytest.approx(
            month.output_tokens_per_second / (month.power_kw * 1000)
        )


def test_shrinking_demand_is_planned_for_its_first_month(acme: Catalogs) -> None:
    policy = {"providers": {"allow": ["acme"]}}
    months = lifecycle(
        living(load_scenario("chat-70b"), policy, months=3, growth_percent_per_month=-50, replan_every_months=3), acme
    ).by_month
    assert len({month.serving_usd for month in months}) == 1
    assert [month.requests_per_second for month in months] == [4, 2, 1]


def test_a_demand_that_outgrows_the_limits_has_no_total(acme: Catalogs) -> None:
    policy = {"providers": {"allow": ["acme"]}, "max_gpus": 4}
    found = lifecycle(living(load_scenario("chat-70b"), policy, months=3, growth_percent_per_month=900), acme)
    assert (found.outcome, found.first_month_without_plan, found.total_usd) == ("infeasible", 2, None)
    assert found.by_month[0].cumulative_usd is not None
    assert found.by_month[1].cumulative_usd is None
    assert summary(found).startswith("No plan for chat-70b from month 2, at 40 req/s: ")


def test_a_profile_grows_hour_by_hour() -> None:
    demand = {"hourly": [1] * 12 + [4] * 12, "peak_requests_per_second": 12}
    base = load_scenario("chat-8b").model_dump()
    base["workloads"] = [base["workloads"][0] | {"requests_per_second": None, "demand": demand}]
    twice = grown(Scenario.model_validate(base), 2.0).workloads[0]
    assert twice.peak_requests_per_second() == 24
    assert twice.demand is not None
    assert twice.demand.weekly()[0] == 6


def test_each_fleet_is_moved_to_from_the_one_before_it_and_that_is_paid_once(acme: Catalogs) -> None:
    """Every month was held against what runs today: a replica of month 2 was paid for again in month 3, and so on."""
    moving = {"providers": {"allow": ["acme"]}, "migration": {"in_force": [], "usd_per_change": 100}}
    life = {"months": 6, "growth_percent_per_month": 45, "replan_every_months": 2}
    found = lifecycle(living(load_scenario("chat-70b"), moving, **life), acme).by_month
    gpus = [month.gpus or 0 for month in found]
    assert gpus[0] == gpus[1] < gpus[2] == gpus[3] < gpus[4] == gpus[5]
    beyond_rent = [(month.serving_usd or 0) - count * H100_USD * 730 for month, count in zip(found, gpus, strict=True)]
    new = [gpus[0] // 4, 0, (gpus[2] - gpus[0]) // 4, 0, (gpus[4] - gpus[2]) // 4, 0]  # four GPUs a replica
    assert beyond_rent == [100 * replicas for replicas in new]
    assert [month.bound_usd is None for month in found] == [False, True] * 3
    steady = lifecycle(living(load_scenario("chat-70b"), moving, months=3), acme).by_month
    assert [month.serving_usd for month in steady][1:] == [Decimal("7270.80")] * 2


def test_changes_are_limited_against_the_month_before(acme: Catalogs) -> None:
    moving = {"providers": {"allow": ["acme"]}, "migration": {"in_force": [], "max_changes": 1}}
    found = lifecycle(living(load_scenario("chat-70b"), moving, months=3, growth_percent_per_month=60), acme)
    assert (found.outcome, [month.gpus for month in found.by_month]) == ("optimal", [4, 8, 8])


@pytest.mark.parametrize("size", [{"requests": 100_000}, {"tokens": {"output": 20_000_000}}])
def test_a_batch_that_grows_is_worked_on_in_the_hours_that_are_best_for_its_size(
    acme: Catalogs, size: dict[str, Any]
) -> None:
    """It kept the hours of the first month, in which four GPUs carried no more than that: no plan from month 2 on."""
    deadline = Deadline.model_validate(size | {"start": "22:00", "by": "06:00"})
    workload = {"name": "night", "model": "llama-3.1-70b", "input_tokens": 500, "output_tokens": 200}
    policy = {"providers": {"allow": ["acme"]}, "max_gpus": 4}

    def asked(factor: int) -> Scenario:
        """The batch so many times as large."""
        batch = workload | {"deadline": deadline.times(factor).model_dump()}
        return restated(Scenario.model_validate({"name": "night", "workloads": [batch], "policy": policy}))

    found = lifecycle(living(asked(1), months=3, growth_percent_per_month=100), acme)
    assert found.outcome == "optimal"
    alone = [shown(asked(factor), acme).bought.monthly_cost_usd for factor in (1, 2, 4)]
    assert [month.serving_usd for month in found.by_month] == alone
    assert len(set(alone)) == 3


def test_a_run_without_a_price_takes_the_cheapest_admitted_offer_that_holds_it(acme: Catalogs) -> None:
    training = FINE_TUNING | {"usd_per_gpu_hour": None}
    scenario = living(load_scenario("chat-70b"), {"providers": {"allow": ["acme"]}}, months=1, training=[training])
    (run,) = lifecycle(scenario, acme).training
    assert (run.usd_per_gpu_hour, run.price_source) == (H100_USD, "acme/us/quad/4xh100-sxm/on_demand")
    other = living(
        load_scenario("chat-70b"),
        {"providers": {"allow": ["acme"]}},
        months=1,
        training=[training | {"gpu": "l4"}],
    )
    with pytest.raises(InputError, match="the policy admits no offer of l4") as refused:
        lifecycle(other, acme)
    assert refused.value.findings[0].field == "lifecycle.training[tune].gpu"


def test_growth_beyond_what_a_scenario_may_ask_for_is_refused_before_anything_is_planned(acme: Catalogs) -> None:
    """It planned on to rates at which GLOP misjudges a program: "the solver stopped: UNBOUNDED", exit code 70."""
    endless = living(
        load_scenario("chat-70b"), {"providers": {"allow": ["acme"]}}, months=60, growth_percent_per_month=400
    )
    first = next(month for month in range(1, 61) if 5 ** (month - 1) * endless.workloads[0].requests_per_second > 1e6)
    with pytest.raises(InputError, match=f"lifecycle: .* grows beyond 1,000,000 requests/s in month {first} "):
        lifecycle(endless, acme)


@pytest.mark.parametrize(
    ("life", "words"),
    [
        ({}, "Field required"),
        ({"months": 0}, "greater than or equal to 1"),
        ({"months": 121}, "less than or equal to 120"),
        ({"months": True}, "expected a number"),
        ({"months": 1, "growth_percent_per_month": -100}, "greater than -100"),
        ({"months": 1, "training": [FINE_TUNING, FINE_TUNING]}, "two training runs are named tune"),
        ({"months": 1, "training": [{"name": "t", "gpus": 1, "hours": 1}]}, "give gpu or usd_per_gpu_hour"),
        ({"months": 1, "training": [FINE_TUNING | {"gpus": 0}]}, "greater than or equal to 1"),
        (
            {"months": 1, "training": [FINE_TUNING | {"scaling": [{"gpus": 1, "hours": 1}] * 2}]},
            "1 GPUs stand twice in scaling",
        ),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(life: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        living(load_scenario("chat-70b"), **life)


def test_text_and_markdown_start_with_the_answer(shipped: LifecycleReport) -> None:
    text = lifecycle_text(shipped)
    assert text.startswith("$")
    assert " over 12 months for lifecycle-70b: training $3,729.02, checkpoints $" in text.splitlines()[0]
    first = shipped.by_month[0]
    assert first.cumulative_usd is not None
    assert first.serving_usd is not None
    shown_usd = first.serving_usd + first.training_usd + first.storage_usd
    assert (
        f"  training before month 1: ${first.cumulative_usd - shown_usd:,.2f}, counted in the cumulative cost\n" in text
    )
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) <= 60
    assert lifecycle_markdown(shipped).startswith("# Life of lifecycle-70b\n")
    assert LifecycleReport.model_validate_json(as_json(shipped)).by_month[3].month == 4
    assert exact(0.023) == Decimal("0.023")


def test_the_command_says_what_is_missing_and_where(optimizer: Command, tmp_path: Path) -> None:
    missing = optimizer("lifecycle", "chat-8b")
    assert (missing.code, "lifecycle: is missing" in missing.err) == (2, True)
    text = (
        "name: s\npolicy: {gpus: {allow: l4}}\n"
        "workloads:\n  - {name: w, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, output_tokens: 50}\n"
        "lifecycle:\n  months: 1\n  training:\n    - {name: t, gpus: 1, hours: 1, gpu: h1}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    unknown = optimizer("lifecycle", str(tmp_path / "s.yaml"))
    assert (unknown.code, "s.yaml:8: lifecycle.training[t].gpu: 'h1' matches nothing" in unknown.err) == (2, True)
    (tmp_path / "s.yaml").write_text(text.replace("gpu: h1", "usd_per_gpu_hour: 2"))
    said = optimizer("lifecycle", str(tmp_path / "s.yaml"), "--format", "json")
    assert said.code == 0
    assert json.loads(said.out)["by_month"][0]["cumulative_usd"] == json.loads(said.out)["total_usd"]
