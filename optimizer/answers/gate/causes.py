"""What a difference between two plans comes from: solved again with one input after the other as it was before.

The order is program, calibration, prices, catalog, scenario: each share is the change of the proven cheapest cost when
that input is exchanged and those before it already are. The shares add up to the difference to the cent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from pydantic import ValidationError

from optimizer.answers.gate.baseline import Baseline, GatePlan
from optimizer.answers.gate.types import CAUSES, Cause, CauseName
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.apis import apis
from optimizer.plan.record.fields import cents
from optimizer.plan.record.origin import PER_TOKEN, PlanInputs, inputs_of

Solve = Callable[[Scenario, Catalogs], GatePlan | None]
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
TELL_APART: Final = "--baseline-catalogs with the catalogs of the baseline tells them apart"


@dataclass(frozen=True)
class Shares:
    """The causes of a difference, and what could not be told."""

    causes: tuple[Cause, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CostChange:
    """A plan of today beside its baseline.

    Attributes:
        scenario: As it is today.
        catalogs: As they are today.
        now: Today's plan.
        before: The baseline.
        old_catalogs: What the baseline was made on, where it is at hand.
        solve: The proven cheapest fleet of a scenario on catalogs.
    """

    scenario: Scenario
    catalogs: Catalogs
    now: GatePlan
    before: Baseline
    old_catalogs: Catalogs | None
    solve: Solve


def shares(case: CostChange) -> Shares:
    """The difference by cause; only inputs that changed are named."""
    was, now = case.before.fleet.monthly_cost_usd, case.now.monthly_cost_usd
    made = case.before.fleet.inputs
    if was is None or now is None:
        return Shares(())
    if made is None:
        return Shares((), (NOT_RECORDED,))
    moved = _moved(made, inputs_of(case.scenario, case.catalogs))
    total = now - was
    if moved in ((), ("scenario",)):
        cause: CauseName = moved[0] if moved else "program"
        return Shares(tuple(_causes({cause: total}, {}, total)) if moved or total else ())
    return _by_solving(case, made, moved, was, now)


def _moved(made: PlanInputs, today: PlanInputs) -> tuple[CauseName, ...]:
    return tuple(name for name in CAUSES if getattr(made, RECORDED[name]) != getattr(today, RECORDED[name]))


def _by_solving(case: CostChange, made: PlanInputs, moved: tuple[CauseName, ...], was: Decimal, now: Decimal) -> Shares:
    """The scenario's share by solving the old one today, the others' by exchanging them one by one where possible."""
    scenario, total = _old_scenario(made), now - was
    old_today = None if scenario is None else _cost(case, scenario, case.catalogs, "scenario" in moved, now)
    if scenario is None or old_today is None:
        why = "its scenario has no proven plan on today's catalogs" if scenario else "its scenario cannot be read today"
        first, *others = sorted(moved, key=_scenario_last)
        note = f"{case.before.file}: {why}, so {_listed(moved)} cannot be told apart"
        return Shares(tuple(_causes({first: total}, {first: others}, total)), (note,))
    amounts: dict[CauseName, Decimal] = {"scenario": now - old_today} if "scenario" in moved else {}
    rest = tuple(name for name in moved if name != "scenario")
    steps = _stepwise(case, scenario, rest, was, old_today) if case.old_catalogs is not None else None
    if steps is not None:
        kept = {name: amount for name, amount in steps.items() if name in moved or amount}
        return Shares(tuple(_causes(amounts | kept, {}, total)))
    parts, together = _estimated(case, scenario, rest, old_today - was)
    return Shares(tuple(_causes(amounts | parts, together, total)), tuple(_estimates_told(rest, parts)))


def _estimates_told(rest: Sequence[CauseName], parts: Mapping[CauseName, Decimal]) -> Iterator[str]:
    """What is not known without the catalogs of the baseline."""
    if len(rest) > 1 and "prices" in parts:
        others = _listed([name for name in rest if name != "prices"])
        yield f"prices counts what the baseline bought, {others} the rest, other prices included; {TELL_APART}"
    elif len(rest) > 1:
        yield f"{_listed(rest)} changed together; {TELL_APART}"


def _old_scenario(made: PlanInputs) -> Scenario | None:
    try:
        return Scenario.model_validate(made.scenario)
    except ValidationError:
        return None


def _cost(case: CostChange, scenario: Scenario, catalogs: Catalogs, other: bool, known: Decimal) -> Decimal | None:
    """The cost of a scenario; `known` where nothing is `other` than what was planned already."""
    fleet = case.solve(scenario, catalogs) if other else None
    return known if not other else None if fleet is None else fleet.monthly_cost_usd


def _stepwise(
    case: CostChange, scenario: Scenario, moved: Sequence[CauseName], was: Decimal, old_today: Decimal
) -> dict[CauseName, Decimal] | None:
    """Each cause's own share, from the catalogs of the baseline to those of today; None where a step has no plan."""
    old, new = case.old_catalogs, case.catalogs
    if old is None:
        return None
    calibrated = replace(old, calibration=new.calibration)
    repriced = _at_prices_of(calibrated, new) if "prices" in moved else calibrated
    names: tuple[CauseName, ...] = ("program", "calibration", "prices", "catalog")
    amounts: dict[CauseName, Decimal] = {}
    cost = was
    for position, (name, catalogs) in enumerate(zip(names, (old, calibrated, repriced, new), strict=True)):
        if name != "program" and name not in moved:
            continue
        last = not any(later in moved for later in names[position + 1 :])
        fleet = None if last else case.solve(scenario, catalogs)
        after = old_today if last else None if fleet is None else fleet.monthly_cost_usd
        if after is None:
            return None
        amounts[name], cost = after - cost, after
    return amounts


def _at_prices_of(old: Catalogs, new: Catalogs) -> Catalogs:
    """The old catalogs where everything that is still priced costs what it costs today."""
    offers = {offer.id: offer for offer in new.offers}
    hosted = {(row.provider, row.provider_model_name, row.unit): row for row in new.serverless}
    beside = {(row.provider, row.item, row.unit): row for row in new.ancillary}
    return replace(
        old,
        as_of=new.as_of,
        offers=tuple(_repriced(offer, offers.get(offer.id)) for offer in old.offers),
        serverless=tuple(
            row if today is None else row.model_copy(update={n: getattr(today, n) for n in ("as_of", *PER_TOKEN)})
            for row in old.serverless
            for today in [hosted.get((row.provider, row.provider_model_name, row.unit))]
        ),
        ancillary=tuple(
            row.model_copy(update={"value": beside.get((row.provider, row.item, row.unit), row).value})
            for row in old.ancillary
        ),
    )


def _repriced(offer: Offer, today: Offer | None) -> Offer:
    if today is None:
        return offer
    return offer.model_copy(update={"price_usd_per_hour": today.price_usd_per_hour, "as_of": today.as_of})


def _estimated(
    case: CostChange, scenario: Scenario, moved: Sequence[CauseName], rest: Decimal
) -> tuple[dict[CauseName, Decimal], dict[CauseName, list[CauseName]]]:
    """Without the old catalogs: prices as far as they moved what the baseline bought, the others together."""
    if not moved:
        return ({"program": rest} if rest else {}), {}
    if len(moved) == 1:
        return {moved[0]: rest}, {}
    parts: dict[CauseName, Decimal] = {}
    others = list(moved)
    if "prices" in moved:
        repriced = _baseline_at_todays_prices(case, scenario)
        if repriced is not None:
            parts["prices"] = repriced
            others.remove("prices")
    first, *together = others
    parts[first] = rest - sum(parts.values(), Decimal(0))
    return parts, {first: together}


def _baseline_at_todays_prices(case: CostChange, scenario: Scenario) -> Decimal | None:
    """How much more the same purchases cost today; None where one of them has no price any more."""
    prices = {offer.id: offer.price_usd_per_hour for offer in case.catalogs.offers}
    requests = {
        (api.provider, api.name, api.workload, api.request_class, api.model): api.usd_per_request
        for api in apis(scenario, case.catalogs).admitted
    }
    change = Decimal(0)
    for paid in case.before.fleet.purchases:
        if paid.offer not in prices:
            return None
        moved = prices[paid.offer] - paid.price_usd_per_hour
        change += cents(moved * Decimal(repr(paid.instance_hours_per_month)))
    for sent in case.before.fleet.hosted:
        key = (sent.provider, sent.api, sent.workload, sent.request_class, sent.model)
        if key not in requests:
            return None
        change += cents(requests[key] * Decimal(repr(sent.requests_per_month))) - sent.monthly_cost_usd
    return change


def _causes(
    amounts: dict[CauseName, Decimal], together: dict[CauseName, list[CauseName]], total: Decimal
) -> Iterator[Cause]:
    """Those that made a difference, in the published order, each with its words."""
    for name in sorted(amounts, key=CAUSES.index):
        others = together.get(name, [])
        if amounts[name] == 0 and not others:
            continue
        yield Cause(
            cause=name,
            together_with=others,
            change_usd=amounts[name],
            share_percent=float(amounts[name] / total * 100) if total else None,
            text="; ".join(WHAT[each] for each in (name, *others)),
        )


def merged(causes: Sequence[Cause], total: Decimal | None) -> list[Cause]:
    """The causes of several scenarios added up by cause."""
    amounts: dict[CauseName, Decimal] = {}
    together: dict[CauseName, list[CauseName]] = {}
    for each in causes:
        amounts[each.cause] = amounts.get(each.cause, Decimal(0)) + each.change_usd
        known = together.setdefault(each.cause, [])
        known.extend(other for other in each.together_with if other not in known)
    return list(_causes(amounts, together, total or Decimal(0)))


def only_scenario(change_usd: Decimal) -> list[Cause]:
    """What a new or removed scenario does to the bill."""
    return list(_causes({"scenario": change_usd}, {}, change_usd))


def _scenario_last(name: CauseName) -> bool:
    return name == "scenario"


def _listed(names: Sequence[CauseName]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
