"""Candidates and offers that another one replaces at no more cost: removed before anything is solved.

Candidate rule. On one offer, c' replaces c when both serve the same mix, c' has no more GPUs per replica and no lower
rate and, under a limit on distinct configurations, the same label.

Offer rule. o' replaces o when it costs no more, holds as many GPUs, is no worse in whatever an active family looks at
(same provider or region under a minimum of them, not spot unless o is under a spot limit, no more power under a power
limit, in no quota that o is not in), and every candidate of o has a replacement by the candidate rule on o'.

Proof, by exchange. Take a plan that uses what is replaced; turn every instance of o into one of o' (nothing to do for
the candidate rule) and every replica of c, with its flow, into one of c'. Several may turn into the same c'.
- cost does not rise; the number of GPUs, replicas and instances stays: max_gpus, max_monthly_usd and the first two
  tie-breaks hold;
- demand: same mix, same flow; capacity: rate' >= rate, so the added flow is within the added replicas' rate;
- packing: the old replicas fitted; each becomes no larger, in an instance of the same size, so the new ones fit;
- spare_replicas: flow <= rate (r - s used) summed over those that turn into c' is at most rate' (sum r - s), since at
  least one of them was used or no flow is added; replicas >= (s + 1) used holds likewise;
- max_distinct_configurations: labels stay the same; quotas, max_power_kw, max_spot_share, min_providers, min_regions:
  o' was required to be no worse, and a candidate that counted as present still does.
So a plan of no more cost avoids what is replaced. Ties are broken by the order of ids, so no two replace each other.
"""

import numpy as np

from optimizer.program.problem import Flags, Floats, Ints, Problem
from optimizer.program.quantities import mix_kind
from optimizer.program.variables import label_numbers


def undominated(problem: Problem) -> Flags:
    """(C,) which candidates of a sorted problem survive both rules."""
    kind = _replacement_kind(problem)
    keep = _best_on_offer(problem, kind)
    result: Flags = keep & _best_offers(problem, np.flatnonzero(keep), kind)[problem.offer_index]
    return result


def _replacement_kind(problem: Problem) -> Ints:
    """(C,) only candidates with the same number may replace each other."""
    kind = mix_kind(problem)
    if problem.limits.max_distinct_configurations is None:
        return kind
    pairs = np.stack([kind, label_numbers(problem.configuration)], axis=1).reshape(-1, 2)
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _best_on_offer(problem: Problem, kind: Ints) -> Flags:
    """(C,) the candidate rule: walk each offer and kind by rising size, keep what beats every rate so far."""
    size, rate = problem.gpus_per_replica, problem.replica_rate_per_s
    order = np.lexsort((np.arange(len(rate)), -rate, size, kind, problem.offer_index))
    keep = np.zeros(len(rate), dtype=np.bool_)
    place, best = (-1, -1), 0.0
    for candidate in order.tolist():
        here = (int(problem.offer_index[candidate]), int(kind[candidate]))
        if here != place:
            place, best = here, 0.0
        if rate[candidate] > best:
            keep[candidate], best = True, float(rate[candidate])
    return keep


def _best_offers(problem: Problem, kept: Ints, kind: Ints) -> Flags:
    """(O,) the offer rule: walk the offers by rising price, keep what no kept one replaces.

    Most offers are alike but for their price, so the cheapest of each kind is found first.
    """
    table = _best_rates(problem, kept, kind)
    traits = _traits(problem)
    survivors: list[int] = []
    keep = np.zeros(len(problem.offers), dtype=np.bool_)
    by_price = np.lexsort((np.arange(len(problem.offers)), problem.price_usd_per_hour))
    by_price = by_price[table[by_price].any(axis=1)]
    cheapest: dict[bytes, int] = {}
    for offer, row in zip(by_price.tolist(), np.column_stack([traits, table])[by_price], strict=True):
        cheapest.setdefault(row.tobytes(), offer)
    for offer in cheapest.values():
        same = np.array(survivors, dtype=np.int64)
        same = same[(traits[same] <= traits[offer]).all(axis=1)]
        served = np.flatnonzero(table[offer])
        if not (table[np.ix_(same, served)] >= table[offer, served]).all(axis=1).any():
            survivors.append(offer)
            keep[offer] = True
    return keep


def _best_rates(problem: Problem, kept: Ints, kind: Ints) -> Floats:
    """(O, kinds x sizes) the best rate of a kind on an offer with at most so many GPUs per replica; 0 without one."""
    sizes, size_number = np.unique(problem.gpus_per_replica, return_inverse=True)
    table = np.zeros((len(problem.offers), kind.max(initial=-1) + 1, len(sizes)))
    where = (problem.offer_index[kept], kind[kept], size_number.reshape(-1)[kept])
    np.maximum.at(table, where, problem.replica_rate_per_s[kept])
    return np.asarray(np.maximum.accumulate(table, axis=2).reshape(len(problem.offers), -1))


def _traits(problem: Problem) -> Floats:
    """(O, traits) such that an offer is no worse where all its traits are at most the other's."""
    limits = problem.limits
    columns: list[Floats | Ints | Flags] = [*_same(problem.gpus_per_instance)]
    if limits.min_providers > 1:
        columns += _same(label_numbers(problem.provider))
    if limits.min_regions > 1:
        columns += _same(label_numbers(problem.region))
    if limits.max_spot_share is not None:
        columns.append(problem.spot)
    if limits.max_power_kw is not None:
        columns.append(problem.power_kw_per_instance)
    for quota in limits.quotas:
        columns.append(np.isin(np.arange(len(problem.offers)), quota.offers))
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)


def _same(values: Ints) -> list[Ints]:
    """Two columns that are both at most the other's only where the values are equal."""
    return [values, -values]
