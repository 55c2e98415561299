"""From arrays over draws to the answer: what purchases come to, draw by draw and over all of them."""

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.plan.record.fields import usd
from optimizer.plan.record.risk import (
    BestInDraws,
    BoughtInDraws,
    CostOfDraw,
    Draw,
    PromiseInDraws,
    PurchasesInDraws,
    SampleGapReport,
)
from optimizer.plan.risk.naming import name_of
from optimizer.plan.risk.purchases import WaysToBuy
from optimizer.plan.risk.sample import Sample, Sampled
from optimizer.program.risk.gap import CONFIDENCE, SampleGap
from optimizer.program.risk.known import KnownDraws
from optimizer.program.risk.measure import Aim, value_at_risk
from optimizer.program.risk.problem import CostInDraws, outcome


def promises(sample: Sample, names: Sequence[str]) -> list[PromiseInDraws]:
    """In how many draws the plan sustains each workload, with Wilson's interval."""
    found = list[PromiseInDraws]()
    for name, short in zip(names, sample.plan.short_per_s, strict=True):
        share = float((short <= 0).mean())
        lowest, highest = _interval(share, len(short))
        found.append(PromiseInDraws(workload=name, share_held=share, lowest_share=lowest, highest_share=highest))
    return found


def _interval(share: float, count: int) -> tuple[float, float]:
    """Wilson, Probable inference, Journal of the American Statistical Association 22, 1927."""
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    width = z / (1 + z**2 / count) * sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    # none and all of the draws are ends of their own interval, which rounding must not leave out
    return min(max(middle - width, 0.0), share), max(min(middle + width, 1.0), share)


def over_draws(
    found: CostInDraws,
    bought: list[BoughtInDraws],
    demand_per_s: Floats,
    *,
    aim: Aim,
    known_usd: Floats | None,
    budget_usd: float | None,
) -> PurchasesInDraws:
    """What purchases come to over all draws.

    Args:
        found: By draw.
        bought: What they are.
        demand_per_s: (W, S).
        aim: Whose tail is told.
        known_usd: (S,) the least cost of each draw, where all are known.
        budget_usd: Of a month; None without one.
    """
    cost, rented = found.cost_usd, found.top_up_usd.sum(axis=0)
    regret = None if known_usd is None else np.maximum(cost - known_usd, 0.0)
    return PurchasesInDraws(
        bought=bought,
        expected_usd=usd(cost.mean()),
        p10_usd=usd(value_at_risk(cost, 0.1)),
        p50_usd=usd(value_at_risk(cost, 0.5)),
        p90_usd=usd(value_at_risk(cost, 0.9)),
        tail_usd=usd(aim.tail(cost)),
        expected_bought_usd=usd(found.bought_usd.mean()),
        expected_rented_usd=usd(rented.mean()),
        expected_unserved_usd=usd(found.unserved_usd.mean()),
        share_short=float((found.short_per_s.sum(axis=0) / demand_per_s.sum(axis=0)).mean()),
        draws_short=float((found.short_per_s > 0).any(axis=0).mean()),
        within_budget=None if budget_usd is None else float((cost <= budget_usd).mean()),
        regret_usd=None if regret is None else usd(regret.mean()),
        p90_regret_usd=None if regret is None else usd(value_at_risk(regret, 0.9)),
    )


def bought_of(purchases: WaysToBuy, counts: Ints, names: tuple[str, ...]) -> list[BoughtInDraws]:
    """The purchases of which there are any."""
    return [
        BoughtInDraws(
            machine=name_of(purchases, row, names), offer=purchases.ways[row].offer.id, instances=int(counts[row])
        )
        for row in np.flatnonzero(counts).tolist()
    ]


def best_in(purchases: WaysToBuy, sample: Sample, known: KnownDraws, names: tuple[str, ...]) -> list[BestInDraws]:
    """Which machines would run in how many draws, had these been known, in whatever counts; the most draws first."""
    bought = Counter[tuple[int, ...]]()
    for draw, counts in enumerate(known.counts):
        found = outcome(sample.problem.during(np.array([draw])), counts)
        rented = sample.machine[found.instances[:, 0] > 0, draw]
        bought[tuple(sorted({*np.flatnonzero(counts).tolist(), *rented.tolist()}))] += 1
    machines = [
        BestInDraws(machines=[name_of(purchases, row, names) for row in rows], draws=draws)
        for rows, draws in bought.items()
    ]
    return sorted(machines, key=lambda each: (-each.draws, each.machines))


def gap_of(gap: SampleGap, draws_per_batch: int) -> SampleGapReport:
    """The bounds and what lies between them."""
    return SampleGapReport(
        batches=gap.batches,
        draws_per_batch=draws_per_batch,
        lower_usd=usd(gap.lower.usd),
        lower_half_width_usd=usd(gap.lower.half_width_usd),
        upper_usd=usd(gap.upper.usd),
        upper_half_width_usd=usd(gap.upper.half_width_usd),
        gap_usd=usd(gap.gap_usd),
        most_gap_usd=usd(gap.most_gap_usd),
    )


def draws_of(
    sampled: Sampled, sample: Sample, best: CostInDraws | None, known: KnownDraws, shown: set[str]
) -> list[Draw]:
    """Every draw.

    Args:
        sampled: What was drawn.
        sample: The draws.
        best: What the best purchases come to.
        known: The least cost of the first draws.
        shown: Kinds of configuration whose errors matter here.
    """
    drawn, at = sampled.drawn, sample.states
    kinds = [(row, kind.words) for row, kind in enumerate(drawn.kinds) if kind.words in shown]
    found = list[Draw]()
    for s in range(sample.problem.draws):
        found.append(
            Draw(
                demand_factor=_by_name(drawn.workloads, at.demand_factor[:, s]),
                price_factor=_by_name([each.words for each in drawn.prices], at.price_factor[:, s]),
                commitments_begun=bool(at.begun[s]),
                spot_there=dict(zip(drawn.regions, at.there[:, s].tolist(), strict=True)),
                deviation={words: float(at.deviation[row, s]) for row, words in kinds},
                machine=_machines(sampled, sample.machine[:, s]),
                known_usd=usd(known.usd[s]) if s < len(known.usd) else None,
                plan=_cost(sample.plan, s, drawn.workloads),
                best=None if best is None else _cost(best, s, drawn.workloads),
            )
        )
    return found


def _machines(sampled: Sampled, rows: Ints) -> dict[str, str | None]:
    """What more is rented of for each workload, given (W,) purchases; None where no machine keeps its promises."""
    names = sampled.drawn.workloads
    machine = [None if row < 0 else name_of(sampled.purchases, row, names) for row in rows.tolist()]
    return dict(zip(names, machine, strict=True))


def _cost(found: CostInDraws, draw: int, names: tuple[str, ...]) -> CostOfDraw:
    rented = float(found.top_up_usd[:, draw].sum())
    return CostOfDraw(
        bought_usd=usd(found.bought_usd[draw]),
        short_per_s=_by_name(names, found.short_per_s[:, draw]),
        rented=dict(zip(names, found.instances[:, draw].tolist(), strict=True)),
        rented_usd=usd(rented),
        unserved_per_s=_by_name(names, found.unserved_per_s[:, draw]),
        unserved_usd=usd(found.unserved_usd[draw]),
        cost_usd=usd(found.cost_usd[draw]),
    )


def _by_name(names: Sequence[str], values: Floats) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
