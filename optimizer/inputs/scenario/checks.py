"""A scenario held against the catalogs: every name it uses must mean something there."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from optimizer.base.errors import Finding
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.adapters import refused_adapters
from optimizer.inputs.scenario.fields import MAX_RATE
from optimizer.inputs.scenario.names import unknown_names
from optimizer.inputs.scenario.restating import is_known
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.inputs.scenario.yaml_lines import Document

STATED_OTHERWISE: Final = ("users", "tokens_per_day", "deadline")
"""Fields of a workload that say how much is asked, and are no rate until a scenario is loaded."""


def check_scenario(scenario: Scenario, catalogs: Catalogs) -> tuple[Finding, ...]:
    """Every reference of the scenario that the catalogs can't answer, and every prompt that no model can hold.

    Raises:
        TypeError: a name or a file in place of a scenario, as notebooks have it that no type checker sees.
    """
    if not isinstance(scenario, Scenario):
        raise TypeError(f"expected a Scenario, not {scenario!r}: load_scenario reads one by its name or its file")
    names = unknown_names(Document("scenario", scenario.model_dump(), {}), Scenario, catalogs)
    found = [replace(finding, line=0) for finding in names]
    found += (finding for workload in scenario.workloads for finding in _workload(workload, catalogs))
    if scenario.policy.migration is not None and scenario.policy.migration.from_plan is not None:
        found.append(_unread("policy.migration.from_plan", scenario.policy.migration.from_plan))
    return tuple(sorted(found))


def outgrown(scenario: Scenario, factors: Iterable[tuple[int, float]]) -> Iterator[Finding]:
    """Growth that leads beyond the rates that a scenario may ask for, where programs stay well scaled.

    Args:
        scenario: With the rates of the first month.
        factors: Months, rising, each with its demand over that of the first; several of one month where it may be
            any of them.
    """
    known = list(factors)
    for workload in scenario.workloads:
        if not workload.peak_is_known:
            continue
        peak = workload.peak_requests_per_second()
        first = next((month for month, factor in known if peak * factor > MAX_RATE), None)
        if first is not None:
            problem = f"{workload.name} grows beyond {MAX_RATE:,.0f} requests/s in month {first}"
            yield Finding("scenario", 0, "lifecycle", problem, "lower growth, or fewer months")


def _workload(workload: Workload, catalogs: Catalogs) -> Iterator[Finding]:
    """What is asked of a workload's models that they cannot do; names that nobody knows are told elsewhere."""
    path = f"workloads[{workload.name}]"
    models = [workload.model, *(item.model for item in workload.alternatives)]
    for name in models:
        if is_known(name, catalogs):
            yield from _asked_of(name, workload, path, catalogs)
    unasked = {
        "reasoning": workload.reasoning is not None and is_known(workload.model, catalogs),
        "lengths": workload.lengths in catalogs.length_profiles,
        "speculation": any(draft.accepted_tokens is None for name in models for draft in workload.drafts_of(name)),
    }
    yield from _not_loaded(workload, path)
    for field in (name for name, is_unasked in unasked.items() if is_unasked):
        problem = "the catalogs were not asked yet"
        yield Finding("scenario", 0, f"{path}.{field}", problem, "load_scenario(source, catalogs) asks them")


def _not_loaded(workload: Workload, path: str) -> Iterator[Finding]:
    """What becomes a rate and lengths where a scenario is loaded; one that is built in Python may still name it."""
    if workload.trace is not None and workload.request_classes is None:
        yield _unread(f"{path}.trace", workload.trace)
    elif workload.demand is not None and workload.demand.profile is not None:
        yield _unread(f"{path}.demand.profile", workload.demand.profile)
    elif not workload.peak_is_known:
        asked = next((name for name in STATED_OTHERWISE if getattr(workload, name) is not None), "demand")
        yield _unread(f"{path}.{asked}", "how much is asked")


def _unread(field: str, what: object) -> Finding:
    hint = "write the scenario to a file: load_scenario(file) reads it, with the files beside it"
    return Finding("scenario", 0, field, f"{what} was not read yet", hint)


def _asked_of(name: str, workload: Workload, path: str, catalogs: Catalogs) -> Iterator[Finding]:
    """Adapters that it cannot serve, requests that it cannot hold."""
    model = catalogs.model(name)
    if workload.lora_adapters is not None:
        yield from refused_adapters(workload.lora_adapters, model, f"{path}.lora_adapters")
    known = workload.request_classes is not None or workload.input_tokens is not None
    for item in workload.classes() if known else ():
        needed = item.longest_tokens
        if needed > model.max_context_tokens:
            problem = f"{needed:,} tokens of prompt and answer exceed the context of {name}"
            yield Finding("scenario", 0, path, problem, f"at most {model.max_context_tokens:,}")
