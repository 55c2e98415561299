"""Which prices a plan of before and today's pay differently: moved, expired, gone or new, each with its row."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from optimizer.answers.gate.baseline import GatePlan
from optimizer.answers.gate.rules.price_ages import expired, hosted_names
from optimizer.answers.gate.types import CausedBy, CauseName, Happened
from optimizer.inputs.catalog.entries.sources import PricePlace
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.apis import apis
from optimizer.plan.record.fields import significant

Per = Literal["hour", "request"]


@dataclass(frozen=True)
class PaidPrice:
    """What one hour of an offer or one request to an API costs; `row` is what the catalogs know it by."""

    usd: Decimal
    per: Per
    row: str

    @property
    def shown(self) -> str:
        """As a plan states it: an hour to the last digit, a request to a few."""
        return f"{self.usd.normalize():f}" if self.per == "hour" else significant(self.usd)

    def __str__(self) -> str:
        return f"{self.shown} USD {'an hour' if self.per == 'hour' else 'a request'}"


def price_news(
    before: GatePlan, now: GatePlan, scenario: Scenario, catalogs: Catalogs, old_catalogs: Catalogs | None
) -> dict[CauseName, tuple[CausedBy, ...]]:
    """Everything that happened to prices that either plan pays, by the input that tells it.

    Args:
        before: The baseline.
        now: Today's plan.
        scenario: The baseline's, so that a request to an API is the same request on both sides.
        catalogs: Today's.
        old_catalogs: Those that the baseline was made on; None where they are not at hand, then only what the baseline
            paid itself is known of its time.

    Returns:
        Moved and expired prices under `prices`, those that came or went under `catalog`; the dearest first.
    """
    hosted = bool(before.hosted or now.hosted)
    today = _listed(catalogs, scenario, hosted=hosted)
    was = _paid(before) if old_catalogs is None else _listed(old_catalogs, scenario, hosted=hosted)
    amounts = _amounts(before)
    rows = {*(offer.id for offer in catalogs.offers), *hosted_names(catalogs)}
    found: defaultdict[CauseName, list[CausedBy]] = defaultdict(list)
    for name, paid in sorted((_paid(before) | _paid(now)).items()):
        old, new = was.get(name), today.get(name)
        if paid.row not in rows:
            found["catalog"].append(_caused("price_gone", name, old, None, catalogs))
        elif old is None and new is not None and old_catalogs is not None:
            found["catalog"].append(_caused("price_new", name, None, new, catalogs))
        elif old is not None and new is not None and old.shown != new.shown:
            moved = (new.usd - old.usd) * amounts[name] if name in amounts else None
            found["prices"].append(_caused("price_moved", name, old, new, catalogs, change_usd=moved))
    for name, age_days in expired(before, scenario.policy.max_price_age_days, catalogs).items():
        found["prices"].append(_expired(name, age_days, catalogs))
    return {cause: tuple(sorted(news, key=by_weight)) for cause, news in found.items()}


def by_weight(caused: CausedBy) -> tuple[bool, Decimal, str]:
    """What changes the month most first, what nobody can put a figure on last."""
    return caused.change_usd is None, -abs(caused.change_usd or Decimal(0)), caused.name


def _listed(catalogs: Catalogs, scenario: Scenario, *, hosted: bool) -> dict[str, PaidPrice]:
    """Every price of the catalogs, of APIs by the request of a class."""
    prices = {offer.id: PaidPrice(offer.price_usd_per_hour, "hour", offer.id) for offer in catalogs.offers}
    for api in apis(scenario, catalogs).admitted if hosted else ():
        row = f"{api.provider}/{api.name}"
        prices[_request(row, api.workload, api.request_class)] = PaidPrice(api.usd_per_request, "request", row)
    return prices


def _paid(plan: GatePlan) -> dict[str, PaidPrice]:
    """The prices that a plan pays, as it states them."""
    prices = {paid.offer: PaidPrice(paid.price_usd_per_hour, "hour", paid.offer) for paid in plan.purchases}
    for sent in plan.hosted:
        name = _request(sent.name, sent.workload, sent.request_class)
        prices[name] = PaidPrice(sent.usd_per_request, "request", sent.name)
    return prices


def _amounts(plan: GatePlan) -> Mapping[str, Decimal]:
    """Hours of a month of each offer, and requests of a month of each class at an API."""
    amounts: defaultdict[str, Decimal] = defaultdict(Decimal)
    for paid in plan.purchases:
        amounts[paid.offer] += Decimal(repr(paid.instance_hours_per_month))
    for sent in plan.hosted:
        amounts[_request(sent.name, sent.workload, sent.request_class)] += Decimal(repr(sent.requests_per_month))
    return amounts


def _request(api: str, workload: str, request_class: str) -> str:
    return f"{api} for {workload} {request_class}"


def _caused(
    what: Happened,
    name: str,
    old: PaidPrice | None,
    new: PaidPrice | None,
    catalogs: Catalogs,
    *,
    change_usd: Decimal | None = None,
) -> CausedBy:
    """A price that came, went or moved, at the row that states it today."""
    place = catalogs.price_places.get(new.row) if new is not None else None
    file, line = _own(place)
    words = {
        "price_gone": f"has no price any more{f', was {old}' if old else ''}",
        "price_new": f"is new at {new}",
        "price_moved": f"{old.shown if old else ''} → {new}",
    }
    return CausedBy(
        what=what,
        name=name,
        before_usd=old.shown if old else None,
        after_usd=new.shown if new else None,
        change_usd=change_usd,
        file=file,
        line=line,
        text=f"{name} {words[what]}{f' ({place})' if place else ''}",
    )


def _expired(name: str, age_days: int, catalogs: Catalogs) -> CausedBy:
    place = catalogs.price_places.get(name)
    text = f"the price of {name} is {age_days} days old, too old for the policy{f' ({place})' if place else ''}"
    file, line = _own(place)
    return CausedBy(what="price_expired", name=name, file=file, line=line, text=text)


def _own(place: PricePlace | None) -> tuple[str, int]:
    """The file and line that a user can open; a shipped row stands in none of the user's."""
    return (place.file, place.line) if place is not None and place.own else ("", 0)
