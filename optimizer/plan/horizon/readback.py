"""Decisions in every node read back: contracts with their cash, what runs in each month, and what it costs."""

from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.plan.horizon.branches import branches_of, horizon_of
from optimizer.plan.horizon.cash import Cash
from optimizer.plan.horizon.formulate import PlannedMonths
from optimizer.plan.record.horizon import HoursServed, MonthAhead, Serving, Signed, TermBreakEven
from optimizer.program.horizon.problem import HorizonProblem
from optimizer.program.horizon.solve import Purchases, node_usd, started, started_within

SAME = 1e-9
"""Relative difference within which two sums of money are one."""


class Read:
    """The decisions of one program among the offers of a scenario.

    `problem` holds a part of the offers of `planned`, found again by their ids.
    """

    def __init__(self, planned: PlannedMonths, problem: HorizonProblem, bought: Purchases) -> None:
        self.planned, self.problem, self.bought = planned, problem, bought
        whole = planned.problem
        hourly = {name: row for row, name in enumerate(whole.hourly.ids)}
        deals = {name: row for row, name in enumerate(whole.deals.ids)}
        self.hourly_offer = planned.hourly_offer[[hourly[name] for name in problem.hourly.ids]]
        self.deals = [planned.deals[deals[name]] for name in problem.deals.ids]
        names = [branch.name for branch in branches_of(planned.prices.life)]
        tree = problem.tree
        self.passing = [
            [names[b] for b in np.flatnonzero((tree.node == node).any(axis=1)).tolist()]
            for node in range(len(tree.month))
        ]

    def signed(self) -> list[Signed]:
        """Every contract, by month, branch and offer."""
        found = []
        for node in range(len(self.problem.tree.month)):
            for row in np.flatnonzero(self.bought.sign[:, node]).tolist():
                found.append(self._contract(row, node, int(self.bought.sign[row, node])))
        return sorted(found, key=lambda each: (each.month, each.branches, each.offer, each.payment))

    def _contract(self, row: int, node: int, count: int) -> Signed:
        deal, prices = self.deals[row], self.planned.prices
        offer, cash = prices.market.offers[deal.offer], prices.cash(deal, node)
        month = int(self.problem.tree.month[node]) + 1
        return Signed(
            branches=self.passing[node],
            month=month,
            last_month=month + cash.months - 1,
            offer=offer.id,
            provider=offer.provider,
            region=offer.region,
            instance_type=offer.instance_type,
            gpu=offer.gpu,
            gpus_per_instance=offer.gpu_count,
            pricing_term=offer.pricing_term,
            term_months=cash.months,
            payment=deal.payment,
            instances=count,
            usd_per_instance_hour=_usd(cash.usd_per_month / HOURS_PER_MONTH),
            upfront_usd=_usd(cash.upfront_usd * count),
            monthly_usd=_usd(cash.monthly_usd * count),
            returned_usd=_usd(cash.left_usd * count),
            net_present_usd=_usd(float(self.problem.deals.usd[row, node]) * count),
            price_source=offer.source,
            price_as_of=offer.as_of,
        )

    def bills_usd(self) -> Floats:
        """(N,) what is paid in each node's month: what runs, what is due for terms, less what is sold in it."""
        problem, tree = self.problem, self.problem.tree
        ran = self.bought.run.sum(axis=1) * problem.hourly.monthly_usd[:, problem.cell_node] * problem.cell_share
        bill = np.zeros(len(tree.month))
        np.add.at(bill, problem.cell_node, ran.sum(axis=0))
        bill += (started_within(problem, self.bought.run) * problem.hourly.monthly_usd).sum(axis=0)
        for row, start, count, cash in self._cash():
            bill[start] += count * cash.upfront_usd
            nodes, starts = tree.running(cash.months)
            bill[nodes[starts == start]] += count * cash.monthly_usd
            if self.deals[row].payment == "bought":
                # sold as the month ends in which its term does
                last = tree.month[nodes] == tree.month[start] + cash.months - 1
                bill[nodes[(starts == start) & last]] -= count * cash.left_usd
        if problem.switches:
            once = horizon_of(self.planned.prices.life).switch_usd_per_instance
            bill += once * started(problem, self.bought.run, self.bought.serve)
        return bill

    def owed_after_usd(self) -> float:
        """Expected, not discounted: due after the last month."""
        probability = self.problem.tree.probability
        return sum(
            float(probability[start]) * count * cash.monthly_usd * cash.months_after
            for _, start, count, cash in self._cash()
        )

    def _cash(self) -> Iterator[tuple[int, int, int, Cash]]:
        """Every (deal, node, instances, cash flow) that is signed."""
        for row, node in np.argwhere(self.bought.sign > 0).tolist():
            yield row, node, int(self.bought.sign[row, node]), self.planned.prices.cash(self.deals[row], node)

    def branch_usd(self) -> list[float]:
        """(B,) net present cost of each branch."""
        usd = node_usd(self.problem, self.bought.sign, self.bought.run, self.bought.serve)
        return [float(usd[path].sum()) for path in self.problem.tree.node]

    def months(self) -> list[MonthAhead]:
        """Every node: what is asked, what runs and what is paid."""
        problem, tree = self.problem, self.problem.tree
        usd, bills = node_usd(problem, self.bought.sign, self.bought.run, self.bought.serve), self.bills_usd()
        return [
            MonthAhead(
                month=int(tree.month[node]) + 1,
                branches=self.passing[node],
                probability=float(tree.probability[node]),
                demand_factor=float(self.planned.demand_factor[node]),
                hours=[self._hours(int(cell)) for cell in np.flatnonzero(problem.cell_node == node)],
                bill_usd=_usd(float(bills[node])),
                net_present_usd=_usd(float(usd[node])),
            )
            for node in range(len(tree.month))
        ]

    def _hours(self, cell: int) -> HoursServed:
        problem, node = self.problem, int(self.problem.cell_node[cell])
        classes, week = self.planned.formulation.problem.traffic.classes, self.planned.formulation.periods
        period = int(np.flatnonzero(problem.cells[node] == cell)[0])
        serving = []
        for row, mix in np.argwhere(self.bought.run[:, :, cell] > 0).tolist():
            offer, machine = int(self.hourly_offer[row]), int(problem.hourly.machine[row])
            usd = self.planned.prices.usd_per_hour(offer, node)
            serving.append(self._serving(machine, mix, int(self.bought.run[row, mix, cell]), offer, usd))
        for machine, mix in np.argwhere(self.bought.serve[:, :, cell] > 0).tolist():
            held = [deal.offer for deal, own in zip(self.deals, problem.deals.machine, strict=True) if own == machine]
            count = int(self.bought.serve[machine, mix, cell])
            serving.append(self._serving(machine, mix, count, min(held), None))
        return HoursServed(
            share_of_month=float(problem.cell_share[cell]),
            hours_of_week=np.flatnonzero(week.hour_to_period == period).tolist(),
            requests_per_second={
                name: float(asked) for name, asked in zip(classes, problem.demand_per_s[cell], strict=True)
            },
            serving=serving,
        )

    def _serving(self, machine: int, mix: int, count: int, offer: int, usd: float | None) -> Serving:
        planned = self.planned
        candidate, problem = int(planned.candidate[machine, mix]), planned.formulation.problem
        column = planned.formulation.columns[candidate]
        c = planned.inquiry.options[column.workload].configurations[column.configuration]
        capacity, shares = self.problem.machines.capacity_per_s[machine, mix], problem.traffic.mixes[mix]
        return Serving(
            requests_per_second={
                problem.traffic.classes[k]: float(capacity * shares[k]) for k in np.flatnonzero(shares).tolist()
            },
            offer=planned.prices.market.offers[offer].id,
            held=usd is None,
            gpu=c.gpu,
            engine=c.engine,
            precision=c.precision,
            tensor_parallel=c.tensor_parallel,
            pipeline_parallel=c.pipeline_parallel,
            replicas_per_instance=int(planned.replicas[machine, mix]),
            instances=count,
            usd_per_instance_hour=None if usd is None else _usd(usd),
        )


def break_even(planned: PlannedMonths, problem: HorizonProblem) -> list[TermBreakEven]:
    """Every deal of a program if it were signed in the first month, against the same machine on demand.

    Prices are those of the likeliest branch, and of several on-demand offers the cheapest counts. The whole term is
    paid for, and no more months are used than it has and the horizon knows prices of.
    """
    market, prices, whole = planned.prices.market, planned.prices, planned.problem
    path, rows = problem.tree.node[int(np.argmax(problem.tree.weight))], {n: r for r, n in enumerate(whole.deals.ids)}
    yearly = horizon_of(prices.life).discount_percent_per_year / 100
    found = []
    for name in problem.deals.ids:
        deal = planned.deals[rows[name]]
        same = np.flatnonzero(whole.hourly.machine == whole.deals.machine[rows[name]])
        # (T,) spent on demand by the end of each month, in the first month's dollars
        spent = np.cumsum(whole.hourly.usd[same][:, path].min(axis=0, initial=np.inf))[: deal.term_months]
        cash = prices.cash(deal, 0)
        paid = np.flatnonzero(spent >= cash.whole.present_usd(yearly) * (1 - SAME)) if len(same) else same
        against = int(planned.hourly_offer[same[whole.hourly.usd[same, 0].argmin()]]) if len(same) else None
        found.append(
            TermBreakEven(
                offer=market.offers[deal.offer].id,
                term_months=deal.term_months,
                payment=deal.payment,
                months=int(paid[0]) + 1 if len(paid) else None,
                on_demand=None if against is None else market.offers[against].id,
                usd_per_hour=_usd(cash.usd_per_month / HOURS_PER_MONTH),
                on_demand_usd_per_hour=None if against is None else _usd(prices.usd_per_hour(against, 0)),
            )
        )
    return sorted(found, key=lambda each: (each.months is None, each.months or 0, each.offer, each.payment))


def _usd(amount: float) -> Decimal:
    return Decimal(repr(amount))
