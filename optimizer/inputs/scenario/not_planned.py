"""Models that are not planned, told by their names: those that write no text."""

import re
from typing import Final

NOT_PLANNED: Final = {
    "embedding models": r"embed|\bbge\b|\be5\b|\bgte\b|sentence-transformers|minilm|colbert|rerank",
    "speech models": r"whisper|\btts\b|\basr\b|speech|parakeet|canary|wav2vec|kokoro",
    "image and video models": r"diffusion|\bflux\b|\bsdxl\b|\bsd3?\b|\bwan\b|hunyuanvideo|\bclip\b|siglip|\bvit\b",
}
"""Kinds of model, and what their names have in common."""
SEEING: Final = r"\bvl\b|vision|llava|pixtral|internvl|\bomni\b|\bocr\b|paligemma"
"""What names of models have in common that read images, too: those whose text part is known are planned by it."""


def why_not_planned(name: str) -> str:
    """What the name of an unknown model says about planning it; empty where it says nothing of the sort."""
    kind = kind_not_planned(name)
    if kind:
        return f"{kind} are not planned: only models that write text"
    if re.search(SEEING, _words(name)):
        return (
            "a model that reads images is planned by its text part: `optimizer catalog add-model` reads a config.json"
        )
    return ""


def kind_not_planned(name: str) -> str:
    """The kind of a model that is not planned; empty where its name says nothing of the sort."""
    found = (kind for kind, pattern in NOT_PLANNED.items() if re.search(pattern, _words(name)))
    return next(found, "")


def _words(name: str) -> str:
    """A name in lower case, its words apart."""
    return re.sub(r"[^a-z0-9]+", " ", name.casefold()).replace("sentence transformers", "sentence-transformers")
