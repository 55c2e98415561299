"""Where a plan may have only so many places, a region that another one replaces is left out, and no optimum with it."""

from dataclasses import replace

import numpy as np
import pytest
from support.plain import plain_candidates, plain_offers

from optimizer.program.problem.data import Ceiling, HostedApis, Limits, steady_traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof import dominance
from optimizer.program.proof.dominance import undominated
from optimizer.program.solve import solve, solve_plainly


def market(prices: list[float], provider: str, region: str, places: int | None = 4) -> Problem:
    """One class of four requests a second; every offer is as fast, at a provider and in a region of one letter each."""
    return Problem(
        traffic=steady_traffic(("w/0",), np.array([4.0])),
        candidates=plain_candidates(range(len(prices)), [[1.0]] * len(prices)),
        offers=plain_offers(prices, provider=tuple(provider), region=tuple(region)),
        limits=Limits(1.0),
        ceiling=Ceiling(places=places),
    )


def standing(problem: Problem) -> set[str]:
    """The offers that dominance keeps."""
    inner = sorted_problem(problem).problem
    return {inner.offers.ids[o] for o in inner.candidates.offer[undominated(inner)].tolist()}


def test_the_cheaper_region_of_a_provider_stays() -> None:
    assert standing(market([2.0, 1.0, 3.0], "ppq", "abc")) == {"o1"}
    # without a ceiling on places the offer rule says the same, and where places are asked for as well neither does
    assert standing(market([2.0, 1.0, 3.0], "ppq", "abc", places=None)) == {"o1"}
    regions = replace(market([2.0, 1.0, 3.0], "ppq", "abc"), limits=Limits(1.0, survive=("region",)))
    assert standing(regions) == {"o0", "o1", "o2"}


def test_all_that_a_region_offers_must_be_replaced_in_one_other() -> None:
    """In region a both kinds are to be had; what replaces them is in two regions, or, once it is not, in one."""
    two_kinds = market([2.0, 2.0, 1.0, 1.0], "ppqq", "aabc")
    fast = np.array([[1.0], [2.0], [1.0], [2.0]])
    kinds = replace(
        two_kinds,
        candidates=replace(two_kinds.candidates, rate_per_s=fast, configuration=("x", "y", "x", "y")),
        limits=Limits(1.0, max_distinct_configurations=2),
    )
    assert standing(kinds) == {"o0", "o1", "o2", "o3"}
    together = replace(kinds, offers=replace(kinds.offers, region=("a", "a", "b", "b")))
    assert standing(together) == {"o2", "o3"}


def test_a_provider_of_several_regions_gains_none() -> None:
    """Provider p has a region that nothing replaces, so its other one goes for one of its own alone."""
    problem = market([2.0, 0.5, 1.0], "ppq", "abc")
    unlike = replace(problem, candidates=replace(problem.candidates, configuration=("x", "y", "x")))
    counted = replace(unlike, limits=Limits(1.0, max_distinct_configurations=2))
    assert standing(counted) == {"o0", "o1", "o2"}


def test_regions_of_several_providers_and_of_hosted_apis_stay() -> None:
    assert standing(market([2.0, 2.0, 1.0], "pqr", "aab")) == {"o0", "o1", "o2"}
    hosted = HostedApis(("h",), np.array([0]), np.array([1.0]), ("p",))
    assert standing(replace(market([2.0, 1.0], "pq", "ab"), apis=hosted)) == {"o0", "o1"}


def test_of_equal_regions_the_first_stays_and_a_scarce_one_replaces_none() -> None:
    assert standing(market([1.0, 1.0, 1.0], "ppq", "abc")) == {"o0"}
    problem = market([1.0, 2.0], "pp", "ab")
    scarce = replace(problem, offers=replace(problem.offers, available=np.array([1.0, np.inf])))
    assert standing(scarce) == {"o0", "o1"}


def drawn(seed: int) -> Problem:
    """Prices and rates of few values, so that much is replaced."""
    random = np.random.default_rng(seed)
    count = 8
    provider = random.integers(0, 3, count)
    region = tuple(f"p{p}/r{r}" for p, r in zip(provider, random.integers(0, 3, count), strict=True))
    return Problem(
        traffic=steady_traffic(("w/0", "w/1"), np.array([3.0, 5.0]), np.eye(2), ("w", "w")),
        candidates=plain_candidates(
            np.repeat(np.arange(count), 2),
            np.tile(np.eye(2), (count, 1)) * random.choice([1.0, 1.5, 2.5], (2 * count, 1)),
            configuration=tuple(random.choice(["x", "y"], 2 * count)),
        ),
        offers=plain_offers(
            random.choice([1.0, 1.3, 2.2], count), provider=tuple(f"p{p}" for p in provider), region=region
        ),
        limits=Limits(1.0, max_distinct_configurations=2),
        ceiling=Ceiling(places=int(random.integers(2, 5)), instances=int(random.integers(4, 9))),
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_of_few_places_is_missed(seed: int) -> None:
    """The same cost as with nothing left out."""
    found, plain = solve(drawn(seed)), solve_plainly(drawn(seed))
    assert found.outcome == plain.outcome
    if plain.cost_usd_per_month is not None:
        assert found.cost_usd_per_month == pytest.approx(plain.cost_usd_per_month, rel=1e-6)


def test_in_many_of_them_a_region_goes_that_no_offer_alone_tells_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with_regions = [standing(drawn(seed)) for seed in range(40)]
    monkeypatch.setattr(dominance, "_only_counts_places", lambda _: False)
    without = [standing(drawn(seed)) for seed in range(40)]
    assert all(few <= more for few, more in zip(with_regions, without, strict=True))
    assert sum(few < more for few, more in zip(with_regions, without, strict=True)) > 10
