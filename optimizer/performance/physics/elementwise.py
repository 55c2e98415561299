"""What passes through memory beside a pass's products: residuals, norms, positions, activations, summed experts.

The kernels around the products multiply hardly anything, but read and write each number of a token a few times. They
take bytes over bandwidth, in 16 bits whatever format the products have, so that they weigh the more the faster these
are; and tensor parallelism divides only a part of them.
"""

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.communication import BYTES_PER_ACTIVATION
from optimizer.performance.physics.roofline import attainable
from optimizer.performance.physics.setup import Setup


def elementwise_seconds_per_token(setup: Setup) -> Floats:
    """Seconds that a token of a pass spends in the kernels between products, all layers, (n,).

    2 bytes · (whole + divided / tensor parallel) · `elementwise_traffic` / bandwidth. What belongs to a token as a
    whole passes on every GPU of a stage, under attention data parallelism on one of them. `elementwise_traffic` is an
    engine's own: 1 where kernels are fused as `passing_numbers` counts them, more where each operation is a kernel of
    its own or numbers have 32 bits.
    """
    network, tp = setup.network, setup.layout.tensor_parallel
    whole = network.whole_numbers / np.where(setup.layout.attention_dp, tp, 1.0)
    moved = BYTES_PER_ACTIVATION * (whole + network.divided_numbers / tp) * setup.constants["elementwise_traffic"]
    return moved / _bandwidth(setup)


def unpacking_seconds(setup: Setup) -> Floats:
    """Seconds in which an engine unpacks the body's narrow weights to 16 bits, all layers, once a chunk, (n,).

    They are written and read again: 4 bytes a parameter. `weights_unpacked` is 1 where an engine does so for every
    chunk of a prompt (llama.cpp of 2024), 0 where its products read narrow weights themselves.
    """
    narrow = setup.weights.body_bytes_per_param < BYTES_PER_ACTIVATION
    moved = 2 * BYTES_PER_ACTIVATION * setup.network.body_params / setup.layout.tensor_parallel
    return np.where(narrow, setup.constants["weights_unpacked"] * moved, 0.0) / _bandwidth(setup)


def _bandwidth(setup: Setup) -> Floats:
    """Bytes a second that such kernels move, (n,)."""
    bandwidth: Floats = setup.hardware.bandwidth * attainable(setup.constants["bandwidth_efficiency"])
    return bandwidth
