"""The columns of the program: where each decision sits, what it is called and what values it may take."""

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.rows import tagged
from optimizer.program.problem.billing_cells import NO_CELLS, Cells, billing_cells
from optimizer.program.problem.indices import grouped, positions
from optimizer.program.problem.instance_contents import NO_CONTENTS, InstanceContents, instance_contents
from optimizer.program.problem.layouts import Layouts, layouts_of
from optimizer.program.problem.loss_levels import LossLevels, demand_levels, replica_levels
from optimizer.program.problem.losses import Losses, losses
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import deployments, labels, places_of

BINARIES = ("used", "exposed", "stacked", "chosen", "engine_chosen", "provider_present", "region_present", "place_used")
FRACTIONS = ("flow", "bought", "carried", "starts", "changed", "loaded", "risen")
"""Decisions that take any value from 0; a whole number follows for the last four where others are whole."""


@dataclass(frozen=True, eq=False)
class Variables:
    """Column numbers of each decision; a decision that no active family needs has none.

    Attributes:
        instances: (I,) whole instances of an offer: in each period, or all month where they are always paid.
        replicas: (T, C) engine replicas placed for a candidate.
        flow: (N,) requests/s of a stream, in units of its reach: 1 serves the whole demand of its mix.
        bought: (B,) requests/s sent to a hosted API, in units of its reach.
        starts: (X,) instances started at a change of periods, see `elastic_changes`.
        billed_idle, billing_starts: (Q,) instances paid for beyond those that run, and put on the bill, by cell of the
            week.
        changed: (2G,) or empty, replicas started (first G) and stopped (last G) against those in force, by group of
            `deployments`.
        loaded: (F,) replicas of a group that are loaded all month, see `Layouts`.
        standing: (T, L) instances with a layout.
        risen: (Y,) instances more with a layout after a change than before it.
        used: (T, C) or empty, whether a candidate serves anything.
        carried: (D,) or empty, the share of a demand that all replicas at full rate and hosted APIs carry.
        placed: (T, P) or empty, instances by what stands on them, see `InstanceContents`.
        exposed: (L,) or empty, whether the loss of an instance takes as much of a demand as a level says.
        stacked: (S,) or empty, whether as many replicas of a candidate stand on one instance as a level says.
        chosen: (L,) or empty, whether any candidate of a configuration label ever has a replica.
        engine_chosen: (E,) or empty, whether any candidate of an engine ever has a replica.
        provider_present, region_present: (T, P), (T, R) or empty, whether the provider or region counts as used.
        place_used: (P + R,) or empty, whether anything ever runs at a provider or in a region.
        instance_at: (T, O) the column of `instances` that an offer has in a period.
        instance_offer, instance_share: (I,) the offer of such a column and the share of a month it is paid for.
        elastic_changes: (X, 3) offer, period before, period after of each of `starts`.
        layouts: What `loaded`, `standing` and `risen` count.
        cells: (Q) the hours of the week that `billed_idle` and `billing_starts` count.
        losses: Of places, that must be survived.
        contents: What `placed` counts.
        demand_levels, replica_levels: The levels of `exposed` and of `stacked`.
    """

    instances: Ints
    replicas: Ints
    flow: Ints
    bought: Ints
    starts: Ints
    billed_idle: Ints
    billing_starts: Ints
    changed: Ints
    loaded: Ints
    standing: Ints
    risen: Ints
    carried: Ints
    placed: Ints
    used: Ints
    exposed: Ints
    stacked: Ints
    chosen: Ints
    engine_chosen: Ints
    provider_present: Ints
    region_present: Ints
    place_used: Ints
    instance_at: Ints
    instance_offer: Ints
    instance_share: Floats
    elastic_changes: Ints
    layouts: Layouts
    cells: Cells
    losses: Losses
    contents: InstanceContents
    demand_levels: LossLevels
    replica_levels: LossLevels

    @property
    def count(self) -> int:
        """How many columns there are."""
        return sum(columns.size for columns in self.groups().values())

    def groups(self) -> dict[str, Ints]:
        """The decisions by name, in column order."""
        return {name: getattr(self, name) for name in GROUPS}


GROUPS = (
    *("instances", "replicas", "flow", "bought", "starts", "billed_idle", "billing_starts", "changed"),
    *("loaded", "standing", "risen", "carried", "placed", *BINARIES),
)
NOT_RELAXED = (*BINARIES, "loaded", "standing", "risen")
"""Decisions that the relaxation does without."""

MODEL_NAMES = {"billed_idle": "lingering", "billing_starts": "begun"}
"""What model files and the page on the formulation call a decision, where it is not its name here."""


def lay_out(problem: Problem, relaxed: bool) -> Variables:
    """Number the columns; a relaxed program has no binary column and does not know what stands on which instance."""
    instance_at, instance_offer, instance_share = instance_columns(problem)
    changes, cells = _elastic_changes(problem), NO_CELLS if relaxed else billing_cells(problem)
    contents, layouts = NO_CONTENTS if relaxed else instance_contents(problem), layouts_of(problem)
    demand, replica = demand_levels(problem, contents), replica_levels(problem, contents)
    shapes = _shapes(problem) | {
        "instances": (len(instance_offer),),
        "starts": (len(changes),),
        "billed_idle": (len(cells),),
        "billing_starts": (len(cells),),
        "loaded": (len(layouts.fixed),),
        "standing": (problem.traffic.periods, len(layouts.offer)),
        "risen": (len(layouts.rise_turn),),
        "placed": (problem.traffic.periods, len(contents)),
        "exposed": (len(demand),),
        "stacked": (len(replica),),
    }
    columns, start = {}, 0
    for name in GROUPS:
        shape = (0,) if relaxed and name in NOT_RELAXED else shapes[name]
        columns[name] = np.arange(start, start + prod(shape), dtype=np.int64).reshape(shape)
        start += columns[name].size
    return Variables(
        **columns,
        instance_at=instance_at,
        instance_offer=instance_offer,
        instance_share=instance_share,
        elastic_changes=changes,
        layouts=layouts,
        cells=cells,
        losses=losses(problem),
        contents=contents,
        demand_levels=demand,
        replica_levels=replica,
    )


def _shapes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """The shape of each decision that the problem alone settles; (0,) where no limit needs it."""
    limits, candidates, offers = problem.limits, problem.candidates, problem.offers
    periods, none = problem.traffic.periods, (0,)
    per_candidate = (periods, len(candidates))
    return {
        "replicas": per_candidate,
        "flow": (len(problem.streams),),
        "bought": (len(problem.api_streams),),
        "changed": (len(changes_counted(problem)),),
        "carried": (len(problem.demands),) if limits.survive else none,
        "used": per_candidate if limits.spare_replicas else (0, 0),
        "chosen": none if limits.max_distinct_configurations is None else (len(labels(candidates.configuration)),),
        "engine_chosen": none if limits.max_engines is None else (len(labels(candidates.engine)),),
        "provider_present": (periods, len(labels(offers.provider))) if limits.min_providers > 1 else none,
        "region_present": (periods, len(labels(offers.region))) if limits.min_regions > 1 else none,
        "place_used": none if problem.ceiling.places is None else (len(places_of(problem)),),
    }


def instance_columns(problem: Problem) -> tuple[Ints, Ints, Floats]:
    """`instance_at`, `instance_offer` and `instance_share`: one column per offer always paid, else one per period."""
    periods, always = problem.traffic.periods, problem.offers.always_paid
    width = np.where(always, 1, periods)
    # offer -> its first column
    first = (np.cumsum(width) - width).astype(np.int64)
    at = first + np.where(always, 0, np.arange(periods)[:, None])
    offer = np.repeat(np.arange(len(always)), width)
    period = np.arange(len(offer)) - first[offer]
    share = np.where(always[offer], 1.0, problem.traffic.share_of_month[period])
    return at.astype(np.int64), offer, share


def start_of_turn(variables: Variables) -> Ints:
    """(turns,) the position among `starts` of each change at which layouts may, -1 where no start can be paid."""
    changes, turns = variables.elastic_changes, variables.layouts.turns
    both, first = np.concatenate([changes, turns]), len(changes)
    if not len(both):
        return np.zeros(0, dtype=np.int64)
    number = grouped(*both.T).number
    return positions(number[:first], int(number.max()) + 1)[number[first:]]


def _elastic_changes(problem: Problem) -> Ints:
    """(X, 3) every change of periods that costs a start, for every offer that is paid by the hour."""
    before, after = problem.traffic.changes
    elastic = np.flatnonzero(~problem.offers.always_paid)
    offer, change = np.repeat(elastic, len(before)), np.tile(np.arange(len(before)), len(elastic))
    return np.stack([offer, before[change], after[change]], axis=1).astype(np.int64).reshape(-1, 3)


def names(problem: Problem, variables: Variables) -> list[str]:
    """The name of each column, `decision[what]`, with the period after a bar where there are several."""
    candidates, offers, apis = problem.candidates, problem.offers, problem.api_streams
    per_candidate, cells = by_period(problem, candidates.ids), cell_names(problem, variables.cells)
    serves_several = (candidates.rate_per_s > 0).sum(axis=1) > 1
    flow = stream_names(problem, np.arange(len(problem.streams)), serves_several[problem.streams.server])
    members: dict[str, list[str]] = {
        "instances": _instance_names(problem, variables),
        "replicas": per_candidate,
        "flow": flow,
        "bought": timed(problem, [problem.apis.ids[a] for a in apis.server.tolist()], apis.period),
        "starts": [f"{offers.ids[o]}|t{a}|t{b}" for o, a, b in variables.elastic_changes.tolist()],
        "billed_idle": cells,
        "billing_starts": cells,
        "changed": changes_counted(problem),
        "loaded": group_names(problem, variables.layouts)[variables.layouts.fixed].tolist(),
        "standing": by_period(problem, layout_names(problem, variables.layouts)),
        "risen": rise_names(problem, variables.layouts),
        "used": per_candidate,
        "carried": demand_names(problem, np.arange(len(problem.demands))),
        "placed": by_period(problem, _content_names(problem, variables.contents)),
        "exposed": _numbered(demand_names(problem, variables.demand_levels.of)),
        "stacked": _numbered(cell_ids(problem, variables.replica_levels.of)),
        "chosen": list(labels(candidates.configuration)),
        "engine_chosen": list(labels(candidates.engine)),
        "provider_present": by_period(problem, labels(offers.provider)),
        "region_present": by_period(problem, labels(offers.region)),
        "place_used": list(places_of(problem)),
    }
    numbers = variables.groups()
    return [
        name
        for group in GROUPS
        if numbers[group].size
        for name in tagged(MODEL_NAMES.get(group, group), members[group])
    ]


def _instance_names(problem: Problem, variables: Variables) -> list[str]:
    """(I,) the offer of each column of instances, with the period where an offer has one for each."""
    ids, offer = [problem.offers.ids[o] for o in variables.instance_offer.tolist()], variables.instance_offer
    period = variables.instances - variables.instance_at[0, offer]
    always = problem.offers.always_paid[offer].tolist()
    return [
        name if paid else timed_name
        for name, timed_name, paid in zip(ids, timed(problem, ids, period), always, strict=True)
    ]


def demand_names(problem: Problem, demands: Ints) -> list[str]:
    """The class of each demand listed, with its period where there are several."""
    classes = [problem.traffic.classes[k] for k in problem.demands.request_class[demands].tolist()]
    return timed(problem, classes, problem.demands.period[demands])


def _content_names(problem: Problem, contents: InstanceContents) -> list[str]:
    """(P,) the offer and number of each content."""
    return [f"{problem.offers.ids[o]}|p{p}" for p, o in enumerate(contents.offer.tolist())]


def cell_ids(problem: Problem, cells: Ints) -> list[str]:
    """The candidate of each period x candidates + candidate listed, with the period where there are several."""
    names = by_period(problem, problem.candidates.ids)
    return [names[cell] for cell in cells.tolist()]


def _numbered(members: list[str]) -> list[str]:
    """Each level's member with the number of the level."""
    return [f"{name}|l{number}" for number, name in enumerate(members)]


def stream_names(problem: Problem, stream: Ints, mixed: Flags) -> list[str]:
    """The candidate of each stream listed, with its mix where it is `mixed`, and its period."""
    streams, ids = problem.streams, problem.candidates.ids
    listed = zip(streams.server[stream].tolist(), streams.mix[stream].tolist(), mixed.tolist(), strict=True)
    return timed(problem, [f"{ids[c]}|m{m}" if several else ids[c] for c, m, several in listed], streams.period[stream])


def cell_names(problem: Problem, cells: Cells) -> list[str]:
    """(Q,) the offer and the first hour of each cell."""
    pairs = zip(cells.offer.tolist(), cells.first_hour.tolist(), strict=True)
    return [f"{problem.offers.ids[o]}|h{h}" for o, h in pairs]


def group_names(problem: Problem, layouts: Layouts) -> npt.NDArray[np.object_]:
    """(G,) a group by its first candidate."""
    return np.array([problem.candidates.ids[c] for c in layouts.groups.first.tolist()], dtype=object)


def layout_names(problem: Problem, layouts: Layouts) -> list[str]:
    """(L,) the offer of each layout, and its number."""
    return [f"{problem.offers.ids[o]}|l{number}" for number, o in enumerate(layouts.offer.tolist())]


def turn_names(problem: Problem, layouts: Layouts) -> list[str]:
    """(X,) the offer of each change, and the periods before and after it."""
    return [f"{problem.offers.ids[o]}|t{before}|t{after}" for o, before, after in layouts.turns.tolist()]


def rise_names(problem: Problem, layouts: Layouts) -> list[str]:
    """(Y,) the change at which a layout may rise, and its number."""
    turns = turn_names(problem, layouts)
    pairs = zip(layouts.rise_turn.tolist(), layouts.rise_layout.tolist(), strict=True)
    return [f"{turns[turn]}|l{layout}" for turn, layout in pairs]


def changes_counted(problem: Problem) -> list[str]:
    """(2G,) what `changed` counts: starts, then stops, of each configuration on an offer, by its first candidate.

    Nothing where changes are neither limited nor paid for.
    """
    if problem.limits.max_changes is None and not problem.limits.usd_per_change:
        return []
    deployment, _ = deployments(problem)
    first = [problem.candidates.ids[c] for c in np.unique(deployment, return_index=True)[1].tolist()]
    return [f"{way}|{name}" for way in ("started", "stopped") for name in first]


def by_period(problem: Problem, members: tuple[str, ...] | list[str]) -> list[str]:
    """Each member, once for each period where there are several, periods first."""
    periods = np.arange(problem.traffic.periods)
    return timed(problem, [*members] * len(periods), np.repeat(periods, len(members)))


def timed(problem: Problem, members: list[str], period: Ints) -> list[str]:
    """Each member with its period where there are several."""
    if problem.traffic.periods == 1:
        return members
    return [f"{name}|t{t}" for name, t in zip(members, period.tolist(), strict=True)]


def integers(variables: Variables) -> Flags:
    """Which columns take whole values: counts and yes-or-no decisions."""
    whole = np.ones(variables.count, dtype=np.bool_)
    for name in FRACTIONS:
        whole[getattr(variables, name)] = False
    return whole


def upper_bounds(variables: Variables, relaxed: bool) -> Floats:
    """One for binaries and flows (trimmed plans, see `quantities`), infinity for counts.

    The relaxation has no bound on flows: demand's dual alone then tells what a request is worth.
    """
    upper = np.full(variables.count, np.inf)
    for name in BINARIES if relaxed else (*BINARIES, "flow", "bought"):
        upper[getattr(variables, name)] = 1.0
    return upper
