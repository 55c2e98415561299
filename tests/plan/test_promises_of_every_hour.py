"""Over days a promise is one of each hour: of a day in which one hour is late it is broken, by chance it is not."""

from types import SimpleNamespace

import numpy as np

from optimizer.inputs.scenario.scenario import Workload
from optimizer.plan.record.simulation import SimulatedClass
from optimizer.plan.simulate.hours import held_by_hour
from optimizer.plan.simulate.judging import ServedRequests, judged

CHAT = Workload.model_validate(
    {
        "name": "chat",
        "model": "llama-3.1-8b",
        "requests_per_second": 1,
        "input_tokens": 100,
        "output_tokens": 10,
        "slo": {"ttft_ms": {"p95": 500}},
    }
)
SERVICE = SimpleNamespace(names=("all",), workload=CHAT)


def found(late_hour: int | None, share_late: float = 0.04) -> SimulatedClass:
    """A day of a thousand requests an hour, of which so many are late, and in one hour a fifth."""
    luck = np.random.default_rng(0)
    arrived_s = np.sort(luck.uniform(0, 24 * 3600, 24_000))
    late = luck.uniform(size=len(arrived_s)) < np.where(arrived_s // 3600 == late_hour, 0.2, share_late)
    ms = np.where(late, 900.0, 100.0)
    latencies = {"ttft_ms": ms, "tpot_ms": ms, "e2e_ms": ms}
    sample = ServedRequests(arrived_s, arrived_s / arrived_s[-1], np.zeros(len(ms), dtype=np.int64), latencies)
    (item,) = held_by_hour(SERVICE, sample, judged(SERVICE, sample))  # type: ignore[arg-type]
    return item


def test_an_hour_that_breaks_a_promise_is_told_whatever_the_day_is() -> None:
    """The day as a whole keeps it: 4.7 of 100 are late."""
    (limit,) = found(late_hour=8).limits
    assert (limit.verdict, limit.hour, limit.value_ms) == ("broken", 8, 900.0)


def test_of_many_hours_none_breaks_a_promise_by_chance() -> None:
    (limit,) = found(late_hour=None).limits
    assert (limit.verdict, limit.hour) == ("holds", None)
