"""Every promise of a finished plan recomputed from the scenario and the catalogs alone.

Shares nothing with the formulation or the bill: it reads what the plan says it buys and serves, looks the prices up
again, adds them hour by hour of the week in fractions, packs replicas onto instances one by one, takes places away
and predicts every deployment at its planned loads.
"""

import math
from collections.abc import Callable

from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import RequestClass, Scenario
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import Check, Verification
from optimizer.plan.verify.bill import cost, hosted, migration
from optimizer.plan.verify.claim import RATE_TOLERANCE, Claim, Finding, Findings, hours_of
from optimizer.plan.verify.service import demand, memory, quality, service_levels, utilization, warm
from optimizer.plan.verify.spread import losses, spread
from optimizer.plan.verify.supply import instances, offers, totals

__all__ = ["CHECKS", "Claim", "verify"]


def verify(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet) -> Verification:
    """Runs every check; a plan that fails one must not be shown as an answer.

    A plan that does not hang together is checked for nothing else.
    """
    claim = Claim(scenario, catalogs, fleet)
    whole = _check("whole", _whole, claim)
    checks = [whole, *(_check(name, check, claim) for name, check in CHECKS.items())] if whole.passed else [whole]
    return Verification(passed=all(check.passed for check in checks), checks=checks)


def _check(name: str, check: Callable[[Claim], Findings], claim: Claim) -> Check:
    passed, text = _joined(check(claim))
    return Check(name=name, passed=passed, text=text)


def _joined(findings: Findings) -> Finding:
    """One verdict for a check: all that is wrong, or the last thing that was right."""
    found = list(findings)
    wrong = dict.fromkeys(text for passed, text in found if not passed)
    if wrong:
        return False, "; ".join(wrong)
    if not found:
        return True, "the scenario sets no such limit"
    return True, found[0][1] if len(found) == 1 else f"{len(found)} of {len(found)} hold"


def _whole(claim: Claim) -> Findings:
    """The plan's parts refer to each other, the scenario and the catalogs, and cover each hour of the week once."""
    hours = sorted(hour for item in claim.fleet.periods for hour in hours_of(item))
    yield hours == list(range(HOURS_PER_WEEK)), f"{len(claim.fleet.periods)} periods cover each hour of the week once"
    numbers = list(range(len(claim.fleet.periods)))
    yield [item.period for item in claim.fleet.periods] == numbers, "periods are numbered in order"
    schedules = [[entry.period for entry in item.schedule] for item in claim.fleet.purchases]
    schedules += [[entry.period for entry in item.schedule] for item in claim.fleet.deployments]
    schedules += [[entry.period for entry in item.schedule] for item in claim.fleet.hosted]
    yield all(told == numbers for told in schedules), f"every schedule tells {len(numbers)} periods in order"
    yield len(claim.bought) == len(claim.fleet.purchases), "all that is bought is in the catalogs"
    yield len(claim.placed) == len(claim.fleet.deployments), "every deployment runs on instances that are bought"
    yield len({offer.id for _, offer in claim.bought}) == len(claim.bought), "every offer is bought once"
    for d in claim.fleet.deployments:
        classes = {(c.name, c.input_tokens, c.output_tokens) for c in _classes(claim, d.workload)}
        served = {(c.name, c.input_tokens, c.output_tokens) for c in d.classes}
        whole_mix = math.isclose(sum(c.share for c in d.classes), 1, rel_tol=RATE_TOLERANCE)
        yield whole_mix and served <= classes, f"{d.workload} on {d.gpu} serves classes of the scenario"
        running = d.replicas > 0 and any(entry.replicas > 0 for entry in d.schedule)
        yield running and d.max_requests_per_second > 0, f"{d.workload} on {d.gpu} has replicas that serve"
        yield (
            d.gpus_per_replica == d.tensor_parallel * d.pipeline_parallel,
            f"a replica spans {d.gpus_per_replica} GPUs",
        )
    for api in claim.fleet.hosted:
        names = {c.name for c in _classes(claim, api.workload)}
        yield api.request_class in names, f"{api.api} serves a class of the scenario"


def _classes(claim: Claim, workload: str) -> tuple[RequestClass, ...]:
    return claim.workloads[workload].classes() if workload in claim.workloads else ()


CHECKS: dict[str, Callable[[Claim], Findings]] = {
    "cost": cost,
    "hosted": hosted,
    "migration": migration,
    "demand": demand,
    "warm": warm,
    "instances": instances,
    "utilization": utilization,
    "memory": memory,
    "service_levels": service_levels,
    "quality": quality,
    "offers": offers,
    "totals": totals,
    "spread": spread,
    "losses": losses,
}
"""What is checked of a plan whose parts fit together, in the order shown."""
