"""A router that knows prompts sends them where their beginning is, unless that is too little or too full."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.traces.blocks import prompt_blocks
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.simulation.arrivals import Classes, Stream, trace
from optimizer.performance.simulation.choosing import MOST_APART, MOST_TIMES, LongestPrefix
from optimizer.performance.simulation.costs import ReplicaCosts, replica_costs
from optimizer.performance.simulation.dealing import Dealing
from optimizer.performance.simulation.fleet import Outcome, Server, serve_stream
from optimizer.performance.simulation.outage import Outage

BLOCK = 512
ONE_CLASS = Classes(np.array([1.0]), np.array([4000]), np.array([100]))
CALM = [0, 0, 0]
THREE = range(3)


@pytest.fixture(scope="module")
def costs(catalogs: Catalogs) -> ReplicaCosts:
    return replica_costs(gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)]), 0)


def test_a_prompt_goes_where_most_of_it_was_sent() -> None:
    prompts = [[0, 1, 2, 3], [10, 11], [0, 1, 2, 9], [0, 1, 7, 8], [0, 20, 21, 22], [0, 1, 2, 9, 30]]
    router = LongestPrefix(prompts)
    # nobody has anything of the first two, which take turns
    assert [router.choose(request, THREE, CALM) for request in (0, 1)] == [0, 1]
    assert router.choose(2, THREE, [9, 0, 0]) == 0
    assert router.choose(3, THREE, [9, 0, 0]) == 0
    # a quarter is not enough
    assert router.choose(4, THREE, [9, 1, 0]) == 2
    assert router.choose(5, THREE, [9, 0, 0]) == 0
    router.forget([0])
    assert router.choose(5, range(1, 3), [0, 0, 1]) == 1


def test_of_those_that_have_as_much_the_emptiest_takes_it() -> None:
    router = LongestPrefix([[0, 1], [0, 1, 2], [0, 1, 3]])
    assert router.choose(0, THREE, [0, 1, 1]) == 0
    out_of_balance = [MOST_APART + 1, 1, 0]
    assert router.choose(1, THREE, out_of_balance) == 2
    assert router.choose(2, THREE, [5, 0, 4]) == 2
    assert router.choose(2, THREE, [3, 0, 4]) == 2


def test_who_is_far_ahead_is_spared_only_where_it_is_far_for_its_load() -> None:
    router = LongestPrefix([[0], [0]])
    router.choose(0, THREE, CALM)
    apart = 2 * MOST_APART
    near, far = int(apart / (MOST_TIMES - 1)) + 1, int(apart / (MOST_TIMES - 1)) - 2
    assert router.choose(1, THREE, [near + apart, near, near]) == 0
    assert router.choose(1, THREE, [far + apart + 1, far, far]) != 0


def stream_of(blocks: list[list[int]], every_s: float) -> Stream:
    tokens = np.array([len(each) * BLOCK for each in blocks])
    arrived = np.cumsum(np.random.default_rng(1).exponential(every_s, len(blocks)))
    return trace(ONE_CLASS, arrived, tokens, np.full(len(blocks), 100), prompt_blocks(blocks, tokens))


def served(costs: ReplicaCosts, stream: Stream, router: Dealing, lost: Outage | None = None) -> Outcome:
    outages = {} if lost is None else {0: lost}
    server = Server(costs, 4, np.array([1.0]))
    return serve_stream(np.random.default_rng(0), stream, [server], 0.0, 4, router=router, outages=outages)


def conversations(people: int, turns: int) -> list[list[int]]:
    """People who ask in turn, each time with all of their earlier prompt and two blocks more."""
    return [
        [1000 * person + block for block in range(2 * turn)] for turn in range(1, turns + 1) for person in range(people)
    ]


def test_conversations_are_found_where_they_were_held(costs: ReplicaCosts) -> None:
    """With room for all, all that is repeated is found; in turn it is where the number of people lets it be."""
    blocks = conversations(101, 6)
    stream = stream_of(blocks, 0.1)
    endless = replace(costs, cache_bytes=1e18)
    found = {router: served(endless, stream, router) for router in ("in_turn", "by_chance", "prefix_aware")}
    assert stream.blocks is not None
    whole = stream.blocks.repeated_tokens(stream.input_tokens)
    assert np.array_equal(found["prefix_aware"].cached_tokens, whole)
    for router in ("in_turn", "by_chance"):
        assert found[router].cached_tokens.sum() < 0.7 * whole.sum()
        assert found[router].ttft_s.mean() > found["prefix_aware"].ttft_s.mean()


def test_no_replica_is_swamped_by_a_prompt_that_all_have(costs: ReplicaCosts) -> None:
    """Half of every prompt is the same: one replica would be sent all of them, were it not for the others' idleness."""
    blocks = [[0, 1, 2, 10 * request + 10, 10 * request + 11] for request in range(2000)]
    found = served(costs, stream_of(blocks, 0.005), "prefix_aware")
    sent = [len(one.finished_s) for one in found.replicas[0]]
    assert sum(sent) == 2000
    assert min(sent) > 200
    assert np.all(np.isfinite(found.e2e_s))
    calm = served(costs, stream_of(blocks[:300], 2.0), "prefix_aware")
    assert sorted(len(one.finished_s) for one in calm.replicas[0]) == [0, 0, 0, 300]


def test_a_replica_that_was_lost_has_nothing_any_more(costs: ReplicaCosts) -> None:
    stream = stream_of(conversations(50, 6), 0.3)
    calm, lost = (served(costs, stream, "prefix_aware", each) for each in (None, Outage(2, 30.0, 60.0)))
    assert np.array_equal(lost.request, np.arange(stream.requests))
    assert np.all(np.isfinite(lost.e2e_s))
    assert 0 < lost.cached_tokens.sum() < calm.cached_tokens.sum()


def test_prompts_that_nobody_knows_go_to_the_emptiest(costs: ReplicaCosts) -> None:
    stream = replace(stream_of(conversations(50, 4), 0.05), blocks=None)
    by_prompt, by_load = (served(costs, stream, router) for router in ("prefix_aware", "least_loaded"))
    assert np.array_equal(by_prompt.e2e_s, by_load.e2e_s)
