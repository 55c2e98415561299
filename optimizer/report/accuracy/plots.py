"""Predicted against measured, one panel a metric, on logarithmic axes."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from optimizer.base.errors import Finding, InputError
from optimizer.base.extras import optional
from optimizer.base.files import write_bytes
from optimizer.report.layout.figures import literal, series_style

FORMATS: Final[Mapping[str, Mapping[str, None]]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
}
"""File endings, and the metadata left out so that equal points give equal files."""

PANELS: Final = {"tpot": "TPOT, ms", "ttft": "TTFT, ms", "throughput": "output tokens/s"}
STYLE: Final = {"svg.hashsalt": "optimizer", "svg.fonttype": "none", "font.size": 9.0, "axes.axisbelow": True}
BAND: Final = 1.5
"""The shaded band: predictions within this factor of the measurement."""


def plot_errors(points: pd.DataFrame, path: Path) -> None:
    """Draw every compared point, coloured and shaped by engine, and write the image.

    Args:
        points: As `validate.errors` gives them.
        path: Ends in .png or .svg.

    Raises:
        InputError: another ending, a file that cannot be written, or matplotlib is not installed.
    """
    check_plot(path)
    plotting = optional("matplotlib.figure", extra="accuracy")
    styles = optional("matplotlib", extra="accuracy")
    with styles.rc_context(STYLE):
        figure = plotting.Figure(figsize=(12, 4.4), layout="constrained")
        panels = figure.subplots(1, len(PANELS))
        engines = sorted(points["engine"].unique(), key=lambda name: (-(points["engine"] == name).sum(), name))
        for axes, (metric, label) in zip(panels, PANELS.items(), strict=True):
            _panel(axes, points[points["metric"] == metric], engines, label)
        handles, labels = _legend(panels)
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        _save(figure, path)


def check_plot(path: Path) -> None:
    """Raises InputError unless the file's ending is one we can write."""
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise InputError([Finding("validate", 0, "--plot", f"cannot draw a '{path.suffix}' file", f"known: {known}")])


def _panel(axes: Any, points: pd.DataFrame, engines: list[str], label: str) -> None:
    """One metric: points, the line of equality and a band around it."""
    for index, engine in enumerate(engines):
        part = points[points["engine"] == engine]
        style = {**series_style(index), "label": literal(engine)}
        axes.scatter(part["measured"], part["predicted"], s=9, alpha=0.55, linewidths=0, zorder=3, **style)
    if len(points):
        both = points[["measured", "predicted"]].to_numpy(float)
        ends = np.array([both.min() / BAND, both.max() * BAND])
        axes.plot(ends, ends, color="black", linewidth=0.8, zorder=4)
        axes.fill_between(ends, ends / BAND, ends * BAND, color="0.88", linewidth=0, zorder=1)
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    axes.set(xlabel=f"measured {label}", ylabel=f"predicted {label}")
    axes.grid(visible=True, color="0.8", linewidth=0.4)


def _legend(panels: Any) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _save(figure: Any, path: Path) -> None:
    kind, drawn = path.suffix.lower(), io.BytesIO()
    figure.savefig(drawn, format=kind.removeprefix("."), dpi=150, metadata=dict(FORMATS[kind]))
    write_bytes(path, drawn.getvalue())
