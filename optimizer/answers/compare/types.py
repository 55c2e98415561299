"""What `optimizer compare` answers: one row a choice, and for hosting the break-evens and what they rest on."""

import operator
from datetime import date
from typing import Final, Literal

from pydantic import Field

from optimizer.answers.bill import BillLine
from optimizer.base.model import Strict
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fields import Figure, Outcome, UnitUsd, Usd

SCHEMA_VERSION: Final = 1

Verdict = Literal["complies", "not_admitted", "fails", "not_compared"]
"""`not_admitted`: it meets the service levels, and a list of the policy keeps it out; `not_compared`: a limit was
reached before it was known whether it has a plan."""


class StoppedBy(Strict):
    """A requirement that a choice fails."""

    requirement: str
    """Path of the scenario's field that would let it in; empty where no scenario can: physics, kernels, supply."""
    text: str


class Compared(Strict):
    """One choice with its best plan; without a plan every figure is null."""

    choice: str
    """Several joined by ` + ` where the unrestricted plan combines them."""
    rank: int | None
    """Among those that comply: 1 the unrestricted plan, then by cost."""
    verdict: Verdict
    outcome: Outcome
    monthly_cost_usd: Usd | None
    """For `not_admitted`, what it would cost if the policy let it in."""
    difference_usd: Usd | None
    """Against the unrestricted plan."""
    cost_per_million_tokens_usd: UnitUsd | None
    """Prompt and answer tokens alike."""
    cost_per_million_output_tokens_usd: UnitUsd | None
    cost_per_request_usd: UnitUsd | None
    gpus: int | None
    idle_gpus: int | None
    """Bought and holding no replica."""
    idle_gpus_usd: Usd | None
    price_age_days: int | None
    """Of the oldest price in the plan."""
    price_confidence: str
    """Of the least certain price in the plan: listed, derived or seed."""
    performance: str
    """The weakest basis in the plan: calibrated, estimated, or promised by an API's provider."""
    discounts: list[str]
    """Negotiated ones that may be shown; private ones are in the price and nowhere else."""
    summary: str
    stopped_by: list[StoppedBy]
    lines: list[BillLine] = Field(default_factory=list)
    """What its plan orders."""


class ApiPrice(Strict):
    """What one request of a class costs at the API that serves it cheapest."""

    workload: str
    request_class: str
    provider: str
    api: str
    usd_per_million_input_tokens: UnitUsd | None
    usd_per_million_output_tokens: UnitUsd | None
    usd_per_million_cached_input_tokens: UnitUsd | None
    usd_per_request: UnitUsd
    """Everything included, at the workload's share of cached prompt tokens."""
    requests_per_month: Figure
    monthly_cost_usd: Usd
    price_as_of: date


class OwnedCost(Strict):
    """A month of hardware of one's own, by what it is made of."""

    offer: str
    instances: int
    parts_usd: dict[str, Usd]
    monthly_cost_usd: Usd


class DemandPoint(Strict):
    """The month at some demand, by hosting; null where that hosting has no plan."""

    requests_per_month: Figure
    monthly_cost_usd: dict[str, Usd | None]


class BreakEven(Strict):
    """Where the cheaper of two ways to host changes."""

    below: str
    """Cheaper with fewer requests."""
    above: str
    """Cheaper with more."""
    requests_per_month: Figure
    monthly_cost_usd: Usd
    solved_again_at: list[Figure] = Field(default_factory=list)
    """Requests a month just below and just above, at which both ways were solved again to a proof and stand in this
    order; empty where their costs are too near one another for it, or a limit was reached before."""
    text: str


class WinningUtilization(Strict):
    """How busy the planned fleet must be for a request on it to cost less than by API."""

    hosting: str
    wins_from: Figure
    """Share of what the fleet sustains within the service levels; above 1 it cannot win."""
    planned: Figure
    text: str


class HostingFacts(Strict):
    """What a choice of hosting rests on."""

    apis: list[ApiPrice]
    containers: list[Containers] = Field(default_factory=list, exclude_if=operator.not_)
    """What is paid by the second, where a way has it."""
    owned: list[OwnedCost]
    curve: list[DemandPoint]
    break_evens: list[BreakEven]
    utilization: list[WinningUtilization]
    notes: list[str]
    not_worked_out: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    """What of the costs at other demands, and of where the order flips, was left out because a limit was reached."""

    @property
    def ways(self) -> list[str]:
        """Those whose cost at other demands is told; none where a limit was reached before the first demand."""
        return list(self.curve[0].monthly_cost_usd) if self.curve else []


class Assumption(Strict):
    """One thing that every row was worked out under."""

    about: Literal["demand", "policy", "catalogs", "program"]
    name: str
    """Path of the scenario's field, else what it is."""
    value: str
    stated: bool
    """Whether the scenario says so; else it is a default, or follows from the rest."""


class SourceOfPrices(Strict):
    """Where prices of the lines come from."""

    title: str
    licence: str
    as_of: date
    url: str
    """Empty where its title names no place."""


class Comparison(Strict):
    """The whole answer to `optimizer compare`."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    by: str
    outcome: Outcome
    """Of the scenario without any restriction."""
    enough: bool = False
    """Whether the search for its cheapest plan ended since a simple one is near enough, as `simplicity.enough` says."""
    summary: str
    notes: list[str] = Field(default_factory=list, exclude_if=operator.not_)
    """Why a row may cost less than the plan, where one may."""
    catalog_as_of: date
    confidence: Figure
    requests_per_month: Figure
    demand_rounding: str = ""
    """How the hours of the week were planned for in the unrestricted plan, and what rounding them up added."""
    choices: list[Compared]
    """Those that comply, the unrestricted plan first and the others by cost, then those the policy does not admit by
    cost, then those that fail by name."""
    hosting: HostingFacts | None
    assumptions: list[Assumption] = Field(default_factory=list)
    sources: list[SourceOfPrices] = Field(default_factory=list)
