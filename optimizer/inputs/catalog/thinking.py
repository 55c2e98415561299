"""How much longer a model's answers are with its thinking."""

from datetime import date
from typing import Annotated

from pydantic import Field

from optimizer.base.model import Strict


class ThinkingLength(Strict):
    """How long a model's answers to the same prompts are with its thinking and without, mean tokens."""

    model: str
    output_tokens_thinking: Annotated[float, Field(gt=0)]
    output_tokens_plain: Annotated[float, Field(gt=0)]
    prompts: str
    """What it was asked."""
    source: str
    as_of: date
    note: str = ""

    @property
    def factor(self) -> float:
        """How many times as many tokens it writes."""
        return self.output_tokens_thinking / self.output_tokens_plain
