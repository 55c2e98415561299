"""The purchase problem that a certificate states: plain numbers as exact fractions, and the promises they make.

A plan is whole instances of offers, whole replicas of candidates, each within one instance of its offer, and requests/s
of mixes sent to candidates and hosted APIs, such that
- every class is served its demand, and still is, at full rate, after any one loss that must be survived;
- a candidate's requests are at most max_utilization x rate for each replica; with spare replicas it serves only where
  it has more than these, and the rest carry its requests at full rate;
- caps on instances, shares of the requests, least and most replicas, places, labels and changes are kept.
It costs its instances, what hosted APIs answer, what is sent out and what is changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

HOURS_PER_MONTH: Final = 730
SECONDS_PER_HOUR: Final = 3600
LOSSES: Final = ("instance", "provider", "region", "spot_offer")
NOTHING: Final = Fraction(0)
LIMITS: Final = frozenset(
    (
        *("max_utilization", "max_monthly_usd", "spare_replicas", "survive", "min_providers", "min_regions"),
        *("max_gpus", "max_power_kw", "max_carbon_kg_per_month", "quotas", "max_spot_share", "max_provider_share"),
        *("max_distinct_configurations", "max_engines", "least_replicas", "max_replicas"),
        *("max_changes", "usd_per_change"),
    )
)


class NotProven(Exception):
    """What is wrong with a certificate, in one sentence."""


@dataclass(frozen=True)
class LossAtOnce:
    """What is lost at once: `one` instance or all of some offers, and hosted APIs."""

    name: str
    offers: frozenset[int]
    apis: frozenset[int]
    one: bool


@dataclass(frozen=True)
class Cap:
    """At most `most` of something, of which every instance of an offer is so much."""

    name: str
    most: Fraction
    of_offer: Mapping[int, Fraction]


@dataclass(frozen=True)
class Share:
    """At most `most` requests/s on some offers and hosted APIs."""

    name: str
    most: Fraction
    offers: frozenset[int]
    apis: frozenset[int]


@dataclass(frozen=True)
class Stated:
    """A purchase problem in the fields of a certificate's file; every number is a whole one or a fraction."""

    classes: list[dict[str, Any]]
    mixes: list[dict[str, Fraction]]
    offers: list[dict[str, Any]]
    candidates: list[dict[str, Any]]
    apis: list[dict[str, Any]]
    limits: dict[str, Any]

    def __post_init__(self) -> None:
        """Refuses what the proof's arguments do not hold for."""
        gpus = [offer["gpus"] for offer in self.offers]
        wrong = [c["id"] for c in self.candidates if c["gpus"] < 1 or c["gpus"] & (c["gpus"] - 1)]
        wrong += [
            c["id"] for c in self.candidates if not (0 <= c["offer"] < len(gpus) and c["gpus"] <= gpus[c["offer"]])
        ]
        wrong += [c["id"] for c in self.candidates if min(c["rates_per_s"].values()) <= 0 or c["in_force"] < 0]
        wrong += [item["name"] for item in self.classes if item["demand_per_s"] <= 0]
        wrong += [item["id"] for item in self.offers if item["usd_per_hour"] < 0]
        wrong += [item["id"] for item in self.offers if min(_spent(item), default=NOTHING) < 0]
        wrong += [name for name in ("spare_replicas", "usd_per_change") if self.limits.get(name, 0) < 0]
        wrong += ["max_utilization"] * (self.limits["max_utilization"] <= 0)
        wrong += [item["id"] for item in self.apis if item["usd_per_request"] < 0]
        wrong += [name for mix in self.mixes for name, share in mix.items() if share <= 0]
        wrong += sorted(set(self.limits) - LIMITS)
        if wrong:
            raise NotProven(f"not a purchase problem: {', '.join(wrong[:3])}")

    @cached_property
    def demand(self) -> dict[str, Fraction]:
        """Requests/s by class."""
        return {item["name"]: Fraction(item["demand_per_s"]) for item in self.classes}

    @cached_property
    def reach(self) -> list[Fraction]:
        """Requests/s of each mix that meet the whole demand of each of its classes."""
        return [max(self.demand[name] / share for name, share in mix.items()) for mix in self.mixes]

    @property
    def spare(self) -> int:
        """Replicas of every deployment that may be lost."""
        return int(self.limits.get("spare_replicas", 0))

    @cached_property
    def on_offer(self) -> list[list[int]]:
        """The candidates of each offer."""
        there: list[list[int]] = [[] for _ in self.offers]
        for number, candidate in enumerate(self.candidates):
            there[candidate["offer"]].append(number)
        return there

    @cached_property
    def losses(self) -> list[LossAtOnce]:
        """What must be survived, one at a time."""
        found = []
        for kind in self.limits.get("survive", ()):
            if kind not in LOSSES:
                raise NotProven(f"nobody knows what it means to survive the loss of {kind}")
            for name in self.labels(kind):
                offers = frozenset(o for o, offer in enumerate(self.offers) if _label(offer, kind) == name)
                apis = frozenset(a for a, api in enumerate(self.apis) if kind == "provider" and api["provider"] == name)
                found.append(LossAtOnce(f"{kind} {name}", offers, apis, one=kind == "instance"))
        return found

    @cached_property
    def caps(self) -> list[Cap]:
        """Every limit on instances."""
        limits, offers, found = self.limits, self.offers, []
        per_instance = (
            ("max_gpus", "gpus", 1),
            ("max_power_kw", "power_kw", 1),
            ("max_carbon_kg_per_month", "carbon_kg_per_hour", HOURS_PER_MONTH),
        )
        for name, amount, scale in per_instance:
            if name in limits:
                of_offer = {o: Fraction(offer[amount]) * scale for o, offer in enumerate(offers)}
                found.append(Cap(name, Fraction(limits[name]), of_offer))
        for number, quota in enumerate(limits.get("quotas", ())):
            of_offer = {o: Fraction(offers[o]["gpus"]) for o in quota["offers"]}
            found.append(Cap(f"quota {number}", Fraction(quota["max_gpus"]), of_offer))
        for o, offer in enumerate(offers):
            if "available" in offer:
                found.append(Cap(f"available {offer['id']}", Fraction(offer["available"]), {o: Fraction(1)}))
        return found

    @cached_property
    def shares(self) -> list[Share]:
        """Every limit on who serves how much."""
        total, limits, found = sum(self.demand.values(), NOTHING), self.limits, []
        if "max_spot_share" in limits:
            spot = frozenset(o for o, offer in enumerate(self.offers) if offer["spot"])
            found.append(Share("max_spot_share", limits["max_spot_share"] * total, spot, frozenset()))
        for name in self.labels("provider") if "max_provider_share" in limits else ():
            offers = frozenset(o for o, offer in enumerate(self.offers) if offer["provider"] == name)
            apis = frozenset(a for a, api in enumerate(self.apis) if api["provider"] == name)
            found.append(Share(f"share of {name}", limits["max_provider_share"] * total, offers, apis))
        return found

    def labels(self, kind: str) -> list[str]:
        """What may be lost of a kind, or counted as a place."""
        hosts = [api["provider"] for api in self.apis] if kind == "provider" else []
        return sorted({*hosts, *(name for offer in self.offers if (name := _label(offer, kind)) is not None)})

    def may_serve(self, offer: int) -> bool:
        """Whether requests may be sent there at all: not to spot, where none of the demand may be."""
        return not (self.offers[offer]["spot"] and self.limits.get("max_spot_share") == 0)


def _spent(offer: Mapping[str, Any]) -> list[Fraction]:
    """What an instance draws, and what sending the answers of a mix costs there."""
    amounts = [offer[name] for name in ("power_kw", "carbon_kg_per_hour") if name in offer]
    return [*amounts, *offer.get("egress_usd_per_request", {}).values()]


def _label(offer: Mapping[str, Any], kind: str) -> str | None:
    """What an offer is lost with; None where a loss of that kind does not touch it."""
    if kind in ("provider", "region"):
        return str(offer[kind])
    return str(offer["id"]) if kind == "instance" or offer["spot"] else None
