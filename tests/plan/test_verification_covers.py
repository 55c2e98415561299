"""Every field of a scenario is held by the checks that say so: another value of just that field breaks the plan."""

import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel
from support.scenarios import proven

from optimizer.inputs.scenario.fields import AllowDeny
from optimizer.inputs.scenario.lifecycle import Lifecycle
from optimizer.inputs.scenario.risk import Risk
from optimizer.inputs.scenario.scenario import (
    Deadline,
    Draft,
    InForce,
    Latency,
    LoraAdapters,
    Scenario,
    TokensPerDay,
)
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.verify.verify import CHECKS, COVERED, NOT_COVERED, verify

VALUES = (AllowDeny, Latency, InForce, Lifecycle, Risk, TokensPerDay, Deadline, LoraAdapters, Draft)
"""Records that are one value of a scenario's field."""

Changes = Mapping[str, Any]


class Break(NamedTuple):
    """The plan of a scenario, and another value of a field that the plan does not keep.

    Attributes:
        scenario: A shipped one.
        value: What the field is set to once the plan is made.
        given: Other fields, set before the plan is made.
        path: What is set where that is not the field as a whole.
    """

    scenario: str
    value: Any
    given: Changes = types.MappingProxyType({})
    path: str = ""


def documents(*lengths: tuple[float, int, int]) -> list[dict[str, Any]]:
    """The classes of shared-replicas where documents and their answers differ, at much the same means."""
    kinds = [{"share": share, "input_tokens": prompt, "output_tokens": answer} for share, prompt, answer in lengths]
    prompt, answer = (round(sum(each["share"] * each[name] for each in kinds)) for name in LENGTHS)
    long = {"share": 0.3, "input_tokens": prompt, "output_tokens": answer, "lengths": kinds}
    return [{"share": 0.7, "input_tokens": 200, "output_tokens": 700}, long]


LENGTHS = ("input_tokens", "output_tokens")
ALIKE = documents((0.01, 4000, 100), (0.98, 8000, 100), (0.01, 12000, 100))
UNEVEN = {
    "share": documents((0.3, 4000, 100), (0.4, 8000, 100), (0.3, 12000, 100)),
    "input_tokens": documents((0.49, 4000, 100), (0.02, 8000, 100), (0.49, 12000, 100)),
    "output_tokens": documents((0.01, 4000, 100), (0.49, 8000, 20), (0.49, 8000, 180), (0.01, 12000, 100)),
}
KEEPS_ALL = {"method": "eagle3", "draft_tokens": 3, "accepted_tokens": 4}
NOWHERE = {"allow": ["mars-*"]}
NOBODY = {"deny": ["*"]}
ASLEEP = {"workloads[].slo.ttft_ms": {"p95": 1e7}, "workloads[].min_replicas": 0}
STEADY = {"workloads[].requests_per_second": None, "workloads[].demand": {"weekly_requests_per_second": [20.0] * 168}}
BY_API = {"workloads[].min_quality": 0.9, "workloads[].unknown_quality": "accept"}
BY_SECOND = {
    "policy.hosting": ["per_second"], "policy.sellers": ["unknown"], "policy.providers": {"allow": ["modal"]},
    "policy.per_second": {"vcpus_per_gpu": 4.0, "ram_gib_per_gpu": 32.0},
}  # fmt: skip
"""Containers whose processors and memory are billed apart."""

STAGED = {
    "policy.gpus": {"allow": ["l4"]}, "policy.engines": ["vllm"], "policy.precisions": ["fp8"],
    "workloads[].slo": {"ttft_ms": 8000, "tpot_ms": 900},
}  # fmt: skip
"""Cards without a fast link between them, on which pipeline stages were measured."""

BREAKS: dict[tuple[str, str], Break] = {
    ("whole", "workloads[].input_tokens"): Break("chat-8b", 999),
    ("whole", "workloads[].output_tokens"): Break("chat-8b", 999),
    ("whole", "workloads[].request_classes[].input_tokens"): Break("shared-replicas", 201),
    ("whole", "workloads[].request_classes[].output_tokens"): Break("shared-replicas", 701),
    ("batches", "workloads[].deadline"): Break(
        "night-batch", {"requests": 300_000, "start": 22, "by": 6, "days": "weekdays"}
    ),
    ("service_levels", "workloads[].users_in"): Break("two-continents", ["japan"]),
    ("service_levels", "workloads[].network_ms"): Break("two-continents", {"*": 500.0}),
    ("cost", "policy.elastic.start_up_minutes"): Break("office-hours", 60),
    ("cost", "policy.elastic.minimum_billing_hours"): Break("office-hours", 12),
    ("layouts", "policy.elastic.repartition_minutes"): Break(
        "two-shifts", "never", {"policy.elastic.repartition_minutes": 0}
    ),
    ("cost", "policy.storage_gb_per_instance"): Break("eu-residency", 5000),
    ("cost", "policy.egress.bytes_per_output_token"): Break("token-scores", 1300),
    ("cost", "policy.egress.bytes_per_request"): Break("token-scores", 1e6),
    ("hosted", "workloads[].model"): Break("api-at-night", "llama-3.1-8b"),
    ("hosted", "workloads[].min_quality"): Break("api-at-night", 0.9),
    ("hosted", "workloads[].min_quality_worst"): Break("api-at-night", 0.9),
    ("hosted", "workloads[].unknown_quality"): Break("api-at-night", "reject", BY_API),
    ("hosted", "workloads[].providers"): Break("api-at-night", {"deny": ["deepinfra"]}),
    ("hosted", "workloads[].regions"): Break("api-at-night", {"allow": ["us-*"]}),
    ("hosted", "workloads[].countries"): Break("api-at-night", {"allow": ["us"]}),
    ("hosted", "policy.hosting"): Break("api-at-night", ["rented"]),
    ("hosted", "policy.providers"): Break("api-at-night", {"deny": ["deepinfra"]}),
    ("hosted", "policy.regions"): Break("api-at-night", {"allow": ["us-*"]}),
    ("hosted", "policy.countries"): Break("api-at-night", {"allow": ["us"]}),
    ("hosted", "policy.precisions"): Break("api-at-night", ["fp8", "fp4"]),
    ("hosted", "policy.kv_precisions"): Break("api-at-night", ["bf16"]),
    ("hosted", "policy.unmeasured_performance"): Break("api-at-night", "reject"),
    ("hosted", "policy.price_confidence"): Break("api-at-night", ["seed"]),
    ("hosted", "policy.max_price_age_days"): Break("api-at-night", 1),
    ("migration", "policy.migration.in_force"): Break("moving-day", 9, path="policy.migration.in_force[].replicas"),
    ("migration", "policy.migration.max_changes"): Break("moving-day", 0),
    ("migration", "policy.migration.usd_per_change"): Break("moving-day", 60),
    ("demand", "workloads[].requests_per_second"): Break("chat-8b", 500.0),
    ("demand", "workloads[].demand.hourly"): Break("office-hours", [1.0] * 24),
    ("demand", "workloads[].demand.weekend_factor"): Break("office-hours", 1.0),
    ("demand", "workloads[].demand.peak_requests_per_second"): Break("office-hours", 1000.0),
    ("demand", "workloads[].demand.weekly_requests_per_second"): Break("chat-8b", [40.0] * 168, STEADY),
    ("demand", "workloads[].request_classes[].share"): Break(
        "shared-replicas",
        [{"share": 0.5, "input_tokens": n, "output_tokens": m} for n, m in ((200, 700), (8000, 100))],
        path="workloads[].request_classes",
    ),
    **{
        ("service_levels", f"workloads[].request_classes[].lengths[].{field}"): Break(
            "shared-replicas", uneven, {"workloads[].request_classes": ALIKE}, "workloads[].request_classes"
        )
        for field, uneven in UNEVEN.items()
    },
    ("warm", "workloads[].min_replicas"): Break("office-hours", 3),
    ("warm", "workloads[].max_replicas"): Break("account-limits", 1),
    ("warm", "policy.elastic.start_up_minutes"): Break("two-shifts", 10_000, ASLEEP),
    ("utilization", "policy.max_utilization"): Break("chat-8b", 0.1),
    ("utilization", "policy.robust.demand"): Break("one-engine", 2.0),
    ("utilization", "policy.robust.throughput"): Break("one-engine", 0.4),
    ("utilization", "policy.mix_classes"): Break("shared-replicas", False, {"workloads[].requests_per_second": 8.0}),
    ("containers", "policy.per_second.idle_timeout_s"): Break("chat-8b", 1.0, BY_SECOND),
    ("containers", "policy.per_second.start_up_s"): Break("chat-8b", 1.0, BY_SECOND),
    ("containers", "policy.per_second.vcpus_per_gpu"): Break("chat-8b", None, BY_SECOND),
    ("containers", "policy.per_second.ram_gib_per_gpu"): Break("chat-8b", 1.0, BY_SECOND),
    ("service_levels", "workloads[].arrivals.cv2"): Break("chat-8b", 100.0, {"workloads[].arrivals": {"cv2": 1.0}}),
    ("service_levels", "policy.router"): Break(
        "chat-8b", "by_chance", {"policy.router": "in_turn", "workloads[].requests_per_second": 30.0}
    ),
    ("offers", "workloads[].speculation"): Break("chat-8b", (), {"workloads[].speculation": KEEPS_ALL}),
    ("offers", "workloads[].alternatives[].speculation"): Break(
        "chat-8b", (), {"workloads[].alternatives": [{"model": "llama-3.2-1b", "quality": 1, "speculation": KEEPS_ALL}]}
    ),
    ("service_levels", "workloads[].cached_input_share"): Break("chat-8b", 0, {"workloads[].cached_input_share": 0.5}),
    ("service_levels", "workloads[].slo.ttft_ms"): Break("chat-8b", {"p95": 1.0}),
    ("service_levels", "workloads[].slo.tpot_ms"): Break("chat-8b", {"mean": 0.01}),
    ("service_levels", "workloads[].slo.e2e_ms"): Break("chat-8b", {"p99": 1.0}),
    ("service_levels", "workloads[].slo.ttft_overhead_ms"): Break("chat-8b", 1e5),
    ("service_levels", "policy.confidence"): Break("chat-8b", 0.999),
    ("service_levels", "policy.spot.interruptions_per_month"): Break("spot-summaries", 600),
    ("service_levels", "policy.spot.recovery_minutes"): Break("spot-summaries", 600),
    ("quality", "workloads[].model"): Break("chat-8b", "llama-3.1-70b"),
    ("quality", "workloads[].alternatives[].model"): Break("model-choice", "qwen2.5-72b"),
    ("quality", "workloads[].alternatives[].quality"): Break("model-choice", 0.5),
    ("quality", "workloads[].min_quality"): Break("chat-8b", 1.0),
    ("quality", "workloads[].min_quality_worst"): Break("chat-8b", 0.99),
    ("quality", "workloads[].unknown_quality"): Break("eu-residency", "reject"),
    ("offers", "workloads[].providers"): Break("eu-residency", {"deny": ["gcp"]}),
    ("offers", "workloads[].regions"): Break("eu-residency", {"deny": ["europe-*"]}),
    ("offers", "workloads[].countries"): Break("eu-residency", {"allow": ["ca"]}),
    ("offers", "policy.providers"): Break("chat-8b", NOBODY),
    ("offers", "policy.regions"): Break("chat-8b", NOWHERE),
    ("offers", "policy.countries"): Break("office-hours", {"deny": ["us"]}),
    ("offers", "policy.gpus"): Break("chat-8b", NOBODY),
    ("offers", "policy.hosting"): Break("own-rack", ["rented"]),
    ("offers", "policy.sellers"): Break("chat-8b", ["reseller"]),
    ("offers", "policy.consumer_gpus"): Break("one-engine", False, {"policy.robust": {}}),
    ("offers", "policy.provider_kinds"): Break("chat-8b", ["marketplace"]),
    ("offers", "policy.pricing_terms"): Break("office-hours", ["on_demand"]),
    ("offers", "policy.price_confidence"): Break("chat-8b", ["seed"]),
    ("offers", "policy.max_price_age_days"): Break("chat-8b", 1),
    ("offers", "policy.engines"): Break("chat-8b", ["no-such-engine"]),
    ("offers", "policy.precisions"): Break("chat-8b", ["fp4"]),
    ("offers", "policy.kv_precisions"): Break("chat-8b", ["fp4"]),
    ("offers", "policy.max_tensor_parallel"): Break("deepseek-v3", 1),
    ("offers", "policy.max_pipeline_parallel"): Break("chat-70b", 1, STAGED),
    ("offers", "policy.unmeasured_performance"): Break("account-limits", "reject"),
    ("totals", "policy.max_monthly_usd"): Break("chat-8b", 1.0),
    ("totals", "policy.robust.price"): Break("one-engine", 1.5),
    ("totals", "policy.max_gpus"): Break("chat-8b", 0),
    ("totals", "policy.quotas[].provider"): Break(
        "chat-8b", "*", {"policy.quotas": [{"provider": "nobody", "max_gpus": 0}]}
    ),
    ("totals", "policy.quotas[].region"): Break(
        "chat-8b", "*", {"policy.quotas": [{"region": "nowhere", "max_gpus": 0}]}
    ),
    ("totals", "policy.quotas[].gpu"): Break("chat-8b", "*", {"policy.quotas": [{"gpu": "none", "max_gpus": 0}]}),
    ("totals", "policy.quotas[].max_gpus"): Break("chat-8b", 0, {"policy.quotas": [{"max_gpus": 100}]}),
    ("totals", "policy.max_distinct_configurations"): Break("account-limits", 1),
    ("totals", "policy.max_engines"): Break("one-engine", 1, {"policy.max_engines": None}),
    ("totals", "policy.max_power_kw"): Break("chat-8b", 0.01),
    ("totals", "policy.max_carbon_kg_per_month"): Break("eu-residency", 10.0),
    ("totals", "policy.grid.g_co2_per_kwh"): Break("eu-residency", {"mars": 1.0}),
    ("totals", "policy.grid.pue"): Break("eu-residency", 5.0),
    ("spread", "policy.min_providers"): Break("three-clouds", 4),
    ("spread", "policy.min_regions"): Break("three-clouds", 4),
    ("spread", "policy.max_provider_share"): Break("three-clouds", 0.35),
    ("spread", "policy.max_spot_share"): Break("spot-summaries", 0.1),
    ("placement", "policy.availability"): Break("chat-8b", "instance"),
    ("placement", "policy.survive.loss_of"): Break("chat-8b", ["instance"]),
    ("placement", "policy.spare_on_other_instances"): Break("chat-8b", True),
    ("placement", "policy.robust.demand"): Break("own-rack", 3.0),
    ("placement", "policy.robust.throughput"): Break("own-rack", 0.3),
    ("losses", "policy.spare_replicas"): Break("chat-8b", 50),
    ("losses", "policy.availability"): Break("chat-8b", "region"),
    ("losses", "policy.survive.loss_of"): Break("chat-8b", ["region"]),
    ("losses", "policy.robust.demand"): Break("three-clouds", 2.0),
    ("losses", "policy.robust.throughput"): Break("three-clouds", 0.5),
}
"""By check and field that it covers."""

Planned = Callable[[str, str], tuple[Inquiry, PlannedFleet]]


@pytest.fixture(scope="module")
def planned(asked: Callable[[str], Inquiry], fleet: Callable[[str], PlannedFleet]) -> Planned:
    """A shipped scenario with other fields given as JSON, and its plan, which keeps them all."""

    def plan(name: str, given: str) -> tuple[Inquiry, PlannedFleet]:
        if given == "{}":
            inquiry, found = asked(name), fleet(name)
        else:
            inquiry = Inquiry.of(changed(asked(name).scenario, json.loads(given)), asked(name).catalogs)
            found = proven(inquiry)
        assert failed(inquiry, inquiry.scenario, found) == set()
        return inquiry, found

    return lru_cache(maxsize=None)(plan)


def changed(scenario: Scenario, changes: Changes) -> Scenario:
    """The scenario with fields set, of the first item of every list, as if it had been written so."""
    content = scenario.model_dump()
    for path, value in changes.items():
        *steps, last = path.split(".")
        record = content
        for step in steps:
            record = record[step.removesuffix("[]")]
            record = record[0] if step.endswith("[]") else record
        record[last] = value
    return Scenario.model_validate(content)


def leaves(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Every field of a record and of those inside it, `[]` standing for each item of a list."""
    for name, field in model.model_fields.items():
        inner, many = record_in(field.annotation)
        if inner is None or issubclass(inner, VALUES):
            yield path + name
        else:
            yield from leaves(inner, f"{path}{name}{'[]' if many else ''}.")


def record_in(annotation: Any, many: bool = False) -> tuple[type[BaseModel] | None, bool]:
    """The record type inside an annotation, and whether there is a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, many
    parts = typing.get_args(annotation)
    found = (record_in(part, many or typing.get_origin(annotation) is tuple) for part in parts)
    return next((pair for pair in found if pair[0]), (None, many))


def failed(inquiry: Inquiry, scenario: Scenario, fleet: PlannedFleet) -> set[str]:
    return {check.name for check in verify(scenario, inquiry.catalogs, fleet).checks if not check.passed}


def test_every_field_is_covered_or_says_why_not() -> None:
    assert sorted([*COVERED, *NOT_COVERED]) == sorted(leaves(Scenario))


def test_every_covered_field_has_a_value_that_breaks_a_plan() -> None:
    assert set(BREAKS) == {(name, field) for name, rule in CHECKS.items() for field in rule.covers}


@pytest.mark.parametrize(("check", "field"), BREAKS)
def test_another_value_of_just_that_field_is_rejected_by_that_check(check: str, field: str, planned: Planned) -> None:
    broken = BREAKS[check, field]
    inquiry, plan = planned(broken.scenario, json.dumps(dict(broken.given)))
    stricter = changed(inquiry.scenario, {broken.path or field: broken.value})
    assert check in failed(inquiry, stricter, plan)
