"""The purchase problem as plain numbers: no solver object, no catalog type, nothing to look up elsewhere."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = tuple[str, ...]

LOSSES = ("instance", "region", "provider", "spot_offer")
"""What `Limits.survive` may name."""


@dataclass(frozen=True)
class Quota:
    """At most `max_gpus` bought over the offers listed (indices into the problem's offers)."""

    name: str
    offers: tuple[int, ...]
    max_gpus: int


@dataclass(frozen=True)
class Limits:
    """What the scenario's policy allows; None and the neutral values add nothing to the program.

    Attributes:
        survive: Losses (of `LOSSES`) after which the rest still carries the whole demand at full rate.
        max_changes: Replicas that may be started or stopped against those in force.
        usd_per_change: What each of these costs, once, counted in the month.
    """

    max_utilization: float
    max_gpus: int | None = None
    max_monthly_usd: float | None = None
    max_distinct_configurations: int | None = None
    max_engines: int | None = None
    max_power_kw: float | None = None
    max_carbon_kg_per_month: float | None = None
    max_spot_share: float | None = None
    max_provider_share: float | None = None
    spare_replicas: int = 0
    survive: tuple[str, ...] = ()
    min_providers: int = 1
    min_regions: int = 1
    quotas: tuple[Quota, ...] = ()
    max_changes: int | None = None
    usd_per_change: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.max_utilization <= 1:
            raise ValueError(f"max_utilization must be in (0, 1], not {self.max_utilization}")
        if self.spare_replicas < 0:
            raise ValueError(f"spare_replicas must not be negative, not {self.spare_replicas}")
        if not set(self.survive) <= set(LOSSES):
            raise ValueError(f"survive knows {', '.join(LOSSES)}, not {self.survive}")


@dataclass(frozen=True, eq=False)
class Traffic:
    """What must be served: request classes over the periods of a month.

    K request classes, T periods, M mixes, W workloads (the distinct labels, sorted).

    Attributes:
        classes: (K,) names, `workload/class`.
        workload: (K,) the workload of each class.
        demand_per_s: (T, K) requests/s; every class is wanted in some period.
        mixes: (M, K) kinds of traffic that a candidate serves: requests of class k per request; rows sum to 1.
        share_of_month: (T,) of its hours; sums to 1.
        start_share: (T, T) share of a month billed for the start of one instance more in the second period than in
            the first: changes from the first to the second x start-up hours / hours of a month.
        least_replicas: (T, W) that a workload keeps running whatever its demand.
    """

    classes: Labels
    workload: Labels
    demand_per_s: Floats
    mixes: Floats
    share_of_month: Floats
    start_share: Floats
    least_replicas: Ints

    @property
    def periods(self) -> int:
        """How many periods a month is told apart in."""
        return len(self.share_of_month)


def steady_traffic(
    classes: Labels, demand_per_s: Floats, mixes: Floats | None = None, workload: Labels | None = None
) -> Traffic:
    """Traffic that is the same all month; by default one workload and each class served alone.

    Args:
        classes: (K,) names.
        demand_per_s: (K,) requests/s.
        mixes: (M, K), one row per class when left out.
        workload: (K,) labels.
    """
    labels = workload or ("workload",) * len(classes)
    return Traffic(
        classes=classes,
        workload=labels,
        demand_per_s=np.asarray(demand_per_s, dtype=float)[None, :],
        mixes=np.eye(len(classes)) if mixes is None else mixes,
        share_of_month=np.ones(1),
        start_share=np.zeros((1, 1)),
        least_replicas=np.zeros((1, len(set(labels))), dtype=np.int64),
    )


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may run: each candidate is one configuration on one offer.

    Attributes:
        ids: (C,) unique.
        offer: (C,) index of the offer it runs on.
        configuration, engine: (C,) labels counted by `max_distinct_configurations` and `max_engines`.
        gpus_per_replica: (C,) a power of two, at most the offer's GPU count.
        rate_per_s: (C, M) requests/s of a mix that one replica sustains within the SLA when it serves nothing else;
            0 for a mix it does not serve. Every candidate serves mixes of one workload.
        replicas_in_force: (C,) that run today, against which changes are counted.
    """

    ids: Labels
    offer: Ints
    configuration: Labels
    engine: Labels
    gpus_per_replica: Ints
    rate_per_s: Floats
    replicas_in_force: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, order: Ints) -> "Candidates":
        """Those listed, in the order listed."""
        return Candidates(
            ids=_take(self.ids, order),
            offer=self.offer[order],
            configuration=_take(self.configuration, order),
            engine=_take(self.engine, order),
            gpus_per_replica=self.gpus_per_replica[order],
            rate_per_s=self.rate_per_s[order],
            replicas_in_force=self.replicas_in_force[order],
        )


@dataclass(frozen=True, eq=False)
class Offers:
    """What may be bought: whole instances at a price.

    Attributes:
        ids: (O,) unique.
        price_usd_per_hour: (O,) of a whole instance.
        gpus_per_instance: (O,).
        power_kw, carbon_kg_per_hour: (O,) of an instance; NaN where unknown, which a limit on it does not allow.
        available: (O,) instances that can be had at most; infinite where nobody says.
        provider, region, gpu: (O,) labels.
        spot: (O,) whether the provider may take the instance back.
        always_paid: (O,) paid all month (committed, owned) rather than by the hour it runs.
    """

    ids: Labels
    price_usd_per_hour: Floats
    gpus_per_instance: Ints
    power_kw: Floats
    carbon_kg_per_hour: Floats
    available: Floats
    provider: Labels
    region: Labels
    gpu: Labels
    spot: Flags
    always_paid: Flags

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, order: Ints) -> "Offers":
        """Those listed, in the order listed."""
        return Offers(
            ids=_take(self.ids, order),
            price_usd_per_hour=self.price_usd_per_hour[order],
            gpus_per_instance=self.gpus_per_instance[order],
            power_kw=self.power_kw[order],
            carbon_kg_per_hour=self.carbon_kg_per_hour[order],
            available=self.available[order],
            provider=_take(self.provider, order),
            region=_take(self.region, order),
            gpu=_take(self.gpu, order),
            spot=self.spot[order],
            always_paid=self.always_paid[order],
        )


@dataclass(frozen=True, eq=False)
class Apis:
    """Hosted models paid by the request, which need no machine.

    Attributes:
        ids: (A,) unique.
        mix: (A,) index of the mix it serves.
        usd_per_request: (A,).
        provider: (A,) labels.
    """

    ids: Labels = ()
    mix: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    usd_per_request: Floats = field(default_factory=lambda: np.zeros(0))
    provider: Labels = ()

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, order: Ints) -> "Apis":
        """Those listed, in the order listed."""
        return Apis(_take(self.ids, order), self.mix[order], self.usd_per_request[order], _take(self.provider, order))


@dataclass(frozen=True, eq=False)
class Streams:
    """Every flow there may be: a candidate (or hosted API) serving a mix in a period that wants it.

    Attributes:
        period, server, mix: (N,) indices; the server is a candidate or an API.
        reach_per_s: (N,) requests/s beyond which every class of the mix gets more than its whole demand:
            max over k of demand[t, k] / mixes[m, k].
    """

    period: Ints
    server: Ints
    mix: Ints
    reach_per_s: Floats

    def __len__(self) -> int:
        return len(self.period)


@dataclass(frozen=True, eq=False)
class Problem:
    """What may be bought, what each choice delivers and what must be served."""

    traffic: Traffic
    candidates: Candidates
    offers: Offers
    limits: Limits
    apis: Apis = field(default_factory=Apis)

    @cached_property
    def reach_per_s(self) -> Floats:
        """(T, M) requests/s of a mix that serve the whole demand of each of its classes; 0 where nothing is wanted."""
        demand, mixes = self.traffic.demand_per_s, self.traffic.mixes
        reach = np.zeros((len(demand), len(mixes)))
        for k in range(demand.shape[1]):
            member = mixes[:, k] > 0
            reach[:, member] = np.maximum(reach[:, member], demand[:, k, None] / mixes[member, k])
        return reach

    @cached_property
    def streams(self) -> Streams:
        """The flows of candidates, by period, candidate and mix."""
        candidate, mix = np.nonzero(self.candidates.rate_per_s)
        return self._wanted(candidate, mix)

    @cached_property
    def api_streams(self) -> Streams:
        """The flows of hosted APIs, by period and API."""
        return self._wanted(np.arange(len(self.apis)), self.apis.mix)

    @cached_property
    def rate_of_stream_per_s(self) -> Floats:
        """(N,) what one replica sustains of each stream."""
        rate: Floats = self.candidates.rate_per_s[self.streams.server, self.streams.mix]
        return rate

    def _wanted(self, server: Ints, mix: Ints) -> Streams:
        wanted = self.reach_per_s[:, mix] > 0
        period, number = np.nonzero(wanted)
        return Streams(period, server[number], mix[number], self.reach_per_s[period, mix[number]])


@dataclass(frozen=True, eq=False)
class Sorted:
    """A problem in canonical order, and where each of its entries was in the original."""

    problem: Problem
    classes: Ints
    candidates: Ints
    offers: Ints
    apis: Ints


def sorted_problem(problem: Problem) -> Sorted:
    """The same problem with classes, mixes, candidates, offers, APIs and quotas in the order of their names.

    Periods and workloads keep their order. Whatever order the rest had, the model built from the result has the same
    bytes.
    """
    classes, apis = _order(problem.traffic.classes), _order(problem.apis.ids)
    mixes = problem.traffic.mixes[:, classes]
    by_row = np.lexsort(mixes.T) if len(mixes) else np.zeros(0, dtype=np.int64)
    traffic = replace(
        problem.traffic,
        classes=_take(problem.traffic.classes, classes),
        workload=_take(problem.traffic.workload, classes),
        demand_per_s=problem.traffic.demand_per_s[:, classes],
        mixes=mixes[by_row],
    )
    quotas = tuple(sorted(problem.limits.quotas, key=lambda quota: (quota.name, quota.offers, quota.max_gpus)))
    ordered = replace(
        problem,
        traffic=traffic,
        candidates=replace(problem.candidates, rate_per_s=problem.candidates.rate_per_s[:, by_row]),
        apis=replace(problem.apis, mix=np.argsort(by_row)[problem.apis.mix]).take(apis),
        limits=replace(problem.limits, quotas=quotas),
    )
    candidates, offers = _order(problem.candidates.ids), _order(problem.offers.ids)
    return Sorted(_picked(ordered, candidates, offers), classes, candidates, offers, apis)


def restricted(problem: Problem, keep: Flags) -> Problem:
    """The problem with only the candidates where `keep` (C,) is true; offers and their indices stay."""
    return _picked(problem, np.flatnonzero(keep), np.arange(len(problem.offers)))


def compacted(problem: Problem, keep: Flags) -> Sorted:
    """The problem with the candidates where `keep` (C,) is true and only the offers they run on."""
    candidates = np.flatnonzero(keep)
    offers = np.unique(problem.candidates.offer[candidates])
    classes, apis = np.arange(len(problem.traffic.classes)), np.arange(len(problem.apis))
    return Sorted(_picked(problem, candidates, offers), classes, candidates, offers, apis)


def _picked(problem: Problem, candidates: Ints, offers: Ints) -> Problem:
    """The problem with the listed candidates and offers, in the order listed."""
    position = np.full(len(problem.offers), -1, dtype=np.int64)
    position[offers] = np.arange(len(offers))
    quotas = tuple(
        replace(quota, offers=tuple(sorted(int(position[offer]) for offer in quota.offers if position[offer] >= 0)))
        for quota in problem.limits.quotas
    )
    chosen = problem.candidates.take(candidates)
    return replace(
        problem,
        candidates=replace(chosen, offer=position[chosen.offer]),
        offers=problem.offers.take(offers),
        limits=replace(problem.limits, quotas=quotas),
    )


def _order(names: Labels) -> Ints:
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def _take(names: Labels, order: Ints) -> Labels:
    return tuple(names[index] for index in order.tolist())
