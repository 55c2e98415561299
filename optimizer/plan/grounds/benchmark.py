"""The one measurement to make before signing, as a command to run."""

import math
from typing import Final

from optimizer.base.figures import figure
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.question import latency_limits
from optimizer.plan.record.explanation import Benchmark
from optimizer.plan.record.fleet import PlannedFleet

MEASURED_S: Final = 600
"""A run of ten minutes holds enough requests for a 95th percentile."""


def first_benchmark(scenario: Scenario, catalogs: Catalogs, bought: PlannedFleet) -> Benchmark | None:
    """Of the dearest deployment that nobody measured, else of the dearest; None where nothing is rented.

    Args:
        scenario: What is asked.
        catalogs: What models are called.
        bought: The plan.
    """
    serving = [d for d in bought.deployments if d.requests_per_second]
    if not serving:
        return None
    d = max(serving, key=lambda each: (each.provenance.performance == "estimated", each.monthly_cost_usd))
    workload = next(each for each in scenario.workloads if each.name == d.workload)
    where = f"{d.model} {d.precision} on {d.gpus_per_replica}×{d.gpu} with {d.engine}"
    rate = d.requests_per_second / d.replicas / scenario.policy.max_utilization
    sent = sum(item.share for item in d.classes)
    prompt, reply = (
        round(sum(item.share * getattr(item, tokens) for item in d.classes) / sent)
        for tokens in ("input_tokens", "output_tokens")
    )
    limits = ", ".join(latency_limits(workload))
    duty = f"it must keep {limits}" if limits else "no request may fail"
    return Benchmark(
        configuration=where,
        command=command(catalogs.model(d.model).hf_id, prompt, reply, rate),
        settles=f"{d.workload}: speed of {where}",
        text=f"one replica of {where}, KV {d.kv_precision}, at {figure(rate)} req/s: {duty}",
    )


def command(model: str, prompt: int, reply: int, rate_per_s: float) -> str:
    """The load of one replica as vLLM's own benchmark sends it to any engine."""
    rate = figure(rate_per_s).replace(",", "")
    return (
        f"vllm bench serve --backend openai --base-url http://HOST:8000 --model {model} "
        f"--dataset-name random --random-input-len {prompt} --random-output-len {reply} "
        f"--request-rate {rate} --num-prompts {max(math.ceil(rate_per_s * MEASURED_S), 1)} "
        "--percentile-metrics ttft,tpot,e2el --metric-percentiles 50,90,95,99"
    )
