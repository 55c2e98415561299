"""Whole deployments under a load: from a checked table to what each row delivers, as a pure function of constants."""

from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.layout import assign_layout
from optimizer.performance.measured.loads import Delivered, closed_loop, offline, open_loop, static_batch
from optimizer.performance.measured.rows import LOADS, DeploymentTable
from optimizer.performance.physics.memory import kv_bytes_per_sequence, memory_use, weight_bytes
from optimizer.performance.physics.setup import Columns, Setup, gather_columns
from optimizer.performance.physics.steady_state import ReplicaModel, TokenMix, replica_model


@dataclass(frozen=True)
class Deployments:
    """Deployments under load, one row each.

    Attributes:
        setup: One replica of each.
        demand: Its requests.
        load: Index into `LOADS`, (n,).
        value: Load of one replica: clients, requests/s, requests or batch; NaN where not given.
        requests: Requests that one replica gets in all, NaN where not given.
        replicas: Replicas at work, (n,).
    """

    setup: Setup
    demand: TokenMix
    load: Ints
    value: Floats
    requests: Floats
    replicas: Floats

    def take(self, rows: Ints) -> "Deployments":
        """Some of the rows."""
        demand = self.demand
        taken = TokenMix(
            demand.new_tokens[rows], demand.cached_tokens[rows], demand.output_tokens[rows], demand.share[rows]
        )
        return Deployments(
            self.setup.take(rows),
            taken,
            self.load[rows],
            self.value[rows],
            self.requests[rows],
            self.replicas[rows],
        )

    def with_values(self, values: Floats) -> "Deployments":
        """The same deployments under other calibration values."""
        return replace(self, setup=self.setup.with_values(values))


def deployments(table: DeploymentTable, catalogs: Catalogs) -> tuple[Deployments | None, Ints]:
    """The predictable rows of a table and their positions in it, None when there is none; misfits are refused."""
    _lay_out(table, catalogs)
    rows = np.flatnonzero(table.problem == "")
    if not len(rows):
        return None, rows
    setup = gather_columns(catalogs, {**_named(table, rows), **_degrees(table, rows)})
    found = _loaded(table, setup, rows)
    refuse_misfits(table, found, rows)
    kept = table.problem[rows] == ""
    return (found.take(np.flatnonzero(kept)) if kept.any() else None), rows[kept]


def _lay_out(table: DeploymentTable, catalogs: Catalogs) -> None:
    """Settle every row's layout from the size of its model on one of its GPUs."""
    rows = np.flatnonzero(table.problem == "")
    if len(rows):
        single = gather_columns(catalogs, {**_named(table, rows), **_single(rows)})
        weights = _scattered(weight_bytes(single), rows, table)
        room = _scattered(single.hardware.usable_bytes * single.constants["layout_weights_share"], rows, table)
        latent = _scattered(single.network.latent + 1, rows, table) > 1
        assign_layout(table, weights, room, latent)


_NAMES = ("engine", "model", "gpu", "precision", "kv_precision", "engine_version", "lengths")


def _named(table: DeploymentTable, rows: Ints) -> Columns:
    return {name: table.names[name][rows] for name in _NAMES}


def _single(rows: Ints) -> Columns:
    one, none = np.ones(len(rows)), np.zeros(len(rows))
    blank = [None] * len(rows)
    return {
        "tensor_parallel": one,
        "pipeline_parallel": one,
        "link": blank,
        "link_gb_per_s": blank,
        "attention_dp": none,
        "expert_parallel": none,
        "max_num_seqs": none,
    }


def _degrees(table: DeploymentTable, rows: Ints) -> Columns:
    layout = table.layout
    blank = [None] * len(rows)
    return {
        "tensor_parallel": layout["tp"][rows],
        "pipeline_parallel": layout["pp"][rows],
        "link": blank,
        "link_gb_per_s": blank,
        "attention_dp": layout["attention_dp"][rows] > 0,
        "expert_parallel": np.nan_to_num(table.numbers["ep"][rows]) > 1,
        "max_num_seqs": np.nan_to_num(table.numbers["max_num_seqs"][rows]),
    }


def _scattered(values: Floats, rows: Ints, table: DeploymentTable) -> Floats:
    full = np.ones(len(table.problem))
    full[rows] = values
    return full


def _loaded(table: DeploymentTable, setup: Setup, rows: Ints) -> Deployments:
    """Spread a deployment's load over its replicas; fewer requests than replicas leave the rest idle."""
    one = np.ones((len(rows), 1))
    demand = TokenMix(
        table.numbers["input_tokens"][rows][:, None],
        np.zeros((len(rows), 1)),
        table.numbers["output_tokens"][rows][:, None],
        one,
    )
    kind = np.array([LOADS.index(name) for name in table.names["load_type"][rows]], dtype=np.intp)
    value, requests = table.numbers["load_value"][rows], table.numbers["num_requests"][rows]
    counted = kind != LOADS.index("request_rate")
    busy = np.where(
        counted & ~np.isnan(value), np.minimum(table.layout["replicas"][rows], value), table.layout["replicas"][rows]
    )
    busy = np.maximum(np.floor(busy), 1.0)
    return Deployments(setup, demand, kind, value / busy, requests / busy, busy)


def refuse_misfits(table: DeploymentTable, found: Deployments, rows: Ints) -> None:
    """Refuse rows whose weights leave no cache, whose requests fit in none, or whose kernels or links do not exist."""
    setup, memory = found.setup, memory_use(found.setup)
    longest = found.demand.new_tokens + found.demand.output_tokens
    one = kv_bytes_per_sequence(setup, longest)[:, 0]
    text = np.full(len(rows), "", dtype=object)
    joined = (setup.layout.tensor_parallel > 1) | (setup.layout.pipeline_parallel > 1)
    text[joined & np.isnan(setup.interconnect.bandwidth)] = "no figure for the link between these GPUs"
    text[one > memory.kv_capacity] = "does not fit: not even one request fits in the KV cache"
    text[memory.kv_capacity <= 0] = "does not fit: weights and working space exceed the GPU's memory"
    text[setup.hardware.kernel_support == 0] = "this precision has no kernels on this GPU"
    problem = np.full(len(table.problem), "", dtype=object)
    problem[rows] = text
    table.refuse(problem != "", problem)


def deliver(found: Deployments) -> Delivered:
    """What one replica of each row delivers, each under its own kind of load."""
    result = np.full((4, found.setup.rows), np.nan)
    for code in np.unique(found.load):
        rows = np.flatnonzero(found.load == code)
        part = found.take(rows)
        point = _run(LOADS[code], replica_model(part.setup, part.demand), part)
        result[:, rows] = [point.ttft_mean_s, point.ttft_median_s, point.tpot_s, point.requests_per_s]
    return Delivered(*result)


def _run(load: str, replica: ReplicaModel, part: Deployments) -> Delivered:
    constants = part.setup.constants
    if load == "concurrency":
        clients = np.maximum(part.value, 1.0)
        usual = np.minimum(clients * constants["requests_per_client"], constants["requests_per_run"])
        requests = np.where(np.isnan(part.requests), usual, part.requests)
        return closed_loop(replica, clients, np.maximum(requests, clients))
    if load == "request_rate":
        return open_loop(replica, part.value, np.where(np.isnan(part.requests), np.inf, part.requests))
    if load == "static_batch":
        return static_batch(replica, part.value)
    asked = np.where(np.isnan(part.value), part.requests, part.value)
    return offline(replica, np.where(np.isnan(asked), np.inf, np.maximum(asked, 1.0)))
