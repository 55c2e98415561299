"""What serves a workload beside its model's plain weights: other models, drafts of speculative decoding, adapters."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic.json_schema import JsonSchemaValue

from optimizer.base.model import Strict
from optimizer.inputs.catalog.entries.engines import Draft
from optimizer.inputs.scenario.fields import InShort, ModelName, NameOf, Number, PositiveWhole, repeated


def _as_list(value: object) -> object:
    """Reads one draft where several may stand."""
    return [value] if isinstance(value, str | dict) else value


def _in_short(whole: JsonSchemaValue) -> JsonSchemaValue:
    """One draft, or several; each may be a text such as `eagle3:3`."""
    one = {"anyOf": [{"type": "string"}, whole["items"]]}
    return {"anyOf": [*one["anyOf"], whole | {"items": one}]}


def _are_distinct(drafts: tuple[Draft, ...]) -> tuple[Draft, ...]:
    twice = repeated(draft.name for draft in drafts)
    if twice:
        raise ValueError(f"{twice} stands there twice")
    return drafts


Drafts = Annotated[tuple[Draft, ...], Field(max_length=8), InShort(_as_list, _in_short), AfterValidator(_are_distinct)]
"""Speculative decoding that replicas may run with; each does where that pays, or without."""


class AlternativeModel(Strict):
    """Another model that may serve a workload."""

    model: Annotated[ModelName, NameOf("model", wildcards=False)]
    quality: Annotated[float, Number, Field(gt=0, le=2)]
    """Its benchmark score as a share of the first model's; the precision's own share multiplies it."""
    speculation: Drafts = ()


class LoraAdapters(Strict):
    """Fine-tuned adapters that replicas of one model serve."""

    count: PositiveWhole
    rank: Annotated[int, Number, Field(ge=1, le=1024)]
