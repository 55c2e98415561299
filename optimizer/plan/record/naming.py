"""What the deployments of a plan are called in file names, manifests and the results of benchmarks."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from optimizer.plan.record.fleet import Placement

LONGEST_NAME: Final = 41
"""Of a service of dstack, which takes the fewest; a DNS label has 63 characters."""

PREFIX: Final = "run"
"""Before names that start with a digit, which services of Kubernetes may not."""


def deployment_names(deployments: Sequence[Placement]) -> tuple[str, ...]:
    """Workload, GPU and provider of each as a DNS label, numbered where several would be called the same."""
    labels = [label(f"{d.workload}-{d.gpu}-{d.provider}") for d in deployments]
    several = Counter(labels)
    taken = {each for each in labels if several[each] == 1}
    names = []
    for each in labels:
        name = each if several[each] == 1 else next(free for free in _numbered(each) if free not in taken)
        taken.add(name)
        names.append(name)
    return tuple(names)


def _numbered(label: str) -> Iterator[str]:
    """The label with 1, 2 and so on behind it, shortened to leave room for the number."""
    for number in count(1):
        behind = f"-{number}"
        yield label[: LONGEST_NAME - len(behind)].rstrip("-") + behind


def label(text: str) -> str:
    """A DNS label of it, which begins with a letter."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
    named = plain if plain[:1].isalpha() else f"{PREFIX}-{plain}"
    return named[:LONGEST_NAME].strip("-")
