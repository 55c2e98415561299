"""What stands beside the part of a configuration that reads and writes text: encoders of images and sound."""

from collections.abc import Mapping
from typing import Any, Final

from optimizer.inputs.importing.hf_config.encoders.audio import audio_params
from optimizer.inputs.importing.hf_config.encoders.vision import vision_params
from optimizer.inputs.importing.hf_config.fields import Fields
from optimizer.inputs.importing.hf_config.layers.attention import GroupedAttention
from optimizer.inputs.importing.hf_config.layers.feed_forward import DenseNetwork
from optimizer.inputs.importing.hf_config.layers.stack import Decoder

LARGEST: Final[Mapping[str, float]] = {
    **{"vision_config": 7e9, "audio_config": 0.8e9, "encoder_config": 0.8e9, "high_res_vision_config": 0.4e9},
    **{"qformer_config": 0.2e9, "perceiver_config": 0.8e9, "vq_config": 0.2e9},
}
"""Parameters of the largest that was published, by the part that describes it. Source: dots3 Note; Whisper large with
its projector; SAM of DeepSeek-VL; BLIP-2; Idefics2; Janus."""
OF_ONE_SIZE: Final[Mapping[str, float]] = {"phi4mm": 0.9e9}
"""Parameters of the encoders of a `model_type` that describes none. Source: Phi-4-Mini Technical Report, 440 million
for images and 460 million for sound, with their projectors."""
ADAPTERS: Final = ("vision_lora", "speech_lora")
"""Low-rank matrices beside the text part's, that images or sound switch on."""
NEGLIGIBLE: Final = 0.01
"""Of a model's weights: a part that cannot be more is passed over with a note."""


def encoder_params(
    fields: Fields, whole: Mapping[str, Any], decoder: Decoder, text_params: float
) -> tuple[int, list[str]]:
    """Parameters of the encoders that are understood, and notes on those too small to matter that are not.

    One that is not understood and may be more than a hundredth of the text part is refused: its weights would be
    missing without a word.

    Args:
        fields: Where refusals go.
        whole: The configuration that the encoders' parts stand in.
        decoder: The text part.
        text_params: Of the text part.
    """
    text_width = decoder.hidden
    known = {"vision_config": vision_params(whole, text_width), "audio_config": audio_params(whole, text_width)}
    notes = []
    for name, most in LARGEST.items():
        if not whole.get(name) or known.get(name):
            continue
        if most > NEGLIGIBLE * text_params:
            fields.refuse(name, "is a part whose parameters are not understood", "without it the text part is planned")
        notes.append(f"{name} is not understood: what it describes is not counted")
    of_one_size = int(OF_ONE_SIZE.get(str(whole.get("model_type")), 0))
    return sum(known.values()) + of_one_size + _adapters(whole, decoder), notes


def _adapters(whole: Mapping[str, Any], decoder: Decoder) -> int:
    """Parameters of low-rank matrices around the fused query, key and value projection, the output projection and the
    two matrices of each network. Source: `phi4mm` of vLLM 0.33.
    """
    stated = [whole.get(name) for name in ADAPTERS]
    rank = sum(int(lora["r"]) for lora in stated if isinstance(lora, Mapping) and isinstance(lora.get("r"), int))
    around = 0
    for layer in decoder.layers if rank else ():
        attention, network = layer.mixer, layer.feed_forward
        if isinstance(attention, GroupedAttention) and isinstance(network, DenseNetwork):
            queries, keys = attention.heads * attention.head_dim, 2 * attention.kv_heads * attention.head_dim
            around += 4 * decoder.hidden + 2 * queries + keys + 3 * network.width
    return rank * around
