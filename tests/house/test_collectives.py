"""What is read off a table of all-reduces is what made the table."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from optimizer.inputs.catalog.records import Catalogs

SHARE, EXPONENT, GROWTH, LATENCY_S, START_S = 0.6, -0.2, 0.15, 4e-6, 1.2e-5


def made(catalogs: Catalogs, module: Any) -> Iterator[dict[str, object]]:
    """All-reduces of two GPUs of one architecture, which take exactly what the formula says."""
    count = len(module.ENGINES)
    x = np.array([np.log(SHARE), EXPONENT, GROWTH, *[np.log(LATENCY_S)] * count, *[np.log(START_S)] * count])
    for gpu, backend, gpus, size in product(("h100-sxm", "h200-sxm"), module.ENGINES, (2, 4, 8), range(12, 30)):
        link = catalogs.gpu(gpu).link_gb_per_s
        assert link is not None
        moved_s = 2**size / (link * 1e9)
        seconds = module.predicted(
            x, np.array([module.ENGINES.index(backend)]), np.array([float(gpus)]), np.array([moved_s]), False
        )[0]
        yield {
            **{"gpu": gpu, "backend": backend, "op": "all_reduce", "num_gpus": gpus},
            **{"message_bytes": 2**size, "latency_ms": seconds * 1e3},
        }


def test_latency_start_and_share_are_found_again(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    module = script("collectives")
    rows = pd.DataFrame(made(catalogs, module))
    other = rows.assign(op="all_gather", latency_ms=1.0)
    found = module.priors(pd.concat([rows, other]), catalogs)
    assert found["architecture"].tolist() == ["hopper"]
    hopper = found.iloc[0]
    assert hopper["rows"] == len(rows)
    assert hopper["latency_us"] == pytest.approx(LATENCY_S * 1e6, rel=0.05)
    assert hopper["start_us"] == pytest.approx(START_S * 1e6, rel=0.05)
    assert hopper["share"] == pytest.approx(SHARE, rel=0.05)
    assert (hopper["e"], hopper["x"]) == pytest.approx((GROWTH, EXPONENT), abs=0.03)
    assert hopper["error"] < 0.01 < hopper["ring_alone"]


def test_gpus_without_nvlink_tell_nothing(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    module = script("collectives")
    rows = pd.DataFrame(made(catalogs, module)).assign(gpu="l40s")
    assert module.priors(rows, catalogs).empty
