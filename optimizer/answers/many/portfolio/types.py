"""What a portfolio asks and answers: services, what they share, who pays for what."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.inputs.scenario.yaml_lines import Document
from optimizer.plan.record.explanation import Relaxation
from optimizer.plan.record.fields import Figure, Outcome, Usd
from optimizer.plan.record.fleet import Deployment, Hosted, Period, Purchase
from optimizer.plan.record.report import Verification

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True)
class PortfolioFiles:
    """The scenarios of a folder, and what they share.

    Attributes:
        name: Of the portfolio: its own, or the folder's.
        files: The scenarios, their names distinct.
        portfolio: What they share; nothing where there is no `portfolio.yaml`.
        document: Where that stands; None where it does not.
    """

    name: str
    files: tuple[ScenarioFile, ...]
    portfolio: Portfolio
    document: Document | None = None


class PoolShare(Strict):
    """What one service has of a pool."""

    scenario: str
    instances_at_most: int
    """In its busiest hour."""
    instance_hours_per_month: Figure
    share_percent: Figure
    """Of the pool's hours that anybody uses."""


class PlannedPool(Strict):
    """A pool, what of it is signed for and who uses it."""

    name: str
    offer: str
    """As the catalogs name it."""
    instances: int
    max_instances: int
    price_usd_per_hour: Decimal
    monthly_cost_usd: Usd
    busiest_instances: int
    """In the hour in which most of it is used."""
    used_percent: Figure
    """Of the hours that are paid for."""
    shares: list[PoolShare]


class LimitUse(Strict):
    """A shared limit and how near the plans come to it."""

    field: str
    unit: str
    limit: int
    busiest: int
    """In the hour in which most of it is used."""
    alone: int
    """The same where every service is planned alone, which may be more than there is."""
    usd_per_unit_month: Usd
    """About what one unit more would be worth, by the prices of the last round; 0 where an instance has room."""


class ServiceShare(Strict):
    """One service: its plan, its own bill and what it pays of all."""

    scenario: str
    file: str
    alone_usd: Usd | None
    """The cheapest plan of this scenario for itself."""
    bill_usd: Usd
    """What is bought for it apart from pools."""
    pays_usd: Usd
    """Its part of all."""
    plan: str
    """In a phrase."""
    like: str | None
    """Another service that asks the same and was planned once with it."""
    holds: bool | None
    """Whether all promises hold in simulated requests; None where nobody could tell."""
    deployments: tuple[Deployment, ...]
    purchases: tuple[Purchase, ...]
    hosted: tuple[Hosted, ...]
    periods: tuple[Period, ...]
    verification: Verification


class Conflicting(Strict):
    """A shared limit that the services cannot keep together."""

    requirement: str
    value: JsonValue
    text: str


class PortfolioReport(Strict):
    """The whole answer to `optimizer portfolio`."""

    schema_version: int = SCHEMA_VERSION
    portfolio: str
    outcome: Outcome
    reason: str
    summary: str
    monthly_cost_usd: Usd | None
    bound_usd: Usd | None
    bound_of: str
    relative_gap: Figure | None
    wanted_gap: Figure
    alone_usd: Usd | None
    """What all services cost where each is planned alone, whether or not that keeps what they share."""
    alone_keeps_limits: bool | None
    """Whether those plans keep the shared limits."""
    services: list[ServiceShare]
    kinds: int
    """Services that differ; equal ones are solved once."""
    pools: list[PlannedPool]
    limits: list[LimitUse]
    split_rule: str
    conflict: list[Conflicting]
    relaxations: list[Relaxation]
    """One shared limit raised so far that all services have plans, solved again; the cheapest first."""
    rounds: int
    plans_found: int
    verification: Verification
    """Of what is shared; each service's own stands with it."""
    notes: list[str]


@dataclass(frozen=True)
class ServiceAlone:
    """What is known of a kind of service before prices: its plan alone.

    Attributes:
        outcome: Of the plan alone.
        usd: Of the cheapest; None without a plan.
        hour_to_period: (168,) the hours that it tells apart.
        use: (L, 168) units of each shared limit that the plan alone takes.
        plan: The number by which the service knows it; -1 where it buys what can be had in a pool alone.
    """

    outcome: Outcome
    usd: Decimal | None
    hour_to_period: tuple[int, ...]
    use: tuple[tuple[int, ...], ...]
    plan: int = -1


@dataclass(frozen=True)
class PortfolioInputs:
    """What every worker is told once."""

    catalogs: Catalogs
    portfolio: Portfolio
    scenarios: Mapping[int, ScenarioFile]
