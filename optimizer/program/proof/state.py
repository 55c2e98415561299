"""What a search has to its name: the incumbent, what it proved, what it did on the way."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock, Limit
from optimizer.base.progress import BestAndBound
from optimizer.program.formulation.model import Program, hourly_cost
from optimizer.program.formulation.variables import Variables, start_of_turn
from optimizer.program.problem.instance_contents import NOTHING_PLACED, Placed, placed_of
from optimizer.program.problem.problem import Problem, Sorted
from optimizer.program.problem.quantities import busiest_period, deployments
from optimizer.program.proof.relaxation import Bound
from optimizer.program.solver import INTEGRALITY_TOLERANCE, IntegerSolver, SolverResult, Status

EQUAL_COST = 1e-9
"""Relative difference below which two costs are the same."""

NO_GAP = 2 * EQUAL_COST
"""Of a plan above a bound: one that costs the same may have taken the place of one that costs the same as the bound."""

ROUNDED_OFF = 10 * INTEGRALITY_TOLERANCE
"""How far above a whole number a count is still that number."""

MIN_FLOW_SHARE = 1e-8
"""Share of each class's demand that is put down to floating point and sent nowhere."""


@dataclass(frozen=True, eq=False)
class Incumbent:
    """The best plan found for some problem.

    Attributes:
        instances: (T, O) whole instances that run in each period.
        replicas: (T, C).
        api_flow_per_s: (B,) requests/s sent to hosted APIs, in the order of the problem's API streams.
        usd_per_hour: The month's bill divided by its hours.
        restarts_usd_per_hour: The part of it for starts that only a change of layouts asks for.
        placed: What stands on which instance, where that matters.
        egress_usd_per_hour: The part of it for sending answers, as a program had them sent that may have ended early.
        billed_idle_usd_per_hour: The part of it for hours that nothing runs, as such a program had them billed.
    """

    instances: Ints
    replicas: Ints
    api_flow_per_s: Floats
    usd_per_hour: float
    restarts_usd_per_hour: float = 0.0
    placed: Placed = NOTHING_PLACED
    egress_usd_per_hour: float = 0.0
    billed_idle_usd_per_hour: float = 0.0

    @property
    def used(self) -> Flags:
        """(C,) whether a candidate ever has a replica."""
        return np.asarray((self.replicas > 0).any(axis=0))

    def for_whole(self, part: Sorted, problem: Problem) -> "Incumbent":
        """The same plan in the index order of a problem of which its own is a part, with all hosted APIs."""
        periods = problem.traffic.periods
        instances = np.zeros((periods, len(problem.offers)), dtype=np.int64)
        replicas = np.zeros((periods, len(problem.candidates)), dtype=np.int64)
        instances[:, part.offers], replicas[:, part.candidates] = self.instances, self.replicas
        placed = self.placed.for_whole(part.offers, part.candidates, len(problem.candidates))
        return replace(self, instances=instances, replicas=replicas, placed=placed)


@dataclass(eq=False)
class SearchState:
    """What the search may do and did: where it may end, phases with their wall time, columns removed by argument, the
    columns and the solver of the last program, and the limit of the clock that ended it, if one did.

    Only plans of at most `cutoff_usd_per_hour` are of interest; where there is none the search ends infeasible. Where a
    wider problem is solved, none is known to cost less than `least_usd_per_hour`, and one that costs that ends it. Once
    no plan costs less than `enough_usd_per_hour`, or one is found that does, the cheapest of a large week is not asked
    for any more. Where a plan is wanted `at_any_rate`, a simple one stands in for a search that was cut short. A
    `proof` that takes longer than the programs of a week is not wanted where a plan is good enough.
    """

    clock: Clock
    progress: BestAndBound | None = None
    relative_gap: float = 0.0
    node_limit: int | None = None
    cutoff_usd_per_hour: float = np.inf
    least_usd_per_hour: float = 0.0
    enough_usd_per_hour: float = np.inf
    at_any_rate: bool = True
    proof: bool = True
    phase_wall_s: dict[str, float] = field(default_factory=dict)
    eliminated: dict[str, int] = field(default_factory=dict)
    columns_solved: int = 0
    solver: IntegerSolver | None = None
    ended_by: Limit | None = None

    def refuted_by(self, plan: Incumbent | None) -> bool:
        """Whether a plan costs less than what every plan was to be known to cost."""
        if plan is None or np.isinf(self.enough_usd_per_hour):
            return False
        return plan.usd_per_hour < self.enough_usd_per_hour * (1 - EQUAL_COST)

    def best_and_bound(self, incumbent: Incumbent | None, bound_usd_per_hour: float) -> None:
        """Tell whoever watches what the best plan costs and what no plan undercuts."""
        if self.progress is not None:
            self.progress(None if incumbent is None else incumbent.usd_per_hour, bound_usd_per_hour)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add a phase's wall time."""
        start_s = time.perf_counter()
        yield
        self.phase_wall_s[name] = self.phase_wall_s.get(name, 0.0) + time.perf_counter() - start_s


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The end of a search.

    Attributes:
        status: Of the whole problem.
        bound: What no plan undercuts; infinite for a candidate that is in no plan as cheap as the one found.
        incumbent: In the problem's index order; None without a plan.
    """

    status: Status
    bound: Bound
    incumbent: Incumbent | None


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a problem before it is searched: what no plan undercuts, and a plan, if one is."""

    usd_per_hour: float = 0.0
    plan: Incumbent | None = None

    def raises(self, bound: Bound) -> Bound:
        """A bound of the same problem, raised to what is known."""
        return bound.raised_to(
            Bound(self.usd_per_hour, np.full_like(bound.with_candidate_usd_per_hour, self.usd_per_hour))
        )


NOTHING_KNOWN = Known()


def incumbent_of(result: SolverResult, program: Program, part: Sorted, problem: Problem) -> Incumbent | None:
    """The counts of a part's program, rounded to the whole numbers they are within the solver's tolerance."""
    if not len(result.values):
        return None
    variables, values = program.variables, result.values.copy()
    for counts in (variables.instances, variables.billed_idle, variables.standing, variables.placed):
        values[counts] = np.rint(values[counts])
    # whole within the solver's tolerance, or a fraction that `implied` allows to be rounded up
    values[variables.replicas] = np.ceil(values[variables.replicas] - ROUNDED_OFF)
    _give_back(values, program)
    # what follows from the counts, whatever slack the solver left there
    values[variables.starts] = starts_of(values, variables)
    values[variables.bought] *= values[variables.bought] > MIN_FLOW_SHARE
    cost, restarts = hourly_cost(program), values[variables.starts] - rises_of(values, variables)
    values[variables.changed] = _changes_of(values, program)
    sent = values[variables.bought] * part.problem.api_streams.reach_per_s
    holding, running = (values[counted].astype(np.int64) for counted in (variables.placed, variables.replicas))
    placed = placed_of(variables.contents, holding, running)
    turned, instances = float(restarts @ cost[variables.starts]), values[variables.instance_at].astype(np.int64)
    egress, idle = (float(values[of] @ cost[of]) for of in (variables.flow, variables.billed_idle))
    plan = Incumbent(instances, running, sent, float(values @ cost), turned, placed, egress, idle)
    return plan.for_whole(part, problem)


def _give_back(values: Floats, program: Program) -> None:
    """Leaves no instances of offers on which nothing ever runs, as a search that ended early may."""
    variables, candidates = program.variables, program.problem.candidates
    has_replicas = np.zeros(len(program.problem.offers), dtype=np.bool_)
    has_replicas[candidates.offer[(values[variables.replicas] > 0).any(axis=0)]] = True
    values[variables.instances] *= has_replicas[variables.instance_offer]
    values[variables.billed_idle] *= has_replicas[variables.cells.offer]
    values[variables.standing] *= has_replicas[variables.layouts.offer]


def starts_of(values: Floats, variables: Variables) -> Floats:
    """(X,) instances that must be started at each change of periods."""
    started = rises_of(values, variables)
    return np.maximum(started, _turned(values, variables)) if variables.risen.size else started


def rises_of(values: Floats, variables: Variables) -> Floats:
    """(X,) instances more after each change of periods than before it."""
    offer, before, after = variables.elastic_changes.T
    more = values[variables.instance_at[after, offer]] - values[variables.instance_at[before, offer]]
    return np.asarray(np.maximum(more, 0.0))


def _turned(values: Floats, variables: Variables) -> Floats:
    """(X,) instances that hold another layout after a change of periods and did not rest before it."""
    layouts, standing = variables.layouts, values[variables.standing]
    _, before, after = layouts.turns[layouts.rise_turn].T
    risen = np.maximum(standing[after, layouts.rise_layout] - standing[before, layouts.rise_layout], 0.0)
    turned = np.bincount(layouts.rise_turn, weights=risen, minlength=len(layouts.turns))
    offer, before, _ = layouts.turns.T
    if layouts.may_rest:
        held = np.stack([np.bincount(layouts.offer, weights=row, minlength=offer.max() + 1) for row in standing])
        turned -= values[variables.instance_at[before, offer]] - held[before, offer]
    found = np.zeros(len(variables.elastic_changes))
    position = start_of_turn(variables)
    found[position[position >= 0]] = turned[position >= 0]
    return found


def _changes_of(values: Floats, program: Program) -> Floats:
    """(2G,) replicas started and stopped against those in force."""
    if not len(program.variables.changed):
        return np.zeros(0)
    deployment, in_force = deployments(program.problem)
    replicas = values[program.variables.replicas[busiest_period(program.problem)]]
    more = np.bincount(deployment, weights=replicas, minlength=len(in_force)) - in_force
    return np.maximum([more, -more], 0.0).ravel()
