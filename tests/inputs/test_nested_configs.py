"""Text parts of multimodal configurations: what they leave out, whose precision counts, and parts within parts."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.importing.hf_config.row import Naming, model_of_config

SIGLIP = {
    **{"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304, "image_size": 896},
    **{"num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14},
}
GEMMA_3_4B = {
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "vision_config": SIGLIP,
    "text_config": {
        **{"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
        **{"sliding_window": 1024, "torch_dtype": "float32"},
    },
}
PIXTRAL_12B = {
    "model_type": "llava",
    "torch_dtype": "bfloat16",
    "vision_config": {"head_dim": 64, "image_size": 1024, "model_type": "pixtral", "patch_size": 16},
    "text_config": {
        **{"model_type": "mistral", "head_dim": 128, "hidden_size": 5120, "intermediate_size": 14336},
        **{"max_position_embeddings": 1024000, "num_hidden_layers": 40, "num_key_value_heads": 8},
        **{"sliding_window": None, "vocab_size": 131072},
    },
}
LLAVA_7B = {
    "model_type": "llava",
    "torch_dtype": "float16",
    "text_config": {"max_position_embeddings": 4096, "model_type": "llama", "vocab_size": 32064},
    "vision_config": {
        **{"model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336, "intermediate_size": 4096},
        **{"num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14, "projection_dim": 768},
    },
}
QWEN2_VL_7B = {
    **{"model_type": "qwen2_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28},
    **{"num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768},
    **{"use_sliding_window": False, "tie_word_embeddings": False, "torch_dtype": "bfloat16"},
    "vision_config": {
        **{"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "in_chans": 3, "hidden_size": 3584},
        **{"patch_size": 14, "spatial_merge_size": 2, "spatial_patch_size": 14, "temporal_patch_size": 2},
    },
}
AYA_8B = {
    **{"model_type": "aya_vision", "torch_dtype": "float16", "downsample_factor": 2},
    "alignment_intermediate_size": 28672,
    "vision_config": SIGLIP | {"image_size": 364},
    "text_config": {
        **{"model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32},
        **{"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 256000, "head_dim": 128},
        **{"max_position_embeddings": 16384, "sliding_window": 4096, "sliding_window_pattern": 4},
    },
}
PUBLISHED = {
    "qwen2-vl-7b": (QWEN2_VL_7B, 8.2914, 28 * 2 * 2 * 4 * 128),
    "aya-vision-8b": (AYA_8B, 8.63, 32 * 2 * 2 * 8 * 128),
    "gemma-3-4b": (GEMMA_3_4B, 4.300, 34 * 2 * 2 * 4 * 256),
    "pixtral-12b": (PIXTRAL_12B, 12.68, 40 * 2 * 2 * 8 * 128),
    "llava-1.5-7b": (LLAVA_7B, 7.063, 32 * 2 * 2 * 32 * 128),
}
"""Billions of parameters that the files hold, encoder and all; bytes of KV cache a token."""
QWEN_TEXT = {
    **{"model_type": "qwen2_5_omni_text", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28},
    **{"num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768},
    **{"use_sliding_window": False, "tie_word_embeddings": False},
}


def read(folder: Path, content: dict[str, Any]) -> Model:
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    return model_of_config(folder, Naming("m", "me/m", "none", "s", date(2026, 11, 27)), {"bf16": 16, "fp16": 16}).model


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_text_part_leaves_out_what_its_class_takes_by_default(name: str, tmp_path: Path) -> None:
    content, published_b, kept = PUBLISHED[name]
    model = read(tmp_path, content)
    assert model.total_params_b + model.unread_params_b == pytest.approx(published_b, rel=0.01)
    assert model.kv_bytes_per_token_bf16 == kept


def test_a_window_that_is_stated_as_null_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, PIXTRAL_12B).sliding_window_tokens is None


def test_the_precision_is_that_of_the_whole_file(tmp_path: Path) -> None:
    assert read(tmp_path, GEMMA_3_4B).native_precision == "bf16"


def test_what_a_whole_configuration_leaves_out_is_still_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="num_hidden_layers"):
        read(tmp_path, {"model_type": "llama", "vocab_size": 32000, "torch_dtype": "bfloat16"})


def test_the_text_part_of_a_thinker_is_read(tmp_path: Path) -> None:
    thinker = {"model_type": "qwen2_5_omni_thinker", "text_config": QWEN_TEXT, "vision_config": SIGLIP}
    model = read(tmp_path, {"model_type": "qwen2_5_omni", "torch_dtype": "bfloat16", "thinker_config": thinker})
    assert model.total_params_b == pytest.approx(7.6156, abs=1e-3)
    assert model.unread_params_b == pytest.approx(0.416, abs=0.01)
