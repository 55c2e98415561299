"""Whether decisions made on predictions hold: the cheapest configuration picked, looked up in what was measured.

A *case* is one model with one pair of lengths, measured in closed loop on at least three configurations; an *option* is
one configuration at one concurrency with its measured TTFT, TPOT and throughput; a *question* sets a largest TPOT, a
largest TTFT or both. The pick is the option that is predicted to keep the targets, each prediction worsened by a
margin, at the least predicted cost per output token; its measurements say whether it does, and at what cost.

Targets are the round numbers of `SLA_TARGETS`, as people write them. Quantiles of what the options measured are asked
too: such a target lies on a measured value, so that any margin at all rejects the very option that keeps it exactly.
Throughput that nobody published follows from the closed loop itself: requests in flight × output tokens / latency.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from optimizer.answers.accuracy.validate import PREDICTED, Figure, numbers
from optimizer.base.arrays import Floats, Ints
from optimizer.base.figures import exactly
from optimizer.base.model import Strict
from optimizer.base.units import MS_PER_S, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import deployments_of, observed
from optimizer.inputs.scenario.scenario import Policy
from optimizer.performance.market.market import market
from optimizer.performance.measured.batch import predict_batch
from optimizer.performance.measured.rows import text_column
from optimizer.performance.uncertainty.intervals import deviations

LIMITED: Final = ("tpot", "ttft")
"""The metrics a question may limit, in the order of its targets."""

SLA_TARGETS: Final = ((10.0, 15.0, 20.0, 30.0, 50.0, 75.0, 100.0), (200.0, 500.0, 1000.0, 2000.0, 5000.0))
"""Largest TPOT and TTFT that questions ask for, ms."""

QUANTILES: Final = (0.2, 0.4, 0.6, 0.8)
"""Of the measured TPOT and TTFT of a case: targets at the grid's own points."""

ANY: Final = (np.inf,)
KINDS: Final = ("TPOT", "TTFT", "TPOT and TTFT", "TPOT and TTFT at quantiles")
"""What questions limit."""

MIN_CONFIGURATIONS: Final = 3
CONFIDENCES: Final = (0.5, 0.7, 0.8, 0.9, 0.95)
FLAT_MARGINS: Final = (1.2, 1.35, 1.5)
CASE: Final = ("model", "input_tokens", "output_tokens", "ttft_statistic")
CONFIGURATION: Final = (
    *("engine", "engine_version", "gpu", "num_gpus", "tp", "pp", "ep", "dp", "attention_dp"),
    *("weight_precision", "kv_precision"),
)


class DecisionQuality(Strict):
    """What became of the picks under one rule.

    `picked_percent` is the share of questions that got a pick, `kept_percent` the share of picks whose measurements
    keep both targets, `cost_factor` the mean over the kept picks of measured cost per token against the cheapest option
    that keeps them (the best in hindsight), `cost_factor_all` the same over all picks.
    """

    targets: str
    rule: str
    questions: int
    picked_percent: Figure
    kept_percent: Figure
    cost_factor: Figure
    cost_factor_all: Figure


class Decisions(Strict):
    """Decision quality under every rule, and what it was asked about."""

    schema_version: int = 1
    cases: int
    options: int
    unpriced_gpus: tuple[str, ...]
    rules: tuple[DecisionQuality, ...]


def validate_decisions(frame: pd.DataFrame, catalogs: Catalogs) -> Decisions:
    """Predict every row and judge the picks at each confidence and under each flat margin.

    Args:
        frame: Measurements as `load_measurements` gives them.
        catalogs: Hold the calibration that is judged, and the prices.

    Returns:
        How many picks keep their targets under every rule, and at what cost against the best in hindsight.
    """
    return decided(predict_batch(deployments_of(frame), catalogs, look_up=False), catalogs)


def decided(predicted: pd.DataFrame, catalogs: Catalogs) -> Decisions:
    """Judge predictions already made.

    Args:
        predicted: Measurements with their predictions beside them, as `predict_batch` returns them.
        catalogs: Hold the prices.
    """
    prices = gpu_hour_prices(catalogs)
    table = options(predicted, prices)
    gpus = set(text_column(predicted, "gpu")[predicted["pred_status"].to_numpy() == "ok"])
    margins = {f"confidence {exactly(each)}": bounded(table, each) for each in CONFIDENCES}
    margins |= {f"flat margin {exactly(each)}": flat(table, each) for each in FLAT_MARGINS}
    rules = []
    for kind in KINDS:
        posed = list(questions(table, kind))
        rules += [quality(kind, rule, table, posed, factors) for rule, factors in margins.items()]
    return Decisions(
        cases=table["case"].nunique(),
        options=len(table),
        unpriced_gpus=tuple(sorted(gpus - set(prices))),
        rules=tuple(rules),
    )


def gpu_hour_prices(catalogs: Catalogs) -> dict[str, float]:
    """Cheapest US dollars per GPU-hour by GPU, of the offers that a plan considers by default."""
    offers = market(catalogs, Policy())
    admitted = [offer for offer, fits in zip(offers.offers, offers.admitted, strict=True) if fits]
    dearest_first = sorted(admitted, key=lambda offer: -offer.price_usd_per_hour / offer.gpu_count)
    prices = {offer.gpu: float(offer.price_usd_per_hour) / offer.gpu_count for offer in dearest_first}
    return dict(sorted(prices.items()))


def options(predicted: pd.DataFrame, prices: Mapping[str, float]) -> pd.DataFrame:
    """Everything there is to choose from: `case`, measured and predicted TTFT, TPOT and USD per million output tokens.

    A configuration measured twice at one concurrency counts once, with the median of its measurements.
    """
    clients, output, gpus = (numbers(predicted, name) for name in ("load_value", "output_tokens", "num_gpus"))
    # USD of a replica's GPUs in the time of a million tokens at one token a second; NaN where a GPU has no price
    per_gpu_hour = np.array([prices.get(name, np.nan) for name in text_column(predicted, "gpu")])
    usd = per_gpu_hour * gpus / SECONDS_PER_HOUR * TOKENS_PER_MILLION
    measured = observed(predicted)
    latency_s = (measured["ttft"] + (output - 1) * measured["tpot"]) / MS_PER_S
    rate = np.where(np.isnan(measured["throughput"]), clients * output / latency_s, measured["throughput"])
    columns = {"cost": usd / rate, "predicted_cost": usd / predicted["pred_output_tok_s"].to_numpy(float)}
    for name in LIMITED:
        columns |= {name: measured[name], f"predicted_{name}": predicted[PREDICTED[name]].to_numpy(float)}
        columns[f"room_{name}"] = predicted[f"pred_{name}_room"].to_numpy(float)
    table = pd.DataFrame({"clients": clients, **columns})
    table["case"] = _joined(predicted, CASE)
    table["configuration"] = _joined(predicted, CONFIGURATION)
    # closed loop with every figure known, one row a configuration and concurrency
    table = table[(text_column(predicted, "load_type") == "concurrency") & table.notna().all(axis=1)]
    table = table.groupby(["case", "configuration", "clients"], as_index=False).median()
    several = table.groupby("case")["configuration"].transform("nunique") >= MIN_CONFIGURATIONS
    compared: pd.DataFrame = table[several].reset_index(drop=True)
    return compared


@dataclass(frozen=True)
class Question:
    """The options of one case, (k,) positions, and the largest TPOT and TTFT allowed, ms."""

    options: Ints
    limits: tuple[float, ...]


def questions(table: pd.DataFrame, kind: str) -> Iterator[Question]:
    """Every question of one kind that some option of its case answers."""
    truth = {name: table[name].to_numpy(float) for name in LIMITED}
    for _, part in table.groupby("case", sort=True):
        at = part.index.to_numpy()
        for limits in product(*_targets(part, kind)):
            if len(_within(truth, at, limits)):
                yield Question(at, limits)


def _targets(part: pd.DataFrame, kind: str) -> tuple[Sequence[float], Sequence[float]]:
    """The TPOT and TTFT targets of one case; a metric that is not limited may be anything."""
    if kind == KINDS[3]:
        tpot, ttft = (tuple(float(part[name].quantile(share)) for share in QUANTILES) for name in LIMITED)
        return tpot, ttft
    return SLA_TARGETS[0] if "TPOT" in kind else ANY, SLA_TARGETS[1] if "TTFT" in kind else ANY


def bounded(table: pd.DataFrame, confidence: float) -> dict[str, Floats]:
    """Factors on predicted TPOT and TTFT with the room that a plan leaves: exp(planning share · half-width).

    Plans take the half-width of the load they are made for; here every option has that of its own.
    """
    return {name: np.exp(deviations(confidence) * table[f"room_{name}"].to_numpy(float)) for name in LIMITED}


def flat(table: pd.DataFrame, margin: float) -> dict[str, Floats]:
    """The same factor on every predicted latency."""
    return dict.fromkeys(LIMITED, np.full(len(table), margin))


def quality(
    kind: str, rule: str, table: pd.DataFrame, posed: Sequence[Question], margins: Mapping[str, Floats]
) -> DecisionQuality:
    """Answer every question under one rule."""
    held = {name: table[f"predicted_{name}"].to_numpy(float) * margins[name] for name in LIMITED}
    truth = {name: table[name].to_numpy(float) for name in LIMITED}
    expected, cost = table["predicted_cost"].to_numpy(float), table["cost"].to_numpy(float)
    # one pick a question: the cheapest by prediction of the options that are predicted to keep the limits
    factors, keeps = [], []
    for question in posed:
        promising = _within(held, question.options, question.limits)
        if len(promising):
            pick = promising[np.argmin(expected[promising])]
            fulfilling = _within(truth, question.options, question.limits)
            factors.append(cost[pick] / cost[fulfilling].min())
            keeps.append(pick in fulfilling)
    factor, kept = np.array(factors), np.array(keeps, dtype=np.bool_)
    return DecisionQuality(
        targets=kind,
        rule=rule,
        questions=len(posed),
        picked_percent=100 * len(factor) / len(posed) if posed else 0.0,
        kept_percent=100 * _mean(kept),
        cost_factor=_mean(factor[kept]),
        cost_factor_all=_mean(factor),
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def _within(values: Mapping[str, Floats], at: Ints, limits: Sequence[float]) -> Ints:
    """Those of the options that keep both limits."""
    tpot, ttft = (values[name][at] <= limit for name, limit in zip(LIMITED, limits, strict=True))
    return at[tpot & ttft]


def _joined(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    return np.array(["|".join(parts) for parts in zip(*(text_column(frame, name) for name in columns), strict=True)])
