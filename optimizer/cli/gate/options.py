"""What may be asked of a gate on the command line."""

import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli.options import amount


def _web_address(text: str) -> str:
    """An address that a comment may link, whole and plain."""
    if text and not re.fullmatch(r"https?://[^\s<>()\[\]\"]+", text):
        raise typer.BadParameter(f"'{text}' is not an address that begins with https://")
    return text


Scenarios = Annotated[list[str], typer.Argument(help="Scenario files, folders of them, or shipped names.")]
Baselines = Annotated[
    list[Path] | None,
    typer.Option("--baseline", help="A plan (JSON) to compare with, or a folder of them; repeatable."),
]
MaxMonthlyUsd = Annotated[Decimal | None, typer.Option(parser=amount, help="Budget of all together.")]
MaxIncrease = Annotated[
    Decimal | None, typer.Option(parser=amount, help="Over the baselines; not judged where there are none.")
]
RulesFile = Annotated[
    Path | None, typer.Option("--rules", help="Guardrails: named rules with scope, limits, owner and override (YAML).")
]
MaxPriceAgeDays = Annotated[
    int | None, typer.Option(min=1, help="Older prices break it; default: the scenario's policy.")
]
AsOf = Annotated[datetime | None, typer.Option("--as-of", formats=["%Y-%m-%d"], help="Count ages from this day on.")]
PinnedTo = Annotated[str | None, typer.Option(help="A snapshot (file or content hash) that the catalogs must equal.")]
AllowDrift = Annotated[bool, typer.Option("--allow-drift", help="Only warn where they do not.")]
BaselineCatalogs = Annotated[
    str | None, typer.Option(help="The --catalogs of the baseline, or `shipped`; tells causes apart exactly.")
]
WarnOnly = Annotated[
    list[str] | None, typer.Option(help="RULE, SCENARIO or SCENARIO:RULE that only warns; * is a wildcard.")
]
AllowMissingPrice = Annotated[
    list[str] | None, typer.Option(help="Offer or provider that may lack a price or cost nothing.")
]
AllowExpired = Annotated[list[str] | None, typer.Option(help="Offer or provider whose price may be old.")]
NotEvaluated = Annotated[
    str | None,
    typer.Option(help="Judge nothing: write why into every output and end with exit code 2; for scripts around it."),
]
JunitFile = Annotated[Path | None, typer.Option(help="Also write JUnit XML.")]
SarifFile = Annotated[Path | None, typer.Option(help="Also write SARIF 2.1.0.")]
CommentFile = Annotated[Path | None, typer.Option(help="Also write a pull request's comment.")]
HistoryFile = Annotated[Path | None, typer.Option("--history", help="Also add the verdict to this CSV file.")]
RunUrl = Annotated[str, typer.Option(parser=_web_address, help="Where this run is to be seen; the comment links it.")]
TimeLimitS = Annotated[
    float | None,
    typer.Option("--time-limit-s", min=0.001, help="Seconds for the whole command; none unless asked for."),
]
WorkLimit = Annotated[
    int,
    typer.Option("--work-limit", min=1, help="Simplex iterations for each scenario; the same on every machine."),
]
