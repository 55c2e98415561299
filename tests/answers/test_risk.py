"""What a plan is worth over draws, by hand: promises, prices, commitments and spot on a market of few offers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError
from support.command import Command
from support.tables import OFFERS, SELLERS

from optimizer import RiskReport, load_catalogs, load_scenario, risk
from optimizer.answers.ahead.risk.risk import risk_of_answer, sampled_of
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.risk import Risk, Spread
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.risk.draws import MOST_DEVIATIONS, Z90, percent_factor
from optimizer.plan.risk.offered import is_signed
from optimizer.plan.risk.readback import promises
from optimizer.plan.risk.sample import Sample, Sampled
from optimizer.plan.risk.speeds import DEVIATIONS, rates_by_deviation, rates_in_draws
from optimizer.plan.risk.spreads import spreads_of
from optimizer.plan.verify.ahead.risk import verify_risk
from optimizer.report.ahead.risk import risk_answer, with_risk
from optimizer.report.export import as_json
from optimizer.report.layout.elements import WrittenAnswer
from optimizer.report.layout.text import answer_text

ON_DEMAND, RESERVED, SPOT = 1.0, 0.6, 0.3
"""USD/h of one L40S."""
ONE = "acme,neocloud,{region},one,l40s,1,pcie,{price},{term},2026-11-01,litgpt-0.5.13,listed\n"
STEADY = {"p10": 0, "p90": 0}
CAUTIOUS = {"confidence": NormalDist().cdf(1.25)}
SIGNING = {"pricing_terms": ["on_demand", "reserved_1y"]}
SIGNED = {"pricing_terms": ["on_demand"]}
"""The default, beside which commitments are considered."""
NOTHING: dict[str, Any] = {
    "demand_percent": STEADY,
    "prices": [{"percent_per_year": STEADY}],
    "prediction_errors": False,
    "spot_available_share": 1,
}
"""Nothing is drawn: every draw is today."""


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Catalogs:
    """One machine on demand, for a year, and in two regions as spot."""
    folder = tmp_path_factory.mktemp("acme")
    rows = [("here", ON_DEMAND, "on_demand"), ("here", RESERVED, "reserved_1y")]
    rows += [("east", SPOT, "spot"), ("west", SPOT, "spot")]
    offers = [ONE.format(region=region, price=price, term=term) for region, price, term in rows]
    (folder / "offers.csv").write_text(OFFERS + "".join(offers))
    (folder / "sellers.csv").write_text(SELLERS + "acme,established,yes,yes,litgpt-0.5.13,2026-11-01\n")
    return load_catalogs(folder)


Asked = Callable[..., RiskReport]
Drawn = Callable[..., Sample]


def scenario_of(policy: dict[str, Any], drawn: dict[str, Any]) -> Scenario:
    base = load_scenario("chat-8b")
    admits = {"providers": {"allow": ["acme"]}, "gpus": {"allow": ["l40s"]}, "engines": ["vllm"], "precisions": ["fp8"]}
    admits |= {"confidence": 0.5, "pricing_terms": ["on_demand", "spot"]}
    return Scenario.model_validate(base.model_dump() | {"policy": admits | policy, "risk": drawn})


@pytest.fixture(scope="module")
def solved(acme: Catalogs) -> Callable[[Scenario], Answer]:
    """The question behind the plan, solved once for each policy."""
    known: dict[str, Answer] = {}

    def answer(scenario: Scenario) -> Answer:
        key = scenario.policy.model_dump_json()
        if key not in known:
            known[key] = answered(Inquiry.of(scenario, acme))
        return known[key]

    return answer


@pytest.fixture(scope="module")
def asked(acme: Catalogs, solved: Callable[[Scenario], Answer]) -> Asked:
    """The answer for what is drawn, on the offers of this page alone."""

    def answer(policy: dict[str, Any] | None = None, draws: int = 12, seed: int = 0, **drawn: Any) -> RiskReport:
        scenario = scenario_of(policy or {}, NOTHING | drawn)
        return risk_of_answer(solved(scenario), scenario, acme, Clock(), draws=draws, seed=seed)

    return answer


@pytest.fixture(scope="module")
def sampled(acme: Catalogs, solved: Callable[[Scenario], Answer]) -> Callable[..., Sampled]:
    """A scenario ready to be drawn."""

    def ready(policy: dict[str, Any] | None = None, **drawn: Any) -> Sampled:
        scenario = scenario_of(policy or {}, NOTHING | drawn)
        return sampled_of(solved(scenario), scenario, acme, Clock())

    return ready


@pytest.fixture(scope="module")
def drawn(sampled: Callable[..., Sampled]) -> Drawn:
    """The draws alone, with what the plan comes to in them."""

    def draws(policy: dict[str, Any] | None = None, count: int = 1000, **drawn: Any) -> Sample:
        return sampled(policy, **drawn).sample(seed=0, stream=0, count=count)

    return draws


def test_where_nothing_is_drawn_every_draw_is_today(asked: Asked) -> None:
    found = asked()
    assert found.plan is not None
    assert found.all_held == 1
    assert found.plan.expected_usd == found.plan_usd == found.known_usd
    assert found.plan.regret_usd == 0
    assert [each.with_others for each in found.variance] == [0, 0]


@pytest.mark.parametrize("draws", [10, 40])
def test_what_always_holds_lies_in_its_own_interval(drawn: Drawn, draws: int) -> None:
    """At 40 draws the upper end came out a rounding below 100 %, and the answer was withheld."""
    (always,) = promises(drawn(count=draws), ["chat"])
    assert always.share_held == always.highest_share == 1
    (never,) = promises(drawn(count=draws, demand_percent={"p10": 900, "p50": 900, "p90": 900}), ["chat"])
    assert never.share_held == never.lowest_share == 0


def test_growth_beyond_reason_is_refused() -> None:
    with pytest.raises(ValidationError, match="more than 1,000 times today's demand after 60 months"):
        Risk(months_ahead=60, growth_percent_per_month=Spread(p10=0, p50=10, p90=1000))


def test_a_commitment_is_signed_for_what_is_needed_in_any_case(asked: Asked) -> None:
    """At 60 % of the price on demand an instance is signed for where it is needed in more than 60 % of the draws."""
    found = asked(SIGNED)
    assert found.best is not None
    assert found.plan is not None
    (bought,) = found.best.bought
    assert (bought.offer.split("/")[-1], bought.instances) == ("reserved_1y", 1)
    assert float(found.best.expected_usd) == pytest.approx(RESERVED * HOURS_PER_MONTH)
    assert float(found.plan.expected_usd) == pytest.approx(ON_DEMAND * HOURS_PER_MONTH)
    assert float(found.plan.regret_usd or 0) == pytest.approx((ON_DEMAND - RESERVED) * HOURS_PER_MONTH)
    assert found.gap is not None
    assert found.gap.most_gap_usd == 0


def test_a_commitment_that_has_not_begun_is_not_paid_and_not_there(sampled: Callable[..., Sampled]) -> None:
    ready = sampled(SIGNING, commitment_start_days={"p10": 265, "p50": 365, "p90": 465})
    (signed,) = [row for row, way in enumerate(ready.purchases.ways) if is_signed(way.offer)]
    found = ready.sample(seed=0, stream=0, count=500)
    begun = found.states.begun
    assert begun.mean() == pytest.approx(0.5, abs=0.07)
    assert found.problem.usd[signed] == pytest.approx(np.where(begun, RESERVED * HOURS_PER_MONTH, 0))
    assert ((found.problem.rate_per_s[signed] > 0) == begun).all()


def test_terms_that_end_before_the_month_or_last_too_long_are_not_signed(sampled: Callable[..., Sampled]) -> None:
    for months, longest, signed in ((12, 12, True), (13, 36, False), (6, 11, False)):
        found = sampled(SIGNING, months_ahead=months, longest_term_months=longest)
        assert any(is_signed(way.offer) for way in found.purchases.ways) == signed


def test_spot_of_one_region_comes_and_goes_together(drawn: Drawn) -> None:
    """A quarter of the draws are without it, and the plan on spot breaks its promises in just those of its region."""
    found = drawn(spot_available_share=0.75)
    there = found.states.there
    assert there.mean(axis=1) == pytest.approx([0.75, 0.75], abs=0.05)
    assert (~there).all(axis=0).mean() == pytest.approx(0.25**2, abs=0.03)
    short = found.plan.short_per_s[0] > 0
    assert any((short == ~row).all() for row in there)
    together = drawn(spot_available_share=0.5, correlation={"regions": 1}).states.there
    assert (together[0] == together[1]).all()


def test_errors_alone_break_a_plan_as_often_as_its_confidence_says(drawn: Drawn) -> None:
    """Counted on for what it sustains with a confidence of 89 %, a replica is too slow in at most one draw of nine."""
    alone = drawn(CAUTIOUS, prediction_errors=True)
    kind = alone.states.deviation[0]
    assert (kind <= 1.25).mean() == pytest.approx(CAUTIOUS["confidence"], abs=0.03)
    assert (alone.plan.short_per_s[0] > 0).mean() <= 0.13
    # errors only grow what is missing
    order = np.argsort(kind)
    assert (np.diff(alone.plan.short_per_s[0][order]) >= -1e-9).all()


def test_rates_at_a_deviation_are_those_of_its_confidence(acme: Catalogs, solved: Callable[[Scenario], Answer]) -> None:
    """What a plan with some confidence counts on is what is drawn at the deviation of that confidence."""
    cautious = solved(scenario_of(CAUTIOUS, NOTHING))
    central = solved(scenario_of({}, NOTHING))
    (pool,) = cautious.inquiry.options[0].pools
    rows = np.flatnonzero(pool.passed)[:40]
    found = rates_by_deviation(acme, central.inquiry.options[0], rows, pool.pool.mix)
    assert found[:, DEVIATIONS.index(1.25)] == pytest.approx(pool.rate_per_s[rows])
    assert (np.diff(found, axis=1) <= 0).all()
    between = rates_in_draws(found, np.full((len(rows), 1), 1.125))[:, 0]
    assert between == pytest.approx(found[:, [DEVIATIONS.index(1.0), DEVIATIONS.index(1.25)]].mean(axis=1))


def test_what_is_not_served_costs_what_the_scenario_says(drawn: Drawn) -> None:
    """Serving a request on demand costs some cents a thousand; left unserved at less, nothing is rented."""
    high = {"demand_percent": {"p10": 150, "p50": 250, "p90": 350}}
    rented, cheap = drawn(**high, count=50), drawn(**high, count=50, unserved_usd_per_million_requests=0.01)
    assert (rented.plan.instances > 0).all()
    assert not rented.plan.unserved_per_s.any()
    assert not cheap.plan.instances.any()
    assert cheap.plan.unserved_per_s == pytest.approx(cheap.plan.short_per_s)
    month_s = HOURS_PER_MONTH * 3600
    assert cheap.plan.unserved_usd == pytest.approx(cheap.plan.short_per_s[0] * month_s * 0.01 / 1e6)


def test_several_workloads_and_classes_are_judged_each(acme: Catalogs) -> None:
    """What is missing of the worst class is missing of its workload; every figure is verified as it is told."""
    base, level = scenario_of({"max_monthly_usd": 1500}, NOTHING), {"p10": -30, "p50": 20, "p90": 60}
    chat = base.workloads[0].model_dump(exclude_none=True)
    lengths = {name: chat.pop(name) for name in ("input_tokens", "output_tokens")}
    short, long = {"share": 0.7, **lengths}, {"share": 0.3, "input_tokens": 3000, "output_tokens": 128}
    plain = {**chat, **lengths, "name": "other", "requests_per_second": 3}
    mixed = {**chat, "request_classes": [short, long], "slo": {"ttft_ms": 2000, "tpot_ms": 80}}
    asks = {"workloads": [plain, mixed], "risk": NOTHING | {"demand_percent": level}}
    scenario = Scenario.model_validate(base.model_dump() | asks)
    found = risk_of_answer(answered(Inquiry.of(scenario, acme)), scenario, acme, Clock(), draws=20)
    assert found.verification is not None
    assert {each.workload for each in found.promises} == {"other", "chat"}
    assert {len(each.class_share) for each in found.deployments if each.workload == "other"} == {1}
    assert found.plan is not None
    assert found.plan.within_budget == np.mean([draw.plan.cost_usd <= 1500 for draw in found.by_draw])
    # demand of two workloads is alike in part, as far as we assume
    assert any("correlation of 0.50, an assumption" in note for note in found.notes)
    demand = np.array([list(draw.demand_factor.values()) for draw in found.by_draw])
    assert 0 < np.corrcoef(np.log(demand.T))[0, 1] < 1


def test_prices_of_a_seller_move_together_and_with_demand_where_asked(drawn: Drawn) -> None:
    prices = [{"sellers": ["established"], "percent_per_year": {"p10": -50, "p50": 0, "p90": 100}}]
    level, tied = {"p10": -20, "p90": 25}, {"demand_and_prices": 1}
    found = drawn(prices=prices, demand_percent=level, correlation=tied).states
    assert np.quantile(found.price_factor[0], [0.1, 0.5, 0.9]) == pytest.approx([0.5, 1, 2], rel=0.15)
    assert np.quantile(found.demand_factor[0], [0.1, 0.5, 0.9]) == pytest.approx([0.8, 1, 1.25], rel=0.05)
    assert np.corrcoef(np.log(found.price_factor[0]), np.log(found.demand_factor[0]))[0, 1] > 0.6
    half = drawn(prices=prices, months_ahead=6).states.price_factor[0]
    assert np.quantile(half, 0.9) == pytest.approx(np.sqrt(2), rel=0.1)


def test_demand_grows_until_the_month_that_is_drawn(drawn: Drawn) -> None:
    steady = {"p10": 5, "p50": 5, "p90": 5}
    assert drawn(growth_percent_per_month=steady, months_ahead=6, count=3).states.demand_factor == pytest.approx(
        1.05**6
    )


def test_a_spread_passes_through_its_three_points() -> None:
    spread = Spread(p10=-50, p50=10, p90=100)
    assert percent_factor(spread, np.array([-Z90, 0.0, Z90])) == pytest.approx([0.5, 1.1, 2.0])
    far = percent_factor(spread, np.array([-9.0, 9.0]))
    assert far == pytest.approx(percent_factor(spread, np.array([-MOST_DEVIATIONS, MOST_DEVIATIONS])))
    with pytest.raises(ValueError, match="must not fall"):
        Spread(p10=5, p50=0, p90=10)


def test_same_seed_same_bytes(asked: Asked) -> None:
    one, other = (asked(draws=10, seed=4, prediction_errors=True) for _ in range(2))
    assert as_json(one) == as_json(other)


def test_another_seed_draws_others(drawn: Drawn, sampled: Callable[..., Sampled]) -> None:
    level = {"demand_percent": {"p10": -20, "p90": 25}}
    ready, streams = sampled(**level), ((0, 0), (0, 1), (1, 0))
    found = [ready.sample(seed, stream, 5).states.demand_factor.tolist() for seed, stream in streams]
    assert found[0] not in found[1:]
    assert found[0] == drawn(count=5, **level).states.demand_factor.tolist()


def test_more_to_be_bought_changes_no_draw(drawn: Drawn) -> None:
    """Each uncertainty has numbers of its own."""
    level = {"demand_percent": {"p10": -20, "p90": 25}}
    few, many = drawn(SIGNING, count=9, **level), drawn(count=9, **level)
    assert few.states.demand_factor.tolist() == many.states.demand_factor.tolist()


def test_what_draws_do_not_keep_is_refused_by_name(acme: Catalogs) -> None:
    base = load_scenario("office-hours").model_dump()
    policy = {"max_gpus": 4, "spare_replicas": 1, "hosting": ["rented", "serverless"]}
    scenario = Scenario.model_validate(base | {"policy": base["policy"] | policy})
    with pytest.raises(InputError) as refused:
        risk(scenario, acme)
    told = {finding.field for finding in refused.value.findings}
    assert {"policy.max_gpus", "policy.spare_replicas", "policy.hosting"} <= told
    assert any(field.endswith(".demand") for field in told)


def test_demand_that_no_machine_meets_must_have_a_price(sampled: Callable[..., Sampled]) -> None:
    ready = sampled()
    rest = np.setdiff1d(np.arange(len(ready.purchases.ways)), ready.purchases.on_demand)
    nowhere = replace(ready, purchases=ready.purchases.select(rest))
    with pytest.raises(InputError, match="unserved_usd_per_million_requests"):
        nowhere.sample(seed=0, stream=0, count=10)


@pytest.fixture(scope="module")
def shown(asked: Asked) -> RiskReport:
    """An answer in which everything is drawn."""
    prices = [{"percent_per_year": {"p10": -20, "p50": 0, "p90": 40}}]
    spread = {"demand_percent": {"p10": -30, "p50": 20, "p90": 60}, "prices": prices, "prediction_errors": True}
    return asked(draws=30, spot_available_share=0.6, **spread)


def _dearer(report: RiskReport) -> RiskReport:
    first, *rest = report.by_draw
    cost = first.plan.model_copy(update={"cost_usd": first.plan.cost_usd + 5})
    return report.model_copy(update={"by_draw": [first.model_copy(update={"plan": cost}), *rest]})


def _never_short(report: RiskReport) -> RiskReport:
    draws = [
        draw.model_copy(update={"plan": draw.plan.model_copy(update={"short_per_s": {"chat": 0.0}})})
        for draw in report.by_draw
    ]
    return report.model_copy(update={"by_draw": draws})


def _cheaper_rent(report: RiskReport) -> RiskReport:
    cheap = [dict.fromkeys(draw.price_factor, 1e-3) for draw in report.by_draw]
    draws = [draw.model_copy(update={"price_factor": each}) for draw, each in zip(report.by_draw, cheap, strict=True)]
    return report.model_copy(update={"by_draw": draws})


def _all_kept(report: RiskReport) -> RiskReport:
    (promise,) = report.promises
    return report.model_copy(update={"promises": [promise.model_copy(update={"share_held": 1.0})]})


def _smaller_tail(report: RiskReport) -> RiskReport:
    assert report.plan is not None
    return report.model_copy(update={"plan": report.plan.model_copy(update={"tail_usd": report.plan.expected_usd})})


def _known_for_more(report: RiskReport) -> RiskReport:
    draws = [draw.model_copy(update={"known_usd": (draw.known_usd or 0) + 100}) for draw in report.by_draw]
    return report.model_copy(update={"by_draw": draws})


def _no_gap(report: RiskReport) -> RiskReport:
    assert report.gap is not None
    return report.model_copy(update={"gap": report.gap.model_copy(update={"most_gap_usd": report.gap.gap_usd - 1})})


def _sooner(report: RiskReport) -> RiskReport:
    return report.model_copy(update={"months_ahead": 6})


def _narrower(report: RiskReport) -> RiskReport:
    spreads = [each.model_copy(update={"p10": -1.0}) for each in report.spreads]
    return report.model_copy(update={"spreads": spreads})


def _spread_as_nobody_says(report: RiskReport) -> RiskReport:
    """Wider than the scenario says of spot capacity alone."""
    spot = next(each for each in report.spreads if each.uncertainty == "spot capacity")
    spreads = [each for each in report.spreads if each != spot]
    return report.model_copy(update={"spreads": [*spreads, spot.model_copy(update={"p10": 0.1})]})


def _prices_stay(report: RiskReport) -> RiskReport:
    return report.model_copy(update={"spreads": [each for each in report.spreads if each.uncertainty != "prices"]})


def _in_first_draw(report: RiskReport, **changed: object) -> RiskReport:
    first, *others = report.by_draw
    return report.model_copy(update={"by_draw": [first.model_copy(update=changed), *others]})


def _price_of_one_draw_left_out(report: RiskReport) -> RiskReport:
    return _in_first_draw(report, price_factor=dict(list(report.by_draw[0].price_factor.items())[1:]))


def _price_of_nobody(report: RiskReport) -> RiskReport:
    return _in_first_draw(report, price_factor=report.by_draw[0].price_factor | {"nobody": 1.0})


def _demand_of_nobody(report: RiskReport) -> RiskReport:
    return _in_first_draw(report, demand_factor=report.by_draw[0].demand_factor | {"nobody": 1.0})


def _less_short(report: RiskReport) -> RiskReport:
    assert report.plan is not None
    return report.model_copy(update={"plan": report.plan.model_copy(update={"share_short": 0.0})})


FALSE = {
    "question": (_sooner, _narrower, _spread_as_nobody_says, _prices_stay),
    "plan": (_dearer, _never_short),
    "draws": (_cheaper_rent, _price_of_one_draw_left_out, _price_of_nobody, _demand_of_nobody),
    "promises": (_all_kept,),
    "sums": (_smaller_tail, _less_short),
    "known": (_known_for_more,),
    "gap": (_no_gap,),
}


@pytest.mark.parametrize("check", FALSE)
def test_false_figures_are_seen(check: str, shown: RiskReport, acme: Catalogs) -> None:
    risky = {"demand_percent": {"p10": -30, "p50": 20, "p90": 60}, "prediction_errors": True}
    prices = [{"percent_per_year": {"p10": -20, "p50": 0, "p90": 40}}]
    drawn = NOTHING | risky | {"prices": prices, "spot_available_share": 0.6}
    scenario = scenario_of({}, drawn)
    assert verify_risk(shown, scenario, acme).passed
    for falsified in FALSE[check]:
        found = {each.name: each.passed for each in verify_risk(falsified(shown), scenario, acme).checks}
        assert not found[check]


def _of_plan(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Changes what the plan costs in the first draw."""
    return lambda told: told["by_draw"][0]["plan"].update(changes)


def _nothing_made_up(told: dict[str, Any]) -> None:
    short = next(draw["plan"] for draw in told["by_draw"] if draw["plan"]["short_per_s"]["chat"] > 0)
    short.update(rented={"chat": 0}, unserved_per_s={"chat": 0.0})


SAID: dict[str, Callable[[dict[str, Any]], None]] = {
    "of 31 draws are told": lambda told: told.update(draws=31),
    "demand of chat times 99": lambda told: told["by_draw"][0].update(demand_factor={"chat": 99.0}),
    "deviations off": lambda told: told["by_draw"][0].update(
        deviation=dict.fromkeys(told["by_draw"][0]["deviation"], 9)
    ),
    "does not tell what the best purchases cost": lambda told: told["by_draw"][0].update(best=None),
    "is paid for what comes to": _of_plan(bought_usd="1.00"),
    "is paid for rent of": _of_plan(rented_usd="1.23"),
    "is lost of": _of_plan(unserved_usd="1.23"),
    "/s missing": _of_plan(short_per_s={"chat": 1e6}),
    "is served 0 of": _nothing_made_up,
    "is made up for at": _of_plan(rented={"chat": 77}),
    "is not in its range": lambda told: told["promises"][0].update(lowest_share=0.0, highest_share=0.0),
    "all are kept in": lambda told: told.update(all_held=0.123),
    "known draws cost": lambda told: told.update(known_usd="1.00"),
    "known draws are counted": lambda told: told["best_in"][0].update(draws=99),
    "short in": lambda told: told["plan"].update(draws_short=0.987),
    "the gap is not the difference": lambda told: told["gap"].update(gap_usd="123456.00"),
}
"""Words of a finding, and what it finds."""


def unrounded(value: Any) -> Any:
    """A record as mappings and lists, its figures as they were worked out."""
    if isinstance(value, BaseModel):
        return {name: unrounded(each) for name, each in vars(value).items()}
    if isinstance(value, Mapping):
        return {name: unrounded(each) for name, each in value.items()}
    return [unrounded(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("words", SAID)
def test_verification_says_what_is_false(words: str, shown: RiskReport, acme: Catalogs) -> None:
    told = unrounded(shown)
    SAID[words](told)
    verdict = verify_risk(RiskReport.model_validate(told), scenario_of({}, NOTHING), acme)
    assert any(words in check.text for check in verdict.checks if not check.passed)


def test_a_budget_that_is_kept_is_counted(shown: RiskReport, acme: Catalogs) -> None:
    verdict = verify_risk(shown, scenario_of({"max_monthly_usd": 1e9}, NOTHING), acme)
    assert any("within the budget in" in check.text for check in verdict.checks if not check.passed)


def test_the_answer_comes_first(shown: RiskReport) -> None:
    text = answer_text(risk_answer(shown))
    assert text.startswith("Over 30 draws of the month 12 months ahead the plan for chat-8b keeps its promises in ")
    assert "What was drawn" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_words_follow_the_signs_of_their_figures(shown: RiskReport) -> None:
    assert shown.best is not None
    assert shown.plan is not None
    assert shown.gap is not None
    tail_only = shown.plan.model_copy(
        update={"expected_usd": shown.best.expected_usd - 5, "tail_usd": shown.best.tail_usd + 9}
    )
    text = answer_text(risk_answer(shown.model_copy(update={"plan": tail_only, "tail_level": 0.999})))
    assert "$5.00 more in the mean, $9.00 less in the" in " ".join(text.split())
    assert "dearest 0.1%" in text
    cheap = shown.plan.model_copy(update={"expected_usd": shown.best.expected_usd - 5, "tail_usd": shown.best.tail_usd})
    kept = " ".join(answer_text(risk_answer(shown.model_copy(update={"plan": cheap}))).split())
    assert "Nothing was found to be better bought" in kept
    assert "in which the plan comes to less" in kept
    ended = " ".join(answer_text(risk_answer(shown.model_copy(update={"complete": False, "plan": tail_only}))).split())
    assert "The best that was found before a limit was reached is" in ended
    apart = shown.gap.model_copy(update={"lower_usd": shown.gap.upper_usd * 4})
    assert "ask for more `--draws`" in " ".join(
        answer_text(risk_answer(shown.model_copy(update={"gap": apart}))).split()
    )


def test_where_nothing_is_served_nothing_is_said_to_be_rented(asked: Asked) -> None:
    text = " ".join(answer_text(risk_answer(asked(unserved_usd_per_million_requests=0.01))).split())
    assert "to buy nothing before and serve nothing" in text
    assert "12 draws: nothing, and requests go unserved" in text


def test_a_plan_quotes_it_in_a_section(shown: RiskReport) -> None:
    plan = WrittenAnswer((), "A plan.")
    (told,) = with_risk(plan, shown).sections
    assert told.lines[0].startswith(
        "Over 30 draws of the month 12 months ahead the plan for chat-8b keeps its promises"
    )
    assert with_risk(plan, shown.model_copy(update={"plan": None})) == plan
    (refused,) = with_risk(plan, InputError([Finding("scenario", 0, "risk", "nobody serves it", "say so")])).sections
    assert refused.lines == ("nobody serves it (say so).",)


def test_the_command_says_it(optimizer: Command, tmp_path: Path) -> None:
    output = tmp_path / "risk.json"
    asked = ("risk", "infeasible-latency", "--draws", "10", "--format", "json", "--output", str(output))
    assert optimizer(*asked).code == 3
    assert '"outcome": "infeasible"' in output.read_text()


def test_defaults_are_published_with_source_and_date(catalogs: Catalogs) -> None:
    rows = catalogs.terms.risk_spreads
    assert {row.quantity for row in rows} == {"demand", "price", "spot_available"}
    assert all(row.source in catalogs.sources and row.note for row in rows)
    assert Risk().demand_percent is None


def test_what_nobody_says_the_spread_of_is_asked_for_by_its_field(acme: Catalogs) -> None:
    empty = replace(acme, terms=replace(acme.terms, risk_spreads=()), deployment_shares=())
    spot = [offer for offer in acme.offers if offer.pricing_term == "spot"]
    stated: dict[str, Any] = {}
    for field, value in (
        ("demand_percent", STEADY),
        ("spot_available_share", 0.5),
        ("correlation", {"same_gpu": 0.5}),
    ):
        with pytest.raises(InputError, match=rf"risk\.{field}"):
            spreads_of(scenario_of({}, stated), empty, spot)
        stated[field] = value
    spreads = spreads_of(scenario_of({}, stated), empty, spot)
    assert (spreads.spot_share, spreads.same_gpu, spreads.prices) == (0.5, 0.5, {})


def test_spreads_of_list_prices_are_those_of_their_series(catalogs: Catalogs) -> None:
    """The catalog's own series of large clouds fall within the spread that was published of them and one more."""
    lists = ("hyperscaler", "on_demand")
    (row,) = [each for each in catalogs.terms.risk_spreads if (each.seller, each.pricing_term) == lists]
    moved = [
        each.percent_per_year
        for each in catalogs.terms.price_trends
        if each.pricing_term == "on_demand" and catalogs.terms.seller_kind(each.provider, "") == "hyperscaler"
    ]
    assert len(moved) in (row.series - 1, row.series)
    assert np.quantile(moved, [0.1, 0.5, 0.9]) == pytest.approx([row.p10, row.p50, row.p90], abs=2)
