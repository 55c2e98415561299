"""Machines and deployments of an answer as records, each with a name that draws and purchases use."""

from collections.abc import Iterable

from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.fields import usd
from optimizer.plan.record.risk import BoughtInDraws, DeploymentInDraws, MachineInDraws
from optimizer.plan.risk.judged import PlanInDraws
from optimizer.plan.risk.purchases import WaysToBuy, WayToBuy


def name_of(purchases: WaysToBuy, row: int, workloads: tuple[str, ...]) -> str:
    """What a way to buy is called: its offer, the configuration it runs, and for whom."""
    way: WayToBuy = purchases.ways[row]
    c = way.configuration
    layout = f"tp{c.tensor_parallel}" + (f"pp{c.pipeline_parallel}" if c.pipeline_parallel > 1 else "")
    formats = " ".join(filter(None, (c.precision, c.speculation)))
    return f"{way.offer.id} {c.model} {formats} {layout} {c.engine} for {workloads[way.workload]}"


def machines(purchases: WaysToBuy, rows: Iterable[int], workloads: tuple[str, ...]) -> list[MachineInDraws]:
    """The ways to buy at some rows, in their order."""
    offered, found = purchases.running.offered, list[MachineInDraws]()
    for row in rows:
        way, price = purchases.ways[row], offered.prices[row]
        offer, c = way.offer, way.configuration
        found.append(
            MachineInDraws(
                name=name_of(purchases, row, workloads),
                workload=workloads[way.workload],
                offer=offer.id,
                provider=offer.provider,
                region=offer.region,
                instance_type=offer.instance_type,
                pricing_term=offer.pricing_term,
                commitment_months=offer.commitment_months,
                gpu=offer.gpu,
                gpus_per_instance=offer.gpu_count,
                model=c.model,
                engine=c.engine,
                precision=c.precision,
                kv_precision=c.kv_precision,
                speculation=c.speculation,
                tensor_parallel=c.tensor_parallel,
                pipeline_parallel=c.pipeline_parallel,
                replicas_per_instance=way.replicas,
                usd_per_instance_hour=offer.price_usd_per_hour,
                storage_usd=usd(float(offered.storage_usd[row])),
                price_moves_with=None if price is None else price.words,
                error_moves_with=purchases.running.kinds[row].words,
                requests_per_second_by_deviation=purchases.running.rates[row].tolist(),
            )
        )
    return found


def deployments(plan: PlanInDraws, scenario: Scenario) -> list[DeploymentInDraws]:
    """What the plan runs."""
    names = [(w.name, item.name) for w in scenario.workloads for item in w.classes()]
    found = list[DeploymentInDraws]()
    for row, offer in enumerate(plan.running.offered.offers):
        sent = {names[k]: float(share) for k, share in enumerate(plan.class_share[row]) if share > 0}
        found.append(
            DeploymentInDraws(
                workload=next(iter(sent))[0],
                offer=offer.id,
                error_moves_with=plan.running.kinds[row].words,
                class_share={name: share for (_, name), share in sent.items()},
                requests_per_second_by_deviation=plan.running.rates[row].tolist(),
            )
        )
    return found


def paid(plan: PlanInDraws) -> list[BoughtInDraws]:
    """What the plan pays for."""
    pairs = zip(plan.paid.offers, plan.instances.tolist(), strict=True)
    return [BoughtInDraws(machine=None, offer=offer.id, instances=count) for offer, count in pairs]
