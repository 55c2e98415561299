"""`optimizer validate`: how far predictions are from measurements, and whether decisions made on them hold."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls, names
from optimizer.cli.options import CatalogsOption, Format, FormatOption, OutputOption, deliver

DIMENSIONS_HELP = f"Error tables, separated by commas; + joins two. Of: {', '.join(names.DIMENSIONS)}."


def validate(
    measurements: Annotated[Path, typer.Argument(help="A CSV file of measured deployments.")],
    decisions: Annotated[bool, typer.Option("--decisions", help="Judge the picks made on the predictions.")] = False,
    by: Annotated[str, typer.Option(help=DIMENSIONS_HELP)] = ",".join(names.DEFAULT_BY),
    plot: Annotated[Path | None, typer.Option(help="Draw predicted against measured: a .png or .svg file.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Prediction errors on measurements, by metric, GPU, engine and so on; worst groups named."""
    dimensions = [name.strip() for name in by.split(",") if name.strip()]
    calls.check_dimensions(dimensions)
    if plot is not None:
        calls.check_plot(plot)
    frame = calls.load_measurements(measurements)
    known = calls.load_catalogs(catalogs)
    predicted = calls.predict_batch(calls.deployments_of(frame), known, look_up=False)
    points = calls.errors(predicted, known)
    found = calls.judged(predicted, points, dimensions)
    choices = calls.decided(predicted, known) if decisions else None
    if plot is not None:
        calls.plot_errors(points, plot)
    content = {
        name: part and part.model_dump(mode="json") for name, part in (("validation", found), ("decisions", choices))
    }
    deliver(calls.validation_answer(found, choices), content, output_format, output, width=calls.WIDE)
