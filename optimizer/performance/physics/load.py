"""What runs on a replica at a rate: how many sequences on average, how far their number swings, and how fast."""

from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.prompts_behind import prompts_behind
from optimizer.performance.physics.replica_model import Flow, ReplicaModel, flow_at
from optimizer.performance.physics.swings import Swings, count_variation, none_of, swings

NONE: Final = 1e-12
"""Sequences that are none."""


class ReplicaAtLoad(NamedTuple):
    """What runs at a rate, and how fast, (n,).

    Attributes:
        flow: With as many sequences as run at even times.
        busy: Share of the time that prompts take.
        of_arrivals: Squared variation of the gaps between requests.
        met: Sequences that run on average.
        step: Seconds of a decode step beside so many.
        swing: How far their number swings.
        for_each_s: Time per output token for each sequence that runs on average: by Little's law, those that stay
            longer are as many more.
    """

    flow: Flow
    busy: Floats
    of_arrivals: Floats
    met: Floats
    step: Floats
    swing: Swings
    for_each_s: Floats


def load_at(replica: ReplicaModel, running: Floats, *, steady: bool) -> ReplicaAtLoad:
    """The load at the rate at which `running` (n,) sequences run at even times; `steady` is that as many run always."""
    flow = flow_at(replica, running)
    busy, of_arrivals = flow.rate_per_s * flow.prefill, replica.demand.arrivals.of_replica(flow.rate_per_s)
    swing = none_of(running) if steady else _swings(replica, flow, busy, of_arrivals, running)
    step = flow.step.total + swing.slower_s * swing.more
    for_each = flow.step.total / (1 - busy) / (running + NONE)
    return ReplicaAtLoad(flow, busy, of_arrivals, running + swing.more, step, swing, for_each)


def _swings(replica: ReplicaModel, flow: Flow, busy: Floats, of_arrivals: Floats, running: Floats) -> Swings:
    """How far the number of sequences swings; a step's slope is that to one standard deviation more, as far as there
    are places, at least to one of Poisson's."""
    uneven = count_variation(
        busy,
        squared_variation=replica.prefill_variation,
        of_arrivals=of_arrivals,
        at_once=replica.demand.at_once,
    )
    of_poisson = np.sqrt(1 + running)
    further = np.minimum(of_poisson * np.sqrt(uneven), replica.most_in_line - running)
    further = np.maximum(further, of_poisson)
    behind = prompts_behind(
        flow.rate_per_s,
        flow.prefill,
        flow.step.total,
        in_a_step=prompts_in_a_step(replica, running),
        squared_variation=replica.prefill_variation,
        of_arrivals=of_arrivals,
    )
    most = 1 + replica.most_in_line
    return swings(
        flow.rate_per_s,
        flow.prefill,
        uneven=uneven,
        output=replica.demand.mean_output,
        slower_s=(replica.steps.decode(1 + running + further).total - flow.step.total) / further,
        behind=behind,
        room=np.maximum(most * flow.rate_per_s / replica.served_when_full - running, 0.0),
    )


def prompts_in_a_step(replica: ReplicaModel, running: Floats) -> Floats:
    """Prompts of mean length that fit into a step beside so many sequences, (n,), below 1 where they come in chunks."""
    layout = replica.setup.layout
    room = layout.max_batched_tokens - running * (1 + layout.draft_tokens)
    fitting: Floats = np.maximum(room, 1.0) / replica.demand.mean_new
    return fitting
