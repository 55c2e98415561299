"""A plan as it will be shown, with what it must be held against, and how the checks find their way in it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property
from operator import attrgetter

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, OWNED, SPOT
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Policy, RequestClass, Scenario, Workload
from optimizer.performance.physics.memory import MemoryUse, memory_use
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.uncertainty.evidence import Margins, margins
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fleet import Deployment, Period, PlannedFleet, Purchase

CENT_TOLERANCE = Decimal("0.01")

DISK_UNIT = "USD/GB-month"
EGRESS_ITEM, EGRESS_UNIT = "egress to the internet", "USD/GB"

Finding = tuple[bool, str]
Findings = Iterator[Finding]

PLACE = ("provider", "region", "instance_type", "gpu", "pricing_term", "commitment_months")
place_of_deployment = attrgetter(*PLACE, "gpus_per_instance")
place_of_offer = attrgetter(*PLACE, "gpu_count")
setup_of = attrgetter(
    *("workload", "model", "engine", "gpu", "precision", "kv_precision", "speculation"),
    *("tensor_parallel", "pipeline_parallel"),
)
"""What tells the replicas of deployments, or of the plan in force, apart beside their place."""


@dataclass(frozen=True)
class Precision:
    """How exactly a plan states its figures, so how far an honest one may be from what is computed from it.

    Attributes:
        figure: Relative, of figures and of what is computed from a few of them.
        latency: Relative, of what is predicted at a stated load: a queue answers a rounded load by more than it.
        latency_ms: Absolute, beside it.
        unit_price: Relative, of prices by the request or the token.
        flow: Relative, of money that is counted from flows.
        share_usd: By how much each share of a sum may be rounded.
    """

    figure: float
    latency: float
    latency_ms: float
    unit_price: float
    flow: float
    share_usd: Decimal


EXACT = Precision(figure=1e-6, latency=1e-5, latency_ms=0.0, unit_price=1e-6, flow=0.0, share_usd=Decimal(0))
"""Of plans in memory: routing comes from a linear program in floating point, concurrency from a bisection."""

WRITTEN = Precision(
    figure=2e-5, latency=1e-4, latency_ms=0.0005, unit_price=1e-3, flow=1e-5, share_usd=Decimal("0.005")
)
"""Of plan files: figures to six digits, latencies to three decimals, prices by the request to four digits, money to the
cent (`plan/record/fields.py`)."""


@dataclass(frozen=True)
class Claim:
    """A plan with the scenario and the catalogs that it must be true for."""

    scenario: Scenario
    catalogs: Catalogs
    fleet: PlannedFleet
    precision: Precision = EXACT
    avoided: tuple[str, ...] = ()
    """Fields of the scenario that avoid something which the plan does not rest on."""

    def same(self, own: float, shown: float) -> bool:
        """Whether a figure is what is computed, as exactly as the plan states it."""
        return math.isclose(own, shown, rel_tol=self.precision.figure)

    def flow_usd(self, amount: Fraction) -> Decimal:
        """How far an amount may be off that is counted from flows."""
        return Decimal(repr(float(amount) * self.precision.flow))

    def predicted_same(self, own: float, shown: float) -> bool:
        """Whether a figure is what is predicted at a load, which the plan states only so exactly."""
        return math.isclose(own, shown, rel_tol=self.precision.latency)

    def same_latency(self, own_ms: float, shown_ms: float) -> bool:
        """Whether a latency is what is predicted, as exactly as the plan states it and the load."""
        precision = self.precision
        return abs(own_ms - shown_ms) <= precision.latency_ms + precision.latency * abs(own_ms)

    @cached_property
    def bought(self) -> tuple[tuple[Purchase, Offer], ...]:
        """Each purchase with its offer, looked up in the catalogs again."""
        offers = {offer.id: offer for offer in self.catalogs.offers}
        return tuple((item, offers[item.offer]) for item in self.fleet.purchases if item.offer in offers)

    @cached_property
    def placed(self) -> tuple[tuple[Deployment, Purchase, Offer], ...]:
        """Each deployment with the instances that hold it; those that nobody bought are left out."""
        found = {place_of_offer(offer): (purchase, offer) for purchase, offer in self.bought}
        pairs = ((d, found.get(place_of_deployment(d))) for d in self.fleet.deployments)
        return tuple((d, *pair) for d, pair in pairs if pair)

    @cached_property
    def setup(self) -> Setup:
        """What the catalogs know of the configurations of `placed`, a row each."""
        return gather(self.catalogs, self._configurations)

    @cached_property
    def margins(self) -> Margins:
        """Of their predictions, with the confidence that is asked for, a row each."""
        return margins(self.catalogs, self._configurations, self.policy.confidence)

    @cached_property
    def memory(self) -> MemoryUse:
        """What fills a GPU's memory there, a row each."""
        return memory_use(self.setup)

    @property
    def _configurations(self) -> list[Configuration]:
        return [configuration(d, offer) for d, _, offer in self.placed]

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """The scenario's workloads by name."""
        return {workload.name: workload for workload in self.scenario.workloads}

    @cached_property
    def period_of_hour(self) -> tuple[int, ...]:
        """(168,) the period that the plan puts each hour of the week in, Monday 0 h first."""
        period_of = {hour: item.period for item in self.fleet.periods for hour in hours_of(item)}
        return tuple(period_of[hour] for hour in range(HOURS_PER_WEEK))

    @property
    def policy(self) -> Policy:
        """The scenario's policy."""
        return self.scenario.policy

    def classes(self, workload: str) -> tuple[RequestClass, ...]:
        """The request classes of a workload; none where nobody asked for it."""
        return self.workloads[workload].classes() if workload in self.workloads else ()

    def knows_model(self, name: str) -> bool:
        """Whether the catalogs have a model of that name."""
        return name in self.catalogs.models or name.casefold() in self.catalogs.aliases

    def models(self, workload: str) -> dict[str, float]:
        """The models that may serve a workload with their score against the first; none where nobody asked for it."""
        if workload not in self.workloads:
            return {}
        asked = self.workloads[workload]
        return {asked.model: 1.0} | {item.model: item.quality for item in asked.alternatives}

    def instances_by_hour(self, purchase: Purchase, offer: Offer) -> list[int]:
        """(168,) instances in each hour of the week: those that run, or all that are always paid."""
        by_hour = [purchase.schedule[period].instances for period in self.period_of_hour]
        return [max(by_hour)] * HOURS_PER_WEEK if offer.pricing_term in ALWAYS_PAID else by_hour

    def serving_share(self, offer: Offer) -> float:
        """Share of the time in which a replica serves: on spot the rest goes to interruptions."""
        spot = self.policy.spot
        if spot is None or offer.pricing_term != SPOT:
            return 1.0
        return 1.0 - spot.interruptions_per_month * spot.recovery_minutes / (HOURS_PER_MONTH * MINUTES_PER_HOUR)

    def network_ms(self, workload: Workload, offer: Offer) -> float:
        """The round trip of the farthest users; infinite where users are somewhere and nobody knows how far."""
        for pattern, own_ms in (workload.network_ms or {}).items():
            if fnmatchcase(offer.region, pattern):
                return own_ms
        if not workload.users_in:
            return 0.0 if workload.network_ms is None else math.inf
        rows = self.catalogs.terms.round_trips
        found = [rows.get((where, offer.provider, offer.region)) for where in workload.users_in]
        return max(math.inf if row is None else row.rtt_ms for row in found)

    def asked_per_s(self, workload: Workload) -> tuple[float, ...]:
        """(168,) requests/s in every hour of the week, from the scenario's own profile."""
        if workload.demand is None:
            return (workload.peak_requests_per_second(),) * HOURS_PER_WEEK
        return workload.demand.weekly()

    @cached_property
    def asked_share(self) -> dict[str, tuple[float, ...]]:
        """By workload (168,) what is asked in each hour as a share of the highest of its period; 0 where nothing is."""
        return {name: self._shares_of_highest(self.asked_per_s(workload)) for name, workload in self.workloads.items()}

    def _shares_of_highest(self, asked_per_s: tuple[float, ...]) -> tuple[float, ...]:
        highest = [max(asked_per_s[hour] for hour in hours_of(period)) for period in self.fleet.periods]
        pairs = zip(asked_per_s, self.period_of_hour, strict=True)
        return tuple(asked / highest[period] if asked else 0.0 for asked, period in pairs)

    def disk_prices(self, offer: Offer) -> list[Decimal]:
        """What the offer's provider asks for a GB of block storage for a month; nothing for one's own hardware."""
        rows = self.catalogs.ancillary if offer.provider_kind != OWNED else ()
        return [row.value for row in rows if (row.provider, row.unit) == (offer.provider, DISK_UNIT)]

    def egress_prices(self, offer: Offer) -> list[Decimal]:
        """What the offer's provider asks for a GB sent to the internet; nothing for one's own site."""
        rows = self.catalogs.ancillary if offer.provider_kind != OWNED else ()
        sought = (offer.provider, EGRESS_UNIT, EGRESS_ITEM)
        return [row.value for row in rows if (row.provider, row.unit, row.item) == sought]


def configuration(d: Deployment, offer: Offer) -> Configuration:
    """What a deployment runs, as predictions know it."""
    link, speed = ("none", None) if d.gpus_per_replica == 1 else (offer.link, offer.link_gb_per_s)
    plain = Configuration(
        d.engine, d.model, d.gpu, d.precision, d.kv_precision, d.tensor_parallel, d.pipeline_parallel, link, speed
    )
    return with_draft(plain, d)


def with_draft(plain: Configuration, shown: Deployment | Containers) -> Configuration:
    """A configuration with the draft that a plan shows of it; the tokens are those that stand in its name."""
    if not shown.speculation:
        return plain
    tokens = shown.speculation.rpartition(":")[-1]
    drafted, accepted = int(tokens) if tokens.isdecimal() else 0, shown.accepted_tokens or 1.0
    return plain._replace(draft_tokens=drafted, accepted_tokens=accepted, speculation=shown.speculation)


def hours_of(period: Period) -> tuple[int, ...]:
    """The hours of the week that a period stands for."""
    return tuple(hour for first, last in period.hours_of_week for hour in range(first, last + 1))
