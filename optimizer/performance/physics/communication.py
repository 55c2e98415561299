"""Time that a replica's GPUs spend exchanging results: latency plus bytes over the link that really joins them."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.roofline import column
from optimizer.performance.physics.setup import Setup

ALL_REDUCES_PER_LAYER = 2.0
"""One behind attention, one behind the MLP."""
BYTES_PER_ACTIVATION = 2.0
"""Activations travel in 16 bits."""

_TUKEY: Final = 0.1349
_TUKEY_SCALE: Final = 0.1975
"""Shape and scale of the lambda distribution that is nearest to a normal one."""


def bus_bandwidth(setup: Setup) -> Floats:
    """Bytes/s that one GPU's link sustains in a collective.

    In a mesh of point-to-point links (xGMI) a GPU reaches n − 1 peers over n − 1 of the domain's d − 1 links.
    Links that share a root (PCIe) get slower with every further GPU, behind switches (NVLink) faster: (n/2)^−e. GPUs
    without peer-to-peer pass all through the host's memory: what was measured there counts as it is.
    """
    tp, link = setup.layout.tensor_parallel, setup.interconnect
    meshed = np.clip((tp - 1) / np.maximum(link.domain - 1, 1.0), None, 1.0)
    share = np.where(link.mesh, np.maximum(meshed, 1 / np.maximum(link.domain - 1, 1.0)), 1.0)
    crowded = (np.maximum(tp, 2.0) / 2) ** -setup.constants["link_bus_exponent"]
    modelled = link.bandwidth * share * setup.constants["link_bus_efficiency"] * crowded
    return np.where(np.isnan(link.all_reduce), modelled, link.all_reduce)


@dataclass(frozen=True)
class Exchange:
    """What GPUs exchange in one pass, (n,): seconds whatever passes, and the faster of two ways to pass it.

    Each GPU sends all it has to every other at once, `direct` seconds a token; or each adds up its own part and passes
    it on, `passed_on` seconds a token after `start` seconds.
    """

    fixed: Floats
    direct: Floats
    start: Floats
    passed_on: Floats

    def seconds(self, tokens: Floats) -> Floats:
        """For `tokens` tokens, (n,) or (n, …)."""
        at_once = column(self.direct, tokens) * tokens
        in_parts = column(self.start, tokens) + column(self.passed_on, tokens) * tokens
        return column(self.fixed, tokens) + np.minimum(at_once, in_parts)


def all_reduces(setup: Setup) -> Exchange:
    """All-reduces of one pass, two a layer; nothing on one GPU.

    One takes latency · nᵉ + min(bytes · (n − 1), start · bus + bytes · 2(n − 1)/n) / bus: small messages go to all at
    once, large ones in parts. It begins when the last GPU gets there: `rank_skew_s`, the standard deviation of when
    they do, times `latest_of`. Where an engine has no kernel of its own for it, a library (RCCL) takes
    `library_all_reduce_s` longer. Attention data parallelism exchanges instead, twice a layer, its share of the tokens
    with the experts' GPUs.
    Source: a ring moves 2(n − 1)/n of the message over each link (Patarasuk and Yuan, 2009); kernels of engines send
    small ones whole, as `benchmarks/collectives.py` finds in measured all-reduces.
    """
    tp, constants = setup.layout.tensor_parallel, setup.constants
    apart, exchanged = setup.layout.attention_dp, np.minimum(setup.network.active_experts, tp - 1) / tp
    token = setup.network.hidden * BYTES_PER_ACTIVATION / bus_bandwidth(setup)
    return _exchange(
        np.where(tp > 1, setup.network.layers * ALL_REDUCES_PER_LAYER, 0.0),
        fixed=constants["link_latency_s"] * tp ** constants["link_latency_exponent"]
        + constants["library_all_reduce_s"]
        + constants["rank_skew_s"] * latest_of(tp),
        direct=token * np.where(apart, exchanged, tp - 1),
        start=constants["link_start_s"],
        passed_on=token * np.where(apart, exchanged, 2 * (tp - 1) / tp),
    )


def latest_of(count: Floats) -> Floats:
    """How much later than on average the last of `count` (n,) comes, in standard deviations; 0 where it is alone.

    The mean of the largest of n normal numbers is about that of rank (n − 3/8)/(n + 1/4).
    Source: Blom (1958), Statistical estimates and transformed beta-variables; the quantile by Tukey's lambda
    distribution, Joiner and Rosenblatt (1971): together within 4 %.
    """
    share = (count - 3 / 8) / (count + 1 / 4)
    later: Floats = (share**_TUKEY - (1 - share) ** _TUKEY) / _TUKEY_SCALE
    return later


def hand_overs(setup: Setup) -> Exchange:
    """Hand-over of activations between pipeline stages, (stages − 1) point-to-point sends."""
    message = setup.network.hidden * BYTES_PER_ACTIVATION / setup.layout.tensor_parallel
    token, latency = message / bus_bandwidth(setup), setup.constants["link_latency_s"]
    return _exchange(setup.layout.pipeline_parallel - 1, latency, token, np.zeros_like(token), token)


def _exchange(times: Floats, fixed: Floats, direct: Floats, start: Floats, passed_on: Floats) -> Exchange:
    """So many messages in a pass; where there are none the link may be unknown."""
    return Exchange(*(np.where(times > 0, times * each, 0.0) for each in (fixed, direct, start, passed_on)))
