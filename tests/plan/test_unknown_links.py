"""GPUs joined by a link whose speed nobody published are left out for that, never predicted as not-a-number."""

import numpy as np
from support.scenarios import with_workload

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.question.solving import solved_for_least_cost


def test_without_any_limit_every_configuration_kept_has_a_rate(catalogs: Catalogs, chat: Scenario) -> None:
    free = with_workload(chat, slo={}, min_quality=None)
    inquiry = narrowed(Inquiry.of(free, catalogs))
    (options,) = inquiry.options
    for pool in options.pools:
        assert np.all(np.isfinite(pool.rate_per_s[pool.passed]))
    slow = [each for each in options.configurations if catalogs.gpus[each.gpu].link_gb_per_s is None]
    assert all(each.tensor_parallel * each.pipeline_parallel == 1 for each in slow)
    assert solved_for_least_cost(inquiry).solution.outcome == "optimal"
