"""Parameters of the encoders that stand beside a multimodal model's text part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from optimizer.inputs.importing.hf_config.encoders.numbers import Numbers

PATCH_CHANNELS: Final = 3
GATED: Final = ("dots", "gemma4", "glm", "pixtral", "qwen2_5_omni", "qwen2_5_vl")
"""Beginnings of the `model_type` of encoders whose networks are gated."""
OWN_WIDTH: Final = "embed_dim"
"""Width of an encoder that calls the text part's width `hidden_size`, as that of Qwen2-VL does."""
WIDENING: Final = 4
MERGED_LAST: Final = "glm4v"
"""Beginning of those whose networks are as wide as the output, and whose merger is a network of the stated width."""
MERGED_WIDE: Final = "glm_ocr"
"""Of those whose merger is a network three times as wide as the output."""
BIASED: Final = ("qwen2_5_omni", "qwen2_5_vl")
"""Of those that have biases all the same, and a projector of two layers."""
OF_ONE_SIZE: Final = {"mobilenetv5_300m_enc": 294_126_912, "inkling_vision": 65_000_000}
"""Parameters of encoders whose layers the configuration does not describe, by name. Source: timm 1.0.31; at most, a
stack of up to six projections of patches of 40 × 40 × 2 pixels as transformers 5.24.0 plans it."""
OF_IMAGES_AND_VIDEOS: Final = "video_llava"
"""The `model_type` of wholes with an encoder for images and another for videos, both as `vision_config` says."""
SHAPE: Final = ("hidden_size", "intermediate_size", "num_hidden_layers", "patch_size")
LEFT_OUT: Final[Mapping[str, Mapping[str, int]]] = {
    kind: dict(zip(SHAPE, shape, strict=True))
    for kind, shape in {
        "clip_vision_model": (768, 3072, 12, 32),
        "pixtral": (1024, 4096, 24, 16),
        "siglip_vision_model": (768, 3072, 12, 16),
    }.items()
}
"""What an encoder's part leaves out, by its `model_type`: transformers writes only what differs from its class. Source:
the configuration classes of Hugging Face transformers 5.24.0."""


def vision_params(whole: Mapping[str, Any], text_width: int) -> int:
    """Parameters of the vision encoder with what joins it to the text part; 0 without one, or of a form unknown.

    A transformer of attention and a two-layer network with biases, a patch embedding, learned positions, and a
    projector of merged patches; one more projector for each layer whose features go into the text part on their own.
    """
    vision = whole.get("vision_config")
    if not isinstance(vision, Mapping):
        return 0
    named = OF_ONE_SIZE.get(str(vision.get("architecture") or vision.get("model_type")))
    if named is not None:
        return named + text_width * text_width
    encoder = _Encoder.of(whole, vision, text_width)
    if not encoder.width or not encoder.depth:
        return 0
    projector = (
        _halving_projector(whole, encoder.width, text_width)
        or _wide_projector(whole, encoder, text_width)
        or encoder.projector()
    )
    deepstack = vision.get("deepstack_visual_indexes")
    projectors = 1 + (len(deepstack) if isinstance(deepstack, list) else 0)
    ratios = vision.get("supported_aspect_ratios")
    tiled = encoder.tiles(len(ratios)) if isinstance(ratios, list) else 0
    experts = _experts_beyond(vision, encoder)
    if experts is None:
        return 0
    towers = 2 if whole.get("model_type") == OF_IMAGES_AND_VIDEOS else 1
    tower = encoder.depth * encoder.layer() + experts + encoder.embedding()
    return towers * tower + projectors * projector + tiled


def _experts_beyond(vision: Mapping[str, Any], encoder: "_Encoder") -> int | None:
    """Parameters that experts have beyond the dense networks in whose place they stand; None where nobody can say.

    How many each layer has stands in a list, 0 where its network is dense, or in fields of the layer's own.
    Source: `dots3_note` of vLLM 0.33 and of Hugging Face transformers 5.24.0.
    """
    number, types = encoder.stated, vision.get("mlp_layer_types")
    counts = vision.get("pyramid_num_routed")
    if isinstance(types, list):
        own = vision.get("per_layer_config") or {}
        layers = [(kind, own.get(str(at), own.get(f"{at:02}", {}))) for at, kind in enumerate(types)]
        counts = [
            Numbers(more)("num_local_experts") or number("num_local_experts") if kind == "sparse" else 0
            for kind, more in layers
        ]
    if not isinstance(counts, list):
        return None if number("num_local_experts", "num_experts", "n_routed_experts") > 1 else 0
    wide = 3 if encoder.gated else 2
    one, dense = number("moe_intermediate_size") * encoder.width * wide, encoder.wide * encoder.width * wide
    return sum(int(count) * (one + encoder.width) - dense for count in counts if count)


@dataclass(frozen=True)
class _Encoder:
    """The shape of a vision encoder, by the numbers that its configuration states.

    Attributes:
        stated: Its numbers, whatever they are called.
        width, depth: Of its layers, and how many there are; 0 where neither is stated.
        outputs: Of how many layers the outputs go into the projector, side by side.
        wide, out: Width of its networks, and of what it hands to the text part.
        gated, biased, merged_last, merged_wide: What its networks and its projector are like.
    """

    stated: Numbers
    width: int
    depth: int
    outputs: int
    wide: int
    out: int
    gated: bool
    biased: bool
    merged_last: bool
    merged_wide: bool

    @classmethod
    def of(cls, whole: Mapping[str, Any], vision: Mapping[str, Any], text_width: int) -> "_Encoder":
        """As a configuration has it, or as its kind is built where it says nothing."""
        number = Numbers({**LEFT_OUT.get(str(vision.get("model_type")), {}), **vision})
        width = number(OWN_WIDTH, "hidden_size", "vt_hidden_size", "width")
        # several layers' outputs side by side
        outputs = max(1, number("vision_output_dim") // width) if width and number("num_global_layers") else 1
        own_output = number(OWN_WIDTH) and number("hidden_size")
        kind = str(vision.get("model_type") or whole.get("model_type") or "")
        return cls(
            stated=number,
            width=width,
            depth=number("depth", "num_hidden_layers", "vt_num_hidden_layers", "layers") + number("num_global_layers"),
            outputs=outputs,
            wide=number("intermediate_size", "vt_intermediate_size") or (number("mlp_ratio") or WIDENING) * width,
            out=number("out_hidden_size", "text_hidden_size") or own_output or text_width,
            gated=kind.startswith(GATED),
            biased=kind.startswith(BIASED),
            merged_last=kind.startswith(MERGED_LAST),
            merged_wide=kind.startswith(MERGED_WIDE),
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
        merged = self.width * merge * merge * self.outputs
        one_layer = merge == 1 or (self.gated and not self.biased)
        matrices = merged * out if one_layer else merged * (merged + out)
        biases = merged + out + self.width if self.biased else 0
        network = self.wide if self.merged_last else PATCH_CHANNELS * out if self.merged_wide else 0
        return matrices + biases + (out * (out + 3 * network) if network else 0)

    def tiles(self, ratios: int) -> int:
        """Parameters of positions by the ratio of an image's sides: of each tile, before and after the layers, and of
        each patch in each tile. Source: `mllama` of Hugging Face transformers 5.24.0.
        """
        number = self.stated
        patches = (number("image_size") // max(1, number("patch_size"))) ** 2 + 1
        each_tile = (ratios + 1) * number("max_num_tiles") * self.width
        return each_tile * (patches + 2) + patches * self.width

    def embedding(self) -> int:
        """Parameters that patches and their positions take."""
        number = self.stated
        pixels = (number("temporal_patch_size") or 1) * number("patch_size") ** 2
        positions = number("num_position_embeddings") or 2 * number("position_embedding_size")
        grid = number("init_pos_emb_height") * number("init_pos_emb_width")
        return (PATCH_CHANNELS * pixels + (positions or grid)) * self.width


def _halving_projector(whole: Mapping[str, Any], width: int, text_width: int) -> int:
    """Parameters of Cohere's projector, which joins patches, widens them and gates one half by the other; else 0."""
    number = Numbers(whole)
    joined = width * number("downsample_factor") ** 2
    between = number("alignment_intermediate_size") or text_width
    return joined * between + between // 2 * text_width if joined else 0


def _wide_projector(whole: Mapping[str, Any], encoder: _Encoder, text_width: int) -> int:
    """Parameters of two layers with a width of their own between joined patches and the text part, of three where the
    width of joined patches is stated, too; else 0.
    """
    number = Numbers(whole)
    between, ratio = number("projector_hidden_size"), whole.get("downsample_ratio")
    if number("out_hidden_size"):
        return between * (number("out_hidden_size") + between + text_width)
    shuffled = round(1 / ratio) if isinstance(ratio, float) and 0 < ratio < 1 else 1
    joined = encoder.width * (encoder.stated("spatial_merge_size") or shuffled) ** 2
    return between * (joined + text_width)
