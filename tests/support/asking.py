"""For each field of a scenario that asks something: an edit that asks it, written without a look at the registry."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, get_args

from pydantic import BaseModel

from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Scenario

CHAT: Final[Mapping[str, Any]] = {
    "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 14, "input_tokens": 700, "output_tokens": 200,
    "slo": {"ttft_ms": 4000, "tpot_ms": 80},
}  # fmt: skip
WEEK: Final = {"hourly": [1.0] * 8 + [9.0] * 3 + [6.0] * 3 + [9.0] * 4 + [1.0] * 6, "peak_requests_per_second": 24}
LATER: Final = CHAT | {"requests_per_second": None, "demand": WEEK}
MIXED: Final = CHAT | {
    "input_tokens": None, "output_tokens": None,
    "slo": {"ttft_ms": 1500, "tpot_ms": 40},
    "request_classes": [
        {"share": 0.6, "input_tokens": 400, "output_tokens": 400},
        {"share": 0.4, "input_tokens": 6000, "output_tokens": 200},
    ],
}  # fmt: skip
LONG: Final = CHAT | {"name": "long", "requests_per_second": 2, "input_tokens": 6000, "output_tokens": 60}
LARGE: Final = CHAT | {"name": "large", "model": "deepseek-v3", "requests_per_second": 1, "unknown_quality": "accept"}
DENSE: Final = CHAT | {
    "model": "llama-3.3-70b", "requests_per_second": 0.5, "unknown_quality": "accept",
    "slo": {"ttft_ms": 8000, "tpot_ms": 900},
}  # fmt: skip
"""On cards without a fast link between them, stages that were measured serve it for less than splitting its layers."""
SWIFT: Final = CHAT | {"slo": {"ttft_ms": 4000, "tpot_ms": 9}, "providers": {"deny": ["azure"]}}
SPREAD: Final = CHAT | {"requests_per_second": 3}
BY_DAY: Final = CHAT | {
    "name": "day", "requests_per_second": None,
    "demand": {"hourly": [0.0] * 8 + [1.0] * 12 + [0.0] * 4, "peak_requests_per_second": 200},
    "slo": {"tpot_ms": 40},
}  # fmt: skip
BY_NIGHT: Final = BY_DAY | {
    "name": "night", "model": "llama-3.3-70b", "unknown_quality": "accept",
    "demand": {"hourly": [1.0] * 8 + [0.0] * 12 + [1.0] * 4, "peak_requests_per_second": 10},
}  # fmt: skip
COMMITTED: Final = {
    "pricing_terms": ["reserved_1y", "reserved_3y", "committed"], "gpus": {"allow": ["h100-sxm"]}, "engines": ["vllm"],
}  # fmt: skip
"""One model answers by day and one by night, on machines that are paid all month."""
RUNNING: Final = {
    "workload": "chat", "model": "llama-3.1-8b", "provider": "aws", "region": "us-west-2",
    "instance_type": "g6e.xlarge", "gpu": "l40s", "gpus_per_instance": 1, "pricing_term": "on_demand",
    "engine": "vllm", "precision": "fp8", "kv_precision": "bf16", "tensor_parallel": 1, "pipeline_parallel": 1,
    "replicas": 4,
}  # fmt: skip
GRID: Final = {"g_co2_per_kwh": {"us-east-1": 350, "us-west-2": 90, "*": 300}, "pue": 1.2}
BIG_CARD: Final = ("mi300x", "azure", "eastus2")
"""Serves a large model for less than others do, and another engine is best on it."""
GAMING_CARD: Final = ("rtx4090", "runpod", "global")
"""Cheaper than the others where the policy rents it."""
ONE_OF_EACH: Final = (BIG_CARD, GAMING_CARD)
EVERY_TERM: Final = ["on_demand", "spot", "reserved_1y"]


class Edit(BaseModel):
    """A scenario that does not ask something, and what asking for it adds.

    Attributes:
        workloads, policy: Of the scenario that does not ask it.
        own, rule: What the first workload, or the policy, says where it is asked.
        lever: Whether a number is moved by it.
        explained: Whether the plan measures it.
    """

    workloads: list[dict[str, Any]] = [dict(CHAT)]
    policy: dict[str, Any] = {}
    own: dict[str, Any] = {}
    rule: dict[str, Any] = {}
    lever: bool = False
    explained: bool = False

    def without(self) -> Scenario:
        """The scenario that does not ask it."""
        return Scenario.model_validate({"name": "asking", "workloads": self.workloads, "policy": self.policy})

    def asking(self, **rules: Any) -> Scenario:
        """The scenario that asks it."""
        first, *others = self.workloads
        workloads, policy = [first | self.own, *others], self.policy | self.rule | rules
        return Scenario.model_validate({"name": "asking", "workloads": workloads, "policy": policy})


def number(**said: Any) -> Edit:
    """An edit whose number the plan measures and a lever moves."""
    return Edit(**said, lever=True, explained=True)


ASKING: Final[Mapping[str, Edit]] = {
    "workloads[].requests_per_second": number(own={"requests_per_second": 30}),
    "workloads[].demand": number(workloads=[LATER], own={"demand": WEEK | {"peak_requests_per_second": 40}}),
    "workloads[].slo.ttft_ms": number(own={"slo": {"ttft_ms": 90, "tpot_ms": 80}}),
    "workloads[].slo.tpot_ms": number(own={"slo": {"ttft_ms": 4000, "tpot_ms": 9}}),
    "workloads[].slo.e2e_ms": number(own={"slo": {"ttft_ms": 4000, "tpot_ms": 80, "e2e_ms": 1800}}),
    "workloads[].min_quality": number(own={"min_quality": 0.9999}),
    "workloads[].min_quality_worst": number(own={"min_quality_worst": 0.9999}),
    "workloads[].unknown_quality": Edit(
        workloads=[CHAT | {"model": "gemma-2-27b", "min_quality": 0.5, "unknown_quality": "accept"}],
        own={"unknown_quality": "reject"},
    ),
    "workloads[].min_replicas": number(own={"min_replicas": 9}),
    "workloads[].max_replicas": number(own={"max_replicas": 1}),
    "workloads[].providers": Edit(own={"providers": {"allow": ["gcp"]}}),
    "workloads[].regions": Edit(own={"regions": {"allow": ["us-central1"]}}),
    "workloads[].countries": Edit(own={"countries": {"allow": ["de"]}}),
    "policy.providers": Edit(rule={"providers": {"allow": ["gcp"]}}),
    "policy.gpus": Edit(rule={"gpus": {"allow": ["h100-sxm"]}}),
    "policy.regions": Edit(rule={"regions": {"allow": ["us-central1"]}}),
    "policy.countries": Edit(rule={"countries": {"allow": ["de"]}}),
    "policy.sellers": Edit(rule={"sellers": ["hyperscaler"]}),
    "policy.consumer_gpus": Edit(policy={"consumer_gpus": True}, rule={"consumer_gpus": False}),
    "policy.provider_kinds": Edit(rule={"provider_kinds": ["hyperscaler"]}),
    "policy.hosting": Edit(rule={"hosting": ["owned"]}),
    "policy.pricing_terms": Edit(policy={"pricing_terms": EVERY_TERM}, rule={"pricing_terms": ["on_demand"]}),
    "policy.price_confidence": Edit(rule={"price_confidence": ["derived"]}),
    "policy.max_price_age_days": Edit(rule={"max_price_age_days": 1}, explained=True),
    "policy.engines": Edit(workloads=[LARGE], rule={"engines": ["tensorrt-llm"]}),
    "policy.precisions": Edit(rule={"precisions": ["bf16"]}),
    "policy.kv_precisions": Edit(policy={"precisions": ["bf16"]}, rule={"kv_precisions": ["fp8"]}),
    "policy.max_tensor_parallel": number(workloads=[LARGE], rule={"max_tensor_parallel": 2}),
    "policy.max_pipeline_parallel": number(
        workloads=[DENSE], policy={"gpus": {"allow": ["l4"]}, "precisions": ["fp8"], "engines": ["vllm"]},
        rule={"max_pipeline_parallel": 1},
    ),
    "policy.unmeasured_performance": Edit(
        policy={"precisions": ["int8"]}, rule={"unmeasured_performance": "reject"}
    ),
    "policy.max_monthly_usd": number(rule={"max_monthly_usd": 300}),
    "policy.max_gpus": number(rule={"max_gpus": 1}),
    "policy.max_distinct_configurations": number(workloads=[CHAT, LONG], rule={"max_distinct_configurations": 1}),
    "policy.max_engines": number(
        workloads=[SWIFT, LARGE], policy={"engines": ["sglang", "tensorrt-llm"]}, rule={"max_engines": 1}
    ),
    "policy.spare_replicas": number(rule={"spare_replicas": 2}),
    "policy.spare_on_other_instances": Edit(rule={"spare_on_other_instances": True}),
    "policy.survive": Edit(rule={"survive": {"loss_of": ["provider"]}}, explained=True),
    "policy.availability": Edit(rule={"availability": "provider"}, explained=True),
    "policy.min_providers": number(workloads=[SPREAD], rule={"min_providers": 2}),
    "policy.min_regions": number(workloads=[SPREAD], rule={"min_regions": 2}),
    "policy.max_provider_share": number(rule={"max_provider_share": 0.5}),
    "policy.max_spot_share": number(policy={"pricing_terms": EVERY_TERM}, rule={"max_spot_share": 0.2}),
    "policy.quotas": number(rule={"quotas": [{"provider": "verda", "max_gpus": 0}]}),
    "policy.mix_classes": Edit(
        workloads=[MIXED | {"requests_per_second": 14, "slo": {"ttft_ms": 1100, "tpot_ms": 40}}],
        policy={"precisions": ["bf16"]},
        rule={"mix_classes": False},
    ),
    "policy.max_utilization": number(rule={"max_utilization": 0.3}),
    "policy.confidence": Edit(policy={"confidence": 0.5}, rule={"confidence": 0.99}, lever=True),
    "policy.robust": Edit(rule={"robust": {"demand": 2.0}}, explained=True),
    "policy.max_power_kw": number(rule={"max_power_kw": 0.4}),
    "policy.max_carbon_kg_per_month": number(policy={"grid": GRID}, rule={"max_carbon_kg_per_month": 60}),
    "policy.storage_gb_per_instance": Edit(rule={"storage_gb_per_instance": 4000}),
    "policy.egress": Edit(rule={"egress": {"bytes_per_output_token": 300}}),
    "policy.elastic.start_up_minutes": Edit(
        workloads=[LATER], policy={"elastic": {"start_up_minutes": 0}}, rule={"elastic": {"start_up_minutes": 300}}
    ),
    "policy.elastic.minimum_billing_hours": Edit(
        workloads=[LATER | {"demand": WEEK | {"peak_requests_per_second": 22}}],
        policy={"elastic": {"start_up_minutes": 0}},
        rule={"elastic": {"start_up_minutes": 0, "minimum_billing_hours": 12}},
    ),
    "policy.elastic.repartition_minutes": Edit(
        workloads=[dict(BY_DAY), dict(BY_NIGHT)], policy=COMMITTED | {"elastic": {"repartition_minutes": 0}},
        rule={"elastic": {"repartition_minutes": "never"}},
    ),
    "policy.migration.max_changes": number(
        policy={"migration": {"in_force": [RUNNING]}}, rule={"migration": {"in_force": [RUNNING], "max_changes": 1}}
    ),
    "policy.migration.usd_per_change": Edit(
        policy={"migration": {"in_force": [RUNNING]}},
        rule={"migration": {"in_force": [RUNNING], "usd_per_change": 900}},
    ),
}  # fmt: skip
"""By the schema's path."""

ASKS_NOTHING: Final = frozenset(
    {
        "name", "description", "lifecycle", "risk", "workloads[].name", "workloads[].model",
        "workloads[].alternatives",
        "workloads[].input_tokens", "workloads[].output_tokens", "workloads[].request_classes", "workloads[].trace",
        "workloads[].lengths",
        "workloads[].users", "workloads[].requests_per_user_hour", "workloads[].tokens_per_day",
        "workloads[].deadline", "workloads[].stated_as", "workloads[].arrivals",
        "workloads[].cached_input_share", "workloads[].reasoning", "workloads[].lora_adapters",
        "workloads[].speculation",
        "workloads[].users_in", "workloads[].network_ms",
        "workloads[].slo.ttft_overhead_ms", "policy.flag_price_age_days",
        "policy.grid", "policy.router", "policy.spot", "policy.elastic.max_periods", "policy.migration.from_plan",
        "policy.migration.in_force", "policy.simplicity_percent",
        "policy.simplicity_usd_per_configuration", "policy.per_second",
    }
)  # fmt: skip
"""The schema's other fields, as they stand here and again, with reasons, beside the registry."""

WITHIN: Final = ("workloads", "policy", "slo", "elastic", "migration")
"""Records whose fields are looked at one by one; any other is asked for as a whole."""


def schema_paths(record: type[BaseModel] = Scenario, path: str = "") -> Iterator[str]:
    """Every field of the scenario's schema, elements of lists as `[]`."""
    for name, info in record.model_fields.items():
        kinds = [info.annotation, *get_args(info.annotation)]
        inner = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if name in WITHIN and inner:
            yield from schema_paths(inner[0], f"{path}{name}{'[]' if name == 'workloads' else ''}.")
        else:
            yield path + name


def few_offers(catalogs: Catalogs) -> Catalogs:
    """Some cards at two clouds and a smaller seller: enough for every requirement to make a difference."""
    cards = ("l4", "l40s", "a100-40-sxm", "h100-sxm")
    clouds = {("aws", "us-east-1"), ("aws", "us-west-2"), ("gcp", "us-central1"), ("gcp", "europe-west3")}

    def is_kept(offer: Offer) -> bool:
        place = (offer.provider, offer.region)
        return (offer.gpu in cards and place in {*clouds, ("verda", "global")}) or (offer.gpu, *place) in ONE_OF_EACH

    return replace(catalogs, offers=tuple(offer for offer in catalogs.offers if is_kept(offer)))
