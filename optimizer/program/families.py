"""The registry of constraint families: one entry, one function, one golden model, one paragraph of documentation."""

from collections.abc import Callable
from dataclasses import dataclass

from optimizer.program import constraints, policy_constraints
from optimizer.program.problem import Limits, Problem
from optimizer.program.rows import Rows
from optimizer.program.variables import Variables


@dataclass(frozen=True)
class Family:
    """A constraint family.

    Attributes:
        name: Prefix of its row names.
        sentence: What it says, for people.
        algebra: The same in plain algebra.
        unit: Unit of its slack.
        field: The scenario field that loosens it; empty where only other hardware would.
        active: Whether a scenario uses it; a family that is not used adds nothing.
        rows: Its rows.
        binary: Whether it needs yes-or-no decisions; those families are left out of the relaxation.
    """

    name: str
    sentence: str
    algebra: str
    unit: str
    field: str
    active: Callable[[Limits], bool]
    rows: Callable[[Problem, Variables], Rows]
    binary: bool = False


def _always(_: Limits) -> bool:
    return True


FAMILIES: tuple[Family, ...] = (
    Family(
        "demand",
        "Each request class gets at least its demand.",
        "sum over c of mix[c,k] * flow[c] >= demand[k]   for each class k",
        "requests/s",
        "workloads[].requests_per_second",
        _always,
        constraints.demand,
    ),
    Family(
        "capacity",
        "A deployment serves what its replicas sustain within the SLA, less the reserve kept for bursts.",
        "flow[c] <= best_rate[c] * replicas[c], best_rate[c] <= max_utilization * rate[c]   for each candidate c",
        "requests/s",
        "policy.max_utilization",
        _always,
        constraints.capacity,
    ),
    Family(
        "packing",
        "Replicas fit into the whole instances bought; several may share one, none is split over two.",
        "sum over c on o with g[c] >= s of (g[c]/s) * replicas[c] <= floor(G[o]/s) * instances[o]"
        "   for each offer o and replica size s on it",
        "replicas of the size",
        "",
        _always,
        constraints.packing,
    ),
    Family(
        "first_instance",
        "An offer serves nothing until an instance of it is bought (follows from the others, tightens the relaxation).",
        "sum over c on o serving k alone of flow[c] <= demand[k] * instances[o]; flow[c] <= reach[c] * instances[o]"
        " for mixed c   where one instance could serve more",
        "share of the demand",
        "",
        _always,
        constraints.first_instance,
    ),
    Family(
        "max_gpus",
        "The plan buys no more GPUs than allowed.",
        "sum over o of G[o] * instances[o] <= max_gpus",
        "GPUs",
        "policy.max_gpus",
        lambda limits: limits.max_gpus is not None,
        policy_constraints.max_gpus,
    ),
    Family(
        "max_monthly_usd",
        "The plan costs no more than the budget.",
        "730 * sum over o of price[o] * instances[o] <= max_monthly_usd",
        "USD/month",
        "policy.max_monthly_usd",
        lambda limits: limits.max_monthly_usd is not None,
        policy_constraints.max_monthly_usd,
    ),
    Family(
        "max_power_kw",
        "The instances bought draw no more power than allowed.",
        "sum over o of power[o] * instances[o] <= max_power_kw",
        "kW",
        "policy.max_power_kw",
        lambda limits: limits.max_power_kw is not None,
        policy_constraints.max_power_kw,
    ),
    Family(
        "quotas",
        "Each quota caps the GPUs bought where it applies.",
        "sum over o in q of G[o] * instances[o] <= max_gpus[q]   for each quota q",
        "GPUs",
        "policy.quotas",
        lambda limits: bool(limits.quotas),
        policy_constraints.quotas,
    ),
    Family(
        "max_spot_share",
        "Offers that can be taken back serve no more than their share of the demand.",
        "sum over c on spot offers of flow[c] <= max_spot_share * sum over k of demand[k]",
        "share of the demand",
        "policy.max_spot_share",
        lambda limits: limits.max_spot_share is not None,
        policy_constraints.max_spot_share,
    ),
    Family(
        "spare_replicas",
        "Each deployment still serves its flow within the SLA after losing the spare replicas.",
        "flow[c] <= rate[c] * (replicas[c] - spare * used[c]); flow[c] <= reach[c] * used[c];"
        " replicas[c] >= (spare + 1) * used[c]",
        "replicas",
        "policy.spare_replicas",
        lambda limits: limits.spare_replicas > 0,
        policy_constraints.spare_replicas,
        binary=True,
    ),
    Family(
        "max_distinct_configurations",
        "The plan runs no more kinds of configuration than allowed.",
        "sum over l of chosen[l] <= max_distinct_configurations; replicas[c] <= most[c] * chosen[l];"
        " sum over c in l serving k alone of flow[c] <= demand[k] * chosen[l]; flow[c] <= reach[c] * chosen[l]",
        "configurations",
        "policy.max_distinct_configurations",
        lambda limits: limits.max_distinct_configurations is not None,
        policy_constraints.max_distinct_configurations,
        binary=True,
    ),
    Family(
        "min_providers",
        "Deployments run at no fewer providers than asked.",
        "sum over p of present[p] >= min_providers; present[p] <= sum over c at p of replicas[c]"
        " (of used[c] with spare replicas)",
        "providers",
        "policy.min_providers",
        lambda limits: limits.min_providers > 1,
        policy_constraints.min_providers,
        binary=True,
    ),
    Family(
        "min_regions",
        "Deployments run in no fewer regions than asked.",
        "sum over r of present[r] >= min_regions; present[r] <= sum over c in r of replicas[c]"
        " (of used[c] with spare replicas)",
        "regions",
        "policy.min_regions",
        lambda limits: limits.min_regions > 1,
        policy_constraints.min_regions,
        binary=True,
    ),
)
"""In the order in which their rows enter the model."""


def active_families(limits: Limits, relaxed: bool = False) -> tuple[Family, ...]:
    """The families a scenario uses; the relaxation leaves those with binaries out, which can only lower the cost."""
    return tuple(family for family in FAMILIES if family.active(limits) and not (relaxed and family.binary))
