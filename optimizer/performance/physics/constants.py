"""Calibration constants: where each applies, how a row finds its own, and the margin a confidence asks for.

Every number lives in `catalogs/calibration.csv`; this module only declares along which axes a constant may vary.
A row takes the value of the most specific group that the catalog holds and falls back to broader ones.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.errors import Finding, InputError
from optimizer.base.once_of import OnceOf
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.row_arrays import RowArrays

Axes = tuple[str, ...]

ARCHITECTURE: Final[tuple[Axes, ...]] = (("architecture",), ("vendor",), ())
PRECISION: Final[tuple[Axes, ...]] = (("precision", "architecture"), ("precision", "vendor"), ("precision",), ())
ENGINE: Final[tuple[Axes, ...]] = (("era", "vendor"), ("era",), ("engine",), ())
KERNELS: Final[tuple[Axes, ...]] = (("era", "architecture"), ("era", "vendor"), ("era",), ())
FORMAT: Final[tuple[Axes, ...]] = (*PRECISION[:-1], ("architecture",), ())
LINK: Final[tuple[Axes, ...]] = (("link", "architecture"), ("link",), ())
WAVES: Final[tuple[Axes, ...]] = (("engine", "lengths"), ("lengths",), ())
ATTENTION: Final[tuple[Axes, ...]] = (("attention", "architecture"), ("attention", "vendor"), ("attention",), ())

HIERARCHY: Final[Mapping[str, tuple[Axes, ...]]] = {
    # the matrix units and the memory
    "bandwidth_efficiency": ARCHITECTURE,
    "compute_efficiency": ARCHITECTURE,
    "precision_bandwidth_factor": PRECISION,
    "precision_compute_factor": PRECISION,
    "engine_bandwidth_factor": KERNELS,
    "engine_compute_factor": KERNELS,
    "half_accumulation": (("engine",), ()),
    "roofline_norm": PRECISION,
    "expert_roofline_norm": ((),),
    "expert_bandwidth_factor": PRECISION,
    "expert_compute_factor": ARCHITECTURE,
    "expert_kernel_factor": (("era",), ()),
    "expert_format_compute_factor": PRECISION,
    "expert_width_exponent": ((),),
    "expert_reference_width": ((),),
    "expert_touch_factor": ((),),
    "expert_tile_tokens": ((),),
    "kv_bandwidth_efficiency": ATTENTION,
    "kv_head_expansion": ENGINE,
    "engine_attention_factor": ENGINE,
    "crowded_attention_share": ENGINE,
    "crowded_attention_heads": ((),),
    "crowded_attention_tokens": ((),),
    "head_weight_bits": PRECISION,
    "decode_attention_compute_efficiency": ((),),
    "prefill_attention_efficiency": ARCHITECTURE,
    "weights_unpacked": (("engine",), ()),
    "elementwise_traffic": (("engine",), ()),
    # the links
    "link_latency_s": LINK,
    "link_latency_exponent": LINK,
    "link_start_s": LINK,
    "link_bus_efficiency": LINK,
    "link_bus_exponent": LINK,
    "rank_skew_s": ((),),
    "library_all_reduce_s": (("era", "vendor"), ()),
    # the engine
    "step_overhead_s": ENGINE,
    "layer_overhead_s": ENGINE,
    "eager_layer_s": (("era",), ()),
    "sequence_overhead_s": ENGINE,
    "request_overhead_s": ENGINE,
    "launch_floor_s": ENGINE,
    "launch_norm": ((),),
    "expert_launch_floor_s": ENGINE,
    "latent_launch_floor_s": ENGINE,
    "stage_bubble_share": (("engine",), ()),
    "mixed_prefill_share": (("engine",), ()),
    "expert_layer_overhead_s": ENGINE,
    "expert_layer_floor_s": FORMAT,
    "mlp_launch_share": ((),),
    "latent_layer_overhead_s": ENGINE,
    "qk_norm_s": ((),),
    "routing_s": ((),),
    "layer_format_factor": PRECISION,
    "expert_format_factor": PRECISION,
    "waited_steps_closed": ENGINE,
    "waited_steps_open": ENGINE,
    "admission_wait_share": (("engine",), ()),
    "prefill_queue_factor": (("engine",), ()),
    "prefill_wave_mean_share": WAVES,
    "prefill_wave_median_share": WAVES,
    "prefill_load_limit": ((),),
    "capacity_deviation": ((),),
    "draft_step_share": ((),),
    "hand_over_s": ((),),
    "hand_over_bytes_per_s": ((),),
    "requests_per_client": ((),),
    "requests_per_run": ((),),
    "run_tail_lives": (("lengths",), ()),
    "loop_tail_lives": ((),),
    "lengths_vary": (("lengths",), ()),
    # memory
    "windows_kept": (("era",), ()),
    "kv_growth_share": (("engine",), ()),
    "layout_weights_share": ((),),
    "driver_reserve_share": (("vendor",), ()),
    "share_of_free_memory": (("engine",), ()),
    "runtime_single_bytes": ((),),
    "runtime_parallel_bytes": ((),),
    "sampler_bytes_per_logit": (("engine",), ()),
    "activation_bytes_per_element": ((),),
    "expert_activation_bytes_per_element": ((),),
}
"""For every constant the axes along which it may vary, most specific first; `()` is the value for everything."""

OF_ENGINES: Final = tuple(
    parameter
    for parameter, hierarchy in HIERARCHY.items()
    if {axis for level in hierarchy for axis in level} & {"engine", "era"} and hierarchy is not WAVES
)
"""Constants that an engine needs of its own. A row whose engine has none has NaN; any other gap is an error."""


OF_LATENCY: Final = frozenset(
    {
        "step_overhead_s",
        "layer_overhead_s",
        "eager_layer_s",
        "sequence_overhead_s",
        "request_overhead_s",
        "expert_layer_overhead_s",
        "expert_layer_floor_s",
        "mlp_launch_share",
        "latent_layer_overhead_s",
        "qk_norm_s",
        "routing_s",
        "rank_skew_s",
        "library_all_reduce_s",
        "launch_floor_s",
        "expert_launch_floor_s",
        "latent_launch_floor_s",
        "waited_steps_closed",
        "waited_steps_open",
    }
)
"""Times that an engine adds to a step or a request: only what was timed can tell them."""


DIGITS: Final = "%.4g"
"""Of every value that comes of measurements, so that another machine's rounding does not show."""


def rounded(value: float) -> float:
    """A value that comes of measurements, with as many digits as are kept."""
    return float(DIGITS % value)


def group_name(values: Sequence[str]) -> str:
    """The catalog's name of a group: its axes' values joined by '@', empty for everything."""
    return "@".join(values)


@dataclass(frozen=True)
class Calibration:
    """The calibration catalog, indexed by parameter and group.

    Attributes:
        entries: The catalog's rows in their order.
        position: (parameter, group) → index into `entries`.
    """

    entries: tuple[CalibrationEntry, ...]
    position: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, entries: Sequence[CalibrationEntry]) -> "Calibration":
        """Index the rows of the catalog."""
        position = {(entry.parameter, entry.group): index for index, entry in enumerate(entries)}
        return cls(tuple(entries), position)

    @property
    def values(self) -> Floats:
        """All values, (entries,), in the catalog's order: the vector a fit varies."""
        return np.array([entry.value for entry in self.entries], dtype=np.float64)

    def lookup(self, parameter: str, *groups: str) -> float:
        """The value of one parameter in the first of these groups that the catalog holds; for everything by default.

        Raises:
            InputError: it holds none of them.
        """
        return self.entries[self.index(parameter, groups or ("",))].value

    def index(self, parameter: str, groups: Sequence[str]) -> int:
        """Position of the first of these groups that the catalog holds.

        Raises:
            InputError: it holds none of them.
        """
        for group in groups:
            if (parameter, group) in self.position:
                return self.position[parameter, group]
        tried = ", ".join(repr(group) for group in groups)
        raise InputError([Finding("catalogs/calibration.csv", 0, parameter, f"no value for any of the groups {tried}")])

    def members(self, parameter: str) -> Mapping[str, float]:
        """All groups of one parameter with their values, sorted by group."""
        return self._groups.get(parameter, {})

    @cached_property
    def _groups(self) -> Mapping[str, Mapping[str, float]]:
        """The groups of each parameter, sorted, with their values."""
        found = defaultdict[str, dict[str, float]](dict)
        for entry in sorted(self.entries, key=lambda each: each.group):
            found[entry.parameter][entry.group] = entry.value
        return dict(found)


calibration_of: Final = OnceOf[Catalogs, Calibration](lambda catalogs: Calibration.of(catalogs.calibration))
"""The calibration of catalogs, indexed."""


@dataclass(frozen=True)
class Constants(RowArrays):
    """The calibrated constants of a set of rows.

    Attributes:
        values: The calibration's values, the one vector a fit varies; NaN behind them, where nobody measured an engine.
        index: For every parameter each row's position in `values`, (n,).
    """

    values: Floats
    index: Mapping[str, Ints]

    def __getitem__(self, parameter: str) -> Floats:
        """The parameter's value for every row, (n,)."""
        return self.values[self.index[parameter]]

    @property
    def known(self) -> Flags:
        """Whether each row's engine is calibrated on its GPU, (n,)."""
        known: Flags = ~np.any([np.isnan(self[parameter]) for parameter in OF_ENGINES], axis=0)
        return known

    def take(self, rows: Ints) -> "Constants":
        """The same constants for some of the rows."""
        return Constants(self.values, {parameter: position[rows] for parameter, position in self.index.items()})

    def with_values(self, values: Floats, of_row: Ints | None = None) -> "Constants":
        """The same rows under other values.

        Args:
            values: One vector for all rows, or several, (k, values).
            of_row: Which of several holds for each row, (n,).
        """
        if of_row is None:
            return Constants(values, self.index)
        begins = of_row * values.shape[1]
        return Constants(values.ravel(), {name: position + begins for name, position in self.index.items()})


def constants(calibration: Calibration, axes: Mapping[str, Categorical[str]]) -> Constants:
    """Every row's own value of every declared parameter, found once per distinct combination of its axes."""
    combinations: dict[Axes, Categorical[tuple[str, ...]]] = {}
    index: dict[str, Ints] = {}
    for parameter, hierarchy in HIERARCHY.items():
        # a parameter without axes has one value, found under any of them
        used = tuple(sorted({axis for level in hierarchy for axis in level})) or ("engine",)
        if used not in combinations:
            combinations[used] = Categorical.joined(*(axes[axis] for axis in used))
        # combination -> position of its value, then row -> position
        found = [
            _position(calibration, parameter, _groups(hierarchy, dict(zip(used, values, strict=True))))
            for values in combinations[used].categories
        ]
        index[parameter] = combinations[used].by_row(found, np.intp)
    return Constants(np.append(calibration.values, np.nan), index)


def _position(calibration: Calibration, parameter: str, groups: Sequence[str]) -> int:
    """As `Calibration.index`; behind the catalog's values for a constant that an engine lacks."""
    if parameter in OF_ENGINES and not any((parameter, group) in calibration.position for group in groups):
        return len(calibration.entries)
    return calibration.index(parameter, groups)


def _groups(hierarchy: tuple[Axes, ...], value: Mapping[str, str]) -> list[str]:
    """The groups of a combination of values, most specific first."""
    return [group_name([value[axis] for axis in level]) for level in hierarchy]
