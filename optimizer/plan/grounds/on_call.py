"""Where nothing runs in hours without demand, which hosted API answers what comes all the same."""

from collections.abc import Iterator

from optimizer.base.figures import figure
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.apis import apis
from optimizer.performance.candidates.on_call import on_call
from optimizer.performance.candidates.periods import starts_in_time
from optimizer.plan.record.fleet import Period, PlannedFleet


def called_at_no_demand(scenario: Scenario, catalogs: Catalogs, bought: PlannedFleet) -> Iterator[str]:
    """One sentence for each API that a plan counts on and sends nothing."""
    waiting = on_call(scenario, apis(scenario, catalogs).admitted)
    for workload in scenario.workloads:
        sent = {item.request_class for item in bought.hosted if item.workload == workload.name}
        hours = sum(_hours(period) for period in _asleep(bought, workload.name))
        if not hours or starts_in_time(workload, scenario.policy.elastic.start_up_minutes):
            continue
        missing = (api for api in waiting.get(workload.name, ()) if api.request_class not in sent)
        for name, usd in {f"{api.name} at {api.provider}": api.usd_per_request for api in missing}.items():
            yield (
                f"{workload.name}: nothing runs in {hours} hours of the week in which nothing is asked; what comes all "
                f"the same must go to {name}, for ${figure(float(usd))} a request"
            )


def _asleep(bought: PlannedFleet, workload: str) -> Iterator[Period]:
    """The periods in which nothing is asked of a workload, and nothing runs for it."""
    serving = [d for d in bought.deployments if d.workload == workload]
    for period in bought.periods:
        running = any(d.schedule[period.period].replicas for d in serving)
        if not running and not period.requests_per_second[workload]:
            yield period


def _hours(period: Period) -> int:
    return sum(last - first + 1 for first, last in period.hours_of_week)
