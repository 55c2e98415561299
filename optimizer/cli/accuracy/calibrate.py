"""`optimizer calibrate`: a calibration fitted to a file of measurements."""

import hashlib
import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.files import read_bytes
from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Format, FormatOption, QuietOption, check_writable, deliver, write

HASH_DIGITS = 12
CALIBRATION = "calibration.csv"


class Start(StrEnum):
    """What a fit starts from and is drawn to."""

    SHIPPED = "shipped"
    PRIORS = "priors"


def calibrate(
    measurements: Annotated[Path, typer.Argument(help="A CSV file shaped as catalogs/measurements.csv.")],
    output: Annotated[Path, typer.Option("--output", help="The calibration file to write.")],
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

    Put the file as calibration.csv into a folder and give that folder with --catalogs to plan with it.
    """
    frame, known = calls.load_measurements(measurements), calls.load_catalogs(catalogs)
    data = f"{measurements.name} (SHA-256 {hashlib.sha256(read_bytes(measurements)).hexdigest()[:HASH_DIGITS]})"
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
        as_of=as_of.date() if as_of else None,
    )
    write(calls.calibration_csv(found.entries), output, over_inputs=renewed)
    answer = calls.WrittenAnswer((calls.calibration_section(found, data),))
    deliver(answer, calls.calibration_content(found, data), output_format, None)
