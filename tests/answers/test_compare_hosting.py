"""Hosting side by side: each way costs what arithmetic says, and the order flips where the articles' examples do."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest
from support.paths import TESTS
from support.scenarios import with_policy
from support.tables import OWNED, SOURCES

from optimizer.answers.compare.compare import compare
from optimizer.answers.compare.types import Comparison
from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.record.fleet import Outline
from optimizer.plan.variants import hosting
from optimizer.plan.variants.hosting import Flip, at_demand, stands
from optimizer.report.compare.chart import compare_chart
from optimizer.report.compare.compare import compare_answer

SECONDS_PER_MONTH = HOURS_PER_MONTH * SECONDS_PER_HOUR
OURS = SOURCES + "ours,Our books,{licence},2026-11-01\n"
BOX = "box,basement,l40s,4,pcie,2,60000,48,0.2,2,1.5,0.1,60,400,250,ours,2026-11-01\n"
API = "provider,model,provider_model_name,{fields},unit,as_of,source,confidence\n"


def books(folder: Path, owned: str = "", apis: str = "", licence: str = "own") -> Path:
    (folder / "sources.csv").write_text(OURS.format(licence=licence), encoding="utf-8")
    if owned:
        (folder / "owned.csv").write_text(OWNED + owned, encoding="utf-8")
    if apis:
        (folder / "serverless.csv").write_text(apis, encoding="utf-8")
    return folder


def scenario(*workloads: dict[str, object], providers: tuple[str, ...] = ("owned", "groq")) -> Scenario:
    named = [{"name": f"w{at}", "input_tokens": 64, "output_tokens": 8, **each} for at, each in enumerate(workloads)]
    policy = {"providers": {"allow": providers}, "hosting": ["owned", "serverless"]}
    policy |= {"engines": ["vllm"]}
    return Scenario.model_validate({"name": "books", "workloads": named, "policy": policy})


def e8(folder: Path, staff_usd: int) -> Comparison:
    """Article example E8: 50 M requests a month of a 7B model; two A100 6,000, 800 beside, staff, or 0.0005 each."""
    rack = f"a100s,basement,a100-80-sxm,2,nvlink,1,0,12,0,0.8,1,0,800,{staff_usd},6000,ours,2026-11-01\n"
    row = "groq,qwen2.5-7b,per request,0.0005,request,2026-11-01,ours,listed\n"
    api = API.format(fields="usd_per_request") + row
    rate = 50_000_000 / SECONDS_PER_MONTH
    asked = scenario({"model": "qwen2.5-7b", "requests_per_second": rate})
    return compare(asked, load_catalogs(books(folder, rack, api)), "hosting")


def test_what_a_limit_leaves_out_is_said_and_the_rest_stands(tmp_path: Path) -> None:
    """A comparison that was cut before the first demand ended with exit code 70."""
    asked = scenario({"model": "qwen2.5-7b", "requests_per_second": 1})
    answer = compare(asked, load_catalogs(books(tmp_path, BOX)), "hosting", time_limit_s=0.0)
    rows = {row.choice: row for row in answer.choices}
    assert rows.pop("owned").rank == 1
    assert {row.verdict for row in rows.values()} == {"not_compared"}
    assert answer.hosting
    assert (answer.hosting.curve, answer.hosting.break_evens) == ([], [])
    sections = {section.title: section for section in compare_answer(answer).sections}
    assert sections["Where the order flips"].lines == (
        "what rented, serverless or per_second costs at other demands: not worked out, the time limit was reached",
        "what each way costs at 11 of 11 demands: not worked out, the time limit was reached",
    )
    assert "Cost by demand" not in sections
    assert "</svg>" in compare_chart(answer, 5)


def test_that_the_order_never_flips_is_said_only_where_all_was_looked_at() -> None:
    told = json.loads((TESTS / "golden" / "compare" / "hosting.json").read_text(encoding="utf-8"))
    told["hosting"]["break_evens"], told["hosting"]["curve"] = [], told["hosting"]["curve"][:2]
    for left_out, words in (([], "nowhere between"), (["where the order flips: not worked out"], "not worked out")):
        told["hosting"]["not_worked_out"] = left_out
        sections = compare_answer(Comparison.model_validate(told)).sections
        (line,) = next(each.lines for each in sections if each.title == "Where the order flips")
        assert words in line


def test_E8_self_hosting_breaks_even_where_its_month_buys_as_many_requests(tmp_path: Path) -> None:
    answer = e8(tmp_path, 15_000)
    costs = {row.choice: float(row.monthly_cost_usd or 0) for row in answer.choices}
    assert costs["owned"] == pytest.approx(21_800, abs=0.005)
    assert costs["serverless"] == pytest.approx(25_000, abs=0.005)
    assert answer.choices[0].choice == "owned"
    assert answer.hosting
    assert_breaks_even(answer, at_requests=43_600_000, at_usd=21_800)
    (found,) = answer.hosting.utilization
    assert found.wins_from / found.planned == pytest.approx(21_800 / 25_000)
    assert 0 < found.wins_from < found.planned <= 0.85


@pytest.mark.parametrize(("needs", "said"), [(1.3, "130%"), (1.003, "100.3%"), (1.0003, "a little more than 100%")])
def test_a_fleet_that_never_beats_the_api_is_said_to_need_more_than_all(
    needs: float, said: str, tmp_path: Path
) -> None:
    """One was said to need 100 %, of which the demand was half."""
    known = e8(tmp_path, 15_000).hosting
    assert known is not None
    as_much_usd = 21_800 / known.utilization[0].wins_from
    found = e8(tmp_path, round(as_much_usd * needs) - 6_800).hosting
    assert found is not None
    assert f"never beats the API: it would need {said} of what it sustains; the" in found.utilization[0].text


def test_a_mix_that_saves_nothing_is_no_row_and_no_reason_to_admit_anything(tmp_path: Path) -> None:
    """The very plan that is admitted stood before itself as "hybrid would be cheapest, were it admitted"."""
    answer = e8(tmp_path, 15_000)
    assert answer.choices[0].rank == 1
    assert "hybrid" not in {row.choice for row in answer.choices}
    assert "were it admitted" not in answer.summary
    assert answer.hosting
    assert answer.hosting.notes[0].startswith("no mix of rented, serverless, owned hosting costs less than")
    (owned,) = answer.hosting.owned
    assert owned.instances == 1


@dataclass(frozen=True)
class Priced:
    usd: int
    cheapest: "Priced | None" = None


@pytest.mark.parametrize(
    ("mix", "told"),
    [
        (Priced(90), Priced(90)),
        (Priced(100), None),
        (Priced(104), None),
        (Priced(104, Priced(95)), Priced(95)),
        (Priced(104, Priced(97)), None),
    ],
)
def test_a_mix_is_told_where_it_costs_less_than_what_it_is_made_of(
    mix: Priced, told: Priced | None, chat: Scenario, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simple plan of a mix may be dearer than a way that it may use, whose own cheapest plan costs 97."""
    monkeypatch.setattr(hosting, "outlined", lambda each: Outline(monthly_cost_usd=Decimal(each.usd)))
    inquiry, others = Inquiry.of(chat, catalogs), [Priced(100, Priced(97)), Priced(120)]
    found = hosting.cheaper_mix(inquiry, cast(Answer, mix), cast(list[Answer], others))
    assert (None if found is None else found.answer) == told


def test_E8_without_its_staff_breaks_even_at_a_third_of_the_requests(tmp_path: Path) -> None:
    assert_breaks_even(e8(tmp_path, 0), at_requests=13_600_000, at_usd=6_800)


def assert_breaks_even(answer: Comparison, at_requests: float, at_usd: float) -> None:
    assert answer.hosting
    first = answer.hosting.break_evens[0]
    assert (first.below, first.above) == ("serverless", "owned")
    assert first.requests_per_month == pytest.approx(at_requests, rel=1e-6)
    assert float(first.monthly_cost_usd) == pytest.approx(at_usd, abs=0.01)
    low, high = first.solved_again_at
    assert low <= first.requests_per_month <= high <= 1.01 * low
    assert "; proven at " in first.text


def test_a_break_even_stands_only_where_the_order_does_on_either_side() -> None:
    flip = Flip("serverless", "owned", 1.0, Decimal(100), (0.995, 1.005))

    def curves(owned_usd: int) -> dict[str, Callable[[float], Decimal | None]]:
        return {"serverless": lambda factor: Decimal(100) * Decimal(str(factor)), "owned": lambda _: Decimal(owned_usd)}

    assert stands(flip, curves(100))
    assert not stands(flip, curves(99))
    assert not stands(flip, curves(101))


def test_E13_a_month_by_the_request_is_the_sum_of_price_times_volume(tmp_path: Path) -> None:
    prices = {"llama-3.1-8b": "0.035", "qwen2.5-7b": "0.06", "llama-3.3-70b": "0.03"}
    volumes = dict(zip(prices, (10_000, 4_000, 2_500), strict=True))
    rows = [f"groq,{model},{model} there,{usd},request,2026-11-01,ours,listed\n" for model, usd in prices.items()]
    folder = books(tmp_path, apis=API.format(fields="usd_per_request") + "".join(rows))
    asked = scenario(
        *({"model": m, "requests_per_second": volumes[m] / SECONDS_PER_MONTH} for m in prices), providers=("groq",)
    )
    answer = compare(asked, load_catalogs(folder), "hosting")
    estimate = sum(Decimal(prices[model]) * volumes[model] for model in prices)
    assert estimate == Decimal("665")
    assert float(answer.choices[0].monthly_cost_usd or 0) == pytest.approx(665, abs=0.005)
    assert answer.hosting
    assert [float(api.monthly_cost_usd) for api in answer.hosting.apis] == pytest.approx([350, 240, 75], abs=0.005)


def test_tokens_count_at_their_prices_and_cached_ones_at_theirs(tmp_path: Path) -> None:
    fields = "usd_per_million_input_tokens,usd_per_million_output_tokens,usd_per_million_cached_input_tokens"
    row = "groq,qwen2.5-7b,by tokens,0.4,1.6,0.1,million tokens,2026-11-01,ours,listed\n"
    folder = books(tmp_path, apis=API.format(fields=fields) + row)
    work = {"model": "qwen2.5-7b", "requests_per_second": 2, "input_tokens": 1000, "output_tokens": 100}
    asked = scenario(work | {"cached_input_share": 0.5}, providers=("groq",))
    answer = compare(asked, load_catalogs(folder), "hosting")
    assert answer.hosting
    (api,) = answer.hosting.apis
    assert api.usd_per_request == Decimal("0.00041")
    assert api.usd_per_million_cached_input_tokens == Decimal("0.1")
    assert any("cached price" in note for note in answer.hosting.notes)


@pytest.mark.parametrize("licence", ["own", "private"])
def test_a_month_of_owned_hardware_is_told_by_part_unless_its_source_is_private(licence: str, tmp_path: Path) -> None:
    work = {"model": "qwen2.5-7b", "requests_per_second": 2}
    answer = compare(scenario(work), load_catalogs(books(tmp_path, BOX, licence=licence)), "hosting")
    assert answer.hosting
    (cost,) = answer.hosting.owned
    parts = {"purchase": 1000, "power": 219, "cooling": 60, "staff": 400, "space": 250}
    told = {name: float(amount) for name, amount in cost.parts_usd.items()}
    assert told == ({} if licence == "private" else parts)
    assert float(cost.monthly_cost_usd) == pytest.approx(sum(parts.values()), abs=0.01)


def test_ways_that_do_not_exist_say_why(tmp_path: Path) -> None:
    asked = scenario({"model": "qwen2.5-7b", "requests_per_second": 2})
    rows = {row.choice: row for row in compare(asked, load_catalogs(books(tmp_path, BOX)), "hosting").choices}
    assert rows["rented"].verdict == "fails"
    assert rows["serverless"].verdict == "fails"
    assert "policy.providers" in {item.requirement for item in rows["serverless"].stopped_by} or (
        "no API of qwen2.5-7b" in rows["serverless"].stopped_by[0].text
    )
    assert rows["owned"].rank == 1


def test_an_api_that_would_be_cheapest_stands_first_though_it_is_not_admitted(tmp_path: Path) -> None:
    rack = "a100s,basement,a100-80-sxm,2,nvlink,1,0,12,0,0.8,1,0,800,15000,6000,ours,2026-11-01\n"
    row = "groq,qwen2.5-7b,per request,0.0001,request,2026-11-01,ours,listed\n"
    catalogs = load_catalogs(books(tmp_path, rack, API.format(fields="usd_per_request") + row))
    asked = scenario({"model": "qwen2.5-7b", "requests_per_second": 1})
    policy = asked.policy.model_copy(update={"hosting": ("owned",)})
    answer = compare(asked.model_copy(update={"policy": policy}), catalogs, "hosting")
    first = answer.choices[0]
    assert (first.choice, first.verdict, first.rank) == ("serverless", "not_admitted", None)
    assert answer.summary.startswith("serverless would be cheapest at $262.80 a month, were it admitted")
    assert [row.rank for row in answer.choices if row.choice == "owned"] == [1]
    titles = [section.title for section in compare_answer(answer).sections]
    assert titles.index("What would comply if the policy admitted it") < titles.index("What complies")


def usd_at(asked: Scenario, catalogs: Catalogs, way: str) -> float:
    """What a scenario costs where it is hosted in one way, solved alone."""
    answer = solved(Inquiry.of(with_policy(asked, hosting=[way]), catalogs))
    return answer.solution.cost_usd_per_month or math.inf


@pytest.fixture(scope="module")
def small() -> Catalogs:
    """One card at one seller, by the hour and by the second."""
    known = load_catalogs()
    offers = tuple(each for each in known.offers if (each.provider, each.gpu) == ("runpod", "l4"))
    sold = tuple(each for each in known.per_second if (each.provider, each.gpu) == ("runpod", "l4"))
    return replace(known, offers=offers, per_second=sold)


def test_containers_by_the_second_stand_beside_rent_with_what_they_order_and_where_the_order_flips(
    small: Catalogs,
) -> None:
    policy = {
        "hosting": ["rented", "per_second"],
        "engines": ["vllm"],
        "precisions": ["fp8"],
        "kv_precisions": ["bf16"],
    }
    work = {"name": "w", "model": "qwen2.5-7b", "requests_per_second": 0.001, "input_tokens": 64, "output_tokens": 8}
    asked = Scenario.model_validate({"name": "rarely", "workloads": [work], "policy": policy})
    answer = compare(asked, small, "hosting")
    rows = {row.choice: row for row in answer.choices}
    assert (answer.choices[0].choice, rows["per_second"].verdict) == ("per_second", "complies")
    (line,) = rows["per_second"].lines
    assert (line.line, line.unit, line.pricing_term) == ("containers", "container second", "by the second")
    assert float(line.unit_price_usd * line.quantity_per_month) == pytest.approx(float(line.monthly_cost_usd), abs=0.01)
    assert float(line.monthly_cost_usd) == pytest.approx(float(rows["per_second"].monthly_cost_usd or 0), abs=0.01)
    assert answer.hosting
    (used,) = answer.hosting.containers
    assert used.seconds_per_month == pytest.approx(float(line.quantity_per_month))
    (flip,) = answer.hosting.break_evens
    assert (flip.below, flip.above) == ("per_second", "rented")
    assert " a minute) per_second is cheaper" in flip.text
    at = flip.requests_per_month / answer.requests_per_month
    for factor, cheaper in ((0.98 * at, "per_second"), (1.02 * at, "rented")):
        usd = {way: usd_at(at_demand(asked, factor), small, way) for way in ("per_second", "rented")}
        assert min(usd, key=lambda way: usd[way]) == cheaper
    assert "By the second" in [section.title for section in compare_answer(answer).sections]


def test_what_nobody_promises_of_containers_is_named_by_its_field(small: Catalogs) -> None:
    work = {"name": "w", "model": "qwen2.5-7b", "requests_per_second": 0.001, "input_tokens": 64, "output_tokens": 8}
    policy = {"engines": ["vllm"], "precisions": ["fp8"], "max_gpus": 4}
    asked = Scenario.model_validate({"name": "rarely", "workloads": [work], "policy": policy})
    rows = {row.choice: row for row in compare(asked, small, "hosting").choices}
    assert rows["per_second"].verdict == "fails"
    assert [item.requirement for item in rows["per_second"].stopped_by] == ["policy.max_gpus"]
