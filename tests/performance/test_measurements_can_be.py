"""No measurement that is used says what no card can do: read weights or compute prompts faster than it is made to."""

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import deployments_of, observed, shipped_measurements
from optimizer.performance.measured.deployments import Deployments, deployments
from optimizer.performance.measured.rows import LOADS, read_table
from optimizer.performance.physics.roofline import FLOPS_PER_PARAM

MOST_OF_PEAK = 0.75
"""Of what matrix units do at most, that long prompts reach: on Hopper in FP8 three products in four stay below 0.62."""


@pytest.fixture(scope="module")
def found(catalogs: Catalogs) -> tuple[Deployments, dict[str, Floats]]:
    """The predictable measurements, and the seconds and rates that they say."""
    frame = shipped_measurements()
    known, rows = deployments(read_table(deployments_of(frame), catalogs), catalogs)
    assert known is not None
    return known, {metric: values[rows] for metric, values in observed(frame).items()}


def test_no_batch_is_faster_than_its_weights_can_be_read(found: tuple[Deployments, dict[str, Floats]]) -> None:
    """A step reads all that is no expert, and the experts of one token."""
    known, measured = found
    network, weights, layout = known.setup.network, known.setup.weights, known.setup.layout
    of_one_token = network.active_experts / np.maximum(network.experts, 1.0)
    read = (
        network.body_params * weights.body_bytes_per_param
        + network.expert_params * weights.expert_bytes_per_param * of_one_token
    )
    least = read / layout.tensor_parallel / known.setup.hardware.bandwidth
    # tokens/s are of all replicas, the batch is one's
    step = known.value * known.replicas / measured["throughput"]
    batches = (known.load == LOADS.index("static_batch")) & np.isfinite(step)
    assert (step[batches] > least[batches]).all()


def test_no_prompts_are_computed_faster_than_a_card_computes(found: tuple[Deployments, dict[str, Floats]]) -> None:
    """Of clients in a closed loop whose requests take as long as TTFT and TPOT say."""
    known, measured = found
    network, demand = known.setup.network, known.demand
    prompt, answer = demand.new_tokens[:, 0], demand.output_tokens[:, 0]
    takes_ms = measured["ttft"] + (answer - 1) * measured["tpot"]
    per_s = known.value / takes_ms * 1e3
    active = network.body_params + network.expert_params * network.active_experts / np.maximum(network.experts, 1.0)
    gpus = known.setup.layout.tensor_parallel * known.setup.layout.pipeline_parallel
    share = FLOPS_PER_PARAM * active * per_s * prompt / (gpus * known.setup.hardware.scheme_flops)
    closed = (known.load == LOADS.index("concurrency")) & np.isfinite(share)
    assert (share[closed] < MOST_OF_PEAK).all()
