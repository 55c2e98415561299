"""What the deployments of a plan are called in file names and in the results of benchmarks."""

from collections import Counter
from collections.abc import Sequence

from optimizer.plan.record.fleet import Placement


def deployment_names(deployments: Sequence[Placement]) -> tuple[str, ...]:
    """A name for each, fit for files: `chat-1xl4-fp8`, numbered where several would be called the same."""
    names = [f"{d.workload}-{d.gpus_per_replica}x{d.gpu}-{d.precision}" for d in deployments]
    several, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name}-{seen[name]}" if several[name] > 1 else name)
    return tuple(numbered)
