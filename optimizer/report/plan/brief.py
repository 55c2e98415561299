"""The page for who decides: what was asked, what to buy, what else it could cost, what to settle before signing."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from optimizer.plan.record.explanation import Alternative, Explanation
from optimizer.plan.record.report import PlanReport
from optimizer.plan.record.simulation import Simulation
from optimizer.report.confirmed import confirmed_line
from optimizer.report.layout.amounts import change, money
from optimizer.report.layout.elements import Section, Table

BEARINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "simpler": ("configurations", "mix_classes"),
    "safer": ("measured", "availability", "provider"),
    "wider": ("sellers", "commitment", "spot", "consumer_gpus", "seed", "countries", "regions"),
    "hosted": ("hosted_api",),
    "bolder": ("confidence", "unmeasured", "unknown_quality"),
}
"""What other plans are to the chosen one, by their kind; kinds not named here wait for the long form."""
MAX_ROWS: Final[Mapping[str, int]] = {"simpler": 1, "safer": 3, "wider": 2, "hosted": 1, "bolder": 3}
"""Those that save most or cost least first."""
HEADINGS: Final = ("to be", "change", ">a month", ">difference", "plan")
MAX_LINES: Final = 8
"""Of what to settle before signing; the gravest come first."""


def question_section(report: PlanReport) -> Section:
    """What was asked, restated."""
    return Section("Question", report.asked)


def choices_section(explained: Explanation) -> Section:
    """What it costs to be simpler or safer, and what a wider market or a bolder plan would save."""
    rows = tuple(
        (bearing, item.change, _cost(item), change(item.difference_usd), shortened(item.summary))
        for bearing, kinds in BEARINGS.items()
        for item in _chosen(bearing, kinds, _priced(explained))
    )
    return Section("What else it could cost", (), Table(HEADINGS, rows))


def _priced(explained: Explanation) -> tuple[Alternative, ...]:
    return (*explained.alternatives, *explained.opportunities, *explained.also_priced)


def _chosen(bearing: str, kinds: Sequence[str], items: Sequence[Alternative]) -> list[Alternative]:
    """The few that matter, one plan once: what is wider or bolder must save, what is simpler or safer must differ."""
    saving = bearing in ("wider", "bolder")
    worth = [item for item in items if item.kind in kinds and (bearing == "hosted" or _differs(item, saving=saving))]
    by_plan: dict[tuple[Decimal | None, str], list[Alternative]] = {}
    for item in sorted(worth, key=lambda item: item.difference_usd or Decimal(0)):
        by_plan.setdefault((item.monthly_cost_usd, item.summary), []).append(item)
    rows = [same[0].model_copy(update={"change": "; ".join(item.change for item in same)}) for same in by_plan.values()]
    return rows[: MAX_ROWS[bearing]]


def _differs(item: Alternative, *, saving: bool) -> bool:
    return bool(item.difference_usd) and (not saving or (item.difference_usd or 0) < 0)


def _cost(item: Alternative) -> str:
    return ("≤ " if item.outcome == "feasible" else "") + money(item.monthly_cost_usd, unknown="none")


def shortened(summary: str) -> str:
    """The first purchase of a plan in a phrase, and how many more there are."""
    first, *others = summary.split(", ")
    return f"{first} and {len(others)} more" if others else first


def signing_section(explained: Explanation, tried: Simulation | None) -> Section:
    """What to settle before signing, and the one benchmark to run; a promise that simulated requests break is first."""
    lines = [confirmed_line(tried)] if tried is not None and tried.holds is False else []
    lines += explained.warnings[:MAX_LINES]
    if len(explained.warnings) > MAX_LINES:
        lines.append(f"and {len(explained.warnings) - MAX_LINES} more things to settle: --verbose")
    return Section("Before you sign", (*lines, *settled_by(explained)))


def settled_by(explained: Explanation) -> Iterator[str]:
    """What a lost instance does, where no warning says that it is all there is, and what to measure first."""
    if explained.instance_lost is not None and explained.instance_lost.share_left > 0:
        yield explained.instance_lost.text
    if explained.benchmark is not None:
        yield f"measure first: {explained.benchmark.text}"


def proof_section(report: PlanReport, proof: str) -> Section:
    """How sure it is, in a line or two, and where the rest stands."""
    checks = report.verification.checks
    passed = sum(check.passed for check in checks)
    verified = f"{passed} of {len(checks)} checks of the plan hold" if checks else ""
    missing = len(report.explanation.not_worked_out)
    left_out = f"{missing} comparisons were left out when a limit was reached; --verbose names them" if missing else ""
    rest = "the whole explanation: --verbose, --format markdown, or optimizer report"
    tried, record = confirmed_line(report.simulation), report.explanation.track_record
    kept = record.text if record else ""
    return Section("How sure", ("; ".join(filter(None, (proof, verified))), tried, kept, left_out, rest))
