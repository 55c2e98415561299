"""What yesterday's plans would be today: whether what runs can stay, and what moving would save and cost."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal

from optimizer.answers.gate.baseline import Baseline, GatePlan, paired
from optimizer.answers.gate.causes.price_news import by_weight, price_news
from optimizer.answers.gate.changes import changes
from optimizer.answers.gate.gate import unusable
from optimizer.answers.gate.plan import plan_of
from optimizer.answers.gate.types import CausedBy, DeploymentChange, Removed
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import figure
from optimizer.base.memory import Memory
from optimizer.base.model import Strict
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import InForce, Migration
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.odd_prices import odd_prices
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fields import Figure, Usd, cents

SCHEMA_VERSION: Final = 1
Advice = Literal["stay", "move", "must_move", "new", "no_plan", "undecided"]


class Replanned(Strict):
    """One scenario: what runs by yesterday's plan, and what today's would be."""

    scenario: str
    file: str
    baseline: str | None
    """The file of yesterday's plan; None where there is none."""
    advice: Advice
    """`must_move`: what runs no longer meets the scenario, or can no longer be bought; `undecided`: a limit was reached
    before it was known."""
    before_usd: Usd | None
    """A month, as yesterday's plan says, what changing to it cost once included."""
    stay_usd: Usd | None
    """The same replicas in the busiest hours at today's prices; None where they cannot stay."""
    after_usd: Usd | None
    """A month of what is advised, without what changing to it costs once."""
    saves_usd_per_month: Usd | None
    """Of moving over staying; None where there is no choice."""
    replicas_changed: int
    """Started and stopped in the busiest hours."""
    one_time_usd: Usd
    """What changing them costs."""
    pays_back_months: Figure | None
    deployments: list[DeploymentChange]
    """What runs yesterday and by today's advice."""
    prices: list[CausedBy]
    """What happened to the prices that either plan pays, the dearest first."""
    warnings: list[str]
    """Prices of either plan to have confirmed before anything is moved, as `plan` says it, each with its row."""
    text: str


class ReplanReport(Strict):
    """All scenarios of a folder, and what there is to do."""

    schema_version: int = SCHEMA_VERSION
    months: int
    """Within which a move has to pay back."""
    scenarios: list[Replanned]
    removed: list[Removed]
    """Plans of yesterday whose scenario is there no more: what they run can be stopped."""
    saves_usd_per_month: Usd
    one_time_usd: Usd
    """Of what is advised; what is undecided is in neither sum."""
    summary: str


def replan(
    files: Sequence[ScenarioFile],
    catalogs: Catalogs,
    baselines: Sequence[Baseline],
    *,
    months: int = 1,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Progress | None = None,
) -> ReplanReport:
    """Holds yesterday's plans against today's catalogs and scenarios.

    What a changed replica costs is the scenario's `policy.migration.usd_per_change`, and nothing where it says none;
    a plan moves only where that pays back, and stays within the policy's `simplicity_percent` of the cheapest.

    Args:
        files: The scenarios of today.
        catalogs: Those of today.
        baselines: The plans of yesterday.
        months: Within which a move has to pay back.
        time_limit_s: For all of it.
        work_limit: Simplex iterations for each plan; the same on every machine.
        progress: Told the name of each scenario as its turn comes.

    Returns:
        What to do with each plan, what it would be today, and what moving saves and costs.

    Raises:
        InputError: a scenario names what the catalogs do not know, two share a name, or a plan does not say what it
            runs.
        VerificationFailed: a plan did not survive independent arithmetic.
    """
    findings = [*unusable(files, catalogs), *(finding for file in files for finding in _by_the_second(file))]
    claimed, orphans = paired([file.scenario.name for file in files], baselines)
    findings += [finding for baseline in claimed.values() for finding in _unrecorded(baseline)]
    if findings:
        raise InputError(findings)
    clock, begin, found = Clock(time_limit_s, memory=Memory()), progress or silent, list[Replanned]()
    for number, file in enumerate(files):
        begin(file.scenario.name)
        in_turn = clock.share(1 / (len(files) - number)).part(work_limit=work_limit)
        found.append(_replanned(file, claimed.get(file.scenario.name), catalogs, in_turn, months))
    removed = [Removed(scenario=each.plan.scenario, baseline=each.named, before_usd=each.usd) for each in orphans]
    saves = sum((each.saves_usd_per_month or Decimal(0) for each in found), Decimal(0))
    return ReplanReport(
        months=months,
        scenarios=found,
        removed=removed,
        saves_usd_per_month=saves,
        one_time_usd=sum((each.one_time_usd for each in found if each.advice != "undecided"), Decimal(0)),
        summary=_summary(found, removed, saves),
    )


def _by_the_second(file: ScenarioFile) -> list[Finding]:
    """Containers that are paid by the second, which no plan of before can be held against here."""
    if "per_second" not in file.scenario.policy.hosting:
        return []
    problem = "what is paid by the second cannot be held against a plan of yesterday"
    return [Finding(file.document.file, 0, "policy.hosting", problem, "use optimizer gate or optimizer plan")]


def _unrecorded(baseline: Baseline) -> list[Finding]:
    """Plans of versions that did not record how replicas are laid out."""
    if baseline.running or not baseline.plan.deployments:
        return []
    problem = "does not say how its replicas are laid out, so nobody can tell whether they may stay"
    return [Finding(baseline.file, 0, "deployments", problem, "plan again with this version")]


def _replanned(
    file: ScenarioFile, baseline: Baseline | None, catalogs: Catalogs, clock: Clock, months: int
) -> Replanned:
    """One scenario: what runs kept as it is, then what is best against it."""
    inquiry = Inquiry.of(file.scenario, catalogs, clock.share(1 / 2))
    asked = file.scenario.policy.migration or Migration(in_force=())
    running = (asked.in_force if baseline is None else baseline.running) or ()
    if not (running or (baseline and baseline.plan.hosted)):
        after = _best(replace(inquiry.under_policy(migration=None), clock=clock))
        return _told(_Choice(file, baseline, None, None, after), catalogs, months)
    stays = _best(inquiry.unchanged_from(running))
    # a plan counts what changing costs in its month, so its part of the months is told to it
    moving = {"usd_per_change": asked.usd_per_change / months, "in_force": running, "from_plan": None}
    moved = replace(inquiry, clock=clock).under_policy(migration=asked.model_copy(update=moving))
    return _told(_Choice(file, baseline, running, stays, _best(moved)), catalogs, months)


@dataclass(frozen=True)
class _Best:
    """What is best under one policy.

    Attributes:
        plan: None where there is none.
        changed: Replicas that it starts and stops in its busiest hours, as the plan counts and pays them.
        holds: Whether no simulated request broke a promise.
        known: Whether all of it is certain.
    """

    plan: GatePlan | None
    changed: int
    holds: bool
    known: bool


def _best(inquiry: Inquiry) -> _Best:
    """The plan, if there is one, and whether that is certain."""
    found = confirmed_plan(inquiry)
    if not isinstance(found, SimulatedPlan):
        return _Best(None, 0, holds=False, known=found.solution.outcome == "infeasible")
    changes = found.bought.migration
    changed = changes.started + changes.stopped if changes else 0
    holds = found.simulation is not None and found.simulation.holds is not False
    known = found.ended and (found.answer.solution.outcome == "optimal" or found.answer.enough)
    return _Best(plan_of(found), changed, holds=holds, known=known)


@dataclass(frozen=True)
class _Choice:
    """What there is to choose from for a scenario.

    Attributes:
        running: By the plan of yesterday, else as the scenario says; None where nothing runs.
        stays: The plan that keeps all of it; None where nothing runs.
        best: The best plan against it, its month with a part of what changing costs.
    """

    file: ScenarioFile
    baseline: Baseline | None
    running: Sequence[InForce] | None
    stays: _Best | None
    best: _Best

    @property
    def after(self) -> GatePlan | None:
        """What is advised."""
        return self.best.plan

    @property
    def stay_usd(self) -> Decimal | None:
        """A month of what runs; None where it cannot stay, or breaks under simulated load what another plan keeps."""
        if self.stays is None or self.stays.plan is None or (self.best.holds and not self.stays.holds):
            return None
        return self.stays.plan.monthly_cost_usd

    @property
    def changed(self) -> int:
        """Replicas started and stopped."""
        return self.best.changed

    @property
    def advice(self) -> Advice:
        """What to do, by what is certain."""
        if not (self.best.known and (self.stays is None or self.stays.known)):
            return "undecided"
        if self.after is None:
            return "no_plan"
        if self.running is None:
            return "new"
        if self.stay_usd is None:
            return "must_move"
        return "move" if self.changed else "stay"


def _told(choice: _Choice, catalogs: Catalogs, months: int) -> Replanned:
    """The choice with its figures, in words."""
    file, baseline, after, advice = choice.file, choice.baseline, choice.after, choice.advice
    asked = file.scenario.policy.migration
    one_time = Decimal(str(asked.usd_per_change if asked else 0)) * choice.changed
    whole = after.monthly_cost_usd if after else None
    month = None if whole is None else cents(whole - one_time / months)
    saves = choice.stay_usd - month if advice == "move" and choice.stay_usd and month is not None else None
    told = Replanned(
        scenario=file.scenario.name,
        file=file.document.file,
        baseline=baseline.named if baseline else None,
        advice=advice,
        before_usd=baseline.plan.monthly_cost_usd if baseline else None,
        stay_usd=choice.stay_usd,
        after_usd=month,
        saves_usd_per_month=saves,
        replicas_changed=choice.changed,
        one_time_usd=cents(one_time),
        pays_back_months=float(one_time / saves) if saves and saves > 0 else None,
        deployments=changes(baseline.plan if baseline else None, after) if after else [],
        prices=_prices(baseline, after, file, catalogs),
        warnings=list(_warnings([baseline.plan if baseline else None, after], catalogs)),
        text="",
    )
    return told.model_copy(update={"text": _text(told)})


def _prices(
    baseline: Baseline | None, after: GatePlan | None, file: ScenarioFile, catalogs: Catalogs
) -> list[CausedBy]:
    """What happened to prices that either plan pays."""
    if baseline is None or after is None:
        return []
    made = baseline.plan.inputs
    scenario = Scenario.model_validate(made.scenario) if made else file.scenario
    news = price_news(baseline.plan, after, scenario, catalogs, None)
    return sorted((each for several in news.values() for each in several), key=by_weight)


def _warnings(plans: Sequence[GatePlan | None], catalogs: Catalogs) -> Iterator[str]:
    """Prices of yesterday's plan and of today's that may be right and seldom are."""
    paid = dict.fromkeys(each.offer for plan in plans if plan is not None for each in plan.purchases)
    for offer, text in odd_prices(catalogs, paid):
        place = catalogs.price_places.get(offer)
        yield f"{offer}: {text}{f' ({place})' if place else ''}"


def _text(told: Replanned) -> str:
    """What to do and why, in a sentence."""
    changed = f"{told.replicas_changed} {'replica' if told.replicas_changed == 1 else 'replicas'} to start or stop"
    once = f"{changed}, {_usd(told.one_time_usd)} once"
    if told.advice == "move":
        back = f", back in {_months(told.pays_back_months)}" if told.pays_back_months else ""
        return f"move: {_usd(told.after_usd)} instead of {_usd(told.stay_usd)} a month; {once}{back}"
    moved = any(change.sign in ("+", "-") for change in told.deployments)
    free = "; what moves freely stands below" if moved else ""
    words = {
        "stay": f"stay: nothing saves enough over {_usd(told.stay_usd)} a month{free}",
        "must_move": f"what runs cannot stay; the best against it is {_usd(told.after_usd)} a month; {once}",
        "new": f"nothing runs yet: {_usd(told.after_usd)} a month",
        "no_plan": "no plan meets the scenario today; `optimizer plan` says why and what would",
        "undecided": "a limit was reached before it was known; what is shown is the best found by then",
    }
    return words[told.advice]


def _months(count: float) -> str:
    shown = figure(count)
    return f"{shown} {'month' if shown == '1' else 'months'}"


def _usd(amount: Decimal | None) -> str:
    return "—" if amount is None else f"${amount:,.2f}"


def _summary(found: Sequence[Replanned], removed: Sequence[Removed], saves: Decimal) -> str:
    """How many of each, and what moving saves."""
    words: dict[Advice, str] = {
        "move": "worth moving",
        "must_move": "to be moved",
        "new": "new",
        "no_plan": "without a plan",
        "undecided": "undecided",
        "stay": "to leave as they are",
    }
    counts = Counter(each.advice for each in found)
    parts = [f"{counts[advice]} {said}" for advice, said in words.items() if counts[advice]]
    parts += [f"{len(removed)} removed"] if removed else []
    saved = f"; moving saves {_usd(saves)} a month" if saves else ""
    odd = "; have an odd price confirmed first" if any(each.warnings for each in found) else ""
    return f"{len(found)} {'scenario' if len(found) == 1 else 'scenarios'}: {', '.join(parts)}{saved}{odd}."
