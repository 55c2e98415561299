"""What a precision scheme keeps of a model's 16-bit benchmark score, from published measurements only."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.entries.quality_spread import FEWEST_MODELS, QualitySpread
from optimizer.inputs.catalog.kinds import BenchmarkKind
from optimizer.inputs.catalog.records import Catalogs, QualityFigure

SIXTEEN_BIT: Final = frozenset({"bf16", "fp16"})
"""Schemes that store what the benchmark's reference stored, or more."""


def alike_in_quality(scheme_id: str) -> frozenset[str]:
    """The schemes that keep the same of a model's quality: 16-bit formats are one class, others stand alone."""
    return SIXTEEN_BIT if scheme_id in SIXTEEN_BIT else frozenset({scheme_id})


FEW_BITS: Final = 5
"""Of a weight, scales included: up to here what a model loses differs so much that nobody can tell without a figure."""

TRUSTED_KINDS: Final[tuple[BenchmarkKind, ...]] = ("suite", "single")
"""In order of trust. Judged contests and headlines aren't used: their noise exceeds what quantization costs."""

NOISE_DEVIATIONS: Final = 2
"""Standard deviations within which a loss on one benchmark may be chance."""

SEVERAL: Final = 2
"""Single benchmarks from which on one of them is the worst."""

PUBLISHED_DIGITS: Final = 6
"""No source publishes more digits of a share."""


@dataclass(frozen=True)
class QualityEstimate:
    """A share of the 16-bit score, and what it rests on.

    Attributes:
        share: Between 0 and 1, mean over benchmarks; above 1 only for a model that scores better than the one it is
            held against.
        worst_share: Of the benchmark on which it keeps least; None where nobody published several one by one.
        basis: Why, in words for a report.
        sources: Ids of the sources, sorted; empty where the share is 1 by definition.
    """

    share: float
    worst_share: float | None
    basis: str
    sources: tuple[str, ...] = ()


def quality_share(
    catalogs: Catalogs, model_id: str, scheme_id: str, *, by_family: bool = False
) -> QualityEstimate | None:
    """The share of its 16-bit score that a model keeps under a scheme; None when nobody published it.

    16-bit weights and the precision in which a model was released keep all of it. Otherwise it is the median of the
    published recoveries over benchmark suites, or over single benchmarks where no suite was published. Each recovery
    counts at most 1: a quantized model that scores better was lucky, not improved.

    Args:
        catalogs: Catalogs with quality figures.
        model_id: Catalog id or published name; a published name is judged by the figures of its architecture.
        scheme_id: A precision scheme.
        by_family: Whether the low end of what models of its size keep stands in for what nobody published.

    Raises:
        InputError: nobody recorded this model.
    """
    model = catalogs.model(model_id)
    if scheme_id in SIXTEEN_BIT or scheme_id == model.native_precision:
        return QualityEstimate(1.0, 1.0, _by_definition(model, scheme_id))
    figures = [row for row in catalogs.quality if row.model == model.id and row.scheme == scheme_id]
    for kind in TRUSTED_KINDS:
        chosen = [row for row in figures if row.benchmark_kind == kind]
        if chosen:
            return _median(chosen, kind, _worst_share(figures))
    spreads = _spreads(catalogs, model_id, scheme_id) if by_family else []
    if not spreads:
        return None
    lowest = _lowest(spreads)
    basis = f"assumed, nobody published it: {lowest.words}"
    sources = tuple(sorted({spread.source for spread in spreads}))
    return QualityEstimate(min(lowest.low_share, 1.0), _worst_of_any(spreads), basis, sources)


def quality_spread(catalogs: Catalogs, model_id: str, scheme_id: str) -> QualitySpread | None:
    """What models of that size keep under a scheme, by the recipe that keeps least; None where too few were evaluated.

    Raises:
        InputError: nobody recorded this model.
    """
    spreads = _spreads(catalogs, model_id, scheme_id)
    return _lowest(spreads) if spreads else None


def _spreads(catalogs: Catalogs, model_id: str, scheme_id: str) -> list[QualitySpread]:
    """By recipe, of that format and of models of that size; none where too few were evaluated."""
    params_b = catalogs.model(model_id).total_params_b
    found = [spread for spread in catalogs.quality_spreads if spread.speaks_for(scheme_id, params_b)]
    # recipes may have been tried on the same models, so that only the most of one recipe are surely different ones
    return found if max((spread.models for spread in found), default=0) >= FEWEST_MODELS else []


def _lowest(spreads: Sequence[QualitySpread]) -> QualitySpread:
    """That of the recipe that keeps least."""
    return min(spreads, key=lambda spread: (spread.low_share, spread.recipe))


def _worst_of_any(spreads: Sequence[QualitySpread]) -> float | None:
    """The least that any recipe keeps of one benchmark; None where nobody published benchmarks one by one."""
    if all(spread.low_worst_share is None for spread in spreads):
        return None
    known = (spread.low_worst_share for spread in spreads if spread.low_worst_share is not None)
    return min(1.0, *known, *(spread.least_share for spread in spreads))


def unpublished_few_bits(catalogs: Catalogs, model_id: str, scheme_id: str, *, by_family: bool = False) -> bool:
    """Whether a scheme stores weights in few bits and nobody published what the model keeps under it.

    Args:
        catalogs, model_id, scheme_id, by_family: As of `quality_share`.
    """
    few_bits = catalogs.schemes[scheme_id].weight_bits <= FEW_BITS
    return few_bits and quality_share(catalogs, model_id, scheme_id, by_family=by_family) is None


def _by_definition(model: Model, scheme_id: str) -> str:
    if scheme_id == model.native_precision:
        return f"the precision in which {model.id} was released"
    return "16-bit weights are the reference"


def _worst_share(figures: Sequence[QualityFigure]) -> float | None:
    """The least that was published of one benchmark, at most what a suite keeps on the mean; None where fewer than two
    were published one by one. A loss that may be noise counts: a floor is not passed on the chance that it was."""
    suites = [row for row in figures if row.benchmark_kind == "suite"]
    singles = [row for row in figures if row.benchmark_kind == "single"]
    if len({row.benchmark for row in singles}) < SEVERAL and not any(row.worst_recovery_share for row in suites):
        return None
    worst = (row.worst_recovery_share for row in suites if row.worst_recovery_share is not None)
    return min(1.0, *worst, *(row.recovery_share for row in (*suites, *singles)))


def _median(figures: list[QualityFigure], kind: BenchmarkKind, worst_share: float | None) -> QualityEstimate:
    share = round(median(min(row.recovery_share, 1.0) for row in figures), PUBLISHED_DIGITS)
    names = ", ".join(sorted({row.benchmark for row in figures}))
    what = "benchmark suites" if kind == "suite" else "single benchmarks"
    count = f"{len(figures)} published recoveries" if len(figures) > 1 else "one published recovery"
    basis = f"median of {count} on {what}: {names}{_worst(figures)}"
    return QualityEstimate(share, worst_share, basis, tuple(sorted({row.source for row in figures})))


def _worst(figures: list[QualityFigure]) -> str:
    """The benchmark behind those means that keeps least, where the loss is more than noise; means hide it."""
    lost = [
        (row.worst_recovery_share, row.worst_benchmark)
        for row in figures
        if row.worst_recovery_share is not None
        and 1 - row.worst_recovery_share > NOISE_DEVIATIONS * (row.worst_noise_share or 0)
    ]
    return f"; {min(lost)[1]} alone keeps {min(lost)[0]:.3f}" if lost else ""
