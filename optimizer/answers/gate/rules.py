"""The demands of a gate: budgets over all scenarios together, sound prices and a proven plan for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase

from optimizer.answers.gate.baseline import Baseline, GatePlan
from optimizer.answers.gate.plan import Planned
from optimizer.answers.gate.types import Amount, Rule
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import DEFAULT_MAX_PRICE_AGE_DAYS, Policy
from optimizer.performance.candidates.options import variants
from optimizer.plan.record.fields import cents
from optimizer.plan.record.origin import PER_TOKEN


@dataclass(frozen=True)
class GateLimits:
    """What is demanded, and what is let through.

    Attributes:
        max_monthly_usd: Of all scenarios together; so the next two, against all baselines together.
        max_increase_percent: Of the baselines' cost.
        max_increase_usd: Over the baselines' cost.
        max_price_age_days: Older prices break the gate; None: as the scenario's policy says, else the policy's default.
        today: From which ages are counted; None: from the date of the catalogs.
        warn_only: Patterns of rules or scenarios that only warn.
        allow_missing_price: Patterns of offers or providers that may lack a price or be priced at zero.
        allow_expired: Patterns of offers or providers whose prices may be old.
    """

    max_monthly_usd: Decimal | None = None
    max_increase_percent: Decimal | None = None
    max_increase_usd: Decimal | None = None
    max_price_age_days: int | None = None
    today: date | None = None
    warn_only: tuple[str, ...] = ()
    allow_missing_price: tuple[str, ...] = ()
    allow_expired: tuple[str, ...] = ()

    def only_warns(self, rule: Rule, scenario: str | None) -> bool:
        """Whether a broken rule was told to warn only."""
        names = (rule, scenario or "", f"{scenario}:{rule}")
        return any(fnmatchcase(name, pattern) for pattern in self.warn_only for name in names)

    def oldest_days(self, policy: Policy) -> int:
        """How old a price may be."""
        return self.max_price_age_days or policy.max_price_age_days or DEFAULT_MAX_PRICE_AGE_DAYS


@dataclass(frozen=True)
class Case:
    """One scenario with today's plan and the plan it is compared with."""

    file: ScenarioFile
    planned: Planned
    baseline: Baseline | None


@dataclass(frozen=True)
class Verdict:
    """A rule that was applied.

    Attributes:
        broken: Whether its demand is not met.
        allowed: Whether a name was given that lets it through.
        field: Field of the scenario to look at.
    """

    rule: Rule
    scenario: str | None
    broken: bool
    text: str
    limit: Amount = None
    value: Amount = None
    allowed: bool = False
    field: str = ""


def budgets(limits: GateLimits, before: Decimal | None, after: Decimal | None) -> Iterator[Verdict]:
    """The limits on money; none can be judged while a scenario has no plan."""
    if after is None:
        return
    if limits.max_monthly_usd is not None:
        over = after - limits.max_monthly_usd
        said = f"{_usd(over)} over" if over > 0 else "within"
        text = f"{_usd(after)} a month is {said} the budget of {_usd(limits.max_monthly_usd)}"
        yield Verdict("max_monthly_usd", None, over > 0, text, f"{limits.max_monthly_usd:.2f}", f"{after:.2f}")
    if before is None:
        return
    change = after - before
    moved = f"{_usd(before)} → {_usd(after)}"
    if limits.max_increase_usd is not None:
        most, broken = limits.max_increase_usd, change > limits.max_increase_usd
        text = f"{_signed(change)} a month ({moved}) is {_than(broken)} the {_usd(most)} allowed"
        yield Verdict("max_increase_usd", None, broken, text, f"{most:.2f}", f"{change:.2f}")
    if limits.max_increase_percent is not None:
        yield _percent(limits.max_increase_percent, before, change, moved)


def _percent(most: Decimal, before: Decimal, change: Decimal, moved: str) -> Verdict:
    """Compared as money, so that no rounding decides; from nothing, any cost is too much."""
    broken = change * 100 > most * before
    if before == 0:
        text = f"{moved}: there was nothing before of which {most:f} % could be allowed"
        return Verdict("max_increase_percent", None, broken, text, float(most), None)
    percent = change / before * 100
    text = f"{_plus(percent)} % a month ({moved}) is {_than(broken)} the {most:f} % allowed"
    return Verdict("max_increase_percent", None, broken, text, float(most), round(float(percent), 6))


def proof(case: Case) -> Iterator[Verdict]:
    """Whether there is a plan, and whether it is the cheapest."""
    name, outcome = case.file.scenario.name, case.planned.fleet.outcome
    without = outcome == "infeasible"
    if outcome != "unproven":
        yield Verdict("no_plan", name, without, case.planned.summary if without else f"{name} has a plan")
    if outcome in ("feasible", "unproven"):
        gap = case.planned.relative_gap
        text = case.planned.summary or f"{name}: the plan is not proven, one up to {gap or 0:.2%} cheaper may exist"
        yield Verdict("unproven", name, True, text, 0.0, gap)
    elif not without:
        yield Verdict("unproven", name, False, f"{name}: proven optimal", 0.0, 0.0)


def sound_prices(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """Prices that are missing, zero or too old, each by name; one kept verdict for a rule that nothing breaks."""
    found = [*_missing(case, catalogs, limits), *_zero(case, catalogs, limits), *_expired(case, catalogs, limits)]
    yield from found
    compared: dict[Rule, str] = {"missing_price": "everything the baseline runs on is still priced"}
    said = {
        **(compared if case.baseline is not None else {}),
        "zero_price": "nothing is priced at zero",
        "expired_price": "no price is too old",
    }
    for rule, text in said.items():
        if not any(verdict.rule == rule for verdict in found):
            yield Verdict(rule, case.file.scenario.name, False, f"{case.file.scenario.name}: {text}")


def _missing(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """What the baseline pays for and the catalogs no longer list."""
    if case.baseline is None:
        return
    listed = {offer.id for offer in catalogs.offers}
    hosted = {f"{row.provider}/{row.provider_model_name}" for row in catalogs.serverless}
    for name, known in (*((n, listed) for n in _offers(case.baseline.fleet)), *((n, hosted) for n in _apis(case))):
        if name not in known:
            text = f"the baseline runs on {name}, which has no price today"
            allowed = _named(name, limits.allow_missing_price)
            yield Verdict("missing_price", case.file.scenario.name, True, text, allowed=allowed)


def _offers(fleet: GatePlan) -> list[str]:
    return sorted({paid.offer for paid in fleet.purchases})


def _apis(case: Case) -> list[str]:
    sent = case.baseline.fleet.hosted if case.baseline else ()
    return sorted({f"{each.provider}/{each.api}" for each in sent})


def _zero(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    """Hosted APIs that could serve a workload for nothing: a price nobody filled in, or a promotion that ends.

    A plan leaves them out; instances without a price are refused when the catalogs are read.
    """
    scenario = case.file.scenario
    if "serverless" not in scenario.policy.hosting:
        return
    asked = {catalogs.model(variant.workload.model).id for variant in variants(scenario)}
    for row in catalogs.serverless:
        given = [amount for column in PER_TOKEN if (amount := getattr(row, column)) is not None]
        if row.model in asked and scenario.policy.providers.permits(row.provider) and given and not any(given):
            name = f"{row.provider}/{row.provider_model_name}"
            allowed = _named(name, limits.allow_missing_price)
            text = f"{name} is priced at zero and left out"
            yield Verdict("zero_price", scenario.name, True, text, None, "0.00", allowed, "policy.hosting")


def _expired(case: Case, catalogs: Catalogs, limits: GateLimits) -> Iterator[Verdict]:
    most = limits.oldest_days(case.file.scenario.policy)
    for name, age_days in ages_days(case.planned.fleet, catalogs, limits.today).items():
        if age_days > most:
            text = f"the price of {name} is {age_days} days old, more than the {most} allowed"
            allowed = _named(name, limits.allow_expired)
            scenario, field = case.file.scenario.name, "policy.max_price_age_days"
            yield Verdict("expired_price", scenario, True, text, float(most), float(age_days), allowed, field)


def ages_days(fleet: GatePlan, catalogs: Catalogs, today: date | None) -> dict[str, int]:
    """The age of every price that a fleet pays, by the name of its offer or API."""
    until = today or catalogs.as_of
    bought, sent = {paid.offer for paid in fleet.purchases}, {(each.provider, each.api) for each in fleet.hosted}
    dates = {offer.id: offer.as_of for offer in catalogs.offers if offer.id in bought}
    for row in catalogs.serverless:
        if (row.provider, row.provider_model_name) in sent:
            dates[f"{row.provider}/{row.provider_model_name}"] = row.as_of
    return {name: (until - dates[name]).days for name in sorted(dates)}


def _named(name: str, patterns: Sequence[str]) -> bool:
    """Whether an offer is named: by its id, its provider, or a pattern of either."""
    return any(fnmatchcase(each, pattern) for pattern in patterns for each in (name, name.split("/")[0]))


def _usd(amount: Decimal) -> str:
    return f"${cents(amount):,.2f}"


def _plus(amount: Decimal) -> str:
    return f"{'−' if amount < 0 else '+'}{abs(amount):,.1f}"


def _signed(amount: Decimal) -> str:
    return f"{'−' if amount < 0 else '+'}{_usd(abs(amount))}"


def _than(broken: bool) -> str:
    return "more than" if broken else "within"
