"""A verdict for a pipeline: scenarios planned today, held against budgets and the plans of before, told by cause."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Final

from optimizer.answers.gate.baseline import Baseline, paired
from optimizer.answers.gate.causes import CostChange, Shares, changed_inputs, merged, shares
from optimizer.answers.gate.changes import changes, edits, line_of
from optimizer.answers.gate.pin import Pin
from optimizer.answers.gate.plan import afresh_usd, planned, planned_usd
from optimizer.answers.gate.remarks import came_and_went, let_through, not_held_to_inputs, not_judged, old_prices
from optimizer.answers.gate.rules import Case, GateLimits, Verdict, budgets, proof, sound_prices
from optimizer.answers.gate.types import RULES, Gated, GateReport, Reason, Removed, Ruling, Warned
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import InForce
from optimizer.plan.record.origin import inputs_of

SAME_CATALOGS: Final = ("prices_sha256", "catalog_sha256", "calibration_sha256")


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
    _refuse_unusable(files, catalogs)
    clock = Clock(time_limit_s, memory=Memory())
    cases, removed = _planned(files, catalogs, baselines, clock, work_limit=work_limit, progress=progress or silent)
    parts = _caused(cases, catalogs, old_catalogs, clock, work_limit=work_limit)
    gated = [_gated(case, catalogs, part) for case, part in zip(cases, parts, strict=True)]
    total = _total(gated, removed, compared=bool(baselines))
    by_cause = merged([*parts, _gone(removed)])
    verdicts = [
        *budgets(limits, total.before_usd, total.after_usd),
        *(verdict for case in cases for verdict in (*proof(case), *sound_prices(case, catalogs, limits))),
    ]
    broken = sorted(
        (verdict for verdict in verdicts if verdict.state(limits) == "broken"),
        key=lambda verdict: list(RULES).index(verdict.rule),
    )
    return GateReport(
        verdict="broken" if broken else "kept",
        reasons=[_reason(each, cases, gated) for each in broken],
        before_usd=total.before_usd,
        after_usd=total.after_usd,
        change_usd=total.change_usd,
        change_percent=total.change_percent,
        causes=[] if total.change_usd is None else by_cause.causes(total.change_usd),
        warnings=[
            *not_judged(verdicts),
            *let_through(verdicts, limits),
            *(Warned(rule=None, scenario=None, text=text) for text in (pin.drift if pin else ())),
            *old_prices(cases, catalogs, limits),
            *not_held_to_inputs(cases),
            *came_and_went(gated, removed),
        ],
        rules=[Ruling(rule=v.rule, scenario=v.scenario, state=v.state(limits), text=v.text) for v in verdicts],
        scenarios=gated,
        removed=removed,
        catalogs_as_of=str(catalogs.as_of),
        pin=pin.sha256 if pin else None,
    )


def _planned(
    files: Sequence[ScenarioFile],
    catalogs: Catalogs,
    baselines: Sequence[Baseline] | None,
    clock: Clock,
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
        plan = planned(file.scenario, catalogs, in_turn, _running(baseline, file, catalogs))
        new = baselines is not None and baseline is None
        cases.append(Case(file, plan, baseline, compared=bool(baselines), new=new))
    return cases, [Removed(scenario=each.plan.scenario, baseline=each.file, before_usd=each.usd) for each in orphans]


def _gone(removed: Sequence[Removed]) -> Shares:
    """What scenarios that were removed no longer cost."""
    return Shares(
        {"scenario": -sum((each.before_usd for each in removed), Decimal(0))},
        words={"scenario": tuple(f"{each.scenario} was removed" for each in removed)},
    )


def _running(baseline: Baseline | None, file: ScenarioFile, catalogs: Catalogs) -> tuple[InForce, ...]:
    """What stays while it is as good as the cheapest, so that prices that move by little swap no fleet.

    Nothing where no input changed: planned as it was, the plan is the same to the cent.
    """
    if baseline is None or changed_inputs(baseline, file.scenario, catalogs) == []:
        return ()
    return baseline.running


def _caused(
    cases: Sequence[Case], catalogs: Catalogs, old_catalogs: Catalogs | None, clock: Clock, *, work_limit: int | None
) -> list[Shares]:
    """What the difference of each scenario comes from."""
    parts = []
    for number, case in enumerate(cases):
        in_turn = clock.share(1 / (len(cases) - number)).part(work_limit=work_limit)
        parts.append(_shares(case, catalogs, old_catalogs, in_turn))
    return parts


@dataclass(frozen=True)
class Total:
    """The month of all scenarios together: None before where nothing is compared with, after where one has no plan."""

    before_usd: Decimal | None
    after_usd: Decimal | None

    @property
    def change_usd(self) -> Decimal | None:
        """From before to after."""
        return None if self.before_usd is None or self.after_usd is None else self.after_usd - self.before_usd

    @property
    def change_percent(self) -> float | None:
        """Of what it cost before."""
        return _percent(self.before_usd, self.change_usd)


def _total(gated: Sequence[Gated], removed: Sequence[Removed], *, compared: bool) -> Total:
    """What was removed cost something before, and nothing after."""
    before = [*(each.before_usd for each in gated if each.before_usd is not None), *(r.before_usd for r in removed)]
    costs = [each.after_usd for each in gated if each.after_usd is not None]
    return Total(
        before_usd=sum(before, Decimal(0)) if compared else None,
        after_usd=sum(costs, Decimal(0)) if len(costs) == len(gated) else None,
    )


def _refuse_unusable(files: Sequence[ScenarioFile], catalogs: Catalogs) -> None:
    """Everything that keeps a verdict from being given, at once."""
    findings = [finding for file in files for finding in file.located(check_scenario(file.scenario, catalogs))]
    names: dict[str, str] = {}
    for file in files:
        first = names.setdefault(file.scenario.name, file.document.file)
        if first != file.document.file:
            problem = f"{first} has the same name, {file.scenario.name}"
            findings.append(Finding(file.document.file, line_of(file, "name"), "name", problem, "rename one"))
    if findings:
        raise InputError(findings)


def _shares(case: Case, catalogs: Catalogs, old_catalogs: Catalogs | None, clock: Clock) -> Shares:
    """What the difference comes from; of a scenario without a plan before, all is the scenario's doing."""
    after, baseline = case.planned.plan.monthly_cost_usd, case.baseline
    before = baseline.plan.monthly_cost_usd if baseline else None
    if baseline is None or before is None:
        words = f"{case.name} is new" if baseline is None else f"{case.name} had no plan before"
        return Shares({"scenario": case.change_usd or Decimal(0)}, words={"scenario": (words,)})
    if after is None:
        return Shares()
    differ = _differing(old_catalogs, baseline, case) if old_catalogs else []
    fitting = old_catalogs if not differ else None
    found = shares(
        CostChange(
            scenario=case.file.scenario,
            catalogs=catalogs,
            now_usd=after,
            now_proven=case.planned.proven,
            before_usd=before,
            baseline=baseline,
            old_catalogs=fitting,
            planned_usd=partial(planned_usd, clock=clock, running=baseline.running),
            afresh_usd=partial(afresh_usd, clock=clock),
        )
    )
    found = replace(found, words={**found.words, "scenario": (f"{case.name} was changed",)})
    if not differ:
        return found
    note = f"--baseline-catalogs are not those that {baseline.file} was made on: {', '.join(differ)} differ"
    return replace(found, notes=(note, *found.notes))


def _differing(old: Catalogs, baseline: Baseline, case: Case) -> list[str]:
    """The parts of these catalogs that are not those that the baseline was made on, as far as it recorded them."""
    made, today = baseline.plan.inputs, inputs_of(case.file.scenario, old)
    if made is None:
        return []
    return [name.removesuffix("_sha256") for name in SAME_CATALOGS if getattr(today, name) != getattr(made, name)]


def _gated(case: Case, catalogs: Catalogs, part: Shares) -> Gated:
    """One scenario beside its baseline."""
    plan, baseline = case.planned.plan, case.baseline
    before, change = baseline.usd if baseline else None, case.change_usd
    return Gated(
        scenario=case.name,
        file=case.file.document.file,
        baseline=baseline.file if baseline else None,
        new=case.new,
        outcome=plan.outcome,
        before_usd=before,
        after_usd=plan.monthly_cost_usd,
        change_usd=change,
        change_percent=_percent(before, change),
        causes=part.causes(change),
        edits=edits(baseline.plan.inputs if baseline else None, inputs_of(case.file.scenario, catalogs), case.file),
        deployments=changes(baseline.plan if baseline else None, plan),
        notes=list(part.notes),
    )


def _percent(before: Decimal | None, change: Decimal | None) -> float | None:
    return float(change / before * 100) if before and change is not None else None


def _reason(verdict: Verdict, cases: Sequence[Case], gated: Sequence[Gated]) -> Reason:
    """A broken rule at the line to look at: its field, else the first edit, else where the workloads begin."""
    own = (position for position, each in enumerate(gated) if each.scenario == verdict.scenario)
    edited = (position for position, each in enumerate(gated) if each.edits)
    position = next(own, None)
    if position is None:
        position = next(edited, 0)
    field = verdict.field or next((edit.field for edit in gated[position].edits), "workloads")
    return Reason(
        rule=verdict.rule,
        limit=verdict.limit,
        value=verdict.value,
        text=verdict.text,
        scenario=verdict.scenario,
        file=gated[position].file,
        line=line_of(cases[position].file, field),
    )
