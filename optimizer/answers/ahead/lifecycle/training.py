"""What training costs: each run priced, sized and powered, and the checkpoints it leaves."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from optimizer.answers.ahead.lifecycle.arithmetic import Training, checkpoints_held, scaling_efficiency
from optimizer.answers.ahead.lifecycle.types import RunSize, TrainingCost
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import GRAMS_PER_KILOGRAM, WATTS_PER_KILOWATT
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Grid, TrainingRun
from optimizer.performance.market.market import Market

FROM_SCENARIO: Final = "scenario"


@dataclass(frozen=True)
class PricedRun:
    """A training run of the scenario with its price found."""

    spec: TrainingRun
    run: Training
    offer: Offer | None

    @property
    def before_serving_usd(self) -> Decimal:
        """Runs before the first month."""
        return self.run.cost_usd * self.spec.initial_runs

    @property
    def usd_per_month(self) -> Decimal:
        """Runs of every month."""
        return self.run.cost_usd * exact(self.spec.runs_per_month)

    def storage_usd(self, month: int) -> Decimal:
        """Checkpoints held in a month, at the price of their storage."""
        kept = self.spec.checkpoints
        if kept is None:
            return Decimal(0)
        held = checkpoints_held(self.spec.initial_runs, exact(self.spec.runs_per_month), kept.keep_months, month)
        return held * exact(kept.gb_per_run) * exact(kept.usd_per_gb_month)


def exact(value: float) -> Decimal:
    """The number as it was written."""
    return Decimal(repr(value))


def priced(run: TrainingRun, market: Market) -> PricedRun:
    """The run at its own price, or at the cheapest offer of its GPU that the policy admits.

    Raises:
        InputError: it has no price of its own and no offer is admitted.
    """
    offer = None if run.usd_per_gpu_hour is not None else _cheapest(run, market)
    per_gpu = offer.price_usd_per_hour / offer.gpu_count if offer else exact(run.usd_per_gpu_hour or 0)
    return PricedRun(run, Training(run.gpus, exact(run.hours), per_gpu, exact(run.overhead_share)), offer)


def _cheapest(run: TrainingRun, market: Market) -> Offer:
    """By GPU-hour, among instances that hold the whole run, or as much of it as any single instance does."""
    offers = [
        offer
        for offer, admitted in zip(market.offers, market.admitted, strict=True)
        if admitted and offer.gpu == run.gpu
    ]
    if not offers:
        field = f"lifecycle.training[{run.name}].gpu"
        problem = f"the policy admits no offer of {run.gpu}"
        raise InputError([Finding("scenario", 0, field, problem, "give usd_per_gpu_hour, or admit one")])
    needed = min(run.gpus, max(offer.gpu_count for offer in offers))
    wide = (offer for offer in offers if offer.gpu_count >= needed)
    return min(wide, key=lambda offer: (offer.price_usd_per_hour / offer.gpu_count, offer.id))


def training_cost(run: PricedRun, months: int, catalogs: Catalogs, grid: Grid | None) -> TrainingCost:
    """The run as it is told."""
    spec = run.spec
    runs = Decimal(spec.initial_runs) + exact(spec.runs_per_month) * months
    energy = _energy_kwh(spec, catalogs, grid)
    intensity = grid.intensity_g_per_kwh(spec.region) if grid else None
    carbon = None if energy is None or intensity is None else energy * intensity / GRAMS_PER_KILOGRAM
    return TrainingCost(
        name=spec.name,
        gpus=spec.gpus,
        gpu=spec.gpu,
        hours=spec.hours,
        usd_per_gpu_hour=run.run.usd_per_gpu_hour,
        price_source=run.offer.id if run.offer else FROM_SCENARIO,
        price_as_of=run.offer.as_of if run.offer else None,
        cost_per_run_usd=run.run.cost_usd,
        overhead_share=spec.overhead_share,
        runs=float(runs),
        cost_usd=run.run.cost_usd * runs,
        energy_kwh_per_run=energy,
        carbon_kg_per_run=carbon,
        scaling=list(_sizes(run)) if spec.scaling else [],
    )


def _energy_kwh(run: TrainingRun, catalogs: Catalogs, grid: Grid | None) -> float | None:
    """GPUs × rated power × hours × (1 + overhead) × PUE."""
    rated_w = catalogs.gpu(run.gpu).tdp_w if run.gpu else None
    if rated_w is None:
        return None
    facility = grid.pue if grid else 1.0
    return run.gpus * rated_w / WATTS_PER_KILOWATT * run.hours * (1 + run.overhead_share) * facility


def _sizes(run: PricedRun) -> Iterator[RunSize]:
    """The run on every number of GPUs that was tried, fewest first; efficiency against the fewest."""
    tried = {each.gpus: exact(each.hours) for each in run.spec.scaling}
    tried[run.run.gpus] = run.run.hours
    fewest = min(tried)
    for gpus, hours in sorted(tried.items()):
        size = Training(gpus, hours, run.run.usd_per_gpu_hour, run.run.overhead_share)
        yield RunSize(
            gpus=gpus,
            hours=float(hours),
            cost_usd=size.cost_usd,
            efficiency=float(scaling_efficiency(gpus, hours, fewest, tried[fewest])),
            chosen=gpus == run.run.gpus,
        )
