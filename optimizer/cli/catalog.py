"""`optimizer catalog`: what the catalogs hold, how old it is, where it comes from and whether it is sound."""

import typer

catalog = typer.Typer(help="Browse and check the catalogs.", no_args_is_help=True)


@catalog.command("list")
def list_rows() -> None:
    """What a catalog holds."""
