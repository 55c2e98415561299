"""What was measured of a configuration's kind, and how much room the rest asks for.

The calibration catalog counts the measured groups of every GPU, model, and of three pairs: architecture and precision,
architecture and engine, engine and kind of model. A prediction is calibrated where its GPU and all pairs were measured,
otherwise estimated; whatever was not measured asks for a wider interval.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.catalog.kinds import Link
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.catalog.records import Catalogs, Model
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Calibration, group_name
from optimizer.performance.physics.setup import HOST_LINKS, Configuration, categorical
from optimizer.performance.uncertainty.intervals import Bools, half_width, planning_share

EVIDENCE: Final = "evidence"
DECISIVE: Final = ("gpu", "precision", "engine", "model_kind")
"""What must have been measured for a prediction to count as calibrated; a new model of a known kind still does."""

PLANNING_LOAD: Final[Mapping[str, str]] = {"ttft": "request_rate", "tpot": "request_rate", "throughput": "offline"}
"""Plans serve open arrivals and stay below the capacity: the loads whose errors their margins come from."""

ANY_ENGINE: Final = ""
"""Margins do not differ by engine: nearly all open arrivals were measured on one, and no data is no merit."""

HOST_LINK: Final = "host_link"
"""Names rows whose GPUs exchange every layer over PCIe."""

_KIND: Final = ("engine", "model", "gpu", "precision", "tensor_parallel", "link")
"""Configurations alike in these have the same margins."""

Pairs = Mapping[str, tuple[Sequence[str], Sequence[str]]]
Column = Sequence[str] | NDArray[Any]


@dataclass(frozen=True)
class Margins:
    """Factors on predicted metrics so that reality stays on the good side with the chosen probability, all (n,)."""

    ttft: Floats
    tpot: Floats
    throughput: Floats

    @classmethod
    def same(cls, ttft: float = 1.0, tpot: float = 1.0, throughput: float = 1.0) -> "Margins":
        """One margin per metric for all rows, as arrays of one row that broadcast; none by default."""
        return cls(*(np.array([factor]) for factor in (ttft, tpot, throughput)))

    def take(self, rows: Ints) -> "Margins":
        """Some of the rows, in the given order."""
        return Margins(self.ttft[rows], self.tpot[rows], self.throughput[rows])


def margins(catalogs: Catalogs, configurations: Sequence[Configuration], confidence: float) -> Margins:
    """factor = exp(planning share(confidence) · half-width): 1 at 0.5, monotone in confidence.

    The half-width is that of `PLANNING_LOAD`, wider for what was not measured; the share is the one-sided quantile of
    left-out errors.
    """
    calibration = Calibration.of(catalogs.calibration)
    alike = Categorical.joined(*categorical(configurations, _KIND).values())
    kinds = [configurations[row] for row in alike.first.tolist()]
    missing = unseen(calibration, pairs_of(catalogs, kinds))
    degrees = np.array([each.tensor_parallel for each in kinds], dtype=np.float64)
    gpus, links = [each.gpu for each in kinds], [each.link for each in kinds]
    missing[HOST_LINK] = host_linked(catalogs, gpus, degrees, links)
    every = [ANY_ENGINE] * len(kinds)

    def factor(metric: str) -> Floats:
        width = half_width(calibration, metric, [PLANNING_LOAD[metric]] * len(every), every, missing)
        room: Floats = np.exp(planning_share(calibration, metric, confidence) * width)
        return room[alike.codes]

    return Margins(factor("ttft"), factor("tpot"), factor("throughput"))


def pairs_of(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Pairs:
    """What decides how well a configuration's kind was measured, by what would be unseen."""
    return named_pairs(
        catalogs,
        [each.engine for each in configurations],
        [each.model for each in configurations],
        [each.gpu for each in configurations],
        [each.precision for each in configurations],
    )


def named_pairs(catalogs: Catalogs, engine: Column, model: Column, gpu: Column, precision: Column) -> Pairs:
    """As `pairs_of`, from columns of names."""
    architectures = {name: catalogs.gpus[name].architecture for name in set(gpu)}
    models = {name: catalogs.model(name) for name in set(model)}
    kinds = {name: kind_of(found) for name, found in models.items()}
    architecture = [architectures[name] for name in gpu]
    return {
        "gpu": (["gpu"] * len(gpu), list(gpu)),
        "model": (["model"] * len(model), [models[name].id for name in model]),
        "precision": (architecture, list(precision)),
        "engine": (architecture, list(engine)),
        "model_kind": (list(engine), [kinds[name] for name in model]),
    }


def unseen(calibration: Calibration, pairs: Pairs) -> dict[str, Bools]:
    """Whether nobody measured each row's GPU, model or pair, (n,), by kind."""
    return unseen_among(frozenset(calibration.members(EVIDENCE)), pairs)


def unseen_among(seen: frozenset[str], pairs: Pairs) -> dict[str, Bools]:
    """As `unseen`, with the measured names given."""
    missing = {}
    for kind, (left, right) in pairs.items():
        new = {pair: group_name(pair) not in seen for pair in set(zip(left, right, strict=True))}
        missing[kind] = np.array([new[pair] for pair in zip(left, right, strict=True)], dtype=np.bool_)
    return missing


def estimated(missing: Mapping[str, Bools]) -> Bools:
    """Whether something decisive about each row was never measured, (n,)."""
    rows: Bools = np.logical_or.reduce([missing[kind] for kind in DECISIVE])
    return rows


def not_measured(catalogs: Catalogs, configuration: Configuration) -> list[str]:
    """What nobody measured of one configuration, in words."""
    pairs = pairs_of(catalogs, [configuration])
    missing = unseen(Calibration.of(catalogs.calibration), pairs)
    return [
        right[0] if kind == "gpu" else f"{right[0]} on {left[0]}"
        for kind, (left, right) in pairs.items()
        if kind in DECISIVE and missing[kind][0]
    ]


def measured_groups(pairs: Pairs, group: Sequence[str]) -> dict[str, int]:
    """How many groups of measurements hold each GPU, model and pair, sorted by name: the catalog's `evidence`."""
    held = {
        (group_name((left, twin)), member)
        for lefts, rights in pairs.values()
        for left, right, member in set(zip(lefts, rights, group, strict=True))
        for twin in (SIXTEEN_BIT if right in SIXTEEN_BIT else (right,))
    }
    return dict(sorted(Counter(name for name, _ in held).items()))


def host_linked(catalogs: Catalogs, gpu: Column, tensor_parallel: Floats, link: Sequence[Link | None] = ()) -> Bools:
    """Whether a replica's GPUs exchange every layer over PCIe, where boards differ by a factor of ten, (n,)."""
    own = {name: catalogs.gpus[name].link for name in set(gpu)}
    stated = link or [None] * len(gpu)
    slow = [(given or own[name]) in HOST_LINKS for name, given in zip(gpu, stated, strict=True)]
    return np.array(slow, dtype=np.bool_) & (tensor_parallel > 1)


def kind_of(model: Model) -> str:
    """Family of architectures that behave alike: dense or moe, with latent or hybrid attention."""
    parts = ["moe" if model.moe_experts else "dense"]
    parts += ["mla"] if model.kv_lora_rank is not None else []
    parts += ["hybrid"] if model.linear_state_bytes_per_sequence else []
    return "-".join(parts)
