"""docs/accuracy.md from the stored results: the figures come from there, the words and the targets stand here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from accuracy_words import (
    ABLATION_WORDS,
    CAVEATS,
    DECISION_WORDS,
    EXPLANATIONS,
    INTRODUCTION,
    NOISE_WORDS,
    OPEN_LOOP_WORDS,
    SCHEME_WORDS,
    UNEXPLAINED,
    WANTED,
)

from optimizer.answers.accuracy.decisions import DecisionQuality
from optimizer.answers.accuracy.validate import ErrorRow
from optimizer.report.accuracy.accuracy import DECISIONS, ERRORS, METRIC, METRIC_NAMES, WIDTH_AND_COUNTS, readable_group
from optimizer.report.layout.columns import table_of
from optimizer.report.layout.elements import Table
from optimizer.report.layout.markdown import table_markdown

FEW = "concurrency ≤ 4"
JUDGED = "configurations"
"""The scheme that targets are held against, unless a target names another."""

ERROR_TARGETS = (
    *(("tpot", "all", 9, 32), ("tpot", FEW, 7.5, 28), ("ttft", "all", 17, 50), ("ttft", FEW, 13, 42)),
    ("throughput", "all", 10, 36),
)
WIDTH_TARGETS = {"tpot": 1.4, "ttft": 2.2, "throughput": 1.45}
INSIDE, INSIDE_CLASS, CLASS_ROWS = (88, 92), 80, 20
LEFT_OUT_TARGET = 18
KEPT_TARGET, COST_TARGET = 93, 1.22
ANSWERED_TARGET = 97

Found = Mapping[str, Any]


def page(found: Found) -> str:
    """The page as Markdown."""
    parts = [
        "# How accurate the predictions are",
        INTRODUCTION.format(rows=_validation(found, JUDGED)["rows"], **found),
        "## What to expect",
        *_expectations(found),
        "![predicted against measured, every configuration left out of the fit that predicted it](images/accuracy.png)",
        "## Targets",
        _targets(found),
        *_parts(found),
        *_intervals(found),
        *_open_loop(found),
        *_decisions(found),
        *_ablations(found),
        *_noise(found),
        *_worst(found),
        "## What data would help most",
        _bullets(WANTED),
        "## How to read this, and what to doubt",
        _bullets(CAVEATS),
    ]
    return "\n\n".join(parts) + "\n"


def _validation(found: Found, scheme: str) -> Found:
    result: Found = found["schemes"][scheme]
    return result


def _rows(validation: Found, by: str) -> list[ErrorRow]:
    table = next(each for each in validation["tables"] if each["by"] == by)
    return [ErrorRow.model_validate(row) for row in table["rows"]]


def _row(rows: Iterable[ErrorRow], metric: str, label: str = "all") -> ErrorRow:
    return next(row for row in rows if (row.metric, row.label) == (metric, label))


def _error(row: ErrorRow) -> str:
    return f"{row.median_percent:.1f} ({row.p90_percent:.0f})"


def _expectations(found: Found) -> list[str]:
    """One line a way of leaving out: errors, coverage, widths."""
    columns = [(metric, label) for metric, label, *_ in ERROR_TARGETS]
    names = [METRIC_NAMES[metric] + ("" if label == "all" else f", {FEW}") for metric, label in columns]
    errors, intervals = [], []
    for scheme, words in SCHEME_WORDS.items():
        rows = _rows(_validation(found, scheme), "metric")
        errors.append((words, *(_error(_row(rows, *column)) for column in columns)))
        each = [_row(rows, metric) for metric in METRIC_NAMES]
        intervals.append((words, *(f"{row.inside_percent:.0f} % in ×/÷ {row.half_width_factor:.2f}" for row in each)))
    said = "Median error in percent over groups, and the 90th percentile over rows in brackets."
    width = "Share of measurements inside the 90 % interval, and the interval's typical half-width."
    return [
        said,
        table_markdown(Table(("", *(f">{name}" for name in names)), tuple(errors))),
        width,
        table_markdown(Table(("", *(f">{name}" for name in METRIC_NAMES.values())), tuple(intervals))),
    ]


def _targets(found: Found) -> str:
    """Every target with what was reached; a miss is called a miss."""
    judged = _validation(found, JUDGED)
    rows = _rows(judged, "metric")
    lines = [_error_target(_row(rows, metric, label), median, p90) for metric, label, median, p90 in ERROR_TARGETS]
    lines += [_inside_target(_row(rows, metric)) for metric in METRIC_NAMES]
    lines += [_class_target(judged)]
    lines += [_width_target(_row(rows, metric), limit) for metric, limit in WIDTH_TARGETS.items()]
    lines += [_left_out_target(found, scheme) for scheme in ("generations and vendors", "sources")]
    lines += [_decision_target(found, targets) for targets in ("TPOT", "TPOT and TTFT")]
    lines.append(_answered_target(judged))
    cells = tuple((what, aim, reached, "reached" if held else "**missed**") for what, aim, reached, held in lines)
    return _plain_table(("on configurations left out", "target", "reached", ""), cells)


Line = tuple[str, str, str, bool]


def _error_target(row: ErrorRow, median: float, p90: float) -> Line:
    what = f"{METRIC_NAMES[row.metric]}, {row.label}: median (90th percentile) %"
    held = row.median_percent <= median and row.p90_percent <= p90
    return what, f"≤ {median:g} ({p90:g})", _error(row), held


def _inside_target(row: ErrorRow) -> Line:
    low, high = INSIDE
    what = f"{METRIC_NAMES[row.metric]}: rows inside the 90 % interval"
    return what, f"{low}–{high} %", f"{row.inside_percent:.1f} %", low <= row.inside_percent <= high


def _class_target(judged: Found) -> Line:
    classes = [row for row in _rows(judged, "engine+load") if row.rows >= CLASS_ROWS]
    poor = [row for row in classes if row.inside_percent < INSIDE_CLASS]
    worst = min(classes, key=lambda row: row.inside_percent)
    least = f"{worst.inside_percent:.0f} % ({METRIC_NAMES[worst.metric]}, {worst.label})"
    reached = f"{len(poor)} of {len(classes)} below; least {least}"
    return f"every engine × load with ≥ {CLASS_ROWS} rows: inside", f"≥ {INSIDE_CLASS} %", reached, not poor


def _width_target(row: ErrorRow, limit: float) -> Line:
    width = row.half_width_factor
    return f"{METRIC_NAMES[row.metric]}: half-width as a factor", f"≤ {limit:g}", f"{width:.2f}", width <= limit


def _left_out_target(found: Found, scheme: str) -> Line:
    rows = [_row(_rows(_validation(found, scheme), "metric"), metric) for metric in ("tpot", "throughput")]
    reached = " / ".join(f"{row.median_percent:.1f} %" for row in rows)
    held = all(row.median_percent <= LEFT_OUT_TARGET for row in rows)
    return f"{scheme} left out: TPOT / output tokens/s, median", f"≤ {LEFT_OUT_TARGET} %", reached, held


def _decision_target(found: Found, targets: str) -> Line:
    rules = [DecisionQuality.model_validate(each) for each in found["decisions"][JUDGED]["rules"]]
    rule = next(each for each in rules if (each.targets, each.rule) == (targets, "confidence 0.9"))
    reached = f"{rule.kept_percent:.1f} % at {rule.cost_factor:.2f}×"
    held = rule.kept_percent >= KEPT_TARGET and rule.cost_factor <= COST_TARGET
    return (
        f"picks at confidence 0.9 that keep {targets}, at what cost",
        f"≥ {KEPT_TARGET} % at ≤ {COST_TARGET}×",
        reached,
        held,
    )


def _answered_target(judged: Found) -> Line:
    unknown = sum(each["rows"] for each in judged["unsupported"] if each["reason"].startswith("unknown gpu"))
    answered = 100 * judged["predicted"] / (judged["rows"] - unknown)
    return (
        "rows with a known GPU that are answered",
        f"≥ {ANSWERED_TARGET} %",
        f"{answered:.1f} %",
        answered >= ANSWERED_TARGET,
    )


def _plain_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table whose cells may hold Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _parts(found: Found) -> list[str]:
    """What each part that was left out came to."""
    sections = []
    for scheme, parts in found["parts_left_out"].items():
        rows = []
        for label, stored in parts.items():
            each = {row.metric: row for row in map(ErrorRow.model_validate, stored)}
            cells = (_error(each[name]) if name in each else "–" for name in METRIC_NAMES)
            rows += [(label, *cells, f"{sum(row.rows for row in each.values()):,}")] if each else []
        headings = ("left out", *(f">{name}" for name in METRIC_NAMES.values()), ">points")
        sections += [f"### {scheme[0].upper()}{scheme[1:]} left out", table_markdown(Table(headings, tuple(rows)))]
    said = (
        "Median (90th percentile) error in percent of what was left out; the largest only. Models, GPUs and sources "
        "are left out several at a time, in parts of equal size, so that more goes with each than itself."
    )
    return ["## Part by part", said, *sections]


def _intervals(found: Found) -> list[str]:
    rows = [row for row in _rows(_validation(found, JUDGED), "engine+load") if row.rows >= CLASS_ROWS]
    columns = {**METRIC, "engine and load": "{label}", **ERRORS, **WIDTH_AND_COUNTS}
    said = "Configurations left out. Bias above zero: predicted too high."
    return ["## By engine and load", said, table_markdown(table_of(rows, columns))]


def _open_loop(found: Found) -> list[str]:
    """Percentiles that few sources publish: a line for each source and way to predict them."""
    by_source: dict[str, list[Found]] = {}
    for each in found.get("open_loop", ()):
        by_source.setdefault(each["source"], []).append(each)
    rows = [
        (
            source,
            str(told[0]["rows"]),
            way,
            *(f"{each[f'{way}_percent']:.0f} ({each[f'{way}_bias_percent']:+.0f})".replace("-", "−") for each in told),
        )
        for source, told in by_source.items()
        for way in ("formulas", "simulation")
    ]
    if not rows:
        return []
    statistics = dict.fromkeys(each["statistic"] for each in found["open_loop"])
    headings = ("source", ">rows", "predicted by", *(f">{name}" for name in statistics))
    return ["## TTFT in open loop", OPEN_LOOP_WORDS, table_markdown(Table(headings, tuple(rows)))]


def _decisions(found: Found) -> list[str]:
    """Picks on predictions of what was left out, and the flat margin beside them."""
    asked = found["decisions"][JUDGED]
    counted = (
        f"{asked['cases']} cases, {asked['options']:,} options; predictions of configurations left out of the fit."
    )
    sections = [DECISION_WORDS, counted]
    rules = [DecisionQuality.model_validate(each) for each in asked["rules"]]
    sections.append(table_markdown(table_of(rules, DECISIONS)))
    sections.append(_bullets(_enough(rules, targets) for targets in dict.fromkeys(each.targets for each in rules)))
    others = []
    for scheme, decided in found["decisions"].items():
        rules = [DecisionQuality.model_validate(each) for each in decided["rules"]]
        kept = [each for each in rules if each.rule == "confidence 0.9" and each.targets in ("TPOT", "TPOT and TTFT")]
        others += [(SCHEME_WORDS[scheme], *cells) for cells in table_of(kept, DECISIONS).rows]
    sections += ["At confidence 0.9, by what was left out:", table_markdown(Table(("", *DECISIONS), tuple(others)))]
    return ["## Decisions", *sections]


def _enough(rules: Sequence[DecisionQuality], targets: str) -> str:
    """The least room that keeps as many promises as asked for, and what it costs."""
    asked = [each for each in rules if each.targets == targets and each.kept_percent >= KEPT_TARGET]
    if not asked:
        return f"{targets}: no margin of these keeps {KEPT_TARGET} % of the picks."
    least = min(asked, key=lambda each: each.cost_factor)
    kept = f"{least.kept_percent:.1f} % of the picks at {least.cost_factor:.2f}×"
    return f"{targets}: the cheapest rule that keeps {KEPT_TARGET} % is {least.rule}, {kept}."


def _ablations(found: Found) -> list[str]:
    rows = []
    for name, tables in found["ablations"].items():
        each = [ErrorRow.model_validate(row) for row in tables[0]["rows"]]
        rows.append((name, *(_error(_row(each, metric, label)) for metric, label, *_ in ERROR_TARGETS)))
    names = [METRIC_NAMES[metric] + ("" if label == "all" else f", {FEW}") for metric, label, *_ in ERROR_TARGETS]
    table = table_markdown(Table(("removed", *(f">{name}" for name in names)), tuple(rows)))
    return ["## What each mechanism gives", ABLATION_WORDS, table] if rows else []


def _noise(found: Found) -> list[str]:
    rows = tuple(
        (
            each["kind"],
            METRIC_NAMES[each["metric"]],
            f"{each['median_percent']:g}",
            f"{each['p90_percent']:g}",
            f"{each['pairs']:,}",
        )
        for each in found["noise_floor"]
    )
    headings = ("the two measurements", "metric", ">median", ">90th percentile", ">pairs")
    return ["## Noise floor", NOISE_WORDS, table_markdown(Table(headings, rows))]


def _worst(found: Found) -> list[str]:
    groups = [ErrorRow.model_validate(row) for row in _validation(found, JUDGED)["worst_groups"]]
    columns = {
        **METRIC,
        "source, model, GPU, layout, precision": lambda row: readable_group(row.label),
        **{heading: ERRORS[heading] for heading in (">median %", ">p90 %", ">bias %")},
        ">rows": "{rows}",
    }
    reasons = []
    for row in groups[:3]:
        why = next((text for part, text in EXPLANATIONS.items() if part in row.label), UNEXPLAINED)
        reasons.append(f"{METRIC_NAMES[row.metric]} of {readable_group(row.label)}: {why}")
    return ["## Worst groups", table_markdown(table_of(groups, columns)), _bullets(dict.fromkeys(reasons))]


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
