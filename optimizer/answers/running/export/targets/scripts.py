"""Serve scripts: one server on the machine they are started on, with every flag that the plan assumes."""

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from optimizer.answers.running.export.record import CannotCarry, Run
from optimizer.answers.running.export.targets.common import document, header
from optimizer.inputs.catalog.entries.deploying import DeployFacts

NAMES: Final = {"vllm": "vllm.sh", "sglang": "sglang.sh", "tensorrt-llm": "trtllm.sh"}


def script_of(engine: str) -> Callable[[Sequence[Run], DeployFacts], dict[str, str]]:
    """The target that writes scripts for one engine."""

    def written(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
        (run,) = runs
        server = run.server
        if server.engine != engine:
            raise CannotCarry(f"the plan runs {server.engine_name}")
        files = {NAMES[engine]: _script(run, facts)}
        if server.config:
            files[server.flags["config_file"][-1]] = header(runs) + document(server.config)
        return files

    return written


def _script(run: Run, facts: DeployFacts) -> str:
    """The script: what it is, where it runs, what it starts."""
    server = run.server
    where = f", as in the image {server.image}" if server.image else ""
    flags = {setting: shlex.join(words) for setting, words in server.flags.items()}
    lines = [
        "#!/usr/bin/env bash",
        header([run], f"Needs {server.engine_name} {server.engine_version}{where}.").rstrip(),
        "set -euo pipefail",
    ]
    if run.machine.gpus > server.gpus:
        lines += _own_gpus(run, facts)
        number = f"REPLICA * {server.gpus}" if run.machine.bought_with else "REPLICA"
        flags["port"] = f'{server.flags["port"][0]} "$(({server.port} + {number}))"'
    if server.config:
        lines.append('cd "$(dirname "$0")"  # where its configuration lies')
    lines.append(" \\\n  ".join([f"exec {shlex.join(server.command)}", *flags.values()]))
    return "\n".join(lines) + "\n"


def _own_gpus(run: Run, facts: DeployFacts) -> list[str]:
    """The replicas of one machine take GPUs, and ports, of their own by their number."""
    variable, gpus = facts.name("shell", "device_variable", run.machine.vendor), run.server.gpus
    if variable is None:
        raise CannotCarry(f"nobody recorded which variable gives a server its GPUs of {run.machine.vendor}")
    first = f"REPLICA * {gpus}" if gpus > 1 else "REPLICA"
    last = f"$(({first}))" if gpus == 1 else f"$(seq -s, $(({first})) $(({first} + {gpus - 1})))"
    return [*_numbered(run), f"export {variable}={last}"]


def _numbered(run: Run) -> list[str]:
    """Which of a machine's replicas it is: on machines that others stand on, too, whoever starts it must say."""
    if run.machine.bought_with:
        most, others = run.machine.gpus // run.server.gpus - 1, ", ".join(run.machine.bought_with)
        return [
            f"# This machine may hold replicas of {others}, too: take a number whose GPUs are free.",
            f"REPLICA=${{1:?a number from 0 to {most}; the first GPU is {run.server.gpus} times that}}",
        ]
    most = run.replicas_per_machine - 1
    in_all = f", {run.load.max_replicas} on {run.instances} machines" if run.instances > 1 else ""
    return [f"REPLICA=${{1:-0}}  # of this machine, 0 to {most}: start the script once for each{in_all}"]
