"""Quantization entries as published checkpoints have them: groups by module, groups of any size, modules left out."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.importing.hf_config.row import Naming, model_of_config

LLAMA_70B: dict[str, Any] = {
    **{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80},
    **{"num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256},
    **{"max_position_embeddings": 131072, "torch_dtype": "bfloat16", "tie_word_embeddings": False},
}
ATTENTION = 8192 * (8192 + 1024 + 1024 + 8192)
NETWORK = 3 * 8192 * 28672


def read(folder: Path, catalogs: Catalogs, entry: dict[str, Any]) -> Model:
    (folder / "config.json").write_text(json.dumps(LLAMA_70B | {"quantization_config": entry}), encoding="utf-8")
    bits = {scheme.id: scheme.weight_bits for scheme in catalogs.schemes.values()}
    return model_of_config(folder, Naming("m", "me/m", "none", "s", date(2026, 11, 27)), bits).model


def mean(attention_bits: float, network_bits: float) -> float:
    return (ATTENTION * attention_bits + NETWORK * network_bits) / (ATTENTION + NETWORK)


def group(targets: list[str], kind: str, bits: int, size: int | None) -> dict[str, Any]:
    return {"targets": targets, "weights": {"type": kind, "num_bits": bits, "group_size": size, "symmetric": True}}


def compressed(*groups: dict[str, Any]) -> dict[str, Any]:
    named = {f"group_{number}": each for number, each in enumerate(groups)}
    return {"quant_method": "compressed-tensors", "config_groups": named, "ignore": ["lm_head"]}


QUARK = {
    "quant_method": "quark",
    "global_quant_config": {"weight": {"dtype": "fp4"}},
    "layer_quant_config": {"*self_attn*": {"weight": {"dtype": "fp8_e4m3"}}},
}
LEFT_OUT = {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["self_attn"]}
DYNAMIC = {
    **{"quant_method": "gptq", "bits": 4, "group_size": 128},
    "dynamic": {"-:.*attn.*": {}, "+:.*mlp.*": {"bits": 8}},
}
EXTRA = {
    **{"quant_method": "auto-round", "bits": 4, "group_size": 128},
    "extra_config": {f"model.layers.{at}.self_attn.q_proj": {"bits": 16} for at in range(80)},
}
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}
READ: dict[str, tuple[dict[str, Any], str, float | None]] = {
    "groups by expression": (
        compressed(group(["re:.*self_attn.*"], "float", 8, None), group(["re:.*mlp.*"], "float", 4, 16)),
        "fp4",
        mean(8.002, 4.5),
    ),
    "one group by expression": (compressed(group(["re:.*_proj$"], "int", 4, 128)), "int4", 4.125),
    "groups of 32": ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4", 4.625),
    "groups of 64": ({"quant_method": "awq", "bits": 4, "group_size": 64}, "int4", 4.312),
    "groups of 128": ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4", None),
    "groups of a whole column": ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4", 4),
    "attention left out by its name alone": (LEFT_OUT, "int4", mean(16, 4.156)),
    "modules that GPTQ leaves alone, and others in 8 bits": (DYNAMIC, "int8_w8a16", mean(16, 8)),
    "modules that AutoRound leaves alone": (EXTRA, "int4", mean(16, 4.156)),
    "blocks of bitsandbytes": (NF4, "int4", mean(4.127, 4.127)),
    "blocks of bitsandbytes with one scale": (NF4 | {"bnb_4bit_use_double_quant": False}, "int4", 4.5),
    "layers that FP8 ignores": (
        {"quant_method": "fp8", "ignored_layers": ["self_attn"]},
        "fp8",
        mean(16, 8.002),
    ),
    "layers with a format of their own": (QUARK, "mxfp4", mean(8.002, 4.25)),
    "floats of 8 bits in groups of 32": (compressed(group(["Linear"], "float", 8, 32)), "fp8", 8.25),
    "the same by ModelOpt's word": ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, "fp8", 8.25),
    "ModelOpt's own file as it stands": (
        {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}},
        "fp4",
        None,
    ),
    "a cache that is quantized and nothing else": (compressed() | {"kv_cache_scheme": {"num_bits": 8}}, "bf16", None),
    "floats of 4 bits by AutoRound": (
        {"quant_method": "intel/auto-round", "bits": 4, "group_size": 32, "data_type": "mx_fp"},
        "mxfp4",
        None,
    ),
    "Quark's whole numbers": (
        {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "int8"}}},
        "int8",
        None,
    ),
    "an entry that is empty": ({}, "bf16", None),
    "8-bit floats in blocks of 32 by AutoRound": (
        {"quant_method": "auto-round", "bits": 8, "data_type": "mx_fp", "group_size": 32},
        "fp8",
        8.25,
    ),
    "torchao's integers with a scale and a zero": (
        {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data": {}}}},
        "int4",
        4.25,
    ),
    "torchao by name": ({"quant_method": "torchao", "quant_type": "float8_weight_only"}, "fp8", None),
    "zeros that are stored": (
        compressed(group(["Linear"], "float", 8, None)) | {"sparsity_config": {"format": "dense"}},
        "fp8",
        None,
    ),
    "one module by its name": (
        {"quant_method": "fp8", "ignored_layers": "self_attn"},
        "fp8",
        mean(16, 8),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_every_part_takes_the_bits_that_the_entry_says(case: str, tmp_path: Path, catalogs: Catalogs) -> None:
    entry, precision, body_bits = READ[case]
    model = read(tmp_path, catalogs, entry)
    assert model.native_precision == precision
    assert model.native_body_weight_bits == (body_bits and pytest.approx(body_bits, abs=2e-3))


def test_a_group_of_something_unknown_is_refused(tmp_path: Path, catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, catalogs, compressed(group(["MyMLP"], "int", 4, 128)))
    assert "target 'MyMLP' is not understood" in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"quant_method": "modelopt", "quant_algo": "W4A8_NVFP4_FP8"}, "quant_algo: 'W4A8_NVFP4_FP8'"),
        (compressed() | {"sparsity_config": {"format": "sparse-24-bitmask"}}, "sparsity_config"),
        ({"quant_method": "hqq"}, "quant_method: 'hqq'"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "lm_head": True}, "lm_head"),
        ({"quant_method": "auto-round", "bits": 6, "data_type": "mx_fp"}, "data_type: 6 bits of 'mx_fp'"),
        (
            compressed(group(["Linear"], "float", 8, None)) | {"sparsity_config": {"format": "sparse-24-bitmask"}},
            "sparsity_config: 'sparse-24-bitmask'",
        ),
        (compressed(group(["Linear"], "float", 8, None)) | {"ignore": []}, "ignore: leaves no lm_head out"),
        ({"quant_method": "compressed-tensors", "config_groups": [1, 2]}, "config_groups: is not a group of groups"),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "FqnToConfig"}}}, "quant_type: 'FqnToConfig'"),
        ({"bits": 4, "group_size": 64}, "quant_method: is missing"),
    ],
)
def test_what_is_not_understood_of_an_entry_is_named(
    entry: dict[str, Any], named: str, tmp_path: Path, catalogs: Catalogs
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, catalogs, entry)
    assert f"quantization_config.{named}" in str(caught.value)
