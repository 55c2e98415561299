"""What a reader must know before signing: what nobody measured, what was not asked, and which prices to confirm."""

from collections.abc import Iterable, Iterator, Sequence

from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, quality_share, quality_spread
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import Periods
from optimizer.plan.grounds.odd_prices import odd_prices
from optimizer.plan.grounds.on_call import called_at_no_demand
from optimizer.plan.grounds.quotes import price_doubts
from optimizer.plan.grounds.second_prices import second_prices
from optimizer.plan.readback.summary import EVERYWHERE, offer_of, waiting_words
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fleet import Deployment, PlannedFleet, Purchase

NOTABLE_ROUNDING = 0.01
"""Share of a workload's requests that rounding hours up may add before it is said."""
MANY_INSTANCES = 16
"""From here on, whether the provider has that many is a question of its own."""


def warnings(
    scenario: Scenario,
    catalogs: Catalogs,
    bought: PlannedFleet,
    unproven: Periods | None,
    others: Sequence[Alternative] = (),
) -> list[str]:
    """One sentence per thing to settle, without repetition, the gravest kind first.

    Args:
        scenario: What was asked.
        catalogs: What is known of sellers and prices.
        bought: The plan.
        unproven: Its periods where another plan of the week may cost less.
        others: Plans beside it.
    """
    deployments = bought.deployments
    kinds = (not_measured(deployments), _quality(scenario, catalogs, deployments), price_doubts(deployments))
    found = [text for kind in kinds for text in kind]
    found += [*_one_box(scenario, bought), *_on_one_spot_offer(scenario, bought), *_together(scenario, deployments)]
    found += [text for _, text in odd_prices(catalogs, (purchase.offer for purchase in bought.purchases))]
    found += [*second_prices(catalogs, bought), *_terms(catalogs, bought.purchases)]
    found += [
        *_hosted(bought),
        *called_at_no_demand(scenario, catalogs, bought),
        *_by_second(bought),
        *_interrupted(scenario, deployments),
        *_availability(bought.purchases, others),
    ]
    return list(dict.fromkeys([*found, *_rounded_up(scenario, unproven)]))


def not_measured(deployments: Sequence[Deployment]) -> Iterator[str]:
    """What each speed lacks that is an estimate."""
    notes = _grouped(
        (d.provenance.performance_note, f"{d.workload} on {d.gpu}")
        for d in deployments
        if d.provenance.performance == "estimated"
    )
    for note, where in notes:
        yield f"{where}: {note}; run a benchmark before relying on it"


def _quality(scenario: Scenario, catalogs: Catalogs, deployments: Sequence[Deployment]) -> Iterator[str]:
    asked = {workload.name: workload.has_quality_floor for workload in scenario.workloads}
    yield from _unpublished(catalogs, [d for d in deployments if d.quality is None])
    assumed = {(d.workload, d.model, d.precision) for d in deployments if _assumed(catalogs, d)}
    for workload, model, precision in sorted(assumed):
        like_it = _like_it(catalogs, model, precision)
        yield f"{workload}: nobody published what {model} keeps in {precision}; accepted is that {like_it}"
    kept = _grouped(
        (d.workload, f"{_reduced(d)} keeps {d.quality:.4f}")
        for d in deployments
        if not asked[d.workload] and d.precision not in SIXTEEN_BIT and d.quality is not None and d.quality < 1
    )
    for workload, shares in kept:
        yield f"{workload}: no quality floor was asked; of the 16-bit score {shares}"


def _unpublished(catalogs: Catalogs, deployments: Sequence[Deployment]) -> Iterator[str]:
    """What has no published quality, each once, with what is known beside it, by workload where that differs."""
    # what -> known beside it -> workloads
    found: dict[str, dict[str, dict[str, None]]] = {}
    for d in deployments:
        what, known = _unknown(catalogs, d)
        found.setdefault(what, {}).setdefault(known, {})[d.workload] = None
    for what, beside in found.items():
        workloads = ", ".join(dict.fromkeys(name for names in beside.values() for name in names))
        told = [
            known if len(beside) == 1 else f"{', '.join(names)}: {known}" for known, names in beside.items() if known
        ]
        known_beside = f" ({'; '.join(told)})" if told else ""
        yield f"{workloads}: nobody published what quality is kept by {what}{known_beside}"


def _unknown(catalogs: Catalogs, d: Deployment) -> tuple[str, str]:
    """What of a deployment's precisions has no published quality, its weights or its KV cache alone; what is known."""
    weights = quality_share(catalogs, d.model, d.precision)
    if weights is None:
        return _reduced(d), _like_it(catalogs, d.model, d.precision)
    alone = f"{d.precision} weights alone keep {weights.share:.4f}" if weights.share < 1 else ""
    return f"{_article(d.kv_precision)} KV cache", alone


def _assumed(catalogs: Catalogs, d: Deployment) -> bool:
    """Whether models of its size speak for it, as the scenario accepts."""
    return d.quality is not None and quality_share(catalogs, d.model, d.precision) is None


def _like_it(catalogs: Catalogs, model: str, precision: str) -> str:
    """What models of its size keep; empty where too few were evaluated."""
    spread = quality_spread(catalogs, model, precision)
    return "" if spread is None else spread.words


def _reduced(d: Deployment) -> str:
    return f"{d.precision} with {_article(d.kv_precision)} KV cache"


def _article(precision: str) -> str:
    """As it is said: an fp8, a bf16."""
    return f"{'an' if precision.startswith(('f', 'i')) else 'a'} {precision}"


def _grouped(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What is said once of several: each first part with all its second parts."""
    found: dict[str, list[str]] = {}
    for what, of in pairs:
        found.setdefault(what, []).append(of)
    yield from ((what, ", ".join(dict.fromkeys(of))) for what, of in found.items())


def _terms(catalogs: Catalogs, purchases: Sequence[Purchase]) -> Iterator[str]:
    """What sellers' terms say of a customer's GPU, and what to ask those of whom nobody read that."""
    offers = {offer.id: offer for offer in catalogs.offers}
    # provider -> what to ask
    unread: dict[str, dict[str, None]] = {}
    for purchase in purchases:
        offer = offers[purchase.offer]
        seller = catalogs.terms.seller(offer.provider, offer.provider_kind)
        if offer.provider == OWNED:
            continue
        if seller is not None and seller.whole_gpu == "no":
            yield f"{offer.provider} shares its GPUs between customers: how much that slows them nobody knows"
        elif seller is None or seller.whole_gpu == "unknown":
            unread.setdefault(offer.provider, {})["whether a GPU is yours alone"] = None
        hyperscaler = seller is not None and seller.kind == "hyperscaler"
        if _comes_and_goes(purchase) and not hyperscaler and not (seller and seller.billing_increment):
            unread.setdefault(offer.provider, {})["whether it rents by the hour"] = None
    alike = _grouped((" and ".join(questions), provider) for provider, questions in unread.items())
    for questions, providers in alike:
        yield f"ask {providers} {questions}: nobody read that in the terms"


def _comes_and_goes(purchase: Purchase) -> bool:
    """Whether fewer of its instances run in some hours of the week than in others, and are not paid then."""
    return not purchase.always_paid and len({entry.instances for entry in purchase.schedule}) > 1


def _one_box(scenario: Scenario, bought: PlannedFleet) -> Iterator[str]:
    """Workloads of which every replica stands on the same instance, so that nothing is served when it fails."""
    by_api = {api.workload for api in bought.hosted}
    # workload -> what stands where
    found: dict[str, tuple[str, str]] = {}
    for workload in scenario.workloads:
        serving = [d for d in bought.deployments if d.workload == workload.name]
        boxes = {offer_of(d) for d in serving}
        if workload.name in by_api or len(boxes) != 1 or max(d.instances for d in serving) > 1:
            continue
        replicas = sum(d.replicas for d in serving)
        several = "both replicas stand" if replicas == 2 else f"all {replicas} replicas stand"
        which = several if replicas > 1 else "its one replica stands"
        found[workload.name] = which, f"{serving[0].instance_type} at {serving[0].provider}"
    if len(found) == 1:
        ((name, (which, where)),) = found.items()
        yield f"{name}: {which} on one {where}: nothing is served while that is down"
    elif found:
        boxes_of = ", ".join(f"{name} ({where})" for name, (_, where) in found.items())
        yield f"each stands on one instance and is not served while that is down: {boxes_of}"


def _on_one_spot_offer(scenario: Scenario, bought: PlannedFleet) -> Iterator[str]:
    """Workloads that are served by spot instances of one offer alone, which may all be taken back at once."""
    if {"spot_offer", "region", "provider"} & set(scenario.policy.losses):
        return
    by_api = {api.workload for api in bought.hosted}
    for workload in scenario.workloads:
        serving = [d for d in bought.deployments if d.workload == workload.name]
        offers = {(d.provider, d.region, d.instance_type, d.pricing_term) for d in serving}
        several = len({offer_of(d) for d in serving}) > 1 or max((d.instances for d in serving), default=0) > 1
        if several and {offer[-1] for offer in offers} == {"spot"} and len(offers) == 1 and workload.name not in by_api:
            yield (
                f"{workload.name}: all of it is {serving[0].instance_type} spot at {serving[0].provider}, which may be "
                "taken back at once: nothing is served then; survive: {loss_of: [spot_offer]} asks for more"
            )


def _together(scenario: Scenario, deployments: Sequence[Deployment]) -> Iterator[str]:
    """Two replicas on one instance are no spare for each other when it is the instance that fails."""
    policy = scenario.policy
    if policy.spare_on_other_instances or "instance" in policy.losses:
        return
    for d in deployments if policy.spare_replicas else ():
        # some instance has at least as many
        together = -(-d.replicas // d.instances)
        if together > policy.spare_replicas:
            yield (
                f"{d.workload} on {d.gpu}: {together} of its {d.replicas} replicas share one {d.instance_type}, so its "
                f"spare replicas are no help when the instance fails; spare_on_other_instances asks for others"
            )


def _availability(purchases: Sequence[Purchase], others: Sequence[Alternative]) -> Iterator[str]:
    """Whether so many instances are to be had, and what it costs where its sellers have none."""
    elsewhere = "".join(
        f"; {item.change} it is {'at most ' * (item.outcome == 'feasible')}${item.monthly_cost_usd:,.2f} a month"
        for item in others
        if item.kind == "provider" and item.monthly_cost_usd is not None
    )
    for purchase in purchases:
        if purchase.instances >= MANY_INSTANCES:
            place, instance_type, _, _ = purchase.offer.rsplit("/", 3)
            where = " ".join(place.split("/", 1)).removesuffix(f" {EVERYWHERE}")
            many = f"{purchase.instances:,}× {instance_type} at {where}"
            yield f"{many}: ask whether so many are to be had, or set a quota{elsewhere}"


def _hosted(bought: PlannedFleet) -> Iterator[str]:
    for item in bought.hosted:
        if item.paid_by == "second":
            continue
        yield (
            f"{item.workload}: {item.api} at {item.provider} is planned by its price alone; "
            "nobody promised or measured its latency here"
        )


def _by_second(bought: PlannedFleet) -> Iterator[str]:
    """What a plan of containers rests on that nobody promised."""
    for used in bought.containers:
        waiting = max(entry.waiting_share for entry in used.schedule)
        yield (
            f"{used.workload}: a container of {used.provider} is taken to start in {used.start_up_s:.0f} s, for which "
            f"{waiting_words(waiting)}; measure it and set policy.per_second.start_up_s"
        )
        if used.speculation:
            yield (
                f"{used.workload}: nobody measured drafts ({used.speculation}) but of one model on one GPU; run a "
                "benchmark before relying on it"
            )


def _interrupted(scenario: Scenario, deployments: Sequence[Deployment]) -> Iterator[str]:
    if scenario.policy.spot is None and any(d.pricing_term == "spot" for d in deployments):
        yield "spot instances count as if they were never interrupted; say how often in policy.spot"


def _rounded_up(scenario: Scenario, week: Periods | None) -> Iterator[str]:
    if week is None:
        return
    for workload, added in zip(scenario.workloads, week.added_share.tolist(), strict=True):
        if added >= NOTABLE_ROUNDING:
            yield (
                f"{workload.name}: {week.count} periods stand for the week and plan {added:.1%} more than is asked; "
                "a plan that tells more hours apart may cost less and was not found within the limits of the search"
            )
