"""How many tokens a step yields that verifies the tokens of a draft."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.inputs.catalog.quantities import Count


class Acceptance(Strict):
    """The tokens that a step of a model keeps of its own and of a draft's, as somebody counted them."""

    model: str
    method: Literal["mtp", "eagle3", "dspark"]
    """Heads of the model's own for further tokens, or a draft model."""
    draft_tokens: Count
    """Proposed in each step."""
    task: str
    """What was written: drafts guess code better than prose."""
    thinking: Literal["on", "off", ""] = ""
    run: str
    """Which of several counts of the same."""
    accepted_tokens: Annotated[float, Field(ge=1)]
    """A step, the model's own among them."""
    as_of: date
    source: str
    note: str = ""
