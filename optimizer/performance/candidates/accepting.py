"""Configurations of which nobody published something, let in: known in everything else, they need no prediction."""

from dataclasses import replace

import numpy as np

from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA


def accepted(options: WorkloadOptions, workload: Workload, *, speed: bool, quality: bool) -> WorkloadOptions:
    """The same configurations where it is not held against them that nobody measured them, or published their quality.

    Args:
        options: Of a workload with one of its models.
        workload: The same, as it accepts that.
        speed: Whether estimated speeds are let in.
        quality: Whether weights without published quality are, where no floor is asked.
    """
    names = {"measured": speed, "published": quality}
    fixed = {name: bad & (not names.get(name, False)) for name, bad in options.fixed.items()}
    held = np.array([not names.get(criterion.name, False) for criterion in CONFIGURATION_CRITERIA])
    pools = tuple(replace(pool, failed=pool.failed & held) for pool in options.pools)
    return replace(options, workload=workload, fixed=fixed, pools=pools)
