"""What a gate says: one verdict, what broke it, what the difference comes from; published as a JSON schema."""

from typing import Final, Literal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Outcome, Usd

SCHEMA_VERSION: Final = 1

Rule = Literal[
    "max_monthly_usd",
    "max_increase_percent",
    "max_increase_usd",
    "missing_price",
    "zero_price",
    "expired_price",
    "odd_price",
    "no_plan",
    "unproven",
    "not_evaluated",
]
CauseName = Literal["prices", "catalog", "scenario", "calibration", "program"]
CAUSES: Final[tuple[CauseName, ...]] = ("prices", "catalog", "scenario", "calibration", "program")
RULES: Final[dict[Rule, str]] = {
    "max_monthly_usd": "The month costs no more than the budget.",
    "max_increase_percent": "The month costs no more than the baseline plus so many percent.",
    "max_increase_usd": "The month costs no more than the baseline plus so many US dollars.",
    "missing_price": "Everything that the baseline runs on still has a price.",
    "zero_price": "Nothing in the plan is priced at zero.",
    "expired_price": "No price in the plan, or of what the baseline runs on, is older than allowed.",
    "odd_price": "No price in the plan is ten times off what others ask or rests on a discount of over a year ago.",
    "no_plan": "Some plan meets the scenario.",
    "unproven": "The plan is proven to be the cheapest.",
    "not_evaluated": "The gate could be judged at all.",
}
"""What each rule demands, in the order in which they are told."""

Amount = str | float | None
"""US dollars as a decimal string, anything else as a number; None where the rule knows no number."""


class Reason(Strict):
    """A demand that is not met, and where in the scenario to look."""

    rule: Rule
    limit: Amount
    value: Amount
    text: str
    guardrail: str = ""
    """Of a file of guardrails: the name of the rule, `rule` being the limit that it sets."""
    scenario: str | None
    """None where it is about all scenarios together."""
    file: str
    line: int
    """0 where no line of the file is meant."""


class Ruling(Strict):
    """A rule that was applied: kept, broken, broken where that only warns, or skipped, there being nothing to judge."""

    rule: Rule
    scenario: str | None
    state: Literal["kept", "broken", "warned", "skipped"]
    text: str
    guardrail: str = ""
    """Of a file of guardrails: the name of the rule, `rule` being the limit that it sets."""


class Warned(Strict):
    """Something to know that breaks nothing; `rule` where a rule was told to warn only or a name was allowed."""

    rule: Rule | None
    scenario: str | None
    text: str
    guardrail: str = ""
    """Of a file of guardrails: the name of the rule, `rule` being the limit that it sets."""
    file: str = ""
    line: int = 0
    """0 where no line of the file is meant."""


Happened = Literal[
    "price_moved",
    "price_expired",
    "price_gone",
    "price_new",
    "scenario_new",
    "scenario_changed",
    "scenario_removed",
]


class CausedBy(Strict):
    """One price or one scenario that a difference comes from, and the line that says it today."""

    what: Happened
    name: str
    """Of the offer, of the API and whose requests it serves, or of the scenario."""
    before_usd: str | None = None
    """An hour of an offer, a request to an API, a month of a scenario; None where there was none or nobody knows."""
    after_usd: str | None = None
    change_usd: Usd | None = None
    """Of a month: of a price at what the baseline bought, of a scenario its own share; None where it is not known."""
    file: str = ""
    """Empty where nobody could open it: a shipped row, something that is gone."""
    line: int = 0
    text: str


class Cause(Strict):
    """A part of the difference and what it comes from."""

    cause: CauseName
    together_with: list[CauseName]
    """Other causes that changed, too, and cannot be told from this one with what is at hand."""
    change_usd: Usd
    share_percent: Figure | None
    """Of the whole difference; None where that is zero."""
    text: str
    caused_by: list[CausedBy] = Field(default_factory=list)
    """Prices and scenarios by name, what changes the month most first; empty where nothing can be named."""


class Edit(Strict):
    """A field of the scenario that was changed; None on the side where it is not written."""

    field: str
    before: str | None
    after: str | None
    line: int


class DeploymentChange(Strict):
    """One thing that the plan runs or sends elsewhere, before and after."""

    sign: Literal["+", "~", "-", "="]
    what: str
    where: str
    before: str
    """How much of it runs; empty where nothing does."""
    after: str
    before_at: str = ""
    """Instances times the price of an hour, or requests times the price of one; empty where nobody recorded it."""
    after_at: str = ""
    before_usd: Usd | None
    after_usd: Usd | None


class Gated(Strict):
    """One scenario beside its baseline."""

    scenario: str
    file: str
    baseline: str | None
    """The file of the baseline plan; None where there is none."""
    new: bool = False
    """Whether today is compared with before, and there was no plan of this scenario."""
    outcome: Outcome
    before_usd: Usd | None
    after_usd: Usd | None
    change_usd: Usd | None
    change_percent: Figure | None
    causes: list[Cause]
    edits: list[Edit]
    deployments: list[DeploymentChange]
    notes: list[str]


class Removed(Strict):
    """A scenario that had a plan before and is there no more."""

    scenario: str
    baseline: str
    """The file of its plan."""
    before_usd: Usd


class GateReport(Strict):
    """The verdict over all scenarios together; where there is none, the reasons say what is to be mended."""

    verdict: Literal["kept", "broken", "not_evaluated"]
    reasons: list[Reason]
    before_usd: Usd | None
    after_usd: Usd | None
    change_usd: Usd | None
    change_percent: Figure | None
    causes: list[Cause]
    warnings: list[Warned]
    rules: list[Ruling]
    scenarios: list[Gated]
    removed: list[Removed] = Field(default_factory=list)
    catalogs_as_of: str
    pin: str | None
    """Content hash of the catalogs that the answer was pinned to."""
    schema_version: int = SCHEMA_VERSION
