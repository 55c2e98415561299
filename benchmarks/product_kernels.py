"""How sharply products turn from reading to multiplying, by what a table of measured kernels says: priors of a fit.

    python benchmarks/product_kernels.py gemm_efficiency_vllm.csv

The table has one row a measured product: gpu, dtype, m tokens by a matrix of n × k, latency_ms (aiconfigurator's
databases, Apache-2.0). Of each GPU and format, over matrices as large as a model's,

    latency = floor + (readingᵖ + multiplyingᵖ)^(1/p)

is fitted by least squares of logarithms, floor, both efficiencies and p (`roofline_norm`). Only formats of 16 and 8
bits with one scale a token are told: kernels of scales by block are a least time of tens of µs and little else.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from expert_kernels import ROBUST
from scipy.optimize import least_squares

from optimizer.base.arrays import Floats
from optimizer.base.units import BYTES_PER_GB, FLOPS_PER_TFLOPS, MS_PER_S
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs, Gpu

BYTES = {"bfloat16": 2.0, "fp8": 1.0}
"""Of a parameter, by what the table calls a format."""

SMALLEST = 8e6
"""Parameters of the smallest matrix that counts."""

START = (3e-6, 0.75, 0.6, 2.0)
"""Floor in seconds, share of the bandwidth, share of the peak, norm."""


def norm(rows: pd.DataFrame, gpu: Gpu) -> tuple[float, float, float]:
    """The norm of one format on one GPU, its floor in seconds, and the median error in logarithms."""
    dtype = rows["dtype"].iloc[0]
    peak = {"bfloat16": gpu.bf16_tflops, "fp8": gpu.fp8_tflops}[dtype] or np.nan
    params = (rows["n"] * rows["k"]).to_numpy(float)
    seconds = rows["latency_ms"].to_numpy() / MS_PER_S
    reading = params * BYTES[dtype] / (gpu.memory_bandwidth_gb_per_s * BYTES_PER_GB)
    multiplying = 2 * params * rows["m"].to_numpy(float) / (peak * FLOPS_PER_TFLOPS)

    def errors(x: Floats) -> Floats:
        floor, bandwidth, compute, power = np.exp(x)
        parts = np.stack([reading / bandwidth, multiplying / compute])
        longest = parts.max(axis=0)
        together: Floats = longest * ((parts / longest) ** power).sum(axis=0) ** (1 / power)
        return np.asarray(np.log((floor + together) / seconds))

    found = least_squares(errors, np.log(START), loss="cauchy", f_scale=ROBUST)
    floor, *_, power = np.exp(found.x)
    return float(power), float(floor), float(np.median(np.abs(found.fun)))


def norms(table: pd.DataFrame, catalogs: Catalogs) -> pd.DataFrame:
    """By architecture and format the geometric mean over its GPUs, and by architecture over both."""
    large = table[(table["n"] * table["k"] >= SMALLEST) & table["dtype"].isin(list(BYTES))]
    rows = [
        (catalogs.gpu(str(name)).architecture, name, dtype, len(part), *norm(part, catalogs.gpu(str(name))))
        for (name, dtype), part in large.groupby(["gpu", "dtype"], sort=True)
    ]
    each = pd.DataFrame(rows, columns=["architecture", "gpu", "dtype", "kernels", "norm", "floor_s", "error"])
    formats = each.groupby("architecture")["norm"].transform(_geometric_mean)
    return each.assign(of_architecture=formats)


def _geometric_mean(values: pd.Series) -> float:
    return float(np.exp(np.log(values).mean()))


def main() -> None:
    """Parses the command line, reads the table and prints what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the measured products, as CSV")
    asked = parser.parse_args()
    print(norms(pd.read_csv(asked.table), load_catalogs()).to_string(index=False, float_format=lambda x: f"{x:.3g}"))


if __name__ == "__main__":
    main()
