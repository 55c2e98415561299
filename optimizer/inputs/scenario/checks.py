"""A scenario held against the catalogs: every name it uses must mean something there."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.adapters import refused_adapters
from optimizer.inputs.scenario.not_planned import why_not_planned
from optimizer.inputs.scenario.policy import Quota
from optimizer.inputs.scenario.restating import is_known
from optimizer.inputs.scenario.scenario import AllowDeny, Policy, Scenario, Workload

NO_HINTS: Final[Mapping[str, str]] = MappingProxyType({})


def check_scenario(scenario: Scenario, catalogs: Catalogs) -> tuple[Finding, ...]:
    """Every reference of the scenario that the catalogs can't answer, and every prompt that no model can hold."""
    found = [
        *(finding for workload in scenario.workloads for finding in _workload(workload, catalogs)),
        *_policy(scenario.policy, catalogs),
        *_training(scenario, catalogs),
        *_price_changes(scenario, catalogs),
    ]
    return tuple(sorted(found))


def _workload(workload: Workload, catalogs: Catalogs) -> Iterator[Finding]:
    path = f"workloads[{workload.name}]"
    yield from _model(workload.model, workload, f"{path}.model", path, catalogs)
    for position, item in enumerate(workload.alternatives):
        at = f"{path}.alternatives[{position}]"
        yield from _model(item.model, workload, f"{at}.model", at, catalogs)
    if workload.reasoning is not None and is_known(workload.model, catalogs):
        problem = "the catalogs were not asked yet"
        yield Finding("scenario", 0, f"{path}.reasoning", problem, "load_scenario(source, catalogs) asks them")
    yield from _places(workload, path, catalogs)
    yield from _network(workload, path, catalogs)


def _model(name: str, workload: Workload, field: str, path: str, catalogs: Catalogs) -> Iterator[Finding]:
    """A model that nobody knows, or that cannot hold the workload's requests."""
    try:
        model = catalogs.model(name)
    except InputError as error:
        hint = why_not_planned(name)
        yield from (Finding("scenario", 0, field, found.problem, hint or found.hint) for found in error.findings)
        return
    if workload.lora_adapters is not None:
        yield from refused_adapters(workload.lora_adapters, model, f"{path}.lora_adapters")
    for item in workload.classes():
        needed = item.input_tokens + item.output_tokens
        if needed > model.max_context_tokens:
            problem = f"{needed:,} tokens of prompt and answer exceed the context of {name}"
            yield Finding("scenario", 0, path, problem, f"at most {model.max_context_tokens:,}")


def _network(workload: Workload, path: str, catalogs: Catalogs) -> Iterator[Finding]:
    """Where users are, and how far from which regions."""
    known = sorted({geography for geography, _, _ in catalogs.terms.round_trips})
    for name in workload.users_in:
        if name not in known:
            hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
            yield Finding("scenario", 0, f"{path}.users_in", f"nobody measured round trips from '{name}'", hint)
    regions = {offer.region for offer in catalogs.offers}
    yield from _names(workload.network_ms or {}, regions, f"{path}.network_ms")


def _places(asking: Workload | Policy, path: str, catalogs: Catalogs) -> Iterator[Finding]:
    """Providers, regions and countries that a policy or a workload allows or denies."""
    hosts = {row.provider for row in catalogs.serverless if row.model} | {row.provider for row in catalogs.per_second}
    yield from _lists(asking.providers, hosts | {offer.provider for offer in catalogs.offers}, f"{path}.providers")
    countries = {name for region in catalogs.terms.regions.values() for name in region.names}
    in_words = dict.fromkeys(countries, f"{path}.countries is where countries are named")
    yield from _lists(asking.regions, {offer.region for offer in catalogs.offers}, f"{path}.regions", in_words)
    yield from _lists(asking.countries, countries, f"{path}.countries")


def _policy(policy: Policy, catalogs: Catalogs) -> Iterator[Finding]:
    regions = {offer.region for offer in catalogs.offers}
    yield from _places(policy, "policy", catalogs)
    yield from _lists(policy.gpus, catalogs.gpus, "policy.gpus")
    engines = {engine.id for engine in catalogs.engines.values() if engine.plannable}
    yield from _names(policy.engines, engines, "policy.engines")
    yield from _names(policy.precisions, catalogs.schemes, "policy.precisions")
    kv_precisions = {name for engine in catalogs.engines.values() for name in engine.kv_precisions}
    yield from _names(policy.kv_precisions, kv_precisions, "policy.kv_precisions")
    yield from check_quotas(policy.quotas, catalogs, "policy.quotas")
    if policy.grid is not None and policy.grid.g_co2_per_kwh is not None:
        yield from _names(policy.grid.g_co2_per_kwh, regions, "policy.grid.g_co2_per_kwh")


def check_quotas(quotas: Iterable[Quota], catalogs: Catalogs, path: str) -> Iterator[Finding]:
    """Quotas of what nobody sells, which would limit nothing."""
    providers, regions = ({getattr(offer, name) for offer in catalogs.offers} for name in ("provider", "region"))
    for quota in quotas:
        where = f"{path}[{quota.name}]"
        yield from _names([quota.provider], providers, f"{where}.provider")
        yield from _names([quota.region], regions, f"{where}.region")
        yield from _names([quota.gpu], catalogs.gpus, f"{where}.gpu")


def _training(scenario: Scenario, catalogs: Catalogs) -> Iterator[Finding]:
    for run in scenario.lifecycle.training if scenario.lifecycle else ():
        if run.gpu is not None:
            yield from _names([run.gpu], catalogs.gpus, f"lifecycle.training[{run.name}].gpu")


def _price_changes(scenario: Scenario, catalogs: Catalogs) -> Iterator[Finding]:
    horizon = scenario.lifecycle.horizon if scenario.lifecycle else None
    if horizon is None:
        return
    providers = {offer.provider for offer in catalogs.offers}
    where = [("lifecycle.horizon.price_changes", horizon.price_changes)]
    where += [(f"lifecycle.horizon.branches[{b.name}].price_changes", b.price_changes) for b in horizon.branches]
    for path, changes in where:
        for change in changes:
            yield from _names(change.gpus, catalogs.gpus, f"{path}.gpus")
            yield from _names(change.providers, providers, f"{path}.providers")


def _lists(lists: AllowDeny, known: Iterable[str], path: str, hints: Mapping[str, str] = NO_HINTS) -> Iterator[Finding]:
    known = sorted(known)
    yield from _names(lists.allow, known, f"{path}.allow", hints)
    yield from _names(lists.deny, known, f"{path}.deny", hints)


def _names(
    patterns: Iterable[str], known: Iterable[str], path: str, hints: Mapping[str, str] = NO_HINTS
) -> Iterator[Finding]:
    """A finding for each pattern that names nothing, with a hint of its own or the nearest names."""
    known = sorted(known)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            hint = hints.get(pattern) or did_you_mean(pattern, known) or f"known: {_some(known)}"
            yield Finding("scenario", 0, path, f"'{pattern}' matches nothing in the catalogs", hint)


def _some(names: list[str], count: int = 12) -> str:
    rest = len(names) - count
    return ", ".join(names[:count]) + (f" and {rest} more" if rest > 0 else "")
