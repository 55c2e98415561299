"""A simulated replica is the queue that theory knows, whether it jumps or steps, and loses no request."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Router
from optimizer.performance.candidates.predict import Mix, operate
from optimizer.performance.physics.memory import kv_bytes_per_sequence
from optimizer.performance.physics.own import OwnFactors
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.simulation.arrivals import Classes, by_rates, drawn_at, renewal
from optimizer.performance.simulation.costs import ReplicaCosts, Slowdown, replica_costs
from optimizer.performance.simulation.dealing import sent
from optimizer.performance.simulation.fleet import Outcome, Server, serve_stream
from optimizer.performance.simulation.outage import Outage, served_requests
from optimizer.performance.simulation.replica import Served, serve
from optimizer.performance.simulation.scheduled import Schedule, served_by_schedule


@pytest.fixture(scope="module")
def setup(catalogs: Catalogs) -> Setup:
    return gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)])


@pytest.fixture(scope="module")
def costs(setup: Setup) -> ReplicaCosts:
    return replica_costs(setup, 0)


def poisson(rate_per_s: float, requests: int, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate_per_s, requests))


def served(costs: ReplicaCosts, arrived_s: np.ndarray, prompt: int, answer: int, **how: bool) -> Served:
    count = len(arrived_s)
    lengths = (np.full(count, prompt), np.zeros(count, dtype=np.int64), np.full(count, answer))
    return serve(costs, arrived_s, costs.work(*lengths), **how)


def test_the_same_requests_are_served_once_by_the_same_replica(costs: ReplicaCosts) -> None:
    stream = drawn_at(np.random.default_rng(0), ONE_CLASS, poisson(2.0, 50))
    every, others = np.arange(50), np.arange(49)
    first = served_requests(costs, stream, every, 0.0)
    assert served_requests(costs, stream, every, 0.0) is first
    assert not np.array_equal(served_requests(costs, stream, every, 0.5).finished_s, first.finished_s)
    assert not np.array_equal(
        served_requests(costs, stream, every, 0.0, stream.arrived_s + 1).finished_s, first.finished_s
    )
    assert len(served_requests(costs, stream, others, 0.0).finished_s) == 49
    assert served_requests(replace(costs, cache_bytes=1e9), stream, every, 0.0) is not first


def test_a_request_alone_takes_what_the_physics_says(costs: ReplicaCosts, setup: Setup) -> None:
    alone = served(costs, np.array([1.0]), 1000, 200)
    point = operate(setup, Mix(np.array([1000.0]), np.array([200.0]), np.array([1.0]), 0.0), np.array([1e-9]))
    assert alone.first_token_s[0] - 1 == pytest.approx(
        costs.work(*map(np.array, ([1000], [0], [200]))).first_token_s[0]
    )
    tpot_s = (alone.finished_s[0] - alone.first_token_s[0]) / 199
    assert tpot_s == pytest.approx(point.tpot_s["mean"][0], rel=1e-3)


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("tokens", [200, 9_000, 40_000])
def test_a_prompt_alone_takes_as_long_in_chunks(catalogs: Catalogs, tokens: int, stages: int) -> None:
    """A prompt of several steps was charged all but its first chunk twice: 1.4 to 1.6 times the predicted TTFT.

    Each of twenty chunks begins where memory and multiplying overlap least, which one pass does once: 0.06 %.
    """
    configuration = Configuration("vllm", "llama-3.1-8b", "a100-80-sxm", "bf16", "bf16", 1, stages)
    chunked = replica_costs(gather(catalogs, [configuration]), 0)
    alone = served(chunked, np.array([1.0]), tokens, 10)
    predicted_s = chunked.work(*map(np.array, ([tokens], [0], [10]))).first_token_s[0]
    assert alone.first_token_s[0] - 1 == pytest.approx(predicted_s, rel=1e-3 if tokens > 9_000 else 1e-6)


@pytest.mark.parametrize(("engine", "kept"), [("vllm", 0.0), ("tensorrt-llm", 1.0)])
def test_room_for_an_answer_is_kept_as_the_engine_does(catalogs: Catalogs, engine: str, kept: float) -> None:
    """Answers of eight times their prompts in a full cache: one engine gives room as they grow and takes it back."""
    configuration = Configuration(engine, "llama-3.1-70b", "h100-sxm", "fp8", "fp8", 2, 1)
    setup = gather(catalogs, [configuration])
    costs = replica_costs(setup, 0)
    asked = costs.work(*map(np.array, ([500], [0], [4000])))
    room = kv_bytes_per_sequence(setup, np.array([[500 + kept * 4000]]))[0, 0]
    assert asked.start_bytes[0] == pytest.approx(room)
    done = served(costs, np.arange(600) / 1e3, 500, 4000)
    assert (done.preempted > 0) == (kept == 0)
    assert np.isfinite(done.finished_s).all()


@pytest.mark.parametrize("mixed", [0.0, 1.0])
def test_a_prompt_beside_others_waits_for_their_step_only_where_it_rides_on_it(
    costs: ReplicaCosts, mixed: float
) -> None:
    """One request runs, another comes: the rest of the running step, then its own pass or the step that both share."""
    engine = replace(costs, mixed=mixed)
    step_s, alone_s = engine.decode(1, 210.0), served(engine, np.array([0.0]), 200, 100).first_token_s[0]
    waited_s = served(engine, np.array([0.0, 1.0]), 200, 300).first_token_s[1] - 1 - alone_s
    shared_s = mixed * (step_s + engine.added(1, 200, 1) - engine.added(0, 200, 1))
    assert shared_s <= waited_s <= shared_s + 1.2 * step_s


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_prompts_without_answers_wait_as_in_a_queue_of_constant_service(costs: ReplicaCosts, load: float) -> None:
    """M/D/1: mean wait = load · service / (2 (1 − load)), Pollaczek and Khinchine; one prompt fills a step."""
    one_by_one = replace(costs, max_tokens=1000)
    service_s = one_by_one.added(0, 1000, 1) + _attention_s(one_by_one)
    arrived = poisson(load / service_s, 200_000)
    done = served(one_by_one, arrived, 1000, 1)
    alone_s = done.first_token_s[0] - arrived[0]
    waited_s = done.first_token_s - arrived - alone_s
    assert waited_s.mean() == pytest.approx(load * service_s / (2 * (1 - load)), rel=0.03)


def _attention_s(costs: ReplicaCosts) -> float:
    return float(costs.work(np.array([1000]), np.array([0]), np.array([1])).attention_s[0])


@pytest.mark.parametrize(("rate_per_s", "prompt", "answer"), [(8.0, 1000, 300), (3.0, 9000, 150), (30.0, 200, 60)])
def test_jumps_end_where_single_steps_do(costs: ReplicaCosts, rate_per_s: float, prompt: int, answer: int) -> None:
    arrived = poisson(rate_per_s, 2000)
    jumped = served(costs, arrived, prompt, answer)
    stepped = served(costs, arrived, prompt, answer, by_single_steps=True)
    for name in ("first_token_s", "finished_s"):
        fast, slow = (getattr(each, name) - arrived for each in (jumped, stepped))
        # beyond the last level lie twenty requests
        for level, exactly in ((0.5, 0.01), (0.95, 0.015), (0.99, 0.02)):
            assert np.quantile(fast, level) == pytest.approx(np.quantile(slow, level), rel=exactly)


def test_a_busy_replica_is_as_slow_as_the_formulas_say(costs: ReplicaCosts, setup: Setup) -> None:
    """Two ways to the same mean: Little's law with Poisson arrivals, and the arrivals themselves."""
    mix = Mix(np.array([1000.0]), np.array([300.0]), np.array([1.0]), 0.0)
    for rate_per_s in (4.0, 10.0, 14.0):
        arrived = poisson(rate_per_s, 20_000)
        done = served(costs, arrived, 1000, 300)
        tpot_s = ((done.finished_s - done.first_token_s) / 299)[2000:].mean()
        assert tpot_s == pytest.approx(operate(setup, mix, np.array([rate_per_s])).tpot_s["mean"][0], rel=0.05)


@pytest.mark.parametrize("rate_per_s", [3.0, 7.0, 10.0])
def test_a_replica_that_was_measured_slower_gathers_requests_in_both(setup: Setup, rate_per_s: float) -> None:
    """Formulas took what a token takes at its rate times what was measured, the simulation all steps."""
    mix, slower = Mix(np.array([1000.0]), np.array([300.0]), np.array([1.0]), 0.0), 1.4
    own = replace(setup, own=OwnFactors(np.ones(1), np.array([slower]), np.ones(1)))
    done = served(replica_costs(own, 0), poisson(rate_per_s, 20_000), 1000, 300)
    tpot_s = ((done.finished_s - done.first_token_s) / 299)[2000:].mean()
    predicted_s = operate(own, mix, np.array([rate_per_s])).tpot_s["mean"][0]
    assert tpot_s == pytest.approx(predicted_s, rel=0.05)
    assert predicted_s == pytest.approx(slower * operate(setup, mix, np.array([slower * rate_per_s])).tpot_s["mean"][0])


@pytest.mark.parametrize("rate_per_s", [4.0, 10.0, 14.0])
def test_slow_answers_of_a_busy_replica_are_as_slow_as_the_formulas_say(
    costs: ReplicaCosts, setup: Setup, rate_per_s: float
) -> None:
    """A tenth to a third under p95 where only the prefills that an answer meets were counted."""
    mix = Mix(np.array([1000.0]), np.array([300.0]), np.array([1.0]), 0.0)
    done = served(costs, poisson(rate_per_s, 20_000), 1000, 300)
    tpot_s = ((done.finished_s - done.first_token_s) / 299)[2000:]
    predicted = operate(setup, mix, np.array([rate_per_s])).tpot_s["p95"][0]
    assert 0.85 <= predicted / np.quantile(tpot_s, 0.95) <= 1.02


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 400)), min_size=1, max_size=60),
    room=st.floats(0.02, 1.0),
    gap_s=st.floats(0.0, 0.2),
)
def test_everybody_is_answered_in_turn_however_small_the_cache(
    costs: ReplicaCosts, lengths: list[tuple[int, int]], room: float, gap_s: float
) -> None:
    tight = replace(costs, cache_bytes=costs.cache_bytes * room, max_sequences=8)
    prompt, answer = (np.array(column) for column in zip(*lengths, strict=True))
    arrived = gap_s * np.arange(len(lengths))
    done = serve(tight, arrived, tight.work(prompt, np.zeros_like(prompt), answer))
    assert np.all(np.isfinite(done.finished_s))
    assert np.all(done.first_token_s > arrived)
    assert np.all(done.finished_s >= done.first_token_s)
    # first come, first served: prompts of one length have their first tokens in the order of arrival
    assert done.sequence_s >= 0
    # an engine that prefills apart answers the last prompt before the step that it runs on to
    assert done.busy_s <= done.finished_s.max() + tight.decode(8, 3400)


def test_a_full_cache_takes_sequences_back_and_still_answers_all(costs: ReplicaCosts) -> None:
    tight = replace(costs, cache_bytes=costs.cache_bytes / 60)
    done = served(tight, poisson(20.0, 300), 500, 400)
    assert done.preempted > 0
    assert np.all(np.isfinite(done.finished_s))


def test_what_never_fits_is_never_answered(costs: ReplicaCosts) -> None:
    tiny = replace(costs, cache_bytes=float(costs.work(*map(np.array, ([500], [0], [10]))).start_bytes[0]) - 1)
    done = served(tiny, np.array([0.0, 1.0]), 500, 10)
    assert np.all(np.isinf(done.finished_s))


def test_slower_steps_make_slower_answers(setup: Setup, costs: ReplicaCosts) -> None:
    slow = replica_costs(setup, 0, Slowdown(decode=1.5, prefill=1.3, first_token=2.0))
    arrived = poisson(5.0, 3000)
    ours, theirs = served(costs, arrived, 1000, 200), served(slow, arrived, 1000, 200)
    assert np.all(theirs.finished_s > ours.finished_s)


ONE_CLASS = Classes(np.array([1.0]), np.array([1000]), np.array([200]))
STREAM = renewal(np.random.default_rng(0), ONE_CLASS, 12.0, 2400, 1.0)


def through(costs: ReplicaCosts, replicas: int, outage: Outage | None, router: Router = "in_turn") -> Outcome:
    server = Server(costs, replicas, np.array([12.0]))
    return serve_stream(
        np.random.default_rng(1), STREAM, [server], 0.0, 8, router=router, outages={} if outage is None else {0: outage}
    )


@pytest.mark.parametrize("router", get_args(Router))
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_a_lost_replica_loses_no_request(costs: ReplicaCosts, replicas: int, router: Router) -> None:
    found = through(costs, replicas, Outage(replicas=1, from_s=60.0, to_s=100.0), router)
    assert np.array_equal(found.request, np.arange(STREAM.requests))
    assert np.all(np.isfinite(found.e2e_s))
    assert np.all(found.ttft_s > 0)
    # (request,) -> first token and end, on the clock of the arrivals
    first_s, end_s = STREAM.arrived_s + found.ttft_s, STREAM.arrived_s + found.e2e_s
    if replicas == 1:
        assert not np.any((end_s > 60.5) & (first_s < 60.0))
        assert not np.any((end_s > 60.5) & (end_s < 100.0))


def test_a_deployment_that_loses_a_replica_deals_as_the_others_do(costs: ReplicaCosts) -> None:
    """A loss after the last request changes nothing; by chance waits are longer, where fewest are they are not."""
    late = Outage(replicas=1, from_s=1e6, to_s=2e6)
    waits = {}
    for router in get_args(Router):
        calm, lost = (through(costs, 3, outage, router) for outage in (None, late))
        assert np.array_equal(calm.ttft_s, lost.ttft_s)
        waits[router] = np.quantile(calm.ttft_s, 0.95)
    assert waits["by_chance"] > 1.05 * waits["in_turn"]
    assert waits["least_loaded"] < 1.05 * waits["in_turn"]


@pytest.mark.parametrize("router", get_args(Router))
def test_others_take_what_a_deployment_had_that_is_lost_whole(costs: ReplicaCosts, router: Router) -> None:
    """Of two alike one goes for forty seconds, or both; nobody is lost, and only the first 60 s are as they were."""
    servers = [Server(costs, 2, np.array([6.0])), Server(costs, 2, np.array([6.0]))]
    outage = Outage(replicas=2, from_s=60.0, to_s=100.0)

    def found(*lost: int) -> Outcome:
        outages = dict.fromkeys(lost, outage)
        return serve_stream(np.random.default_rng(1), STREAM, servers, 0.0, 8, router=router, outages=outages)

    calm, one, both = found(), found(0), found(0, 1)
    for each in (calm, one, both):
        assert np.array_equal(each.request, np.arange(STREAM.requests))
        assert np.all(np.isfinite(each.e2e_s))
    meanwhile = (STREAM.arrived_s > 60.0) & (STREAM.arrived_s < 100.0)
    assert set(one.server[meanwhile]) == {1}
    assert one.tpot_s[meanwhile].mean() > 1.1 * calm.tpot_s[meanwhile].mean()
    ended = STREAM.arrived_s + calm.e2e_s < 60.0
    # chance has other luck from the loss on, which deals what came before by it, too
    assert router == "by_chance" or np.allclose(one.e2e_s[ended], calm.e2e_s[ended])
    # what was begun is asked once more, of the other one at once, or of both when they are back
    begun = (STREAM.arrived_s < 60.0) & ~ended
    first_s = {name: (STREAM.arrived_s + each.ttft_s)[begun] for name, each in (("one", one), ("both", both))}
    assert np.all(one.e2e_s[meanwhile] < 30.0)
    assert np.all(first_s["both"] > 60.0 - 10.0)
    assert np.all((STREAM.arrived_s + both.e2e_s)[meanwhile] > 100.0)


@pytest.mark.parametrize("router", get_args(Router))
def test_a_router_that_is_told_of_a_loss_sends_less_where_less_is_left(costs: ReplicaCosts, router: Router) -> None:
    """Three replicas of four are lost: the one that is left is sent the fifth part, as each of the four others."""
    servers = [Server(costs, 4, np.array([6.0])), Server(costs, 4, np.array([6.0]))]
    outages = {0: Outage(replicas=3, from_s=60.0, to_s=160.0)}

    def found(**told: Floats) -> Outcome:
        return serve_stream(np.random.default_rng(1), STREAM, servers, 0.0, 8, router=router, outages=outages, **told)

    meanwhile = (STREAM.arrived_s > 60.0) & (STREAM.arrived_s < 160.0)
    by_what_they_are_sent = found()
    assert np.mean(by_what_they_are_sent.server[meanwhile] == 0) == pytest.approx(1 / 5, abs=0.03)
    assert np.mean(by_what_they_are_sent.server[~meanwhile] == 0) == pytest.approx(1 / 2, abs=0.05)
    by_what_they_hold = found(left_per_s=np.array([[1.0, 1.0]]))
    assert np.mean(by_what_they_hold.server[meanwhile] == 0) == pytest.approx(1 / 2, abs=0.05)
    for each in (by_what_they_are_sent, by_what_they_hold):
        assert np.array_equal(each.request, np.arange(STREAM.requests))
        assert np.all(np.isfinite(each.e2e_s))


def test_turns_of_unlike_deployments_are_as_far_apart_as_their_shares() -> None:
    rates = np.array([[6.0, 3.0, 0.0], [0.0, 2.0, 1.0]])
    request_class = np.tile([0, 1, 0], 200)
    chosen = sent(np.random.default_rng(0), "in_turn", request_class, rates)
    for number, expected in ((0, [2 / 3, 1 / 3, 0]), (1, [0, 2 / 3, 1 / 3])):
        mine = chosen[request_class == number]
        assert np.bincount(mine, minlength=3) / len(mine) == pytest.approx(expected, abs=0.01)
        # of any nine in a row as many as of any others, but for one
        ones = [np.sum(mine[start : start + 9] == 1) for start in range(len(mine) - 9)]
        assert max(ones) - min(ones) <= 1


def test_before_a_loss_nothing_differs_and_during_it_the_others_are_slower(costs: ReplicaCosts) -> None:
    calm, lost = (through(costs, 2, each) for each in (None, Outage(replicas=1, from_s=60.0, to_s=100.0)))
    ended = STREAM.arrived_s + calm.e2e_s < 60.0
    assert np.allclose(lost.ttft_s[ended], calm.ttft_s[ended])
    meanwhile = (STREAM.arrived_s > 62.0) & (STREAM.arrived_s < 100.0)
    assert lost.tpot_s[meanwhile].mean() > 1.1 * calm.tpot_s[meanwhile].mean()
    late = STREAM.arrived_s > 140.0
    assert lost.tpot_s[late].mean() == pytest.approx(calm.tpot_s[late].mean(), rel=0.1)


def test_an_outage_of_no_time_changes_only_what_was_under_way(costs: ReplicaCosts) -> None:
    calm, lost = (through(costs, 2, each) for each in (None, Outage(replicas=1, from_s=60.0, to_s=60.0)))
    assert np.mean(lost.e2e_s) == pytest.approx(np.mean(calm.e2e_s), rel=0.03)
    assert np.max(lost.e2e_s) > np.max(calm.e2e_s)


def test_who_starts_with_an_hour_serves_from_then_and_what_is_stopped_ends_what_it_began(costs: ReplicaCosts) -> None:
    """Two hours with one replica, one with three, one with none."""
    schedule = Schedule(np.array([1, 1, 3, 0]))
    begins, there = schedule.there()
    assert list(zip((begins / 3600).tolist(), there.tolist(), strict=True)) == [(0, 1), (1, 1), (2, 3), (3, 0)]
    stream = drawn_at(np.random.default_rng(0), ONE_CLASS, np.arange(0.0, 3 * 3600.0, 10.0))
    found = served_by_schedule(costs, stream, np.arange(stream.requests), schedule, 0.0, 8, None)
    assert sorted(np.concatenate([requests for requests, _ in found]).tolist()) == list(range(stream.requests))
    second = stream.arrived_s[found[1][0]]
    assert second.min() == pytest.approx(7200, abs=30)
    assert all(np.all(np.isfinite(done.finished_s)) for _, done in found)
    # nobody serves in the last hour, so what comes then waits for its end
    late = drawn_at(np.random.default_rng(0), ONE_CLASS, np.array([3 * 3600.0 + 60]))
    (_, done), *_ = served_by_schedule(costs, late, np.arange(1), schedule, 0.0, 8, None)
    assert done.first_token_s[0] > 4 * 3600.0


def test_requests_come_at_the_rates_of_their_hours() -> None:
    arrived = by_rates(np.random.default_rng(0), np.array([1.0, 0.0, 3.0]), 3600.0, 4.0)
    by_hour = np.histogram(arrived, 3600.0 * np.arange(4))[0]
    assert by_hour[1] == 0
    assert by_hour[0] == pytest.approx(3600, abs=5 * 2 * 60)
    assert by_hour[2] == pytest.approx(10_800, abs=5 * 2 * 104)
