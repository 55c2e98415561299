"""What is looked up once for all questions on the same catalogs: each is answered as if it were the first."""

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import ref

import numpy as np
import pytest
from support.asking import few_offers

from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.looked_up import looked_up
from optimizer.performance.candidates.options import WorkloadOptions, evaluate
from optimizer.performance.market.market import market
from optimizer.performance.market.supply import supply

QUESTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"input_tokens": 3000, "slo": {"ttft_ms": 900}}, {}),
    ({}, {"confidence": 0.5}),
    ({}, {"precisions": ["fp8", "bf16"], "max_tensor_parallel": 2}),
    ({}, {"precisions": ["w4a8_fp8"]}),
    ({}, {"unmeasured_performance": "reject", "engines": ["vllm"]}),
    ({"min_quality": 0.99}, {}),
    ({"unknown_quality": "reject"}, {}),
    ({"model": "llama-3.3-70b"}, {}),
]
"""Changes of a workload and of a policy."""


def question(workload: dict[str, Any], policy: dict[str, Any]) -> Scenario:
    chat = {"name": "chat", "model": "llama-3.1-8b", "requests_per_second": 4, "input_tokens": 700}
    said = chat | {"output_tokens": 200, "slo": {"tpot_ms": 60}, "unknown_quality": "accept"} | workload
    return Scenario.model_validate({"name": "asked", "workloads": [said], "policy": policy})


def options(scenario: Scenario, catalogs: Catalogs) -> WorkloadOptions:
    (found,) = evaluate(scenario, catalogs, market(catalogs, scenario.policy), Clock())
    return found


def same(one: WorkloadOptions, other: WorkloadOptions) -> bool:
    (here,), (there,) = one.pools, other.pools
    arrays = [(here.failed, there.failed), (here.rate_per_s, there.rate_per_s), (here.value, there.value)]
    margins = zip(vars(one.limits.margins).values(), vars(other.limits.margins).values(), strict=True)
    return one.configurations == other.configurations and all(
        np.array_equal(a, b, equal_nan=a.dtype == np.float64) for a, b in (*arrays, *margins)
    )


def test_a_question_has_the_same_options_whatever_was_asked_before(catalogs: Catalogs) -> None:
    shared = few_offers(catalogs)
    asked = [question(*each) for each in QUESTIONS]
    first = [options(scenario, shared) for scenario in asked]
    again = [options(scenario, shared) for scenario in reversed(asked)][::-1]
    alone = [options(scenario, replace(shared)) for scenario in asked]
    assert all(map(same, first, alone))
    assert all(map(same, again, alone))
    # and they are told apart: no two questions have all the same
    assert not any(same(one, other) for at, one in enumerate(alone) for other in alone[:at])


def test_the_same_model_is_looked_up_once_whatever_is_asked_of_it(catalogs: Catalogs) -> None:
    few = few_offers(catalogs)

    def known(scenario: Scenario) -> object:
        return looked_up(scenario.workloads[0], scenario.policy, few, market(few, scenario.policy).widest())

    plain, longer, surer, narrower, elsewhere = (known(question(*QUESTIONS[at])) for at in (0, 1, 2, 4, 8))
    assert plain is longer is surer
    assert plain is not narrower
    assert plain is not elsewhere


def test_an_engine_that_no_gpu_is_calibrated_for_is_refused_each_time(catalogs: Catalogs) -> None:
    few = replace(few_offers(catalogs), calibration=())
    for _ in range(2):
        with pytest.raises(InputError, match=r"policy\.engines"):
            options(question({}, {"engines": ["vllm"]}), few)


@pytest.mark.parametrize("keep", [supply, lambda catalogs: options(question({}, {}), catalogs)])
def test_catalogs_are_not_kept_by_what_is_known_of_them(keep: Callable[[Catalogs], object], catalogs: Catalogs) -> None:
    own = few_offers(catalogs)
    alive = ref(own)
    keep(own)
    del own
    gc.collect()
    assert alive() is None
