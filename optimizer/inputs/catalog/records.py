"""What we know: GPUs, offers, models, precision schemes, engines, prices and calibrations, typed and frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationInfo, field_validator

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.model import Strict
from optimizer.inputs.catalog.entries.deploying import DeployFacts
from optimizer.inputs.catalog.entries.engines import Acceptance, Engine, EngineDefault
from optimizer.inputs.catalog.entries.lengths import LengthProfile, ThinkingLength
from optimizer.inputs.catalog.entries.models import Model, ModelAlias
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice, StartUp
from optimizer.inputs.catalog.entries.quality_spread import QualitySpread
from optimizer.inputs.catalog.entries.quantities import (
    Count,
    GpuCount,
    NonNegative,
    Positive,
    UnitShare,
    UsdPerHour,
    UsdPerUnit,
)
from optimizer.inputs.catalog.entries.sources import PricePlace, Source
from optimizer.inputs.catalog.entries.terms import OfferAlias, Terms
from optimizer.inputs.catalog.kinds import (
    UNCOMMITTED,
    BenchmarkKind,
    Confidence,
    FigureStatus,
    KernelSupportLevel,
    Link,
    OfferKind,
    OfferTerm,
    PriceOf,
    QuantizedPart,
)

Row = TypeVar("Row")


class Figure(Strict):
    """One figure of one GPU, with its unit, source, date and how it was obtained."""

    gpu: str
    figure: str
    value: str
    unit: str
    source: str
    as_of: date
    status: FigureStatus
    note: str = ""


class Gpu(Strict):
    """One accelerator as software sees it; peaks are dense, links are one direction, memory is what is usable."""

    id: str
    vendor: str
    name: str
    architecture: str
    memory_gb: Positive
    usable_memory_mib: Positive
    memory_bandwidth_gb_per_s: Positive
    memory_data_share: Annotated[float, Field(gt=0, le=1)] | None = None
    """Of the bytes that the memory moves, where it keeps its check bits among the data; None where it does not."""
    bf16_tflops: Positive | None = None
    fp16_tflops: Positive | None = None
    fp8_tflops: Positive | None = None
    int8_tops: Positive | None = None
    fp4_tflops: Positive | None = None
    link: Link
    link_gb_per_s: Positive | None = None
    """One direction, all ports of the GPU together."""
    link_pair_gb_per_s: Positive | None = None
    """One direction between two GPUs where the link is a mesh of point-to-point cables; None where a switch joins."""
    all_reduce_2_gb_per_s: Positive | None = None
    """Measured bus bandwidth of an all-reduce over 2 GPUs without peer-to-peer, through the host's memory."""
    all_reduce_4_gb_per_s: Positive | None = None
    """The same over 4 GPUs; taken for more, too."""
    link_domain_gpus: Count
    pcie_gb_per_s: Positive | None = None
    tdp_w: Positive | None = None
    launch_year: int
    consumer: bool = False
    """Whether it is a gaming card, whose driver is not licensed for data centres."""
    note: str = ""


class PrecisionScheme(Strict):
    """How weights and activations are stored and multiplied; scales and 16-bit parts are counted, not ignored."""

    id: str
    weight_bits: Positive
    """Bits per quantized weight, scales included."""
    activation_bits: Positive
    compute: Literal["bf16", "fp16", "fp8", "int8", "fp4"]
    """Which peak of the GPU the matrix units run at when the kernel is native."""
    quantized_part: QuantizedPart
    source: str
    as_of: date
    note: str = ""


class KernelSupport(Strict):
    """Whether an architecture runs a scheme natively, only unpacks its weights, or not at all."""

    scheme: str
    architecture: str
    support: KernelSupportLevel
    source: str
    as_of: date
    note: str = ""


class QualityFigure(Strict):
    """One published benchmark of a quantized model, as a share of its 16-bit score."""

    model: str
    scheme: str
    benchmark: str
    benchmark_kind: BenchmarkKind
    recovery_share: Positive
    tool: str
    recipe: str = ""
    """How the weights were made."""
    worst_benchmark: str = ""
    worst_recovery_share: Positive | None = None
    """Of the suite's benchmarks the one that keeps least."""
    worst_noise_share: NonNegative | None = None
    """One standard deviation of that share, from the usual numbers of tasks and seeds."""
    source: str
    as_of: date
    note: str = ""


class CalibrationEntry(Strict):
    """One constant of the performance model; `group` narrows where it applies, empty means everywhere."""

    parameter: str
    group: str = ""
    value: float
    prior: float | None = None
    """What a fit starts from and is drawn to; None where no fit moves the constant, or none has yet."""
    unit: str
    method: str
    source: str
    as_of: date
    note: str = ""


class KeptPromises(Strict):
    """What became of plans for measurements that no fit had seen, planned on the bounds of a confidence.

    A question sets limits, the cheapest configuration whose bounds keep them is picked, and its measurements are held
    against them: `optimizer.answers.accuracy.decisions`.
    """

    targets: Literal["TPOT", "TTFT", "TPOT and TTFT"]
    """What the questions limited."""
    confidence: UnitShare
    plans: Count
    """Questions that got a pick."""
    kept_share: UnitShare
    """Of these, those whose measurements keep every limit."""
    cost_factor: Positive
    """Mean over those of what they cost against the cheapest that keeps the limits, known in hindsight."""
    source: str
    as_of: date
    note: str = ""


class DeploymentShare(Strict):
    """What the errors of two predictions have in common, of one engine on one GPU.

    `configuration`, `model` and `gpu` are correlations of log measured/predicted under loads of one kind: 1 where one
    measurement tells the other, 0 where it tells nothing. `load` is what is left of them where the kinds of load
    differ, a factor; `spread` the factor by which what is left of an interval is wider than in a normal model.
    """

    metric: Literal["tpot", "ttft", "throughput"]
    alike: Literal["configuration", "model", "gpu", "load", "spread"]
    """Beside engine and GPU: model, precisions and layout; the model; nothing else."""
    value: Positive
    groups: Count
    """Of measurements that it was estimated from."""
    source: str
    as_of: date
    note: str = ""


class Offer(Strict):
    """One purchasable instance: SKU, region, pricing term and the price of the whole instance."""

    provider: str
    provider_kind: OfferKind
    region: str
    instance_type: str
    gpu: str
    gpu_count: GpuCount
    link: Link | None = None
    """How the instance's GPUs are joined; None when nobody says."""
    link_gb_per_s: Positive | None = None
    vcpus: NonNegative | None = None
    ram_gb: NonNegative | None = None
    price_usd_per_hour: UsdPerHour
    price_of: PriceOf = "instance"
    pricing_term: OfferTerm
    commitment_months: Annotated[int, Field(ge=0, le=1200)] = 0
    as_of: date
    source: str
    confidence: Confidence
    note: str = ""

    @field_validator("commitment_months")
    @classmethod
    def _only_of_commitments(cls, months: int, others: ValidationInfo) -> int:
        if months and others.data.get("pricing_term") in UNCOMMITTED:
            raise ValueError(f"{others.data['pricing_term']} commits to nothing; say committed, or leave it 0")
        return months

    @cached_property
    def id(self) -> str:
        """A readable key, unique in a catalog."""
        term = f"{self.pricing_term}-{self.commitment_months}m" if self.commitment_months else self.pricing_term
        return f"{self.provider}/{self.region}/{self.instance_type}/{self.gpu_count}x{self.gpu}/{term}"


class ServerlessPrice(Strict):
    """A hosted API's price for a model, per million tokens or per request."""

    provider: str
    model: str = ""
    """Catalog id; empty when the price is for something that isn't in our catalog."""
    provider_model_name: str
    usd_per_million_input_tokens: UsdPerUnit | None = None
    usd_per_million_output_tokens: UsdPerUnit | None = None
    usd_per_million_cached_input_tokens: UsdPerUnit | None = None
    usd_per_request: UsdPerUnit | None = None
    max_input_tokens: Count | None = None
    unit: str
    as_of: date
    source: str
    confidence: Confidence
    note: str = ""


class AncillaryCost(Strict):
    """A cost or rate besides GPU rental: storage, transfer, power, staff, published discounts."""

    provider: str
    item: str
    unit: str
    value: Annotated[Decimal, Field(ge=-(10**12), le=10**12)]
    source: str
    as_of: date
    confidence: Confidence
    note: str = ""


@dataclass(frozen=True)
class Catalogs:
    """All catalogs of one run; mappings are sorted by key, `as_of` dates the whole."""

    as_of: date
    sources: Mapping[str, Source]
    gpus: Mapping[str, Gpu]
    gpu_figures: tuple[Figure, ...]
    models: Mapping[str, Model]
    aliases: Mapping[str, ModelAlias]
    thinking: Mapping[str, ThinkingLength]
    """By model, where somebody published it."""
    length_profiles: Mapping[str, LengthProfile]
    """By name."""
    schemes: Mapping[str, PrecisionScheme]
    kernel_support: Mapping[tuple[str, str], KernelSupport]
    quality: tuple[QualityFigure, ...]
    quality_spreads: tuple[QualitySpread, ...]
    engines: Mapping[str, Engine]
    engine_defaults: tuple[EngineDefault, ...]
    calibration: tuple[CalibrationEntry, ...]
    kept_promises: tuple[KeptPromises, ...]
    """What plans on this calibration kept of their promises."""
    deployment_shares: tuple[DeploymentShare, ...]
    """What one's own measurements tell of other configurations; no plan without own measurements depends on it."""
    offers: tuple[Offer, ...]
    """Listed, derived, seed and owned rows together, sorted by id; prices after discount."""
    terms: Terms
    offer_aliases: tuple[OfferAlias, ...]
    serverless: tuple[ServerlessPrice, ...]
    ancillary: tuple[AncillaryCost, ...]
    per_second: tuple[PerSecondPrice, ...]
    start_up: tuple[StartUp, ...]
    acceptance: tuple[Acceptance, ...]
    deploying: DeployFacts
    """What engines and deployment tools call what a plan says; no plan depends on it."""
    engine_places: Mapping[str, str]
    """Engine → file and line of its row."""
    price_places: Mapping[str, PricePlace]
    """Where the price of an offer stands, by its id, and of a hosted API, by provider and name."""

    def gpu(self, name: str) -> Gpu:
        """The GPU of that id. Raises InputError with the nearest ids when there is none."""
        return known(self.gpus, name, "gpu")

    def scheme(self, name: str) -> PrecisionScheme:
        """The precision scheme of that id. Raises InputError with the nearest ids when there is none."""
        return known(self.schemes, name, "precision")

    def published_name(self, model: str) -> str:
        """What a known model is called on Hugging Face and by its server, a fine-tune by its own name."""
        return self.models[model].hf_id if model in self.models else self.aliases[model.casefold()].hf_id

    def model(self, name: str) -> Model:
        """The model of that catalog id or published name, with the variant's own context, vocabulary and window.

        Raises:
            InputError: nobody recorded this name; the nearest names are given, never taken.
        """
        if name in self.models:
            return self.models[name]
        alias = self.aliases.get(name.casefold())
        if alias is None:
            names = [*self.models, *(entry.hf_id for entry in self.aliases.values())]
            raise InputError([Finding("catalogs", 0, "model", f"unknown model '{name}'", did_you_mean(name, names))])
        own = {
            field: value
            for field in ("max_context_tokens", "vocab_size", "sliding_window_tokens")
            if (value := getattr(alias, field)) is not None
        }
        if own.get("sliding_window_tokens") == 0:
            own["sliding_window_tokens"] = None
        return self.models[alias.model].model_copy(update=own)


def known(rows: Mapping[str, Row], name: str, kind: str) -> Row:
    """The catalog row of that id. Raises InputError with the nearest ids when there is none."""
    if name not in rows:
        raise InputError([Finding("catalogs", 0, kind, f"unknown {kind} '{name}'", did_you_mean(name, rows))])
    return rows[name]
