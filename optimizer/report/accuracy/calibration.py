"""A fitted calibration as the catalog's CSV, and its errors before and after as a table."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from optimizer.answers.accuracy.calibrate import Fit
from optimizer.answers.catalog.overlay import catalog_csv
from optimizer.inputs.catalog.records import CalibrationEntry
from optimizer.report.layout.elements import Section, Table


def calibration_csv(entries: Iterable[CalibrationEntry]) -> str:
    """The rows as `catalogs/calibration.csv` holds them."""
    return catalog_csv(CalibrationEntry, entries)


def calibration_json(fit: Fit, data: str) -> str:
    """The errors before and after as JSON."""
    content = {
        "data": data,
        "rows": len(fit.fitted.rows),
        "constants": len(fit.x),
        "before": [asdict(error) for error in fit.before],
        "after": [asdict(error) for error in fit.after],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def calibration_section(fit: Fit, data: str) -> Section:
    """What was fitted to what, and how far off the predictions of those rows were before and are after."""
    after = {error.metric: error for error in fit.after}
    rows = tuple(
        (
            error.metric,
            f"{error.rows:,}",
            f"{error.groups:,}",
            f"{error.median_percent:.1f} ({error.p90_percent:.0f})",
            f"{after[error.metric].median_percent:.1f} ({after[error.metric].p90_percent:.0f})",
        )
        for error in fit.before
    )
    lines = (
        f"{len(fit.x):,} constants fitted to {len(fit.fitted.rows):,} rows of {data}.",
        "Error in percent: median over groups of a group's median, and in brackets the 90th percentile over rows;",
        "of the rows that were fitted, so it says nothing yet about others (`optimizer validate` does).",
    )
    return Section("Calibration", lines, Table(("metric", ">rows", ">groups", ">before", ">after"), rows))
