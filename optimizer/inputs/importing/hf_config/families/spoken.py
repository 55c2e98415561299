"""Configurations that say in words of their own what others say by layer or by list, said in those."""

from typing import Final

from optimizer.inputs.importing.hf_config.fields import LAYERS_OF_THEIR_OWN, Fields

BY_MODALITY: Final = (
    *("moe_num_experts", "moe_intermediate_size", "moe_layer_start_index", "moe_layer_end_index"),
    *("moe_capacity", "moe_k"),
)
IMAGES: Final = "of_images_"
"""Before the name of a field that is that of images alone."""


def say_by_layer(fields: Fields) -> None:
    """Blocks that state their kind and what they have of their own, as kinds and as fields of a layer.

    Source: `NemotronHPuzzleConfig` of SGLang 0.5.23.
    """
    for name, kinds, first in (
        ("block_configs", "layers_block_type", 0),
        ("mtp_block_configs", "mtp_layers_block_type", None),
    ):
        blocks = fields.get(name)
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            continue
        fields.content[kinds] = [block.get("block_type") for block in blocks]
        if first is not None:
            fields.content[LAYERS_OF_THEIR_OWN] = dict(enumerate(blocks))


def say_of_text(fields: Fields) -> None:
    """Pairs for text and for images, as the field itself and one of images.

    Source: `ernie4_5_vl_moe` of Hugging Face transformers 5.24.0.
    """
    for name in BY_MODALITY:
        pair = fields.content.get(name)
        if isinstance(pair, list) and len(pair) > 1:
            fields.content |= {name: pair[0], f"{IMAGES}{name}": pair[1]}
