"""What stands on which instance: a line for each kind of instance, for those who must deploy it so."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from optimizer.plan.record.fleet import Deployment, PlacedInstances
from optimizer.report.layout.elements import Section, Table

HEADINGS: Final = ("instance", ">how many", "replicas on each")
NOTE: Final = "What stands on one instance is lost with it; placed like this, the loss of any one of them is survived."


def placement_section(placed: Sequence[PlacedInstances], deployments: Sequence[Deployment], periods: int) -> Section:
    """The instances by what stands on them, with how many there are at least and at most over the week."""
    if not placed:
        return Section("What stands where")
    counts = _counts(placed, periods)
    rows = []
    for (instance, contents), by_period in sorted(counts.items()):
        low, high = min(by_period), max(by_period)
        rows.append((instance, f"{high}" if low == high else f"{low}–{high}", _words(deployments, contents)))
    return Section("What stands where", (NOTE,), Table(HEADINGS, tuple(rows)))


def _counts(
    placed: Sequence[PlacedInstances], periods: int
) -> dict[tuple[str, tuple[tuple[int, int], ...]], list[int]]:
    """By offer and contents (deployment, replicas) how many instances there are in each period."""
    counts: dict[tuple[str, tuple[tuple[int, int], ...]], list[int]] = defaultdict(lambda: [0] * periods)
    for item in placed:
        contents = tuple((each.deployment, each.replicas) for each in item.contents)
        counts[item.instance, contents][item.period] += item.count
    return counts


def _words(deployments: Sequence[Deployment], contents: Sequence[tuple[int, int]]) -> str:
    """Replicas by what they run; how one is laid out where it spans several GPUs."""
    parts = []
    for number, replicas in contents:
        d = deployments[number]
        what = f"{d.workload}{'' if d.pool == 'all' else f' {d.pool}'} {d.precision}"
        spans = f" over {d.gpus_per_replica} GPUs each" if d.gpus_per_replica > 1 else ""
        parts.append(f"{replicas:,}× {what}{spans}")
    return ", ".join(parts)
