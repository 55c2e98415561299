"""Whether a purchase problem is one: shapes that fit together and values the proofs rely on."""

from collections.abc import Iterator

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers


def check(problem: Problem) -> None:
    """Raises ValueError with every fault found."""
    faults = list(_shape_faults(problem)) or _index_faults(problem) or _value_faults(problem)
    if faults:
        raise ValueError("not a purchase problem: " + "; ".join(faults))


def _shape_faults(problem: Problem) -> Iterator[str]:
    traffic, egress = problem.traffic, problem.egress
    periods, (mixes, classes) = traffic.periods, traffic.mixes.shape
    candidates, offers = len(problem.candidates), len(problem.offers)
    counts = {"candidates": candidates, "offers": offers, "apis": len(problem.apis)}
    shapes: dict[str, tuple[int, ...]] = {
        "demand_per_s": (periods, classes),
        "start_share": (periods, periods),
        "least_replicas": (periods, len(set(traffic.workload))),
        "paid_share": (periods, classes) if traffic.paid_share.size else (0, 0),
        "rate_per_s": (candidates, mixes),
        "mixes": (mixes, classes),
        "classes": (classes,),
        "workload": (classes,),
        "share_of_month": (periods,),
    }
    for part in ("traffic", *counts):
        for name, values in vars(getattr(problem, part)).items():
            expected = shapes.get(name) or (counts[part],)
            if np.shape(values) != expected:
                yield f"{part}.{name} has shape {np.shape(values)}, not {expected}"
    if len(egress.gb_per_request) and (len(egress.gb_per_request), len(egress.usd_per_gb)) != (classes, offers):
        yield "sending does not tell every class and offer"
    if len(problem.billing.minimum_hours) not in (0, offers):
        yield "billing does not tell every offer"
    if len(problem.layouts.by_layout) not in (0, offers):
        yield "layouts does not tell every offer"
    if problem.tolls_usd_per_hour.shape not in ((0, 0), (periods, offers)):
        yield "tolls do not tell every period and offer"
    if problem.layouts.followed.shape not in ((0, 0), (periods, periods)):
        yield "layouts does not tell every pair of periods"
    named = {
        "request classes": traffic.classes,
        "candidates": problem.candidates.ids,
        "offers": problem.offers.ids,
        "APIs": problem.apis.ids,
    }
    yield from (f"{what} repeat a name" for what, names in named.items() if len(set(names)) != len(names))
    if not classes or not periods:
        yield "there is no request class or no period"


def _index_faults(problem: Problem) -> list[str]:
    """Indices that the tests of values would stumble over."""
    outside = _outside(problem.candidates.offer, len(problem.offers)).any()
    return ["candidates.offer points outside the offers"] if outside else []


def _value_faults(problem: Problem) -> list[str]:
    wrong = _traffic_faults(problem) | _choice_faults(problem) | _limit_faults(problem)
    return [text for text, flags in wrong.items() if np.any(flags)]


def _traffic_faults(problem: Problem) -> dict[str, Flags]:
    traffic, share, mixes = problem.traffic, problem.traffic.share_of_month, problem.traffic.mixes
    return {
        "demand_per_s must be finite, not negative": _no_amount(traffic.demand_per_s),
        "every class must be wanted in some period": ~(traffic.demand_per_s > 0).any(axis=0),
        "share_of_month must be positive and sum to 1": np.append(share <= 0, not np.isclose(share.sum(), 1.0)),
        "mixes must be non-negative with rows that sum to 1": (mixes < 0).any(axis=1)
        | ~np.isclose(mixes.sum(axis=1), 1.0),
        "start_share must not be negative": traffic.start_share < 0,
        "least_replicas must not be negative": traffic.least_replicas < 0,
        "paid_share must lie in (0, 1]": ~((traffic.paid_share > 0) & (traffic.paid_share <= 1)),
    }


def _choice_faults(problem: Problem) -> dict[str, Flags]:
    candidates, offers, apis = problem.candidates, problem.offers, problem.apis
    size, price = candidates.gpus_per_replica, offers.price_usd_per_hour
    return {
        "rate_per_s must be finite, not negative": _no_amount(candidates.rate_per_s),
        "every candidate must serve something": ~(candidates.rate_per_s > 0).any(axis=1),
        "price_usd_per_hour must be positive and finite": _no_amount(price) | (price + _least_toll(problem) == 0),
        "tolls_usd_per_hour must be finite, not negative": _no_amount(problem.tolls_usd_per_hour),
        "gpus_per_replica must be a power of two": (size < 1) | (size & (size - 1) != 0),
        "gpus_per_replica exceeds the instance": size > offers.gpus_per_instance[candidates.offer],
        "a candidate serves several workloads": _workloads_served(problem) > 1,
        "replicas_in_force must not be negative": candidates.replicas_in_force < 0,
        "a candidate serves several mixes where losses must be survived": np.array(
            bool(problem.limits.survive) and bool(((candidates.rate_per_s > 0).sum(axis=1) > 1).any())
        ),
        "an API costs something per request": _no_amount(apis.usd_per_request) | (apis.usd_per_request == 0),
        "apis.mix points outside the mixes": _outside(apis.mix, len(problem.traffic.mixes)),
    }


def _limit_faults(problem: Problem) -> dict[str, Flags]:
    limits, offers, egress = problem.limits, problem.offers, problem.egress
    week, least = problem.billing.hour_to_period, problem.billing.minimum_hours
    share = problem.traffic.share_of_month
    share_of_week = np.bincount(week, minlength=len(share)) / len(week) if len(week) else share
    in_quotas = np.array([offer for quota in limits.quotas for offer in quota.offers], dtype=np.int64)
    return {
        "a power limit needs the power of every offer": np.isnan(offers.power_kw) & (limits.max_power_kw is not None),
        "a carbon limit needs the carbon of every offer": np.isnan(offers.carbon_kg_per_hour)
        & (limits.max_carbon_kg_per_month is not None),
        "a quota points outside the offers": _outside(in_quotas, len(offers)),
        "sending must be finite, not negative": _no_amount(np.append(egress.gb_per_request, egress.usd_per_gb)),
        "minimum_hours must be from 1 to a week": (least < 1) | (least > len(week)),
        "hour_to_period must be what share_of_month is": ~np.isclose(share_of_week, share),
        "usd_per_change must not be negative": np.array(limits.usd_per_change < 0),
    }


def _least_toll(problem: Problem) -> Floats:
    """(O,) what an instance costs beside its price in the period in which that is least."""
    tolls = problem.tolls_usd_per_hour
    return tolls.min(axis=0) if tolls.size else np.zeros(len(problem.offers))


def _no_amount(values: Floats) -> Flags:
    """Which values are not finite or negative."""
    return ~(np.isfinite(values) & (values >= 0))


def _outside(index: Ints, count: int) -> Flags:
    """Which indices point outside so many entries."""
    return (index < 0) | (index >= count)


def _workloads_served(problem: Problem) -> Ints:
    """(C,) how many workloads the mixes of each candidate belong to."""
    traffic = problem.traffic
    # (class, workload), then (mix, workload): whether requests of the one belong to the other
    member = label_numbers(traffic.workload)[:, None] == np.arange(len(set(traffic.workload)))
    of_mix = (traffic.mixes > 0).astype(np.int64) @ member
    served: Ints = ((problem.candidates.rate_per_s > 0).astype(np.int64) @ of_mix > 0).sum(axis=1)
    return served
