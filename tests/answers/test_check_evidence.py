"""What results say of a promise, whatever they hold: requests, a count, percentiles, a deviation, or only a rate."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimizer import load_scenario
from optimizer.answers.running.check.evidence import Counted, counted, mean_of, rate_of, statistic_of
from optimizer.answers.running.check.fitness import Promised
from optimizer.answers.running.check.promise import checked_promises
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.load_results.record import Goodput, Load, LoadResult, Requests
from optimizer.plan.benchmark.promises import PromisedLimit
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.record.report import PlanReport

REPLY = 101


def result(ttft_ms: list[float] | None = None, tpot_ms: list[float] | None = None, **known: Any) -> LoadResult:
    """A run of which every request is known, or only what is given."""
    facts: dict[str, Any] = {"file": "x.json", "tool": "vllm", "requests_failed": 0, **known}
    if ttft_ms is not None:
        tpot = np.full(len(ttft_ms), 10.0) if tpot_ms is None else np.array(tpot_ms)
        tokens = np.full(len(ttft_ms), float(REPLY))
        facts |= {"requests": Requests(np.array(ttft_ms), tpot, tokens, tokens), "requests_completed": len(ttft_ms)}
    return LoadResult(**facts)


def test_every_request_counts_and_one_without_an_answer_is_outside() -> None:
    found = counted([result([100.0, 200.0, 300.0], requests_failed=1)], {"ttft_ms": 200.0})
    assert found == Counted(4, 2, 2)
    assert counted([result([100.0]), result([300.0])], {"ttft_ms": 200.0}) == Counted(2, 1, 1)


def test_limits_of_one_percentile_hold_together() -> None:
    """The second request is late with its first token, the third with its last: 100 gaps of 30 ms."""
    run = result([100.0, 600.0, 100.0], [10.0, 10.0, 30.0])
    assert counted([run], {"ttft_ms": 500.0}).at_least == 2
    assert counted([run], {"e2e_ms": 2000.0}).at_least == 2
    assert counted([run], {"ttft_ms": 500.0, "e2e_ms": 2000.0}).at_least == 1


def test_an_answer_of_one_token_keeps_every_limit_on_tpot() -> None:
    nothing, one = np.array([float("nan")]), np.ones(1)
    short = result(requests=Requests(np.array([100.0]), nothing, one, one), requests_completed=1)
    assert counted([short], {"tpot_ms": 5.0}) == Counted(1, 1, 1)
    assert counted([short], {"e2e_ms": 150.0}) == Counted(1, 1, 1)


def test_what_was_not_measured_of_a_long_answer_is_neither_kept_nor_missed() -> None:
    run = result([100.0, 100.0], [float("nan"), 4.0])
    assert counted([run], {"tpot_ms": 5.0}) == Counted(2, 1, 2)
    assert counted([run], {"e2e_ms": 150.0}) == Counted(2, 0, 1)


def test_requests_under_way_when_the_run_ended_may_be_either() -> None:
    run = result([100.0] * 15, requests_offered=24)
    assert counted([run], {"ttft_ms": 200.0}) == Counted(24, 15, 24)


def test_a_goodput_speaks_only_of_what_it_judged() -> None:
    limits = {"ttft_ms": 200.0}
    run = result(requests_completed=1500, goodput=Goodput(300, limits, unjudged=1200))
    assert counted([run], limits) == Counted(1500, 300, 1500)


def test_a_file_that_counts_nothing_is_refused(
    planned: Callable[[str], PlanReport], catalogs: Catalogs, run: BenchmarkRun
) -> None:
    report = planned("chat-8b")
    silent = replace(result(load=Load("request_rate", run.rate_per_s)), ttft_ms={"p99": 151.0})
    judged = Promised((run,), report.plan_id, report.scenario, catalogs).judged(silent)
    assert any("how many requests were answered" in reason for reason in judged.reasons)


def test_a_run_that_served_less_than_promised_keeps_nothing(run: BenchmarkRun) -> None:
    easy = result([50.0] * 1500, load=Load("request_rate", run.rate_per_s), requests_per_s=0.4 * run.rate_per_s)
    verdicts = [each.verdict for each in checked_promises(run, [easy], unfit=False)]
    assert "kept" not in verdicts
    full = replace(easy, requests_per_s=run.rate_per_s)
    assert {each.verdict for each in checked_promises(run, [full], unfit=False)} == {"kept"}


def test_a_harder_run_does_not_hide_that_the_promised_one_broke(run: BenchmarkRun) -> None:
    load = Load("request_rate", run.rate_per_s)
    slow = result([5000.0] * 1500, load=load, requests_per_s=run.rate_per_s)
    harder = result([50.0] * 60, load=Load("request_rate", 1.2 * run.rate_per_s), requests_per_s=run.rate_per_s)
    bursts = replace(slow, burstiness=0.05)
    assert checked_promises(run, [slow, harder], unfit=False)[0].verdict == "broken"
    assert checked_promises(run, [bursts], unfit=False)[0].verdict == "undecided"


def test_a_statistic_of_several_runs_is_that_of_all_their_requests() -> None:
    few, many = result([900.0] * 3), result([100.0] * 97)
    assert statistic_of([few, many], "ttft_ms", "mean") == pytest.approx(124.0)
    assert statistic_of([few, many], "ttft_ms", "p95") == pytest.approx(100.0)
    assert statistic_of([few, many], "ttft_ms", "p99") == pytest.approx(900.0)


def test_a_run_without_single_requests_weighs_as_many_as_it_answered() -> None:
    summed_up = replace(result(requests_completed=300), ttft_ms={"mean": 200.0})
    silent = result(requests_completed=500)
    assert statistic_of([summed_up, silent, result([600.0] * 100)], "ttft_ms", "mean") == pytest.approx(300.0)
    assert statistic_of([silent], "ttft_ms", "mean") is None


def test_the_rate_of_several_runs_is_that_of_all_their_time() -> None:
    """100 requests in 100 s, 300 in 100 s."""
    runs = [result([1.0] * 100, requests_per_s=1.0), result([1.0] * 300, requests_per_s=3.0), result([1.0])]
    assert rate_of(runs) == pytest.approx(2.0)
    assert rate_of(runs[2:]) is None


def test_percentiles_bound_the_count_as_the_requests_behind_them_do() -> None:
    rng = np.random.default_rng(4)
    for n in (20, 59, 100, 601):
        values = rng.exponential(100.0, n)
        ranks = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}
        summary = {name: float(np.percentile(values, rank)) for name, rank in ranks.items()}
        for limit in (50.0, 150.0, 250.0, 300.0, 400.0, 600.0):
            exact = counted([result(values.tolist())], {"ttft_ms": limit})
            bounded = counted([replace(result(requests_completed=n), ttft_ms=summary)], {"ttft_ms": limit})
            assert bounded.at_least <= exact.at_least <= bounded.at_most
            assert bounded.at_most - bounded.at_least < 0.51 * n + 1


@pytest.mark.parametrize(
    ("limits", "least", "most"),
    [
        ({"ttft_ms": 500.0}, 90, 90),
        ({"ttft_ms": 400.0}, 90, 100),
        ({"ttft_ms": 600.0}, 0, 90),
        ({"ttft_ms": 500.0, "tpot_ms": 50.0}, 90, 100),
        ({"tpot_ms": 50.0}, 0, 100),
    ],
)
def test_a_count_of_stricter_limits_is_a_least_and_of_looser_ones_a_most(
    limits: dict[str, float], least: int, most: int
) -> None:
    run = result(requests_completed=100, goodput=Goodput(90, limits))
    assert counted([run], {"ttft_ms": 500.0}) == Counted(100, least, most)


def test_means_of_runs_weigh_by_their_requests_and_one_that_bounds_nothing_leaves_all_open() -> None:
    rng = np.random.default_rng(5)
    short, long = (result(rng.normal(mean, 10.0, n).tolist()) for mean, n in ((100.0, 400), (130.0, 1200)))
    both = mean_of([short, long], "ttft_ms")
    alone = mean_of([long], "ttft_ms")
    assert both is not None
    assert alone is not None
    assert both.value_ms == pytest.approx(122.5, abs=1.0)
    assert both.error_ms < alone.error_ms * 2
    assert mean_of([short, result(requests_completed=10)], "ttft_ms") is None
    assert mean_of([result([100.0] * 39)], "ttft_ms") is None


@pytest.fixture(scope="module")
def run(planned: Callable[[str], PlanReport], catalogs: Catalogs) -> BenchmarkRun:
    (only,) = runs_of(load_scenario("chat-8b"), catalogs, planned("chat-8b").fleet)
    return only


def limited(run: BenchmarkRun, **limits_ms: float) -> BenchmarkRun:
    """The run with p95 limits of these latencies."""
    made = [
        PromisedLimit(metric, "p95", limit, 0.0, limit / 2, limit / 4, limit, 0.99)  # type: ignore[arg-type]
        for metric, limit in limits_ms.items()
    ]
    return replace(run, limits=tuple(made))


def test_each_limit_of_a_percentile_has_its_verdict_from_what_keeps_all_of_them(run: BenchmarkRun) -> None:
    """Of 400 requests 16 are late with the first token and 16 others with the last: 96 % each, 92 % both."""
    ttft = [600.0] * 16 + [100.0] * 384
    tpot = [10.0] * 384 + [30.0] * 16
    both = checked_promises(limited(run, ttft_ms=500.0, e2e_ms=2000.0), [result(ttft, tpot)], unfit=False)
    assert [each.share_within for each in both] == [0.92, 0.92]
    assert [each.share_within_alone for each in both] == [0.96, 0.96]
    assert {each.verdict for each in both} == {"broken"}
    (alone,) = checked_promises(limited(run, ttft_ms=500.0), [result(ttft, tpot)], unfit=False)
    assert alone.verdict == "undecided"
    assert alone.more_requests_needed is not None


def test_who_promises_no_time_promises_its_rate(run: BenchmarkRun) -> None:
    batch = replace(run, limits=())
    load = Load("request_rate", 5.0)
    few = checked_promises(batch, [result([100.0] * 3, load=load, requests_per_s=5.0)], unfit=False)
    assert (few[0].verdict, few[0].more_requests_needed) == ("undecided", 268)
    for served, verdict in ((4.95, "kept"), (3.0, "broken"), (None, "undecided")):
        runs = [result([100.0] * 500, load=load, requests_per_s=served)]
        (rate,) = checked_promises(batch, runs, unfit=False)
        assert (rate.metric, rate.limit, rate.verdict) == ("requests_per_second", run.rate_per_s, verdict)


def test_a_result_without_labels_is_found_by_what_it_measured_or_by_its_file(
    planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    report = planned("mixed-chat-rag")
    short, long = runs_of(load_scenario("mixed-chat-rag"), catalogs, report.fleet)
    promised = Promised((short, long), report.plan_id, report.scenario, catalogs)

    def of(one: BenchmarkRun, file: str = "x.json", **known: Any) -> LoadResult:
        tokens = {"input_tokens": float(one.served.input_tokens), "output_tokens": float(one.served.output_tokens)}
        load = {"load": Load("request_rate", one.rate_per_s)}
        return LoadResult(file=file, tool="aiperf", requests_completed=100, **{**tokens, **load, **known})

    by_lengths = promised.judged(of(long))
    assert (by_lengths.run, by_lengths.reasons) == (long, ())
    assert "taken to be as promised, on your word" in by_lengths.notes[-1]
    blind = {"input_tokens": None, "output_tokens": None, "load": Load("request_rate", 5.0)}
    assert "nothing in it says which" in promised.judged(of(long, **blind)).reasons[-1]
    assert promised.judged(of(long, f"results/{long.name}/x.json", **blind)).run is long
    assert promised.judged(of(short, metadata={"class": long.served.name})).reasons
    assert promised.judged(of(short, metadata={"plan": report.scenario})).reasons == ()
