"""What own measurements say of deployments under a benchmark's load: predictions moved, intervals narrowed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.deployments import columns_of
from optimizer.performance.measured.loads import SMALL
from optimizer.performance.measured.rows import DeploymentTable
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.own import SAME, DeploymentName, OwnRows, deployment_names
from optimizer.performance.uncertainty.evidence import OWN_DEPLOYMENT

MOVED: Final = "moved by your own measurements of this engine on this GPU"


@dataclass(frozen=True)
class OwnPredictions:
    """What is known of n rows by own measurements, nothing where `own` is None.

    Attributes:
        own: The rows of the calibration.
        names: What each row's deployment is called.
        measured: Whether its very configuration was measured, (n,).
    """

    own: OwnRows | None
    names: Categorical[DeploymentName]
    measured: Flags

    @classmethod
    def of(cls, table: DeploymentTable, rows: Ints, catalogs: Catalogs) -> "OwnPredictions":
        """Of some rows of a settled table, which is told what they rest on."""
        own = OwnRows.of(calibration_of(catalogs))
        if own is None:
            return cls(None, Categorical((), np.empty(0, np.intp)), np.zeros(len(rows), np.bool_))
        names = names_of(table, rows, catalogs)
        known = own.measured(names)
        moved = own.factors("tpot", [""] * len(rows), names) != 1
        table.remark(table.column(rows, known, False), OWN_DEPLOYMENT)
        table.remark(table.column(rows, moved & ~known, False), MOVED)
        return cls(own, names, known)

    def factors(self, metric: str, loads: Sequence[str]) -> Floats:
        """On the predictions of a metric by kind of load, (n,)."""
        return np.ones(len(loads)) if self.own is None else self.own.factors(metric, loads, self.names)

    def widths(self, metric: str, loads: Sequence[str]) -> Floats:
        """What is left of the half-widths of their intervals, (n,)."""
        return np.ones(len(loads)) if self.own is None else self.own.widths(metric, loads, self.names)

    def delivered(self, requests: Floats, utilization: Floats, arriving: Floats, loads: Sequence[str]) -> "ServedRate":
        """What deployments deliver: as they can, but of what arrives by the clock no more than arrives, (n,).

        Args:
            requests: Requests/s as predicted.
            utilization: What arrives as a share of what can be served, NaN where nothing arrives by the clock.
            arriving: Requests/s that arrive, where any do.
            loads: Kind of load of each row.
        """
        if self.own is None:
            return ServedRate(requests, utilization)
        served = self.factors("throughput", loads)
        by_clock = np.isfinite(utilization)
        capacity = arriving * served / np.maximum(utilization, SMALL)
        return ServedRate(np.where(by_clock, np.fmin(requests, capacity), requests * served), utilization / served)


@dataclass(frozen=True)
class ServedRate:
    """Requests/s delivered, and the share of the capacity that arrives, (n,)."""

    requests_per_s: Floats
    utilization: Floats


def names_of(table: DeploymentTable, rows: Ints, catalogs: Catalogs) -> Categorical[DeploymentName]:
    """What the deployments in some rows of a settled table are called."""
    columns = columns_of(table, rows)
    return deployment_names(catalogs, {name: Categorical.of(np.asarray(columns[name])) for name in SAME})
