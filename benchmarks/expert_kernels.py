"""What a table of measured expert kernels says of experts by format and architecture: priors of a fit.

    python benchmarks/expert_kernels.py moe_vllm.csv

The table has one row a measured kernel: gpu, moe_dtype, num_tokens, hidden_size, inter_size, topk, num_experts,
moe_tp_size, moe_ep_size, latency_ms (aiconfigurator's databases, Apache-2.0; the rows of one GPU's own experts count).
Two things are read off, GPUs of one architecture as their geometric mean:

- the least time of an expert layer (`expert_layer_floor_s`): the intercept of latency over the bytes that one token
  reads, by least squares of logarithms;
- how well a format multiplies against 16 bits (`expert_format_compute_factor`): latency = floor + smooth maximum of
  reading and multiplying, with the shapes and priors of the performance model; its share of the peak over that of
  16 bits, less what the prior of `precision_compute_factor` says of all layers.

Where one token's latencies do not follow their bytes (a median error over 15 %, or no intercept) nothing is told.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from optimizer.base.arrays import Floats
from optimizer.base.units import BITS_PER_BYTE, BYTES_PER_GB, FLOPS_PER_TFLOPS, MS_PER_S
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs, Gpu
from optimizer.performance.fit.fitting import prior_of
from optimizer.performance.physics.constants import Calibration

SCHEME = {
    "bfloat16": "bf16",
    "fp8_block": "fp8",
    "fp8": "fp8",
    "nvfp4": "fp4",
    "w4a16_mxfp4": "mxfp4",
    "int4_wo": "int4",
}
"""What the table calls a format, and its precision scheme here."""

UNPACKED = ("w4a16_mxfp4", "int4_wo")
"""Formats whose kernels multiply in 16 bits."""

PER_PARAM = 3
"""Matrices of a gated expert."""

LARGEST_ERROR = 0.15
LEAST_FLOOR_S = 1e-6
ROBUST = 0.1
"""Errors well within it, in logarithms, count by their square."""


@dataclass(frozen=True)
class Shapes:
    """Priors of the performance model that say how experts take time, whatever their format."""

    touch: float
    tile: float
    width_exponent: float
    reference_width: float
    norm: float

    @classmethod
    def of(cls, calibration: Calibration) -> "Shapes":
        """From the rows that hold for everything."""
        names = ("expert_touch_factor", "expert_tile_tokens", "expert_width_exponent", "expert_reference_width")
        found = [
            prior_of(calibration.entries[calibration.index(name, [""])]) for name in (*names, "expert_roofline_norm")
        ]
        return cls(*found)


@dataclass(frozen=True)
class Kernels:
    """The measured kernels of one format on one GPU, (n,): tokens, seconds, and least seconds by the datasheet."""

    tokens: Floats
    seconds: Floats
    reading: Floats
    multiplying: Floats


def kernels(rows: pd.DataFrame, gpu: Gpu, catalogs: Catalogs, shapes: Shapes) -> Kernels:
    """Rows of one format on one GPU beside what datasheets allow."""
    name = rows["moe_dtype"].iloc[0]
    width = (rows["inter_size"] / rows["moe_tp_size"]).to_numpy()
    share = (rows["topk"] / rows["num_experts"]).to_numpy()
    params = PER_PARAM * (rows["hidden_size"] * rows["num_experts"]).to_numpy() * width
    tokens = rows["num_tokens"].to_numpy(float)
    touched = 1 - (1 - share) ** (tokens * np.where(tokens > 1, shapes.touch, 1.0))
    peaks = {"bf16": gpu.bf16_tflops, "fp8": gpu.fp8_tflops, "fp4": gpu.fp4_tflops}
    peak = (peaks["bf16"] if name in UNPACKED else peaks[SCHEME[name]]) or np.nan
    slower = np.minimum((width / shapes.reference_width) ** shapes.width_exponent, np.inf)
    moved = params * catalogs.schemes[SCHEME[name]].weight_bits / BITS_PER_BYTE * touched
    work = 2 * params * (tokens * share + touched * shapes.tile)
    return Kernels(
        tokens,
        rows["latency_ms"].to_numpy() / MS_PER_S,
        moved / (gpu.memory_bandwidth_gb_per_s * BYTES_PER_GB),
        work / (peak * FLOPS_PER_TFLOPS * slower),
    )


def fitted(seconds: Floats, model: Callable[[Floats], Floats], start: list[float]) -> tuple[Floats, float]:
    """Parameters of the model, found in logarithms, and the median error."""

    def errors(x: Floats) -> Floats:
        return np.log(model(np.exp(x))) - np.log(seconds)

    limits = (np.log([LEAST_FLOOR_S / 10, 0.05, 0.01]), np.log([1e-3, 1.0, 1.0]))
    bounds = tuple(limit[: len(start)] for limit in limits)
    found = least_squares(errors, np.log(start), bounds=bounds, loss="soft_l1", f_scale=ROBUST)
    return np.exp(found.x), float(np.median(np.abs(errors(found.x))))


def floor(found: Kernels) -> float:
    """Seconds that an expert layer takes however little it reads; NaN where its latencies do not tell."""
    one = found.tokens == 1
    reading = found.reading[one]
    (floor_s, _), error = fitted(found.seconds[one], lambda x: x[0] + reading / x[1], [2e-5, 0.7])
    return float(floor_s) if error < LARGEST_ERROR and floor_s > LEAST_FLOOR_S else np.nan


def share_of_peak(found: Kernels, norm: float) -> float:
    """How much of the peak the kernels reach at the reference width."""

    def model(x: Floats) -> Floats:
        seconds: Floats = x[0] + ((found.reading / x[1]) ** norm + (found.multiplying / x[2]) ** norm) ** (1 / norm)
        return seconds

    return float(fitted(found.seconds, model, [2e-5, 0.7, 0.3])[0][2])


def priors(table: pd.DataFrame, catalogs: Catalogs) -> pd.DataFrame:
    """By architecture and scheme: floor in seconds, share of the peak, share over that of 16 bits, factor beside."""
    calibration = Calibration.of(catalogs.calibration)
    shapes = Shapes.of(calibration)
    rows = []
    for (name, dtype), part in table[table["moe_ep_size"] == 1].groupby(["gpu", "moe_dtype"], sort=True):
        gpu = catalogs.gpu(str(name))
        found = kernels(part, gpu, catalogs, shapes)
        rows.append((gpu.architecture, name, dtype, len(part), floor(found), share_of_peak(found, shapes.norm)))
    each = pd.DataFrame(rows, columns=["architecture", "gpu", "dtype", "kernels", "floor_s", "share"])
    whole = each.groupby(["architecture", "dtype"]).agg(
        gpus=("gpu", " ".join),
        kernels=("kernels", "sum"),
        floor_s=("floor_s", _geometric_mean),
        share=("share", _geometric_mean),
    )
    whole = whole.reset_index()
    plain = whole[whole["dtype"] == "bfloat16"].set_index("architecture")["share"]
    whole["over_16_bits"] = whole["share"] / whole["architecture"].map(plain)
    layers = [
        prior_of(calibration.entries[calibration.index("precision_compute_factor", [SCHEME[dtype], ""])])
        for dtype in whole["dtype"]
    ]
    return whole.assign(factor=whole["over_16_bits"] / layers)


def _geometric_mean(values: pd.Series) -> float:
    return float(np.exp(np.log(values.dropna()).mean())) if values.notna().any() else float("nan")


def main() -> None:
    """Parses the command line, reads the table and prints what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the measured kernels, as CSV")
    asked = parser.parse_args()
    print(priors(pd.read_csv(asked.table), load_catalogs()).to_string(index=False, float_format=lambda x: f"{x:.3g}"))


if __name__ == "__main__":
    main()
