"""What a gate says beside its verdict: rules that only warn or were not judged, old prices, what came and went."""

from collections.abc import Iterable, Iterator, Sequence

from optimizer.answers.gate.places import Places
from optimizer.answers.gate.rules.demands import Case, GateLimits, Verdict
from optimizer.answers.gate.rules.judging import uncovered
from optimizer.answers.gate.rules.price_ages import ages_days
from optimizer.answers.gate.types import Gated, Removed, Warned
from optimizer.inputs.catalog.records import Catalogs


def not_judged(verdicts: Iterable[Verdict]) -> Iterator[Warned]:
    """Rules for which there was nothing to judge."""
    for each in verdicts:
        if each.skipped:
            yield Warned(rule=None, scenario=each.scenario, text=each.text)


def let_through(verdicts: Iterable[Verdict], limits: GateLimits, places: Places) -> Iterator[Warned]:
    """Broken rules that only warn, why, and at which line."""
    for each in verdicts:
        if each.state(limits) == "warned":
            text, (file, line) = f"{each.text} ({each.let_through or 'warns only'})", places.of(each)
            yield Warned(
                rule=each.rule, guardrail=each.guardrail, scenario=each.scenario, text=text, file=file, line=line
            )


def old_prices(cases: Sequence[Case], catalogs: Catalogs, limits: GateLimits) -> Iterator[Warned]:
    """Prices that the policy flags and no rule refuses, and baselines that had none to pay."""
    age_days = 0 if limits.today is None else (limits.today - catalogs.as_of).days
    if age_days >= min(min(case.policy.flag_price_age_days.values()) for case in cases):
        text = f"the catalogs are of {catalogs.as_of}, {age_days} days ago; prices may have moved since"
        yield Warned(rule=None, scenario=None, text=text)
    sellers = {o.id: catalogs.terms.seller_kind(o.provider, o.provider_kind) for o in catalogs.offers}
    for case in cases:
        for offer, age in ages_days(case.planned.plan, catalogs, limits.today).items():
            flagged = case.policy.flagged_from_days(sellers.get(offer, ""))
            if flagged <= age <= limits.oldest_days(case.policy):
                yield Warned(rule=None, scenario=case.name, text=f"the price of {offer} is {age} days old")
        if case.baseline is not None and case.baseline.plan.monthly_cost_usd is None:
            text = f"the baseline of {case.name} has no plan: counted as nothing"
            yield Warned(rule=None, scenario=case.name, text=text)


def not_held_to_inputs(cases: Iterable[Case]) -> Iterator[Warned]:
    """Baselines that do not say what they were made from, so that an edit all through them goes unseen."""
    for case in cases:
        if case.baseline is not None and case.baseline.plan.inputs is None:
            unchecked = "does not record its inputs: whether they cost what it says was not checked"
            text = f"the baseline of {case.name} {unchecked}"
            yield Warned(rule=None, scenario=case.name, text=text)


def came_and_went(gated: Sequence[Gated], removed: Sequence[Removed]) -> Iterator[Warned]:
    """Scenarios that stand on one side only: new ones cost nothing before, removed ones nothing today."""
    new = [each for each in gated if each.new]
    if len(new) == len(gated) and not removed:
        text = "every scenario is new: nothing is compared, budgets hold all the same"
        yield Warned(rule=None, scenario=None, text=text)
        return
    for each in new:
        amount = "" if each.after_usd is None else f"; {each.after_usd:,.2f} USD a month count as an increase"
        yield Warned(rule=None, scenario=each.scenario, text=f"{each.scenario} is new, no baseline is of it{amount}")
    for gone in removed:
        text = f"{gone.scenario} was removed; the {gone.before_usd:,.2f} USD a month of its baseline count as saved"
        yield Warned(rule=None, scenario=None, text=text)


def without_guardrail(gated: Sequence[Gated], limits: GateLimits) -> Iterator[Warned]:
    """New scenarios that no rule of the file is about: one that was renamed would leave its rule behind."""
    if limits.guardrails is not None:
        for name in uncovered(limits.guardrails, [each.scenario for each in gated if each.new]):
            yield Warned(rule=None, scenario=name, text=f"{name} is new, and no guardrail is about it")
