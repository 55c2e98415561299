"""Instances for the benchmarks of the program: Mélange's files, and random ones that stress it."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.errors import Finding, InputError
from optimizer.program.problem.data import Candidates, Limits, Offers, Traffic, steady_traffic
from optimizer.program.problem.problem import Problem

README_EXAMPLE = {
    "gpu_info": {
        "A10G": {"cost": 1.01, "tputs": [[2, 1], [5, 2]]},
        "A100-80GB": {"cost": 3.67, "tputs": [[20, 20], [40, 20]]},
    },
    "workload_distribution": [[0.2, 0.1], [0.5, 0.2]],
    "total_request_rate": 30.0,
    "slice_factor": 1,
}
"""The numbers of Mélange's own example; slices of factor 1 give $6.70/h."""


@dataclass(frozen=True, eq=False)
class Instance:
    """GPUs at a price, each serving request classes at given rates; one replica is one GPU.

    Attributes:
        names: (G,) of the GPU types.
        cost_usd_per_hour: (G,) of one GPU.
        rate_per_s: (G, K) requests/s of a class that one GPU sustains when it serves nothing else; 0 for none.
        demand_per_s: (K,) requests/s to serve, positive.
    """

    names: tuple[str, ...]
    cost_usd_per_hour: Floats
    rate_per_s: Floats
    demand_per_s: Floats


def read_melange(path: Path) -> Instance:
    """An instance in Mélange's configuration format.

    The file holds `gpu_info: {name: {cost, tputs}}`, `workload_distribution` (shares by input and output size) and
    `total_request_rate`; `tputs` has the shape of the distribution. Sizes without demand are left out.

    Raises:
        InputError: The file is not such a configuration.
    """
    try:
        return from_melange(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as fault:
        hint = "gpu_info: {name: {cost, tputs}}, workload_distribution and total_request_rate are needed"
        raise InputError([Finding(str(path), 0, "", f"not a Mélange configuration: {fault!r}", hint)]) from fault


def from_melange(configuration: dict[str, object]) -> Instance:
    """The same from the parsed file."""
    gpus = configuration["gpu_info"]
    share = np.asarray(configuration["workload_distribution"], dtype=float)
    if not isinstance(gpus, dict) or not gpus:
        raise ValueError("gpu_info lists no GPU")
    rate = np.array([np.asarray(gpu["tputs"], dtype=float) for gpu in gpus.values()])
    if rate.shape[1:] != share.shape:
        raise ValueError(f"tputs have shape {rate.shape[1:]}, workload_distribution {share.shape}")
    demand = share.ravel() * float(str(configuration["total_request_rate"]))
    asked = demand > 0
    return Instance(
        tuple(gpus),
        np.array([float(gpu["cost"]) for gpu in gpus.values()]),
        rate.reshape(len(gpus), -1)[:, asked],
        demand[asked],
    )


def unrelated(gpus: int, classes: int, replicas: float, seed: int) -> Instance:
    """Prices and rates all independent: no GPU is a cheaper copy of another.

    Args:
        gpus: How many types.
        classes: How many request classes.
        replicas: Roughly how many GPUs a good plan buys.
        seed: Of the random numbers.
    """
    random = np.random.default_rng(seed)
    cost = random.uniform(0.5, 10.0, gpus).round(2)
    rate = random.uniform(1.0, 50.0, (gpus, classes)) * cost[:, None] / 5.0
    return _with_demand(cost, rate, random.uniform(0.1, 1.0, classes), replicas)


def heavy_tailed(gpus: int, classes: int, replicas: float, seed: int) -> Instance:
    """Log-normal prices and rates, rates rising with the price, a few classes with most of the demand."""
    random = np.random.default_rng(seed)
    cost = np.exp(random.normal(0.5, 0.8, gpus)).round(3)
    rate = (
        cost[:, None] ** 0.9
        * np.exp(random.normal(0.0, 1.0, classes))
        * np.exp(random.normal(0.0, 0.5, (gpus, classes)))
    )
    return _with_demand(cost, rate, random.dirichlet(np.ones(classes)), replicas)


def small_steps(gpus: int, classes: int, replicas: float, seed: int) -> Instance:
    """Rates independent of prices: only the cheapest GPUs matter, and a plan is a whole number of them."""
    random = np.random.default_rng(seed)
    cost = random.uniform(0.5, 10.0, gpus).round(3)
    rate = random.uniform(1.0, 50.0, (gpus, classes))
    return _with_demand(cost, rate, random.uniform(0.1, 1.0, classes), replicas)


def _with_demand(cost: Floats, rate: Floats, weight: Floats, replicas: float) -> Instance:
    """Demand in proportion to the weights, as much as `replicas` GPUs carry, each class on its cheapest."""
    cheapest = (cost[:, None] / rate).argmin(axis=0)
    load = (weight / rate[cheapest, np.arange(len(weight))]).sum()
    return Instance(tuple(f"gpu{number:05d}" for number in range(len(cost))), cost, rate, weight * replicas / load)


def problem_of(instance: Instance, traffic: Traffic | None = None, always_paid: Flags | None = None) -> Problem:
    """The instance for our program: an offer of one GPU for each type, nothing held in reserve.

    Args:
        instance: Prices, rates and demand.
        traffic: What is asked for instead of the instance's demand all month.
        always_paid: (G,) types that are paid all month whether they run or not; none when left out.
    """
    count = len(instance.names)
    same, none = ("one",) * count, np.full(count, np.nan)
    classes = tuple(f"class{k:04d}" for k in range(len(instance.demand_per_s)))
    return Problem(
        traffic=traffic or steady_traffic(classes, instance.demand_per_s),
        candidates=Candidates(
            ids=instance.names,
            offer=np.arange(count),
            configuration=instance.names,
            engine=same,
            gpus_per_replica=np.ones(count, dtype=np.int64),
            rate_per_s=instance.rate_per_s,
            replicas_in_force=np.zeros(count, dtype=np.int64),
        ),
        offers=Offers(
            ids=instance.names,
            price_usd_per_hour=instance.cost_usd_per_hour,
            gpus_per_instance=np.ones(count, dtype=np.int64),
            power_kw=none,
            carbon_kg_per_hour=none,
            available=np.full(count, np.inf),
            provider=same,
            region=same,
            gpu=instance.names,
            spot=np.zeros(count, dtype=np.bool_),
            always_paid=np.zeros(count, dtype=np.bool_) if always_paid is None else always_paid,
        ),
        limits=Limits(max_utilization=1.0),
    )


def weekly(gpus: int, periods: int, replicas: float, seed: int) -> Problem:
    """One class over the hours of a week, its demand by day and night; every other type is cheaper and paid always.

    A start costs six minutes of an instance.
    """
    instance, random = unrelated(gpus, 1, replicas, seed), np.random.default_rng(seed + 1)
    hour = np.arange(periods) * (24.0 if periods < 24 else 1.0)
    level = 0.55 - 0.45 * np.cos(2 * np.pi * hour / 24) + random.uniform(0.0, 0.1, periods)
    always_paid = np.arange(gpus) % 2 == 1
    cost = np.where(always_paid, 0.6, 1.0) * instance.cost_usd_per_hour
    following = np.roll(np.eye(periods), 1, axis=1) if periods > 1 else np.zeros((1, 1))
    traffic = replace(
        steady_traffic(("class0000",), instance.demand_per_s),
        demand_per_s=instance.demand_per_s * level[:, None],
        share_of_month=np.full(periods, 1.0 / periods),
        start_share=0.1 / periods * following,
        least_replicas=np.zeros((periods, 1), dtype=np.int64),
    )
    return problem_of(replace(instance, cost_usd_per_hour=cost), traffic, always_paid)


def several_workloads(workloads: int, gpus_each: int, replicas: float, seed: int) -> Problem:
    """Workloads of four classes each with GPU types of their own, so that none can serve another's."""
    parts = [unrelated(gpus_each, 4, replicas / workloads, seed + w) for w in range(workloads)]
    rate = np.zeros((workloads * gpus_each, workloads * 4))
    for w, part in enumerate(parts):
        rate[w * gpus_each : (w + 1) * gpus_each, w * 4 : (w + 1) * 4] = part.rate_per_s
    names = tuple(f"gpu{number:05d}" for number in range(len(rate)))
    cost = np.concatenate([part.cost_usd_per_hour for part in parts])
    demand = np.concatenate([part.demand_per_s for part in parts])
    labels = tuple(f"w{k // 4:02d}" for k in range(len(demand)))
    traffic = steady_traffic(tuple(f"{w}/c{k:04d}" for k, w in enumerate(labels)), demand, workload=labels)
    return problem_of(Instance(names, cost, rate, demand), traffic)
