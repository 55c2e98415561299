"""The columns of the program: where each decision sits, what it is called and what values it may take."""

import re
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.billing_cells import NO_CELLS, Cells, billing_cells
from optimizer.program.problem.losses import Losses, losses
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import deployments_alike, labels

LONGEST_NAME = 240
BINARIES = ("used", "outlasts", "chosen", "engine_chosen", "provider_present", "region_present")
FRACTIONS = ("flow", "bought", "failover", "starts", "changed")
"""Decisions that take any value from 0; a whole number follows for `starts` and `changed` where others are whole."""


@dataclass(frozen=True, eq=False)
class Variables:
    """Column numbers of each decision; a decision that no active family needs has none.

    Attributes:
        instances: (I,) whole instances of an offer: in each period, or all month where they are always paid.
        replicas: (T, C) engine replicas placed for a candidate.
        flow: (N,) requests/s of a stream, in units of its reach: 1 serves the whole demand of its mix.
        bought: (B,) requests/s sent to a hosted API, in units of its reach.
        starts: (X,) instances started at a change of periods, see `elastic_changes`.
        lingering, begun: (Q,) instances paid for beyond those that run, and put on the bill, by cell of the week.
        changed: (2G,) or empty, replicas started (first G) and stopped (last G) against those in force, by group of
            `deployments_alike`.
        used: (T, C) or empty, whether a candidate serves anything.
        outlasts: (T, C) or empty, whether a candidate has at least the replicas that one instance may take along.
        chosen: (L,) or empty, whether any candidate of a configuration label ever has a replica.
        engine_chosen: (E,) or empty, whether any candidate of an engine ever has a replica.
        provider_present: (T, P) or empty, whether the provider counts as used.
        region_present: (T, R) or empty, whether the region counts as used.
        failover: (F,) flow of a stream after a loss, in units of its reach, see `Losses`.
        instance_at: (T, O) the column of `instances` that an offer has in a period.
        instance_offer, instance_share: (I,) the offer of such a column and the share of a month it is paid for.
        elastic_changes: (X, 3) offer, period before, period after of each of `starts`.
        cells: (Q) what `lingering` and `begun` are told for.
        losses: What `failover` answers.
    """

    instances: Ints
    replicas: Ints
    flow: Ints
    bought: Ints
    starts: Ints
    lingering: Ints
    begun: Ints
    changed: Ints
    used: Ints
    outlasts: Ints
    chosen: Ints
    engine_chosen: Ints
    provider_present: Ints
    region_present: Ints
    failover: Ints
    instance_at: Ints
    instance_offer: Ints
    instance_share: Floats
    elastic_changes: Ints
    cells: Cells
    losses: Losses

    @property
    def count(self) -> int:
        """How many columns there are."""
        return sum(columns.size for columns in self.groups().values())

    def groups(self) -> dict[str, Ints]:
        """The decisions by name, in column order."""
        return {name: getattr(self, name) for name in GROUPS}


GROUPS = (
    *("instances", "replicas", "flow", "bought", "starts", "lingering", "begun", "changed"),
    *(*BINARIES, "failover"),
)


def lay_out(problem: Problem, relaxed: bool) -> Variables:
    """Number the columns; a relaxed program has no binary column and no detail of what follows a loss."""
    limits, traffic, candidates = problem.limits, problem.traffic, problem.candidates
    periods, cells = traffic.periods, (traffic.periods, len(candidates))
    instance_at, instance_offer, share = instance_columns(problem)
    changes, cells_of_week = _elastic_changes(problem), NO_CELLS if relaxed else billing_cells(problem)
    lost = losses(problem, detailed=not relaxed)
    sizes: dict[str, tuple[int, ...]] = {
        "instances": (len(instance_offer),),
        "replicas": cells,
        "flow": (len(problem.streams),),
        "bought": (len(problem.api_streams),),
        "starts": (len(changes),),
        "lingering": (len(cells_of_week),),
        "begun": (len(cells_of_week),),
        "changed": (len(changes_counted(problem)),),
        "used": cells if limits.spare_replicas else (0,),
        "outlasts": cells if "instance" in limits.survive else (0,),
        "chosen": (len(labels(candidates.configuration)) * (limits.max_distinct_configurations is not None),),
        "engine_chosen": (len(labels(candidates.engine)) * (limits.max_engines is not None),),
        "provider_present": (periods, len(labels(problem.offers.provider))) if limits.min_providers > 1 else (0,),
        "region_present": (periods, len(labels(problem.offers.region))) if limits.min_regions > 1 else (0,),
        "failover": (len(lost.stream),),
    }
    columns, start = {}, 0
    for name in GROUPS:
        shape = (0,) if relaxed and name in BINARIES else sizes[name]
        size = int(np.prod(shape))
        columns[name] = np.arange(start, start + size, dtype=np.int64).reshape(shape)
        start += size
    return Variables(
        **columns,
        instance_at=instance_at,
        instance_offer=instance_offer,
        instance_share=share,
        elastic_changes=changes,
        cells=cells_of_week,
        losses=lost,
    )


def instance_columns(problem: Problem) -> tuple[Ints, Ints, Floats]:
    """`instance_at`, `instance_offer` and `instance_share`: one column per offer always paid, else one per period."""
    periods, always = problem.traffic.periods, problem.offers.always_paid
    width = np.where(always, 1, periods)
    first = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    at = first[:-1] + np.where(always, 0, np.arange(periods)[:, None])
    offer = np.repeat(np.arange(len(always)), width)
    period = np.arange(len(offer)) - first[offer]
    share = np.where(always[offer], 1.0, problem.traffic.share_of_month[np.minimum(period, periods - 1)])
    return at.astype(np.int64), offer, share


def _elastic_changes(problem: Problem) -> Ints:
    """(X, 3) every change of periods that costs a start, for every offer that is paid by the hour."""
    before, after = np.nonzero(problem.traffic.start_share)
    elastic = np.flatnonzero(~problem.offers.always_paid)
    offer, change = np.repeat(elastic, len(before)), np.tile(np.arange(len(before)), len(elastic))
    return np.stack([offer, before[change], after[change]], axis=1).astype(np.int64).reshape(-1, 3)


def names(problem: Problem, variables: Variables) -> list[str]:
    """The name of each column, `decision[what]`, with the period after a bar where there are several."""
    many = problem.traffic.periods > 1
    streams, apis, offers = problem.streams, problem.api_streams, problem.offers
    several = (problem.candidates.rate_per_s > 0).sum(axis=1) > 1
    flow = [
        f"{problem.candidates.ids[c]}{f'|m{m}' if several[c] else ''}{f'|t{t}' if many else ''}"
        for t, c, m in zip(streams.period.tolist(), streams.server.tolist(), streams.mix.tolist(), strict=True)
    ]
    bought = zip(apis.period.tolist(), apis.server.tolist(), strict=True)
    instances = [
        offers.ids[o] if offers.always_paid[o] or not many else f"{offers.ids[o]}|t{t}"
        for o, t in _instance_places(problem, variables)
    ]
    members = {
        "instances": instances,
        "replicas": by_period(problem, problem.candidates.ids),
        "flow": flow,
        "bought": [f"{problem.apis.ids[a]}{f'|t{t}' if many else ''}" for t, a in bought],
        "starts": [f"{offers.ids[o]}|t{a}|t{b}" for o, a, b in variables.elastic_changes.tolist()],
        "lingering": cell_names(problem, variables.cells),
        "begun": cell_names(problem, variables.cells),
        "changed": changes_counted(problem),
        "used": by_period(problem, problem.candidates.ids),
        "outlasts": by_period(problem, problem.candidates.ids),
        "chosen": list(labels(problem.candidates.configuration)),
        "engine_chosen": list(labels(problem.candidates.engine)),
        "provider_present": by_period(problem, labels(offers.provider)),
        "region_present": by_period(problem, labels(offers.region)),
        "failover": [
            f"{variables.losses.names[e]}|{flow[n]}"
            for e, n in zip(variables.losses.event.tolist(), variables.losses.stream.tolist(), strict=True)
        ],
    }
    return [name for group in GROUPS if variables.groups()[group].size for name in tagged(group, members[group])]


def cell_names(problem: Problem, cells: Cells) -> list[str]:
    """(Q,) the offer and the first hour of each cell."""
    return [
        f"{problem.offers.ids[o]}|h{h}" for o, h in zip(cells.offer.tolist(), cells.first_hour.tolist(), strict=True)
    ]


def changes_counted(problem: Problem) -> list[str]:
    """(2G,) what `changed` counts: starts, then stops, of each configuration on an offer, by its first candidate.

    Nothing where changes are neither limited nor paid for.
    """
    if problem.limits.max_changes is None and not problem.limits.usd_per_change:
        return []
    alike, _ = deployments_alike(problem)
    first = [problem.candidates.ids[c] for c in np.unique(alike, return_index=True)[1].tolist()]
    return [f"{way}|{name}" for way in ("started", "stopped") for name in first]


def _instance_places(problem: Problem, variables: Variables) -> list[tuple[int, int]]:
    period = np.zeros(len(variables.instance_offer), dtype=np.int64)
    for t in range(problem.traffic.periods - 1, -1, -1):
        period[variables.instance_at[t]] = t
    return list(zip(variables.instance_offer.tolist(), period.tolist(), strict=True))


def by_period(problem: Problem, members: tuple[str, ...] | list[str]) -> list[str]:
    """Each member, once for each period where there are several, periods first."""
    if problem.traffic.periods == 1:
        return list(members)
    return [f"{name}|t{t}" for t in range(problem.traffic.periods) for name in members]


def integers(variables: Variables) -> Flags:
    """Which columns take whole values: counts and yes-or-no decisions."""
    whole = np.ones(variables.count, dtype=np.bool_)
    for name in FRACTIONS:
        whole[variables.groups()[name]] = False
    return whole


def upper_bounds(variables: Variables, relaxed: bool) -> Floats:
    """One for binaries and flows (trimmed plans, see `quantities`), infinity for counts.

    The relaxation has no bound on flows: demand's dual alone then tells what a request is worth.
    """
    upper = np.full(variables.count, np.inf)
    for name in BINARIES if relaxed else (*BINARIES, "flow", "bought", "failover"):
        upper[variables.groups()[name]] = 1.0
    return upper


def tagged(prefix: str, members: tuple[str, ...] | list[str]) -> list[str]:
    """`prefix[member]` for each member, free of blanks and brackets and short enough for a model file."""
    full = [f"{prefix}[{re.sub(r'[^!-~]|[][%]', _encoded, member)}]" for member in members]
    return [
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 12]}~{number}]"
        for number, name in enumerate(full)
    ]


def _encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in match.group().encode())
