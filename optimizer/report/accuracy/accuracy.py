"""Validation and decision quality as tables."""

from collections.abc import Iterable, Sequence

from optimizer.answers.accuracy.decisions import DecisionQuality, Decisions
from optimizer.answers.accuracy.validate import ErrorRow, ErrorTable, Validation
from optimizer.report.layout.elements import Section, Table
from optimizer.report.layout.markdown import section_markdown
from optimizer.report.layout.text import section_text

METRIC_NAMES = {"tpot": "TPOT", "ttft": "TTFT", "throughput": "output tokens/s"}
DIMENSION_NAMES = {
    "metric": "metric",
    "gpu": "GPU",
    "engine": "engine",
    "model_kind": "kind of model",
    "precision": "precision",
    "parallelism": "parallelism",
    "load": "load",
    "source": "source",
}
ERROR_HEADINGS = (">median %", ">p90 %", ">bias %", ">inside %", ">half-width", ">rows", ">groups")
READING = (
    "median %: median over groups (source × model × GPU × layout × precision) of a group's median absolute percentage "
    "error; p90 %: 90th percentile over rows",
    "bias %: above zero means predicted too high; inside %: rows inside their 90 % interval; half-width: that interval "
    "as a factor up or down",
)
WIDE = 200
"""Columns of a terminal table: group names are long and better not folded."""


def validation_text(validation: Validation, decisions: Decisions | None) -> str:
    """Everything for a terminal."""
    return "\n\n".join(section_text(each, WIDE) for each in accuracy_sections(validation, decisions)) + "\n"


def validation_markdown(validation: Validation, decisions: Decisions | None) -> str:
    """Everything as Markdown."""
    parts = ["# Predicted against measured", *map(section_markdown, accuracy_sections(validation, decisions))]
    return "\n\n".join(parts) + "\n"


def accuracy_sections(validation: Validation, decisions: Decisions | None) -> list[Section]:
    """The errors along every dimension asked for, the worst groups, what was refused, and the decisions."""
    sections = [error_section(table) for table in validation.tables]
    sections[0] = Section(sections[0].title, (_counted(validation), *READING), sections[0].table)
    sections.append(worst_section(validation.worst_groups))
    if validation.unsupported:
        rows = tuple((each.reason, f"{each.rows:,}") for each in validation.unsupported)
        sections.append(Section("Not predicted", (), Table(("reason", ">rows"), rows)))
    if decisions is not None:
        sections.append(decision_section(decisions))
    return sections


def error_section(table: ErrorTable) -> Section:
    """Errors along one dimension."""
    named = " and ".join(DIMENSION_NAMES[name] for name in table.by.split("+"))
    headings = ("metric", "over" if table.by == "metric" else named, *ERROR_HEADINGS)
    rows = tuple((METRIC_NAMES[row.metric], row.label, *error_cells(row)) for row in table.rows)
    return Section(f"Errors by {named}", (), Table(headings, rows))


def worst_section(groups: Sequence[ErrorRow]) -> Section:
    """The groups with the largest errors."""
    rows = tuple(
        (METRIC_NAMES[row.metric], readable_group(row.label), *error_cells(row)[:4], f"{row.rows:,}") for row in groups
    )
    headings = ("metric", "source, model, GPU, layout, precision", *ERROR_HEADINGS[:4], ">rows")
    return Section("Worst groups", (), Table(headings, rows))


def decision_section(decisions: Decisions) -> Section:
    """What became of the picks."""
    headings = ("targets", "planned on", ">questions", ">picked %", ">kept %", ">cost, kept picks", ">cost, all picks")
    lines = [
        f"{decisions.cases} cases of a model and its lengths, {decisions.options:,} measured options",
        "kept %: picks whose measurements keep the targets; cost: measured cost per output token of the pick against "
        "the cheapest option that keeps them, mean",
    ]
    if decisions.unpriced_gpus:
        lines.append(f"without a price, left out: {', '.join(decisions.unpriced_gpus)}")
    return Section("Decisions", tuple(lines), Table(headings, tuple(decision_cells(decisions.rules))))


def decision_cells(rules: Iterable[DecisionQuality]) -> Iterable[tuple[str, ...]]:
    """One row a rule."""
    for each in rules:
        shares = (f"{each.picked_percent:.0f}", f"{each.kept_percent:.1f}")
        costs = (f"{each.cost_factor:.2f}×", f"{each.cost_factor_all:.2f}×")
        yield (each.targets, each.rule, f"{each.questions:,}", *shares, *costs)


def error_cells(row: ErrorRow) -> tuple[str, ...]:
    """The figures under `ERROR_HEADINGS`."""
    return (
        f"{row.median_percent:.1f}",
        f"{row.p90_percent:.0f}",
        f"{row.bias_percent:+.1f}".replace("-", "−"),
        f"{row.inside_percent:.0f}",
        f"{row.half_width_factor:.2f}",
        f"{row.rows:,}",
        f"{row.groups:,}",
    )


def readable_group(group: str) -> str:
    """A group's name with commas between its parts."""
    return ", ".join(part for part in group.split("|") if part)


def _counted(validation: Validation) -> str:
    refused = validation.rows - validation.predicted
    return f"{validation.rows:,} measured rows, {validation.predicted:,} predicted, {refused:,} not"
