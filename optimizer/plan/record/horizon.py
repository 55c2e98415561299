"""The answer to when to commit and for how long: what to sign in which month, and what that is worth."""

from datetime import date
from typing import Literal

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Outcome, UnitUsd, Usd


class Signed(Strict):
    """Instances signed for, or bought, in one month."""

    branches: list[str]
    """Those in which it happens; what is signed before branches part is signed in all that may still come."""
    month: int
    last_month: int
    """Of the term, which may lie beyond the horizon."""
    offer: str
    provider: str
    region: str
    instance_type: str
    gpu: str
    gpus_per_instance: int
    pricing_term: str
    term_months: int
    payment: Literal["monthly", "upfront", "bought"]
    instances: int
    usd_per_instance_hour: UnitUsd
    """In the month of signing: of what is prepaid with its discount, of what is bought all costs over its hours."""
    upfront_usd: Usd
    monthly_usd: Usd
    """In each month of the term; both of all instances together."""
    returned_usd: Usd
    """Had back when it is sold, or owed after the last month and still of use."""
    net_present_usd: Usd
    """In the first month's dollars."""
    price_source: str
    price_as_of: date


class Serving(Strict):
    """Instances that serve one kind of requests in some hours of a month."""

    requests_per_second: dict[str, Figure]
    """Of each class, `workload/class`, that one instance sustains of all of them together."""
    offer: str
    """What they run on; of several contracts on one machine the machine's first offer."""
    held: bool
    """Whether they are signed for; else they are paid while they run."""
    gpu: str
    engine: str
    precision: str
    tensor_parallel: int
    pipeline_parallel: int
    replicas_per_instance: int
    instances: int
    usd_per_instance_hour: UnitUsd | None
    """In that month; None of what is held."""


class HoursServed(Strict):
    """HoursServed of a month that are alike."""

    share_of_month: Figure
    hours_of_week: list[int]
    """From Monday's first, 0 to 167."""
    requests_per_second: dict[str, Figure]
    """Asked, by workload and class."""
    serving: list[Serving]


class MonthAhead(Strict):
    """One month of the branches that are not told apart in it."""

    month: int
    branches: list[str]
    probability: Figure
    demand_factor: Figure
    """Of the first month's demand."""
    hours: list[HoursServed]
    bill_usd: Usd
    """Paid in that month, not discounted: what runs, what is due for terms, less what is sold."""
    net_present_usd: Usd
    """Of what is decided in it: what runs, and the whole of what is signed."""


class BranchAhead(Strict):
    """One course of demand and prices under the purchases."""

    name: str
    weight: Figure
    from_month: int
    net_present_usd: Usd
    known_usd: Usd
    """The cheapest purchases for it, had it been known from the start."""
    known_bound_usd: Usd
    """Proven: none costs less."""
    regret_usd: Usd
    """What not knowing costs in this branch: the difference."""


class Strategy(Strict):
    """Another way to decide, on the same demand and prices."""

    name: Literal["on demand alone", "month by month", "the mean branch", "every branch known"]
    outcome: Outcome
    """Whether it has a plan: `infeasible` has none, `unproven` none that was found in time."""
    expected_usd: Usd | None
    """None where no plan is known."""
    bound_usd: Usd | None
    """Of a way that is optimized: none of its kind costs less."""
    more_usd: Usd | None
    """Than the purchases of the answer."""
    regret_usd: Usd | None
    """At the report's quantile."""
    owed_after_usd: Usd | None
    """Due after the last month for terms that outlast it, expected and not discounted."""
    signed_in_first_month: list[str]


class TermBreakEven(Strict):
    """How long an instance must be needed for a term to cost no more than the same machine on demand."""

    offer: str
    term_months: int
    payment: Literal["monthly", "upfront", "bought"]
    months: int | None
    """If signed in the first month; None where neither its months nor those planned are enough, or nobody sells the
    machine on demand."""
    on_demand: str | None
    """The offer it is held against."""
    usd_per_hour: UnitUsd
    on_demand_usd_per_hour: UnitUsd | None


class ObservedPrices(Strict):
    """How prices of a generation moved at a kind of seller, as far as somebody recorded it."""

    seller: str
    architecture: str
    series: int
    percent_per_year: Figure
    """Median."""
    lowest_percent_per_year: Figure
    highest_percent_per_year: Figure
    first: date
    last: date


class Value(Strict):
    """What knowing is worth, as far as the gaps of both sides leave open."""

    usd: Usd
    lowest_usd: Usd
    highest_usd: Usd


class HorizonScope(Strict):
    """What the proof is of."""

    statement: str
    exact: bool
    considered: list[str]
    not_considered: list[str]


class HorizonCheck(Strict):
    """One thing that independent arithmetic found."""

    name: str
    passed: bool
    text: str


class HorizonVerification(Strict):
    """All of it again, by code that shares nothing with the program."""

    passed: bool
    checks: list[HorizonCheck]


class HorizonReport(Strict):
    """When to commit, for how long, and what to wait for."""

    schema_version: int = 1
    scenario: str
    outcome: Outcome
    reason: str
    catalog_as_of: date
    months: int
    growth_percent_per_month: Figure
    discount_percent_per_year: Figure
    pricing_terms: list[str]
    expected_usd: Usd | None
    """Net present cost, weighted over branches."""
    bound_usd: Usd | None
    """No purchases within the scope cost less."""
    relative_gap: Figure | None
    wanted_gap: Figure
    """The search ended where this was proven."""
    owed_after_usd: Usd | None
    sign_now: list[Signed]
    """In the first month."""
    sign_later: list[Signed]
    """By month; what to wait for."""
    branches: list[BranchAhead]
    regret_quantile: Figure
    regret_usd: Usd | None
    """At that quantile over the branches, by weight."""
    strategies: list[Strategy]
    value_of_stochastic_solution: Value | None
    """What it saves to know the branches and not only their mean; None for one branch, and where a limit was reached
    before both costs were proven to within the wanted gap. So the next."""
    value_of_perfect_information: Value | None
    """What it would save to know the branch from the start."""
    break_even: list[TermBreakEven]
    by_month: list[MonthAhead]
    observed_prices: list[ObservedPrices]
    scope: HorizonScope
    verification: HorizonVerification | None
    notes: list[str]
