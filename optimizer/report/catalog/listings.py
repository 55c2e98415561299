"""Which catalogs can be listed: what a row of each is, and the columns of its table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from optimizer.base.figures import figure
from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.report.layout.amounts import rounded
from optimizer.report.layout.columns import Cell


@dataclass(frozen=True)
class Listing:
    """One catalog as it is listed.

    Attributes:
        about: What a row is.
        rows: Where the rows are.
        columns: What a table of them shows.
        names: The fields that a filter looks at.
    """

    about: str
    rows: Callable[[Catalogs], Sequence[Strict]]
    columns: Mapping[str, Cell]
    names: tuple[str, ...]


def _offers(catalogs: Catalogs) -> list[Offer]:
    return sorted(catalogs.offers, key=lambda offer: (offer.gpu, offer.price_usd_per_hour / offer.gpu_count, offer.id))


def _term(offer: Offer) -> str:
    term = offer.pricing_term.replace("_", " ")
    return f"{term} {offer.commitment_months} months" if term == "committed" and offer.commitment_months else term


LISTINGS: Final[Mapping[str, Listing]] = {
    "gpus": Listing(
        "an accelerator: usable memory, dense peaks, one-directional links",
        lambda known: tuple(known.gpus.values()),
        {
            "gpu": "{id}",
            "architecture": "{architecture}",
            ">GiB usable": lambda gpu: f"{gpu.usable_memory_mib / 1024:.1f}",
            ">GB/s memory": "{memory_bandwidth_gb_per_s:rounded}",
            ">BF16 TFLOPS": "{bf16_tflops:rounded}",
            ">FP8": "{fp8_tflops:rounded}",
            ">FP4": "{fp4_tflops:rounded}",
            "link, GB/s": "{link} {link_gb_per_s:rounded}",
            ">joins": "{link_domain_gpus:,}",
            ">W": "{tdp_w:rounded}",
        },
        ("id", "vendor", "architecture", "name"),
    ),
    "offers": Listing(
        "an instance one can buy, with the price of the whole instance",
        _offers,
        {
            "provider": "{provider}",
            "region": "{region}",
            "instance": "{instance_type}",
            "GPUs": "{gpu_count}× {gpu}",
            "term": _term,
            ">$/h": "{price_usd_per_hour:price}",
            ">$/GPU-h": lambda offer: f"{offer.price_usd_per_hour / offer.gpu_count:.2f}",
            "as of": "{as_of}",
            "price": "{confidence}",
        },
        ("id", "provider", "provider_kind", "region", "instance_type", "gpu", "pricing_term", "confidence"),
    ),
    "sellers": Listing(
        "whom one would sign with: what kind of seller a provider is, and what it says of itself",
        lambda known: tuple(known.terms.sellers.values()),
        {
            "provider": lambda row: f"{row.provider} {row.provider_kind}".rstrip(),
            "seller": "{kind}",
            "whole GPUs": "{whole_gpu}",
            "may serve others": "{serves_others}",
            "SLA": "{sla}",
            "billed by": "{billing_increment}",
            "at least": "{minimum_commitment}",
            "as of": "{as_of}",
        },
        ("provider", "kind", "whole_gpu"),
    ),
    "regions": Listing(
        "where a provider's region stands, as far as its name or documentation tells",
        lambda known: tuple(known.terms.regions.values()),
        {
            "provider": "{provider}",
            "region": "{region}",
            "country": "{country}",
            "zones": "{zones:list}",
            "as of": "{as_of}",
            "note": "{note}",
        },
        ("provider", "region", "country"),
    ),
    "round-trips": Listing(
        "the network between where users are and a provider's region",
        lambda known: tuple(known.terms.round_trips.values()),
        {
            "users in": "{geography}",
            "provider": "{provider}",
            "region": "{region}",
            ">round trip": "{rtt_ms:number} ms",
            "statistic": "{statistic}",
            "status": "{status}",
            "as of": "{as_of}",
        },
        ("geography", "provider", "region", "status"),
    ),
    "grid": Listing(
        "what a kilowatt-hour emits where a provider's region stands",
        lambda known: tuple(known.terms.grid.values()),
        {
            "provider": "{provider}",
            "region": "{region}",
            ">g CO₂/kWh": "{g_co2_per_kwh:rounded}",
            ">year": "{year}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "region"),
    ),
    "price_checks": Listing(
        "what another source says that a GPU costs at a provider",
        lambda known: known.terms.price_checks,
        {
            "provider": "{provider}",
            "GPUs": "{gpu_count}× {gpu}",
            "term": "{pricing_term:words}",
            ">$/GPU-h": "{usd_per_gpu_hour:price}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "gpu", "pricing_term"),
    ),
    "price_trends": Listing(
        "what a GPU cost at a provider on two days",
        lambda known: known.terms.price_trends,
        {
            "provider": "{provider}",
            "GPU": "{gpu}",
            "variant": "{variant}",
            "term": "{pricing_term:words}",
            "from": "{first_as_of}",
            ">was": "{first_usd_per_gpu_hour:price}",
            "to": "{as_of}",
            ">$/GPU-h": "{usd_per_gpu_hour:price}",
            ">% a year": "{percent_per_year:.1f}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "gpu", "pricing_term"),
    ),
    "serverless_checks": Listing(
        "what another source says that a hosted API costs",
        lambda known: known.terms.serverless_checks,
        {
            "provider": "{provider}",
            "API": "{provider_model_name}",
            ">$/M in": "{usd_per_million_input_tokens:unit_price}",
            ">$/M out": "{usd_per_million_output_tokens:unit_price}",
            "as of": "{as_of}",
            "source": "{source}",
            "note": "{note}",
        },
        ("provider", "provider_model_name"),
    ),
    "thinking": Listing(
        "how much longer a model's answers are with its thinking",
        lambda known: tuple(known.thinking.values()),
        {
            "model": "{model}",
            ">with thinking": "{output_tokens_thinking:number} tokens",
            ">without": "{output_tokens_plain:number} tokens",
            ">times": "{factor:.3g}",
            "asked": "{prompts}",
            "as of": "{as_of}",
        },
        ("model",),
    ),
    "models": Listing(
        "a model architecture, from which memory, compute and traffic follow",
        lambda known: tuple(known.models.values()),
        {
            "model": "{id}",
            "published as": "{hf_id}",
            ">B params": "{total_params_b:rounded}",
            ">B active": "{active_params_b:rounded}",
            "attention": "{attention}",
            ">KV KiB/token": lambda model: rounded(model.kv_bytes_per_token_bf16 / 1024),
            ">context": "{max_context_tokens:,}",
            "native": "{native_precision}",
        },
        ("id", "hf_id", "attention", "native_precision"),
    ),
    "aliases": Listing(
        "a published name of a model in the catalog: a re-upload, a fine-tune or a quantized checkpoint",
        lambda known: tuple(known.aliases.values()),
        {
            "published as": "{hf_id}",
            "is": "{model}",
            "relation": "{relation}",
            "weights": "{weight_precision}",
            ">context": "{max_context_tokens:rounded}",
        },
        ("hf_id", "model", "relation"),
    ),
    "precisions": Listing(
        "a way to store and multiply weights and activations",
        lambda known: tuple(known.schemes.values()),
        {
            "precision": "{id}",
            ">weight bits": "{weight_bits:rounded}",
            ">activation bits": "{activation_bits:rounded}",
            "multiplied in": "{compute}",
            "quantized": "{quantized_part:words}",
            "note": "{note}",
        },
        ("id",),
    ),
    "kernels": Listing(
        "whether an architecture multiplies a precision natively, only unpacks it, or refuses it",
        lambda known: tuple(known.kernel_support.values()),
        {
            "precision": "{scheme}",
            "architecture": "{architecture}",
            "support": "{support:words}",
            "note": "{note}",
        },
        ("scheme", "architecture", "support"),
    ),
    "quality": Listing(
        "a published benchmark of a quantized model as a share of its 16-bit score",
        lambda known: known.quality,
        {
            "model": "{model}",
            "precision": "{scheme}",
            "benchmark": "{benchmark}",
            "kind": "{benchmark_kind}",
            ">kept": "{recovery_share:.1%}",
            ">worst": lambda row: "" if row.worst_recovery_share is None else f"{row.worst_recovery_share:.1%}",
            "on": "{worst_benchmark}",
            "tool": "{tool}",
        },
        ("model", "scheme", "benchmark", "benchmark_kind"),
    ),
    "quality-spreads": Listing(
        "how much models of one size keep of their 16-bit score in one format",
        lambda known: known.quality_spreads,
        {
            "precision": "{scheme}",
            "recipe": "{recipe}",
            ">from, billion": "{from_params_b:number}",
            ">below": "{below_params_b:number}",
            ">evaluations": "{evaluations}",
            ">models": "{models}",
            ">least": "{least_share:.3f}",
            ">9 of 10 keep": "{low_share:.3f}",
            ">median": "{median_share:.3f}",
            ">most": "{most_share:.3f}",
        },
        ("scheme", "recipe"),
    ),
    "engines": Listing(
        "a serving engine and the defaults it starts with",
        lambda known: tuple(known.engines.values()),
        {
            "engine": "{id}",
            "runs on": "{architectures:list}",
            "precisions": "{schemes:list}",
            "planned": "{plannable:yes_no}",
            ">memory share": "{memory_utilization:.0%}",
            ">sequences": "{max_num_seqs:,}",
            "newest": "{newest_version}",
        },
        ("id", "name"),
    ),
    "serverless": Listing(
        "a hosted API's price",
        lambda known: known.serverless,
        {
            "provider": "{provider}",
            "model": "{model}",
            "called": "{provider_model_name}",
            ">$/M in": "{usd_per_million_input_tokens:price}",
            ">$/M out": "{usd_per_million_output_tokens:price}",
            ">$/M cached": "{usd_per_million_cached_input_tokens:price}",
            ">$/request": "{usd_per_request:price}",
            "as of": "{as_of}",
            "price": "{confidence}",
        },
        ("provider", "model", "provider_model_name", "confidence"),
    ),
    "per-second": Listing(
        "what a container with GPUs costs by the second",
        lambda known: known.per_second,
        {
            "provider": "{provider}",
            "called": "{name}",
            "GPUs": "{gpu_count}× {gpu}",
            ">$/s": "{usd_per_second:f}",
            ">$/vCPU-s": lambda row: "" if row.usd_per_vcpu_second is None else f"{row.usd_per_vcpu_second:f}",
            ">$/GiB-s": lambda row: "" if row.usd_per_gib_second is None else f"{row.usd_per_gib_second:f}",
            ">stops after, s": lambda row: "unknown" if row.idle_timeout_s is None else figure(row.idle_timeout_s),
            "as of": "{as_of}",
            "price": "{confidence}",
        },
        ("provider", "name", "gpu", "confidence"),
    ),
    "start-up": Listing(
        "how long a server takes from nothing to its first answer",
        lambda known: known.start_up,
        {
            "engine": lambda row: row.engine or "all",
            ">s": "{fixed_s:g}",
            ">s/GB of weights": "{seconds_per_gb:g}",
            "as of": "{as_of}",
            "figure": "{confidence}",
            "note": "{note}",
        },
        ("engine",),
    ),
    "ancillary": Listing(
        "a cost beside GPU rental: storage, transfer, power, discounts",
        lambda known: known.ancillary,
        {
            "provider": "{provider}",
            "item": "{item}",
            ">value": "{value:f}",
            "unit": "{unit}",
            "as of": "{as_of}",
            "note": "{note}",
        },
        ("provider", "item"),
    ),
    "calibration": Listing(
        "a constant of the performance model, and the group of configurations it holds for",
        lambda known: known.calibration,
        {
            "parameter": "{parameter}",
            "group": lambda entry: entry.group or "all",
            ">value": "{value:number}",
            "unit": "{unit}",
            "method": "{method}",
            "as of": "{as_of}",
        },
        ("parameter", "group"),
    ),
    "sources": Listing(
        "where rows come from; every row of every catalog names one",
        lambda known: tuple(known.sources.values()),
        {"source": "{id}", "title": "{title}", "licence": "{licence}", "as of": "{as_of}"},
        ("id", "title", "licence"),
    ),
}
"""Every catalog that can be listed."""
