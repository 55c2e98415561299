"""What TPOT under requests that come by the clock tells of steps: by how much all of them took longer than predicted.

Longer steps let requests gather, which makes steps longer still, so at a high load a small error of what steps take is
a large one of TPOT: where d times as long a step is TPOT(r · d) · d at r requests a second, d is what is looked for.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.largest import largest
from optimizer.base.units import MS_PER_S
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit.fitting import FitProblem, log_errors
from optimizer.performance.measured.deployments import deliver_slowed, in_their_time

TPOT, TTFT = METRICS.index("tpot"), METRICS.index("ttft")

MOST: Final = 20.0
"""Times as long as predicted that a step is looked for."""
LEAST: Final = 1e-3


def errors_of_steps(judged: FitProblem, values: Floats) -> Floats:
    """log predicted − log measured, (3, m), NaN where nothing was measured; of TPOT under requests that come by the
    clock what that is of steps."""
    errors = log_errors(judged, values)
    rows = np.flatnonzero(judged.deployments.by_clock & np.isfinite(errors[TPOT]))
    if not len(rows):
        return errors
    found, measured = judged.deployments.take(rows).with_values(values), judged.measured[TPOT, rows]

    def beyond_measured(longer: Floats) -> Floats:
        times = np.maximum(longer, LEAST)
        excess: Floats = np.log(deliver_slowed(found, times).tpot_s * MS_PER_S) - measured
        return excess

    errors[TPOT, rows] = -np.log(np.maximum(largest(beyond_measured, np.full(len(rows), MOST)), LEAST))
    return errors


def errors_beside_steps(judged: FitProblem, values: Floats) -> Floats:
    """The same, (3, m), and of TTFT under requests that come by the clock what its error is beside as many of them as
    steps gather that take as long as they were measured to."""
    errors = errors_of_steps(judged, values)
    longer = np.exp(-np.nan_to_num(errors[TPOT]))
    gathered = replace(judged, deployments=in_their_time(judged.deployments, longer))
    errors[TTFT] = log_errors(gathered, values)[TTFT]
    return errors
