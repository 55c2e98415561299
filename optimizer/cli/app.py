"""The `optimizer` command: its subcommands, and every error turned into a message and an exit code."""

import sys

import typer

from optimizer.base.errors import InputError, OptimizerError
from optimizer.cli.accuracy.calibrate import calibrate
from optimizer.cli.accuracy.predict import predict
from optimizer.cli.accuracy.validate import validate
from optimizer.cli.catalog.catalog import catalog
from optimizer.cli.catalog.history import diff_command, snapshot_command
from optimizer.cli.catalog.importing import import_command, update_command
from optimizer.cli.catalog.model import add_model_command
from optimizer.cli.compare import compare_command
from optimizer.cli.frontier import frontier_command
from optimizer.cli.gate import gate_command
from optimizer.cli.lifecycle import lifecycle_command
from optimizer.cli.options import Exit
from optimizer.cli.plan import plan
from optimizer.cli.report import report_command
from optimizer.cli.schema import schema_command
from optimizer.cli.verify import verify_command
from optimizer.cli.why_not import why_not_command

app = typer.Typer(
    name="optimizer",
    help="The cheapest LLM deployment that meets its SLAs, proven and explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("plan")(plan)
app.command("lifecycle")(lifecycle_command)
app.command("why-not")(why_not_command)
app.command("frontier")(frontier_command)
app.command("gate")(gate_command)
app.command("compare")(compare_command)
app.command("report")(report_command)
app.command("verify")(verify_command)
app.command("predict")(predict)
app.command("calibrate")(calibrate)
app.command("validate")(validate)
catalog.command("import")(import_command)
catalog.command("update")(update_command)
catalog.command("add-model")(add_model_command)
catalog.command("diff")(diff_command)
catalog.command("snapshot")(snapshot_command)
app.add_typer(catalog, name="catalog")
app.command("schema")(schema_command)


def main() -> None:
    """Runs the command line; no traceback ever reaches a user."""
    try:
        app(prog_name="optimizer")
    except InputError as error:
        sys.stderr.write("".join(f"error: {finding}\n" for finding in error.findings))
        sys.exit(Exit.BAD_INPUT)
    except OptimizerError as error:
        sys.stderr.write(f"error: {type(error).__name__}: {error}\n")
        sys.exit(Exit.OUR_FAULT)
    except BrokenPipeError:
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 (the last line of defence: our fault, said in one line)
        what = " ".join(str(error).split()) or "no message"
        sys.stderr.write(f"error: this is a defect of optimizer: {type(error).__name__}: {what}\n")
        sys.exit(Exit.OUR_FAULT)
