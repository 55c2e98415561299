"""The linear relaxation of a part of the plans: what it would buy, and what it would pay for one more of each promise.

Its rows are those whose multipliers the checker's arithmetic takes as prices, in floating point: what one replica
draws, what one instance holds, what all of an offer is credited with, and every promise.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.errors import SolverFailure
from optimizer.plan.certify.blocks import RowBlock, RowBlocks
from optimizer.plan.certify.figures import FlowTerms
from optimizer.plan.verify.certificate.branch import Branch
from optimizer.plan.verify.certificate.problem import HOURS_PER_MONTH, SECONDS_PER_HOUR, LossAtOnce
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, numbered
from optimizer.program.solver import solve_linear

UNMET = (1e3, 10.0)
"""What meeting every promise by magic costs, in plans as dear as claimed: so dear that a part without plans is told
apart, and no dearer, for the sake of the solver's last digits; less where a proof fails for these."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What a linear program says of a part of the plans.

    Attributes:
        usd_per_hour: What they cost at least, as far as floating point goes.
        instances, replicas: How many it has of each offer and candidate.
        prices: By the names of a certificate.
    """

    usd_per_hour: float
    instances: dict[int, float]
    replicas: dict[int, float]
    prices: dict[str, float]


@dataclass(eq=False)
class _Model:
    """Columns and rows as they are added: each row is named after the promise whose price it has, if any."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    units: list[tuple[str, float]] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    blocks: list[RowBlock] = field(default_factory=list)
    starts: list[tuple[int, ...]] = field(default_factory=list)
    """Of each block its first row, then the columns that its own are counted from."""

    def column(self, cost: float = 0.0, upper: float = np.inf) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        return len(self.cost) - 1

    def row(self, lower: float, upper: float, terms: Iterable[tuple[int, float]], name: str = "") -> None:
        """A row divided by its bound, where it has one, so that all are of one size; its price is put back in unit."""
        unit = max(abs(bound) for bound in (lower, upper) if isfinite(bound)) or 1.0
        number = len(self.bounds)
        self.bounds.append((lower / unit, upper / unit))
        self.units.append((name, unit))
        self.entries += [(number, column, value / unit) for column, value in terms]

    def block(self, block: RowBlock, replicas: int, instance: int) -> int:
        """The columns and rows of a block, beside an offer's first column of replicas and that of its instances.

        Returns:
            The first of the new columns.
        """
        first = len(self.cost)
        self.blocks.append(block)
        self.starts.append((len(self.bounds), first, replicas, instance))
        self.cost += block.cost
        self.upper += [np.inf] * len(block.cost)
        self.bounds += [(-np.inf, 0.0)] * block.rows
        self.units += [("", 1.0)] * block.rows
        return first

    def matrix(self) -> tuple[Ints, Ints, Floats]:
        """Rows, columns and values of all entries."""
        row, column, value = (np.array(part) for part in zip(*self.entries, strict=True))
        if not self.blocks:
            return row, column, value.astype(float)
        # (entries of blocks,) the number of the block
        number = np.repeat(np.arange(len(self.blocks)), [len(block.row) for block in self.blocks])
        starts, counted_from = np.array(self.starts), np.concatenate([block.counted_from for block in self.blocks])
        rows = np.concatenate([block.row for block in self.blocks]) + starts[number, 0]
        columns = np.concatenate([block.column for block in self.blocks]) + starts[number, 1 + counted_from]
        values = np.concatenate([block.value for block in self.blocks])
        return np.concatenate((row, rows)), np.concatenate((column, columns)), np.concatenate((value, values))


def relaxed(
    blocks: RowBlocks,
    region: Branch,
    keep: frozenset[int],
    usd_per_hour: float | None,
    clock: Clock,
    unmet: float = UNMET[0],
) -> Relaxed:
    """The relaxation of the plans of a region that use only the candidates to keep.

    Args:
        blocks: Of the problem as the certificate states it.
        region: The part of the plans.
        keep: Candidates; the others are worth no more to any plan, or are looked at only by the checker.
        usd_per_hour: What plans are to be shown to cost; None where there are to be none, and costs do not count.
        clock: What is left for it.
        unmet: One of `UNMET`.

    Raises:
        LimitReached: nothing was left.
        SolverFailure: the solver does not vouch for its result.
    """
    return _Rows(blocks, region, keep, usd_per_hour, unmet).solved(clock)


class _Rows:
    def __init__(
        self, blocks: RowBlocks, region: Branch, keep: frozenset[int], usd_per_hour: float | None, unmet: float
    ) -> None:
        self.blocks, self.figures = blocks, (figures := blocks.figures)
        self.problem = problem = figures.problem
        self.region, self.at_cost = region, usd_per_hour is not None
        self.model = _Model()
        self.there = [[c for c in some if c in keep] for some in region.possible(problem)]
        self.every = [c for some in self.there for c in some]
        self.instances = {
            o: self.model.column(self._usd(problem.offers[o]["usd_per_hour"]))
            for o, some in enumerate(self.there)
            if some
        }
        self.replicas = {c: self.model.column() for c in self.every}
        self.hosted = [
            self.model.column(self._usd(api["usd_per_request"]) * SECONDS_PER_HOUR * figures.reach[api["mix"]])
            for api in problem.apis
        ]
        self.unmet = self.model.column(unmet * (usd_per_hour or 1.0))

    def solved(self, clock: Clock) -> Relaxed:
        self._hold()
        self._limit(self._serve("demand", None))
        for loss in self.problem.losses:
            self._serve(f"after loss of {loss.name}:", loss)
        self._be_present()
        self._count()
        self._change()
        return self._solution(clock)

    def _usd(self, price: object) -> float:
        return float(price) if self.at_cost else 0.0  # type: ignore[arg-type]

    def _promise(self, name: str, least: float, terms: Iterable[tuple[int, float]]) -> None:
        """A row of which there must be enough, or which magic meets."""
        if least > 0:
            self.model.row(least, np.inf, [*terms, (self.unmet, least)], name)

    def _hold(self) -> None:
        """Blocks of each size that an offer's replicas take, within those of its instances."""
        for o, column in self.instances.items():
            block = self.blocks.of_sizes(self.there[o])
            self.model.block(block, self.replicas[self.there[o][0]], column)

    def _serve(self, name: str, loss: LossAtOnce | None) -> dict[tuple[int, int], int]:
        """The demand of every class, met by replicas and hosted APIs; what each candidate is sent of each mix."""
        problem, flows = self.problem, dict[tuple[int, int], int]()
        for o in self.instances:
            kept = self._kept(o, loss)
            if kept and (loss or problem.may_serve(o)):
                flows |= self._flows(o, FlowTerms.of_rest(kept) if loss else self.figures.terms[o])
        served = defaultdict[str, list[tuple[int, float]]](list)
        mixes = [(column, m) for (_, m), column in flows.items()]
        apis = [a for a in range(len(problem.apis)) if not loss or a not in loss.apis]
        for column, m in (*mixes, *((self.hosted[a], problem.apis[a]["mix"]) for a in apis)):
            for k, share in self.figures.served[m]:
                served[k].append((column, share))
        for k, amount in problem.demand.items():
            self._promise(f"{name} {k}", float(amount), served[k])
        return flows

    def _kept(self, offer: int, loss: LossAtOnce | None) -> float:
        if loss is None or offer not in loss.offers:
            return 1.0
        most = self.region.most_instances.get(offer)
        return (1.0 if most is None else 1.0 - 1.0 / most) if loss.one else 0.0

    def _flows(self, o: int, terms: FlowTerms) -> dict[tuple[int, int], int]:
        """What the candidates of an offer are sent, in shares of each mix's reach, within what replicas draw."""
        block = self.blocks.of_flows(self.there[o], terms, self.region.most_replicas, at_cost=self.at_cost)
        first = self.model.block(block, self.replicas[self.there[o][0]], self.instances[o])
        return dict(zip(block.flows, range(first, first + len(block.flows)), strict=True))

    def _limit(self, flows: dict[tuple[int, int], int]) -> None:
        """Caps on instances, and shares of the requests."""
        problem = self.problem
        for cap in problem.caps:
            terms = [(self.instances[o], float(amount)) for o, amount in cap.of_offer.items() if o in self.instances]
            self._at_most(cap.name, float(cap.most), terms)
        for share in problem.shares:
            sent = [(flow, m) for (c, m), flow in flows.items() if problem.candidates[c]["offer"] in share.offers]
            sent += [(self.hosted[a], problem.apis[a]["mix"]) for a in share.apis]
            self._at_most(share.name, float(share.most), [(column, self.figures.reach[m]) for column, m in sent])

    def _at_most(self, name: str, most: float, terms: Iterable[tuple[int, float]]) -> None:
        """A limit; one below nothing is met by magic alone."""
        unmet = [(self.unmet, most)] if most < 0 else []
        self.model.row(-np.inf, most, [*terms, *unmet], name)

    def _be_present(self) -> None:
        problem, least = self.problem, self.problem.spare + 1
        for kind in ("provider", "region"):
            if not (wanted := problem.limits.get(f"min_{kind}s", 0)):
                continue
            by_place = defaultdict[str, list[int]](list)
            for c in self.every:
                if self.region.is_present(problem, c):
                    by_place[problem.offers[problem.candidates[c]["offer"]][kind]].append(self.replicas[c])
            present = {name: self.model.column(upper=1.0) for name in by_place}
            for name, columns in by_place.items():
                terms = [*((column, 1.0 / least) for column in columns), (present[name], -1.0)]
                self.model.row(0.0, np.inf, terms, f"{kind} {name}")
            self._promise("", float(wanted), [(column, 1.0) for column in present.values()])

    def _count(self) -> None:
        """Least and most replicas of workloads, and the splits."""
        limits, problem = self.problem.limits, self.problem
        for which, amounts in (("least", limits.get("least_replicas", {})), ("most", limits.get("max_replicas", {}))):
            for workload, count in amounts.items():
                terms = [(self.replicas[c], 1.0) for c in self.every if problem.candidates[c]["workload"] == workload]
                row = self._promise if which == "least" else self._at_most
                row(f"{which} {workload}", float(count), terms)
        for number, split in enumerate(self.region.splits):
            columns = self.instances if split.over == "instances" else self.replicas
            terms = [(columns[m], 1.0) for m in sorted(split.members) if m in columns]
            row = self._promise if split.side == "least" else self._at_most
            row(f"split {number}", float(split.count), terms)

    def _change(self) -> None:
        """Replicas started and stopped, of each configuration on an offer."""
        problem, limits = self.problem, self.problem.limits
        usd = self._usd(limits.get("usd_per_change", 0)) / HOURS_PER_MONTH
        if not usd and "max_changes" not in limits:
            return
        groups = defaultdict[tuple[int, str], list[int]](list)
        in_force = defaultdict[tuple[int, str], int](int)
        for c, candidate in enumerate(problem.candidates):
            group = candidate["offer"], candidate["configuration"]
            in_force[group] += candidate["in_force"]
            if c in self.replicas:
                groups[group].append(self.replicas[c])
        changed = []
        for (offer, configuration), force in in_force.items():
            terms = [(column, 1.0) for column in groups[offer, configuration]]
            if not terms and not force:
                continue
            changed += [started := self.model.column(usd), stopped := self.model.column(usd)]
            name = f"lean {problem.offers[offer]['id']} {configuration}" if force else ""
            self.model.row(float(force), float(force), [*terms, (started, -1.0), (stopped, 1.0)], name)
        if "max_changes" in limits:
            # a part of the plans may have to stop more than allowed; then that is met by magic, too
            unmet = (self.unmet, -float(sum(in_force.values())))
            self._at_most("max_changes", float(limits["max_changes"]), [*((column, 1.0) for column in changed), unmet])

    def _solution(self, clock: Clock) -> Relaxed:
        model = self.model
        lower, upper = np.array(model.bounds).T
        rows = Rows(numbered("r", len(lower)), lower, upper, *model.matrix())
        columns = Columns.fractions(np.array(model.upper))
        result = solve_linear(assemble(columns, np.array(model.cost), rows), clock)
        if clock.reached is not None and not len(result.duals):
            raise LimitReached(clock.reached)
        if not len(result.values) or not len(result.duals):
            raise SolverFailure("the relaxation of a part of the plans has no solution that the solver vouches for")
        values = result.values.tolist()
        return Relaxed(
            result.bound,
            {o: values[column] for o, column in self.instances.items()},
            {c: values[column] for c, column in self.replicas.items()},
            self._prices(result.duals),
        )

    def _prices(self, duals: Floats) -> dict[str, float]:
        """Of every promise, none negative; a lean is the share of what a change costs that one more replica would."""
        named = [
            (name, dual / unit) for (name, unit), dual in zip(self.model.units, duals.tolist(), strict=True) if name
        ]
        prices = {name: abs(dual) for name, dual in named if not name.startswith("lean ")}
        limits = self.problem.limits
        change = prices.get("max_changes", 0.0) + self._usd(limits.get("usd_per_change", 0)) / HOURS_PER_MONTH
        leans = {name: -dual / change for name, dual in named if name.startswith("lean ") and change}
        return prices | {name: min(max(lean, -1.0), 1.0) for name, lean in leans.items()}
