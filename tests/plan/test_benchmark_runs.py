"""The runs for a plan send what the plan sends one replica, and tools know every option that they are given."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.paths import ROOT
from support.scenarios import with_policy

from optimizer import load_scenario
from optimizer.answers.planning.optimize import optimize
from optimizer.answers.running.benchmark import benchmark
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import ArrivalProcess, Scenario
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.plan.benchmark.commands import TOOLS, Written, command, goodput_limits
from optimizer.plan.benchmark.promises import share_within
from optimizer.plan.benchmark.runs import LONGEST_S, SHORTEST_S, BenchmarkRun, runs_of
from optimizer.plan.record.report import PlanReport
from optimizer.report.running.benchmark.files import benchmark_files

FLAGS = json.loads((ROOT / "tests" / "data" / "benchmark_flags.json").read_text(encoding="utf-8"))
"""Every option of the four tools, from their wheels."""

Runs = Callable[[str], tuple[BenchmarkRun, ...]]


@pytest.fixture(scope="module")
def runs(planned: Callable[[str], PlanReport], catalogs: Catalogs) -> Runs:
    return lambda name: runs_of(load_scenario(name), catalogs, planned(name).fleet)


def words(tool: str, run: BenchmarkRun) -> list[str]:
    return shlex.split(command(tool, run, Written("http://HOST:8000", "results/x", "sha256:0")))


def value(given: list[str], flag: str) -> str:
    return given[given.index(flag) + 1]


def test_one_replica_is_sent_what_the_plan_sends_one_in_its_busiest_hours(runs: Runs) -> None:
    for name in ("chat-8b", "mixed-chat-rag", "night-batch"):
        found = runs(name)
        assert found
        d = found[0].d
        busiest = max(d.schedule, key=lambda entry: entry.utilization)
        sent = {run.served.name: run.rate_per_s * busiest.replicas for run in found if run.d is d}
        assert sent == pytest.approx(busiest.requests_per_second_by_class)


def test_a_run_is_long_enough_to_decide_and_the_classes_of_a_replica_run_as_long(runs: Runs) -> None:
    for run in (run for name in ("chat-8b", "mixed-chat-rag", "night-batch") for run in runs(name)):
        assert SHORTEST_S <= run.duration_s <= LONGEST_S + 1 / run.rate_per_s
        assert all(run.requests >= need.fewest for need in run.needs)
        assert all(need.decide is None or run.requests >= need.decide for need in run.needs)
    short, long = runs("mixed-chat-rag")
    assert short.duration_s == pytest.approx(long.duration_s, rel=0.01)
    assert short.seed != long.seed


def test_what_passes_before_the_replica_is_taken_off_its_limit(runs: Runs) -> None:
    (run,) = runs("chat-8b")
    ttft, tpot = run.limits
    assert (ttft.limit_ms, ttft.before_ms, ttft.at_replica_ms) == (500.0, 40.0, 460.0)
    assert ttft.predicted_ms == pytest.approx(run.served.ttft_ms["p95"] - 40)
    assert ttft.low_ms < ttft.predicted_ms < ttft.high_ms
    assert (tpot.before_ms, tpot.promised_share) == (0.0, None)
    assert goodput_limits(run) == {"ttft_ms": 460.0}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("cached", [0.0, 0.5])
def test_a_tool_knows_every_option_that_it_is_given(runs: Runs, tool: str, cached: float) -> None:
    run = replace(runs("chat-8b")[0], cached_share=cached)
    given = {word for word in words(tool, run) if word.startswith("--")}
    assert sorted(given - set(FLAGS[tool]["flags"])) == []


def test_vllm_sends_lengths_rate_and_gaps_as_promised(runs: Runs) -> None:
    bursty = replace(runs("chat-8b")[0], cv2=4.0, cached_share=0.25)
    given = words("vllm", bursty)
    assert (value(given, "--random-prefix-len"), value(given, "--random-input-len")) == ("256", "768")
    assert (value(given, "--random-output-len"), value(given, "--random-range-ratio")) == ("256", "0")
    assert (value(given, "--request-rate"), value(given, "--burstiness")) == ("4.5", "0.25")
    assert value(given, "--num-prompts") == str(bursty.requests)
    said = dict(word.split("=", 1) for word in given[given.index("--metadata") + 1 :])
    assert said["plan"] == "sha256:0"
    assert (said["gpu"], said["num_gpus"], said["tp"], said["pp"]) == ("l40s", "1", "1", "1")
    assert (said["workload"], said["class"], said["weight_precision"]) == ("chat", "1024x256", "fp8")


def test_aiperf_sends_bursts_and_what_sends_none_says_who_does(
    planned: Callable[[str], PlanReport], runs: Runs, catalogs: Catalogs
) -> None:
    given = words("aiperf", replace(runs("chat-8b")[0], cv2=4.0))
    assert (value(given, "--arrival-pattern"), value(given, "--arrival-smoothness")) == ("gamma", "0.25")
    report, scenario = planned("chat-8b"), load_scenario("chat-8b")
    bursts = _with_bursts(scenario, 4.0)
    for tool, known in TOOLS.items():
        if known.sends_bursts:
            assert benchmark(report, bursts, catalogs, tool).deployments[0].runs[0].cv2 == pytest.approx(4.0)
        else:
            with pytest.raises(InputError, match=r"sends Poisson arrivals only.*one of vllm, aiperf"):
                benchmark(report, bursts, catalogs, tool)


def _with_bursts(scenario: Scenario, cv2: float) -> Scenario:
    workloads = [each.model_copy(update={"arrivals": ArrivalProcess(cv2=cv2)}) for each in scenario.workloads]
    return scenario.model_copy(update={"workloads": tuple(workloads)})


def test_a_random_range_is_none_in_each_tools_own_words(runs: Runs) -> None:
    """vLLM spreads lengths by a ratio around the mean, SGLang from a ratio of it up: 0 there and 1 here mean alike."""
    run = runs("chat-8b")[0]
    assert value(words("vllm", run), "--random-range-ratio") == "0"
    assert value(words("sglang", run), "--random-range-ratio") == "1"


def test_what_most_money_rests_on_is_measured_first(planned: Callable[[str], PlanReport], runs: Runs) -> None:
    found = runs("two-models")
    stakes = [(run.d.provenance.performance != "estimated", -run.d.monthly_cost_usd) for run in found]
    assert len({run.deployment_name for run in found}) > 1
    assert stakes == sorted(stakes)
    first = planned("two-models").explanation.benchmark
    assert first is not None
    assert words("vllm", found[0])[:12] == shlex.split(first.command)[:12]


def test_the_same_machines_bought_otherwise_are_measured_once(planned: Callable[[str], PlanReport], runs: Runs) -> None:
    report, (run,) = planned("office-hours"), runs("office-hours")
    terms = {d.pricing_term for d in report.deployments}
    assert len(terms) == len(report.deployments) == 2
    assert len(run.also_for) == 1
    assert run.stake_usd == sum(d.monthly_cost_usd for d in report.deployments)


def test_hosted_requests_are_said_not_to_be_measured(catalogs: Catalogs) -> None:
    alone = with_policy(load_scenario("api-at-night"), hosting=["serverless"])
    with pytest.raises(InputError, match="by the request, of which no latency is promised"):
        benchmark(optimize(alone, catalogs), alone, catalogs, "vllm")


def test_there_is_nothing_to_measure_without_a_plan(planned: Callable[[str], PlanReport], catalogs: Catalogs) -> None:
    elsewhere = planned("chat-8b").model_copy(update={"purchases": []})
    with pytest.raises(InputError, match="nothing to measure: nothing runs on instances that it buys"):
        benchmark(elsewhere, load_scenario("chat-8b"), catalogs, "vllm")
    with pytest.raises(InputError, match="the outcome is infeasible"):
        benchmark(planned("infeasible-latency"), load_scenario("infeasible-latency"), catalogs, "vllm")


def test_the_classes_of_a_replica_are_sent_at_the_same_time(
    planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    found = benchmark(planned("mixed-chat-rag"), load_scenario("mixed-chat-rag"), catalogs, "vllm")
    (deployment,) = found.deployments
    script = benchmark_files(found)[f"{deployment.name}.sh"]
    # those that warm the replica up, and those that count
    for part in script.split("# What counts"):
        assert part.count("vllm bench serve") == part.count(" &\n") == 2
        assert 'wait "$run"' in part


def test_the_share_within_a_limit_is_that_of_the_percentiles_and_falls_off_beyond_them() -> None:
    percentiles = {name: float(-np.log1p(-level)) for name, level in QUANTILES.items()}
    for limit in (0.8, 2.0, 2.9, 5.0, 7.0):
        assert share_within(percentiles, limit) == pytest.approx(1 - np.exp(-limit), abs=1e-9)
    assert share_within(percentiles, 100.0) == 0.9999
    assert share_within(dict.fromkeys(QUANTILES, 1.0), 1.5) == 0.9999
