"""Mixes of which replicas sustain more than shares add up to, for any number of classes: found, and known to proofs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optimizer.answers.optimize import verified
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import Pool, mix_of, pool_options, simplices_of
from optimizer.performance.candidates.probing import raised
from optimizer.performance.candidates.triangulation import joined_classes, triangulated
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixing import mixing_of
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.readback import read_back

FIVE = ((0.24, 390, 400), (0.18, 400, 400), (0.18, 410, 390), (0.2, 5900, 200), (0.2, 6100, 200))
"""The two classes of `shared-replicas`, one in three and one in two of almost the same lengths."""
LONG_AND_SHORT = ((0.3, 8000, 200), (0.7, 300, 700))
BOXES = {"providers": {"allow": ["azure", "oci"]}, "gpus": {"allow": ["h100-nvl", "mi355x", "mi300x"]}}


def desk(classes: tuple[tuple[float, int, int], ...], requests_per_second: float, **policy: object) -> Scenario:
    names = ("share", "input_tokens", "output_tokens")
    workload = {
        "name": "desk",
        "model": "llama-3.3-70b",
        "requests_per_second": requests_per_second,
        "request_classes": [dict(zip(names, item, strict=True)) for item in classes],
        "slo": {"ttft_ms": {"p95": 1500}, "tpot_ms": {"mean": 40}},
    }
    shared = {"precisions": ["bf16", "fp16", "fp8"], "kv_precisions": ["bf16"], **BOXES}
    return Scenario.model_validate({"name": "desk", "workloads": [workload], "policy": {**shared, **policy}})


def cost_of(answer: Answer) -> float:
    assert answer.solution.cost_usd_per_month is not None
    assert verified(answer.inquiry, read_back(answer)).passed
    return answer.solution.cost_usd_per_month


@pytest.fixture(scope="module")
def refined(catalogs: Catalogs) -> Answer:
    return solved_for_least_cost(Inquiry.of(desk(LONG_AND_SHORT, 8), catalogs))


def test_five_classes_are_mixed_as_the_two_that_they_are(catalogs: Catalogs) -> None:
    answer = solved_for_least_cost(Inquiry.of(desk(FIVE, 12, max_monthly_usd=70_000), catalogs))
    assert cost_of(answer) == pytest.approx(60_414.80)
    assert answer.solution.outcome == "optimal"
    facts = mixing_of(answer)
    assert (facts.predicted_mixes, facts.settled) == (3, True)
    assert facts.joined == ("390x400+400x400+410x390", "5900x200+6100x200")


def test_what_replicas_sustain_beyond_shares_makes_a_cheaper_plan(refined: Answer, catalogs: Catalogs) -> None:
    added_up = solved_for_least_cost(Inquiry.of(desk(LONG_AND_SHORT, 8), catalogs).for_comparison())
    assert cost_of(refined) < cost_of(added_up) * 0.95
    assert refined.mixes_settled
    assert not added_up.mixes_settled
    assert len(refined.inquiry.options[0].pools) > 3


def test_a_budget_that_only_more_mixes_meet_is_met(refined: Answer, catalogs: Catalogs) -> None:
    tight = Inquiry.of(desk(LONG_AND_SHORT, 8, max_monthly_usd=62_000), catalogs)
    assert cost_of(solved_for_least_cost(tight)) == pytest.approx(refined.solution.cost_usd_per_month)
    # where nobody looks ahead, nothing is called impossible either
    compared = solved_for_least_cost(tight.for_comparison()).solution
    assert (compared.outcome, compared.cost_usd_per_month) == ("unproven", None)
    assert "nobody predicted" in compared.reason


def test_a_budget_that_no_mix_meets_is_proven_too_small(catalogs: Catalogs) -> None:
    answer = solved_for_least_cost(Inquiry.of(desk(LONG_AND_SHORT, 8, max_monthly_usd=20_000), catalogs))
    assert (answer.solution.outcome, answer.mixes_settled) == ("infeasible", True)


def test_no_mix_of_an_edge_exceeds_the_raised_rates(catalogs: Catalogs) -> None:
    (options,) = Inquiry.of(desk(LONG_AND_SHORT, 8), catalogs).options
    above = raised(options)
    for corners, pools in zip(options.simplices, above.simplices, strict=True):
        shares = np.zeros((2, 2))
        for row, p in enumerate(corners):
            shares[row, list(options.pools[p].pool.classes)] = options.pools[p].pool.mix.share
        for part in np.linspace(0.02, 0.98, 13):
            mix = part * shares[0] + (1 - part) * shares[1]
            truth = pool_options(options, Pool("between", (0, 1), mix_of(options.workload, (0, 1), mix)))
            rates = np.stack([above.pools[p].rate_per_s for p in pools])
            serving = (rates > 0).all(axis=0)
            added_up = 1 / (part / rates[0, serving] + (1 - part) / rates[1, serving])
            assert (truth.rate_per_s[serving] <= added_up * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_no_dense_mix_undercuts_what_is_stated(seed: int, catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    mixes = script("mixes")
    stated, found = mixes.compared(mixes.random_scenario(seed), catalogs, 12)
    assert mixes.verdict(stated, found).startswith("stands")


def test_alike_classes_are_joined_and_the_nearest_of_too_many() -> None:
    lengths = np.array([(100, 50), (104, 52), (1000, 50), (109, 54), (5000, 700)])
    assert joined_classes(lengths) == ((0, 1, 3), (2,), (4,))
    # a chain of neighbours is not one group: its ends differ by more
    assert joined_classes(np.array([(100, 50), (108, 50), (118, 50)])) == ((0, 1), (2,))
    many = np.array([(100 * 1.5**k, 50) for k in range(12)])
    assert len(joined_classes(many)) == 8


def test_groups_are_corners_and_their_classes_stay_by_themselves() -> None:
    (workload,) = desk(FIVE, 12).workloads
    assert simplices_of(workload) == ((0, 6), (0, 7), (1,), (2,), (3,), (4,), (5,))
    assert triangulated((1,), 2) == ((0,), (1,))
