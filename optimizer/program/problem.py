"""The purchase problem as plain numbers: no solver object, no catalog type, nothing to look up elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Quota:
    """At most `max_gpus` bought over the offers listed (indices into the problem's offers)."""

    name: str
    offers: tuple[int, ...]
    max_gpus: int


@dataclass(frozen=True)
class Limits:
    """What the scenario's policy allows; None and the neutral values add nothing to the program."""

    max_utilization: float
    max_gpus: int | None = None
    max_monthly_usd: float | None = None
    max_distinct_configurations: int | None = None
    max_power_kw: float | None = None
    max_spot_share: float | None = None
    spare_replicas: int = 0
    min_providers: int = 1
    min_regions: int = 1
    quotas: tuple[Quota, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.max_utilization <= 1:
            raise ValueError(f"max_utilization must be in (0, 1], not {self.max_utilization}")
        if self.spare_replicas < 0:
            raise ValueError(f"spare_replicas must not be negative, not {self.spare_replicas}")


@dataclass(frozen=True, eq=False)
class Problem:
    """What may be bought, what each choice delivers and what must be served.

    A candidate is one configuration on one offer, serving one fixed mix of request classes. K request classes,
    C candidates, O offers.

    Attributes:
        request_classes: (K,) names, `workload/class`.
        demand_per_s: (K,) requests/s to serve, positive.
        candidates: (C,) unique ids.
        offer_index: (C,) the offer a candidate runs on.
        configuration: (C,) the label counted by `max_distinct_configurations`; candidates may share one.
        gpus_per_replica: (C,) a power of two, at most the offer's GPU count.
        replica_rate_per_s: (C,) requests/s of its mix that one replica sustains within the SLA, positive.
        mix: (C, K) requests of class k per request routed to the candidate; rows sum to 1.
        offers: (O,) unique ids.
        price_usd_per_hour: (O,) of a whole instance.
        gpus_per_instance: (O,) GPUs in an instance.
        power_kw_per_instance: (O,) NaN where unknown, which a power limit does not allow.
        provider, region, gpu: (O,) labels.
        spot: (O,) whether the provider may take the instance back.
        limits: What the policy allows.
    """

    request_classes: tuple[str, ...]
    demand_per_s: Floats
    candidates: tuple[str, ...]
    offer_index: Ints
    configuration: tuple[str, ...]
    gpus_per_replica: Ints
    replica_rate_per_s: Floats
    mix: Floats
    offers: tuple[str, ...]
    price_usd_per_hour: Floats
    gpus_per_instance: Ints
    power_kw_per_instance: Floats
    provider: tuple[str, ...]
    region: tuple[str, ...]
    gpu: tuple[str, ...]
    spot: Flags
    limits: Limits

    def __post_init__(self) -> None:
        faults = _shape_faults(self) or _value_faults(self)
        if faults:
            raise ValueError("not a purchase problem: " + "; ".join(faults))


@dataclass(frozen=True, eq=False)
class Sorted:
    """A problem in canonical order, and where each of its entries was in the original."""

    problem: Problem
    candidates: Ints
    offers: Ints


_PER_CANDIDATE = ("candidates", "offer_index", "configuration", "gpus_per_replica", "replica_rate_per_s", "mix")
_PER_OFFER = (
    "offers",
    "price_usd_per_hour",
    "gpus_per_instance",
    "power_kw_per_instance",
    "provider",
    "region",
    "gpu",
    "spot",
)


def sorted_problem(problem: Problem) -> Sorted:
    """The same problem with classes, candidates, offers and quotas in the order of their names.

    Whatever order the input had, the model built from the result has the same bytes.
    """
    classes = _order(problem.request_classes)
    candidates, offers = _order(problem.candidates), _order(problem.offers)
    picked = _picked(problem, candidates, offers)
    quotas = tuple(sorted(picked.limits.quotas, key=lambda quota: (quota.name, quota.offers, quota.max_gpus)))
    ordered = replace(
        picked,
        request_classes=_take(problem.request_classes, classes),
        demand_per_s=problem.demand_per_s[classes],
        mix=picked.mix[:, classes],
        limits=replace(picked.limits, quotas=quotas),
    )
    return Sorted(ordered, candidates, offers)


def restricted(problem: Problem, keep: Flags) -> Problem:
    """The problem with only the candidates where `keep` (C,) is true; offers and their indices stay."""
    return _picked(problem, np.flatnonzero(keep), np.arange(len(problem.offers)))


def compacted(problem: Problem, keep: Flags) -> Sorted:
    """The problem with the candidates where `keep` (C,) is true and only the offers they run on."""
    candidates = np.flatnonzero(keep)
    offers = np.unique(problem.offer_index[candidates])
    return Sorted(_picked(problem, candidates, offers), candidates, offers)


def _picked(problem: Problem, candidates: Ints, offers: Ints) -> Problem:
    """The problem with the listed candidates and offers, in the order listed."""
    position = np.full(len(problem.offers), -1, dtype=np.int64)
    position[offers] = np.arange(len(offers))
    quotas = tuple(
        replace(quota, offers=tuple(sorted(int(position[offer]) for offer in quota.offers if position[offer] >= 0)))
        for quota in problem.limits.quotas
    )
    return replace(
        problem,
        candidates=_take(problem.candidates, candidates),
        offer_index=position[problem.offer_index[candidates]],
        configuration=_take(problem.configuration, candidates),
        gpus_per_replica=problem.gpus_per_replica[candidates],
        replica_rate_per_s=problem.replica_rate_per_s[candidates],
        mix=problem.mix[candidates],
        offers=_take(problem.offers, offers),
        price_usd_per_hour=problem.price_usd_per_hour[offers],
        gpus_per_instance=problem.gpus_per_instance[offers],
        power_kw_per_instance=problem.power_kw_per_instance[offers],
        provider=_take(problem.provider, offers),
        region=_take(problem.region, offers),
        gpu=_take(problem.gpu, offers),
        spot=problem.spot[offers],
        limits=replace(problem.limits, quotas=quotas),
    )


def _order(names: Sequence[str]) -> Ints:
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def _take(names: tuple[str, ...], order: Ints) -> tuple[str, ...]:
    return tuple(names[index] for index in order.tolist())


def _shape_faults(problem: Problem) -> list[str]:
    classes, candidates, offers = len(problem.request_classes), len(problem.candidates), len(problem.offers)
    expected: dict[str, tuple[int, ...]] = dict.fromkeys(_PER_CANDIDATE, (candidates,))
    expected |= dict.fromkeys(_PER_OFFER, (offers,))
    expected |= {"mix": (candidates, classes), "demand_per_s": (classes,), "request_classes": (classes,)}
    values = {field.name: getattr(problem, field.name) for field in fields(problem) if field.name in expected}
    shapes = {name: (len(value),) if isinstance(value, tuple) else value.shape for name, value in values.items()}
    faults = [
        f"{name} has shape {shapes[name]}, not {expected[name]}" for name in expected if shapes[name] != expected[name]
    ]
    named = {"request classes": problem.request_classes, "candidates": problem.candidates, "offers": problem.offers}
    faults += [f"{what} repeat a name" for what, names in named.items() if len(set(names)) != len(names)]
    if not classes:
        faults.append("there is no request class")
    return faults


def _value_faults(problem: Problem) -> list[str]:
    offers, size, index = len(problem.offers), problem.gpus_per_replica, problem.offer_index
    if ((index < 0) | (index >= offers)).any():
        return ["offer_index points outside the offers"]
    listed = {offer for quota in problem.limits.quotas for offer in quota.offers}
    power = problem.power_kw_per_instance
    wrong = {
        "demand_per_s must be positive and finite": ~(np.isfinite(problem.demand_per_s) & (problem.demand_per_s > 0)),
        "replica_rate_per_s must be positive and finite": ~(
            np.isfinite(problem.replica_rate_per_s) & (problem.replica_rate_per_s > 0)
        ),
        "price_usd_per_hour must be positive and finite": ~(
            np.isfinite(problem.price_usd_per_hour) & (problem.price_usd_per_hour > 0)
        ),
        "gpus_per_replica must be a power of two": (size < 1) | (size & (size - 1) != 0),
        "gpus_per_replica exceeds the instance": size > problem.gpus_per_instance[index],
        "mix must be non-negative with rows that sum to 1": ~(
            (problem.mix >= 0).all(axis=1) & np.isclose(problem.mix.sum(axis=1), 1.0)
        ),
        "a power limit needs the power of every offer": np.isnan(power) & (problem.limits.max_power_kw is not None),
        "a quota points outside the offers": np.array([not 0 <= offer < offers for offer in listed], dtype=np.bool_),
    }
    return [text for text, flags in wrong.items() if flags.any()]
