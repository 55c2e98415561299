"""The purchase problem in the fields of a certificate: what the checker is told, in plain numbers."""

from typing import Any

import numpy as np

from optimizer.inputs.requirements.declaration import Requirement
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import labels, workload_of_candidate

AS_THEY_ARE = (
    *("max_gpus", "max_monthly_usd", "max_power_kw", "max_carbon_kg_per_month", "max_spot_share"),
    *("max_provider_share", "spare_replicas", "min_providers", "min_regions", "max_distinct_configurations"),
    *("max_engines", "max_changes", "usd_per_change"),
)
"""Limits that a certificate states as the problem does."""

STATED = frozenset((*AS_THEY_ARE, "max_utilization", "survive", "quotas", "max_replicas"))
"""Limits that a certificate states at all; one that it leaves out can only lower what is proven."""


def statement(problem: Problem) -> dict[str, Any]:
    """The `problem` of a certificate; indices are those of the problem at hand, which has one period."""
    traffic = problem.traffic
    classes = zip(traffic.classes, traffic.workload, traffic.demand_per_s[0].tolist(), strict=True)
    return {
        "classes": [{"name": name, "workload": w, "demand_per_s": demand} for name, w, demand in classes],
        "mixes": [{traffic.classes[k]: float(mix[k]) for k in np.flatnonzero(mix).tolist()} for mix in traffic.mixes],
        "offers": _offers(problem),
        "candidates": _candidates(problem),
        "apis": [
            {"id": name, "mix": mix, "usd_per_request": usd, "provider": provider}
            for name, mix, usd, provider in zip(
                problem.apis.ids,
                problem.apis.mix.tolist(),
                problem.apis.usd_per_request.tolist(),
                problem.apis.provider,
                strict=True,
            )
        ],
        "limits": _limits(problem),
    }


def left_out(problem: Problem) -> tuple[Requirement, ...]:
    """The requirements in force that no certificate states."""
    return tuple(item for item in problem.limits.in_force if item.name not in STATED)


def _offers(problem: Problem) -> list[dict[str, Any]]:
    offers, stated = problem.offers, []
    gb_per_request = problem.traffic.mixes @ problem.egress.gb_per_request if problem.egress.charged else None
    for o, name in enumerate(offers.ids):
        offer: dict[str, Any] = {
            "id": name,
            "usd_per_hour": float(offers.price_usd_per_hour[o]),
            "gpus": int(offers.gpus_per_instance[o]),
            "provider": offers.provider[o],
            "region": offers.region[o],
            "spot": bool(offers.spot[o]),
        }
        if problem.limits.max_power_kw is not None:
            offer["power_kw"] = float(offers.power_kw[o])
        if problem.limits.max_carbon_kg_per_month is not None:
            offer["carbon_kg_per_hour"] = float(offers.carbon_kg_per_hour[o])
        if np.isfinite(offers.available[o]):
            offer["available"] = int(offers.available[o])
        if gb_per_request is not None:
            usd = (gb_per_request * problem.egress.usd_per_gb[o]).tolist()
            offer["egress_usd_per_request"] = {str(m): each for m, each in enumerate(usd)}
        stated.append(offer)
    return stated


def _candidates(problem: Problem) -> list[dict[str, Any]]:
    candidates, names = problem.candidates, labels(problem.traffic.workload)
    workload = workload_of_candidate(problem).tolist() if len(candidates) else []
    return [
        {
            "id": name,
            "offer": int(candidates.offer[c]),
            "workload": names[workload[c]],
            "configuration": candidates.configuration[c],
            "engine": candidates.engine[c],
            "gpus": int(candidates.gpus_per_replica[c]),
            "in_force": int(candidates.replicas_in_force[c]),
            "rates_per_s": {str(m): float(rate) for m, rate in enumerate(candidates.rate_per_s[c]) if rate > 0},
        }
        for c, name in enumerate(candidates.ids)
    ]


def _limits(problem: Problem) -> dict[str, Any]:
    """Those in force, and what the traffic and the workloads ask of replicas."""
    limits, least = problem.limits, problem.traffic.least_replicas[0].tolist()
    in_force = {item.name for item in limits.in_force}
    stated: dict[str, Any] = {"max_utilization": limits.max_utilization}
    stated |= {name: getattr(limits, name) for name in AS_THEY_ARE if name in in_force}
    if limits.survive:
        stated["survive"] = list(limits.survive)
    if limits.quotas:
        stated["quotas"] = [{"name": q.name, "offers": list(q.offers), "max_gpus": q.max_gpus} for q in limits.quotas]
    if any(least):
        workloads = zip(labels(problem.traffic.workload), least, strict=True)
        stated["least_replicas"] = {name: count for name, count in workloads if count}
    if limits.max_replicas:
        stated["max_replicas"] = dict(limits.max_replicas)
    return stated
