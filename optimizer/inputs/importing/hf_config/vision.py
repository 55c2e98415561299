"""Parameters of the encoders that stand beside a multimodal model's text part."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    encoder = _Encoder.of(whole, vision, text_width)
    if not encoder.width or not encoder.depth:
        return 0, [*notes, "vision_config is not understood: its encoder is not counted"]
    projector = _halving_projector(whole, encoder.width, text_width) or encoder.projector()
    deepstack = vision.get("deepstack_visual_indexes")
    projectors = 1 + (len(deepstack) if isinstance(deepstack, list) else 0)
    return encoder.depth * encoder.layer() + projectors * projector + encoder.embedding(), notes


@dataclass(frozen=True)
class _Encoder:
    """The shape of a vision encoder, by the numbers that its configuration states.

    Attributes:
        stated: Its numbers, whatever they are called.
        width, depth: Of its layers, and how many there are; 0 where neither is stated.
        wide, out: Width of its networks, and of what it hands to the text part.
        gated, biased, merged_last: What its networks and its projector are like.
    """

    stated: "_Numbers"
    width: int
    depth: int
    wide: int
    out: int
    gated: bool
    biased: bool
    merged_last: bool

    @classmethod
    def of(cls, whole: Mapping[str, Any], vision: Mapping[str, Any], text_width: int) -> "_Encoder":
        """As a configuration has it, or as its kind is built where it says nothing."""
        number = _Numbers({**NESTED_VISION_DEFAULTS.get(str(vision.get("model_type")), {}), **vision})
        width = number(OWN_WIDTH, "hidden_size", "vt_hidden_size", "width")
        own_output = number(OWN_WIDTH) and number("hidden_size")
        kind = str(vision.get("model_type") or whole.get("model_type") or "")
        return cls(
            stated=number,
            width=width,
            depth=number("depth", "num_hidden_layers", "vt_num_hidden_layers", "layers"),
            wide=number("intermediate_size", "vt_intermediate_size") or (number("mlp_ratio") or WIDENING) * width,
            out=number("out_hidden_size", "text_hidden_size") or own_output or text_width,
            gated=kind.startswith(GATED),
            biased=kind.startswith(BIASED),
            merged_last=kind.startswith(MERGED_LAST),
        )

    def layer(self) -> int:
        """Parameters of one: attention, its network, and biases and norms."""
        number, width = self.stated, self.width
        heads = number("qkv_hidden_size") or (number("head_dim") * number("num_attention_heads") or width)
        inner = self.out if self.merged_last else self.wide
        # two norms with a bias each, or two scales and a bias of the gate
        small = 7 * width + 2 * inner if self.biased else 0 if self.gated else 9 * width + inner
        return 4 * width * heads + (3 if self.gated else 2) * width * inner + small

    def projector(self) -> int:
        """Parameters of what merges patches and brings them to the width of the text part."""
        merge, out = self.stated("spatial_merge_size", "merge_kernel_size") or 1, self.out
        merged = self.width * merge * merge
        one_layer = merge == 1 or (self.gated and not self.biased)
        matrices = merged * out if one_layer else merged * (merged + out)
        biases = merged + out + self.width if self.biased else 0
        return matrices + biases + (out * (out + 3 * self.wide) if self.merged_last else 0)

    def embedding(self) -> int:
        """Parameters that patches and their positions take."""
        number = self.stated
        pixels = (number("temporal_patch_size") or 1) * number("patch_size") ** 2
        positions = number("num_position_embeddings") or 2 * number("position_embedding_size")
        grid = number("init_pos_emb_height") * number("init_pos_emb_width")
        return (PATCH_CHANNELS * pixels + (positions or grid)) * self.width


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
