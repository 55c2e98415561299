"""A verdict for a pipeline: scenarios planned today, held against budgets and the plans of before, told by cause."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final

from optimizer.answers.gate import causes as gate_causes
from optimizer.answers.gate.baseline import Baseline, GatePlan, paired
from optimizer.answers.gate.changes import changes, edits, line_of
from optimizer.answers.gate.plan import planned, proven
from optimizer.answers.gate.rules import Case, GateLimits, Verdict, ages_days, budgets, proof, sound_prices
from optimizer.answers.gate.types import RULES, Cause, Gated, GateReport, Reason, Ruling, Warned
from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.origin import inputs_of

SAME_CATALOGS: Final = ("prices_sha256", "catalog_sha256", "calibration_sha256")
Began = Callable[[str], None]


def gate(
    files: Sequence[ScenarioFile],
    catalogs: Catalogs,
    limits: GateLimits,
    baselines: Sequence[Baseline] = (),
    *,
    old_catalogs: Catalogs | None = None,
    pin: str | None = None,
    drift: Sequence[str] = (),
    time_limit_s: float | None = None,
    began: Began | None = None,
) -> GateReport:
    """Plans every scenario and says whether all demands are met, what changed and what the difference comes from.

    Args:
        files: The scenarios, their names distinct.
        catalogs: What is known today.
        limits: What is demanded, and what is let through.
        baselines: Plans of before.
        old_catalogs: What the baselines were made on, where it is at hand.
        pin: Content hash that the catalogs were held to.
        drift: How the catalogs differ from it.
        time_limit_s: For each solve.
        began: Told the name of each scenario as its turn comes.

    Raises:
        InputError: a scenario names what the catalogs do not know, two share a name, or a limit lacks its baseline.
        VerificationFailed: a plan did not survive independent arithmetic.
    """
    _refuse_unusable(files, catalogs, limits, baselines)
    claimed, orphans = paired([file.scenario.name for file in files], baselines)
    cases = []
    for file in files:
        if began is not None:
            began(file.scenario.name)
        cases.append(Case(file, planned(file.scenario, catalogs, time_limit_s), claimed.get(file.scenario.name)))

    def solve(scenario: Scenario, known: Catalogs) -> GatePlan | None:
        return proven(scenario, known, time_limit_s)

    gated = [_gated(case, catalogs, old_catalogs, solve, bool(baselines)) for case in cases]
    before, after = _totals(gated, orphans, bool(baselines))
    change = None if before is None or after is None else after - before
    verdicts = [*budgets(limits, before, after)]
    for case in cases:
        verdicts += [*proof(case), *sound_prices(case, catalogs, limits)]
    broken = [each for each in verdicts if each.broken and not each.allowed]
    reasons = [_reason(each, cases, gated) for each in broken if not limits.only_warns(each.rule, each.scenario)]
    return GateReport(
        verdict="broken" if reasons else "kept",
        reasons=sorted(reasons, key=lambda reason: list(RULES).index(reason.rule)),
        before_usd=before,
        after_usd=after,
        change_usd=change,
        change_percent=_percent(before, change),
        causes=_all_causes(gated, orphans, change),
        warnings=[*_warnings(verdicts, limits), *_remarks(cases, orphans, drift, catalogs, limits)],
        rules=[_ruling(each, limits) for each in verdicts],
        scenarios=gated,
        catalogs_as_of=str(catalogs.as_of),
        pin=pin,
    )


def _totals(
    gated: Sequence[Gated], orphans: Sequence[Baseline], compared: bool
) -> tuple[Decimal | None, Decimal | None]:
    """The month before and after; None where nothing is compared with, or where a scenario has no plan."""
    was = (*(each.before_usd or Decimal(0) for each in gated), *map(_usd, orphans))
    now = [each.after_usd for each in gated if each.after_usd is not None]
    before = sum(was, Decimal(0)) if compared else None
    return before, sum(now, Decimal(0)) if len(now) == len(gated) else None


def _refuse_unusable(
    files: Sequence[ScenarioFile], catalogs: Catalogs, limits: GateLimits, baselines: Sequence[Baseline]
) -> None:
    """Everything that keeps a verdict from being given, at once."""
    findings = [finding for file in files for finding in file.located(check_scenario(file.scenario, catalogs))]
    names: dict[str, str] = {}
    for file in files:
        first = names.setdefault(file.scenario.name, file.document.file)
        if first != file.document.file:
            problem = f"{first} has the same name, {file.scenario.name}"
            findings.append(Finding(file.document.file, line_of(file, "name"), "name", problem, "rename one"))
    for option, limit in (("percent", limits.max_increase_percent), ("usd", limits.max_increase_usd)):
        if limit is not None and not baselines:
            problem = "there is no plan to compare with"
            findings.append(Finding(f"--max-increase-{option}", 0, "", problem, "give one with --baseline PLAN.json"))
    if findings:
        raise InputError(findings)


def _gated(
    case: Case, catalogs: Catalogs, old_catalogs: Catalogs | None, solve: gate_causes.Solve, compared: bool
) -> Gated:
    """One scenario beside its baseline; without one it is new, and all it costs is the scenario's doing."""
    after, baseline = case.planned.fleet.monthly_cost_usd, case.baseline
    before = None if baseline is None else _usd(baseline)
    change = None if after is None or not compared else after - (before or Decimal(0))
    shares = gate_causes.Shares(())
    if baseline is None or baseline.fleet.monthly_cost_usd is None:
        shares = gate_causes.Shares(tuple(gate_causes.only_scenario(change)) if change else ())
    elif after is not None:
        old, notes = _fitting(old_catalogs, baseline, case)
        told = gate_causes.shares(
            gate_causes.CostChange(case.file.scenario, catalogs, case.planned.fleet, baseline, old, solve)
        )
        shares = gate_causes.Shares(told.causes, (*notes, *told.notes))
    made = baseline.fleet.inputs if baseline else None
    return Gated(
        scenario=case.file.scenario.name,
        file=case.file.document.file,
        baseline=baseline.file if baseline else None,
        outcome=case.planned.fleet.outcome,
        before_usd=before,
        after_usd=after,
        change_usd=change,
        change_percent=_percent(before, change),
        causes=list(shares.causes),
        edits=edits(made, inputs_of(case.file.scenario, catalogs), case.file),
        deployments=changes(baseline.fleet if baseline else None, case.planned.fleet),
        notes=list(shares.notes),
    )


def _fitting(old: Catalogs | None, baseline: Baseline, case: Case) -> tuple[Catalogs | None, list[str]]:
    """The catalogs of before where they are those that the baseline was made on."""
    made = baseline.fleet.inputs
    if old is None or made is None:
        return None, []
    found = inputs_of(case.file.scenario, old)
    wrong = [name.removesuffix("_sha256") for name in SAME_CATALOGS if getattr(found, name) != getattr(made, name)]
    if not wrong:
        return old, []
    return None, [f"--baseline-catalogs are not those that {baseline.file} was made on: {', '.join(wrong)} differ"]


def _usd(baseline: Baseline) -> Decimal:
    """A baseline without a plan cost nothing."""
    return baseline.fleet.monthly_cost_usd or Decimal(0)


def _percent(before: Decimal | None, change: Decimal | None) -> float | None:
    return float(change / before * 100) if before and change is not None else None


def _all_causes(gated: Sequence[Gated], orphans: Sequence[Baseline], change: Decimal | None) -> list[Cause]:
    """Added up by cause; a scenario that is gone is the scenarios' doing."""
    if change is None:
        return []
    gone = gate_causes.only_scenario(-sum(map(_usd, orphans), Decimal(0)))
    return gate_causes.merged([*(cause for each in gated for cause in each.causes), *gone], change)


def _reason(verdict: Verdict, cases: Sequence[Case], gated: Sequence[Gated]) -> Reason:
    """A broken rule at the line to look at: its field, else the first edit, else where the workloads begin."""
    at = next((i for i, each in enumerate(gated) if each.scenario == verdict.scenario), None)
    if at is None:
        at = next((i for i, each in enumerate(gated) if each.edits), 0)
    edited = gated[at].edits
    field = verdict.field or (edited[0].field if edited else "workloads")
    return Reason(
        rule=verdict.rule,
        limit=verdict.limit,
        value=verdict.value,
        text=verdict.text,
        scenario=verdict.scenario,
        file=gated[at].file,
        line=line_of(cases[at].file, field),
    )


def _ruling(verdict: Verdict, limits: GateLimits) -> Ruling:
    quiet = verdict.allowed or limits.only_warns(verdict.rule, verdict.scenario)
    state = "kept" if not verdict.broken else "warned" if quiet else "broken"
    return Ruling(rule=verdict.rule, scenario=verdict.scenario, state=state, text=verdict.text)


def _warnings(verdicts: Iterable[Verdict], limits: GateLimits) -> list[Warned]:
    """Broken rules that were let through, and why."""
    told = []
    for each in verdicts:
        if each.broken and (each.allowed or limits.only_warns(each.rule, each.scenario)):
            why = "allowed by name" if each.allowed else "warns only"
            told.append(Warned(rule=each.rule, scenario=each.scenario, text=f"{each.text} ({why})"))
    return told


def _remarks(
    cases: Sequence[Case], orphans: Sequence[Baseline], drift: Sequence[str], catalogs: Catalogs, limits: GateLimits
) -> list[Warned]:
    """What breaks nothing and should be known: drift, old prices, plans that no scenario claims."""
    told = [Warned(rule=None, scenario=None, text=text) for text in drift]
    age_days = 0 if limits.today is None else (limits.today - catalogs.as_of).days
    flagged = min(case.file.scenario.policy.flag_price_age_days for case in cases)
    if age_days > flagged:
        text = f"the catalogs are of {catalogs.as_of}, {age_days} days ago; prices may have moved since"
        told.append(Warned(rule=None, scenario=None, text=text))
    for case in cases:
        name, flagged = case.file.scenario.name, case.file.scenario.policy.flag_price_age_days
        ages = ages_days(case.planned.fleet, catalogs, limits.today)
        for offer, age in ages.items():
            if not flagged < age <= limits.oldest_days(case.file.scenario.policy):
                continue
            told.append(Warned(rule=None, scenario=name, text=f"the price of {offer} is {age} days old"))
        if case.baseline is not None and case.baseline.fleet.monthly_cost_usd is None:
            told.append(Warned(rule=None, scenario=name, text=f"{case.baseline.file} has no plan: counted as nothing"))
    for each in orphans:
        text = (
            f"{each.file}: its scenario {each.fleet.scenario} is gone; {_usd(each):,.2f} USD a month counted as saved"
        )
        told.append(Warned(rule=None, scenario=None, text=text))
    return told
