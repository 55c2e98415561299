"""A certificate as a whole: its claim, and the tree that proves it, leaf by leaf.

A node splits the plans in two: those that have at most `count` of some instances (or replicas) in all, and those that
have at least one more; every plan is in one of the two. A leaf either names prices whose bound is what is claimed, or
says that counting alone leaves no plan there.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from math import isinf
from typing import Any, Final, Literal

from optimizer.plan.verify.certificate.branch import Branch, Split
from optimizer.plan.verify.certificate.prices import appraise
from optimizer.plan.verify.certificate.problem import HOURS_PER_MONTH, NOTHING, NotProven, Stated

VERSION: Final = 1

MALFORMED: Final = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
"""What reading a field raises that is missing, of another kind than it should be, or out of range."""


@dataclass(frozen=True)
class Proven:
    """What a certificate proves.

    Attributes:
        usd_per_month: No plan costs less; None where there is no plan.
        leaves: In how many parts it was proven.
    """

    usd_per_month: Fraction | None
    leaves: int


def read_certificate(text: str) -> dict[str, Any]:
    """A certificate's file, every number as the exact fraction that its digits say.

    Raises:
        NotProven: the text is none.
    """
    try:
        content = json.loads(text, parse_float=_fraction, parse_constant=_no_number, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise NotProven(f"not JSON: {error}") from error
    if not isinstance(content, dict) or content.get("certificate_version") != VERSION:
        raise NotProven(f"not a certificate of version {VERSION}")
    return content


def _fraction(digits: str) -> Fraction:
    """A number as its digits say; refused where it is too large or too small to be one that anybody computed."""
    near = float(digits)
    if isinf(near):
        raise ValueError(f"{digits} is too large")
    if near == 0.0:
        if Fraction(digits.lower().partition("e")[0]):
            raise ValueError(f"{digits} is too small")
        return NOTHING
    return Fraction(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, refused where a field stands in it twice: another reader may take the other one."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a field stands twice")
    return content


def _no_number(name: str) -> Fraction:
    raise ValueError(f"{name} is no number")


def stated(content: Mapping[str, Any]) -> Stated:
    """The problem that a certificate states.

    Raises:
        NotProven: it is not a purchase problem.
    """
    try:
        return Stated(**{item.name: content["problem"][item.name] for item in fields(Stated)})
    except MALFORMED as error:
        raise NotProven(f"not a purchase problem: {error!r}") from error


def check(content: Mapping[str, Any]) -> Proven:
    """What a certificate proves, by every leaf of its tree.

    Raises:
        NotProven: it does not prove what it claims.
    """
    problem = stated(content)
    try:
        at_least = content["claim"]["no_plan_costs_less_than_usd_per_month"]
        usd = None if at_least is None else Fraction(at_least)
        leaves = _leaves(problem, Branch(), content["proof"], None if usd is None else usd / HOURS_PER_MONTH)
        over_budget = usd is not None and usd > Fraction(problem.limits.get("max_monthly_usd", usd))
    except MALFORMED as error:
        raise NotProven(f"not a proof: {error!r}") from error
    return Proven(None if over_budget else usd, leaves)


def _leaves(problem: Stated, root: Branch, proof: Mapping[str, Any], usd_per_hour: Fraction | None) -> int:
    """How many leaves prove the claim: that plans cost as much or, where no cost is claimed, that there are none."""
    waiting, leaves = [(root, proof)], 0
    while waiting:
        region, node = waiting.pop()
        if "split" in node:
            split = node["split"]
            waiting += [
                (region.within(side), node[name])
                for name, side in zip(("most", "least"), sides(problem, **split), strict=True)
            ]
            continue
        leaves += 1
        if "prices" not in node:
            if not region.is_empty(problem):
                raise NotProven(f"leaf {leaves} has no prices, and there may be plans")
            continue
        prices = {name: Fraction(price) for name, price in node["prices"].items()}
        found = appraise(problem, region, prices, at_cost=usd_per_hour is not None)
        if not found.holds:
            raise NotProven(f"the prices of leaf {leaves} are worth buying for, so they prove nothing")
        if found.earned <= 0 if usd_per_hour is None else found.earned < usd_per_hour:
            raise NotProven(f"leaf {leaves} proves {float(found.earned * HOURS_PER_MONTH):.4f}, less than is claimed")
    return leaves


def sides(problem: Stated, over: str, members: list[int], count: int) -> tuple[Split, Split]:
    """Both sides of a split: at most so many of its members, and at least one more."""
    known = {"instances": len(problem.offers), "replicas": len(problem.candidates)}[over]
    some = frozenset(members)
    if not all(isinstance(m, int) and 0 <= m < known for m in some) or not isinstance(count, int) or count < 0:
        raise NotProven("a split of what is not there")
    kind: Literal["instances", "replicas"] = "instances" if over == "instances" else "replicas"
    return Split(kind, some, "most", count), Split(kind, some, "least", count + 1)
