"""A plan that was tampered with in any way is rejected, and the check that rejects it is the right one."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from support.tampering import (
    Mutation,
    all_on_one_instance,
    alone,
    api_price,
    asleep,
    changes,
    decided,
    deployments,
    egress_price,
    faster,
    faster_replicas,
    first_deployment,
    flows,
    half_runs,
    holding_less_than_none,
    hosted,
    instances,
    loaded_anew,
    loading,
    longer_prompts,
    longest_class_only,
    more_changes,
    more_standing,
    nobodys,
    one_run_less,
    paying,
    placed,
    planned_for,
    policy,
    priced_by,
    purchases,
    replicas,
    sent,
    serving_hours_only,
    standing,
    starting_with,
    stocked,
    tuned,
    unpaid_changes,
    unplaced,
    without_single_benchmarks,
    workload,
)

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.fleet import InstanceLayout, PlannedFleet
from optimizer.plan.verify.claim import Claim
from optimizer.plan.verify.verify import CHECKS, verify

Claims = Callable[[str], Claim]
CENT = Decimal("0.01")


@pytest.fixture(scope="module")
def claims(known: Callable[[str], Catalogs], fleet: Callable[[str], PlannedFleet]) -> Claims:
    """The claim of a shipped scenario's plan."""

    def claim(name: str) -> Claim:
        return Claim(load_scenario(name), known(name), fleet(name))

    return claim


def failed(claim: Claim) -> set[str]:
    return {check.name for check in verify(claim.scenario, claim.catalogs, claim.fleet).checks if not check.passed}


BROKEN: dict[str, tuple[str, Mutation, str]] = {
    "a lower total": ("chat-8b", lambda c: decided(c, monthly_cost_usd=c.fleet.monthly_cost_usd - 2 * CENT), "cost"),
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
    "a cheaper API": ("api-at-night", lambda c: api_price(c, Decimal("0.5")), "hosted"),
    "an API nobody lists": ("api-at-night", lambda c: hosted(c, lambda _: {"api": "nobody/nothing"}), "hosted"),
    "an API for another model": ("api-at-night", lambda c: hosted(c, lambda _: {"model": "llama-3.1-8b"}), "hosted"),
    "an API for a fine-tune that it does not serve": ("api-at-night", tuned, "hosted"),
    "fewer changes shown": ("moving-day", lambda c: changes(c, started=0), "migration"),
    "more changes shown": ("moving-day", more_changes, "migration"),
    "starts shown as stops": ("moving-day", lambda c: changes(c, started=0, stopped=2), "migration"),
    "changes not paid": ("moving-day", unpaid_changes, "migration"),
    "changes not counted": ("moving-day", lambda c: decided(c, migration=None), "migration"),
    "another plan in force": (
        "moving-day",
        lambda c: deployments(c, lambda d: {"precision": "bf16"} if d.gpu == "l40s" else {}),
        "migration",
    ),
    "less served": ("chat-8b", lambda c: flows(c, 0.9), "demand"),
    "a batch that is not done": ("night-batch", lambda c: flows(c, 0.9), "batches"),
    "less served in one period": ("office-hours", lambda c: flows(c, 0.9, 2), "demand"),
    "fewer requests sent to an API": ("api-at-night", lambda c: sent(c, 0.9), "demand"),
    "a lower peak planned for": ("three-clouds", lambda c: planned_for(c, 0.5), "demand"),
    "a higher peak planned for": ("three-clouds", lambda c: planned_for(c, 2.0), "demand"),
    "a cheaper price shown": ("chat-8b", lambda c: deployments(c, lambda _: {"price_usd_per_hour": CENT}), "figures"),
    "a cheaper offer shown": ("chat-8b", lambda c: purchases(c, lambda _: {"price_usd_per_hour": CENT}), "figures"),
    "more GPUs shown": ("chat-8b", lambda c: deployments(c, lambda d: {"total_gpus": d.total_gpus + 1}), "figures"),
    "a higher latency shown": (
        "chat-8b",
        lambda c: deployments(c, lambda d: {"e2e_ms": {name: 1.1 * ms for name, ms in d.e2e_ms.items()}}),
        "service_levels",
    ),
    "fewer requests in flight shown": (
        "chat-8b",
        lambda c: deployments(c, lambda d: {"concurrency": 0.9 * d.concurrency}),
        "service_levels",
    ),
    "lighter weights shown": (
        "chat-8b",
        lambda c: deployments(c, lambda d: {"vram": d.vram.model_copy(update={"weights_gib": 1.0})}),
        "memory",
    ),
    "no replica at night": ("office-hours", asleep, "warm"),
    "fewer instances in a period": (
        "office-hours",
        lambda c: instances(c, lambda t, n: max(0, n - 1) if t == 2 else n),
        "instances",
    ),
    "more replicas than fit": ("chat-8b", lambda c: replicas(c, lambda _, n: n + 100), "instances"),
    "instances miscounted": ("chat-8b", lambda c: purchases(c, lambda _: {"instances": 7}), "instances"),
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
    "utilization shown lower": ("chat-8b", lambda c: first_deployment(c, utilization=0.1), "utilization"),
    "replicas shown higher": ("office-hours", lambda c: first_deployment(c, replicas=9), "utilization"),
    "a model that does not fit": (
        "chat-8b",
        lambda c: first_deployment(c, precision="bf16", model="llama-3.1-70b"),
        "memory",
    ),
    "a worst benchmark that nobody published": ("chat-8b", without_single_benchmarks, "quality"),
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
    "a lower TTFT shown": ("chat-8b", lambda c: deployments(c, lambda d: faster(d, "ttft_ms")), "service_levels"),
    "a lower bound shown": (
        "chat-8b",
        lambda c: deployments(c, lambda d: faster(d, "ttft_bound_ms")),
        "service_levels",
    ),
    "a lower TPOT shown": ("chat-8b", lambda c: deployments(c, lambda d: faster(d, "tpot_bound_ms")), "service_levels"),
    "a model nobody listed": ("model-choice", workload(alternatives=[]), "quality"),
    "a country not allowed": ("own-rack", policy(countries={"allow": ["de"]}), "offers"),
    "a place nobody knows": ("eu-residency", unplaced, "offers"),
    "rented hardware not admitted": ("own-rack", policy(hosting=["owned"]), "offers"),
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
    "answers sent for free": ("token-scores", lambda c: egress_price(c, "0.05"), "cost"),
    "answers nobody pays to send": ("token-scores", policy(egress=None), "cost"),
    "egress that is not asked for": ("chat-8b", policy(egress={"bytes_per_output_token": 1}), "cost"),
    "egress nobody prices": ("deepseek-v3", policy(egress={"bytes_per_output_token": 1}), "offers"),
    "storage nobody prices": ("chat-8b", policy(storage_gb_per_instance=100), "offers"),
    "a second engine": ("one-engine", lambda c: first_deployment(c, engine="vllm"), "totals"),
    "another release": ("chat-8b", lambda c: first_deployment(c, engine_version="0.1.0"), "figures"),
    "a worst benchmark said to be unknown": ("chat-8b", lambda c: first_deployment(c, quality_worst=None), "figures"),
    "more sequences than the release starts with": (
        "chat-8b",
        lambda c: first_deployment(c, engine_starts_with=starting_with(c, max_num_seqs=4096)),
        "figures",
    ),
    "a split that heads do not allow": (
        "chat-70b",
        lambda c: first_deployment(c, tensor_parallel=3, gpus_per_replica=3),
        "offers",
    ),
    "too much at an API's provider": ("api-at-night", policy(max_provider_share=0.9), "spread"),
    "a machine loaded anew in no time": (
        "two-shifts",
        lambda c: policy(elastic={"max_periods": 6, "repartition_minutes": 10})(loaded_anew(c, period=0)),
        "layouts",
    ),
    "spare replicas on one instance": (
        "own-rack",
        policy(survive={}, spare_replicas=1, spare_on_other_instances=True),
        "placement",
    ),
    "an instance lost": ("office-hours", policy(survive={"loss_of": ["instance"]}), "placement"),
    "no word of what stands where": ("own-rack", lambda c: decided(c, placement=()), "placement"),
    "a placement without need": ("own-rack", policy(survive={}), "placement"),
    "all on one instance": ("own-rack", all_on_one_instance, "placement"),
    "a replica that stands nowhere": ("own-rack", lambda c: placed(c, replicas=0), "placement"),
    "a replica that stands twice": ("own-rack", lambda c: placed(c, replicas=2), "placement"),
    "an instance of nobody": ("own-rack", lambda c: decided(c, placement=nobodys(c)), "placement"),
    "a deployment that is none": ("own-rack", lambda c: placed(c, deployment=99), "placement"),
    "a provider lost": ("office-hours", policy(survive={"loss_of": ["provider"]}), "losses"),
    "an API's provider lost": ("api-at-night", policy(survive={"loss_of": ["provider"]}), "losses"),
    "a spot offer lost": (
        "spot-summaries",
        lambda c: replicas(c, lambda _, n: max(1, n - 1)),
        "losses",
    ),
    "an offer nobody lists": ("chat-8b", lambda c: purchases(c, lambda _: {"offer": "nobody/nowhere"}), "whole"),
    "a deployment nobody bought": ("chat-8b", lambda c: first_deployment(c, region="nowhere-1"), "whole"),
    "a workload nobody asked for": ("chat-8b", lambda c: first_deployment(c, workload="other"), "whole"),
    "a class served twice": (
        "chat-8b",
        lambda c: first_deployment(c, classes=2 * c.fleet.deployments[0].classes),
        "whole",
    ),
    "an API for nobody": ("api-at-night", lambda c: hosted(c, lambda _: {"request_class": "1x1"}), "whole"),
    "an offer bought twice": (
        "chat-8b",
        lambda c: decided(c, purchases=2 * c.fleet.purchases),
        "whole",
    ),
    "a machine loaded anew": ("two-shifts", loaded_anew, "layouts"),
    "a replica that nobody loaded": (
        "two-shifts",
        lambda c: purchases(c, lambda p: {"layouts": p.layouts[1:]}),
        "layouts",
    ),
    "more loaded than fits": ("two-shifts", lambda c: loading(c, 2), "layouts"),
    "machines that are not there": ("two-shifts", more_standing, "layouts"),
    "hours left out": ("office-hours", lambda c: decided(c, periods=c.fleet.periods[:-1]), "whole"),
    "periods out of order": (
        "office-hours",
        lambda c: decided(c, periods=[p.model_copy(update={"period": p.period + 1}) for p in c.fleet.periods]),
        "whole",
    ),
    "a workload whose demand nobody tells": (
        "office-hours",
        lambda c: decided(c, periods=[p.model_copy(update={"requests_per_second": {}}) for p in c.fleet.periods]),
        "whole",
    ),
    "nothing bought of an offer": ("chat-8b", lambda c: purchases(c, lambda _: {"instances": 0}), "whole"),
    "replicas that sustain nothing": ("chat-8b", lambda c: first_deployment(c, max_requests_per_second=0.0), "whole"),
    "a replica wider than its split": ("chat-8b", lambda c: first_deployment(c, gpus_per_replica=2), "whole"),
    "an API of an unknown model": ("api-at-night", lambda c: hosted(c, lambda _: {"model": "nobody/nothing"}), "whole"),
    "another kind of seller shown": ("chat-8b", lambda c: priced_by(c, seller="owned"), "figures"),
    "an old price shown as recent": (
        "chat-8b",
        lambda c: priced_by(c, price_is_old=not c.fleet.deployments[0].provenance.price_is_old),
        "figures",
    ),
    "a listed price shown as derived": ("chat-8b", lambda c: priced_by(c, price_confidence="derived"), "figures"),
    "layouts where none are needed": (
        "chat-8b",
        lambda c: purchases(c, lambda p: {"layouts": [InstanceLayout(contents=[], schedule=p.schedule)]}),
        "layouts",
    ),
    "layouts in no period": (
        "chat-8b",
        lambda c: purchases(c, lambda _: {"layouts": [InstanceLayout(contents=[], schedule=[])]}),
        "whole",
    ),
    "layouts out of order": ("two-shifts", lambda c: standing(c, lambda e: {"period": e.period + 1}), "whole"),
    "fewer than no machines loaded": (
        "two-shifts",
        lambda c: purchases(c, lambda p: {"layouts": [*p.layouts, holding_less_than_none(p.layouts[0])]}),
        "layouts",
    ),
    "more on machines than are there": (
        "own-rack",
        lambda c: decided(c, placement=alone(c.fleet.placement)),
        "placement",
    ),
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
    # no shipped scenario pays by the second: test_paid_by_second tampers with a plan that does
    assert {check for _, _, check in BROKEN.values()} == {*CHECKS} - {"containers"}


def test_a_plan_that_does_not_hang_together_is_checked_for_nothing_else(claims: Claims) -> None:
    claim = decided(claims("chat-8b"), periods=())
    verification = verify(claim.scenario, claim.catalogs, claim.fleet)
    assert [check.name for check in verification.checks] == ["whole"]


def test_prices_are_looked_up_again(claims: Claims, catalogs: Catalogs) -> None:
    claim = claims("chat-8b")
    bought = {p.offer for p in claim.fleet.purchases}
    dearer = [
        offer.model_copy(update={"price_usd_per_hour": 2 * offer.price_usd_per_hour}) if offer.id in bought else offer
        for offer in catalogs.offers
    ]
    assert "cost" in failed(replace(claim, catalogs=replace(catalogs, offers=tuple(dearer))))
