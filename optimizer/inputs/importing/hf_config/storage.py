"""What a checkpoint's weights are stored in, part by part: the quantization entry of a configuration."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from optimizer.inputs.importing.hf_config.fields import Fields

Part = Literal["mixer", "dense", "shared", "experts"]
HINT: Final = "give --precision"


@dataclass(frozen=True)
class WeightFormat:
    """How a weight is stored."""

    scheme: str
    """Id in precision_schemes.csv."""
    bits: float | None = None
    """Bits of one weight with its scales, where the file's groups are not those of the scheme."""


SIXTEEN_BIT: Final = {"bfloat16": WeightFormat("bf16", 16), "float16": WeightFormat("fp16", 16)}
METHODS: Final = {
    **dict.fromkeys(("fp8", "fbgemm_fp8", "fp8_e4m3", "fp8_e4m3fn", "finegrained_fp8"), WeightFormat("fp8")),
    "mxfp4": WeightFormat("mxfp4"),
    **dict.fromkeys(("fp8_pb_wo", "fp8_pb_real", "fp8_per_channel_per_token", "fp8_block_scales"), WeightFormat("fp8")),
    **dict.fromkeys(("nvfp4", "w4a16_nvfp4", "nvfp4_awq", "nvfp4_svdquant"), WeightFormat("fp4")),
    **dict.fromkeys(("w4a16_awq", "int4_awq", "awq", "gptq"), WeightFormat("int4")),
    "w4a8_awq": WeightFormat("w4a8_fp8"),
    **dict.fromkeys(("w8a8_sq_per_channel", "int8_sq", "w8a8_int8"), WeightFormat("int8")),
    "w4a8_mxfp4_fp8": WeightFormat("mxfp4"),
    "mxfp8": WeightFormat("fp8", 8 + 8 / 32),
}
"""Names of methods and algorithms whose format is plain from the name."""
INTEGERS: Final = ("awq", "awq_marlin", "gptq", "gptq_marlin", "auto-round", "auto_round", "intel/auto-round")
"""Methods that store whole numbers in groups with a scale."""
BLOCK_FLOATS: Final = {
    **dict.fromkeys(("mx_fp", "mx_fp4", "mx_fp4e2m1"), WeightFormat("mxfp4")),
    **dict.fromkeys(("nv_fp", "nv_fp4", "nv_fp4_with_static_gs", "fp4_v2_with_global_scale"), WeightFormat("fp4")),
}
"""The same methods' words for small floats in blocks, in 4 bits."""
QUARK_TYPES: Final = {
    **{"fp8_e4m3": WeightFormat("fp8"), "fp4": WeightFormat("mxfp4"), "int8": WeightFormat("int8")},
    **dict.fromkeys(("int4", "uint4"), WeightFormat("int4")),
}
COMPRESSED: Final = "compressed-tensors"
CONTAINERS: Final = (COMPRESSED, "modelopt", "modelopt_fp4", "modelopt_mixed")
"""Methods that say in entries of their own what they did."""
EVERY_LINEAR: Final = "Linear"
"""What a group of compressed-tensors or ModelOpt is of where it is of every linear layer."""
DIGITS_OF_BITS: Final = 3
ZERO_BITS: Final = 4
"""Of a group's zero in AWQ and GPTQ files, which store one whether or not it is used."""
EXPERTS_ONLY: Final = ("mxfp4",)
"""Methods that convert routed experts and nothing else."""
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
) -> dict[Part, WeightFormat]:
    """The format of each part that the model has.

    Args:
        fields: The configuration.
        beside: The entry of an `hf_quant_config.json` that stands beside it.
        layers: The layers in which each part stands.
        modules: What each part's weights are called below its layer.
    """
    entry = fields.get("quantization_config", "compression_config") or beside
    if not entry:
        plain = _plain(fields)
        return dict.fromkeys(layers, plain)
    if not isinstance(entry, Mapping):
        fields.refuse("quantization_config", "is not a group of fields", HINT)
        return {}
    # ModelOpt's own file, as it stands
    entry = {**entry, **entry["quantization"]} if isinstance(entry.get("quantization"), Mapping) else entry
    usual, named = _usual(fields, entry), [*_grouped(fields, entry), *_named(entry)]
    stored = {
        part: _most(_format(layer, modules[part], usual, named) for layer in _sampled(at))
        for part, at in layers.items()
    }
    if usual.scheme in EXPERTS_ONLY and entry.get("quant_method") in EXPERTS_ONLY:
        stored |= dict.fromkeys((part for part in stored if part != "experts"), SIXTEEN_BIT["bfloat16"])
    if str(fields.get("expert_dtype") or entry.get("expert_dtype") or "") in ("fp4", "mxfp4") and "experts" in stored:
        stored["experts"] = stored["experts"] if stored["experts"].scheme == "fp4" else WeightFormat("mxfp4")
    return stored


def _plain(fields: Fields) -> WeightFormat:
    """What is not quantized."""
    dtype = str(fields.get("dtype", "torch_dtype") or "nothing")
    if dtype not in SIXTEEN_BIT:
        fields.refuse("torch_dtype", f"'{dtype}' is not one of {', '.join(SIXTEEN_BIT)}", HINT)
    return SIXTEEN_BIT.get(dtype, SIXTEEN_BIT["bfloat16"])


def _usual(fields: Fields, entry: Mapping[str, Any]) -> WeightFormat:
    """The format of every linear layer that the entry does not name."""
    method = str(
        entry.get("quant_method") or entry.get("quant_algo") or (entry.get("producer") or {}).get("name") or ""
    )
    if method in INTEGERS:
        return _integers(fields, entry, method)
    if method == "bitsandbytes":
        return _of_blocks(entry)
    groups = _groups(entry)
    everywhere = [group for group in groups if not _targets(group)]
    if everywhere and method != "fp8":
        return _of_weights(fields, everywhere[0])
    algorithm = str(entry.get("quant_algo") or method).casefold()
    if algorithm in METHODS and method != "fp8":
        return METHODS[algorithm]
    if method == "quark":
        return _of_quark(fields, entry)
    if algorithm == MIXED or groups:
        return METHODS.get(method, SIXTEEN_BIT["bfloat16"])
    if method in METHODS:
        return METHODS[method]
    if method == COMPRESSED and not entry.get("sparsity_config"):
        return _plain(fields)
    # the entry within a known method that nobody knows, where it is that
    inner = ("sparsity_config" if method == COMPRESSED else "quant_algo") if method in CONTAINERS else "quant_method"
    shown = "weights that are left out" if inner == "sparsity_config" else repr(entry.get(inner))
    fields.refuse(f"quantization_config.{inner}", f"{shown}: is not understood", HINT)
    return SIXTEEN_BIT["bfloat16"]


def _integers(fields: Fields, entry: Mapping[str, Any], method: str) -> WeightFormat:
    if entry.get("lm_head") is True:
        fields.refuse("quantization_config.lm_head", "an output head that is quantized is not understood", HINT)
    kind = str(entry.get("data_type") or "int")
    if kind != "int":
        if kind not in BLOCK_FLOATS or entry.get("bits") != 4:
            fields.refuse(
                "quantization_config.data_type", f"{entry.get('bits')} bits of '{kind}' are not understood", HINT
            )
        return BLOCK_FLOATS.get(kind, SIXTEEN_BIT["bfloat16"])
    bits = entry.get("bits", entry.get("w_bit"))
    if bits not in (4, 8):
        fields.refuse("quantization_config.bits", f"{bits!r} bits of {method} are not understood", HINT)
    size = entry.get("group_size", entry.get("q_group_size"))
    if bits == 8:
        return WeightFormat("int8_w8a16")
    if not isinstance(size, int):
        return WeightFormat("int4")
    return WeightFormat("int4", round(4 + (16 + ZERO_BITS) / size, DIGITS_OF_BITS) if size > 0 else 4)


def _of_blocks(entry: Mapping[str, Any]) -> WeightFormat:
    """Bitsandbytes: blocks of 64 with a 32-bit scale, or an 8-bit one and a 32-bit one for 256 of these."""
    if entry.get("load_in_8bit") or not entry.get("load_in_4bit"):
        return WeightFormat("int8_w8a16")
    return WeightFormat("int4", round(4 + (8 + 32 / 256) / 64, DIGITS_OF_BITS) if _twice(entry) else 4 + 32 / 64)


def _twice(entry: Mapping[str, Any]) -> bool:
    return entry.get("bnb_4bit_use_double_quant") is True


def _of_weights(fields: Fields, group: Mapping[str, Any]) -> WeightFormat:
    """WeightFormat of one group of compressed-tensors or ModelOpt: number type, bits and size of a scale's group."""
    weights = group.get("weights") or {}
    kind, bits, size = weights.get("type"), weights.get("num_bits"), weights.get("group_size")
    if kind == "float" and bits == 8:
        # a scale of 8 bits for each group, or one for a block or a channel
        return WeightFormat("fp8", 8 + 8 / size if size else None)
    if kind == "float" and bits == 4:
        return WeightFormat("mxfp4" if size == 32 else "fp4")
    if kind == "int" and bits == 4:
        zero = 0 if weights.get("symmetric", True) else 4
        return WeightFormat("int4", 4 + (16 + zero) / size) if size else WeightFormat("int4", 4)
    if kind == "int" and bits == 8:
        return WeightFormat("int8" if group.get("input_activations") else "int8_w8a16")
    fields.refuse("quantization_config.config_groups", f"{bits!r} bits of type {kind!r} are not understood", HINT)
    return SIXTEEN_BIT["bfloat16"]


def _of_quark(fields: Fields, entry: Mapping[str, Any]) -> WeightFormat:
    return _quark_format(fields, "global_quant_config", entry.get("global_quant_config"))


def _quark_format(fields: Fields, field: str, how: object) -> WeightFormat:
    weight = (how.get("weight") if isinstance(how, Mapping) else None) or {}
    # weights that are quantized twice are stored as the last says
    weight = weight[-1] if isinstance(weight, list) else weight
    name = str(weight.get("dtype") or "nothing")
    found = QUARK_TYPES.get(name)
    if found is None:
        fields.refuse(f"quantization_config.{field}.weight.dtype", f"'{name}' is not understood", HINT)
    return found or SIXTEEN_BIT["bfloat16"]


def _groups(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    groups = entry.get("config_groups") or {}
    return [group for group in groups.values() if isinstance(group, Mapping)] if isinstance(groups, Mapping) else []


def _targets(group: Mapping[str, Any]) -> list[str]:
    """The modules that a group is of; none where it is of every linear layer."""
    targets = [str(each) for each in group.get("targets") or ()]
    return [] if EVERY_LINEAR in targets else targets


def _grouped(fields: Fields, entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Modules with a format of their own by the entry's groups: compressed-tensors' targets, Quark's layers."""
    found = []
    for group in _groups(entry):
        targets = _targets(group)
        for target in targets:
            # a class of layers: nobody but the modelling code knows which they are
            if target[:1].isupper():
                fields.refuse("quantization_config.config_groups", f"target {target!r} is not understood", HINT)
        how = _of_weights(fields, group) if targets else SIXTEEN_BIT["bfloat16"]
        found += [(target, how) for target in targets]
    layers = entry.get("layer_quant_config")
    for module, how in layers.items() if isinstance(layers, Mapping) else ():
        found.append((str(module), _quark_format(fields, "layer_quant_config", how)))
    return [*found, *_excepted(fields, entry)]


def _excepted(fields: Fields, entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Modules that GPTQ and AutoRound files except: GPTQModel's `dynamic`, where the first that matches holds, and
    AutoRound's `extra_config`.
    """
    found = []
    for name in ("dynamic", "extra_config"):
        modules = entry.get(name)
        for module, how in reversed(list(modules.items())) if isinstance(modules, Mapping) else ():
            pattern = f"re:{module.removeprefix('+:').removeprefix('-:')}" if name == "dynamic" else module
            stated = {**entry, **how} if isinstance(how, Mapping) else entry
            kept = module.startswith("-:") or stated.get("bits") in (16, 32)
            found.append((pattern, SIXTEEN_BIT["bfloat16"] if kept else _integers(fields, stated, name)))
    return found


def _named(entry: Mapping[str, Any]) -> list[tuple[str, WeightFormat]]:
    """Modules that the entry names, with their format: those left as they are, and those with one of their own."""
    named: list[tuple[str, WeightFormat]] = []
    own = entry.get("quantized_layers") or {}
    stays_in_fp8 = entry.get("quant_method") == "fp8" and own
    left = entry.get("ignore") or entry.get("modules_to_not_convert") or entry.get("exclude_modules") or ()
    left = left or entry.get("exclude") or entry.get("ignored_layers") or entry.get("llm_int8_skip_modules") or ()
    if not stays_in_fp8:
        named += [(str(each), SIXTEEN_BIT["bfloat16"]) for each in left]
    for module, how in own.items():
        algorithm = str(how.get("quant_algo") if isinstance(how, Mapping) else how).casefold()
        named += [(module, METHODS[algorithm])] if algorithm in METHODS else []
    return named


def _format(
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
