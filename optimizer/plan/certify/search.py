"""The search for a proof: split the plans until prices prove each part, a few parts at best."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.plan.certify.relaxation import Relaxed, relaxed
from optimizer.plan.certify.splits import Sum, sums_between
from optimizer.plan.verify.certificate.prices import Appraisal, appraise
from optimizer.plan.verify.certificate.problem import Stated
from optimizer.plan.verify.certificate.region import Region
from optimizer.plan.verify.certificate.tree import sides
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.proof.dominance import undominated

DIGITS: Final = 15
LOOKED_AT: Final = 8
import time,sys

class Unfinished(Exception):
    pass

class Prover:
    def __init__(self, problem: Problem, stated: Stated, usd_per_hour: Fraction | None, most_leaves: int = 2000) -> None:
        self.problem, self.stated, self.target = problem, stated, usd_per_hour
        self.leaves = self.lps = 0
        self.t_lp=self.t_ap=0.0
        self.most_leaves=most_leaves

    def proof(self) -> dict[str, Any]:
        keep = undominated(self.problem) if len(self.problem.candidates) else np.zeros(0, dtype=bool)
        self.keep = frozenset(np.flatnonzero(keep).tolist())
        root = Region()
        at_root = self.solve(root)
        if (leaf := self.leaf(root, at_root)) is not None:
            return leaf
        prices, found = self.priced(root, at_root)
        gap = (self.target or Fraction(0)) - found.earned
        out = [o for o, left in found.left_of_offer.items() if left >= gap]
        print('root', float(found.earned)*730, 'target', float(self.target or 0)*730, 'holds', found.holds, 'offers', len(self.problem.offers), 'left', len(self.problem.offers)-len(out), file=sys.stderr)
        if not out or not found.holds:
            return self.node(root)
        low, high = sides(self.stated, "instances", out, 0)
        upper = {"prices": _written(prices | {"split 0": _up(gap)})}
        region = root.within(low)
        self.keep = frozenset(np.flatnonzero(~np.isin(self.problem.candidates.offer, out)).tolist())
        print('cands', len(self.keep), file=sys.stderr)
        self.leaves += 1
        return {"split": {"over": "instances", "members": out, "count": 0}, "most": self.node(region), "least": upper}

    def solve(self, region: Region) -> Relaxed:
        self.lps += 1
        t=time.process_time()
        r= relaxed(self.stated, region, self.keep, None if self.target is None else float(self.target))
        self.t_lp+=time.process_time()-t
        return r

    def node(self, region: Region, relaxed: Relaxed | None = None) -> dict[str, Any]:
        relaxed = relaxed or self.solve(region)
        if (leaf := self.leaf(region, relaxed)) is not None:
            return leaf
        split, low, high = self.split(region, relaxed)
        a, b = sides(self.stated, split.over, list(split.members), split.most)
        return {
            "split": {"over": split.over, "members": list(split.members), "count": split.most},
            "most": self.node(region.within(a), low),
            "least": self.node(region.within(b), high),
        }

    def leaf(self, region: Region, relaxed: Relaxed) -> dict[str, Any] | None:
        if region.is_empty(self.stated):
            self.leaves += 1
            return {"empty": True}
        least = float(self.target) if self.target is not None else 1e-9
        if relaxed.usd_per_hour < least * (1 - 1e-12):
            return None
        prices, found = self.priced(region, relaxed)
        if not found.holds or (found.earned < self.target if self.target is not None else found.earned <= 0):
            print('   exact fails', relaxed.usd_per_hour*730, float(found.earned)*730, found.holds, file=sys.stderr)
            return None
        self.leaves += 1
        if self.leaves > self.most_leaves:
            raise Unfinished
        return {"prices": _written(prices)}

    def priced(self, region: Region, relaxed: Relaxed) -> tuple[dict[str, Fraction], Appraisal]:
        """Prices that hold: where something is worth more than it costs, all worths are lowered together."""
        t=time.process_time()
        prices = {name: _fraction(price) for name, price in relaxed.prices.items() if abs(price) > 1e-13}
        found = self.appraise(region, prices)
        worth = [n for n in prices if self.is_worth(region, n)]
        if not found.holds:
            nothing, alone = self.appraise(region, {}), self.appraise(region, {n: prices[n] for n in worth})
        for _ in range(4):
            if found.holds:
                break
            lower = Fraction(0)
            for short, without, with_ in (
                (found.left_of_offer, nothing.left_of_offer, alone.left_of_offer),
                (found.left_of_api, nothing.left_of_api, alone.left_of_api),
            ):
                for i, left in short.items():
                    if left < 0:
                        lower = max(lower, -left / max(without[i] - with_[i], -left))
            scale = 1 - lower * Fraction(1000001, 1000000)
            prices |= {n: _down(prices[n] * max(scale, Fraction(0))) for n in worth}
            found = self.appraise(region, prices)
        self.t_ap+=time.process_time()-t
        return prices, found

    def is_worth(self, region: Region, name: str) -> bool:
        if name.startswith("split "):
            return region.splits[int(name.split()[1])].side == "least"
        return name.startswith(("demand ", "after loss ", "provider ", "region ", "least "))

    def appraise(self, region: Region, prices: Mapping[str, Fraction]) -> Appraisal:
        return appraise(self.stated, region, prices, self.target is not None)

    def split(self, region: Region, relaxed: Relaxed) -> tuple[Sum, Relaxed, Relaxed]:
        sums = sums_between(self.stated, region, relaxed)
        if not sums:
            raise Unfinished("no fractional sum")
        sums = sums[:LOOKED_AT]
        best = None
        least = float(self.target) if self.target is not None else 1e-9
        for each in sums:
            a, b = sides(self.stated, each.over, list(each.members), each.most)
            low, high = self.solve(region.within(a)), self.solve(region.within(b))
            bounds = sorted(min(x.usd_per_hour, least) for x in (low, high))
            score = (bounds[0] + bounds[1] if bounds[1] >= least else bounds[0]*1.0 + bounds[1]*.5 - 0*least, bounds[0])
            score = (min(bounds), max(bounds))
            if best is None or score > best[0]:
                best = score, each, low, high
            if bounds[0] >= least:
                break
        return best[1:]


def _written(prices: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(price) for name, price in sorted(prices.items()) if price}


def _fraction(price: float) -> Fraction:
    return Fraction(f"{price:.{DIGITS}g}")


def _down(price: Fraction) -> Fraction:
    return _fraction(float(price) * (1 - 1e-14))


def _up(price: Fraction) -> Fraction:
    return _fraction(float(price) * (1 + 1e-14))
