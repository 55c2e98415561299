"""A month that its share of a limit left unproven is planned again in what other months left of it."""

from decimal import Decimal
from types import SimpleNamespace

import pytest

from optimizer.answers.ahead.lifecycle import fleets
from optimizer.answers.ahead.lifecycle.fleets import FleetAtDemand, Fleets
from optimizer.base.clock import Clock


class Watch:
    """Seconds as it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_fast_months_leave_goes_to_the_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, asked = Watch(), []
    whole = Clock(120, now=watch)

    def planned(question: SimpleNamespace, _: object) -> FleetAtDemand:
        asked.append(question.clock.time_limit_s)
        slow = len(asked) in (1, 13)
        watch.now += min(20.0, question.clock.time_limit_s) if slow else 1.0
        proven = not slow or question.clock.time_limit_s >= 20
        usd = Decimal(100 if proven else 200)
        return FleetAtDemand(question, "optimal" if proven else "feasible", "", usd, 0.0, None, usd)

    monkeypatch.setattr(fleets, "first_with_a_plan", planned)
    monkeypatch.setattr(fleets, "replace", lambda each, **changes: SimpleNamespace(**{**vars(each), **changes}))
    monkeypatch.setattr(FleetAtDemand, "of", lambda found: found)
    policy = SimpleNamespace(migration=None)
    life = Fleets(SimpleNamespace(scenario=SimpleNamespace(policy=policy), clock=whole))  # type: ignore[arg-type]
    factors = [1.0 + month / 10 for month in range(12)]
    first = [life.next(factor, whole.share(1 / (12 - n))) for n, factor in enumerate(factors)]
    assert [each.outcome for each in first] == ["feasible", *["optimal"] * 11]
    again = life.in_time_left(factors)
    assert list(again) == [1.0]
    assert (again[1.0].outcome, again[1.0].usd, asked[-1]) == ("optimal", 100, 120 - 10 - 11)
