"""A bound that nothing is solved for, from prices of demand alone: of a few candidates, or the least that any takes.

Prices of demand are multipliers like any others (see `relaxation`), which proves what they say. Losses, spare replicas
that no request is sent to and limits on the fleet are not looked at: it is for when no time is left, and for leaving
out what is far too dear before anything else is looked at.
"""

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.program.formulation.demand import demand_shares
from optimizer.program.formulation.objective import cost_usd_per_hour
from optimizer.program.formulation.variables import Variables, lay_out
from optimizer.program.problem.problem import Problem, Streams
from optimizer.program.problem.quantities import best_rate_per_s
from optimizer.program.proof.relaxation import Bound, Multipliers, bound_from


def bound_at_cheapest_rates(problem: Problem) -> Bound:
    """What no plan undercuts, of a problem however large, in a moment: every request at the least that it costs on any
    instance full of such requests."""
    columns = lay_out(problem, relaxed=True)
    cost = cost_usd_per_hour(problem, columns)
    instance_price, sending, api_price = cost[columns.instances], cost[columns.flow], cost[columns.bought]
    # (N,) what a whole stream costs, and (B,) what as much does at a hosted API
    alone = sending + _on_full_instances(problem, instance_price[columns.instance_at])
    price = np.full(len(problem.demands), np.inf)
    for streams, usd_per_hour in ((problem.streams, alone), (problem.api_streams, api_price)):
        row, stream, share = demand_shares(problem, streams)
        # the classes of a mix bear its cost in equal parts
        classes = np.bincount(stream, minlength=len(streams))[stream]
        np.minimum.at(price, row, usd_per_hour[stream] / (share * classes))
    # a demand that nothing serves rules every plan out elsewhere
    price[~np.isfinite(price)] = 0.0
    return _bound_at(problem, price, columns, cost)


def bound_at_prices(problem: Problem, price: Floats) -> Bound:
    """What no plan undercuts where each demand (D,) is worth so many USD/h."""
    columns = lay_out(problem, relaxed=True)
    return _bound_at(problem, price, columns, cost_usd_per_hour(problem, columns))


def _bound_at(problem: Problem, price: Floats, columns: Variables, cost: Floats) -> Bound:
    """The same, of decisions that are numbered already and what each costs."""
    multipliers = Multipliers(
        flow_worth=_worth(problem, problem.streams, price) - cost[columns.flow],
        replica_worth=np.zeros((problem.traffic.periods, len(problem.candidates))),
        api_worth=_worth(problem, problem.api_streams, price),
        api_price=cost[columns.bought],
        instance_price=cost[columns.instances],
        instance_worth=np.zeros(len(columns.instances)),
        gained=float(price.sum()),
        charged=0.0,
        group=np.zeros(len(problem.streams)),
    )
    return bound_from(problem, multipliers)


def _on_full_instances(problem: Problem, price: Floats) -> Floats:
    """(N,) USD/h over the month for a whole stream on instances that serve nothing else, all of them full.

    Args:
        problem: The problem.
        price: (T, O) of what an instance is paid for: a period, or the whole month, of which periods bear their share.
    """
    offers, candidates, streams = problem.offers, problem.candidates, problem.streams
    borne = np.where(offers.always_paid, problem.traffic.share_of_month[:, None] * price, price)
    offer = candidates.offer[streams.server]
    held = offers.gpus_per_instance[offer] // candidates.gpus_per_replica[streams.server]
    replicas: Floats = streams.reach_per_s / best_rate_per_s(problem)
    return np.asarray(borne[streams.period, offer] / held * replicas)


def _worth(problem: Problem, streams: Streams, price: Floats) -> Floats:
    """What a whole stream earns at prices of the demands."""
    row, stream, share = demand_shares(problem, streams)
    worth = np.zeros(len(streams))
    np.add.at(worth, stream, share * price[row])
    return worth
