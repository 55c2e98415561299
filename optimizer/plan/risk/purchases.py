"""What may be bought before a draw is known: instances that serve one workload each, with their prices and speeds.

An instance holds as many replicas of one configuration as fit and serves a workload's classes in their shares. Of each
offer, workload and kind of configuration the one counts that sustains most at the plan's confidence: kinds are what
predictions are off by alike. That is a restriction, see docs/risk.md.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.risk import Risk
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.setup import Configuration
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.terms import term_months
from optimizer.plan.risk.draws import MOST_DEVIATIONS, kind_of
from optimizer.plan.risk.offered import Offered, Running, is_signed, spot_region
from optimizer.plan.risk.speeds import rates_by_deviation, rates_in_draws
from optimizer.program.risk.dominance import needed

WHOLE_MIX: Final = 0
"""The pool that serves all classes of a workload in their shares."""


@dataclass(frozen=True)
class WayToBuy:
    """One way to buy an instance and what it runs.

    Attributes:
        offer: It.
        workload: Position among the scenario's.
        configuration: Of each replica.
        replicas: That fit the instance.
    """

    offer: Offer
    workload: int
    configuration: Configuration
    replicas: int


@dataclass(frozen=True, eq=False)
class WaysToBuy:
    """U ways to buy, and what an instance of each runs."""

    ways: tuple[WayToBuy, ...]
    running: Running

    @property
    def workload(self) -> Ints:
        """(U,) positions among the scenario's."""
        return np.array([way.workload for way in self.ways], dtype=np.int64)

    @property
    def on_demand(self) -> Ints:
        """Those that may be rented at short notice, in any number."""
        rows = zip(self.ways, self.running.offered.most, strict=True)
        return np.flatnonzero([way.offer.pricing_term == "on_demand" and np.isinf(most) for way, most in rows])

    def select(self, kept: Ints) -> "WaysToBuy":
        """Those listed."""
        return WaysToBuy(tuple(self.ways[row] for row in kept.tolist()), self.running.select(kept))


def purchases_of(inquiry: Inquiry, risk: Risk) -> WaysToBuy:
    """Every way that others do not replace in whatever draw; commitments that last to the month that is drawn."""
    market = inquiry.market
    ways, positions, rates = list[WayToBuy](), list[int](), list[Floats]()
    columns = [column for column in inquiry.formulated().columns if WHOLE_MIX in column.pools]
    lasting = [not is_signed(offer) or _lasts(offer, risk) for offer in market.offers]
    for number, choice in enumerate(inquiry.options):
        pool = choice.pools[WHOLE_MIX]
        own = [each for each in columns if each.workload == number and lasting[each.offer]]
        passed = pool.passed
        own = [each for each in own if passed[each.configuration]]
        rows = np.array(sorted({each.configuration for each in own}), dtype=np.int64)
        predicted = rates_by_deviation(inquiry.catalogs, choice, rows, pool.pool.mix)
        for each in own:
            replicas = int(market.gpu_count[each.offer] // choice.gpus_per_replica[each.configuration])
            configuration = choice.configurations[each.configuration]
            ways.append(WayToBuy(market.offers[each.offer], choice.workload_index, configuration, replicas))
            positions.append(each.offer)
            share = replicas * inquiry.scenario.policy.max_utilization * float(market.serving_share[each.offer])
            rates.append(predicted[np.searchsorted(rows, each.configuration)] * share)
    kinds = tuple(kind_of(way.configuration) for way in ways)
    running = Running(Offered.of(market, np.array(positions, dtype=np.int64)), kinds, np.array(rates))
    found = WaysToBuy(tuple(ways), running)
    best = found.select(_best_of_each_kind(found, inquiry.scenario.policy.confidence))
    return best.select(_needed_in_any_draw(best))


def _lasts(offer: Offer, risk: Risk) -> bool:
    """Whether a commitment lasts to the month that is drawn, and no longer than the scenario wants one."""
    months = term_months(offer)
    return months is not None and risk.months_ahead <= months <= risk.longest_term_months


def _best_of_each_kind(found: WaysToBuy, confidence: float) -> Ints:
    """Of each offer, workload and kind the way that sustains most at the confidence; of equals the first."""
    behind = min(NormalDist().inv_cdf(confidence), MOST_DEVIATIONS)
    planned = rates_in_draws(found.running.rates, np.full((len(found.ways), 1), behind))[:, 0]
    ways = zip(found.ways, found.running.kinds, strict=True)
    same = Categorical.of([(way.offer.id, way.workload, kind) for way, kind in ways])
    order = np.lexsort((np.arange(len(planned)), -planned, same.codes))
    first = np.unique(same.codes[order], return_index=True)[1]
    return np.sort(order[first])


def _needed_in_any_draw(found: WaysToBuy) -> Ints:
    """Those that no other replaces whose price, speed and presence move with theirs, whatever is drawn.

    Between two deviations rates are straight lines, so their ratio is highest at one of them; the price of each moves
    by the same factor, storage does not move and so may cost no more.
    """
    moves_with = [
        (way.workload, kind, price, is_signed(way.offer), spot_region(way.offer))
        for way, kind, price in zip(found.ways, found.running.kinds, found.running.offered.prices, strict=True)
    ]
    offered = found.running.offered
    usd = np.column_stack([offered.usd_per_hour, offered.storage_usd])
    return needed(Categorical.of(moves_with).codes, usd, found.running.rates, offered.most)


def rented_machines(found: WaysToBuy, usd: Floats, rate_per_s: Floats, demand_per_s: Floats) -> Ints:
    """(W, S) which purchase more is rented of in each draw; -1 where none sustains anything.

    The machine on demand that would serve all of the draw's demand for least, whatever was bought before.

    Args:
        found: What may be bought.
        usd: (U, S) a month of an instance.
        rate_per_s: (U, S) that it sustains.
        demand_per_s: (W, S).
    """
    chosen = np.full(demand_per_s.shape, -1, dtype=np.int64)
    short_notice = found.on_demand
    for w, demand in enumerate(demand_per_s):
        rows = short_notice[found.workload[short_notice] == w]
        if not len(rows):
            continue
        with np.errstate(divide="ignore"):
            whole = np.ceil(demand / rate_per_s[rows]) * usd[rows]
        best = whole.argmin(axis=0)
        possible: Flags = np.isfinite(whole[best, np.arange(len(demand))])
        chosen[w] = np.where(possible, rows[best], -1)
    return chosen
