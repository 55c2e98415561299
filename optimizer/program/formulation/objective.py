"""What a plan costs, as one coefficient per column: the objective and the left side of the budget."""

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.program.formulation.variables import Variables
from optimizer.program.problem.problem import Problem


def cost_usd_per_hour(problem: Problem, variables: Variables) -> Floats:
    """The month's bill divided by its hours.

    sum over instances of price x share of the month they are paid for and of tolls, over flows of what sending their
    answers costs, over API flows of price per request, over starts of price x start-up time, over instances paid for
    beyond their running of price x hours of the week, over changes against the plan in force of what each costs once.
    """
    cost, price = np.zeros(variables.count), problem.offers.price_usd_per_hour
    cost[variables.instances] = price[variables.instance_offer] * variables.instance_share
    if problem.tolls_usd_per_hour.size:
        # what is paid all month has one column, which pays the toll of every period
        np.add.at(cost, variables.instance_at, problem.tolls_usd_per_hour)
    cost[variables.flow] = egress_cost_usd_per_hour(problem)
    cost[variables.bought] = api_cost_usd_per_hour(problem)
    offer, before, after = variables.elastic_changes.T
    cost[variables.starts] = price[offer] * problem.traffic.start_share[before, after]
    cells = variables.cells
    cost[variables.billed_idle] = price[cells.offer] * cells.hours / max(len(problem.billing.hour_to_period), 1)
    cost[variables.changed] = problem.limits.usd_per_change / HOURS_PER_MONTH
    return cost


def api_cost_usd_per_hour(problem: Problem) -> Floats:
    """(B,) what serving the reach of an API's stream through its period costs, spread over the month.

    Of each hour just the requests that are asked in it, here as in `egress_table_usd_per_hour`.
    """
    streams, requests_per_hour = problem.api_streams, _paid_requests_per_hour(problem)
    cost: Floats = problem.apis.usd_per_request[streams.server] * requests_per_hour[streams.period, streams.mix]
    return cost


def egress_cost_usd_per_hour(problem: Problem) -> Floats:
    """(N,) what sending out the answers of a stream's reach through its period costs, spread over the month."""
    streams = problem.streams
    if not problem.egress.charged:
        return np.zeros(len(streams))
    offer = problem.candidates.offer[streams.server]
    cost: Floats = egress_table_usd_per_hour(problem)[streams.period, offer, streams.mix]
    return cost


def egress_table_usd_per_hour(problem: Problem) -> Floats:
    """(T, O, M) the same for every offer: USD/GB x GB per request x requests/h x share of the month."""
    gb_per_request = problem.traffic.mixes @ problem.egress.gb_per_request
    sent_gb = gb_per_request * _paid_requests_per_hour(problem)
    cost: Floats = problem.egress.usd_per_gb[:, None] * sent_gb[:, None, :]
    return cost


def _paid_requests_per_hour(problem: Problem) -> Floats:
    """(T, M) requests of a mix's reach that are asked in a period, spread over the month."""
    share: Floats = problem.traffic.share_of_month[:, None] * problem.paid_share_of_mix
    return problem.reach_per_s * SECONDS_PER_HOUR * share
