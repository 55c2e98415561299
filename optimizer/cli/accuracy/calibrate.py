"""`optimizer calibrate`: a calibration fitted to measurements, or updated by those of your own deployments."""

import hashlib
import sys
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_bytes
from optimizer.cli import calls
from optimizer.cli.options import (
    CatalogsOption,
    Format,
    FormatOption,
    QuietOption,
    check_writable,
    deliver,
    write,
    written,
)

HASH_DIGITS = 12
CALIBRATION = "calibration.csv"


class Start(StrEnum):
    """What a fit starts from and is drawn to."""

    SHIPPED = "shipped"
    PRIORS = "priors"


def calibrate(
    output: Annotated[
        Path, typer.Option("--output", help="The calibration file to write; with --own the folder of catalog files.")
    ],
    measurements: Annotated[Path | None, typer.Argument(help="A CSV file shaped as catalogs/measurements.csv.")] = None,
    own: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file of deployments of your own, which move predictions of them and of those near them."
        ),
    ] = None,
    start: Annotated[
        Start, typer.Option("--from", help="Sharpen the shipped values, or fit everything anew from the priors.")
    ] = Start.SHIPPED,
    seed: Annotated[int, typer.Option(min=0, help="Decides which groups are left out together.")] = 0,
    as_of: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Date of the fit; the catalogs' own unless given.")
    ] = None,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Fit the model's constants to measurements; the errors before and after are printed.

    Put the file as calibration.csv into a folder and give that folder with --catalogs to plan with it. --own leaves the
    constants alone: it says how far your own deployments are from their predictions, and how sure that is.
    """
    day = as_of.date() if as_of else None
    if own is not None and measurements is None:
        _update(own, output, catalogs, day, output_format)
        return
    if own is not None or measurements is None:
        problem = "give either a file of measurements or --own with one"
        raise InputError([Finding("calibrate", 0, "--own", problem)])
    frame, known = calls.load_measurements(measurements), calls.load_catalogs(catalogs)
    if wrong := calls.unreadable(frame, str(measurements)):
        raise InputError(wrong)
    data = _data(measurements)
    # a calibration may take the place of the one that it started from
    renewed = catalogs is not None and output.resolve() == (catalogs / CALIBRATION).resolve()
    check_writable(None if renewed else output)
    if not quiet and sys.stderr.isatty():
        sys.stderr.write(f"fitting to {len(frame):,} rows\n")
    found = calls.fit(
        frame,
        known,
        start=start.value,
        seed=seed,
        intervals=start is Start.PRIORS,
        data=data,
        as_of=day,
    )
    write(calls.calibration_csv(found.entries), output, over_inputs=renewed)
    answer = calls.WrittenAnswer((calls.calibration_section(found, data),))
    deliver(answer, calls.calibration_content(found, data), output_format, None)


def _data(measurements: Path) -> str:
    """What was fitted to, for the notes of the rows."""
    return f"{measurements.name} (SHA-256 {hashlib.sha256(read_bytes(measurements)).hexdigest()[:HASH_DIGITS]})"


def _update(own: Path, folder: Path, catalogs: Path | None, as_of: date | None, output_format: Format) -> None:
    """What own measurements tell of deployments, as rows for --catalogs."""
    frame, known, data = calls.load_measurements(own), calls.load_catalogs(catalogs), _data(own)
    found = calls.own_update(frame, known, file=str(own), data=data, as_of=as_of)
    files = written(calls.write_own(folder, found.entries, catalogs))
    answer = calls.WrittenAnswer(calls.own_sections(found.shown, data, str(folder)))
    content = {"data": data, "files": files, **found.shown.model_dump(mode="json")}
    deliver(answer, content, output_format, None, width=calls.WIDE)
