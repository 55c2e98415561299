"""Whether what runs is what was planned: rate, lengths, latencies, caches, and what tokens cost."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command import Command, Result
from support.expositions import LLAMA, SGLANG, VLLM, Served

from optimizer import InputError, load_scenario
from optimizer.answers.planning.optimize import optimize
from optimizer.answers.running.watch.exposition import read_exposition
from optimizer.answers.running.watch.judged import Watched
from optimizer.answers.running.watch.planned import planned_replica
from optimizer.answers.running.watch.scrapes import Observed
from optimizer.answers.running.watch.window import Window
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

Watch = Callable[..., Result]
VALUES = st.one_of(st.floats(-10, 1e6), st.sampled_from(["NaN", "+Inf", "-Inf", "1e400", "-0", "9e15"]))
LABELS = st.sampled_from(["", '{le="1"}', '{le="+Inf"}', '{le="0.5",engine="1"}', '{engine="1",le="+Inf"}', '{a="b"}'])
NAMES = st.sampled_from([name + end for name in VLLM.values() for end in ("", "_bucket", "_sum", "_count")])
LINES = st.lists(st.tuples(NAMES, LABELS, VALUES), max_size=40, unique_by=lambda row: row[:2]).map(
    lambda rows: "".join(f"{name}{labels} {value}\n" for name, labels, value in rows)
)
SERVERS = st.builds(
    Served,
    requests=st.integers(0, 4000),
    input_tokens=st.sampled_from([1, 1024, 1400, 9e6]),
    ttft_s=st.sampled_from([0.0, 0.12, 0.33, 0.5]),
    tpot_s=st.sampled_from([0.0217, 0.06, 40.0]),
    kv=st.floats(0, 1),
    cached=st.floats(0, 1),
)
AS_PLANNED = Served()
"""2,700 requests, which is 4.5 a second of ten minutes, with the lengths and latencies that chat-8b plans with."""


@pytest.fixture
def watch(optimizer: Command, planned: Callable[[str], PlanReport], tmp_path: Path) -> Watch:
    """Watches a plan by what is given as the texts of files, the earlier first."""

    def watched(
        *texts: str,
        options: tuple[str, ...] = ("--format", "json"),
        interval_s: int | None = None,
        plan: str | PlanReport = "chat-8b",
    ) -> Result:
        report = planned(plan) if isinstance(plan, str) else plan
        (tmp_path / "plan.json").write_text(as_json(report), encoding="utf-8")
        words = ["--interval-s", str(interval_s)] if interval_s else []
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.prom").write_text(text, encoding="utf-8")
            words += ["--metrics", str(tmp_path / f"{number}.prom")]
        return optimizer("watch", str(tmp_path / "plan.json"), *words, *options)

    return watched


def ten_minutes(watch: Watch, served: Served, **more: Any) -> Result:
    """A server that did for ten minutes what it did before."""
    return watch(served.text(), replace(served, requests=2 * served.requests).text(), interval_s=600, **more)


def verdicts(found: Result) -> dict[str, str]:
    return {each["quantity"]: each["verdict"] for each in json.loads(found.out)["figures"]}


def test_servers_as_planned_are_within_and_tokens_cost_what_the_plan_says(watch: Watch) -> None:
    found = ten_minutes(watch, AS_PLANNED)
    assert found.code == 0, found.out + found.err
    answer = json.loads(found.out)
    assert answer["verdict"] == "within"
    assert set(verdicts(found)) == {
        *("requests_per_second", "input_tokens", "output_tokens", "ttft_ms", "tpot_ms", "kv_cache_share")
    }
    bill = answer["bill"]
    assert bill["usd_per_million_tokens"] == bill["planned_usd_per_million_tokens"]
    assert bill["usd_per_million_output_tokens"] == bill["planned_usd_per_million_output_tokens"]
    ttft = answer["figures"][3]
    assert (ttft["measured"], ttft["measured_low"], ttft["measured_high"]) == (None, 100.0, 250.0)


@pytest.mark.parametrize(
    ("changed", "drifted"),
    [
        ({"requests": 3240}, "requests_per_second"),
        ({"requests": 1350}, "requests_per_second"),
        ({"input_tokens": 1400}, "input_tokens"),
        ({"output_tokens": 150}, "output_tokens"),
        ({"ttft_s": 0.5}, "ttft_ms"),
        ({"tpot_s": 0.06}, "tpot_ms"),
        ({"kv": 0.6}, "kv_cache_share"),
    ],
)
def test_what_is_not_as_planned_has_drifted_and_nothing_else_has(
    watch: Watch, changed: dict[str, Any], drifted: str
) -> None:
    found = ten_minutes(watch, replace(AS_PLANNED, **changed))
    assert found.code == 1, found.out + found.err
    assert [name for name, verdict in verdicts(found).items() if verdict == "drifted"] == [drifted]


def test_half_the_rate_makes_tokens_cost_twice(watch: Watch) -> None:
    bill = json.loads(ten_minutes(watch, replace(AS_PLANNED, requests=1350)).out)["bill"]
    assert float(bill["usd_per_million_tokens"]) == pytest.approx(
        2 * float(bill["planned_usd_per_million_tokens"]), rel=1e-3
    )


def test_one_moment_tells_no_rate_and_no_cost_and_all_the_rest(watch: Watch) -> None:
    found = watch(AS_PLANNED.text())
    assert found.code == 4
    assert [name for name, verdict in verdicts(found).items() if verdict != "within"] == ["requests_per_second"]
    answer = json.loads(found.out)
    assert (answer["bill"], answer["bill_needs"]) == (None, "needs a rate: two moments tell it, the earlier first")
    assert watch(replace(AS_PLANNED, ttft_s=0.5).text()).code == 1


def test_what_is_missing_for_a_rate_is_named_and_two_moments_are_not_asked_for_again(watch: Watch) -> None:
    twice = AS_PLANNED.text(), replace(AS_PLANNED, requests=5400).text()
    untimed = json.loads(watch(*twice).out)
    assert "say with --interval-s how many seconds lie between the two" in untimed["figures"][0]["text"]
    assert untimed["bill_needs"] == f"needs a rate: {untimed['figures'][0]['text']}"
    restarted = json.loads(watch(*reversed(twice), interval_s=600).out)
    assert restarted["bill_needs"].startswith("needs a rate: a server started again")
    idle = json.loads(watch(AS_PLANNED.text(), AS_PLANNED.text(), interval_s=600).out)
    assert (idle["bill"], idle["bill_needs"]) == (None, "nothing was served: no token bears the cost")
    assert "nothing was served" in watch(AS_PLANNED.text(), AS_PLANNED.text(), interval_s=600, options=()).out


def test_another_model_is_refused_unless_its_name_is_one_of_the_planned_or_said_to_be(watch: Watch) -> None:
    def named(name: str, *options: str) -> Result:
        return ten_minutes(watch, replace(AS_PLANNED, labels={"model_name": name}), options=options)

    other = named("mistralai/Mistral-7B")
    assert other.code == 2
    assert f"of the model mistralai/Mistral-7B, planned is {LLAMA}" in other.err
    assert "--served-model-name mistralai/Mistral-7B" in other.err
    assert named("Qwen/Qwen3-32B").code == 2
    assert named("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8").code == 0
    own, said = named("support"), named("support", "--served-model-name", "support")
    assert (own.code, said.code, named("support", "--served-model-name", "chat").code) == (0, 0, 2)
    assert "the servers call their model support, which is taken to be" in " ".join(own.out.split())
    assert "support" not in said.out


def test_what_more_replicas_than_planned_cost_is_told(watch: Watch) -> None:
    def two(requests: int) -> str:
        each = replace(AS_PLANNED, requests=requests)
        return "".join(replace(each, labels={"instance": name}).text() for name in "ab")

    said = watch(two(2700), two(5400), interval_s=600, options=()).out
    assert "a replica at $0.99 an hour ($1,445.40 a month for 2, planned $722.70 for 1)" in " ".join(said.split())
    bill = json.loads(watch(two(2700), two(5400), interval_s=600).out)["bill"]
    assert (bill["usd_per_month"], bill["usd_per_month_of_seen"]) == ("722.70", "1445.40")
    unknown = watch(AS_PLANNED.text(), replace(AS_PLANNED, requests=5400).text())
    assert (unknown.code, json.loads(unknown.out)["seconds"]) == (4, None)


def test_so_few_requests_tell_nothing(watch: Watch) -> None:
    found = watch(replace(AS_PLANNED, requests=10).text(), replace(AS_PLANNED, requests=20).text(), interval_s=2)
    assert found.code == 4
    told = verdicts(found)
    assert {told[name] for name in ("requests_per_second", "input_tokens", "ttft_ms", "tpot_ms")} == {"undecided"}


def test_a_limit_inside_a_bucket_counts_those_in_it_for_neither_side(watch: Watch) -> None:
    """460 ms lie between 250 and 500: requests of 240 to 720 ms are told as within by none that may be beyond."""
    found = watch(replace(AS_PLANNED, ttft_s=0.33).text())
    ttft = json.loads(found.out)["figures"][3]
    assert ttft["verdict"] == "undecided"
    assert "to 2,700 of 2,700" in ttft["text"]


def test_samples_with_time_stamps_tell_the_seconds_between(watch: Watch) -> None:
    later = replace(AS_PLANNED, requests=5400)
    found = watch(AS_PLANNED.text(at_ms=1_000_000), later.text(at_ms=1_600_000))
    assert (found.code, json.loads(found.out)["seconds"]) == (0, 600.0)
    refused = watch(later.text(at_ms=1_600_000), AS_PLANNED.text(at_ms=1_000_000))
    assert refused.code == 2
    assert "not later than the first" in refused.err


def test_counters_that_began_again_leave_the_rate_open(watch: Watch) -> None:
    found = watch(replace(AS_PLANNED, requests=8100).text(), AS_PLANNED.text(), interval_s=600)
    assert found.code == 4
    answer = json.loads(found.out)
    assert answer["figures"][0]["text"].startswith("a server started again")
    assert answer["bill"] is None
    assert answer["figures"][3]["requests"] == 2700


def test_values_that_are_no_number_are_not_told(watch: Watch) -> None:
    text = AS_PLANNED.text()
    without = "\n".join(
        f"{line.rsplit(' ', 1)[0]} NaN"
        if VLLM["kv"] in line or "tpot" in line or f"{VLLM['tpot_s']}_sum" in line
        else line
        for line in text.splitlines()
    )
    told = verdicts(watch(without))
    assert (told["kv_cache_share"], told["tpot_ms"], told["ttft_ms"]) == ("undecided", "undecided", "within")


def test_replicas_are_told_apart_by_labels_or_by_files_and_rates_are_of_one(watch: Watch, tmp_path: Path) -> None:
    def two(requests: int) -> list[str]:
        return [
            replace(AS_PLANNED, requests=requests, labels={"instance": name, "engine": "0"}).text() for name in "ab"
        ]

    joined = watch("".join(two(2700)), "".join(two(5400)), interval_s=600)
    assert joined.code == 0, joined.out + joined.err
    answer = json.loads(joined.out)
    assert answer["replicas"] == 2
    assert answer["figures"][0]["measured"] == pytest.approx(4.5)
    for moment, requests in (("before", 2700), ("after", 5400)):
        (tmp_path / moment).mkdir()
        for name in "ab":
            path = tmp_path / moment / f"{name}.prom"
            path.write_text(replace(AS_PLANNED, requests=requests).text(), encoding="utf-8")
    folders = ("--metrics", str(tmp_path / "before"), "--metrics", str(tmp_path / "after"), "--format", "json")
    apart = watch(interval_s=600, options=folders)
    assert apart.code == 0, apart.out + apart.err
    assert json.loads(apart.out)["bill"] == answer["bill"]
    (tmp_path / "after" / "b.prom").unlink()
    gone = watch(interval_s=600, options=folders)
    assert gone.code == 4
    assert "2 replicas told of themselves first and 1 last" in json.loads(gone.out)["figures"][0]["text"]
    (tmp_path / "before" / "b.prom").rename(tmp_path / "after" / "b.prom")
    came = json.loads(watch(interval_s=600, options=folders).out)
    assert came["figures"][1]["requests"] == 2700
    assert came["notes"][0].startswith("1 replica was not there at the first moment")


def test_a_file_in_which_two_replicas_look_alike_or_serve_other_models_is_refused(watch: Watch) -> None:
    twice = watch(AS_PLANNED.text() + AS_PLANNED.text())
    assert twice.code == 2
    assert "a second time with the same labels" in twice.err
    other = replace(AS_PLANNED, labels={"engine": "1", "model_name": "other"})
    assert f"several models in one place: {LLAMA}, other" in watch(AS_PLANNED.text() + other.text()).err


@contextmanager
def serving(texts: list[str]) -> Iterator[str]:
    """A server on loopback that says one text after the other, the last again and again."""
    left = list(texts)

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """No-op."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_server_is_read_twice_with_the_seconds_between(watch: Watch) -> None:
    with serving([AS_PLANNED.text(), replace(AS_PLANNED, requests=5400).text()]) as url:
        found = watch(options=("--metrics", url, "--interval-s", "0.05", "--format", "json"))
    assert found.code == 1, found.err
    answer = json.loads(found.out)
    assert answer["moments"] == 2
    assert answer["seconds"] >= 0.05
    assert answer["figures"][0]["verdict"] == "drifted"


def test_a_server_that_is_not_there_is_bad_input(watch: Watch) -> None:
    with serving([AS_PLANNED.text()]) as url:
        missing = watch(options=("--metrics", f"{url}/no"))
        mixed = watch(AS_PLANNED.text(), options=("--metrics", url))
    assert (missing.code, mixed.code) == (2, 2)
    assert "404" in missing.err
    assert "URLs and files do not go together" in mixed.err
    assert watch(options=("--metrics", url)).code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--metrics", "/nowhere.prom"), "cannot be read"),
        (("--metrics", "-", "--metrics", "-"), "2 files"),
        (("--metrics", "/dev/null"), "is a device or a pipe"),
        (("--deployment", "none", "--metrics", "-"), "no deployment 'none'"),
        (("--metrics", "http://127.0.0.1:9/metrics", "--interval-s", "inf"), "Invalid value for '--interval-s'"),
        (("--metrics", "http://127.0.0.1:9/metrics", "--interval-s", "1e12"), "Invalid value for '--interval-s'"),
    ],
)
def test_what_cannot_be_watched_is_bad_input(watch: Watch, options: tuple[str, ...], said: str) -> None:
    refused = watch(options=options)
    assert refused.code == 2
    assert said in refused.err


def test_a_plan_by_which_nothing_runs_is_said_to_be_one(watch: Watch) -> None:
    refused = watch(AS_PLANNED.text(), plan="infeasible-latency")
    assert refused.code == 2
    assert "plan.json: deployments: nothing runs by this plan" in refused.err


def test_one_file_is_one_moment_whatever_the_interval(watch: Watch) -> None:
    refused = watch(AS_PLANNED.text(), interval_s=5)
    assert (refused.code, "one file is one moment" in refused.err) == (2, True)


def test_sglang_is_read_by_its_own_names_and_a_deployment_of_several_is_named(watch: Watch, catalogs: Catalogs) -> None:
    content = load_scenario("one-engine").model_dump()
    content["policy"] |= {"engines": ["sglang"], "max_monthly_usd": None}
    plan = optimize(Scenario.model_validate(content), catalogs)
    served = replace(AS_PLANNED, requests=300, labels={"model_name": "m", "is_streaming": "true"})
    nobody = watch(served.text(SGLANG), plan=plan)
    assert nobody.code == 2
    assert "say whose metrics these are: the plan has" in nobody.err
    name = nobody.err.partition("the plan has ")[2].partition(",")[0]
    found = watch(served.text(SGLANG), plan=plan, options=("--deployment", name, "--format", "json"))
    assert found.code in (1, 4), found.err
    figures = json.loads(found.out)["figures"]
    assert all(each["metric"].startswith("sglang:") and each["text"] != "not told" for each in figures)
    other = watch(AS_PLANNED.text(), plan=plan, options=("--deployment", name))
    assert other.code == 2
    assert "no server tells of it" in other.err


def test_an_engine_whose_metrics_nobody_recorded_is_refused_until_somebody_says_them(
    watch: Watch, tmp_path: Path
) -> None:
    """TensorRT-LLM tells no lengths: what has no name is left open, and the rarest class decides the others."""
    refused = watch(AS_PLANNED.text(), plan="mixed-chat-rag")
    assert refused.code == 2
    assert "the metrics of tensorrt-llm 1.2.1 are not known; known releases of it: none" in refused.err
    names = {"requests": "request_success_total", "ttft_s": "time_to_first_token_seconds"}
    rows = [f"tensorrt-llm,1.2.1,{quantity},{name},read,vllm-0.33.0,2026-11-22,\n" for quantity, name in names.items()]
    (tmp_path / "mine").mkdir()
    header = "engine,version,quantity,metric,status,source,as_of,note\n"
    (tmp_path / "mine" / "engine_metrics.csv").write_text(header + "".join(rows), encoding="utf-8")
    options = ("--catalogs", str(tmp_path / "mine"), "--format", "json")
    found = watch(AS_PLANNED.text({**VLLM, **names}), plan="mixed-chat-rag", options=options)
    assert found.code == 4, found.err
    told = {each["quantity"]: each for each in json.loads(found.out)["figures"]}
    assert (told["ttft_ms"]["verdict"], told["input_tokens"]["verdict"]) == ("within", "undecided")
    assert "no name for it is known" in told["input_tokens"]["text"]
    assert any("do not tell classes apart" in note for note in json.loads(found.out)["notes"])


def test_the_forms_for_people_say_the_same(watch: Watch) -> None:
    text = ten_minutes(watch, replace(AS_PLANNED, input_tokens=1400), options=())
    assert text.out.startswith("chat-l40s-runpod of the plan for chat-8b does not run as planned: 5 within, 1 drifted.")
    markdown = ten_minutes(watch, AS_PLANNED, options=("--format", "markdown"))
    assert markdown.out.startswith("# Watch\n\nchat-l40s-runpod of the plan for chat-8b runs as planned: 6 within.")


@st.composite
def with_one_line_broken(draw: st.DrawFn) -> str:
    """What a server says, but for one line: gone, twice, with another value or labels, or replaced."""
    lines = draw(SERVERS).text().splitlines()
    at = draw(st.integers(0, len(lines) - 1))
    head, _, value = lines[at].rpartition(" ")
    name = head.partition("{")[0]
    broken = st.one_of(
        st.sampled_from(["", f"{lines[at]}\n{lines[at]}", lines[at]]),
        VALUES.map(lambda other: f"{head} {other}"),
        LABELS.map(lambda other: f"{name}{other} {value}"),
        st.text(),
    )
    return "\n".join([*lines[:at], draw(broken), *lines[at + 1 :], ""])


def test_whatever_a_server_says_is_judged_or_refused(planned: Callable[[str], PlanReport], catalogs: Catalogs) -> None:
    replica = replace(planned_replica(planned("chat-8b"), load_scenario("chat-8b"), catalogs, None), cached_share=0.3)
    metrics = catalogs.deploying.metrics_of("vllm", replica.d.engine_version)
    verdicts: Counter[tuple[str, str]] = Counter()
    text = st.one_of(with_one_line_broken(), with_one_line_broken(), LINES, st.text())

    @given(earlier=text, later=text, reads=st.booleans())
    @settings(max_examples=150)
    def judge(earlier: str, later: str, reads: bool) -> None:
        try:
            first, last = ({"": read_exposition(text, "f")} for text in (earlier, later))
            window = Window(Observed(last, first if reads else None, 600.0 if reads else None), "engine")
            figures = list(Watched(replica, window, metrics, 1, 0.1).figures())
        except InputError:
            verdicts["all", "refused"] += 1
            return
        verdicts.update((each.quantity, each.verdict) for each in figures)
        assert {each.verdict for each in figures} <= {"within", "drifted", "undecided"}

    judge()
    decided = Counter({found: times for found, times in verdicts.items() if found[1] in ("within", "drifted")})
    assert {quantity for quantity, _ in decided} == {
        *("requests_per_second", "input_tokens", "output_tokens"),
        *("cached_input_share", "ttft_ms", "tpot_ms", "kv_cache_share"),
    }
    assert {verdict for _, verdict in decided} == {"within", "drifted"}
    assert decided.total() > 50
