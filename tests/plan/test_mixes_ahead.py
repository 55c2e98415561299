"""Mixes of which replicas sustain more than shares add up to, for any number of classes: found, and known to proofs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optimizer.answers.planning.optimize import verified
from optimizer.base.clock import Clock, LimitReached
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import pool_options
from optimizer.performance.candidates.pools import MIXED, Pool, mix_of, simplices_of
from optimizer.performance.candidates.probing import raised
from optimizer.performance.candidates.triangulation import apart, joined_classes, triangulated
from optimizer.plan.question import solving
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixes_held import held
from optimizer.plan.question.mixing import mixing_of
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.readback import read_back

FIVE = ((0.24, 390, 400), (0.18, 400, 400), (0.18, 410, 390), (0.2, 5900, 200), (0.2, 6100, 200))
TWO = ((0.6, 400, 397), (0.4, 6000, 200))
"""The lengths of `shared-replicas`; among the five, one class is three and one is two of almost the same lengths."""
ONE_SELLER = {"providers": {"allow": ["oci"]}, "gpus": {"allow": ["mi300x", "h100-sxm"]}}
LONG_AND_SHORT = ((0.4, 8000, 100), (0.6, 200, 700))
BOXES = {"providers": {"allow": ["azure", "oci"]}, "gpus": {"allow": ["h100-nvl", "mi355x", "mi300x"]}}


def desk(
    classes: tuple[tuple[float, int, int], ...], requests_per_second: float, ttft_ms: int = 1250, **policy: object
) -> Scenario:
    names = ("share", "input_tokens", "output_tokens")
    workload = {
        "name": "desk",
        "model": "llama-3.3-70b",
        "requests_per_second": requests_per_second,
        "request_classes": [dict(zip(names, item, strict=True)) for item in classes],
        "slo": {"ttft_ms": {"p95": ttft_ms}, "tpot_ms": {"mean": 30}},
    }
    shared = {"precisions": ["bf16", "fp16", "fp8"], "kv_precisions": ["bf16"], **BOXES}
    return Scenario.model_validate({"name": "desk", "workloads": [workload], "policy": {**shared, **policy}})


def cost_of(answer: Answer) -> float:
    assert answer.solution.cost_usd_per_month is not None
    assert verified(answer.inquiry, read_back(answer)).passed
    return answer.solution.cost_usd_per_month


@pytest.fixture(scope="module")
def inquiry(catalogs: Catalogs) -> Inquiry:
    return Inquiry.of(desk(LONG_AND_SHORT, 13.9, 1050), catalogs)


@pytest.fixture(scope="module")
def refined(inquiry: Inquiry) -> Answer:
    return solved_for_least_cost(inquiry)


@pytest.fixture(scope="module")
def added_up(inquiry: Inquiry) -> Answer:
    """The same without looking for mixes of which replicas sustain more."""
    return solved_for_least_cost(inquiry.for_comparison())


def test_five_classes_are_mixed_as_the_two_that_they_are(catalogs: Catalogs) -> None:
    five, two = (Inquiry.of(desk(classes, 12.0, 800, **ONE_SELLER), catalogs) for classes in (FIVE, TWO))
    answer = solved_for_least_cost(five)
    assert cost_of(answer) < cost_of(five.apart().solved_once(None)) * 0.95
    assert cost_of(answer) == pytest.approx(cost_of(solved_for_least_cost(two)))
    assert answer.solution.outcome == "optimal"
    # a group keeps its own shares wherever it runs, and both meet on a replica in other shares than they are asked in
    mixed = [d for d in read_back(answer).deployments if d.pool == MIXED]
    of_short = []
    for deployment in mixed:
        short = np.array([item.share for item in deployment.classes if item.input_tokens < 1000])
        long = np.array([item.share for item in deployment.classes if item.input_tokens > 1000])
        assert short.size == 0 or short / short.sum() == pytest.approx([0.4, 0.3, 0.3])
        assert long.size == 0 or long / long.sum() == pytest.approx([0.5, 0.5])
        of_short.append(short.sum())
    assert any(0.05 < share < 0.55 or 0.65 < share < 0.95 for share in of_short)
    facts = mixing_of(answer)
    assert facts.settled
    assert facts.joined == ("390x400+400x400+410x390", "5900x200+6100x200")


def test_what_replicas_sustain_beyond_shares_makes_a_cheaper_plan(refined: Answer, added_up: Answer) -> None:
    assert cost_of(refined) < cost_of(added_up) * 0.95
    assert refined.mixes_settled
    assert not added_up.mixes_settled
    assert len(refined.inquiry.options[0].pools) > 3


def test_a_budget_that_only_more_mixes_meet_is_met(inquiry: Inquiry, refined: Answer, added_up: Answer) -> None:
    between_usd = (cost_of(refined) + cost_of(added_up)) / 2
    tight = inquiry.under_policy(max_monthly_usd=between_usd)
    assert cost_of(solved_for_least_cost(tight)) == pytest.approx(refined.solution.cost_usd_per_month)
    # where nobody looks ahead, nothing is called impossible either
    compared = solved_for_least_cost(tight.for_comparison()).solution
    assert (compared.outcome, compared.cost_usd_per_month) == ("unproven", None)
    assert "nobody predicted" in compared.reason


def test_a_budget_that_no_mix_meets_is_proven_too_small(inquiry: Inquiry, refined: Answer) -> None:
    answer = solved_for_least_cost(inquiry.under_policy(max_monthly_usd=0.999 * cost_of(refined)))
    assert (answer.solution.outcome, answer.mixes_settled) == ("infeasible", True)


def test_what_was_proven_before_time_ran_out_stays_proven(catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left when raised rates are asked about a second time; what they told the first time still holds."""
    clock, probed, once = Clock(work_limit=10**9), list[Inquiry](), solving._raised

    def in_time_once(asked: Inquiry) -> Inquiry:
        if probed:
            clock.spend(10**9)
        probed.append(asked)
        return once(asked)

    monkeypatch.setattr(solving, "_raised", in_time_once)
    answer = solved_for_least_cost(replace(Inquiry.of(desk(LONG_AND_SHORT, 13.9, 1050), catalogs), clock=clock))
    told = once(replace(probed[0], clock=Clock())).solved_once(None).solution
    assert len(probed) == 2
    assert answer.solution.cost_usd_per_month == pytest.approx(told.cost_usd_per_month)
    assert (answer.solution.outcome, answer.mixes_settled) == ("optimal", True)


@pytest.mark.parametrize("insists", [True, False])
def test_a_comparison_that_is_cut_short_between_mixes_is_none(
    insists: bool, inquiry: Inquiry, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(work_limit=10**9)
    known = inquiry.apart().solved_once(None)
    once = Inquiry.solved_once

    def to_the_end(asked: Inquiry, keep: Any, known_usd: float | None = None) -> Answer:
        answer = once(asked, keep, known_usd)
        clock.spend(10**9)
        return answer

    monkeypatch.setattr(Inquiry, "solved_once", to_the_end)
    monkeypatch.setattr(Answer, "broken", lambda _: ("a mix that does not hold",))
    asked = replace(inquiry, clock=clock, insists=insists)
    if insists:
        assert held(asked, None, known, None).solution.ended_by == "work limit"
    else:
        with pytest.raises(LimitReached, match="work limit"):
            held(asked, None, known, None)


@pytest.mark.parametrize("while_predicting", [True, False])
def test_what_was_proven_beside_a_plan_that_does_not_hold_stays_proven(
    while_predicting: bool, inquiry: Inquiry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No program is solved once time is up, whether it ended with the first one or while mixes were predicted."""
    clock, answers, once = Clock(work_limit=10**9), list[Answer](), Inquiry.solved_once

    def noted(asked: Inquiry, keep: Any, known_usd: float | None = None) -> Answer:
        answers.append(once(asked, keep, known_usd))
        if not while_predicting:
            clock.spend(10**9)
        return answers[-1]

    def predicted(asked: Inquiry, *_: Any) -> Inquiry:
        clock.spend(10**9)
        return asked

    monkeypatch.setattr(Inquiry, "solved_once", noted)
    monkeypatch.setattr(Inquiry, "with_predicted", predicted)
    monkeypatch.setattr(Answer, "broken", lambda _: ("a mix that does not hold",))
    known_usd = 1e6
    told = held(replace(inquiry, clock=clock), None, None, known_usd).solution
    (only,) = answers
    assert (told.outcome, told.cost_usd_per_month, told.ended_by) == ("unproven", None, "work limit")
    assert (told.bound_usd_per_month or 0.0) > 0
    assert told.bound_usd_per_month == only.solution.bound_usd_per_month


def test_no_mix_of_an_edge_exceeds_the_raised_rates(inquiry: Inquiry) -> None:
    (options,) = inquiry.options
    above = raised(options)
    edges = [pair for pair in zip(options.simplices, above.simplices, strict=True) if len(pair[0]) > 1]
    assert len(edges) == 2
    for corners, pools in edges:
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


@pytest.mark.parametrize("seed", [13, 21])
def test_no_dense_mix_undercuts_what_is_stated(seed: int, catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    mixes = script("mixes")
    stated, found = mixes.compared(mixes.random_scenario(seed), catalogs, 12)
    # in these more mixes were looked at than the three that every question starts with
    assert stated.rounds > 1
    assert found is not None
    assert mixes.verdict(stated, found).startswith("stands")


def test_alike_classes_are_joined_and_the_nearest_of_too_many() -> None:
    lengths = np.array([(100, 50), (104, 52), (1000, 50), (109, 54), (5000, 700)])
    assert joined_classes(lengths) == ((0, 1, 3), (2,), (4,))
    # a chain of neighbours is not one group: its ends differ by more
    assert joined_classes(np.array([(100, 50), (108, 50), (118, 50)])) == ((0, 1), (2,))
    many = np.array([(100 * 1.5**k, 50) for k in range(12)])
    assert len(joined_classes(many)) == 8


def test_groups_are_corners_and_every_pool_may_stay_by_itself() -> None:
    (workload,) = desk(FIVE, 12).workloads
    assert set(simplices_of(workload)) == {(0, 6), (0, 7), *apart(8)}
    assert triangulated((1,), 2) == ((0,), (1,))


def test_no_mix_makes_up_for_a_configuration_that_is_missing(catalogs: Catalogs) -> None:
    """It is proven with no time left to look between mixes, where any other reason would leave that open."""
    asked = desk(LONG_AND_SHORT, 15.0, 1150, max_distinct_configurations=1)
    other = asked.workloads[0].model_copy(update={"name": "other", "model": "llama-3.1-8b"})
    two = asked.model_copy(update={"workloads": (*asked.workloads, other)})
    inquiry = Inquiry.of(two, catalogs)
    assert inquiry.mixes_between()
    # the time of each solve alone is spent before the first
    found = solved_for_least_cost(replace(inquiry, clock=Clock(0.0)))
    assert found.solution.outcome == "infeasible"
    assert found.solution.reason == "2 workloads need a configuration each"
