"""Small purchase problems, by hand and by Hypothesis, for the tests of the program."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from optimizer.program.problem.data import (
    LOSSES,
    Billing,
    Candidates,
    Ceiling,
    EgressPrices,
    HostedApis,
    LayoutTerms,
    Limits,
    Offers,
    QuotaLimit,
    Traffic,
    steady_traffic,
)
from optimizer.program.problem.problem import Problem

PROVIDERS, REGIONS = ("aws", "gcp"), ("east", "west")


def tiny_problem(**limits: Any) -> Problem:
    """Two classes, three offers (one spot), four candidates; enough for every family to have rows."""
    return Problem(
        traffic=steady_traffic(
            ("chat/long", "chat/short"), np.array([2.0, 5.0]), np.array([[1.0, 0.0], [0.4, 0.6], [0.0, 1.0]])
        ),
        candidates=Candidates(
            ids=("a-tp1-long", "a-tp2-mixed", "b-tp1-short", "c-tp1-long"),
            offer=np.array([0, 0, 1, 2]),
            configuration=("x", "y", "x", "x"),
            engine=("vllm", "vllm", "sglang", "vllm"),
            gpus_per_replica=np.array([1, 2, 1, 1]),
            rate_per_s=np.array([[1.0, 0.0, 0.0], [0.0, 3.5, 0.0], [0.0, 0.0, 4.0], [1.5, 0.0, 0.0]]),
            replicas_in_force=np.zeros(4, dtype=np.int64),
        ),
        offers=Offers(
            ids=("a", "b", "c"),
            price_usd_per_hour=np.array([4.0, 1.5, 0.5]),
            gpus_per_instance=np.array([4, 1, 2]),
            power_kw=np.array([2.0, 0.5, 0.75]),
            carbon_kg_per_hour=np.array([0.8, 0.2, 0.3]),
            available=np.full(3, np.inf),
            provider=("aws", "gcp", "gcp"),
            region=("east", "east", "west"),
            gpu=("h100", "l4", "t4"),
            spot=np.array([False, False, True]),
            always_paid=np.zeros(3, dtype=bool),
        ),
        limits=Limits(max_utilization=0.8, **limits),
    )


def with_apis(problem: Problem) -> Problem:
    """The same with a hosted API for the long requests."""
    return replace(problem, apis=HostedApis(("saas-long",), np.array([0]), np.array([2e-4]), ("saas",)))


def paying_for_answers(problem: Problem) -> Problem:
    """The same where sending answers costs something but at the second offer."""
    return replace(problem, egress=EgressPrices(np.array([2e-6, 1e-6]), np.array([90.0, 0.0, 120.0])))


def by_day_and_night(problem: Problem) -> Problem:
    """The same by day and, with a quarter of the demand and none of the first class, by night; one offer is owned.

    What is loaded changes freely, and what is billed is what runs.
    """
    demand = problem.traffic.demand_per_s[0]
    quiet = demand / 4
    quiet[0] = 0.0
    traffic = replace(
        problem.traffic,
        demand_per_s=np.stack([demand, quiet]),
        share_of_month=np.array([0.25, 0.75]),
        start_share=np.zeros((2, 2)),
        least_replicas=np.zeros((2, problem.traffic.least_replicas.shape[1]), dtype=np.int64),
    )
    owned = np.arange(len(problem.offers)) == 0
    offers = replace(problem.offers, always_paid=owned)
    return replace(problem, traffic=traffic, offers=offers, layouts=LayoutTerms(kept=False), billing=Billing())


def paid_all_month(problem: Problem, random: np.random.Generator) -> Problem:
    """The problem with some of its offers paid all month, at a lower price."""
    always = random.random(len(problem.offers)) < 0.6
    price = np.where(always, 0.6, 1.0) * problem.offers.price_usd_per_hour
    return replace(problem, offers=replace(problem.offers, always_paid=always, price_usd_per_hour=price))


def _scarce(problem: Problem) -> Problem:
    return replace(problem, offers=replace(problem.offers, available=np.array([np.inf, 2.0, 0.0])))


def _warm(problem: Problem) -> Problem:
    return replace(problem, traffic=replace(problem.traffic, least_replicas=np.array([[5]])))


def _starting(problem: Problem) -> Problem:
    problem = by_day_and_night(problem)
    return replace(problem, traffic=replace(problem.traffic, start_share=np.array([[0.0, 0.02], [0.02, 0.0]])))


def _billed(problem: Problem) -> Problem:
    billing = Billing(np.array([1, 3, 4]), np.array([1, 1, 0, 1, 0, 1, 1, 1]))
    return replace(by_day_and_night(problem), billing=billing)


def _bound(problem: Problem) -> Problem:
    """What is loaded stays on the first offer, which is owned; the third is counted by layout. Both run two kinds."""
    problem = by_day_and_night(problem)
    candidates = replace(problem.candidates, offer=np.array([0, 0, 2, 2]), gpus_per_replica=np.array([1, 2, 1, 2]))
    candidates = replace(candidates, configuration=("x", "y", "x", "y"))
    layouts = LayoutTerms(by_layout=np.array([False, False, True]))
    return replace(problem, candidates=candidates, layouts=layouts)


def _simpler(problem: Problem, places: int | None = None, instances: int | None = None) -> Problem:
    return replace(problem, ceiling=Ceiling(places, instances))


def _running(problem: Problem) -> Problem:
    return replace(problem, candidates=replace(problem.candidates, replicas_in_force=np.array([2, 1, 0, 0])))


TINY: dict[str, Callable[[], Problem]] = {
    "max_gpus": lambda: tiny_problem(max_gpus=12),
    "max_monthly_usd": lambda: with_apis(tiny_problem(max_monthly_usd=7300.0)),
    "max_power_kw": lambda: tiny_problem(max_power_kw=9.0),
    "max_carbon_kg_per_month": lambda: by_day_and_night(tiny_problem(max_carbon_kg_per_month=2190.0)),
    "quotas": lambda: tiny_problem(quotas=(QuotaLimit("aws/east", (0,), 8), QuotaLimit("gcp", (1, 2), 6))),
    "availability": lambda: _scarce(tiny_problem()),
    "max_spot_share": lambda: tiny_problem(max_spot_share=0.25),
    "max_provider_share": lambda: with_apis(tiny_problem(max_provider_share=0.75)),
    "spare_replicas": lambda: tiny_problem(spare_replicas=1),
    "survive": lambda: with_apis(tiny_problem(survive=("provider",))),
    "spare_on_other_instances": lambda: tiny_problem(spare_on_other_instances=True),
    "placement": lambda: with_apis(tiny_problem(survive=("instance",))),
    "max_distinct_configurations": lambda: tiny_problem(max_distinct_configurations=1),
    "max_engines": lambda: tiny_problem(max_engines=1),
    "places": lambda: _simpler(with_apis(tiny_problem()), places=4),
    "instance_count": lambda: _simpler(tiny_problem(), instances=3),
    "min_providers": lambda: tiny_problem(min_providers=2),
    "min_regions": lambda: tiny_problem(min_regions=2),
    "least_replicas": lambda: _warm(tiny_problem()),
    "max_replicas": lambda: tiny_problem(max_replicas=(("workload", 3),)),
    "starts": lambda: _starting(tiny_problem()),
    "minimum_billing": lambda: _billed(tiny_problem()),
    "layouts": lambda: _bound(tiny_problem()),
    "changes": lambda: _running(tiny_problem(max_changes=3, usd_per_change=10.0)),
}
"""A problem in which each family that a problem may do without has rows."""

KINDS = ("periods", "apis", "workloads", "mixed_replicas", "sending")
"""What a problem may have that is no family: several periods, hosted APIs, two workloads, replicas of many mixes,
answers that cost something to send."""


def neutral(problem: Problem, family: str) -> Problem:
    """The problem without one family's limit."""
    if family == "availability":
        free = np.full(len(problem.offers), np.inf)
        return replace(problem, offers=replace(problem.offers, available=free))
    if family == "layouts":
        return replace(problem, layouts=LayoutTerms(kept=False))
    if family == "minimum_billing":
        return replace(problem, billing=Billing())
    if family in ("least_replicas", "starts"):
        field = {"least_replicas": "least_replicas", "starts": "start_share"}[family]
        nothing = np.zeros_like(getattr(problem.traffic, field))
        return replace(problem, traffic=replace(problem.traffic, **{field: nothing}))
    if family in ("places", "instance_count"):
        field = {"places": "places", "instance_count": "instances"}[family]
        return replace(problem, ceiling=replace(problem.ceiling, **{field: None}))
    fields = {"changes": ("max_changes", "usd_per_change"), "placement": ("survive",)}.get(family, (family,))
    free_limits = Limits(problem.limits.max_utilization)
    return replace(problem, limits=replace(problem.limits, **{name: getattr(free_limits, name) for name in fields}))


@st.composite
def problems(draw: st.DrawFn, *families: str, most_candidates: int = 3, several: int = 4) -> Problem:
    """A random problem small enough for brute force, under the families or kinds named, or a random few for `any`."""
    active = set(families)
    if "any" in active:
        active |= draw(st.sets(st.sampled_from([*sorted(TINY), *KINDS]), max_size=several))
    traffic = draw(_traffics(active))
    offers = draw(_offers(active, traffic.periods))
    candidates = draw(_candidates(active, traffic, offers, most_candidates))
    apis = draw(_apis(traffic)) if "apis" in active else HostedApis()
    limits = draw(_limits(active, len(offers)))
    sending = draw(_sendings(len(traffic.classes), len(offers))) if "sending" in active else EgressPrices()
    billing = draw(_billings(traffic, offers)) if "minimum_billing" in active else Billing()
    by_layout = ~offers.always_paid if "layouts" in active else np.zeros(0, dtype=np.bool_)
    ceiling = Ceiling(
        # who is called is no whole count that enumeration goes through
        places=draw(st.integers(2, 4)) if "places" in active and not len(apis) else None,
        instances=draw(st.integers(1, 5)) if "instance_count" in active else None,
    )
    layouts = LayoutTerms(by_layout=by_layout)
    return Problem(traffic, candidates, offers, limits, apis, sending, billing, layouts, ceiling)


@st.composite
def _billings(draw: st.DrawFn, traffic: Traffic, offers: Offers) -> Billing:
    """A week of eight hours, some offers billed for several of them."""
    hours = np.repeat(np.arange(traffic.periods), np.rint(8 * traffic.share_of_month).astype(int))
    least = [draw(st.integers(1, 8)) for _ in offers.ids]
    least[0] = max(least[0], 2)
    return Billing(np.array(least), np.array(draw(st.permutations(hours.tolist()))))


@st.composite
def _sendings(draw: st.DrawFn, classes: int, offers: int) -> EgressPrices:
    return EgressPrices(
        np.array([draw(st.integers(0, 9)) * 1e-6 for _ in range(classes)]),
        np.array([draw(st.sampled_from([0.0, 40.0, 90.0, 200.0])) for _ in range(offers)]),
    )


def _tenths(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(low, high).map(lambda value: value / 10)


@st.composite
def _traffics(draw: st.DrawFn, active: set[str]) -> Traffic:
    classes = 2 if "workloads" in active else draw(st.integers(1, 2))
    workload = ("v", "w") if "workloads" in active else ("w",) * classes
    periods = draw(st.integers(2, 3)) if active & {"starts", "periods", "minimum_billing", "layouts"} else 1
    mixes = np.eye(classes)
    if classes == 2 and "workloads" not in active:
        mixes = np.vstack([mixes, [[0.5, 0.5]]])
    demand = np.array([[draw(_tenths(2, 25)) for _ in range(classes)] for _ in range(periods)])
    if periods > 1 and draw(st.booleans()):
        demand[1] = 0.0
    elif periods > 1 and draw(st.booleans()):
        demand[1, 0] = 0.0
    starts, width = np.zeros((periods, periods)), len(set(workload))
    if "starts" in active:
        starts = np.array([[draw(st.sampled_from([0.0, 0.01, 0.2])) for _ in range(periods)] for _ in range(periods)])
        starts[0, 1] = 0.05
        np.fill_diagonal(starts, 0.0)
    least = np.zeros((periods, width), dtype=np.int64)
    if "least_replicas" in active:
        least = np.array([[draw(st.integers(0, 3)) for _ in range(width)] for _ in range(periods)])
        least[0, 0] = max(least[0, 0], 1)
    return Traffic(
        classes=tuple(f"{label}/{k}" for k, label in enumerate(workload)),
        workload=workload,
        demand_per_s=demand,
        mixes=mixes,
        share_of_month={1: np.ones(1), 2: np.array([0.25, 0.75]), 3: np.array([0.25, 0.25, 0.5])}[periods],
        start_share=starts,
        least_replicas=least,
    )


@st.composite
def _offers(draw: st.DrawFn, active: set[str], periods: int) -> Offers:
    count = draw(st.integers(1, 3 if periods == 1 else 2))
    scarce = st.sampled_from([np.inf, 0.0, 1.0, 2.0]) if "availability" in active else st.just(np.inf)

    def each(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return [draw(strategy) for _ in range(count)]

    available = np.array(each(scarce))
    if "availability" in active and np.isinf(available).all():
        available[0] = 1.0
    return Offers(
        ids=tuple(f"o{number}" for number in range(count)),
        price_usd_per_hour=np.array(each(_tenths(5, 60))),
        gpus_per_instance=np.array(each(st.sampled_from([1, 2, 3, 4]))),
        power_kw=np.array(each(_tenths(1, 20))),
        carbon_kg_per_hour=np.array(each(_tenths(1, 20))),
        available=available,
        provider=tuple(each(st.sampled_from(PROVIDERS))),
        region=tuple(each(st.sampled_from(REGIONS))),
        gpu=("g",) * count,
        spot=np.array(each(st.booleans())),
        always_paid=np.array([*_first_paid(active), *each(st.booleans() if periods > 1 else st.just(False))])[:count],
    )


def _first_paid(active: set[str]) -> list[bool]:
    """Whether the first offer is paid all month, where that must be settled."""
    if "minimum_billing" in active:
        return [False]
    return [True] if "layouts" in active else []


@st.composite
def _candidates(draw: st.DrawFn, active: set[str], traffic: Traffic, offers: Offers, most: int) -> Candidates:
    held = "layouts" in active
    count = draw(st.integers(2 if held else 1, most if traffic.periods == 1 else min(most, 3)))
    index = [draw(st.integers(0, len(offers) - 1)) for _ in range(count)]
    index[: 2 * held] = [0] * (2 * held)
    rate = np.zeros((count, len(traffic.mixes)))
    for c in range(count):
        # a problem with losses to survive has candidates of one mix each
        one_mix = active & {"workloads", "survive", "placement"}
        several = "mixed_replicas" in active and not one_mix and draw(st.booleans())
        for m in range(len(traffic.mixes)) if several else [draw(st.integers(0, len(traffic.mixes) - 1))]:
            rate[c, m] = draw(_tenths(8, 40))
    force = [draw(st.integers(0, 2)) if "changes" in active else 0 for _ in range(count)]
    sizes = [draw(st.sampled_from([s for s in (1, 2, 4) if s <= offers.gpus_per_instance[o]])) for o in index]
    return Candidates(
        ids=tuple(f"c{number}" for number in range(count)),
        offer=np.array(index),
        configuration=(*"xy"[: 2 * held], *(draw(st.sampled_from("xyz")) for _ in range(count - 2 * held))),
        engine=tuple(draw(st.sampled_from("ef")) for _ in range(count)),
        gpus_per_replica=np.array(sizes),
        rate_per_s=rate,
        replicas_in_force=np.array(force),
    )


@st.composite
def _apis(draw: st.DrawFn, traffic: Traffic) -> HostedApis:
    count = draw(st.integers(1, 2))
    return HostedApis(
        ids=tuple(f"h{number}" for number in range(count)),
        mix=np.array([draw(st.integers(0, len(traffic.mixes) - 1)) for _ in range(count)]),
        usd_per_request=np.array([draw(st.integers(1, 12)) * 1e-4 for _ in range(count)]),
        provider=tuple(draw(st.sampled_from((*PROVIDERS, "saas"))) for _ in range(count)),
    )


@st.composite
def _limits(draw: st.DrawFn, active: set[str], offers: int) -> Limits:
    first_two, last = tuple(range(min(2, offers))), (offers - 1,)
    choices: dict[str, st.SearchStrategy[Any]] = {
        "max_gpus": st.integers(1, 8),
        "max_monthly_usd": st.integers(5, 200).map(lambda value: value * 73.0),
        "max_power_kw": _tenths(2, 60),
        "max_carbon_kg_per_month": _tenths(2, 60).map(lambda value: value * 730),
        "quotas": st.builds(
            lambda first, second: (QuotaLimit("p", first_two, first), QuotaLimit("q", last, second)),
            st.integers(0, 6),
            st.integers(0, 6),
        ),
        "max_spot_share": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        "max_provider_share": st.sampled_from([0.3, 0.5, 0.6, 0.9]),
        "spare_replicas": st.integers(1, 2),
        "spare_on_other_instances": st.just(True),
        "survive": st.sets(st.sampled_from(LOSSES), min_size=1, max_size=2).map(lambda kinds: tuple(sorted(kinds))),
        "max_distinct_configurations": st.integers(1, 2),
        "max_engines": st.just(1),
        "min_providers": st.just(2),
        "min_regions": st.just(2),
        "max_replicas": st.builds(
            lambda most, other: (("v", other), ("w", most))[other > 4 :], st.integers(1, 4), st.integers(1, 6)
        ),
    }
    chosen = {name: draw(strategy) for name, strategy in choices.items() if name in active}
    if "placement" in active:
        chosen["survive"] = tuple(sorted({"instance", *chosen.get("survive", ())}))
    if "changes" in active:
        chosen["usd_per_change"] = draw(st.sampled_from([0.0, 50.0, 2000.0]))
        capped = st.integers(0, 6)
        chosen["max_changes"] = draw(capped | st.none() if chosen["usd_per_change"] else capped)
    return Limits(draw(st.sampled_from([0.7, 0.8, 1.0])), **chosen)


def shuffled(problem: Problem, seed: int) -> tuple[Problem, dict[str, np.ndarray]]:
    """The same problem with classes, mixes, candidates, offers and APIs in another order, and the orders used."""
    random, traffic = np.random.default_rng(seed), problem.traffic
    sizes = {
        "classes": len(traffic.classes),
        "mixes": len(traffic.mixes),
        "candidates": len(problem.candidates),
        "offers": len(problem.offers),
        "apis": len(problem.apis),
    }
    order = {name: random.permutation(size) for name, size in sizes.items()}
    offer_at, mix_at = np.argsort(order["offers"]), np.argsort(order["mixes"])
    quotas = tuple(
        replace(quota, offers=tuple(int(offer_at[o]) for o in quota.offers)) for quota in problem.limits.quotas
    )
    taken = problem.candidates.select(order["candidates"])
    moved = replace(
        problem,
        traffic=replace(
            traffic,
            classes=tuple(traffic.classes[k] for k in order["classes"]),
            workload=tuple(traffic.workload[k] for k in order["classes"]),
            demand_per_s=traffic.demand_per_s[:, order["classes"]],
            mixes=traffic.mixes[order["mixes"]][:, order["classes"]],
        ),
        candidates=replace(taken, offer=offer_at[taken.offer], rate_per_s=taken.rate_per_s[:, order["mixes"]]),
        offers=problem.offers.select(order["offers"]),
        apis=replace(problem.apis, mix=mix_at[problem.apis.mix]).select(order["apis"]),
        limits=replace(problem.limits, quotas=quotas[::-1]),
        egress=problem.egress.select(order["classes"], order["offers"]),
        billing=problem.billing.select(order["offers"]),
        layouts=problem.layouts.select(order["offers"]),
    )
    return moved, order
