"""Pools as services see them: instances to be had by the hour that cost a service nothing but the price of the pool.

What a pool costs is paid once, by all together; a service's own bill has only what it buys apart from that. The pool's
machine stands in the catalogs that services are planned on under a name of its own, in stock as often as may be signed
for, so that everything that holds for offers by the hour holds for it: whole instances, replicas on them, the stock.
Starting on one costs nothing, for it is paid anyway. What there is only so much of can be had in its pool alone.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from optimizer.base.errors import Finding, did_you_mean
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.portfolio import MachinePool, Portfolio


def offers_of(pool: MachinePool, catalogs: Catalogs) -> list[Offer]:
    """The offers that a pool may mean; one where all is well."""
    asked = {
        "provider": pool.provider,
        "region": pool.region,
        "instance_type": pool.instance_type,
        "pricing_term": pool.pricing_term,
        "commitment_months": pool.commitment_months,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return [offer for offer in catalogs.offers if all(getattr(offer, name) == value for name, value in given.items())]


def check_pools(portfolio: Portfolio, catalogs: Catalogs) -> Iterator[Finding]:
    """Pools of what is not for sale, of what is not paid all month, and of more than there is."""
    asked = Counter[str]()
    for pool in portfolio.pools:
        path, found = f"pools[{pool.name}]", offers_of(pool, catalogs)
        if pool.pricing_term not in ALWAYS_PAID:
            hint = f"one of {', '.join(sorted(ALWAYS_PAID))}"
            yield Finding("portfolio", 0, f"{path}.pricing_term", "is not paid all month", hint)
        elif not found:
            types = [o.instance_type for o in catalogs.offers if o.pricing_term == pool.pricing_term]
            hint = did_you_mean(pool.instance_type, types) or "see: optimizer catalog list offers"
            yield Finding("portfolio", 0, path, "no offer of that provider, place, type and term", hint)
        elif len(found) > 1:
            several = ", ".join(sorted(offer.id for offer in found)[:5])
            yield Finding("portfolio", 0, path, f"{len(found)} offers fit", f"say which: {several}")
        else:
            stock = catalogs.terms.available_instances.get(found[0].id)
            left = None if stock is None else stock - asked[found[0].id]
            if left is not None and pool.max_instances > left:
                rest = "" if left == stock else f", of which other pools leave {max(left, 0)}"
                hint = f"{left} at most" if left > 0 else "one pool for all of them"
                yield Finding("portfolio", 0, f"{path}.max_instances", f"there are only {stock} of them{rest}", hint)
            asked[found[0].id] += pool.max_instances


def pooled_offer(pool: MachinePool, offer: Offer) -> Offer:
    """The pool's machine as services see it."""
    changed = {
        "instance_type": f"{offer.instance_type}@{pool.name}",
        "pricing_term": "on_demand",
        "commitment_months": 0,
        "price_usd_per_hour": Decimal(0),
    }
    # cached properties of the record are not copied with it
    return Offer.model_construct(**{**{name: getattr(offer, name) for name in Offer.model_fields}, **changed})


def with_pools(catalogs: Catalogs, portfolio: Portfolio) -> Catalogs:
    """The catalogs that services are planned on and verified against."""
    pairs = [(pool, offers_of(pool, catalogs)[0]) for pool in portfolio.pools]
    scarce = {offer.id for _, offer in pairs if offer.id in catalogs.terms.available_instances}
    offers = [offer for offer in catalogs.offers if offer.id not in scarce]
    pooled = [(pool, pooled_offer(pool, offer)) for pool, offer in pairs]
    stocks = {offer.id: pool.max_instances for pool, offer in pooled}
    terms = replace(catalogs.terms, available_instances={**catalogs.terms.available_instances, **stocks})
    every = sorted([*offers, *(offer for _, offer in pooled)], key=lambda offer: offer.id)
    return replace(catalogs, offers=tuple(every), terms=terms)
