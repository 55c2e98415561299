"""Who serves what once the machines are bought: the busiest deployment as idle as possible, then the next.

Where sending answers costs something, only among the routings that cost least.

Period by period, since whole counts leave nothing that links periods but the prices already paid. What hosted APIs
are sent stays as bought.
"""

from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.errors import SolverFailure
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.objective import sending_cost_usd_per_hour
from optimizer.program.formulation.rows import Rows, Term, at_least, at_most
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.problem.quantities import labels, wanted_classes
from optimizer.program.proof.state import Machines
from optimizer.program.solver import Answer, Clock, solve_linear

ROUTING_TOLERANCE = 1e-6
"""Relative excess over a capacity that is put down to floating point when whole counts are re-checked."""

DUST = 1e-8
"""Share of a stream's reach that is put down to floating point and sent nowhere."""


@dataclass(frozen=True)
class Routed:
    """Requests/s of a mix that a candidate is sent in a period."""

    period: int
    candidate: int
    mix: int
    flow_per_s: float


def balanced_flows(problem: Problem, machines: Machines) -> tuple[Routed, ...]:
    """Flows that meet the demand with lexicographically smallest utilizations, the largest first.

    Minimizes t over sum of flow / rate <= t replicas by rounds: deployments whose row has a dual can't all be less
    busy than t and stay there, the rest go into the next round.

    Raises:
        SolverFailure: The counts do not carry the demand within `ROUTING_TOLERANCE`.
    """
    part = compacted(problem, machines.used)
    cost = sending_cost_usd_per_hour(part.problem)
    routed: list[Routed] = []
    for period in range(problem.traffic.periods):
        board = _Board.of(part.problem, machines.replicas[period, part.candidates], machines.api_flow_per_s, period)
        flow = board.cheapest(cost).balanced() if cost.any() else board.balanced()
        streams = part.problem.streams
        for n, value in zip(board.stream.tolist(), flow.tolist(), strict=True):
            candidate = int(part.candidates[streams.server[n]])
            routed.append(Routed(period, candidate, int(streams.mix[n]), value * float(streams.reach_per_s[n])))
    return tuple(routed)


@dataclass(frozen=True, eq=False)
class _Board:
    """One period: the streams of deployments that run in it (S), what they must add up to, and who is how large.

    Attributes:
        stream: (S,) positions in the problem's streams.
        deployment: (S,) which of the D deployments serves it.
        load: (S,) share of the deployment's full capacity that the reach of the stream takes.
        spare_room: (D,) share of full capacity that may be used so that spare replicas stand by.
    """

    problem: Problem
    stream: Ints
    deployment: Ints
    load: Floats
    spare_room: Floats
    promises: tuple[Rows, ...]

    @classmethod
    def of(cls, problem: Problem, replicas: Ints, api_flow_per_s: Floats, period: int) -> "_Board":
        streams, spare = problem.streams, problem.limits.spare_replicas
        stream = np.flatnonzero((streams.period == period) & (replicas[streams.server] > 0))
        candidate, deployment = np.unique(streams.server[stream], return_inverse=True)
        deployment = deployment.reshape(-1)
        load = streams.reach_per_s[stream] / (problem.rate_of_stream_per_s[stream] * replicas[streams.server[stream]])
        room = np.maximum(replicas[candidate] - spare, 0) / replicas[candidate]
        promises = _promises(problem, stream, api_flow_per_s, period)
        return cls(problem, stream, deployment, load, room, promises)

    def cheapest(self, cost: Floats) -> "_Board":
        """The same that may send its answers only as cheaply as its machines allow.

        Args:
            cost: (N,) USD/h for the answers of the reach of each of the problem's streams.
        """
        here = cost[self.stream]
        if not here.any():
            return self
        share, number = here / here.max(), np.arange(len(here))
        most = self.problem.limits.max_utilization * (1 + ROUTING_TOLERANCE / 10)
        answer = self._solved(np.full(len(self.spare_room), np.nan), np.append(share, 0.0), most)
        least = float(share @ answer.values[:-1]) + DUST / 10
        row = at_most(["sending[]"], np.array([least]), (np.zeros_like(number), number, share))
        return replace(self, promises=(*self.promises, row))

    def balanced(self) -> Floats:
        """(S,) flows in units of their reach."""
        level, share = np.full(len(self.spare_room), np.nan), np.zeros(len(self.stream))
        while np.isnan(level).any():
            answer = self._solved(level, np.append(np.zeros(len(self.stream)), 1.0))
            share, busiest = answer.values[:-1], float(answer.values[-1])
            if busiest > self.problem.limits.max_utilization * (1 + ROUTING_TOLERANCE):
                raise SolverFailure(f"whole counts would be used to {busiest:.9f} of what they sustain")
            free = np.isnan(level)
            stuck = free & (np.abs(answer.duals[: len(level)]) > ROUTING_TOLERANCE)
            level[stuck if stuck.any() else free] = busiest
        return np.where(share > DUST, share, 0.0)

    def _solved(self, level: Floats, objective: Floats, most: float = np.inf) -> Answer:
        """Minimize an objective over flows and, last, the highest utilization of deployments without a level (NaN)."""
        number, free = np.arange(len(self.stream)), np.isnan(level)
        everyone = np.arange(len(level))
        names = [f"utilization[{at}]" for at in everyone]
        busy = at_most(
            names,
            np.where(free, 0.0, np.nan_to_num(level) * (1 + ROUTING_TOLERANCE / 10)),
            (self.deployment, number, self.load),
            (everyone[free], np.full(int(free.sum()), len(number)), -np.ones(int(free.sum()))),
        )
        standing_by = at_most(
            [f"spare[{at}]" for at in everyone],
            self.spare_room * (1 + ROUTING_TOLERANCE),
            (self.deployment, number, self.load),
        )
        upper = np.append(np.full(len(number), np.inf), most)
        columns = Columns(
            [*(f"flow[{at}]" for at in number), "utilization[]"], upper, np.zeros(len(upper), dtype=np.bool_)
        )
        rows = [busy, *([standing_by] if self.problem.limits.spare_replicas else []), *self.promises]
        answer = solve_linear(assemble(columns, objective, rows), Clock(None))
        if answer.status != "optimal":
            raise SolverFailure(f"whole counts do not carry the demand: routing is {answer.status}")
        return answer


def _promises(problem: Problem, stream: Ints, api_flow_per_s: Floats, period: int) -> tuple[Rows, ...]:
    """The rows on flows that bought machines leave open: demand, and the shares of spot and of providers."""
    offers, streams, limits = problem.offers, problem.streams, problem.limits
    at_home = np.flatnonzero(np.isin(np.arange(len(streams)), stream))
    position = np.full(len(streams), -1, dtype=np.int64)
    position[at_home] = np.arange(len(at_home))
    row, entry, share = demand_shares(problem, streams)
    here = position[entry] >= 0
    periods, _ = wanted_classes(problem)
    wanted = np.flatnonzero(periods == period)
    first = wanted[0] if len(wanted) else 0
    needed = np.ones(len(wanted))
    api_row, api, api_share = demand_shares(problem, problem.api_streams)
    now = periods[api_row] == period
    sent = api_flow_per_s[api[now]] / problem.api_streams.reach_per_s[api[now]]
    np.subtract.at(needed, api_row[now] - first, api_share[now] * sent)
    demand = at_least(
        [f"demand[{at}]" for at in range(len(wanted))],
        needed - ROUTING_TOLERANCE / 10,
        (row[here] - first, position[entry[here]], share[here]),
    )
    part = streams.reach_per_s[stream] / problem.traffic.demand_per_s[period].sum()
    where = problem.candidates.offer[streams.server[stream]]
    rows = [demand]
    if limits.max_spot_share is not None:
        spot: Term = (np.zeros(len(stream), dtype=np.int64), np.arange(len(stream)), part * offers.spot[where])
        rows.append(at_most(["spot[]"], np.array([limits.max_spot_share + ROUTING_TOLERANCE / 10]), spot))
    if limits.max_provider_share is not None:
        providers = labels((*offers.provider, *problem.apis.provider))
        most = np.full(len(providers), limits.max_provider_share + ROUTING_TOLERANCE / 10)
        place = {name: at for at, name in enumerate(providers)}
        at = np.array([place[name] for name in offers.provider], dtype=np.int64)[where]
        now = problem.api_streams.period == period
        for server, sent in zip(problem.api_streams.server[now], api_flow_per_s[now], strict=True):
            most[place[problem.apis.provider[server]]] -= sent / problem.traffic.demand_per_s[period].sum()
        names = [f"provider[{number}]" for number in range(len(providers))]
        rows.append(at_most(names, most, (at, np.arange(len(stream)), part)))
    return tuple(rows)
