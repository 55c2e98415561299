"""What became of the results of load generators: the measurements, and what was refused and how to mend it."""

import csv
import io
from collections.abc import Mapping
from typing import Any, Final

from optimizer.answers.accuracy.imported import ImportedMeasurements, ImportedRun
from optimizer.base.errors import Finding
from optimizer.base.figures import figure
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section


def _of_row(template: str) -> Cell:
    """A cell written from the measurement's own columns."""
    return lambda run: template.format(**run.row)


def _figure_of_row(name: str) -> Cell:
    """A cell with one of its numbers as people read them; the file has all digits."""
    return lambda run: figure(float(run.row[name])) if run.row[name] else ""


def _place(finding: Finding) -> str:
    return " ".join(part for part in (finding.file, finding.field) if part)


MEASURED: Final[Mapping[str, Cell]] = {
    "run": _of_row("{source_ref}"),
    "model": _of_row("{model}"),
    "engine": _of_row("{engine} {engine_version}"),
    "on": _of_row("{num_gpus}× {gpu}"),
    "precision": _of_row("{weight_precision}"),
    "load": lambda run: f"{run.row['load_type'].replace('_', ' ')} {run.row['load_value']}",
    ">TTFT p50 ms": _figure_of_row("ttft_ms_p50"),
    ">TPOT mean ms": _figure_of_row("tpot_ms_mean"),
    ">tokens/s": _figure_of_row("output_tok_s"),
}
REFUSED: Final[Mapping[str, Cell]] = {"run": _place, "refused because": "{problem}", "to take it in": "{hint}"}


def measurements_csv(imported: ImportedMeasurements) -> str:
    """The rows as `catalogs/measurements.csv` holds them, for `validate` and `calibrate`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(imported.runs[0].row), lineterminator="\n")
    writer.writeheader()
    writer.writerows(run.row for run in imported.runs)
    return text.getvalue()


def imported_sections(imported: ImportedMeasurements, output: str) -> tuple[Section, ...]:
    """The verdict with the file written, each measurement, what is said of it, and what was refused."""
    count, refused = len(imported.runs), imported.refused_runs
    verdict = Section(
        f"{count:,} {plural('measurement', count)} imported",
        (
            f"{refused:,} {plural('run', refused)} refused: their reasons stand below" if refused else "",
            f"written: {output}; `optimizer validate {output}` holds predictions against it",
            *(f"{run.row['source_ref']}: {note}" for run in imported.runs for note in run.notes),
        ),
        table_of(imported.runs, MEASURED),
    )
    return (verdict, Section("Refused", (), table_of(imported.refused, REFUSED))) if imported.refused else (verdict,)


def imported_content(imported: ImportedMeasurements, output: str) -> dict[str, Any]:
    """The same for machines."""
    return {
        "written": output,
        "measurements": [_run_content(run) for run in imported.runs],
        "refused_runs": imported.refused_runs,
        "refused": [
            {"run": _place(finding), "problem": finding.problem, "hint": finding.hint} for finding in imported.refused
        ],
    }


def _run_content(run: ImportedRun) -> dict[str, Any]:
    return {
        "file": run.result.file,
        "run": run.result.run,
        "tool": run.result.tool,
        "tool_version": run.result.tool_version,
        "measurement": {name: cell for name, cell in run.row.items() if cell},
        "labels": dict(run.result.metadata),
        "notes": list(run.notes),
    }
