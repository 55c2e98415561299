"""What a reader must know before signing: what nobody measured, what was not asked, and which prices to confirm."""

from collections.abc import Iterable, Iterator, Sequence

from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, quality_share, quality_spread
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.network import round_trip_ms
from optimizer.performance.candidates.periods import Periods
from optimizer.plan.grounds.odd_prices import odd_prices
from optimizer.plan.grounds.second_prices import second_prices
from optimizer.plan.readback.summary import waiting_words
from optimizer.plan.record.fleet import Deployment, PlannedFleet, Purchase

NOTABLE_ROUNDING = 0.01
"""Share of a workload's requests that rounding hours up may add before it is said."""
MANY_INSTANCES = 16
"""From here on, whether the provider has that many is a question of its own."""


def warnings(scenario: Scenario, catalogs: Catalogs, bought: PlannedFleet, unproven: Periods | None) -> list[str]:
    """One sentence per thing to settle, without repetition, the gravest kind first.

    Args:
        scenario: What was asked.
        catalogs: What is known of sellers and prices.
        bought: The plan.
        unproven: Its periods where another plan of the week may cost less.
    """
    deployments = bought.deployments
    kinds = (not_measured(deployments), _quality(scenario, catalogs, deployments), price_doubts(deployments))
    found = [text for kind in kinds for text in kind]
    found += [*_one_box(scenario, bought), *_together(scenario, deployments)]
    found += [text for _, text in odd_prices(catalogs, (purchase.offer for purchase in bought.purchases))]
    found += [*second_prices(catalogs, bought), *_shared(catalogs, bought.purchases)]
    found += [
        *_hosted(bought),
        *_by_second(bought),
        *_interrupted(scenario, deployments),
        *_availability(bought.purchases),
    ]
    found += [*_distance(scenario, catalogs)]
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
    unknown = _grouped((d.workload, _unknown(catalogs, d)) for d in deployments if d.quality is None)
    for which, workloads in _grouped((which, workload) for workload, which in unknown):
        yield f"{workloads}: nobody published what quality is kept by {which}"
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


def _unknown(catalogs: Catalogs, d: Deployment) -> str:
    """What of a deployment's precisions has no published quality: its weights, or its KV cache alone."""
    weights = quality_share(catalogs, d.model, d.precision)
    if weights is None:
        like_it = _like_it(catalogs, d.model, d.precision)
        return f"{_reduced(d)}{like_it and f' ({like_it})'}"
    alone = f" ({d.precision} weights alone keep {weights.share:.4f})" if weights.share < 1 else ""
    return f"{_article(d.kv_precision)} KV cache{alone}"


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


def price_doubts(deployments: Sequence[Deployment]) -> Iterator[str]:
    """Whose price is old or not from a list, in one sentence."""
    rented = [d for d in deployments if d.provider != OWNED]
    doubts = _grouped((_doubt(d), f"{d.gpus_per_instance}×{d.gpu} at {d.provider}") for d in rented if _doubt(d))
    doubted = ", ".join(f"{offers} ({doubt})" for doubt, offers in doubts)
    if doubted:
        yield f"ask for a quote, the price may not be today's: {doubted}"


def _doubt(d: Deployment) -> str:
    """What speaks against its price; empty where nothing does."""
    price = d.provenance
    old = f"{price.price_age_days} days old" if price.price_is_old else ""
    unlisted = f"{price.price_confidence}, not listed" if price.price_confidence != "listed" else ""
    return " and ".join(filter(None, (old, unlisted)))


def _shared(catalogs: Catalogs, purchases: Sequence[Purchase]) -> Iterator[str]:
    """Sellers of whom nobody read whether a customer has a GPU alone."""
    offers = {offer.id: offer for offer in catalogs.offers}
    unread: dict[str, None] = {}
    for offer in (offers[purchase.offer] for purchase in purchases):
        seller = catalogs.terms.seller(offer.provider, offer.provider_kind)
        if seller is not None and seller.whole_gpu == "no":
            yield f"{offer.provider} shares its GPUs between customers: how much that slows them nobody knows"
        elif offer.provider != OWNED and (seller is None or seller.whole_gpu == "unknown"):
            unread[offer.provider] = None
    if unread:
        yield f"ask {', '.join(unread)} whether a GPU is yours alone: nobody read that in the terms"


def _one_box(scenario: Scenario, bought: PlannedFleet) -> Iterator[str]:
    """Workloads of which every replica stands on the same instance, so that nothing is served when it fails."""
    by_api = {api.workload for api in bought.hosted}
    for workload in scenario.workloads:
        serving = [d for d in bought.deployments if d.workload == workload.name]
        boxes = {(d.provider, d.region, d.instance_type, d.pricing_term, d.commitment_months) for d in serving}
        if workload.name in by_api or len(boxes) != 1 or max(d.instances for d in serving) > 1:
            continue
        replicas = sum(d.replicas for d in serving)
        several = "both replicas stand" if replicas == 2 else f"all {replicas} replicas stand"
        which = several if replicas > 1 else "its one replica stands"
        where = f"one {serving[0].instance_type} at {serving[0].provider}"
        yield f"{workload.name}: {which} on {where}: nothing is served while that is down"


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


def _availability(purchases: Sequence[Purchase]) -> Iterator[str]:
    for purchase in purchases:
        if purchase.instances >= MANY_INSTANCES:
            yield f"{purchase.instances} × {purchase.offer}: ask whether so many are to be had, or set a quota"


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


def _interrupted(scenario: Scenario, deployments: Sequence[Deployment]) -> Iterator[str]:
    if scenario.policy.spot is None and any(d.pricing_term == "spot" for d in deployments):
        yield "spot instances count as if they were never interrupted; say how often in policy.spot"


def _distance(scenario: Scenario, catalogs: Catalogs) -> Iterator[str]:
    """Offers that were left out because nobody measured how far they are from where users are."""
    for workload in scenario.workloads:
        if workload.knows_where_users_are:
            places = {(offer.provider, offer.region) for offer in catalogs.offers}
            unknown = [place for place in places if round_trip_ms(workload, catalogs, *place) is None]
            users = ", ".join(workload.users_in) or "users"
            if unknown:
                yield (
                    f"{workload.name}: {len(unknown)} of {len(places)} regions are left out, since nobody measured the "
                    f"network from {users} to them; network_ms can say it"
                )


def _rounded_up(scenario: Scenario, week: Periods | None) -> Iterator[str]:
    if week is None:
        return
    for workload, added in zip(scenario.workloads, week.added_share.tolist(), strict=True):
        if added >= NOTABLE_ROUNDING:
            yield (
                f"{workload.name}: {week.count} periods stand for the week and plan {added:.1%} more than is asked; "
                "a plan that tells more hours apart may cost less and was not found within the limits of the search"
            )
