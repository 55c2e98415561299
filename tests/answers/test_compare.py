"""`optimizer compare`: the winner is the plan, each row the best under its choice, what fails says what stops it."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
import zipfile
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import pytest
from support.command import Command
from support.gate_cases import scenario as small
from support.gate_cases import world
from support.paths import TESTS
from support.scenarios import with_policy, with_workload
from support.simpler import SIMPLER, of_two_cards
from support.tables import SOURCES

from optimizer import load_scenario
from optimizer.answers.bill import bill_lines
from optimizer.answers.compare.compare import _ranked, _summary, compare
from optimizer.answers.compare.types import Comparison, StoppedBy
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.base.errors import Exit, InputError, VerificationFailed
from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import cents, difference_of_cents
from optimizer.report.compare.compare import SHEET_COLUMNS, compare_answer, compare_csv, compare_html
from optimizer.report.compare.sheet import compare_xlsx
from optimizer.report.exits import exit_of
from optimizer.report.export import as_json, rendered

SECONDS_PER_MONTH = HOURS_PER_MONTH * SECONDS_PER_HOUR


PLACES = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}
CARDS = ("a10g", "l4", "l40s")


def few_of(catalogs: Catalogs) -> Catalogs:
    """A region of each large cloud, with a few cards."""
    there = (offer for offer in catalogs.offers if PLACES.get(offer.provider) == offer.region)
    sold = (offer for offer in there if offer.provider == "azure" or offer.gpu in CARDS)
    return replace(catalogs, offers=tuple(sold))


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_of(catalogs)


@pytest.fixture
def two_clouds() -> Scenario:
    few = {"providers": {"allow": ["aws", "gcp"]}, "gpus": {"allow": ["l4", "l40s"]}, "engines": ["vllm"]}
    return with_policy(load_scenario("chat-8b"), **few)


@pytest.mark.parametrize(
    ("name", "by", "policy"),
    [
        ("deepseek-v3", "precision", {}),
        ("office-hours", "pricing_term", {"gpus": {"allow": ["l4"]}}),
        ("ci-gate", "provider", {}),
    ],
)
def test_the_winner_is_the_plan(name: str, by: str, policy: dict[str, object], catalogs: Catalogs) -> None:
    """The one that is shown, which answers to its simulation."""
    scenario = with_policy(load_scenario(name), simplicity_percent=0, **policy)
    answer = compare(scenario, catalogs, by)
    first, plan = answer.choices[0], read_back(confirmed_answer(Inquiry.of(scenario, catalogs)))
    assert (first.rank, first.verdict, first.outcome) == (1, "complies", "optimal")
    assert first.monthly_cost_usd == plan.monthly_cost_usd
    assert first.difference_usd == 0
    assert first.summary == summarized(plan)
    costs = [row.monthly_cost_usd for row in answer.choices if row.rank]
    assert costs == sorted(costs, key=lambda cost: cost or Decimal(0))


def test_the_plan_stands_first_and_says_why_a_row_may_cost_less(catalogs: Catalogs) -> None:
    """It stood second, with a negative difference to the first, which was "cheapest"."""
    answer = compare(Scenario.model_validate(SIMPLER), of_two_cards(catalogs), "gpu")
    plan, cheaper = answer.choices
    assert [(row.choice, row.rank) for row in answer.choices] == [("h100-sxm", 1), ("a100-40-sxm", 2)]
    assert plan.monthly_cost_usd is not None
    assert cheaper.monthly_cost_usd is not None
    less = difference_of_cents(cheaper.monthly_cost_usd, plan.monthly_cost_usd)
    assert (plan.difference_usd, cheaper.difference_usd) == (0, less)
    why = "which costs $523.48 more than the cheapest for being simpler"
    assert answer.summary.startswith(f"simpler by gpu: the plan is h100-sxm at $24,654.90 a month, {why}; next a100-40")
    section = next(each for each in compare_answer(answer).sections if each.title == "What complies")
    assert section.lines[0] == f"the first row is the plan, {why}: others may cost less"


def test_of_equals_what_is_admitted_stands_first() -> None:
    answer = Comparison.model_validate_json((GOLDEN / "hosting.json").read_text(encoding="utf-8"))
    plan = next(row for row in answer.choices if row.rank == 1)
    barred = plan.model_copy(update={"choice": "barred", "verdict": "not_admitted"})
    dearer = plan.model_copy(update={"choice": "dearer", "monthly_cost_usd": (plan.monthly_cost_usd or 0) + 1})
    assert [row.choice for row in _ranked([plan, barred], plan, admitted_first=False)] == [plan.choice, "barred"]
    assert [row.choice for row in _ranked([dearer, plan], dearer, admitted_first=False)] == ["dearer", plan.choice]


def test_every_row_is_the_optimum_under_its_choice(two_clouds: Scenario, few: Catalogs) -> None:
    rows = {row.choice: row for row in compare(two_clouds, few, "provider").choices}
    for provider in ("aws", "gcp"):
        alone = confirmed_answer(Inquiry.of(with_policy(two_clouds, providers={"allow": [provider]}), few))
        assert rows[provider].monthly_cost_usd == read_back(alone).monthly_cost_usd
    requests = two_clouds.workloads[0].peak_requests_per_second() * SECONDS_PER_MONTH
    for row in (rows["aws"], rows["gcp"]):
        cost = row.monthly_cost_usd
        assert cost is not None
        assert float(row.cost_per_request_usd or 0) * requests == pytest.approx(float(cost))
        tokens = requests * (1024 + 256)
        assert float(row.cost_per_million_tokens_usd or 0) * tokens / 1e6 == pytest.approx(float(cost))
        assert row.price_age_days is not None
        assert row.price_confidence in {"listed", "derived"}
    assert "policy.providers" in {item.requirement for item in rows["azure"].stopped_by}


def test_every_row_holds_when_requests_arrive_one_by_one(catalogs: Catalogs) -> None:
    """By formulas nine L4 would do, which the plan on L4 alone finds to break their promise."""
    workload = {
        **{"name": "chat", "model": "llama-3.1-8b", "requests_per_second": 6, "input_tokens": 800},
        **{"output_tokens": 200, "slo": {"ttft_ms": 350, "tpot_ms": 60}},
    }
    policy = {"gpus": {"allow": ["l4", "l40s"]}, "engines": ["vllm"]}
    both = Scenario.model_validate({"name": "cards", "workloads": [workload], "policy": policy})
    alone = Inquiry.of(with_policy(both, gpus={"allow": ["l4"]}), catalogs)
    (row,) = [item for item in compare(both, catalogs, "gpu").choices if item.choice == "l4"]
    assert row.monthly_cost_usd is not None
    held_usd = read_back(confirmed_answer(alone)).monthly_cost_usd
    assert row.monthly_cost_usd == held_usd > read_back(solved(alone)).monthly_cost_usd


@pytest.mark.parametrize("name", ["eu-residency", "api-at-night", "token-scores"])
def test_lines_add_up_to_the_month_to_the_cent(name: str, catalogs: Catalogs) -> None:
    """Instances, storage, what is sent, requests to APIs; and each line is its price times its quantity."""
    asked = with_policy(load_scenario(name), simplicity_percent=0)
    answer = solved(Inquiry.of(asked, catalogs))
    plan = read_back(answer)
    lines = bill_lines(plan, answer.inquiry.market.offers, catalogs)
    assert sum(line.monthly_cost_usd for line in lines) == cents(plan.monthly_cost_usd)
    for line in lines:
        assert abs(line.unit_price_usd * line.quantity_per_month - line.monthly_cost_usd) <= Decimal("0.02")
    kinds = {"eu-residency": {"instances", "storage"}, "token-scores": {"egress"}}
    assert kinds.get(name, {"requests"}) <= {line.line for line in lines}


def test_lines_that_do_not_add_up_to_the_month_are_not_shown(two_clouds: Scenario, few: Catalogs) -> None:
    answer = solved(Inquiry.of(two_clouds, few))
    plan = read_back(answer)
    wrong = replace(plan, monthly_cost_usd=plan.monthly_cost_usd + Decimal("0.02"))
    with pytest.raises(VerificationFailed, match="add up to"):
        bill_lines(wrong, answer.inquiry.market.offers, few)


def test_what_a_file_rounds_is_borne_by_all_lines_and_storage_excuses_nothing(catalogs: Catalogs) -> None:
    """Eight charges of 0.496 cents, each 0.00 in a file, whose month is four cents."""
    alone = with_policy(load_scenario("api-at-night"), hosting=["serverless"])
    by_api = read_back(solved(Inquiry.of(alone, catalogs)))
    small = {"usd_per_request": Decimal("0.0000496"), "requests_per_month": 100.0, "monthly_cost_usd": Decimal("0.00")}
    eight = replace(by_api, hosted=(by_api.hosted[0].model_copy(update=small),) * 8, monthly_cost_usd=Decimal("0.04"))
    paid = [line.monthly_cost_usd for line in bill_lines(eight, (), catalogs)]
    assert (sum(paid), max(paid)) == (Decimal("0.04"), Decimal("0.01"))
    answer = solved(Inquiry.of(with_policy(load_scenario("eu-residency"), simplicity_percent=0), catalogs))
    stored = read_back(answer)
    half_cents = len(stored.purchases) + sum(bool(ran.egress_usd) for ran in stored.deployments) + 1
    wrong = replace(stored, monthly_cost_usd=stored.monthly_cost_usd + Decimal("0.005") * half_cents + Decimal("0.001"))
    with pytest.raises(VerificationFailed, match="add up to"):
        bill_lines(wrong, answer.inquiry.market.offers, catalogs)


@pytest.mark.parametrize("least", [2, 3])
def test_a_fleet_of_several_providers_is_told_without_each_and_by_pairs(
    least: int, catalogs: Catalogs, tmp_path: Path
) -> None:
    four = world(catalogs, l4="0.50", l40s="1.50", a10="0.60", a30="0.90")
    asked = small(tmp_path).scenario
    scenario = with_policy(asked, min_providers=least, simplicity_percent=0, unmeasured_performance="accept")
    rows = {row.choice: row for row in compare(scenario, four, "provider").choices}
    used = next(iter(rows)).split(" + ")
    assert len(used) == least
    for name in used:
        others = with_policy(scenario, providers={"deny": [name]})
        assert rows[f"without {name}"].monthly_cost_usd == read_back(solved(Inquiry.of(others, four))).monthly_cost_usd
    pairs = {" + ".join(pair) for pair in combinations(used, 2)}
    assert pairs <= rows.keys()
    stopped = {item.requirement for pair in pairs for item in rows[pair].stopped_by}
    assert stopped == (set() if least == 2 else {"policy.min_providers"})


def test_lists_of_the_policy_are_lifted_to_show_what_they_keep_out(two_clouds: Scenario, few: Catalogs) -> None:
    rows = {row.choice: row for row in compare(two_clouds, few, "pricing_term").choices}
    assert rows["on_demand"].rank == 1
    spot = rows["spot"]
    assert (spot.verdict, spot.rank) == ("not_admitted", None)
    assert {item.requirement for item in spot.stopped_by} == {"policy.pricing_terms"}
    admitted = with_policy(two_clouds, pricing_terms=["spot"])
    assert spot.monthly_cost_usd == read_back(solved(Inquiry.of(admitted, few))).monthly_cost_usd


def test_what_fails_says_which_limits_of_the_fleet_stop_it(catalogs: Catalogs) -> None:
    rows = {row.choice: row for row in compare(load_scenario("three-clouds"), catalogs, "provider").choices}
    assert rows["aws + azure + gcp"].rank == 1
    for provider in ("aws", "azure", "gcp"):
        assert [item.requirement for item in rows[provider].stopped_by] == [
            "policy.max_provider_share",
            "policy.survive",
        ]


def test_what_fails_says_which_service_level_stops_it(chat: Scenario, few: Catalogs) -> None:
    quick = with_workload(chat, slo={"ttft_ms": 300, "tpot_ms": 50}, requests_per_second=1)
    narrow = with_policy(quick, gpus={"allow": ["l4", "a10g"]}, providers={"allow": ["aws"]})
    rows = {row.choice: row for row in compare(narrow, few, "gpu").choices}
    assert rows["a10g"].verdict == "fails"
    assert "workloads[chat].slo.ttft_ms" in {item.requirement for item in rows["a10g"].stopped_by}


def test_a_scenario_without_any_plan_has_no_winner(optimizer: Command) -> None:
    said = optimizer("compare", "infeasible-latency", "--by", "precision")
    assert said.code == 3
    assert said.out.startswith("No precision serves infeasible-latency")
    assert "slo.ttft_ms" in said.out or "TTFT" in said.out


def test_that_there_is_no_plan_is_said_only_where_it_is_proven() -> None:
    answer = Comparison.model_validate_json((GOLDEN / "providers.json").read_text(encoding="utf-8"))
    rows = [row.model_copy(update={"rank": None, "verdict": "not_compared"}) for row in answer.choices]
    none = answer.model_copy(update={"choices": rows})
    assert exit_of(none.model_copy(update={"outcome": "infeasible"})) == Exit.NO_PLAN
    assert exit_of(none.model_copy(update={"outcome": "unproven"})) == Exit.UNPROVEN
    assert _summary("week", "gpu", rows, "unproven") == "No plan was found in time for week by gpu."


def test_private_discounts_show_in_the_price_alone(two_clouds: Scenario, tmp_path: Path) -> None:
    (tmp_path / "sources.csv").write_text(SOURCES + "ours,Secret deal,private,2026-11-01\n")
    rows = "aws,l4,on_demand,37,{},ours,2026-11-01\naws,l40s,on_demand,37,{},ours,2026-11-01\n"
    costs = {}
    for private in ("yes", "no"):
        table = "provider,gpu,pricing_term,percent,private,source,as_of\n" + rows.format(private, private)
        (tmp_path / "discounts.csv").write_text(table)
        answer = compare(two_clouds, few_of(load_catalogs(tmp_path)), "provider")
        costs[private] = answer.choices[0].monthly_cost_usd
        said = "".join(
            (
                rendered(compare_answer(answer), answer, "text"),
                compare_csv(answer),
                compare_html(answer),
                as_json(answer),
            )
        )
        assert ("37 %" in said) == (private == "no")
        assert "Secret deal" not in said
    assert costs["yes"] == costs["no"]


def test_an_unknown_dimension_says_what_there_is(chat: Scenario, catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as caught:
        compare(chat, catalogs, "providers")
    (finding,) = caught.value.findings
    assert "provider" in finding.hint


GOLDEN = TESTS / "golden" / "compare"


@pytest.mark.parametrize("name", ["providers", "hosting"])
def test_the_sheet_holds_every_choice_under_the_names_of_the_json(name: str) -> None:
    answer = Comparison.model_validate_json((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    sheet = list(csv.DictReader(io.StringIO(compare_csv(answer))))
    assert [line["choice"] for line in sheet] == [row.choice for row in answer.choices]
    stored = json.loads(as_json(answer))["choices"]
    assert {*SHEET_COLUMNS, "lines"} == set(stored[0])
    assert [line["monthly_cost_usd"] for line in sheet] == [row["monthly_cost_usd"] or "" for row in stored]
    assert len(compare_csv(answer, top=1).splitlines()) == 2 + sum(row.rank is None for row in answer.choices)


def test_the_spreadsheet_holds_the_sheet_and_is_the_same_every_time() -> None:
    answer = Comparison.model_validate_json((GOLDEN / "providers.json").read_text(encoding="utf-8"))
    first, second = compare_xlsx(answer), compare_xlsx(answer)
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as book:
        words = book.read("xl/sharedStrings.xml").decode()
        rows = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml")).findall(".//{*}row")
    assert len(rows) == len(answer.choices) + 1
    assert all(name in words for name in SHEET_COLUMNS)


def test_a_spreadsheet_needs_a_file(optimizer: Command) -> None:
    said = optimizer("compare", "ci-gate", "--by", "provider", "--format", "xlsx")
    assert (said.code, said.out) == (2, "")
    assert "--output FILE.xlsx" in said.err


def test_the_command_writes_every_form_and_a_chart(optimizer: Command, tmp_path: Path) -> None:
    chart, sheet = tmp_path / "costs.svg", tmp_path / "costs.csv"
    asked = ("compare", "ci-gate", "--by", "provider", "--format", "csv")
    said = optimizer(*asked, "--output", str(sheet), "--chart", str(chart))
    assert (said.code, said.out) == (0, "")
    assert sheet.read_text(encoding="utf-8").startswith("scenario,by,rank,choice,")
    assert ElementTree.parse(chart).getroot().tag.endswith("svg")
    refused = optimizer("compare", "ci-gate", "--by", "provider", "--chart", str(tmp_path / "costs.png"))
    assert refused.code == 2
    assert "known: .svg" in refused.err


def test_each_precision_is_stopped_by_its_own_reason() -> None:
    answer = Comparison.model_validate_json((GOLDEN / "providers.json").read_text(encoding="utf-8"))
    some = next(row for row in answer.choices if row.verdict == "fails")
    rows = [
        some.model_copy(
            update={
                "choice": name,
                "stopped_by": [StoppedBy(requirement="workloads[chat].min_quality", text=f"keeps {kept}")],
            }
        )
        for name, kept in (("fp4", 0.96), ("int4", 0.97))
    ]
    for by, lines in {
        "precision": ("fp4: keeps 0.96", "int4: keeps 0.97"),
        "gpu": ("fp4, int4: keeps 0.96 (fp4)",),
    }.items():
        written = compare_answer(answer.model_copy(update={"by": by, "choices": rows}))
        (section,) = (each for each in written.sections if each.title.startswith("What cannot comply"))
        assert section.lines == lines


def test_differences_are_those_of_the_figures_that_are_shown(catalogs: Catalogs) -> None:
    """514.29814 and 587.504 are shown as 514.30 and 587.50, which are 73.20 apart."""
    rows = compare(load_scenario("ci-gate"), catalogs, "provider").choices
    shown = [row.model_dump(mode="json") for row in rows if row.monthly_cost_usd is not None]
    costs = [Decimal(row["monthly_cost_usd"]) for row in shown]
    assert [Decimal(row["difference_usd"]) for row in shown] == [cost - costs[0] for cost in costs]
