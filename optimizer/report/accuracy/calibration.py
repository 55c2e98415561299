"""A fitted calibration as the catalog's CSV, and its errors before and after as a table."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from optimizer.answers.accuracy.calibrate import Fit
from optimizer.answers.accuracy.calibration_rows import MetricError
from optimizer.answers.catalog.overlay import catalog_csv
from optimizer.inputs.catalog.records import CalibrationEntry
from optimizer.report.layout.columns import table_of
from optimizer.report.layout.elements import Section


def calibration_csv(entries: Iterable[CalibrationEntry]) -> str:
    """The rows as `catalogs/calibration.csv` holds them."""
    return catalog_csv(CalibrationEntry, entries)


def calibration_content(fit: Fit, data: str) -> dict[str, Any]:
    """The errors before and after for machines."""
    return {
        "data": data,
        "rows": len(fit.fitted.rows),
        "constants": len(fit.x),
        "before": [asdict(error) for error in fit.before],
        "after": [asdict(error) for error in fit.after],
    }


def calibration_section(fit: Fit, data: str) -> Section:
    """What was fitted to what, and how far off the predictions of those rows were before and are after."""
    after = {error.metric: error for error in fit.after}
    table = table_of(
        fit.before,
        {
            "metric": "{metric}",
            ">rows": "{rows:,}",
            ">groups": "{groups:,}",
            ">before": _error,
            ">after": lambda error: _error(after[error.metric]),
        },
    )
    lines = (
        f"{len(fit.x):,} constants fitted to {len(fit.fitted.rows):,} rows of {data}.",
        "Error in percent: median over groups of a group's median, and in brackets the 90th percentile over rows;",
        "of the rows that were fitted, so it says nothing yet about others (`optimizer validate` does).",
    )
    return Section("Calibration", lines, table)


def _error(error: MetricError) -> str:
    return f"{error.median_percent:.1f} ({error.p90_percent:.0f})"
