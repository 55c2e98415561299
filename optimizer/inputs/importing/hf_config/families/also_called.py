"""Other names that configurations give a family that is understood."""

from typing import Final

ALSO_CALLED: Final = {
    "apertus1p5_text": "apertus",
    "deepseek_ref": "deepseek_v4",
    "deepseek_v41": "deepseek_v41_text",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_text",
    "gemma4_unified_text": "gemma4_text",
    "glm4v_moe_text": "glm4_moe",
    "glm4v_text": "glm4",
    "glm5_next": "glm5_next_text",
    "helium": "llama",
    "hy_v4_vl_text": "hy_v4",
    "hyperclovax": "granite",
    "inkling_mm_model": "inkling_text",
    "inkling_model": "inkling_text",
    "kimi_k25": "kimi_k2",
    "kimi_k3": "kimi_linear",
    "llama4": "llama4_text",
    "longcat_flash_ngram": "longcat_flash",
    "mimo_v2": "mimo_v2_flash",
    "minimax_m1": "minimax",
    "minimax_m3_vl_text": "minimax_m3",
    "minimax_text_01": "minimax",
    "mistral3": "mistral",
    "mistral_large4": "mistral_large4_text",
    "mllama": "mllama_text_model",
    "nemotron_nas": "nemotron-nas",
    "paddleocr_vl_text": "ernie4_5",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
    "qwen4_exp": "qwen4_exp_text",
    "sarvam_mla": "deepseek_v3",
    "step3p5": "step3p7",
    "step5_text": "step5",
    "step5_vl": "step5",
}
"""Other names of the same modelling code, and text parts whose own name is left out."""

BY_ARCHITECTURE: Final = {
    "LongcatFlashForCausalLM": "longcat_flash",
    "LongcatFlashNgramForCausalLM": "longcat_flash",
}
"""Families of configurations that state the class of their model and no `model_type`."""
