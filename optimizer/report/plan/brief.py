"""The page for who decides: what was asked, what to buy, what else it could cost, what to settle before signing."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from optimizer.plan.record.explanation import Alternative, Explanation
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.amounts import change, money
from optimizer.report.layout.elements import Section, Table

BEARINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "simpler": ("configurations", "mix_classes"),
    "safer": ("measured", "availability", "provider"),
    "wider": ("sellers", "commitment", "spot", "consumer_gpus", "seed", "countries", "regions", "hosted"),
    "bolder": ("confidence",),
}
"""What other plans are to the chosen one, by their kind; kinds not named here wait for the long form."""
MAX_ROWS: Final = 2
"""Of one bearing, those that save most or cost least first."""
HEADINGS: Final = ("to be", "change", ">a month", ">difference", "plan")
MAX_LINES: Final = 8
"""Of what to settle before signing; the gravest come first."""


def question_section(report: PlanReport) -> Section:
    """What was asked, restated."""
    return Section("Question", tuple(report.explanation.question))


def choices_section(explained: Explanation) -> Section:
    """What it costs to be simpler or safer, and what a wider market or a bolder plan would save."""
    rows = tuple(
        (bearing, item.change, _cost(item), change(item.difference_usd), shortened(item.summary))
        for bearing, kinds in BEARINGS.items()
        for item in _chosen(bearing, kinds, (*explained.alternatives, *explained.opportunities))
    )
    return Section("What else it could cost", (), Table(HEADINGS, rows))


def _chosen(bearing: str, kinds: Sequence[str], items: Sequence[Alternative]) -> list[Alternative]:
    """The few that matter: what is wider or bolder must save, what is simpler or safer must be another plan."""
    saving = bearing in ("wider", "bolder")
    worth = [
        item for item in items if item.kind in kinds and item.difference_usd and (item.difference_usd < 0 or not saving)
    ]
    worth.sort(key=lambda item: item.difference_usd or Decimal(0))
    by_plan = {(item.monthly_cost_usd, item.summary): item for item in reversed(worth)}
    return [item for item in worth if by_plan[item.monthly_cost_usd, item.summary] is item][:MAX_ROWS]


def _cost(item: Alternative) -> str:
    return ("≤ " if item.outcome == "feasible" else "") + money(item.monthly_cost_usd)


def shortened(summary: str) -> str:
    """The first purchase of a plan in a phrase, and how many more there are."""
    first, *others = summary.split(", ")
    return f"{first} and {len(others)} more" if others else first


def signing_section(explained: Explanation) -> Section:
    """What to settle before signing, and the one benchmark to run."""
    lines = list(explained.warnings[:MAX_LINES])
    if len(explained.warnings) > MAX_LINES:
        lines.append(f"and {len(explained.warnings) - MAX_LINES} more things to settle: --verbose")
    return Section("Before you sign", (*lines, *benchmark_lines(explained)))


def benchmark_lines(explained: Explanation) -> Iterator[str]:
    """What to measure first, and the command that does."""
    if explained.benchmark is not None:
        yield f"measure first: {explained.benchmark.text}"
        yield explained.benchmark.command


def proof_section(report: PlanReport, proof: str, left_out: str) -> Section:
    """How sure it is, in a line or two, and where the rest stands."""
    checks = report.verification.checks
    passed = sum(check.passed for check in checks)
    verified = f"{passed} of {len(checks)} checks of the plan hold" if checks else ""
    rest = "the whole explanation: --verbose, --format markdown, or optimizer report"
    return Section("How sure", ("; ".join(filter(None, (proof, verified))), left_out, rest))
