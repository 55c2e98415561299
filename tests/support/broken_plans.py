"""Plans of shipped scenarios broken in one place each, and what verification says of it.

By the check that must see it; the words are those of the finding that does.
"""

from decimal import Decimal
from typing import Final, NamedTuple

from optimizer.plan.record.fleet import InstanceLayout
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
    less_busy,
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
    unnamed_flows,
    unpaid_changes,
    unplaced,
    with_another_offer,
    without_single_benchmarks,
    workload,
)

CENT: Final = Decimal("0.01")


class Broken(NamedTuple):
    """A plan that must be rejected.

    Attributes:
        scenario: The shipped one whose plan is broken.
        how: What is done to it.
        words: Of the finding, which no other one says of this plan.
    """

    scenario: str
    how: Mutation
    words: str


BROKEN: Final[dict[str, dict[str, Broken]]] = {
    "whole": {
        "an offer nobody lists": Broken(
            "chat-8b",
            lambda c: purchases(c, lambda _: {"offer": "nobody/nowhere"}),
            "all that is bought is in the catalogs",
        ),
        "a deployment nobody bought": Broken(
            "chat-8b",
            lambda c: first_deployment(c, region="nowhere-1"),
            "every deployment runs on instances that are bought",
        ),
        "a workload nobody asked for": Broken(
            "chat-8b", lambda c: first_deployment(c, workload="other"), "serves classes of the scenario"
        ),
        "a class served twice": Broken(
            "chat-8b",
            lambda c: first_deployment(c, classes=2 * c.fleet.deployments[0].classes),
            "serves classes of the scenario",
        ),
        "an API for nobody": Broken(
            "api-at-night", lambda c: hosted(c, lambda _: {"request_class": "1x1"}), "serves a class of the scenario"
        ),
        "an offer bought twice": Broken(
            "chat-8b", lambda c: decided(c, purchases=2 * c.fleet.purchases), "every offer is bought once"
        ),
        "hours left out": Broken(
            "office-hours",
            lambda c: decided(c, periods=c.fleet.periods[:-1]),
            "periods cover each hour of the week once",
        ),
        "periods out of order": Broken(
            "office-hours",
            lambda c: decided(c, periods=[p.model_copy(update={"period": p.period + 1}) for p in c.fleet.periods]),
            "periods are numbered in order",
        ),
        "a workload whose demand nobody tells": Broken(
            "office-hours",
            lambda c: decided(c, periods=[p.model_copy(update={"requests_per_second": {}}) for p in c.fleet.periods]),
            "every period tells the demand of each workload",
        ),
        "nothing bought of an offer": Broken(
            "chat-8b", lambda c: purchases(c, lambda _: {"instances": 0}), "/on_demand is bought"
        ),
        "replicas that sustain nothing": Broken(
            "chat-8b", lambda c: first_deployment(c, max_requests_per_second=0.0), "has replicas that serve"
        ),
        "a replica wider than its split": Broken(
            "chat-8b", lambda c: first_deployment(c, gpus_per_replica=2), "a replica spans 2 GPUs"
        ),
        "an API of an unknown model": Broken(
            "api-at-night", lambda c: hosted(c, lambda _: {"model": "nobody/nothing"}), "serves a model of the catalogs"
        ),
        "layouts in no period": Broken(
            "chat-8b",
            lambda c: purchases(c, lambda _: {"layouts": [InstanceLayout(contents=[], schedule=[])]}),
            "every schedule tells 1 periods in order",
        ),
        "layouts out of order": Broken(
            "two-shifts",
            lambda c: standing(c, lambda e: {"period": e.period + 1}),
            "every schedule tells 2 periods in order",
        ),
        "a period not told": Broken(
            "office-hours",
            lambda c: deployments(c, lambda d: {"schedule": d.schedule[:-1]}),
            "every schedule tells 4 periods in order",
        ),
        "nothing sustained where a replica runs": Broken(
            "chat-8b",
            lambda c: deployments(
                c, lambda d: {"schedule": [e.model_copy(update={"max_requests_per_second": 0.0}) for e in d.schedule]}
            ),
            "sustains something where a replica runs",
        ),
        "a deployment on no instance": Broken("chat-8b", lambda c: first_deployment(c, instances=0), "has GPUs"),
        "an engine nobody lists": Broken(
            "chat-8b", lambda c: first_deployment(c, engine="nobody"), "KV cache on nobody is in the catalogs"
        ),
    },
    "cost": {
        "a lower total": Broken(
            "chat-8b",
            lambda c: decided(c, monthly_cost_usd=c.fleet.monthly_cost_usd - 2 * CENT),
            "all that is bought: ",
        ),
        "a cheaper instance": Broken(
            "chat-8b", lambda c: paying(c, lambda p: p.monthly_cost_usd - 2 * CENT), "at catalog prices: "
        ),
        "starts for free": Broken("office-hours", serving_hours_only, "at catalog prices: "),
        "a commitment paid by half": Broken(
            "office-hours",
            lambda c: paying(c, lambda p: p.monthly_cost_usd / (2 if p.always_paid else 1)),
            "at catalog prices: ",
        ),
        "disks for free": Broken(
            "eu-residency",
            lambda c: paying(c, lambda p: p.price_usd_per_hour * Decimal(p.instance_hours_per_month)),
            "at catalog prices: ",
        ),
        "owned hardware for free": Broken(
            "own-rack",
            lambda c: paying(c, lambda p: p.monthly_cost_usd * (not p.offer.startswith("owned/"))),
            "at catalog prices: ",
        ),
        "shares that do not add up": Broken(
            "chat-8b",
            lambda c: first_deployment(c, monthly_cost_usd=Decimal(1)),
            "deployments, hosted APIs and changes: ",
        ),
        "fewer hosted requests billed": Broken(
            "api-at-night",
            lambda c: hosted(c, lambda h: {"monthly_cost_usd": h.monthly_cost_usd / 2}),
            "by the request: ",
        ),
        "hours not told": Broken(
            "office-hours",
            lambda c: purchases(c, lambda _: {"instance_hours_per_month": 1.0}),
            "is paid for 730 hours a month",
        ),
        "a cheaper request shown": Broken(
            "chat-8b", lambda c: first_deployment(c, cost_per_request_usd=Decimal("0.00000001")), "USD a request"
        ),
        "days that are cut in half": Broken("billed-by-the-day", half_runs, "is paid for at least 24 hours a start"),
        "a run that is not paid for": Broken(
            "billed-by-the-day", one_run_less, "is paid for in every hour that it runs"
        ),
        "billed for longer": Broken(
            "billed-by-the-day",
            policy(elastic={"max_periods": 6, "minimum_billing_hours": 100}),
            "is paid for at least 100 hours a start",
        ),
        "runs where hours are billed": Broken(
            "billed-by-the-day",
            policy(elastic={"max_periods": 6, "minimum_billing_hours": 1}),
            "is paid for the hours that it runs",
        ),
        "answers sent for free": Broken("token-scores", lambda c: egress_price(c, "0.05"), "to the internet: "),
        "answers nobody pays to send": Broken(
            "token-scores", policy(egress=None), "egress is paid where it is asked for"
        ),
        "egress that is not asked for": Broken("chat-8b", policy(egress={"bytes_per_output_token": 1}), "GB a month"),
        "fewer hosted requests shown": Broken(
            "api-at-night", lambda c: hosted(c, lambda _: {"requests_per_month": 1.0}), "requests a month"
        ),
    },
    "hosted": {
        "a cheaper API": Broken("api-at-night", lambda c: api_price(c, Decimal("0.5")), "USD a request of 1200x300"),
        "an API nobody lists": Broken(
            "api-at-night", lambda c: hosted(c, lambda _: {"api": "nobody/nothing"}), "nobody/nothing costs "
        ),
        "an API for another model": Broken(
            "api-at-night", lambda c: hosted(c, lambda _: {"model": "llama-3.1-8b"}), "may serve it"
        ),
        "an API for a fine-tune that it does not serve": Broken("api-at-night", tuned, "serves the weights that "),
        "an API without the adapter": Broken(
            "api-at-night", workload(lora_adapters={"count": 1, "rank": 16}), "without the adapter"
        ),
        "an API paid as containers are": Broken(
            "api-at-night", lambda c: hosted(c, lambda _: {"paid_by": "second"}), "is paid by the request"
        ),
        "an API where none is admitted": Broken("api-at-night", policy(hosting=["rented"]), "are among rented"),
        "an API's provider that the policy denies": Broken(
            "api-at-night", policy(providers={"deny": ["*"]}), "the policy admits "
        ),
        "an API's provider that the workload denies": Broken(
            "api-at-night", workload(providers={"deny": ["*"]}), "the workload admits "
        ),
        "an API where places are asked for": Broken(
            "api-at-night",
            policy(regions={"allow": ["us-*"]}),
            "does not say where it serves, and the policy asks for places",
        ),
        "an API where speeds are to be measured": Broken(
            "api-at-night", policy(unmeasured_performance="reject"), "nobody measured the latency of "
        ),
        "an API where precisions are asked for": Broken(
            "api-at-night", policy(precisions=["fp8", "fp4"]), "nobody knows what precision "
        ),
        "an API where quality is asked for": Broken("api-at-night", workload(min_quality=0.9), "and so its quality"),
    },
    "migration": {
        "fewer changes shown": Broken(
            "moving-day", lambda c: changes(c, started=0), "replicas started or stopped, the plan says 0"
        ),
        "more changes shown": Broken("moving-day", more_changes, "replicas started or stopped, the plan says "),
        "starts shown as stops": Broken(
            "moving-day", lambda c: changes(c, started=0, stopped=2), "replicas started or stopped, the plan says 2"
        ),
        "changes not paid": Broken("moving-day", unpaid_changes, "the plan says 0.00"),
        "changes not counted": Broken(
            "moving-day", lambda c: decided(c, migration=None), "changes are counted where a plan is in force"
        ),
        "another plan in force": Broken(
            "moving-day",
            lambda c: deployments(c, lambda d: {"precision": "bf16"} if d.gpu == "l40s" else {}),
            "replicas started or stopped, the plan says ",
        ),
        "more changes than allowed": Broken(
            "moving-day",
            lambda c: policy(migration=c.scenario.policy.migration.model_dump() | {"max_changes": 0})(c),
            "of at most 0 changes",
        ),
    },
    "demand": {
        "less served": Broken("chat-8b", lambda c: flows(c, 0.9), "requests/s served in hour "),
        "less served in one period": Broken("office-hours", lambda c: flows(c, 0.9, 2), "requests/s served in hour "),
        "fewer requests sent to an API": Broken("api-at-night", lambda c: sent(c, 0.9), "requests/s served in hour "),
        "a lower peak planned for": Broken(
            "three-clouds", lambda c: planned_for(c, 0.5), "period 0 is planned for 3.95 of 7.9 requests/s"
        ),
        "a higher peak planned for": Broken(
            "three-clouds", lambda c: planned_for(c, 2.0), "period 0 is planned for 15.8 of 7.9 requests/s"
        ),
        "other classes sent": Broken("shared-replicas", longest_class_only, "requests/s served in hour "),
    },
    "batches": {
        "a batch that is not done": Broken(
            "night-batch", lambda c: flows(c, 0.9), "requests by 06:00, batch 1 of the week"
        ),
    },
    "warm": {
        "no replica at night": Broken("office-hours", asleep, "0 of at least 1 replicas in hour "),
        "more replicas than allowed": Broken(
            "office-hours", workload(max_replicas=1, min_replicas=0), "of at most 1 replicas"
        ),
    },
    "instances": {
        "no instances in a period": Broken(
            "office-hours", lambda c: instances(c, lambda t, n: 0 if t == 2 else n), "replicas fit on 0 × "
        ),
        "fewer instances in a period": Broken(
            "office-hours", lambda c: instances(c, lambda t, n: max(0, n - 1) if t == 2 else n), " replicas fit on "
        ),
        "more replicas than fit": Broken(
            "chat-8b", lambda c: replicas(c, lambda _, n: n + 100), "1 of 101 replicas fit on 1 × "
        ),
        "instances miscounted": Broken(
            "chat-8b", lambda c: purchases(c, lambda _: {"instances": 7}), "is counted as scheduled"
        ),
        "a commitment that is none": Broken(
            "office-hours", lambda c: purchases(c, lambda _: {"always_paid": False}), "is counted as scheduled"
        ),
        "more than there are": Broken(
            "own-rack", lambda c: stocked(c, 1), "of 1 × owned/basement/rack-l40s/4xl40s/owned that there are"
        ),
    },
    "layouts": {
        "a machine loaded anew in no time": Broken(
            "two-shifts",
            lambda c: policy(elastic={"max_periods": 6, "repartition_minutes": 10})(loaded_anew(c, period=0)),
            "serves nobody for a period before it holds something else",
        ),
        "a machine loaded anew": Broken("two-shifts", loaded_anew, "holds the same all week"),
        "a replica that nobody loaded": Broken(
            "two-shifts",
            lambda c: purchases(c, lambda p: {"layouts": p.layouts[1:]}),
            "that serve in period 1 are not loaded",
        ),
        "more loaded than fits": Broken("two-shifts", lambda c: loading(c, 2), "2 of 1 GPUs of "),
        "machines that are not there": Broken("two-shifts", more_standing, "hold something"),
        "layouts where none are needed": Broken(
            "chat-8b",
            lambda c: purchases(c, lambda p: {"layouts": [InstanceLayout(contents=[], schedule=p.schedule)]}),
            "need not tell what it holds",
        ),
        "fewer than no machines loaded": Broken(
            "two-shifts",
            lambda c: purchases(c, lambda p: {"layouts": [*p.layouts, holding_less_than_none(p.layouts[0])]}),
            "holds something",
        ),
    },
    "utilization": {
        "too high a load": Broken("chat-8b", lambda c: flows(c, 1.6), "of 0.85"),
        "too high a load in a period": Broken("office-hours", lambda c: flows(c, 1.2, 2), "of 0.85"),
        "no replicas in a period": Broken(
            "office-hours", lambda c: replicas(c, lambda t, n: 0 if t == 3 else n), "runs at inf of 0.85"
        ),
        "fewer replicas in a period": Broken(
            "office-hours", lambda c: replicas(c, lambda t, n: max(0, n - 1) if t == 3 else n), " of 0.85"
        ),
        "utilization shown lower": Broken(
            "chat-8b", lambda c: first_deployment(c, utilization=0.1), "is shown at its busiest"
        ),
        "replicas shown higher": Broken(
            "office-hours", lambda c: first_deployment(c, replicas=9), "is shown at its busiest"
        ),
        "classes that do not add up": Broken(
            "shared-replicas", unnamed_flows, "is sent 0 requests/s of classes it is shown with"
        ),
        "classes that may not meet": Broken("shared-replicas", policy(mix_classes=False), "is sent a mix of "),
        "a lower load shown": Broken("chat-8b", less_busy, "chat: 0."),
    },
    "memory": {
        "lighter weights shown": Broken(
            "chat-8b",
            lambda c: deployments(c, lambda d: {"vram": d.vram.model_copy(update={"weights_gib": 1.0})}),
            "shown 1.00",
        ),
        "a model that does not fit": Broken(
            "chat-8b", lambda c: first_deployment(c, precision="bf16", model="llama-3.1-70b"), "leaves -"
        ),
        "a longer prompt than the model holds": Broken("chat-8b", longer_prompts, "holds 1000256 of "),
    },
    "service_levels": {
        "a higher latency shown": Broken(
            "chat-8b",
            lambda c: deployments(c, lambda d: {"e2e_ms": {name: 1.1 * ms for name, ms in d.e2e_ms.items()}}),
            "end to end mean is ",
        ),
        "fewer requests in flight shown": Broken(
            "chat-8b",
            lambda c: deployments(c, lambda d: {"concurrency": 0.9 * d.concurrency}),
            "requests in flight fill ",
        ),
        "other classes than can be borne": Broken("shared-replicas", longest_class_only, "TTFT p95 "),
        "a higher rate claimed": Broken("chat-8b", lambda c: faster_replicas(c, 2.0), "keeps up with "),
        "a lower TTFT shown": Broken(
            "chat-8b", lambda c: deployments(c, lambda d: faster(d, "ttft_ms")), "TTFT mean is "
        ),
        "a lower bound shown": Broken(
            "chat-8b", lambda c: deployments(c, lambda d: faster(d, "ttft_bound_ms")), "bound of TTFT mean is "
        ),
        "a lower TPOT shown": Broken(
            "chat-8b", lambda c: deployments(c, lambda d: faster(d, "tpot_bound_ms")), "bound of TPOT mean is "
        ),
        "a later first token than promised": Broken("chat-8b", workload(slo={"ttft_ms": {"p95": 1.0}}), "of 1 ms"),
        "a replica faster than predicted": Broken(
            "chat-8b", lambda c: first_deployment(c, predicted_max_requests_per_second=99.0), " as predicted"
        ),
    },
    "quality": {
        "a worst benchmark that nobody published": Broken(
            "chat-8b", without_single_benchmarks, "its worst benchmark is unknown"
        ),
        "a model nobody listed": Broken("model-choice", workload(alternatives=[]), "is served by "),
        "a quality that is unknown": Broken("eu-residency", workload(unknown_quality="reject"), "KV cache is unknown"),
        "less of the score than asked": Broken("chat-8b", workload(min_quality=1.0), ", floor 1"),
        "less of the worst benchmark than asked": Broken(
            "chat-8b", workload(min_quality_worst=0.99), "of its worst benchmark, floor 0.99"
        ),
    },
    "offers": {
        "a country not allowed": Broken("own-rack", policy(countries={"allow": ["de"]}), "country us of "),
        "a place nobody knows": Broken("eu-residency", unplaced, "country unknown of "),
        "rented hardware not admitted": Broken("own-rack", policy(hosting=["owned"]), "hosting rented of "),
        "egress nobody prices": Broken(
            "deepseek-v3", policy(egress={"bytes_per_output_token": 1}), "price of egress of "
        ),
        "storage nobody prices": Broken("chat-8b", policy(storage_gb_per_instance=100), "price of storage of "),
        "a split that heads do not allow": Broken(
            "chat-70b",
            lambda c: first_deployment(c, tensor_parallel=3, gpus_per_replica=3),
            "tensor parallel 3 divides 64 attention heads",
        ),
        "a precision of the cache not admitted": Broken("chat-8b", policy(kv_precisions=["fp4"]), "KV precision "),
        "more GPUs to a replica than allowed": Broken("deepseek-v3", policy(max_tensor_parallel=1), "tensor parallel "),
        "a speed nobody measured": Broken(
            "account-limits", policy(unmeasured_performance="reject"), "somebody measured "
        ),
    },
    "totals": {
        "a second engine": Broken(
            "one-engine", lambda c: first_deployment(c, engine="sglang"), "2 of at most 1 engines: "
        ),
        "more than the budget": Broken("chat-8b", policy(max_monthly_usd=1.0), "of 1.00 USD a month"),
        "too many configurations": Broken(
            "account-limits", policy(max_distinct_configurations=1), "of at most 1 distinct configurations"
        ),
        "too much carbon": Broken("eu-residency", policy(max_carbon_kg_per_month=10.0), "of 10 kg CO₂ a month"),
        "too many GPUs": Broken("chat-8b", policy(max_gpus=0), "of at most 0 GPUs"),
        "more than a quota": Broken("chat-8b", policy(quotas=[{"max_gpus": 0}]), "quota "),
        "too much power": Broken("chat-8b", policy(max_power_kw=0.01), "of 0.01 kW"),
    },
    "spread": {
        "too much at an API's provider": Broken("api-at-night", policy(max_provider_share=0.9), "at most 0.9 of them"),
        "too few providers": Broken("three-clouds", policy(min_providers=4), "providers, at least 4"),
        "too few regions": Broken("three-clouds", policy(min_regions=4), "regions, at least 4"),
    },
    "figures": {
        "a cheaper price shown": Broken(
            "chat-8b", lambda c: deployments(c, lambda _: {"price_usd_per_hour": CENT}), "chat on rtx6000ada costs "
        ),
        "a cheaper offer shown": Broken(
            "chat-8b", lambda c: purchases(c, lambda _: {"price_usd_per_hour": CENT}), "/on_demand costs "
        ),
        "more GPUs shown": Broken(
            "chat-8b",
            lambda c: deployments(c, lambda d: {"total_gpus": d.total_gpus + 1}),
            "GPUs by deployment [1], shown [2]",
        ),
        "another release": Broken(
            "chat-8b", lambda c: first_deployment(c, engine_version="0.1.0"), "chat on rtx6000ada assumes tensorrt-llm "
        ),
        "a worst benchmark said to be unknown": Broken(
            "chat-8b", lambda c: first_deployment(c, quality_worst=None), "of the score: "
        ),
        "more sequences than the release starts with": Broken(
            "chat-8b",
            lambda c: first_deployment(c, engine_starts_with=starting_with(c, max_num_seqs=4096)),
            "2048 sequences, ",
        ),
        "another kind of seller shown": Broken(
            "chat-8b", lambda c: priced_by(c, seller="owned"), "is a seller of the kind "
        ),
        "an old price shown as recent": Broken(
            "chat-8b",
            lambda c: priced_by(c, price_is_old=not c.fleet.deployments[0].provenance.price_is_old),
            "days is ",
        ),
        "a listed price shown as derived": Broken(
            "chat-8b", lambda c: priced_by(c, price_confidence="derived"), "the price is listed"
        ),
        "hours of a period miscounted": Broken(
            "chat-8b",
            lambda c: decided(c, periods=[p.model_copy(update={"hours_per_month": 1.0}) for p in c.fleet.periods]),
            "period 0 has 730 hours a month",
        ),
        "storage shown that nobody asked for": Broken(
            "chat-8b",
            lambda c: purchases(c, lambda _: {"storage_usd_per_hour": CENT}),
            "pays 0 USD an hour for storage",
        ),
        "an offer that holds nothing": Broken("chat-8b", with_another_offer, "holds a replica"),
        "instances of a deployment miscounted": Broken(
            "chat-8b", lambda c: first_deployment(c, instances=9), "is held by [1] instances, shown 9"
        ),
        "a power that is known left out": Broken(
            "chat-8b", lambda c: first_deployment(c, power_kw=None), "nobody knows its power"
        ),
        "fewer requests of a class shown": Broken(
            "chat-8b",
            lambda c: deployments(
                c, lambda d: {"classes": [k.model_copy(update={"requests_per_second": 0.1}) for k in d.classes]}
            ),
            "is sent 4.5 requests/s of 1024x256",
        ),
        "a mix of one class": Broken("chat-8b", lambda c: first_deployment(c, pool="mixed"), "serves a mix of classes"),
        "a price of another day": Broken(
            "chat-8b", lambda c: priced_by(c, price_as_of=c.catalogs.as_of), "the price is of 20"
        ),
        "a younger price": Broken("chat-8b", lambda c: priced_by(c, price_age_days=1), " days old"),
        "a price from somebody else": Broken(
            "chat-8b", lambda c: priced_by(c, price_source="nobody"), "the price is from "
        ),
        "a quality that is known left out": Broken(
            "chat-8b", lambda c: first_deployment(c, quality=None), "the quality of fp8 is known"
        ),
        "GPUs that idle unseen": Broken(
            "chat-8b", lambda c: purchases(c, lambda _: {"idle_gpus": 5}), "has 0 GPUs without a replica"
        ),
        "a share of somebody else": Broken(
            "own-rack",
            lambda c: paying(c, lambda p: p.monthly_cost_usd * (not p.offer.startswith("owned/"))),
            " bears ",
        ),
        "less power shown": Broken("chat-8b", lambda c: first_deployment(c, power_kw=0.001), " draws "),
        "other shares of classes shown": Broken(
            "shared-replicas", longest_class_only, "shares of classes are those of its busiest hours"
        ),
        "a class served by others alone": Broken("shared-replicas", unnamed_flows, " alone"),
        "classes not in their shares": Broken("chat-8b", longer_prompts, "serves every class in its share"),
        "no price of tokens": Broken(
            "chat-8b",
            lambda c: first_deployment(c, cost_per_million_tokens_usd=None),
            "has a price of tokens where it serves any",
        ),
        "a cheaper token": Broken(
            "chat-8b",
            lambda c: first_deployment(c, cost_per_million_tokens_usd=CENT),
            "USD a million prompt and output tokens",
        ),
        "a speed said to be measured": Broken(
            "chat-8b", lambda c: priced_by(c, performance="measured"), "the speed is "
        ),
        "a better worst benchmark shown": Broken(
            "chat-8b", lambda c: first_deployment(c, quality_worst=1.0), "of the score: "
        ),
    },
    "placement": {
        "spare replicas on one instance": Broken(
            "own-rack",
            policy(survive={}, spare_replicas=1, spare_on_other_instances=True),
            "without the fullest instance",
        ),
        "an instance lost": Broken("office-hours", policy(survive={"loss_of": ["instance"]}), "stand on an instance"),
        "no word of what stands where": Broken("own-rack", lambda c: decided(c, placement=()), "stand on an instance"),
        "a placement without need": Broken(
            "own-rack", policy(survive={}), "a placement is shown where no instance need be lost"
        ),
        "all on one instance": Broken("own-rack", all_on_one_instance, "after losing an instance of "),
        "a replica that stands nowhere": Broken("own-rack", lambda c: placed(c, replicas=0), "is part of the plan"),
        "a replica that stands twice": Broken("own-rack", lambda c: placed(c, replicas=2), "stand on an instance"),
        "an instance of nobody": Broken(
            "own-rack", lambda c: decided(c, placement=nobodys(c)), "what stands on nobody/nowhere"
        ),
        "a deployment that is none": Broken("own-rack", lambda c: placed(c, deployment=99), "is part of the plan"),
        "more on machines than are there": Broken(
            "own-rack", lambda c: decided(c, placement=alone(c.fleet.placement)), "hold something"
        ),
        "more on one instance than it holds": Broken("own-rack", all_on_one_instance, " GPUs of an instance of "),
    },
    "losses": {
        "a provider lost": Broken(
            "office-hours", policy(survive={"loss_of": ["provider"]}), "after losing provider aws: "
        ),
        "an API's provider lost": Broken(
            "api-at-night", policy(survive={"loss_of": ["provider"]}), "after losing provider "
        ),
        "a spot offer lost": Broken(
            "spot-summaries", lambda c: replicas(c, lambda _, n: max(1, n - 1)), "after losing spot_offer "
        ),
        "spare replicas that are not there": Broken(
            "chat-8b", policy(spare_replicas=50), "replicas left after losing 50"
        ),
    },
}
"""By check, and by what is wrong."""
