"""Which checkpoint a deployment loads: the model's own, quantized when it is loaded, or one that somebody published."""

import re
from collections.abc import Mapping
from typing import Final

from optimizer.answers.running.export.record import CannotCarry, Checkpoint
from optimizer.base.units import BITS_PER_BYTE, BYTES_PER_GB, BYTES_PER_GIB, PARAMS_PER_BILLION
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.fleet import Deployment

WAYS_TO_QUANTIZE: Final = frozenset(
    {"awq", "gptq", "fp8", "nvfp4", "fp4", "mxfp4", "int4", "int8", "w4a16", "w8a8", "w8a16"}
    | {"quantized", "dynamic", "static", "pertensor", "kv"}
)
"""All that may stand behind a model's name in the name of its quantized checkpoint: anything else is another model."""

ANY_PUBLISHER: Final = "*"

WITH_SCORES: Final = "RedHatAI"
"""Its model cards say which benchmark scores each checkpoint keeps; many of the quality figures come from them."""

Named = Mapping[tuple[str, str], str]
"""Checkpoints that the user names, by model and precision; drafts for a model by their method."""


def method_of(d: Deployment) -> str:
    """How it drafts; empty where it does not."""
    return d.speculation.partition(":")[0]


def checkpoint_of(d: Deployment, catalogs: Catalogs, named: Named) -> Checkpoint:
    """The checkpoint that gives a deployment its planned precision.

    Args:
        d: The deployment.
        catalogs: What is published under which name, and what its engine can make of it.
        named: The user's own choice, which goes before everything.

    Raises:
        CannotCarry: the engine can't make this precision of the model's own checkpoint, and the catalogs know none.
    """
    own, stored = _own_checkpoint(d, catalogs)
    size_gb = _size_gb(d, catalogs, d.precision)
    if (d.model, d.precision) in named:
        return Checkpoint(named[d.model, d.precision], False, size_gb)
    if stored == d.precision or {stored, d.precision} <= SIXTEEN_BIT:
        return Checkpoint(own, False, size_gb)
    published = _published(own, d, catalogs)
    whole_gb = _size_gb(d, catalogs, stored)
    if stored in SIXTEEN_BIT and _on_load(d, catalogs) and whole_gb * BYTES_PER_GB <= _memory_bytes(d):
        return Checkpoint(own, True, whole_gb, tuple(published))
    if not published:
        by = catalogs.engines[d.engine].name
        problem = f"the catalogs know no checkpoint of {own} in {d.precision} that {by} could load"
        raise CannotCarry(f"{problem}; name one with --weights {d.model}:{d.precision}=PUBLISHER/NAME")
    first, *others = published
    return Checkpoint(first, False, size_gb, tuple(others), _doubt(first, d, catalogs))


def _doubt(checkpoint: str, d: Deployment, catalogs: Catalogs) -> str:
    """What to know where an engine is not known to load checkpoints of this publisher; empty where it is."""
    flag = catalogs.deploying.flag(d.engine, d.engine_version, "publishers")
    if flag is None or flag.value == ANY_PUBLISHER or checkpoint.split("/")[0] in flag.value.split():
        return ""
    return flag.note


def _own_checkpoint(d: Deployment, catalogs: Catalogs) -> tuple[str, str]:
    """The model as it is asked for, by its published name, and how its weights are stored."""
    if d.model in catalogs.models:
        model = catalogs.models[d.model]
        return model.hf_id, model.native_precision
    alias = catalogs.aliases[d.model.casefold()]
    return alias.hf_id, alias.weight_precision or catalogs.models[alias.model].native_precision


def _on_load(d: Deployment, catalogs: Catalogs) -> bool:
    return catalogs.deploying.flag(d.engine, d.engine_version, "quantize_on_load", d.precision) is not None


def _memory_bytes(d: Deployment) -> float:
    """What the engine may take of all GPUs of a replica: the whole checkpoint is there before it is quantized."""
    return d.vram.usable_gib * BYTES_PER_GIB * d.gpus_per_replica


def _size_gb(d: Deployment, catalogs: Catalogs, precision: str) -> float:
    """All parameters in that precision: a little less than the files, where some parts keep 16 bits."""
    model = catalogs.model(d.model)
    params = (model.total_params_b + model.unread_params_b + model.prediction_head_params_b) * PARAMS_PER_BILLION
    return params * catalogs.scheme(precision).weight_bits / BITS_PER_BYTE / BYTES_PER_GB


def _published(own: str, d: Deployment, catalogs: Catalogs) -> list[str]:
    """Checkpoints of just this model in the planned precision, those first that its engine is known to load.

    Then the model's own publisher, then who publishes scores, then by name.
    """
    publisher, name = own.split("/")
    flag = catalogs.deploying.flag(d.engine, d.engine_version, "publishers")
    loaded = flag.value.split() if flag else []
    same_precision = [
        alias.hf_id
        for alias in catalogs.aliases.values()
        if alias.model == catalogs.model(d.model).id and alias.weight_precision == d.precision
    ]
    found = [hf_id for hf_id in same_precision if _only_quantized(hf_id.split("/")[1], name)]

    def order(hf_id: str) -> tuple[bool, bool, bool, str]:
        by = hf_id.split("/")[0]
        return loaded != [ANY_PUBLISHER] and by not in loaded, by != publisher, by != WITH_SCORES, hf_id

    return sorted(found, key=order)


def _only_quantized(checkpoint: str, name: str) -> bool:
    """Whether a checkpoint's name says this model and then only how it was quantized."""
    said, asked = (text.casefold().removeprefix("meta-") for text in (checkpoint, name))
    behind = said.removeprefix(asked)
    return said.startswith(asked) and set(re.split(r"[-._]", behind.lstrip("-._"))) <= WAYS_TO_QUANTIZE
