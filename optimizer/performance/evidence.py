"""What was measured of a configuration's kind, and how much room the rest asks for.

The calibration catalog lists the pairs it has seen: architecture and precision, architecture and engine, engine and
kind of model. A prediction whose pairs were all seen is calibrated; any other is estimated and gets a wider margin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from optimizer.inputs.catalog import Catalogs, Model
from optimizer.performance.calibration import SIGMA, Calibration, Floats, Ints
from optimizer.performance.intervals import UNSEEN, measured_pairs, pair_seen
from optimizer.performance.setup import Configuration

Bools = NDArray[np.bool_]
Pairs = Mapping[str, tuple[Sequence[str], Sequence[str]]]


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
    """factor = exp(z(confidence) · √(σ(metric)² + Σ σ_unseen²)): errors are taken as log-normal; 1 at 0.5."""
    calibration = Calibration.of(catalogs.calibration)
    missing = unseen(catalogs, pairs_of(catalogs, configurations))
    extra = sum(np.where(rows, calibration.lookup(UNSEEN, kind) ** 2, 0.0) for kind, rows in missing.items())
    deviations = NormalDist().inv_cdf(confidence)
    ttft, tpot, throughput = (
        np.exp(deviations * np.sqrt(calibration.lookup(SIGMA, metric) ** 2 + extra))
        for metric in ("ttft", "tpot", "throughput")
    )
    return Margins(ttft, tpot, throughput)


def pairs_of(catalogs: Catalogs, configurations: Sequence[Configuration]) -> Pairs:
    """The pairs that decide whether a configuration's kind was measured, by what would be unseen."""
    architectures = {name: catalogs.gpus[name].architecture for name in {c.gpu for c in configurations}}
    kinds = {name: kind_of(catalogs.model(name)) for name in {c.model for c in configurations}}
    gpu = [architectures[c.gpu] for c in configurations]
    engine = [c.engine for c in configurations]
    return {
        "precision": (gpu, [c.precision for c in configurations]),
        "engine": (gpu, engine),
        "model_kind": (engine, [kinds[c.model] for c in configurations]),
    }


def unseen(catalogs: Catalogs, pairs: Pairs) -> dict[str, Bools]:
    """Whether each row's pair was never measured, (n,), by kind of pair."""
    seen = measured_pairs(Calibration.of(catalogs.calibration))
    return {kind: ~pair_seen(seen, left, right) for kind, (left, right) in pairs.items()}


def not_measured(catalogs: Catalogs, configuration: Configuration) -> list[str]:
    """The pairs of one configuration that nobody measured, in words."""
    pairs = pairs_of(catalogs, [configuration])
    missing = unseen(catalogs, pairs)
    return [f"{right[0]} on {left[0]}" for kind, (left, right) in pairs.items() if missing[kind][0]]


def kind_of(model: Model) -> str:
    """Family of architectures that behave alike: dense or moe, with latent or hybrid attention."""
    parts = ["moe" if model.moe_experts else "dense"]
    parts += ["mla"] if model.kv_lora_rank is not None else []
    parts += ["hybrid"] if model.linear_state_bytes_per_sequence else []
    return "-".join(parts)
