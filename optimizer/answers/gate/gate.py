"""A verdict for a pipeline: scenarios planned today, held against budgets and the plans of before, told by cause."""

from collections.abc import Iterator, Sequence

from optimizer.answers.gate.baseline import Baseline, paired
from optimizer.answers.gate.causes.difference import differences, of_removed
from optimizer.answers.gate.causes.exchanging import IN_ORDER, Shares, changed_inputs, merged
from optimizer.answers.gate.changes import changes, edits, line_of
from optimizer.answers.gate.pin import Pin
from optimizer.answers.gate.places import Places
from optimizer.answers.gate.plan import planned
from optimizer.answers.gate.remarks import (
    came_and_went,
    let_through,
    not_held_to_inputs,
    not_judged,
    old_prices,
    without_guardrail,
)
from optimizer.answers.gate.rules.demands import Case, GateLimits, Verdict, budgets, proof, sound_prices
from optimizer.answers.gate.rules.judging import judged_by
from optimizer.answers.gate.rules.names import refuse_unknown_names
from optimizer.answers.gate.rules.total import Total, percent, total
from optimizer.answers.gate.types import RULES, Gated, GateReport, Reason, Removed, Ruling, Warned
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import InForce
from optimizer.plan.question.price_free import PriceFree


def gate(
    files: Sequence[ScenarioFile],
    catalogs: Catalogs,
    limits: GateLimits,
    baselines: Sequence[Baseline] | None = None,
    *,
    old_catalogs: Catalogs | None = None,
    pin: Pin | None = None,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> GateReport:
    """Plans every scenario and says whether all demands are met, what changed and what the difference comes from.

    Args:
        files: The scenarios, their names distinct.
        catalogs: What is known today.
        limits: What is demanded, and what is let through.
        baselines: Plans of before; none of a scenario makes it new, None compares nothing.
        old_catalogs: What the baselines were made on, where it is at hand.
        pin: What the catalogs were held to.
        time_limit_s: For all of it.
        work_limit: Simplex iterations for each scenario, and again for where its difference comes from; the same on
            every machine.
        progress: Told the name of each scenario as its turn comes.

    Returns:
        The verdict with its reasons, every rule that was applied, and each scenario beside its baseline.

    Raises:
        InputError: a scenario names what the catalogs do not know, two share a name, or a baseline does not cost what
            its own inputs cost.
        VerificationFailed: a plan did not survive independent arithmetic.
    """
    refuse(unusable(files, catalogs))
    refuse_unknown_names(limits, files, catalogs, baselines or ())
    clock, kept, begin = Clock(time_limit_s, memory=Memory()), PriceFree(), progress or silent
    cases, removed = _planned(files, catalogs, baselines, clock, kept, work_limit=work_limit, progress=begin)
    parts = differences(cases, catalogs, old_catalogs, clock, kept, work_limit=work_limit)
    gated = [_gated(case, part) for case, part in zip(cases, parts, strict=True)]
    together = total(gated, removed, compared=bool(baselines))
    verdicts = [
        *budgets(limits, together),
        *_by_guardrails(limits, gated, removed, catalogs, compared=bool(baselines)),
        *(verdict for case in cases for verdict in (*proof(case), *sound_prices(case, catalogs, limits))),
    ]
    causes = []
    if together.change_usd is not None:
        causes = merged([*parts, of_removed(removed)]).causes(together.change_usd)
    places = Places(gated, {case.name: case.file for case in cases}, catalogs, causes)
    reasons = _reasons(verdicts, limits, places)
    return GateReport(
        verdict="broken" if reasons else "kept",
        reasons=reasons,
        before_usd=together.before_usd,
        after_usd=together.after_usd,
        change_usd=together.change_usd,
        change_percent=together.change_percent,
        causes=causes,
        warnings=[
            *not_judged(verdicts),
            *let_through(verdicts, limits, places),
            *(Warned(rule=None, scenario=None, text=text) for text in (pin.drift if pin else ())),
            *old_prices(cases, catalogs, limits),
            *not_held_to_inputs(cases),
            *came_and_went(gated, removed),
            *without_guardrail(gated, limits),
        ],
        rules=[_ruling(verdict, limits) for verdict in verdicts],
        scenarios=gated,
        removed=removed,
        catalogs_as_of=str(catalogs.as_of),
        pin=pin.sha256 if pin else None,
    )


def _reasons(verdicts: Sequence[Verdict], limits: GateLimits, places: Places) -> list[Reason]:
    """What is broken, in the order of the rules."""
    broken = [verdict for verdict in verdicts if verdict.state(limits) == "broken"]
    return [places.reason(each) for each in sorted(broken, key=lambda verdict: list(RULES).index(verdict.rule))]


def _ruling(verdict: Verdict, limits: GateLimits) -> Ruling:
    """A verdict as the report tells it."""
    return Ruling(
        rule=verdict.rule,
        guardrail=verdict.guardrail,
        scenario=verdict.scenario,
        state=verdict.state(limits),
        text=verdict.text,
    )


def _by_guardrails(
    limits: GateLimits, gated: Sequence[Gated], removed: Sequence[Removed], catalogs: Catalogs, *, compared: bool
) -> Iterator[Verdict]:
    """The rules of the file, if there is one."""
    if limits.guardrails is None:
        return

    def total_of(names: Sequence[str]) -> Total:
        stayed = [each for each in gated if each.scenario in names]
        return total(stayed, [each for each in removed if each.scenario in names], compared=compared)

    names = [*(each.scenario for each in gated), *(each.scenario for each in removed)]
    yield from judged_by(limits.guardrails, names, total_of, limits.today or catalogs.as_of)


def _planned(
    files: Sequence[ScenarioFile],
    catalogs: Catalogs,
    baselines: Sequence[Baseline] | None,
    clock: Clock,
    kept: PriceFree,
    *,
    work_limit: int | None,
    progress: Progress,
) -> tuple[list[Case], list[Removed]]:
    """Every scenario planned today beside its plan of before, and the plans of before that no scenario claims."""
    claimed, orphans = paired([file.scenario.name for file in files], baselines or ())
    cases = []
    for number, file in enumerate(files):
        name = file.scenario.name
        progress(name)
        # what is left in equal shares for the plans still to be made, and one for where differences come from
        in_turn = clock.share(1 / (len(files) - number + 1)).part(work_limit=work_limit)
        baseline = claimed.get(name)
        plan = planned(file.scenario, catalogs, in_turn, _running(baseline, file, catalogs), kept)
        new = baselines is not None and baseline is None
        cases.append(Case(file, plan, baseline, compared=bool(baselines), new=new))
    return cases, [Removed(scenario=each.plan.scenario, baseline=each.named, before_usd=each.usd) for each in orphans]


def _running(baseline: Baseline | None, file: ScenarioFile, catalogs: Catalogs) -> tuple[InForce, ...]:
    """What stays while it is as good as the cheapest, so that prices that move by little swap no fleet.

    Nothing where no input changed: planned as it was, the plan is the same to the cent.
    """
    if baseline is None or changed_inputs(baseline, file.scenario, catalogs) == []:
        return ()
    return baseline.running


def unusable(files: Sequence[ScenarioFile], catalogs: Catalogs) -> list[Finding]:
    """Everything that keeps scenarios from being held against plans of before: fields, and names that two share."""
    findings = [finding for file in files for finding in file.located(check_scenario(file.scenario, catalogs))]
    names: dict[str, str] = {}
    for file in files:
        first = names.setdefault(file.scenario.name, file.document.file)
        if first != file.document.file:
            problem = f"{first} has the same name, {file.scenario.name}"
            findings.append(Finding(file.document.file, line_of(file, "name"), "name", problem, "rename one"))
    return findings


def _gated(case: Case, part: Shares) -> Gated:
    """One scenario beside its baseline."""
    plan, baseline = case.planned.plan, case.baseline
    causes = part.causes(case.change_usd)
    before, change = baseline.usd if baseline else None, case.change_usd
    return Gated(
        scenario=case.name,
        file=case.file.document.file,
        baseline=baseline.named if baseline else None,
        new=case.new,
        outcome=plan.outcome,
        before_usd=before,
        after_usd=plan.monthly_cost_usd,
        change_usd=change,
        change_percent=percent(before, change),
        causes=causes,
        edits=edits(baseline.plan.inputs if baseline else None, case.file),
        deployments=changes(baseline.plan if baseline else None, plan),
        notes=[*part.notes, *([IN_ORDER] if len(causes) > 1 else [])],
    )
