"""What load generators would write of a replica: our own simulator's runs in vLLM's and GuideLLM's format."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE, Scenario
from optimizer.performance.simulation.arrivals import renewal
from optimizer.performance.simulation.fleet import serve_stream
from optimizer.plan.benchmark.commands import labels
from optimizer.plan.benchmark.runs import BenchmarkRun
from optimizer.plan.record.report import PlanReport
from optimizer.plan.simulate.servers import services
from optimizer.plan.verify.claim import Claim

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Measured:
    """Each request of a run, (n,): seconds from its arrival."""

    arrived_s: Floats
    ttft_s: Floats
    tpot_s: Floats

    def slower(self, factor: float) -> "Measured":
        """The same requests, each so many times as slow."""
        return Measured(self.arrived_s, self.ttft_s * factor, self.tpot_s * factor)

    def first(self, count: int) -> "Measured":
        """A shorter run."""
        return Measured(self.arrived_s[:count], self.ttft_s[:count], self.tpot_s[:count])


def simulated_run(run: BenchmarkRun, report: PlanReport, scenario: Scenario, catalogs: Catalogs) -> Measured:
    """What one replica of the plan's only deployment does with a run, as fast as predicted."""
    (service,) = services(Claim(scenario, catalogs, report.fleet), CENTRAL_CONFIDENCE)
    alone = service.one_at(0, run.rate_per_s / service.rate_per_s)
    stream = renewal(np.random.default_rng(run.seed), alone.classes, run.rate_per_s, run.requests, run.cv2)
    (server,) = alone.servers
    one = type(server)(server.costs, 1, server.rate_per_s)
    done = serve_stream(np.random.default_rng(1), stream, (one,), run.cached_share, 1)
    return Measured(stream.arrived_s[done.request], done.ttft_s, done.tpot_s)


def as_vllm(run: BenchmarkRun, measured: Measured, plan: str = "", **changed: Any) -> dict[str, Any]:
    """The file of `vllm bench serve --save-result --save-detailed`; None as a change takes a field out."""
    n, reply = len(measured.ttft_s), run.served.output_tokens
    e2e_s = measured.ttft_s + measured.tpot_s * (reply - 1)
    duration_s = float(np.max(measured.arrived_s + e2e_s))
    content: dict[str, Any] = {
        "endpoint_type": "openai",
        "backend": "openai",
        "label": None,
        "model_id": run.hf_id,
        "tokenizer_id": run.hf_id,
        "num_prompts": n,
        **labels(run, plan),
        "request_rate": run.rate_per_s,
        "burstiness": 1 / run.cv2,
        "max_concurrency": None,
        "duration": duration_s,
        "completed": n,
        "failed": 0,
        "total_input_tokens": n * run.served.input_tokens,
        "total_output_tokens": n * reply,
        "request_throughput": n / duration_s,
        "request_goodput": None,
        "output_throughput": n * reply / duration_s,
        "input_lens": [run.served.input_tokens] * n,
        "output_lens": [reply] * n,
        "ttfts": measured.ttft_s.tolist(),
        "itls": [[float(tpot)] * (reply - 1) for tpot in measured.tpot_s],
        "errors": [""] * n,
    }
    for name, values_s in (("ttft", measured.ttft_s), ("tpot", measured.tpot_s), ("e2el", e2e_s)):
        content |= {f"mean_{name}_ms": 1e3 * float(np.mean(values_s)), f"std_{name}_ms": 1e3 * float(np.std(values_s))}
        content[f"median_{name}_ms"] = 1e3 * float(np.median(values_s))
        content |= {f"p{p}_{name}_ms": 1e3 * float(np.percentile(values_s, p)) for p in PERCENTILES}
    return {name: value for name, value in {**content, **changed}.items() if value is not None or name in content}


def as_guidellm(run: BenchmarkRun, measured: Measured, plan: str = "", limit_ms: float = 500.0) -> dict[str, Any]:
    """The report of `guidellm run --output kind=json` with each request, and a goodput of TTFT."""
    n, prompt, reply = len(measured.ttft_s), run.served.input_tokens, run.served.output_tokens
    e2e_s = measured.ttft_s + measured.tpot_s * (reply - 1)
    duration_s = float(np.max(measured.arrived_s + e2e_s))
    requests = [
        {"time_to_first_token_ms": 1e3 * ttft, "inter_token_latency_ms": 1e3 * tpot}
        | {"prompt_tokens": prompt, "output_tokens": reply}
        for ttft, tpot in zip(measured.ttft_s.tolist(), measured.tpot_s.tolist(), strict=True)
    ]
    metrics: dict[str, Any] = {
        "request_totals": {"successful": n, "errored": 0, "incomplete": 0, "total": n},
        "requests_per_second": {"successful": {"mean": n / duration_s}},
        "prompt_token_count": {"successful": {"mean": prompt}},
        "output_token_count": {"successful": {"mean": reply}},
        "output_tokens_per_second": {"successful": {"mean": n * reply / duration_s}},
        "time_to_first_token_ms": {"successful": _summary(1e3 * measured.ttft_s)},
        "inter_token_latency_ms": {"successful": _summary(1e3 * measured.tpot_s)},
        "request_latency": {"successful": _summary(e2e_s)},
        "slo_attainment": float(np.mean(1e3 * measured.ttft_s <= limit_ms)),
        "slo_determined_requests": n,
    }
    config = {
        "strategy": {"type_": "poisson", "rate": run.rate_per_s, "max_concurrency": 10240},
        "backend": {"kind": "openai_http", "model": run.hf_id},
        "slo": {"ttft_ms": limit_ms, "tpot_ms": None, "e2el_ms": None},
    }
    benchmark = {"config": config, "metrics": metrics, "requests": {"successful": requests}, "duration": duration_s}
    return {
        "metadata": {"version": 2, "guidellm_version": "0.8.1"},
        "config": {"metadata": {"labels": labels(run, plan)}},
        "benchmarks": [benchmark],
    }


def _summary(values: Floats) -> dict[str, Any]:
    percentiles = {f"p{p}": float(np.percentile(values, p)) for p in PERCENTILES}
    return {
        "mean": float(np.mean(values)),
        "median": float(np.median(values)),
        "std_dev": float(np.std(values)),
        "percentiles": percentiles,
    }
