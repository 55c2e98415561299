"""To which deployment, and to which of its replicas, each request goes: in turn, by chance, or where fewest are."""

from typing import Final, Literal

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.scenario.policy import Router

Dealing = Router | Literal["prefix_aware"]
"""What sends requests to replicas in a simulation: what a policy may say, or to the one that has most of the prompt."""
KNOWING: Final[tuple[Dealing, ...]] = ("least_loaded", "prefix_aware")
"""Those that know what replicas have to do, which are simulated side by side."""


def sent(rng: np.random.Generator, router: Dealing, request_class: Ints, rate_per_s: Floats) -> Ints:
    """(N,) the deployment that each request goes to, in the shares that the plan sends of its class.

    Args:
        rng: Decides where chance does.
        router: Deals each class in turn, weighted by the shares, or sends by chance.
        request_class: (N,) of each request.
        rate_per_s: (K, servers) requests a second of each class that each deployment is sent.
    """
    # of a class that nobody sends nothing
    whole = np.maximum(rate_per_s.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    if router != "by_chance":
        return _in_weighted_turn(request_class, rate_per_s / whole)
    share = np.cumsum(rate_per_s, axis=1) / whole
    chosen: Ints = np.sum(rng.random(len(request_class))[:, None] >= share[request_class], axis=1)
    at_most: Ints = np.minimum(chosen, rate_per_s.shape[1] - 1)
    return at_most


def _in_weighted_turn(request_class: Ints, share: Floats) -> Ints:
    """(N,) deployments whose turns are as far apart as their shares, (K, servers), say."""
    chosen = np.zeros(len(request_class), dtype=np.int64)
    for number, of_class in enumerate(share):
        (mine,) = np.nonzero(request_class == number)
        servers = np.flatnonzero(of_class)
        turns = [(np.arange(int(len(mine) * of_class[each]) + 1) + 0.5) / of_class[each] for each in servers]
        owner = np.repeat(servers, [len(each) for each in turns])
        chosen[mine] = owner[np.argsort(np.concatenate(turns), kind="stable")][: len(mine)] if len(servers) else 0
    return chosen


def dealt(those: Flags, replicas: Ints, chance: np.random.Generator | None) -> Ints:
    """(n,) the replica of each of those requests: one after the other, or any alike where chance decides."""
    turn = np.cumsum(those) - 1 if chance is None else chance.integers(len(replicas), size=len(those))
    chosen: Ints = replicas[turn % len(replicas)]
    return chosen
