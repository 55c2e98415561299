"""Parameters of the encoder of sound that stands beside a multimodal model's text part."""

from collections.abc import Mapping
from typing import Any, Final

from optimizer.inputs.importing.hf_config.encoders.numbers import Numbers

WHISPER_KERNEL: Final = 3
"""Of the two convolutions that lead into an encoder of Whisper's form."""
WHISPER_POSITIONS: Final = 1500
"""Of learned positions, where none are stated: half a minute of sound."""
NO_POSITIONS: Final = ("qwen2_5_omni", "qwen3_omni")
"""Beginnings of the `model_type` of encoders of that form whose positions are not learned."""
CONFORMER: Final = ("gemma3n_audio", "gemma4_audio")
MATRICES_OF_CONFORMER: Final = 24
"""Of a layer, each as wide and as high as the hidden state: two networks of eight, attention of five, a gated
convolution of three. Source: `gemma3n` and `gemma4` of Hugging Face transformers 5.24.0."""


def audio_params(whole: Mapping[str, Any], text_width: int) -> int:
    """Parameters of an encoder of sound with what joins it to the text part; 0 without one, or of a form unknown.

    Three forms: Whisper's transformer with biases behind two convolutions, a conformer, and a table of sounds.
    """
    audio = whole.get("audio_config")
    if not isinstance(audio, Mapping):
        return 0
    kind, number = str(audio.get("model_type") or ""), Numbers(audio)
    if number("mel_vocab_size"):
        return number("mel_vocab_size") * number("n_mel_bins") * text_width
    width, depth = (
        number("d_model", "hidden_size"),
        number("encoder_layers", "conf_num_hidden_layers", "num_hidden_layers"),
    )
    if kind in CONFORMER:
        return depth * MATRICES_OF_CONFORMER * width * width + width * text_width
    wide, bins = number("encoder_ffn_dim", "intermediate_size"), number("num_mel_bins")
    if not (width and depth and wide and bins):
        return 0
    # four matrices with three biases, a network of two with two, two norms
    layer = 4 * width * width + 3 * width + (2 * width + 1) * wide + width + 4 * width
    into = WHISPER_KERNEL * width * (bins + width) + 2 * width
    learned = 0 if kind.startswith(NO_POSITIONS) else number("max_source_positions") or WHISPER_POSITIONS
    return depth * layer + into + (learned + 2) * width + _projector(kind, number, width, text_width)


def _projector(kind: str, number: Numbers, width: int, text_width: int) -> int:
    """One matrix, or two behind four frames side by side, as Voxtral has them."""
    if kind.startswith("voxtral"):
        return number("intermediate_size") * text_width + text_width * text_width
    return width * (number("output_dim") or text_width)
