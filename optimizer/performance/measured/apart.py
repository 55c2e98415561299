"""Prefill and decode apart: a pool of workers reads the prompts and hands each over to a pool that writes the answers.

A row says so with `prefill_workers` and `decode_workers`, each of which is a replica with a layout of its own
(`prefill_tp`, `prefill_ep`, `prefill_dp_attn`, and so for `decode`). Predicted is one decode worker with its part of
the prefill workers. Nothing interrupts a step that decodes; a prompt waits for others' prompts, for its own and for its
cache to be handed over.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.largest import largest
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.loads import Delivered, by_no_clock, tail_of
from optimizer.performance.measured.rows import APART, DeploymentTable
from optimizer.performance.physics.constants import calibration_of, group_name
from optimizer.performance.physics.memory import cache_copies, kv_bytes_per_sequence
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.performance.physics.replica_model import ReplicaModel
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import Columns, Setup
from optimizer.performance.physics.step import first_token_seconds, prefill_seconds
from optimizer.performance.physics.token_mix import TokenMix
from optimizer.performance.uncertainty.evidence import kind_of

MEASURED: Final = "apart_measured"
"""Names the engines and kinds of model of which somebody measured both pools, among the rows of the calibration."""
LOADS: Final = ("concurrency", "request_rate")
AS_REPLICAS: Final = {"tp": "tp", "ep": "ep", "attention_dp": "dp_attn", "dp": "workers"}
"""Columns of a row, by those of its decode workers that stand for them."""


def is_apart(table: DeploymentTable) -> Flags:
    """Whether each row says something of two pools, (n,)."""
    unsaid: Flags = np.logical_and.reduce([np.isnan(table.numbers[name]) for name in APART])
    return ~unsaid


def read_apart(table: DeploymentTable, catalogs: Catalogs) -> None:
    """Refuse rows that say half of it or that nobody measured the like of; decode workers become the row's replicas."""
    numbers, apart = table.numbers, is_apart(table)
    if not apart.any():
        return
    whole = [numbers[name] for name in ("prefill_workers", "prefill_tp", "decode_workers", "decode_tp")]
    half = apart & np.isnan(whole).any(axis=0)
    table.refuse(half, "prefill_workers, prefill_tp, decode_workers and decode_tp go together")
    table.refuse(apart & ~np.isin(table.names["load_type"], LOADS), "prefill and decode apart serve clients or a rate")
    table.refuse(apart & (np.floor(whole) != whole).any(axis=0), "workers and their degrees must be whole")
    gpus = whole[0] * whole[1] + whole[2] * whole[3]
    other = apart & ~half & ~np.isnan(numbers["num_gpus"]) & (numbers["num_gpus"] != gpus)
    table.refuse(other, "num_gpus is not prefill_workers x prefill_tp + decode_workers x decode_tp")
    _refuse_unmeasured(table, apart & (table.problem == ""), catalogs)
    for name, of_decode in AS_REPLICAS.items():
        numbers[name] = np.where(apart, numbers[f"decode_{of_decode}"], numbers[name])
    numbers["num_gpus"] = np.where(apart, whole[2] * whole[3], numbers["num_gpus"])


def _refuse_unmeasured(table: DeploymentTable, rows: Flags, catalogs: Catalogs) -> None:
    """What it gains or loses flips with the load, so that nothing is guessed from other engines or kinds of model."""
    known = calibration_of(catalogs).members(MEASURED)
    for row in np.flatnonzero(rows).tolist():
        engine, kind = table.names["engine"][row], kind_of(catalogs.model(table.names["model"][row]))
        if group_name((engine, kind)) not in known:
            told = ", ".join(sorted(known))
            table.problem[row] = f"nobody measured prefill and decode apart with {engine} and a {kind} model: {told}"


def prefill_columns(table: DeploymentTable, columns: Columns, rows: Ints) -> Columns:
    """The configurations of the prefill workers of some rows, those of the row itself where it has none apart."""
    numbers, apart = {name: table.numbers[name][rows] for name in APART}, is_apart(table)[rows]
    return {
        **columns,
        "tensor_parallel": np.where(apart, numbers["prefill_tp"], columns["tensor_parallel"]),
        "attention_dp": np.where(apart, numbers["prefill_dp_attn"] > 0, columns["attention_dp"]),
        "expert_parallel": np.where(apart, numbers["prefill_ep"] > 1, columns["expert_parallel"]),
        "draft_tokens": np.zeros(len(apart)),
        "accepted_tokens": np.ones(len(apart)),
    }


@dataclass(frozen=True)
class Prompts(RowArrays):
    """What prompts ask of the prefill workers of one decode worker, (n,), seconds.

    Attributes:
        alone: Of a prompt that meets nobody, until its first token is out, its cache handed over.
        each: Between two prompts while the workers are busy.
    """

    alone: Floats
    each: Floats

    @classmethod
    def of(cls, prefill: Setup, demand: TokenMix, workers: Floats) -> "Prompts":
        """Workers read as many prompts together as fill a step of each of their ranks.

        Args:
            prefill: One worker of each row.
            demand: One class of requests.
            workers: For each decode worker, (n,).
        """
        new, cached = demand.new_tokens[:, :1], demand.cached_tokens[:, :1]
        one = prefill_seconds(prefill, new, cached, np.ones_like(new))
        together = np.maximum((prefill.layout.max_batched_tokens * cache_copies(prefill))[:, None] / new, 1.0)
        busy = np.minimum(one, prefill_seconds(prefill, new, cached, together) / together)
        sent = kv_bytes_per_sequence(prefill, new + cached)[:, 0] / prefill.constants["hand_over_bytes_per_s"]
        alone = first_token_seconds(prefill, one)[:, 0] + prefill.constants["hand_over_s"] + sent
        return cls(alone, busy[:, 0] / workers)

    def wait(self, rate_per_s: Floats, cv2: Floats | float = 1.0) -> Floats:
        """For the prompts of others that come at a rate, (n,), their gaps as uneven as told; infinite at the capacity.

        Source: Kingman's formula with constant service, which is the M/D/1 queue where arrivals are Poisson.
        """
        load = rate_per_s * self.each
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(load < 1, cv2 * self.each * load / (2 * np.maximum(1 - load, 0)), np.inf)


def closed_loop_apart(decode: ReplicaModel, prompts: Prompts, clients: Floats, in_wave: Floats) -> Delivered:
    """`clients` (n,) requests in flight at a decode worker and in its prompts, of which the first wave is a share of
    the run.

    Those that do not decode wait for their prompts, or for a place. All prompts of the first wave come at once.
    """
    constants = decode.setup.constants
    high = np.minimum(clients, np.maximum(decode.places, 1.0))

    def beyond(decoding: Floats) -> Floats:
        rate = _rate(decode, decoding)
        return decoding + np.minimum(rate * (prompts.alone + prompts.wait(rate)), 2 * clients) - clients

    decoding = largest(beyond, high)
    rate = np.minimum(_rate(decode, decoding), 1 / prompts.each)
    tpot = _step(decode, decoding)
    first = np.maximum(clients / rate - _after_first(decode) * tpot, prompts.alone)
    wave = np.maximum(clients * prompts.each, first - prompts.alone)
    median = np.minimum(first + constants["prefill_wave_median_share"] * wave, prompts.alone + wave)
    mean = np.minimum(median + constants["prefill_wave_mean_share"] * wave * in_wave, prompts.alone + wave)
    late = [np.minimum(median + tail_of(name) * (first - prompts.alone), prompts.alone + wave) for name in TAILS]
    p95, p99 = (np.maximum(each, mean) for each in late)
    return Delivered(mean, median, p95, p99, tpot, tpot, rate, by_no_clock(clients))


def open_loop_apart(decode: ReplicaModel, prompts: Prompts, rate_per_s: Floats) -> Delivered:
    """Arrivals at a decode worker, (n,); above the capacity of either pool latencies are those at its edge, where the
    line for a place to decode is not counted."""
    limit = decode.setup.constants["prefill_load_limit"]
    high = np.maximum(decode.places, 1.0)
    most = np.minimum(_rate(decode, high), 1 / prompts.each)
    rate = np.minimum(rate_per_s, most)
    decoding = largest(lambda b: _rate(decode, b) - rate, high)
    waited = prompts.wait(np.minimum(rate, limit / prompts.each), decode.demand.arrivals.cv2)
    tpot, mean = _step(decode, decoding), prompts.alone + waited
    median, p95, p99 = (prompts.alone + tail_of(name) * waited for name in ("p50", *TAILS))
    return Delivered(mean, median, p95, p99, tpot, tpot, rate, rate_per_s / most)


TAILS: Final = tuple(name for name in ("p95", "p99") if name in QUANTILES)


def _step(decode: ReplicaModel, decoding: Floats) -> Floats:
    """Seconds of a token where so many (n,) decode, one's own among them."""
    return decode.steps.decode(np.maximum(decoding, 1.0)).total


def _after_first(decode: ReplicaModel) -> Floats:
    return np.maximum(decode.demand.mean_output - 1, 1.0)


def _rate(decode: ReplicaModel, decoding: Floats) -> Floats:
    """Requests per second that so many (n,) answers come to."""
    return decoding / (_after_first(decode) * _step(decode, decoding))
