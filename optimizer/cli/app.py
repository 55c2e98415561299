"""The `optimizer` command: its subcommands, and every error turned into a message and an exit code."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from optimizer.base.clock import LimitReached
from optimizer.base.errors import InputError, OptimizerError
from optimizer.base.files import forget_inputs
from optimizer.base.version import VERSION
from optimizer.cli import calls, commands, signals
from optimizer.cli.options import Exit, QuietOption
from optimizer.cli.terminal import no_command, prepare_streams, printable, say, say_findings, show


@contextmanager
def _quoted() -> Iterator[None]:
    """Lets errors of usage quote what was typed on one line, with nothing in it that a runner acts upon."""
    try:
        yield
    except TyperException as error:
        # newer ones let pydantic read numbers, and older ones have words of their own
        refused = getattr(error.__cause__, "errors", None)
        if refused is not None:
            error.message = calls.value_in_words(refused()[0])
        said = getattr(error, "format_message", None)
        if said is not None:
            quoted = no_command(printable(said()))
            setattr(error, "format_message", lambda: quoted)  # noqa: B010 (typer asks the error, boxed or plain)
        raise


class LazyGroup(TyperGroup):
    """Lists its commands by their line of help, and loads the one that is named."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Reads what was typed for the group itself."""
        with _quoted():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Reads what was typed for a command, and runs it."""
        with _quoted():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The named command as its module has it."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if isinstance(listed, TyperGroup) else _loaded(ctx, str(name)), rest


SERVICES: Final = frozenset({"serve", "mcp"})
"""Commands that answer until they are stopped: what they say on stderr is where they can be asked."""


def _loaded(ctx: Any, name: str) -> Any:
    """The command of that name in the group that is being run."""
    group = () if ctx.parent is None else (ctx.info_name,)
    function = getattr(commands, "_".join((*group, name)).replace("-", "_"))
    single = typer.Typer(add_completion=False)
    single.command(name)(function if name in SERVICES else _with_quiet(function))
    return get_command(single)


def _with_quiet(function: Callable[..., None]) -> Callable[..., None]:
    """The command with `--quiet`, which scripts give to all: one without remarks has nothing to leave out."""
    signature = inspect.signature(function)
    if "quiet" in signature.parameters:
        return function

    @wraps(function)
    def command(*arguments: Any, quiet: bool, **options: Any) -> None:
        del quiet
        function(*arguments, **options)

    quiet = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=QuietOption)
    vars(command)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), quiet])
    command.__annotations__ = {**function.__annotations__, "quiet": QuietOption}
    return command


def _listed() -> None:
    """What stands for a command in a list, and is never run."""


def _version(asked: bool) -> None:
    if asked:
        show(f"optimizer {VERSION}\n")
        raise typer.Exit


app = typer.Typer(
    name="optimizer",
    cls=LazyGroup,
    help="The cheapest LLM deployment that meets its SLAs, proven and explained.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
groups = {name: typer.Typer(cls=LazyGroup, help=about, no_args_is_help=True) for name, about in commands.GROUPS.items()}
for path, about in commands.COMMANDS.items():
    folder, _, command = path.rpartition(" ")
    (groups[folder] if folder else app).command(command, help=about)(_listed)
for name, group in groups.items():
    app.add_typer(group, name=name)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The cheapest LLM deployment that meets its SLAs, proven and explained."""
    del version


def main() -> None:
    """Runs the command line; no traceback ever reaches a user."""
    forget_inputs()
    prepare_streams()
    try:
        app(prog_name="optimizer")
    except SystemExit as ended:
        # a reader of help that left early is no error, and 1 would say that a promise is broken
        sys.exit(0 if isinstance(ended.__context__, BrokenPipeError) else ended.code)
    except InputError as error:
        say_findings(error)
        sys.exit(Exit.BAD_INPUT)
    except OptimizerError as error:
        say(f"error: {type(error).__name__}: {error}")
        sys.exit(Exit.OUR_FAULT)
    except (LimitReached, MemoryError) as error:
        reached = f"{error} before anything was searched" if isinstance(error, LimitReached) else "there is not enough"
        say(f"error: no answer, for {reached}: ask for fewer GPUs, providers or workloads, or allow more memory")
        sys.exit(Exit.UNPROVEN)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except OSError as error:
        say(f"error: {printable(str(error))}")
        sys.exit(Exit.BAD_INPUT)
    except Exception as error:  # the last line of defence: our fault, said in one line
        if signals.received:
            raise
        what = " ".join(str(error).split()) or "no message"
        say(f"error: this is a defect of optimizer: {type(error).__name__}: {printable(what)}")
        sys.exit(Exit.OUR_FAULT)
