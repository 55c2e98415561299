"""Where the difference of each scenario comes from: shares by cause, with the prices and scenarios behind them."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Final

from pydantic import ValidationError

from optimizer.answers.gate.baseline import Baseline
from optimizer.answers.gate.causes.exchanging import CostChange, Shares, shares
from optimizer.answers.gate.causes.price_news import price_news
from optimizer.answers.gate.changes import edits, line_of
from optimizer.answers.gate.plan import afresh_usd, planned_usd
from optimizer.answers.gate.rules.demands import Case
from optimizer.answers.gate.types import CausedBy, Happened, Removed
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.price_free import PriceFree
from optimizer.plan.record.origin import inputs_of

SAME_CATALOGS: Final = ("prices_sha256", "catalog_sha256", "calibration_sha256")


def differences(
    cases: Sequence[Case],
    catalogs: Catalogs,
    old_catalogs: Catalogs | None,
    clock: Clock,
    kept: PriceFree,
    *,
    work_limit: int | None,
) -> list[Shares]:
    """What the difference of each scenario comes from, solved again on what is kept of its plan."""
    parts = []
    for number, case in enumerate(cases):
        in_turn = clock.share(1 / (len(cases) - number)).part(work_limit=work_limit)
        parts.append(_shares(case, catalogs, old_catalogs, in_turn, kept))
    return parts


def of_removed(removed: Sequence[Removed]) -> Shares:
    """What scenarios that were removed no longer cost."""
    named = [
        CausedBy(
            what="scenario_removed",
            name=each.scenario,
            before_usd=f"{each.before_usd:.2f}",
            change_usd=-each.before_usd,
            text=f"{each.scenario} was removed",
        )
        for each in removed
    ]
    return Shares({"scenario": -sum((each.before_usd for each in removed), Decimal(0))}, named={"scenario": (*named,)})


def _shares(case: Case, catalogs: Catalogs, old_catalogs: Catalogs | None, clock: Clock, kept: PriceFree) -> Shares:
    """What the difference comes from; of a scenario without a plan before, all is the scenario's doing."""
    after, baseline = case.planned.plan.monthly_cost_usd, case.baseline
    before = baseline.plan.monthly_cost_usd if baseline else None
    if baseline is None or before is None:
        change = case.change_usd or Decimal(0)
        text = f"{case.name} is new" if baseline is None else f"{case.name} had no plan before"
        return Shares({"scenario": change}, named={"scenario": (_scenario(case, "scenario_new", change, text),)})
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
            planned_usd=partial(planned_usd, clock=clock, running=baseline.running, kept=kept),
            afresh_usd=partial(afresh_usd, clock=clock, kept=kept),
        )
    )
    changed = _scenario(case, "scenario_changed", found.amounts.get("scenario"), f"{case.name} was changed")
    news = price_news(baseline.plan, case.planned.plan, _asked_before(case, baseline), catalogs, fitting)
    found = replace(found, named={**news, "scenario": (changed,)})
    if not differ:
        return found
    note = f"--baseline-catalogs are not those that the baseline of {case.name} was made on: {', '.join(differ)} differ"
    return replace(found, notes=(note, *found.notes))


def _scenario(case: Case, what: Happened, change_usd: Decimal | None, text: str) -> CausedBy:
    """A scenario that came or was changed, at its first field that was; one that came, where it is named."""
    edited = edits(case.baseline.plan.inputs if case.baseline else None, case.file)
    after = case.planned.plan.monthly_cost_usd
    return CausedBy(
        what=what,
        name=case.name,
        before_usd=f"{case.baseline.usd:.2f}" if case.baseline else None,
        after_usd=None if after is None else f"{after:.2f}",
        change_usd=change_usd,
        file=case.file.document.file,
        line=edited[0].line if edited else line_of(case.file, "name"),
        text=text,
    )


def _asked_before(case: Case, baseline: Baseline) -> Scenario:
    """The baseline's scenario where it is recorded and can still be read, else today's."""
    made = baseline.plan.inputs
    try:
        return case.file.scenario if made is None else Scenario.model_validate(made.scenario)
    except ValidationError:
        return case.file.scenario


def _differing(old: Catalogs, baseline: Baseline, case: Case) -> list[str]:
    """The parts of these catalogs that are not those that the baseline was made on, as far as it recorded them."""
    made, today = baseline.plan.inputs, inputs_of(case.file.scenario, old)
    if made is None:
        return []
    return [name.removesuffix("_sha256") for name in SAME_CATALOGS if getattr(today, name) != getattr(made, name)]
