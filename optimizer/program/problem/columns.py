"""Which ways to run a workload become columns of the program: those that no other one on the same GPUs matches."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.requirements.of_policy import LIMITS_OF_THE_FLEET
from optimizer.inputs.scenario.policy import InForce, Policy
from optimizer.performance.candidates.between import rates_around, rates_between, told_apart
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.triangulation import Simplex, apart, star_of
from optimizer.performance.market.market import Market
from optimizer.performance.physics.categorical import Categorical


class Column(NamedTuple):
    """What one candidate of the problem stands for, as positions in the options and the market."""

    workload: int
    """Position in the options: a scenario's workload, or one of the models that may serve it."""
    pools: Simplex
    """The mixes that it serves, and by shares of its capacity what lies between them."""
    configuration: int
    offer: int


def columns_of(
    policy: Policy,
    options: Sequence[WorkloadOptions],
    offered: Flags,
    keep: Sequence[Flags] | None,
    counts_configurations: bool = False,
) -> tuple[tuple[Column, ...], int]:
    """Every column on what is `offered` (O,), and how many were left out because another one matches them there."""
    columns: list[Column] = []
    possible = 0
    changes = any(choice.workload.demand is not None for choice in options)
    whole = counts_configurations or "configuration" in _counted_labels(policy)
    whole |= changes and policy.elastic.repartition_minutes != 0
    for w, choice in enumerate(options):
        # platform and replica size -> the offers it fits, and how many these are
        fits = choice.fits & offered
        fitting = fits.sum(axis=1)
        wanted = _serving(choice) if keep is None else _serving(choice) & keep[w]
        # most configurations fail a criterion or fit nothing: of what follows they are no part
        rows = np.flatnonzero(wanted & (fitting > 0)[choice.kind])
        kind = choice.kind[rows]
        simplices, rates = _ways(choice, rows, mixed=may_mix(policy))
        best = _unmatched(choice, rows, rates, policy, whole) | _running_today(policy, choice, rows)[:, None]
        possible += int(told_apart(simplices, rates, np.ones_like(best)).sum(axis=1) @ fitting[kind])
        chosen = told_apart(simplices, rates, best)
        stays = np.flatnonzero(chosen.any(axis=1))
        offers = {number: np.flatnonzero(fits[number]).tolist() for number in np.unique(kind[stays]).tolist()}
        for row in stays.tolist():
            parts = [_part(simplices[number], rates[number][row]) for number in np.flatnonzero(chosen[row]).tolist()]
            on_offers, c = offers[int(kind[row])], int(rows[row])
            columns += [Column(w, part, c, offer) for part in sorted(parts) for offer in on_offers]
    return tuple(columns), possible - len(columns)


def may_mix(policy: Policy) -> bool:
    """Whether a replica may be sent any mix of a workload's classes.

    After a loss the mixes that meet on a replica are other ones, which nobody predicted; where a plan must survive one,
    every replica serves one class or the whole mix. So does each that must do without what stands beside it.
    """
    return policy.mix_classes and not (policy.losses or policy.spare_on_other_instances)


def _ways(choice: WorkloadOptions, rows: Ints, *, mixed: bool) -> tuple[tuple[Simplex, ...], list[Floats]]:
    """What may meet on a replica, and what listed configurations sustain of each (R, corners)."""
    simplices = choice.simplices if mixed else apart(len(choice.pools))
    rates = [rates_between(choice, simplex)[rows] for simplex in simplices]
    star = star_of(simplices)
    if star is None:
        return simplices, rates
    return (*simplices, star), [*rates, rates_around(choice, star)[rows]]


def _serving(choice: WorkloadOptions) -> Flags:
    """(P,) whether one replica serves anything: some mix of which it fails no criterion."""
    serving: Flags = np.any([known.passed & (known.rate_per_s > 0) for known in choice.pools], axis=0)
    return serving


def _part(simplex: Simplex, rate: Floats) -> Simplex:
    """The corners that a configuration serves, of which it has a rate (corners,)."""
    return tuple(pool for pool, serves in zip(simplex, (rate > 0).tolist(), strict=True) if serves)


def _unmatched(choice: WorkloadOptions, rows: Ints, rates: Sequence[Floats], policy: Policy, whole: bool) -> Flags:
    """(R, simplices) listed configurations that none of their platform and replica size matches, `whole` or in each.

    One matches another where it sustains as much of every predicted mix of the simplex; among equals the first stays.

    Proof that no plan needs the others: two configurations of one platform and size fit exactly the same offers and
    the same places in an instance. Exchanging every replica of the slower for one of the faster changes no instance,
    no GPU count and no price; its rates are at least as high, so capacity and spare limits still hold for the joined
    flow. Where the number of engines is limited, only one of the same engine matches. Where the number of distinct
    configurations is, only one that matches in all simplices: then each is exchanged for one other, and the number can
    only fall. So where demand changes and instances keep what is loaded: what is exchanged on one instance is then all
    replicas of a configuration, whatever they are sent by day and by night.

    Where configurations stand at several distances from users, one that is exchanged is exchanged at all of them, so
    where whole configurations are compared, their rates at every distance are.
    """
    counted = _counted_labels(policy)
    platform = Categorical.of([(kind.platform, kind.gpus) for kind in choice.kinds])
    group = (platform.codes[choice.kind] if whole else choice.kind)[rows]
    if "engine" in counted:
        engines = [choice.configurations[c].engine for c in rows.tolist()]
        group = group * len(engines) + np.unique(engines, return_inverse=True)[1].reshape(-1)
    if whole:
        in_all = _fastest_at_all_distances(choice, rows, group, np.hstack(rates))
        return np.repeat(in_all[:, None], len(rates), axis=1)
    return np.stack([_fastest_of_group(group, rate) for rate in rates], axis=1)


def _fastest_at_all_distances(choice: WorkloadOptions, rows: Ints, group: Ints, rate: Floats) -> Flags:
    """(R,) listed setups that no other one of their group matches at every distance and in every column."""
    if not np.any(choice.network_ms):
        return _fastest_of_group(group, rate)
    setups = choice.distinct.take(rows)
    away = Categorical[float].of(choice.network_ms[rows])
    # configuration at one distance -> its setup, with the rates at every distance side by side
    wide = np.zeros((len(setups.categories), len(away.categories), rate.shape[1]))
    wide[setups.codes, away.codes] = rate
    # of no configuration, as where a promise is tried that nothing keeps, numpy infers no width
    beside = wide.reshape(len(wide), wide.shape[1] * wide.shape[2])
    keep: Flags = _fastest_of_group(group[setups.first], beside)[setups.codes]
    return keep & (rate > 0).any(axis=1)


def _counted_labels(policy: Policy) -> frozenset[str]:
    """What a limit on variety counts: replacing one configuration by another must not add to it."""
    limited = (item for item in LIMITS_OF_THE_FLEET if getattr(policy, item.name, None) is not None)
    return frozenset(trait for item in limited for trait in item.compares_candidates_by)


def _fastest_of_group(group: Ints, rate: Floats) -> Flags:
    """(P,) rows that sustain something and that no other one of their group matches in every column."""
    keep: Flags = np.zeros(len(rate), dtype=np.bool_)
    serving = np.flatnonzero((rate > 0).any(axis=1))
    order = serving[np.lexsort((serving, -rate[serving].sum(axis=1), group[serving]))]
    first = np.unique(group[order], return_index=True)[1]
    keep[order[first]] = True
    if rate.shape[1] == 1:
        return keep
    for members in np.split(order, first[1:]):
        kept: list[int] = []
        for row in members.tolist():
            if not (rate[kept] >= rate[row]).all(axis=1).any():
                kept.append(row)
        keep[kept] = True
    return keep


def _in_force(policy: Policy) -> tuple[InForce, ...]:
    migration = policy.migration
    return () if migration is None or migration.in_force is None else migration.in_force


def _running_today(policy: Policy, choice: WorkloadOptions, rows: Ints) -> Flags:
    """(R,) the listed configurations that replicas in force have."""
    running: Flags = np.zeros(len(rows), dtype=bool)
    for item in _in_force(policy):
        running |= np.array([_is_it(item, choice, row) for row in rows.tolist()], dtype=bool)
    return running


def _is_it(item: InForce, choice: WorkloadOptions, row: int) -> bool:
    c = choice.configurations[row]
    ours = (choice.workload.name, c.model, c.gpu, c.engine, c.precision, c.kv_precision, c.speculation)
    theirs = (item.workload, item.model, item.gpu, item.engine, item.precision, item.kv_precision, item.speculation)
    layout = (c.tensor_parallel, c.pipeline_parallel) == (item.tensor_parallel, item.pipeline_parallel)
    return ours == theirs and layout


def replicas_in_force(
    policy: Policy, options: Sequence[WorkloadOptions], market: Market, columns: Sequence[Column]
) -> tuple[Ints, int]:
    """(C,) replicas that run today, each on the first column that describes them, and how many none describes."""
    replicas = np.zeros(len(columns), dtype=np.int64)
    left = list(_in_force(policy))
    for position, column in enumerate(columns if left else ()):
        offer, choice = market.offers[column.offer], options[column.workload]
        mine = [item for item in left if item.runs_on(offer) and _is_it(item, choice, column.configuration)]
        replicas[position] = sum(item.replicas for item in mine)
        left = [item for item in left if item not in mine]
    return replicas, sum(item.replicas for item in left)
