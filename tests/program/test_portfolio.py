"""Services that share limits and a pool: brute force over every choice, the bound at any prices, tolls enumerated."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import cheapest_by_enumeration
from support.instances import problems

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.portfolio.master import PortfolioMaster
from optimizer.program.portfolio.shared import ServicePlan, Shared, SharedPrices, bound_usd
from optimizer.program.portfolio.together import Block, essential, solution_of, solved_together
from optimizer.program.problem.data import Candidates, Limits, Offers, QuotaLimit, Traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.problem.tolls import tolled
from optimizer.program.proof.sifting import sifted_bound
from optimizer.program.solve import solve

HOURS = np.array([100, 68])
SCARCE, PLENTY, POOLED = 0, 1, 2
"""Offers of each service: one under a shared limit, a dear one, and the pool's."""
POOL_USD = 400.0
MOST_OF_POOL = 2


def service(demand_per_s: tuple[int, int], prices: tuple[float, float], limit: int) -> Problem:
    """One class by day and by night; an instance of any offer serves one request a second."""
    offers, count = ("plenty", "pooled", "scarce"), 3
    order = [2, 0, 1]
    price = np.array([prices[0], prices[1], 0.0])
    return Problem(
        traffic=Traffic(
            classes=("chat/all",),
            workload=("chat",),
            demand_per_s=np.array(demand_per_s, dtype=float)[:, None],
            mixes=np.ones((1, 1)),
            share_of_month=HOURS / HOURS.sum(),
            start_share=np.zeros((2, 2)),
            least_replicas=np.zeros((2, 1), dtype=np.int64),
        ),
        candidates=Candidates(
            ids=tuple(f"on-{offers[o]}" for o in order),
            offer=np.arange(count),
            configuration=("x",) * count,
            engine=("vllm",) * count,
            gpus_per_replica=np.ones(count, dtype=np.int64),
            rate_per_s=np.ones((count, 1)),
            replicas_in_force=np.zeros(count, dtype=np.int64),
        ),
        offers=Offers(
            ids=tuple(offers[o] for o in order),
            price_usd_per_hour=price,
            gpus_per_instance=np.ones(count, dtype=np.int64),
            power_kw=np.ones(count),
            carbon_kg_per_hour=np.ones(count),
            available=np.array([np.inf, np.inf, float(MOST_OF_POOL)]),
            provider=("aws",) * count,
            region=("east",) * count,
            gpu=("l4",) * count,
            spot=np.zeros(count, dtype=np.bool_),
            always_paid=np.zeros(count, dtype=np.bool_),
        ),
        limits=Limits(max_utilization=1.0, quotas=(QuotaLimit("scarce", (SCARCE,), limit),)),
    )


def all_plans(problem: Problem) -> Iterator[np.ndarray]:
    """(2, 3) instances by day and by night, each demand served exactly."""
    days = [
        [n for n in product(range(demand + 1), repeat=3) if sum(n) == demand and n[POOLED] <= MOST_OF_POOL]
        for demand in problem.traffic.demand_per_s[:, 0].astype(int).tolist()
    ]
    for day, night in product(*days):
        yield np.array([day, night])


def usd_of(problem: Problem, plan: np.ndarray) -> float:
    """A month of what is bought apart from the pool."""
    return float(problem.traffic.share_of_month @ plan @ problem.offers.price_usd_per_hour) * HOURS_PER_MONTH


def least_by_enumeration(services: list[Problem], limit: int) -> float | None:
    """A month of the cheapest choice of all services, the pool included; None where there is none."""
    best = np.inf
    for plans in product(*(list(all_plans(problem)) for problem in services)):
        total = np.sum(plans, axis=0)
        pool = total[:, POOLED].max()
        if (total[:, SCARCE] <= limit).all() and pool <= MOST_OF_POOL:
            own = sum(usd_of(problem, plan) for problem, plan in zip(services, plans, strict=True))
            best = min(best, own + pool * POOL_USD)
    return None if np.isinf(best) else best


def shared_of(limit: int) -> Shared:
    one = np.array([1.0])
    return Shared(np.array([float(limit)]), HOURS, POOL_USD * one, 0.0 * one, MOST_OF_POOL * one, np.inf)


def block_of(problem: Problem) -> Block:
    part = essential(problem)
    ids = list(part.problem.offers.ids)
    units = np.array([[float(name == "scarce") for name in ids]])
    lent = np.array([[float(name == "pooled") for name in ids]])
    return Block(part.problem, units, lent, np.array([0, 1]))


@st.composite
def portfolios(draw: st.DrawFn) -> tuple[list[Problem], int]:
    limit = draw(st.integers(0, 3))
    demands = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=2))
    cheap = draw(st.integers(2, 9)) / 10
    some = [(day + (day + night == 0), night) for day, night in demands]
    return [service(each, (cheap, 1.0 + n / 10), limit) for n, each in enumerate(some)], limit


@settings(max_examples=8, deadline=None)
@given(portfolios())
def test_one_program_of_all_finds_what_enumeration_finds(drawn: tuple[list[Problem], int]) -> None:
    services, limit = drawn
    expected = least_by_enumeration(services, limit)
    assert expected is not None, "what is dear is there without end"
    found = solved_together([block_of(each) for each in services], shared_of(limit), Clock(), 5000)
    assert found.bound_usd == pytest.approx(expected, rel=1e-6)
    plans = [solution_of(problem, values) for problem, values in zip(services, found.values, strict=True)]
    assert found.pools is not None
    own = sum(usd_of(p, plan.instances) for p, plan in zip(services, plans, strict=True) if plan is not None)
    assert own + POOL_USD * found.pools.sum() == pytest.approx(expected, rel=1e-6)


@settings(max_examples=8, deadline=None)
@given(portfolios(), st.lists(st.integers(0, 500), min_size=4, max_size=4))
def test_no_plans_undercut_the_bound_at_any_prices(drawn: tuple[list[Problem], int], some: list[int]) -> None:
    services, limit = drawn
    shared = shared_of(limit)
    prices = SharedPrices(np.array([some[:2]], dtype=float), np.array([some[2:]], dtype=float)).never_free(shared)
    unit, instance = prices.tolls(shared)
    least = []
    for problem in services:
        # (J, O) tolls of the offer under the limit and of the pool's
        by_period = np.stack([unit[0], np.zeros(2), instance[0]], axis=1)
        hours = np.repeat([0, 1], HOURS)
        least.append(solve(tolled(problem, by_period[hours], hours)).bound_usd_per_month or 0.0)
    expected = least_by_enumeration(services, limit)
    assert expected is not None
    assert bound_usd(shared, prices, np.ones(2, dtype=np.int64), least) <= expected * (1 + 1e-6)


@settings(max_examples=8, deadline=None)
@given(portfolios())
def test_the_master_over_every_plan_is_enumeration_and_its_prices_bound_it(drawn: tuple[list[Problem], int]) -> None:
    services, limit = drawn
    plans = [
        ServicePlan(n, usd_of(problem, plan), plan[:, SCARCE][None], plan[:, POOLED][None])
        for n, problem in enumerate(services)
        for plan in all_plans(problem)
    ]
    master = PortfolioMaster(shared_of(limit), np.ones(2, dtype=np.int64), plans, np.full(3, np.inf))
    whole, mixed = master.chosen(Clock()), master.mixed(Clock())
    expected = least_by_enumeration(services, limit)
    assert whole is not None
    assert mixed is not None
    assert mixed.prices is not None
    assert whole.keeps_all
    assert whole.usd == pytest.approx(expected, rel=1e-6)
    # at the mixture's own prices the bound is the mixture: no plan that is not in it would change it
    charged = [
        plan.usd + float((mixed.prices.use * plan.use + mixed.prices.pooled * plan.pooled).sum()) for plan in plans
    ]
    least = [min(c for c, plan in zip(charged, plans, strict=True) if plan.service == n) for n in range(2)]
    bound = bound_usd(shared_of(limit), mixed.prices, np.ones(2, dtype=np.int64), least)
    assert bound == pytest.approx(mixed.usd, rel=1e-6)
    assert bound <= whole.usd * (1 + 1e-9)


def test_a_budget_is_a_price_on_every_dollar() -> None:
    """Two services, each with a plan for 100 USD that takes the limit's only unit and one for 200 that takes none."""
    plans = [
        ServicePlan(n, usd, np.array([[use]]), np.zeros((0, 1), int))
        for n in (0, 1)
        for usd, use in ((100.0, 1), (200.0, 0))
    ]
    nothing = np.zeros(0)
    shared = Shared(np.array([1.0]), np.array([168]), nothing, nothing, nothing, 250.0)
    none_may, all_may = np.full(2, np.inf), np.full(2, 50.0)
    assert PortfolioMaster(shared, np.array([1, 1]), plans, none_may).chosen(Clock()) is None
    nearest = PortfolioMaster(shared, np.array([1, 1]), plans, all_may).mixed(Clock())
    assert nearest is not None
    assert nearest.excess.sum() > 0
    richer = PortfolioMaster(replace(shared, budget_usd=300.0), np.array([1, 1]), plans, none_may).chosen(Clock())
    assert richer is not None
    assert richer.usd == 300.0


def test_what_costs_nothing_is_sifted_without_a_warning() -> None:
    """A pool's instances are paid apart: what others cost was divided by nothing, and its own by it, too."""
    sifted = sifted_bound(sorted_problem(service((2, 1), (3.0, 1.0), 3)).problem, Clock())
    assert sifted is not None
    assert sifted.usd_per_hour == pytest.approx(0.0, abs=1e-9)


def test_nobody_exceeds_a_pool_to_keep_a_budget() -> None:
    """Two instances of a pool of fifty cost 800 USD, beyond its most or not: a budget of 500 alone is in the way."""
    plan = ServicePlan(0, 0.0, np.zeros((0, 1), int), np.array([[2]]))
    shared = Shared(
        np.zeros(0),
        np.array([168]),
        np.array([POOL_USD]),
        pool_least=np.ones(1),
        pool_most=np.array([50.0]),
        budget_usd=500.0,
    )
    master = PortfolioMaster(shared, np.array([1]), [plan], np.array([1.0, 10.0]))
    nearest = master.mixed(Clock())
    assert nearest is not None
    assert nearest.excess.tolist() == pytest.approx([0.0, 300.0])
    few = PortfolioMaster(replace(shared, pool_most=np.ones(1)), np.array([1]), [plan], np.array([1.0, 10.0]))
    nearest = few.mixed(Clock())
    assert nearest is not None
    assert nearest.excess.tolist() == pytest.approx([1.0, 300.0])
    assert nearest.usd == pytest.approx(2 * POOL_USD + 1 + 3000)


@pytest.mark.parametrize("families", [("periods", "starts"), ("periods", "quotas", "layouts"), ("periods", "apis")])
def test_tolled_plans_are_those_of_enumeration(families: tuple[str, ...]) -> None:
    @settings(max_examples=5, deadline=None)
    @given(problems(*families), st.integers(0, 1000))
    def agrees(problem: Problem, seed: int) -> None:
        usd = np.random.default_rng(seed).integers(0, 4, (problem.traffic.periods, len(problem.offers))) / 2
        toll = replace(problem, tolls_usd_per_hour=usd * problem.traffic.share_of_month[:, None])
        expected = cheapest_by_enumeration(toll)
        if expected is None or np.isnan(expected):
            return
        found = solve(toll)
        assert found.cost_usd_per_month == pytest.approx(expected * HOURS_PER_MONTH, rel=1e-7)
        assert found.bound_usd_per_month == pytest.approx(expected * HOURS_PER_MONTH, rel=1e-6)

    agrees()
