"""Parameters of the encoders that stand beside a multimodal model's text part."""

from collections.abc import Mapping
from typing import Any, Final

from optimizer.inputs.importing.hf_config.fields import MOST
from optimizer.inputs.importing.hf_config.nested import NESTED_VISION_DEFAULTS

PATCH_CHANNELS: Final = 3
GATED: Final = ("gemma4", "glm", "pixtral", "qwen2_5_vl")
"""Beginnings of the `model_type` of encoders whose networks are gated."""
OWN_WIDTH: Final = "embed_dim"
"""Width of an encoder that calls the text part's width `hidden_size`, as that of Qwen2-VL does."""
WIDENING: Final = 4
MERGED_LAST: Final = "glm4v"
"""Beginning of those whose networks are as wide as the output, and whose merger is a network of the stated width."""
BIASED: Final = ("qwen2_5_vl",)
"""Of those that have biases all the same, and a projector of two layers."""


def vision_params(whole: Mapping[str, Any], text_width: int) -> tuple[int, list[str]]:
    """Parameters of the vision encoder with what joins it to the text part, and what could not be counted.

    A transformer of attention and a two-layer network with biases, a patch embedding, learned positions, and a
    projector of merged patches; one more projector for each layer whose features go into the text part on their own.
    """
    notes = [f"{name} is not counted" for name in ("audio_config",) if whole.get(name)]
    vision = whole.get("vision_config")
    if not isinstance(vision, Mapping):
        return 0, notes
    number = _Numbers({**NESTED_VISION_DEFAULTS.get(str(vision.get("model_type")), {}), **vision})
    width = number(OWN_WIDTH, "hidden_size", "vt_hidden_size", "width")
    depth = number("depth", "num_hidden_layers", "vt_num_hidden_layers", "layers")
    wide = number("intermediate_size", "vt_intermediate_size") or (number("mlp_ratio") or WIDENING) * width
    if not width or not depth:
        return 0, [*notes, "vision_config is not understood: its encoder is not counted"]
    kind = str(vision.get("model_type") or whole.get("model_type") or "")
    gated, biased, merged_last = (kind.startswith(each) for each in (GATED, BIASED, MERGED_LAST))
    out = number("out_hidden_size", "text_hidden_size") or (number(OWN_WIDTH) and number("hidden_size")) or text_width
    heads = number("qkv_hidden_size") or (number("head_dim") * number("num_attention_heads") or width)
    inner = out if merged_last else wide
    # biases and norms: two norms with a bias each, or two scales and a bias of the gate
    small = 7 * width + 2 * inner if biased else 0 if gated else 9 * width + inner
    layer = 4 * width * heads + (3 if gated else 2) * width * inner + small
    patch = number("patch_size")
    merge = number("spatial_merge_size", "merge_kernel_size") or 1
    merged = width * merge * merge
    projector = merged * out if merge == 1 or (gated and not biased) else merged * merged + merged * out
    projector += merged + out + width if biased else 0
    projector += out * (out + 3 * wide) if merged_last else 0
    projector = _halving_projector(whole, width, text_width) or projector
    frames = number("temporal_patch_size") or 1
    positions = number("num_position_embeddings") or 2 * number("position_embedding_size")
    positions = positions or number("init_pos_emb_height") * number("init_pos_emb_width")
    deepstack = vision.get("deepstack_visual_indexes")
    projectors = 1 + (len(deepstack) if isinstance(deepstack, list) else 0)
    return depth * layer + projectors * projector + (PATCH_CHANNELS * frames * patch**2 + positions) * width, notes


def _halving_projector(whole: Mapping[str, Any], width: int, text_width: int) -> int:
    """Parameters of Cohere's projector, which joins patches, widens them and gates one half by the other; else 0."""
    number = _Numbers(whole)
    joined = width * number("downsample_factor") ** 2
    between = number("alignment_intermediate_size") or text_width
    return joined * between + between // 2 * text_width if joined else 0


class _Numbers:
    """The whole numbers of a group of fields, 0 where none is stated; of a list its first."""

    def __init__(self, group: Mapping[str, Any]) -> None:
        self._group = group

    def __call__(self, *names: str) -> int:
        stated = (self._group.get(name) for name in names)
        firsts = (value[0] if isinstance(value, list) and value else value for value in stated)
        return next((int(value) for value in firsts if isinstance(value, int) and 0 < value <= MOST), 0)
