"""A portfolio's answer put together: each service, what it has of what is shared, and what is proven of all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np

from optimizer.answers.many.portfolio.rounds import TOO_DEAR, Search
from optimizer.answers.many.portfolio.services import ShownPlan
from optimizer.answers.many.portfolio.split import rule_for
from optimizer.answers.many.portfolio.types import (
    Conflicting,
    LimitUse,
    PlannedPool,
    PoolShare,
    PortfolioFiles,
    PortfolioReport,
    ServiceAlone,
    ServiceShare,
)
from optimizer.base.arrays import Floats
from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.portfolio.limits import SharedLimit
from optimizer.plan.portfolio.pools import offers_of, pooled_offer
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.explanation import Relaxation
from optimizer.plan.record.fields import Outcome, cents
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import Verification
from optimizer.program.portfolio.shared import SharedPrices

BOUND_OF: Final = (
    "all choices of a plan for each service that together keep what they share: plans of the hours that each tells "
    "apart when it is planned alone, on what it does not avoid then, with the rates that simulated requests left it"
)
NOTES: Final = (
    "a pool's instances are paid all month, used or not; starting on one, and what it holds from hour to hour, costs "
    "nothing",
    "an instance that starts counts against no limit until it serves",
    "a pool's instances count against quotas in the hours in which a service uses them",
)
MORE_THAN_ALONE: Final = 0.005
"""Of a cent's half: what differs by less is the same."""


@dataclass(frozen=True)
class PlannedAlone:
    """What is known before prices move.

    Attributes:
        files: The question.
        catalogs: Without pools.
        kind_of_file: (F,) the kind of each scenario.
        alone: (K,) by kind.
        limits: The shared ones that count units.
        wanted_gap: What was asked for.
    """

    files: PortfolioFiles
    catalogs: Catalogs
    kind_of_file: Sequence[int]
    alone: Sequence[ServiceAlone]
    limits: Sequence[SharedLimit]
    wanted_gap: float

    @property
    def alone_usd(self) -> Decimal | None:
        """Of all services; None where one has no plan."""
        known = [self.alone[kind].usd for kind in self.kind_of_file]
        return None if None in known else sum((cents(usd) for usd in known if usd is not None), Decimal(0))

    def alone_use(self) -> Floats:
        """(K, L, 168) what a plan alone takes of each limit in every hour."""
        use = np.array([each.use for each in self.alone], dtype=float)
        return use.reshape(len(self.alone), len(self.limits), HOURS_PER_WEEK)

    def busiest_alone(self) -> list[int]:
        """(L,) the most that all plans alone take at once."""
        use = sum(np.array(self.alone[kind].use, dtype=np.int64) for kind in self.kind_of_file)
        return [int(each) for each in np.reshape(use, (len(self.limits), HOURS_PER_WEEK)).max(axis=1)]


def report(
    told: PlannedAlone,
    search: Search,
    plans: Sequence[ShownPlan],
    pays: Sequence[Decimal],
    signed: Mapping[str, int],
    *,
    total: Decimal,
    bound: Decimal,
    rule: str,
    verification: Verification,
) -> PortfolioReport:
    """The answer where there are plans for all.

    Args:
        told: What was known before.
        search: With its prices.
        plans: (F,) of each scenario.
        pays: (F,) what each pays.
        signed: Instances of each pool.
        total: What all is paid for.
        bound: What no plans together undercut.
        rule: By which it is split.
        verification: Of what is shared.
    """
    gap = float((total - bound) / total) if total else 0.0
    outcome: Outcome = "optimal" if total == bound else "feasible"
    names = [file.scenario.name for file in told.files.files]
    pools = list(_pools(told, dict(zip(names, (each.fleet for each in plans), strict=True)), signed))
    limits = list(_limits(told, [each.fleet for each in plans], search.prices))
    alone = told.alone_usd
    return PortfolioReport(
        portfolio=told.files.name,
        outcome=outcome,
        reason=_reason(gap, told.wanted_gap),
        summary=_summary(told, total, gap),
        monthly_cost_usd=total,
        bound_usd=bound,
        bound_of=BOUND_OF,
        relative_gap=gap,
        wanted_gap=told.wanted_gap,
        alone_usd=alone,
        alone_keeps_limits=_alone_keeps(told),
        services=list(_services(told, plans, pays)),
        kinds=len(told.alone),
        pools=pools,
        limits=limits,
        split_rule=rule,
        conflict=[],
        relaxations=[],
        rounds=search.rounds,
        plans_found=len(search.found),
        verification=verification,
        notes=list(NOTES),
    )


def without_plans(
    told: PlannedAlone, search: Search | None, conflict: list[Conflicting], relaxations: list[Relaxation]
) -> PortfolioReport:
    """The answer where there are none: a service that has none alone, or limits that do not go together."""
    names = [file.scenario.name for file in told.files.files]
    missing = [name for name, kind in zip(names, told.kind_of_file, strict=True) if told.alone[kind].usd is None]
    outcome, reason = _why(told, search, missing)
    return PortfolioReport(
        portfolio=told.files.name,
        outcome=outcome,
        reason=reason,
        summary=f"No plans for {told.files.name}: {reason}.",
        monthly_cost_usd=None,
        bound_usd=None,
        bound_of=BOUND_OF,
        relative_gap=None,
        wanted_gap=told.wanted_gap,
        alone_usd=told.alone_usd,
        alone_keeps_limits=None if missing else _alone_keeps(told),
        services=[],
        kinds=len(told.alone),
        pools=[],
        limits=[],
        split_rule=rule_for(len(told.files.files)),
        conflict=conflict,
        relaxations=relaxations,
        rounds=search.rounds if search else 0,
        plans_found=len(search.found) if search else 0,
        verification=Verification(passed=None, checks=[]),
        notes=list(NOTES),
    )


def _why(told: PlannedAlone, search: Search | None, missing: Sequence[str]) -> tuple[Outcome, str]:
    """How the search ended without plans, and why."""
    if missing:
        listed = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        proven = all(each.outcome == "infeasible" for each in told.alone if each.usd is None)
        said = f"{listed} {'has' if len(missing) == 1 else 'have'} no plan alone; `optimizer plan` says why"
        return ("infeasible" if proven else "unproven"), said
    if search is not None and search.over_budget:
        return "infeasible", f"no plans keep what is shared together within ${search.shared.budget_usd:,.2f} a month"
    if search is not None and search.excluded:
        return "infeasible", "no plans keep what is shared together"
    if search is not None and search.too_dear:
        least = f"none were found that go together, and none cost less than ${search.bound_usd:,.0f} a month"
        return "unproven", f"{least}, which is {TOO_DEAR:,.0f} times what all cost alone"
    return "unproven", "no plans were found that go together, nor a proof that there are none"


def _alone_keeps(told: PlannedAlone) -> bool:
    """Whether the plans alone together keep the shared limits and the budget."""
    budget, alone = told.files.portfolio.max_monthly_usd, told.alone_usd
    within = budget is None or alone is None or float(alone) <= budget
    return within and all(used <= limit.most for used, limit in zip(told.busiest_alone(), told.limits, strict=True))


def _services(told: PlannedAlone, plans: Sequence[ShownPlan], pays: Sequence[Decimal]) -> Iterator[ServiceShare]:
    first: dict[int, str] = {}
    for file, kind, shown, part in zip(told.files.files, told.kind_of_file, plans, pays, strict=True):
        name, fleet = file.scenario.name, shown.fleet
        like = first.get(kind)
        first.setdefault(kind, name)
        yield ServiceShare(
            scenario=name,
            file=file.document.file,
            alone_usd=told.alone[kind].usd,
            bill_usd=fleet.monthly_cost_usd,
            pays_usd=part,
            plan=summarized(fleet),
            like=like,
            holds=shown.holds,
            deployments=fleet.deployments,
            purchases=fleet.purchases,
            hosted=fleet.hosted,
            periods=fleet.periods,
            verification=shown.verification,
        )


def _pools(told: PlannedAlone, fleets: Mapping[str, PlannedFleet], signed: Mapping[str, int]) -> Iterator[PlannedPool]:
    for pool in told.files.portfolio.pools:
        offer = offers_of(pool, told.catalogs)[0]
        as_seen, count = pooled_offer(pool, offer).id, signed[pool.name]
        hours = {name: _hours(fleet, {as_seen: 1}) for name, fleet in fleets.items()}
        total = np.sum(list(hours.values()), axis=0)
        usd = offer.price_usd_per_hour * HOURS_PER_MONTH * count
        month = HOURS_PER_MONTH / HOURS_PER_WEEK
        yield PlannedPool(
            name=pool.name,
            offer=offer.id,
            instances=count,
            max_instances=pool.max_instances,
            price_usd_per_hour=offer.price_usd_per_hour,
            monthly_cost_usd=usd,
            busiest_instances=int(total.max()),
            used_percent=100 * float(total.sum()) / (count * HOURS_PER_WEEK) if count else 0.0,
            shares=[
                PoolShare(
                    scenario=name,
                    instances_at_most=int(each.max()),
                    instance_hours_per_month=float(each.sum()) * month,
                    share_percent=100 * float(each.sum() / total.sum()),
                )
                for name, each in hours.items()
                if each.any()
            ],
        )


def _limits(told: PlannedAlone, fleets: Sequence[PlannedFleet], prices: SharedPrices | None) -> Iterator[LimitUse]:
    every = {offer.id: offer for offer in told.catalogs.offers}
    for pool in told.files.portfolio.pools:
        seen = pooled_offer(pool, offers_of(pool, told.catalogs)[0])
        every[seen.id] = seen
    for number, (limit, alone) in enumerate(zip(told.limits, told.busiest_alone(), strict=True)):
        weights = {name: units for name, offer in every.items() if (units := limit.taken_by(offer))}
        use = np.sum([_hours(fleet, weights) for fleet in fleets], axis=0)
        price = float(prices.use[number].sum()) if prices is not None else 0.0
        if limit.quota is None and not use.any() and not alone:
            continue
        busiest = int(use.max())
        yield LimitUse(
            field=limit.field,
            unit=limit.unit,
            limit=limit.most,
            busiest=busiest,
            alone=alone,
            usd_per_unit_month=worth_of_one_more(limit.most - busiest, weights.values(), price),
        )


def worth_of_one_more(room: int, units: Iterable[int], price: float) -> Decimal:
    """What one unit more of a limit would save, as the last round's prices say it; nothing where an instance has room.

    Args:
        room: Units that are left in the busiest hour.
        units: That an instance takes, of each offer in question.
        price: Of a unit, in US dollars a month.
    """
    return Decimal(0) if room >= min(units, default=1) else Decimal(repr(round(price, 2)))


def _hours(fleet: PlannedFleet, weights: Mapping[str, int]) -> Floats:
    """(168,) units in every hour that the plan runs of offers with a weight."""
    total = np.zeros(HOURS_PER_WEEK)
    for purchase in fleet.purchases:
        units, running = weights.get(purchase.offer, 0), {e.period: e.instances for e in purchase.schedule}
        for period in fleet.periods if units else ():
            count = purchase.instances if purchase.always_paid else running[period.period]
            for first, last in period.hours_of_week:
                total[first : last + 1] += units * count
    return total


def _reason(gap: float, wanted: float) -> str:
    if gap == 0:
        return "no plans that keep what is shared cost less together"
    if gap <= wanted:
        return "proven to within the gap that was asked for"
    return "the search ended before the gap that was asked for was proven"


def _summary(told: PlannedAlone, total: Decimal, gap: float) -> str:
    """What all costs together, against alone."""
    count = len(told.files.files)
    said = f"{count} {'service' if count == 1 else 'services'} together for ${total:,.2f} a month"
    said += ", proven the least" if gap == 0 else f", within {gap:.2%} of the least"
    alone = told.alone_usd
    if alone is None:
        return f"{said}."
    difference = alone - total
    against = f"${abs(difference):,.2f} {'less' if difference > 0 else 'more'} than"
    against = "as much as" if abs(float(difference)) < MORE_THAN_ALONE else against
    kept = "" if _alone_keeps(told) else ", whose plans together exceed what is shared"
    return f"{said}: {against} each alone (${alone:,.2f}){kept}."
