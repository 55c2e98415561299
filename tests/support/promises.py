"""Every promise of a plan re-checked with arithmetic of its own: nothing comes from the program but its types."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp

from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import Solution

Counts = tuple[int, ...]
CLOSE = 1e-6


@dataclass(frozen=True)
class Loss:
    """A place taken away: candidates as a whole, hosted APIs."""

    gone: frozenset[int] = frozenset()
    hosts: frozenset[int] = frozenset()


def losses_of(problem: Problem) -> list[Loss]:
    """Every loss of a place that `survive` asks to outlive."""
    offers, apis, home = problem.offers, problem.apis, problem.candidates.offer.tolist()
    found: list[Loss] = []
    for kind in problem.limits.survive:
        if kind == "provider":
            for name in sorted({*offers.provider, *apis.provider}):
                hosts = frozenset(a for a, provider in enumerate(apis.provider) if provider == name)
                found.append(Loss(frozenset(c for c, o in enumerate(home) if offers.provider[o] == name), hosts=hosts))
        if kind == "region":
            for name in sorted(set(offers.region)):
                found.append(Loss(frozenset(c for c, o in enumerate(home) if offers.region[o] == name)))
        if kind == "spot_offer":
            for lost in np.flatnonzero(offers.spot).tolist():
                found.append(Loss(frozenset(c for c, o in enumerate(home) if o == lost)))
    return found


def full_rate_per_s(problem: Problem) -> np.ndarray:
    """(C, K) requests/s of each class that one replica at full rate serves, of the one mix that it serves."""
    rate: np.ndarray = problem.candidates.rate_per_s @ problem.traffic.mixes
    return rate


def what_one_instance_takes(problem: Problem) -> np.ndarray:
    """(C, K + C) what the loss of a replica takes: requests/s of each class, and itself; 0 where it is no matter."""
    survived, spared = "instance" in problem.limits.survive, problem.limits.spare_on_other_instances
    return np.hstack([survived * full_rate_per_s(problem), spared * np.eye(len(problem.candidates))])


def least_losses(problem: Problem, replicas: Counts, instances: Counts) -> list[tuple[float, ...]]:
    """The most that the loss of one instance takes of each class and candidate, for each placement that none beats."""
    home, full = problem.candidates.offer.tolist(), what_one_instance_takes(problem)
    worst = [(0.0,) * full.shape[1]]
    for o, count in enumerate(instances):
        there = tuple((c, n) for c, n in enumerate(replicas) if home[c] == o and n)
        losses = [
            tuple(
                max((float(sum(n * full[c, k] for c, n in content)) for content in contents), default=0.0)
                for k in range(full.shape[1])
            )
            for contents in _placements(problem, there, int(problem.offers.gpus_per_instance[o]), count)
        ]
        worst = _unbeaten({tuple(map(max, one, other)) for one in worst for other in _unbeaten(set(losses))})
    return worst


Content = tuple[tuple[int, int], ...]


def _placements(problem: Problem, replicas: Content, gpus: int, instances: int) -> Iterator[tuple[Content, ...]]:
    """Every way to put replicas on so many instances, in falling order of what stands on them."""
    if not replicas:
        yield ()
        return
    if not instances:
        return
    sizes = problem.candidates.gpus_per_replica
    for counts in product(*(range(n + 1) for _, n in replicas)):
        content = tuple((c, n) for (c, _), n in zip(replicas, counts, strict=True) if n)
        if content and sum(int(sizes[c]) * n for c, n in content) <= gpus:
            rest = tuple((c, n - m) for (c, n), m in zip(replicas, counts, strict=True) if n > m)
            for others in _placements(problem, rest, gpus, instances - 1):
                if not others or others[0] <= content:
                    yield (content, *others)


def _unbeaten(losses: set[tuple[float, ...]]) -> list[tuple[float, ...]]:
    return [
        one
        for one in sorted(losses)
        if not any(other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in losses)
    ]


class Carrying:
    """What replicas of one period can carry, and the least that APIs and sending answers cost (USD/h of the period)."""

    def __init__(self, problem: Problem, period: int) -> None:
        self.problem, self.period = problem, period
        self.demand = problem.traffic.demand_per_s[period]
        self.pairs = [(int(c), int(m)) for c, m in np.argwhere(problem.candidates.rate_per_s > 0)]
        self.losses = losses_of(problem)
        self.hopeless: list[Counts] = []
        # (C, K) of each class the most that one replica serves in any mix, and (C,) of all classes together
        by_mix = problem.candidates.rate_per_s[:, :, None] * problem.traffic.mixes
        self.most = by_mix.max(axis=1, initial=0.0)
        self.most_of_all = by_mix.sum(axis=2).max(axis=1, initial=0.0)

    def api_cost(self, replicas: Counts, instances: Counts) -> float:
        """Infinite where the replicas do not carry the traffic whatever is sent to the APIs."""
        if self.problem.limits.spare_on_other_instances or "instance" in self.problem.limits.survive:
            worst = least_losses(self.problem, replicas, instances)
            return min((self.least(replicas, lost=lost) for lost in worst), default=np.inf)
        if not self.may_carry(replicas):
            return np.inf
        if any(all(r <= h for r, h in zip(replicas, known, strict=True)) for known in self.hopeless):
            return np.inf
        cost = self.least(replicas)
        if np.isinf(cost):
            self.hopeless.append(replicas)
        return cost

    def may_carry(self, replicas: Counts) -> bool:
        """Whether replicas alone would, if each served each class at its most; far too few need no linear program."""
        limits, running = self.problem.limits, np.array(replicas)
        room = np.minimum(limits.max_utilization * running, np.maximum(running - limits.spare_replicas, 0))
        enough = room @ self.most > self.demand * 0.999
        enough_of_all = room @ self.most_of_all > self.demand.sum() * 0.999
        return len(self.problem.apis) > 0 or bool(
            ((self.demand == 0) | enough).all() and (enough_of_all or not self.demand.any())
        )

    def least(self, replicas: Counts, sent: np.ndarray | None = None, lost: tuple[float, ...] | None = None) -> float:
        """The linear program: flows and API calls, then flows after each loss of a place beside the same API calls.

        What the loss of an instance takes is `lost`: requests/s of each class, of what all replicas carry at full rate,
        then replicas of each candidate.
        """
        problem, apis, pairs = self.problem, self.problem.apis, self.pairs
        block, hosted = len(pairs), len(apis)
        width = block * (1 + len(self.losses)) + hosted
        rows: list[np.ndarray] = []
        right: list[float] = []

        def need(at: int | None, hosts: Callable[[int], bool]) -> None:
            for k, wanted in enumerate(self.demand):
                row = np.zeros(width)
                for n, (_, m) in enumerate(pairs):
                    row[(0 if at is None else at) * block + n] = -problem.traffic.mixes[m, k]
                for a in range(hosted):
                    row[width - hosted + a] = -problem.traffic.mixes[apis.mix[a], k] * hosts(a)
                rows.append(row)
                right.append(-wanted)

        def within(at: int, room: Callable[[int], float]) -> None:
            for c in {c for c, _ in pairs}:
                row = np.zeros(width)
                for n, (candidate, m) in enumerate(pairs):
                    if candidate == c:
                        row[at * block + n] = 1.0 / problem.candidates.rate_per_s[c, m]
                rows.append(row)
                right.append(room(c))

        limits = problem.limits
        need(None, lambda _: True)
        taken = lost or (0.0,) * (len(self.demand) + len(replicas))
        spare = [max(limits.spare_replicas, n) for n in taken[len(self.demand) :]]
        within(0, lambda c: min(limits.max_utilization * replicas[c], max(replicas[c] - spare[c], 0)))
        for number, loss in enumerate(self.losses, start=1):
            need(number, lambda a, loss=loss: a not in loss.hosts)
            within(number, lambda c, loss=loss: 0.0 if c in loss.gone else replicas[c])
        for k, carried in enumerate(taken[: len(self.demand)] if "instance" in limits.survive else ()):
            row = np.zeros(width)
            row[width - hosted :] = -problem.traffic.mixes[apis.mix, k]
            rows.append(row)
            right.append(float(np.array(replicas) @ full_rate_per_s(problem)[:, k]) - carried - self.demand[k])
        for members, share in self.shares():
            row = np.zeros(width)
            row[:block] = [members("candidate", c) for c, _ in pairs]
            row[width - hosted :] = [members("api", a) for a in range(hosted)]
            rows.append(row)
            right.append(share * float(self.demand.sum()))
        price = np.zeros(width)
        price[width - hosted :] = apis.usd_per_request * SECONDS_PER_HOUR
        price[:block] = [sending_usd_per_request(problem, c, m) * SECONDS_PER_HOUR for c, m in pairs]
        free = [(0.0, None)] * (width - hosted)
        at_api = [(0.0, None)] * hosted if sent is None else [(float(x), float(x)) for x in sent]
        # an optimum may use what it is allowed to miss, so that is a share of each row; a given plan has rounding in it
        slack = CLOSE / 100 * np.abs(right) if sent is None else CLOSE * np.maximum(1.0, np.abs(right))
        allowed = np.array(right) + slack
        found = linprog(price, A_ub=np.array(rows), b_ub=allowed, bounds=free + at_api, method="highs")
        return float(found.fun) if found.status == 0 else np.inf

    def shares(self) -> Iterator[tuple[Callable[[str, int], bool], float]]:
        """(who counts, the share of the demand that they may carry)."""
        offers, limits = self.problem.offers, self.problem.limits
        home = self.problem.candidates.offer
        if limits.max_spot_share is not None:
            yield lambda what, at: what == "candidate" and bool(offers.spot[home[at]]), limits.max_spot_share
        if limits.max_provider_share is not None:
            for name in sorted({*offers.provider, *self.problem.apis.provider}):

                def member(what: str, at: int, name: str = name) -> bool:
                    provider = offers.provider[home[at]] if what == "candidate" else self.problem.apis.provider[at]
                    return provider == name

                yield member, limits.max_provider_share


def sending_usd_per_request(problem: Problem, candidate: int, mix: int) -> float:
    """What sending the answers of a request costs from where a candidate stands."""
    if not len(problem.egress.usd_per_gb):
        return 0.0
    gb = sum(
        share * each for share, each in zip(problem.traffic.mixes[mix], problem.egress.gb_per_request, strict=True)
    )
    return float(problem.egress.usd_per_gb[problem.candidates.offer[candidate]] * gb)


def is_present(problem: Problem, replicas: Counts) -> bool:
    """Whether deployments that can serve stand in as many places as asked."""
    limits, offers = problem.limits, problem.offers
    home = problem.candidates.offer.tolist()
    counted = [
        home[c]
        for c, n in enumerate(replicas)
        if n > limits.spare_replicas and not (limits.max_spot_share == 0 and offers.spot[home[c]])
    ]
    return len({offers.provider[o] for o in counted}) >= limits.min_providers * (limits.min_providers > 1) and len(
        {offers.region[o] for o in counted}
    ) >= limits.min_regions * (limits.min_regions > 1)


def bought(problem: Problem, replicas: np.ndarray, instances: np.ndarray) -> np.ndarray:
    """(N, T, O) with what is always paid there in every period, holding at once whatever it ever runs."""
    most = instances.max(axis=1, keepdims=True)
    for o in np.flatnonzero(problem.offers.always_paid & problem.layouts.kept):
        sizes, loads = loads_on(problem, replicas, int(o))
        for number, each in enumerate(loads.max(axis=1).tolist()):
            parts = tuple(size for size, count in zip(sizes, each, strict=True) for _ in range(count))
            most[number, 0, o] = max(most[number, 0, o], _bins(parts, int(problem.offers.gpus_per_instance[o])))
    return np.where(problem.offers.always_paid, most, instances)


def loads_on(problem: Problem, replicas: np.ndarray, offer: int) -> tuple[list[int], np.ndarray]:
    """GPUs of a replica of each configuration on an offer, and (N, T, configurations) replicas of it."""
    candidates = problem.candidates
    kinds = list(zip(candidates.offer.tolist(), candidates.configuration, candidates.gpus_per_replica, strict=True))
    own = sorted({kind for kind in kinds if kind[0] == offer})
    member = np.array([[kind == other for other in own] for kind in kinds], dtype=np.int64)
    return [int(size) for _, _, size in own], replicas @ member.reshape(len(kinds), len(own))


def restarts_usd_per_hour(problem: Problem, replicas: np.ndarray, instances: np.ndarray) -> float:
    """What starts cost of one plan, (T, C) and (T, O), that only other contents of an instance ask for."""
    traffic, total = problem.traffic, 0.0
    if not problem.layouts.kept or not traffic.start_share.any():
        return 0.0
    for o in np.flatnonzero(~problem.offers.always_paid):
        sizes, loads = loads_on(problem, replicas, int(o))
        used = loads.any(axis=0)
        if used.sum() > 1:
            own = tuple(size for size, ever in zip(sizes, used.tolist(), strict=True) if ever)
            needs = tuple(map(tuple, loads[:, used].tolist()))
            starts = tuple((t, u, float(traffic.start_share[t, u])) for t, u in np.argwhere(traffic.start_share > 0))
            share = _fewest_restarts(
                own, int(problem.offers.gpus_per_instance[o]), needs, tuple(instances[:, o].tolist()), starts
            )
            total += share * float(problem.offers.price_usd_per_hour[o])
    return total


@cache
def _fewest_restarts(
    sizes: Counts,
    gpus: int,
    needs: tuple[Counts, ...],
    instances: Counts,
    starts: tuple[tuple[int, int, float], ...],
) -> float:
    """By every way to say what each instance holds in each period; those that hold the same go on."""
    fits = [
        held
        for held in product(*(range(gpus // size + 1) for size in sizes))
        if any(held) and _bins(tuple(s for s, n in zip(sizes, held, strict=True) for _ in range(n)), gpus) <= 1
    ]
    full = [a for a in fits if not any(a != b and all(x <= y for x, y in zip(a, b, strict=True)) for b in fits)]
    fleets = [
        [
            Counter(held)
            for held in combinations_with_replacement(full, count)
            if all(sum(each[g] for each in held) >= wanted for g, wanted in enumerate(need))
        ]
        for need, count in zip(needs, instances, strict=True)
    ]
    return min(
        sum(share * ((week[u] - week[t]).total() - max(instances[u] - instances[t], 0)) for t, u, share in starts)
        for week in product(*fleets)
    )


@cache
def _bins(sizes: Counts, bin_size: int) -> int:
    return fewest_bins(list(sizes), bin_size)


def machine_cost(problem: Problem, replicas: np.ndarray, instances: np.ndarray) -> np.ndarray:
    """(N,) USD per hour of the month of instances, starts and changes."""
    traffic, price = problem.traffic, problem.offers.price_usd_per_hour
    cost = np.einsum("nto,t,o->n", instances, traffic.share_of_month, price)
    if problem.tolls_usd_per_hour.size:
        cost = cost + np.einsum("nto,to->n", instances, problem.tolls_usd_per_hour)
    for t, u in np.argwhere(traffic.start_share > 0):
        started = np.maximum(instances[:, u] - instances[:, t], 0) * ~problem.offers.always_paid
        cost = cost + traffic.start_share[t, u] * (started @ price)
    for o, least in enumerate(problem.billing.minimum_hours.tolist() if traffic.periods > 1 else ()):
        if least > 1 and not problem.offers.always_paid[o]:
            week = problem.billing.hour_to_period
            sequences, number = np.unique(instances[:, :, o], axis=0, return_inverse=True)
            more = [lingering_hours(tuple(n[week].tolist()), least) for n in sequences]
            cost = cost + np.array(more)[number.reshape(-1)] * price[o] / len(week)
    return cost + _changes(problem, replicas) * problem.limits.usd_per_change / HOURS_PER_MONTH


def lingering_hours(running: Counts, least: int) -> float:
    """Hours paid beyond those that run; the same of a week that begins at another hour, or runs backwards."""
    turned = (way[at:] + way[:at] for way in (running, running[::-1]) for at in range(len(running)))
    return _lingering_hours(min(turned), least)


@cache
def _lingering_hours(running: Counts, least: int) -> float:
    """By choosing how many runs begin at each hour and how long each lasts; a run of twice the least is two runs."""
    week = len(running)
    runs = [(start, hours) for start in range(week) for hours in range(least, min(2 * least, 2 * week + 1))]
    covers = np.zeros((week, len(runs)))
    for at, (start, hours) in enumerate(runs):
        np.add.at(covers[:, at], (start + np.arange(hours)) % week, 1)
    length = np.array([hours for _, hours in runs], dtype=float)
    found = milp(length, constraints=LinearConstraint(covers, lb=np.array(running)), integrality=np.ones(len(runs)))
    assert found.status == 0, found.message
    return float(round(found.fun)) - sum(running)


def _changes(problem: Problem, replicas: np.ndarray) -> np.ndarray:
    busiest = int(np.argmax(problem.traffic.demand_per_s.sum(axis=1)))
    more = replicas[:, busiest] - problem.candidates.replicas_in_force
    kinds = list(zip(problem.candidates.offer.tolist(), problem.candidates.configuration, strict=True))
    alike = [[kind == other for other in kinds] for kind in sorted(set(kinds))]
    changed: np.ndarray = np.abs(more @ np.array(alike, dtype=int).reshape(len(alike), len(kinds)).T).sum(axis=1)
    return changed


def keeps_limits(problem: Problem, replicas: np.ndarray, instances: np.ndarray) -> np.ndarray:
    """(N,) whether counts keep every limit but the budget, presence and those on flows."""
    limits, offers, traffic = problem.limits, problem.offers, problem.traffic
    gpus, good = instances * offers.gpus_per_instance, np.ones(len(replicas), dtype=bool)
    if limits.max_gpus is not None:
        good &= (gpus.sum(axis=2) <= limits.max_gpus).all(axis=1)
    if limits.max_power_kw is not None:
        good &= (instances @ offers.power_kw <= limits.max_power_kw + 1e-9).all(axis=1)
    if limits.max_carbon_kg_per_month is not None:
        hourly = np.einsum("nto,t,o->n", instances, traffic.share_of_month, offers.carbon_kg_per_hour)
        good &= hourly * HOURS_PER_MONTH <= limits.max_carbon_kg_per_month * (1 + 1e-9)
    for quota in limits.quotas:
        good &= (gpus[:, :, list(quota.offers)].sum(axis=2) <= quota.max_gpus).all(axis=1)
    good &= (instances <= offers.available).all(axis=(1, 2))
    if limits.max_changes is not None:
        good &= _changes(problem, replicas) <= limits.max_changes
    if problem.ceiling.instances is not None:
        good &= (instances.sum(axis=2) <= problem.ceiling.instances).all(axis=1)
    if problem.ceiling.places is not None:
        # of machines; where hosted APIs are called, nothing that counts them draws this limit
        bought = (instances > 0).any(axis=1)
        for_places = [(names, name) for names in (offers.provider, offers.region) for name in sorted(set(names))]
        used = sum(bought[:, [one == name for one in names]].any(axis=1) for names, name in for_places)
        good &= np.asarray(used <= problem.ceiling.places)
    for names, most in (
        (problem.candidates.configuration, limits.max_distinct_configurations),
        (problem.candidates.engine, limits.max_engines),
    ):
        ever = (replicas > 0).any(axis=1)
        kinds = sum(ever[:, [name == kind for name in names]].any(axis=1) for kind in sorted(set(names)))
        good &= np.ones(len(ever), dtype=bool) if most is None else np.asarray(kinds <= most)
    for w, workload in enumerate(sorted(set(traffic.workload))):
        serves = [_workload(problem, c) == workload for c in range(len(problem.candidates))]
        running = replicas[:, :, serves].sum(axis=2)
        good &= (running >= traffic.least_replicas[:, w]).all(axis=1)
        good &= (running <= dict(limits.max_replicas).get(workload, np.inf)).all(axis=1)
    return good


def _workload(problem: Problem, candidate: int) -> str:
    mix = int(np.flatnonzero(problem.candidates.rate_per_s[candidate])[0])
    return problem.traffic.workload[int(np.flatnonzero(problem.traffic.mixes[mix])[0])]


def faults(problem: Problem, solution: Solution) -> list[str]:
    """What is wrong with a plan, promise by promise; empty for a good one."""
    found: list[str] = []
    replicas, instances = solution.replicas, solution.instances
    home, sizes = problem.candidates.offer.tolist(), problem.candidates.gpus_per_replica.tolist()
    served = solution.api_flow_per_s @ problem.traffic.mixes[problem.apis.mix] if len(problem.apis) else 0.0
    served = served + np.zeros_like(problem.traffic.demand_per_s)
    load = np.zeros(replicas.shape)
    for flow in solution.flows:
        served[flow.period] += flow.flow_per_s * problem.traffic.mixes[flow.mix]
        rate = problem.candidates.rate_per_s[flow.candidate, flow.mix]
        load[flow.period, flow.candidate] += flow.flow_per_s / rate if rate else np.inf
    if (served < problem.traffic.demand_per_s * (1 - 2 * CLOSE)).any():
        found.append(f"demand is not met: {served.tolist()}")
    room = np.minimum(
        problem.limits.max_utilization * replicas, np.maximum(replicas - problem.limits.spare_replicas, 0)
    )
    if (load > room * (1 + 2 * CLOSE) + CLOSE).any():
        found.append(f"capacity: {load.tolist()} > {room.tolist()}")
    for t in range(problem.traffic.periods):
        for o, size in enumerate(problem.offers.gpus_per_instance.tolist()):
            parts = [sizes[c] for c, n in enumerate(replicas[t].tolist()) if home[c] == o for _ in range(n)]
            if fewest_bins(parts, size) > instances[t, o]:
                found.append(f"packing of offer {o} in period {t}")
        if not is_present(problem, tuple(replicas[t].tolist())):
            found.append(f"presence in period {t}")
        found += _shares_broken(problem, solution, t)
        found += _misplaced(problem, solution, t)
        traffic = Carrying(problem, t)
        if np.isinf(traffic.least(tuple(replicas[t].tolist()), solution.api_flow_per_s[t])):
            found.append(f"a loss in period {t} is not survived")
    if not (bought(problem, replicas[None], instances[None]) == instances).all():
        found.append("what is always paid comes and goes, or holds something else by day and by night")
    if not keeps_limits(problem, replicas[None], instances[None])[0]:
        found.append("a limit on counts")
    api = problem.traffic.share_of_month @ (solution.api_flow_per_s @ problem.apis.usd_per_request) * SECONDS_PER_HOUR
    for flow in solution.flows:
        sent = sending_usd_per_request(problem, flow.candidate, flow.mix) * flow.flow_per_s * SECONDS_PER_HOUR
        api += sent * problem.traffic.share_of_month[flow.period]
    api += restarts_usd_per_hour(problem, replicas, instances)
    cost = (float(machine_cost(problem, replicas[None], instances[None])[0]) + float(api)) * HOURS_PER_MONTH
    exactly = CLOSE if problem.egress.charged else 1e-7  # routing may use the slack it leaves for rounding
    if abs(cost - (solution.cost_usd_per_month or 0.0)) > exactly * cost:
        found.append(f"costs {cost}, not {solution.cost_usd_per_month}")
    if problem.limits.max_monthly_usd is not None and cost > problem.limits.max_monthly_usd * (1 + 1e-6):
        found.append("budget")
    return found


def _shares_broken(problem: Problem, solution: Solution, period: int) -> Iterator[str]:
    for member, share in Carrying(problem, period).shares():
        total = sum(f.flow_per_s for f in solution.flows if f.period == period and member("candidate", f.candidate))
        total += sum(x for a, x in enumerate(solution.api_flow_per_s[period]) if member("api", a))
        if total > share * problem.traffic.demand_per_s[period].sum() * (1 + 2 * CLOSE) + CLOSE:
            yield f"share {share} in period {period}: {total}"


def _misplaced(problem: Problem, solution: Solution, period: int) -> Iterator[str]:
    """What is wrong with what stands on which instance, and with the loss of any one of them."""
    survived, spared = "instance" in problem.limits.survive, problem.limits.spare_on_other_instances
    if not (survived or spared):
        return
    now = solution.placed.period == period
    offer, count, held = (values[now] for values in list(vars(solution.placed).values())[1:])
    if (count @ held != solution.replicas[period]).any():
        yield f"the contents of instances add up to {count @ held} in period {period}"
    if (np.bincount(offer, weights=count, minlength=len(problem.offers)) > solution.instances[period]).any():
        yield f"more instances hold something than there are in period {period}"
    if (held @ problem.candidates.gpus_per_replica > problem.offers.gpus_per_instance[offer]).any():
        yield f"an instance holds more than it can in period {period}"
    if (held * (problem.candidates.offer != offer[:, None])).any():
        yield f"a replica stands on an instance of another offer in period {period}"
    if spared:
        load = np.zeros(len(problem.candidates))
        for flow in solution.flows:
            if flow.period == period:
                load[flow.candidate] += flow.flow_per_s / problem.candidates.rate_per_s[flow.candidate, flow.mix]
        if (load > (solution.replicas[period] - held.max(axis=0, initial=0)) * (1 + 2 * CLOSE) + CLOSE).any():
            yield f"a candidate needs what stands on one instance in period {period}"
    if not survived:
        return
    full = full_rate_per_s(problem)
    by_api = solution.api_flow_per_s[period] @ problem.traffic.mixes[problem.apis.mix] if len(problem.apis) else 0.0
    left = solution.replicas[period] @ full + by_api - held @ full
    if (left < problem.traffic.demand_per_s[period] * (1 - CLOSE)).any():
        yield f"the loss of an instance in period {period} leaves {left.min(axis=0)}"


def fewest_bins(sizes: list[int], bin_size: int) -> int:
    """Fewest bins that hold the sizes, by trying every assignment (order of bins aside)."""

    def fits(rest: list[int], bins: Counts) -> bool:
        if not rest:
            return True
        return any(
            fits(rest[1:], tuple(sorted((*bins[:i], bins[i] - rest[0], *bins[i + 1 :]))))
            for i in range(len(bins))
            if bins[i] >= rest[0] and bins[i] not in bins[:i]
        )

    falling = sorted((int(size) for size in sizes), reverse=True)
    return next(count for count in range(len(falling) + 1) if fits(falling, (int(bin_size),) * count))
