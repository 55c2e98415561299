"""Every test that a candidate must pass, once: its name, its sentence and the requirement that it serves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from optimizer.inputs.requirements.registry import BY_NAME


@dataclass(frozen=True)
class Criterion:
    """One test of a candidate.

    Attributes:
        name: Short name, the key in counts of rejected candidates.
        sentence: What passing means.
        requirement: Name of what the scenario asks by it; empty when nothing in a scenario can loosen it (physics,
            kernels, arithmetic).
        level: Whether it judges a configuration (engine, precision, parallelism on a GPU), an offer or a hosted API.
        unit: Unit of the value and the limit where the test compares two numbers.
        predicted: Whether it is judged on predictions, so that service levels and confidence decide it.
    """

    name: str
    sentence: str
    requirement: str
    level: Literal["configuration", "offer", "api"]
    unit: str = ""
    predicted: bool = False

    def field(self, workload: str) -> str:
        """Path of the scenario field that loosens it; empty where none does."""
        return BY_NAME[self.requirement].path(workload) if self.requirement else ""


CONFIGURATION_CRITERIA: Final = (
    Criterion("gpu_policy", "the GPU is allowed", "gpus", "configuration"),
    Criterion("engine_policy", "the engine is allowed", "engines", "configuration"),
    Criterion("precision_policy", "the precision is allowed", "precisions", "configuration"),
    Criterion("kv_precision_policy", "the KV-cache precision is allowed", "kv_precisions", "configuration"),
    Criterion(
        "tensor_parallel_policy",
        "each layer is split over no more GPUs than allowed",
        "max_tensor_parallel",
        "configuration",
    ),
    Criterion(
        "pipeline_parallel_policy",
        "the layers are split into no more pipeline stages than allowed",
        "max_pipeline_parallel",
        "configuration",
    ),
    Criterion("engine_support", "the engine runs on this GPU with this precision", "", "configuration"),
    Criterion("draft_support", "the engine runs the draft", "", "configuration"),
    Criterion("engine_calibrated", "the engine's constants are known for this GPU", "", "configuration"),
    Criterion(
        "measured",
        "somebody measured its like, or an estimate is accepted",
        "unmeasured_performance",
        "configuration",
    ),
    Criterion("kernel_support", "the GPU has kernels for the precision", "", "configuration"),
    Criterion("kv_kernel_support", "the GPU computes in the KV cache's precision", "", "configuration"),
    Criterion("peak_known", "the catalog states the GPU's peak for the precision", "", "configuration"),
    Criterion("link_known", "the link between the GPUs is known", "", "configuration"),
    Criterion("divisibility", "attention heads and layers divide over the GPUs as engines do it", "", "configuration"),
    Criterion(
        "pipeline", "pipeline stages were measured, or fewer of them do not fit the same GPUs", "", "configuration"
    ),
    Criterion("context", "prompt and answer fit the model's context", "", "configuration", "tokens"),
    Criterion("quality", "the precision keeps the quality floor", "min_quality", "configuration"),
    Criterion(
        "quality_worst",
        "the precision keeps the floor on its worst benchmark",
        "min_quality_worst",
        "configuration",
    ),
    Criterion(
        "published",
        "somebody published what the precision keeps of the quality, or that is accepted",
        "unknown_quality",
        "configuration",
    ),
    Criterion("memory", "weights and one request's KV cache fit the GPU memory", "", "configuration", "GiB"),
    Criterion(
        "ttft",
        "the first token arrives in time on an almost idle replica",
        "ttft_ms",
        "configuration",
        "ms",
        predicted=True,
    ),
    Criterion(
        "tpot", "tokens follow fast enough on an almost idle replica", "tpot_ms", "configuration", "ms", predicted=True
    ),
    Criterion(
        "e2e",
        "the answer is complete in time on an almost idle replica",
        "e2e_ms",
        "configuration",
        "ms",
        predicted=True,
    ),
    Criterion("load", "the limits hold at some sustainable load", "", "configuration", predicted=True),
)

OFFER_CRITERIA: Final = (
    Criterion("provider", "the provider is allowed", "providers", "offer"),
    Criterion("region", "the region is allowed", "regions", "offer"),
    Criterion("country", "the country is allowed", "countries", "offer"),
    Criterion("country_known", "the country is known where countries are limited", "countries", "offer"),
    Criterion("hosting", "hardware of this ownership is allowed", "hosting", "offer"),
    Criterion(
        "provider_kind",
        "the provider rents machines, or containers where they are asked for",
        "provider_kinds",
        "offer",
    ),
    Criterion("seller", "one would sign with a seller of this kind", "sellers", "offer"),
    Criterion("serves_others", "the seller's terms do not forbid serving others", "", "offer"),
    Criterion("whole_gpu", "a GPU is not shared with other customers where a latency is promised", "", "offer"),
    Criterion(
        "consumer_gpu", "the card may stand in a data centre, or gaming cards are allowed", "consumer_gpus", "offer"
    ),
    Criterion("price_of_instance", "the price is of a whole instance, not of its GPUs alone", "", "offer"),
    Criterion("pricing_term", "the pricing term is allowed", "pricing_terms", "offer"),
    Criterion("price_confidence", "the price comes from a price list", "price_confidence", "offer"),
    Criterion("price_age", "the price is recent enough", "max_price_age_days", "offer", "days"),
    Criterion("power_known", "the power draw is known where power is limited", "max_power_kw", "offer"),
    Criterion(
        "carbon_known",
        "power draw and grid are known where carbon is limited",
        "max_carbon_kg_per_month",
        "offer",
    ),
    Criterion(
        "storage_priced",
        "the provider's storage price is known where storage is asked for",
        "storage_gb_per_instance",
        "offer",
    ),
    Criterion(
        "egress_priced",
        "the provider's price for data sent out is known where egress is asked for",
        "egress",
        "offer",
    ),
)

API_CRITERIA: Final = (
    Criterion("api_hosting", "hosted APIs are asked for", "hosting", "api"),
    Criterion("api_provider", "the API's provider is allowed", "providers", "api"),
    Criterion("api_place", "no place is asked for: where an API runs is not known", "regions", "api"),
    Criterion("api_price_confidence", "the API's price comes from a price list", "price_confidence", "api"),
    Criterion("api_price_age", "the API's price is recent enough", "max_price_age_days", "api", "days"),
    Criterion("api_price_complete", "prompts and answers both have a price above zero", "", "api"),
    Criterion("api_context", "the prompt fits what the API takes", "", "api", "tokens"),
    Criterion("api_weights", "the API serves these weights and not what they were tuned from", "", "api"),
    Criterion(
        "api_quality",
        "no quality floor is asked for: the precision of an API is not published",
        "min_quality",
        "api",
    ),
    Criterion(
        "api_quality_worst",
        "no floor on the worst benchmark is asked for: the precision of an API is not published",
        "min_quality_worst",
        "api",
    ),
    Criterion(
        "api_published",
        "a quality that nobody published is not refused: that of an API is not",
        "unknown_quality",
        "api",
    ),
    Criterion(
        "api_measured",
        "an API whose latency nobody measured here is accepted",
        "unmeasured_performance",
        "api",
    ),
    Criterion("api_precision", "no precision is asked for: that of an API is not published", "precisions", "api"),
    Criterion("api_carbon", "carbon is not limited: an API's is not known", "max_carbon_kg_per_month", "api"),
)

KNOWN_ANYWAY: Final = frozenset({"measured", "published"})
"""Criteria of configurations that leave nothing about them unknown but what nobody published: rates are predicted."""

CRITERIA: Final[Mapping[str, Criterion]] = {
    item.name: item for item in (*CONFIGURATION_CRITERIA, *OFFER_CRITERIA, *API_CRITERIA)
}
