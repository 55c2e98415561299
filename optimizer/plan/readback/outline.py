"""What a solution runs, buys and costs, from whole counts in Decimal; how it performs is not asked."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from optimizer.inputs.catalog.records import Offer
from optimizer.performance.candidates.periods import Periods
from optimizer.performance.physics.setup import Configuration
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Use
from optimizer.plan.readback.bill import SentOut, hosted_shares, migration, purchase, sent_out
from optimizer.plan.record.fields import cents
from optimizer.plan.record.fleet import Hosted, Migration, Purchase
from optimizer.program.problem.columns import Column


@dataclass(frozen=True)
class Placed:
    """A candidate that runs and what was bought for it.

    Attributes:
        instances: Of its offer, when it is busiest.
        gpus: Its replicas' then, and the idle ones where it is the offer's last.
        monthly_cost_usd: Its part of the offer's bill.
        egress: What its answers send out beside that; None where the policy does not ask for it.
    """

    use: Use
    offer: Offer
    configuration: Configuration
    instances: int
    gpus: int
    monthly_cost_usd: Decimal
    egress: SentOut | None


@dataclass(frozen=True)
class Outline:
    """What a plan runs, buys and costs, without a prediction of how it performs.

    Attributes:
        placed: What runs, by offer.
    """

    placed: tuple[Placed, ...]
    purchases: tuple[Purchase, ...]
    hosted: tuple[Hosted, ...]
    migration: Migration | None
    monthly_cost_usd: Decimal

    @property
    def columns(self) -> tuple[Column, ...]:
        """What each of `placed` stands for in the inquiry's options."""
        return tuple(item.use.column for item in self.placed)


def outlined(answer: Answer) -> Outline:
    """As `read_back`, where only what is bought and its cost are of interest."""
    market = answer.inquiry.market
    counts = {
        int(offer): tuple(column.tolist())
        for offer, column in zip(answer.formulation.offers, answer.solution.instances.T, strict=True)
        if column.any()
    }
    running: dict[int, list[Use]] = defaultdict(list)
    for use in answer.used:
        running[use.column.offer].append(use)
    purchases: list[Purchase] = []
    placed: list[Placed] = []
    for position in sorted(counts, key=lambda at: market.offers[at].id):
        bill, uses = _on_offer(answer, position, counts[position], running[position])
        purchases.append(bill)
        placed += uses
    hosted = tuple(hosted_shares(answer))
    moved = migration(answer)
    total = sum((item.monthly_cost_usd for item in purchases), Decimal(0))
    total += sum((item.egress.usd_per_month for item in placed if item.egress), Decimal(0))
    total += sum((item.monthly_cost_usd for item in hosted), Decimal(0))
    total += moved.one_time_cost_usd if moved else Decimal(0)
    return Outline(tuple(placed), tuple(purchases), hosted, moved, total)


def _on_offer(
    answer: Answer, position: int, instances: tuple[int, ...], uses: Sequence[Use]
) -> tuple[Purchase, list[Placed]]:
    """The bill for one offer, and what runs on it; idle GPUs are put to the last."""
    options, offer = answer.inquiry.options, answer.inquiry.market.offers[position]
    sizes = [_size(answer, use.column) for use in uses]
    bill = purchase(answer, position, instances, sizes, uses)
    parts = _split(bill.monthly_cost_usd, _gpu_hours(answer.formulation.periods, bill, sizes, uses))
    placed = [
        Placed(
            use=use,
            offer=offer,
            configuration=options[use.column.workload].configurations[use.column.configuration],
            instances=instances[use.busiest],
            gpus=size * use.replicas[use.busiest] + (bill.idle_gpus if use is uses[-1] else 0),
            monthly_cost_usd=part,
            egress=sent_out(answer, use),
        )
        for use, size, part in zip(uses, sizes, parts, strict=True)
    ]
    return bill, placed


def _size(answer: Answer, column: Column) -> int:
    return int(answer.inquiry.options[column.workload].gpus_per_replica[column.configuration])


def _gpu_hours(week: Periods, bill: Purchase, sizes: Sequence[int], uses: Sequence[Use]) -> list[int]:
    """GPU hours of a week paid for each deployment on one offer: its own, and the idle ones for the last."""
    hours = np.bincount(week.hour_to_period, minlength=week.count).tolist()
    replica_hours = [sum(n * h for n, h in zip(use.replicas, hours, strict=True)) for use in uses]
    own = [size * count for size, count in zip(sizes, replica_hours, strict=True)]
    per_instance = bill.gpus // bill.instances
    paid = per_instance * sum(item.instances * hours[item.period] for item in bill.schedule)
    own[-1] += paid - sum(own)
    return own


def _split(cost: Decimal, shares: Sequence[int]) -> list[Decimal]:
    """A cost in proportion to whole shares, to the cent, adding up exactly."""
    parts = [cents(cost * share / sum(shares)) for share in shares[:-1]]
    return [*parts, cost - sum(parts, Decimal(0))]
