"""In what format a weight is stored, by the words of each method of quantization."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from optimizer.inputs.importing.hf_config.fields import Fields

HINT: Final = "give --precision"
DIGITS_OF_BITS: Final = 3
ZERO_BITS: Final = 4
"""Of a group's zero in AWQ and GPTQ files, which store one whether or not it is used."""


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
    **dict.fromkeys(("w8a8_fp8", "modelopt_fp8", "deepseek_v4_fp8"), WeightFormat("fp8")),
    **dict.fromkeys(("mxfp4", "gpt_oss_mxfp4", "quark_mxfp4", "mxfp_w4a8"), WeightFormat("mxfp4")),
    **dict.fromkeys(("fp8_pb_wo", "fp8_pb_real", "fp8_per_channel_per_token", "fp8_block_scales"), WeightFormat("fp8")),
    **dict.fromkeys(("nvfp4", "w4a16_nvfp4", "nvfp4_awq", "nvfp4_svdquant"), WeightFormat("fp4")),
    **dict.fromkeys(("w4a16_awq", "int4_awq", "awq", "gptq"), WeightFormat("int4")),
    "w4a8_awq": WeightFormat("w4a8_fp8"),
    **dict.fromkeys(("w8a8_sq_per_channel", "int8_sq", "w8a8_int8", "blockwise_int8"), WeightFormat("int8")),
    "w4a8_mxfp4_fp8": WeightFormat("mxfp4"),
    "mxfp8": WeightFormat("fp8", 8 + 8 / 32),
}
"""Names of methods and algorithms whose format is plain from the name."""
INTEGERS: Final = (
    *("awq", "awq_marlin", "auto_awq", "gptq", "gptq_marlin", "auto_gptq", "gptqmodel", "moe_wna16", "inc"),
    *("auto-round", "auto_round", "intel/auto-round"),
)
"""Methods that store whole numbers in groups with a scale."""
BLOCK_FLOATS: Final = {
    **dict.fromkeys(("mx_fp", "mx_fp4", "mx_fp4e2m1"), WeightFormat("mxfp4")),
    **dict.fromkeys(("nv_fp", "nv_fp4", "nv_fp4_with_static_gs", "fp4_v2_with_global_scale"), WeightFormat("fp4")),
}
"""The same methods' words for small floats in blocks, in 4 bits."""
FLOATS: Final = {
    **dict.fromkeys(("fp", "fp8", "fp8_e4m3"), WeightFormat("fp8")),
    **dict.fromkeys(("mx_fp", "mx_fp8", "mx_fp8e4m3"), WeightFormat("fp8", 8 + 8 / 32)),
}
"""The same in 8 bits."""
TORCHAO: Final = (
    (re.compile(r"int8.?dynamic.?activation.?int8", re.IGNORECASE), "int8"),
    (re.compile(r"^float8", re.IGNORECASE), "fp8"),
    (re.compile(r"^int8.?weight.?only", re.IGNORECASE), "int8_w8a16"),
    (re.compile(r"^int4.?weight.?only", re.IGNORECASE), "int4"),
)
"""Names of torchao's configurations, in either of its spellings, and the scheme of the weights."""
QUARK_TYPES: Final = {
    **{"fp8_e4m3": WeightFormat("fp8"), "fp4": WeightFormat("mxfp4"), "int8": WeightFormat("int8")},
    **dict.fromkeys(("int4", "uint4"), WeightFormat("int4")),
}


def plain_format(fields: Fields) -> WeightFormat:
    """What is not quantized."""
    dtype = str(fields.get("dtype", "torch_dtype") or "nothing")
    if dtype not in SIXTEEN_BIT:
        fields.refuse("torch_dtype", f"'{dtype}' is not one of {', '.join(SIXTEEN_BIT)}", HINT)
    return SIXTEEN_BIT.get(dtype, SIXTEEN_BIT["bfloat16"])


def integers_format(fields: Fields, entry: Mapping[str, Any], method: str) -> WeightFormat:
    """Of AWQ, GPTQ or AutoRound: whole numbers in groups with a scale, or small floats in blocks."""
    if entry.get("lm_head") is True:
        fields.refuse("quantization_config.lm_head", "an output head that is quantized is not understood", HINT)
    kind = str(entry.get("data_type") or "int")
    if kind != "int":
        found = {4: BLOCK_FLOATS, 8: FLOATS}.get(entry.get("bits") or 0, {}).get(kind)
        if found is None:
            fields.refuse(
                "quantization_config.data_type", f"{entry.get('bits')} bits of '{kind}' are not understood", HINT
            )
        return found or SIXTEEN_BIT["bfloat16"]
    bits = entry.get("bits", entry.get("w_bit"))
    if bits not in (4, 8):
        fields.refuse("quantization_config.bits", f"{bits!r} bits of {method} are not understood", HINT)
    size = entry.get("group_size", entry.get("q_group_size"))
    if bits == 8:
        return WeightFormat("int8_w8a16")
    if not isinstance(size, int):
        return WeightFormat("int4")
    return WeightFormat("int4", round(4 + (16 + ZERO_BITS) / size, DIGITS_OF_BITS) if size > 0 else 4)


def blocks_format(entry: Mapping[str, Any]) -> WeightFormat:
    """Bitsandbytes: blocks of 64 with a 32-bit scale, or an 8-bit one and a 32-bit one for 256 of these."""
    if entry.get("load_in_8bit") or not entry.get("load_in_4bit"):
        return WeightFormat("int8_w8a16")
    return WeightFormat("int4", round(4 + (8 + 32 / 256) / 64, DIGITS_OF_BITS) if _twice(entry) else 4 + 32 / 64)


def _twice(entry: Mapping[str, Any]) -> bool:
    return entry.get("bnb_4bit_use_double_quant") is True


def torchao_format(fields: Fields, how: object, group_size: object = None) -> WeightFormat:
    """Of torchao: the name of a configuration with its arguments beside it or within; integers in groups with a scale
    and a zero of 16 bits. Source: `torchao.quantization` 0.14.
    """
    name, size = how, group_size
    if isinstance(how, Mapping):
        name, inner = how.get("_type"), how.get("_data")
        size = inner.get("group_size") if isinstance(inner, Mapping) else None
    found = next((scheme for pattern, scheme in TORCHAO if pattern.search(str(name))), None)
    if found is None:
        fields.refuse("quantization_config.quant_type", f"{name!r} is not understood", HINT)
        return SIXTEEN_BIT["bfloat16"]
    return (
        WeightFormat(found, 4 + 2 * 16 / (size if isinstance(size, int) and size > 0 else 128))
        if (found == "int4")
        else WeightFormat(found)
    )


def group_format(fields: Fields, group: Mapping[str, Any]) -> WeightFormat:
    """Of one group of compressed-tensors or ModelOpt: number type, bits and size of a scale's group."""
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


def quark_format(fields: Fields, field: str, how: object) -> WeightFormat:
    """Of an entry of Quark, under the field that holds it."""
    weight = (how.get("weight") if isinstance(how, Mapping) else None) or {}
    # weights that are quantized twice are stored as the last says
    weight = weight[-1] if isinstance(weight, list) else weight
    name = str(weight.get("dtype") or "nothing")
    found = QUARK_TYPES.get(name)
    if found is None:
        fields.refuse(f"quantization_config.{field}.weight.dtype", f"'{name}' is not understood", HINT)
    return found or SIXTEEN_BIT["bfloat16"]
