"""The registry of constraint families: one entry, one function, one golden model, one paragraph of documentation."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from optimizer.program.formulation import changes as change_constraints
from optimizer.program.formulation import demand as constraints
from optimizer.program.formulation import layouts as layout_constraints
from optimizer.program.formulation import policy as policy_constraints
from optimizer.program.formulation import resilience as resilience_constraints
from optimizer.program.formulation import variety as variety_constraints
from optimizer.program.formulation.family import Family
from optimizer.program.problem.instance_contents import places_instances
from optimizer.program.problem.layouts import holds_layouts
from optimizer.program.problem.problem import Problem


def _always(_: Problem) -> bool:
    return True


FAMILIES: tuple[Family, ...] = (
    Family(
        name="demand",
        requirement="demand",
        algebra=(
            "sum over c and m of mix[m,k] * flow[t,c,m] + sum over a of mix[m(a),k] * bought[t,a] >= demand[t,k]"
            "   for each class k and period t"
        ),
        unit="requests/s",
        used_when=_always,
        rows=constraints.demand,
        charges="flow",
    ),
    Family(
        name="capacity",
        requirement="max_utilization",
        algebra=(
            "sum over m of flow[t,c,m] / rate[c,m] <= max_utilization * replicas[t,c];"
            " flow[t,c,m] <= best_rate[t,c,m] * replicas[t,c]   for each candidate c, mix m and period t"
        ),
        unit="requests/s",
        used_when=_always,
        rows=constraints.capacity,
    ),
    Family(
        name="packing",
        says="Replicas fit into the whole instances bought; several may share one, none is split over two.",
        algebra=(
            "sum over c on o with g[c] >= s of (g[c]/s) * replicas[t,c] <= floor(G[o]/s) * instances[t,o]"
            "   for each offer o, replica size s on it and period t"
        ),
        unit="replicas of the size",
        used_when=_always,
        rows=constraints.packing,
    ),
    Family(
        name="first_instance",
        says=(
            "An offer serves nothing until an instance of it is bought"
            " (follows from the others, tightens the relaxation)."
        ),
        algebra=(
            "sum over c on o of flow[t,c,m] <= demand[t,k] * instances[t,o]   for a mix m of class k alone;"
            " flow[t,c,m] <= reach[t,m] * instances[t,o]   for any other; where one instance could serve more"
        ),
        unit="share of the demand",
        used_when=_always,
        rows=constraints.first_instance,
    ),
    Family(
        name="max_gpus",
        requirement="max_gpus",
        algebra="sum over o of G[o] * instances[t,o] <= max_gpus   for each period t",
        unit="GPUs",
        rows=policy_constraints.max_gpus,
        charges="instances",
    ),
    Family(
        name="max_monthly_usd",
        requirement="max_monthly_usd",
        algebra="what is minimized <= max_monthly_usd",
        unit="USD/month",
        rows=policy_constraints.max_monthly_usd,
        in_relaxation=False,
    ),
    Family(
        name="max_power_kw",
        requirement="max_power_kw",
        algebra="sum over o of power[o] * instances[t,o] <= max_power_kw   for each period t",
        unit="kW",
        rows=policy_constraints.max_power_kw,
        charges="instances",
    ),
    Family(
        name="max_carbon_kg_per_month",
        requirement="max_carbon_kg_per_month",
        algebra="sum over t and o of carbon[o] * hours[t] * instances[t,o] <= max_carbon_kg_per_month",
        unit="kg/month",
        rows=policy_constraints.max_carbon_kg_per_month,
        charges="instances",
    ),
    Family(
        name="quotas",
        requirement="quotas",
        algebra="sum over o in q of G[o] * instances[t,o] <= max_gpus[q]   for each quota q and period t",
        unit="GPUs",
        rows=policy_constraints.quotas,
        charges="instances",
    ),
    Family(
        name="availability",
        says="No more instances of an offer are bought than can be had.",
        algebra="instances[t,o] <= available[o]   for each scarce offer o and period t",
        unit="instances",
        used_when=lambda problem: bool(np.isfinite(problem.offers.available).any()),
        rows=policy_constraints.availability,
        charges="instances",
    ),
    Family(
        name="max_spot_share",
        requirement="max_spot_share",
        algebra=(
            "sum over c on spot offers and m of flow[t,c,m] <= max_spot_share * sum over k of demand[t,k]"
            "   for each period t"
        ),
        unit="share of the demand",
        rows=policy_constraints.max_spot_share,
        charges="flow",
    ),
    Family(
        name="max_provider_share",
        requirement="max_provider_share",
        algebra=(
            "sum over c at p and m of flow[t,c,m] + sum over APIs of p of bought[t,a] <="
            " max_provider_share * sum over k of demand[t,k]"
            "   for each provider p and period t"
        ),
        unit="share of the demand",
        rows=policy_constraints.max_provider_share,
        charges="flow",
    ),
    Family(
        name="spare_replicas",
        requirement="spare_replicas",
        algebra=(
            "sum over m of flow[t,c,m] / rate[c,m] <= replicas[t,c] - spare * used[t,c];"
            " flow[t,c,m] <= reach[t,m] * used[t,c]; replicas[t,c] >= (spare + 1) * used[t,c]"
        ),
        unit="replicas",
        rows=resilience_constraints.spare_replicas,
        in_relaxation=False,
    ),
    Family(
        name="spare_on_other_instances",
        requirement="spare_on_other_instances",
        algebra=(
            "sum over m of flow[t,c,m] / rate[c,m] <= replicas[t,c] - sum over n of stacked[t,c,n];"
            " placed[t,p] <= most[t,p] * stacked[t,c,n]   for a content p with n replicas of c;"
            " stacked[t,c,n] <= stacked[t,c,n-1]"
        ),
        unit="replicas",
        rows=resilience_constraints.spare_on_other_instances,
        in_relaxation=False,
    ),
    Family(
        name="survive",
        requirement="survive",
        algebra=(
            "carried[t,k] <= sum over c of full[t,c,k] * replicas[t,c] + sum over a of mix[m(a),k] * bought[t,a]"
            " / demand[t,k]; carried[t,k] - what the replicas and APIs of a place carry of it >= 1 for each place that"
            " may be lost; where an instance may be: carried[t,k] - sum over levels l of step[l] * exposed[t,k,l] >= 1;"
            " placed[t,p] <= most[t,p] * exposed[t,k,l(p)]; exposed[t,k,l] <= exposed[t,k,l-1];"
            " carried[t,k] + N / (n (n-1)) + 2 / (n-1) * bought >= (n+1) / (n-1) for some n, N the instances that may"
            " serve k   for each class k and period t"
        ),
        unit="share of the demand",
        rows=resilience_constraints.survive,
        charges="flow",
    ),
    Family(
        name="placement",
        says="Every replica stands on one instance, and what stands together is lost together.",
        algebra=(
            "replicas[t,c] <= sum over p of count[p,c] * placed[t,p]; sum over p on o of placed[t,p] <= instances[t,o]"
            "   for each candidate c, offer o, period t, and every content p that an instance of o may have"
        ),
        unit="replicas",
        used_when=places_instances,
        rows=resilience_constraints.placement,
        in_relaxation=False,
    ),
    Family(
        name="max_distinct_configurations",
        requirement="max_distinct_configurations",
        algebra=(
            "sum over l of chosen[l] <= max_distinct_configurations; replicas[t,c] <= most[t,c] * chosen[l];"
            " sum over c in l of flow[t,c,m] <= demand[t,k] * chosen[l]   for a mix m of class k alone;"
            " flow[t,c,m] <= reach[t,m] * chosen[l]   for any other"
        ),
        unit="configurations",
        rows=variety_constraints.max_distinct_configurations,
        in_relaxation=False,
    ),
    Family(
        name="max_engines",
        requirement="max_engines",
        algebra=(
            "sum over e of engine_chosen[e] <= max_engines; replicas[t,c] <= most[t,c] * engine_chosen[e]"
            "   for c on engine e, and flows likewise"
        ),
        unit="engines",
        rows=variety_constraints.max_engines,
        in_relaxation=False,
    ),
    Family(
        name="places",
        says="A plan that is looked for as a simpler one uses no more providers and regions than it may.",
        algebra=(
            "sum over providers p of used[p] + sum over regions r of used[r] <= places;"
            " replicas[t,c] <= most[t,c] * used[p], used[r]   for c at p in r, and flows likewise;"
            " bought[t,a] <= used[p]   for a hosted API a at p"
        ),
        unit="places",
        used_when=lambda problem: problem.ceiling.places is not None,
        rows=variety_constraints.places,
        in_relaxation=False,
    ),
    Family(
        name="instance_count",
        says="A plan that is looked for as a simpler one runs no more instances at once than it may.",
        algebra="sum over o of instances[t,o] <= instance_count   for each period t",
        unit="instances",
        used_when=lambda problem: problem.ceiling.instances is not None,
        rows=variety_constraints.instance_count,
        charges="instances",
    ),
    Family(
        name="min_providers",
        requirement="min_providers",
        algebra=(
            "sum over p of present[t,p] >= min_providers; present[t,p] <= sum over c at p of replicas[t,c]"
            " (of used[t,c] with spare replicas)"
        ),
        unit="providers",
        rows=resilience_constraints.min_providers,
        in_relaxation=False,
    ),
    Family(
        name="min_regions",
        requirement="min_regions",
        algebra=(
            "sum over r of present[t,r] >= min_regions; present[t,r] <= sum over c in r of replicas[t,c]"
            " (of used[t,c] with spare replicas)"
        ),
        unit="regions",
        rows=resilience_constraints.min_regions,
        in_relaxation=False,
    ),
    Family(
        name="least_replicas",
        requirement="min_replicas",
        algebra="sum over c of workload w of replicas[t,c] >= least[t,w]   for each workload w and period t",
        unit="replicas",
        used_when=lambda problem: bool(problem.traffic.least_replicas.any()),
        rows=change_constraints.least_replicas,
        charges="replicas",
    ),
    Family(
        name="max_replicas",
        requirement="max_replicas",
        algebra="sum over c of workload w of replicas[t,c] <= max_replicas[w]   for each such workload w and period t",
        unit="replicas",
        rows=change_constraints.max_replicas,
        charges="replicas",
    ),
    Family(
        name="starts",
        requirement="start_up_minutes",
        algebra=(
            "starts[o,t,u] >= instances[u,o] - instances[t,o], at price[o] * start_up_hours each"
            "   for each change from period t to u in the week and offer o paid by the hour"
        ),
        unit="instances",
        used_when=lambda problem: bool(problem.traffic.start_share.any()),
        rows=change_constraints.starts,
        in_relaxation=False,
    ),
    Family(
        name="minimum_billing",
        requirement="minimum_billing_hours",
        algebra=(
            "paid[o,h] = instances[t(h),o] + lingering[o,h], the latter at price[o] an hour;"
            " begun[o,h] >= paid[o,h] - paid[o,h-1]; sum over i < minimum_hours[o] of begun[o,h-i] <= paid[o,h]"
            "   for each hour h of the week and offer o paid by the hour whose least time is more than one"
        ),
        unit="instances",
        used_when=lambda problem: problem.has_minimum_billing,
        rows=change_constraints.minimum_billing,
        in_relaxation=False,
    ),
    Family(
        name="layouts",
        requirement="repartition_minutes",
        algebra=(
            "sum over c in g of replicas[t,c] <= loaded[g], which fit like `packing`, on o paid all month; else"
            " <= sum over l of contents[l,g] * standing[t,l]; sum over l of standing[t,l] <= instances[t,o];"
            " sum over l of max(0, standing[u,l] - standing[t,l]) <= starts[o,t,u] + rested[t,o]   for each period t,"
            " configuration g on an offer o that may hold several, and layout l of an instance of it"
        ),
        unit="replicas",
        used_when=holds_layouts,
        rows=layout_constraints.layouts,
        in_relaxation=False,
    ),
    Family(
        name="changes",
        requirement="max_changes",
        algebra=(
            "for each configuration g on an offer, over its candidates c in the busiest period:"
            " started[g] >= sum of replicas[c] - in_force[g]; stopped[g] >= in_force[g] - sum of replicas[c];"
            " sum over g of started[g] + stopped[g] <= max_changes"
        ),
        unit="replicas",
        used_when=lambda problem: problem.limits.max_changes is not None or problem.limits.usd_per_change > 0,
        rows=change_constraints.changes,
        in_relaxation=False,
    ),
)
"""In the order in which their rows enter the model."""

FAMILY: Final[Mapping[str, Family]] = {family.name: family for family in FAMILIES}


def active_families(problem: Problem, relaxed: bool = False) -> tuple[Family, ...]:
    """The families a problem uses; the relaxation leaves some out, which can only lower the cost."""
    return tuple(family for family in FAMILIES if family.active(problem) and (family.in_relaxation or not relaxed))
