"""Every container sold by the second that could serve a workload: how many, kept up or not, and what a month costs.

Requests are spread by chance over as many containers as keep the limits at the policy's utilization, in each hour of
the week. A container is left to stop and start (`cycles`) where the limits still hold with those requests that wait
for a start, and is kept up for the hour where they do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import (
    BYTES_PER_GB,
    HOURS_PER_MONTH,
    HOURS_PER_WEEK,
    MINUTES_PER_HOUR,
    SECONDS_PER_HOUR,
)
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy, Workload
from optimizer.performance.candidates.apis import Api
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.periods import starts_in_time
from optimizer.performance.candidates.predict import bounded, operate
from optimizer.performance.market.market import Market
from optimizer.performance.per_second.cycles import cycle
from optimizer.performance.per_second.promises import fits_after_start, keeps_limits
from optimizer.performance.per_second.sales import idle_timeout_seconds, offer_of, start_seconds

WEEKS_PER_MONTH = HOURS_PER_MONTH / HOURS_PER_WEEK
ROUNDING = 1e-9
"""Relative, of a rate that fills so many containers."""


@dataclass(frozen=True)
class ServedBySecond:
    """The cheapest containers for one workload.

    Attributes:
        choice: The workload with the model that serves it.
        configuration: Row of `choice`.
        price: What a container costs.
        idle_timeout_s, start_s: Of a container.
        level_of_hour: (168,) index into the levels of demand.
        requests_per_s: (L,) of all containers.
        containers: (L,) over which they are spread.
        kept_up: (L,) whether these never stop.
        down: (L,) share of time in which a container is down, at most what is planned with.
        waiting: (L,) share of requests that wait for a start, at most.
        seconds_per_month: Of containers, paid for.
        usd_per_second: Of a container, its processors and memory included.
    """

    choice: WorkloadOptions
    configuration: int
    price: PerSecondPrice
    idle_timeout_s: float
    start_s: float
    level_of_hour: Ints
    requests_per_s: Floats
    containers: Ints
    kept_up: Flags
    down: Floats
    waiting: Floats
    seconds_per_month: float
    usd_per_second: Decimal

    @property
    def usd_per_month(self) -> Decimal:
        """What all of it costs."""
        return Decimal(repr(self.seconds_per_month)) * self.usd_per_second

    def as_apis(self) -> tuple[Api, ...]:
        """The same as what is paid by the request: the month over its requests, whatever their class."""
        workload = self.choice.workload
        requests = self.requests_per_s[self.level_of_hour].sum() * SECONDS_PER_HOUR * WEEKS_PER_MONTH
        usd_per_request = self.usd_per_month / Decimal(repr(float(requests)))
        return tuple(
            Api(
                workload_index=self.choice.workload_index,
                workload=workload.name,
                model=workload.model,
                request_class=item.name,
                class_index=index,
                provider=self.price.provider,
                name=self.price.name,
                usd_per_request=usd_per_request,
                as_of=self.price.as_of,
                source=self.price.source,
            )
            for index, item in enumerate(workload.classes())
        )


@dataclass(frozen=True)
class _Candidates:
    """Containers that may serve a workload, (C,) each."""

    configuration: Ints
    offer: Ints
    usd_per_second: Floats
    rate_per_s: Floats
    start_s: Floats
    timeout_s: Floats


def cheapest(
    choice: WorkloadOptions, containers: Market, catalogs: Catalogs, policy: Policy, week_per_s: Floats
) -> ServedBySecond | None:
    """The containers that serve a workload at least cost; None where none does.

    Args:
        choice: Evaluated on `containers`.
        containers: What is sold by the second, held against the policy.
        catalogs: What is known.
        policy: What the scenario asks.
        week_per_s: (168,) requests/s of the workload.
    """
    prices = {offer_of(row).id: row for row in catalogs.per_second}
    costs = _costs(prices, policy)
    found = _candidates(choice, containers, prices, catalogs, policy, costs=costs)
    if not len(found.configuration):
        return None
    levels, level_of_hour = np.unique(week_per_s, return_inverse=True)
    level_of_hour = level_of_hour.reshape(-1)
    count, kept_up, down, waiting = _in_hours(choice, found, policy, levels)
    seconds = _paid_seconds(found, level_of_hour, count, kept_up, down)
    cost = np.where(_few_enough(choice.workload, count), seconds * found.usd_per_second, np.inf)
    best = int(np.argmin(cost))
    if not np.isfinite(cost[best]):
        return None
    offer_id = containers.offers[found.offer[best]].id
    return ServedBySecond(
        choice=choice,
        configuration=int(found.configuration[best]),
        price=prices[offer_id],
        idle_timeout_s=float(found.timeout_s[best]),
        start_s=float(found.start_s[best]),
        level_of_hour=level_of_hour,
        requests_per_s=levels,
        containers=count[best],
        kept_up=kept_up[best],
        down=down[best],
        waiting=waiting[best],
        seconds_per_month=float(seconds[best]),
        usd_per_second=costs[offer_id],
    )


def _costs(prices: Mapping[str, PerSecondPrice], policy: Policy) -> dict[str, Decimal]:
    """USD a second of each container, by its id; those of which nobody says how much they reserve are not in it."""
    size = policy.per_second
    usd = {name: row.usd_per_container_second(size.vcpus_per_gpu, size.ram_gib_per_gpu) for name, row in prices.items()}
    return {name: each for name, each in usd.items() if each is not None}


def _candidates(
    choice: WorkloadOptions,
    containers: Market,
    prices: Mapping[str, PerSecondPrice],
    catalogs: Catalogs,
    policy: Policy,
    *,
    costs: Mapping[str, Decimal],
) -> _Candidates:
    """Configurations that pass every criterion, on each admitted container that holds just one replica of them."""
    whole = choice.pools[0]
    rows = [prices[offer.id] for offer in containers.offers]
    timeouts = [idle_timeout_seconds(policy, row) for row in rows]
    told = np.array(
        [timeout is not None and offer.id in costs for timeout, offer in zip(timeouts, containers.offers, strict=True)],
        dtype=np.bool_,
    )
    # (P, O) a replica takes the whole container
    fits = choice.fits[choice.kind] & (choice.gpus_per_replica[:, None] == containers.gpu_count)
    usable = fits & containers.admitted & told & (whole.passed & (whole.rate_per_s > 0))[:, None]
    configuration, offer = np.nonzero(usable)
    usd = np.array([float(costs.get(offer.id, np.inf)) for offer in containers.offers])
    weights_gb = choice.memory.weights * choice.gpus_per_replica / BYTES_PER_GB
    start_s = [
        start_seconds(catalogs, policy, choice.configurations[p].engine, weights_gb[p]) for p in configuration.tolist()
    ]
    return _Candidates(
        configuration=configuration,
        offer=offer,
        usd_per_second=usd[offer],
        rate_per_s=whole.rate_per_s[configuration],
        start_s=np.array(start_s, dtype=np.float64),
        timeout_s=np.array([timeout or 0.0 for timeout in timeouts])[offer],
    )


def _few_enough(workload: Workload, count: Ints) -> Flags:
    """(C,) whether there are never more containers than the workload may have replicas."""
    few: Flags = (
        np.ones(len(count), np.bool_) if workload.max_replicas is None else count.max(axis=1) <= (workload.max_replicas)
    )
    return few


def _counts(workload: Workload, found: _Candidates, policy: Policy, levels: Floats) -> Ints:
    """(C, L) the fewest containers that sustain each level of demand; one where nothing is asked, if a request there
    could not wait for a start."""
    most_per_s = found.rate_per_s * policy.robust.throughput * policy.max_utilization
    asked = levels * policy.robust.demand
    sustaining = np.ceil(asked / most_per_s[:, None] * (1 - ROUNDING)).astype(np.int64)
    start_minutes = found.start_s * MINUTES_PER_HOUR / SECONDS_PER_HOUR
    in_time = np.array([starts_in_time(workload, minutes) for minutes in start_minutes.tolist()], dtype=np.bool_)
    least = np.where(levels == 0, ~in_time[:, None], 1)
    return np.maximum(sustaining, np.maximum(least, workload.min_replicas))


def _in_hours(
    choice: WorkloadOptions, found: _Candidates, policy: Policy, levels: Floats
) -> tuple[Ints, Flags, Floats, Floats]:
    """(C, L) by level of demand: containers, whether they are kept up, share of time down, share that waits."""
    workload, count = choice.workload, _counts(choice.workload, found, policy, levels)
    busy = np.broadcast_to(levels > 0, count.shape)
    kept_up = np.broadcast_to(~busy | (workload.min_replicas > 0), count.shape).copy()
    down, waiting = np.ones(count.shape), np.zeros(count.shape)
    rows, columns = np.nonzero(busy)
    each_per_s = levels[columns] / count[rows, columns]
    stopping = _stopping(choice, found, policy, rows, each_per_s)
    kept_up[rows, columns] |= ~stopping.promised
    down[rows, columns], waiting[rows, columns] = stopping.down, stopping.waiting
    kept_up &= count > 0
    down[kept_up], waiting[kept_up] = 0.0, 0.0
    return count, kept_up, down, waiting


@dataclass(frozen=True)
class Stopping:
    """Containers left to stop and start at a rate each, (n,).

    Attributes:
        promised: Whether every limit holds with those that wait.
        down: Share of time, with services as long as they may turn out.
        waiting: Share of requests, with services as short as they may turn out.
    """

    promised: Flags
    down: Floats
    waiting: Floats


def _stopping(choice: WorkloadOptions, found: _Candidates, policy: Policy, rows: Ints, each_per_s: Floats) -> Stopping:
    """Rows of candidates (n,), each at its own rate of a container, (n,)."""
    at, mix = found.configuration[rows], choice.pools[0].pool.mix
    setup, limits = choice.setup.take(at), choice.limits.take(at)
    worst = each_per_s * policy.robust.demand / policy.robust.throughput
    bound, shortest = bounded(setup, mix, worst, limits.margins), operate(setup, mix, np.zeros(setup.rows))
    timeout, start_s = found.timeout_s[rows], found.start_s[rows]
    longest_held = bound.e2e_s["mean"] + timeout[:, None]
    paid = cycle(each_per_s, start_s, longest_held, mix.share)
    met = cycle(each_per_s, start_s, shortest.e2e_s["mean"] + timeout[:, None], mix.share)
    full = operate(choice.setup.take(found.configuration), mix, found.rate_per_s).concurrency[rows]
    promised = keeps_limits(bound, limits, met, start_s, each_per_s)
    promised &= fits_after_start(choice.workload, met, each_per_s * start_s, full)
    return Stopping(promised, paid.down, met.waiting)


def _paid_seconds(found: _Candidates, level_of_hour: Ints, count: Ints, kept_up: Flags, down: Floats) -> Floats:
    """(C,) seconds of containers in a month in which they start or are up; one kept up for hours starts before them."""
    paid_s = (count * (1 - down))[:, level_of_hour].sum(axis=1) * SECONDS_PER_HOUR
    kept = (count * kept_up)[:, level_of_hour]
    begun = np.maximum(kept - np.roll(kept, 1, axis=1), 0).sum(axis=1)
    seconds: Floats = (paid_s + begun * found.start_s) * WEEKS_PER_MONTH
    return seconds
