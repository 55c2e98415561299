"""Bursts fill the places of a replica, and those end what follows from bursts.

What formulas say of such replicas is held against simulated ones: nothing of it but one number is fitted.
"""

import math

import numpy as np
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.predict import Mix, demand_of, most_served, operate
from optimizer.performance.physics.load import load_at
from optimizer.performance.physics.prompts_behind import PromptsBehind
from optimizer.performance.physics.queueing import ArrivalVariation, skewed_deviation
from optimizer.performance.physics.replica_model import ReplicaModel, replica_model
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.steady_state import at_concurrency
from optimizer.performance.physics.swings import count_variation, swings
from optimizer.performance.physics.token_mix import TokenMix
from optimizer.performance.simulation.arrivals import Classes, renewal
from optimizer.performance.simulation.costs import replica_costs
from optimizer.performance.simulation.replica import serve

BURSTS = 4.0
DOCUMENTS = Classes(np.ones(1), np.array([6000]), np.array([300]))
SHORT_AND_LONG = Classes(np.array([0.7, 0.3]), np.array([1500, 9000]), np.array([150, 600]))
REQUESTS = 30_000
WARM_UP = 3_000


@pytest.fixture(scope="module")
def few_places(catalogs: Catalogs) -> Setup:
    """33 documents fit into its cache."""
    return gather(catalogs, [Configuration("tensorrt-llm", "llama-3.1-70b", "h200-sxm", "fp8", "bf16", 1, 1)])


def in_bursts(setup: Setup, classes: Classes, load: float) -> tuple[Mix, float]:
    """Requests that come in bursts, at a share of what is served."""
    mix = Mix(classes.input_tokens.astype(float), classes.output_tokens.astype(float), classes.share, 0.0)
    replica = replica_model(setup, demand_of(mix, 1))
    rate = load * float(most_served(replica, replica.most_in_line)[0])
    return Mix(mix.input_tokens, mix.output_tokens, mix.share, 0.0, ArrivalVariation(BURSTS, rate)), rate


def replica_in_bursts(setup: Setup, classes: Classes) -> ReplicaModel:
    """All of whose requests come in bursts, whatever the rate."""
    lengths = classes.input_tokens.astype(float), classes.output_tokens.astype(float)
    return replica_model(setup, demand_of(Mix(*lengths, classes.share, 0.0, ArrivalVariation(BURSTS, 1e-9)), 1))


def test_documents_that_fill_the_cache_in_bursts_take_as_long_as_simulated(few_places: Setup) -> None:
    mix, rate = in_bursts(few_places, DOCUMENTS, 0.85)
    costs, stream = replica_costs(few_places, 0), renewal(np.random.default_rng(0), DOCUMENTS, rate, REQUESTS, BURSTS)
    work = costs.work(stream.input_tokens, np.zeros_like(stream.input_tokens), stream.output_tokens)
    done = serve(costs, stream.arrived_s, work)
    tpot = ((done.finished_s - done.first_token_s) / (stream.output_tokens - 1))[WARM_UP:]
    said = operate(few_places, mix, np.array([rate])).tpot_s
    assert said["mean"][0] == pytest.approx(tpot.mean(), rel=0.1)
    assert said["p95"][0] == pytest.approx(np.quantile(tpot, 0.95), rel=0.1)
    assert said["p99"][0] == pytest.approx(np.quantile(tpot, 0.99), rel=0.1)


@pytest.mark.parametrize("classes", [DOCUMENTS, SHORT_AND_LONG])
def test_no_more_run_than_a_replica_that_is_full_or_idle_has(few_places: Setup, classes: Classes) -> None:
    replica = replica_in_bursts(few_places, classes)
    for share in np.linspace(0.01, 1, 50):
        load = load_at(replica, share * replica.most_in_line, steady=False)
        most = (1 + replica.most_in_line) * load.flow.rate_per_s / replica.served_when_full
        assert load.met[0] <= most[0] * (1 + 1e-9)
        assert 0 <= load.swing.kept[0] <= 1


@pytest.mark.parametrize("classes", [DOCUMENTS, SHORT_AND_LONG])
def test_first_tokens_come_later_the_more_run(few_places: Setup, classes: Classes) -> None:
    replica = replica_in_bursts(few_places, classes)
    points = [at_concurrency(replica, share * replica.most_in_line) for share in np.linspace(0, 1, 60)]
    for name in ("mean", "p50", "p95", "p99"):
        ttft = np.array([point.ttft_s[name][0] for point in points])
        assert np.all(np.diff(ttft, axis=0) >= -1e-9)


def test_all_have_a_place_where_there_is_room_and_none_more_where_there_is_none() -> None:
    def found(room: float) -> tuple[float, float]:
        one = np.ones(1)
        swing = swings(
            2 * one,
            0.1 * one,
            uneven=5 * one,
            output=100 * one,
            slower_s=1e-3 * one,
            behind=PromptsBehind(one, 0.1 * one),
            room=room * one,
        )
        return float(swing.more[0]), float(swing.kept[0])

    # of g = 0.25: (g (z − 1) + rate · d · B) / (1 − g)
    assert found(1e9) == pytest.approx(((0.25 * 4 + 0.2) / 0.75, 1.0))
    assert found(0.0) == (0.0, 0.0)
    assert found(1.6) == pytest.approx((0.8, 0.5))


def test_answers_that_end_apart_swing_less() -> None:
    def demand(output: list[float], share: list[float]) -> TokenMix:
        row, alike = np.array([output]), np.full((1, len(output)), 1000.0)
        return TokenMix(alike, 0 * alike, row, np.array([share]))

    def variation(at_once: float) -> float:
        one = np.ones(1)
        return float(count_variation(0 * one, squared_variation=one, of_arrivals=4 * one, at_once=at_once * one)[0])

    apart = demand([600.0, 150.0], [0.3, 0.7])
    # the shorter of two is 600 tokens for 9 % of pairs, else 150
    assert apart.at_once[0] == pytest.approx((0.09 * 600 + 0.91 * 150) / 285)
    assert demand([250.0, 250.0], [0.4, 0.6]).at_once[0] == pytest.approx(1)
    assert variation(1.0) == pytest.approx(4)
    assert variation(0.5) == pytest.approx(2.5)


def test_percentiles_lean_as_those_of_a_gamma_number() -> None:
    exponential = np.array([2.0])
    for name, share in (("p50", 0.5), ("p95", 0.05), ("p99", 0.01)):
        assert skewed_deviation(name, exponential)[0] == pytest.approx(-math.log(share) - 1, rel=0.03)
    assert skewed_deviation("p95", np.zeros(1))[0] == pytest.approx(1.645, rel=1e-3)
