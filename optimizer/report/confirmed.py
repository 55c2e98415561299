"""What simulated requests say of a plan, in a line."""

from collections.abc import Iterator

from optimizer.plan.record.simulation import MeasuredLimit, SimulatedClass, Simulation

METRICS = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "end to end"}


def confirmed_line(found: Simulation | None) -> str:
    """The promise with the least to spare; empty where nothing was simulated or promised."""
    limits = list(_by_room(found)) if found else []
    if found is None or not limits:
        return ""
    item, tightest = min(limits, key=lambda pair: pair[1].limit_ms / max(pair[1].value_ms, 1e-9))
    text = f"simulated, {found.requests:,} requests, arrivals {found.arrivals}: {promise(item, tightest)}"
    others = len(limits) - 1
    if not others:
        return text
    broken = sum(limit.verdict == "broken" for _, limit in limits) - (tightest.verdict == "broken")
    rest = f"{broken} more broken" if broken else "the others have more to spare"
    return f"{text}; {rest}"


def promise(item: SimulatedClass, limit: MeasuredLimit) -> str:
    """One promise and what was measured of it."""
    high = "more" if limit.high_ms is None else f"{limit.high_ms:,.0f}"
    return (
        f"{item.workload} {item.request_class} {METRICS[limit.metric]} {limit.statistic} {limit.value_ms:,.0f} ms "
        f"({limit.low_ms:,.0f}–{high}), limit {limit.limit_ms:,.0f}: {limit.verdict}"
    )


def _by_room(found: Simulation) -> Iterator[tuple[SimulatedClass, MeasuredLimit]]:
    return ((item, limit) for item in found.classes for limit in item.limits)
