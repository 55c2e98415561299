"""What a checkpoint's weights are stored in, part by part."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.storage.formats import (
    HINT,
    INTEGERS,
    METHODS,
    SIXTEEN_BIT,
    WeightFormat,
    blocks_format,
    group_format,
    integers_format,
    plain_format,
    quark_format,
    torchao_format,
)
from optimizer.inputs.importing.hf_config.storage.modules import groups_of, named_modules, targets_of

Part = Literal["mixer", "dense", "shared", "experts"]
COMPRESSED: Final = "compressed-tensors"
CONTAINERS: Final = (COMPRESSED, "modelopt", "modelopt_fp4", "modelopt_mixed")
"""Methods that say in entries of their own what they did."""
EXPERTS_ONLY: Final = ("mxfp4", "gpt_oss_mxfp4")
"""Methods that convert routed experts and nothing else."""
INT4_EXPERTS: Final = "w4afp8"
"""The method that stores routed experts in 4 bits and the rest in 8. Source: `W4AFp8Config` of SGLang 0.5.23."""
MIXED: Final = "mixed_precision"
MODULES: Final[dict[Part, tuple[str, ...]]] = {
    "mixer": ("self_attn.q_proj", "linear_attn.in_proj_qkv", "attn.q_proj", "mixer.q_proj", "mixer.in_proj"),
    "dense": ("mlp.gate_proj", "mlp.up_proj", "feed_forward.up_proj", "mixer.up_proj"),
    "shared": (
        *("mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj", "ffn.shared_experts.w1", "share_expert.up_proj"),
        *("mixer.shared_experts.up_proj", "feed_forward.shared_expert.up_proj"),
    ),
    "experts": (
        *("mlp.experts.0.up_proj", "ffn.experts.0.w1", "block_sparse_moe.experts.0.w1", "experts.0.up_proj"),
        *("mixer.experts.0.up_proj", "feed_forward.experts.up_proj", "moe.up_proj"),
    ),
}
"""What a part's weights are called below its layer, in one family or another."""
BESIDE_DENSE: Final[dict[Part, tuple[str, ...]]] = {
    "mixer": ("self_attn.q_proj",),
    "shared": ("mlp.up_proj",),
    "experts": ("experts.0.up_proj",),
}
"""The same where a dense network runs beside the experts."""
ENDLESS: Final = re.compile(r"[*+}]\)+[*+{]|\|[^()]*\)+[*+{]")
"""An expression that may try every way to cut a name into parts, of which there are more than anybody waits for."""
ABOVE_LAYERS: Final = re.compile(r"^(?:model\.|language_model\.|backbone\.|text_model\.)+")


def read_storage(
    fields: Fields,
    beside: Mapping[str, Any] | None,
    layers: Mapping[Part, Sequence[int]],
    modules: Mapping[Part, tuple[str, ...]],
    *,
    tied: bool,
) -> dict[Part, WeightFormat]:
    """The format of each part that the model has.

    Args:
        fields: The configuration.
        beside: The entry of an `hf_quant_config.json` that stands beside it.
        layers: The layers in which each part stands.
        modules: What each part's weights are called below its layer.
        tied: Whether the output head is the embedding.
    """
    entry = fields.get("quantization_config", "compression_config", "quantization") or beside
    if not entry:
        plain = plain_format(fields)
        return dict.fromkeys(layers, plain)
    if not isinstance(entry, Mapping):
        fields.refuse("quantization_config", "is not a group of fields", HINT)
        return {}
    # ModelOpt's own file, as it stands
    entry = {**entry, **entry["quantization"]} if isinstance(entry.get("quantization"), Mapping) else entry
    usual, named = _usual(fields, entry), named_modules(fields, entry)
    if entry.get("quant_method") == COMPRESSED and not tied:
        _refuse_quantized_head(fields, entry, groups_of(entry))
    stored = {
        part: _most(_format_in_layer(layer, modules[part], usual, named) for layer in _sampled(at))
        for part, at in layers.items()
    }
    if usual.scheme == "mxfp4" and entry.get("quant_method") in EXPERTS_ONLY:
        stored |= dict.fromkeys((part for part in stored if part != "experts"), SIXTEEN_BIT["bfloat16"])
    if entry.get("quant_method") == INT4_EXPERTS and "experts" in stored:
        size = entry.get("group_size")
        stored["experts"] = WeightFormat("w4a8_fp8", 4 + 16 / (size if isinstance(size, int) and size > 0 else 128))
    if str(fields.get("expert_dtype") or entry.get("expert_dtype") or "") in ("fp4", "mxfp4") and "experts" in stored:
        stored["experts"] = stored["experts"] if stored["experts"].scheme == "fp4" else WeightFormat("mxfp4")
    return stored


def _usual(fields: Fields, entry: Mapping[str, Any]) -> WeightFormat:
    """The format of every linear layer that the entry does not name."""
    method = str(
        entry.get("quant_method") or entry.get("quant_algo") or (entry.get("producer") or {}).get("name") or ""
    )
    if method in INTEGERS:
        return integers_format(fields, entry, method)
    if method == "bitsandbytes":
        return blocks_format(entry)
    if method == "torchao":
        return _of_torchao(fields, entry)
    if method == INT4_EXPERTS:
        return METHODS["fp8"]
    groups = groups_of(entry)
    _refuse_sparse(fields, entry)
    if entry.get("config_groups") and not groups:
        fields.refuse("quantization_config.config_groups", "is not a group of groups", HINT)
    everywhere = [group for group in groups if not targets_of(group)]
    if everywhere and method != "fp8":
        return group_format(fields, everywhere[0])
    algorithm = str(entry.get("quant_algo") or method).casefold()
    if algorithm in METHODS and method != "fp8":
        return METHODS[algorithm]
    if method == "quark":
        return quark_format(fields, "global_quant_config", entry.get("global_quant_config"))
    if algorithm == MIXED or groups:
        return METHODS.get(method, SIXTEEN_BIT["bfloat16"])
    if method in METHODS:
        return METHODS[method]
    if method == COMPRESSED:
        return plain_format(fields)
    # the entry within a known method that nobody knows, where it is that
    inner = "quant_algo" if method in CONTAINERS else "quant_method"
    shown = "is missing" if entry.get(inner) is None else f"{entry.get(inner)!r}: is not understood"
    fields.refuse(f"quantization_config.{inner}", shown, HINT)
    return SIXTEEN_BIT["bfloat16"]


def _of_torchao(fields: Fields, entry: Mapping[str, Any]) -> WeightFormat:
    how = entry.get("quant_type")
    how = how.get("default", how) if isinstance(how, Mapping) else how
    arguments = entry.get("quant_type_kwargs")
    return torchao_format(fields, how, arguments.get("group_size") if isinstance(arguments, Mapping) else None)


def _refuse_sparse(fields: Fields, entry: Mapping[str, Any]) -> None:
    """Refuses weights of which some are left out, unless the file holds them as zeros."""
    sparse = entry.get("sparsity_config")
    how = (sparse.get("format") if isinstance(sparse, Mapping) else sparse) or "dense"
    if how != "dense":
        fields.refuse("quantization_config.sparsity_config", f"{how!r} is not understood", HINT)


def _refuse_quantized_head(fields: Fields, entry: Mapping[str, Any], groups: Iterable[Mapping[str, Any]]) -> None:
    """Refuses an output head of its own that is one of all linear layers and is not left out."""
    left = entry.get("ignore") or ()
    everywhere = any(not targets_of(group) for group in groups)
    if everywhere and not any("head" in str(each) for each in ([left] if isinstance(left, str) else left)):
        fields.refuse("quantization_config.ignore", "leaves no lm_head out: is the output head quantized, too?", HINT)


def _format_in_layer(
    layer: int, modules: Iterable[str], usual: WeightFormat, named: Iterable[tuple[str, WeightFormat]]
) -> WeightFormat:
    """The format of a part in one layer: the last that names it."""
    paths = [f"layers.{layer}.{module}" for module in modules]
    return next((how for pattern, how in reversed(list(named)) if _names(pattern, paths)), usual)


def _names(pattern: str, paths: Iterable[str]) -> bool:
    """Whether a pattern (a module or what all of its names share, a wildcard, `re:` and an expression) names any.

    Raises:
        ValueError: the expression is none, or might never end: a repetition of what repeats itself.
    """
    if pattern.startswith("re:"):
        if ENDLESS.search(pattern):
            raise ValueError(f"{pattern} repeats a repetition")
        return any(re.match(pattern[3:], f"model.{path}") for path in paths)
    below = ABOVE_LAYERS.sub("", pattern)
    within = f".{below.strip('.')}."
    return any(fnmatchcase(path, below) or within in f".{path}." for path in paths)


def _sampled(layers: Sequence[int]) -> Sequence[int]:
    """First, middle and last: what they have in common is what most have."""
    return (layers[0], layers[len(layers) // 2], layers[-1])


def _most(formats: Iterable[WeightFormat]) -> WeightFormat:
    """The format of the majority."""
    found = list(formats)
    return max(found, key=found.count)
