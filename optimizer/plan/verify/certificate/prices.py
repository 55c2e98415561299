"""What prices prove: no instance can earn more than it costs, so every plan costs what its promises earn.

Say that a request/s of a class is worth its price, also after each loss that must be survived, that a place present is
worth its price, and so on; and that what is limited (GPUs, power, shares) costs its price. Every promise that is kept
earns price x amount, whatever the plan. If no instance can hold replicas that earn more than it costs, and no hosted
API answers requests that earn more than they cost, then the plan costs at least what its promises earn.

That is weak duality: any prices are valid, whoever found them. Five things make the bound sharp, each because numbers
are whole or because nothing obliges a plan to have more than is wanted:
1. Of each mix no more than its reach need be sent, in all: what is beyond can be cut, which no promise minds. So
   neither one replica nor all of an offer earn more by a mix than by its reach.
2. With s spare replicas, r of a candidate carry at most r - s at full rate, and none serves without s + 1. What one
   adds is at most the best of min(utilization x rate x r, rate x (r - s), reach) / r over the counts r it may have. The
   first two rise with r and the third falls, so the best stands next to where they cross.
3. Any one of n instances of an offer may be lost, so on average over these losses a replica is left with (n - 1) / n.
4. What is earned once (a demand, a place, at least k of some replicas) all of an offer earns at most once, so its
   first instance may be credited with all of it, instead of every instance with what it holds.
5. No instance need stand empty: it can be given back, which no promise minds. So one is had only where a replica is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from optimizer.plan.verify.certificate.branch import Branch
from optimizer.plan.verify.certificate.problem import (
    HOURS_PER_MONTH,
    NOTHING,
    SECONDS_PER_HOUR,
    LossAtOnce,
    NotProven,
    Stated,
)

Amounts = Mapping[int, Fraction]


@dataclass(frozen=True)
class Appraisal:
    """What prices prove of a region, in USD/h; the bound is `earned` where nothing that is `left` is negative.

    Attributes:
        earned: What the promises of every plan earn.
        left_of_offer: What an instance of each possible offer costs beyond the most that it can earn.
        left_of_api: What a request/s of each hosted API costs beyond what it earns.
    """

    earned: Fraction
    left_of_offer: dict[int, Fraction]
    left_of_api: dict[int, Fraction]

    @property
    def holds(self) -> bool:
        """Whether nothing earns more than it costs."""
        return min((*self.left_of_offer.values(), *self.left_of_api.values()), default=NOTHING) >= 0


@dataclass(frozen=True)
class _Promise:
    """What is earned: in all, by one replica of a candidate, and by all of an offer at most."""

    earned: Fraction
    by_candidate: Amounts
    by_offer: Amounts


def appraise(problem: Stated, region: Branch, prices: Mapping[str, Fraction], at_cost: bool = True) -> Appraisal:
    """What the prices prove of the plans of a region; of whether there are any, where costs do not count.

    Raises:
        NotProven: a price is negative, or of no promise that there is.
    """
    return _Appraiser(problem, region, prices, at_cost).appraisal()


class _Appraiser:
    def __init__(self, problem: Stated, region: Branch, prices: Mapping[str, Fraction], at_cost: bool) -> None:
        self.problem, self.region, self.at_cost = problem, region, at_cost
        self.there = region.possible(problem)
        self.every = [c for some in self.there for c in some]
        self._prices, self._read = prices, set[str]()

    def appraisal(self) -> Appraisal:
        problem, region = self.problem, self.region
        promises = list(self._promises())
        earned = sum((promise.earned for promise in promises), NOTHING)
        costs, flat = self._instance_costs(), dict.fromkeys(self.every, NOTHING)
        for charged, by_candidate in (*self._replica_limits(), self._changes()):
            earned -= charged
            for c, usd in by_candidate.items():
                flat[c] -= usd
        limits = [(cap.name, cap.most) for cap in problem.caps] + [(share.name, share.most) for share in problem.shares]
        earned -= sum((self._price(name) * most for name, most in limits), NOTHING)
        for number, split in enumerate(region.splits):
            if split.over == "instances":
                earned += (1 if split.side == "least" else -1) * self._price(f"split {number}") * split.count
        left_of_offer = {
            o: self._left_of_offer(o, costs[o], promises, flat) for o, some in enumerate(self.there) if some
        }
        left_of_api = {a: self._left_of_api(a) for a in range(len(problem.apis))}
        if unknown := set(self._prices) - self._read:
            raise NotProven(f"a price of what is not promised: {min(unknown)}")
        return Appraisal(earned, left_of_offer, left_of_api)

    def _price(self, name: str) -> Fraction:
        self._read.add(name)
        price = self._prices.get(name, NOTHING)
        if price < 0:
            raise NotProven(f"a negative price: {name}")
        return price

    def _promises(self) -> Iterator[_Promise]:
        """Everything of which there must be enough."""
        problem = self.problem
        yield from self._served("demand", None)
        for loss in problem.losses:
            yield from self._served(f"after loss of {loss.name}:", loss)
        for kind in ("provider", "region"):
            if wanted := problem.limits.get(f"min_{kind}s", 0):
                yield self._presence(kind, wanted)
        for workload, least in problem.limits.get("least_replicas", {}).items():
            yield self._counted(f"least {workload}", self._of_workload(workload), least)
        for number, split in enumerate(self.region.splits):
            if split.over == "replicas" and split.side == "least":
                yield self._counted(f"split {number}", (c for c in self.every if c in split.members), split.count)

    def _served(self, name: str, loss: LossAtOnce | None) -> Iterator[_Promise]:
        """The demand of every class, met always or after a loss: what it earns, then who earns it, mix by mix."""
        problem, price = self.problem, {k: self._price(f"{name} {k}") for k in self.problem.demand}
        earned = sum((price[k] * amount for k, amount in problem.demand.items()), NOTHING)
        if not earned:
            return
        yield _Promise(earned, {}, {})
        worth = [sum((share * price[k] for k, share in mix.items()), NOTHING) for mix in problem.mixes]
        # the mixes that a candidate serves -> what one replica earns, and all of an offer at most
        by_candidate = defaultdict[tuple[str, ...], dict[int, Fraction]](dict)
        by_offer = defaultdict[tuple[str, ...], dict[int, Fraction]](dict)
        for o, some in enumerate(self.there):
            kept = self._kept(o, loss) if some else NOTHING
            if not kept or not (loss or problem.may_serve(o)):
                continue
            sending = [NOTHING if loss else self._sending_usd(o, m) for m in range(len(worth))]
            net = [max(usd - sent, NOTHING) for usd, sent in zip(worth, sending, strict=True)]
            for c in some:
                mixes = tuple(problem.candidates[c]["rates_per_s"])
                by_candidate[mixes][c] = kept * self._drawn(c, net, after_loss=loss is not None)
                by_offer[mixes][o] = sum((net[int(m)] * problem.reach[int(m)] for m in mixes), NOTHING)
        for mixes, each in by_candidate.items():
            yield _Promise(NOTHING, each, by_offer[mixes])

    def _kept(self, offer: int, loss: LossAtOnce | None) -> Fraction:
        """The share of its replicas that an offer keeps, see (3)."""
        if loss is None or offer not in loss.offers:
            return Fraction(1)
        most = self.region.most_instances.get(offer)
        if not loss.one:
            return NOTHING
        return Fraction(1) if most is None else Fraction(most - 1, most)

    def _sending_usd(self, offer: int, mix: int) -> Fraction:
        """What a request/s of a mix costs there beside the machines: shares that are limited, sending answers."""
        usd = sum((self._price(share.name) for share in self.problem.shares if offer in share.offers), NOTHING)
        per_request = self.problem.offers[offer].get("egress_usd_per_request", {})
        return usd + (per_request.get(str(mix), NOTHING) * SECONDS_PER_HOUR if self.at_cost else 0)

    def _drawn(self, c: int, net: Sequence[Fraction], after_loss: bool) -> Fraction:
        """The most that one replica earns by what it is sent; after a loss it runs at full rate with no spare ones."""
        problem, most = self.problem, self.region.most_replicas.get(c)
        utilization = Fraction(1) if after_loss else Fraction(problem.limits["max_utilization"])
        spare, apart, shared = 0 if after_loss else problem.spare, NOTHING, NOTHING
        for mix, rate in problem.candidates[c]["rates_per_s"].items():
            usd = net[int(mix)]
            apart += usd * most_drawn(rate, utilization, spare, problem.reach[int(mix)], most)
            shared = max(shared, usd * rate * _busy(utilization, spare, most))
        return min(apart, shared)

    def _presence(self, kind: str, wanted: int) -> _Promise:
        """Enough places with a replica that may serve, and its spare ones: at least the lowest prices are earned."""
        problem, least, by_place = self.problem, self.problem.spare + 1, dict[str, list[int]]()
        for c in self.every:
            if self.region.is_present(problem, c):
                by_place.setdefault(problem.offers[problem.candidates[c]["offer"]][kind], []).append(c)
        price = {name: self._price(f"{kind} {name}") for name in problem.labels(kind)}
        by_candidate = {c: price[name] / least for name, some in by_place.items() for c in some}
        by_offer = {o: price[offer[kind]] for o, offer in enumerate(problem.offers)}
        return _Promise(sum(sorted(price[name] for name in by_place)[:wanted], NOTHING), by_candidate, by_offer)

    def _of_workload(self, name: str) -> list[int]:
        return [c for c in self.every if self.problem.candidates[c]["workload"] == name]

    def _counted(self, name: str, members: Iterable[int], least: int) -> _Promise:
        price = self._price(name)
        every_offer = dict.fromkeys(range(len(self.there)), price * least)
        return _Promise(price * least, dict.fromkeys(members, price), every_offer)

    def _replica_limits(self) -> Iterator[tuple[Fraction, Amounts]]:
        """What limits on replicas charge: in all, and for one replica of a candidate."""
        for workload, most in self.problem.limits.get("max_replicas", {}).items():
            price = self._price(f"most {workload}")
            yield price * most, dict.fromkeys(self._of_workload(workload), price)
        for number, split in enumerate(self.region.splits):
            if split.over == "replicas" and split.side == "most" and (price := self._price(f"split {number}")):
                yield price * split.count, dict.fromkeys((c for c in self.every if c in split.members), price)

    def _changes(self) -> tuple[Fraction, Amounts]:
        """Replicas of a configuration started or stopped: |x - f| is at least lean (x - f) for any lean of -1 to 1."""
        problem, limits = self.problem, self.problem.limits
        price = self._price("max_changes") if "max_changes" in limits else NOTHING
        each = price + (Fraction(limits.get("usd_per_change", 0)) / HOURS_PER_MONTH if self.at_cost else 0)
        in_force: dict[tuple[int, str], int] = {}
        for candidate in problem.candidates:
            group = candidate["offer"], candidate["configuration"]
            in_force[group] = in_force.get(group, 0) + candidate["in_force"]
        lean = {group: self._lean(*group) if force else Fraction(1) for group, force in in_force.items()}
        if not each:
            return NOTHING, {}
        groups = {c: (problem.candidates[c]["offer"], problem.candidates[c]["configuration"]) for c in self.every}
        begun = sum((lean[group] * force for group, force in in_force.items()), NOTHING)
        return price * limits.get("max_changes", 0) + each * begun, {c: each * lean[g] for c, g in groups.items()}

    def _lean(self, offer: int, configuration: str) -> Fraction:
        name = f"lean {self.problem.offers[offer]['id']} {configuration}"
        self._read.add(name)
        lean = self._prices.get(name, NOTHING)
        if abs(lean) > 1:
            raise NotProven(f"not between -1 and 1: {name}")
        return lean

    def _instance_costs(self) -> list[Fraction]:
        """What an instance of each offer costs, with what limits and splits charge for it or pay."""
        costs = [Fraction(offer["usd_per_hour"]) if self.at_cost else NOTHING for offer in self.problem.offers]
        for cap in self.problem.caps:
            if price := self._price(cap.name):
                for o, amount in cap.of_offer.items():
                    costs[o] += price * amount
        for number, split in enumerate(self.region.splits):
            if split.over == "instances" and (price := self._price(f"split {number}")):
                for o in split.members:
                    costs[o] += -price if split.side == "least" else price
        return costs

    def _left_of_offer(self, o: int, usd: Fraction, promises: list[_Promise], flat: Amounts) -> Fraction:
        """What an instance costs beyond what it earns; where that is less than nothing, promises are credited by (4).

        Any share of a promise may be. What is left bends where one candidate begins to earn more for its size than
        another one, or than nothing, so the best share is one of those, or all.
        """
        gain = {c: flat[c] + sum((p.by_candidate.get(c, NOTHING) for p in promises), NOTHING) for c in self.there[o]}
        left = usd - self._most_held(o, gain)
        here = [promise for promise in promises if any(promise.by_candidate.get(c) for c in gain)]
        open_share = dict.fromkeys(range(len(here)), Fraction(1))
        for number, promise in [*enumerate(here)] * 2 if left < 0 else ():
            tried = [(left, NOTHING)]
            for share in self._bends(gain, promise, open_share[number]):
                rest = {c: usd_ - share * promise.by_candidate.get(c, NOTHING) for c, usd_ in gain.items()}
                tried.append((usd - share * promise.by_offer[o] - self._most_held(o, rest), share))
            left, share = max(tried)
            open_share[number] -= share
            usd -= share * promise.by_offer[o]
            gain = {c: usd_ - share * promise.by_candidate.get(c, NOTHING) for c, usd_ in gain.items()}
        return left

    def _bends(self, gain: Amounts, promise: _Promise, most: Fraction) -> list[Fraction]:
        """The shares of a promise, up to what is not credited yet, at which the best use of room may change."""
        size = {c: self.problem.candidates[c]["gpus"] for c in gain}
        lines = {(usd / size[c], promise.by_candidate.get(c, NOTHING) / size[c]) for c, usd in gain.items()}
        lines.add((NOTHING, NOTHING))
        pairs = ((a, b, c, d) for a, b in lines for c, d in lines if b > d)
        shares = {(a - c) / (b - d) for a, b, c, d in pairs}
        return sorted({share for share in shares if 0 < share < most} | {most})

    def _most_held(self, o: int, gain: Amounts) -> Fraction:
        """The most that replicas within one instance earn.

        Sizes are powers of two, so replicas that fit can be moved until each begins at a multiple of its size. Then a
        block of a size holds one replica of it, or two blocks of half the size.
        """
        best: dict[int, Fraction] = {}
        for c, usd in gain.items():
            size = self.problem.candidates[c]["gpus"]
            best[size] = max(best.get(size, NOTHING), usd)
        room, size, block = self.problem.offers[o]["gpus"], 1, [best.get(1, NOTHING)]
        while 2 * size <= room:
            size *= 2
            block.append(max(2 * block[-1], best.get(size, NOTHING)))
        total = NOTHING
        while block:
            total, room, size = total + room // size * block.pop(), room % size, size // 2
        return total

    def _left_of_api(self, a: int) -> Fraction:
        """What a request/s sent there costs beyond what it earns, always and after the losses that it outlives."""
        problem, api = self.problem, self.problem.apis[a]
        usd = Fraction(api["usd_per_request"]) * SECONDS_PER_HOUR if self.at_cost else NOTHING
        usd += sum((self._price(share.name) for share in problem.shares if a in share.apis), NOTHING)
        names = ["demand", *(f"after loss of {loss.name}:" for loss in problem.losses if a not in loss.apis)]
        mix = problem.mixes[api["mix"]]
        return usd - sum((share * self._price(f"{n} {k}") for n in names for k, share in mix.items()), NOTHING)


def most_drawn(rate: Fraction, utilization: Fraction, spare: int, reach: Fraction, most: int | None) -> Fraction:
    """Requests/s that a replica draws at most, see (2), of a candidate with at most so many replicas."""
    if not spare:
        return min(utilization * rate, reach)
    crossing = max(reach / (utilization * rate), reach / rate + spare)
    best = NOTHING
    for count in (max(floor(crossing), spare + 1), max(ceil(crossing), spare + 1)):
        replicas = count if most is None else min(count, most)
        if replicas > spare:
            best = max(best, min(utilization * rate * replicas, rate * (replicas - spare), reach) / replicas)
    return best


def _busy(utilization: Fraction, spare: int, most: int | None) -> Fraction:
    """The largest share of its rate that a replica may be used for, given the spare ones beside it."""
    return utilization if most is None or not spare else max(min(utilization, Fraction(most - spare, most)), NOTHING)
