"""The certificate of a plan: made with a solver, checked without one against scenario, catalogs and plan."""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import isclose
from pathlib import Path
from typing import Any, Final

from optimizer.base.clock import Clock, LimitReached
from optimizer.base.errors import Finding, refuse
from optimizer.base.files import read_text
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.certify.certificate import TOLERANCE_USD, Certificate, certified
from optimizer.plan.certify.statement import statement
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.record.fields import cents
from optimizer.plan.record.report import Check, PlanReport
from optimizer.plan.simulate.held import lowered_in
from optimizer.plan.verify.certificate.problem import NotProven
from optimizer.plan.verify.certificate.tree import Proven, check, read_certificate
from optimizer.program.problem.problem import Problem

SAME: Final = 1e-9
"""Relative difference up to which two machines may compute the same rate."""


def check_certifiable(scenario: Scenario) -> None:
    """Says that no certificate can be made before any time is spent on it.

    Raises:
        InputError: the demand changes over the week, or containers paid by the second may serve.
    """
    findings = [
        Finding("--certificate", 0, f"workloads[{workload.name}].demand", "a certificate speaks of steady demand only")
        for workload in scenario.workloads
        if workload.demand is not None
    ]
    if "per_second" in scenario.policy.hosting:
        findings.append(
            Finding(
                "--certificate", 0, "policy.hosting", "a certificate does not speak of containers paid by the second"
            )
        )
    refuse(findings)


def certificate_of(report: PlanReport, scenario: Scenario, catalogs: Catalogs, clock: Clock) -> Certificate | None:
    """What proves that no plan costs less than the one reported, or that there is none.

    Args:
        report: A proven answer.
        scenario: The question.
        catalogs: What the answer was made from.
        clock: What is left for it; where it runs out, as much is certified as was proven by then.

    Returns:
        None where the answer is not proven, or nothing of it could be certified.
    """
    if report.outcome not in ("optimal", "infeasible"):
        return None
    # of the bound as a plan file says it, which may be rounded up
    usd = None if report.bound_usd is None else float(cents(report.bound_usd))
    try:
        return certified(_problem(report, scenario, catalogs, clock), scenario.name, usd, clock)
    except LimitReached:
        return None


def checks_of(path: Path, report: PlanReport, scenario: Scenario, catalogs: Catalogs) -> Iterator[Check]:
    """Whether a certificate proves something, of this scenario over these catalogs, and that it is what the plan says.

    Raises:
        InputError: the file cannot be read.
    """
    text = read_text(path)
    try:
        content = read_certificate(text)
        proven = check(content)
    except NotProven as error:
        yield Check(name="certificate", passed=False, text=str(error))
        return
    yield Check(name="certificate", passed=True, text=f"{_words(proven)}, in {proven.leaves} parts, in exact fractions")
    here = json.loads(json.dumps(statement(_problem(report, scenario, catalogs, Clock()))))
    difference = next(_differences(content["problem"], here, "problem"), "")
    text = (
        difference or f"its {len(here['candidates']):,} candidates on {len(here['offers']):,} offers are those at hand"
    )
    yield Check(name="certified problem", passed=not difference, text=text)
    yield _bound_check(report, proven)


def _problem(report: PlanReport, scenario: Scenario, catalogs: Catalogs, clock: Clock) -> Problem:
    """The purchase problem that the plan solves: with what its simulation found replicas to hold; where mixes were
    predicted in rounds, that of the last one.

    Raises:
        LimitReached: the rounds could not be gone through again in time.
    """
    lowered = () if report.simulation is None else lowered_in(report.simulation, scenario.policy)
    asked = Inquiry.of(scenario, catalogs, clock).keeping_to(report.avoided(scenario)).with_lowered(lowered)
    inquiry = asked.beside_a_plan(clock)
    return (solved_for_least_cost(inquiry).inquiry if report.solver.rounds > 1 else inquiry).formulated().problem


def _words(proven: Proven) -> str:
    if proven.usd_per_month is None:
        return "there is no plan"
    return f"no plan costs less than {float(proven.usd_per_month):.2f} USD a month"


def _bound_check(report: PlanReport, proven: Proven) -> Check:
    """That what is proven is what the plan says: to the cent, or by how much it falls short."""
    if report.bound_usd is None or proven.usd_per_month is None:
        same = report.outcome == "infeasible" and proven.usd_per_month is None
        return Check(name="certified bound", passed=same, text=f"{_words(proven)}; the outcome is {report.outcome}")
    short = Fraction(report.bound_usd) - proven.usd_per_month
    text = f"{_words(proven)}; the plan says {report.bound_usd:.2f}"
    if short <= Fraction(str(TOLERANCE_USD)):
        return Check(name="certified bound", passed=True, text=text)
    return Check(name="certified bound", passed=False, text=f"{text}: {float(short):.2f} of it are not certified")


def _differences(told: Any, here: Any, where: str) -> Iterator[str]:
    """Where a certificate states another problem, the first place first."""
    if isinstance(told, dict) and isinstance(here, dict):
        for key in sorted({*told, *here}):
            if key not in told or key not in here:
                yield f"{where}.{key} stands in one of the two only"
            else:
                yield from _differences(told[key], here[key], f"{where}.{key}")
    elif isinstance(told, list) and isinstance(here, list):
        if len(told) != len(here):
            yield f"{where} has {len(told)} entries, not {len(here)}"
        for number, (one, other) in enumerate(zip(told, here, strict=False)):
            yield from _differences(one, other, f"{where}[{number}]")
    elif not _same(told, here):
        yield f"{where} is {told}, not {here}"


def _same(told: Any, here: Any) -> bool:
    numbers = isinstance(told, int | Fraction) and isinstance(here, int | float)
    if numbers and not isinstance(told, bool) and not isinstance(here, bool):
        return isclose(float(told), float(here), rel_tol=SAME)
    return bool(told == here)
