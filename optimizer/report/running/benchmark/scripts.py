"""Benchmark runs as shell scripts: one for each deployment, one that runs them in the order of money at stake."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from optimizer.answers.running.benchmark import BenchmarkedDeployment, BenchmarkPlan
from optimizer.base.figures import figure
from optimizer.plan.benchmark.commands import TOOLS, Written, warm_up, wrapped
from optimizer.plan.benchmark.runs import BenchmarkRun
from optimizer.report.layout.amounts import money

MARK: Final = "Written by optimizer benchmark"
"""Stands in every file, so that a file of somebody else's is never written over."""
RESULTS: Final = "results"
WARM_UP: Final = "warm-up"
"""Where what does not count goes, beside the results."""
ATTEMPT: Final = "ATTEMPT"
"""The variable that tells attempts apart: a whole number."""
HASH_CHARACTERS: Final = len("sha256:") + 16
"""Of a plan's id, as results carry it."""


def scripts(found: BenchmarkPlan) -> dict[str, str]:
    """Each script by its file's name."""
    of_deployments = {f"{item.name}.sh": _of_deployment(found, item) for item in found.deployments}
    return {"run-all.sh": _run_all(found), **of_deployments}


def url_variable(name: str) -> str:
    """The variable that holds the address of a deployment's replica."""
    return f"URL_{re.sub(r'[^A-Z0-9]+', '_', name.upper())}"


def short_id(plan_id: str) -> str:
    """As much of a plan's id as tells it from others."""
    return plan_id[:HASH_CHARACTERS]


def _of_deployment(found: BenchmarkPlan, item: BenchmarkedDeployment) -> str:
    return "\n".join(_script(found, item)) + "\n"


def _script(found: BenchmarkPlan, item: BenchmarkedDeployment) -> Iterator[str]:
    """All classes at once, since the replica is promised to serve them beside each other."""
    d = item.runs[0].d
    yield "#!/usr/bin/env bash"
    yield f"# {MARK} for {found.scenario}, plan {short_id(found.plan_id)}; needs {TOOLS[found.tool].needs}."
    layout = f"tensor parallel {d.tensor_parallel}, pipeline parallel {d.pipeline_parallel}"
    yield f"# One replica of {d.model} {d.precision}, KV {d.kv_precision}, on {d.gpus_per_replica}x {d.gpu}, {layout},"
    drafts = f", drafting {d.speculation}" if d.speculation else ""
    yield f"# with {d.engine} {d.engine_version}{drafts}. {figure(item.runs[0].duration_s / 60)} minutes."
    yield "set -euo pipefail"
    yield f': "${{URL:?address of one replica, such as URL=http://HOST:8000 ./{item.name}.sh}}"'
    yield 'cd "$(dirname "$0")"'
    yield "# Runs that are counted together are attempts, each with files and a seed of its own: ATTEMPT=1, then 2"
    yield f'{ATTEMPT}="${{{ATTEMPT}:-0}}"'
    yield f'mkdir -p "{RESULTS}/${ATTEMPT}"'
    before = [warm_up(found.tool, run) for run in item.runs]
    if any(before):
        yield f"mkdir -p {WARM_UP}"
        yield "\n# Other prompts at the same rate go first: the tool's own warm-up is one prompt, which the cache then"
        yield "# holds, and what a server compiles for prompts that are read together would stand in the result."
        yield from _together(found, [run for run in before if run], WARM_UP)
    yield "\n# What counts"
    yield from _together(found, item.runs, f'{RESULTS}/"${ATTEMPT}"')


def _together(found: BenchmarkPlan, runs: Sequence[BenchmarkRun], folder: str) -> Iterator[str]:
    """Runs at the same time, and what waits for the last."""
    results = [f"{folder}/{shlex.quote(run.name)}" for run in runs]
    plan = short_id(found.plan_id)
    lines = [
        wrapped(found.tool, run, Written('"$URL"', result, plan, ATTEMPT))
        for run, result in zip(runs, results, strict=True)
    ]
    if len(lines) == 1:
        yield from lines
        return
    yield "runs=()"
    for line in lines:
        yield f'\n{line} &\nruns+=("$!")'
    yield '\nfor run in "${runs[@]}"; do wait "$run"; done'


def _run_all(found: BenchmarkPlan) -> str:
    return "\n".join(_all_scripts(found)) + "\n"


def _all_scripts(found: BenchmarkPlan) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield f"# {MARK} for {found.scenario}, plan {short_id(found.plan_id)}."
    yield "# What most money rests on is measured first. A replica without an address is left out, and said to be."
    yield "set -euo pipefail"
    yield 'cd "$(dirname "$0")"'
    for item in found.deployments:
        variable = url_variable(item.name)
        yield f"\n# {money(item.monthly_cost_usd)} a month on {item.performance} predictions"
        yield f'if [ -n "${{{variable}:-}}" ]; then'
        yield f'  URL="${variable}" bash {shlex.quote(f"./{item.name}.sh")}'
        yield "else"
        yield f'  echo "{item.name}: not measured, {variable} is not set" >&2'
        yield "fi"
