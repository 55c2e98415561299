"""`optimizer predict`: what a configuration delivers, one by one or a CSV file at a time."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from optimizer.cli.options import CatalogsOption
from optimizer.inputs.loading_catalogs import load_catalogs

catalog_placeholder = (Annotated, Path, pd, CatalogsOption, load_catalogs)


def predict() -> None:
    """What a configuration delivers."""
    raise typer.Exit(0)
