"""Many scenarios planned together, against each alone: what is bought, who has what of a pool, who pays for what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Final

import numpy as np

from optimizer.answers.many.portfolio.desk import Desk, desk_of
from optimizer.answers.many.portfolio.rounds import ChosenPlans, Search, chosen, searched
from optimizer.answers.many.portfolio.services import Allowance, Reply, ShownPlan
from optimizer.answers.many.portfolio.split import in_cents, split
from optimizer.answers.many.portfolio.telling import PlannedAlone, report, without_plans
from optimizer.answers.many.portfolio.types import PortfolioFiles, PortfolioInputs, PortfolioReport, ServiceAlone
from optimizer.answers.many.portfolio.ways_out import conflict_of, ways_out
from optimizer.answers.many.portfolio.whole import NO_GAP, proven_together
from optimizer.answers.withheld import confirmed
from optimizer.base.arguments import check_within
from optimizer.base.arrays import Ints
from optimizer.base.clock import Clock
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.plan.portfolio.limits import SharedLimit, shared_limits
from optimizer.plan.portfolio.pools import offers_of
from optimizer.plan.record.fields import CENT, cents
from optimizer.plan.record.origin import asked, content_sha256
from optimizer.plan.verify.portfolio import PortfolioClaim, verify_portfolio
from optimizer.program.portfolio.shared import Shared

WANTED_GAP: Final = 0.01
"""Where the search for plans together ends, as a share of their cost, unless another is asked for."""

MOST_JOBS: Final = 1024

WORK_LIMIT: Final = 200_000
"""Simplex iterations of each plan alone, as many as a gate gives a scenario."""

PORTFOLIO_PHASES: Final = ("each alone", "prices", "choosing", "verifying")

SHARE_OF_ALONE: Final = 0.4
"""Of a time limit, for the plans alone."""

SHARE_OF_SPLIT: Final = 0.5
"""Of what is left of it once all plans are found, for what groups of services cost; then plans are verified."""


@dataclass(frozen=True)
class _Kinds:
    """Services that ask the same are one kind, planned once.

    Attributes:
        of_file: (F,) the kind of each scenario.
        first: (K,) the scenario that stands for it.
    """

    of_file: tuple[int, ...]
    first: tuple[int, ...]

    @classmethod
    def of(cls, files: PortfolioFiles) -> "_Kinds":
        contents = [content_sha256(asked(f.scenario.model_copy(update={"name": "any"}))) for f in files.files]
        numbers = {content: number for number, content in enumerate(dict.fromkeys(contents))}
        return cls(tuple(numbers[each] for each in contents), tuple(contents.index(each) for each in numbers))

    @property
    def counts(self) -> Ints:
        """(K,) how many there are."""
        return np.bincount(self.of_file, minlength=len(self.first)).astype(np.int64)


def portfolio(
    files: PortfolioFiles,
    catalogs: Catalogs,
    *,
    jobs: int = 1,
    wanted_gap: float = WANTED_GAP,
    time_limit_s: float | None = None,
    work_limit: int | None = WORK_LIMIT,
    progress: Progress | None = None,
) -> PortfolioReport:
    """The cheapest plans of all scenarios that together keep what they share.

    Args:
        files: The scenarios and what they share, as `load_portfolio` reads them.
        catalogs: What is known.
        jobs: Processes; more than one needs the usual `if __name__ == "__main__":` in a script.
        wanted_gap: Search no further than proven within this share of the least cost.
        time_limit_s: For all of it; what is proven may then differ from machine to machine.
        work_limit: Simplex iterations of each plan alone; the same on every machine.
        progress: PlannedAlone each of `PORTFOLIO_PHASES` as it begins.

    Returns:
        The plans, what they share and what each pays; without plans what conflicts, and what would help.

    Raises:
        InputError: a number out of its range.
        VerificationFailed: a plan, or what they share, did not survive independent arithmetic.
        SolverFailure: a process died.
    """
    check_within("portfolio", jobs=(jobs, 1, MOST_JOBS), wanted_gap=(wanted_gap, 0, 1))
    kinds, clock, begin = _Kinds.of(files), Clock(time_limit_s, memory=Memory()), progress or silent
    scenarios = {number: files.files[position] for number, position in enumerate(kinds.first)}
    desk = desk_of(PortfolioInputs(catalogs, files.portfolio, scenarios), jobs)
    try:
        return _answered(files, catalogs, kinds, desk, clock, begin, wanted_gap=wanted_gap, work_limit=work_limit)
    finally:
        desk.close()


def _answered(
    files: PortfolioFiles,
    catalogs: Catalogs,
    kinds: _Kinds,
    desk: Desk,
    clock: Clock,
    begin: Progress,
    *,
    wanted_gap: float,
    work_limit: int | None,
) -> PortfolioReport:
    """Each alone, then prices, then whole plans, verified."""
    begin(PORTFOLIO_PHASES[0])
    left = clock.share(SHARE_OF_ALONE).left_s()
    allowance = Allowance(None if left is None else max(left / len(kinds.first) * 2, 0.1), work_limit)
    alone: list[ServiceAlone] = desk.answers([(kind, "alone", (allowance,)) for kind in range(len(kinds.first))])
    limits = shared_limits(files.portfolio, catalogs)
    told = PlannedAlone(files, catalogs, kinds.of_file, alone, limits, wanted_gap)
    if any(each.usd is None for each in alone):
        return without_plans(told, None, [], [])
    search = _search(files, catalogs, kinds, alone, limits)
    begin(PORTFOLIO_PHASES[1])
    searched(search, desk, clock, wanted_gap)
    begin(PORTFOLIO_PHASES[2])
    best = proven_together(search, chosen(search, clock), desk, clock)
    if best is None:
        ways = ways_out(search, desk, clock, limits, files.portfolio, wanted_gap)
        return without_plans(told, search, conflict_of(search, limits, files.portfolio), ways)
    begin(PORTFOLIO_PHASES[3])
    return _verified(told, search, best, desk, clock.share(SHARE_OF_SPLIT))


def _search(
    files: PortfolioFiles,
    catalogs: Catalogs,
    kinds: _Kinds,
    alone: Sequence[ServiceAlone],
    limits: Sequence[SharedLimit],
) -> Search:
    """The limits in numbers, over hours that some service tells apart, and the plans alone to begin with."""
    told_apart = np.array([each.hour_to_period for each in alone])
    _, hour, period = np.unique(told_apart, axis=1, return_index=True, return_inverse=True)
    period = np.asarray(period).reshape(HOURS_PER_WEEK)
    total = sum(float(each.usd or 0) * count for each, count in zip(alone, kinds.counts.tolist(), strict=True))
    search = Search(_shared(files.portfolio, catalogs, limits, np.bincount(period)), kinds.counts, hour, period, total)
    nothing = np.zeros((len(files.portfolio.pools), HOURS_PER_WEEK), dtype=np.int64)
    for kind, each in enumerate(alone):
        use = np.array(each.use, dtype=np.int64).reshape(len(limits), HOURS_PER_WEEK)
        search.add(kind, Reply(each.outcome, 0.0, each.plan, each.usd or Decimal(0), use, nothing))
    return search


def _shared(portfolio: Portfolio, catalogs: Catalogs, limits: Sequence[SharedLimit], hours: Ints) -> Shared:
    """What is shared in numbers, given the hours of each joint period (J,)."""
    pools, budget = portfolio.pools, portfolio.max_monthly_usd
    price = [float(offers_of(pool, catalogs)[0].price_usd_per_hour) for pool in pools]
    return Shared(
        most=np.array([float(limit.most) for limit in limits]),
        hours=hours,
        pool_usd=np.array(price) * HOURS_PER_MONTH,
        pool_least=np.array([float(pool.min_instances) for pool in pools]),
        pool_most=np.array([float(pool.max_instances) for pool in pools]),
        budget_usd=np.inf if budget is None else budget,
    )


def _verified(told: PlannedAlone, search: Search, best: ChosenPlans, desk: Desk, clock: Clock) -> PortfolioReport:
    """Every plan verified on its own, what is shared by arithmetic that knows nothing of the search."""
    taken, signed = _taken(told, best, desk), _signed(told, best)
    # as they are written, so that they sum to what is written
    bills = sum((cents(each.fleet.monthly_cost_usd) for each in taken), Decimal(0))
    total = bills + _pools_usd(told, signed)
    paid_by_kind, rule = split(
        search, best, [each.usd or Decimal(0) for each in told.alone], told.alone_use(), total, desk=desk, clock=clock
    )
    pays = in_cents([paid_by_kind[kind] for kind in told.kind_of_file], total)
    names = [file.scenario.name for file in told.files.files]
    fleets = {name: each.fleet for name, each in zip(names, taken, strict=True)}
    paid = dict(zip(names, pays, strict=True))
    claim = PortfolioClaim(told.files.portfolio, told.catalogs, fleets, signed, total, pays_usd=paid)
    withheld = f"the portfolio {told.files.name} is withheld, it breaks what is shared"
    verification = confirmed(verify_portfolio(claim), withheld)
    proven = search.bound_usd >= best.usd * (1 - NO_GAP)
    bound = total if proven else min(Decimal(repr(search.bound_usd)).quantize(CENT, ROUND_FLOOR), total)
    return report(told, search, taken, pays, signed, total=total, bound=bound, rule=rule, verification=verification)


def _taken(told: PlannedAlone, best: ChosenPlans, desk: Desk) -> list[ShownPlan]:
    """(F,) the plan of each service: the next that was chosen for its kind."""
    pairs = sorted({(kind, each.number) for kind, plans in enumerate(best.plans) for each in plans})
    answers: list[ShownPlan] = desk.answers([(kind, "shown", (number,)) for kind, number in pairs])
    shown = dict(zip(pairs, answers, strict=True))
    left = [list(plans) for plans in best.plans]
    return [shown[kind, left[kind].pop(0).number] for kind in told.kind_of_file]


def _signed(told: PlannedAlone, best: ChosenPlans) -> dict[str, int]:
    """Instances of each pool, by its name."""
    pools = told.files.portfolio.pools
    return {pool.name: round(count) for pool, count in zip(pools, best.pools.tolist(), strict=True)}


def _pools_usd(told: PlannedAlone, signed: Mapping[str, int]) -> Decimal:
    """A month of all that is signed for, each pool to the cent."""
    prices = ((pool.name, offers_of(pool, told.catalogs)[0].price_usd_per_hour) for pool in told.files.portfolio.pools)
    return sum((cents(price * HOURS_PER_MONTH * signed[name]) for name, price in prices), Decimal(0))
