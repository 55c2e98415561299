"""The page for who decides: what was asked, what to buy, what else it could cost, what to settle before signing."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from optimizer.inputs.requirements.avoided import SPEED
from optimizer.plan.explain.comparing import NOT_HELD
from optimizer.plan.grounds.question import DEFAULT_BOUNDS, POLICY
from optimizer.plan.grounds.quotes import price_doubts
from optimizer.plan.grounds.warnings import not_measured
from optimizer.plan.record.explanation import Alternative, Explanation, TrackRecord
from optimizer.plan.record.report import BoundOf, PlanReport
from optimizer.report.confirmed import confirmed_in_short, confirmed_line
from optimizer.report.layout.amounts import change, money, number, percent, plural
from optimizer.report.layout.elements import Section, Table

UNKNOWN_QUALITY: Final = "unknown_quality"
BEARINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "simpler": ("configurations", "mix_classes"),
    "surer": ("listed",),
    "safer": ("measured", "availability", "provider"),
    "wider": ("sellers", "commitment", "spot", "consumer_gpus", "seed", "countries", "regions"),
    "hosted": ("hosted_api",),
    "bolder": ("confidence", "unmeasured", "speculation", "availability", UNKNOWN_QUALITY),
}
"""What other plans are to the chosen one, by their kind; kinds not named here wait for the long form. One that can be
two is bolder where it saves: a loss that need not be survived."""
NOT_IN_SHORT: Final = frozenset({"confidence", UNKNOWN_QUALITY})
"""What waits for the long form, and what is told with what is to be settled."""
MAX_ROWS: Final[Mapping[str, int]] = {"simpler": 1, "surer": 1, "safer": 3, "wider": 2, "hosted": 1, "bolder": 3}
"""Those that save most or cost least first."""
IN_SHORT_ROWS: Final[Mapping[str, int]] = {"simpler": 1, "surer": 1, "safer": 1, "wider": 2, "hosted": 1, "bolder": 2}
SAVING: Final = frozenset({"wider", "bolder"})
"""What other plans are that are shown for what they save."""
HARDLY: Final = Decimal("0.01")
"""Share of a plan's cost for which nobody changes it."""
HEADINGS: Final = ("to be", "change", ">a month", ">difference", "plan")
UNHEADED: Final = ("", "", ">", ">", "")
MAX_WARNINGS: Final = 3
"""Of what to settle before signing; the gravest come first."""
PROOF_WORDS: Final = {
    "optimal": "proven optimal{}",
    "feasible": "best found, not proven",
    "infeasible": "proven infeasible{}",
    "unproven": "no plan found in time, none excluded",
    "failed": "failed",
}
"""With room for what is proven of."""
ENOUGH_WORDS: Final = "best found, proven near enough for a plan this simple"
OF_MEASURED: Final[BoundOf] = "plans on machines of measured speed"
OF_WHAT: Final[Mapping[BoundOf, str]] = {
    "the scenario": "",
    "the plans considered": " among the plans considered",
    OF_MEASURED: " on machines of measured speed",
    "plans without 4-bit weights of unknown quality": " without 4-bit weights of unknown quality",
    "plans on machines of measured speed, without 4-bit weights of unknown quality": (
        " on machines of measured speed, without 4-bit weights of unknown quality"
    ),
}
"""How it is said what a bound holds of."""
FEW: Final = 3
"""Names of a list that the policy is restated with."""
SAID_ABOVE: Final = frozenset({"the scenario", "the plans considered", OF_MEASURED})
"""What a bound holds of, where the first line says so."""
REST: Final = "all of it: --verbose"
PLAN_NOT_HELD: Final = "no plan known yet that holds in simulation"
PLAN_NOT_DUE: Final = "no plan known yet: its share of the time was up"
"""Of what is told with a least cost alone."""
PHRASE: Final = 40
"""Signs that a plan in a phrase may have with the region of its first purchase."""
TERM: Final = r"(?:spot|committed|reserved \w+)\)$"
REGION: Final = re.compile(rf"(?<= \()(\S+) (?!{TERM}).+?(?= {TERM}|\)$)")
"""Seller and region of a purchase, in the brackets at its end, before a term."""
SELLER: Final = r"\1"


def question_section(report: PlanReport) -> Section:
    """What was asked, restated."""
    return Section("Question", report.asked)


def question_in_short(report: PlanReport) -> Section:
    """What was asked; of the policy what is not the default, as the bounds are that stand with how sure it is."""
    asked = list(report.asked[:-1])
    for policy in report.asked[-1:]:
        beyond = policy.removesuffix(DEFAULT_BOUNDS).removesuffix("; ")
        asked += ["; ".join(map(_few, beyond.split("; ")))] * (beyond != POLICY)
    if len(asked) > 1:
        return Section("Question", tuple(asked))
    # of one workload the name goes without saying
    return Section("Question", tuple(line.partition(": ")[2] for line in asked), run_in=True)


def _few(names: str) -> str:
    """The first names of a long list, and how many more there are."""
    first, more = names.split(", ")[:FEW], names.split(", ")[FEW:]
    return f"{', '.join(first)} and {len(more)} more" if len(more) > 1 else names


def choices_section(explained: Explanation) -> Section:
    """What it costs to be simpler or safer, and what a wider market or a bolder plan would save."""
    rows = tuple(
        (
            bearing,
            "; ".join(item.change for item in same),
            at_most(same[0]) + money(same[0].monthly_cost_usd, unknown="none"),
            at_most(same[0]) + change(same[0].difference_usd),
            shortened(same[0].summary),
        )
        for bearing, kinds in BEARINGS.items()
        for same in _chosen(bearing, kinds, explained)[: MAX_ROWS[bearing]]
    )
    return Section("What else it could cost", (), Table(HEADINGS, rows))


def choices_in_short(explained: Explanation, chosen_usd: Decimal) -> Section:
    """The first plans of each bearing; of the safer the one that rests on more, then the one that survives more.

    What is wider or bolder must save more than a hair's breadth. A plan that answers two questions stands once, with
    the bearings of both. Where room is left, what may save as much as the chosen plan's cost allows, of which no plan
    is known that holds.
    """
    rows: list[tuple[str, ...]] = []
    # the plan of a row -> the row
    seen: dict[str, int] = {}
    for bearing, kinds in BEARINGS.items():
        told_here = [kind for kind in kinds if kind not in NOT_IN_SHORT]
        items = [same[0] for same in _chosen(bearing, told_here, explained)]
        if bearing == "safer":
            items.sort(key=lambda item: kinds.index(item.kind))
        for item in items[: IN_SHORT_ROWS[bearing]]:
            if item.monthly_cost_usd is None or (bearing in SAVING and _hardly_saves(item)):
                continue
            if (row := seen.setdefault(item.summary, len(rows))) < len(rows):
                told, *rest = rows[row]
                rows[row] = (told if bearing in told else f"{told}, {bearing}", *rest)
                continue
            sign = at_most(item)
            cost, more = f"{sign}${item.monthly_cost_usd:,.0f}", f"{sign}{change(item.difference_usd, 0)}"
            rows.append((bearing, item.change, cost, more, shortened(item.summary)))
        room = IN_SHORT_ROWS[bearing] - len([row for row in rows if row[0] == bearing])
        rows += [(bearing, *row) for row in _may_save(explained, told_here, chosen_usd)][:room]
    return Section("What else it could cost a month", (), Table(UNHEADED, tuple(rows)))


def _may_save(explained: Explanation, kinds: Sequence[str], chosen_usd: Decimal) -> Iterator[tuple[str, ...]]:
    """Changes of which only a least cost is known, where that is less than the chosen plan's, the lowest first."""
    known = [item for item in explained.only_bounded if item.kind in kinds and item.at_least_usd is not None]
    for item in sorted(known, key=lambda item: (item.at_least_usd or Decimal(0), item.change)):
        least_usd = item.at_least_usd or Decimal(0)
        if chosen_usd - least_usd >= HARDLY * chosen_usd:
            why = PLAN_NOT_HELD if item.text.endswith(NOT_HELD) else PLAN_NOT_DUE
            yield item.change, f"≥ ${least_usd:,.0f}", f"≥ {change(least_usd - chosen_usd, 0)}", why


def at_most(item: Alternative) -> str:
    """A sign before the cost of a plan that is not proven cheapest, and before what it is off another one's."""
    return "≤ " if item.outcome == "feasible" else ""


def _chosen(bearing: str, kinds: Sequence[str], explained: Explanation) -> list[list[Alternative]]:
    """The changes that matter, those that lead to one plan together, the cheapest plan first.

    What is wider or bolder must save, what is simpler or safer must cost more.
    """
    saving = bearing in SAVING
    items = (*explained.alternatives, *explained.opportunities, *explained.also_priced)
    worth = [item for item in items if item.kind in kinds and (bearing == "hosted" or _differs(item, saving=saving))]
    by_plan: dict[tuple[Decimal | None, str], list[Alternative]] = {}
    for item in sorted(worth, key=lambda item: item.difference_usd or Decimal(0)):
        by_plan.setdefault((item.monthly_cost_usd, item.summary), []).append(item)
    return list(by_plan.values())


def _hardly_saves(item: Alternative) -> bool:
    """Whether a plan costs hardly less than the chosen one."""
    cost, difference = item.monthly_cost_usd or Decimal(0), item.difference_usd or Decimal(0)
    return -difference < HARDLY * (cost - difference)


def _differs(item: Alternative, *, saving: bool) -> bool:
    """Whether it is known to cost less or, where nothing is saved, more."""
    difference = item.difference_usd or 0
    return difference < 0 if saving else difference > 0


def shortened(summary: str) -> str:
    """The first purchase of a plan in a phrase, without its region where that is long, and how many more there are."""
    first, *others = summary.split(", ")
    more = f" + {len(others)} more" if others else ""
    return f"{first}{more}" if len(f"{first}{more}") <= PHRASE else f"{REGION.sub(SELLER, first)}{more}"


def signing_section(report: PlanReport) -> Section:
    """What to settle before signing, and the one benchmark to run; a promise that simulated requests break is first.

    Doubts about prices stand with the plan; what was accepted stands right below the answer, estimates with their
    benchmark.
    """
    explained, tried = report.explanation, report.simulation
    lines = [confirmed_line(tried)] if tried is not None and tried.holds is False else []
    estimated = any(item.field == SPEED for item in report.accepted)
    told = {*price_doubts(report.deployments), *(not_measured(report.deployments) if estimated else ())}
    warnings = [text for text in explained.warnings if text not in told]
    if len(warnings) > MAX_WARNINGS + 1:
        warnings = [*warnings[:MAX_WARNINGS], f"and {len(warnings) - MAX_WARNINGS} more to settle: --verbose"]
    lines += warnings
    lines += settled_by(explained.model_copy(update={"benchmark": None}) if estimated else explained)
    return Section("Before you sign", tuple(lines))


def settled_by(explained: Explanation) -> Iterator[str]:
    """What a lost instance does, where no warning says that it is all there is, and what to measure first."""
    if explained.instance_lost is not None and explained.instance_lost.share_left > 0:
        yield explained.instance_lost.text
    if explained.benchmark is not None:
        yield f"measure first: {explained.benchmark.text}"


def proof_section(report: PlanReport) -> Section:
    """How sure it is, in a line or two, and where the rest stands."""
    checks, missing = report.verification.checks, len(report.explanation.not_worked_out)
    passed = sum(check.passed for check in checks)
    # beside hosted APIs the first line says nothing of machines
    said = SAID_ABOVE - {OF_MEASURED} if report.hosted else SAID_ABOVE
    floor = least_words(report, said)
    lines = (
        f"{proven_of(report)}{proof_words(report, said)}{f': {floor}' if floor else ''}",
        _not_considered(report),
        _simpler_words(report),
        f"{passed} of {len(checks)} checks hold" if checks else "",
        confirmed_in_short(report.simulation),
        _record(report.explanation.track_record) if report.deployments else "",
        _left_out(missing),
        REST,
    )
    return Section("How sure", tuple(filter(None, lines)), run_in=True)


def proof_words(report: PlanReport, said: Container[str] = ()) -> str:
    """What is proven, and of what where that was not said, in a few words."""
    enough = report.simplicity is not None and report.simplicity.enough
    words = ENOUGH_WORDS if enough else PROOF_WORDS[report.outcome]
    return words.format(_of_what(report, said))


def _not_considered(report: PlanReport) -> str:
    """Which plans were not considered, where the first line says that some were not."""
    left_out = "; ".join(report.scope.not_considered) if report.bound_of == "the plans considered" else ""
    return f"not considered: {left_out}" if left_out else ""


def _left_out(comparisons: int) -> str:
    """How many comparisons there was no time for."""
    whose = "its" if comparisons == 1 else "their"
    said = f"{comparisons} {plural('comparison', comparisons)} left out as {whose} share of a limit was used up"
    return said if comparisons else ""


def _simpler_words(report: PlanReport) -> str:
    """That a plan with less to operate may exist, where nothing has ruled it out."""
    simplicity = report.simplicity
    if simplicity is None or simplicity.proven:
        return ""
    return f"a simpler plan within {number(simplicity.percent)} % of the cheapest is not ruled out"


def least_words(report: PlanReport, said: Container[str] = ()) -> str:
    """What no plan undercuts, and which plans that is said of where that was not; empty where it is the plan's cost."""
    if not report.relative_gap or not report.bound_usd or money(report.bound_usd) == money(report.cheapest_usd):
        return ""
    of_what = _of_what(report, said)
    return f"none{of_what}{',' if ',' in of_what else ''} costs less than {money(report.bound_usd)}"


def _of_what(report: PlanReport, said: Container[str]) -> str:
    of_what = "" if report.bound_of in said else OF_WHAT[report.bound_of]
    return of_what.replace(" on ", " among hosted APIs and ") if report.hosted else of_what


def proven_of(report: PlanReport) -> str:
    """Which plan the proof speaks of, where that is not the one shown."""
    if report.simplicity is None or report.simplicity.cheapest is None:
        return ""
    return f"the cheapest plan, {money(report.cheapest_usd)}: "


def _record(record: TrackRecord | None) -> str:
    """How many promises on such bounds were kept."""
    if record is None:
        return ""
    plans = f"{record.plans:,} plans on {percent(record.confidence)} bounds"
    kept = percent(round(record.kept_share, 3))
    return f"{kept} of {plans} kept {record.targets} when measured (docs/accuracy.md)"
