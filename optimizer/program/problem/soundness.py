"""Whether a purchase problem is one: shapes that fit together and values the proofs rely on."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers


def check(problem: Problem) -> None:
    """Raises ValueError with every fault found."""
    faults = list(_shape_faults(problem)) or list(_value_faults(problem))
    if faults:
        raise ValueError("not a purchase problem: " + "; ".join(faults))


def _shape_faults(problem: Problem) -> Iterator[str]:
    traffic = problem.traffic
    periods, (mixes, classes) = traffic.periods, traffic.mixes.shape
    count = {"traffic": None, "candidates": len(problem.candidates), "offers": len(problem.offers)}
    own = {
        "demand_per_s": (periods, classes),
        "start_share": (periods, periods),
        "least_replicas": (periods, len(set(traffic.workload))),
        "rate_per_s": (len(problem.candidates), mixes),
        "mixes": (mixes, classes),
        "classes": (classes,),
        "workload": (classes,),
        "share_of_month": (periods,),
    }
    for part in ("traffic", "candidates", "offers", "apis"):
        for name, value in vars(getattr(problem, part)).items():
            expected = own.get(name, (count.get(part, len(problem.apis)),))
            shape = (len(value),) if isinstance(value, tuple) else value.shape
            if shape != expected:
                yield f"{part}.{name} has shape {shape}, not {expected}"
    sending = problem.sending
    if len(sending.gb_per_request) and (len(sending.gb_per_request), len(sending.usd_per_gb)) != (
        classes,
        len(problem.offers),
    ):
        yield "sending does not tell every class and offer"
    if len(problem.billing.minimum_hours) not in (0, len(problem.offers)):
        yield "billing does not tell every offer"
    named = (traffic.classes, problem.candidates.ids, problem.offers.ids, problem.apis.ids)
    for what, names in zip(("request classes", "candidates", "offers", "APIs"), named, strict=True):
        if len(set(names)) != len(names):
            yield f"{what} repeat a name"
    if not classes or not periods:
        yield "there is no request class or no period"


def _value_faults(problem: Problem) -> Iterator[str]:
    traffic, candidates, offers = problem.traffic, problem.candidates, problem.offers
    limits, size, offer = problem.limits, candidates.gpus_per_replica, candidates.offer
    if ((offer < 0) | (offer >= len(offers))).any():
        yield "candidates.offer points outside the offers"
        return
    listed = np.array([o for quota in limits.quotas for o in quota.offers], dtype=np.int64)
    sent = np.concatenate([problem.sending.gb_per_request, problem.sending.usd_per_gb])
    week, least = problem.billing.hour_to_period, problem.billing.minimum_hours
    told = np.bincount(week, minlength=traffic.periods) / len(week) if len(week) else traffic.share_of_month
    wrong: dict[str, Any] = {
        "demand_per_s must be finite, not negative": ~(np.isfinite(traffic.demand_per_s) & (traffic.demand_per_s >= 0)),
        "every class must be wanted in some period": ~(traffic.demand_per_s > 0).any(axis=0),
        "share_of_month must be positive and sum to 1": np.append(
            traffic.share_of_month <= 0, not np.isclose(traffic.share_of_month.sum(), 1.0)
        ),
        "mixes must be non-negative with rows that sum to 1": ~(
            (traffic.mixes >= 0).all(axis=1) & np.isclose(traffic.mixes.sum(axis=1), 1.0)
        ),
        "rate_per_s must be finite, not negative": ~(np.isfinite(candidates.rate_per_s) & (candidates.rate_per_s >= 0)),
        "every candidate must serve something": ~(candidates.rate_per_s > 0).any(axis=1),
        "price_usd_per_hour must be positive and finite": ~(
            np.isfinite(offers.price_usd_per_hour) & (offers.price_usd_per_hour > 0)
        ),
        "gpus_per_replica must be a power of two": (size < 1) | (size & (size - 1) != 0),
        "gpus_per_replica exceeds the instance": size > offers.gpus_per_instance[offer],
        "a power limit needs the power of every offer": np.isnan(offers.power_kw) & (limits.max_power_kw is not None),
        "a carbon limit needs the carbon of every offer": np.isnan(offers.carbon_kg_per_hour)
        & (limits.max_carbon_kg_per_month is not None),
        "a quota points outside the offers": (listed < 0) | (listed >= len(offers)),
        "an API costs something per request": ~(problem.apis.usd_per_request > 0)
        | ~np.isfinite(problem.apis.usd_per_request),
        "sending must be finite, not negative": ~(np.isfinite(sent) & (sent >= 0)),
        "minimum_hours must be from 1 to a week": (least < 1) | (least > len(week)),
        "hour_to_period must be what share_of_month is": ~np.isclose(told, traffic.share_of_month),
        "apis.mix points outside the mixes": (problem.apis.mix < 0) | (problem.apis.mix >= len(traffic.mixes)),
        "a candidate serves several workloads": _workloads_served(problem) > 1,
        "start_share must not be negative": traffic.start_share < 0,
        "least_replicas must not be negative": traffic.least_replicas < 0,
        "replicas_in_force must not be negative": candidates.replicas_in_force < 0,
        "usd_per_change must not be negative": np.array(limits.usd_per_change < 0),
    }
    yield from (text for text, flags in wrong.items() if flags.any())


def _workloads_served(problem: Problem) -> Ints:
    """(C,) how many workloads the mixes of each candidate belong to."""
    traffic = problem.traffic
    member = label_numbers(traffic.workload)[:, None] == np.arange(len(set(traffic.workload)))
    of_mix = (traffic.mixes > 0).astype(np.int64) @ member
    served: Ints = ((problem.candidates.rate_per_s > 0).astype(np.int64) @ of_mix > 0).sum(axis=1)
    return served
