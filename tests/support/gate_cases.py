"""A small world for gates: one scenario, three offers, and plans of it that serve as baselines."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from optimizer.answers.gate.baseline import Baseline
from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.plan import planned
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.types import GateReport
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.loading import ScenarioFile, load_scenario_file

SCENARIO = """name: {name}
workloads:
  - name: chat
    model: llama-3.1-8b
    requests_per_second: {rate}
    input_tokens: 600
    output_tokens: 150
    slo:
      ttft_ms: {ttft}
policy:
  max_price_age_days: null
  confidence: 0.5
  sellers: [unknown]
"""


def scenario(folder: Path, name: str = "support", rate: float = 2, ttft: float = 800) -> ScenarioFile:
    path = folder / f"{name}.yaml"
    path.write_text(SCENARIO.format(name=name, rate=rate, ttft=ttft), encoding="utf-8")
    return load_scenario_file(path)


def batch(folder: Path, requests: int) -> ScenarioFile:
    """The same as so many requests every night, of which no latency is promised."""
    asked = SCENARIO.format(name="batch", rate=1, ttft=1).replace("    slo:\n      ttft_ms: 1\n", "")
    due = f"deadline: {{requests: {requests}, start: 22, by: 6}}"
    path = folder / "batch.yaml"
    path.write_text(asked.replace("requests_per_second: 1", due), encoding="utf-8")
    return load_scenario_file(path)


def world(catalogs: Catalogs, **prices: str) -> Catalogs:
    """The catalogs with a provider for each GPU named and no other; a price of the GPU per hour for each."""
    offers = tuple(offer(gpu, price) for gpu, price in sorted(prices.items()))
    return replace(catalogs, offers=offers, serverless=())


def offer(gpu: str, price: str, as_of: date = date(2026, 11, 1)) -> Offer:
    return Offer(
        provider=f"{gpu}house",
        provider_kind="neocloud",
        region="us",
        instance_type="box",
        gpu=gpu,
        gpu_count=1,
        link="none",
        price_usd_per_hour=Decimal(price),
        pricing_term="on_demand",
        as_of=as_of,
        source="litgpt-0.5.13",
        confidence="listed",
    )


def baseline(file: ScenarioFile, catalogs: Catalogs) -> Baseline:
    plan = planned(file.scenario, catalogs, None).plan
    return Baseline(f"{file.scenario.name}.json", plan)


def judged(
    file: ScenarioFile, catalogs: Catalogs, *before: Baseline, old: Catalogs | None = None, **limits: Any
) -> GateReport:
    return gate([file], catalogs, GateLimits(**limits), before, old_catalogs=old)


def amounts(report: GateReport) -> dict[str, Decimal]:
    return {cause.cause: cause.change_usd for cause in report.causes}
