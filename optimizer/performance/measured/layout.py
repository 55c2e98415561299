"""How a deployment's GPUs are divided into replicas where a row does not say: the usual layout, and a note of it."""

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.measured.rows import DeploymentTable, given_or


def assign_layout(
    table: DeploymentTable, weight_bytes: Floats, room_bytes: Floats, latent: Flags, left: Floats
) -> None:
    """Settle tensor and pipeline degree, replicas and attention data parallelism of every row, (n,).

    Ranks of attention data parallelism are recognized by `attention_dp`, or by dp > 1 on as many GPUs as one
    replica has. Where the tensor degree is missing, it is what `dp` replicas leave of `num_gpus` for each (`left`,
    (n,), NaN where that is not said or no engine runs it); else the least power of two that keeps the weights
    (`weight_bytes`, on one GPU) below the share of each GPU's memory (`room_bytes`) that leaves enough to cache. A
    model whose cache tensor parallelism cannot divide (`latent`, (n,)) then runs attention data-parallel.
    """
    gpus, dp = table.numbers["num_gpus"], table.numbers["dp"]
    max_gpus = given_or(gpus, np.inf)
    widest = 2.0 ** np.floor(np.log2(np.maximum(max_gpus, 1.0)))
    pp = given_or(table.numbers["pp"], 1.0)
    least = np.minimum(_least_degree(weight_bytes / room_bytes), widest)
    told = (left >= least) & ~latent
    tp = given_or(table.numbers["tp"], np.where(told, left, least))
    assumed = np.isnan(table.numbers["tp"])
    ranks = assumed & latent | (table.numbers["attention_dp"] > 0) | (dp > 1) & (gpus == tp * pp) & (tp > 1)
    # ranks share the GPUs of one replica, so that only the GPUs tell how many replicas there are
    fitting = np.maximum(np.floor(given_or(gpus, tp * pp) / (tp * pp)), 1.0)
    replicas = np.where(ranks | np.isnan(dp), fitting, dp)
    _note_assumed(table, assumed, np.stack([tp, pp, replicas]))
    table.refuse(~np.isnan(gpus) & (gpus != np.floor(gpus)), "num_gpus must be whole")
    table.refuse(np.any([degree != np.floor(degree) for degree in (tp, pp, replicas)], axis=0), "degrees must be whole")
    table.refuse(tp * pp * replicas > max_gpus, "tp x pp x dp exceeds num_gpus")
    _note_idle(table, gpus, tp * pp * replicas)
    table.layout = {"tp": tp, "pp": pp, "replicas": replicas, "attention_dp": ranks.astype(np.float64)}


def _least_degree(shares: Floats) -> Floats:
    """The least power of two that is no smaller, at least 1, (n,)."""
    least: Floats = 2.0 ** np.ceil(np.log2(np.maximum(shares, 1.0)) - 1e-9)
    return least


def _note_assumed(table: DeploymentTable, assumed: Flags, degrees: Floats) -> None:
    """Name the layout, (3, n), of the rows that give none."""
    text = np.full(len(assumed), "", dtype=object)
    for row in np.flatnonzero(assumed):
        text[row] = "layout not given: tp {:.0f}, pp {:.0f}, {:.0f} replicas".format(*degrees[:, row])
    table.remark(assumed, text)


def _note_idle(table: DeploymentTable, gpus: Floats, used: Floats) -> None:
    """Say of rows, (n,), whose layout has fewer GPUs than the row that the others are taken to do nothing."""
    idle = gpus > used
    text = np.full(len(idle), "", dtype=object)
    for row in np.flatnonzero(idle):
        text[row] = f"tp x pp x dp is {used[row]:.0f} of {gpus[row]:.0f} GPUs: the others do nothing"
    table.remark(idle, text)
