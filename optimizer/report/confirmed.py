"""What simulated requests say of a plan, in a line."""

from collections.abc import Iterator

from optimizer.plan.record.simulation import MeasuredLimit, SimulatedClass, Simulation
from optimizer.plan.simulate.judging import promises, room

METRICS = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "end to end"}
DRAWN = "drawn as the trace has them: simulate --trace FILE sends them as recorded"


def confirmed_line(found: Simulation | None) -> str:
    """The promise with the least to spare; empty where nothing was simulated or promised."""
    limits = list(promises(found)) if found else []
    if found is None or not limits:
        return ""
    item, tightest = min(limits, key=room)
    source = f" ({_source(found)})" if _source(found) else ""
    text = f"simulated, {found.requests:,} requests, arrivals {found.arrivals}{source}: {promise(item, tightest)}"
    broken = sum(limit.verdict == "broken" for _, limit in limits) - (tightest.verdict == "broken")
    rest = f"{broken} more broken" if broken else "the others have more to spare"
    return "; ".join([text, *([rest] if len(limits) > 1 else []), *_prefixes(found), *_rounds(found)])


def confirmed_in_short(found: Simulation | None) -> str:
    """Whether every promise held; empty where nothing was simulated or promised."""
    verdicts = [limit.verdict for _, limit in promises(found)] if found else []
    if found is None or not verdicts:
        return ""
    source = f", {_source(found)}" if _source(found) else ""
    broken, undecided = verdicts.count("broken"), verdicts.count("undecided")
    told = [f"{broken} broken"] * bool(broken) + [f"{undecided} undecided"] * bool(undecided)
    verdict = f"of {len(verdicts)} promises {', '.join(told)}" if told else "all promises hold"
    again = ", after planning again where one broke" if any(not item.left_no_plan for item in found.rounds) else ""
    beside = [*([DRAWN] if _drawn(found) else []), *_prefixes(found)]
    counted = f"{verdict} in {found.requests:,} simulated requests ({found.arrivals}{source}){again}"
    return ", ".join([counted, *beside])


def _source(found: Simulation) -> str:
    """Where it comes from how requests arrive, of the workloads whose scenario does not say it."""
    sources = (("assumed", found.assumed), ("read from the trace", _drawn(found)))
    return ", ".join(words for words, workloads in sources if workloads)


def _drawn(found: Simulation) -> list[str]:
    """Workloads whose trace says how requests arrive, and which were not sent as they were recorded."""
    return sorted(set(found.from_trace) - set(found.recorded))


def _prefixes(found: Simulation) -> Iterator[str]:
    """What caches found of prompts that a record knows, by class."""
    for item in found.classes:
        if item.prefix_cache is not None:
            each = item.prefix_cache
            counted = f"cached_input_share counts on {each.planned_share:.0%}, {each.repeated_share:.0%} repeat"
            yield f"caches found {each.found_share:.0%} of the prompt tokens of {item.workload} ({counted})"


def _rounds(found: Simulation) -> Iterator[str]:
    """What replicas were found to hold in plans before this one, each as it was found last."""
    solved = [item for item in found.rounds if not item.left_no_plan]
    held = {(each.workload, each.gpu, each.precision): each.text for item in solved for each in item.lowered}
    if solved:
        times = "once" if len(solved) == 1 else f"{len(solved)} times"
        yield f"planned again {times} since a promise broke: {', '.join(held.values())}"
    for item in found.rounds[len(solved) :]:
        yield f"counting on no more than that leaves no plan: {', '.join(each.text for each in item.lowered)}"


def promise(item: SimulatedClass, limit: MeasuredLimit) -> str:
    """One promise and what was measured of it."""
    high = "more" if limit.high_ms is None else f"{limit.high_ms:,.0f}"
    return (
        f"{item.workload} {item.request_class} {METRICS[limit.metric]} {limit.statistic} {limit.value_ms:,.0f} ms "
        f"({limit.low_ms:,.0f}–{high}), limit {limit.limit_ms:,.0f}: {limit.verdict}"
    )
