"""Rows of a table of deployments, read and checked: names resolved, numbers sound, gaps filled by stated rules.

A row that cannot be predicted gets a problem, never an exception; rows do not influence each other.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.base.errors import did_you_mean
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.published_gpus import gpu_names
from optimizer.performance.measured.published_models import model_names
from optimizer.performance.measured.published_names import ReadName
from optimizer.performance.measured.published_words import (
    LOADS_CALLED,
    METHODS,
    OWN,
    PRECISIONS_CALLED,
    called,
    engine_names,
)
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.eras import era_of, release_number
from optimizer.performance.physics.facts import PLAIN_PRECISION

LOADS: Final = ("concurrency", "request_rate", "offline", "static_batch")
TTFT_STATISTICS: Final = ("mean", "p50")
REQUIRED: Final = ("engine", "model", "gpu", "input_tokens", "output_tokens", "load_type")
LENGTHS: Final = ("input_tokens", "output_tokens")
STARTED_WITH: Final = ("admission_interval_steps", "rank_wait_steps", "draft_tokens")
_FLAGS: Final = ("max_num_seqs", "max_num_batched_tokens", "attention_dp", *STARTED_WITH)
"""What a server was started with; 0 leaves the engine's default in place."""
APART: Final = tuple(f"{pool}_{what}" for pool in ("prefill", "decode") for what in ("workers", "tp", "ep", "dp_attn"))
"""Of deployments that read prompts and write answers on workers of their own."""
_MAY_BE_ZERO: Final = (
    "num_requests",
    "cached_input_share",
    "ep",
    *_FLAGS,
    *(name for name in APART if name[-2:] in ("ep", "tn")),
)
_LOADED_WITH: Final = ("load_value", "arrival_cv2", "distinct_prompts")
_DEGREES: Final = ("num_gpus", "tp", "pp", "dp", "ep")
_OPTIONAL_NUMBERS: Final = tuple(
    dict.fromkeys((*_DEGREES, *APART, *_LOADED_WITH, "memory_share", "accepted_tokens", *_MAY_BE_ZERO))
)
_SHARES: Final = ("memory_share", "cached_input_share")
"""Of the GPU's memory that the engine may take, and of the prompt that is already in the cache."""
_YES_OR_NO: Final = ("attention_dp", *(name for name in APART if name.endswith("_dp_attn")))
_YES_OR_NO_WORDS: Final = {"true": "1", "yes": "1", "false": "0", "no": "0"}
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_ENDLESS: Final = ("inf", "infinity")
_MISSING: Final = ("nan", "none", "<na>")
_KV_DEFAULT: Final = "eight_bit_kv_default"
_LIMIT: Final = 1e9
"""No count, rate or length of a real deployment reaches this."""


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

    def remark(self, assumed: Flags, text: str | Names) -> None:
        """Record an assumption for some rows."""
        joined = np.where(self.note == "", text, self.note + "; " + text)
        self.note = np.where(assumed, joined, self.note)

    def sound_rows(self) -> Ints:
        """Positions of the rows without a problem."""
        return np.flatnonzero(self.problem == "")

    def column(self, rows: Ints, values: NDArray[Any], otherwise: Any) -> NDArray[Any]:
        """A whole column from the values of some rows."""
        whole = np.full(len(self.problem), otherwise, dtype=values.dtype)
        whole[rows] = values
        return whole


def read_table(frame: pd.DataFrame, catalogs: Catalogs) -> DeploymentTable:
    """Read every column that a prediction needs; other columns are never looked at."""
    empty = np.full(len(frame), "", dtype=object)
    table = DeploymentTable(frame, problem=empty.copy(), note=empty.copy())
    engine = _resolve(table, "engine", engine_names(catalogs).read)
    gpu = _resolve(table, "gpu", gpu_names(catalogs).read)
    table.names["engine_version"] = _text_or(text_column(frame, "engine_version"), _of_each(engine, "version"))
    _remark_releases(table, catalogs)
    _read_precisions(table, _resolve(table, "model", model_names(catalogs).read), catalogs)
    _resolve(table, "load_type", _read_load)
    for name in (*LENGTHS, *_OPTIONAL_NUMBERS):
        _read_number(table, name)
    _count_in_name(table, _of_each(gpu, "count"))
    _all_at_once(table)
    load, value = table.names["load_type"], table.numbers["load_value"]
    table.refuse((load != "offline") & (load != "") & np.isnan(value), "load_value is missing")
    repeated = ~np.isnan(table.numbers["distinct_prompts"])
    table.refuse(repeated & (load != "static_batch"), "distinct_prompts is said of a static_batch alone")
    table.names["lengths"] = text_column(frame, "lengths")
    statistic = _text_or(text_column(frame, "ttft_statistic"), "mean")
    table.refuse(~np.isin(statistic, TTFT_STATISTICS), "ttft_statistic is neither mean nor p50")
    table.names["ttft_statistic"] = statistic
    return table


def _remark_releases(table: DeploymentTable, catalogs: Catalogs) -> None:
    """A text that names no release is read as none, which is said where releases are predicted apart."""
    given = Categorical.joined(
        *(Categorical[str].of(table.names[name]) for name in ("engine", "engine_version")),
    )
    newest = given.by_row([_newest_in_place_of(catalogs, *each) for each in given.categories], object)
    table.remark(newest != "", "engine_version names no release: predicted as the newest known, " + newest)


def _newest_in_place_of(catalogs: Catalogs, engine: str, version: str) -> str:
    """The release that a text is taken for; empty where it names one itself, or says nothing."""
    calibration = calibration_of(catalogs)
    if not version or era_of(calibration, engine, "") == era_of(calibration, engine, "0.0"):
        return ""
    return "" if release_number(calibration, engine, version) is not None else catalogs.engines[engine].newest_version


def _count_in_name(table: DeploymentTable, counted: Names) -> None:
    """`8x H100` says how many GPUs there are, where `num_gpus` does not."""
    count = counted.astype(np.float64)
    filled = np.isnan(table.numbers["num_gpus"]) & (count > 0)
    table.numbers["num_gpus"] = np.where(filled, count, table.numbers["num_gpus"])


def _all_at_once(table: DeploymentTable) -> None:
    """Requests that arrive at an infinite rate are all there at once, as benchmark clients mean it."""
    endless = _among(_lower_column(table, "load_value"), _ENDLESS)
    burst = (table.names["load_type"] == "request_rate") & endless
    table.refuse(endless & ~burst, "load_value is not a finite number")
    table.remark(burst, "an infinite request rate read as offline: all requests at once")
    table.names["load_type"] = np.where(burst, "offline", table.names["load_type"]).astype(object)


def given_or(numbers: Floats, otherwise: Floats | float) -> Floats:
    """Numbers with another value where there is none."""
    return np.where(np.isnan(numbers), otherwise, numbers)


def text_column(frame: pd.DataFrame, name: str) -> Names:
    """A column as stripped text, empty where there is no value or no such column."""
    if name not in frame.columns:
        return np.full(len(frame), "", dtype=object)
    codes, values = pd.factorize(frame[name].to_numpy(dtype=object))
    texts = [str(value).strip() for value in values]
    # a missing value has the code -1: the last text
    plain = np.array([*("" if text.casefold() in _MISSING else text for text in texts), ""], dtype=object)
    return plain[codes]


def _resolve(table: DeploymentTable, name: str, read: Callable[[str], ReadName]) -> Categorical[ReadName]:
    """Replace a column's distinct names by known ones; what cannot be read is a problem of its rows."""
    given = Categorical[str].of(text_column(table.frame, name))
    found = [read(each) if each else ReadName(problem=f"{name} is missing") for each in given.categories]
    readings = Categorical(tuple(found), given.codes)
    problems, notes = _of_each(readings, "problem"), _of_each(readings, "note")
    table.refuse(problems != "", problems)
    table.remark(notes != "", notes)
    table.names[name] = _of_each(readings, "known")
    return readings


def _of_each(readings: Categorical[ReadName], what: str) -> Names:
    """One attribute of what each row's name was read as."""
    return readings.by_row([getattr(reading, what) for reading in readings.categories], object)


def _read_load(name: str) -> ReadName:
    """A kind of load."""
    known = called(name.casefold(), LOADS, LOADS_CALLED)
    if known not in LOADS:
        hint = did_you_mean(name, LOADS)
        return ReadName(problem=f"unknown load_type '{name}'" + (f" ({hint})" if hint else ""))
    return ReadName(known, note="" if known == name.casefold() else f"load_type '{name}' read as {known}")


def _read_precisions(table: DeploymentTable, models: Categorical[ReadName], catalogs: Catalogs) -> None:
    """Weight precision, by default the model's own, and KV precision, by default 16 bits."""
    weight = _weight_precision(table, models, catalogs)
    kv = _kv_precision(table, weight, catalogs)
    allowed = {precision for engine in catalogs.engines.values() for precision in engine.kv_precisions}
    table.refuse(~_among(kv, allowed), "unknown KV precision '" + kv + "'")
    table.names["precision"], table.names["kv_precision"] = weight, kv


def _weight_precision(table: DeploymentTable, models: Categorical[ReadName], catalogs: Catalogs) -> Names:
    """As given, else what the model's name says, else the model's own."""
    given = _in_our_words(table, "weight_precision", catalogs.schemes)
    own = _known_of(table, "model", lambda name: _own_precision(name, catalogs))
    own = _text_or(_of_each(models, "precision"), own)
    for method, made in METHODS.items():
        read = np.where(_among(own, made), own, made[0])
        table.remark(given == method, f"weight precision {method} read as " + read)
        given = np.where(given == method, read, given)
    unsaid = (given == "") & _of_each(models, "precision_missing").astype(bool)
    table.refuse(unsaid, "weight_precision is missing: the model's name does not say which of its files")
    named = _text_or(
        _of_each(models, "precision"), _known_of(table, "model", lambda name: _quantized_to(name, catalogs))
    )
    unlike = _among(given, SIXTEEN_BIT) & (named != "") & (named != given)
    table.remark(unlike, "weights in " + given + " as stated, although the model's name says " + named)
    table.remark((given == "") & (own != ""), "weight precision not given: the model's own, " + own)
    weight = _text_or(given, own)
    unknown = ~_among(weight, catalogs.schemes) & (table.names["model"] != "")
    table.refuse(unknown, "unknown weight precision '" + weight + "'")
    return _native_four_bit(table, weight, catalogs)


def _in_our_words(table: DeploymentTable, name: str, known: Iterable[str]) -> Names:
    """A column of precisions, in small letters and the catalogs' words; empty where it is whatever is usual."""
    given = Categorical[str].of(_lower_column(table, name))
    ours = {each: called(each, known, PRECISIONS_CALLED) for each in given.categories}
    read = given.by_row(["" if each in OWN else ours[each] for each in given.categories], object)
    texts = given.by_row(list(given.categories), object)
    table.remark((read != "") & (read != texts), f"{name} '" + texts + "' read as " + read)
    return read


def _own_precision(name: str, catalogs: Catalogs) -> str:
    """What a model's weights were released in; of a checkpoint that was quantized, what it was quantized to."""
    return _quantized_to(name, catalogs) or catalogs.model(name).native_precision


def _quantized_to(name: str, catalogs: Catalogs) -> str:
    """What a published checkpoint was quantized to, empty where it was not."""
    alias = None if name in catalogs.models else catalogs.aliases[name.casefold()]
    return (alias and alias.weight_precision) or ""


def _native_four_bit(table: DeploymentTable, weight: Names, catalogs: Catalogs) -> Names:
    """`fp4` means the four-bit format that the GPU multiplies: MXFP4 where only that has kernels."""

    def only_mxfp4(gpu: str) -> bool:
        rows = [catalogs.kernel_support.get((scheme, catalogs.gpus[gpu].architecture)) for scheme in ("fp4", "mxfp4")]
        return [row and row.support != "none" for row in rows] == [False, True]

    swapping = filter(only_mxfp4, set(table.names["gpu"]) - {""})
    swap = (weight == "fp4") & _among(table.names["gpu"], swapping)
    table.remark(swap, "fp4 read as mxfp4, the four-bit format this GPU has kernels for")
    return np.where(swap, "mxfp4", weight)


def _kv_precision(table: DeploymentTable, weight: Names, catalogs: Catalogs) -> Names:
    """What an engine caches in when nobody says: 16 bits, but for the catalogued engine@precision[@architecture]."""
    given = _in_our_words(table, "kv_precision", ())
    eight_bit = calibration_of(catalogs).members(_KV_DEFAULT)
    pair = table.names["engine"] + "@" + weight
    architecture = _known_of(table, "gpu", lambda name: catalogs.gpus[name].architecture)
    default = given == ""
    quantized = default & (_among(pair, eight_bit) | _among(pair + "@" + architecture, eight_bit))
    table.remark(quantized, "KV precision not given: fp8, as usual for these quantized weights")
    return np.where(quantized, "fp8", np.where(default, PLAIN_PRECISION, given))


def _text_or(text: Names, otherwise: Names | str) -> Names:
    return np.where(text == "", otherwise, text).astype(object)


def _lower_column(table: DeploymentTable, name: str) -> Names:
    return np.char.lower(text_column(table.frame, name).astype(str)).astype(object)


def _known_of(table: DeploymentTable, name: str, fact: Callable[[str], Any]) -> Names:
    """What is known of each row's resolved name; empty where it is not resolved."""
    names = Categorical[str].of(table.names[name])
    return names.by_row([fact(category) if category else "" for category in names.categories], object)


def _among(values: Names, known: Iterable[str]) -> Flags:
    return np.isin(values.astype(str), sorted(known))


def _plain_number(name: str, text: str) -> str:
    """A cell as a number is written: without signs between thousands, a share out of 100, yes and no as 1 and 0."""
    if name in _YES_OR_NO:
        return _YES_OR_NO_WORDS.get(text.casefold(), text)
    if name in _SHARES and text.endswith("%"):
        share = pd.to_numeric(text[:-1], errors="coerce")
        return str(share / 100)
    if name == "load_value" and text.casefold() in _ENDLESS:
        return ""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def _read_number(table: DeploymentTable, name: str) -> None:
    """A positive, finite number per row; NaN where an optional one is not given."""
    given = Categorical[str].of(text_column(table.frame, name))
    read = [_plain_number(name, each) for each in given.categories]
    text = given.by_row(read, object)
    value = given.by_row(pd.to_numeric(pd.Series(read, dtype=object), errors="coerce").to_numpy())
    value = np.where(np.isfinite(value), value, math.nan)
    given = text != ""
    table.refuse(given & np.isnan(value), f"{name} is not a finite number")
    table.refuse(given & ((value < 0) if name in _MAY_BE_ZERO else (value <= 0)), f"{name} must be positive")
    table.refuse(given & (value > _LIMIT), f"{name} is beyond any real deployment")
    if name in LENGTHS:
        table.refuse(~given, f"{name} is missing")
    if name in _SHARES:
        table.refuse(given & (value >= 1), f"{name} must be below 1")
    table.numbers[name] = np.where((value > 0) & (value <= _LIMIT), value, math.nan)
