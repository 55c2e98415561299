"""Steps between which an engine takes in the prompts that wait: by its flags, or until each of its ranks has one.

Ranks of attention data parallelism that begin prompts together (TensorRT-LLM's `attention_dp_config: enable_balance`)
wait until each has one, `timeout_iters` at most. With λ prompts a step that come by themselves to n ranks, the interval
that the first of them begins lasts, N steps at most,

    ∫ 1 − (1 − e^(−λt/n))^(n−1) dt = n/λ · Σ Y^j / j,    j = 1 … n − 1,    Y = 1 − e^(−λN/n)
"""

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.setup import Setup


def admission_interval(setup: Setup, come: Floats) -> Floats:
    """Steps between which prompts are taken in, of which `come` (n,) do a step; 0 where before every step."""
    layout = setup.layout
    if not np.any(layout.rank_wait_steps):
        return layout.admission_interval_steps
    ranks = np.where(layout.attention_dp, layout.tensor_parallel, 1.0)
    of_rank = np.maximum(come, np.finfo(np.float64).tiny) / ranks
    # chance that a rank has one by the end of the wait -> steps until all others have
    reached, steps = -np.expm1(-of_rank * layout.rank_wait_steps), np.zeros(setup.rows)
    for other in range(1, int(ranks.max())):
        steps += np.where(other < ranks, reached**other / other, 0.0)
    return np.maximum(layout.admission_interval_steps, steps / of_rank)


def waited_for_admission(setup: Setup, come: Floats) -> Floats:
    """Steps that a prompt waits until a running engine looks for prompts, (n,).

    Half of the interval where it looks every so many steps, all of it where the first prompt that waits begins it.
    """
    return setup.constants["admission_wait_share"] * admission_interval(setup, come)
