"""`optimizer validate`: how far predictions are from measurements, and whether decisions made on them hold."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.answers.accuracy.decisions import Decisions, decided
from optimizer.answers.accuracy.validate import DEFAULT_BY, DIMENSIONS, Validation, check_dimensions, errors, judged
from optimizer.base.model import Strict
from optimizer.cli.options import CatalogsOption, Format, FormatOption, OutputOption, deliver
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.measurements import deployments_of, load_measurements
from optimizer.performance.measured.batch import predict_batch
from optimizer.report.accuracy.accuracy import WIDE, validation_answer
from optimizer.report.accuracy.plots import check_plot, plot_errors

DIMENSIONS_HELP = f"Error tables, separated by commas; + joins two. Of: {', '.join(DIMENSIONS)}."


class Report(Strict):
    """What `--format json` prints."""

    validation: Validation
    decisions: Decisions | None


def validate(
    measurements: Annotated[Path, typer.Argument(help="A CSV file of measured deployments.")],
    decisions: Annotated[bool, typer.Option("--decisions", help="Judge the picks made on the predictions.")] = False,
    by: Annotated[str, typer.Option(help=DIMENSIONS_HELP)] = ",".join(DEFAULT_BY),
    plot: Annotated[Path | None, typer.Option(help="Draw predicted against measured: a .png or .svg file.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Prediction errors on measurements, by metric, GPU, engine, kind of model and so on; worst groups named."""
    dimensions = [name.strip() for name in by.split(",") if name.strip()]
    check_dimensions(dimensions)
    if plot is not None:
        check_plot(plot)
    frame = load_measurements(measurements)
    known = load_catalogs(catalogs)
    predicted = predict_batch(deployments_of(frame), known, look_up=False)
    points = errors(predicted, known)
    found = judged(predicted, points, dimensions)
    choices = decided(predicted, known) if decisions else None
    if plot is not None:
        plot_errors(points, plot)
    content = Report(validation=found, decisions=choices)
    deliver(validation_answer(found, choices), content, output_format, output, width=WIDE)
