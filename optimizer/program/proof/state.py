"""What a search has to its name: the plan it holds, what it proved, what it did on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.model import Program, hourly_cost
from optimizer.program.formulation.variables import Variables
from optimizer.program.problem.problem import Problem, Sorted
from optimizer.program.problem.quantities import busiest_period, deployments_alike
from optimizer.program.solver import Answer, Clock, Status

EQUAL_COST = 1e-9
"""Relative difference below which two costs are the same."""


@dataclass(frozen=True, eq=False)
class Machines:
    """A bought plan of some problem.

    Attributes:
        instances: (T, O) whole instances that run in each period.
        replicas: (T, C).
        api_flow_per_s: (B,) requests/s sent to hosted APIs, in the order of the problem's API streams.
        usd_per_hour: The month's bill divided by its hours.
    """

    instances: Ints
    replicas: Ints
    api_flow_per_s: Floats
    usd_per_hour: float

    @property
    def used(self) -> Flags:
        """(C,) whether a candidate ever has a replica."""
        return np.asarray((self.replicas > 0).any(axis=0))


@dataclass(eq=False)
class Ledger:
    """What the search may do and did: where it may end, phases with their wall time, columns removed by argument.

    Only plans of at most `ceiling_usd_per_hour` are of interest; where there is none the search ends infeasible.
    """

    progress: Callable[[str], None]
    clock: Clock
    relative_gap: float = 0.0
    node_limit: int | None = None
    ceiling_usd_per_hour: float = np.inf
    phase_wall_s: dict[str, float] = field(default_factory=dict)
    eliminated: dict[str, int] = field(default_factory=dict)
    columns_solved: int = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Announce a phase and add its wall time."""
        self.progress(name)
        start_s = time.perf_counter()
        yield
        self.phase_wall_s[name] = self.phase_wall_s.get(name, 0.0) + time.perf_counter() - start_s


@dataclass(frozen=True, eq=False)
class Found:
    """The end of a search.

    Attributes:
        status: Of the whole problem.
        bound_usd_per_hour: No plan costs less.
        machines: In the problem's index order; None without a plan.
        with_candidate_usd_per_hour: (C,) no plan with the candidate costs less; infinite where it is in no plan as
            cheap as the one found.
    """

    status: Status
    bound_usd_per_hour: float
    machines: Machines | None
    with_candidate_usd_per_hour: Floats


def machines_of(answer: Answer, program: Program, part: Sorted, problem: Problem) -> Machines | None:
    """The answer's counts, rounded to the whole numbers they are within the solver's tolerance."""
    if not len(answer.values):
        return None
    variables, periods = program.variables, problem.traffic.periods
    instances = np.zeros((periods, len(problem.offers)), dtype=np.int64)
    replicas = np.zeros((periods, len(problem.candidates)), dtype=np.int64)
    instances[:, part.offers] = np.rint(answer.values[variables.instance_at])
    replicas[:, part.candidates] = np.rint(answer.values[variables.replicas])
    exact = answer.values.copy()
    exact[variables.instances] = np.rint(exact[variables.instances])
    sent = np.maximum(exact[variables.bought], 0.0) * part.problem.api_streams.reach_per_s
    exact[variables.lingering] = np.rint(exact[variables.lingering])
    exact[variables.starts] = _starts(exact, variables)
    exact[variables.changed] = _changed(exact, program)
    return Machines(instances, replicas, sent, float(exact @ hourly_cost(program)))


def _starts(values: Floats, variables: Variables) -> Floats:
    """What must be started at each change of periods, whatever slack the solver left there."""
    offer, before, after = variables.elastic_changes.T
    more = values[variables.instance_at[after, offer]] - values[variables.instance_at[before, offer]]
    return np.asarray(np.maximum(more, 0.0))


def _changed(values: Floats, program: Program) -> Floats:
    """Replicas started and stopped against those in force, whatever slack the solver left there."""
    if not len(program.variables.changed):
        return np.zeros(0)
    alike, in_force = deployments_alike(program.problem)
    replicas = np.rint(values[program.variables.replicas[busiest_period(program.problem)]])
    more = np.bincount(alike, weights=replicas, minlength=len(in_force)) - in_force
    return np.concatenate([np.maximum(more, 0.0), np.maximum(-more, 0.0)])
