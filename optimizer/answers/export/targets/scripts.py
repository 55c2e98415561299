"""Serve scripts: one server on the machine they are started on, with every flag that the plan assumes."""

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Final

from optimizer.answers.export.record import CannotCarry, Run
from optimizer.answers.export.targets.common import document, header
from optimizer.inputs.catalog.deploying import DeployFacts

NAMES: Final = {"vllm": "vllm.sh", "sglang": "sglang.sh", "tensorrt-llm": "trtllm.sh"}


def script_of(engine: str) -> Callable[[Sequence[Run], DeployFacts], dict[str, str]]:
    """The target that writes scripts for one engine."""

    def written(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
        (run,) = runs
        if run.engine != engine:
            raise CannotCarry(f"the plan runs {run.engine_name}")
        files = {NAMES[engine]: _script(run, facts)}
        if run.config:
            files[run.flags["config_file"][-1]] = header(runs) + document(json.loads(json.dumps(run.config)))
        return files

    return written


def _script(run: Run, facts: DeployFacts) -> str:
    """The script; the replicas of one machine take GPUs and ports of their own by their number."""
    several = run.replicas_per_machine
    lines = [
        "#!/usr/bin/env bash",
        header([run], f"Needs {run.engine_name} {run.engine_version}{_in_image(run)}.").rstrip(),
        "set -euo pipefail",
    ]
    port = run.flags["port"][-1]
    if run.machine.gpus > run.gpus:
        variable = facts.name("shell", "device_variable", run.machine.vendor)
        if variable is None:
            raise CannotCarry(f"nobody recorded which variable gives a server its GPUs of {run.machine.vendor}")
        last = several - 1
        lines += [
            f"REPLICA=${{1:-0}}  # of this machine, 0 to {last}: start the script once for each",
            f"export {variable}=$(seq -s, $((REPLICA * {run.gpus})) $((REPLICA * {run.gpus} + {run.gpus - 1})))",
        ]
        port = f'"$(({port} + REPLICA))"'
    if run.config:
        lines.append('cd "$(dirname "$0")"  # where its configuration lies')
    flags = {setting: shlex.join(words) for setting, words in run.flags.items()}
    flags["port"] = f"{run.flags['port'][0]} {port}"
    lines.append(" \\\n  ".join([f"exec {shlex.join(run.command)}", *flags.values()]))
    return "\n".join(lines) + "\n"


def _in_image(run: Run) -> str:
    return f", as in the image {run.image}" if run.image else ""
