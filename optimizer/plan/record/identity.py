"""What a plan and its deployments are called, by people, in file names and in the results of benchmarks."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from optimizer.plan.record.fleet import Placement
from optimizer.plan.record.report import PlanReport

DECIDED: Final = frozenset({"inputs", "deployments", "purchases", "hosted", "periods"})
"""What a plan was made from and what it buys and promises; not how it was found nor how it is explained."""

HASH_DIGITS: Final = 16


def plan_hash(report: PlanReport) -> str:
    """Names a plan by its content: the same for a plan in memory, in a file, and found again."""
    content = report.model_dump(mode="json", by_alias=True, include=set(DECIDED))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:HASH_DIGITS]


def deployment_names(deployments: Sequence[Placement]) -> tuple[str, ...]:
    """A name for each, fit for files: `chat-1xl4-fp8`, numbered where several would be called the same."""
    names = [f"{d.workload}-{d.gpus_per_replica}x{d.gpu}-{d.precision}" for d in deployments]
    several, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name}-{seen[name]}" if several[name] > 1 else name)
    return tuple(numbered)
