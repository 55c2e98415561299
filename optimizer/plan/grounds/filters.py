"""Entries of allow lists that let nothing in: no offer has such a name, or something else excludes those that do."""

from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

import numpy as np

from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import OFFER_CRITERIA
from optimizer.performance.market.market import Market

MAX_CAUSES = 3
"""Reasons named for one entry, the most frequent first."""

FIELDS: dict[str, Callable[[Offer], str]] = {
    "providers": lambda offer: offer.provider,
    "gpus": lambda offer: offer.gpu,
    "regions": lambda offer: offer.region,
}


def idle_filters(scenario: Scenario, market: Market) -> Iterator[str]:
    """A sentence for each entry of an allow list that lets no offer in, with what keeps those out that it names."""
    for field, name_of in FIELDS.items():
        names = [name_of(offer) for offer in market.offers]
        for pattern in getattr(scenario.policy, field).allow:
            named = np.array([fnmatchcase(name, pattern) for name in names], dtype=bool)
            if not named.any():
                yield f"policy.{field}: no offer matches {pattern}, so it lets nothing in"
            elif not market.admitted[named].any():
                causes = ", ".join(_causes(market.failed[named]))
                yield f"policy.{field}: {pattern} lets nothing in, what else is asked excludes its offers ({causes})"


def _causes(failed: np.ndarray) -> Iterator[str]:
    """What excludes offers, from (offer, criterion) failures."""
    counts = Counter(dict(zip((item.name for item in OFFER_CRITERIA), failed.sum(axis=0).tolist(), strict=True)))
    for name, count in counts.most_common(MAX_CAUSES):
        if count:
            yield f"{name.replace('_', ' ')} {count:,} of {len(failed):,}"
