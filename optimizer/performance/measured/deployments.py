"""Whole deployments under a load: from a checked table to what each row delivers, as a pure function of constants."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.apart import (
    Prompts,
    closed_loop_apart,
    is_apart,
    open_loop_apart,
    prefill_columns,
    read_apart,
)
from optimizer.performance.measured.layout import assign_layout
from optimizer.performance.measured.loads import IN_SECONDS, Delivered, closed_loop, offline, open_loop, static_batch
from optimizer.performance.measured.rows import LOADS, DeploymentTable, given_or
from optimizer.performance.measured.speculation import read_speculation
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.engine_constants import uncalibrated
from optimizer.performance.physics.layouts import misfit
from optimizer.performance.physics.memory import kv_bytes_per_sequence, memory_use, weight_bytes
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.physics.replica_model import ReplicaModel, replica_model
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import NAMES, Columns, Setup, gather_columns
from optimizer.performance.physics.token_mix import TokenMix


@dataclass(frozen=True)
class Deployments(RowArrays):
    """Deployments under load, one row each.

    Attributes:
        setup: One replica of each.
        demand: Its requests.
        load: Index into `LOADS`, (n,).
        value: Load of one replica: clients, requests/s, requests or batch; NaN where not given.
        requests: Requests that one replica gets in all, NaN where not given.
        replicas: Replicas at work, (n,).
        prefill_share: Workers that read prompts for each of these, (n,); NaN where the same replica does.
        prefill: One such worker of each; None where no row has any.
    """

    setup: Setup
    demand: TokenMix
    load: Ints
    value: Floats
    requests: Floats
    replicas: Floats
    prefill_share: Floats
    prefill: Setup | None

    @property
    def apart(self) -> Flags:
        """Whether prompts are read by workers of their own, (n,)."""
        return ~np.isnan(self.prefill_share)

    @property
    def aside(self) -> Flags:
        """Whether what is measured says nothing of other constants: steps with a draft, or pools apart, (n,)."""
        drafted: Flags = self.setup.layout.draft_tokens > 0
        return drafted | self.apart

    @property
    def by_clock(self) -> Flags:
        """Whether requests come by themselves, however long steps take, (n,)."""
        clocked: Flags = self.load == LOADS.index("request_rate")
        return clocked

    def with_values(self, values: Floats, of_row: Ints | None = None) -> "Deployments":
        """The same deployments under other calibration values, as `Constants.with_values` takes them."""
        prefill = self.prefill and self.prefill.with_values(values, of_row)
        return replace(self, setup=self.setup.with_values(values, of_row), prefill=prefill)


def deployments(table: DeploymentTable, catalogs: Catalogs) -> tuple[Deployments | None, Ints]:
    """The predictable rows of a table and their positions in it, None when there is none; misfits are refused."""
    read_speculation(table, catalogs)
    read_apart(table, catalogs)
    _settle_layout(table, catalogs)
    rows = table.sound_rows()
    if not len(rows):
        return None, rows
    columns = columns_of(table, rows)
    apart = is_apart(table)[rows].any()
    prefill = gather_columns(catalogs, prefill_columns(table, columns, rows)) if apart else None
    found = _under_load(table, gather_columns(catalogs, columns), prefill, rows)
    refuse_misfits(table, found, rows)
    fits = table.problem[rows] == ""
    return (found.take(np.flatnonzero(fits)) if fits.any() else None), rows[fits]


def _settle_layout(table: DeploymentTable, catalogs: Catalogs) -> None:
    """Settle every row's layout from the size of its model on one of its GPUs."""
    rows = table.sound_rows()
    if len(rows):
        one = np.ones(len(rows))
        names = {name: table.names[name][rows] for name in NAMES}
        single = gather_columns(catalogs, {**names, "tensor_parallel": one, "pipeline_parallel": one})
        _refuse_uncalibrated(table, catalogs, rows[~single.constants.known])
        room = single.hardware.usable_bytes * single.constants["layout_weights_share"]
        # row among the sound ones -> row of the table
        weights, room = (table.column(rows, values, 1.0) for values in (weight_bytes(single), room))
        latent = table.column(rows, single.network.latent > 0, False)
        assign_layout(table, weights, room, latent, _degrees_left(table, rows, catalogs))
        _refuse_layouts(table, catalogs)


def _degrees_left(table: DeploymentTable, rows: Ints, catalogs: Catalogs) -> Floats:
    """GPUs that `dp` replicas leave for each stage of one, (n,); NaN where that is not said, or no engine runs it."""
    gpus, dp, pp = (table.numbers[name][rows] for name in ("num_gpus", "dp", "pp"))
    stages = given_or(pp, 1.0)
    left = gpus / (dp * stages)
    whole = (left >= 1) & (left == np.floor(left)) & (stages == np.floor(stages))
    layouts = Categorical.of(list(zip(table.names["model"][rows], np.where(whole, left, 0.0), stages, strict=True)))
    runs = [
        degree > 0 and not misfit(catalogs.model(name), int(degree), int(deep))
        for name, degree, deep in layouts.categories
    ]
    return table.column(rows, np.where(layouts.by_row(runs, bool), left, np.nan), np.nan)


def _refuse_layouts(table: DeploymentTable, catalogs: Catalogs) -> None:
    """Refuse layouts that engines do not run; ranks of attention data parallelism divide no heads."""
    rows = table.sound_rows()
    ranks, tp, pp = (table.layout[name][rows] for name in ("attention_dp", "tp", "pp"))
    layouts = Categorical.of(list(zip(table.names["model"][rows], np.where(ranks > 0, 1.0, tp), pp, strict=True)))
    problems = [misfit(catalogs.model(name), int(split), int(stages)) for name, split, stages in layouts.categories]
    table.problem[rows] = layouts.by_row(problems, object)


def _refuse_uncalibrated(table: DeploymentTable, catalogs: Catalogs, rows: Ints) -> None:
    """Nothing is predicted for an engine that nobody calibrated: the rows that would mend it are named instead."""
    for row in rows.tolist():
        engine, gpu, version = (table.names[name][row] for name in ("engine", "gpu", "engine_version"))
        table.problem[row] = uncalibrated(catalogs, engine, catalogs.gpus[gpu], version)


def columns_of(table: DeploymentTable, rows: Ints) -> Columns:
    """The configurations of some rows, over the links that their GPUs have."""
    return {
        **{name: table.names[name][rows] for name in NAMES},
        "tensor_parallel": table.layout["tp"][rows],
        "pipeline_parallel": table.layout["pp"][rows],
        "attention_dp": table.layout["attention_dp"][rows] > 0,
        "expert_parallel": np.nan_to_num(table.numbers["ep"][rows]) > 1,
        "max_num_seqs": np.nan_to_num(table.numbers["max_num_seqs"][rows]),
        "max_num_batched_tokens": np.nan_to_num(table.numbers["max_num_batched_tokens"][rows]),
        "memory_share": np.nan_to_num(table.numbers["memory_share"][rows]),
        "admission_interval_steps": np.nan_to_num(table.numbers["admission_interval_steps"][rows]),
        "rank_wait_steps": np.nan_to_num(table.numbers["rank_wait_steps"][rows]),
        "prompt_copies": _copies(table)[rows],
        "draft_tokens": np.nan_to_num(table.numbers["draft_tokens"][rows]),
        "accepted_tokens": given_or(table.numbers["accepted_tokens"][rows], 1.0),
    }


def _copies(table: DeploymentTable) -> Floats:
    """How many sequences of a batch are one and the same, (n,): 1 where nobody says how many prompts differ."""
    batch, unlike = table.numbers["load_value"], table.numbers["distinct_prompts"]
    return np.maximum(given_or(batch / unlike, 1.0), 1.0)


def _under_load(table: DeploymentTable, setup: Setup, prefill: Setup | None, rows: Ints) -> Deployments:
    """Spread a deployment's load over its replicas; fewer requests than replicas leave the rest idle."""
    numbers = {name: column[rows] for name, column in table.numbers.items()}
    load = pd.Index(LOADS).get_indexer(pd.Index(table.names["load_type"][rows]))
    replicas, value = table.layout["replicas"][rows], numbers["load_value"]
    counted = load != LOADS.index("request_rate")
    busy = np.maximum(np.floor(np.where(counted, np.fmin(replicas, value), replicas)), 1.0)
    cached = np.floor(numbers["input_tokens"] * np.nan_to_num(numbers["cached_input_share"]))
    demand = TokenMix(
        new_tokens=(numbers["input_tokens"] - cached)[:, None],
        cached_tokens=cached[:, None],
        output_tokens=numbers["output_tokens"][:, None],
        share=np.ones((len(rows), 1)),
        arrivals=ArrivalVariation(given_or(numbers["arrival_cv2"], 1.0), np.where(counted, np.inf, value)),
    )
    prefill_share = numbers["prefill_workers"] / busy
    return Deployments(setup, demand, load, value / busy, numbers["num_requests"] / busy, busy, prefill_share, prefill)


def refuse_misfits(table: DeploymentTable, found: Deployments, rows: Ints) -> None:
    """Refuse rows whose weights leave no cache, whose requests fit in none, or whose kernels or links do not exist."""
    setup, memory = found.setup, memory_use(found.setup)
    one = kv_bytes_per_sequence(setup, found.demand.length(np.ones(setup.rows)))[:, 0]
    several = (setup.layout.tensor_parallel > 1) | (setup.layout.pipeline_parallel > 1)
    prompts = memory if found.prefill is None else memory_use(found.prefill)
    misfits = {
        "this precision has no kernels on this GPU": setup.hardware.kernel_support == 0,
        "does not fit: weights and working space exceed the GPU's memory": np.minimum(
            memory.kv_capacity, prompts.kv_capacity
        )
        <= 0,
        "does not fit: not even one request fits in the KV cache": one > memory.kv_capacity,
        "no figure for the link between these GPUs": several & np.isnan(setup.interconnect.bandwidth),
    }
    for problem, wrong in misfits.items():
        table.refuse(table.column(rows, wrong, False), problem)


def deliver(found: Deployments) -> Delivered:
    """What one replica of each row delivers, each under its own kind of load."""
    delivered = np.full((len(Delivered._fields), found.setup.rows), np.nan)
    ways = Categorical.joined(Categorical.of(found.load), Categorical.of(found.apart))
    for way, (load, _) in enumerate(ways.categories):
        rows = np.flatnonzero(ways.codes == way)
        part = found.take(rows)
        delivered[:, rows] = _loaded(LOADS[load], replica_model(part.setup, part.demand), part)
    return Delivered(*delivered)


def deliver_slowed(found: Deployments, longer: Floats) -> Delivered:
    """The same of replicas all of whose steps take so many times as long, (n,), where requests come by the clock."""
    point = deliver(in_their_time(found, longer))
    seconds = {name: getattr(point, name) * longer for name in IN_SECONDS}
    return point._replace(requests_per_s=point.requests_per_s / longer, **seconds)


def in_their_time(found: Deployments, longer: Floats) -> Deployments:
    """The same in the time of steps that take so many times as long, (n,): as many more requests come by the clock."""
    longer = np.where(found.by_clock, longer, 1.0)
    arrivals = replace(found.demand.arrivals, rate_per_s=found.demand.arrivals.rate_per_s * longer)
    return replace(found, demand=replace(found.demand, arrivals=arrivals), value=found.value * longer)


def _loaded(load: str, replica: ReplicaModel, part: Deployments) -> Delivered:
    constants, prompts = part.setup.constants, None
    if part.prefill is not None and part.apart.any():
        prompts = Prompts.of(part.prefill, part.demand, part.prefill_share)
    if load == "concurrency":
        # no client without a request
        clients = np.maximum(np.fmin(part.value, part.requests), 1.0)
        usual = np.minimum(clients * constants["requests_per_client"], constants["requests_per_run"])
        sent = np.maximum(given_or(part.requests, np.inf), clients)
        if prompts is not None:
            run = np.where(np.isfinite(sent), sent, np.maximum(usual, clients))
            return closed_loop_apart(replica, prompts, clients, clients / run)
        return closed_loop(replica, clients, sent, np.maximum(usual, clients))
    if load == "request_rate" and prompts is not None:
        return open_loop_apart(replica, prompts, part.value)
    if load == "request_rate":
        return open_loop(replica, part.value, given_or(part.requests, np.inf))
    if load == "static_batch":
        return static_batch(replica, part.value)
    return offline(replica, given_or(np.maximum(given_or(part.value, part.requests), 1.0), np.inf))
