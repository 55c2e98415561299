"""Validation and decision quality as tables."""

from collections.abc import Mapping, Sequence
from typing import Final

from optimizer.answers.accuracy.decisions import Decisions
from optimizer.answers.accuracy.validate import ErrorRow, ErrorTable, Validation
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, WrittenAnswer

METRIC_NAMES: Final = {"tpot": "TPOT", "ttft": "TTFT", "throughput": "output tokens/s"}
DIMENSION_NAMES: Final = {
    "metric": "metric",
    "gpu": "GPU",
    "engine": "engine",
    "model_kind": "kind of model",
    "precision": "precision",
    "parallelism": "parallelism",
    "load": "load",
    "source": "source",
}
METRIC: Final[Mapping[str, Cell]] = {"metric": lambda row: METRIC_NAMES[row.metric]}
ERRORS: Final[Mapping[str, Cell]] = {
    ">median %": "{median_percent:.1f}",
    ">p90 %": "{p90_percent:.0f}",
    ">bias %": lambda row: f"{row.bias_percent:+.1f}".replace("-", "−"),
    ">inside %": "{inside_percent:.0f}",
}
WIDTH_AND_COUNTS: Final[Mapping[str, Cell]] = {
    ">half-width": "{half_width_factor:.2f}",
    ">rows": "{rows:,}",
    ">groups": "{groups:,}",
}
DECISIONS: Final[Mapping[str, Cell]] = {
    "targets": "{targets}",
    "planned on": "{rule}",
    ">questions": "{questions:,}",
    ">picked %": "{picked_percent:.0f}",
    ">kept %": "{kept_percent:.1f}",
    ">cost, kept picks": "{cost_factor:.2f}×",
    ">cost, all picks": "{cost_factor_all:.2f}×",
}
READING: Final = (
    "median %: median over groups (source × model × GPU × layout × precision) of a group's median absolute percentage "
    "error; p90 %: 90th percentile over rows",
    "bias %: above zero means predicted too high; inside %: rows inside their 90 % interval; half-width: that interval "
    "as a factor up or down",
)
WIDE: Final = 200
"""Columns of a terminal table: group names are long and better not folded."""


def validation_answer(validation: Validation, decisions: Decisions | None) -> WrittenAnswer:
    """The errors along every dimension asked for, the worst groups, what was refused, and the decisions."""
    first, *others = validation.tables
    sections = [_errors(first, (_counts(validation), *READING)), *map(_errors, others)]
    sections.append(_worst(validation.worst_groups))
    if validation.unsupported:
        refused = table_of(validation.unsupported, {"reason": "{reason}", ">rows": "{rows:,}"})
        sections.append(Section("Not predicted", table=refused))
    if validation.doubtful:
        doubtful = table_of(validation.doubtful, {"what": "{what}", ">figures": "{figures:,}"})
        sections.append(Section("To be looked at in the file", table=doubtful))
    if decisions is not None:
        sections.append(_decisions(decisions))
    return WrittenAnswer(tuple(sections), title="Predicted against measured")


def _counts(validation: Validation) -> str:
    refused = validation.rows - validation.predicted
    return f"{validation.rows:,} measured rows, {validation.predicted:,} predicted, {refused:,} not"


def _errors(table: ErrorTable, lines: tuple[str, ...] = ()) -> Section:
    """Errors along one dimension."""
    name = " and ".join(DIMENSION_NAMES[part] for part in table.by.split("+"))
    columns = {**METRIC, "over" if table.by == "metric" else name: "{label}", **ERRORS, **WIDTH_AND_COUNTS}
    return Section(f"Errors by {name}", lines, table_of(table.rows, columns))


def _worst(groups: Sequence[ErrorRow]) -> Section:
    """The groups with the largest errors."""
    group: Mapping[str, Cell] = {"source, model, GPU, layout, precision": lambda row: readable_group(row.label)}
    return Section("Worst groups", table=table_of(groups, {**METRIC, **group, **ERRORS, ">rows": "{rows:,}"}))


def _decisions(decisions: Decisions) -> Section:
    """What became of the picks."""
    unpriced = ", ".join(decisions.unpriced_gpus)
    lines = (
        f"{decisions.cases} cases of a model and its lengths, {decisions.options:,} measured options",
        "kept %: picks whose measurements keep the targets; cost: measured cost per output token of the pick against "
        "the cheapest option that keeps them, mean",
        f"without a price, left out: {unpriced}" if unpriced else "",
    )
    return Section("Decisions", lines, table_of(decisions.rules, DECISIONS))


def readable_group(group: str) -> str:
    """A group's name with commas between its parts."""
    return ", ".join(part for part in group.split("|") if part)
