"""The week in periods of hours that are planned alike: few similar ones first, then as many as lose no plan."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR, MS_PER_S
from optimizer.inputs.scenario.fields import MAX_NETWORK_MS
from optimizer.inputs.scenario.scenario import Latency, Scenario, Workload
from optimizer.performance.physics.categorical import Categorical

MOST_WEEKS = 64
"""Whose periods are kept, those asked for last."""
WEEKS_PER_MONTH = HOURS_PER_MONTH / HOURS_PER_WEEK
SAME_SHARE = 1e-12
"""Shares of a workload's peak that differ by no more, relatively, are equal but for rounding."""
SAME_PRICE = 1e-9
"""Prices of joining periods, in hours of peak, that differ by no more are equal but for rounding."""


@dataclass(frozen=True, eq=False)
class Periods:
    """T periods in the order of their first hour in the week, W workloads in the scenario's order.

    Attributes:
        hours_per_month: (T,) hours of the month that a period stands for; they add up to 730.
        demand_requests_per_second: (T, W) the highest demand of each workload in the period's hours.
        transitions_per_month: (T, T) how often an hour of the first is followed by an hour of the second; hours of
            the same period are no transition.
        hour_to_period: (168,) the period of each hour of the week, Monday first.
        min_replicas: (T, W) replicas that a workload keeps whatever the demand: its own floor, and one warm replica
            in hours without demand where starting one takes longer than its latency limits allow; see `on_call` for
            who else may answer.
        asked_share: (T, W) what is asked on average over a period's hours, as a share of its demand; 1 without any.
        added_share: (W,) requests that rounding hours up to their period adds, as a share of the workload's own.
        exact: Whether no plan that treats every hour by itself costs less than the best of these, see `exact_hours`.
    """

    hours_per_month: Floats
    demand_requests_per_second: Floats
    transitions_per_month: Floats
    hour_to_period: Ints
    min_replicas: Ints
    asked_share: Floats
    added_share: Floats
    exact: bool

    @property
    def count(self) -> int:
        """T."""
        return len(self.hours_per_month)


def periods(scenario: Scenario) -> Periods:
    """The scenario's week in at most `policy.elastic.max_periods` periods, the same for all workloads.

    Demand is exact while the week has no more different hours than that. Otherwise the two periods are joined, again
    and again, for which rounding both up to their element-wise maximum adds least demand, counted in hours of each
    workload's peak; what lifts all workloads together above the week's own highest hour counts as if it lasted the
    whole week, as the machines bought for it do. Every hour stays covered, and the peak of every workload keeps its
    exact value. A profile times any factor is grouped alike.

    Rounding up serves every hour, but a plan so found is the cheapest of its periods alone; `exact_hours` tells how
    many periods it takes to lose none. Where idling through a dip may cost less than starting again
    (`Elastic.idling_can_pay`), a period is a run of hours of equal demand, one after the other around the week, if
    `max_periods` has room for all of them. Of more runs, those of equal length and demand are one period, told apart by
    their neighbours, and these by theirs, while there is room: Tuesday's noon is Wednesday's. Where even they are too
    many, periods of equal demand are joined first, so that no plan is dearer than if all hours of equal demand were one
    period.
    """
    elastic = scenario.policy.elastic
    week = _week(scenario)
    return grouped(scenario, _hour_to_period(week, elastic.max_periods, by_runs=elastic.idling_can_pay))


def joined_hours(scenario: Scenario, most: int) -> Ints:
    """(168,) the period of each hour of the same in at most so many periods."""
    return _hour_to_period(_week(scenario), most, by_runs=scenario.policy.elastic.idling_can_pay)


def exact_hours(scenario: Scenario) -> Ints:
    """(168,) the period of each hour in the fewest periods known to lose no plan, whatever `max_periods` is.

    **Hours that nothing links** may all do what the cheapest of equal demand does: they are one period.

    **Where a start is paid for**, hours of equal demand may run different machines: an instance that cost less kept
    idle through a dip than stopped and started again, or a dearer one that a neighbouring hour runs anyway. There a
    period is a run of hours of equal demand, one after the other around the week. Nothing is lost while starts are the
    only link: let all hours of a run do what its cheapest hour does, and neither the hours nor the starts cost more,
    for from before the run to what that hour runs and on to what follows, instances rise by no more than they did over
    all its hours.

    **Where a start is billed for a least time**, machines may change within a run when that time is over, and **a limit
    over the month** (carbon) may be spent by one hour instead of another of equal demand: there every hour is a period.

    Two things hold by definition: a service of the same demand all week runs the same machines all week, and where
    changes against a plan in force count, the hours with most traffic run the same machines, which are counted.
    """
    week, policy = _week(scenario), scenario.policy
    bills_least_time = any(hours > 1 for hours in policy.elastic.minimum_billing_hours.values())
    linked = bills_least_time or policy.max_carbon_kg_per_month is not None
    by_runs = linked or policy.elastic.start_up_minutes > 0
    hours = _hour_to_period(week, HOURS_PER_WEEK, by_runs=by_runs)
    if linked and hours.any():
        hours = np.arange(HOURS_PER_WEEK)
    if policy.migration is not None:
        traffic = week.sum(axis=1)
        hours = np.where(traffic >= traffic.max() * (1 - SAME_SHARE), HOURS_PER_WEEK, hours)
    return _in_order(hours)


def told_apart(*hour_to_period: Ints) -> Ints:
    """(168,) the coarsest periods that tell hours apart where any of the given ones (168,) does."""
    return _in_order(_numbered(*hour_to_period))


def grouped(scenario: Scenario, hour_to_period: Ints) -> Periods:
    """The scenario's week in given periods: (168,) of each hour, numbered by their first hour."""
    week = _week(scenario)
    hours = [week[hour_to_period == period] for period in range(int(hour_to_period.max()) + 1)]
    demand = np.array([asked.max(axis=0) for asked in hours])
    # (T, W); no more than rounding between a period's hours is none
    even = np.array([asked.min(axis=0) for asked in hours]) >= demand * (1 - SAME_SHARE)
    mean = np.array([asked.mean(axis=0) for asked in hours])
    following = np.roll(hour_to_period, -1)
    transitions = np.zeros((len(hours), len(hours)))
    np.add.at(transitions, (hour_to_period, following), WEEKS_PER_MONTH)
    np.fill_diagonal(transitions, 0.0)
    return Periods(
        hours_per_month=np.bincount(hour_to_period).astype(np.float64) * WEEKS_PER_MONTH,
        demand_requests_per_second=demand,
        transitions_per_month=transitions,
        hour_to_period=hour_to_period,
        min_replicas=_floor(scenario, demand),
        asked_share=np.divide(mean, demand, out=np.ones_like(demand), where=~even),
        added_share=demand[hour_to_period].sum(axis=0) / week.sum(axis=0) - 1,
        exact=len(np.unique(_numbered(hour_to_period, exact_hours(scenario)))) == len(hours),
    )


def _week(scenario: Scenario) -> Floats:
    """(168, W) requests/s of each workload in every hour of the week."""
    return np.array([weekly_requests_per_second(workload) for workload in scenario.workloads], dtype=np.float64).T


def weekly_requests_per_second(workload: Workload) -> tuple[float, ...]:
    """A workload's demand in each of the week's 168 hours, Monday first; its one rate where it has no profile."""
    if workload.demand is not None:
        return workload.demand.weekly()
    return (workload.peak_requests_per_second(),) * HOURS_PER_WEEK


def starts_in_time(workload: Workload, start_up_minutes: float) -> bool:
    """Whether a request may wait until a replica has started: the start fits the tightest TTFT and E2E limit."""
    limits_ms = [*_limits_ms(workload.slo.ttft_ms), *_limits_ms(workload.slo.e2e_ms)]
    start_ms = start_up_minutes * MINUTES_PER_HOUR * MS_PER_S
    before_ms = workload.slo.ttft_overhead_ms + (MAX_NETWORK_MS if workload.knows_where_users_are else 0.0)
    return start_ms + before_ms <= min(limits_ms, default=math.inf)


def _limits_ms(latency: Latency | None) -> Sequence[float]:
    return [] if latency is None else list(latency.limits_ms().values())


def _floor(scenario: Scenario, demand: Floats) -> Ints:
    """(T, W) replicas kept in every period."""
    start_up_minutes = scenario.policy.elastic.start_up_minutes
    warm = np.array([not starts_in_time(workload, start_up_minutes) for workload in scenario.workloads])
    floor = np.array([workload.min_replicas for workload in scenario.workloads], dtype=np.int64)
    kept: Ints = np.maximum(floor, (demand == 0) & warm)
    return kept


def _hour_to_period(week: Floats, max_periods: int, *, by_runs: bool) -> Ints:
    """(168,) the period of each hour; periods are numbered by their first hour.

    Args:
        week: (168, W) demand by hour.
        max_periods: Periods allowed.
        by_runs: Whether hours of equal demand are one period only within a run of them.
    """
    if (week == week[0]).all():
        return np.zeros(len(week), dtype=np.int64)
    return _periods_of(week.tobytes(), week.shape[1], max_periods, by_runs)


@lru_cache(maxsize=MOST_WEEKS)
def _periods_of(demand_by_hour: bytes, workloads: int, max_periods: int, by_runs: bool) -> Ints:
    """As `_hour_to_period`, once for all questions that ask the same week of other machines; not to be written to."""
    week = np.asfortranarray(np.frombuffer(demand_by_hour).reshape(-1, workloads))
    hours = _from_demand(week, max_periods, by_runs=by_runs)
    hours.setflags(write=False)
    return hours


def _from_demand(week: Floats, max_periods: int, *, by_runs: bool) -> Ints:
    share = _levelled(week / week.max(axis=0))
    # hour -> number of its demand, in the order of demands
    demand = np.unique(share, axis=0, return_inverse=True)[1].reshape(-1)
    kind = _kinds_of_runs(demand, max_periods) if by_runs else np.zeros_like(demand)
    _, first, group = np.unique(np.stack([demand, kind], axis=1), axis=0, return_index=True, return_inverse=True)
    return _joined(share[first], group.reshape(-1).astype(np.int64), max_periods)


def _levelled(share: Floats) -> Floats:
    """(168, W) shares of the peak, with those of a workload that differ by rounding alone made equal."""
    levels = np.empty_like(share)
    for workload, own in enumerate(share.T):
        distinct, position = np.unique(own, return_inverse=True)
        # distinct share -> the first of those that stand as near one to the next as rounding does
        leads = np.diff(distinct, prepend=-1.0) > SAME_SHARE * distinct
        levels[:, workload] = distinct[leads][np.cumsum(leads) - 1][position.reshape(-1)]
    return levels


def _kinds_of_runs(demand: Ints, max_periods: int) -> Ints:
    """(168,) the kind of run that each hour is in: hours of equal demand, one after the other around the week.

    Each run is a kind of its own if so many fit. Else runs are of one kind whose demand and length are equal, and kinds
    are split by the kinds of the neighbours, again and again, as long as there is room.
    """
    run = np.cumsum(demand != np.roll(demand, 1))
    # Monday's first hours go on with what Sunday ends with
    run[run == 0] = run[-1]
    _, first, run = np.unique(run, return_index=True, return_inverse=True)
    if len(first) <= max_periods:
        return run.astype(np.int64)
    # runs in the order of the week -> demand, hours and kind; shorter runs of a demand are numbered first
    order = np.argsort(first)
    position = np.argsort(order)[run]
    hours = np.bincount(position)
    kind = _numbered(demand[first[order]], hours)
    while True:
        coarse, finer = kind, _numbered(kind, np.roll(kind, 1), np.roll(kind, -1))
        # short runs first: dips worth idling through are short
        for number in dict.fromkeys(coarse[np.argsort(hours, kind="stable")].tolist()):
            split = _numbered(kind, np.where(coarse == number, finer, 0))
            kind = split if split.max() < max_periods else kind
        if kind.max() == coarse.max():
            return kind[position]


def _numbered(*keys: Ints) -> Ints:
    """(N,) a number for each different combination of keys (N,) each, in their order."""
    return np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _joined(highest: Floats, group: Ints, max_periods: int) -> Ints:
    """(168,) the period of each hour, once so many groups are joined that they fit.

    Args:
        highest: (N, W) demand of each group as a share of the workload's peak.
        group: (168,) of each hour.
        max_periods: Periods allowed.
    """
    peak = float(highest.sum(axis=1).max())
    hours = np.bincount(group).astype(float)
    alive = np.ones(len(hours), dtype=bool)
    price = _joining_prices(highest, hours, peak)
    for _ in range(len(hours) - max_periods):
        # equal demand is joined first, at no price at all; prices that differ by rounding alone count as equal, and
        # of those the join that lifts fewest hours is taken, then the first, whatever the scale
        lowest = float(price.min())
        cheapest = np.argwhere(np.triu(price <= lowest + SAME_PRICE * (lowest > 0)))
        kept, gone = min(cheapest.tolist(), key=lambda pair: _hours_lifted(highest, hours, *pair))
        highest[kept] = np.maximum(highest[kept], highest[gone])
        hours[kept] += hours[gone]
        group[group == gone] = kept
        alive[gone] = False
        # the joined period's row and column anew; the other one is never joined again
        price[gone, :] = price[:, gone] = np.inf
        price[kept, :] = price[:, kept] = np.where(alive, _joining(highest, hours, kept, peak), np.inf)
        price[kept, kept] = np.inf
    return _in_order(group)


def _in_order(period: Ints) -> Ints:
    """(168,) the same periods, numbered by their first hour."""
    return Categorical[int].of(period).codes


def _hours_lifted(highest: Floats, hours: Floats, one: int, other: int) -> float:
    """Hours of the week whose demand is rounded up where two periods are joined."""
    joined = np.maximum(highest[one], highest[other])
    return float(sum(hours[period] for period in (one, other) if (highest[period] < joined).any()))


def _joining_prices(highest: Floats, hours: Floats, peak: float) -> Floats:
    """(N, N) demand added by joining two periods, infinite for a period with itself."""
    prices = np.array([_joining(highest, hours, one, peak) for one in range(len(hours))])
    np.fill_diagonal(prices, np.inf)
    return prices


def _joining(highest: Floats, hours: Floats, one: int, peak: float) -> Floats:
    """(N,) demand added by joining one period with each, in hours of peak.

    Args:
        highest: (N, W) demand of each period as a share of the workload's peak.
        hours: (N,) hours of the week in each.
        one: The period joined with each.
        peak: The week's highest sum of shares.
    """
    joined = np.maximum(highest, highest[one])
    added: Floats = hours * (joined - highest).sum(axis=1) + hours[one] * (joined - highest[one]).sum(axis=1)
    added += HOURS_PER_WEEK * np.maximum(joined.sum(axis=1) - peak, 0.0)
    return added
