"""What a difference between two plans comes from: solved again with one input after the other as it was before.

The order is program, calibration, prices, catalog, scenario: each share is the change of the proven cheapest cost when
that input is exchanged and those before it already are. The shares add up to the difference to the cent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from operator import attrgetter
from typing import Final, TypeVar

from pydantic import ValidationError

from optimizer.answers.gate.baseline import Baseline
from optimizer.answers.gate.causes.believing import refuse_other_cost, refuse_other_prices
from optimizer.answers.gate.causes.price_news import by_weight
from optimizer.answers.gate.types import CAUSES, Cause, CausedBy, CauseName
from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.apis import apis
from optimizer.plan.record.fields import cents
from optimizer.plan.record.origin import PER_TOKEN, PlanInputs, content_sha256, inputs_of, stated

PlannedUsd = Callable[[Scenario, Catalogs], Decimal | None]
"""The proven cheapest month of a scenario on catalogs; None where there is none."""

Row = TypeVar("Row", bound=Strict)

RECORDED: Final[dict[CauseName, str]] = {
    "prices": "prices_sha256",
    "catalog": "catalog_sha256",
    "scenario": "scenario_sha256",
    "calibration": "calibration_sha256",
    "program": "program",
}
WHAT: Final[dict[CauseName, str]] = {
    "prices": "prices moved",
    "catalog": "the catalogs say something else about what is on offer",
    "scenario": "the scenario was changed",
    "calibration": "the performance model was calibrated anew",
    "program": "the program is another version",
}
NOT_RECORDED: Final = (
    "the baseline does not record what it was made from; plan it again to see what a change comes from"
)
SAME_PROGRAM: Final = "the same inputs and program: what runs was kept and bought anew, or a search ended elsewhere"
IN_ORDER: Final = (
    "shares depend on the order in which inputs are exchanged: program, calibration, prices, catalog, scenario"
)
NAMED: Final = 5
TELL_APART: Final = "--baseline-catalogs with the catalogs of the baseline tells them apart"


@dataclass(frozen=True)
class Shares:
    """A difference by cause, US dollars a month, and what could not be told.

    Attributes:
        amounts: By cause.
        together: Other causes that an amount may come from, too.
        notes: What is not known, in words.
        named: The prices and scenarios behind a cause.
        words: What happened, where more is known than which input changed and nothing has a name.
    """

    amounts: Mapping[CauseName, Decimal] = field(default_factory=dict)
    together: Mapping[CauseName, Sequence[CauseName]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    named: Mapping[CauseName, tuple[CausedBy, ...]] = field(default_factory=dict)
    words: Mapping[CauseName, str] = field(default_factory=dict)

    def causes(self, total: Decimal | None) -> list[Cause]:
        """Those that made a difference, in the published order, each with its words and its share of the total."""
        return [
            Cause(
                cause=name,
                together_with=list(others),
                change_usd=self.amounts[name],
                share_percent=float(self.amounts[name] / total * 100) if total else None,
                text="; ".join(words for each in (name, *others) for words in self._words(each)),
                caused_by=[caused for each in (name, *others) for caused in self.named.get(each, ())],
            )
            for name in sorted(self.amounts, key=CAUSES.index)
            for others in [self.together.get(name, ())]
            if self.amounts[name] or others
        ]

    def _words(self, cause: CauseName) -> Sequence[str]:
        """What happened, the first few of what has names."""
        named = [caused.text for caused in self.named.get(cause, ())]
        rest = len(named) - NAMED
        return (*named[:NAMED], *([f"and {rest} more"] if rest > 0 else [])) or (self.words.get(cause, WHAT[cause]),)


@dataclass(frozen=True)
class CostChange:
    """A plan of today beside its baseline.

    Attributes:
        scenario: As it is today.
        catalogs: As they are today.
        now_usd: A month of today's plan.
        now_proven: Whether every search for it came to its end.
        before_usd: A month of the baseline.
        baseline: The plan of before.
        old_catalogs: What the baseline was made on, where it is at hand.
        planned_usd: Solves again, what runs before staying where it costs little more.
        afresh_usd: Solves as the baseline was, as if nothing ran; None where anything about the plan is not proven.
    """

    scenario: Scenario
    catalogs: Catalogs
    now_usd: Decimal
    now_proven: bool
    before_usd: Decimal
    baseline: Baseline
    old_catalogs: Catalogs | None
    planned_usd: PlannedUsd
    afresh_usd: PlannedUsd


def changed_inputs(baseline: Baseline, scenario: Scenario, catalogs: Catalogs) -> list[CauseName] | None:
    """Those that are not what the baseline was made from; None where it does not record that."""
    made, today = baseline.plan.inputs, inputs_of(scenario, catalogs)
    if made is None:
        return None
    before, now = (
        each.model_copy(update={"scenario_sha256": content_sha256(stated(each.scenario))}) for each in (made, today)
    )
    return [name for name in CAUSES if getattr(before, RECORDED[name]) != getattr(now, RECORDED[name])]


def shares(case: CostChange) -> Shares:
    """The difference by cause; only inputs that changed are named.

    Raises:
        InputError: the baseline does not cost what its own inputs cost.
    """
    made, changed = case.baseline.plan.inputs, changed_inputs(case.baseline, case.scenario, case.catalogs)
    if made is None or changed is None:
        return Shares(notes=(NOT_RECORDED,))
    if "prices" not in changed:
        refuse_other_prices(case.baseline, case.catalogs)
    if not changed:
        # what runs was left out of it, so that today's plan is the one of these inputs afresh
        refuse_other_cost(case.baseline, case.now_usd if case.now_proven else None)
        return Shares({"program": case.now_usd - case.before_usd}, words={"program": SAME_PROGRAM})
    if changed == ["scenario"]:
        return Shares({"scenario": case.now_usd - case.before_usd})
    return _by_solving(case, made, changed)


def _by_solving(case: CostChange, made: PlanInputs, changed: Sequence[CauseName]) -> Shares:
    """The scenario's share by solving the old one today, the others' by exchanging them one by one where possible."""
    try:
        scenario = Scenario.model_validate(made.scenario)
    except ValidationError:
        return _unseparated(case, changed, "its scenario cannot be read today")
    old_today = case.planned_usd(scenario, case.catalogs) if "scenario" in changed else case.now_usd
    if old_today is None:
        return _unseparated(case, changed, "its scenario has no proven plan on today's catalogs")
    others = [name for name in changed if name != "scenario"]
    rest = _stepwise(case, scenario, others, old_today) or _estimated(case, scenario, others, old_today)
    if "scenario" not in changed:
        return rest
    return replace(rest, amounts={**rest.amounts, "scenario": case.now_usd - old_today})


def _unseparated(case: CostChange, changed: Sequence[CauseName], why: str) -> Shares:
    """All of the difference under one cause with the others beside it, the scenario last."""
    first, *others = sorted(changed, key=lambda name: name == "scenario")
    note = f"the baseline of {case.scenario.name}: {why}, so {_listed(changed)} cannot be told apart"
    return Shares({first: case.now_usd - case.before_usd}, {first: others}, (note,))


def _stepwise(case: CostChange, scenario: Scenario, changed: Sequence[CauseName], old_today: Decimal) -> Shares | None:
    """Each cause's own share, from the catalogs of the baseline to those of today; None where a step has no plan."""
    if case.old_catalogs is None:
        return None
    refuse_other_prices(case.baseline, case.old_catalogs)
    calibrated = replace(case.old_catalogs, calibration=case.catalogs.calibration)
    exchanged: dict[CauseName, Catalogs] = {
        "program": case.old_catalogs,
        "calibration": calibrated,
        "prices": _at_prices_of(calibrated, case.catalogs) if "prices" in changed else calibrated,
        "catalog": case.catalogs,
    }
    steps = [name for name in exchanged if name in changed or name == "program"]
    amounts: dict[CauseName, Decimal] = {}
    cost = case.before_usd
    for name in steps:
        after = old_today if name == steps[-1] else case.planned_usd(scenario, exchanged[name])
        if after is None:
            return None
        if name == "program" and name not in changed and after != cost:
            refuse_other_cost(case.baseline, case.afresh_usd(scenario, case.old_catalogs))
        amounts[name], cost = after - cost, after
    words: dict[CauseName, str] = {} if "program" in changed else {"program": SAME_PROGRAM}
    return Shares({name: amount for name, amount in amounts.items() if name in changed or amount}, words=words)


def _at_prices_of(old: Catalogs, new: Catalogs) -> Catalogs:
    """The old catalogs where everything that is still priced costs what it costs today."""
    api, item = attrgetter("provider", "provider_model_name", "unit"), attrgetter("provider", "item", "unit")
    return replace(
        old,
        as_of=new.as_of,
        offers=_updated(old.offers, new.offers, attrgetter("id"), ("price_usd_per_hour", "as_of")),
        serverless=_updated(old.serverless, new.serverless, api, ("as_of", *PER_TOKEN)),
        ancillary=_updated(old.ancillary, new.ancillary, item, ("value",)),
    )


def _updated(
    old: Iterable[Row], new: Iterable[Row], key: Callable[[Row], object], columns: Sequence[str]
) -> tuple[Row, ...]:
    """The old rows, with these columns as the new row of the same key has them."""
    today = {key(row): {name: getattr(row, name) for name in columns} for row in new}
    return tuple(row.model_copy(update=today.get(key(row))) for row in old)


def _estimated(case: CostChange, scenario: Scenario, changed: Sequence[CauseName], old_today: Decimal) -> Shares:
    """Without the old catalogs: prices as far as they moved what the baseline bought, the others together."""
    rest = old_today - case.before_usd
    if len(changed) < 2:
        return Shares({changed[0] if changed else "program": rest})
    repriced = _baseline_at_todays_prices(case, scenario) if "prices" in changed else None
    if repriced is None:
        first, *together = changed
        return Shares({first: rest}, {first: together}, (f"{_listed(changed)} changed together; {TELL_APART}",))
    others: list[CauseName] = [name for name in changed if name != "prices"]
    first, *together = others
    note = f"prices counts what the baseline bought, {_listed(others)} the rest, other prices included; {TELL_APART}"
    return Shares({"prices": repriced, first: rest - repriced}, {first: together}, (note,))


def _baseline_at_todays_prices(case: CostChange, scenario: Scenario) -> Decimal | None:
    """How much more the same purchases cost today; None where one of them has no price any more."""
    prices = {offer.id: offer.price_usd_per_hour for offer in case.catalogs.offers}
    per_request = {
        (api.provider, api.name, api.workload, api.request_class, api.model): api.usd_per_request
        for api in apis(scenario, case.catalogs).admitted
    }
    change = Decimal(0)
    try:
        for paid in case.baseline.plan.purchases:
            moved = prices[paid.offer] - paid.price_usd_per_hour
            change += cents(moved * Decimal(repr(paid.instance_hours_per_month)))
        for sent in case.baseline.plan.hosted:
            price = per_request[sent.provider, sent.api, sent.workload, sent.request_class, sent.model]
            change += cents(price * Decimal(repr(sent.requests_per_month))) - sent.monthly_cost_usd
    except KeyError:
        return None
    return change


def merged(parts: Sequence[Shares]) -> Shares:
    """The differences of several scenarios added up by cause."""
    amounts: dict[CauseName, Decimal] = {}
    together: dict[CauseName, list[CauseName]] = {}
    named: dict[CauseName, list[CausedBy]] = {}
    words: dict[CauseName, str] = {}
    for part in parts:
        for name, amount in part.amounts.items():
            amounts[name] = amounts.get(name, Decimal(0)) + amount
            together[name] = list(dict.fromkeys([*together.get(name, []), *part.together.get(name, ())]))
        moved = {name for name, amount in part.amounts.items() if amount}
        for name in moved.union(*(part.together.get(each, ()) for each in moved)):
            named.setdefault(name, []).extend(part.named.get(name, ()))
            words |= {name: part.words[name]} if name in part.words else {}
    return Shares(amounts, together, named={name: _added_up(each) for name, each in named.items()}, words=words)


def _added_up(named: Iterable[CausedBy]) -> tuple[CausedBy, ...]:
    """A price that several scenarios pay stands once, with what it makes of all of them."""
    once: dict[tuple[str, str], CausedBy] = {}
    for caused in named:
        key = (caused.what, caused.name)
        known = [each.change_usd for each in (once.get(key), caused) if each and each.change_usd is not None]
        change_usd = sum(known, Decimal(0)) if known else None
        once[key] = caused.model_copy(update={"change_usd": change_usd})
    return tuple(sorted(once.values(), key=by_weight))


def _listed(names: Sequence[CauseName]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
