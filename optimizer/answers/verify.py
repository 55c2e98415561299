"""Whether every promise and figure of a plan file holds, computed again from the scenario in it and the catalogs."""

import math
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from optimizer.answers.certificate import checks_of
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.files import name_of, read_json
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.enumeration import uncalibrated_engines
from optimizer.plan.record.origin import inputs_of
from optimizer.plan.record.report import SCHEMA_VERSION, Check, PlanReport, Verification
from optimizer.plan.record.simulation import MeasuredLimit, Simulation, Verdict
from optimizer.plan.simulate.simulated import confirmed
from optimizer.plan.verify.report import verify_report

SIMULATED_ALIKE: Final = 0.2
"""How nearly two simulations agree whose rates differ in the seventh digit: a percentile may lie where a prompt more or
less ahead makes a jump of that size."""
WRITTEN_BY: Final = "write it with optimizer plan SCENARIO --format json --output FILE"
EDITED: Final = "`optimizer verify` tells everything; plan again, or undo what was edited"
MOST_FINDINGS: Final = 10
"""Of a file that is no plan: one mistake in a list is often one in each of its items."""


def verify_plan(path: Path, catalogs: Catalogs, certificate: Path | None = None) -> Verification:
    """Holds a plan file to everything it says, as exactly as a file says it; no solver is asked.

    Args:
        path: A file that `optimizer plan SCENARIO --format json --output FILE` wrote.
        catalogs: Those that it was made from.
        certificate: A file that `optimizer plan SCENARIO --certificate FILE` wrote beside it, to be checked, too.

    Returns:
        Every check with its verdict; `passed` when all hold.

    Raises:
        InputError: the file cannot be read, is no plan of this version or holds none, its scenario does not fit the
            catalogs, or it was made from others.
    """
    report, scenario = plan_in(path, catalogs)
    if report.monthly_cost_usd is None and (certificate is None or report.outcome != "infeasible"):
        problem = f"there is no plan to verify: the outcome is {report.outcome}"
        raise InputError([Finding(name_of(path), 0, "monthly_cost_usd", problem, "verify a file with a plan")])
    checks = [] if report.monthly_cost_usd is None else verify_report(report, scenario, catalogs).checks
    if report.simulation is not None and all(check.passed for check in checks):
        checks = [*checks, _simulated_again(report, scenario, catalogs)]
    if certificate is not None:
        checks = [*checks, *checks_of(certificate, report, scenario, catalogs)]
    return Verification(passed=all(check.passed for check in checks), checks=checks)


def sound_plan(path: Path, catalogs: Catalogs) -> tuple[PlanReport, Scenario]:
    """The answer in a file whose figures hold, for whoever goes on to count on them; nothing is simulated again.

    Raises:
        InputError: as `plan_in`, or figures of its plan do not hold, with every check that fails.
    """
    report, scenario = plan_in(path, catalogs)
    checks = [] if report.monthly_cost_usd is None else verify_report(report, scenario, catalogs).checks
    broken = [check for check in checks if not check.passed]
    if broken:
        name = name_of(path)
        raise InputError(Finding(name, 0, check.name, f"does not hold: {check.text}", EDITED) for check in broken)
    return report, scenario


def _simulated_again(report: PlanReport, scenario: Scenario, catalogs: Catalogs) -> Check:
    """Whether the same requests meet what the file says: rates are written to six digits, so nearly the same."""
    shown, own = report.simulation, confirmed(scenario, catalogs, report.fleet)
    alike = shown is not None and agree(shown, own)
    meet = "meet" if alike else "do not meet"
    text = f"{own.requests:,} requests simulated again {meet} the latencies shown within {SIMULATED_ALIKE:.0%}"
    return Check(name="simulation", passed=alike, text=text)


def agree(shown: Simulation, own: Simulation) -> bool:
    """Whether two simulations of nearly the same requests say the same, near a limit one of them nothing."""
    pairs = zip(_measured(shown), _measured(own), strict=False)
    alike = _names(shown) == _names(own) and len(_measured(shown)) == len(_measured(own))
    alike = alike and all(math.isclose(said, found, rel_tol=SIMULATED_ALIKE) for said, found in pairs)
    return alike and follows(shown) and {shown.holds, own.holds} != {True, False}


def follows(shown: Simulation) -> bool:
    """Whether what a simulation concludes is what its own figures say."""
    limits = [limit for item in shown.classes for limit in item.limits]
    verdicts = {limit.verdict for limit in limits}
    holds = False if "broken" in verdicts else None if "undecided" in verdicts else True
    shares = all(item.interval[0] <= item.share_within_limits <= item.interval[1] for item in shown.classes)
    return shown.holds == holds and shares and all(limit.verdict in _possible_verdicts(limit) for limit in limits)


def _possible_verdicts(limit: MeasuredLimit) -> set[Verdict]:
    """What its interval says of a limit: two where rounding put an end on it, none where it is no interval."""
    low_ms, high_ms = limit.low_ms, math.inf if limit.high_ms is None else limit.high_ms
    if not low_ms <= limit.value_ms <= high_ms:
        return set()
    possible: dict[Verdict, bool] = {
        "holds": high_ms <= limit.limit_ms,
        "broken": low_ms >= limit.limit_ms,
        "undecided": low_ms <= limit.limit_ms <= high_ms,
    }
    return {verdict for verdict, is_possible in possible.items() if is_possible}


def _names(found: Simulation) -> list[tuple[str, ...]]:
    """Whose latencies are told, and which statistics of each."""
    return [(item.workload, item.request_class, *item.ttft_ms, *item.tpot_ms, *item.e2e_ms) for item in found.classes]


def _measured(found: Simulation) -> list[float]:
    """Every limit and what was measured of it, the shares of requests within all limits, and all latencies."""
    limits = [limit for item in found.classes for limit in item.limits]
    shares = [item.share_within_limits for item in found.classes]
    latencies = [
        ms for item in found.classes for told in (item.ttft_ms, item.tpot_ms, item.e2e_ms) for ms in told.values()
    ]
    return [figure for limit in limits for figure in (limit.limit_ms, limit.value_ms)] + shares + latencies


def is_plan(path: Path) -> bool:
    """Whether a file holds a plan rather than a scenario."""
    try:
        content = read_json(path)
    except InputError:
        return False
    return isinstance(content, dict) and "schema_version" in content


def plan_in(path: Path, catalogs: Catalogs) -> tuple[PlanReport, Scenario]:
    """The answer that a file holds, with the scenario it was made for.

    Raises:
        InputError: as `plan_of`, or the file cannot be read.
    """
    return plan_of(read_json(path, WRITTEN_BY), name_of(path), catalogs)


def plan_of(content: object, name: str, catalogs: Catalogs) -> tuple[PlanReport, Scenario]:
    """An answer from the JSON of one, with the scenario it was made for.

    Args:
        content: What the JSON says.
        name: What findings call it.
        catalogs: Those that it was made from.

    Raises:
        InputError: it is no plan of this version, its scenario does not fit the catalogs, or it was made from others.
    """
    report = _read(content, name)
    scenario = _scenario(name, report, catalogs)
    _check_catalogs(name, report, scenario, catalogs)
    return report, scenario


def _read(content: object, name: str) -> PlanReport:
    """The answer that JSON says."""
    if not isinstance(content, dict) or "schema_version" not in content:
        raise InputError([Finding(name, 0, "", "not a plan: a plan says its schema_version", WRITTEN_BY)])
    version = content["schema_version"]
    if version != SCHEMA_VERSION:
        problem = f"a plan of schema version {version!r}, not {SCHEMA_VERSION}"
        hint = f"verify it with the version of optimizer that wrote it, or {WRITTEN_BY}"
        raise InputError([Finding(name, 0, "schema_version", problem, hint)])
    try:
        report = PlanReport.model_validate(content)
    except ValidationError as error:
        raise InputError(_findings(name, "", "not a plan", error)) from error
    return report


def _scenario(name: str, report: PlanReport, catalogs: Catalogs) -> Scenario:
    """The scenario that a plan was made for, known to fit the catalogs."""
    try:
        scenario = Scenario.model_validate(report.inputs.scenario)
    except ValidationError as error:
        raise InputError(_findings(name, "inputs.scenario", "not a scenario", error)) from error
    findings = (*check_scenario(scenario, catalogs), *uncalibrated_engines(scenario.policy, catalogs))
    if findings:
        where = "inputs.scenario."
        raise InputError(Finding(name, 0, f"{where}{f.field}", f.problem, f.hint) for f in findings)
    return scenario


def _check_catalogs(name: str, report: PlanReport, scenario: Scenario, catalogs: Catalogs) -> None:
    """That the catalogs are those that the plan was made from: other prices break no promise of it."""
    made_from, at_hand = report.inputs, inputs_of(scenario, catalogs)
    hint = "give the catalogs of then with --catalogs, or plan again"
    findings = [
        Finding(name, 0, f"inputs.{field}", f"made from {what} than the catalogs hold", hint)
        for field, what in (
            ("prices_sha256", "other prices"),
            ("catalog_sha256", "another catalog"),
            ("calibration_sha256", "another calibration"),
        )
        if getattr(made_from, field) != getattr(at_hand, field)
    ]
    refuse(findings)


def _findings(name: str, under: str, what: str, error: ValidationError) -> list[Finding]:
    """The first few problems, each with its field."""
    return [
        Finding(
            name,
            0,
            ".".join(filter(None, (under, *map(str, each["loc"])))),
            f"{what}: {each['msg']}",
            WRITTEN_BY,
        )
        for each in error.errors()[:MOST_FINDINGS]
    ]
