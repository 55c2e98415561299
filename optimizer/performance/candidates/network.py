"""How long the network takes from a workload's users to each offer, and configurations told apart by it."""

from collections.abc import Mapping, Sequence

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.enumeration import Kind
from optimizer.performance.market.supply import Supply
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.setup import Configuration


def network_ms(workload: Workload, offers: Supply) -> Floats:
    """(O,) one round trip: a request travels half of it, the first token of the answer the other half.

    0 where the workload does not say where its users are; NaN where it does and nobody knows how far that is. Any user
    may be served from anywhere, so the farthest geography counts.
    """
    if not workload.knows_where_users_are:
        return np.zeros(len(offers.offers))
    place = Categorical.joined(offers.provider, offers.region)
    known = [round_trip_ms(workload, offers.catalogs, *where) for where in place.categories]
    return place.by_row([np.nan if ms is None else ms for ms in known])


def round_trip_ms(workload: Workload, catalogs: Catalogs, provider: str, region: str) -> float | None:
    """The scenario's own figure where it has one, else the catalogs'; None where either knows none."""
    own = workload.own_network_ms(region)
    if own is not None or not workload.users_in:
        return own
    measured = [catalogs.terms.rtt_ms(geography, provider, region) for geography in workload.users_in]
    return None if None in measured else max(ms for ms in measured if ms is not None)


def fits_of(kinds: Sequence[Kind], offers: Supply, distance_ms: Floats) -> Flags:
    """(kinds, O): the same GPU, enough of them in one instance, for several joined in the same way; and so far away."""
    # (kind, platform) -> (kind, offer)
    same = np.array(
        [
            [
                kind.platform[0] == other[0] if kind.gpus == 1 else kind.platform == other
                for other in offers.platform.categories
            ]
            for kind in kinds
        ]
    )
    sizes = np.array([kind.gpus for kind in kinds])
    away = np.array([kind.network_ms for kind in kinds])
    holds = same[:, offers.platform.codes] & (offers.gpu_count >= sizes[:, None])
    fits: Flags = holds & (distance_ms == away[:, None])
    return fits


def told_apart_by_distance(
    pairs: Sequence[tuple[Configuration, Kind]], offers: Supply, distance_ms: Floats
) -> list[tuple[Configuration, Kind]]:
    """Every configuration once for each distance at which an offer could hold it; once where none is known."""
    if not np.any(distance_ms):
        return list(pairs)
    away = _distances([kind for _, kind in pairs], offers, distance_ms)
    return [(configuration, kind._replace(network_ms=ms)) for configuration, kind in pairs for ms in away[kind]]


def _distances(kinds: Sequence[Kind], offers: Supply, distance_ms: Floats) -> Mapping[Kind, Sequence[float]]:
    """Distinct distances of the offers that each kind fits, ascending; 0 alone where none is known."""
    distinct = list(dict.fromkeys(kinds))
    anywhere = fits_of(distinct, offers, np.zeros(len(distance_ms)))
    known = ~np.isnan(distance_ms)
    return {
        kind: np.unique(distance_ms[fits & known]).tolist() or [0.0]
        for kind, fits in zip(distinct, anywhere, strict=True)
    }
