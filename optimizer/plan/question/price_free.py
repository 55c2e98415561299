"""What no price changes: predictions and simulations, kept for the next plan on catalogs with other prices."""

import hashlib
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel

from optimizer.base.latest import Latest
from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.plan.record.fleet import PlannedFleet

MOST_CONFIGURATIONS: Final = 125_000
"""Of all predictions that are kept together, at 1.5 kB each; the last are kept however many they are."""

MOST_SIMULATIONS: Final = 1_000
"""That are kept; a few kB each."""

PRICED: Final = frozenset({"as_of", "sources", "offers", "terms", "serverless", "ancillary", "per_second"})
"""Tables in which prices stand, their dates and who states them; of offers and terms the rest is compared."""

PRICED_TERMS: Final = frozenset(
    {"price_checks", "serverless_checks", "price_trends", "risk_spreads", "discounts", "owned"}
)
"""Terms that are prices, or say how they came about."""

PLACES: Final = frozenset({"price_places", "engine_places"})
"""Where in which file something stands."""

MONEY: Final = ("usd", "price")
"""What the names of a plan's fields say that are of money, or of where a price is from."""

UNPRICED: Final = attrgetter(
    *(name for name in Offer.model_fields if name not in {"price_usd_per_hour", "as_of", "source", "note"})
)

Value = TypeVar("Value")


class PredictedOptions(NamedTuple):
    """Every configuration as it was predicted for service levels and a confidence."""

    levels: tuple[object, ...]
    """As `levels_of` tells them."""
    confidence: float
    options: tuple[WorkloadOptions, ...]


class PriceFree:
    """Predictions and simulations of the questions asked last, on catalogs that differ in nothing but prices.

    A question finds them by all that they depend on, so that its answer is what it would be without. Nothing that was
    searched or proven is kept.
    """

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._catalogs: Catalogs | None = None
        self._predictions = Latest[PredictedOptions](MOST_CONFIGURATIONS)
        self._simulations = Latest[Any](MOST_SIMULATIONS)

    def on(self, catalogs: Catalogs) -> None:
        """Before a question on these catalogs: where more than prices differs, nothing of before is kept."""
        if self._catalogs is not None and not differ_in_prices_only(self._catalogs, catalogs):
            self._predictions.forget()
            self._simulations.forget()
        self._catalogs = catalogs

    def predicted(self, asked: object) -> PredictedOptions | None:
        """What was predicted last for questions that agree in this; by their `repr`."""
        return self._predictions.get(repr(asked))

    def keep_predicted(self, asked: object, found: PredictedOptions) -> None:
        """For the next question that agrees in this."""
        self._predictions.put(repr(asked), found, sum(len(each.configurations) for each in found.options))

    def simulated(self, what: object, scenario: Scenario, fleet: PlannedFleet, work: Callable[[], Value]) -> Value:
        """What was simulated of the same machines, replicas and requests, else what is simulated now.

        What ran before, and what changing it costs, no request meets.

        Args:
            what: Which simulation, and all that it depends on beside scenario, plan and catalogs.
            scenario: That the plan is for.
            fleet: The plan; its prices do not matter.
            work: Simulates.
        """
        policy = scenario.policy.model_copy(update={"migration": None})
        asked = scenario.model_copy(update={"policy": policy})
        plan = {name: value for name, value in vars(fleet).items() if name != "migration"}
        key = hashlib.sha256(repr([what, asked, _moneyless(plan)]).encode()).hexdigest()
        known: Value | None = self._simulations.get(key)
        found = work() if known is None else known
        self._simulations.put(key, found, 1)
        return found


def differ_in_prices_only(one: Catalogs, other: Catalogs) -> bool:
    """Whether two sets of catalogs know the same but for prices, their dates and sources."""
    if one is other:
        return True
    tables = [field.name for field in fields(Catalogs) if field.name not in PRICED | PLACES]
    terms = [field.name for field in fields(Terms) if field.name not in PRICED_TERMS]
    return (
        all(getattr(one, name) == getattr(other, name) for name in tables)
        and all(getattr(one.terms, name) == getattr(other.terms, name) for name in terms)
        and [UNPRICED(offer) for offer in one.offers] == [UNPRICED(offer) for offer in other.offers]
    )


def _moneyless(node: Any) -> Any:
    """The same content without any field of money, at any depth, its figures as exact as they are known."""
    if isinstance(node, BaseModel):
        node = dict(node)
    if isinstance(node, dict):
        return {name: _moneyless(value) for name, value in node.items() if not any(word in str(name) for word in MONEY)}
    return [_moneyless(value) for value in node] if isinstance(node, list | tuple) else node
