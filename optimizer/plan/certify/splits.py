"""Ways to split a part of the plans: sums of counts that the relaxation has between two whole numbers."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import floor
from typing import NamedTuple

from optimizer.plan.certify.relaxation import Relaxed
from optimizer.plan.verify.certificate.branch import Branch
from optimizer.plan.verify.certificate.problem import Stated

FRACTION = 1e-6
"""How far from a whole number a sum is between two."""


class Sum(NamedTuple):
    """Some instances or replicas, and how many of them the relaxation has."""

    over: str
    members: tuple[int, ...]
    value: float
    most: int

    @property
    def fraction(self) -> float:
        """How far it is from the nearest whole number."""
        return abs(self.value - round(self.value))


def sums_between(problem: Stated, kinds: Sequence[int], region: Branch, found: Relaxed) -> list[Sum]:
    """Sums that are between two whole numbers, or whose going no further would tell more; the most open first.

    Args:
        problem: As the certificate states it.
        kinds: Of its offers.
        region: The part of the plans.
        found: Its relaxation.
    """
    found_labels = list(_labels(problem, region, found))
    distinct: dict[tuple[str, tuple[int, ...]], Sum] = {}
    for over, members in _sets(problem, kinds, region, found):
        counts = found.instances if over == "instances" else found.replicas
        value = sum(counts.get(m, 0.0) for m in members)
        each = Sum(over, members, value, floor(value + FRACTION))
        if each.fraction > FRACTION or _tells_more(problem, region, each):
            distinct.setdefault((over, members), each)
    return [*found_labels, *sorted(distinct.values(), key=lambda each: (-each.fraction, -len(each.members), each))]


def _labels(problem: Stated, region: Branch, found: Relaxed) -> Iterator[Sum]:
    """Where more labels are in use than may be: the replicas of each, of which there are none or some."""
    for most, label, named in region.labels(problem):
        groups = defaultdict[str, list[int]](list)
        for c in (c for here in region.possible(problem) for c in here):
            groups[problem.candidates[c][label]].append(c)
        used = {name: sum(found.replicas.get(c, 0.0) for c in some) for name, some in groups.items()}
        running = sorted((-count, name) for name, count in used.items() if count > FRACTION)
        if len(running) > most:
            yield from (Sum("replicas", tuple(groups[name]), -count, 0) for count, name in running if name not in named)


def _tells_more(problem: Stated, region: Branch, each: Sum) -> bool:
    """Whether knowing that there are no more of them lowers what one earns, or rules others out."""
    limits, known = problem.limits, region.most_instances if each.over == "instances" else region.most_replicas
    if all(known.get(m, each.most + 1) <= each.most for m in each.members):
        return False
    if each.over == "instances":
        return "instance" in limits.get("survive", ())
    return bool(problem.spare)


def _sets(
    problem: Stated, kinds: Sequence[int], region: Branch, found: Relaxed
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Offers at least as dear, large or cheap for their size as one bought; and what has something in common.

    What differs in price alone is in a set or not together, whether the relaxation was told of it or not: if only some
    of it were split off, the rest would take its place.
    """
    possible = region.possible(problem)
    offers, some = problem.offers, [o for o, here in enumerate(possible) if here]
    bought = [o for o in some if found.instances.get(o, 0.0) > FRACTION]
    size = {o: _fastest(problem, o) * offers[o]["gpus"] for o in some}
    yield "instances", tuple(some)
    price = {o: float(offers[kinds[o]]["usd_per_hour"]) for o in some}
    for of_offer in (price, size, {o: size[o] / max(price[o], 1e-9) for o in some}):
        for least in sorted({of_offer[o] for o in bought}):
            yield "instances", tuple(o for o in some if of_offer[o] >= least)
    for key in ("gpus", "provider", "region"):
        yield from _grouped("instances", {o: offers[kinds[o]][key] for o in some}, found.instances)
    yield from _grouped("instances", {o: kinds[o] for o in some}, found.instances)
    there = sorted(c for here in possible for c in here)
    yield "replicas", tuple(there)
    candidates = problem.candidates
    for keys in (("workload",), ("configuration",), ("engine",), ("workload", "gpus")):
        yield from _grouped("replicas", {c: tuple(candidates[c][k] for k in keys) for c in there}, found.replicas)
    for keys in (("gpus",), ("workload", "configuration")):
        of_kind = {c: (kinds[candidates[c]["offer"]], *(candidates[c][k] for k in keys)) for c in there}
        yield from _grouped("replicas", of_kind, found.replicas)


def _grouped(over: str, key: Mapping[int, Hashable], counts: dict[int, float]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The groups of which the relaxation has any."""
    groups = defaultdict[Hashable, list[int]](list)
    for member, name in key.items():
        groups[name].append(member)
    for members in groups.values():
        if sum(counts.get(m, 0.0) for m in members) > FRACTION:
            yield over, tuple(members)


def _fastest(problem: Stated, offer: int) -> float:
    """Requests/s of a GPU there at best, of any mix."""
    there = [problem.candidates[c] for c in problem.on_offer[offer]]
    return max(float(max(each["rates_per_s"].values()) / each["gpus"]) for each in there)
