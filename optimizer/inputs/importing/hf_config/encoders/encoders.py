"""What stands beside the part of a configuration that reads and writes text: encoders of images and sound."""

from collections.abc import Mapping
from typing import Any, Final

from optimizer.inputs.importing.hf_config.encoders.audio import audio_params
from optimizer.inputs.importing.hf_config.encoders.vision import vision_params
from optimizer.inputs.importing.hf_config.fields import Fields

LARGEST: Final[Mapping[str, float]] = {
    **{"vision_config": 6e9, "audio_config": 0.8e9, "encoder_config": 0.8e9, "high_res_vision_config": 0.4e9},
    **{"qformer_config": 0.2e9, "perceiver_config": 0.8e9, "vq_config": 0.2e9},
}
"""Parameters of the largest that was published, by the part that describes it. Source: InternViT-6B; Whisper large with
its projector; SAM of DeepSeek-VL; BLIP-2; Idefics2; Janus."""
NEGLIGIBLE: Final = 0.01
"""Of a model's weights: a part that cannot be more is passed over with a note."""


def encoder_params(
    fields: Fields, whole: Mapping[str, Any], text_width: int, text_params: float
) -> tuple[int, list[str]]:
    """Parameters of the encoders that are understood, and notes on those too small to matter that are not.

    One that is not understood and may be more than a hundredth of the text part is refused: its weights would be
    missing without a word.

    Args:
        fields: Where refusals go.
        whole: The configuration that the encoders' parts stand in.
        text_width: Of the text part's hidden state.
        text_params: Of the text part.
    """
    known = {"vision_config": vision_params(whole, text_width), "audio_config": audio_params(whole, text_width)}
    notes = []
    for name, most in LARGEST.items():
        if not whole.get(name) or known.get(name):
            continue
        if most > NEGLIGIBLE * text_params:
            fields.refuse(name, "is a part whose parameters are not understood", "without it the text part is planned")
        notes.append(f"{name} is not understood: what it describes is not counted")
    return sum(known.values()), notes
