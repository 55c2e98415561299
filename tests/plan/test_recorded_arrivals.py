"""What replicas are sent of a record: a part of every burst, or all of it faster, as long as is asked."""

from typing import Any

import numpy as np
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.simulation.arrivals import Stream
from optimizer.plan.grounds.question import asked
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.servers import ServedWorkload, services
from optimizer.plan.verify.claim import Claim

COUNT = 2000
GAPS_MS = np.random.default_rng(2).integers(0, 200, COUNT)
RECORD = {
    "peak_requests_per_second": 10.0,
    "input_tokens": 500,
    "output_tokens": 100,
    "requests": " ".join(f"{gap}/{400 + gap}/100" for gap in GAPS_MS),
}
WORKLOAD: dict[str, Any] = {
    "name": "chat",
    "model": "llama-3.1-8b",
    "requests_per_second": 10,
    "input_tokens": 500,
    "output_tokens": 100,
    "arrivals": {"cv2": 2, "recorded": RECORD},
    "slo": {"ttft_ms": 800},
}
TWO_CLASSES = [{"share": 0.5, "input_tokens": each, "output_tokens": 9} for each in (90, 900)]
RNG = np.random.default_rng(0)


def served(catalogs: Catalogs, **changes: Any) -> ServedWorkload:
    """A workload of ten requests a second, or as asked, on its plan."""
    policy = {"gpus": {"allow": ["l40s"]}, "precisions": ["fp8"], "engines": ["vllm"]}
    scenario = Scenario.model_validate({"name": "s", "workloads": [WORKLOAD | changes], "policy": policy})
    (service,) = services(Claim(scenario, catalogs, read_back(solved(Inquiry.of(scenario, catalogs)))), 0.9)
    return service


@pytest.fixture(scope="module")
def service(catalogs: Catalogs) -> ServedWorkload:
    return served(catalogs)


def sent(service: ServedWorkload) -> Stream:
    return Arrivals.as_asked(service).stream(RNG, service, requests=7)


def test_at_its_own_rate_the_record_comes_as_it_was(service: ServedWorkload) -> None:
    assert Arrivals.as_asked(service).words == "as recorded"
    assert not Arrivals.as_asked(service).may_go_on
    assert sent(service).requests == pytest.approx(COUNT, abs=1)
    assert sent(service).span_s == pytest.approx(GAPS_MS[1:].sum() / 1000, rel=1e-3)


def test_less_is_a_part_of_more(service: ServedWorkload) -> None:
    """The same requests are left out whatever the plan is: what comes at a lower rate came at a higher one, too."""
    times = [set(sent(service.one_at(0, share)).arrived_s.tolist()) for share in (0.25, 0.5, 0.75)]
    assert times[0] < times[1] < times[2]
    half = sent(service.one_at(0, 0.5))
    assert half.requests == pytest.approx(COUNT / 2, rel=0.1)
    assert half.span_s == pytest.approx(sent(service).span_s, rel=0.01)


def test_more_comes_as_much_faster(catalogs: Catalogs) -> None:
    double = sent(served(catalogs, requests_per_second=20))
    assert double.requests == COUNT
    assert double.span_s == pytest.approx(GAPS_MS[1:].sum() / 2000)


def test_where_too_few_of_a_record_would_come_requests_are_drawn(catalogs: Catalogs, service: ServedWorkload) -> None:
    """At a ten-thousandth of the rate none came, and a plan of that ended in a traceback."""
    assert Arrivals.as_asked(served(catalogs, requests_per_second=0.001)) == Arrivals(2.0)
    assert Arrivals.as_asked(service.one_at(0, 0.09)).kept is None
    assert Arrivals.as_asked(service.one_at(0, 0.11)).kept is not None
    few = RECORD | {"requests": " ".join(f"{gap}/500/100" for gap in GAPS_MS[:30])}
    assert Arrivals.as_asked(served(catalogs, arrivals={"cv2": 2, "recorded": few})) == Arrivals(2.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "arrivals as recorded (2,000 requests), to formulas gamma"),
        ({"requests_per_second": 0.001}, "arrivals gamma"),
        ({"request_classes": TWO_CLASSES, "input_tokens": None, "output_tokens": None}, "arrivals gamma"),
    ],
)
def test_a_question_says_whether_requests_are_drawn(changes: dict[str, Any], said: str) -> None:
    assert said in asked(Scenario.model_validate({"name": "s", "workloads": [WORKLOAD | changes]}))[0]


def test_lengths_are_those_that_are_asked(catalogs: Catalogs, service: ServedWorkload) -> None:
    longer = sent(served(catalogs, output_tokens=250))
    assert set(longer.output_tokens.tolist()) == {250}
    assert longer.input_tokens.tolist()[:3] == sent(service).input_tokens.tolist()[:3]


def test_requests_of_several_classes_are_drawn(catalogs: Catalogs) -> None:
    classes = [{"share": 0.5, "input_tokens": tokens, "output_tokens": 100} for tokens in (300, 700)]
    two = served(catalogs, input_tokens=None, output_tokens=None, request_classes=classes)
    assert Arrivals.as_asked(two) == Arrivals(2.0)
