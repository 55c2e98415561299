"""The part of the plans that a node of the tree speaks of, and what is possible there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from optimizer.plan.verify.certificate.problem import Stated


@dataclass(frozen=True)
class Split:
    """Of some instances or replicas these plans have at most, or at least, so many in all."""

    over: Literal["instances", "replicas"]
    members: frozenset[int]
    side: Literal["most", "least"]
    count: int


@dataclass(frozen=True)
class Branch:
    """The plans on one side of each of some splits.

    Attributes:
        splits: From the root on; a leaf's prices name them by number.
        most_instances, most_replicas: What they leave of the counts of single offers and candidates, where anything.
    """

    splits: tuple[Split, ...] = ()
    most_instances: Mapping[int, int] = field(default_factory=dict)
    most_replicas: Mapping[int, int] = field(default_factory=dict)

    def within(self, split: Split) -> "Branch":
        """The part of it on one side of a split; of members of which at most k are had none has more than k."""
        most = {"instances": dict(self.most_instances), "replicas": dict(self.most_replicas)}
        if split.side == "most":
            kept = most[split.over]
            kept.update({m: min(split.count, kept.get(m, split.count)) for m in split.members})
        return Branch((*self.splits, split), most["instances"], most["replicas"])

    def possible(self, problem: Stated) -> list[list[int]]:
        """The candidates of each offer that may have replicas."""
        there = [
            [c for c in some if self.most_replicas.get(c, 1)] if self.most_instances.get(o, 1) else []
            for o, some in enumerate(problem.on_offer)
        ]
        for most, label, named in self.labels(problem):
            if len(named) >= most:
                # those that are known to have replicas are all there may be
                there = [[c for c in some if problem.candidates[c][label] in named] for some in there]
        return there

    def is_empty(self, problem: Stated) -> bool:
        """Whether counting alone tells that no plan is here: too many labels, or too few places."""
        if any(len(named) > most for most, _, named in self.labels(problem)):
            return True
        there = [c for some in self.possible(problem) for c in some]
        return any(
            len({problem.offers[problem.candidates[c]["offer"]][kind] for c in there if self.is_present(problem, c)})
            < problem.limits.get(f"min_{kind}s", 0)
            for kind in ("provider", "region")
        )

    def is_present(self, problem: Stated, c: int) -> bool:
        """Whether a candidate may serve, with its spare replicas."""
        least = problem.spare + 1
        return problem.may_serve(problem.candidates[c]["offer"]) and self.most_replicas.get(c, least) >= least

    def labels(self, problem: Stated) -> Iterator[tuple[int, str, set[str]]]:
        """The most labels there may be, the field they stand in, and those that are known to have replicas."""
        for limit, label in (("max_distinct_configurations", "configuration"), ("max_engines", "engine")):
            if limit in problem.limits:
                sure = [s.members for s in self.splits if s.over == "replicas" and s.side == "least"]
                labels = [{problem.candidates[c][label] for c in members} for members in sure]
                yield problem.limits[limit], label, {name for some in labels if len(some) == 1 for name in some}
