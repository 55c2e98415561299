"""Figures as SVG documents: colour-blind safe, told apart without colour, the same data the same bytes."""

import io
from collections.abc import Callable
from typing import Any, Final

from optimizer.base.extras import optional

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, told apart under every kind of colour blindness."""

MARKERS: Final = ("o", "^", "s", "D", "v", "P", "X")
HATCHES: Final = ("", "//", "..", "xx", "\\\\", "++", "oo")
STYLE: Final = {
    "svg.hashsalt": "optimizer",
    "svg.fonttype": "none",
    "font.size": 10.0,
    "font.family": "sans-serif",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
    "grid.color": "0.85",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
}
WIDTH: Final = 7.2
"""Inches: readable at the width of a phone and of a printed column."""


def series_style(index: int) -> dict[str, str]:
    """Colour and marker of one of several series."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def literal(name: str) -> str:
    """A name in a figure: between two dollar signs matplotlib would read a formula, and fail on what is none."""
    return name.replace("$", r"\$")


def drawn(height: float, draw: Callable[[Any], None]) -> str:
    """One figure as an SVG document; the same data gives the same bytes.

    Raises:
        InputError: matplotlib is not installed.
    """
    plotting = optional("matplotlib.figure", extra="report")
    styles = optional("matplotlib", extra="report")
    with styles.rc_context(STYLE):
        figure = plotting.Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
