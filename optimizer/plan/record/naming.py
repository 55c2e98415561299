"""What the deployments of a plan are called in file names, manifests and the results of benchmarks."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from optimizer.plan.record.fleet import Placement

LONGEST_NAME: Final = 50
"""A DNS label has 63 characters, of which some are left for what is added to it."""


def deployment_names(deployments: Sequence[Placement]) -> tuple[str, ...]:
    """Workload, GPU and provider of each as a DNS label, numbered where several would be called the same."""
    labels = [
        re.sub(r"[^a-z0-9]+", "-", f"{d.workload}-{d.gpu}-{d.provider}".casefold()).strip("-")[:LONGEST_NAME].strip("-")
        for d in deployments
    ]
    several, seen = Counter(labels), Counter[str]()
    numbered = []
    for label in labels:
        seen[label] += 1
        numbered.append(f"{label}-{seen[label]}" if several[label] > 1 else label)
    return tuple(numbered)
