"""Configurations gathered into arrays: one row a configuration, SI units, every catalog fact looked up once."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import BYTES_PER_GB
from optimizer.inputs.catalog.entries.engines import Draft
from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.records import Catalogs, known
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Constants, calibration_of, constants
from optimizer.performance.physics.eras import engine_settings, era_of
from optimizer.performance.physics.facts import (
    PLAIN_PRECISION,
    gpu_facts,
    is_latent,
    kernel_facts,
    network_facts,
    weight_facts,
)
from optimizer.performance.physics.own import OwnFactors, own_factors
from optimizer.performance.physics.row_arrays import RowArrays

Struct = TypeVar("Struct", bound=RowArrays)

NAMES: Final = ("model", "gpu", "engine", "engine_version", "precision", "kv_precision", "lengths")
"""Fields of a configuration that name something."""
HOST_LINKS: Final = ("pcie", "none")
PAIR: Final = 2
"""GPUs of the smallest collective."""

ENGINE_DEFAULT: Final = 0
"""Of a limit of a configuration that leaves the engine's own in place."""
_STARTED_WITH: Final = ("admission_interval_steps", "rank_wait_steps", "draft_tokens", "accepted_tokens")
_AS_STATED: Final = ("tensor_parallel", "pipeline_parallel", "prompt_copies", *_STARTED_WITH)


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
    max_num_batched_tokens: int = ENGINE_DEFAULT
    memory_share: float = ENGINE_DEFAULT
    admission_interval_steps: int = ENGINE_DEFAULT
    rank_wait_steps: int = ENGINE_DEFAULT
    lengths: str = ""
    prompt_copies: float = 1.0
    draft_tokens: int = 0
    accepted_tokens: float = 1.0
    speculation: str = ""
    """The draft whose tokens these are, as `Draft.name` writes it; empty without one."""

    def with_draft(self, draft: Draft) -> "Configuration":
        """The same replica where steps verify what a draft proposes.

        Raises:
            ValueError: nobody said how many tokens a step keeps.
        """
        if draft.accepted_tokens is None:
            raise ValueError(f"the catalogs were not asked what a step keeps with {draft.name}")
        return self._replace(
            draft_tokens=draft.draft_tokens, accepted_tokens=draft.accepted_tokens, speculation=draft.name
        )


@dataclass(frozen=True)
class Hardware(RowArrays):
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
class Interconnect(RowArrays):
    """How a replica's GPUs talk, (n,): bytes/s each way per GPU, GPUs joined by it, whether it is a pairwise mesh.

    `all_reduce` is what collectives were measured to sustain between GPUs without peer-to-peer; NaN elsewhere.
    """

    bandwidth: Floats
    all_reduce: Floats
    domain: Floats
    mesh: Flags


@dataclass(frozen=True)
class Network(RowArrays):
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
    expert_layers: Floats
    corrected_layers: Floats
    """Layers whose experts are chosen by scores that a bias corrects."""
    lone_expert_layers: Floats
    """Layers of routed experts alone, with neither a dense nor a shared MLP."""
    normed_layers: Floats
    """Layers whose queries and keys are normed."""
    expert_width: Floats
    kv_layers: Floats
    window_layers: Floats
    full_layers: Floats
    sparse_layers: Floats
    layer_bytes_per_token: Floats
    far_kv_heads: Floats
    far_expansion: Floats
    window: Floats
    sparse_tokens: Floats
    index_bytes: Floats
    index_flops: Floats
    state_bytes: Floats
    latent: Floats
    unread_params: Floats
    unread_bytes_per_param: Floats
    """NaN where they are stored as the embedding is."""
    max_context: Floats
    whole_numbers: Floats
    """Of a token, that pass through memory between products on every GPU, over all layers."""
    divided_numbers: Floats
    """As many that the GPUs of a stage divide among them."""


@dataclass(frozen=True)
class Weights(RowArrays):
    """How weights and cache are stored, (n,): bytes per parameter and per 16-bit KV byte."""

    body_bytes_per_param: Floats
    expert_bytes_per_param: Floats
    body_quantized: Floats
    kv_scale: Floats


@dataclass(frozen=True)
class Layout(RowArrays):
    """Parallelism and engine limits, (n,)."""

    tensor_parallel: Floats
    pipeline_parallel: Floats
    attention_dp: Flags
    expert_parallel: Flags
    max_num_seqs: Floats
    max_batched_tokens: Floats
    memory_utilization: Floats
    admission_interval_steps: Floats
    """Steps between which the engine takes in the prompts that wait; 0 where it does so before every step."""
    rank_wait_steps: Floats
    """Steps that ranks of attention data parallelism wait at most until each has a prompt; 0 where none waits."""
    prompt_copies: Floats
    """Sequences of a batch that are one and the same, token by token."""
    draft_tokens: Floats
    """Tokens of each sequence that a draft proposes before a step verifies them; 0 without speculation."""
    accepted_tokens: Floats
    """Tokens that a step yields for each sequence, its own and those of the draft that it accepts."""


@dataclass(frozen=True)
class Setup(RowArrays):
    """Everything the physics needs of n configurations."""

    hardware: Hardware
    interconnect: Interconnect
    network: Network
    weights: Weights
    layout: Layout
    constants: Constants
    own: OwnFactors | None
    """What own measurements say of predictions for plans; None without any."""

    @property
    def rows(self) -> int:
        """Number of configurations."""
        return len(self.layout.tensor_parallel)

    def with_values(self, values: Floats, of_row: Ints | None = None) -> "Setup":
        """The same configurations under other calibration values: what a fit varies."""
        return replace(self, constants=self.constants.with_values(values, of_row))


Columns = Mapping[str, Sequence[Any] | NDArray[Any]]
"""Fields of configurations as columns of equal length."""


def gather(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Setup:
    """Look up every fact of the configurations.

    Raises:
        InputError: a model, GPU, engine or precision that no catalog knows.
    """
    return gather_columns(catalogs, dict(zip(Configuration._fields, zip(*configurations, strict=True), strict=True)))


def categorical(configurations: Sequence[Configuration], names: Iterable[str]) -> dict[str, Categorical[Any]]:
    """Some fields of the configurations, each as categories and codes."""
    return {name: Categorical.of(list(map(attrgetter(name), configurations))) for name in names}


def gather_columns(catalogs: Catalogs, columns: Columns) -> Setup:
    """As `gather`, from one column per field of `Configuration`; those left out have the field's default."""
    defaults = {
        name: np.full(len(columns["model"]), value, object) for name, value in Configuration._field_defaults.items()
    }
    columns = {**defaults, **columns}
    names = {name: Categorical[str].of(columns[name]) for name in NAMES}
    models = [catalogs.model(name) for name in names["model"].categories]
    gpus = [catalogs.gpu(name) for name in names["gpu"].categories]
    gpu_columns = _by_row(names["gpu"], [gpu_facts(gpu) for gpu in gpus])
    interconnect, link = _interconnect(columns, gpu_columns, names["gpu"].grouped([gpu.link for gpu in gpus]))
    found = constants(calibration_of(catalogs), _axes(catalogs, names) | {"link": link})
    network = _struct(Network, _by_row(names["model"], [network_facts(model) for model in models]))
    return Setup(
        hardware=_struct(Hardware, gpu_columns | _kernels(catalogs, names["gpu"], names["precision"])),
        interconnect=interconnect,
        # an engine that knows no windows keeps and reads what lies before them, too
        network=replace(network, window=np.where(found["windows_kept"] > 0, network.window, math.inf)),
        weights=_struct(Weights, _storage(catalogs, names)),
        layout=_layout(catalogs, columns, names, network.max_context),
        constants=found,
        own=own_factors(catalogs, columns),
    )


def _axes(catalogs: Catalogs, names: Mapping[str, Categorical[str]]) -> dict[str, Categorical[str]]:
    """What constants vary along: the names themselves and what they imply."""
    calibration = calibration_of(catalogs)
    gpus = [catalogs.gpu(name) for name in names["gpu"].categories]
    attention = ["mla" if is_latent(catalogs.model(name)) else "gqa" for name in names["model"].categories]
    # (engine, version) -> era
    versions = Categorical.joined(names["engine"], names["engine_version"])
    return {
        **names,
        "architecture": names["gpu"].grouped([gpu.architecture for gpu in gpus]),
        "vendor": names["gpu"].grouped([gpu.vendor for gpu in gpus]),
        "era": versions.grouped([era_of(calibration, *version) for version in versions.categories]),
        "attention": names["model"].grouped(attention),
    }


def _kernels(catalogs: Catalogs, gpu: Categorical[str], precision: Categorical[str]) -> dict[str, Floats]:
    """Peak and kernel support of each row's GPU in its precision."""
    pairs = Categorical.joined(gpu, precision)
    return _by_row(pairs, [kernel_facts(catalogs, catalogs.gpu(g), catalogs.scheme(p)) for g, p in pairs.categories])


def _storage(catalogs: Catalogs, names: Mapping[str, Categorical[str]]) -> dict[str, Floats]:
    """How each row's precision stores its model's weights, and its cache relative to 16 bits."""
    pairs = Categorical.joined(names["model"], names["precision"])
    weights = [weight_facts(catalogs, catalogs.model(m), catalogs.scheme(p)) for m, p in pairs.categories]
    plain = catalogs.schemes[PLAIN_PRECISION].activation_bits
    scales = [
        known(catalogs.schemes, name, "kv_precision").activation_bits / plain
        for name in names["kv_precision"].categories
    ]
    return _by_row(pairs, weights) | {"kv_scale": names["kv_precision"].by_row(scales)}


def _layout(catalogs: Catalogs, columns: Columns, names: Mapping[str, Categorical[str]], context: Floats) -> Layout:
    """Parallel degrees as configured; the engine's limits as stated, else those that its release starts with there.

    Where it divides no prompt, a step has room for the longest that the model's `context` (n,) allows.
    """
    releases = Categorical.joined(names["engine"], names["gpu"], names["engine_version"])
    calibration = calibration_of(catalogs)
    found = [engine_settings(catalogs, calibration, *release)._asdict() for release in releases.categories]
    settings = _by_row(releases, found)
    stated = np.asarray(columns["max_num_seqs"], dtype=np.float64)
    tokens = np.asarray(columns["max_num_batched_tokens"], dtype=np.float64)
    whole = np.where(context <= settings["undivided_context"], context, 0.0)
    usual = np.maximum(settings["max_num_batched_tokens"], whole)
    share = np.asarray(columns["memory_share"], dtype=np.float64)
    return Layout(
        attention_dp=np.asarray(columns["attention_dp"], dtype=np.bool_),
        expert_parallel=np.asarray(columns["expert_parallel"], dtype=np.bool_),
        max_num_seqs=np.where(stated > ENGINE_DEFAULT, stated, settings["max_num_seqs"]),
        max_batched_tokens=np.where(tokens > ENGINE_DEFAULT, tokens, usual),
        memory_utilization=np.where(share > ENGINE_DEFAULT, share, settings["memory_utilization"]),
        **{name: np.asarray(columns[name], dtype=np.float64) for name in _AS_STATED},
    )


def _interconnect(
    columns: Columns, gpu: Mapping[str, Floats], own: Categorical[str]
) -> tuple[Interconnect, Categorical[str]]:
    """Which link joins the replica's GPUs: the instance's if it says so, else the GPU's own, PCIe beyond its domain.

    A GPU whose usual node holds it alone keeps its own link: several that work together are joined by a switch.
    """
    stated = np.array([text or "" for text in columns["link"]], dtype=object)
    speed = np.array([figure or math.nan for figure in columns["link_gb_per_s"]], dtype=np.float64) * BYTES_PER_GB
    gpu_link = own.by_row(own.categories, object)
    link = np.where(stated == "", gpu_link, stated)
    beyond_domain = (np.asarray(columns["tensor_parallel"]) > gpu["domain"]) & (gpu["domain"] > 1) & (stated == "")
    over_host = np.isin(link, HOST_LINKS) | beyond_domain
    link = np.where(over_host, "pcie", link)
    # what the catalog knows of the row's link; only a stated link may have a stated speed
    catalogued = np.where(over_host, gpu["pcie_bandwidth"], np.where(link == gpu_link, gpu["own_bandwidth"], math.nan))
    bandwidth = np.where(np.isnan(speed) | over_host & (stated != "pcie"), catalogued, speed)
    mesh = np.asarray(link == "xgmi", dtype=np.bool_)
    pair = np.asarray(columns["tensor_parallel"]) <= PAIR
    all_reduce = np.where(link == "pcie", np.where(pair, gpu["pair_all_reduce"], gpu["wide_all_reduce"]), math.nan)
    return Interconnect(bandwidth, all_reduce, gpu["domain"], mesh), Categorical[str].of(link)


def _by_row(category: Categorical[Any], facts: Sequence[Mapping[str, float]]) -> dict[str, Floats]:
    """The facts of every row's category, (n,) each, from those of each category."""
    return {name: category.by_row([fact[name] for fact in facts]) for name in facts[0]}


def _struct(kind: type[Struct], columns: Mapping[str, Floats]) -> Struct:
    return kind(**{field.name: columns[field.name] for field in fields(kind)})
