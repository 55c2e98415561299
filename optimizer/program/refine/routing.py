"""Who serves what once the machines are bought: the busiest deployment as idle as possible, then the next.

Where sending answers costs something, only among the routings that cost least.

Period by period, since whole counts leave nothing that links periods but the prices already paid. What hosted APIs
are sent stays as bought.
"""

from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.program.formulation.demand import demand_shares, routed_demand
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.objective import egress_cost_usd_per_hour, egress_table_usd_per_hour
from optimizer.program.formulation.policy import max_provider_share, max_spot_share
from optimizer.program.formulation.rows import Rows, at_most, numbered, one_row_at_most, stacked
from optimizer.program.formulation.variables import lay_out
from optimizer.program.problem.indices import positions
from optimizer.program.problem.problem import Problem, Sorted, compacted
from optimizer.program.problem.quantities import class_alone
from optimizer.program.proof.state import MIN_FLOW_SHARE, Incumbent
from optimizer.program.solver import SolverResult, solve_linear

ROUTING_TOLERANCE = 1e-6
"""Relative excess over a capacity that is put down to floating point when whole counts are re-checked."""


@dataclass(frozen=True)
class Routed:
    """Requests/s of a mix that a candidate is sent in a period."""

    period: int
    candidate: int
    mix: int
    flow_per_s: float


def balanced_flows(problem: Problem, plan: Incumbent) -> tuple[Routed, ...]:
    """Flows that meet the demand with lexicographically smallest utilizations, the largest first.

    Minimizes t over sum of flow / rate <= t replicas by rounds: deployments whose row has a dual can't all be less
    busy than t and stay there, the rest go into the next round.

    Raises:
        SolverFailure: The counts do not carry the demand within `ROUTING_TOLERANCE`.
    """
    routed: list[Routed] = []
    known = dict[bytes, list[tuple[int, int, float]]]()
    for period in range(problem.traffic.periods):
        # periods that ask for the same, run the same and buy the same are routed once
        if (sent := known.get(key := _asked(problem, plan, period))) is None:
            part, router = _router(problem, plan, period)
            flow_per_s = (router.balanced() * part.problem.streams.reach_per_s).tolist()
            server = part.candidates[part.problem.streams.server].tolist()
            sent = known[key] = list(zip(server, part.problem.streams.mix.tolist(), flow_per_s, strict=True))
        routed += [Routed(period, candidate, mix, flow) for candidate, mix, flow in sent]
    return tuple(routed)


def _asked(problem: Problem, plan: Incumbent, period: int) -> bytes:
    """All that the routing of a period looks at, but what is the same in every period."""
    traffic, sent = problem.traffic, plan.api_flow_per_s[problem.api_streams.period == period]
    by_period = (traffic.demand_per_s, traffic.share_of_month, traffic.least_replicas, plan.replicas)
    paid = traffic.paid_share[period] if traffic.paid_share.size else traffic.paid_share
    placed = plan.placed.during(period).replicas
    return b"|".join(each.tobytes() for each in (*(table[period] for table in by_period), paid, placed, sent))


def carries(problem: Problem, plan: Incumbent, period: int) -> bool:
    """Whether the whole counts of a plan of one period carry the demand of some period of the problem.

    A solver may take what a rare mix is sent for a little less than nothing, which its tolerance allows. In units of
    the reach of such a mix, thousands of replicas each, that is capacity which is not there.
    """
    here = replace(problem, traffic=problem.traffic.during(np.array([period])))
    most = problem.limits.max_utilization * (1 + ROUTING_TOLERANCE)
    if _shares_nothing(here):
        return _busiest_class(here, plan) <= most
    try:
        return _router(here, plan, 0)[1].least_busiest() <= most
    except SolverFailure:
        return False


def _shares_nothing(problem: Problem) -> bool:
    """Whether each candidate serves one class, and nothing but its demand says what it is sent."""
    limits, streams = problem.limits, problem.streams
    shares = limits.max_spot_share is not None or limits.max_provider_share is not None
    if shares or limits.spare_replicas or limits.spare_on_other_instances or problem.egress.charged:
        return False
    one_each = (np.bincount(streams.server) <= 1).all() and (class_alone(problem)[streams.mix] >= 0).all()
    return bool(one_each and not len(problem.apis))


def _busiest_class(problem: Problem, plan: Incumbent) -> float:
    """What is used of all that serves the busiest class, where that is all that matters: one period of each."""
    streams, wanted = problem.streams, problem.traffic.demand_per_s[0]
    sustained = problem.rate_of_stream_per_s * plan.replicas[0, streams.server]
    capacity = np.bincount(class_alone(problem)[streams.mix], weights=sustained, minlength=len(wanted))
    with np.errstate(divide="ignore"):
        used = wanted[wanted > 0] * (1 - ROUTING_TOLERANCE / 10) / capacity[wanted > 0]
    return float(used.max(initial=0.0))


def egress_of(problem: Problem, routed: tuple[Routed, ...]) -> float:
    """What sending the answers of routed requests costs, in USD/h spread over the month."""
    if not problem.egress.charged:
        return 0.0
    cost, offer = egress_table_usd_per_hour(problem), problem.candidates.offer
    reach = problem.reach_per_s
    return float(sum(cost[r.period, offer[r.candidate], r.mix] * r.flow_per_s / reach[r.period, r.mix] for r in routed))


@dataclass(frozen=True, eq=False)
class _Router:
    """One period of the deployments that run in it: D deployments, N streams, in units of their reach.

    Attributes:
        deployments: How many.
        deployment: (N,) which of the deployments serves a stream.
        load: (N,) share of the deployment's full capacity that the reach of the stream takes.
        wanted: (N,) how often its reach is the whole demand of a class, of the class of which it is most.
        unspared: (D,) share of full capacity that may be used so that spare replicas stand by; None without any.
        max_utilization: What no deployment's load may exceed.
        open_rows: What the flows must add up to.
    """

    deployments: int
    deployment: Ints
    load: Floats
    wanted: Floats
    unspared: Floats | None
    max_utilization: float
    open_rows: Rows

    def cheapest(self, cost: Floats) -> "_Router":
        """The same that may send its answers only as cheaply as its machines allow.

        Args:
            cost: (N,) USD/h for the answers of the reach of each stream.
        """
        if not cost.any():
            return self
        share, stream = cost / cost.max(), np.arange(len(cost))
        most = self.max_utilization * (1 + ROUTING_TOLERANCE / 10)
        result = self._solved(np.full(self.deployments, np.nan), np.append(share, 0.0), most)
        least = float(share @ result.values[:-1]) + MIN_FLOW_SHARE / 10
        egress = one_row_at_most("egress[]", least, stream, share)
        return replace(self, open_rows=stacked({"open": self.open_rows, "egress": egress}))

    def least_busiest(self) -> float:
        """The utilization of the busiest deployment where that is least."""
        none = np.full(self.deployments, np.nan)
        return float(self._solved(none, np.append(np.zeros(len(self.load)), 1.0)).values[-1])

    def balanced(self) -> Floats:
        """(N,) flows in units of their reach."""
        # deployment -> the utilization that it is fixed at, NaN where it may still fall
        level, share = np.full(self.deployments, np.nan), np.zeros(len(self.load))
        while np.isnan(level).any():
            result = self._solved(level, np.append(np.zeros(len(self.load)), 1.0))
            share, busiest = result.values[:-1], float(result.values[-1])
            if busiest > self.max_utilization * (1 + ROUTING_TOLERANCE):
                raise SolverFailure(f"whole counts would be used to {busiest:.9f} of what they sustain")
            free = np.isnan(level)
            stuck = free & (np.abs(result.duals) > ROUTING_TOLERANCE)
            level[stuck if stuck.any() else free] = busiest
        return np.where(share * self.wanted > MIN_FLOW_SHARE, share, 0.0)

    def _solved(self, level: Floats, objective: Floats, most: float = np.inf) -> SolverResult:
        """Minimize an objective over flows and, last, the highest utilization of deployments without a level (NaN).

        The duals are those of the utilization of each deployment.
        """
        stream, free = np.arange(len(self.load)), np.flatnonzero(np.isnan(level))
        load = (self.deployment, stream, self.load)
        blocks = {
            "utilization": at_most(
                numbered("utilization", self.deployments),
                np.nan_to_num(level) * (1 + ROUTING_TOLERANCE / 10),
                load,
                (free, np.array(len(stream)), -1.0),
            ),
        }
        if self.unspared is not None:
            # half of what verification grants, so that no rounding goes beyond it
            spare = numbered("spare", self.deployments)
            blocks["spare"] = at_most(spare, self.unspared * (1 + ROUTING_TOLERANCE / 2), load)
        rows = stacked(blocks | {"open": self.open_rows})
        columns = Columns.fractions(np.append(np.full(len(stream), np.inf), most))
        result = solve_linear(assemble(columns, objective, rows), Clock())
        if result.status != "optimal":
            raise SolverFailure(f"whole counts do not carry the demand: routing is {result.status}")
        return replace(result, duals=result.duals[rows.blocks["utilization"]])


def _router(problem: Problem, plan: Incumbent, period: int) -> tuple[Sorted, _Router]:
    """The router of a period, among the cheapest flows alone where sending answers costs something."""
    during = replace(problem, traffic=problem.traffic.during(np.array([period])))
    serving = np.zeros(len(problem.candidates), dtype=np.bool_)
    serving[during.streams.server] = True
    part = compacted(during, serving & (plan.replicas[period] > 0))
    streams, replicas = part.problem.streams, plan.replicas[period, part.candidates]
    spare = _spare(problem, plan, period)[part.candidates]
    bought_per_s = plan.api_flow_per_s[problem.api_streams.period == period]
    router = _Router(
        deployments=len(replicas),
        deployment=streams.server,
        load=streams.reach_per_s / (part.problem.rate_of_stream_per_s * replicas[streams.server]),
        wanted=_wanted(part.problem),
        unspared=np.maximum(replicas - spare, 0) / replicas if spare.any() else None,
        max_utilization=problem.limits.max_utilization,
        open_rows=_open_rows(part.problem, bought_per_s),
    )
    return part, router.cheapest(egress_cost_usd_per_hour(part.problem))


def _wanted(problem: Problem) -> Floats:
    """(N,) the largest part of any class's demand that the reach of a stream is; 1 and more, where a class is rare."""
    _, stream, share = demand_shares(problem, problem.streams)
    most = np.zeros(len(problem.streams.mix))
    np.maximum.at(most, stream, share)
    return most


def _spare(problem: Problem, plan: Incumbent, period: int) -> Ints:
    """(C,) replicas of each candidate that its flow must do without."""
    spare = np.full(len(problem.candidates), problem.limits.spare_replicas)
    if not problem.limits.spare_on_other_instances:
        return spare
    together = plan.placed.replicas[plan.placed.period == period]
    without: Ints = np.maximum(spare, together.max(axis=0, initial=0))
    return without


def _open_rows(problem: Problem, bought_per_s: Floats) -> Rows:
    """The rows on flows that bought machines leave open: demand, and the shares of spot and of providers.

    They are the program's own, with what hosted APIs are sent moved to the other side.
    """
    variables, limits = lay_out(problem, relaxed=True), problem.limits
    blocks = {"demand": routed_demand(problem, variables)}
    if limits.max_spot_share is not None:
        blocks["spot"] = max_spot_share(problem, variables)
    if limits.max_provider_share is not None:
        blocks["provider"] = max_provider_share(problem, variables)
    rows = stacked(blocks)
    # entry -> its stream, of candidates and of hosted APIs; -1 where it is one of the other
    flow, bought = (positions(v, variables.count)[rows.column] for v in (variables.flow, variables.bought))
    sent = np.zeros(len(rows.names))
    hosted, share = bought >= 0, bought_per_s / problem.api_streams.reach_per_s
    np.add.at(sent, rows.row[hosted], rows.value[hosted] * share[bought[hosted]])
    return replace(
        rows,
        lower=rows.lower - sent - ROUTING_TOLERANCE / 10,
        upper=rows.upper - sent + ROUTING_TOLERANCE / 10,
        row=rows.row[~hosted],
        column=flow[~hosted],
        value=rows.value[~hosted],
    )
