"""What a table of measured all-reduces says of the links between GPUs: priors of a fit.

    python benchmarks/collectives.py collectives.csv

The table has one row a measured collective: gpu, backend, op, num_gpus, message_bytes, latency_ms (aiconfigurator's
databases, Apache-2.0). All-reduces of inference engines count, in a recorded graph where they run in one, among GPUs
that NVLink joins. GPUs of one architecture are fitted together, each engine with a latency and a start of its own,
in logarithms:

    latency · nᵉ + min(bytes · (n − 1) / bus, start + bytes · 2(n − 1)/n / bus)

where the bus sustains a share of one direction of the link, times (n/2)^−x. Told of each architecture: geometric means
over engines, the median error, and that of a latency and the bytes of a ring alone.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import BYTES_PER_GB, MS_PER_S
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs

ENGINES = ("TRTLLM", "sglang_graph", "vllm_graph")
LINK = "nvlink"
LEAST_BYTES = 4096
"""Less is not sent: the activations of one token have 4,096 numbers and more."""

START = {"share": 0.6, "exponent": 0.0, "growth": 0.2, "latency": 4e-6, "start": 1e-5}
ROBUST = 0.1
"""Errors well within it, in logarithms, count by their square."""


def predicted(x: Floats, engine: Ints, gpus: Floats, moved_s: Floats, ring_alone: bool) -> Floats:
    """Seconds of all-reduces by the formula, (n,).

    Args:
        x: Logarithm of the share; x and e of the formula; logarithms of latencies and of starts by engine.
        engine: Index of the engine, (n,).
        gpus: How many take part, (n,).
        moved_s: Bytes over one direction of the link, (n,).
        ring_alone: Whether messages go round in a ring whatever their size, without a start.
    """
    count = len(ENGINES)
    bus = np.exp(x[0]) * (gpus / 2) ** -x[1]
    fixed = np.exp(x[3 : 3 + count])[engine] * gpus ** x[2]
    ring = moved_s * 2 * (gpus - 1) / gpus / bus
    direct = moved_s * (gpus - 1) / bus
    passed_on = np.exp(x[3 + count :])[engine] + ring
    seconds: Floats = fixed + (ring if ring_alone else np.minimum(direct, passed_on))
    return seconds


def fitted(rows: pd.DataFrame, ring_alone: bool) -> tuple[Floats, float]:
    """The parameters of `predicted`, and the median error."""
    engine = rows["backend"].map(ENGINES.index).to_numpy()
    gpus, moved_s = rows["num_gpus"].to_numpy(float), rows["moved_s"].to_numpy()
    measured = np.log(rows["latency_ms"].to_numpy() / MS_PER_S)

    def errors(x: Floats) -> Floats:
        return np.log(predicted(x, engine, gpus, moved_s, ring_alone)) - measured

    each = [[np.log(START[name])] * len(ENGINES) for name in ("latency", "start")]
    start = [np.log(START["share"]), START["exponent"], START["growth"], *each[0], *each[1]]
    found = least_squares(errors, start, loss="soft_l1", f_scale=ROBUST)
    return found.x, float(np.median(np.abs(errors(found.x))))


def priors(table: pd.DataFrame, catalogs: Catalogs) -> pd.DataFrame:
    """By architecture: latency and start in µs, e, share of the link, x, and the median errors in percent."""
    gpus = {name: catalogs.gpu(name) for name in sorted(table["gpu"].unique())}
    joined = [name for name, gpu in gpus.items() if gpu.link == LINK]
    rows = table[
        (table["op"] == "all_reduce")
        & table["backend"].isin(ENGINES)
        & table["gpu"].isin(joined)
        & (table["message_bytes"] >= LEAST_BYTES)
    ]
    link = rows["gpu"].map({name: (gpu.link_gb_per_s or np.nan) * BYTES_PER_GB for name, gpu in gpus.items()})
    rows = rows.assign(
        architecture=rows["gpu"].map({name: gpu.architecture for name, gpu in gpus.items()}),
        moved_s=rows["message_bytes"] / link,
    )
    found = []
    for architecture, part in rows.groupby("architecture", sort=True):
        x, error = fitted(part, ring_alone=False)
        _, before = fitted(part, ring_alone=True)
        latency, start = np.exp([np.mean(x[3 : 3 + len(ENGINES)]), np.mean(x[3 + len(ENGINES) :])]) * 1e6
        names = " ".join(sorted(part["gpu"].unique()))
        found.append((architecture, names, len(part), latency, start, x[2], np.exp(x[0]), x[1], error, before))
    columns = ["architecture", "gpus", "rows", "latency_us", "start_us", "e", "share", "x", "error", "ring_alone"]
    return pd.DataFrame(found, columns=columns)


def main() -> None:
    """Parses the command line, reads the table and prints what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the measured collectives, as CSV")
    asked = parser.parse_args()
    print(priors(pd.read_csv(asked.table), load_catalogs()).to_string(index=False, float_format=lambda x: f"{x:.3g}"))


if __name__ == "__main__":
    main()
