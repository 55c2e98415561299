"""Files that a scenario names: traces, weekly profiles and plans in force, read into it with every problem at once."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from optimizer.base.errors import Finding, InputError, file_error, refuse
from optimizer.base.files import read_json
from optimizer.inputs import scenario as door
from optimizer.inputs.scenario.policy import InForce, Migration, Policy
from optimizer.inputs.scenario.scenario import Demand, Scenario, Workload
from optimizer.inputs.scenario.yaml_lines import Document, Location

Record = TypeVar("Record")

CLASSES_INSTEAD = "write its requests as request_classes and requests_per_second"
HOURS_INSTEAD = "write the hours of the week as demand.weekly_requests_per_second"
REPLICAS_INSTEAD = "write what runs as in_force"
HOW_TO_WRITE_A_PLAN = "write it with optimizer plan SCENARIO --format json --output FILE"


def with_files(scenario: Scenario, document: Document, folder: Path | None) -> Scenario:
    """The scenario with every file that it names read into it.

    Args:
        scenario: As written.
        document: Where its fields stand.
        folder: Where the scenario lies; the files are named from there. None where it may name none.

    Raises:
        InputError: the problems of all files, each at the field that names the file.
    """
    findings: list[Finding] = []

    def workload_with_files(workload: Workload, folder: Path | None) -> Workload:
        return _workload_with_files(workload, folder, scenario.policy)

    def read(record: Record, reader: Callable[[Record, Path | None], Record], location: Location) -> Record:
        try:
            return reader(record, folder)
        except InputError as error:
            place = document.file, document.line(location), document.path(location)
            findings.extend(Finding(*place, str(finding)) for finding in error.findings)
            return record

    workloads = tuple(
        read(workload, workload_with_files, ("workloads", position, "trace" if workload.trace else "demand"))
        for position, workload in enumerate(scenario.workloads)
    )
    migration = scenario.policy.migration
    if migration is not None:
        migration = read(migration, _migration_with_plan, ("policy", "migration", "from_plan"))
    refuse(findings)
    policy = scenario.policy.model_copy(update={"migration": migration})
    return scenario.model_copy(update={"workloads": workloads, "policy": policy})


def _workload_with_files(workload: Workload, folder: Path | None, policy: Policy) -> Workload:
    if workload.trace is not None and workload.request_classes is None:
        path = _lying_in(folder, workload.trace, CLASSES_INSTEAD)
        return _with_trace(workload, door.demand_of_trace(path), path, policy)
    if workload.demand is not None and workload.demand.profile is not None:
        weekly = door.weekly_profile(_lying_in(folder, workload.demand.profile, HOURS_INSTEAD))
        return workload.model_copy(update={"demand": Demand(weekly_requests_per_second=weekly)})
    return workload


def _with_trace(workload: Workload, trace: "door.TraceDemand", path: Path, policy: Policy) -> Workload:
    """The workload with the rate and the lengths of a trace, and its arrivals unless the scenario says them."""
    read = workload.model_copy(
        update={"requests_per_second": trace.requests_per_second, "request_classes": (trace.requests,)}
    )
    if workload.arrivals is not None or read.longest_wait_s is None:
        return read
    try:
        arrivals = trace.arrivals(read.longest_wait_s, policy.max_utilization)
    except ValidationError as error:
        problem = "its requests come in larger bursts than a plan can count on"
        raise file_error(path, problem, field="arrived_at_s", hint="say `arrivals`") from error
    return read.model_copy(update={"arrivals": arrivals})


def _migration_with_plan(migration: Migration, folder: Path | None) -> Migration:
    if migration.from_plan is None:
        return migration
    return migration.model_copy(
        update={
            "from_plan": None,
            "in_force": replicas_of_plan(_lying_in(folder, migration.from_plan, REPLICAS_INSTEAD)),
        }
    )


def _lying_in(folder: Path | None, name: str | Path, instead: str) -> Path:
    """The file of that name in a folder; without one no file is read, whatever it is called."""
    if folder is None:
        raise file_error(
            Path(name), "is a file, and none is read for a scenario that came from elsewhere", hint=instead
        )
    return folder / name


def replicas_of_plan(path: Path) -> tuple[InForce, ...]:
    """The replicas of a plan as `optimizer plan --format json` writes it, sorted; those alike are added up.

    Raises:
        InputError: no such file, not a plan, or a plan without deployments.
    """
    findings: list[Finding] = []
    counts = Counter[tuple[tuple[str, Any], ...]]()
    for position, deployment in enumerate(_deployments(path)):
        try:
            row = InForce.model_validate(
                {name: deployment[name] for name in InForce.model_fields if name in deployment}
            )
        except ValidationError as error:
            findings.extend(_bad_deployment(path, position, error))
        else:
            counts[tuple(row.model_dump(exclude={"replicas"}).items())] += row.replicas
    refuse(findings)
    return tuple(InForce.model_validate({**dict(key), "replicas": count}) for key, count in sorted(counts.items()))


def _deployments(path: Path) -> list[dict[str, Any]]:
    plan = read_json(path, hint=HOW_TO_WRITE_A_PLAN)
    deployments = plan.get("deployments") if isinstance(plan, dict) else None
    if not isinstance(deployments, list) or not all(isinstance(item, dict) for item in deployments):
        raise file_error(path, "not a plan", field="deployments", hint=HOW_TO_WRITE_A_PLAN)
    if not deployments:
        problem = f"the plan deploys nothing (its outcome is {plan.get('outcome')})"
        raise file_error(path, problem, field="deployments", hint="leave migration out to start from nothing")
    return deployments


def _bad_deployment(path: Path, position: int, error: ValidationError) -> Iterator[Finding]:
    for details in error.errors():
        field = ".".join(str(step) for step in details["loc"])
        problem = "missing" if details["type"] == "missing" else f"'{details['input']}': {details['msg']}"
        yield Finding(str(path), 0, f"deployments[{position}].{field}", problem)
