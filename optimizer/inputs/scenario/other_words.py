"""What other tools and people call the fields of a scenario, for who writes their word."""

from collections.abc import Collection
from typing import Final

from optimizer.base.errors import did_you_mean

_WORDS: Final = {
    "requests_per_second": ("rps", "qps", "rate", "request_rate", "throughput", "traffic"),
    "input_tokens": ("prompt_tokens", "prompt_length", "prompt_len", "input_length", "input_len", "isl"),
    "output_tokens": (
        *("completion_tokens", "answer_tokens", "output_length", "output_len", "osl"),
        *("max_tokens", "max_new_tokens"),
    ),
    "cached_input_share": ("cache_hit_rate", "cache_hit_share", "prefix_cache", "prefix_cache_hit_rate"),
    "slo": ("sla", "slas", "slos", "latency", "targets", "limits"),
    "tpot_ms": ("itl", "itl_ms", "inter_token_latency", "inter_token_latency_ms", "time_per_output_token"),
    "e2e_ms": ("latency", "latency_ms", "e2e_latency", "e2e_latency_ms", "request_latency"),
    "max_monthly_usd": ("budget", "budget_usd", "monthly_budget", "max_budget", "max_cost", "max_spend", "cost"),
    "providers": ("cloud", "clouds", "vendor", "vendors"),
    "precisions": ("quantization", "quantizations", "dtype", "dtypes"),
    "pricing_terms": ("term", "terms", "commitment", "commitments", "reserved"),
    "availability": ("redundancy", "ha", "fault_tolerance"),
    "max_utilization": ("headroom", "target_utilization"),
}
"""By field, which is looked for where the word stands."""

_ELSEWHERE: Final = dict.fromkeys(
    ("owned", "own_hardware", "inventory", "on_prem", "on_premise", "on_premises"),
    "machines of your own stand in owned.csv in a folder given with --catalogs",
)
"""What is no field of a scenario at all."""


def field_meant(word: str, known: Collection[str]) -> str:
    """The known fields that an unknown one may stand for, as a hint, or all of them."""
    asked = word.casefold()
    called = [field for field, others in _WORDS.items() if asked in others and field in known]
    if called:
        return f"did you mean {called[0]}?"
    return _ELSEWHERE.get(asked) or did_you_mean(word, known) or f"known here: {', '.join(sorted(known))}"
