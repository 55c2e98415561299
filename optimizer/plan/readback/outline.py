"""What a solution runs, buys and costs, from whole counts in Decimal; how it performs is not asked."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import accumulate, pairwise

from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.pools import MIXED
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Use
from optimizer.plan.readback.bill import (
    egress_gb_per_month,
    egress_usd,
    hosted_shares,
    hours_of_week,
    purchase,
    replica_changes,
)
from optimizer.plan.record.fields import cents
from optimizer.plan.record.fleet import Outline, Placement, Purchase


def uses_by_offer(answer: Answer) -> list[Use]:
    """What runs, in the order of a plan's deployments."""
    offers = answer.inquiry.market.offers
    return sorted(answer.used, key=lambda use: offers[use.column.offer].id)


def outlined(answer: Answer) -> Outline:
    """As `read_back`, where only what is bought and its cost are of interest."""
    offers, running = answer.inquiry.market.offers, uses_by_offer(answer)
    counts = zip(answer.formulation.offers.tolist(), answer.solution.instances.T.tolist(), strict=True)
    bought = [(position, instances) for position, instances in counts if any(instances)]
    purchases: list[Purchase] = []
    deployments: list[Placement] = []
    for position, instances in sorted(bought, key=lambda pair: offers[pair[0]].id):
        uses = [use for use in running if use.column.offer == position]
        gpus_in_use = [sum(gpus) for gpus in zip(*(_gpus(answer, use) for use in uses), strict=True)]
        purchases.append(purchase(answer, position, instances, gpus_in_use))
        deployments += _placements(answer, purchases[-1], uses)
    hosted, migration = tuple(hosted_shares(answer)), replica_changes(answer)
    return Outline(
        deployments=tuple(deployments),
        purchases=tuple(purchases),
        hosted=hosted,
        migration=migration,
        monthly_cost_usd=sum((item.monthly_cost_usd for item in purchases), Decimal(0))
        + sum((item.egress_usd for item in deployments if item.egress_usd), Decimal(0))
        + sum((item.monthly_cost_usd for item in hosted), Decimal(0))
        + (migration.one_time_cost_usd if migration else Decimal(0)),
    )


def _gpus(answer: Answer, use: Use) -> list[int]:
    """(T,) GPUs that hold its replicas."""
    size = int(answer.inquiry.options[use.column.workload].gpus_per_replica[use.column.configuration])
    return [size * replicas for replicas in use.replicas]


def _placements(answer: Answer, bill: Purchase, uses: Sequence[Use]) -> Iterator[Placement]:
    """What runs on one offer, each with a part of the bill by the GPU hours of its replicas in a week.

    Hours in which a shared GPU idles are so paid for by all in proportion to use. Idle GPUs, which are whole, are
    counted with the last.
    """
    gpus, hours = [_gpus(answer, use) for use in uses], hours_of_week(answer)
    gpu_hours = [sum(n * h for n, h in zip(by_period, hours, strict=True)) for by_period in gpus]
    for use, by_period, part in zip(uses, gpus, _split(bill.monthly_cost_usd, gpu_hours), strict=True):
        idle = bill.idle_gpus if use is uses[-1] else 0
        yield _placement(answer, use, bill.schedule[use.busiest].instances, by_period[use.busiest] + idle, part)


def _split(cost: Decimal, shares: Sequence[int]) -> list[Decimal]:
    """A cost in proportion to whole shares, adding up exactly, each within a cent of its own.

    Each ends where the rounded sum so far ends, the last where the cost does: one that took what all others are
    rounded by could be off by more, the more of them there are.
    """
    ends = [cents(cost * so_far / sum(shares)) for so_far in accumulate(shares[:-1])]
    return [end - start for start, end in pairwise([Decimal(0), *ends, cost])]


def _placement(answer: Answer, use: Use, instances: int, gpus: int, part_usd: Decimal) -> Placement:
    """One candidate that runs.

    Args:
        answer: The solution.
        use: What runs when.
        instances: Of its offer, when it is busiest.
        gpus: Its replicas' then, and the idle ones where it is the offer's last.
        part_usd: Its part of the offer's bill.
    """
    choice, offer = answer.inquiry.options[use.column.workload], answer.inquiry.market.offers[use.column.offer]
    configuration, gb = choice.configurations[use.column.configuration], egress_gb_per_month(answer, use)
    usd = None if gb is None else egress_usd(answer, offer, gb)
    return Placement(
        workload=choice.workload.name,
        pool=_pool(choice, use),
        model=choice.workload.model,
        engine=configuration.engine,
        engine_version=answer.inquiry.catalogs.engines[configuration.engine].newest_version,
        provider=offer.provider,
        region=offer.region,
        instance_type=offer.instance_type,
        pricing_term=offer.pricing_term,
        commitment_months=offer.commitment_months,
        gpu=offer.gpu,
        gpus_per_instance=offer.gpu_count,
        gpus_per_replica=configuration.tensor_parallel * configuration.pipeline_parallel,
        tensor_parallel=configuration.tensor_parallel,
        pipeline_parallel=configuration.pipeline_parallel,
        precision=configuration.precision,
        kv_precision=configuration.kv_precision,
        speculation=configuration.speculation,
        accepted_tokens=configuration.accepted_tokens if configuration.speculation else None,
        replicas=use.replicas[use.busiest],
        instances=instances,
        total_gpus=gpus,
        price_usd_per_hour=offer.price_usd_per_hour,
        monthly_cost_usd=part_usd + (usd or 0),
        egress_gb_per_month=None if gb is None else float(gb),
        egress_usd=usd,
    )


def _pool(choice: WorkloadOptions, use: Use) -> str:
    """The pool that a deployment is all week, `mixed` where that changes or is none of a class or of all."""
    pools = zip(*use.pool_flow_per_s, strict=True)
    sent = [pool for pool, flows in zip(use.column.pools, pools, strict=True) if any(flows)] or use.column.pools[:1]
    named = len(sent) == 1 and sent[0] <= len(choice.workload.classes())
    return choice.pools[sent[0]].pool.name if named else MIXED
