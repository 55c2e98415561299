"""`optimizer init`: a few questions, and a commented scenario that can be planned."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, QuietOption, check_absent, write
from optimizer.cli.terminal import show

QUESTIONS: Final[dict[str, tuple[str, Any]]] = {
    "name": ("What is it called?", "my-service"),
    "model": ("Which model? A catalog id or a Hugging Face name", "llama-3.1-8b"),
    "users": ("How many people use it at the same time in the busiest hour?", 1000),
    "requests_per_user_hour": ("How many requests does each of them send in an hour?", 10.0),
    "input_tokens": ("How many tokens has a prompt, on average?", 1000),
    "output_tokens": ("How many tokens has an answer, on average?", 250),
    "ttft_ms": ("Within how many ms must 95 of 100 see the first token?", 1000.0),
    "tpot_ms": ("How many ms may each further token take, on average?", 50.0),
    "users_in": ("Where are they? germany, us-east, … (empty: the network is not counted)", ""),
    "min_quality": ("Which share of the model's 16-bit quality must stay? 0.99, … (0: any)", 0.0),
    "max_monthly_usd": ("At most how many dollars a month? (0: no limit)", 0.0),
}
"""What is asked in turn, with the answer that Enter gives."""

LEFT_OUT: Final = ("", 0, None)
"""Answers to the last questions that leave a field a comment."""


def init(
    file: Annotated[Path, typer.Argument(help="The scenario to write.")] = Path("scenario.yaml"),
    name: Annotated[str | None, typer.Option(help="Of the scenario.")] = None,
    model: Annotated[str | None, typer.Option(help="A catalog id or a Hugging Face name.")] = None,
    users: Annotated[int | None, typer.Option(help="People at work in the busiest hour.")] = None,
    requests_per_user_hour: Annotated[float | None, typer.Option(help="What each of them asks in an hour.")] = None,
    input_tokens: Annotated[int | None, typer.Option(help="Of a prompt, on average.")] = None,
    output_tokens: Annotated[int | None, typer.Option(help="Of an answer, on average.")] = None,
    ttft_ms: Annotated[float | None, typer.Option(help="To the first token, for 95 of 100 requests.")] = None,
    tpot_ms: Annotated[float | None, typer.Option(help="To each further token, on average.")] = None,
    users_in: Annotated[str | None, typer.Option(help="Where users are: germany, us-east, …")] = None,
    min_quality: Annotated[float | None, typer.Option(help="Share of the 16-bit quality to keep.")] = None,
    max_monthly_usd: Annotated[float | None, typer.Option(help="Budget.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    catalogs: CatalogsOption = None,
    quiet: QuietOption = False,
) -> None:
    """A few questions, and a commented scenario; without a terminal each answer not given has its default."""
    check_absent(file, force)
    given: dict[str, Any] = {
        "name": name,
        "model": model,
        "users": users,
        "requests_per_user_hour": requests_per_user_hour,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "ttft_ms": ttft_ms,
        "tpot_ms": tpot_ms,
        "users_in": users_in,
        "min_quality": min_quality,
        "max_monthly_usd": max_monthly_usd,
    }
    known = calls.load_catalogs(catalogs)
    answers: dict[str, Any] = {field: _answer(field, value) for field, value in given.items()}
    for field in ("users_in", "min_quality", "max_monthly_usd"):
        answers[field] = None if answers[field] in LEFT_OUT else answers[field]
    write(calls.scenario_text(calls.ScenarioDraft(**answers), file, known), file)
    if not quiet:
        show(f"wrote {file}; its plan: optimizer plan {file}\n")


def _answer(field: str, given: Any) -> Any:
    """What was said on the command line, what is said now, or the default where nobody can be asked."""
    question, default = QUESTIONS[field]
    if given is not None:
        return given
    return typer.prompt(question, default=default) if sys.stdin.isatty() else default
