"""A second opinion on medium problems: the purchase stated from its meaning, without tightening, and another solver."""

import datetime
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.program.problem.data import Candidates, HostedApis, Limits, Offers, Traffic
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import IntegerSolver


def medium_problem(seed: int, periods: int, offers: int, candidates: int, **limits: Any) -> Problem:
    """Two workloads with three request classes; offers of several sizes, terms and places, hosted APIs."""
    random = np.random.default_rng(seed)
    demand = random.uniform(2.0, 9.0, (periods, 3)) * np.linspace(1.0, 0.3, periods)[:, None]
    mixes = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    gpus = random.choice([1, 2, 4, 8], offers)
    home = random.integers(0, offers, candidates)
    rate = np.zeros((candidates, 4))
    for c in range(candidates):
        served = [[0, 1, 2], [0], [1], [2], [3], [3]][int(random.integers(6))]
        # where a loss must be survived each serves one mix
        served = served[-1:] if "survive" in limits else served
        rate[c, served] = random.uniform(0.5, 3.0, len(served))
    size = np.minimum(random.choice([1, 2, 4], candidates), gpus[home])
    places = [str(name) for name in random.choice(["p", "q", "r"], offers)]
    return Problem(
        Traffic(
            classes=("v/a", "v/b", "w/a"),
            workload=("v", "v", "w"),
            demand_per_s=demand,
            mixes=mixes,
            share_of_month=np.full(periods, 1 / periods),
            start_share=np.eye(periods, k=1) * 0.004,
            least_replicas=np.zeros((periods, 2), dtype=np.int64),
        ),
        Candidates(
            ids=tuple(f"c{number}" for number in range(candidates)),
            offer=home,
            configuration=tuple(f"k{kind}" for kind in random.integers(0, 12, candidates)),
            engine=tuple(f"e{kind}" for kind in random.integers(0, 2, candidates)),
            gpus_per_replica=size,
            rate_per_s=rate * size[:, None] ** 0.9,
            replicas_in_force=np.zeros(candidates, dtype=np.int64),
        ),
        Offers(
            ids=tuple(f"o{number}" for number in range(offers)),
            price_usd_per_hour=random.uniform(1.0, 3.0, offers) * gpus,
            gpus_per_instance=gpus,
            power_kw=0.7 * gpus,
            carbon_kg_per_hour=random.uniform(0.1, 0.5, offers) * gpus,
            available=np.where(random.random(offers) < 0.2, 1.0, np.inf),
            provider=tuple(places),
            region=tuple(f"{place}/{random.integers(2)}" for place in places),
            gpu=("g",) * offers,
            spot=random.random(offers) < 0.3,
            always_paid=(random.random(offers) < 0.4) & (periods > 1),
        ),
        Limits(0.85, **limits),
        HostedApis(("hosted-v", "hosted-w"), np.array([0, 3]), np.array([6e-4, 5e-4]), ("p", "s")),
    )


class SecondOpinion:
    """The model of a problem, one decision at a time."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.model = problem, mathopt.Model()
        traffic, offers, count = problem.traffic, problem.offers, len(problem.candidates)
        periods = range(traffic.periods)
        bought = [self.model.add_integer_variable(lb=0) for _ in offers.ids]
        self.instances = [
            [bought[o] if paid else self.model.add_integer_variable(lb=0) for o, paid in enumerate(offers.always_paid)]
            for _ in periods
        ]
        self.replicas = [[self.model.add_integer_variable(lb=0) for _ in range(count)] for _ in periods]
        self.sent = [[self.model.add_variable(lb=0) for _ in problem.apis.ids] for _ in periods]
        self.flow = [self._flows() for _ in periods]
        for t in periods:
            self._serve(t)
            self._pack(t)
            self._cap(t)
        self.model.minimize(self._cost())

    def _flows(self) -> dict[tuple[int, int], mathopt.Variable]:
        pairs = np.argwhere(self.problem.candidates.rate_per_s > 0).tolist()
        return {(c, m): self.model.add_variable(lb=0) for c, m in pairs}

    def _carry(self, t: int, flow: dict[tuple[int, int], mathopt.Variable], room: Any, gone: str = "") -> None:
        """Flows meet the demand beside hosted APIs that are not gone, within the room of each candidate."""
        traffic, candidates, apis = self.problem.traffic, self.problem.candidates, self.problem.apis
        for k, wanted in enumerate(traffic.demand_per_s[t].tolist()):
            served = sum(traffic.mixes[m, k] * x for (_, m), x in flow.items())
            hosted = zip(self.sent[t], apis.mix.tolist(), apis.provider, strict=True)
            served += sum(traffic.mixes[m, k] * x for x, m, provider in hosted if provider != gone)
            self.model.add_linear_constraint(served >= wanted)
        for c in range(len(candidates)):
            busy = sum(x / candidates.rate_per_s[c, m] for (at, m), x in flow.items() if at == c)
            self.model.add_linear_constraint(busy <= room(c))

    def _serve(self, t: int) -> None:
        problem, limits, replicas = self.problem, self.problem.limits, self.replicas[t]
        self._carry(t, self.flow[t], lambda c: limits.max_utilization * replicas[c])
        home = problem.candidates.offer.tolist()
        for kind, places in (("provider", problem.offers.provider), ("region", problem.offers.region)):
            for lost in sorted(set(places)) if kind in limits.survive else []:
                gone = lost if kind == "provider" else ""
                left = [0 if places[home[c]] == lost else 1 for c in range(len(home))]
                self._carry(t, self._flows(), lambda c, left=left: left[c] * replicas[c], gone)

    def _pack(self, t: int) -> None:
        """Slots of each size, see the proof beside the program's packing rows."""
        candidates, offers = self.problem.candidates, self.problem.offers
        for o, gpus in enumerate(offers.gpus_per_instance.tolist()):
            there = [c for c in range(len(candidates)) if candidates.offer[c] == o]
            for size in sorted({int(candidates.gpus_per_replica[c]) for c in there}):
                slots = {c: int(candidates.gpus_per_replica[c]) // size for c in there}
                used = sum(count * self.replicas[t][c] for c, count in slots.items() if count)
                self.model.add_linear_constraint(used <= gpus // size * self.instances[t][o])

    def _cap(self, t: int) -> None:
        problem, limits, offers = self.problem, self.problem.limits, self.problem.offers
        for o in np.flatnonzero(np.isfinite(offers.available)).tolist():
            self.model.add_linear_constraint(self.instances[t][o] <= offers.available[o])
        if limits.max_gpus is not None:
            gpus = sum(float(g) * n for g, n in zip(offers.gpus_per_instance, self.instances[t], strict=True))
            self.model.add_linear_constraint(gpus <= limits.max_gpus)
        total, home = float(problem.traffic.demand_per_s[t].sum()), problem.candidates.offer.tolist()
        if limits.max_spot_share is not None:
            carried = sum(x for (c, _), x in self.flow[t].items() if offers.spot[home[c]])
            self.model.add_linear_constraint(carried <= limits.max_spot_share * total)
        for provider in sorted(set(offers.provider)) if limits.max_provider_share is not None else []:
            carried = sum(x for (c, _), x in self.flow[t].items() if offers.provider[home[c]] == provider)
            hosted = zip(self.sent[t], problem.apis.provider, strict=True)
            carried += sum(x for x, place in hosted if place == provider)
            self.model.add_linear_constraint(carried <= (limits.max_provider_share or 0.0) * total)

    def _cost(self) -> Any:
        """USD per hour of the month."""
        traffic, offers, apis = self.problem.traffic, self.problem.offers, self.problem.apis
        cost: Any = 0.0
        for t, share in enumerate(traffic.share_of_month.tolist()):
            cost += sum(
                share * price * n for price, n in zip(offers.price_usd_per_hour, self.instances[t], strict=True)
            )
            calls = zip(apis.usd_per_request, self.sent[t], strict=True)
            cost += sum(share * SECONDS_PER_HOUR * price * x for price, x in calls)
            for (c, m), x in self.flow[t].items() if len(self.problem.egress.usd_per_gb) else ():
                gb = float(traffic.mixes[m] @ self.problem.egress.gb_per_request)
                price = float(self.problem.egress.usd_per_gb[self.problem.candidates.offer[c]])
                cost += share * SECONDS_PER_HOUR * price * gb * x
        cost += sum(self._lingering(o, least) for o, least in enumerate(self.problem.billing.minimum_hours.tolist()))
        for before, after in np.argwhere(traffic.start_share > 0).tolist():
            for o in np.flatnonzero(~offers.always_paid).tolist():
                started = self.model.add_variable(lb=0)
                more = self.instances[after][o] - self.instances[before][o]
                self.model.add_linear_constraint(started >= more)
                cost += offers.price_usd_per_hour[o] * traffic.start_share[before, after] * started
        return cost

    def _lingering(self, o: int, least: int) -> Any:
        """USD per hour of the month for hours paid beyond those that run, hour by hour of the week."""
        if self.problem.offers.always_paid[o]:
            return 0.0
        week = self.problem.billing.hour_to_period.tolist()
        paid = [self.model.add_integer_variable(lb=0) for _ in week]
        begun = [self.model.add_integer_variable(lb=0) for _ in week]
        running = [self.instances[t][o] for t in week]
        for h in range(len(week)):
            self.model.add_linear_constraint(paid[h] >= running[h])
            self.model.add_linear_constraint(begun[h] >= paid[h] - paid[h - 1])
            self.model.add_linear_constraint(sum(begun[h - i] for i in range(least)) <= paid[h])
        beyond = sum(there - needed for there, needed in zip(paid, running, strict=True))
        return float(self.problem.offers.price_usd_per_hour[o]) / len(week) * beyond

    def cheapest_usd_per_month(self, known_from: IntegerSolver, time_limit_s: float) -> tuple[float, float]:
        """Cost and bound by the solver that did not find what is known; equal where it proved its plan in time."""
        solver, threads = {
            "highs": (mathopt.SolverType.GSCIP, 1),
            "scip": (mathopt.SolverType.HIGHS, None),
        }[known_from]
        limit = datetime.timedelta(seconds=time_limit_s)
        parameters = mathopt.SolveParameters(
            time_limit=limit, relative_gap_tolerance=0.0, random_seed=1, threads=threads
        )
        result = mathopt.solve(self.model, solver, params=parameters)
        bounds = result.termination.objective_bounds
        return bounds.primal_bound * HOURS_PER_MONTH, bounds.dual_bound * HOURS_PER_MONTH
