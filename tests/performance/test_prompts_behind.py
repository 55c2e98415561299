"""An answer waits for the prompts that came while its own stood in line.

The longer the prompts and the shorter it is, the more that is of its time per token. Nothing of the formula is fitted,
so a simulated replica says whether it is right.
"""

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.predict import Mix, demand_of, most_served, operate
from optimizer.performance.physics.prompts_behind import prompts_behind
from optimizer.performance.physics.queueing import ArrivalVariation
from optimizer.performance.physics.replica_model import replica_model
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.steady_state import OperatingPoint
from optimizer.performance.simulation.arrivals import Classes, renewal
from optimizer.performance.simulation.costs import replica_costs
from optimizer.performance.simulation.replica import serve

REQUESTS = 15_000
WARM_UP = 1_500

LONG_PROMPTS = Classes(np.ones(1), np.array([3000]), np.array([100]))
SHORT_AND_LONG_ANSWERS = Classes(np.array([0.5, 0.5]), np.array([1000, 1000]), np.array([50, 400]))
LONG_PROMPTS_AMONG_OTHERS = Classes(
    np.array([0.21, 0.15, 0.49, 0.15]), np.array([3000, 300, 900, 900]), np.array([100, 250, 250, 100])
)


@pytest.fixture(scope="module")
def setup(catalogs: Catalogs) -> Setup:
    return gather(catalogs, [Configuration("vllm", "llama-3.3-70b", "h100-sxm", "fp8", "fp8", 4, 1)])


def mix_of(classes: Classes) -> Mix:
    return Mix(classes.input_tokens.astype(float), classes.output_tokens.astype(float), classes.share, 0.0)


def rate_at(setup: Setup, classes: Classes, load: float) -> float:
    replica = replica_model(setup, demand_of(mix_of(classes), 1))
    return load * float(most_served(replica, replica.most_in_line)[0])


def predicted(setup: Setup, classes: Classes, rate_per_s: float, cv2: float = 1.0) -> OperatingPoint:
    plain = mix_of(classes)
    mix = Mix(plain.input_tokens, plain.output_tokens, plain.share, 0.0, ArrivalVariation(cv2, rate_per_s))
    return operate(setup, mix, np.array([rate_per_s]))


def simulated(setup: Setup, classes: Classes, rate_per_s: float, cv2: float = 1.0) -> list[Floats]:
    """Seconds per token after the first of each request, by class."""
    costs, stream = replica_costs(setup, 0), renewal(np.random.default_rng(0), classes, rate_per_s, REQUESTS, cv2)
    work = costs.work(stream.input_tokens, np.zeros_like(stream.input_tokens), stream.output_tokens)
    done = serve(costs, stream.arrived_s, work)
    tpot = ((done.finished_s - done.first_token_s) / (stream.output_tokens - 1))[WARM_UP:]
    return [tpot[stream.request_class[WARM_UP:] == number] for number in range(len(classes.share))]


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_short_answers_to_long_prompts_take_as_long_as_simulated(setup: Setup, load: float) -> None:
    rate = rate_at(setup, LONG_PROMPTS, load)
    (own,), point = simulated(setup, LONG_PROMPTS, rate), predicted(setup, LONG_PROMPTS, rate)
    assert point.tpot_s["mean"][0] == pytest.approx(own.mean(), rel=0.05)
    assert point.tpot_s["p50"][0] == pytest.approx(np.median(own), rel=0.05)
    assert point.tpot_s["p95"][0] == pytest.approx(np.quantile(own, 0.95), rel=0.12)


@pytest.mark.parametrize("classes", [SHORT_AND_LONG_ANSWERS, LONG_PROMPTS_AMONG_OTHERS])
def test_the_class_that_has_most_is_told(setup: Setup, classes: Classes) -> None:
    rate = rate_at(setup, classes, 0.6)
    means = [own.mean() for own in simulated(setup, classes, rate)]
    point = predicted(setup, classes, rate)
    assert int(np.argmax(means)) == 0
    assert point.tpot_s["mean"][0] == pytest.approx(max(means), rel=0.05)
    # the mean request's is another one, by which whole requests are told
    assert point.requests.tpot_s["mean"][0] < point.tpot_s["mean"][0]


def test_bursts_put_more_prompts_behind(setup: Setup) -> None:
    rate = rate_at(setup, LONG_PROMPTS, 0.6)
    means = {cv2: simulated(setup, LONG_PROMPTS, rate, cv2)[0].mean() for cv2 in (0.3, 4.0)}
    for cv2, mean in means.items():
        assert predicted(setup, LONG_PROMPTS, rate, cv2).tpot_s["mean"][0] == pytest.approx(mean, rel=0.15)
    assert means[4.0] > 1.3 * means[0.3]


def test_a_class_written_as_two_is_the_same(setup: Setup) -> None:
    rate = rate_at(setup, LONG_PROMPTS, 0.6)
    twice = Classes(np.array([0.5, 0.5]), np.array([3000, 3000]), np.array([100, 100]))
    once, halves = predicted(setup, LONG_PROMPTS, rate), predicted(setup, twice, rate)
    for name, seconds in once.tpot_s.items():
        np.testing.assert_allclose(halves.tpot_s[name], seconds, rtol=1e-9)
        np.testing.assert_allclose(halves.e2e_s[name][:, 0], once.e2e_s[name][:, 0], rtol=1e-9)


def test_nothing_stands_behind_where_requests_come_evenly_or_hardly_at_all() -> None:
    def number(rate_per_s: float, cv2: float) -> float:
        one = np.ones(1)
        found = prompts_behind(
            rate_per_s * one,
            0.2 * one,
            0.02 * one,
            in_a_step=one,
            squared_variation=0 * one,
            of_arrivals=cv2 * one,
        )
        return float(found.number[0])

    assert number(2.0, 0.0) == 0
    assert number(1e-9, 1.0) == pytest.approx(0, abs=1e-6)
    assert 0 < number(1.0, 1.0) < number(2.0, 1.0) < number(2.0, 4.0)
