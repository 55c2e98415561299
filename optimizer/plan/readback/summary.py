"""A plan in a phrase: how many of which instances run what precision, where; every instance counted once."""

from collections import defaultdict
from typing import Final

from optimizer.base.figures import exactly, figure
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fleet import Outline, Placement

WORTH_TELLING: Final = 0.0005
"""Share of requests below which a percentage reads as none."""
UNSAID_TERMS: Final = frozenset({"on_demand", OWNED})
"""Of these a place says enough: what is one's own is at *owned*."""
EVERYWHERE: Final = "global"
"""The region of offers whose place is not told apart, which says nothing in a phrase."""


def summarized(plan: Outline) -> str:
    """Instances of one kind at one place are added up, and what shares them is named together.

    Over a week an offer counts with the most that run at once.
    """
    bought = {purchase.offer: purchase.instances for purchase in plan.purchases}
    # what is printed -> instances; an offer is printed once, whatever runs on it
    counts = defaultdict[tuple[str, str, str], int](int)
    by_offer = defaultdict[str, list[Placement]](list)
    for d in plan.deployments:
        by_offer[offer_of(d)].append(d)
    for offer, placed in by_offer.items():
        precisions = "/".join(dict.fromkeys(" ".join(filter(None, (d.precision, d.speculation))) for d in placed))
        counts[_instance(placed[0]), precisions, _place(placed[0])] += bought[offer]
    parts = [f"{count:,}× {instance} {precisions} ({place})" for (instance, precisions, place), count in counts.items()]
    parts += [f"{item.model} by the {item.paid_by} ({item.provider})" for item in plan.hosted]
    return ", ".join(dict.fromkeys(parts))


def waiting_words(share: float) -> str:
    """How many requests wait for containers to start, at most."""
    return f"up to {share:.1%} of requests wait" if share >= WORTH_TELLING else "hardly any request waits"


def by_second_words(used: Containers) -> str:
    """What is paid by the second, in a sentence; over the week the most of each figure."""
    up, waiting = (max(getattr(entry, name) for entry in used.schedule) for name in ("share_up", "waiting_share"))
    most = max(entry.containers for entry in used.schedule)
    formats = " ".join(filter(None, (used.precision, used.speculation)))
    price = f"${exactly(used.usd_per_second)} a second"
    start = f"{figure(used.start_up_s)} s"
    if all(entry.kept_up for entry in used.schedule):
        paid = f"never stopped, as a start takes {start}, at {price}"
    else:
        kept = "; kept up in some hours" if any(entry.kept_up for entry in used.schedule) else ""
        paid = (
            f"up to {up:.1%} of the time at {price}{kept}; stops after {figure(used.idle_timeout_s)} s without a "
            f"request, starts in {start}, for which {waiting_words(waiting)}"
        )
    return (
        f"{used.workload}: {used.model} {formats} on at most {most:,} × {used.name} ({used.gpus_per_replica}×"
        f"{used.gpu}, {used.engine}) at {used.provider}, {paid}"
    )


def offer_of(d: Placement) -> str:
    """The id of the offer that it runs on."""
    term = f"{d.pricing_term}-{d.commitment_months}m" if d.commitment_months else d.pricing_term
    return f"{d.provider}/{d.region}/{d.instance_type}/{d.gpus_per_instance}x{d.gpu}/{term}"


def _instance(d: Placement) -> str:
    return f"{d.gpus_per_instance}×{d.gpu}" if d.gpus_per_instance > 1 else d.gpu


def _place(d: Placement) -> str:
    region = "" if d.region == EVERYWHERE else f" {d.region}"
    term = "" if d.pricing_term in UNSAID_TERMS else f" {d.pricing_term.replace('_', ' ')}"
    return f"{d.provider}{region}{term}"
