"""A run as the command line of the tool that makes it; the only place that writes one."""

import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from optimizer.base.figures import figure
from optimizer.plan.benchmark.promises import Metric
from optimizer.plan.benchmark.runs import BenchmarkRun

WARM_UPS: Final = 20
"""Requests before those that count: they fill the prefix cache and end what an engine does once."""
WARM_UP_S: Final = 20.0
"""Load before what counts, where a tool's own warm-up is one prompt again and again, which the cache then holds."""
WARM_UP_SEED: Final = 10**6
"""Added to that of a run: far from those of attempts, so that no prompt of it is known when it counts."""
WARM_UP_SHARE: Final = 0.05
"""The same as a share of all, where a tool leaves out its first requests."""
DIGITS: Final = 5
POISSON_ENOUGH: Final = 0.05
"""So near to 1 a squared variation counts as that of independent arrivals."""
GOODPUT: Final[Mapping[Metric, str]] = {"ttft_ms": "ttft", "tpot_ms": "tpot", "e2e_ms": "e2el"}
OF_AIPERF: Final[Mapping[Metric, str]] = {
    "ttft_ms": "time_to_first_token",
    "tpot_ms": "inter_token_latency",
    "e2e_ms": "request_latency",
}


class Written(NamedTuple):
    """Where a run goes to.

    Attributes:
        url: Of the server, as the shell is to read it.
        result: The file of the result, as the shell is to read it, without the ending that the tool gives it.
        plan: Its id; empty while the plan is being made.
        attempt: Variable of the shell that tells runs that are counted together apart; empty where one is made.
    """

    url: str
    result: str
    plan: str = ""
    attempt: str = ""

    def seed(self, run: BenchmarkRun) -> str:
        """Of its requests, another in each attempt."""
        return f"$(({run.seed}+{self.attempt}))" if self.attempt else str(run.seed)


class Tool(NamedTuple):
    """A load generator.

    Attributes:
        version: Of the release whose options are known.
        needs: What to install.
        words: Its command line, word by word, ready for the shell.
        result: What it adds to the name of a result.
        sends_bursts: Whether gaps between requests may vary otherwise than those of independent requests.
        warms_by_one_prompt: Whether its own warm-up sends its first prompt alone: vLLM 0.26.0 and SGLang do, so that
            no prompt but that one was read when a run begins, and kernels for reading several are yet to be compiled.
        remarks: What a reader of its results should know.
    """

    version: str
    needs: str
    words: Callable[[BenchmarkRun, Written], Iterator[str]]
    result: str
    sends_bursts: bool
    warms_by_one_prompt: bool = False
    remarks: tuple[str, ...] = ()


def command(tool: str, run: BenchmarkRun, written: Written) -> str:
    """The line that makes a run with a tool of `TOOLS`."""
    return " ".join(TOOLS[tool].words(run, written))


def wrapped(tool: str, run: BenchmarkRun, written: Written) -> str:
    """The same over several lines, one option each."""
    lines: list[str] = []
    for word in TOOLS[tool].words(run, written):
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines)


def warm_up(tool: str, run: BenchmarkRun) -> BenchmarkRun | None:
    """The load that goes before a run, other prompts at the same rate; None where the tool's own warm-up does."""
    if not TOOLS[tool].warms_by_one_prompt:
        return None
    requests = min(max(WARM_UPS, math.ceil(run.rate_per_s * WARM_UP_S)), run.requests)
    return replace(run, requests=requests, seed=run.seed + WARM_UP_SEED)


def is_poisson(run: BenchmarkRun) -> bool:
    """Whether requests arrive as if they knew nothing of each other."""
    return abs(run.cv2 - 1) <= POISSON_ENOUGH


def goodput_limits(run: BenchmarkRun) -> dict[Metric, float]:
    """Limits of the highest percentile, which one count of requests can decide; a mean promises nothing of each."""
    highest = max((limit.promised_share or 0.0 for limit in run.limits), default=0.0)
    return {item.metric: item.at_replica_ms for item in run.limits if highest and item.promised_share == highest}


def labels(run: BenchmarkRun, plan: str = "") -> dict[str, str]:
    """What a result must say of itself, so that it can be held against the plan."""
    d = run.d
    said = {
        "plan": plan,
        "deployment": run.deployment_name,
        "workload": d.workload,
        "class": run.served.name,
        "engine": d.engine,
        "engine_version": d.engine_version,
        "gpu": d.gpu,
        "num_gpus": str(d.gpus_per_replica),
        "tp": str(d.tensor_parallel),
        "pp": str(d.pipeline_parallel),
        "weight_precision": d.precision,
        "kv_precision": d.kv_precision,
        "speculation": d.speculation,
        "goodput": ",".join(_pairs(GOODPUT, run)),
    }
    return {name: value for name, value in said.items() if value}


def _vllm(run: BenchmarkRun, written: Written) -> Iterator[str]:
    yield from ("vllm", "bench", "serve", "--backend", "openai", "--base-url", written.url)
    yield from ("--model", shlex.quote(run.hf_id))
    cached = _cached_tokens(run)
    yield from ("--dataset-name", "random", "--random-input-len", str(run.served.input_tokens - cached))
    yield from ("--random-output-len", str(run.served.output_tokens), "--random-range-ratio", "0")
    if cached:
        yield from ("--random-prefix-len", str(cached))
    yield from ("--ignore-eos", "--request-rate", _number(run.rate_per_s), "--burstiness", _number(_smoothness(run)))
    yield from ("--num-prompts", str(run.requests), "--num-warmups", str(WARM_UPS), "--seed", written.seed(run))
    if goodput_limits(run):
        yield from ("--goodput", *_pairs(GOODPUT, run))
    yield from ("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99")
    yield from ("--save-result", "--save-detailed", "--result-filename", f"{written.result}.json")
    yield from ("--metadata", *(shlex.quote(f"{name}={value}") for name, value in labels(run, written.plan).items()))


def _guidellm(run: BenchmarkRun, written: Written) -> Iterator[str]:
    yield from ("guidellm", "run")
    for name, value in labels(run, written.plan).items():
        yield from ("--label", shlex.quote(f"{name}={value}"))
    backend = f"kind=openai_http,target={written.url},model={shlex.quote(run.hf_id)},request_format=/v1/completions"
    yield from ("--backend", backend)
    yield from ("--profile", f"kind=poisson,rate={_number(run.rate_per_s)},warmup={_number(WARM_UP_SHARE)}")
    sent = round(run.requests / (1 - WARM_UP_SHARE))
    yield from ("--constraint", f"kind=max_requests,count={sent}")
    yield from ("--data", _guidellm_lengths(run), "--seed", f"kind=static,value={written.seed(run)}")
    limits = {f"{GOODPUT[name]}_ms": limit_ms for name, limit_ms in goodput_limits(run).items()}
    if limits:
        slo = json.dumps({"kind": "generative", "slo": limits}, separators=(",", ":"))
        yield from ("--metrics", shlex.quote(slo))
    yield from ("--output", f"kind=json,path={written.result}.json")


def _guidellm_lengths(run: BenchmarkRun) -> str:
    cached = _cached_tokens(run)
    lengths = f"prompt_tokens={run.served.input_tokens - cached},output_tokens={run.served.output_tokens}"
    return f"kind=synthetic_text,{lengths}" + (f",prefix_tokens={cached}" if cached else "")


def _aiperf(run: BenchmarkRun, written: Written) -> Iterator[str]:
    yield from ("aiperf", "profile", "--model", shlex.quote(run.hf_id), "--url", written.url)
    yield from ("--endpoint-type", "completions", "--streaming", "--use-server-token-count")
    pattern = ("poisson",) if is_poisson(run) else ("gamma", "--arrival-smoothness", _number(_smoothness(run)))
    yield from ("--request-rate", _number(run.rate_per_s), "--arrival-pattern", *pattern)
    yield from ("--request-count", str(run.requests), "--num-dataset-entries", str(run.requests))
    yield from ("--warmup-request-count", str(WARM_UPS))
    cached = _cached_tokens(run)
    yield from ("--isl", str(run.served.input_tokens - cached), "--isl-stddev", "0")
    yield from ("--osl", str(run.served.output_tokens), "--osl-stddev", "0", "--extra-inputs", "ignore_eos:true")
    if cached:
        yield from ("--num-prefix-prompts", "1", "--prefix-prompt-length", str(cached))
    if goodput_limits(run):
        yield from ("--goodput", shlex.quote(" ".join(_pairs(OF_AIPERF, run))))
    yield from ("--random-seed", written.seed(run), "--artifact-dir", written.result)


def _sglang(run: BenchmarkRun, written: Written) -> Iterator[str]:
    backend = "sglang" if run.d.engine == "sglang" else "vllm"
    yield from ("python -m sglang.benchmark.serving", "--backend", backend, "--base-url", written.url)
    yield from ("--model", shlex.quote(run.hf_id), *_sglang_lengths(run))
    yield from ("--request-rate", _number(run.rate_per_s), "--num-prompts", str(run.requests))
    yield from ("--warmup-requests", str(WARM_UPS), "--seed", written.seed(run))
    if goodput_limits(run):
        yield from ("--goodput", *_pairs(GOODPUT, run))
    said = ",".join(f"{name}={value}" for name, value in labels(run, written.plan).items() if name != "goodput")
    yield from ("--output-file", f"{written.result}.jsonl", "--output-details", "--tag", shlex.quote(said))


def _sglang_lengths(run: BenchmarkRun) -> tuple[str, ...]:
    cached, prompt, reply = _cached_tokens(run), run.served.input_tokens, str(run.served.output_tokens)
    if not cached:
        lengths = ("--random-input-len", str(prompt), "--random-output-len", reply, "--random-range-ratio", "1")
        return ("--dataset-name", "random-ids", *lengths)
    return (
        *("--dataset-name", "generated-shared-prefix", "--gsp-num-groups", "1"),
        *("--gsp-prompts-per-group", str(run.requests), "--gsp-system-prompt-len", str(cached)),
        *("--gsp-question-len", str(prompt - cached), "--gsp-output-len", reply, "--gsp-range-ratio", "1"),
    )


def _cached_tokens(run: BenchmarkRun) -> int:
    """The same tokens at the beginning of every prompt, in the cache after the first; one is left to compute."""
    return min(round(run.served.input_tokens * run.cached_share), run.served.input_tokens - 1)


def _smoothness(run: BenchmarkRun) -> float:
    """The shape of gamma gaps, whose squared variation is its inverse."""
    return 1.0 if is_poisson(run) else 1 / run.cv2


def _pairs(names: Mapping[Metric, str], run: BenchmarkRun) -> list[str]:
    return [f"{names[name]}:{_number(limit_ms)}" for name, limit_ms in goodput_limits(run).items()]


def _number(value: float) -> str:
    return figure(value, DIGITS).replace(",", "")


TOOLS: Final[Mapping[str, Tool]] = {
    "vllm": Tool(
        "0.33.0",
        "pip install 'vllm[bench]==0.33.0'",
        _vllm,
        ".json",
        sends_bursts=True,
        warms_by_one_prompt=True,
    ),
    "guidellm": Tool(
        "0.8.1",
        "pip install guidellm==0.8.1",
        _guidellm,
        ".json",
        sends_bursts=False,
        remarks=("its goodput passes or fails on the point estimate; the verdict is that of `optimizer check`",),
    ),
    "aiperf": Tool(
        "0.13.0",
        "pip install aiperf==0.13.0",
        _aiperf,
        "/profile_export_aiperf.json",
        sends_bursts=True,
        remarks=(
            "its result does not say on which GPU and at which precision it was measured: that rests on your word",
            "its result holds no single requests, so that a limit on a mean stays undecided",
        ),
    ),
    "sglang": Tool(
        "0.5.23",
        "pip install sglang==0.5.23",
        _sglang,
        ".jsonl",
        sends_bursts=False,
        warms_by_one_prompt=True,
    ),
}
"""By the name under which they are asked for."""
