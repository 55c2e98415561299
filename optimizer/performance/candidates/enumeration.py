"""Every configuration worth asking about on the offered platforms, and the criteria that need no prediction."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.entries.engines import Engine
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, QualityEstimate
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy, Workload
from optimizer.performance.candidates.quality import floors_kept
from optimizer.performance.market.supply import Platform
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.engine_constants import uncalibrated
from optimizer.performance.physics.layouts import misfit
from optimizer.performance.physics.setup import Configuration, categorical


class Kind(NamedTuple):
    """A platform with the GPUs of a replica, so far from users: configurations of one kind fit the same offers."""

    platform: Platform
    gpus: int
    network_ms: float = 0.0


DEGREES = (1, 2, 4, 8, 16)
"""Parallel degrees are powers of two, which is what engines accept and what lets replicas share an instance."""
COMMON_SCHEMES = ("fp8", "int8", "int4", "fp4")
"""Schemes for which checkpoints or on-the-fly quantization exist for most models; others are asked for by name."""

_DEGREES: Final = ("tensor_parallel", "pipeline_parallel")
_LINKED: Final = ("gpu", "link", "link_gb_per_s", *_DEGREES)
_STORED: Final = ("engine", "precision", "kv_precision")
_DECISIVE: Final = (*_STORED, "speculation", *_LINKED)


def configurations_of(
    workload: Workload, catalogs: Catalogs, platforms: Mapping[Platform, int], policy: Policy
) -> tuple[tuple[Configuration, ...], Categorical[Kind]]:
    """Engine × precision × KV precision × parallel degrees on every platform, in a fixed order, and the kind of each.

    Each without a draft and with each that the workload admits; stages of a pipeline have none, since nobody measured
    both together.

    Raises:
        InputError: the policy asks by name for an engine that is calibrated on no GPU.
    """
    findings = uncalibrated_engines(policy, catalogs)
    if findings:
        raise InputError(findings)
    name, drafts = workload.model, workload.drafts_of(workload.model)
    model = catalogs.model(name)
    layouts_on = _layouts_on(platforms)
    precisions = {gpu: _precisions(model, gpu, catalogs, policy) for gpu, _, _ in layouts_on}
    engines = _plannable(catalogs)
    configurations: list[Configuration] = []
    kinds: dict[Kind, int] = {}
    runs: list[tuple[int, int]] = []
    for (gpu, link, link_gb_per_s), layouts in layouts_on.items():
        for tp, pp in layouts:
            before = len(configurations)
            plain = [
                Configuration(engine.id, name, gpu, precision, kv_precision, tp, pp, link, link_gb_per_s)
                for engine in engines
                for precision, kv_precision in product(precisions[gpu], engine.kv_precisions)
            ]
            configurations += plain
            configurations += [each.with_draft(draft) for draft in drafts for each in plain if pp == 1]
            # those of one layout stand together, so that a kind is looked up once for all of them
            number = kinds.setdefault(Kind((gpu, link, link_gb_per_s), tp * pp), len(kinds))
            runs.append((number, len(configurations) - before))
    numbers, lengths = zip(*runs, strict=True) if runs else ((), ())
    return tuple(configurations), Categorical(tuple(kinds), np.repeat(np.array(numbers, dtype=np.intp), lengths))


def _layouts_on(platforms: Mapping[Platform, int]) -> dict[Platform, list[tuple[int, int]]]:
    """Tensor and pipeline parallel degrees on each platform, by the most GPUs that it joins; one GPU needs no link."""
    found: dict[Platform, list[tuple[int, int]]] = {}
    for platform, widest in sorted(platforms.items(), key=str):
        found[platform[0], "none", None] = [(1, 1)]
        several = [(tp, pp) for tp, pp in product(DEGREES, DEGREES) if 1 < tp * pp <= widest]
        if several:
            found[platform] = several
    return found


def _plannable(catalogs: Catalogs) -> list[Engine]:
    return [engine for engine in catalogs.engines.values() if engine.plannable]


def uncalibrated_engines(policy: Policy, catalogs: Catalogs) -> tuple[Finding, ...]:
    """Engines that the policy asks for by name and that are calibrated on none of the GPUs they run on."""
    findings = []
    for engine in _plannable(catalogs):
        if engine.id in policy.engines:
            gpus = [gpu for gpu in catalogs.gpus.values() if gpu.architecture in engine.architectures]
            reasons = sorted({uncalibrated(catalogs, engine.id, gpu) for gpu in gpus})
            if all(reasons):
                findings += [Finding("scenario", 0, "policy.engines", reason) for reason in reasons]
    return tuple(findings)


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


def decisive(configurations: Sequence[Configuration]) -> dict[str, Categorical[Any]]:
    """The fields of configurations that their criteria depend on."""
    return categorical(configurations, _DECISIVE)


def fixed_failures(
    fields: Mapping[str, Categorical[Any]],
    workload: Workload,
    policy: Policy,
    catalogs: Catalogs,
    quality: Sequence[QualityEstimate | None],
) -> dict[str, Flags]:
    """(P,) failures of the criteria that need no prediction: policy, kernels, arithmetic of the layout, quality.

    Args:
        fields: Of configurations of the workload's model, as `decisive` tells them.
        workload: What is served.
        policy: What it is held to.
        catalogs: What is known.
        quality: (P,) None where nobody published it.
    """
    model = catalogs.model(workload.model)

    def joined(*names: str) -> Categorical[tuple[Any, ...]]:
        return Categorical.joined(*(fields[name] for name in names))

    def kernels(gpu: str, precision: str) -> str:
        return _support(catalogs, precision, catalogs.gpus[gpu].architecture)

    passed = {
        **_permitted(fields, policy),
        "tensor_parallel_policy": fields["tensor_parallel"].passing(
            lambda degree: degree <= (policy.max_tensor_parallel or degree)
        ),
        "pipeline_parallel_policy": fields["pipeline_parallel"].passing(
            lambda stages: stages <= (policy.max_pipeline_parallel or stages)
        ),
        "engine_support": joined("engine", "gpu", "precision").passing(lambda kind: _engine_runs(catalogs, *kind)),
        "draft_support": joined("engine", "speculation").passing(lambda pair: _engine_drafts(catalogs, *pair)),
        "kernel_support": joined("gpu", "precision").passing(lambda pair: kernels(*pair) != "none"),
        "kv_kernel_support": joined("gpu", "kv_precision").passing(lambda pair: kernels(*pair) == "native"),
        "link_known": joined(*_LINKED).passing(lambda kind: _link_known(catalogs, *kind)),
        "divisibility": joined(*_DEGREES).passing(lambda pair: not misfit(model, *pair)),
        **floors_kept(workload, quality),
    }
    return {name: ~column for name, column in passed.items()}


def _permitted(fields: Mapping[str, Categorical[Any]], policy: Policy) -> dict[str, Flags]:
    """(P,) what the policy's lists of names permit."""
    return {
        "gpu_policy": fields["gpu"].passing(policy.gpus.permits),
        "engine_policy": _listed(fields["engine"], policy.engines),
        "precision_policy": _listed(fields["precision"], policy.precisions),
        "kv_precision_policy": _listed(fields["kv_precision"], policy.kv_precisions),
    }


def _listed(column: Categorical[str], names: Collection[str]) -> Flags:
    """Whether a list names each row's value; an empty list names all."""
    return column.passing(lambda name: not names or name in names)


def needless_stages(
    fields: Mapping[str, Categorical[Any]], kind: Categorical[Kind], fits: Flags, measured: Flags
) -> Flags:
    """(P,) whether fewer pipeline stages fit the same GPUs, and nobody measured stages of that kind.

    Args:
        fields: Of configurations of one model (P), as `decisive` tells them.
        kind: Platform and GPUs of each.
        fits: (P,) whether an engine runs the layout and a request fits its memory.
        measured: (P,) whether pipeline stages were measured with that engine, architecture and kind of model.
    """
    stages = fields["pipeline_parallel"].by_row(fields["pipeline_parallel"].categories)
    alike = Categorical.joined(kind, *(fields[name] for name in _STORED))
    # configurations alike but for the layout -> the fewest stages that fit
    fewest = np.full(len(alike.categories), np.inf)
    np.minimum.at(fewest, alike.codes[fits], stages[fits])
    needless: Flags = (stages > fewest[alike.codes]) & ~measured
    return needless


def _link_known(catalogs: Catalogs, gpu: str, link: Link | None, gb_per_s: float | None, tp: int, pp: int) -> bool:
    """Whether a GPU works alone, or somebody says over what several work together and how fast that is."""
    if tp * pp == 1 or gb_per_s is not None:
        return True
    found = catalogs.gpus[gpu]
    own = found.link_gb_per_s if link == found.link else found.pcie_gb_per_s if link == "pcie" else None
    return link is not None and own is not None


def _engine_drafts(catalogs: Catalogs, engine: str, speculation: str) -> bool:
    """Whether an engine runs the method of a draft, named as `Draft.name` does; it always runs without one."""
    return not speculation or speculation.partition(":")[0] in catalogs.engines[engine].drafts


def _engine_runs(catalogs: Catalogs, engine: str, gpu: str, precision: str) -> bool:
    return catalogs.engines[engine].runs(catalogs.gpus[gpu].architecture, precision)
