"""The demands of a gate: budgets over all scenarios together, sound prices and a proven plan for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final, Literal, Protocol

from optimizer.answers.gate.baseline import Baseline
from optimizer.answers.gate.plan import Planned
from optimizer.answers.gate.rules.guardrails import Guardrails
from optimizer.answers.gate.rules.price_ages import ages_days, api_name, expired, hosted_names
from optimizer.answers.gate.rules.total import Total
from optimizer.answers.gate.types import Amount, Rule
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import Policy
from optimizer.performance.candidates.options import variants
from optimizer.plan.grounds.odd_prices import odd_prices
from optimizer.plan.record.fields import cents
from optimizer.plan.record.origin import PER_TOKEN

MAX_PRICE_AGE_DAYS = 365
"""Of a price that a pipeline pays without a word, where neither the call nor the policy says."""

NOTHING_BEFORE: Final = "there is no plan to compare with"
NO_TOTAL: Final = "not every scenario has a plan"


@dataclass(frozen=True)
class GateLimits:
    """What is demanded, and what is let through.

    Attributes:
        max_monthly_usd: Of all scenarios together; so the next two, against all baselines together.
        max_increase_percent: Of the baselines' cost.
        max_increase_usd: Over the baselines' cost.
        max_price_age_days: Older prices break the gate; None: as the scenario's policy says, else a year.
        today: From which ages are counted; None: from the date of the catalogs.
        warn_only: Patterns of rules or scenarios that only warn.
        allow_missing_price: Patterns of offers or providers that may lack a price or be priced at zero.
        allow_expired: Patterns of offers or providers whose prices may be old.
        guardrails: Named rules of a file, each over the scenarios in its scope.
    """

    max_monthly_usd: Decimal | None = None
    max_increase_percent: Decimal | None = None
    max_increase_usd: Decimal | None = None
    max_price_age_days: int | None = None
    today: date | None = None
    warn_only: tuple[str, ...] = ()
    allow_missing_price: tuple[str, ...] = ()
    allow_expired: tuple[str, ...] = ()
    guardrails: Guardrails | None = None

    def oldest_days(self, policy: Policy) -> int:
        """How old a price may be."""
        return self.max_price_age_days or policy.max_price_age_days or MAX_PRICE_AGE_DAYS


@dataclass(frozen=True)
class Case:
    """One scenario with today's plan and its plan of before.

    Attributes:
        compared: Whether any scenario has a plan of before, or had one.
        new: Whether plans of before were looked for, and there is none of this scenario.
    """

    file: ScenarioFile
    planned: Planned
    baseline: Baseline | None
    compared: bool = False
    new: bool = False

    @property
    def name(self) -> str:
        """Of the scenario."""
        return self.file.scenario.name

    @property
    def change_usd(self) -> Decimal | None:
        """A month of today's plan over the baseline's; without a baseline it is new, and cost nothing before."""
        after, before = self.planned.plan.monthly_cost_usd, self.baseline.usd if self.baseline else Decimal(0)
        return after - before if after is not None and self.compared else None

    @property
    def policy(self) -> Policy:
        """Of the scenario."""
        return self.file.scenario.policy


@dataclass(frozen=True)
class Verdict:
    """A rule that was applied.

    Attributes:
        scenario: None where the rule is about all of them together.
        broken: Whether its demand is not met.
        let_through: Why it only warns where it is broken: its name was allowed, or its guardrail yields.
        guardrail: The name of the rule in a file; empty for demands of the call.
        skipped: Whether there is nothing to judge it by.
        field: Field of the scenario to look at.
        priced: The offer or API whose price it is about, to be looked at first.
        scope: The scenarios that a guardrail is about; empty where that is all of them.
    """

    rule: Rule
    scenario: str | None
    broken: bool
    text: str
    limit: Amount = None
    value: Amount = None
    let_through: str = ""
    skipped: bool = False
    field: str = ""
    priced: str = ""
    guardrail: str = ""
    scope: tuple[str, ...] = ()

    def state(self, limits: GateLimits) -> Literal["kept", "broken", "warned", "skipped"]:
        """`warned` where it is broken and was let through by name or told to warn only."""
        if self.skipped:
            return "skipped"
        if not self.broken:
            return "kept"
        rules = tuple(filter(None, (self.rule, self.guardrail)))
        of_one = (self.scenario, *(f"{self.scenario}:{rule}" for rule in rules)) if self.scenario else ()
        only_warns = any(fnmatchcase(name, pattern) for pattern in limits.warn_only for name in (*rules, *of_one))
        return "warned" if self.let_through or only_warns else "broken"


class MoneyLimits(Protocol):
    """What may be demanded of a month's cost."""

    @property
    def max_monthly_usd(self) -> Decimal | None:
        """At most so much a month."""

    @property
    def max_increase_usd(self) -> Decimal | None:
        """At most so much more than before."""

    @property
    def max_increase_percent(self) -> Decimal | None:
        """The same as a share of what it cost before."""


def budgets(limits: MoneyLimits, total: Total) -> Iterator[Verdict]:
    """The limits on money; what cannot be judged is skipped and says why."""
    before, known = total.before_usd, total.known_usd
    if limits.max_monthly_usd is not None:
        yield _unless_unknown(_budget(limits.max_monthly_usd, known), total)
    increases: dict[Rule, Decimal | None] = {
        "max_increase_usd": limits.max_increase_usd,
        "max_increase_percent": limits.max_increase_percent,
    }
    for rule, most in increases.items():
        if most is None:
            continue
        if before is None:
            yield _skipped(rule, NOTHING_BEFORE)
        else:
            judge = _increase_usd if rule == "max_increase_usd" else _increase_percent
            yield _unless_unknown(judge(most, before, known), total)


def _unless_unknown(verdict: Verdict, total: Total) -> Verdict:
    """Of what is known: where a scenario has no plan that is the least, which may break a limit and cannot keep it."""
    if total.after_usd is not None:
        return verdict
    if not verdict.broken:
        return _skipped(verdict.rule, NO_TOTAL)
    return replace(verdict, text=f"{verdict.text}; scenarios without a plan are not counted")


def _skipped(rule: Rule, why: str) -> Verdict:
    return Verdict(rule, None, False, f"{rule} is not judged: {why}", skipped=True)


def _budget(most: Decimal, after: Decimal) -> Verdict:
    over = after - most
    compared = f"{_usd(over)} over" if over > 0 else "within"
    text = f"{_usd(after)} a month is {compared} the budget of {_usd(most)}"
    return Verdict("max_monthly_usd", None, over > 0, text, limit=_digits(most), value=_digits(after))


def _increase_usd(most: Decimal, before: Decimal, after: Decimal) -> Verdict:
    change = after - before
    broken, size = change > most, _signed(change, _usd(abs(change)))
    text = f"{size} a month ({_usd(before)} → {_usd(after)}) is {_than(broken)} the {_usd(most)} allowed"
    return Verdict("max_increase_usd", None, broken, text, limit=_digits(most), value=_digits(change))


def _increase_percent(most: Decimal, before: Decimal, after: Decimal) -> Verdict:
    """Compared as money, so that no rounding decides; from nothing, any cost is too much."""
    change, step = after - before, f"{_usd(before)} → {_usd(after)}"
    broken = change * 100 > most * before
    if before == 0:
        text = f"{step}: there was nothing before of which {most:f} % could be allowed"
        return Verdict("max_increase_percent", None, broken, text, limit=float(most))
    percent = change / before * 100
    size = _signed(percent, f"{abs(percent):,.1f}")
    text = f"{size} % a month ({step}) is {_than(broken)} the {most:f} % allowed"
    return Verdict("max_increase_percent", None, broken, text, limit=float(most), value=round(float(percent), 6))


def proof(case: Case) -> Iterator[Verdict]:
    """Whether there is a plan, and whether it is the cheapest."""
    name, outcome, gap = case.name, case.planned.plan.outcome, case.planned.relative_gap
    without = outcome == "infeasible"
    if outcome != "unproven":
        yield Verdict("no_plan", name, without, case.planned.summary if without else f"{name} has a plan")
    if case.planned.plan.ended_simply:
        text = f"{name}: a simple plan, proven to cost as little more than the cheapest as simplicity may"
        yield Verdict("unproven", name, False, text, limit=0.0, value=0.0)
    elif outcome in ("feasible", "unproven"):
        text = case.planned.summary or f"{name}: the plan is not proven, one up to {gap or 0:.2%} cheaper may exist"
        yield Verdict("unproven", name, True, text, limit=0.0, value=gap)
    elif not without:
        yield Verdict("unproven", name, False, f"{name}: proven optimal", limit=0.0, value=0.0)


def sound_prices(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """Prices that are missing, zero, too old or odd, each by name; one kept verdict for a rule that nothing breaks."""
    found = [*_missing(case, catalogs, limits), *_zero(case, catalogs, limits), *_expired(case, catalogs, limits)]
    found += _odd(case, catalogs)
    yield from found
    texts: dict[Rule, str] = {
        "missing_price": "everything the baseline runs on is still priced",
        "zero_price": "nothing is priced at zero",
        "expired_price": "no price is too old",
        "odd_price": "no price is far from what others ask",
    }
    if case.baseline is None:
        del texts["missing_price"]
    for rule, text in texts.items():
        if not any(verdict.rule == rule for verdict in found):
            yield Verdict(rule, case.name, False, f"{case.name}: {text}")


def _missing(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """What the baseline pays for and the catalogs no longer list."""
    if case.baseline is None:
        return
    plan = case.baseline.plan
    offers = {paid.offer for paid in plan.purchases} - {offer.id for offer in catalogs.offers}
    apis = {each.name for each in plan.hosted} - hosted_names(catalogs)
    for name in (*sorted(offers), *sorted(apis)):
        text = f"the baseline runs on {name}, which has no price today"
        yield Verdict("missing_price", case.name, True, text, let_through=_named(name, limits.allow_missing_price))


def _zero(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """Hosted APIs that could serve a workload for nothing: a price nobody filled in, or a promotion that ends.

    A plan leaves them out; instances without a price are refused when the catalogs are read.
    """
    if "serverless" not in case.policy.hosting:
        return
    models = {catalogs.model(variant.workload.model).id for variant in variants(case.file.scenario)}
    for row in catalogs.serverless:
        given = [amount for column in PER_TOKEN if (amount := getattr(row, column)) is not None]
        if row.model in models and case.policy.providers.permits(row.provider) and given and not any(given):
            name = api_name(row)
            yield Verdict(
                "zero_price",
                case.name,
                broken=True,
                text=f"{name} is priced at zero and left out",
                value="0.00",
                let_through=_named(name, limits.allow_missing_price),
                field="policy.hosting",
            )


def _expired(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """What the plan pays and is too old, and what the baseline pays and the policy therefore admits no more."""
    most, policy_days = limits.oldest_days(case.policy), case.policy.max_price_age_days
    ages = ages_days(case.planned.plan, catalogs, limits.today)
    found = {name: (most, age, "allowed") for name, age in ages.items() if age > most}
    left_out = expired(case.baseline.plan, policy_days, catalogs) if case.baseline else {}
    found |= {name: (policy_days or 0, age, "the policy allows: left out") for name, age in left_out.items()}
    for name, (limit, age_days, why) in found.items():
        yield Verdict(
            "expired_price",
            case.name,
            broken=True,
            text=f"the price of {name} is {age_days} days old, more than the {limit} {why}",
            limit=float(limit),
            value=float(age_days),
            let_through=_named(name, limits.allow_expired),
            field="policy.max_price_age_days",
            priced=name,
        )


def _odd(case: Case, catalogs: Catalogs) -> Iterator[Verdict]:
    """Prices that may be right and seldom are; whoever had them confirmed lets the rule warn."""
    paid = (each.offer for each in case.planned.plan.purchases)
    for name, text in odd_prices(catalogs, paid):
        yield Verdict("odd_price", case.name, True, f"{name}: {text}", field="policy.providers", priced=name)


def _named(name: str, patterns: Sequence[str]) -> str:
    """That an offer is allowed, where it is named: by its id, its provider, or a pattern of either."""
    named = any(fnmatchcase(each, pattern) for pattern in patterns for each in (name, name.split("/")[0]))
    return "allowed by name" if named else ""


def _usd(amount: Decimal) -> str:
    """To the cent, and further where that would hide by how much a limit is passed."""
    return f"${amount.normalize():,f}" if amount != cents(amount) else f"${amount:,.2f}"


def _digits(amount: Decimal) -> str:
    """The same for machines."""
    return f"{amount.normalize():f}" if amount != cents(amount) else f"{amount:.2f}"


def _signed(amount: Decimal, size: str) -> str:
    return f"{'−' if amount < 0 else '+'}{size}"


def _than(broken: bool) -> str:
    return "more than" if broken else "within"
