"""What is planned of one replica, and each verdict on it, by figures that a reader can work out by hand."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pytest
from support.expositions import LLAMA, VLLM, Served
from support.scenarios import with_workload

from optimizer import InputError, load_scenario
from optimizer.answers.running.watch import judged
from optimizer.answers.running.watch.exposition import read_exposition
from optimizer.answers.running.watch.judged import Watched
from optimizer.answers.running.watch.planned import PlannedReplica, planned_replica
from optimizer.answers.running.watch.scrapes import Observed
from optimizer.answers.running.watch.types import WatchedFigure
from optimizer.answers.running.watch.window import Window
from optimizer.inputs.catalog.entries.deploying import Quantity
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.simulation.sample_sizes import proves_at_least
from optimizer.plan.benchmark.promises import PromisedLimit
from optimizer.plan.record.fleet import PeriodReplicas
from optimizer.plan.record.report import PlanReport

NAMES: Final[dict[Quantity, str]] = {
    "requests": VLLM["requests"],
    "input_tokens": VLLM["input_tokens"],
    "output_tokens": VLLM["output_tokens"],
    "ttft_s": VLLM["ttft_s"],
    "tpot_s": VLLM["tpot_s"],
    "e2e_s": "vllm:e2e_request_latency_seconds",
    "kv_cache_share": VLLM["kv"],
    "prompt_tokens": VLLM["prompts"],
    "cached_prompt_tokens": VLLM["cached"],
    "replica_label": "engine",
}
SERVED: Final = Served(requests=1000, input_tokens=100, output_tokens=100)


def limit(metric: Any, statistic: str, limit_ms: float) -> PromisedLimit:
    return PromisedLimit(metric, statistic, limit_ms, 0.0, limit_ms, limit_ms, limit_ms, 1.0)


@pytest.fixture
def replica(planned: Callable[[str], PlanReport]) -> PlannedReplica:
    """One request a second of 100 and 100 tokens, one in flight at a time, a tenth of the KV cache in use."""
    (d,) = planned("chat-8b").deployments
    vram = d.vram.model_copy(update={"kv_cache_gib": 1.0, "free_gib": 9.0})
    return PlannedReplica(
        name="one",
        d=d.model_copy(update={"concurrency": 1.0, "vram": vram}),
        rates_per_s=(1.0, 1.0),
        cv2=1.0,
        input_tokens=100.0,
        output_tokens=100.0,
        cached_share=0.0,
        limits=(),
        smallest_share=1.0,
        usd_per_hour=Decimal(1),
    )


def judge(
    replica: PlannedReplica, later: str, earlier: str | None = None, *, seconds: float | None = None
) -> dict[str, WatchedFigure]:
    """The figures, by quantity; a tenth of tolerance."""
    last, first = ({"": read_exposition(text, "f")} if text else None for text in (later, earlier))
    assert last is not None
    window = Window(Observed(last, first, seconds), NAMES["replica_label"])
    replicas = len(window.replicas(NAMES["requests"]))
    found = Watched(replica, window, NAMES, replicas, 0.1).figures()
    return {each.quantity: each for each in found}


def histogram(name: str, within: int, outside: int, edge: float, total: float) -> str:
    """So many up to an edge, so many up to its double."""
    every = within + outside
    return (
        f'{name}_bucket{{le="{edge}"}} {within}\n{name}_bucket{{le="{2 * edge}"}} {every}\n'
        f'{name}_bucket{{le="+Inf"}} {every}\n{name}_sum {total}\n{NAMES["requests"]} {every}\n'
    )


@pytest.mark.parametrize(
    ("cached", "verdict"), [(0.6, "within"), (0.5, "within"), (0.45, "undecided"), (0.3, "drifted"), (0.0, "drifted")]
)
def test_no_smaller_share_of_prompts_is_cached_than_planned(
    replica: PlannedReplica, cached: float, verdict: str
) -> None:
    found = judge(replace(replica, cached_share=0.5), replace(SERVED, cached=cached).text())["cached_input_share"]
    assert (found.verdict, found.planned_low, found.planned_high) == (verdict, 0.45, None)
    assert found.measured == pytest.approx(cached)


@pytest.mark.parametrize("said", [None, "NaN"])
def test_a_counter_of_cached_tokens_that_is_absent_is_no_count_of_zero(
    replica: PlannedReplica, said: str | None
) -> None:
    """Neither of the only replica nor of one of two."""
    lines = SERVED.text().splitlines(keepends=True)
    silent = "".join(
        line if VLLM["cached"] not in line else "" if said is None else f"{line.rsplit(' ', 1)[0]} {said}\n"
        for line in lines
    )
    other = replace(SERVED, cached=0.1, labels={"engine": "1", "model_name": LLAMA}).text()
    for text in (silent, silent + other):
        found = judge(replace(replica, cached_share=0.5), text)["cached_input_share"]
        assert (found.verdict, found.measured, found.text) == ("undecided", None, "not told")


@pytest.mark.parametrize(("share", "verdict"), [(1.0, "within"), (0.1, "undecided")])
def test_a_rare_class_could_hold_all_that_is_outside(replica: PlannedReplica, share: float, verdict: str) -> None:
    """1 % of all is outside where 5 % may be: were it all of a class with a tenth, a tenth of the class would be."""
    planned = replace(replica, limits=(limit("ttft_ms", "p95", 500),), smallest_share=share)
    found = judge(planned, histogram(NAMES["ttft_s"], 9900, 100, 0.5, 3000))["ttft_ms"]
    assert found.verdict == verdict
    assert found.text.startswith("9,900 of 10,000 requests within")
    assert judge(planned, histogram(NAMES["ttft_s"], 9000, 1000, 0.5, 3000))["ttft_ms"].verdict == "drifted"


@pytest.mark.parametrize(
    ("mean_s", "share", "verdict"),
    [(0.03, 0.5, "undecided"), (0.03, 1.0, "within"), (0.02, 0.5, "within"), (0.06, 0.5, "drifted")],
)
def test_a_mean_of_all_leaves_a_rare_class_twice_as_much(
    replica: PlannedReplica, mean_s: float, share: float, verdict: str
) -> None:
    planned = replace(replica, limits=(limit("tpot_ms", "mean", 50),), smallest_share=share)
    found = judge(planned, replace(SERVED, tpot_s=mean_s).text())["tpot_ms"]
    assert found.verdict == verdict
    assert found.measured == pytest.approx(1000 * mean_s)


@pytest.mark.parametrize(("outside", "verdict"), [(0, "within"), (500, "drifted")])
def test_a_limit_end_to_end_is_held_against_its_own_latency(
    replica: PlannedReplica, outside: int, verdict: str
) -> None:
    """First tokens come long before, and far too late, in turn."""
    planned = replace(replica, limits=(limit("e2e_ms", "p90", 5000),))
    first = histogram(NAMES["ttft_s"], 1000 if outside else 0, 0 if outside else 1000, 5, 3000)
    whole = histogram(NAMES["e2e_s"], 1000 - outside, outside, 5, 3000)
    found = judge(planned, first.rpartition(NAMES["requests"])[0] + whole)
    assert (found["e2e_ms"].verdict, found["e2e_ms"].metric) == (verdict, NAMES["e2e_s"])


def test_of_very_many_requests_as_many_are_judged_as_are_counted_in_a_moment(
    replica: PlannedReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here of 10,000 as of 1,000, and no more than that is ever counted."""
    counted: list[int] = []

    def noted(kept: int, count: int, share: float, sure: float) -> bool:
        counted.append(count)
        return proves_at_least(kept, count, share, sure)

    monkeypatch.setattr(judged, "proves_at_least", noted)
    monkeypatch.setattr(judged, "MOST_COUNTED", 1000)
    planned = replace(replica, limits=(limit("ttft_ms", "p95", 500),))
    assert judge(planned, histogram(NAMES["ttft_s"], 9900, 100, 0.5, 3000))["ttft_ms"].verdict == "within"
    assert judge(planned, histogram(NAMES["ttft_s"], 8500, 1500, 0.5, 3000))["ttft_ms"].verdict == "drifted"
    # 40 of 1,000 outside prove nothing, 400 of 10,000 would
    assert judge(planned, histogram(NAMES["ttft_s"], 9600, 400, 0.5, 3000))["ttft_ms"].verdict == "undecided"
    assert counted == [1000] * 3


def test_replicas_of_one_file_are_told_apart_by_the_label_of_the_engine_alone(replica: PlannedReplica) -> None:
    """Two replicas at one request a second each are as planned; one at two would not be."""

    def two(requests: int) -> str:
        each = replace(SERVED, requests=requests)
        return "".join(replace(each, labels={"engine": name, "model_name": LLAMA}).text() for name in "01")

    found = judge(replica, two(2000), two(1000), seconds=1000.0)["requests_per_second"]
    assert (found.verdict, found.measured, found.requests) == ("within", 1.0, 2000)
    one = judge(replica, replace(SERVED, requests=4000).text(), replace(SERVED, requests=2000).text(), seconds=1000.0)
    assert (one["requests_per_second"].verdict, one["requests_per_second"].measured) == ("drifted", 2.0)


@pytest.mark.parametrize(("cv2", "verdict"), [(1.0, "within"), (16.0, "undecided")])
def test_bursts_leave_a_rate_open_that_even_arrivals_tell(replica: PlannedReplica, cv2: float, verdict: str) -> None:
    later, earlier = replace(SERVED, requests=2000).text(), SERVED.text()
    found = judge(replace(replica, cv2=cv2), later, earlier, seconds=1000.0)["requests_per_second"]
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("per_s", "verdict"), [(0.6, "within"), (1.0, "within"), (2.0, "within"), (0.4, "drifted"), (2.5, "drifted")]
)
def test_a_rate_of_calm_hours_is_as_planned_and_so_is_that_of_busy_ones(
    replica: PlannedReplica, per_s: float, verdict: str
) -> None:
    planned = replace(replica, rates_per_s=(0.6, 2.0))
    later, earlier = replace(SERVED, requests=1000 + round(10_000 * per_s)).text(), SERVED.text()
    assert judge(planned, later, earlier, seconds=10_000.0)["requests_per_second"].verdict == verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(None, "within"), (2.9, "within"), (3.0, "drifted")])
def test_two_readings_of_a_cache_are_two_where_no_request_is_in_both(
    replica: PlannedReplica, seconds: float | None, verdict: str
) -> None:
    """A request stays a second, one is there at a time: chance adds 164 % of the plan to one reading, 116 % to two."""
    both = replace(SERVED, kv=0.24)
    assert judge(replica, both.text(), both.text(), seconds=seconds)["kv_cache_share"].verdict == verdict


def test_two_replicas_read_once_are_two_readings_of_a_cache(replica: PlannedReplica) -> None:
    other = replace(SERVED, kv=0.24, labels={"engine": "1", "model_name": LLAMA}).text()
    assert judge(replica, replace(SERVED, kv=0.24).text())["kv_cache_share"].verdict == "within"
    assert judge(replica, replace(SERVED, kv=0.24).text() + other)["kv_cache_share"].verdict == "drifted"


def scheduled(report: PlanReport, *entries: tuple[float, int, float]) -> PlanReport:
    """The same plan for 1,920 dollars, each period with its hours a month, its replicas and what all are sent."""
    (d,), (all_week,) = report.deployments, report.periods
    schedule = [
        PeriodReplicas(
            period=number,
            replicas=replicas,
            requests_per_second=per_s,
            requests_per_second_by_class={d.classes[0].name: per_s},
            max_requests_per_second=10.0 * replicas,
            utilization=per_s / (10.0 * replicas),
        )
        for number, (_, replicas, per_s) in enumerate(entries)
    ]
    periods = tuple(
        all_week.model_copy(update={"period": number, "hours_per_month": hours})
        for number, (hours, *_) in enumerate(entries)
    )
    changes = {"schedule": schedule, "monthly_cost_usd": Decimal(1920)}
    return report.model_copy(update={"deployments": (d.model_copy(update=changes),), "periods": periods})


def test_what_is_planned_of_a_replica_is_of_one_and_of_the_whole_week(
    planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    """One is sent 2 a second in 500 hours, two together 5 in 230: 960 hours of a replica for 1,920 dollars.

    Half of the workload's 5 requests a second reach a replica at the busiest, 1 + (5 - 1) / 2 of the bursts of 5.
    """
    changes = {"requests_per_second": 5.0, "cached_input_share": 0.3, "arrivals": {"cv2": 5.0}}
    scenario = with_workload(load_scenario("chat-8b"), **changes)
    report = scheduled(planned("chat-8b"), (500.0, 1, 2.0), (230.0, 2, 5.0))
    found = planned_replica(report, scenario, catalogs, None)
    assert found.rates_per_s == (2.0, 2.5)
    assert found.usd_per_hour == 2
    assert found.cv2 == pytest.approx(3.0)
    assert found.cached_share == 0.3
    assert (found.input_tokens, found.output_tokens, found.smallest_share) == (1024, 256, 1.0)
    assert {(each.metric, each.statistic, each.at_replica_ms) for each in found.limits} == {
        ("ttft_ms", "p95", 460.0),
        ("tpot_ms", "mean", 50.0),
    }


def test_a_period_of_no_hours_is_not_taken_for_a_whole_month(
    planned: Callable[[str], PlanReport], catalogs: Catalogs
) -> None:
    report = scheduled(planned("chat-8b"), (500.0, 1, 2.0), (230.0, 2, 5.0))
    cut = report.model_copy(update={"periods": report.periods[:1]})
    with pytest.raises(InputError, match="there is no period 1 in periods"):
        planned_replica(cut, load_scenario("chat-8b"), catalogs, None)
