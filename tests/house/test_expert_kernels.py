"""What is read off a table of expert kernels is what made the table."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pandas as pd
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.constants import Calibration

FLOORS_US = {"bfloat16": 20.0, "fp8_block": 30.0}
SHARES = {"bfloat16": 0.4, "fp8_block": 0.2}
BANDWIDTH_SHARE = 0.8


def made(catalogs: Catalogs, module: Any) -> Iterator[dict[str, object]]:
    """Kernels of one GPU that take exactly what the formula says."""
    shapes = module.Shapes.of(Calibration.of(catalogs.calibration))
    gpu = catalogs.gpu("h100-sxm")
    cases = product(FLOORS_US, (1, 16, 256, 4096), (512, 1024, 4096), (2048, 4096))
    for dtype, tokens, width, hidden in cases:
        row = {
            **{"gpu": "h100-sxm", "moe_dtype": dtype, "num_tokens": tokens, "hidden_size": hidden, "inter_size": width},
            **{"topk": 8, "num_experts": 64, "moe_tp_size": 1, "moe_ep_size": 1, "latency_ms": 1.0},
        }
        bare = module.kernels(pd.DataFrame([row]), gpu, catalogs, shapes)
        read, work = bare.reading[0] / BANDWIDTH_SHARE, bare.multiplying[0] / SHARES[dtype]
        overlapped = (read**shapes.norm + work**shapes.norm) ** (1 / shapes.norm)
        # a single token multiplies in no time beside what it reads
        seconds = FLOORS_US[dtype] * 1e-6 + (read if tokens == 1 else overlapped)
        yield row | {"latency_ms": seconds * 1e3}


def test_floors_and_shares_are_found_again(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    module = script("expert_kernels")
    found = module.priors(pd.DataFrame(made(catalogs, module)), catalogs).set_index("dtype")
    for dtype in FLOORS_US:
        assert found.loc[dtype, "floor_s"] * 1e6 == pytest.approx(FLOORS_US[dtype], rel=0.05)
        assert found.loc[dtype, "share"] == pytest.approx(SHARES[dtype], rel=0.1)
    assert found.loc["fp8_block", "over_16_bits"] == pytest.approx(0.5, rel=0.1)
    assert found.loc["bfloat16", "factor"] == pytest.approx(1.0)


def test_latencies_that_do_not_follow_their_bytes_tell_no_floor(
    catalogs: Catalogs, script: Callable[[str], Any]
) -> None:
    module = script("expert_kernels")
    rows = [row | {"latency_ms": 0.02 * 3 ** (at % 3)} for at, row in enumerate(made(catalogs, module))]
    assert module.priors(pd.DataFrame(rows), catalogs)["floor_s"].isna().all()
