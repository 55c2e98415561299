"""Time that a replica's GPUs spend exchanging results: latency plus bytes over the link that really joins them."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.roofline import column
from optimizer.performance.physics.setup import Setup

ALL_REDUCES_PER_LAYER = 2.0
"""One behind attention, one behind the MLP."""
BYTES_PER_ACTIVATION = 2.0
"""Activations travel in 16 bits."""


def bus_bandwidth(setup: Setup) -> Floats:
    """Bytes/s that one GPU's link sustains in a collective.

    In a mesh of point-to-point links (xGMI) a GPU reaches n − 1 peers over n − 1 of the domain's d − 1 links.
    Links that share a root (PCIe) get slower with every further GPU: (n/2)^−e. GPUs without peer-to-peer pass all
    through the host's memory: what was measured there counts as it is.
    """
    tp, link = setup.layout.tensor_parallel, setup.interconnect
    meshed = np.clip((tp - 1) / np.maximum(link.domain - 1, 1.0), None, 1.0)
    share = np.where(link.mesh, np.maximum(meshed, 1 / np.maximum(link.domain - 1, 1.0)), 1.0)
    crowded = (np.maximum(tp, 2.0) / 2) ** -setup.constants["link_bus_exponent"]
    modelled = link.bandwidth * share * setup.constants["link_bus_efficiency"] * crowded
    return np.where(np.isnan(link.all_reduce), modelled, link.all_reduce)


@dataclass(frozen=True)
class Exchange:
    """What GPUs exchange in one pass, (n,): seconds whatever passes, seconds per token."""

    fixed: Floats
    per_token: Floats

    def seconds(self, tokens: Floats) -> Floats:
        """For `tokens` tokens, (n,) or (n, …)."""
        return column(self.fixed, tokens) + column(self.per_token, tokens) * tokens


def all_reduces(setup: Setup) -> Exchange:
    """All-reduces of one pass: layers · 2 · (latency · nᵉ + bytes · 2(n − 1)/n / bus bandwidth); nothing on one GPU.

    Attention data parallelism exchanges instead, twice a layer, its share of the tokens with the experts' GPUs.
    Source: ring all-reduce moves 2(n − 1)/n of the message over each link (Patarasuk and Yuan, 2009).
    """
    tp, constants = setup.layout.tensor_parallel, setup.constants
    latency = constants["link_latency_s"] * tp ** constants["link_latency_exponent"]
    exchanged = np.minimum(setup.network.active_experts, tp - 1) / tp
    share = np.where(setup.layout.attention_dp, exchanged, 2 * (tp - 1) / tp)
    per_token = setup.network.hidden * BYTES_PER_ACTIVATION * share / bus_bandwidth(setup)
    return _exchange(tp > 1, setup.network.layers * ALL_REDUCES_PER_LAYER, latency, per_token)


def hand_overs(setup: Setup) -> Exchange:
    """Hand-over of activations between pipeline stages, (stages − 1) point-to-point sends."""
    stages, latency = setup.layout.pipeline_parallel, setup.constants["link_latency_s"]
    message = setup.network.hidden * BYTES_PER_ACTIVATION / setup.layout.tensor_parallel
    return _exchange(stages > 1, stages - 1, latency, message / bus_bandwidth(setup))


def _exchange(several: Flags, times: Floats, latency: Floats, per_token: Floats) -> Exchange:
    """So many messages in a pass, where several GPUs take part."""
    return Exchange(np.where(several, times * latency, 0.0), np.where(several, times * per_token, 0.0))
