"""`simulate` from the command line: the exit code is the verdict, and the same question gives the same bytes."""

import json
from pathlib import Path

import pytest
from support.command import Command


def test_a_plan_file_is_simulated_and_its_verdict_is_the_exit_code(optimizer: Command, tmp_path: Path) -> None:
    plan = str(tmp_path / "plan.json")
    assert optimizer("plan", "ci-gate", "--format", "json", "--output", plan).code == 0
    few = ("--requests", "5000", "--format", "json")
    calm = optimizer("simulate", plan, *few)
    assert calm.code == 0, calm.err
    again = optimizer("simulate", plan, *few)
    assert again.out == calm.out
    found = json.loads(calm.out)
    assert found["holds"] is True
    assert found["arrivals"] == "Poisson"
    parts = found["over_time"]
    assert (len(parts), parts[0]["from_s"], {part["share_within_limits"] > 0.9 for part in parts}) == (12, 0, {True})
    ramp = optimizer("simulate", plan, *few, "--arrivals", "ramp:0.5-9")
    shares = [part["share_within_limits"] for part in json.loads(ramp.out)["over_time"]]
    assert (ramp.code, shares[0] > 0.9, shares[-1] < 0.1) == (1, True, True)
    crowds = optimizer("simulate", plan, *few, "--arrivals", "together:60")
    assert (crowds.code, json.loads(crowds.out)["arrivals"]) == (1, "all of 60 s at once")
    assert {limit["verdict"] for item in found["classes"] for limit in item["limits"]} == {"holds"}
    bursts = optimizer("simulate", plan, *few, "--arrivals", "gamma:60")
    assert bursts.code == 1
    assert json.loads(bursts.out)["holds"] is False
    other = json.loads(optimizer("simulate", plan, *few, "--lengths", "servegen-m-small").out)
    assert other["lengths"] == "servegen-m-small"
    assert other["classes"][0]["ttft_ms"]["p50"] < found["classes"][0]["ttft_ms"]["p50"]
    lost = json.loads(optimizer("simulate", plan, *few, "--lose-instance").out)
    assert "of 1 replicas" in lost["lost"][0]
    assert lost["lost"][0].endswith("when another with the same weights has started (catalogs/start_up.csv)")
    assert min(part["share_within_limits"] for part in lost["over_time"]) < 0.5
    assert lost["over_time"][0]["share_within_limits"] == parts[0]["share_within_limits"]
    (placed,) = json.loads(Path(plan).read_text(encoding="utf-8"))["deployments"]
    region = placed["region"]
    gone = json.loads(optimizer("simulate", plan, *few, "--lose-region", region, "--lost-minutes", "30").out)
    before, meanwhile, since = gone["phases"]
    assert meanwhile["to_s"] - meanwhile["from_s"] == pytest.approx(1800, abs=0.01)
    assert since["to_s"] - since["from_s"] > 1700
    assert (before["share_within_limits"] > 0.9, meanwhile["share_within_limits"]) == (True, 0)
    assert gone["lost"][0].endswith("as --lost-minutes says")
    for option, said in (
        (("--lose-region", region), f"nobody knows when {placed['provider']}/{region} is back"),
        (("--lost-minutes", "5"), "say what: --lose-instance"),
        (("--lose-region", "moon"), f"its regions: {placed['provider']}/{region}"),
        (("--lose-spot",), "no spot instances"),
        (("--lose-instance", "--lose-region", region), "are two losses"),
        (("--lengths", "azure-chat"), "did you mean azure-conv-2023"),
    ):
        refused = optimizer("simulate", plan, *few, *option)
        assert (refused.code, said in " ".join(refused.err.split())) == (2, True), refused.err
    undecided = optimizer("simulate", plan, "--requests", "100", "--trace", str(_trace(tmp_path, 30)))
    assert undecided.code == 4
    assert "is not decided" in undecided.out


def test_what_broke_and_when_is_told_in_every_form(optimizer: Command, tmp_path: Path) -> None:
    plan = str(tmp_path / "plan.json")
    assert optimizer("plan", "ci-gate", "--format", "json", "--output", plan).code == 0
    lost = ("simulate", plan, "--requests", "5000", "--lose-instance", "--lost-minutes", "10")
    found = json.loads(optimizer(*lost, "--format", "json").out)
    _, meanwhile, _ = found["phases"]
    # what was in flight when it was lost came a little before
    ttft = [spell for spell in found["broken_spells"] if spell["metric"] == "ttft_ms"]
    longest = max(ttft, key=lambda spell: spell["to_s"] - spell["from_s"])
    assert meanwhile["from_s"] - 120 < longest["from_s"] <= meanwhile["from_s"] + 120
    assert longest["to_s"] > meanwhile["to_s"]
    assert longest["worst_ms"] > longest["limit_ms"]
    assert longest["share_within_limit"] < 0.5
    (cost,) = found["costs"]
    dearer = float(cost["cost_per_request_within_limits_usd"]) / float(cost["cost_per_request_usd"])
    assert dearer > 1
    assert found["deployments"][0]["waiting"] > 1
    for form, titled in (("text", "What broke, and when\n"), ("markdown", "## What broke, and when")):
        said = optimizer(*lost, "--format", form)
        assert said.code == 1
        assert titled in said.out
        assert "while it lasts" in said.out
    page = tmp_path / "page.html"
    assert optimizer(*lost, "--output", str(page)).code == 1
    written = page.read_text(encoding="utf-8")
    assert written.startswith("<!DOCTYPE html>")
    assert "<h2>The loss</h2>" in written
    assert "http" not in written
    calm = optimizer("simulate", plan, "--requests", "5000")
    assert "What broke" not in calm.out
    assert "TTFT p95" in calm.out


def test_a_day_is_simulated_hour_by_hour(optimizer: Command, tmp_path: Path) -> None:
    """One replica carries it; that a start is late breaks its hour is asked in test_promises_of_every_hour.py."""
    hourly = [1.0] * 8 + [60.0] + [1.0] * 15
    scenario = tmp_path / "day.yaml"
    scenario.write_text(
        f"""name: day
workloads:
- {{name: chat, model: llama-3.1-8b, input_tokens: 500, output_tokens: 60, slo: {{ttft_ms: 800}},
   demand: {{hourly: {hourly}, peak_requests_per_second: 3}}}}
policy: {{gpus: {{allow: [l40s]}}, precisions: [fp8], elastic: {{start_up_minutes: 12}}}}
""",
        encoding="utf-8",
    )
    plan = str(tmp_path / "plan.json")
    assert optimizer("plan", str(scenario), "--format", "json", "--output", plan).code == 0
    day = optimizer("simulate", plan, "--arrivals", "week:1", "--format", "json")
    found = json.loads(day.out)
    assert (day.code, found["days"], len(found["over_time"])) == (0, 1, 24), day.err
    assert found["arrivals"] == "1 day of the week, hour by hour"
    # the hours with more replicas than before have them from their first second on
    assert min(part["share_within_limits"] for part in found["over_time"]) > 0.99
    most = max(found["over_time"], key=lambda part: part["requests"])
    assert most["from_s"] == pytest.approx(8 * 3600, rel=0.01)
    too_much = optimizer("simulate", plan, "--arrivals", "week:1", "--lose-instance")
    assert too_much.code == 2
    assert "simulate one of the two" in too_much.err
    scaled = ("simulate", plan, "--arrivals", "week:1", "--autoscale", "0.05")
    told = json.loads(optimizer(*scaled, "--format", "json").out)["autoscaling"]
    assert told["target"] == 0.05
    (workload,) = told["workloads"]
    assert (workload["start_up_s"], workload["minutes"]) == (720, 1440)
    assert workload["scaled"]["most_replicas"] > workload["planned"]["most_replicas"]
    assert float(told["cost_usd"]) > float(told["planned_cost_usd"]) > 0
    assert "autoscaling" not in found
    for form, titled in (("text", "what arrived\n"), ("markdown", "## Replicas that"), ("html", "<h2>Replicas that")):
        said = optimizer(*scaled, "--format", form)
        assert titled in said.out
        assert "Mon 8:00–9:00" in said.out, "where it counted minutes from Monday on"
        assert "after the first hour, in which replicas fill" in " ".join(said.out.split())
        assert f"{told['cost_usd']} in 1 day" in said.out
    refused = optimizer("simulate", plan, "--autoscale", "0.05")
    assert (refused.code, "--arrivals week" in refused.err) == (2, True)


def _trace(folder: Path, requests: int) -> Path:
    path = folder / "trace.csv"
    rows = [f"{5 * number},500,100" for number in range(requests)]
    path.write_text("\n".join(["arrived_at_s,input_tokens,output_tokens", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--arrivals", "gama:4"), "poisson, gamma:CV2"),
        (("--arrivals", "gamma:-1"), "above 0"),
        (("--arrivals", "ramp:1"), "each end of a ramp"),
        (("--arrivals", "week:8"), "week:DAYS"),
        (("--arrivals", "together:0"), "seconds between crowds"),
        (("--arrivals", "trace"), "--trace FILE"),
        (("--trace", "none.csv"), "cannot be read"),
    ],
)
def test_a_wrong_way_to_arrive_is_refused_with_the_right_ones(
    optimizer: Command, arguments: tuple[str, ...], said: str
) -> None:
    refused = optimizer("simulate", "chat-8b", *arguments)
    assert refused.code == 2
    assert said in refused.err


def test_there_is_nothing_to_simulate_where_there_is_no_plan(optimizer: Command) -> None:
    refused = optimizer("simulate", "infeasible-latency")
    assert refused.code == 2
    assert "no plan to simulate" in refused.err


def test_prompts_whose_blocks_a_trace_says_are_found_as_far_as_they_fit(optimizer: Command, tmp_path: Path) -> None:
    """A hundred people ask in turn, each time with all of their earlier prompt and a block more."""
    plan = str(tmp_path / "plan.json")
    assert optimizer("plan", "ci-gate", "--format", "json", "--output", plan).code == 0
    blocks = [[100 * person + block for block in range(turn)] for turn in range(1, 5) for person in range(100)]
    lines = [
        {"timestamp": 2000 * n, "input_length": 512 * len(each), "output_length": 50, "hash_ids": each}
        for n, each in enumerate(blocks)
    ]
    trace, unknown = tmp_path / "t.jsonl", tmp_path / "unknown.jsonl"
    trace.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for each in lines:
        del each["hash_ids"]
    unknown.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found, blind = (
        json.loads(optimizer("simulate", plan, "--trace", str(each), "--format", "json").out)
        for each in (trace, unknown)
    )
    (of_class,), (of_blind,) = found["classes"], blind["classes"]
    shares = of_class["prefix_cache"]
    # a tenth of the time is left out: 40 prompts of one block
    assert shares["repeated_share"] == pytest.approx((1 + 2 + 3) * 100 / ((1 + 2 + 3 + 4) * 100 - 40), rel=0.01)
    assert shares["found_share"] <= shares["repeated_share"]
    assert shares["planned_share"] == 0
    assert found["deployments"][0]["kv_cache_tokens"] > 10_000
    assert of_class["ttft_ms"]["mean"] < of_blind["ttft_ms"]["mean"]
    assert "prefix_cache" not in of_blind
    assert "kv_cache_tokens" not in blind["deployments"][0]
    for form, titled in (("text", "Prefix caches\n"), ("markdown", "## Prefix caches"), ("html", "<h2>Prefix caches")):
        said = optimizer("simulate", plan, "--trace", str(trace), "--format", form).out
        assert titled in said
        assert f"{shares['found_share']:.1%}" in said
    assert "Prefix caches" not in optimizer("simulate", plan, "--trace", str(unknown)).out
    aware = ("simulate", plan, "--router", "prefix_aware")
    assert optimizer(*aware, "--trace", str(trace)).code == 0
    for option, said in (
        ((), "nobody knows what prompts have in common"),
        (("--trace", str(unknown)), "nobody knows what prompts have in common"),
        (("--trace", str(trace), "--by-chance"), "--by-chance says another"),
    ):
        refused = optimizer(*aware, *option)
        assert (refused.code, said in " ".join(refused.err.split())) == (2, True), refused.err


def test_a_plan_from_a_trace_keeps_its_requests_and_their_prompts(optimizer: Command, tmp_path: Path) -> None:
    """Its caches find what people ask again, in the plan and in its file, which knows the blocks without the trace."""
    asked_again = [
        (turn, list(range(100 * person, 100 * person + turn))) for turn in range(1, 5) for person in range(100)
    ]
    lines = [
        {"timestamp": 500 * n, "input_length": 512 * turn, "output_length": 20, "hash_ids": blocks}
        for n, (turn, blocks) in enumerate(asked_again)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = {"name": "chat", "model": "llama-3.1-8b", "trace": "t.jsonl", "slo": {"ttft_ms": 800}}
    only = {"gpus": {"allow": ["l40s"]}, "precisions": ["fp8"], "engines": ["vllm"]}
    (tmp_path / "s.json").write_text(json.dumps({"name": "traced", "workloads": [asked], "policy": only}))
    plan = str(tmp_path / "plan.json")
    assert optimizer("plan", str(tmp_path / "s.json"), "--format", "json", "--output", plan).code == 0
    (tmp_path / "t.jsonl").unlink()
    found = json.loads(optimizer("simulate", plan, "--format", "json").out)
    (of_class,) = found["classes"]
    assert (found["arrivals"], found["recorded"]) == ("as recorded", ["chat"])
    assert of_class["prefix_cache"]["found_share"] == pytest.approx(0.6, abs=0.1)
    assert optimizer("simulate", plan, "--router", "prefix_aware").code == 0
    profile = ("--lengths", "azure-code-2023", "--format", "json")
    drawn = json.loads(optimizer("simulate", plan, *profile).out)
    assert drawn["arrivals"].startswith(("Poisson", "gamma"))
    assert drawn["lengths"] == "azure-code-2023"
