"""The purchase problem as plain numbers: no solver object, no catalog type, nothing to look up elsewhere."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.data import (
    Billing,
    Candidates,
    Ceiling,
    EgressPrices,
    Fullest,
    HostedApis,
    Labels,
    LayoutTerms,
    Limits,
    Offers,
    Traffic,
    select_labels,
)
from optimizer.program.problem.indices import positions

NO_TOLLS = np.zeros((0, 0))


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
class Demands:
    """Every class that is wanted in a period, by period; D of them.

    Attributes:
        period, request_class: (D,) indices.
        row: (T, K) the number of each; -1 where nothing is wanted.
    """

    period: Ints
    request_class: Ints
    row: Ints

    def __len__(self) -> int:
        return len(self.period)


@dataclass(frozen=True, eq=False)
class Problem:
    """What may be bought, what each choice delivers and what must be served.

    Attributes:
        tolls_usd_per_hour: (T, O) what an instance that runs in a period costs beyond its price, in USD/h over the
            month, for what it takes of something shared with other problems; empty for none. See `tolls`.
    """

    traffic: Traffic
    candidates: Candidates
    offers: Offers
    limits: Limits
    apis: HostedApis = field(default_factory=HostedApis)
    egress: EgressPrices = field(default_factory=EgressPrices)
    billing: Billing = field(default_factory=Billing)
    layouts: LayoutTerms = field(default_factory=LayoutTerms)
    ceiling: Ceiling = field(default_factory=Ceiling)
    fullest: Fullest = field(default_factory=Fullest)
    fullest_place: Fullest = field(default_factory=Fullest)
    tolls_usd_per_hour: Floats = field(default_factory=lambda: NO_TOLLS)

    @cached_property
    def has_minimum_billing(self) -> bool:
        """Whether an offer that comes and goes may be paid for longer than it runs."""
        long = self.billing.minimum_hours > 1
        return bool(self.traffic.periods > 1 and len(long) and (long & ~self.offers.always_paid).any())

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
    def paid_share_of_mix(self) -> Floats:
        """(T, M) `paid_share` of a mix, whose classes are all of one workload and so asked for alike."""
        traffic, shape = self.traffic, (self.traffic.periods, len(self.traffic.mixes))
        return traffic.paid_share[:, traffic.mixes.argmax(axis=1)] if traffic.paid_share.size else np.ones(shape)

    @cached_property
    def demands(self) -> Demands:
        """The rows that the demand has in the program."""
        demand_per_s = self.traffic.demand_per_s
        period, request_class = np.nonzero(demand_per_s)
        row = positions(np.flatnonzero(demand_per_s), demand_per_s.size)
        return Demands(period, request_class, row.reshape(demand_per_s.shape))

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
    mixes: Ints
    candidates: Ints
    offers: Ints
    apis: Ints


def sorted_problem(problem: Problem) -> Sorted:
    """The same problem with classes, mixes, candidates, offers, APIs and quotas in the order of their names.

    Periods and workloads keep their order. Whatever order the rest had, the model built from the result has the same
    bytes.
    """
    classes, apis = _order(problem.traffic.classes), _order(problem.apis.ids)
    mixes = np.lexsort(problem.traffic.mixes[:, classes].T) if len(problem.traffic.mixes) else classes[:0]
    quotas = tuple(sorted(problem.limits.quotas, key=lambda quota: (quota.name, quota.offers, quota.max_gpus)))
    ordered = replace(with_traffic(problem, classes, mixes, apis), limits=replace(problem.limits, quotas=quotas))
    candidates, offers = _order(problem.candidates.ids), _order(problem.offers.ids)
    return Sorted(_select(ordered, candidates, offers), classes, mixes, candidates, offers, apis)


def with_traffic(problem: Problem, classes: Ints, mixes: Ints, apis: Ints) -> Problem:
    """The problem with the listed classes, mixes and hosted APIs, in the order listed."""
    traffic, rate = problem.traffic, problem.candidates.rate_per_s
    return replace(
        problem,
        traffic=replace(
            traffic,
            classes=select_labels(traffic.classes, classes),
            workload=select_labels(traffic.workload, classes),
            demand_per_s=traffic.demand_per_s[:, classes],
            paid_share=traffic.paid_share[:, classes] if traffic.paid_share.size else traffic.paid_share,
            mixes=traffic.mixes[np.ix_(mixes, classes)],
        ),
        candidates=replace(problem.candidates, rate_per_s=rate[:, mixes]),
        apis=replace(problem.apis, mix=positions(mixes, len(traffic.mixes))[problem.apis.mix]).select(apis),
        egress=problem.egress.select(classes, np.arange(len(problem.offers))),
    )


def restricted(problem: Problem, keep: Flags) -> Problem:
    """The problem with only the candidates where `keep` (C,) is true; offers and their indices stay."""
    return _select(problem, np.flatnonzero(keep), np.arange(len(problem.offers)))


def compacted(problem: Problem, keep: Flags) -> Sorted:
    """The problem with the candidates where `keep` (C,) is true and only the offers they run on."""
    candidates = np.flatnonzero(keep)
    offers = np.unique(problem.candidates.offer[candidates])
    mixes, classes = (np.arange(count) for count in problem.traffic.mixes.shape)
    apis = np.arange(len(problem.apis))
    return Sorted(_select(problem, candidates, offers), classes, mixes, candidates, offers, apis)


def _select(problem: Problem, candidates: Ints, offers: Ints) -> Problem:
    """The problem with the listed candidates and offers, in the order listed."""
    position = positions(offers, len(problem.offers))
    quotas = tuple(
        replace(quota, offers=tuple(sorted(p for p in position[list(quota.offers)].tolist() if p >= 0)))
        for quota in problem.limits.quotas
    )
    chosen = problem.candidates.select(candidates)
    return replace(
        problem,
        candidates=replace(chosen, offer=position[chosen.offer]),
        offers=problem.offers.select(offers),
        limits=replace(problem.limits, quotas=quotas),
        egress=problem.egress.select(np.arange(len(problem.traffic.classes)), offers),
        billing=problem.billing.select(offers),
        layouts=problem.layouts.select(offers),
        tolls_usd_per_hour=problem.tolls_usd_per_hour[:, offers] if problem.tolls_usd_per_hour.size else NO_TOLLS,
    )


def _order(names: Labels) -> Ints:
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
