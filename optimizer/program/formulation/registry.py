"""The registry of constraint families: one entry, one function, one golden model, one paragraph of documentation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optimizer.program.formulation import changes as change_constraints
from optimizer.program.formulation import demand as constraints
from optimizer.program.formulation import policy as policy_constraints
from optimizer.program.formulation import resilience as resilience_constraints
from optimizer.program.formulation.rows import Rows
from optimizer.program.formulation.variables import Variables
from optimizer.program.problem.problem import Problem


@dataclass(frozen=True)
class Family:
    """A constraint family.

    Attributes:
        name: Prefix of its row names.
        sentence: What it says, for people.
        algebra: The same in plain algebra.
        unit: Unit of its slack.
        field: The scenario field that loosens it; empty where only other hardware would.
        active: Whether a problem uses it; a family that is not used adds nothing.
        rows: Its rows.
        in_relaxation: Whether the relaxation keeps it; those that need yes-or-no decisions or link periods are left
            out there, which can only lower the cost.
    """

    name: str
    sentence: str
    algebra: str
    unit: str
    field: str
    active: Callable[[Problem], bool]
    rows: Callable[[Problem, Variables], Rows]
    in_relaxation: bool = True


def _always(_: Problem) -> bool:
    return True


FAMILIES: tuple[Family, ...] = (
    Family(
        "demand",
        "Each request class gets at least its demand.",
        "sum over c and m of mix[m,k] * flow[t,c,m] + sum over a of mix[m(a),k] * bought[t,a] >= demand[t,k]"
        "   for each class k and period t",
        "requests/s",
        "workloads[].requests_per_second",
        _always,
        constraints.demand,
    ),
    Family(
        "capacity",
        "A deployment serves what its replicas sustain within the SLA, less the reserve kept for bursts.",
        "sum over m of flow[t,c,m] / rate[c,m] <= max_utilization * replicas[t,c];"
        " flow[t,c,m] <= best_rate[t,c,m] * replicas[t,c]   for each candidate c, mix m and period t",
        "requests/s",
        "policy.max_utilization",
        _always,
        constraints.capacity,
    ),
    Family(
        "packing",
        "Replicas fit into the whole instances bought; several may share one, none is split over two.",
        "sum over c on o with g[c] >= s of (g[c]/s) * replicas[t,c] <= floor(G[o]/s) * instances[t,o]"
        "   for each offer o, replica size s on it and period t",
        "replicas of the size",
        "",
        _always,
        constraints.packing,
    ),
    Family(
        "first_instance",
        "An offer serves nothing until an instance of it is bought (follows from the others, tightens the relaxation).",
        "sum over c on o of flow[t,c,m] <= demand[t,k] * instances[t,o]   for a mix m of class k alone;"
        " flow[t,c,m] <= reach[t,m] * instances[t,o]   for any other; where one instance could serve more",
        "share of the demand",
        "",
        _always,
        constraints.first_instance,
    ),
    Family(
        "max_gpus",
        "The plan buys no more GPUs than allowed.",
        "sum over o of G[o] * instances[t,o] <= max_gpus   for each period t",
        "GPUs",
        "policy.max_gpus",
        lambda problem: problem.limits.max_gpus is not None,
        policy_constraints.max_gpus,
    ),
    Family(
        "max_monthly_usd",
        "The plan costs no more than the budget.",
        "what is minimized <= max_monthly_usd",
        "USD/month",
        "policy.max_monthly_usd",
        lambda problem: problem.limits.max_monthly_usd is not None,
        policy_constraints.max_monthly_usd,
    ),
    Family(
        "max_power_kw",
        "The instances bought draw no more power than allowed.",
        "sum over o of power[o] * instances[t,o] <= max_power_kw   for each period t",
        "kW",
        "policy.max_power_kw",
        lambda problem: problem.limits.max_power_kw is not None,
        policy_constraints.max_power_kw,
    ),
    Family(
        "max_carbon_kg_per_month",
        "The instances that run emit no more carbon in a month than allowed.",
        "sum over t and o of carbon[o] * hours[t] * instances[t,o] <= max_carbon_kg_per_month",
        "kg/month",
        "policy.max_carbon_kg_per_month",
        lambda problem: problem.limits.max_carbon_kg_per_month is not None,
        policy_constraints.max_carbon_kg_per_month,
    ),
    Family(
        "quotas",
        "Each quota caps the GPUs bought where it applies.",
        "sum over o in q of G[o] * instances[t,o] <= max_gpus[q]   for each quota q and period t",
        "GPUs",
        "policy.quotas",
        lambda problem: bool(problem.limits.quotas),
        policy_constraints.quotas,
    ),
    Family(
        "availability",
        "No more instances of an offer are bought than can be had.",
        "instances[t,o] <= available[o]   for each scarce offer o and period t",
        "instances",
        "",
        lambda problem: bool(np.isfinite(problem.offers.available).any()),
        policy_constraints.availability,
    ),
    Family(
        "max_spot_share",
        "Offers that can be taken back serve no more than their share of the demand.",
        "sum over c on spot offers and m of flow[t,c,m] <= max_spot_share * sum over k of demand[t,k]"
        "   for each period t",
        "share of the demand",
        "policy.max_spot_share",
        lambda problem: problem.limits.max_spot_share is not None,
        policy_constraints.max_spot_share,
    ),
    Family(
        "max_provider_share",
        "No provider serves more than its share of the demand.",
        "sum over c at p and m of flow[t,c,m] + sum over APIs of p of bought[t,a] <="
        " max_provider_share * sum over k of demand[t,k]"
        "   for each provider p and period t",
        "share of the demand",
        "policy.max_provider_share",
        lambda problem: problem.limits.max_provider_share is not None,
        policy_constraints.max_provider_share,
    ),
    Family(
        "spare_replicas",
        "Each deployment still serves its flow within the SLA after losing the spare replicas.",
        "sum over m of flow[t,c,m] / rate[c,m] <= replicas[t,c] - spare * used[t,c];"
        " flow[t,c,m] <= reach[t,m] * used[t,c]; replicas[t,c] >= (spare + 1) * used[t,c]",
        "replicas",
        "policy.spare_replicas",
        lambda problem: problem.limits.spare_replicas > 0,
        resilience_constraints.spare_replicas,
        in_relaxation=False,
    ),
    Family(
        "survive",
        "After any one of the losses named, what is left still carries the whole demand at full rate.",
        "sum over c left and m of mix[m,k] * failover[e,t,c,m] + sum over a left of mix[m(a),k] * bought[t,a]"
        " >= demand[t,k]; sum over m of failover[e,t,c,m] / rate[c,m] <= left[e,t,c];"
        " left[e,t,c] = replicas[t,c], 0 where its place is lost,"
        " replicas[t,c] - held[c] * outlasts[t,c] where an instance is;"
        " failover[e,t,c,m] <= reach[t,m] * outlasts[t,c] there   for each loss e, class k and period t",
        "share of the demand",
        "policy.survive",
        lambda problem: bool(problem.limits.survive),
        resilience_constraints.survive,
    ),
    Family(
        "max_distinct_configurations",
        "The plan runs no more kinds of configuration than allowed.",
        "sum over l of chosen[l] <= max_distinct_configurations; replicas[t,c] <= most[t,c] * chosen[l];"
        " sum over c in l of flow[t,c,m] <= demand[t,k] * chosen[l]   for a mix m of class k alone;"
        " flow[t,c,m] <= reach[t,m] * chosen[l]   for any other",
        "configurations",
        "policy.max_distinct_configurations",
        lambda problem: problem.limits.max_distinct_configurations is not None,
        policy_constraints.max_distinct_configurations,
        in_relaxation=False,
    ),
    Family(
        "max_engines",
        "The plan runs no more kinds of engine than allowed.",
        "sum over e of engine_chosen[e] <= max_engines; replicas[t,c] <= most[t,c] * engine_chosen[e]"
        "   for c on engine e, and flows likewise",
        "engines",
        "policy.max_engines",
        lambda problem: problem.limits.max_engines is not None,
        policy_constraints.max_engines,
        in_relaxation=False,
    ),
    Family(
        "min_providers",
        "Deployments run at no fewer providers than asked.",
        "sum over p of present[t,p] >= min_providers; present[t,p] <= sum over c at p of replicas[t,c]"
        " (of used[t,c] with spare replicas)",
        "providers",
        "policy.min_providers",
        lambda problem: problem.limits.min_providers > 1,
        resilience_constraints.min_providers,
        in_relaxation=False,
    ),
    Family(
        "min_regions",
        "Deployments run in no fewer regions than asked.",
        "sum over r of present[t,r] >= min_regions; present[t,r] <= sum over c in r of replicas[t,c]"
        " (of used[t,c] with spare replicas)",
        "regions",
        "policy.min_regions",
        lambda problem: problem.limits.min_regions > 1,
        resilience_constraints.min_regions,
        in_relaxation=False,
    ),
    Family(
        "least_replicas",
        "A workload keeps its least number of replicas running, whatever its demand.",
        "sum over c of workload w of replicas[t,c] >= least[t,w]   for each workload w and period t",
        "replicas",
        "workloads[].min_replicas",
        lambda problem: bool(problem.traffic.least_replicas.any()),
        change_constraints.least_replicas,
    ),
    Family(
        "starts",
        "Each instance that is started at a change of periods is paid for while it starts.",
        "starts[o,t,u] >= instances[u,o] - instances[t,o], at price[o] * start_up_hours each"
        "   for each change from period t to u in the week and offer o paid by the hour",
        "instances",
        "policy.elastic.start_up_minutes",
        lambda problem: bool(problem.traffic.start_share.any()),
        change_constraints.starts,
        in_relaxation=False,
    ),
    Family(
        "minimum_billing",
        "An instance that was started stays on the bill for its least time, whether it runs or not.",
        "paid[o,h] = instances[t(h),o] + lingering[o,h], the latter at price[o] an hour;"
        " begun[o,h] >= paid[o,h] - paid[o,h-1]; sum over i < minimum_hours[o] of begun[o,h-i] <= paid[o,h]"
        "   for each hour h of the week and offer o paid by the hour whose least time is more than one",
        "instances",
        "policy.elastic.minimum_billing_hours",
        lambda problem: problem.has_minimum_billing,
        change_constraints.minimum_billing,
        in_relaxation=False,
    ),
    Family(
        "changes",
        "The plan starts and stops no more replicas against those in force than allowed, and pays for each.",
        "for each configuration g on an offer, over its candidates c in the busiest period:"
        " started[g] >= sum of replicas[c] - in_force[g]; stopped[g] >= in_force[g] - sum of replicas[c];"
        " sum over g of started[g] + stopped[g] <= max_changes",
        "replicas",
        "policy.migration.max_changes",
        lambda problem: problem.limits.max_changes is not None or problem.limits.usd_per_change > 0,
        change_constraints.changes,
        in_relaxation=False,
    ),
)
"""In the order in which their rows enter the model."""


def active_families(problem: Problem, relaxed: bool = False) -> tuple[Family, ...]:
    """The families a problem uses; the relaxation leaves some out, which can only lower the cost."""
    return tuple(family for family in FAMILIES if family.active(problem) and (family.in_relaxation or not relaxed))
