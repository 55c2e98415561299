"""Parts of purchase problems made by hand: whatever a test does not say is one, none or the same for all."""

from typing import Any

import numpy as np
import numpy.typing as npt

from optimizer.program.problem.data import Candidates, Offers


def plain_candidates(offer: npt.ArrayLike, rate_per_s: npt.ArrayLike, **said: Any) -> Candidates:
    """Candidates on those offers that serve those rates of each mix: one GPU each, one configuration, none running."""
    rates = np.array(rate_per_s)
    count = len(rates)
    alike: dict[str, Any] = {
        "ids": tuple(f"c{number:02d}" for number in range(count)),
        "configuration": ("x",) * count,
        "engine": ("e",) * count,
        "gpus_per_replica": np.ones(count, dtype=np.int64),
        "replicas_in_force": np.zeros(count, dtype=np.int64),
    }
    return Candidates(offer=np.array(offer), rate_per_s=rates, **alike | said)


def plain_offers(usd_per_hour: npt.ArrayLike, **said: Any) -> Offers:
    """Offers at those prices: one GPU each, plenty there, each at a provider and in a region of its own, on demand."""
    prices = np.array(usd_per_hour, dtype=np.float64)
    count, unknown = len(prices), np.full(len(prices), np.nan)
    names = tuple(f"o{number}" for number in range(count))
    alike: dict[str, Any] = {
        "ids": names,
        "gpus_per_instance": np.ones(count, dtype=np.int64),
        "power_kw": unknown,
        "carbon_kg_per_hour": unknown,
        "available": np.full(count, np.inf),
        "provider": names,
        "region": names,
        "gpu": names,
        "spot": np.zeros(count, dtype=np.bool_),
        "always_paid": np.zeros(count, dtype=np.bool_),
    }
    return Offers(price_usd_per_hour=prices, **alike | said)
