"""A choice that someone proposes instead of the plan's: what it covers, and the scenario solved on nothing else."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.errors import Finding, did_you_mean, some_of
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.options import WorkloadOptions, re_rated
from optimizer.performance.candidates.selecting import taken
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA, OFFER_CRITERIA
from optimizer.performance.market.market import Market
from optimizer.plan.question.inquiry import Inquiry

OF_OFFERS: Final = ("gpu", "provider", "region", "pricing_term")
OF_CONFIGURATIONS: Final = ("gpu", "precision", "engine", "tensor_parallel")
MENDABLE: Final = tuple(item.name for item in CONFIGURATION_CRITERIA if item.requirement and not item.predicted)
"""Criteria of configurations that the scenario's author can lift by editing it, whatever else holds."""


@dataclass(frozen=True)
class Choice:
    """What is proposed; fields left out may be anything, names may hold wildcards."""

    gpu: str | None = None
    provider: str | frozenset[str] | None = None
    """One, or the only ones there are."""
    precision: str | None = None
    tensor_parallel: int | None = None
    pricing_term: str | None = None
    engine: str | None = None
    region: str | None = None
    workload: str | None = None
    """The only workload whose configurations are forced; offers are forced for the whole plan."""

    def given(self) -> dict[str, str | int]:
        """The fields that were said."""
        said = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: _in_words(value) for name, value in said if value is not None}

    def words(self) -> str:
        """The choice as people say it."""
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.given().items())

    def covers(self, thing: object, names: Collection[str]) -> bool:
        """Whether an offer or a configuration is of the proposed kind, as far as those fields tell."""
        wanted = ((getattr(thing, name), getattr(self, name)) for name in names)
        return all(asked is None or _alike(value, asked) for value, asked in wanted)


def _in_words(value: str | int | frozenset[str]) -> str | int:
    return " or ".join(sorted(value)) if isinstance(value, frozenset) else value


def _alike(value: str | int, asked: str | int | frozenset[str]) -> bool:
    if isinstance(asked, frozenset):
        return value in asked
    return fnmatchcase(value, asked) if isinstance(value, str) and isinstance(asked, str) else value == asked


def unknown(choice: Choice, inquiry: Inquiry) -> Iterator[Finding]:
    """Every name of the choice that means nothing in the catalogs or the scenario."""
    catalogs, names = inquiry.catalogs, [workload.name for workload in inquiry.scenario.workloads]
    for field, known in {**_known(catalogs), "workload": names}.items():
        asked = getattr(choice, field)
        if asked is not None and not any(fnmatchcase(name, asked) for name in known):
            hint = did_you_mean(asked, known) or f"known: {some_of(sorted(known))}"
            yield Finding("why-not", 0, f"--{field.replace('_', '-')}", f"'{asked}' matches nothing", hint)
    if not choice.given().keys() - {"workload"}:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in (*OF_OFFERS, *OF_CONFIGURATIONS[1:]))
        yield Finding("why-not", 0, "", "nothing to compare the plan with", f"give at least one of {options}")


def _known(catalogs: Catalogs) -> dict[str, list[str]]:
    offers = catalogs.offers
    return {
        "gpu": list(catalogs.gpus),
        "provider": sorted({offer.provider for offer in offers}),
        "region": sorted({offer.region for offer in offers}),
        "pricing_term": sorted({offer.pricing_term for offer in offers}),
        "precision": list(catalogs.schemes),
        "engine": [engine.id for engine in catalogs.engines.values() if engine.plannable],
    }


def offers_of(choice: Choice, market: Market) -> Flags:
    """(O,) the offers that the choice covers; where it is about one workload, its GPU does not bind the others."""
    names = OF_OFFERS if choice.workload is None else [name for name in OF_OFFERS if name != "gpu"]
    return _covered(choice, market.offers, names)


def rows_of(choice: Choice, options: WorkloadOptions) -> Flags:
    """(P,) the workload's configurations that the choice covers; all where another workload is meant."""
    if choice.workload is not None and choice.workload != options.workload.name:
        return np.ones(len(options.configurations), dtype=np.bool_)
    return _covered(choice, options.configurations, OF_CONFIGURATIONS)


def _covered(choice: Choice, things: Sequence[object], names: Collection[str]) -> Flags:
    """(N,) which of many things the choice covers; things alike in what is asked are judged once."""
    asked = [name for name in names if getattr(choice, name) is not None]
    if not asked:
        return np.ones(len(things), dtype=np.bool_)
    values = [tuple(getattr(thing, name) for name in asked) for thing in things]
    first = dict(zip(values, things, strict=True))
    fits = {value: choice.covers(thing, asked) for value, thing in first.items()}
    return np.array([fits[value] for value in values], dtype=np.bool_)


def forced(inquiry: Inquiry, choice: Choice, lifted: Collection[str] = ()) -> Inquiry | None:
    """The inquiry with nothing but the choice, no hosted API either; None where it covers no configuration on offer.

    Args:
        inquiry: The whole question.
        choice: What is proposed.
        lifted: Criteria not held against it: of offers, or `MENDABLE`.
    """
    wanted = offers_of(choice, inquiry.market)
    offer_mask = np.array([criterion.name not in lifted for criterion in OFFER_CRITERIA])
    failed = (inquiry.market.failed & offer_mask) | ~wanted[:, None]
    options = []
    for each in inquiry.options:
        on_offer: Flags = np.any(each.fits[:, wanted], axis=1)[each.kind]
        rows = np.flatnonzero(rows_of(choice, each) & on_offer)
        options.append(_without(taken(each, rows), lifted) if len(rows) else taken(each, rows))
    served = {each.workload.name for each in options if each.configurations}
    if any(workload.name not in served for workload in inquiry.scenario.workloads):
        return None
    policy = inquiry.scenario.policy
    kinds = tuple(kind for kind in policy.hosting if kind not in ("serverless", "per_second"))
    machines = policy.model_copy(update={"hosting": kinds})
    scenario = inquiry.scenario.model_copy(update={"policy": machines})
    return replace(inquiry, scenario=scenario, market=replace(inquiry.market, failed=failed), options=tuple(options))


def _without(options: WorkloadOptions, lifted: Collection[str]) -> WorkloadOptions:
    """The options with some criteria not held against them, which needs rates where there were none."""
    names = [name for name in MENDABLE if name in lifted]
    if not names:
        return options
    fixed = {name: np.zeros_like(bad) if name in names else bad for name, bad in options.fixed.items()}
    free = replace(options, fixed=fixed)
    return re_rated(free, options.workload, free.limits.margins)
