"""The form beside the text: which field of a scenario each of its inputs is, read from the text and written back."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.base.units import HOURS_PER_DAY
from optimizer.inputs.scenario.policy import DEFAULT_CONFIDENCE
from optimizer.inputs.scenario.scenario import RATES, Scenario
from optimizer.serve.page.scenario_text import content_of, value_at, with_values, workload_steps


@dataclass(frozen=True)
class FormField:
    """One input.

    Attributes:
        name: Of the input.
        field: Path in the scenario, `workloads[]` standing for the workload that the form shows.
        label: Before it.
        unit: Behind it.
        hint: Below it; empty where the label says all.
        listed: Whether it holds names between commas.
    """

    name: str
    field: str
    label: str
    unit: str = ""
    hint: str = ""
    listed: bool = False


NAME: Final = FormField("name", "name", "Name")
WORKLOAD: Final = FormField("workload", "workloads[].name", "Workload")
MODEL: Final = FormField("model", "workloads[].model", "Model", hint="type to search; a Hugging Face name will do")
RATE: Final = FormField("requests_per_second", "workloads[].requests_per_second", "In the busiest hour", "requests/s")
USERS: Final = (
    FormField("users", "workloads[].users", "At work in the busiest hour", "people"),
    FormField("requests_per_user_hour", "workloads[].requests_per_user_hour", "Each of them asks", "requests/h"),
)
DAY: Final = (
    FormField("peak", "workloads[].demand.peak_requests_per_second", "In the highest hour", "requests/s"),
    FormField("weekend_factor", "workloads[].demand.weekend_factor", "At the weekend", "× a weekday"),
)
LENGTHS: Final = (
    FormField("input_tokens", "workloads[].input_tokens", "Prompt", "tokens"),
    FormField("output_tokens", "workloads[].output_tokens", "Answer", "tokens"),
    FormField("cached_input_share", "workloads[].cached_input_share", "Of the prompt cached", "share"),
)
PROMISES: Final = (
    FormField("ttft_p95", "workloads[].slo.ttft_ms.p95", "First token, 95 of 100", "ms"),
    FormField("tpot_mean", "workloads[].slo.tpot_ms.mean", "Each further token, mean", "ms"),
    FormField("e2e_p95", "workloads[].slo.e2e_ms.p95", "Whole answer, 95 of 100", "ms"),
    FormField("min_quality", "workloads[].min_quality", "Of the 16-bit quality kept", "share"),
)
POLICY: Final = (
    FormField("max_monthly_usd", "policy.max_monthly_usd", "Budget", "$ a month"),
    FormField("max_gpus", "policy.max_gpus", "At most", "GPUs"),
    FormField("spare_replicas", "policy.spare_replicas", "Spare", "replicas"),
    FormField(
        "confidence", "policy.confidence", "Confidence", "share", hint="of unseen measurements the bound held for"
    ),
    FormField(
        "regions", "policy.regions.allow", "Regions", hint="such as eu-*, us-east-1; none allows all", listed=True
    ),
    FormField("providers", "policy.providers.allow", "Providers", hint="none allows all", listed=True),
)
TERMS_FIELD: Final = "policy.pricing_terms"
HOURLY_FIELD: Final = "workloads[].demand.hourly"
PLAIN_FIELDS: Final = (NAME, WORKLOAD, MODEL, *LENGTHS, *PROMISES, *POLICY)
BY_KIND: Final[Mapping[str, tuple[FormField, ...]]] = {"rate": (RATE,), "users": USERS, "day": DAY}
"""The ways to say how much is asked that the form knows; any other stays as the text says."""
DEFAULTS: Final = {"confidence": str(DEFAULT_CONFIDENCE), "weekend_factor": "1"}
"""What an input shows as taken where the text says nothing."""
NOON_PEAK: Final = tuple(min(hour, HOURS_PER_DAY - hour) for hour in range(HOURS_PER_DAY))
"""The day that one begins to draw from: a ramp to noon and back."""


class FormValues(Strict):
    """What the form shows; a page holds it beside the form, so that it is known what was changed there.

    Attributes:
        inputs: By the name of the input, as typed.
        kind: How demand is said: one of `BY_KIND`, or `text`.
        hours: (24,) the drawn day, midnight first.
        terms: Pricing terms that are admitted.
        workloads: How a path names each of them.
        at: Position of the one whose fields are shown.
    """

    inputs: dict[str, str]
    kind: str
    hours: tuple[float, ...]
    terms: tuple[str, ...]
    workloads: tuple[str, ...]
    at: int = Field(ge=0)


def form_values(text: str, at: int = 0) -> FormValues:
    """What the form shows of a scenario's text.

    Args:
        text: Of the scenario.
        at: Position of the workload to show; the last one where there are fewer.

    Raises:
        InputError: the text cannot be read.
    """
    content = content_of(text)
    workloads = workload_steps(content)
    at = min(at, max(len(workloads) - 1, 0))
    shown = _step(workloads, at)
    fields = (*PLAIN_FIELDS, *(field for fields in BY_KIND.values() for field in fields))
    drawn = value_at(content, _path(HOURLY_FIELD, shown))
    terms = value_at(content, TERMS_FIELD)
    return FormValues(
        inputs={field.name: _shown(value_at(content, _path(field.field, shown))) for field in fields},
        kind=_kind(content, shown),
        hours=tuple(drawn) if _is_day(drawn) else NOON_PEAK,
        terms=tuple(map(str, terms)) if isinstance(terms, list) else ("on_demand",),
        workloads=workloads,
        at=at,
    )


def applied(text: str, posted: Mapping[str, str], terms: Iterable[str], before: FormValues | None = None) -> str:
    """The text with whatever has been changed in the form; each other field stays as it was written.

    Args:
        text: The scenario as it stands.
        posted: The inputs by name; `demand` is the kind, `hour_0` to `hour_23` the drawn day, `lengths` a profile as
            `1024x256`.
        terms: Pricing terms that are ticked.
        before: What the form showed before it was changed, where the text may have moved on since.

    Raises:
        InputError: the text cannot be read.
        FieldError: it holds something else where the form would write.
    """
    content, before = content_of(text), before or form_values(text)
    workload = _step(workload_steps(content), before.at)
    kind = posted.get("demand", before.kind)
    typed = {**posted, **_lengths(posted.get("lengths", ""))}
    changes: dict[str, Any] = {
        _path(field.field, workload): _read(typed[field.name].strip(), field)
        for field in (*PLAIN_FIELDS, *BY_KIND.get(kind, ()))
        if field.name in typed and typed[field.name].strip() != before.inputs.get(field.name, "")
    }
    hours = tuple(_number(posted.get(f"hour_{hour}", "0")) for hour in range(HOURS_PER_DAY))
    if kind == "day" and (hours != before.hours or before.kind != "day"):
        changes[_path(HOURLY_FIELD, workload)] = list(hours)
    if kind in BY_KIND and kind != before.kind:
        changes |= dict.fromkeys(_other_ways(content, workload, kind))
    if (chosen := tuple(terms)) != before.terms:
        changes[TERMS_FIELD] = list(chosen) or None
    if (name := _path(WORKLOAD.field, workload)) in changes:
        # the last of all: the paths of its other fields hold the name that it had
        changes[name] = changes.pop(name)
    return with_values(text, changes)


def _other_ways(content: Mapping[str, Any], workload: str, kind: str) -> list[str]:
    """The fields that say how much is asked in another way than this."""
    said = {"rate": {"requests_per_second"}, "users": {"users", "requests_per_user_hour"}, "day": {"demand"}}[kind]
    names = {*RATES, "requests_per_user_hour", "trace"} - said
    return [f"workloads[{workload}].{name}" for name in sorted(names) if _has(content, workload, name)]


def length_profiles(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Lengths of prompt and answer as the shipped scenarios have them: `1024x256` to what it is like."""
    found: dict[str, str] = {}
    for scenario in scenarios:
        for workload in scenario.workloads:
            if workload.input_tokens is not None and workload.output_tokens is not None:
                lengths = f"{workload.input_tokens:,} in, {workload.output_tokens:,} out"
                found.setdefault(
                    f"{workload.input_tokens}x{workload.output_tokens}",
                    f"{lengths}: {workload.name} of {scenario.name}",
                )
    return dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split("x")))))


def _step(workloads: Sequence[str], at: int) -> str:
    """How a path names a workload; a place where there is none."""
    return workloads[at] if at < len(workloads) else str(at)


def _path(field: str, workload: str) -> str:
    return field.replace("[]", f"[{workload}]", 1)


def _has(content: Mapping[str, Any], workload: str, name: str) -> bool:
    return value_at(content, f"workloads[{workload}].{name}") is not None


def _kind(content: Mapping[str, Any], workload: str) -> str:
    """How the text says how much is asked, as far as the form knows the way."""
    said = {name for name in (*RATES, "trace") if _has(content, workload, name)}
    if said == {"demand"} and _is_day(value_at(content, f"workloads[{workload}].demand.hourly")):
        return "day"
    ways = {frozenset({"requests_per_second"}): "rate", frozenset({"users"}): "users", frozenset(): "rate"}
    return ways.get(frozenset(said), "text")


def _is_day(drawn: Any) -> bool:
    """Whether there is a height for each hour: a number that can be drawn, and none without end."""
    if not isinstance(drawn, list) or len(drawn) != HOURS_PER_DAY:
        return False
    return all(isinstance(item, int | float) and abs(item) <= sys.float_info.max for item in drawn)


def _lengths(profile: str) -> dict[str, str]:
    tokens = profile.split("x")
    return dict(zip(("input_tokens", "output_tokens"), tokens, strict=True)) if len(tokens) == 2 else {}


def _shown(value: Any) -> str:
    """A value as one types it."""
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _read(typed: str, field: FormField) -> Any:
    """What was typed as the scenario holds it; None for nothing, and text where it is no number."""
    if not typed:
        return None
    if field.listed:
        return [name.strip() for name in typed.split(",") if name.strip()]
    return _number(typed) if field.unit else typed


def _number(typed: str) -> Any:
    """Whole where it is whole; what is no number stays as typed, and the check says so."""
    try:
        value = float(typed)
    except ValueError:
        return typed
    return int(value) if value.is_integer() else value
