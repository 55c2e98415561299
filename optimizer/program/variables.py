"""The columns of the program: where each decision sits, what it is called and what values it may take."""

import re
from dataclasses import dataclass

import numpy as np

from optimizer.program.problem import Flags, Floats, Ints, Problem

LONGEST_NAME = 240


@dataclass(frozen=True, eq=False)
class Variables:
    """Column numbers of each decision; a decision that no active family needs has none.

    Attributes:
        instances: (O,) whole instances bought of an offer.
        replicas: (C,) engine replicas placed for a candidate.
        flow: (C,) requests/s routed to a candidate, in units of its reach: 1 serves the whole demand of its mix.
        used: (C,) or empty, whether a candidate serves anything.
        chosen: (L,) or empty, whether any candidate of a configuration label has a replica.
        provider_present: (P,) or empty, whether the provider counts as used.
        region_present: (R,) or empty, whether the region counts as used.
    """

    instances: Ints
    replicas: Ints
    flow: Ints
    used: Ints
    chosen: Ints
    provider_present: Ints
    region_present: Ints

    @property
    def count(self) -> int:
        """How many columns there are."""
        return sum(len(columns) for columns in self.groups().values())

    def groups(self) -> dict[str, Ints]:
        """The decisions by name, in column order."""
        return dict(vars(self))


def lay_out(problem: Problem, relaxed: bool) -> Variables:
    """Number the columns; a relaxed program has no binary column."""
    limits, start = problem.limits, 0
    binary = not relaxed
    sizes = {
        "instances": len(problem.offers),
        "replicas": len(problem.candidates),
        "flow": len(problem.candidates),
        "used": len(problem.candidates) * (binary and limits.spare_replicas > 0),
        "chosen": len(labels(problem.configuration)) * (binary and limits.max_distinct_configurations is not None),
        "provider_present": len(labels(problem.provider)) * (binary and limits.min_providers > 1),
        "region_present": len(labels(problem.region)) * (binary and limits.min_regions > 1),
    }
    columns = {}
    for name, size in sizes.items():
        columns[name] = np.arange(start, start + size, dtype=np.int64)
        start += size
    return Variables(**columns)


def labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """The distinct labels, sorted."""
    return tuple(sorted(set(names)))


def label_numbers(names: tuple[str, ...]) -> Ints:
    """The position of each name among the sorted distinct labels."""
    position = {label: number for number, label in enumerate(labels(names))}
    return np.array([position[name] for name in names], dtype=np.int64)


def names(problem: Problem, variables: Variables) -> list[str]:
    """The name of each column, `decision[what]`."""
    members = {
        "instances": problem.offers,
        "replicas": problem.candidates,
        "flow": problem.candidates,
        "used": problem.candidates,
        "chosen": labels(problem.configuration),
        "provider_present": labels(problem.provider),
        "region_present": labels(problem.region),
    }
    present = [group for group, columns in variables.groups().items() if len(columns)]
    return [name for group in present for name in tagged(group, members[group])]


def integers(variables: Variables) -> Flags:
    """Which columns take whole values: all but the flows."""
    whole = np.ones(variables.count, dtype=np.bool_)
    whole[variables.flow] = False
    return whole


def upper_bounds(variables: Variables, relaxed: bool) -> Floats:
    """One for binaries and flows (trimmed plans, see `quantities`), infinity for counts.

    The relaxation has no bound on flows: demand's dual alone then tells what a request is worth.
    """
    upper = np.ones(variables.count)
    upper[variables.instances] = np.inf
    upper[variables.replicas] = np.inf
    if relaxed:
        upper[variables.flow] = np.inf
    return upper


def tagged(prefix: str, members: tuple[str, ...] | list[str]) -> list[str]:
    """`prefix[member]` for each member, free of blanks and brackets and short enough for a model file."""
    full = [f"{prefix}[{re.sub(r'[^!-~]|[][%]', _encoded, member)}]" for member in members]
    return [
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 12]}~{number}]"
        for number, name in enumerate(full)
    ]


def _encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02x}" for byte in match.group().encode())
