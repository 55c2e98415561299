"""Classes that share a replica: every plan holds at the mix it runs, and the search says how often it was told so."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scenarios import on_first_page

from optimizer.answers.planning import until_it_holds
from optimizer.answers.planning.optimize import verified
from optimizer.base.errors import VerificationFailed
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.between import rates_around, rates_between, told_apart
from optimizer.performance.candidates.pools import MIXED, pools_of
from optimizer.performance.candidates.predict import sustainable_rate
from optimizer.performance.candidates.triangulation import Simplex, apart, split, star_of, triangulated
from optimizer.plan.question import mixes_held as asking
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixing import mixing_of
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.readback import read_back
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer


def desk(requests_per_second: float = 13.0, ttft_ms: int = 750, **policy: object) -> Scenario:
    """Short questions and a few long documents, whose prompts keep the first tokens of questions beside them waiting.

    Shares add up to a plan that breaks; the plan that holds mixes otherwise, and pools alone cost more than that.
    """
    lengths = ((0.8, 600, 100), (0.2, 4000, 100))
    classes = [{"share": part, "input_tokens": prompt, "output_tokens": answer} for part, prompt, answer in lengths]
    return Scenario.model_validate(
        {
            "name": "desk",
            "workloads": [
                {
                    "name": "desk",
                    "model": "qwen3-32b",
                    "requests_per_second": requests_per_second,
                    "request_classes": classes,
                    "slo": {"ttft_ms": {"p95": ttft_ms}, "tpot_ms": {"mean": 50}},
                }
            ],
            "policy": {
                "precisions": ["fp8", "bf16", "fp16"],
                "providers": {"allow": ["azure", "oci"]},
                "kv_precisions": ["bf16"],
                "gpus": {"allow": ["h100-nvl", "rtxpro6000-se"]},
                **policy,
            },
        }
    )


@pytest.fixture(scope="module")
def inquiry(catalogs: Catalogs) -> Inquiry:
    return Inquiry.of(desk(), catalogs)


@pytest.fixture(scope="module")
def settled(inquiry: Inquiry) -> Answer:
    return solved_for_least_cost(inquiry)


def test_a_mix_that_breaks_is_predicted_and_the_plan_made_again(settled: Answer) -> None:
    assert settled.rounds > 1
    assert not settled.broken()
    assert len(settled.inquiry.options[0].pools) > len(pools_of(desk().workloads[0]))
    bought = read_back(settled)
    assert MIXED in {d.pool for d in bought.deployments}
    assert verified(settled.inquiry, bought).passed


def test_the_plan_before_would_have_been_refused(catalogs: Catalogs) -> None:
    inquiry = Inquiry.of(desk(15.0, 650), catalogs)
    first, settled = inquiry.solved_once(None), solved_for_least_cost(inquiry)
    assert first.broken()
    assert not settled.broken()
    assert (first.solution.cost_usd_per_month or 0) <= (settled.solution.cost_usd_per_month or 0)
    with pytest.raises(VerificationFailed, match="utilization"):
        verified(first.inquiry, read_back(first))


def test_without_another_round_nothing_is_added_up(
    settled: Answer, inquiry: Inquiry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "MOST_ROUNDS", 1)
    hasty = solved_for_least_cost(inquiry)
    assert hasty.rounds == 2
    assert (hasty.solution.cost_usd_per_month or 0) > (settled.solution.cost_usd_per_month or 0) * 1.02
    assert MIXED not in {d.pool for d in read_back(hasty).deployments}
    assert hasty.inquiry.mixes_between() == 0


def test_mixing_never_costs_more_and_may_be_left_out(settled: Answer, catalogs: Catalogs) -> None:
    pools = solved_for_least_cost(Inquiry.of(desk(mix_classes=False), catalogs))
    assert pools.rounds == 1
    assert (settled.solution.cost_usd_per_month or 0) * 1.02 < (pools.solution.cost_usd_per_month or 0)


def test_a_plan_of_pools_is_proven_only_as_far_as_the_search_with_mixing_came(settled: Answer) -> None:
    plain = solved_for_least_cost(settled.inquiry.apart())
    cost = plain.solution.cost_usd_per_month or 0.0
    nothing = replace(settled.solution, outcome="unproven", cost_usd_per_month=None, bound_usd_per_month=0.75 * cost)
    kept = asking._better(plain, replace(settled, solution=nothing)).solution
    assert (kept.outcome, kept.cost_usd_per_month, kept.bound_usd_per_month) == ("feasible", cost, 0.75 * cost)
    assert kept.relative_gap == pytest.approx(0.25)
    none_cheaper = replace(nothing, outcome="infeasible")
    assert asking._better(plain, replace(settled, solution=none_cheaper)).solution == plain.solution


def test_what_must_survive_a_loss_is_not_mixed(catalogs: Catalogs) -> None:
    safe = solved_for_least_cost(Inquiry.of(desk(survive={"loss_of": ["instance"]}), catalogs))
    assert safe.inquiry.mixes_between() == 0
    assert mixing_of(safe).left_out_for_loss
    assert MIXED not in {d.pool for d in read_back(safe).deployments}


def test_the_report_says_what_is_mixed_and_what_pools_would_cost(
    catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # simulated requests break a promise of this plan, and would lead to one of pools
    monkeypatch.setattr(until_it_holds, "MOST_ROUNDS", 0)
    report = on_first_page(desk(), catalogs)
    mixed = [d for d in report.deployments if d.pool == MIXED]
    assert [sum(item.share for item in d.classes) for d in mixed] == pytest.approx([1] * len(mixed))
    assert mixed
    (apart_,) = (item for item in report.explanation.alternatives if item.kind == "mix_classes")
    assert (apart_.difference_usd or 0) > 0
    text = answer_text(plan_answer(report, verbose=True), width=1000)
    assert re.search(r"between 5 predicted mixes of classes, probes leave no cheaper plan possible", text)


def covering(simplices: tuple[Simplex, ...], corners: np.ndarray, mix: np.ndarray) -> int:
    """How many simplices hold a mix well inside."""
    count = 0
    for simplex in (simplex for simplex in simplices if len(simplex) == corners.shape[1]):
        weight = np.linalg.lstsq(corners[list(simplex)].T, mix, rcond=None)[0]
        count += bool((weight > 1e-6).all() and np.allclose(corners[list(simplex)].T @ weight, mix, atol=1e-9))
    return count


@settings(max_examples=60)
@given(st.integers(2, 4), st.lists(st.integers(0, 10**6), min_size=1, max_size=4))
def test_simplices_cover_every_mix_once(classes: int, splits: list[int]) -> None:
    rng = np.random.default_rng(splits)
    corners = np.vstack([rng.dirichlet(np.full(classes, 5.0)), np.eye(classes)])
    simplices = triangulated(range(1, classes + 1), classes + 1)
    for _ in splits:
        face = simplices[int(rng.integers(len(simplices)))]
        new = rng.dirichlet(np.full(len(face), 3.0)) @ corners[list(face)]
        simplices = split(simplices, face, len(corners))
        corners = np.vstack([corners, new])
    for mix in rng.dirichlet(np.ones(classes), size=20):
        assert covering(simplices, corners, mix) <= 1
    assert sum(covering(simplices, corners, mix) for mix in rng.dirichlet(np.ones(classes), size=50)) >= 48


def test_what_may_meet_without_a_class_stands_beside_what_may_with_it() -> None:
    assert triangulated((1, 2), 3) == ((0,), (0, 1), (0, 2), (1,), (2,))
    assert (1, 2) in triangulated((1, 2, 3), 4)
    assert split(((0, 1), (0, 2), (1,)), (0, 1), 3) == ((0, 2), (0, 3), (1,), (1, 3), (3,))
    assert apart(2) == ((0,), (1,))


def test_a_simplex_is_told_apart_where_it_serves_more_or_faster() -> None:
    simplices = ((0, 1), (1,))
    # two replicas, of which the second serves short questions faster without documents; the third serves nothing else
    rates = [np.array([[3.0, 9.0], [3.0, 4.0], [0.0, 9.0]]), np.array([[9.0], [9.0], [9.0]])]
    anything = np.ones((3, 2), dtype=np.bool_)
    assert told_apart(simplices, rates, anything).tolist() == [[True, False], [True, True], [True, False]]
    alone = np.array([[False, True]] * 3)
    assert told_apart(simplices, rates, alone).tolist() == alone.tolist()


def test_promises_to_a_class_hold_beside_the_others(catalogs: Catalogs) -> None:
    """Some replicas serve questions faster without documents, to which they could hardly keep a promise."""
    (choice,) = Inquiry.of(desk(18.0, 1100), catalogs).options
    questions, documents = 1, 2
    together = rates_between(choice, (0, questions))
    own = choice.pools[questions].rate_per_s
    serves = (together > 0).all(axis=1)
    slower = serves & (together[:, 1] < 0.99 * own)
    assert slower.any()
    assert (together[serves, 1] <= own[serves]).all()
    # of a class alone nothing is held back, and the more demanding one has its own rate beside the other
    assert (rates_between(choice, (questions,))[serves, 0] == own[serves]).all()
    beside = rates_between(choice, (0, documents))[serves, 1]
    assert beside == pytest.approx(choice.pools[documents].rate_per_s[serves])
    # a few documents are as many as a trace of them
    row = np.flatnonzero(slower)[:1]
    few = choice.mix((0, 1), np.array([0.999, 0.001]))
    found = sustainable_rate(choice.setup.take(row), few, choice.limits.take(row)).rate_per_s
    assert found == pytest.approx(together[row, 1], rel=0.02)


def test_the_simplices_around_the_whole_mix_are_told_with_their_corners() -> None:
    simplices = triangulated((1, 2, 3), 4)
    assert star_of(simplices) == (0, 1, 2, 3)
    # a mix between the whole one and a corner takes its place; one beside the whole one is one corner more
    assert star_of(split(simplices, (0, 1), 4)) == (0, 2, 3, 4)
    assert star_of(split(simplices, (1, 2), 4)) is None
    assert star_of(apart(3)) is None


@settings(max_examples=60)
@given(st.integers(2, 4), st.integers(0, 10**6))
def test_who_may_serve_a_mix_of_its_corners_alone_does_not_where_the_whole_one_is_no_worse(
    classes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    whole, rates = rng.dirichlet(np.full(classes, 3.0)), rng.uniform(0.1, 10, classes)
    rate_of_whole = rng.uniform(1, 2) / (whole / rates).sum()
    corners, taken = np.vstack([whole, np.eye(classes)]), 1 / np.array([rate_of_whole, *rates])
    for mix in rng.dirichlet(np.ones(classes), size=10):
        ways = []
        for simplex in (part for part in triangulated(range(1, classes + 1), classes + 1) if len(part) == classes):
            weight = np.linalg.solve(corners[list(simplex)].T, mix)
            ways += [taken[list(simplex)] @ weight] * bool((weight >= -1e-9).all())
        assert min(ways) <= (mix / rates).sum() * (1 + 1e-9)


def test_one_column_stands_for_the_simplices_around_a_whole_mix_that_is_no_worse(inquiry: Inquiry) -> None:
    (choice,) = inquiry.options
    apart_, one = rates_between(choice, (0, 1, 2)), rates_around(choice, (0, 1, 2))
    served = (apart_ > 0).all(axis=1)
    whole = np.array([item.share for item in choice.workload.classes()])
    added_up = np.divide(1, (whole / apart_[served, 1:]).sum(axis=1))
    stands = apart_[served, 0] >= added_up * (1 - 1e-6)
    assert stands.any()
    assert not stands.all()
    assert (one[served][stands] == apart_[served][stands]).all()
    assert (one[served][~stands] == 0).all()
    columns = inquiry.formulated().columns
    whole_and_all = {column.configuration for column in columns if column.pools == (0, 1, 2)}
    assert whole_and_all
    assert not whole_and_all & {column.configuration for column in columns if column.pools in {(0, 1), (0, 2)}}
