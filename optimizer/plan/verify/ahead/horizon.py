"""Purchases over months, again: demand in every node, what is held, every price and every sum.

It shares nothing with the program over months, nor with how its decisions were read back. What one instance sustains is
the prediction's word; that its replicas fit is checked.
"""

from collections.abc import Iterator
from math import isclose
from typing import TypeAlias

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR, MONTHS_PER_YEAR
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.lifecycle import GrowthBranch, Horizon
from optimizer.inputs.scenario.scenario import Lifecycle, Scenario, Workload
from optimizer.plan.record.horizon import HorizonCheck, HorizonReport, HorizonVerification, MonthAhead, Signed
from optimizer.plan.verify.ahead.findings import Finding, checked
from optimizer.plan.verify.ahead.months_ahead import Course, disk_usd_per_month

Machine: TypeAlias = tuple[str, str, str, str, int, bool]
"""What is the same on other terms."""

RELATIVE, CENT_USD = 1e-6, 0.02
"""How far figures may be from their own recomputation: relatively, and in money."""


def verify_horizon(report: HorizonReport, scenario: Scenario, catalogs: Catalogs) -> HorizonVerification:
    """Whether every promise and figure of the purchases holds."""
    life = scenario.lifecycle
    if life is None:
        raise ValueError("purchases over months have a lifecycle")
    audit = _Audit(report, scenario, life, catalogs)
    checks = checked(HorizonCheck, {"months": audit.months, "branches": audit.branches})
    if all(check.passed for check in checks):
        # the others stand on months and branches that fit together
        checks += checked(
            HorizonCheck,
            {
                "demand": audit.demand,
                "service": audit.service,
                "held": audit.held,
                "limits": audit.limits,
                "prices": audit.prices,
                "contracts": audit.contracts,
                "bills": audit.bills,
                "sums": audit.sums,
            },
        )
    return HorizonVerification(passed=all(check.passed for check in checks), checks=checks)


class _Audit:
    """One report held against the scenario and the catalogs."""

    def __init__(self, report: HorizonReport, scenario: Scenario, life: Lifecycle, catalogs: Catalogs) -> None:
        self.report, self.scenario, self.life, self.catalogs = report, scenario, life, catalogs
        self.horizon = life.horizon or Horizon()
        self.last_month = self.horizon.months or life.months
        self.offers = {offer.id: offer for offer in catalogs.offers}
        self.signed = [*report.sign_now, *report.sign_later]
        certain = GrowthBranch(
            name="expected", weight=1.0, from_month=2, growth_percent_per_month=life.growth_percent_per_month
        )
        self.courses = {
            branch.name: Course(branch, self.horizon, life.growth_percent_per_month, catalogs)
            for branch in self.horizon.branches or (certain,)
        }

    def months(self) -> Iterator[Finding]:
        """Every month of every branch is there once, and branches are apart from the month in which they part."""
        told, asked = self.report.months, self.last_month
        yield told == asked, f"{told} of {asked} months are planned"
        for name, course in self.courses.items():
            for month in range(1, asked + 1):
                mine = [each for each in self.report.by_month if each.month == month and name in each.branches]
                yield len(mine) == 1, f"{name} has {len(mine)} plans for month {month}"
                together = {
                    other
                    for other, its in self.courses.items()
                    if other == name or (month < course.branch.from_month and month < its.branch.from_month)
                }
                alike = all(set(each.branches) == together for each in mine)
                yield alike, f"month {month} of {name} is decided with branches that it is told apart from"

    def demand(self) -> Iterator[Finding]:
        """The busiest hours of each month ask for the first month's peak, grown."""
        for each in self.report.by_month:
            factor = self.courses[each.branches[0]].demand_factor(each.month)
            yield isclose(factor, each.demand_factor, rel_tol=1e-5), f"demand of month {each.month} grew by {factor:g}"
            share = sum(hours.share_of_month for hours in each.hours)
            yield isclose(share, 1.0, rel_tol=1e-5), f"the hours of month {each.month} are {share:g} of it"
            told = sorted(hour for hours in each.hours for hour in hours.hours_of_week)
            yield told == list(range(HOURS_PER_WEEK)), f"month {each.month} does not tell every hour of the week once"
            for workload in self.scenario.workloads:
                for item in workload.classes():
                    share = item.share * self.scenario.policy.robust.demand * factor
                    yield from self._asked(each, workload, f"{workload.name}/{item.name}", share)

    def _asked(self, each: MonthAhead, workload: Workload, name: str, share: float) -> Iterator[Finding]:
        """One class in every hour of the week; when a batch is worked on is free, so its highest hour alone."""
        peak = workload.peak_requests_per_second()
        if workload.deadline is not None:
            highest = max(hours.requests_per_second[name] for hours in each.hours)
            text = f"{name}: month {each.month} is planned for {highest:g} of {peak * share:g} requests/s at most"
            yield highest >= peak * share * (1 - 1e-5), text
            return
        week = workload.demand.weekly() if workload.demand is not None else (peak,) * HOURS_PER_WEEK
        for hours in each.hours:
            asked = max(week[hour] for hour in hours.hours_of_week) * share
            planned = hours.requests_per_second[name]
            text = f"{name}: month {each.month} is planned for {planned:g} of {asked:g} requests/s"
            yield planned >= asked * (1 - 1e-5), text

    def service(self) -> Iterator[Finding]:
        """What serves sustains what is asked, and its replicas fit on their instances."""
        for each in self.report.by_month:
            for hours in each.hours:
                got = dict.fromkeys(hours.requests_per_second, 0.0)
                for serving in hours.serving:
                    offer = self.offers[serving.offer]
                    gpus = serving.replicas_per_instance * serving.tensor_parallel * serving.pipeline_parallel
                    yield gpus <= offer.gpu_count, f"{gpus} GPUs of replicas on an instance of {offer.id}"
                    yield serving.gpu == offer.gpu, f"{serving.gpu} on {offer.id}"
                    for name, rate in serving.requests_per_second.items():
                        got[name] += serving.instances * rate
                for name, asked in hours.requests_per_second.items():
                    text = f"{name}: {got[name]:g} of {asked:g} requests/s in month {each.month}"
                    yield got[name] >= asked * (1 - 1e-5), text

    def held(self) -> Iterator[Finding]:
        """No more of a machine serves as held than is signed for; what is not held is sold by the hour."""
        for each in self.report.by_month:
            there: dict[Machine, int] = {}
            for contract in self._running(each):
                machine = _machine(self.offers[contract.offer])
                there[machine] = there.get(machine, 0) + contract.instances
            for hours in each.hours:
                used: dict[Machine, int] = {}
                for serving in hours.serving:
                    offer = self.offers[serving.offer]
                    if serving.held:
                        used[_machine(offer)] = used.get(_machine(offer), 0) + serving.instances
                    else:
                        by_hour = offer.pricing_term in ("on_demand", "spot")
                        yield by_hour, f"{offer.id} is not sold by the hour"
                for machine, count in used.items():
                    text = (
                        f"{count} instances of {machine} serve in month {each.month}, {there.get(machine, 0)} are held"
                    )
                    yield count <= there.get(machine, 0), text

    def limits(self) -> Iterator[Finding]:
        """GPUs, quotas, power and what there is of each offer."""
        policy, available = self.scenario.policy, self.catalogs.terms.available_instances
        for each in self.report.by_month:
            for hours in each.hours:
                count = {contract.offer: 0 for contract in self.signed}
                for contract in self._running(each):
                    count[contract.offer] += contract.instances
                for serving in hours.serving:
                    if not serving.held:
                        count[serving.offer] = count.get(serving.offer, 0) + serving.instances
                gpus = {name: n * self.offers[name].gpu_count for name, n in count.items()}
                for name, n in count.items():
                    yield n <= available.get(name, n), f"{n} instances of {name} in month {each.month}"
                if policy.max_gpus is not None:
                    yield sum(gpus.values()) <= policy.max_gpus, f"{sum(gpus.values())} GPUs in month {each.month}"
                for quota in policy.quotas:
                    own = [gpus[n] for n, o in self._offers(gpus) if quota.covers(o.provider, o.region, o.gpu)]
                    yield sum(own) <= quota.max_gpus, f"{sum(own)} GPUs of quota {quota.name} in month {each.month}"
                if policy.max_power_kw is not None:
                    kw = sum(g * (self.catalogs.gpus[self.offers[n].gpu].tdp_w or 0) / 1000 for n, g in gpus.items())
                    yield kw <= policy.max_power_kw * (1 + RELATIVE), f"{kw:g} kW in month {each.month}"

    def branches(self) -> Iterator[Finding]:
        """What is signed before branches part is signed in all of them, and nothing is signed for the others."""
        for contract in self.signed:
            mine = [m for m in self.report.by_month if m.month == contract.month and m.branches == contract.branches]
            text = f"{contract.offer} is signed in month {contract.month} for branches that are not one there"
            yield len(mine) == 1, text
            own = contract.pricing_term in self.report.pricing_terms or contract.pricing_term == "owned"
            yield own, f"{contract.pricing_term} is not considered"

    def prices(self) -> Iterator[Finding]:
        """Every price is the catalog's, changed as the scenario says."""
        for each in self.report.by_month:
            for hours in each.hours:
                for serving in hours.serving:
                    if serving.usd_per_instance_hour is not None:
                        usd = self._usd_per_hour(self.offers[serving.offer], each.branches[0], each.month)
                        text = f"{serving.offer} costs {usd:g} USD an hour in month {each.month}"
                        yield isclose(usd, float(serving.usd_per_instance_hour), rel_tol=RELATIVE), text
        for contract in self.signed:
            if contract.payment != "bought":
                usd = self._rent_usd_per_hour(contract)
                text = f"{contract.offer} costs {usd:g} USD an hour when signed in month {contract.month}"
                yield isclose(usd, float(contract.usd_per_instance_hour), rel_tol=RELATIVE), text

    def contracts(self) -> Iterator[Finding]:
        """When each is paid, and what that counts in the first month's dollars."""
        for contract in self.signed:
            offer, months = self.offers[contract.offer], contract.last_month - contract.month + 1
            upfront, monthly, returned = self._cash(contract, offer, months)
            for what, own, shown in (
                ("at once", upfront, contract.upfront_usd),
                ("a month", monthly, contract.monthly_usd),
                ("had back", returned, contract.returned_usd),
            ):
                text = f"{contract.instances} × {offer.id} signed in month {contract.month}: {own:.2f} USD {what}"
                yield _same(own, float(shown)), text
            back = min(months, self.last_month - contract.month + 1)
            dated = [(0, upfront), *((m, monthly) for m in range(months)), (back, -returned)]
            present = sum(usd * self._discount(contract.month - 1 + after) for after, usd in dated)
            text = f"{offer.id} signed in month {contract.month} counts {present:.2f} USD"
            yield _same(present, float(contract.net_present_usd)), text

    def _cash(self, contract: Signed, offer: Offer, months: int) -> tuple[float, float, float]:
        """At once, a month, and had back, of all instances of a contract."""
        count, own = contract.instances, self.catalogs.terms.owned.get(offer.id)
        if own is not None and not own.sunk:
            factor = self.courses[contract.branches[0]].price_factor(offer, contract.month)
            price, resale = float(own.purchase_usd) * factor, float(own.resale_share)
            tdp_w = self.catalogs.gpus[offer.gpu].tdp_w or 0
            kw = float(own.power_kw) if own.power_kw is not None else tdp_w * own.gpu_count / 1000
            power = kw * float(own.pue) * HOURS_PER_MONTH * float(own.usd_per_kwh)
            fixed = float(own.cooling_usd_per_month + own.staff_usd_per_month + own.space_usd_per_month)
            left = price - (price - price * resale) * min(months / own.amortisation_months, 1.0)
            return price * count, (power + fixed) * count, left * count
        rent = self._rent_usd_per_hour(contract) * HOURS_PER_MONTH * count
        after = max(contract.last_month - self.last_month, 0)
        if contract.payment == "upfront":
            return rent * months, 0.0, rent * after * self.horizon.used_after_share
        return 0.0, rent, rent * after * self.horizon.used_after_share

    def _rent_usd_per_hour(self, contract: Signed) -> float:
        """In the month of signing; what is prepaid has a discount."""
        off = (self.horizon.prepayment_discount_percent or 0) / 100 if contract.payment == "upfront" else 0.0
        return self._usd_per_hour(self.offers[contract.offer], contract.branches[0], contract.month) * (1 - off)

    def bills(self) -> Iterator[Finding]:
        """Each month's bill and what is decided in it, in the first month's dollars."""
        for each in self.report.by_month:
            ran = self._began(each) * self.horizon.switch_usd_per_instance + self._starting_usd(each)
            for hours in each.hours:
                paid = sum(float(s.usd_per_instance_hour or 0) * s.instances for s in hours.serving)
                ran += paid * HOURS_PER_MONTH * hours.share_of_month
            due = sum(float(contract.monthly_usd) for contract in self._running(each))
            starting = [c for c in self._running(each) if c.month == each.month]
            due += sum(float(contract.upfront_usd) for contract in starting)
            due -= sum(
                float(c.returned_usd)
                for c in self._running(each)
                if c.payment == "bought" and c.last_month == each.month
            )
            text = f"the bill of month {each.month} in {', '.join(each.branches)} is {ran + due:.2f} USD"
            yield _same(ran + due, float(each.bill_usd), 1e-5), text
            decided = ran * self._discount(each.month - 1) + sum(float(c.net_present_usd) for c in starting)
            text = f"what is decided in month {each.month} in {', '.join(each.branches)} counts {decided:.2f} USD"
            yield _same(decided, float(each.net_present_usd), 1e-5), text

    def sums(self) -> Iterator[Finding]:
        """The expected cost, its bound, and what each branch costs."""
        report, expected = self.report, 0.0
        for name, course in self.courses.items():
            mine = sum(float(each.net_present_usd) for each in report.by_month if name in each.branches)
            expected += course.branch.weight * mine
            for shown in (each for each in report.branches if each.name == name):
                yield _same(mine, float(shown.net_present_usd), 1e-5), f"{name} counts {mine:.2f} USD"
        cost, bound = float(report.expected_usd or 0), float(report.bound_usd or 0)
        yield _same(expected, cost, 1e-5), f"branches by weight count {expected:.2f} USD, not {cost:.2f}"
        yield bound <= cost * (1 + RELATIVE), f"the bound {bound:.2f} is above the cost {cost:.2f}"
        yield (
            isclose(cost - bound, (report.relative_gap or 0) * cost, abs_tol=cost * 1e-5),
            "the gap is not cost − bound",
        )

    def _running(self, each: MonthAhead) -> list[Signed]:
        """The contracts in their term in a month of some branches."""
        return [
            contract
            for contract in self.signed
            if contract.month <= each.month <= contract.last_month and set(each.branches) <= set(contract.branches)
        ]

    def _began(self, each: MonthAhead) -> int:
        """Instances that serve in the busiest hours and did not in the month before."""
        before = [
            m for m in self.report.by_month if m.month == each.month - 1 and set(each.branches) <= set(m.branches)
        ]
        if not before:
            return 0
        now, then = _busiest(each, self.offers), _busiest(before[0], self.offers)
        return sum(max(count - then.get(kind, 0), 0) for kind, count in now.items())

    def _starting_usd(self, each: MonthAhead) -> float:
        """What is paid for instances while they start, hour after hour of the week."""
        by_hour: list[dict[object, int]] = [{} for _ in range(HOURS_PER_WEEK)]
        price: dict[object, float] = {}
        for hours in each.hours:
            for serving in hours.serving:
                if serving.usd_per_instance_hour is not None:
                    kind = serving.offer, tuple(sorted(serving.requests_per_second.items()))
                    price[kind] = float(serving.usd_per_instance_hour)
                    for hour in hours.hours_of_week:
                        by_hour[hour][kind] = by_hour[hour].get(kind, 0) + serving.instances
        minutes = self.scenario.policy.elastic.start_up_minutes
        usd = 0.0
        for before, now in zip(by_hour, (*by_hour[1:], by_hour[0]), strict=True):
            usd += sum(max(count - before.get(kind, 0), 0) * price[kind] for kind, count in now.items())
        return usd * minutes / MINUTES_PER_HOUR * HOURS_PER_MONTH / HOURS_PER_WEEK

    def _usd_per_hour(self, offer: Offer, branch: str, month: int) -> float:
        factor = self.courses[branch].price_factor(offer, month)
        disk = disk_usd_per_month(self.catalogs, offer, self.scenario.policy.storage_gb_per_instance)
        return float(offer.price_usd_per_hour) * factor + disk / HOURS_PER_MONTH

    def _discount(self, months: float) -> float:
        return float((1 + self.horizon.discount_percent_per_year / 100) ** (-months / MONTHS_PER_YEAR))

    def _offers(self, names: dict[str, int]) -> list[tuple[str, Offer]]:
        return [(name, self.offers[name]) for name in names]


def _machine(offer: Offer) -> Machine:
    """What is the same machine on other terms."""
    spot = offer.pricing_term == "spot"
    return offer.provider, offer.region, offer.instance_type, offer.gpu, offer.gpu_count, spot


def _busiest(each: MonthAhead, offers: dict[str, Offer]) -> dict[object, int]:
    """Instances by machine and kind of requests in the hours of most demand."""
    hours = max(each.hours, key=lambda h: sum(h.requests_per_second.values()))
    found: dict[object, int] = {}
    for serving in hours.serving:
        kind = _machine(offers[serving.offer]), tuple(sorted(serving.requests_per_second))
        found[kind] = found.get(kind, 0) + serving.instances
    return found


def _same(own: float, shown: float, relative: float = RELATIVE) -> bool:
    return isclose(own, shown, rel_tol=relative, abs_tol=CENT_USD)
