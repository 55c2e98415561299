"""The search for a proof: plans are split in two until prices prove each part, the least proven part first."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.clock import Clock, LimitReached
from optimizer.plan.certify.blocks import RowBlocks
from optimizer.plan.certify.figures import Figures
from optimizer.plan.certify.kinds import kinds_of
from optimizer.plan.certify.relaxation import UNMET, Relaxed, relaxed
from optimizer.plan.certify.splits import Sum, sums_between
from optimizer.plan.verify.certificate.branch import Branch
from optimizer.plan.verify.certificate.prices import Appraisal, appraise
from optimizer.plan.verify.certificate.problem import Stated
from optimizer.plan.verify.certificate.tree import sides

MOST_RELAXATIONS: Final = 600
"""Linear programs that a proof may take; where it would take more, it proves what it can."""

LOOKED_AT: Final = 8
"""Ways to split a part that are tried: the one is taken that leaves the less proven side the most proven."""

DIGITS: Final = 15
"""Of a price; any number is a valid one."""

PROVEN: Final = 1e-12
"""How far from the claim a relaxation may be that is worth an exact look."""

WORTHS: Final = ("demand ", "after loss ", "provider ", "region ", "least ")
"""How the names begin of prices that are earned, beside those of splits."""


@dataclass(frozen=True)
class Found:
    """A tree, and what it proves.

    Attributes:
        usd_per_hour: No plan costs less; None where there is no plan.
        complete: Whether that is what was to be proven.
    """

    proof: dict[str, Any]
    usd_per_hour: Fraction | None
    complete: bool


@dataclass(frozen=True)
class _Part:
    """A node of the tree that is neither split nor proven yet, to be written into."""

    region: Branch
    relaxed: Relaxed
    node: dict[str, Any]


def prove(
    problem: Stated,
    promising: Flags,
    usd_per_hour: Fraction | None,
    clock: Clock,
    most_relaxations: int = MOST_RELAXATIONS,
) -> Found | None:
    """The tree that proves that no plan costs less, or as much of it as can be had.

    Args:
        problem: As the certificate states it.
        promising: (C,) candidates that the first prices are found with; any prices are checked against all.
        usd_per_hour: What no plan undercuts; None where there is no plan.
        clock: Where it has run out the parts that are left are proven as far as the prices at hand go.
        most_relaxations: Linear programs that it may take.

    Returns:
        None where there is a proof of no bound at all.
    """
    best, kept = None, frozenset(np.flatnonzero(promising).tolist())
    for unmet in UNMET:
        try:
            found = _Prover(problem, usd_per_hour, clock, most_relaxations, unmet).found(kept)
        except LimitReached:
            break
        if best is None or (found is not None and (found.usd_per_hour or 0) > (best.usd_per_hour or 0)):
            best = found
        if (best is not None and best.complete) or most_relaxations < MOST_RELAXATIONS or clock.expired:
            break
    return best


class _Prover:
    def __init__(
        self, problem: Stated, usd_per_hour: Fraction | None, clock: Clock, most_relaxations: int, unmet: float
    ) -> None:
        self.problem, self.claim, self.clock, self.most_relaxations = problem, usd_per_hour, clock, most_relaxations
        self.unmet, self.blocks = unmet, RowBlocks(Figures(problem))
        self.kinds = kinds_of(problem)
        self.keep: frozenset[int] = frozenset()
        self.relaxations, self._number = 0, count()

    def found(self, promising: frozenset[int]) -> Found | None:
        """Parts are taken by what is proven of them, until all are proven or the work is at its limit."""
        self.keep = promising
        proof: dict[str, Any] = {}
        waiting, unproven = [self._queued(self._first(proof))], list[_Part]()
        while waiting:
            *_, part = heapq.heappop(waiting)
            if self._proven(part):
                continue
            parts = self._split_in_time(part)
            for each in parts:
                heapq.heappush(waiting, self._queued(each))
            if not parts:
                unproven.append(part)
        if not unproven:
            return Found(proof, self.claim, complete=True)
        return self._as_far(proof, unproven)

    def _split_in_time(self, part: _Part) -> tuple[_Part, ...]:
        """Both sides of the best of a few splits, as long as the proof may take more work; else nothing."""
        if self.relaxations >= self.most_relaxations or self.clock.expired:
            return ()
        try:
            return self._split(part)
        except LimitReached:
            return ()

    def _queued(self, part: _Part) -> tuple[float, int, _Part]:
        return part.relaxed.usd_per_hour, next(self._number), part

    def _as_far(self, proof: dict[str, Any], unproven: list[_Part]) -> Found | None:
        """The tree with the best prices at hand for what is left."""
        if self.claim is None:
            return None
        least = self.claim
        for part in unproven:
            prices, appraisal = self._priced(part.region, part.relaxed)
            part.node["prices"] = _written(prices)
            least = min(least, appraisal.earned if appraisal.holds else Fraction(0))
        return Found(proof, max(least, Fraction(0)), complete=False) if least > 0 else None

    def _first(self, node: dict[str, Any]) -> _Part:
        """The plans without the offers that are in no cheaper one: one price tells for all of these.

        An instance that costs so much more than it can earn that the gap is filled is in no plan cheaper than claimed.
        """
        root = Branch()
        part = _Part(root, self._relaxed(root), node)
        # where some of these may not run, those that they replace may, but for the dearer ones of a kind
        offers = [each["offer"] for each in self.problem.candidates]
        self.keep = frozenset(c for c, offer in enumerate(offers) if self.kinds[offer] == offer)
        if self.claim is None or part.relaxed.usd_per_hour >= float(self.claim):
            return part
        prices, appraisal = self._priced(root, part.relaxed)
        gap = self.claim - appraisal.earned
        dear = [o for o, left in appraisal.left_of_offer.items() if left >= gap]
        if not appraisal.holds or not dear or gap <= 0:
            return part
        without, _ = sides(self.problem, "instances", dear, 0)
        node["split"] = {"over": "instances", "members": dear, "count": 0}
        node["least"] = {"prices": _written(prices | {"split 0": _nearest(gap, up=True)})}
        node["most"] = rest = dict[str, Any]()
        self.keep -= {c for o in dear for c in self.problem.on_offer[o]}
        region = root.within(without)
        return _Part(region, self._relaxed(region), rest)

    def _relaxed(self, region: Branch) -> Relaxed:
        self.relaxations += 1
        claim = None if self.claim is None else float(self.claim)
        return relaxed(self.blocks, region, self.keep, claim, self.clock, self.unmet)

    def _enough(self, usd_per_hour: float) -> bool:
        """Whether a relaxation says what is claimed: as much, or that there is no plan."""
        return usd_per_hour >= float(self.claim) * (1 - PROVEN) if self.claim is not None else usd_per_hour > PROVEN

    def _proven(self, part: _Part) -> bool:
        """Whether counting or the prices at hand prove the part; if so the node says it."""
        if part.region.is_empty(self.problem):
            return True
        if not self._enough(part.relaxed.usd_per_hour):
            return False
        prices, appraisal = self._priced(part.region, part.relaxed)
        enough = appraisal.earned > 0 if self.claim is None else appraisal.earned >= self.claim
        if appraisal.holds and enough:
            part.node["prices"] = _written(prices)
            return True
        return False

    def _split(self, part: _Part) -> tuple[_Part, ...]:
        """Both sides of the best of a few splits; nothing where the relaxation has no sum to split by."""
        best: tuple[tuple[float, float], Sum, Relaxed, Relaxed] | None = None
        most = float(self.claim) if self.claim is not None else PROVEN
        for each in sums_between(self.problem, self.kinds, part.region, part.relaxed)[:LOOKED_AT]:
            first, second = sides(self.problem, each.over, list(each.members), each.most)
            low = self._relaxed(part.region.within(first))
            if best is not None and min(low.usd_per_hour, most) < best[0][0]:
                # whatever the other side is, another split is better; the work that it may take counts all the same
                self.relaxations += 1
                continue
            high = self._relaxed(part.region.within(second))
            bounds = sorted(min(side.usd_per_hour, most) for side in (low, high))
            if best is None or (bounds[0], bounds[1]) > best[0]:
                best = (bounds[0], bounds[1]), each, low, high
            if bounds[0] >= most:
                break
        if best is None:
            return ()
        _, chosen, low, high = best
        members = list(chosen.members)
        part.node["split"] = {"over": chosen.over, "members": members, "count": chosen.most}
        regions = [part.region.within(side) for side in sides(self.problem, chosen.over, members, chosen.most)]
        parts = tuple(_Part(region, found, {}) for region, found in zip(regions, (low, high), strict=True))
        part.node["most"], part.node["least"] = (each.node for each in parts)
        return parts

    def _priced(self, region: Branch, found: Relaxed) -> tuple[dict[str, Fraction], Appraisal]:
        """The prices of a relaxation, what is earned lowered a little where something is worth more than it costs."""
        prices = {name: _nearest(Fraction(price)) for name, price in found.prices.items() if abs(price) > PROVEN}
        appraisal = self._appraised(region, prices)
        if appraisal.holds:
            return prices, appraisal
        earned = [name for name in prices if _is_earned(region, name)]
        nothing, alone = self._appraised(region, {}), self._appraised(region, {name: prices[name] for name in earned})
        for _ in range(4):
            lower = max(_excess(appraisal.left_of_offer, nothing.left_of_offer, alone.left_of_offer), Fraction(0))
            lower = max(_excess(appraisal.left_of_api, nothing.left_of_api, alone.left_of_api), lower)
            prices |= {
                name: _nearest(prices[name] * max(1 - lower * Fraction(1000001, 1000000), Fraction(0)))
                for name in earned
            }
            appraisal = self._appraised(region, prices)
            if appraisal.holds:
                break
        return prices, appraisal

    def _appraised(self, region: Branch, prices: Mapping[str, Fraction]) -> Appraisal:
        return appraise(self.problem, region, prices, at_cost=self.claim is not None)


def _excess(left: Mapping[int, Fraction], nothing: Mapping[int, Fraction], alone: Mapping[int, Fraction]) -> Fraction:
    """The largest share of what is earned somewhere that is earned too much there."""
    short = ((-left[i], nothing[i] - alone[i]) for i in left if left[i] < 0)
    return max((missing / max(gain, missing) for missing, gain in short), default=Fraction(0))


def _is_earned(region: Branch, name: str) -> bool:
    if name.startswith("split "):
        return region.splits[int(name.removeprefix("split "))].side == "least"
    return name.startswith(WORTHS)


def _nearest(price: Fraction, up: bool = False) -> Fraction:
    """A number of a few digits beside a price: below it, or above."""
    scaled = float(price) * (1 + 1e-14 if up else 1 - 1e-14)
    return Fraction(f"{scaled:.{DIGITS}g}")


def _written(prices: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(price) for name, price in sorted(prices.items()) if price}
