"""How long the network takes from a workload's users to each offer, and configurations told apart by it."""

from collections.abc import Sequence

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.enumeration import Kind
from optimizer.performance.market.supply import Supply
from optimizer.performance.physics.categorical import Categorical


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
    kind: Categorical[Kind], offers: Supply, distance_ms: Floats
) -> tuple[Ints, Categorical[Kind]]:
    """(P,) a row for each distance at which an offer could hold a configuration, one where none is known; their kinds.

    Args:
        kind: Of each configuration, wherever it stands.
        offers: What is offered.
        distance_ms: (O,) as `network_ms` tells.
    """
    if not np.any(distance_ms):
        return np.arange(len(kind.codes)), kind
    distances = _distances(kind.categories, offers, distance_ms)
    apart = tuple(
        each._replace(network_ms=ms) for each, own in zip(kind.categories, distances, strict=True) for ms in own
    )
    # kind -> how many distances, and the first of its kinds apart; then the same of configurations
    count = np.array([len(own) for own in distances])
    first, rows_of = (np.cumsum(count) - count)[kind.codes], count[kind.codes]
    rows = np.repeat(np.arange(len(kind.codes)), rows_of)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(rows_of) - rows_of, rows_of)
    return rows, Categorical(apart, first[rows] + number)


def _distances(kinds: Sequence[Kind], offers: Supply, distance_ms: Floats) -> list[list[float]]:
    """Distinct distances of the offers that each kind fits, ascending; 0 alone where none is known."""
    anywhere, known = fits_of(kinds, offers, np.zeros(len(distance_ms))), ~np.isnan(distance_ms)
    return [np.unique(distance_ms[fits & known]).tolist() or [0.0] for fits in anywhere]
