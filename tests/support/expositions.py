"""Metrics as engines expose them to Prometheus, written from requests that somebody made up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optimizer.base.arrays import Floats

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
"""As `export` has it served."""
SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 20.0)
TOKENS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
VLLM = {
    "requests": "vllm:request_success_total",
    "input_tokens": "vllm:request_prompt_tokens",
    "output_tokens": "vllm:request_generation_tokens",
    "ttft_s": "vllm:time_to_first_token_seconds",
    "tpot_s": "vllm:request_time_per_output_token_seconds",
    "kv": "vllm:kv_cache_usage_perc",
    "prompts": "vllm:prompt_tokens_total",
    "cached": "vllm:prompt_tokens_cached_total",
}
SGLANG = {
    "requests": "sglang:num_requests_total",
    "input_tokens": "sglang:prompt_tokens_histogram",
    "output_tokens": "sglang:generation_tokens_histogram",
    "ttft_s": "sglang:time_to_first_token_seconds",
    "tpot_s": "sglang:request_time_per_output_token_seconds",
    "kv": "sglang:token_usage",
    "prompts": "sglang:prompt_tokens_total",
    "cached": "sglang:cached_tokens_total",
}


@dataclass(frozen=True)
class Served:
    """Requests that a server has answered since it started: as predicted, unless said otherwise."""

    requests: int = 2700
    input_tokens: float = 1024
    output_tokens: float = 256
    ttft_s: float = 0.12
    tpot_s: float = 0.0217
    kv: float = 0.12
    cached: float = 0.0
    labels: Mapping[str, str] = field(default_factory=lambda: {"engine": "0", "model_name": LLAMA})

    def text(self, names: Mapping[str, str] = VLLM, at_ms: int | None = None) -> str:
        """What its /metrics says."""
        stamp = "" if at_ms is None else f" {at_ms}"
        lines = [
            *self._histogram(names["input_tokens"], self.input_tokens, TOKENS),
            *self._histogram(names["output_tokens"], self.output_tokens, TOKENS),
            *self._histogram(names["ttft_s"], self.ttft_s, SECONDS),
            *self._histogram(names["tpot_s"], self.tpot_s, SECONDS),
            self._line(names["kv"], self.kv),
            self._line(names["prompts"], self.requests * self.input_tokens),
            self._line(names["cached"], self.requests * self.input_tokens * self.cached),
            self._line(names["requests"], self.requests, finished_reason="stop"),
            self._line(names["requests"], 0.0, finished_reason="abort"),
        ]
        head = f"# HELP {names['requests']} Count.\n# TYPE {names['requests']} counter\n"
        return head + "".join(f"{line}{stamp}\n" for line in lines)

    def _histogram(self, name: str, mean: float, edges: Sequence[float]) -> list[str]:
        """Values spread evenly by half their mean to either side."""
        values: Floats = mean * np.linspace(0.5, 1.5, self.requests)
        buckets = [(f"{edge:g}", float(np.sum(values <= edge))) for edge in edges]
        lines = [self._line(f"{name}_bucket", count, le=edge) for edge, count in [*buckets, ("+Inf", len(values))]]
        return [*lines, self._line(f"{name}_count", len(values)), self._line(f"{name}_sum", float(np.sum(values)))]

    def _line(self, name: str, value: float, **more: str) -> str:
        labels = ",".join(f'{key}="{text}"' for key, text in {**self.labels, **more}.items())
        return f"{name}{{{labels}}} {value}"
