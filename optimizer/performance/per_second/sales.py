"""What is sold by the second, judged by a policy like offers by the hour, and what nobody promises of it."""

from dataclasses import replace
from typing import Final

from optimizer.base.units import SECONDS_PER_HOUR
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.policy import DEALING
from optimizer.inputs.scenario.scenario import Policy, Scenario

PER_SECOND: Final = "per_second"
NOT_PROMISED: Final = (
    "spare_replicas",
    "spare_on_other_instances",
    "availability",
    "survive",
    "min_providers",
    "min_regions",
    "max_provider_share",
    "max_gpus",
    "quotas",
    "max_distinct_configurations",
    "max_engines",
    "max_power_kw",
    "max_carbon_kg_per_month",
    "storage_gb_per_instance",
    "egress",
    "migration",
)
"""Fields of the policy that ask for what is not known, or not planned, of containers: where one of them asks for
anything, no workload is served by the second."""


MOST_WORKLOADS: Final = 6
"""Every choice of workloads that containers serve is a program of its own."""


def refusals(scenario: Scenario) -> tuple[str, ...]:
    """Paths of what the scenario asks and no container is held to; none where containers may serve."""
    policy, asks_nothing = scenario.policy, Policy()
    fields = [f"policy.{name}" for name in NOT_PROMISED if getattr(policy, name) != getattr(asks_nothing, name)]
    bursts = [f"workloads[{item.name}].arrivals.cv2" for item in scenario.workloads if item.arrival_cv2 != 1]
    turns = ["policy.router"] if policy.router in DEALING else []
    crowd = ["workloads"] if len(scenario.workloads) > MOST_WORKLOADS else []
    return (*fields, *bursts, *turns, *crowd)


def sold_by_second(scenario: Scenario, catalogs: Catalogs) -> tuple[Scenario, Catalogs]:
    """The question in which containers stand for all that is rented; who admits them asks for no machine."""
    kinds = tuple(dict.fromkeys((*scenario.policy.provider_kinds, "platform")))
    changes = {"hosting": ("rented",), "provider_kinds": kinds, "pricing_terms": ("on_demand",)}
    asked = scenario.model_copy(update={"policy": scenario.policy.model_copy(update=changes)})
    offers = tuple(sorted(map(offer_of, catalogs.per_second), key=lambda offer: offer.id))
    return asked, replace(catalogs, offers=offers)


def offer_of(price: PerSecondPrice) -> Offer:
    """A container as an offer by the hour, so that a policy judges it like any other; where it runs nobody tells."""
    return Offer(
        provider=price.provider,
        provider_kind=price.provider_kind,
        region="global",
        instance_type=price.name,
        gpu=price.gpu,
        gpu_count=price.gpu_count,
        link="none" if price.gpu_count == 1 else None,
        price_usd_per_hour=price.usd_per_second * SECONDS_PER_HOUR,
        pricing_term="on_demand",
        as_of=price.as_of,
        source=price.source,
        confidence=price.confidence,
    )


def start_seconds(catalogs: Catalogs, policy: Policy, engine: str, weights_gb: float) -> float:
    """From nothing to the first answer: what the policy says, else what the catalogs know of such a server."""
    if policy.per_second.start_up_s is not None:
        return policy.per_second.start_up_s
    by_engine = {row.engine: row for row in catalogs.start_up}
    row = by_engine.get(engine, by_engine[""])
    return row.fixed_s + row.seconds_per_gb * weights_gb


def idle_timeout_seconds(policy: Policy, price: PerSecondPrice) -> float | None:
    """What the policy says, else what the seller sets; None where nobody told."""
    own = policy.per_second.idle_timeout_s
    return price.idle_timeout_s if own is None else own
