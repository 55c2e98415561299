"""What measurements of one's own moved: factors on predictions, by how near a configuration is to what was measured.

Rows `deployment_factor` (measured over predicted) and `deployment_width` (what is left of an interval's half-width, a
share) of the calibration catalog, which `calibrate --own` writes and the shipped one has none of. Their group is a
metric, a kind of load or `any`, and a deployment, narrowest first:

    tpot@request_rate@vllm:0.19@l4@llama-3.1-8b@fp8@bf16@tp1pp1    the configuration
    tpot@request_rate@vllm:0.19@l4@llama-3.1-8b                    its engine, GPU and model otherwise
    tpot@request_rate@vllm:0.19@l4                                 its engine and GPU otherwise
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats, Names
from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import figure
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Calibration, calibration_of, group_name
from optimizer.performance.physics.eras import era_of
from optimizer.performance.physics.facts import PLAIN_PRECISION
from optimizer.performance.physics.row_arrays import RowArrays

FACTOR: Final = "deployment_factor"
WIDTH: Final = "deployment_width"
MOST: Final = {FACTOR: sys.float_info.max, WIDTH: 1.0}
"""Value of each that no row exceeds."""

ANY_LOAD: Final = "any"
"""Kinds of load that nobody measured there."""

PLANNING_LOAD: Final[Mapping[str, str]] = {"ttft": "request_rate", "tpot": "request_rate", "throughput": "offline"}
"""Plans serve open arrivals and stay below the capacity: the loads whose errors their margins come from."""

SAME: Final = (
    *("engine", "engine_version", "gpu", "model", "precision", "kv_precision"),
    *("tensor_parallel", "pipeline_parallel", "attention_dp", "expert_parallel", "draft_tokens"),
)
"""Fields of a configuration that make a deployment; its release counts by its era."""


class DeploymentName(NamedTuple):
    """What a deployment is called, from the least to the most exact."""

    gpu: str
    model: str
    configuration: str


@dataclass(frozen=True)
class OwnFactors(RowArrays):
    """Measured over predicted, (n,): latencies, and what a replica serves at most."""

    ttft: Floats
    tpot: Floats
    throughput: Floats

    @classmethod
    def none(cls, rows: int) -> "OwnFactors":
        """Of rows that nothing moved."""
        return cls(np.ones(rows), np.ones(rows), np.ones(rows))


@dataclass(frozen=True)
class OwnRows:
    """The rows of a calibration that own measurements left, by group."""

    factor: Mapping[str, float]
    width: Mapping[str, float]

    @classmethod
    def of(cls, calibration: Calibration) -> "OwnRows | None":
        """None where nobody measured deployments of their own.

        Raises:
            InputError: a factor that is not above 0, a width that is no share.
        """
        rows = [entry for entry in calibration.entries if entry.parameter in MOST]
        wrong = [row for row in rows if not 0 < row.value <= MOST[row.parameter]]
        if wrong:
            problem, hint = "is no value of it", "make it anew with `optimizer calibrate --own`"
            found = [(f"{row.parameter} {row.group}", f"{figure(row.value)} {problem}") for row in wrong]
            raise InputError(Finding("calibration.csv", 0, name, said, hint) for name, said in found)
        return cls(calibration.members(FACTOR), calibration.members(WIDTH)) if rows else None

    def measured(self, names: Categorical[DeploymentName]) -> Flags:
        """Whether what a token takes was measured of each row's very configuration, (n,)."""
        load = PLANNING_LOAD["tpot"]
        return names.passing(lambda name: group_name(("tpot", load, name.configuration)) in self.factor)

    def near(self, name: DeploymentName) -> bool:
        """Whether anything was measured of its engine on its GPU."""
        return any(group_name((metric, ANY_LOAD, name.gpu)) in self.factor for metric in PLANNING_LOAD)

    def factors(self, metric: str, loads: Sequence[str] | Names, names: Categorical[DeploymentName]) -> Floats:
        """Measured over predicted, (n,); 1 where nothing near was measured."""
        return _looked_up(self.factor, metric, loads, names)

    def widths(self, metric: str, loads: Sequence[str] | Names, names: Categorical[DeploymentName]) -> Floats:
        """Share of the half-width that is left, (n,); 1 where nothing near was measured."""
        return _looked_up(self.width, metric, loads, names)


def _looked_up(
    rows: Mapping[str, float], metric: str, loads: Sequence[str] | Names, names: Categorical[DeploymentName]
) -> Floats:
    """The value of the narrowest group that holds each row, (n,)."""
    cases = Categorical.joined(Categorical[str].of(loads), names)

    def value(load: str, name: DeploymentName) -> float:
        groups = (group_name((metric, kind, each)) for each in reversed(name) for kind in (load, ANY_LOAD))
        return next((rows[group] for group in groups if group in rows), 1.0)

    return cases.by_row([value(*case) for case in cases.categories])


def own_factors(catalogs: Catalogs, columns: Mapping[str, Sequence[Any] | Names]) -> OwnFactors | None:
    """The factors on what a plan asks of configurations, one column a field; None without own measurements."""
    own = OwnRows.of(calibration_of(catalogs))
    if own is None:
        return None
    names = deployment_names(catalogs, {name: Categorical.of(columns[name]) for name in SAME})

    def of(metric: str) -> Floats:
        return own.factors(metric, [PLANNING_LOAD[metric]] * len(names.codes), names)

    return OwnFactors(of("ttft"), of("tpot"), of("throughput"))


def deployment_names(catalogs: Catalogs, fields: Mapping[str, Categorical[Any]]) -> Categorical[DeploymentName]:
    """What each row's deployment is called, from the fields of `SAME`."""
    calibration = calibration_of(catalogs)
    kinds = Categorical.joined(*(fields[name] for name in SAME))
    era = {release: era_of(calibration, *release) for release in {kind[:2] for kind in kinds.categories}}
    return Categorical(tuple(_name(catalogs, era[kind[:2]], kind) for kind in kinds.categories), kinds.codes)


def _name(catalogs: Catalogs, era: str, kind: tuple[Any, ...]) -> DeploymentName:
    """What a deployment with these values of `SAME` is called."""
    _, _, gpu, model, precision, kv_precision, tp, pp, attention_dp, expert_parallel, draft_tokens = kind
    layout = f"tp{tp:.0f}pp{pp:.0f}" + ("dp" if attention_dp else "") + ("ep" if expert_parallel else "")
    layout += f"k{draft_tokens:.0f}" if draft_tokens else ""
    stored = (PLAIN_PRECISION if each in SIXTEEN_BIT else each for each in (precision, kv_precision))
    of_gpu = group_name((era, gpu))
    of_model = group_name((of_gpu, catalogs.model(model).id))
    return DeploymentName(of_gpu, of_model, group_name((of_model, *stored, layout)))


def without_own(calibration: Sequence[CalibrationEntry]) -> tuple[CalibrationEntry, ...]:
    """The calibration as it was before anything of one's own was measured."""
    return tuple(entry for entry in calibration if entry.parameter not in (FACTOR, WIDTH))
