"""The months of a scenario as a tree: what is asked in each node, and what offers cost there."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import MONTHS_PER_YEAR
from optimizer.inputs.scenario.lifecycle import GrowthBranch, Horizon, PriceChange
from optimizer.inputs.scenario.scenario import Lifecycle
from optimizer.performance.market.market import Market
from optimizer.program.horizon.tree import Tree, parting

CERTAIN = "expected"
"""The one branch of a scenario that names none."""


def horizon_of(life: Lifecycle) -> Horizon:
    """What the scenario says of the months ahead, or what is taken where it says nothing."""
    return life.horizon or Horizon()


def months_of(life: Lifecycle) -> int:
    """How many months purchases are planned over."""
    return horizon_of(life).months or life.months


def branches_of(life: Lifecycle) -> tuple[GrowthBranch, ...]:
    """The branches, in the scenario's order; one where it names none."""
    growth = life.growth_percent_per_month
    certain = GrowthBranch(name=CERTAIN, weight=1.0, from_month=2, growth_percent_per_month=growth)
    return horizon_of(life).branches or (certain,)


def tree_of(life: Lifecycle) -> Tree:
    """The nodes of all months and branches."""
    branches, months = branches_of(life), months_of(life)
    weight = np.array([branch.weight for branch in branches])
    return parting(months, [min(branch.from_month - 1, months) for branch in branches], weight / weight.sum())


def demand_factor(life: Lifecycle, tree: Tree) -> Floats:
    """(N,) demand of each node over that of the first month: the lifecycle's growth, then the branch's own."""
    branches, factor = branches_of(life), np.ones(len(tree.month))
    for node in range(1, len(factor)):
        branch = branches[tree.first_branch[node]]
        parted = tree.month[node] + 1 >= branch.from_month
        growth = branch.growth_percent_per_month if parted else life.growth_percent_per_month
        factor[node] = factor[tree.parent[node]] * (1 + growth / 100)
    return factor


def price_factor(life: Lifecycle, tree: Tree, market: Market, observed: Floats) -> Floats:
    """(O, N) price of each offer in each node over that of the first month.

    The first of a branch's own changes that matches an offer counts from the month in which it parts; before it, and
    where none does, the first of those of all branches. Where none does the price stays, as does what it costs to run
    hardware that is sunk.

    Args:
        life: Of the scenario.
        tree: Its nodes.
        market: Every offer.
        observed: (O,) percent a year that was observed.
    """
    horizon, branches = horizon_of(life), branches_of(life)
    factor = np.ones((len(market.offers), len(tree.month)))
    of_all = [_Matched(change, market) for change in horizon.price_changes]
    own = {branch.name: [_Matched(change, market) for change in branch.price_changes] for branch in branches}
    for node in range(1, len(tree.month)):
        branch, month = branches[tree.first_branch[node]], int(tree.month[node]) + 1
        rules = (own[branch.name] if month >= branch.from_month else []) + of_all
        factor[:, node] = factor[:, tree.parent[node]] * _month_on_month(rules, month, observed)
    # what a machine costs to run that is paid for already has no price
    owned = market.catalogs.terms.owned
    factor[[offer.id in owned and owned[offer.id].sunk for offer in market.offers]] = 1.0
    return factor


class _Matched:
    """A price change and (O,) the offers that it is about."""

    def __init__(self, change: PriceChange, market: Market) -> None:
        self.change = change
        offers: Flags = np.ones(len(market.offers), dtype=np.bool_)
        if change.gpus:
            gpu = np.array([_any(change.gpus)(offer.gpu) for offer in market.offers], dtype=np.bool_)
            offers &= gpu
        if change.providers:
            offers &= market.provider.passing(_any(change.providers))
        if change.sellers:
            offers &= market.seller_kind.passing(lambda kind: kind in change.sellers)
        if change.pricing_terms:
            offers &= market.pricing_term.passing(lambda term: term in change.pricing_terms)
        self.offers = offers


def _any(patterns: Sequence[str]) -> Callable[[str], bool]:
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


def _month_on_month(rules: Sequence[_Matched], month: int, observed: Floats) -> Floats:
    """(O,) price in a month, counted from 1, over that of the month before."""
    risen, decided = np.ones(len(observed)), np.zeros(len(observed), dtype=np.bool_)
    for rule in rules:
        change = rule.change
        step = 1 + (change.step_percent or 0.0) / 100 if change.step_month == month else 1.0
        going = change.until_month is None or month <= change.until_month
        percent = observed if change.percent_per_year == "observed" else np.full(len(observed), change.percent_per_year)
        yearly = (1 + np.where(going, percent, 0.0) / 100) ** (1 / MONTHS_PER_YEAR)
        risen = np.where(rule.offers & ~decided, yearly * step, risen)
        decided |= rule.offers
    return np.asarray(risen)


def discount_factor(life: Lifecycle, months: Floats) -> Floats:
    """What a dollar counts that is paid after so many months."""
    yearly = 1 + horizon_of(life).discount_percent_per_year / 100
    return np.asarray(yearly ** (-months / MONTHS_PER_YEAR))
