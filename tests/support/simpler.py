"""A question whose plan is shown for being simpler than the cheapest, over few offers."""

from dataclasses import replace
from typing import Final

from optimizer.inputs.catalog.records import Catalogs

SIMPLER: Final = {
    "name": "simpler",
    "workloads": [
        {
            "name": "answers",
            "model": "qwen2.5-32b",
            "requests_per_second": 3.6,
            "input_tokens": 6000,
            "output_tokens": 350,
            "cached_input_share": 0.3,
            "slo": {"ttft_ms": 2300, "tpot_ms": 45},
            "min_quality": 0.98,
        }
    ],
    "policy": {"pricing_terms": ["on_demand", "reserved_1y"]},
}
"""One server of h100-sxm is shown; three of a100-40-sxm are the cheapest, by some dollars."""
PLACES: Final = (("gcp", "europe-west1"), ("gcp", "europe-west4"), ("aws", "eu-west-1"), ("aws", "eu-north-1"))


def of_two_cards(catalogs: Catalogs) -> Catalogs:
    """What four regions sell of the two cards."""
    there = (offer for offer in catalogs.offers if (offer.provider, offer.region) in PLACES)
    return replace(catalogs, offers=tuple(offer for offer in there if offer.gpu in ("h100-sxm", "a100-40-sxm")))
