"""The question of a scenario in a few lines: what must be served, within which limits, under which policy."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from optimizer.base.figures import exactly
from optimizer.inputs.scenario.demand import arrivals_in_words
from optimizer.inputs.scenario.policy import DEFAULT_CONFIDENCE, Migration
from optimizer.inputs.scenario.restating import rate_in_words
from optimizer.inputs.scenario.scenario import AllowDeny, Latency, Policy, Scenario, Workload

LATENCIES: Final = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "e2e_ms": "end to end"}
POLICY: Final = "policy: "
"""How the last line begins."""
DEFAULT_BOUNDS: Final = f"planned on {exactly(DEFAULT_CONFIDENCE * 100)} % bounds"
"""How the line of a policy ends that asks for no other, and all of it where nothing is asked beyond defaults."""
UNSAID: Final = frozenset({"migration", "grid", "flag_price_age_days"})
"""Parts of a policy that are too long for a line."""


def asked(scenario: Scenario) -> list[str]:
    """A line for each workload, then one for what else was asked of the plan."""
    return [*(f"{each.name}: {', '.join(_workload(each))}" for each in scenario.workloads), _policy(scenario.policy)]


def _workload(workload: Workload) -> Iterator[str]:
    yield " or ".join([workload.model, *(other.model for other in workload.alternatives)])
    yield ", ".join(workload.stated_as) or rate_in_words(workload)
    yield _lengths(workload)
    if workload.arrivals is not None:
        read_from = workload.arrivals.read_from
        source = f" (read from {read_from})" if read_from else ""
        yield f"arrivals {_recorded(workload)}{arrivals_in_words(workload.arrival_cv2)}{source}"
    if workload.lora_adapters is not None:
        yield "one LoRA adapter, merged into the weights"
    if workload.cached_input_share:
        yield f"{workload.cached_input_share:.0%} of prompt tokens cached"
    for model in (workload.model, *(other.model for other in workload.alternatives)):
        drafts = [f"{each.name} (keeps {exactly(each.accepted_tokens or 1)})" for each in workload.drafts_of(model)]
        if drafts:
            yield f"{model} may draft {' or '.join(drafts)}"
    limits = list(latency_limits(workload))
    yield from limits or ["no latency promised"]
    if workload.users_in and workload.network_ms is None:
        yield f"users in {', '.join(workload.users_in)}"
    elif workload.network_ms is not None:
        yield f"network round trip {_round_trip(workload.network_ms)}"
    if workload.slo.ttft_overhead_ms:
        yield f"{exactly(workload.slo.ttft_overhead_ms)} ms of TTFT before the model"
    if workload.min_quality is not None:
        yield f"quality ≥ {exactly(workload.min_quality)}"
    if workload.min_quality_worst is not None:
        yield f"worst benchmark ≥ {exactly(workload.min_quality_worst)}"
    if workload.unknown_quality != "avoid":
        yield f"unknown quality: {workload.unknown_quality}"
    for place in ("providers", "regions", "countries"):
        if (lists := getattr(workload, place)).restricts:
            yield f"{place} {lists.words}"
    if workload.min_replicas:
        yield f"at least {_replicas(workload.min_replicas)}"
    if workload.max_replicas is not None:
        yield f"at most {_replicas(workload.max_replicas)}"


def _recorded(workload: Workload) -> str:
    """What is sent as it was recorded, where requests are not drawn."""
    kept = None if workload.arrivals is None else workload.arrivals.recorded
    if kept is None or len(workload.classes()) > 1 or not kept.are_enough_at(workload.peak_requests_per_second()):
        return ""
    return f"as recorded ({len(kept.rows()):,} requests), to formulas "


def _round_trip(network_ms: Mapping[str, float]) -> str:
    """The user's own, in all regions or by region."""
    by_region = [f"{'' if region == '*' else f'{region} '}{exactly(ms)} ms" for region, ms in network_ms.items()]
    return ", ".join(by_region)


def _lengths(workload: Workload) -> str:
    classes = workload.classes()
    prompts, answers = zip(*((item.input_tokens, item.output_tokens) for item in classes), strict=True)
    kinds = f"{len(prompts)} classes of " if len(prompts) > 1 else ""
    words = f"{kinds}{_span(prompts)} {_tokens(prompts)} in and {_span(answers)} out"
    lengths = [kind for item in classes for kind in item.lengths or ()]
    if not lengths:
        return words
    longest = max(item.input_tokens for item in lengths), max(item.output_tokens for item in lengths)
    read_from = "; ".join(item.read_from for item in classes if item.read_from)
    source = f"; read from {read_from}" if read_from else ""
    return f"{words} on average (up to some {longest[0]:,} and {longest[1]:,}{source})"


def _tokens(counts: Sequence[int]) -> str:
    return "token" if max(counts) == 1 else "tokens"


def _replicas(count: int) -> str:
    return f"{count:,} replica{'' if count == 1 else 's'}"


def _span(tokens: Sequence[int]) -> str:
    low, high = min(tokens), max(tokens)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def latency_limits(workload: Workload) -> Iterator[str]:
    """Each latency that is promised, such as TTFT p95 ≤ 500 ms."""
    for field, name in LATENCIES.items():
        latency: Latency | None = getattr(workload.slo, field)
        for statistic, limit_ms in (latency.limits_ms() if latency else {}).items():
            yield f"{name} {statistic} ≤ {exactly(limit_ms)} ms"


def _policy(policy: Policy) -> str:
    """What the scenario asks beyond defaults, field by field, and how sure the plan is to be."""
    written = policy.model_dump(mode="json", exclude_defaults=True, exclude={"confidence", *UNSAID})
    parts = [f"{_words(name)} {_value(getattr(policy, name), value)}" for name, value in written.items()]
    parts += _migration(policy.migration)
    return POLICY + "; ".join([*parts, f"planned on {exactly(policy.confidence * 100)} % bounds"])


def _migration(asked: Migration | None) -> Iterator[str]:
    """How far the plan may move from what runs today, and what a change costs."""
    if asked is not None:
        most = "" if asked.max_changes is None else f" by at most {asked.max_changes} replicas"
        each = f", ${asked.usd_per_change:,.2f} a replica started or stopped" if asked.usd_per_change else ""
        yield f"moves from what runs today{most}{each}"


def _value(value: Any, plain: Any) -> str:
    """A value of the policy as people would say it."""
    if isinstance(value, AllowDeny):
        return value.words
    if isinstance(plain, Mapping):
        return ", ".join(f"{_words(name)} {_value(None, each)}" for name, each in plain.items())
    if isinstance(plain, list):
        return ", ".join(_value(None, each) for each in plain)
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    return exactly(plain) if isinstance(plain, int | float) else str(plain).replace("_", " ")


def _words(name: str) -> str:
    return name.removesuffix("_usd").replace("_", " ")
