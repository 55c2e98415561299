"""Configurations predicted again as measurements of one's own would show them."""

from dataclasses import replace

from optimizer.base.arrays import Ints
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.options import WorkloadOptions, predicted
from optimizer.performance.candidates.selecting import taken, with_rows
from optimizer.performance.physics.setup import gather
from optimizer.performance.uncertainty.evidence import margins, unmeasured


def predicted_again(options: WorkloadOptions, rows: Ints, catalogs: Catalogs, confidence: float) -> WorkloadOptions:
    """The same configurations, some of them predicted by catalogs that differ in what was measured of one's own.

    Args:
        options: As they are predicted today.
        rows: The configurations that are predicted again.
        catalogs: With those measurements.
        confidence: Of the promises.
    """
    asked = taken(options, rows)
    configurations, fixed = asked.configurations, dict(asked.fixed)
    if "measured" in fixed:
        fixed["measured"] = unmeasured(catalogs, configurations)
    limits = replace(asked.limits, margins=margins(catalogs, configurations, confidence))
    asked = replace(asked, setup=gather(catalogs, configurations), limits=limits, fixed=fixed)
    return with_rows(options, rows, predicted(asked, [known.pool for known in asked.pools]))
