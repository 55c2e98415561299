"""What instances cost beyond their price for what they take of something shared: the price of a quota, or of a pool.

A toll is charged for running, not for starting. Where all hours are alike it is a part of the price, and every argument
about prices holds. In a week a toll may differ from period to period, which the arguments about price by the hour do
not know: such a problem takes the usual path, where what a column costs is read from the objective, one offer replaces
another only where it costs no more in any period, and periods are joined only where their tolls are the same.
"""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.program.problem.problem import Problem


def tolled(problem: Problem, by_hour_usd: Floats, hour_to_period: Ints) -> Problem:
    """The problem whose instances cost more while they run.

    Args:
        problem: Without tolls.
        by_hour_usd: (H, O) USD an instance in each hour of the week, not negative.
        hour_to_period: (H,) the period of each.
    """
    # (T, O) what an instance pays in a period's hours, spread over the week
    tolls = np.zeros((problem.traffic.periods, len(problem.offers)))
    np.add.at(tolls, hour_to_period, by_hour_usd / len(hour_to_period))
    if problem.traffic.periods == 1:
        price = problem.offers.price_usd_per_hour + tolls[0]
        return replace(problem, offers=replace(problem.offers, price_usd_per_hour=price))
    return replace(problem, tolls_usd_per_hour=tolls)
