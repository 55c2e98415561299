"""Draws of a plan, again: what it costs and sustains in each, what is rented beside it, and every sum over them.

It shares nothing with the arrays that drew up the answer: prices come from the catalogs, demand from the scenario,
counts of rented instances from trying each. What a replica sustains at a deviation is the prediction's word, and so is
the least cost of a draw that is known; that the best purchases never undercut it is checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, exp, isclose, log, nan, prod
from statistics import fmean
from typing import Final

from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, OWNED, SPOT
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.risk import Risk
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.risk import (
    BoughtInDraws,
    CostOfDraw,
    Draw,
    PurchasesInDraws,
    RiskCheck,
    RiskReport,
    RiskVerification,
)
from optimizer.plan.verify.ahead.findings import Finding, Rules, checked
from optimizer.plan.verify.ahead.months_ahead import disk_usd_per_month
from optimizer.plan.verify.ahead.risk_spreads import price_moves_with, spreads_held

RELATIVE, CENT_USD, SHARE = 1e-6, 0.01, 1e-9
"""How far figures may be from their own recomputation: relatively, in money, and in shares of draws."""

FURTHEST: Final = 3.0 / 1.2815515655446004
"""No draw lies further from the middle of its spread than so many times the distance of the tenth beyond it."""


def verify_risk(report: RiskReport, scenario: Scenario, catalogs: Catalogs) -> RiskVerification:
    """Whether every figure of every draw, and every sum over them, holds."""
    audit = _DrawsAudit(report, scenario, catalogs)
    rules: Rules = {
        "question": audit.question,
        "draws": audit.drawn,
        "plan": audit.plan,
        "best": audit.best,
        "known": audit.known,
        "promises": audit.promises,
        "sums": audit.sums,
        "gap": audit.gap,
    }
    checks = checked(RiskCheck, rules)
    return RiskVerification(passed=all(check.passed for check in checks), checks=checks)


class _DrawsAudit:
    """One report held against the scenario and the catalogs."""

    def __init__(self, report: RiskReport, scenario: Scenario, catalogs: Catalogs) -> None:
        self.report, self.scenario, self.catalogs = report, scenario, catalogs
        self.risk = scenario.risk or Risk()
        self.offers = {offer.id: offer for offer in catalogs.offers}
        self.machines = {machine.name: machine for machine in report.machines}
        self.moving = {each.of for each in report.spreads if each.uncertainty == "prices"}
        self.asked = {workload.name: workload.peak_requests_per_second() for workload in scenario.workloads}

    def question(self) -> Iterator[Finding]:
        """What is answered is what the scenario asks: the month, the tail, and the spreads that it states."""
        for name in ("months_ahead", "tail_level", "tail_weight"):
            said, stated = getattr(self.report, name), getattr(self.risk, name)
            yield said == stated, f"{name} is {stated:g} in the scenario, not {said:g}"
        bought = {each.offer for each in self.report.machines} | {each.offer for each in self.report.deployments}
        offers = [self.offers[name] for name in sorted(bought)]
        yield from spreads_held(self.report.spreads, self.risk, self.catalogs, offers)

    def drawn(self) -> Iterator[Finding]:
        """There are as many draws as were asked for, none further out than its spread goes."""
        told, prices, demand = len(self.report.by_draw), self._furthest_prices(), self._furthest_demand()
        yield told == self.report.draws, f"{told} of {self.report.draws} draws are told"
        for number, draw in enumerate(self.report.by_draw, start=1):
            yield set(draw.price_factor) == set(prices), f"draw {number}: prices other than those that spread"
            yield set(draw.demand_factor) == set(self.asked), f"draw {number}: demand of others than the workloads"
            for name, ends in prices.items():
                factor = draw.price_factor.get(name, nan)
                yield _within(factor, ends), f"draw {number}: prices of {name} times {factor:g}"
            for name, factor in draw.demand_factor.items():
                yield _within(factor, demand), f"draw {number}: demand of {name} times {factor:g}"
            for name, deviation in draw.deviation.items():
                yield -3 <= deviation <= 3, f"draw {number}: {name} lies {deviation:g} deviations off"

    def _furthest_prices(self) -> dict[str, tuple[float, float]]:
        """The least and the highest factor of each class of prices."""
        years, spreads = self.report.months_ahead / 12, self.report.spreads
        return {s.of: _furthest(s.p10, s.p50, s.p90, years) for s in spreads if s.uncertainty == "prices"}

    def _furthest_demand(self) -> tuple[float, float]:
        """The least and the highest factor of demand: its level, and growth over the months."""
        powers = {"": 1.0, "growth a month": float(self.report.months_ahead)}
        spreads = [each for each in self.report.spreads if each.uncertainty == "demand"]
        ends = [_furthest(each.p10, each.p50, each.p90, powers[each.of]) for each in spreads]
        return prod(low for low, _ in ends), prod(high for _, high in ends)

    def plan(self) -> Iterator[Finding]:
        """What the plan costs and misses in every draw."""
        if self.report.plan is None:
            return
        for number, draw in enumerate(self.report.by_draw, start=1):
            short = dict.fromkeys(self.asked, 0.0)
            for workload in self.scenario.workloads:
                asked = self.asked[workload.name] * draw.demand_factor[workload.name]
                for item in workload.classes():
                    served = sum(
                        self._rate(each.requests_per_second_by_deviation, each.error_moves_with, each.offer, draw)
                        * each.class_share.get(item.name, 0.0)
                        for each in self.report.deployments
                        if each.workload == workload.name
                    )
                    missing = max(asked - served / item.share, 0.0)
                    short[workload.name] = max(short[workload.name], missing)
            yield from self._cost(f"draw {number}", draw, draw.plan, self.report.plan.bought, short)

    def best(self) -> Iterator[Finding]:
        """The same of the best purchases."""
        if self.report.best is None:
            return
        for number, draw in enumerate(self.report.by_draw, start=1):
            yield draw.best is not None, f"draw {number} does not tell what the best purchases cost"
            short = {name: asked * draw.demand_factor[name] for name, asked in self.asked.items()}
            for each in self.report.best.bought:
                machine = self.machines[each.machine or ""]
                rates = machine.requests_per_second_by_deviation
                short[machine.workload] -= each.instances * self._rate(
                    rates, machine.error_moves_with, machine.offer, draw
                )
            if draw.best is not None:
                missing = {name: max(value, 0.0) for name, value in short.items()}
                yield from self._cost(f"draw {number}, best", draw, draw.best, self.report.best.bought, missing)

    def _cost(
        self, where: str, draw: Draw, told: CostOfDraw, bought: Sequence[BoughtInDraws], short: Mapping[str, float]
    ) -> Iterator[Finding]:
        """What was bought, the least that makes up for what is missing, and their sum."""
        paid = sum(each.instances * self._usd(self.offers[each.offer], draw) for each in bought)
        yield _same(paid, float(told.bought_usd)), f"{where}: {told.bought_usd} is paid for what comes to {paid:.2f}"
        rented = lost = 0.0
        for name, missing in short.items():
            yield from self._made_up(where, draw, told, name, missing)
            rented += told.rented[name] * self._machine(draw.machine[name], draw)[0]
            lost += self._lost_usd(told.unserved_per_s[name])
        yield _same(rented, float(told.rented_usd)), f"{where}: {told.rented_usd} is paid for rent of {rented:.2f}"
        yield _same(lost, float(told.unserved_usd)), f"{where}: {told.unserved_usd} is lost of {lost:.2f}"
        total = paid + rented + lost
        yield _same(total, float(told.cost_usd)), f"{where}: it costs {total:.2f}, not {told.cost_usd}"

    def _made_up(self, where: str, draw: Draw, told: CostOfDraw, name: str, missing: float) -> Iterator[Finding]:
        """What is missing of one workload is rented or left unserved, at the least cost."""
        said, dust = told.short_per_s[name], RELATIVE * self.asked[name] * draw.demand_factor[name]
        yield abs(said - missing) <= dust, f"{where}: {said:g}, not {missing:g}/s missing"
        usd, rate = self._machine(draw.machine[name], draw)
        served = told.rented[name] * rate + told.unserved_per_s[name]
        yield served >= said - dust, f"{where}: {name} is served {served:g} of {said:g} missing requests/s"
        cost = told.rented[name] * usd + self._lost_usd(told.unserved_per_s[name])
        least = self._least_usd(draw.machine[name], said, draw)
        yield _same(cost, least), f"{where}: {name} is made up for at {cost:.2f}, not {least:.2f}"

    def _lost_usd(self, unserved_per_s: float) -> float:
        """A month of requests that are not served."""
        return unserved_per_s * self._unserved_usd() if unserved_per_s > 0 else 0.0

    def _least_usd(self, machine: str | None, short_per_s: float, draw: Draw) -> float:
        """The least that makes up for missing requests: every count of the draw's machine, the rest unserved."""
        usd, rate = self._machine(machine, draw)
        most = ceil(short_per_s / rate * (1 - RELATIVE)) if rate > 0 else 0
        costs = []
        for count in {0, max(most - 1, 0), most}:
            left = max(short_per_s - count * rate, 0.0) if count < most or rate <= 0 else 0.0
            costs.append(count * usd + self._lost_usd(left))
        return min(costs)

    def _machine(self, name: str | None, draw: Draw) -> tuple[float, float]:
        """A month of an instance at short notice, and requests/s that it sustains."""
        if name is None:
            return 0.0, 0.0
        machine = self.machines[name]
        usd = self._usd(self.offers[machine.offer], draw) * (1 + self.risk.top_up_premium_percent / 100)
        rate = self._rate(machine.requests_per_second_by_deviation, machine.error_moves_with, machine.offer, draw)
        return usd, rate

    def _unserved_usd(self) -> float:
        """A month of one request/s that is not served."""
        each = self.risk.unserved_usd_per_million_requests
        return float("inf") if each is None else each / 1e6 * HOURS_PER_MONTH * SECONDS_PER_HOUR

    def _rate(self, by_deviation: Sequence[float], kind: str, offer: str, draw: Draw) -> float:
        """Requests/s at the draw's deviation, between the two at which it was predicted."""
        if not self._there(self.offers[offer], draw):
            return 0.0
        at, steps = draw.deviation[kind], self.report.deviations
        for left in range(len(steps) - 1):
            if at <= steps[left + 1]:
                part = (at - steps[left]) / (steps[left + 1] - steps[left])
                return by_deviation[left] + part * (by_deviation[left + 1] - by_deviation[left])
        return by_deviation[-1]

    def _usd(self, offer: Offer, draw: Draw) -> float:
        """A month of an instance in a draw."""
        if not self._there(offer, draw):
            return 0.0
        prices = price_moves_with(offer, self.catalogs)
        factor = draw.price_factor.get(prices or "", nan) if prices in self.moving else 1.0
        disk = disk_usd_per_month(self.catalogs, offer, self.scenario.policy.storage_gb_per_instance)
        return float(offer.price_usd_per_hour) * HOURS_PER_MONTH * factor + disk

    def _there(self, offer: Offer, draw: Draw) -> bool:
        if offer.pricing_term == SPOT:
            return draw.spot_there[f"{offer.provider}/{offer.region}"]
        return draw.commitments_begun or offer.pricing_term not in ALWAYS_PAID or offer.pricing_term == OWNED

    def known(self) -> Iterator[Finding]:
        """Nothing that was bought costs less in a draw than what is said to be its least."""
        for number, draw in enumerate(self.report.by_draw, start=1):
            for cost in (draw.best,) if draw.best is not None else ():
                least = float(draw.known_usd or 0)
                text = f"draw {number}: {cost.cost_usd} is less than the least cost, {draw.known_usd}"
                yield float(cost.cost_usd) >= least * (1 - RELATIVE) - CENT_USD, text

    def promises(self) -> Iterator[Finding]:
        """A promise is kept in the draws in which nothing of its workload is missing."""
        draws = self.report.by_draw
        for promise in self.report.promises:
            held = fmean(draw.plan.short_per_s[promise.workload] == 0 for draw in draws)
            text = f"{promise.workload} is kept in {held:.2%} of the draws, not in {promise.share_held:.2%}"
            yield abs(held - promise.share_held) <= SHARE, text
            yield (
                promise.lowest_share <= held <= promise.highest_share,
                f"{promise.workload}: {held} is not in its range",
            )
        if self.report.all_held is not None:
            held = fmean(not any(draw.plan.short_per_s.values()) for draw in draws)
            yield abs(held - self.report.all_held) <= SHARE, f"all are kept in {held:.2%} of the draws"

    def sums(self) -> Iterator[Finding]:
        """Means, quantiles, tails and regrets."""
        draws = self.report.by_draw
        if self.report.plan is not None:
            yield from self._summed("the plan", self.report.plan, [draw.plan for draw in draws])
        best = [draw.best for draw in draws if draw.best is not None]
        # draws that do not tell it are found as `best` is checked
        if self.report.best is not None and len(best) == len(draws):
            yield from self._summed("the best purchases", self.report.best, best)
        if self.report.known_usd is not None:
            mean = fmean(float(draw.known_usd or 0) for draw in draws)
            yield _same(mean, float(self.report.known_usd)), f"known draws cost {mean:.2f}, not {self.report.known_usd}"
        if self.report.best_in:
            counted = sum(each.draws for each in self.report.best_in)
            told = sum(draw.known_usd is not None for draw in draws)
            yield counted == told, f"{counted} of {told} known draws are counted"

    def _summed(self, whose: str, told: PurchasesInDraws, costs: Sequence[CostOfDraw]) -> Iterator[Finding]:
        usd = sorted(float(each.cost_usd) for each in costs)
        figures = {
            "expected": (told.expected_usd, fmean(usd)),
            "p10": (told.p10_usd, _quantile(usd, 0.1)),
            "p50": (told.p50_usd, _quantile(usd, 0.5)),
            "p90": (told.p90_usd, _quantile(usd, 0.9)),
            "tail": (told.tail_usd, _tail(usd, self.report.tail_level)),
            "bought": (told.expected_bought_usd, fmean(float(each.bought_usd) for each in costs)),
            "rented": (told.expected_rented_usd, fmean(float(each.rented_usd) for each in costs)),
            "unserved": (told.expected_unserved_usd, fmean(float(each.unserved_usd) for each in costs)),
        }
        if told.regret_usd is not None and told.p90_regret_usd is not None:
            regret = self._regrets(costs)
            figures["regret"] = (told.regret_usd, fmean(regret))
            figures["p90 of the regret"] = (told.p90_regret_usd, _quantile(regret, 0.9))
        for name, (said, found) in figures.items():
            yield _same(float(said), found), f"{whose}: {name} is {found:.2f}, not {said}"
        yield from self._shares(whose, told, costs)

    def _regrets(self, costs: Sequence[CostOfDraw]) -> list[float]:
        """What each draw costs beyond its least, the smallest first."""
        known = [float(draw.known_usd or 0) for draw in self.report.by_draw]
        return sorted(max(float(each.cost_usd) - own, 0.0) for each, own in zip(costs, known, strict=True))

    def _shares(self, whose: str, told: PurchasesInDraws, costs: Sequence[CostOfDraw]) -> Iterator[Finding]:
        """Of the draws and of the demand: within the budget, and short of what is asked."""
        budget = self.scenario.policy.max_monthly_usd
        if budget is not None:
            within = fmean(float(each.cost_usd) <= float(budget) for each in costs)
            yield abs(within - (told.within_budget or 0.0)) <= SHARE, f"{whose}: within the budget in {within:.2%}"
        short = fmean(any(each.short_per_s.values()) for each in costs)
        yield abs(short - told.draws_short) <= SHARE, f"{whose}: short in {short:.2%} of the draws"
        missing = fmean(
            sum(each.short_per_s.values()) / sum(asked * draw.demand_factor[name] for name, asked in self.asked.items())
            for each, draw in zip(costs, self.report.by_draw, strict=True)
        )
        yield abs(missing - told.share_short) <= RELATIVE, f"{whose}: short of {missing:.2%} of the demand"

    def gap(self) -> Iterator[Finding]:
        """The gap is what lies between its bounds."""
        gap = self.report.gap
        if gap is not None:
            lower, upper = float(gap.lower_usd), float(gap.upper_usd)
            widths = float(gap.lower_half_width_usd) + float(gap.upper_half_width_usd)
            yield _same(max(upper - lower, 0.0), float(gap.gap_usd)), "the gap is not the difference of its bounds"
            yield (
                _same(max(upper - lower + widths, 0.0), float(gap.most_gap_usd)),
                "the widest gap leaves out a half-width",
            )


def _furthest(p10: float, p50: float, p90: float, power: float) -> tuple[float, float]:
    """The least and the highest factor that a spread in percent may be drawn as."""
    low, middle, high = (log(1 + percent / 100) for percent in (p10, p50, p90))
    ends = (middle - FURTHEST * (middle - low)) * power, (middle + FURTHEST * (high - middle)) * power
    return exp(ends[0]), exp(ends[1])


def _within(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] * (1 - RELATIVE) <= value <= ends[1] * (1 + RELATIVE)


def _tail(rising: Sequence[float], level: float) -> float:
    """The mean of the dearest share of the draws beyond a level, of which one may count in part."""
    left = share = (1 - level) * len(rising)
    total = 0.0
    for cost in reversed(rising):
        total += min(left, 1.0) * cost
        left -= min(left, 1.0)
    return total / share


def _quantile(rising: Sequence[float], share: float) -> float:
    """The least value that so large a share does not exceed."""
    return next(value for rank, value in enumerate(rising, start=1) if rank >= share * len(rising) - 1e-9)


def _same(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=RELATIVE, abs_tol=CENT_USD)
