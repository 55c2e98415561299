"""Scenario files are read as they were meant: traces keep their tokens, profiles their peak, names their shorthand."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from optimizer import load_scenario
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.attachments import replicas_of_plan
from optimizer.inputs.scenario.scenario import Grid, Scenario, Spot
from optimizer.inputs.scenario.tables import demand_of_trace, requests_of_trace
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

HEAD = "name: s\nworkloads:\n  - name: chat\n    model: llama-3.1-8b\n"
LENGTHS = "    requests_per_second: 1\n    input_tokens: 100\n    output_tokens: 50\n"
SHIPPED = sorted(file.stem for file in shipped_dir("scenarios").glob("*.yaml"))


def load(folder: Path, text: str, name: str = "s.yaml") -> Scenario:
    (folder / name).write_text(text, encoding="utf-8")
    return load_scenario(folder / name)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scenarios_load_by_name_and_explain_themselves(name: str) -> None:
    assert load_scenario(name).name == name
    text = (shipped_dir("scenarios") / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# ")


def test_a_bare_number_is_the_usual_statistic(tmp_path: Path) -> None:
    slo = load(tmp_path, HEAD + LENGTHS + "    slo: {ttft_ms: 500, tpot_ms: 50, e2e_ms: 9000}\n").workloads[0].slo
    assert slo.ttft_ms is not None
    assert slo.ttft_ms.limits_ms() == {"p95": 500}
    assert slo.tpot_ms is not None
    assert slo.tpot_ms.limits_ms() == {"mean": 50}
    assert slo.e2e_ms is not None
    assert slo.e2e_ms.limits_ms() == {"p95": 9000}


def test_a_bare_name_is_a_list_of_one(tmp_path: Path) -> None:
    text = HEAD + LENGTHS + "policy: {engines: vllm, gpus: {allow: h100-*}, pricing_terms: spot}\n"
    policy = load(tmp_path, text).policy
    assert (policy.engines, policy.gpus.allow, policy.pricing_terms) == (("vllm",), ("h100-*",), ("spot",))


def test_json_reads_as_yaml_does(tmp_path: Path) -> None:
    workload = '{"name": "chat", "model": "llama-3.1-8b", "requests_per_second": 1,\n\t"input_tokens": 100,'
    workload += ' "output_tokens": 50}'
    assert load(tmp_path, f'{{"name": "s", "workloads": [{workload}]}}', "s.json") == load(tmp_path, HEAD + LENGTHS)


@pytest.mark.parametrize("seed", range(5))
def test_a_trace_keeps_its_token_totals(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = [(chance.uniform(0, 3600), chance.randint(1, 9000), chance.randint(1, 900)) for _ in range(2000)]
    lines = "".join(f"{arrived},{prompt},{answer}\n" for arrived, prompt, answer in rows)
    (tmp_path / "t.csv").write_text("arrived_at_s,input_tokens,output_tokens\n" + lines)
    (only,) = load(tmp_path, HEAD + "    trace: t.csv\n").workloads[0].classes()
    assert only.lengths is not None
    assert 1 < len(only.lengths) <= 80
    assert sum(item.share for item in only.lengths) == pytest.approx(1)
    for column, field in ((1, "input_tokens"), (2, "output_tokens")):
        mean = sum(row[column] for row in rows) / len(rows)
        assert sum(item.share * getattr(item, field) for item in only.lengths) == pytest.approx(mean, abs=0.5)
        assert getattr(only, field) == round(mean)


def test_the_peak_of_a_trace_is_its_busiest_minute(tmp_path: Path) -> None:
    arrivals = [*range(0, 600, 10), *[300 + step / 10 for step in range(300)]]
    (tmp_path / "t.csv").write_text(
        "arrived_at_s,input_tokens,output_tokens\n" + "".join(f"{second},100,10\n" for second in arrivals)
    )
    workload = load(tmp_path, HEAD + "    trace: t.csv\n").workloads[0]
    assert workload.peak_requests_per_second() == pytest.approx(306 / 60)


def test_a_trace_of_equal_requests_is_one_class(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("arrived_at_s,input_tokens,output_tokens\n" + "0,100,10\n" * 30)
    (only,) = load(tmp_path, HEAD + "    trace: t.csv\n").workloads[0].classes()
    assert (only.input_tokens, only.output_tokens, only.share, only.lengths) == (100, 10, 1, None)


def test_the_kinds_of_a_trace_have_the_percentiles_of_its_prompts(tmp_path: Path) -> None:
    """Of long tails as published hours have them, so that a promise of the slowest of twenty is one of its prompt."""
    prompts = np.random.default_rng(0).lognormal(8.5, 1.1, 4000).astype(int) + 1
    rows = "".join(f"{second},{prompt},{1 + prompt % 300}\n" for second, prompt in enumerate(prompts))
    (tmp_path / "t.csv").write_text("arrived_at_s,input_tokens,output_tokens\n" + rows)
    (only,) = load(tmp_path, HEAD + "    trace: t.csv\n").workloads[0].classes()
    kinds = sorted(only.lengths or (), key=lambda item: item.input_tokens)
    below = np.cumsum([item.share for item in kinds])
    for share in (0.5, 0.9, 0.95, 0.99):
        found = kinds[int(np.searchsorted(below, share))].input_tokens
        assert found == pytest.approx(np.quantile(prompts, share), rel=0.15)


def test_a_weekly_profile_gives_its_highest_hour(tmp_path: Path) -> None:
    rows = "".join(f"{hour},{2 if hour == 35 else 0.5}\n" for hour in reversed(range(168)))
    (tmp_path / "p.csv").write_text("hour_of_week,requests_per_second\n" + rows)
    text = HEAD + "    input_tokens: 100\n    output_tokens: 50\n    demand: {profile: p.csv}\n"
    demand = load(tmp_path, text).workloads[0].demand
    assert demand is not None
    assert demand.weekly_peak() == 2
    assert demand.weekly()[35] == 2
    assert sum(demand.weekly()) == pytest.approx(2 + 167 * 0.5)


def test_an_hourly_profile_scales_to_its_peak_and_rests_at_the_weekend(tmp_path: Path) -> None:
    hourly = [1] * 12 + [4] * 12
    text = f"    demand: {{hourly: {hourly}, weekend_factor: 0.5, peak_requests_per_second: 12}}\n"
    demand = load(tmp_path, HEAD + "    input_tokens: 100\n    output_tokens: 50\n" + text).workloads[0].demand
    assert demand is not None
    assert (demand.weekly()[0], demand.weekly()[12], demand.weekly()[5 * 24 + 12]) == (3, 12, 6)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("arrived_at_s,input_tokens\n0,1\n", "columns missing: output_tokens"),
        ("arrived_at_s,input_tokens,output_tokens\n", "no rows"),
        ("arrived_at_s,input_tokens,output_tokens\n0,1,1\n0,x,1\n", "t.csv:3"),
        ("arrived_at_s,input_tokens,output_tokens\n\n0,1,1\n \n0,0,1\n", "t.csv:5: the row has"),
        ("arrived_at_s,input_tokens,output_tokens\n0,1,1\n0,0,1\n", "t.csv:3: the row has token counts below 1"),
        ("", r"t.csv: the file is empty \(the first row is arrived_at_s,input_tokens,output_tokens"),
    ],
)
def test_broken_traces_say_where(rows: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(InputError, match=words) as refused:
        load(tmp_path, HEAD + "    trace: t.csv\n")
    assert refused.value.findings[0].line == 5


def test_all_that_is_wrong_with_a_trace_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "arrived_at_s,input_tokens,output_tokens\n0,9,3\nx,10,3\n2,-5,5\n3,4,1e300\n4,4,inf\n"
    )
    with pytest.raises(InputError) as refused:
        demand_of_trace(tmp_path / "t.csv")
    assert [(found.line, found.problem.partition(",")[0]) for found in refused.value.findings] == [
        (3, "2 rows have cells that are no numbers"),
        (4, "the row has token counts below 1"),
        (5, "1e+300 tokens of a prompt or an answer is more than a scenario may have (10"),
    ]


def test_a_table_that_is_not_utf_8_is_refused_as_any_file_is(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xff\xfea")
    with pytest.raises(InputError, match=r"byte 0 is not UTF-8 \(save it as UTF-8\)"):
        demand_of_trace(tmp_path / "t.csv")


@pytest.mark.parametrize("rows", ["7,100,3\n", "7,100,3\n7,50,9\n"])
def test_requests_that_come_all_at_once_are_no_trace_to_simulate(rows: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"arrived_at_s,input_tokens,output_tokens\n{rows}")
    with pytest.raises(InputError, match=r"t.csv: arrived_at_s: the trace spans no time"):
        requests_of_trace(tmp_path / "t.csv")
    assert demand_of_trace(tmp_path / "t.csv").requests_per_second == rows.count("\n")


DEPLOYED = {
    "workload": "chat",
    "model": "llama-3.1-8b",
    "provider": "aws",
    "region": "us-east-1",
    "instance_type": "g6.xlarge",
    "gpu": "l4",
    "gpus_per_instance": 1,
    "pricing_term": "on_demand",
    "engine": "vllm",
    "precision": "fp8",
    "kv_precision": "fp8",
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "replicas": 2,
    "monthly_cost_usd": "9.00",
}


def test_the_plan_in_force_is_read_with_its_replicas_added_up(tmp_path: Path) -> None:
    elsewhere = DEPLOYED | {"provider": "alpha", "replicas": 1}
    (tmp_path / "plan.json").write_text(json.dumps({"deployments": [DEPLOYED, DEPLOYED, elsewhere]}))
    migration = load(tmp_path, HEAD + LENGTHS + "policy: {migration: {from_plan: plan.json}}\n").policy.migration
    assert migration is not None
    assert migration.from_plan is None
    assert migration.in_force is not None
    assert [(row.provider, row.replicas) for row in migration.in_force] == [("alpha", 1), ("aws", 4)]
    assert Scenario.model_validate(load(tmp_path, HEAD + LENGTHS).model_dump())


def test_a_plan_that_was_written_can_be_in_force(
    tmp_path: Path, planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    (tmp_path / "plan.json").write_text(as_json(planned("chat-8b")), encoding="utf-8")
    rows = replicas_of_plan(tmp_path / "plan.json")
    assert sum(row.replicas for row in rows) == sum(item.replicas for item in planned("chat-8b").deployments)
    bought = {purchase.offer for purchase in planned("chat-8b").purchases}
    assert {offer.id for offer in catalogs.offers if any(row.runs_on(offer) for row in rows)} == bought


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "broken JSON"),
        ("[1]", "not a plan"),
        ('{"deployments": [], "outcome": "infeasible"}', "outcome is infeasible"),
        (json.dumps({"deployments": [DEPLOYED | {"replicas": 0}]}), r"deployments\[0\]\.replicas: '0'"),
        (json.dumps({"deployments": [{}]}), r"deployments\[0\]\.engine: missing"),
    ],
)
def test_a_plan_that_is_none_says_why(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InputError, match=words) as refused:
        load(tmp_path, HEAD + LENGTHS + "policy:\n  migration: {from_plan: plan.json}\n")
    assert {finding.line for finding in refused.value.findings} == {9}


def test_one_grid_figure_counts_everywhere_and_the_first_pattern_wins(tmp_path: Path) -> None:
    def grid(figures: str) -> Grid:
        policy = f"policy: {{grid: {{g_co2_per_kwh: {figures}, pue: 1.2}}}}\n"
        found = load(tmp_path, HEAD + LENGTHS + policy).policy.grid
        assert found is not None
        return found

    assert grid("400").intensity_g_per_kwh("us-east-1") == 400
    by_region = grid("{us-east-1: 380, us-*: 350}")
    assert [by_region.intensity_g_per_kwh(name) for name in ("us-east-1", "us-west-2", "eu-west-1")] == [380, 350, None]


def test_country_codes_are_read_in_either_case_and_by_zone(tmp_path: Path) -> None:
    policy = "policy: {countries: {allow: EU, deny: [FR]}, survive: {loss_of: region}}\n"
    countries = load(tmp_path, HEAD + LENGTHS + policy).policy.countries
    assert (countries.permits("de", "eu"), countries.permits("fr", "eu"), countries.permits("us")) == (
        True,
        False,
        False,
    )


def test_spot_replicas_lose_the_time_that_recovery_takes() -> None:
    assert Spot(interruptions_per_month=73, recovery_minutes=60).lost_share == pytest.approx(0.1)


def test_losses_are_asked_for_in_one_form() -> None:
    said = {"name": "w", "model": "m", "requests_per_second": 1, "input_tokens": 1, "output_tokens": 1}
    policy = {"availability": "region", "survive": {"loss_of": ["instance"]}}
    with pytest.raises(ValueError, match=r"availability: region and survive.loss_of: \[instance\]"):
        Scenario.model_validate({"name": "twice", "workloads": [said], "policy": policy})
    of_a_word = Scenario.model_validate({"name": "once", "workloads": [said], "policy": {"availability": "region"}})
    assert of_a_word.policy.losses == ("region",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '{"schema_version": 1, "deployments": [], "scenario": "s"}',
            "is a plan, not a scenario (give the scenario that",
        ),
        (
            "scenario: chat-8b\nover: {policy.confidence: [0.5]}\n",
            "is a sweep, not a scenario (give it to optimizer sweep)",
        ),
        ("scenario: chat-8b\ncases: []\n", "is a sweep of cases, not a scenario"),
        ('{"model_type": "llama", "vocab_size": 1}', "is a model's configuration, not a scenario"),
    ],
)
def test_another_file_of_ours_is_named_once(content: str, said: str, tmp_path: Path) -> None:
    """Of a plan 29 unknown fields were told, one by one."""
    path = tmp_path / "other.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    (finding,) = caught.value.findings
    assert said in str(finding)


AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_azures_traces_are_read_as_they_were_published(tmp_path: Path) -> None:
    """Dates become seconds: the second request comes 4.3 s after the first, and the third a minute after that."""
    rows = ("2023-11-16 18:15:46.6805900,374,44", "2023-11-16 18:15:50.9805900,396,109", "2023-11-16 18:16:50,879,55")
    (tmp_path / "azure.csv").write_text(AZURE + "\n".join(rows) + "\n", encoding="utf-8")
    requests = requests_of_trace(tmp_path / "azure.csv")
    assert requests.arrived_s.tolist() == pytest.approx([0.0, 4.3, 63.31941])
    assert requests.input_tokens.tolist() == [374, 396, 879]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("time,isl,osl\n1,2,3\n", 1, "the file has time, isl, osl: rename what means the same"),
        (AZURE + "2023-11-16 18:15:46,374,44\nsoon,396,109\n", 3, "the row has cells that are no numbers"),
    ],
)
def test_a_trace_of_other_columns_is_told_which_it_has(text: str, line: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as refused:
        requests_of_trace(tmp_path / "t.csv")
    assert refused.value.findings[0].line == line
