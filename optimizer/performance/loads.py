"""The four ways a benchmark loads a deployment, each as one pure function of rows and load.

`closed_loop`: a fixed number of clients, each sending its next request when the last one ends.
`open_loop`: Poisson arrivals at a rate. `offline`: everything at once. `static_batch`: one batch to completion.
All take one request class (K = 1) and loads per replica, and return seconds and rates per replica, (n,).
"""

from dataclasses import dataclass

import numpy as np

from optimizer.performance.calibration import Floats
from optimizer.performance.predict import most_others, operate_situation
from optimizer.performance.steady_state import Situation, rate_at
from optimizer.performance.step import decode_step, first_token_seconds, prefill_seconds

_ROUNDS = 8
"""Rounds of the fixed point between running sequences and TPOT; it contracts by the share of time spent in prefill."""


@dataclass(frozen=True)
class Point:
    """What a replica delivers, (n,): seconds, requests per second."""

    ttft_mean_s: Floats
    ttft_median_s: Floats
    tpot_s: Floats
    requests_per_s: Floats


def closed_loop(now: Situation, clients: Floats, requests: Floats) -> Point:
    """`clients` (n,) requests in flight at any time, `requests` (n,) sent in all.

    A sequence shares steps with those that decode and waits for the prefills of the others; clients beyond the
    places wait in line. The first wave arrives at once and weighs clients/requests in the mean TTFT.
    """
    constants, output = now.setup.constants, now.demand.mean_output
    resident = np.minimum(clients, np.maximum(now.places, 1.0))
    others = (resident - 1) / resident
    blocked = constants["interference_factor"] * now.mean_prefill
    first = first_token_seconds(now.setup, now.prefill)[:, 0]
    decoded = np.maximum(output - 1, 1.0)
    decoding = resident
    for _ in range(_ROUNDS):
        step = decode_step(now.setup, 1 + (decoding - 1) * (resident > 1), now.context).total
        tpot = step + blocked * decoding * others / decoded
        cycle = first + constants["waited_steps_closed"] * step * others + np.maximum(output - 1, 0.0) * tpot
        decoding = np.maximum(resident * np.maximum(output - 1, 0.0) * tpot / cycle, np.minimum(resident, 1.0))
    load = np.minimum(resident * now.mean_prefill / cycle, 0.98)
    queue = constants["prefill_queue_factor"] * now.mean_prefill * load / (1 - load) * others
    start = first + constants["waited_steps_closed"] * step * others + queue
    crowd = resident * now.mean_prefill * others
    cycle = start + np.maximum(output - 1, 0.0) * tpot
    in_line = np.maximum(clients - resident, 0.0) * cycle / resident
    wave = constants["prefill_wave_mean_share"] * crowd * np.minimum(clients / requests, 1.0)
    median = start + constants["prefill_wave_median_share"] * crowd + in_line
    mean = median + wave
    return Point(mean, median, tpot, clients / (mean + np.maximum(output - 1, 0.0) * tpot))


def open_loop(now: Situation, rate_per_s: Floats, requests: Floats) -> Point:
    """Poisson arrivals at `rate_per_s` (n,); above the capacity the line grows until the last of `requests` came."""
    capacity = rate_at(now, most_others(now))
    point = operate_situation(now, rate_per_s)
    excess = np.maximum(requests / np.maximum(capacity, 1e-12) - requests / rate_per_s, 0.0) / 2
    late = np.where(rate_per_s > capacity, excess, 0.0)
    return Point(
        point.ttft_s["mean"][:, 0] + late,
        point.ttft_s["p50"][:, 0] + late,
        point.tpot_s["mean"],
        np.minimum(rate_per_s, capacity),
    )


def static_batch(now: Situation, batch: Floats) -> Point:
    """One batch of `batch` (n,) requests run to completion, in waves where it does not fit.

    time of a wave = prefill of the wave + (output − 1) · step.
    """
    output = now.demand.mean_output
    together = np.minimum(batch, np.maximum(now.places, 1.0))
    prefill = prefill_seconds(now.setup, now.demand.new_tokens, now.demand.cached_tokens, together[:, None])
    start = first_token_seconds(now.setup, prefill)[:, 0]
    step = decode_step(now.setup, together, now.context).total
    wave = start + np.maximum(output - 1, 0.0) * step
    waves = np.maximum(batch / together, 1.0)
    return Point(start, start, step, batch / (wave * waves))


def offline(now: Situation, requests: Floats) -> Point:
    """`requests` (n,) sent at once; as many run as fit, and each that ends makes room for the next.

    With more requests than places the batch stays full: every output costs one step and one prefill of each other
    sequence; the end of the run, when the batch drains, costs half a life more.
    """
    constants, output = now.setup.constants, now.demand.mean_output
    running = np.minimum(requests, np.maximum(now.places, 1.0))
    step = decode_step(now.setup, running, now.context).total
    blocked = constants["interference_factor"] * now.mean_prefill
    life = output * step + running * blocked
    waves = np.maximum(requests / running, 1.0)
    total = first_token_seconds(now.setup, now.prefill)[:, 0] + life * waves
    ttft = first_token_seconds(now.setup, now.prefill)[:, 0] + running * now.mean_prefill / 2 + (waves - 1) / 2 * life
    return Point(ttft, ttft, life / output, requests / total)
