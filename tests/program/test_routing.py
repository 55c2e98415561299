"""Who serves what once the machines are bought: spare replicas stand by."""

import numpy as np
import pytest

from optimizer.program.formulation.rows import at_least
from optimizer.program.refine.routing import ROUTING_TOLERANCE, _Router


def test_spare_replicas_are_used_by_less_than_verification_grants() -> None:
    """Of two deployments, one must leave half of its replicas alone: it gives way by half of the tolerance at most."""
    demand = at_least(["demand[]"], 1.5, (np.zeros(2, dtype=np.int64), np.arange(2), np.ones(2)))
    router = _Router(
        deployments=2,
        deployment=np.arange(2),
        load=np.ones(2),
        unspared=np.array([0.5, 1.0]),
        max_utilization=1.0,
        open_rows=demand,
    )
    kept_alone, other = router.balanced()
    assert kept_alone + other == pytest.approx(1.5)
    assert kept_alone + 1e-9 >= 0.5
    assert kept_alone / 0.5 - 1 < 0.6 * ROUTING_TOLERANCE
