"""Small purchases over a few draws, drawn at random, and their optimum by trying everything."""

from itertools import product

import numpy as np

from optimizer.program.risk.measure import Aim
from optimizer.program.risk.problem import RiskProblem, TopUp

MOST_BOUGHT = 4


def drawn_risk(seed: int) -> RiskProblem:
    """One or two workloads, two to four purchases, three to six draws; some are not there, some may go unserved."""
    random = np.random.default_rng(seed)
    workloads, draws, ways = (int(random.integers(*ends)) for ends in ((1, 3), (3, 7), (2, 5)))
    rate = random.uniform(1.0, 4.0, (ways, 1)) * random.uniform(0.6, 1.2, (ways, draws))
    there = random.uniform(size=(ways, draws)) < 0.85
    usd = random.uniform(4, 12, (ways, 1)) * random.uniform(0.8, 1.3, (ways, draws))
    penalty = np.where(random.uniform(size=workloads) < 0.5, random.uniform(2, 20, workloads), np.inf)
    return RiskProblem(
        workload=random.integers(0, workloads, ways),
        usd=np.where(there, usd, 0.0),
        rate_per_s=np.where(there, rate, 0.0),
        most=np.where(random.uniform(size=ways) < 0.3, float(random.integers(1, 3)), np.inf),
        demand_per_s=random.uniform(0.5, 4.0, (workloads, draws)),
        top_up=TopUp(
            usd=random.uniform(5, 20, (workloads, draws)),
            rate_per_s=random.uniform(0.5, 3.0, (workloads, draws)),
            unserved_usd=penalty,
        ),
    )


def aim_of(seed: int) -> Aim:
    """A weight and a level that go with a seed."""
    return Aim(weight=(0.0, 0.3, 1.0)[seed % 3], level=(0.5, 0.75, 0.9)[seed // 3 % 3])


def tried_out(problem: RiskProblem, aim: Aim) -> float:
    """The least that any counts come to, each draw's rent found by trying."""
    most = [int(min(MOST_BOUGHT, each)) for each in problem.most]
    return min(_weighed(_costs(problem, counts), aim) for counts in product(*(range(each + 1) for each in most)))


def _costs(problem: RiskProblem, counts: tuple[int, ...]) -> list[float]:
    costs = []
    for draw in range(problem.draws):
        cost = sum(count * problem.usd[u, draw] for u, count in enumerate(counts))
        for w, demand in enumerate(problem.demand_per_s[:, draw]):
            served = sum(
                count * problem.rate_per_s[u, draw] for u, count in enumerate(counts) if problem.workload[u] == w
            )
            cost += _made_up_usd(problem.top_up, w, draw, max(float(demand - served), 0.0))
        costs.append(float(cost))
    return costs


def _made_up_usd(top_up: TopUp, workload: int, draw: int, short: float) -> float:
    """Every count of rented instances, what they leave open unserved."""
    best = np.inf
    for count in range(20):
        left = max(short - count * float(top_up.rate_per_s[workload, draw]), 0.0)
        lost = float(top_up.unserved_usd[workload])
        if left > 1e-9 and np.isinf(lost):
            continue
        best = min(best, count * float(top_up.usd[workload, draw]) + (left * lost if left > 1e-9 else 0.0))
    return best


def _weighed(costs: list[float], aim: Aim) -> float:
    """Mean and tail, the tail as the mean of the dearest draws, of which one may count in part."""
    left = tail_draws = (1 - aim.level) * len(costs)
    tail = 0.0
    for cost in sorted(costs, reverse=True):
        part = min(left, 1.0)
        tail, left = tail + part * cost, left - part
    return (1 - aim.weight) * sum(costs) / len(costs) + aim.weight * tail / tail_draws
