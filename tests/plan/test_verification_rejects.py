"""A plan that was tampered with in any way is rejected, and the check that rejects it is the right one."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from support.tampering import (
    Mutation,
    api_price,
    asleep,
    changes,
    deployments,
    egress_price,
    faster,
    faster_replicas,
    first_deployment,
    flows,
    half_runs,
    hosted,
    instances,
    longer_prompts,
    longest_class_only,
    one_run_less,
    paying,
    planned_for,
    policy,
    purchases,
    replicas,
    sent,
    serving_hours_only,
    stocked,
    unpaid_changes,
    unplaced,
    workload,
)

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.readback.readback import Bought
from optimizer.plan.verify.verify import CHECKS, Claim, verify

Claims = Callable[[str], Claim]
CENT = Decimal("0.01")


@pytest.fixture(scope="module")
def claims(known: Callable[[str], Catalogs], fleet: Callable[[str], Bought]) -> Claims:
    """The claim of a shipped scenario's plan."""

    def claim(name: str) -> Claim:
        bought = fleet(name)
        return Claim(
            scenario=load_scenario(name),
            catalogs=known(name),
            deployments=bought.deployments,
            purchases=bought.purchases,
            hosted=bought.hosted,
            periods=bought.periods,
            migration=bought.migration,
            monthly_cost_usd=bought.monthly_cost_usd,
        )

    return claim


def failed(claim: Claim) -> set[str]:
    return {check.name for check in verify(claim).checks if not check.passed}


BROKEN: dict[str, tuple[str, Mutation, str]] = {
    "a lower total": ("chat-8b", lambda c: replace(c, monthly_cost_usd=c.monthly_cost_usd - 2 * CENT), "cost"),
    "a cheaper instance": ("chat-8b", lambda c: paying(c, lambda p: p.monthly_cost_usd - 2 * CENT), "cost"),
    "starts for free": ("office-hours", serving_hours_only, "cost"),
    "a commitment paid by half": (
        "office-hours",
        lambda c: paying(c, lambda p: p.monthly_cost_usd / (2 if p.always_paid else 1)),
        "cost",
    ),
    "disks for free": (
        "eu-residency",
        lambda c: paying(c, lambda p: p.price_usd_per_hour * Decimal(p.instance_hours_per_month)),
        "cost",
    ),
    "owned hardware for free": (
        "own-rack",
        lambda c: paying(c, lambda p: p.monthly_cost_usd * (not p.offer.startswith("owned/"))),
        "cost",
    ),
    "shares that do not add up": ("chat-8b", lambda c: first_deployment(c, monthly_cost_usd=Decimal(1)), "cost"),
    "fewer hosted requests billed": (
        "api-at-night",
        lambda c: hosted(c, lambda h: {"monthly_cost_usd": h.monthly_cost_usd / 2}),
        "cost",
    ),
    "hours not told": ("office-hours", lambda c: purchases(c, lambda _: {"instance_hours_per_month": 1.0}), "cost"),
    "a cheaper request shown": (
        "chat-8b",
        lambda c: first_deployment(c, cost_per_request_usd=Decimal("0.00000001")),
        "cost",
    ),
    "an API of unknown precision": ("api-at-night", policy(precisions=["fp8", "fp4"]), "hosted"),
    "a cheaper API": ("api-at-night", lambda c: api_price(c, Decimal("0.5")), "hosted"),
    "an API nobody lists": ("api-at-night", lambda c: hosted(c, lambda _: {"api": "nobody/nothing"}), "hosted"),
    "an API for another model": ("api-at-night", lambda c: hosted(c, lambda _: {"model": "llama-3.1-8b"}), "hosted"),
    "APIs not opted into": ("api-at-night", policy(hosting=["rented"]), "hosted"),
    "an API's provider denied": ("api-at-night", policy(providers={"deny": ["deepinfra"]}), "hosted"),
    "an API of no known place": ("api-at-night", policy(countries={"allow": ["us"]}), "hosted"),
    "an API against a workload's pin": ("api-at-night", workload(providers={"deny": ["deepinfra"]}), "hosted"),
    "an API of unknown quality": ("api-at-night", workload(min_quality=0.9), "hosted"),
    "an old price of an API": ("api-at-night", policy(max_price_age_days=1), "hosted"),
    "fewer changes shown": ("moving-day", lambda c: changes(c, started=0), "migration"),
    "changes not paid": ("moving-day", unpaid_changes, "migration"),
    "changes not counted": ("moving-day", lambda c: replace(c, migration=None), "migration"),
    "another plan in force": (
        "moving-day",
        lambda c: deployments(c, lambda d: {"precision": "bf16"} if d.gpu == "l40s" else {}),
        "migration",
    ),
    "less served": ("chat-8b", lambda c: flows(c, 0.9), "demand"),
    "less served in one period": ("office-hours", lambda c: flows(c, 0.9, 2), "demand"),
    "fewer requests sent to an API": ("api-at-night", lambda c: sent(c, 0.9), "demand"),
    "a lower peak planned for": ("three-clouds", lambda c: planned_for(c, 0.5), "demand"),
    "a higher peak planned for": ("three-clouds", lambda c: planned_for(c, 2.0), "demand"),
    "a higher peak asked for": ("chat-8b", workload(requests_per_second=500.0), "demand"),
    "another week": (
        "office-hours",
        workload(demand={"hourly": [1.0] * 24, "peak_requests_per_second": 24.0}),
        "demand",
    ),
    "no replica at night": ("office-hours", asleep, "warm"),
    "more replicas asked for": ("office-hours", workload(min_replicas=3), "warm"),
    "fewer instances in a period": (
        "office-hours",
        lambda c: instances(c, lambda t, n: max(0, n - 1) if t == 2 else n),
        "instances",
    ),
    "more replicas than fit": ("chat-8b", lambda c: replicas(c, lambda _, n: n + 100), "instances"),
    "instances miscounted": ("chat-8b", lambda c: purchases(c, lambda _: {"instances": 1}), "instances"),
    "a commitment that is none": (
        "office-hours",
        lambda c: purchases(c, lambda _: {"always_paid": False}),
        "instances",
    ),
    "more than there are": ("own-rack", lambda c: stocked(c, 1), "instances"),
    "too high a load": ("chat-8b", lambda c: flows(c, 1.6), "utilization"),
    "too high a load in a period": ("office-hours", lambda c: flows(c, 1.2, 2), "utilization"),
    "fewer replicas in a period": (
        "office-hours",
        lambda c: replicas(c, lambda t, n: max(0, n - 1) if t == 2 else n),
        "utilization",
    ),
    "a stricter utilization": ("chat-8b", policy(max_utilization=0.1), "utilization"),
    "more demand to be borne": ("one-engine", policy(robust={"demand": 2.0}), "utilization"),
    "less throughput to be borne": ("one-engine", policy(robust={"throughput": 0.4}), "utilization"),
    "utilization shown lower": ("chat-8b", lambda c: first_deployment(c, utilization=0.1), "utilization"),
    "replicas shown higher": ("office-hours", lambda c: first_deployment(c, replicas=9), "utilization"),
    "a model that does not fit": (
        "chat-8b",
        lambda c: first_deployment(c, precision="bf16", model="llama-3.1-70b"),
        "memory",
    ),
    "a longer prompt than the model holds": ("chat-8b", longer_prompts, "memory"),
    "other classes sent": ("shared-replicas", longest_class_only, "demand"),
    "other classes than can be borne": ("shared-replicas", longest_class_only, "service_levels"),
    "classes that do not add up": (
        "shared-replicas",
        lambda c: deployments(
            c,
            lambda d: {
                "schedule": [e.model_copy(update={"requests_per_second_by_class": {}}) for e in d.schedule],
            },
        ),
        "utilization",
    ),
    "a higher rate claimed": (
        "chat-8b",
        lambda c: faster_replicas(c, 2.0),
        "service_levels",
    ),
    "interruptions not counted": (
        "spot-summaries",
        policy(spot={"interruptions_per_month": 600, "recovery_minutes": 30}),
        "service_levels",
    ),
    "a lower TTFT shown": ("chat-8b", lambda c: deployments(c, lambda d: faster(d, "ttft_ms")), "service_levels"),
    "a lower bound shown": (
        "chat-8b",
        lambda c: deployments(c, lambda d: faster(d, "ttft_bound_ms")),
        "service_levels",
    ),
    "a lower TPOT shown": ("chat-8b", lambda c: deployments(c, lambda d: faster(d, "tpot_bound_ms")), "service_levels"),
    "a stricter TTFT": ("chat-8b", workload(slo={"ttft_ms": {"p95": 1.0}}), "service_levels"),
    "a stricter TPOT": ("chat-8b", workload(slo={"tpot_ms": {"mean": 0.01}}), "service_levels"),
    "a stricter end to end": ("chat-8b", workload(slo={"e2e_ms": {"p99": 1.0}}), "service_levels"),
    "more confidence": ("chat-8b", policy(confidence=0.999), "service_levels"),
    "a stricter quality": ("chat-8b", workload(min_quality=1.0), "quality"),
    "a poorer alternative": (
        "model-choice",
        workload(alternatives=[{"model": "qwen2.5-32b", "quality": 0.9}]),
        "quality",
    ),
    "a model nobody listed": ("model-choice", workload(alternatives=[]), "quality"),
    "a provider denied": ("chat-8b", policy(providers={"deny": ["*"]}), "offers"),
    "a region not allowed": ("chat-8b", policy(regions={"allow": ["mars-*"]}), "offers"),
    "a GPU denied": ("chat-8b", policy(gpus={"deny": ["*"]}), "offers"),
    "a country denied": ("office-hours", policy(countries={"deny": ["us"]}), "offers"),
    "a country not allowed": ("own-rack", policy(countries={"allow": ["de"]}), "offers"),
    "a place nobody knows": ("eu-residency", unplaced, "offers"),
    "a workload's country": ("eu-residency", workload(countries={"allow": ["ca"]}), "offers"),
    "a workload's region": ("eu-residency", workload(regions={"deny": ["europe-*"]}), "offers"),
    "a workload's provider": ("eu-residency", workload(providers={"deny": ["gcp"]}), "offers"),
    "owned hardware not admitted": ("own-rack", policy(hosting=["rented"]), "offers"),
    "rented hardware not admitted": ("own-rack", policy(hosting=["owned"]), "offers"),
    "a term not allowed": ("office-hours", policy(pricing_terms=["on_demand"]), "offers"),
    "a provider kind not allowed": ("chat-8b", policy(provider_kinds=["marketplace"]), "offers"),
    "days that are cut in half": ("billed-by-the-day", half_runs, "cost"),
    "a run that is not paid for": ("billed-by-the-day", one_run_less, "cost"),
    "billed for longer": (
        "billed-by-the-day",
        policy(elastic={"max_periods": 6, "minimum_billing_hours": 100}),
        "cost",
    ),
    "runs where hours are billed": (
        "billed-by-the-day",
        policy(elastic={"max_periods": 6, "minimum_billing_hours": 1}),
        "cost",
    ),
    "a least time that nobody paid": ("office-hours", policy(elastic={"minimum_billing_hours": 12}), "cost"),
    "answers sent for free": ("token-scores", lambda c: egress_price(c, "0.05"), "cost"),
    "answers that are heavier": (
        "token-scores",
        policy(egress={"bytes_per_output_token": 1300, "bytes_per_request": 2000}),
        "cost",
    ),
    "answers nobody pays to send": ("token-scores", policy(egress=None), "cost"),
    "egress that is not asked for": ("chat-8b", policy(egress={"bytes_per_output_token": 1}), "cost"),
    "egress nobody prices": ("qwen3-32b", policy(egress={"bytes_per_output_token": 1}), "offers"),
    "storage nobody prices": ("chat-8b", policy(storage_gb_per_instance=100), "offers"),
    "an old price": ("chat-8b", policy(max_price_age_days=1), "offers"),
    "an engine not allowed": ("chat-8b", policy(engines=["no-such-engine"]), "offers"),
    "a precision not allowed": ("chat-8b", policy(precisions=["fp4"]), "offers"),
    "a KV precision not allowed": ("chat-8b", policy(kv_precisions=["fp4"]), "offers"),
    "too many GPUs": ("chat-8b", policy(max_gpus=0), "totals"),
    "too much money": ("chat-8b", policy(max_monthly_usd=1.0), "totals"),
    "too much money if prices rise": ("one-engine", policy(robust={"price": 1.5}), "totals"),
    "too much power": ("chat-8b", policy(max_power_kw=0.01), "totals"),
    "too much carbon": ("eu-residency", policy(max_carbon_kg_per_month=10.0), "totals"),
    "carbon nobody knows": (
        "eu-residency",
        policy(grid={"pue": 1.2, "g_co2_per_kwh": {"mars": 1.0}}),
        "totals",
    ),
    "a second engine": ("one-engine", lambda c: first_deployment(c, engine="sglang"), "totals"),
    "too many configurations": ("office-hours", policy(max_distinct_configurations=1), "totals"),
    "a quota": ("chat-8b", policy(quotas=[{"provider": "*", "max_gpus": 0}]), "totals"),
    "too few providers": ("three-clouds", policy(min_providers=4), "spread"),
    "too few regions": ("three-clouds", policy(min_regions=4), "spread"),
    "too much on spot": ("spot-summaries", policy(max_spot_share=0.1), "spread"),
    "too much at a provider": ("three-clouds", policy(max_provider_share=0.35), "spread"),
    "too much at an API's provider": ("api-at-night", policy(max_provider_share=0.9), "spread"),
    "too few spare replicas": ("chat-8b", policy(spare_replicas=50), "losses"),
    "an instance lost": ("office-hours", policy(survive={"loss_of": ["instance"]}), "losses"),
    "a region lost": ("chat-8b", policy(survive={"loss_of": ["region"]}), "losses"),
    "a provider lost": ("office-hours", policy(survive={"loss_of": ["provider"]}), "losses"),
    "an API's provider lost": ("api-at-night", policy(survive={"loss_of": ["provider"]}), "losses"),
    "a spot offer lost": (
        "spot-summaries",
        lambda c: replicas(c, lambda _, n: max(1, n - 1)),
        "losses",
    ),
    "a loss under more demand": ("three-clouds", policy(robust={"demand": 1.5}), "losses"),
    "an offer nobody lists": ("chat-8b", lambda c: purchases(c, lambda _: {"offer": "nobody/nowhere"}), "whole"),
    "a deployment nobody bought": ("chat-8b", lambda c: first_deployment(c, region="nowhere-1"), "whole"),
    "a workload nobody asked for": ("chat-8b", lambda c: first_deployment(c, workload="other"), "whole"),
    "a class served twice": ("chat-8b", lambda c: first_deployment(c, classes=2 * c.deployments[0].classes), "whole"),
    "an API for nobody": ("api-at-night", lambda c: hosted(c, lambda _: {"request_class": "1x1"}), "whole"),
    "an offer bought twice": ("chat-8b", lambda c: replace(c, purchases=[*c.purchases, *c.purchases]), "whole"),
    "hours left out": ("office-hours", lambda c: replace(c, periods=c.periods[:-1]), "whole"),
    "a period not told": (
        "office-hours",
        lambda c: deployments(c, lambda d: {"schedule": d.schedule[:-1]}),
        "whole",
    ),
}
"""The scenario whose plan is broken, how, and the check that must see it."""


@pytest.mark.parametrize("name", sorted({name for name, _, _ in BROKEN.values()}))
def test_the_untouched_plan_passes(name: str, claims: Claims) -> None:
    assert failed(claims(name)) == set()


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_plan_is_rejected_by_the_right_check(what: str, claims: Claims) -> None:
    name, mutation, check = BROKEN[what]
    assert check in failed(mutation(claims(name)))


def test_every_check_has_something_to_reject() -> None:
    assert {check for _, _, check in BROKEN.values()} == {"whole", *CHECKS}


def test_a_plan_that_does_not_hang_together_is_checked_for_nothing_else(claims: Claims) -> None:
    verification = verify(replace(claims("chat-8b"), periods=[]))
    assert [check.name for check in verification.checks] == ["whole"]


def test_prices_are_looked_up_again(claims: Claims, catalogs: Catalogs) -> None:
    claim = claims("chat-8b")
    bought = {p.offer for p in claim.purchases}
    dearer = [
        offer.model_copy(update={"price_usd_per_hour": 2 * offer.price_usd_per_hour}) if offer.id in bought else offer
        for offer in catalogs.offers
    ]
    assert "cost" in failed(replace(claim, catalogs=replace(catalogs, offers=tuple(dearer))))
