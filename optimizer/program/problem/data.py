"""What a purchase problem is made of: the traffic, what may run, what may be bought, and the limits on it all."""

from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.requirements.declaration import Requirement
from optimizer.inputs.requirements.registry import BY_NAME

Labels: TypeAlias = tuple[str, ...]

LOSSES = ("instance", "region", "provider", "spot_offer")
"""What `Limits.survive` may name."""


@dataclass(frozen=True)
class QuotaLimit:
    """At most `max_gpus` bought over the offers listed (indices into the problem's offers)."""

    name: str
    offers: tuple[int, ...]
    max_gpus: int


@dataclass(frozen=True)
class Limits:
    """What the scenario's policy allows; None and the neutral values add nothing to the program.

    Attributes:
        spare_on_other_instances: Whether each candidate still serves its flow after the loss of any one instance.
        survive: Losses (of `LOSSES`) after which the rest still carries the whole demand at full rate.
        max_changes: Replicas that may be started or stopped against those in force.
        usd_per_change: What each of these costs, once, counted in the month.
        max_replicas: (workload, most replicas of it at once), for those that are limited.
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
    spare_on_other_instances: bool = False
    survive: tuple[str, ...] = ()
    min_providers: int = 1
    min_regions: int = 1
    quotas: tuple[QuotaLimit, ...] = ()
    max_changes: int | None = None
    usd_per_change: float = 0.0
    max_replicas: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.max_utilization <= 1:
            raise ValueError(f"max_utilization must be in (0, 1], not {self.max_utilization}")
        if self.spare_replicas < 0:
            raise ValueError(f"spare_replicas must not be negative, not {self.spare_replicas}")
        if any(most < 1 for _, most in self.max_replicas):
            raise ValueError(f"max_replicas must leave one, not {self.max_replicas}")
        if not set(self.survive) <= set(LOSSES):
            raise ValueError(f"survive knows {', '.join(LOSSES)}, not {self.survive}")

    @cached_property
    def in_force(self) -> tuple[Requirement, ...]:
        """The requirements that limit the problem: those that differ from what asks nothing."""
        asked = (item for item in fields(self) if item.default is not MISSING)
        return tuple(BY_NAME[item.name] for item in asked if getattr(self, item.name) != item.default)

    @cached_property
    def names_in_force(self) -> frozenset[str]:
        """Their names."""
        return frozenset(item.name for item in self.in_force)


@dataclass(frozen=True)
class Ceiling:
    """How simple a plan must be beside what the scenario asks: counts that it may not exceed; None limits nothing.

    Attributes:
        places: Providers, of machines and of hosted APIs, and regions of machines, added up.
        instances: That run at once.
    """

    places: int | None = None
    instances: int | None = None

    @property
    def in_force(self) -> bool:
        """Whether it limits anything."""
        return self != Ceiling()


@dataclass(frozen=True, eq=False)
class Fullest:
    """How much of each demand the fullest instance or place carries, where a search has divided that; empty where it
    may be any.

    Attributes:
        least, most: (D,) shares of a demand.
        weighed: Whether a program finds out itself how much more than the least it is.
    """

    least: Floats = field(default_factory=lambda: np.zeros(0))
    most: Floats = field(default_factory=lambda: np.zeros(0))
    weighed: bool = False

    @property
    def divided(self) -> bool:
        """Whether it is known between what shares it lies."""
        return bool(len(self.least))


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
        paid_share: (T, K) requests that are asked, and paid for where money goes by the request, as a share of
            `demand_per_s`: on average over a period's hours, which are planned for their highest. Empty where all are.
    """

    classes: Labels
    workload: Labels
    demand_per_s: Floats
    mixes: Floats
    share_of_month: Floats
    start_share: Floats
    least_replicas: Ints
    paid_share: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def periods(self) -> int:
        """How many periods of a month differ."""
        return len(self.share_of_month)

    @property
    def changes(self) -> tuple[Ints, Ints]:
        """(X,) the periods before and after each change that a start is paid at."""
        before, after = np.nonzero(self.start_share)
        return before, after

    def during(self, periods: Ints) -> "Traffic":
        """The traffic of some periods, with the starts between them; their shares stay those of the whole month."""
        return replace(
            self,
            demand_per_s=self.demand_per_s[periods],
            share_of_month=self.share_of_month[periods],
            start_share=self.start_share[np.ix_(periods, periods)],
            least_replicas=self.least_replicas[periods],
            paid_share=self.paid_share[periods] if self.paid_share.size else self.paid_share,
        )


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


class Indexed:
    """Arrays and labels with one entry for each of `ids`."""

    ids: Labels

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, order: Ints) -> Self:
        """Those listed, in the order listed."""
        return type(self)(**{name: _selected(values, order) for name, values in vars(self).items()})


@dataclass(frozen=True, eq=False)
class Candidates(Indexed):
    """What may run: each candidate is one configuration on one offer.

    Attributes:
        ids: (C,) unique.
        offer: (C,) index of the offer it runs on.
        configuration, engine: (C,) labels counted by `max_distinct_configurations` and `max_engines`.
        gpus_per_replica: (C,) a power of two, at most the offer's GPU count.
        rate_per_s: (C, M) requests/s of a mix that one replica sustains when it serves hardly anything else, within the
            SLA of each class of its mixes; 0 for a mix it does not serve. Every candidate serves mixes of one workload.
        replicas_in_force: (C,) that run today, against which changes are counted.
    """

    ids: Labels
    offer: Ints
    configuration: Labels
    engine: Labels
    gpus_per_replica: Ints
    rate_per_s: Floats
    replicas_in_force: Ints


@dataclass(frozen=True, eq=False)
class Offers(Indexed):
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


@dataclass(frozen=True, eq=False)
class HostedApis(Indexed):
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


@dataclass(frozen=True, eq=False)
class EgressPrices:
    """What it costs to send answers out to the internet; empty where nothing is charged.

    Attributes:
        gb_per_request: (K,) of the answers of a class.
        usd_per_gb: (O,) what the provider of an offer charges for each; APIs send theirs at their own cost.
    """

    gb_per_request: Floats = field(default_factory=lambda: np.zeros(0))
    usd_per_gb: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def charged(self) -> bool:
        """Whether anything costs anything."""
        return bool(self.gb_per_request.any() and self.usd_per_gb.any())

    def select(self, classes: Ints, offers: Ints) -> "EgressPrices":
        """For the classes and offers listed, in the order listed."""
        if not len(self.gb_per_request):
            return self
        return EgressPrices(self.gb_per_request[classes], self.usd_per_gb[offers])


@dataclass(frozen=True, eq=False)
class Billing:
    """How long an instance is paid for once it has started; empty where it is paid for as long as it runs.

    Attributes:
        minimum_hours: (O,) least hours, 1 where it is paid for as it runs; of no matter for what is always paid.
        hour_to_period: (H,) the period of each hour of the week, which repeats all month.
    """

    minimum_hours: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    hour_to_period: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def select(self, offers: Ints) -> "Billing":
        """For the offers listed, in the order listed."""
        return Billing(self.minimum_hours[offers], self.hour_to_period) if len(self.minimum_hours) else self


@dataclass(frozen=True, eq=False)
class LayoutTerms:
    """How far an instance is bound to the replicas loaded on it while it is paid for.

    Attributes:
        kept: Whether it is bound to them at all; else it holds others in every period.
        followed: (T, T) whether an hour of the first period is followed by one of the second, where an instance that
            served nobody in the first may hold other replicas in the second; empty where none may.
        by_layout: (O,) offers paid by the hour whose instances are counted by what they hold; empty for none. What the
            others hold is arranged once the counts are known.
    """

    kept: bool = True
    followed: Flags = field(default_factory=lambda: np.zeros((0, 0), dtype=np.bool_))
    by_layout: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def select(self, offers: Ints) -> "LayoutTerms":
        """For the offers listed, in the order listed."""
        return replace(self, by_layout=self.by_layout[offers]) if len(self.by_layout) else self


def select_labels(names: Labels, order: Ints) -> Labels:
    """The labels at the positions listed."""
    return tuple(map(names.__getitem__, order.tolist()))


def _selected(values: Labels | Flags | Floats | Ints, order: Ints) -> Labels | Flags | Floats | Ints:
    return select_labels(values, order) if isinstance(values, tuple) else values[order]
