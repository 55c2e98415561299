"""What yesterday's plans would be today: whether what runs can stay, and what moving would save and cost."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from optimizer.answers.gate.baseline import Baseline, GatePlan, paired
from optimizer.answers.gate.causes.price_news import by_weight, price_news
from optimizer.answers.gate.changes import changes
from optimizer.answers.gate.gate import unusable
from optimizer.answers.gate.types import CausedBy, Removed
from optimizer.answers.many.replan.choice import ReplanChoice, plan_of_today
from optimizer.answers.many.replan.types import Replanned, ReplanReport
from optimizer.answers.many.replan.words import sentence, summary_of
from optimizer.base.arguments import check_within
from optimizer.base.clock import Clock
from optimizer.base.errors import Finding, refuse
from optimizer.base.memory import Memory
from optimizer.base.progress import Progress, silent
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.policy import Migration
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.odd_prices import odd_prices
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.price_free import PriceFree
from optimizer.plan.record.fields import cents

MOST_MONTHS: Final = 120


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
    check_within("replan", months=(months, 1, MOST_MONTHS))
    findings = [*unusable(files, catalogs), *(finding for file in files for finding in _by_the_second(file))]
    claimed, orphans = paired([file.scenario.name for file in files], baselines)
    findings += [finding for baseline in claimed.values() for finding in _unrecorded(baseline)]
    refuse(findings)
    clock, begin, found = Clock(time_limit_s, memory=Memory()), progress or silent, list[Replanned]()
    # what runs as it is and what is best against it begin alike, and are simulated once
    kept = PriceFree()
    for number, file in enumerate(files):
        begin(file.scenario.name)
        in_turn = clock.share(1 / (len(files) - number)).part(work_limit=work_limit)
        inquiry = Inquiry.of(file.scenario, catalogs, in_turn, kept)
        found.append(_replanned(file, claimed.get(file.scenario.name), inquiry, months))
    removed = [Removed(scenario=each.plan.scenario, baseline=each.named, before_usd=each.usd) for each in orphans]
    saves = sum((each.saves_usd_per_month or Decimal(0) for each in found), Decimal(0))
    return ReplanReport(
        months=months,
        scenarios=found,
        removed=removed,
        saves_usd_per_month=saves,
        one_time_usd=sum((each.one_time_usd for each in found if each.advice != "undecided"), Decimal(0)),
        summary=summary_of(found, removed, saves),
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


def _replanned(file: ScenarioFile, baseline: Baseline | None, inquiry: Inquiry, months: int) -> Replanned:
    """One scenario: what runs kept as it is, then what is best against it."""
    catalogs, clock = inquiry.catalogs, inquiry.clock
    asked = file.scenario.policy.migration or Migration(in_force=())
    running = (asked.in_force if baseline is None else baseline.running) or ()
    if not (running or (baseline and baseline.plan.hosted)):
        after = plan_of_today(inquiry.under_policy(migration=None))
        return _told(ReplanChoice(file, baseline, None, None, after), catalogs, months)
    stays = plan_of_today(replace(inquiry, clock=clock.share(1 / 2)).unchanged_from(running))
    # a plan counts what changing costs in its month, so its part of the months is told to it
    moving = {"usd_per_change": asked.usd_per_change / months, "in_force": running, "from_plan": None}
    moved = inquiry.under_policy(migration=asked.model_copy(update=moving))
    return _told(ReplanChoice(file, baseline, running, stays, plan_of_today(moved)), catalogs, months)


def _told(choice: ReplanChoice, catalogs: Catalogs, months: int) -> Replanned:
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
        bound_usd=choice.best.bound_usd,
        saves_usd_per_month=saves,
        replicas_changed=choice.changed,
        one_time_usd=cents(one_time),
        pays_back_months=float(one_time / saves) if saves and saves > 0 else None,
        deployments=changes(baseline.plan if baseline else None, after) if after else [],
        prices=_prices(baseline, after, file, catalogs),
        warnings=list(_warnings([baseline.plan if baseline else None, after], catalogs)),
        text="",
    )
    return told.model_copy(update={"text": sentence(told, whole, holds=choice.holds)})


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
