"""What services share, held again to their plans hour by hour: limits, pools, the budget and who pays for it all.

Independent of how the plans were found: from the plans as shown, the catalogs and what the portfolio states, in exact
fractions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.portfolio import MachinePool, Portfolio
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import Check, Verification
from optimizer.plan.verify.claim import CENT_TOLERANCE, Findings, hours_of
from optimizer.plan.verify.verify import checked


@dataclass(frozen=True)
class PortfolioClaim:
    """The plans of all services with what they are held to.

    Attributes:
        portfolio: What is shared.
        catalogs: As shipped, without pools.
        fleets: By service.
        signed: Instances of each pool.
        total_usd: A month of all together, as shown.
        pays_usd: By service, as shown.
    """

    portfolio: Portfolio
    catalogs: Catalogs
    fleets: Mapping[str, PlannedFleet]
    signed: Mapping[str, int]
    total_usd: Decimal
    pays_usd: Mapping[str, Decimal]

    def offer(self, purchased: str) -> tuple[Offer | None, str]:
        """The offer behind a purchase, and the pool that it is of; the pool's own offer where it is one."""
        offers = {offer.id: offer for offer in self.catalogs.offers}
        for pool in self.portfolio.pools:
            behind = behind_pool(pool, self.catalogs)
            if behind is not None and purchased == _as_services_see(pool, behind):
                return behind, pool.name
        return offers.get(purchased), ""

    def by_hour(self) -> list[tuple[str, Offer | None, str, list[int]]]:
        """Every purchase: its name, offer, pool and instances in each hour of the week."""
        return [
            (item.offer, *self.offer(item.offer), self._hours(fleet, number))
            for fleet in self.fleets.values()
            for number, item in enumerate(fleet.purchases)
        ]

    def _hours(self, fleet: PlannedFleet, number: int) -> list[int]:
        item = fleet.purchases[number]
        running = {entry.period: entry.instances for entry in item.schedule}
        hours = [0] * HOURS_PER_WEEK
        for period in fleet.periods:
            for hour in hours_of(period):
                hours[hour] = running[period.period]
        offer, pool = self.offer(item.offer)
        always = offer is not None and not pool and offer.pricing_term in ALWAYS_PAID
        return [max(hours)] * HOURS_PER_WEEK if always else hours


def behind_pool(pool: MachinePool, catalogs: Catalogs) -> Offer | None:
    """The offer that a pool signs for; None where it is not the only one of its kind."""
    found = [
        offer
        for offer in catalogs.offers
        if (offer.provider, offer.instance_type, offer.pricing_term)
        == (pool.provider, pool.instance_type, pool.pricing_term)
        and pool.region in (None, offer.region)
        and pool.commitment_months in (None, offer.commitment_months)
    ]
    return found[0] if len(found) == 1 else None


def _as_services_see(pool: MachinePool, offer: Offer) -> str:
    """The name under which plans buy from a pool."""
    gpus = f"{offer.gpu_count}x{offer.gpu}"
    return f"{offer.provider}/{offer.region}/{offer.instance_type}@{pool.name}/{gpus}/on_demand"


def verify_portfolio(claim: PortfolioClaim) -> Verification:
    """Every promise about what is shared."""
    checks: list[Check] = [
        checked("offers", _offers(claim)),
        checked("limits", _limits(claim)),
        checked("stocks", _stocks(claim)),
        checked("pools", _pools(claim)),
        checked("total", _total(claim)),
        checked("split", _split(claim)),
    ]
    return Verification(passed=all(check.passed for check in checks), checks=checks)


def _offers(claim: PortfolioClaim) -> Findings:
    """Everything bought is for sale, or in a pool."""
    for name, offer, _, _ in claim.by_hour():
        yield offer is not None, f"{name} is in the catalogs or in a pool"
    for pool in claim.portfolio.pools:
        yield behind_pool(pool, claim.catalogs) is not None, f"pool {pool.name} is of one offer of the catalogs"


def _limits(claim: PortfolioClaim) -> Findings:
    """Quotas and GPUs in every hour."""
    bought = [(offer, hours) for _, offer, _, hours in claim.by_hour() if offer is not None]
    quotas = [(q.name, q.covers, q.max_gpus) for q in claim.portfolio.quotas]
    for name, covers, most in quotas:
        held = [(o.gpu_count, hours) for o, hours in bought if covers(o.provider, o.region, o.gpu)]
        busiest = _busiest(held)
        yield busiest <= most, f"quota {name}: {busiest} of {most} GPUs in the busiest hour"
    if claim.portfolio.max_gpus is not None:
        busiest, most = _busiest([(o.gpu_count, hours) for o, hours in bought]), claim.portfolio.max_gpus
        yield busiest <= most, f"{busiest} of {most} GPUs in the busiest hour"


def _stocks(claim: PortfolioClaim) -> Findings:
    """What there is only so much of: bought apart in the busiest hour, and signed for in pools."""
    bought = [(offer, hours) for _, offer, pool, hours in claim.by_hour() if offer is not None and not pool]
    for name, stock in sorted(claim.catalogs.terms.available_instances.items()):
        apart = _busiest([(1, hours) for offer, hours in bought if offer.id == name])
        pools = [pool.name for pool in claim.portfolio.pools if _is_behind(pool, name, claim.catalogs)]
        count = apart + sum(claim.signed.get(pool, 0) for pool in pools)
        yield count <= stock, f"{count} of {stock} × {name} that there are"


def _is_behind(pool: MachinePool, name: str, catalogs: Catalogs) -> bool:
    offer = behind_pool(pool, catalogs)
    return offer is not None and offer.id == name


def _busiest(held: Sequence[tuple[int, list[int]]]) -> int:
    """The most units in any hour."""
    return max((sum(units * hours[hour] for units, hours in held) for hour in range(HOURS_PER_WEEK)), default=0)


def _pools(claim: PortfolioClaim) -> Findings:
    """In every hour no more is used of a pool than is signed for, and no more is signed for than may be."""
    for pool in claim.portfolio.pools:
        signed = claim.signed.get(pool.name, 0)
        yield pool.min_instances <= signed <= pool.max_instances, f"pool {pool.name} has {signed} instances"
        busiest = _busiest([(1, hours) for _, _, name, hours in claim.by_hour() if name == pool.name])
        yield busiest <= signed, f"{busiest} of {signed} instances of pool {pool.name} in the busiest hour"


def _total(claim: PortfolioClaim) -> Findings:
    """What all is paid for together: the bills and the pools, within the budget."""
    own = sum((Fraction(fleet.monthly_cost_usd) for fleet in claim.fleets.values()), Fraction(0))
    for pool in claim.portfolio.pools:
        offer = behind_pool(pool, claim.catalogs)
        price = Fraction(offer.price_usd_per_hour) if offer else Fraction(0)
        own += price * HOURS_PER_MONTH * claim.signed.get(pool.name, 0)
    # every bill, of a service or a pool, is shown to the cent
    slack = CENT_TOLERANCE * (1 + len(claim.fleets) + len(claim.portfolio.pools))
    text = f"bills and pools: {float(own):.2f} USD a month, shown {float(claim.total_usd):.2f}"
    yield abs(own - Fraction(claim.total_usd)) <= slack, text
    budget = claim.portfolio.max_monthly_usd
    if budget is not None:
        # what is paid, for a cent by which bills are rounded up breaks none
        within = own <= Fraction(repr(float(budget))) + Fraction(CENT_TOLERANCE)
        yield within, f"{claim.total_usd:.2f} of {budget:.2f} USD a month"


def _split(claim: PortfolioClaim) -> Findings:
    """What services pay is all that is paid, and nobody is paid for being there."""
    paid = sum(claim.pays_usd.values(), Decimal(0))
    yield set(claim.pays_usd) == set(claim.fleets), "every service pays its part"
    yield paid == claim.total_usd, f"services pay {paid:.2f} of {claim.total_usd:.2f} USD a month"
    for name, pays in claim.pays_usd.items():
        yield pays >= 0, f"{name} pays {pays:.2f} USD a month"
