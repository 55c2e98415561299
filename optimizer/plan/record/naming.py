"""What the deployments of a plan are called in file names, manifests and the results of benchmarks."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from optimizer.plan.record.fleet import Placement

LONGEST_NAME: Final = 50
"""A DNS label has 63 characters, of which some are left for what is added to it."""


PREFIX: Final = "run"
"""Before names that start with a digit, which services of Kubernetes may not."""


def deployment_names(deployments: Sequence[Placement]) -> tuple[str, ...]:
    """Workload, GPU and provider of each as a DNS label, numbered where several would be called the same."""
    labels = [label(f"{d.workload}-{d.gpu}-{d.provider}") for d in deployments]
    several, seen = Counter(labels), Counter[str]()
    numbered = []
    for each in labels:
        seen[each] += 1
        numbered.append(f"{each}-{seen[each]}" if several[each] > 1 else each)
    return tuple(numbered)


def label(text: str) -> str:
    """A DNS label of it, which begins with a letter."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")
    named = plain if plain[:1].isalpha() else f"{PREFIX}-{plain}"
    return named[:LONGEST_NAME].strip("-")
