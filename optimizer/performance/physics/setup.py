"""Configurations gathered into arrays: one row a configuration, SI units, every catalog fact looked up once."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import BYTES_PER_GB
from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.constants import Axis, Calibration, Constants, constants
from optimizer.performance.physics.eras import era_of
from optimizer.performance.physics.facts import (
    PLAIN_PRECISION,
    gpu_facts,
    is_latent,
    kernel_facts,
    known,
    network_facts,
    weight_facts,
)
from optimizer.performance.physics.labelled import Labelled

Bools = Flags
Struct = TypeVar("Struct")

ENGINE_DEFAULT: Final = 0
"""`max_num_seqs` of a configuration that leaves the engine's own limit in place."""


class Configuration(NamedTuple):
    """One replica's configuration; `link` None means the GPU's own link, an empty version the newest engine.

    A named tuple, since a scenario has tens of thousands.
    """

    engine: str
    model: str
    gpu: str
    precision: str
    kv_precision: str
    tensor_parallel: int
    pipeline_parallel: int
    link: Link | None = None
    link_gb_per_s: float | None = None
    engine_version: str = ""
    attention_dp: bool = False
    expert_parallel: bool = False
    max_num_seqs: int = ENGINE_DEFAULT
    lengths: str = ""


@dataclass(frozen=True)
class Hardware:
    """Per GPU, (n,): usable bytes, bytes/s, FLOP/s in 16 bits and in the scheme, kernel support code.

    `half_gain` is how much faster 16-bit products run for engines that also sum them in 16 bits.
    """

    usable_bytes: Floats
    bandwidth: Floats
    plain_flops: Floats
    scheme_flops: Floats
    half_gain: Floats
    kernel_support: Floats


@dataclass(frozen=True)
class Interconnect:
    """How a replica's GPUs talk, (n,): bytes/s each way per GPU, GPUs joined by it, whether it is a pairwise mesh."""

    bandwidth: Floats
    domain: Floats
    mesh: Bools


@dataclass(frozen=True)
class Network:
    """The model's sizes, (n,); parameters are split by how a step reads them."""

    layers: Floats
    hidden: Floats
    heads: Floats
    kv_heads: Floats
    prefill_dims: Floats
    decode_dims: Floats
    vocab: Floats
    body_params: Floats
    head_params: Floats
    embedding_params: Floats
    expert_params: Floats
    experts: Floats
    active_experts: Floats
    expert_width: Floats
    kv_layers: Floats
    global_layers: Floats
    window: Floats
    sparse_tokens: Floats
    kv_bytes_per_token: Floats
    state_bytes: Floats
    latent: Floats
    max_context: Floats


@dataclass(frozen=True)
class Weights:
    """How weights and cache are stored, (n,): bytes per parameter and per 16-bit KV byte."""

    body_bytes_per_param: Floats
    expert_bytes_per_param: Floats
    body_quantized: Floats
    kv_scale: Floats


@dataclass(frozen=True)
class Layout:
    """Parallelism and engine limits, (n,)."""

    tensor_parallel: Floats
    pipeline_parallel: Floats
    attention_dp: Bools
    expert_parallel: Bools
    max_num_seqs: Floats
    max_batched_tokens: Floats
    memory_utilization: Floats


@dataclass(frozen=True)
class Setup:
    """Everything the physics needs of n configurations."""

    hardware: Hardware
    interconnect: Interconnect
    network: Network
    weights: Weights
    layout: Layout
    constants: Constants

    @property
    def rows(self) -> int:
        """Number of configurations."""
        return len(self.layout.tensor_parallel)

    def take(self, rows: Ints) -> "Setup":
        """Some of the rows, in the given order."""
        return Setup(
            _taken(self.hardware, rows),
            _taken(self.interconnect, rows),
            _taken(self.network, rows),
            _taken(self.weights, rows),
            _taken(self.layout, rows),
            self.constants.take(rows),
        )

    def with_values(self, values: Floats) -> "Setup":
        """The same configurations under other calibration values: what a fit varies."""
        return replace(self, constants=Constants(values, self.constants.index))


Column = Sequence[Any] | NDArray[Any]
Columns = Mapping[str, Column]
"""A configuration's fields as columns of equal length."""


def gather(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Setup:
    """Look up every fact of the configurations.

    Raises:
        InputError: a model, GPU, engine or precision that no catalog knows.
    """
    return gather_columns(catalogs, dict(zip(Configuration._fields, zip(*configurations, strict=True), strict=True)))


def labelled(configurations: Sequence[Configuration], names: Iterable[str]) -> dict[str, Labelled[Any]]:
    """Some fields of the configurations, each told apart by its distinct values."""
    return {name: Labelled.of(list(map(attrgetter(name), configurations))) for name in names}


def gather_columns(catalogs: Catalogs, columns: Columns) -> Setup:
    """As `gather`, from one column per field of `Configuration`."""
    calibration = Calibration.of(catalogs.calibration)
    model, gpu, engine = (axis_of(columns[name]) for name in ("model", "gpu", "engine"))
    precision, kv = axis_of(columns["precision"]), axis_of(columns["kv_precision"])
    version = axis_of([text or "" for text in columns["engine_version"]])
    models = [catalogs.model(name) for name in model.names]
    gpus = [catalogs.gpu(name) for name in gpu.names]
    engines = [known(catalogs.engines, name, "engine") for name in engine.names]
    schemes = [known(catalogs.schemes, name, "precision") for name in precision.names]

    gpu_columns = _spread(gpu, [gpu_facts(each) for each in gpus])
    kernels = _paired(gpu, precision, lambda g, p: kernel_facts(catalogs, gpus[g], schemes[p]))
    stored = _paired(model, precision, lambda m, p: weight_facts(catalogs, models[m], schemes[p]))
    kv_scale = _spread(kv, [{"kv_scale": _kv_scale(catalogs, name)} for name in kv.names])
    link, interconnect = _interconnect(columns, gpu_columns, _named(gpu, [each.link for each in gpus]))
    axes = {
        "architecture": _named(gpu, [each.architecture for each in gpus]),
        "vendor": _named(gpu, [each.vendor for each in gpus]),
        "precision": precision,
        "engine": engine,
        "era": _paired_names(engine, version, lambda e, v: era_of(calibration, engine.names[e], version.names[v])),
        "link": link,
        "attention": _named(model, ["mla" if is_latent(each) else "gqa" for each in models]),
        "lengths": axis_of(columns["lengths"]),
    }
    limits = [
        {
            "max_num_seqs": each.max_num_seqs,
            "max_batched_tokens": each.max_num_batched_tokens,
            "memory_utilization": each.memory_utilization,
        }
        for each in engines
    ]
    found = constants(calibration, axes)
    return Setup(
        _struct(Hardware, gpu_columns | kernels),
        interconnect,
        _struct(Network, _spread(model, [network_facts(each) for each in models])),
        _struct(Weights, stored | kv_scale),
        _layout(columns, _spread(engine, limits), found["sequence_limit"]),
        found,
    )


def axis_of(values: Column) -> Axis:
    """Distinct names of a column, sorted, and each row's code."""
    codes, names = pd.factorize(np.asarray(values, dtype=object), sort=True)
    return Axis(tuple(str(name) for name in names), codes.astype(np.intp))


def _kv_scale(catalogs: Catalogs, precision: str) -> float:
    """Bytes of a cache entry relative to 16 bits."""
    plain = catalogs.schemes[PLAIN_PRECISION].activation_bits
    return known(catalogs.schemes, precision, "kv_precision").activation_bits / plain


def _layout(columns: Columns, limits: Mapping[str, Floats], era_limit: Floats) -> Layout:
    asked = np.asarray(columns["max_num_seqs"], dtype=np.float64)
    return Layout(
        np.asarray(columns["tensor_parallel"], dtype=np.float64),
        np.asarray(columns["pipeline_parallel"], dtype=np.float64),
        np.asarray(columns["attention_dp"], dtype=np.bool_),
        np.asarray(columns["expert_parallel"], dtype=np.bool_),
        np.where(asked > ENGINE_DEFAULT, asked, np.minimum(limits["max_num_seqs"], era_limit)),
        limits["max_batched_tokens"],
        limits["memory_utilization"],
    )


def _interconnect(columns: Columns, gpu: Mapping[str, Floats], own: Axis) -> tuple[Axis, Interconnect]:
    """Which link joins the replica's GPUs: the instance's if it says so, else the GPU's own, PCIe beyond its domain.

    A GPU whose usual node holds it alone keeps its own link: several that work together are joined by a switch.
    """
    stated = np.array([text or "" for text in columns["link"]], dtype=object)
    speed = np.array([figure or math.nan for figure in columns["link_gb_per_s"]], dtype=np.float64) * BYTES_PER_GB
    ours = np.asarray(own.names, dtype=object)[own.codes]
    kind = np.where(stated == "", ours, stated)
    tp = np.asarray(columns["tensor_parallel"], dtype=np.float64)
    host = (kind == "none") | (kind == "pcie") | (tp > gpu["domain"]) & (gpu["domain"] > 1) & (stated == "")
    kind = np.where(host, "pcie", kind)
    same = np.where(kind == ours, gpu["own_bandwidth"], math.nan)
    fallback = np.where(host, gpu["pcie_bandwidth"], same)
    bandwidth = np.where(np.isnan(speed) | host & (stated != "pcie"), fallback, speed)
    return axis_of(kind), Interconnect(bandwidth, gpu["domain"], np.asarray(kind == "xgmi", dtype=np.bool_))


def _spread(axis: Axis, rows: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """A table with one row per name of the axis, taken for every row."""
    return {key: np.array([row[key] for row in rows], dtype=np.float64)[axis.codes] for key in rows[0]} if rows else {}


def _paired(left: Axis, right: Axis, facts: Callable[[int, int], Mapping[str, float]]) -> dict[str, Floats]:
    """Facts of the pairs that occur, taken for every row."""
    pair = left.codes * len(right.names) + right.codes
    kinds, inverse = np.unique(pair, return_inverse=True)
    rows = [facts(int(kind) // len(right.names), int(kind) % len(right.names)) for kind in kinds]
    return {key: np.array([row[key] for row in rows], dtype=np.float64)[inverse] for key in rows[0]}


def _paired_names(left: Axis, right: Axis, name: Callable[[int, int], str]) -> Axis:
    """The axis of names that a pair of axes determines."""
    pair = left.codes * len(right.names) + right.codes
    kinds, inverse = np.unique(pair, return_inverse=True)
    named = axis_of([name(int(kind) // len(right.names), int(kind) % len(right.names)) for kind in kinds])
    return Axis(named.names, named.codes[inverse])


def _named(axis: Axis, names: Sequence[str]) -> Axis:
    """The coarser axis that groups the names of a finer one."""
    named = axis_of(list(names))
    return Axis(named.names, named.codes[axis.codes])


def _struct(kind: type[Struct], columns: Mapping[str, Any]) -> Struct:
    return kind(**{field.name: columns[field.name] for field in fields(kind)})  # type: ignore[arg-type]


def _taken(struct: Struct, rows: Ints) -> Struct:
    return replace(struct, **{f.name: getattr(struct, f.name)[rows] for f in fields(struct)})  # type: ignore
