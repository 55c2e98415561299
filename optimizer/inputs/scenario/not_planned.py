"""Models that are not planned, told by their names: those that write no text."""

import re
from typing import Final

NOT_PLANNED: Final = {
    "embedding models": r"embed|\bbge\b|\be5\b|\bgte\b|sentence-transformers|minilm|colbert|rerank",
    "speech models": r"whisper|\btts\b|\basr\b|speech|parakeet|canary|wav2vec|kokoro|voxtral",
    "image and video models": r"diffusion|\bflux\b|\bsdxl\b|\bsd3?\b|\bwan\b|hunyuanvideo|\bclip\b|siglip|\bvit\b",
    "vision-language models": r"\bvl\b|vision|llava|pixtral|internvl|\bomni\b|\bocr\b|paligemma",
}
"""Kinds of model, and what their names have in common."""


def kind_not_planned(name: str) -> str:
    """The kind of a model that is not planned; empty where its name says nothing of the sort."""
    words = re.sub(r"[^a-z0-9]+", " ", name.casefold()).replace("sentence transformers", "sentence-transformers")
    found = (kind for kind, pattern in NOT_PLANNED.items() if re.search(pattern, words))
    return next(found, "")
