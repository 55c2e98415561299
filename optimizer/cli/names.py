"""Names that help texts list, stated here so that help waits for nothing; a test holds them to what is known below."""

from typing import Final

COMPARABLE: Final = ("provider", "gpu", "precision", "pricing_term", "region", "hosting")
SWEEPABLE: Final = ("ttft_ms", "tpot_ms", "requests_per_second", "min_quality", "confidence")
TARGETS: Final = (
    "vllm",
    "sglang",
    "trtllm",
    "kubernetes",
    "kserve",
    "llm-d",
    "skypilot",
    "dstack",
    "ray-serve",
    "dynamo",
    "terraform",
    "compose",
    "focus",
)
DIMENSIONS: Final = ("metric", "gpu", "engine", "model_kind", "precision", "parallelism", "load", "source")
DEFAULT_BY: Final = ("metric", "engine+load", "gpu", "model_kind", "precision", "parallelism", "source")
SCHEMAS: Final = (
    "check",
    "compare",
    "experiment",
    "explanation",
    "frontier",
    "gate",
    "horizon",
    "lifecycle",
    "plan",
    "portfolio",
    "portfolio-file",
    "replan",
    "risk",
    "scenario",
    "simulate",
    "sweep",
    "verify",
    "watch",
    "why-not",
)
LISTINGS: Final = (
    "gpus",
    "offers",
    "sellers",
    "regions",
    "round-trips",
    "grid",
    "price_checks",
    "price_trends",
    "risk_spreads",
    "serverless_checks",
    "thinking",
    "length-profiles",
    "models",
    "aliases",
    "precisions",
    "kernels",
    "quality",
    "quality-spreads",
    "engines",
    "serverless",
    "per-second",
    "start-up",
    "ancillary",
    "calibration",
    "sources",
)
LOAD_GENERATORS: Final = ("vllm", "guidellm", "aiperf", "sglang")
FORMATS: Final = ("skypilot", "gpuhunt", "plain", "litellm", "genai-prices")
MOST_SHOWN: Final = 15
