"""Containers paid by the second in plans: the cheapest that keep the limits, all of a workload or none, verified."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import chain, product
from typing import Any

import pytest
from support.scenarios import with_policy, with_workload
from support.tampering import Mutation, decided, hosted, policy, workload

from optimizer import load_catalogs
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.units import SECONDS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Policy, Scenario
from optimizer.performance.per_second.sales import NOT_PROMISED, refusals
from optimizer.plan.question.by_second import containers_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.verify.claim import Claim
from optimizer.plan.verify.per_second import running
from optimizer.plan.verify.per_second.bill import paid_seconds, usd_a_request
from optimizer.plan.verify.per_second.containers import UNPLANNED
from optimizer.plan.verify.per_second.running import serving
from optimizer.plan.verify.verify import verify

RARELY = 0.004
OFFICE = [0.0] * 7 + [0.2] * 2 + [1.0] * 9 + [0.2] * 6


@pytest.fixture(scope="module")
def few() -> Catalogs:
    """Two sizes of container and a few machines."""
    known = load_catalogs()
    sold = tuple(row for row in known.per_second if (row.provider, row.gpu) in {("runpod", "l4"), ("koyeb", "l40s")})
    offers = tuple(each for each in known.offers if each.provider == "runpod" and each.gpu in ("l4", "a40"))
    return replace(known, per_second=sold, offers=offers)


def asked(*rates: float, **fields: object) -> Scenario:
    """Workloads that are rarely asked something; fields are of the first."""
    shape = {"model": "llama-3.1-8b", "input_tokens": 1000, "output_tokens": 200}
    named = [{"name": f"w{n}", "requests_per_second": rate, **shape} for n, rate in enumerate(rates)]
    allowed = {"hosting": ["rented", "per_second"], "engines": ["vllm"], "precisions": ["bf16", "fp8"]}
    scenario = Scenario.model_validate({"name": "rarely", "workloads": named, "policy": allowed})
    return with_workload(scenario, **fields) if fields else scenario


def planned(scenario: Scenario, catalogs: Catalogs) -> PlannedFleet:
    answer = solved(Inquiry.of(scenario, catalogs))
    assert answer.solution.outcome == "optimal"
    bought = read_back(answer)
    assert wrong(Claim(scenario, catalogs, bought)) == []
    return bought


def wrong(claim: Claim) -> list[str]:
    checks = verify(claim.scenario, claim.catalogs, claim.fleet).checks
    return [check.name for check in checks if not check.passed]


def on(claim: Claim, other: Containers) -> Claim:
    """The same plan on other containers."""
    return replace(claim, fleet=replace(claim.fleet, containers=(other,)))


def stated(claim: Claim, used: Containers, **changes: object) -> Claim:
    """The same plan on other containers, with the figures that independent arithmetic has for them."""
    other = used.model_copy(update=changes)
    (hours,) = other.schedule
    own = serving(on(claim, other), other)
    run = own.in_hours(hours).run
    shares = {"share_up": 1.0, "waiting_share": 0.0}
    if not hours.kept_up:
        shares = {"share_up": 1 - run.down, "waiting_share": run.waiting}
    other = other.model_copy(
        update={
            "start_up_s": own.start_s,
            "schedule": [hours.model_copy(update=shares)],
            "seconds_per_month": float(paid_seconds(on(claim, other), other)),
        }
    )
    month = Decimal(repr(other.seconds_per_month)) * other.usd_per_second
    other = other.model_copy(update={"monthly_cost_usd": month})
    per_request = Decimal(repr(float(usd_a_request(on(claim, other), other))))
    here = {"provider": other.provider, "api": other.name, "usd_per_request": per_request, "monthly_cost_usd": month}
    here |= {"price_as_of": other.price_as_of, "price_source": other.price_source}
    sent = tuple(each.model_copy(update=here) for each in claim.fleet.hosted)
    return replace(claim, fleet=replace(claim.fleet, containers=(other,), hosted=sent, monthly_cost_usd=month))


def test_verification_predicts_all_loads_of_a_container_at_once(few: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 24 hours asked for its configuration nine times anew: verifying took 1.4 to 5 seconds."""
    hourly = [0.001 * (1 + hour) for hour in range(24)]
    week = {"hourly": hourly, "peak_requests_per_second": 0.024}
    scenario = with_policy(asked(RARELY, requests_per_second=None, demand=week), hosting=["per_second"])
    bought = read_back(solved(Inquiry.of(scenario, few)))
    assert len(bought.containers[0].schedule) == 24
    calls = Counter[str]()

    def counted(name: str) -> Callable[..., Any]:
        own = getattr(running, name)

        def work(*given: Any) -> Any:
            calls[name] += 1
            return own(*given)

        return work

    for name in ("gather", "margins", "at_bound", "operate"):
        monkeypatch.setattr(running, name, counted(name))
    assert wrong(Claim(scenario, few, bought)) == []
    assert calls == {"gather": 1, "margins": 1, "at_bound": 1, "operate": 2}


def test_what_nobody_insists_on_is_not_predicted_once_the_limit_is_reached(few: Catalogs) -> None:
    inquiry = Inquiry.of(with_policy(asked(RARELY), hosting=["per_second"]), few)
    assert containers_of(inquiry)
    with pytest.raises(LimitReached):
        containers_of(inquiry.beside_a_plan(Clock(0.0)))


@pytest.mark.parametrize(
    "limits",
    [{"ttft_ms": {"mean": 150_000}}, {"e2e_ms": {"p50": 9000}, "tpot_ms": 60}],
)
def test_no_containers_that_verification_passes_cost_less(few: Catalogs, limits: dict[str, object]) -> None:
    """Every size, precision and way to run them is held against the checks of a plan."""
    scenario = with_policy(asked(RARELY, slo=limits), hosting=["per_second"], kv_precisions=["bf16"])
    claim = Claim(scenario, few, planned(scenario, few))
    (used,) = claim.fleet.containers
    passing = []
    for row, weights, kept_up in product(few.per_second, ("bf16", "fp8"), (False, True)):
        other = stated(
            claim,
            used,
            provider=row.provider,
            name=row.name,
            gpu=row.gpu,
            idle_timeout_s=row.idle_timeout_s,
            usd_per_second=row.usd_per_second,
            price_as_of=row.as_of,
            price_source=few.sources[row.source].cited,
            precision=weights,
            kv_precision="bf16",
            schedule=[used.schedule[0].model_copy(update={"containers": 1, "kept_up": kept_up})],
        )
        if wrong(other) == []:
            passing.append(float(other.fleet.monthly_cost_usd))
    assert min(passing) == pytest.approx(float(used.monthly_cost_usd), rel=1e-9)


def test_a_start_that_fits_no_percentile_keeps_containers_up_and_one_that_does_lets_them_stop(few: Catalogs) -> None:
    promised = with_policy(asked(RARELY, slo={"ttft_ms": {"p95": 2000}}), hosting=["per_second"])
    (kept,) = planned(promised, few).containers
    assert [(entry.kept_up, entry.waiting_share) for entry in kept.schedule] == [(True, 0.0)]
    assert kept.seconds_per_month == pytest.approx(SECONDS_PER_MONTH)
    quick = with_policy(promised, per_second={"start_up_s": 1.0})
    (stopping,) = planned(quick, few).containers
    assert [entry.kept_up for entry in stopping.schedule] == [False]
    assert stopping.seconds_per_month < kept.seconds_per_month / 5


def test_idle_seconds_are_paid_and_fewer_requests_wait_the_longer_they_are(few: Catalogs) -> None:
    by_timeout = {}
    for seconds in (0, 1200):
        scenario = with_policy(asked(RARELY), hosting=["per_second"], per_second={"idle_timeout_s": seconds})
        (used,) = planned(scenario, few).containers
        by_timeout[seconds] = (used.seconds_per_month, -used.schedule[0].waiting_share)
    assert sorted(by_timeout.values()) == list(by_timeout.values())


def test_each_workload_goes_by_the_second_where_all_of_it_costs_less_so(few: Catalogs) -> None:
    """The best of all choices of workloads, each solved alone."""
    scenario = asked(0.0002, 0.5)
    bought = planned(scenario, few)
    assert [used.workload for used in bought.containers] == ["w0"]
    assert {d.workload for d in bought.deployments} == {"w1"}

    def alone(hosting: str, *names: str) -> float:
        """What some of the workloads cost where all of them are served in one way."""
        mine = tuple(each for each in scenario.workloads if each.name in names)
        if not mine:
            return 0.0
        part = with_policy(scenario.model_copy(update={"workloads": mine}), hosting=[hosting])
        cost = solved(Inquiry.of(part, few)).solution.cost_usd_per_month
        return math.inf if cost is None else cost

    ways = [((), ("w0", "w1")), (("w0",), ("w1",)), (("w1",), ("w0",)), (("w0", "w1"), ())]
    best = min(alone("per_second", *some) + alone("rented", *rest) for some, rest in ways)
    assert float(bought.monthly_cost_usd) == pytest.approx(best, rel=1e-6)


def test_classes_share_a_container_and_hours_are_planned_one_by_one(few: Catalogs) -> None:
    classes = [
        {"share": 0.7, "input_tokens": 200, "output_tokens": 50},
        {"share": 0.3, "input_tokens": 4000, "output_tokens": 600},
    ]
    demand = {"hourly": OFFICE, "peak_requests_per_second": 0.01, "weekend_factor": 0.5}
    changes = {"requests_per_second": None, "input_tokens": None, "output_tokens": None}
    scenario = asked(RARELY, **changes, request_classes=classes, demand=demand, slo={"ttft_ms": {"p50": 300_000}})
    bought = planned(with_policy(scenario, hosting=["per_second"]), few)
    (used,) = bought.containers
    assert len(used.schedule) == len({share * day for share in OFFICE for day in (1.0, 0.5)})
    assert [each.request_class for each in bought.hosted] == ["200x50", "4000x600"]
    assert sum(each.monthly_cost_usd for each in bought.hosted) == pytest.approx(used.monthly_cost_usd)


def containers(**changes: object) -> Mutation:
    """The containers told otherwise."""
    return lambda claim: decided(
        claim, containers=tuple(each.model_copy(update=changes) for each in claim.fleet.containers)
    )


def hours(**changes: object) -> Mutation:
    """Their hours told otherwise."""

    def changed(claim: Claim) -> Claim:
        (used,) = claim.fleet.containers
        entries = [each.model_copy(update=changes) for each in used.schedule]
        return decided(claim, containers=(used.model_copy(update={"schedule": entries}),))

    return changed


TAMPERED: dict[str, Mutation] = {
    "seconds": containers(seconds_per_month=1000.0),
    "price of a second": containers(usd_per_second=Decimal("0.00001")),
    "month": containers(monthly_cost_usd=Decimal("1.00")),
    "time-out": containers(idle_timeout_s=1.0),
    "start": containers(start_up_s=1.0),
    "card": containers(gpu="h100-sxm"),
    "engine": containers(engine="sglang"),
    "precision": containers(precision="int4"),
    "day of the price": containers(price_as_of=date(2026, 11, 21)),
    "time up": hours(share_up=0.01),
    "waiting": hours(waiting_share=0.0),
    "no containers": hours(containers=0),
    "some hours": hours(hours_of_week=[(0, 100)]),
    "no record": lambda claim: decided(claim, containers=()),
    "price of a request": lambda claim: hosted(claim, lambda _: {"usd_per_request": Decimal("0.0001")}),
    "paid by the request": lambda claim: hosted(claim, lambda _: {"paid_by": "request"}),
    "not admitted": policy(hosting=["rented"]),
    "seller": policy(sellers=["hyperscaler"]),
    "provider": policy(providers={"deny": ["runpod", "koyeb"]}),
    "place": policy(regions={"allow": ["us-*"]}),
    "no GPUs": policy(max_gpus=0),
    "a spare": policy(spare_replicas=1),
    "evidence of price": policy(price_confidence=["seed"]),
    "age of price": policy(max_price_age_days=30),
    "more room": policy(max_utilization=0.001),
    "limit on the wait": workload(slo={"ttft_ms": {"p95": 2000}}),
    "limit on the mean": workload(slo={"ttft_ms": {"mean": 2000}}),
    "limit on the end": workload(slo={"e2e_ms": {"p90": 9000}}),
    "one always up": workload(min_replicas=1),
    "bursts": workload(arrivals={"cv2": 4}),
    "more requests": workload(requests_per_second=2 * RARELY),
}


@pytest.fixture(scope="module")
def claim(few: Catalogs) -> Claim:
    """A plan by the second."""
    scenario = with_policy(asked(RARELY), hosting=["per_second"])
    return Claim(scenario, few, planned(scenario, few))


@pytest.mark.parametrize("what", TAMPERED)
def test_a_plan_by_the_second_that_was_tampered_with_is_rejected(claim: Claim, what: str) -> None:
    assert wrong(TAMPERED[what](claim))


def catalogs_with(**changes: object) -> Mutation:
    """What the catalogs know told otherwise."""
    return lambda claim: replace(claim, catalogs=replace(claim.catalogs, **changes))


def seller(**changes: object) -> Mutation:
    """Something else told of whoever sells the containers."""

    def changed(claim: Claim) -> Claim:
        (used,) = claim.fleet.containers
        terms = claim.catalogs.terms
        told = {
            name: each.model_copy(update=changes) if name[0] == used.provider else each
            for name, each in terms.sellers.items()
        }
        return catalogs_with(terms=replace(terms, sellers=told))(claim)

    return changed


def gaming(claim: Claim) -> Claim:
    """The container's card told to be one for games."""
    (used,) = claim.fleet.containers
    card = claim.catalogs.gpus[used.gpu].model_copy(update={"consumer": True})
    return catalogs_with(gpus={**claim.catalogs.gpus, used.gpu: card})(claim)


def short_context(claim: Claim) -> Claim:
    """A model that takes fewer tokens than the requests have."""
    (used,) = claim.fleet.containers
    model = claim.catalogs.model(used.model).model_copy(update={"max_context_tokens": 100})
    return catalogs_with(models={**claim.catalogs.models, used.model: model})(claim)


def billed_apart(claim: Claim) -> Claim:
    """A price of processors beside that of the GPU, and a scenario that does not say how many."""
    apart = {"usd_per_vcpu_second": Decimal("0.00001")}
    return catalogs_with(per_second=tuple(row.model_copy(update=apart) for row in claim.catalogs.per_second))(claim)


def crowded(claim: Claim) -> Claim:
    """A start so long that more gathers than runs at once, where a latency is promised."""
    return policy(per_second={"start_up_s": 50_000.0})(workload(slo={"ttft_ms": {"mean": 10**8}})(claim))


SAID: dict[str, Mutation] = {
    "containers of one kind serve": lambda claim: decided(claim, containers=2 * claim.fleet.containers),
    "is asked for, and": containers(model="llama-3.1-70b"),
    "KV cache on nobody": containers(engine="nobody"),
    "containers are counted": hours(containers=-1),
    "GPU ": policy(gpus={"deny": ["*"]}),
    "engine ": policy(engines=["sglang"]),
    "containers alone serve every class": lambda claim: decided(claim, hosted=()),
    "the price is of": containers(price_as_of=date(2026, 11, 21)),
    "the price of ": containers(price_as_of=date(2026, 11, 21)),
    "GPUs of a container": containers(tensor_parallel=2),
    "are asked in these hours": workload(requests_per_second=2 * RARELY),
    "by the second: its requests cost": workload(requests_per_second=2 * RARELY),
    "of at most 1 containers": lambda claim: hours(containers=9)(workload(max_replicas=1)(claim)),
    "of at least": hours(containers=0),
    "distance from users of": workload(users_in=["japan"]),
    "gaming cards": gaming,
    "on serving others": seller(serves_others="no"),
    "whole GPUs of": lambda claim: seller(whole_gpu="no")(workload(slo={"tpot_ms": 60})(claim)),
    "tokens fits": short_context,
    "somebody measured": lambda claim: containers(engine="tgi")(policy(unmeasured_performance="reject")(claim)),
    "reserves of what is billed apart": billed_apart,
    "that wait for a start run at once": crowded,
}
"""Words of a finding, and what it finds."""


@pytest.mark.parametrize("words", SAID)
def test_what_is_wrong_with_containers_is_said(claim: Claim, words: str) -> None:
    forged = SAID[words](claim)
    verification = verify(forged.scenario, forged.catalogs, forged.fleet)
    assert any(words in check.text for check in verification.checks if not check.passed)


@pytest.mark.parametrize(
    "changes",
    [{"max_gpus": 8}, {"spare_replicas": 1}, {"availability": "instance"}, {"egress": {"bytes_per_output_token": 300}}],
)
def test_what_nobody_promises_of_containers_keeps_them_out(few: Catalogs, changes: dict[str, object]) -> None:
    scenario = with_policy(asked(RARELY), hosting=["per_second"], **changes)
    assert refusals(scenario) == tuple(f"policy.{name}" for name in changes)
    assert solved(Inquiry.of(scenario, few)).solution.outcome == "infeasible"


KEPT = {
    "judged of a container as of an offer": {
        *(
            "providers",
            "gpus",
            "regions",
            "countries",
            "sellers",
            "consumer_gpus",
            "provider_kinds",
            "price_confidence",
        ),
        *("max_price_age_days", "flag_price_age_days"),
    },
    "judged of what a container runs": {
        *("engines", "precisions", "kv_precisions", "max_tensor_parallel", "max_pipeline_parallel"),
        *("unmeasured_performance", "max_utilization", "confidence", "robust"),
    },
    "of containers themselves": {"hosting", "per_second"},
    "of the whole bill, or of what is weighed in the program": {
        *("max_monthly_usd", "simplicity_percent", "simplicity_usd_per_configuration"),
    },
    "of what stands before them, where it deals in turn refused": {"router"},
    "of machines, of which containers are none": {
        *("pricing_terms", "max_spot_share", "mix_classes", "grid", "spot", "elastic"),
    },
}
"""What of a policy is kept where containers serve, by how."""


def test_every_field_of_a_policy_is_kept_by_containers_or_keeps_them_out() -> None:
    assert set(NOT_PROMISED) == set(UNPLANNED)
    assert {*NOT_PROMISED, *chain(*KEPT.values())} == set(Policy.model_fields)
    assert not set(NOT_PROMISED) & {*chain(*KEPT.values())}


def test_what_is_billed_apart_is_planned_with_where_the_scenario_says_how_much(catalogs: Catalogs) -> None:
    row = next(row for row in catalogs.per_second if row.usd_per_vcpu_second and row.usd_per_gib_second)
    own = row.usd_per_container_second(2.0, 16.0)
    assert own == row.usd_per_second + row.gpu_count * (2 * row.usd_per_vcpu_second + 16 * row.usd_per_gib_second)
    assert row.usd_per_container_second(None, 16.0) is None
    assert row.usd_per_container_second(2.0, None) is None
    whole = next(row for row in catalogs.per_second if row.usd_per_vcpu_second is None)
    assert whole.usd_per_container_second(None, None) == whole.usd_per_second
