"""The limits on latency over all requests to containers, of which some wait for one to start, again."""

import math
from collections.abc import Mapping

from optimizer.base.units import MS_PER_S
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.plan.record.containers import ContainerHours, Containers
from optimizer.plan.verify.claim import Claim, Findings
from optimizer.plan.verify.per_second.running import ContainerRun, serving

HARDLY_ANY = 1e-6
"""Share of requests below which no percentile notices those that wait."""


def levels(claim: Claim, c: Containers, entry: ContainerHours) -> Findings:
    """TTFT, TPOT and E2E of the slowest class at the worst load and at that over the utilization, with what waits.

    Where containers are kept up nobody waits for a start.
    """
    workload, limit_slack = claim.workloads[c.workload], 1 + claim.precision.figure
    own = serving(claim, c)
    network_ms = _network_ms(workload)
    before_s = (network_ms + workload.slo.ttft_overhead_ms) / MS_PER_S
    yield math.isfinite(network_ms), f"{c.workload}: distance from users of {c.provider}"
    loaded, start_s = own.in_hours(entry), own.start_s
    late_s = start_s + (1 + own.rate_of(entry) * start_s) * float(own.room.ttft[0]) * loaded.prefill_s
    for what, latency, outside_s in (
        ("TTFT", workload.slo.ttft_ms, before_s),
        ("TPOT", workload.slo.tpot_ms, 0.0),
        ("end to end", workload.slo.e2e_ms, before_s),
    ):
        seconds = loaded.latency_s[what]
        for statistic, limit_ms in (latency.limits_ms() if latency else {}).items():
            for row in (0, 1):
                warm = {name: outside_s + each[row] for name, each in seconds.items()}
                text = f"{c.workload}: {what} {statistic} {warm[statistic] * MS_PER_S:.2f} of {limit_ms:g} ms"
                yield warm[statistic] * MS_PER_S <= limit_ms * limit_slack, text
            if entry.kept_up or what == "TPOT":
                continue
            warm = {name: outside_s + each[0] for name, each in seconds.items()}
            held = _held_with_starts(loaded.run, statistic, warm, late_s, start_s, limit_ms * limit_slack / MS_PER_S)
            yield held, f"{c.workload}: {what} {statistic} holds with the requests that wait for a start"


def _held_with_starts(
    run: ContainerRun, statistic: str, warm: Mapping[str, float], late_s: float, start_s: float, limit_s: float
) -> bool:
    """Of a mean the sum; of a percentile all are in time, or enough of those that do not wait."""
    if statistic == "mean":
        return warm["mean"] + run.wait_s + run.waiting * (late_s - start_s) <= limit_s
    if warm[statistic] + late_s <= limit_s:
        return True
    waiting = 0.0 if run.waiting < HARDLY_ANY else run.waiting
    too_late = {name: waiting + (1 - waiting) * (1 - share) for name, share in QUANTILES.items()}
    allowed = (1 - QUANTILES[statistic]) * (1 + HARDLY_ANY)
    return any(share <= allowed and warm[name] <= limit_s for name, share in too_late.items())


def _network_ms(workload: Workload) -> float:
    """What the scenario says of regions that nobody tells apart; else users are nowhere, or nobody knows how far."""
    own = workload.network_ms or {}
    if "*" in own:
        return own["*"]
    return 0.0 if not workload.users_in and workload.network_ms is None else math.inf
