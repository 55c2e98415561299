"""Services planned together: pools shared by day and night, limits kept, who pays what, what does not go together."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.gate_cases import offer, world

from optimizer.answers.many.portfolio.portfolio import portfolio
from optimizer.answers.many.portfolio.reading import load_portfolio
from optimizer.answers.many.portfolio.rounds import ChosenPlans, Search
from optimizer.answers.many.portfolio.split import PaidParts, in_cents, rule_for, split
from optimizer.answers.many.portfolio.telling import worth_of_one_more
from optimizer.answers.many.portfolio.types import LimitUse, PortfolioReport
from optimizer.base.arrays import Floats
from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.plan.portfolio.pools import check_pools
from optimizer.plan.portfolio.service import OfferedPlan, PricedService
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.verify.portfolio import PortfolioClaim, verify_portfolio
from optimizer.report.export import as_json
from optimizer.report.layout.text import answer_text
from optimizer.report.many.portfolio import portfolio_answer

SCENARIO = """name: {name}
workloads:
  - name: chat
    model: llama-3.1-8b
    demand:
      hourly: {hourly}
      peak_requests_per_second: {peak}
    input_tokens: 200
    output_tokens: 30
    slo:
      tpot_ms: 50
policy:
  confidence: 0.5
  sellers: [unknown]
  simplicity_percent: 0
"""
DAY, NIGHT = [0] * 8 + [1] * 12 + [0] * 4, [1] * 8 + [0] * 12 + [1] * 4
POOL = """pools:
  - {name: l4-1y, provider: l4house, instance_type: box, pricing_term: reserved_1y, max_instances: 3}
"""


def known(catalogs: Catalogs, l4: str = "1.00", committed_l4: str = "0.60") -> Catalogs:
    """An L4 for 1.00 USD/h or 0.60 committed, an L40S for 3.00."""
    small = world(catalogs, l4=l4, l40s="3.00")
    committed = offer("l4", committed_l4).model_copy(update={"pricing_term": "reserved_1y", "commitment_months": 12})
    return replace(small, offers=(*small.offers, committed))


def planned(
    folder: Path, catalogs: Catalogs, shared: str, peak: float = 2, *more: str, jobs: int = 1, **prices: str
) -> PortfolioReport:
    """One service by day and one by night, and more by day."""
    for name, hourly in (("by-day", DAY), ("by-night", NIGHT), *((each, DAY) for each in more)):
        text = SCENARIO.format(name=name, hourly=hourly, peak=peak)
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "portfolio.yaml").write_text(shared, encoding="utf-8")
    small = known(catalogs, **prices)
    return portfolio(load_portfolio(folder, small), small, jobs=jobs)


@pytest.fixture(scope="module")
def day_and_night(tmp_path_factory: pytest.TempPathFactory, catalogs: Catalogs) -> PortfolioReport:
    """Two services that may share what is committed."""
    return planned(tmp_path_factory.mktemp("together"), catalogs, POOL)


def test_day_and_night_share_a_commitment_that_pays_for_neither_alone(day_and_night: PortfolioReport) -> None:
    found = day_and_night
    day, night = found.services
    # half the hours on demand, and starting once a day
    assert day.alone_usd is not None
    assert Decimal(365) < day.alone_usd < Decimal(380)
    assert (found.outcome, found.relative_gap) == ("optimal", 0.0)
    assert found.monthly_cost_usd == found.bound_usd == Decimal("438.00")
    (pool,) = found.pools
    assert (pool.instances, pool.busiest_instances, round(pool.used_percent)) == (1, 1, 100)
    assert [round(each.share_percent) for each in pool.shares] == [50, 50]
    assert (day.bill_usd, night.bill_usd) == (0, 0)
    assert day.pays_usd + night.pays_usd == Decimal("438.00")
    assert abs(day.pays_usd - night.pays_usd) < 10
    assert found.verification.passed
    assert all(each.verification.passed for each in found.services)
    assert "less than each alone" in found.summary


def test_bills_and_pools_as_they_are_written_are_the_total(tmp_path: Path, catalogs: Catalogs) -> None:
    """438.0438 and 370.1146 USD were a total of 808.16: a cent that nobody had billed, and that somebody paid."""
    shared = POOL.replace("max_instances: 3", "max_instances: 1")
    found = planned(tmp_path, catalogs, shared, 2, "by-day-too", l4="1.000122", committed_l4="0.60006")
    told = json.loads(as_json(found))
    bills = sum(Decimal(each["bill_usd"]) for each in told["services"])
    (pool,) = told["pools"]
    assert (bills, pool["monthly_cost_usd"]) == (Decimal("370.11"), "438.04")
    assert Decimal(told["monthly_cost_usd"]) == Decimal("808.15")
    assert sum(Decimal(each["pays_usd"]) for each in told["services"]) == Decimal("808.15")
    assert found.verification.passed


def test_a_scarce_quota_goes_to_who_saves_most_by_it(tmp_path: Path, catalogs: Catalogs) -> None:
    """Two services by day want the same L4 that there is one of; the other has an L40S."""
    found = planned(tmp_path, catalogs, "quotas: [{gpu: l4, max_gpus: 1}]", 2, "by-day-too")
    plans = {each.scenario: each.plan for each in found.services}
    assert "l4 " in plans["by-night"]
    assert sorted("l40s" in plans[name] for name in ("by-day", "by-day-too")) == [False, True]
    assert found.services[1].like == "by-day-too"
    (limit,) = found.limits
    assert (limit.limit, limit.busiest, limit.alone) == (1, 1, 2)
    assert found.alone_keeps_limits is False
    assert sum(each.pays_usd for each in found.services) == found.monthly_cost_usd
    # equals pay the same, whoever has the L4
    assert abs(found.services[0].pays_usd - found.services[1].pays_usd) <= Decimal("0.01")


def test_one_more_of_a_limit_is_worth_nothing_where_an_instance_has_room() -> None:
    assert worth_of_one_more(0, [1, 8], 546.687) == Decimal("546.69")
    assert worth_of_one_more(3, [4, 8], 546.687) == Decimal("546.69")
    assert worth_of_one_more(4, [4, 8], 546.687) == 0


def test_a_price_by_the_hour_keeps_its_digits_and_what_is_rough_is_said_to_be(day_and_night: PortfolioReport) -> None:
    (pool,) = day_and_night.pools
    exact = pool.model_copy(update={"price_usd_per_hour": Decimal("1.17263")})
    assert json.loads(exact.model_dump_json())["price_usd_per_hour"] == "1.17263"
    limit = LimitUse(field="quotas[l4]", unit="GPUs", limit=5, busiest=5, alone=6, usd_per_unit_month=Decimal("546.69"))
    text = answer_text(portfolio_answer(day_and_night.model_copy(update={"limits": (limit,)})))
    assert "about $546.69" in text
    assert "by prices of the last round" in text


def test_what_does_not_go_together_says_which_limit_and_how_far_to_raise_it(tmp_path: Path, catalogs: Catalogs) -> None:
    found = planned(tmp_path, catalogs, "max_gpus: 1", 2, "by-day-too")
    assert found.outcome == "infeasible"
    assert found.monthly_cost_usd is None
    assert [item.requirement for item in found.conflict] == ["max_gpus"]
    (way,) = found.relaxations
    (change,) = way.changes
    assert (change.field, change.from_, change.to) == ("max_gpus", 1, 2)
    raised = planned(tmp_path, catalogs, "max_gpus: 2", 2, "by-day-too")
    assert raised.monthly_cost_usd == way.monthly_cost_usd
    assert [section.title for section in portfolio_answer(found).sections] == ["What conflicts", "Ways out"]


@pytest.mark.slow("plans two services again for each limit that is raised")
def test_a_budget_below_the_least_is_said_with_what_would_do(tmp_path: Path, catalogs: Catalogs) -> None:
    found = planned(tmp_path, catalogs, f"max_monthly_usd: 400\n{POOL}")
    assert found.outcome == "infeasible"
    assert "within $400.00 a month" in found.summary
    fields = {change.field: change.to for way in found.relaxations for change in way.changes}
    assert fields["max_monthly_usd"] == 438


def test_a_budget_in_cents_is_raised_as_far_as_it_takes(tmp_path: Path, catalogs: Catalogs) -> None:
    """437.90 of 438.00: what lies above the whole dollars of the budget counts, too."""
    found = planned(tmp_path, catalogs, f"max_monthly_usd: 437.9\n{POOL}")
    (change,) = found.relaxations[0].changes
    assert (change.field, change.from_, change.to) == ("max_monthly_usd", 437.9, 438)
    assert "proven the least" in found.relaxations[0].text


def test_what_is_cheap_and_scarce_makes_nobody_say_that_there_are_no_plans(
    tmp_path: Path, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two services alone have the one L4 for a cent; together one pays three hundred times as much elsewhere.

    One program of both is left out, as it is where there are many.
    """
    monkeypatch.setattr("optimizer.answers.many.portfolio.whole.MOST_CELLS", 0)
    small = world(catalogs, l4="0.01", l40s="3.00")
    (scarce,) = (each.id for each in small.offers if each.gpu == "l4")
    small = replace(small, terms=replace(small.terms, available_instances={scarce: 1}))
    for name in ("one", "two"):
        text = SCENARIO.format(name=name, hourly=DAY, peak=2)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    found = portfolio(load_portfolio(tmp_path, small), small)
    assert found.monthly_cost_usd is not None
    assert found.monthly_cost_usd > 1000
    assert "together exceed what is shared" in found.summary


def test_pools_of_one_machine_ask_for_no_more_than_there_is(catalogs: Catalogs) -> None:
    small = known(catalogs)
    (committed,) = (each.id for each in small.offers if each.pricing_term == "reserved_1y")
    small = replace(small, terms=replace(small.terms, available_instances={committed: 4}))
    machine = {"provider": "l4house", "instance_type": "box", "pricing_term": "reserved_1y", "max_instances": 3}
    asked = Portfolio.model_validate({"pools": [{"name": "a", **machine}, {"name": "b", **machine}]})
    (finding,) = check_pools(asked, small)
    assert finding.field == "pools[b].max_instances"
    assert "only 4 of them, of which other pools leave 1" in finding.problem


def _with_an_odd_one(folder: Path) -> Path:
    """A third service, by day, of a kind of its own."""
    text = SCENARIO.format(name="odd", hourly=DAY, peak=2).replace("input_tokens: 200", "input_tokens: 190")
    (folder / "odd.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_group_costs_the_least_that_it_can_whatever_was_found_for_all(
    tmp_path: Path, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two services by day one shares the pool with the night; that the other would, too, no plan of all tells."""
    shared = POOL.replace("max_instances: 3", "max_instances: 1")
    found = planned(_with_an_odd_one(tmp_path), catalogs, shared)
    assert "the least that it can" in found.split_rule

    def of_those_chosen(search: Search, together: ChosenPlans, *told: Any, **more: Any) -> PaidParts:
        search.found = [each for plans in together.plans for each in plans]
        return split(search, together, *told, **more)

    monkeypatch.setattr("optimizer.answers.many.portfolio.portfolio.split", of_those_chosen)
    few = planned(tmp_path, catalogs, shared)
    assert [each.pays_usd for each in few.services] == [each.pays_usd for each in found.services]
    # what one program cannot say is told as what it is
    monkeypatch.setattr("optimizer.answers.many.portfolio.whole.MOST_CELLS", 0)
    rough = planned(tmp_path, catalogs, shared)
    assert "the plans found costs it, which may be above the least" in rough.split_rule
    assert [each.pays_usd for each in rough.services] != [each.pays_usd for each in found.services]


def test_what_is_proven_at_prices_is_asked_once(
    tmp_path: Path, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each group of services began at the same prices, and all of them were asked again."""
    asked, at = list[tuple[str, bytes, bytes]](), PricedService.at

    def noted(service: PricedService, unit_usd: Floats, instance_usd: Floats, clock: Clock) -> OfferedPlan:
        asked.append((service.inquiry.scenario.name, unit_usd.tobytes(), instance_usd.tobytes()))
        return at(service, unit_usd, instance_usd, clock)

    monkeypatch.setattr(PricedService, "at", noted)
    planned(_with_an_odd_one(tmp_path), catalogs, POOL)
    assert len(asked) > 2
    assert len(asked) == len(set(asked))


def test_how_far_shares_may_be_off_is_said() -> None:
    assert "costs it, at most 3.1% above the least;" in rule_for(3, 0.031)
    assert rule_for(7, 0.031) == rule_for(8)


def test_who_pays_nothing_is_not_paid_a_cent() -> None:
    parts = [Decimal("0.00"), Decimal("1.01"), Decimal("1.01")]
    assert in_cents(parts, Decimal("2.01")) == [Decimal("0.00"), Decimal("1.00"), Decimal("1.01")]


@pytest.mark.slow("starts two processes that load the program")
def test_any_number_of_processes_gives_the_same_bytes(tmp_path: Path, catalogs: Catalogs) -> None:
    alone, side_by_side = (as_json(planned(tmp_path, catalogs, POOL, jobs=jobs)) for jobs in (1, 2))
    assert alone == side_by_side


@pytest.mark.parametrize(
    ("tampered", "words"),
    [
        ({"signed": {"l4-1y": 0}}, "1 of 0 instances of pool l4-1y in the busiest hour"),
        ({"signed": {"l4-1y": 4}}, "pool l4-1y has 4 instances"),
        ({"total_usd": Decimal("400.00")}, "USD a month, shown 400.00"),
        ({"pays_usd": {"by-day": Decimal("400.00"), "by-night": Decimal("39.00")}}, "services pay 439.00 of"),
        ({"pays_usd": {"by-day": Decimal("438.00")}}, "every service pays its part"),
        ({"pays_usd": {"by-day": Decimal("439.00"), "by-night": Decimal("-1.00")}}, "by-night pays -1.00 USD"),
        ({"shared": "max_gpus: 0\n" + POOL}, "1 of 0 GPUs in the busiest hour"),
        ({"shared": "quotas: [{gpu: l4, max_gpus: 0}]\n" + POOL}, "quota */*/l4: 1 of 0 GPUs in the busiest hour"),
        ({"shared": "max_monthly_usd: 300\n" + POOL}, "of 300.00 USD a month"),
        ({"shared": ""}, "is in the catalogs or in a pool"),
        ({"stock": 0}, "1 of 0 × "),
    ],
    ids=str,
)
def test_verification_rejects_what_breaks_a_promise(
    tmp_path: Path, tampered: dict[str, object], words: str, together: PortfolioClaim
) -> None:
    changed = dict(tampered)
    if "shared" in changed:
        (tmp_path / "portfolio.yaml").write_text(str(changed.pop("shared")) or "name: nothing", encoding="utf-8")
        changed["portfolio"] = load_portfolio(tmp_path, together.catalogs).portfolio
    if "stock" in changed:
        known_offers = {each.id for each in together.catalogs.offers}
        terms = replace(together.catalogs.terms, available_instances=dict.fromkeys(known_offers, changed.pop("stock")))
        changed["catalogs"] = replace(together.catalogs, terms=terms)
    assert verify_portfolio(together).passed
    failed = [each.text for each in verify_portfolio(replace(together, **changed)).checks if not each.passed]
    assert any(words in text for text in failed), failed


def test_a_pool_of_what_is_not_for_sale_costs_nothing_to_nobody(together: PortfolioClaim) -> None:
    """Signed for and used by no service: its price is not to be had, so that no total holds."""
    unsold = replace(together, catalogs=replace(together.catalogs, offers=()), fleets={}, total_usd=Decimal(0))
    failed = {each.name for each in verify_portfolio(replace(unsold, pays_usd={})).checks if not each.passed}
    assert failed == {"offers"}


@pytest.fixture
def together(tmp_path: Path, catalogs: Catalogs, day_and_night: PortfolioReport) -> PortfolioClaim:
    """What is claimed of day and night in one pool."""
    found, small = day_and_night, known(catalogs)
    (tmp_path / "any.yaml").write_text(SCENARIO.format(name="any", hourly=DAY, peak=1), encoding="utf-8")
    (tmp_path / "portfolio.yaml").write_text(POOL, encoding="utf-8")
    assert found.monthly_cost_usd is not None
    return PortfolioClaim(
        load_portfolio(tmp_path, small).portfolio,
        small,
        {
            each.scenario: PlannedFleet(
                each.deployments, each.purchases, each.hosted, None, each.bill_usd, each.periods
            )
            for each in found.services
        },
        {pool.name: pool.instances for pool in found.pools},
        found.monthly_cost_usd,
        {each.scenario: each.pays_usd for each in found.services},
    )


@pytest.mark.parametrize(
    ("shared", "problem"),
    [
        (
            "pools: [{name: a, provider: l4house, instance_type: sphere, pricing_term: reserved_1y, max_instances: 1}]",
            "no offer",
        ),
        (
            "pools: [{name: a, provider: l4house, instance_type: box, pricing_term: on_demand, max_instances: 1}]",
            "not paid",
        ),
        ("quotas: [{gpu: l4, max_gpus: 1}, {gpu: l4, max_gpus: 2}]", "two quotas are the same"),
        ("max_gpu: 2", "unknown field"),
        ("quotas: [{gpu: l44, max_gpus: 1}]", "matches nothing in the catalogs"),
    ],
)
def test_a_portfolio_that_means_nothing_is_refused_with_its_line(
    tmp_path: Path, catalogs: Catalogs, shared: str, problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        planned(tmp_path, catalogs, shared)
    assert problem in str(refused.value)
    assert "portfolio.yaml" in str(refused.value)


def test_a_service_without_a_plan_alone_is_named(tmp_path: Path, catalogs: Catalogs) -> None:
    text = SCENARIO.format(name="impossible", hourly=DAY, peak=2).replace("  sellers", "  max_gpus: 0\n  sellers")
    (tmp_path / "impossible.yaml").write_text(text, encoding="utf-8")
    small = known(catalogs)
    found = portfolio(load_portfolio(tmp_path, small), small)
    assert found.outcome == "infeasible"
    assert "impossible has no plan alone" in found.summary
