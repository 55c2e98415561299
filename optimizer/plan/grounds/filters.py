"""Offers that a policy keeps out unawares: those of an entry that lets nothing in, or for want of a fact."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.fields import AllowDeny
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.network import round_trip_ms
from optimizer.performance.market.criteria import OFFER_CRITERIA
from optimizer.performance.market.market import Market, permitted

MAX_CAUSES = 3
"""Reasons named for one entry, the most frequent first."""

MAX_SELLERS = 4
"""Sellers named whose offers are left out for want of a fact; of one more the name is as short as its number."""

UNRECORDED = {
    "country_known": "in which country offers of {} stand",
    "power_known": "what power offers of {} draw",
    "carbon_known": "what power offers of {} draw or what their grid emits",
    "storage_priced": "what storage costs at {}",
    "egress_priced": "what sending answers costs from {}",
}
"""What nobody recorded of the offers that fail a criterion of the market."""

NOTHING_OWNED = "no hardware of one's own is known: owned.csv in the folder of --catalogs describes it"

FIELDS: dict[str, Callable[[Offer], str]] = {
    "providers": lambda offer: offer.provider,
    "gpus": lambda offer: offer.gpu,
    "regions": lambda offer: offer.region,
}


def idle_filters(scenario: Scenario, market: Market) -> Iterator[str]:
    """A sentence for each entry of an allow list that lets no offer in, with what keeps those out that it names.

    So for hardware of one's own that is to be used, where none is known.
    """
    for field, name_of in FIELDS.items():
        names = [name_of(offer) for offer in market.offers]
        for pattern in getattr(scenario.policy, field).allow:
            named = np.array([fnmatchcase(name, pattern) for name in names], dtype=bool)
            if not named.any():
                yield f"policy.{field}: no offer matches {pattern}, so it lets nothing in"
            elif not market.admitted[named].any():
                causes = ", ".join(_causes(market.failed[named]))
                yield f"policy.{field}: {pattern} lets nothing in, what else is asked excludes its offers ({causes})"
    hosting = scenario.policy.hosting
    if "owned" in hosting and "rented" not in hosting and all(offer.provider != OWNED for offer in market.offers):
        yield f"policy.hosting: {NOTHING_OWNED}"


def left_out_unrecorded(scenario: Scenario, market: Market) -> Iterator[str]:
    """A sentence for each fact that is asked for, with the sellers of whom nothing is left but for its want."""
    gpu_is_allowed = np.array([scenario.policy.gpus.permits(offer.gpu) for offer in market.offers], dtype=bool)
    admitted, fail_once = gpu_is_allowed & market.admitted, gpu_is_allowed & (market.failed.sum(axis=1) == 1)
    for number, criterion in enumerate(OFFER_CRITERIA):
        gone = _gone(market, fail_once & market.failed[:, number], admitted)
        if criterion.name in UNRECORDED and gone:
            yield f"policy.{criterion.requirement}: {_unrecorded(criterion.name, gone)}"
    for workload in scenario.workloads:
        anywhere = workload.model_copy(update={"countries": AllowDeny()})
        nowhere = market.place.passing(lambda place: not place)
        gone = _gone(market, admitted & permitted(anywhere, market) & nowhere, admitted & permitted(workload, market))
        if workload.countries.restricts and gone:
            yield f"{workload.name}: {_unrecorded('country_known', gone)}"


def too_far_to_tell(scenario: Scenario, market: Market) -> Iterator[str]:
    """How many of the regions that are admitted are left out since nobody measured how far they are from users."""
    gpu_is_allowed = np.array([scenario.policy.gpus.permits(offer.gpu) for offer in market.offers], dtype=bool)
    # what is said -> the workloads that it is true of
    told: dict[str, list[str]] = {}
    for workload in scenario.workloads:
        admitted = np.flatnonzero(gpu_is_allowed & market.admitted & permitted(workload, market))
        places = {(offer.provider, offer.region) for offer in (market.offers[row] for row in admitted)}
        unknown = sum(round_trip_ms(workload, market.catalogs, *place) is None for place in places)
        if workload.knows_where_users_are and unknown:
            told.setdefault(f"{unknown} of {len(places)}", []).append(workload.name)
    for count, names in told.items():
        yield (
            f"{', '.join(names)}: {count} regions that are admitted are left out: nobody measured the network to them "
            "(network_ms says it)"
        )


def _gone(market: Market, left_out: Flags, left: Flags) -> list[str]:
    """The sellers of offers (O,) that are left out, of whom none is left (O,)."""
    sellers, others = ({market.offers[offer].provider for offer in np.flatnonzero(each)} for each in (left_out, left))
    return sorted(sellers - others)


def _unrecorded(criterion: str, sellers: Sequence[str]) -> str:
    """What nobody recorded of their offers."""
    return f"nobody recorded {UNRECORDED[criterion].format(_named(sellers))}, so they are left out"


def _named(sellers: Sequence[str]) -> str:
    """A few of them, and how many more."""
    more = len(sellers) - MAX_SELLERS
    if more <= 1:
        return ", ".join(sellers)
    return f"{', '.join(sellers[:MAX_SELLERS])} and {more} more sellers"


def _causes(failed: np.ndarray) -> Iterator[str]:
    """What excludes offers, from (offer, criterion) failures."""
    counts = Counter(dict(zip((item.name for item in OFFER_CRITERIA), failed.sum(axis=0).tolist(), strict=True)))
    for name, count in counts.most_common(MAX_CAUSES):
        if count:
            yield f"{name.replace('_', ' ')} {count:,} of {len(failed):,}"
