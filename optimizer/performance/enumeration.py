"""Every configuration worth asking about on the offered platforms, and the criteria that need no prediction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from optimizer.inputs.catalog import Catalogs, Engine, Model
from optimizer.inputs.quality import SIXTEEN_BIT, QualityEstimate, quality_share
from optimizer.inputs.scenario import Policy, Workload
from optimizer.performance.setup import Configuration
from optimizer.performance.supply import Platform

BoolArray = npt.NDArray[np.bool_]
Kind = tuple[Platform, int]
"""A platform with the GPUs of a replica: configurations of one kind fit the same offers."""

DEGREES = (1, 2, 4, 8, 16)
"""Parallel degrees are powers of two, which is what engines accept and what lets replicas share an instance."""
COMMON_SCHEMES = ("fp8", "int8", "int4", "fp4")
"""Schemes for which checkpoints or on-the-fly quantization exist for most models; others are asked for by name."""


def configurations_of(
    name: str, catalogs: Catalogs, platforms: Mapping[Platform, int], policy: Policy
) -> list[tuple[Configuration, Kind]]:
    """Engine × precision × KV precision × parallel degrees on every platform, in a fixed order, each with its kind."""
    model = catalogs.model(name)
    homes: dict[Platform, list[tuple[int, int]]] = {}
    for (gpu, link, link_gb_per_s), widest in sorted(platforms.items(), key=str):
        homes[gpu, "none", None] = [(1, 1)]
        layouts = [(tp, pp) for tp, pp in product(DEGREES, DEGREES) if 1 < tp * pp <= widest]
        if layouts:
            homes[gpu, link, link_gb_per_s] = layouts
    return [
        (Configuration(engine.id, name, home[0], precision, kv_precision, tp, pp, home[1], home[2]), (home, tp * pp))
        for home, layouts in homes.items()
        for (tp, pp), engine in product(layouts, _plannable(catalogs))
        for precision, kv_precision in product(_precisions(model, home[0], catalogs, policy), engine.kv_precisions)
    ]


def _plannable(catalogs: Catalogs) -> list[Engine]:
    return [engine for engine in catalogs.engines.values() if engine.plannable]


def _precisions(model: Model, gpu: str, catalogs: Catalogs, policy: Policy) -> list[str]:
    """16 bit as the GPU runs it, the model's native scheme, the common schemes and those that the policy names.

    A model published with only its experts quantized is served as published or unpacked to 16 bit; nobody
    quantizes it a second time.
    """
    architecture = catalogs.gpus[gpu].architecture
    sixteen_bit = next(
        (p for p in sorted(SIXTEEN_BIT) if _support(catalogs, p, architecture) == "native"), min(SIXTEEN_BIT)
    )
    as_published = {sixteen_bit, model.native_precision} - (SIXTEEN_BIT - {sixteen_bit})
    if model.native_quantized_part == "routed_experts":
        return sorted(as_published)
    return sorted(as_published | {*COMMON_SCHEMES} | ({*policy.precisions} - SIXTEEN_BIT))


def _support(catalogs: Catalogs, scheme: str, architecture: str) -> str:
    row = catalogs.kernel_support.get((scheme, architecture))
    return "none" if row is None else row.support


def qualities(
    configurations: Sequence[Configuration], catalogs: Catalogs, model_quality: float
) -> tuple[QualityEstimate | None, ...]:
    """Quality of each configuration: what its precision keeps, times what its model scores against the first model.

    A KV cache below 16 bit has no published quality.
    """
    pairs = sorted({(c.model, c.precision) for c in configurations})
    known = {pair: _against_first(quality_share(catalogs, *pair), model_quality) for pair in pairs}
    return tuple(known[c.model, c.precision] if c.kv_precision in SIXTEEN_BIT else None for c in configurations)


def _against_first(estimate: QualityEstimate | None, model_quality: float) -> QualityEstimate | None:
    if estimate is None or model_quality == 1:
        return estimate
    basis = f"the model's {model_quality:g} of the first model's score, as the scenario says; {estimate.basis}"
    return replace(estimate, share=estimate.share * model_quality, basis=basis)


def fixed_failures(
    configurations: Sequence[Configuration],
    workload: Workload,
    policy: Policy,
    catalogs: Catalogs,
    quality: Sequence[QualityEstimate | None],
) -> dict[str, BoolArray]:
    """(P,) failures of the criteria that need no prediction: policy, kernels, arithmetic of the layout, quality."""
    model = catalogs.model(workload.model)
    gpus = {gpu: not policy.gpus.permits(gpu) for gpu in {c.gpu for c in configurations}}
    schemes = {name for c in configurations for name in (c.precision, c.kv_precision)}
    support = {
        pair: _support(catalogs, pair[1], catalogs.gpus[pair[0]].architecture) for pair in product(gpus, schemes)
    }
    columns = {
        "gpu_policy": [gpus[c.gpu] for c in configurations],
        "engine_policy": [bool(policy.engines) and c.engine not in policy.engines for c in configurations],
        "precision_policy": [bool(policy.precisions) and c.precision not in policy.precisions for c in configurations],
        "kv_precision_policy": [
            bool(policy.kv_precisions) and c.kv_precision not in policy.kv_precisions for c in configurations
        ],
        "engine_support": [not _engine_runs(c, catalogs) for c in configurations],
        "kernel_support": [support[c.gpu, c.precision] == "none" for c in configurations],
        "kv_kernel_support": [support[c.gpu, c.kv_precision] != "native" for c in configurations],
        "link_known": [_link_unknown(c, catalogs) for c in configurations],
        "divisibility": [
            model.attention_heads % c.tensor_parallel != 0 or model.layers < c.pipeline_parallel for c in configurations
        ],
        "quality": [_quality_fails(workload, estimate) for estimate in quality],
    }
    return {name: np.array(column, dtype=bool) for name, column in columns.items()}


def _link_unknown(configuration: Configuration, catalogs: Catalogs) -> bool:
    """Whether several GPUs work together and nobody says over what, or how fast that is."""
    if configuration.tensor_parallel * configuration.pipeline_parallel == 1 or configuration.link_gb_per_s is not None:
        return False
    gpu, link = catalogs.gpus[configuration.gpu], configuration.link
    own = gpu.link_gb_per_s if link == gpu.link else gpu.pcie_gb_per_s if link == "pcie" else None
    return link is None or own is None


def _engine_runs(configuration: Configuration, catalogs: Catalogs) -> bool:
    engine, gpu = catalogs.engines[configuration.engine], catalogs.gpus[configuration.gpu]
    return gpu.architecture in engine.architectures and configuration.precision in engine.schemes


def _quality_fails(workload: Workload, estimate: QualityEstimate | None) -> bool:
    if workload.min_quality is None:
        return False
    return workload.unknown_quality == "reject" if estimate is None else estimate.share < workload.min_quality
