"""What replicas find of prompts is what an independent count finds, as far as there is room for their blocks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Router
from optimizer.inputs.scenario.traces.blocks import prompt_blocks
from optimizer.performance.physics.memory import kv_bytes_per_token
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.simulation.arrivals import Classes, Stream, trace
from optimizer.performance.simulation.costs import ReplicaCosts, replica_costs
from optimizer.performance.simulation.fleet import Server, serve_stream
from optimizer.performance.simulation.outage import Outage, work_of
from optimizer.performance.simulation.prefix_cache import PrefixCache, PrefixWork
from optimizer.performance.simulation.prompts import attention_with
from optimizer.performance.simulation.replica import Replica

BLOCK = 512
ONE_CLASS = Classes(np.array([1.0]), np.array([4000]), np.array([100]))
Prompts = Sequence[tuple[tuple[int, ...], int]]
"""Blocks and tokens of each."""


@pytest.fixture(scope="module")
def costs(catalogs: Catalogs) -> ReplicaCosts:
    return replica_costs(gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)]), 0)


def conversations(requests: int, seed: int = 0) -> Prompts:
    """Turns of people who go on from where they were, behind one of three instructions that many have."""
    rng = np.random.default_rng(seed)
    fresh, open_ones, found = 100, [], []
    for _ in range(requests):
        if open_ones and rng.random() < 0.6:
            before = open_ones[rng.integers(len(open_ones))]
        else:
            instruction = 10 * int(rng.integers(3))
            before = (*range(instruction, instruction + 4),)
        more = int(rng.integers(1, 8))
        blocks = (*before, *range(fresh, fresh + more))
        fresh += more
        # nobody goes on for ever
        open_ones = [*open_ones[-30:], blocks[:-1][:30]]
        found.append((blocks, (len(blocks) - 1) * BLOCK + int(rng.integers(1, BLOCK + 1))))
    return found


def stream_of(prompts: Prompts, every_s: float, answer: int = 100) -> Stream:
    tokens = np.array([each for _, each in prompts])
    blocks = prompt_blocks([each for each, _ in prompts], tokens)
    assert blocks.block_tokens == BLOCK
    arrived = np.cumsum(np.random.default_rng(1).exponential(every_s, len(prompts)))
    return trace(ONE_CLASS, arrived, tokens, np.full(len(prompts), answer), blocks)


def counted(prompts: Prompts) -> list[int]:
    """Tokens that a memory finds which forgets nothing."""
    seen: set[int] = set()
    found = []
    for blocks, tokens in prompts:
        first_new = next((place for place, block in enumerate(blocks) if block not in seen), len(blocks))
        found.append(min(first_new * BLOCK, tokens - 1))
        seen.update(blocks)
    return found


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("every_s", [0.01, 0.5])
def test_a_cache_without_end_finds_what_was_ever_asked_of_its_replica(
    costs: ReplicaCosts, replicas: int, every_s: float
) -> None:
    prompts = conversations(600)
    stream = stream_of(prompts, every_s)
    server = Server(replace(costs, cache_bytes=1e18), replicas, np.array([1.0]))
    found = serve_stream(np.random.default_rng(0), stream, [server], 0.0, replicas, router="in_turn")
    for one in range(replicas):
        assert found.cached_tokens[one::replicas].tolist() == counted(prompts[one::replicas])
    assert stream.blocks is not None
    whole = stream.blocks.repeated_tokens(stream.input_tokens)
    assert whole.tolist() == counted(prompts)
    assert found.cached_tokens.sum() == whole.sum() if replicas == 1 else found.cached_tokens.sum() < whole.sum()


def forgetful(prompts: Prompts, most_blocks: int) -> list[int]:
    """Blocks found by a list of those used last, the first of a prompt after its others."""
    recent: list[int] = []
    found = []
    for blocks, _ in prompts:
        place = 0
        while place < len(blocks) and blocks[place] in recent:
            place += 1
        found.append(place)
        recent = [block for block in recent if block not in blocks]
        recent = recent[max(len(recent) + len(blocks) - most_blocks, 0) :] + list(reversed(blocks))
    return found


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), most_blocks=st.integers(60, 300))
def test_what_is_used_least_recently_is_given_up_first(seed: int, most_blocks: int) -> None:
    prompts = conversations(150, seed)
    blocks, tokens = [list(each) for each, _ in prompts], [len(each) * BLOCK for each, _ in prompts]
    rows = [0.0] * len(prompts)
    work = PrefixWork(BLOCK, blocks, tokens, [0] * len(prompts), rows, rows, [10**6] * len(prompts), 1.0, 1.0)
    cache, found = PrefixCache(work), []
    for request, each in enumerate(blocks):
        found.append(cache.take(request, (most_blocks - len(each)) * BLOCK))
        cache.release(request, 0.0)
    assert found == forgetful(prompts, most_blocks)
    assert not cache.holders
    assert cache.idle_bytes == sum(cache.idle.values())


def test_more_memory_finds_more_and_less_has_to_be_computed(costs: ReplicaCosts) -> None:
    stream = stream_of(conversations(1500), 0.3)
    share, waits_s = [], []
    for tokens in (30_000, 60_000, 200_000, 2_000_000):
        smaller = replace(costs, cache_bytes=tokens * kv_bytes_per_token(costs.setup)[0])
        found = serve_stream(np.random.default_rng(0), stream, [Server(smaller, 1, np.array([1.0]))], 0.0, 1)
        share.append(found.cached_tokens.sum() / stream.input_tokens.sum())
        waits_s.append(float(np.mean(found.ttft_s)))
        assert np.all(np.isfinite(found.e2e_s))
    assert share == sorted(share)
    assert share[0] < 0.7 * share[-1]
    assert waits_s == sorted(waits_s, reverse=True)


def test_a_prompt_that_is_found_takes_what_the_physics_says_of_the_rest(costs: ReplicaCosts) -> None:
    prompts = [((1, 2, 3, 4), 2000), ((1, 2, 3, 9), 2000), ((1, 2, 3, 4), 2000)]
    stream = stream_of(prompts, 100.0)
    found = serve_stream(np.random.default_rng(0), stream, [Server(costs, 1, np.array([1.0]))], 0.0, 1)
    assert found.cached_tokens.tolist() == [0, 1536, 1999]
    alone = costs.work(2000 - found.cached_tokens, found.cached_tokens, np.full(3, 100)).first_token_s
    assert found.ttft_s == pytest.approx(alone)
    assert alone[1] < 0.7 * alone[0]


@pytest.mark.parametrize("cached", [0, 1536, 1999])
def test_what_is_computed_again_behind_a_prompt_is_charged_as_the_physics_says(
    costs: ReplicaCosts, cached: int
) -> None:
    """A prompt of which one token is new was charged for the square of what was computed again."""
    new, again = 2000 - cached, 500
    alone, longer = (
        costs.work(np.array([new + more]), np.array([cached]), np.array([10])).attention_s[0] for more in (0, again)
    )
    assert attention_with(again, new, cached) == pytest.approx(longer / alone)


def run_of(costs: ReplicaCosts, stream: Stream) -> tuple[Replica, Floats]:
    replica = Replica(costs, work_of(costs, stream, np.arange(stream.requests), 0.0), stream.arrived_s.tolist())
    replica.run()
    return replica, np.array(replica.finished_s)


def test_memory_that_requests_share_counts_once_and_all_of_it_comes_back(costs: ReplicaCosts) -> None:
    """Room for one and a half prompts: two that begin alike run together, two that do not run one after the other."""
    tokens = 20 * BLOCK
    small = replace(costs, cache_bytes=1.5 * tokens * kv_bytes_per_token(costs.setup)[0])
    alike, others = tuple(range(20)), tuple(range(100, 120))
    for second, together in ((alike[:18] + others[18:], True), (others, False)):
        stream = stream_of([(alike, tokens), (second, tokens)], 1e-3, answer=200)
        replica, finished_s = run_of(small, stream)
        assert (replica.first_token_s[1] < finished_s[0]) == together
        assert replica.prefixes is not None
        assert not replica.prefixes.holders
        assert replica.held_bytes == pytest.approx(0.0, abs=1.0)


def test_running_requests_take_their_room_from_what_nobody_holds(costs: ReplicaCosts) -> None:
    """Long answers fill the memory: prompts are lost, sequences are taken back, and the books still add up."""
    stream = stream_of(conversations(300, seed=3), 0.05, answer=3000)
    small = replace(costs, cache_bytes=100_000 * kv_bytes_per_token(costs.setup)[0])
    replica, finished_s = run_of(small, stream)
    assert np.all(np.isfinite(finished_s))
    assert replica.preempted > 0
    assert replica.held_bytes == pytest.approx(0.0, abs=10.0)
    assert replica.prefixes is not None
    cache = replica.prefixes
    assert not cache.holders
    assert cache.idle_bytes == pytest.approx(sum(cache.idle.values()))
    assert stream.blocks is not None
    most = stream.blocks.repeated_tokens(stream.input_tokens)
    assert np.all(replica.found_tokens <= most)
    assert 0 < replica.found_tokens.sum() < most.sum()


@pytest.mark.parametrize("router", get_args(Router))
def test_a_replica_that_was_lost_comes_back_with_nothing_in_memory(costs: ReplicaCosts, router: Router) -> None:
    stream = stream_of(conversations(400), 0.3)
    server = Server(costs, 2, np.array([1.0]))
    outage = Outage(replicas=2, from_s=60.0, to_s=70.0)
    calm, lost = (
        serve_stream(np.random.default_rng(0), stream, [server], 0.0, 2, router=router, outages=outages)
        for outages in ({}, {0: outage})
    )
    assert np.array_equal(lost.request, np.arange(stream.requests))
    assert np.all(np.isfinite(lost.e2e_s))
    assert lost.cached_tokens.sum() < calm.cached_tokens.sum()
