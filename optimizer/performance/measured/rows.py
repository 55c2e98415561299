"""Rows of a table of deployments, read and checked: names resolved, numbers sound, gaps filled by stated rules.

A row that cannot be predicted gets a problem, never an exception; rows do not influence each other.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats
from optimizer.base.errors import InputError, did_you_mean
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.facts import PLAIN_PRECISION

LOADS: Final = ("concurrency", "request_rate", "offline", "static_batch")
TTFT_STATISTICS: Final = ("mean", "p50")
REQUIRED: Final = ("engine", "model", "gpu", "input_tokens", "output_tokens", "load_type")
_AUTO: Final = ("", "auto")
_KV_DEFAULT: Final = "eight_bit_kv_default"
_LIMIT: Final = 1e9
"""No count, rate or length of a real deployment reaches this."""

Names = NDArray[Any]


@dataclass
class DeploymentTable:
    """Columns of a table being read, with what is wrong (`problem`) and what was assumed (`note`) by row.

    Attributes:
        frame: The table as given.
        names: Text columns, resolved to catalog ids; empty where unresolved.
        numbers: Number columns, NaN where not given.
        layout: Degrees of parallelism and replicas, once settled.
        problem: Why a row cannot be predicted, empty for those that can.
        note: What was assumed.
    """

    frame: pd.DataFrame
    names: dict[str, Names] = field(default_factory=dict)
    numbers: dict[str, Floats] = field(default_factory=dict)
    layout: dict[str, Floats] = field(default_factory=dict)
    problem: Names = field(default_factory=lambda: np.empty(0, dtype=object))
    note: Names = field(default_factory=lambda: np.empty(0, dtype=object))

    def refuse(self, wrong: Flags, text: str | Names) -> None:
        """Record a problem for some rows; the first problem of a row stays."""
        self.problem = np.where(wrong & (self.problem == ""), text, self.problem)

    def remark(self, where: Flags, text: str | Names) -> None:
        """Record an assumption for some rows."""
        joined = np.where(self.note == "", text, self.note + "; " + text)
        self.note = np.where(where, joined, self.note)


def read_table(frame: pd.DataFrame, catalogs: Catalogs) -> DeploymentTable:
    """Read every column that a prediction needs; other columns are never looked at."""
    empty = np.full(len(frame), "", dtype=object)
    table = DeploymentTable(frame, problem=empty.copy(), note=empty.copy())
    _resolve(table, "engine", _engine_lookup(catalogs))
    _resolve(table, "model", _model_lookup(catalogs))
    _resolve(table, "gpu", _folded_lookup(catalogs.gpus, "gpu"))
    table.names["engine_version"] = text_column(frame, "engine_version")
    _read_precisions(table, catalogs)
    _resolve(table, "load_type", _folded_lookup(dict.fromkeys(LOADS, ""), "load_type"))
    for name in ("input_tokens", "output_tokens"):
        _number(table, name, required=True)
    for name in ("num_gpus", "tp", "pp", "dp", "ep", "load_value", "num_requests", "max_num_seqs", "attention_dp"):
        _number(table, name, required=False)
    _check_load(table)
    table.names["lengths"] = text_column(frame, "lengths")
    statistic = text_column(frame, "ttft_statistic")
    table.refuse(~np.isin(statistic, ("", *TTFT_STATISTICS)), "ttft_statistic is neither mean nor p50")
    table.names["ttft_statistic"] = np.where(statistic == "", "mean", statistic).astype(object)
    return table


def text_column(frame: pd.DataFrame, name: str) -> Names:
    """A column as stripped text, empty where there is no value or no such column."""
    if name not in frame.columns:
        return np.full(len(frame), "", dtype=object)
    codes, kinds = pd.factorize(frame[name].to_numpy(dtype=object))
    texts = np.array([*(_plain(kind) for kind in kinds), ""], dtype=object)
    return texts[codes]


def _plain(value: Any) -> str:
    text = str(value).strip()
    return "" if text.casefold() in ("nan", "none", "<na>") else text


def _resolve(table: DeploymentTable, name: str, lookup: Callable[[str], tuple[str, str]]) -> None:
    """Replace a column's distinct names by catalog ids; what cannot be resolved is a problem of its rows."""
    given = text_column(table.frame, name)
    codes, kinds = pd.factorize(given)
    found = [lookup(str(kind)) for kind in kinds]
    ids = np.array([identity for identity, _ in found] or [""], dtype=object)[codes]
    problems = np.array([problem for _, problem in found] or [""], dtype=object)[codes]
    table.refuse(problems != "", problems)
    table.names[name] = ids


def _folded_lookup(known: Mapping[str, Any], kind: str) -> Callable[[str], tuple[str, str]]:
    folded = {name.casefold(): name for name in known}

    def lookup(name: str) -> tuple[str, str]:
        if name.casefold() in folded:
            return folded[name.casefold()], ""
        hint = did_you_mean(name, folded) if name else ""
        return "", f"unknown {kind} '{name}'" + (f" ({hint})" if hint else "") if name else f"{kind} is missing"

    return lookup


def _engine_lookup(catalogs: Catalogs) -> Callable[[str], tuple[str, str]]:
    by_id = _folded_lookup(catalogs.engines, "engine")
    names = {engine.name.casefold(): engine.id for engine in catalogs.engines.values()}
    return lambda name: (names[name.casefold()], "") if name.casefold() in names else by_id(name)


def _model_lookup(catalogs: Catalogs) -> Callable[[str], tuple[str, str]]:
    def lookup(name: str) -> tuple[str, str]:
        if not name:
            return "", "model is missing"
        try:
            catalogs.model(name)
        except InputError as error:
            finding = error.findings[0]
            return "", finding.problem + (f" ({finding.hint})" if finding.hint else "")
        return name, ""

    return lookup


def _read_precisions(table: DeploymentTable, catalogs: Catalogs) -> None:
    """Weight precision, by default the model's own, and KV precision, by default 16 bits."""
    weight = np.char.lower(text_column(table.frame, "weight_precision").astype(str)).astype(object)
    missing = weight == ""
    native = {name: catalogs.model(name).native_precision for name in set(table.names["model"]) - {""}}
    own = np.array([native.get(name, "") for name in table.names["model"]], dtype=object)
    table.remark(missing & (own != ""), "weight precision not given: the model's own, " + own)
    weight = np.where(missing, own, weight)
    unknown = ~np.isin(weight.astype(str), list(catalogs.schemes)) & (table.names["model"] != "")
    table.refuse(unknown, "unknown weight precision '" + weight + "'")
    weight = _native_four_bit(table, weight, catalogs)
    kv = np.char.lower(text_column(table.frame, "kv_precision").astype(str)).astype(object)
    kv = _default_kv(table, weight, kv, catalogs)
    allowed = {precision for engine in catalogs.engines.values() for precision in engine.kv_precisions}
    table.refuse(~np.isin(kv.astype(str), sorted(allowed)), "unknown KV precision '" + kv + "'")
    table.names["precision"], table.names["kv_precision"] = weight, kv


def _default_kv(table: DeploymentTable, weight: Names, kv: Names, catalogs: Catalogs) -> Names:
    """What an engine caches in when nobody says: 16 bits, but for the catalogued engine@precision[@architecture]."""
    eight_bit = Calibration.of(catalogs.calibration).members(_KV_DEFAULT)
    architecture = {name: catalogs.gpus[name].architecture for name in set(table.names["gpu"]) - {""}}
    on = np.array([architecture.get(name, "") for name in table.names["gpu"]], dtype=object)
    unsaid = np.isin(kv.astype(str), _AUTO)
    kv = np.where(unsaid, PLAIN_PRECISION, kv)
    pair = table.names["engine"] + "@" + weight
    quantized = np.isin(pair.astype(str), sorted(eight_bit)) | np.isin((pair + "@" + on).astype(str), sorted(eight_bit))
    table.remark(unsaid & quantized, "KV precision not given: fp8, as usual for these quantized weights")
    return np.where(unsaid & quantized, "fp8", kv)


def _native_four_bit(table: DeploymentTable, weight: Names, catalogs: Catalogs) -> Names:
    """`fp4` means the four-bit format that the GPU multiplies: MXFP4 where only that has kernels."""
    kernels = catalogs.kernel_support

    def lacks(name: str) -> bool:
        support = {scheme: kernels.get((scheme, catalogs.gpus[name].architecture)) for scheme in ("fp4", "mxfp4")}
        return all(row is not None for row in support.values()) and [
            row.support != "none" for row in support.values() if row is not None
        ] == [False, True]

    swapped = {name for name in set(table.names["gpu"]) - {""} if lacks(name)}
    swap = (weight == "fp4") & np.isin(table.names["gpu"].astype(str), sorted(swapped))
    table.remark(swap, "fp4 read as mxfp4, the four-bit format this GPU has kernels for")
    return np.where(swap, "mxfp4", weight)


def _number(table: DeploymentTable, name: str, *, required: bool) -> None:
    """A positive, finite number per row; NaN where an optional one is not given."""
    text = text_column(table.frame, name)
    codes, kinds = pd.factorize(text)
    value = pd.to_numeric(pd.Series(kinds, dtype=object), errors="coerce").to_numpy(dtype=np.float64)[codes]
    value = np.where(np.isfinite(value), value, math.nan)
    given = text != ""
    zero_allowed = name in ("attention_dp", "max_num_seqs", "num_requests")
    low = value < 0 if zero_allowed else value <= 0
    table.refuse(given & np.isnan(value), f"{name} is not a finite number")
    table.refuse(given & low, f"{name} must be positive")
    table.refuse(given & (value > _LIMIT), f"{name} is beyond any real deployment")
    if required:
        table.refuse(~given, f"{name} is missing")
    table.numbers[name] = np.where((value > 0) & (value <= _LIMIT), value, math.nan)


def _check_load(table: DeploymentTable) -> None:
    kind, value = table.names["load_type"], table.numbers["load_value"]
    table.refuse((kind != "offline") & np.isnan(value) & (kind != ""), "load_value is missing")
