"""What a part within another's configuration leaves out: transformers writes only what differs from its class."""

from collections.abc import Mapping
from typing import Final

SHAPE: Final = (
    *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
    *("head_dim", "vocab_size", "max_position_embeddings", "sliding_window"),
)
NESTED_DEFAULTS: Final[Mapping[str, Mapping[str, int | None]]] = {
    kind: dict(zip(SHAPE, shape, strict=True))
    for kind, shape in {
        "gemma": (3072, 24576, 28, 16, 16, 256, 256000, 8192, None),
        "gemma2": (2304, 9216, 26, 8, 4, 256, 256000, 8192, 4096),
        "gemma3_text": (2304, 9216, 26, 8, 4, 256, 262208, 131072, 4096),
        "llama": (4096, 11008, 32, 32, None, None, 32000, 2048, None),
        "mistral": (4096, 14336, 32, 32, 8, None, 32000, 131072, 4096),
        "qwen2": (4096, 22016, 32, 32, 32, None, 151936, 32768, 4096),
    }.items()
}
"""By `model_type`. Source: the configuration classes of Hugging Face transformers 5.24.0."""
