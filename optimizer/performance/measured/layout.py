"""How a deployment's GPUs are divided into replicas where a row does not say: the usual layout, and a note of it."""

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.measured.rows import DeploymentTable


def assign_layout(table: DeploymentTable, weight_bytes: Floats, room_bytes: Floats, latent: np.ndarray) -> None:
    """Settle tensor and pipeline degree, replicas and attention data parallelism of every row, (n,).

    Ranks of attention data parallelism are recognized by `attention_dp`, or by dp > 1 on as many GPUs as one
    replica has. Where the tensor degree is missing, it is the least power of two that keeps the weights
    (`weight_bytes`, on one GPU) below the share of each GPU's memory (`room_bytes`) that leaves enough to cache;
    a model whose cache tensor parallelism cannot divide (`latent`, (n,)) then runs attention data-parallel.
    """
    numbers = table.numbers
    gpus, dp = numbers["num_gpus"], numbers["dp"]
    pp = np.where(np.isnan(numbers["pp"]), 1.0, numbers["pp"])
    needed = np.maximum(weight_bytes / room_bytes, 1.0)
    usual = np.minimum(2.0 ** np.ceil(np.log2(needed) - 1e-9), np.where(np.isnan(gpus), np.inf, gpus))
    tp = np.where(np.isnan(numbers["tp"]), usual, numbers["tp"])
    whole = tp * pp
    spread = np.isnan(numbers["tp"]) & latent
    ranks = spread | (numbers["attention_dp"] > 0) | (dp > 1) & (gpus == whole) & (tp > 1)
    fitted = np.maximum(np.floor(np.where(np.isnan(gpus), whole, gpus) / whole), 1.0)
    replicas = np.where(ranks | np.isnan(dp), fitted, dp)
    _note_missing(table, tp, pp, replicas)
    table.refuse(
        (tp != np.floor(tp)) | (pp != np.floor(pp)) | (replicas != np.floor(replicas)), "degrees must be whole"
    )
    table.refuse(whole * replicas > np.where(np.isnan(gpus), np.inf, gpus), "tp x pp x dp exceeds num_gpus")
    table.layout = {"tp": tp, "pp": pp, "replicas": replicas, "attention_dp": ranks.astype(np.float64)}


def _note_missing(table: DeploymentTable, tp: Floats, pp: Floats, replicas: Floats) -> None:
    """Name the assumed layout of the rows that give none."""
    missing = np.isnan(table.numbers["tp"])
    text = np.full(len(tp), "", dtype=object)
    for row in np.flatnonzero(missing):
        text[row] = f"layout not given: tp {tp[row]:.0f}, pp {pp[row]:.0f}, {replicas[row]:.0f} replicas"
    table.remark(missing, text)
