"""The limits that services share, each as a name and what an offer's instance takes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.policy import Quota
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.plan.portfolio.pools import offers_of


@dataclass(frozen=True)
class SharedLimit:
    """At most so many units of all services together, in every hour.

    Attributes:
        field: Where it is stated, or `stock` with the offer that there are only so many of.
        unit: GPUs or instances.
        most: How many.
        quota: What it covers; None for one offer.
        offer: The offer, by its id; empty for a quota.
    """

    field: str
    unit: str
    most: int
    quota: Quota | None = None
    offer: str = ""

    def taken_by(self, offer: Offer) -> int:
        """Units that an instance takes."""
        if self.quota is None:
            return int(offer.id == self.offer)
        return offer.gpu_count if self.quota.covers(offer.provider, offer.region, offer.gpu) else 0

    def weights(self, offers: Sequence[Offer]) -> Floats:
        """(O,) units that an instance of each offer takes."""
        return np.array([float(self.taken_by(offer)) for offer in offers])


def shared_limits(portfolio: Portfolio, catalogs: Catalogs) -> tuple[SharedLimit, ...]:
    """Quotas, GPUs in all and every stock that is not without end; a stock that a pool is of is had there alone.

    Args:
        portfolio: What is shared.
        catalogs: As they are, without pools.
    """
    return tuple(_limits(portfolio, catalogs))


def _limits(portfolio: Portfolio, catalogs: Catalogs) -> Iterator[SharedLimit]:
    for quota in portfolio.quotas:
        yield SharedLimit(f"quotas[{quota.name}]", "GPUs", quota.max_gpus, quota)
    if portfolio.max_gpus is not None:
        yield SharedLimit("max_gpus", "GPUs", portfolio.max_gpus, Quota(max_gpus=portfolio.max_gpus))
    in_pools = {offer.id for pool in portfolio.pools for offer in offers_of(pool, catalogs)}
    for offer, count in sorted(catalogs.terms.available_instances.items()):
        if offer in in_pools:
            continue
        yield SharedLimit(f"stock[{offer}]", "instances", count, None, offer)


def with_shared_quotas(
    quotas: tuple[Quota, ...], limits: Sequence[SharedLimit], alone: Sequence[int]
) -> tuple[Quota, ...]:
    """A service's own quotas and those of all: what all may not exceed none may.

    Where its plan alone does exceed one, so much is allowed here: whether the service can do with less, and at what
    cost, the price of the limit tells.

    Args:
        quotas: Of the service.
        limits: Shared.
        alone: The most that the plan alone takes of each.
    """
    names = {quota.name: quota for quota in quotas}
    for limit, used in zip(limits, alone, strict=True):
        if limit.quota is not None:
            shared = limit.quota.model_copy(update={"max_gpus": max(limit.most, used)})
            own = names.get(shared.name, shared)
            names[shared.name] = own if own.max_gpus < shared.max_gpus else shared
    return tuple(names.values())
