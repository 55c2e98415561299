"""A scaler that follows what arrived: replicas added and removed by the load of the last minute, as Kubernetes does it.

Every fifteen seconds as many replicas are asked for as bring the load to its target; nothing changes within a tenth of
it; no more are added at once than are there, or four; and fewer only once that was enough for five minutes.
Source: the defaults of the Horizontal Pod Autoscaler, an external metric with a target for each replica,
https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/ (algorithm, tolerance) and
https://kubernetes.io/docs/reference/kubernetes-api/ (autoscaling/v2, HPAScalingRules). How long a metric looks back it
leaves to the metric; a minute is usual for rates.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from optimizer.base.arrays import Flags, Floats, Ints

EVERY_S: Final = 15.0
"""Between two looks: --horizontal-pod-autoscaler-sync-period."""
LOOKS_BACK_S: Final = 60.0
"""Of the load that is looked at."""
TOLERANCE: Final = 0.1
"""Of the target, within which nothing changes: --horizontal-pod-autoscaler-tolerance."""
STEADY_S: Final = 300.0
"""For which fewer must have been enough before replicas are removed: stabilizationWindowSeconds of scaleDown."""
MOST_ADDED: Final = 4
"""At a look, or as many as there are: the default policies of scaleUp."""


@dataclass(frozen=True)
class Timeline:
    """How many replicas serve: from each of those times on, (B,), so many, (B,), until the end."""

    begins: Floats
    replicas: Ints
    end_s: float

    def there(self) -> tuple[Floats, Ints]:
        """The same, as a schedule tells it."""
        return self.begins, self.replicas

    @property
    def most(self) -> int:
        """That ever serve."""
        return int(self.replicas.max())

    def at(self, times_s: Floats) -> Ints:
        """(N,) replicas that serve at those times."""
        found: Ints = self.replicas[np.searchsorted(self.begins, times_s, side="right") - 1]
        return found


def looks(until_s: float) -> Floats:
    """(J,) when the scaler looks."""
    times: Floats = np.arange(0.0, until_s, EVERY_S)
    return times


def observed_per_s(arrived_s: Floats, looks_s: Floats) -> Floats:
    """(J,) requests a second of the last minute at each look; of what there was of it at the beginning.

    Args:
        arrived_s: (N,) rising.
        looks_s: (J,) the first at 0, of which nothing is known yet.
    """
    until, since = (
        np.searchsorted(arrived_s, times, side="right") for times in (looks_s, np.maximum(looks_s - LOOKS_BACK_S, 0.0))
    )
    rate: Floats = (until - since) / np.clip(looks_s, EVERY_S, LOOKS_BACK_S)
    return rate


def asked_for(load: Floats, target: float, first: int, least: int, most: int) -> Ints:
    """(J,) replicas that are asked for after each look.

    Args:
        load: (J,) in replicas that would be fully used by it; the first counts for nothing.
        target: Share of a replica that is to be used.
        first: Replicas at the beginning.
        least, most: That there may be.
    """
    replicas, wanted = first, deque([first], maxlen=int(STEADY_S / EVERY_S) + 1)
    found = [first]
    for now in load.tolist()[1:]:
        used = now / (target * replicas) if replicas else math.inf
        enough = replicas if abs(used - 1) <= TOLERANCE else math.ceil(now / target - 1e-9)
        wanted.append(min(max(enough, least), most))
        if wanted[-1] > replicas:
            replicas = min(wanted[-1], max(2 * replicas, replicas + MOST_ADDED))
        else:
            replicas = min(replicas, max(wanted))
        found.append(replicas)
    return np.array(found, dtype=np.int64)


def serving(asked: Ints, start_s: float, until_s: float) -> Timeline:
    """Replicas that serve where so many were asked for at each look, (J,): each so many seconds later.

    It is the fewest that were asked for since as long ago as a start takes; those there at the beginning serve then.
    """
    late = math.ceil(start_s / EVERY_S)
    fewest = sliding_window_view(np.concatenate([np.full(late, asked[0]), asked]), late + 1).min(axis=1)
    changes: Flags = np.concatenate([[True], fewest[1:] != fewest[:-1]])
    return Timeline(looks(until_s)[changes], fewest[changes], until_s)


def paid_seconds(instances: Ints, least_s: float) -> float:
    """Seconds that instances are paid for, of which so many, (J,), run after each look; the last ones go first.

    Args:
        instances: Until the next look.
        least_s: For which each is paid once started.
    """
    whole = float(instances.sum()) * EVERY_S
    if least_s <= 0:
        return whole
    begun: list[int] = []
    for look, running in enumerate(instances.tolist()):
        while len(begun) > running:
            whole += max(least_s - (look - begun.pop()) * EVERY_S, 0.0)
        begun += [look] * (running - len(begun))
    return whole
